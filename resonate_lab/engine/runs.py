"""When the engine looks for what is due, and in which order it takes it.

A run takes everything that is due at one instant. Where the profile has no poll there is
a run whenever something falls due; where it has one, the runs lie on the grid of the
polls since the server started, and those that find nothing are skipped. A run can also be
taken step by step, with the same outcome.

Tasks that nobody takes are sent again every half minute, and nothing comes of it but the
instant of the next time. Where that would be most of the work, it is done once for all:
the outcome is the same, and the trace says how often in one line.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from resonate_lab.engine.agenda import Due, Head
from resonate_lab.engine.internal import STEP_NAMES, due_schedules, run_due, run_head
from resonate_lab.engine.state import State
from resonate_lab.protocol.records import Step

__all__ = ["REPEATS_TOLD", "Runs"]

#: Repeats that are taken one by one when time passes; the rest of them are summed up.
REPEATS_TOLD: Final = 10_000


class Runs:
    """The runs over a state, and the clock that they move.

    Parameters
    ----------
    state : State
    now : int
        instant, ms since the Unix epoch, UTC

    Attributes
    ----------
    now : int
        the clock
    rest : deque of str
        schedules that a run under way, taken step by step, has still to fire. A run reads
        its list once: one that stays due after it was fired waits for the next run.
    opened_at : int or None
        instant of the run under way, ms since the Unix epoch, UTC
    firing : bool
        whether that run has come to its schedules
    """

    def __init__(self, state: State, now: int) -> None:
        self.now = now
        self.rest: deque[str] = deque()
        self._state = state
        self.opened_at: int | None = None
        self.firing = False

    def fork(self, state: State) -> Runs:
        """Return the runs over a copy of the state, which stand where these stand."""
        twin = Runs(state, self.now)
        twin.rest, twin.opened_at, twin.firing = self.rest.copy(), self.opened_at, self.firing
        return twin

    def forget(self) -> None:
        """End the run under way, if there is one; what it left waits for the next."""
        self.rest.clear()
        self.opened_at, self.firing = None, False

    # --- one by one ----------------------------------------------------------------------

    def next(self, repeats: bool = True) -> Head | None:
        """Return the next step, with the instant at which it is taken; None if never.

        O(log n) for n entries on the agenda. Repeats can be left out.
        """
        if self._is_stopped():
            return None
        id = self._still_due()
        if id is not None and self.firing:
            return Head(self.now, Due.SCHEDULE_FIRING, id)
        found = []
        for due in Due:
            if due is Due.REPEAT and not repeats:
                continue
            if due is Due.SCHEDULE_FIRING and id is not None:
                found.append(Head(self.now, due, id))
            elif (head := self._state.agenda.head(due)) is not None:
                found.append(head._replace(at=self._run_after(max(head.at, self.now), due)))
        return min(found, default=None)

    def step(self, head: Head) -> list[Step]:
        """Take the step that `next` returned, and what follows from it; return all that."""
        with self._state.transaction() as steps:
            fires = head.due is Due.SCHEDULE_FIRING
            if self.opened_at != head.at or (fires and not self.rest):
                self._begin(head.at)
                self.rest.extend(due_schedules(self._state, head.at))
            self.firing = fires
            if fires:
                head = head._replace(id=self.rest.popleft())
            run_head(self._state, head.at, head)
            self.now = head.at
        return steps

    def is_behind(self) -> bool:
        """Return whether something is overdue, other than repeats."""
        heads = (self._state.agenda.head(due) for due in Due if due is not Due.REPEAT)
        return any(head is not None and head.at <= self.now for head in heads)

    # --- run by run ----------------------------------------------------------------------

    def run(self, at: int, repeats: bool = True) -> list[Step]:
        """Take everything that is due at the instant of a run; return what happened."""
        with self._state.transaction() as steps:
            self._begin(at)
            run_due(self._state, at, repeats)
            self.now = at
        return steps

    def let_pass(self, until: int, wanted: Callable[[], bool] = lambda: True) -> list[Step]:
        """Take all runs up to an instant, as long as they are wanted; return what happened.

        Each run is a transaction of its own: interrupted, time stands at the last one.
        """
        taken: list[Step] = []
        # First what is left of a run under way.
        while self.opened_at == self.now and (head := self.next()) and head.at == self.now:
            if head.due is Due.SCHEDULE_FIRING and not self.rest:
                break
            taken += self.step(head)
        self.forget()
        told = 0
        try:
            while wanted():
                repeats = told < REPEATS_TOLD
                head = self.next(repeats)
                if head is None or head.at > until:
                    break
                taken += self.run(head.at, repeats)
                told += self._state.repeats
            else:
                until = self.now
        except BaseException:
            until = self.now
            raise
        finally:
            if told >= REPEATS_TOLD:
                taken += self._repeat_until(until)
        return taken

    def restart(self, up_at: int) -> list[Step]:
        """Start anew after an outage; catch up at once where there is no poll to wait for."""
        self.forget()
        with self._state.transaction() as steps:
            self._state.log(self.now, "outage", "", "down")
            self._state.log(up_at, "outage", "", "up")
            self._state.polled_at = up_at
            if self._state.profile.poll_ms is None:
                run_due(self._state, up_at)
            self.now = up_at
        return steps[2:]

    def _repeat_until(self, until: int) -> list[Step]:
        """Take the repeats of all runs up to an instant at once."""
        state = self._state
        retry_ms, poll_ms = state.profile.retry_ms, state.profile.poll_ms or 1
        period = retry_ms + -retry_ms % poll_ms
        times = tasks = 0
        with state.transaction() as steps:
            for at, ids in list(state.agenda.pop_instants(Due.REPEAT, until)):
                # The grid of the polls, before the last one as well as after it.
                first = at + (state.polled_at - at) % poll_ms
                more = (until - first) // period
                if more >= 0:
                    last = first + more * period
                    state.postpone(ids, last + retry_ms)
                    if state.profile.poll_ms is not None:
                        state.polled_at = max(state.polled_at, last)
                    times += (more + 1) * len(ids)
                    tasks += len(ids)
                else:
                    # Due, but the poll that sees it has not come yet.
                    state.agenda.put_back(Due.REPEAT, at, ids)
            told = f"dispatched {times:,} times in all, {tasks:,} tasks"
            state.log(until, STEP_NAMES[Due.REPEAT], "", told)
        return steps

    # --- polls ---------------------------------------------------------------------------

    def _begin(self, at: int) -> None:
        self.forget()
        self.opened_at = at
        if self._state.profile.poll_ms is not None:
            self._state.polled_at = at

    def _is_stopped(self) -> bool:
        return self._state.profile.poll_ms is not None and not self._state.polling

    def _still_due(self) -> str | None:
        """Return the next schedule of the run under way; those that changed drop out."""
        while self.rest:
            row = self._state.schedules.get(self.rest[0])
            if row is not None and row.next_run_at is not None and row.next_run_at <= self.now:
                return row.id
            self.rest.popleft()
        return None

    def _run_after(self, at: int, due: Due) -> int:
        """Return the instant of the first run that sees what is due at `at`."""
        poll_ms = self._state.profile.poll_ms
        if poll_ms is None:
            return at
        polled_at = self._state.polled_at
        # A run under way sees what falls due in it, but looks at no schedule again.
        least = 0 if self.opened_at == polled_at and due is not Due.SCHEDULE_FIRING else 1
        return polled_at + max(-(-(at - polled_at) // poll_ms), least) * poll_ms
