"""When the engine looks for what is due, and in which order it takes it.

A run takes everything that is due at one instant. Where the profile has no poll there is
a run whenever something falls due; where it has one, the runs lie on the grid of the
polls since the server started, and those that find nothing are skipped. A run can also be
taken step by step, with the same outcome.
"""

from __future__ import annotations

from collections import deque

from resonate_lab.engine.agenda import Due, Head
from resonate_lab.engine.internal import due_schedules, run_due, run_head
from resonate_lab.engine.state import State

__all__ = ["Runs"]


class Runs:
    """The runs over a state.

    Parameters
    ----------
    state : State

    Attributes
    ----------
    rest : deque of str
        ids of the schedules that a run under way has still to fire
    """

    def __init__(self, state: State) -> None:
        self._state = state
        # A run reads its list once: a schedule that stays due after it was fired waits for
        # the next run.
        self.rest: deque[str] = deque()

    def forget(self) -> None:
        """End the run under way, if there is one; what it left waits for the next."""
        self.rest.clear()

    def next(self, now: int) -> Head | None:
        """Return the next step, with the instant at which it is taken; None if never.

        O(log n) for n entries on the agenda.
        """
        if self._is_stopped():
            return None
        found = []
        for due in Due:
            if due is Due.SCHEDULE_FIRING and (id := self._still_due(now)) is not None:
                found.append(Head(now, due, id))
            elif (head := self._state.agenda.head(due)) is not None:
                # What a poll has seen of the schedules it will not look at again.
                fresh = due is Due.SCHEDULE_FIRING
                found.append(Head(self._run_after(max(head.at, now), fresh), due, head.id))
        return min(found, default=None)

    def step(self, now: int, head: Head) -> None:
        """Take the step that `next` returned, at its instant `now`."""
        state = self._state
        if state.profile.poll_ms is not None:
            state.polled_at = now
        if head.due is Due.SCHEDULE_FIRING:
            if not self.rest:
                self.rest.extend(due_schedules(state, now))
            head = head._replace(id=self.rest.popleft())
        run_head(state, now, head)

    def take(self, now: int) -> None:
        """Take everything that is due at the instant of a run, or what is left of one."""
        if self.rest:
            while (head := self.next(now)) is not None and head.at == now and self.rest:
                self.step(now, head)
            return
        if self._state.profile.poll_ms is not None:
            self._state.polled_at = now
        run_due(self._state, now)

    def _is_stopped(self) -> bool:
        return self._state.profile.poll_ms is not None and not self._state.polling

    def _still_due(self, now: int) -> str | None:
        """Return the next schedule of the run under way; those that changed drop out."""
        while self.rest:
            row = self._state.schedules.get(self.rest[0])
            if row is not None and row.next_run_at is not None and row.next_run_at <= now:
                return row.id
            self.rest.popleft()
        return None

    def _run_after(self, at: int, fresh: bool) -> int:
        """Return the instant of the first run at or after `at`; a fresh one if need be."""
        poll_ms = self._state.profile.poll_ms
        if poll_ms is None:
            return at
        polls = -(-(at - self._state.polled_at) // poll_ms)
        return self._state.polled_at + max(polls, int(fresh)) * poll_ms
