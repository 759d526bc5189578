"""`Engine`: one state, one clock, and the doors to them.

The clock is an argument, never read. A request is answered as of its
``resonate:debug_time``, or, without one, as of the engine's clock, which follows the
latest instant it has been told and never goes back. Requests run nothing that is due:
time passes by ``debug.tick``, `advance`, `run_until`, `step` and `outage`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from resonate_lab._html import plain, table
from resonate_lab.engine.external import answer
from resonate_lab.engine.face import Promises, Schedules, Tasks
from resonate_lab.engine.laws import Violations, violations
from resonate_lab.engine.outbox import take_messages
from resonate_lab.engine.runs import Runs
from resonate_lab.engine.saved import load, save
from resonate_lab.engine.state import State
from resonate_lab.engine.tree import Tree, tree
from resonate_lab.errors import EmptyAgenda, ProtocolError, WindowError
from resonate_lab.instants import (
    duration_ms,
    format_duration,
    format_instant,
    instant_ms,
    timestamp,
)
from resonate_lab.protocol.profile import Profile, profile_named
from resonate_lab.protocol.records import PROTOCOL_VERSION, Step
from resonate_lab.protocol.requests import DebugReset, DebugTick, read_envelope, read_request

if TYPE_CHECKING:
    import pandas as pd

    from resonate_lab.instants import Duration, Instant

__all__ = ["Engine", "Outage", "Promises", "Schedules", "Tasks"]


@dataclass(frozen=True, slots=True, repr=False)
class Outage:
    """What a restart brought after an outage.

    Attributes
    ----------
    down_at, up_at : int
        instants, ms since the Unix epoch, UTC
    drained_at : int or None
        instant at which nothing was overdue any more, ms since the Unix epoch, UTC; None
        if after another while as long as the outage something still was
    steps : list of Step
        what happened from the restart until then, in order; in a profile that catches up
        in one go a schedule's whole catch-up is one step
    """

    down_at: int
    up_at: int
    drained_at: int | None
    steps: list[Step]

    @property
    def fired(self) -> int:
        """Ticks fired."""
        return sum(step.ticks.fired for step in self.steps if step.ticks)

    @property
    def expired(self) -> int:
        """Promises created already settled."""
        return sum(step.ticks.expired for step in self.steps if step.ticks)

    @property
    def live(self) -> int:
        """Promises created pending."""
        return sum(step.ticks.live for step in self.steps if step.ticks)

    def __repr__(self) -> str:
        """Return the length of the outage and of the drain, and the counts."""
        if self.drained_at is None:
            drained = ", not drained"
        elif self.drained_at > self.up_at:
            drained = f", drained after {format_duration(self.drained_at - self.up_at)}"
        else:
            drained = ""
        return (
            f"Outage({format_duration(self.up_at - self.down_at)} to "
            f"{format_instant(self.up_at)}{drained}: {self.fired:,} ticks fired, "
            f"{self.live:,} live, {self.expired:,} expired, {len(self.steps):,} steps)"
        )

    def _repr_html_(self) -> str:
        rows = [(step.step, step.subject, step.effect, *_counts(step)) for step in self.steps[:10]]
        columns = ["step", "subject", "effect", "ticks", "live", "expired", "existed"]
        return table(rows, columns, caption=repr(self), total=len(self.steps))


def _counts(step: Step) -> tuple[int | None, ...]:
    n = step.ticks
    return (None,) * 4 if n is None else (n.fired, n.live, n.expired, n.existed)


class Engine:
    """An in-memory Resonate server under a clock of its own.

    Parameters
    ----------
    profile : str or Profile
        the rules it answers by; a name of `protocol.PROFILES`
    now : instant
        where its clock starts

    Attributes
    ----------
    state : State
        what is stored; read it, change it by requests
    schedules, promises, tasks : Schedules, Promises, Tasks
        the same requests in Python

    Raises
    ------
    ValueError
        there is no such profile

    Examples
    --------
    >>> engine = Engine(now="2024-01-01")
    >>> nightly = engine.schedules.create("nightly", cron="0 2 * * *", target="poll://any@default")
    >>> engine.outage("3d")
    Outage(3 d to 2024-01-04 00:00:00Z: 3 ticks fired, 1 live, 2 expired, 1 steps)
    >>> [promise.state for promise in engine.promises.search()]
    ['rejected_timedout', 'rejected_timedout', 'pending']
    """

    def __init__(self, profile: str | Profile = "standard", now: Instant = 0) -> None:
        start = instant_ms(now, "now")
        self.state = State(profile_named(profile), start)
        self._runs = Runs(self.state, start)
        self.schedules = Schedules(self)
        self.promises = Promises(self)
        self.tasks = Tasks(self)

    # --- the wire ------------------------------------------------------------------------

    def send(self, envelope: object) -> dict[str, object]:
        """Answer a request of the wire protocol.

        Parameters
        ----------
        envelope : dict
            ``kind``, ``head`` and ``data``; anything else is refused in the response

        Returns
        -------
        dict
            ``kind``, ``head`` (``corrId``, ``status``, ``version``) and ``data``, which
            is a text where the status is 400 or above. It shares nothing with the state.

        Notes
        -----
        A request is one transaction: it stands whole or not at all.
        """
        try:
            request = read_envelope(envelope)
            kind, corr_id, debug_time = request.kind, request.head.corr_id, request.head.debug_time
        except ProtocolError as err:
            kind, corr_id = _recovered(envelope)
            return _response(kind, corr_id, err.status, err.message)
        try:
            body = read_request(request, self.profile)
            now = self.now_ms if debug_time is None else debug_time
            if isinstance(body, DebugTick) and body.at is not None:
                now = body.at
            with self.state.transaction():
                status, data = answer(self.state, now, body, corr_id)
                self._runs.now = max(self.now_ms, now)
            if isinstance(body, DebugTick | DebugReset):
                self._runs.forget()
        except ProtocolError as err:
            return _response(kind, corr_id, err.status, err.message)
        except WindowError as err:
            return _response(kind, corr_id, 400, str(err))
        return _response(kind, corr_id, status, data)

    def take_messages(self, address: str, most: int | None = None) -> list[dict[str, object]]:
        """Take messages for an address out of the outbox, oldest first: a delivery.

        What is taken is gone, so whoever takes it has to bring it there. A task that is not
        acquired within the retry interval gets another message. Nothing is taken by the
        engine itself: without a transport messages stay in the outbox.

        Parameters
        ----------
        address : str
        most : int, optional
            how many at the most; all of them by default

        Returns
        -------
        list of dict
            ``kind`` (``execute`` or ``unblock``), ``head`` and ``data``, as the wire has them

        Examples
        --------
        >>> engine = Engine(now="2024-01-01")
        >>> promise = engine.promises.create("p", timeout="1h", target="poll://any@default")
        >>> [message["data"] for message in engine.take_messages("poll://any@default")]
        [{'task': {'id': 'p', 'version': 0}}]
        >>> engine.take_messages("poll://any@default")
        []
        """
        with self.state.transaction():
            return take_messages(self.state, self.now_ms, address, most)

    # --- time ----------------------------------------------------------------------------

    @property
    def profile(self) -> Profile:
        """The rules it answers by."""
        return self.state.profile

    @property
    def now_ms(self) -> int:
        """The clock, ms since the Unix epoch, UTC."""
        return self._runs.now

    @property
    def now(self) -> pd.Timestamp:
        """The clock, as a Timestamp in UTC."""
        return timestamp(self.now_ms)

    def advance(self, duration: Duration) -> None:
        """Let time pass: take every step at the instant at which it is due.

        Raises
        ------
        WindowError
            the duration is negative
        """
        self.run_until(self.now_ms + duration_ms(duration))

    def run_until(self, instant: Instant) -> None:
        """Let time pass up to and including an instant.

        Each run, at an instant at which something is due, is a transaction of its own:
        interrupted, the engine stands at the last one it finished. In a profile that polls,
        what falls due between two polls waits for the second.

        Raises
        ------
        WindowError
            the instant lies before the clock
        """
        until = instant_ms(instant)
        self._refuse_return(until)
        self._runs.let_pass(until)
        self._runs.now = until

    def outage(self, duration: Duration) -> Outage:
        """Let time pass with the server down, then restart it and let it catch up.

        While it is down nothing fires. At the restart a profile without polls catches up in
        one run; one that polls starts its polls anew and goes on polling, and time passes,
        until nothing is overdue any more, at most for as long as the outage was.

        Raises
        ------
        WindowError
            the duration is negative, or the catch-up is too large for one run; nothing
            has happened then
        """
        down_at = self.now_ms
        up_at = down_at + duration_ms(duration)
        self._refuse_return(up_at)
        steps = self._runs.restart(up_at)
        end = up_at if self.profile.poll_ms is None else up_at + (up_at - down_at)
        steps += self._runs.let_pass(end, wanted=self._runs.is_behind)
        drained_at = None if self._runs.is_behind() else self.now_ms
        return Outage(down_at, up_at, drained_at, steps)

    def peek_ms(self) -> int | None:
        """Return when the next step is due, ms since the Unix epoch, UTC; None if never."""
        head = self.state.agenda.peek()
        return head and head.at

    def next_run_ms(self) -> int | None:
        """Return when something next happens by itself, ms since the Unix epoch, UTC.

        Other than `peek_ms` this is the poll that sees what is due, in a profile that polls;
        and retries of tasks whose message is still queued, of which nothing comes, do not
        count. None if nothing happens any more.
        """
        head = self._runs.next(repeats=False)
        return head and head.at

    def step(self) -> Step:
        """Take exactly one step, at the instant at which its run comes, and return it.

        What follows from the step, such as the tasks that it wakes, is part of it and stands
        after it in `trace`.

        Raises
        ------
        EmptyAgenda
            nothing is armed
        WindowError
            a schedule has missed more ticks than one run fires
        """
        head = self._runs.next()
        if head is None:
            raise EmptyAgenda(
                f"nothing is taken after {format_instant(self.now_ms)}: "
                + ("send debug.stop first" if self.peek_ms() else "create a schedule or a promise")
            )
        return self._runs.step(head)[0]

    @property
    def trace(self) -> list[Step]:
        """What happened, oldest first; ``state.steps`` counts those that made room, too."""
        return list(self.state.trace)

    def check(self) -> Violations:
        """Return the laws of the state that are broken now: none, unless there is a bug."""
        return violations(self.now_ms, self.state)

    def tree(self, id: str) -> Tree:
        """Return the call graph below a promise, drawn as ``resonate tree`` draws it.

        The id of a fired promise shows all that came of that tick.
        """
        return tree(self.state, id)

    # --- copies --------------------------------------------------------------------------

    def fork(self) -> Engine:
        """Return an independent copy, for a what-if. O(number of records), a copy of tables.

        Examples
        --------
        >>> engine = Engine(now="2024-01-01")
        >>> promise = engine.promises.create("p", timeout="1h")
        >>> what_if = engine.fork()
        >>> what_if.advance("2h")
        >>> what_if.promises.get("p").state, engine.promises.get("p").state
        ('rejected_timedout', 'pending')
        """
        state = self.state.fork()
        return self._of(state, self._runs.fork(state))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the engine to a file, in place of the one that is there.

        At every moment one finds the old file or the new one whole, whatever kills the
        process.

        Raises
        ------
        OSError
            the file cannot be written; the old one stays
        """
        save(self.state, self._runs, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Engine:
        """Return the engine that a file holds; what it does from now on is the same.

        Raises
        ------
        SavedStateError
            the file is foreign, damaged, cut short or of another version
        OSError
            the file cannot be read
        """
        return cls._of(*load(path))

    @classmethod
    def _of(cls, state: State, runs: Runs) -> Engine:
        engine = cls(state.profile)
        engine.state, engine._runs = state, runs
        return engine

    # --- runs ----------------------------------------------------------------------------

    def explain_profile(self) -> str:
        """Return the rules that it answers by, one a line: name, what it says, meaning."""
        return self.profile.explain()

    def _refuse_return(self, until: int) -> None:
        if until < self.now_ms:
            raise WindowError(
                f"{format_instant(until)} lies before the engine's clock, which stands at "
                f"{format_instant(self.now_ms)}; time does not go back, so start another engine "
                "there"
            )

    # --- looks ---------------------------------------------------------------------------

    def _shown(self) -> list[tuple[str, str]]:
        at, state = self.peek_ms(), self.state
        return [
            ("profile", plain(self.profile.name)),
            ("now", format_instant(self.now_ms)),
            ("schedules", f"{len(state.schedules):,}"),
            ("promises", f"{len(state.promises):,}"),
            ("tasks", f"{len(state.tasks):,}"),
            ("messages", f"{len(state.executes):,}"),
            ("next step", "none" if at is None else format_instant(at)),
        ]

    def __repr__(self) -> str:
        """Return profile, clock and counts."""
        return f"Engine({', '.join(f'{name}: {text}' for name, text in self._shown())})"

    def _repr_html_(self) -> str:
        trace = self.state.trace
        last = [
            (format_instant(step.at), step.step, step.subject, step.effect)
            for step, _ in zip(reversed(trace), range(5), strict=False)
        ]
        names = ["at", "step", "of", "effect"]
        happened = table(last, names, caption="What happened last", total=len(trace))
        return table(self._shown(), ["Engine", ""]) + (happened if last else "")


def _recovered(envelope: object) -> tuple[str, str]:
    """Return kind and correlation id of what is no envelope, as far as they can be read."""
    kind = envelope.get("kind") if isinstance(envelope, dict) else None
    head = envelope.get("head") if isinstance(envelope, dict) else None
    corr_id = head.get("corrId") if isinstance(head, dict) else None
    return (
        kind if isinstance(kind, str) else "unknown",
        corr_id if isinstance(corr_id, str) else "0",
    )


def _response(kind: str, corr_id: str, status: int, data: object) -> dict[str, object]:
    head = {"corrId": corr_id, "status": status, "version": PROTOCOL_VERSION}
    return {"kind": kind, "head": head, "data": data}
