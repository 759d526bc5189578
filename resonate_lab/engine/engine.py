"""`Engine`: one state, one clock, and the doors to them.

The clock is an argument, never read. A request is answered as of its
``resonate:debug_time``, or, without one, as of the engine's clock, which follows the
latest instant it has been told and never goes back. Requests run nothing that is due:
time passes by ``debug.tick``, `advance`, `run_until`, `step` and `outage`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from resonate_lab._html import plain, table
from resonate_lab.cron import CronError, CronExpression
from resonate_lab.engine.external import answer
from resonate_lab.engine.internal import run_due, run_head
from resonate_lab.engine.laws import Violation, violations
from resonate_lab.engine.state import State
from resonate_lab.errors import EmptyAgenda, ProtocolError, WindowError
from resonate_lab.instants import (
    duration_ms,
    format_duration,
    format_instant,
    instant_ms,
    timestamp,
)
from resonate_lab.protocol.profile import Profile, profile_named
from resonate_lab.protocol.records import (
    PROTOCOL_VERSION,
    TARGET_TAG,
    Promise,
    Record,
    Records,
    Schedule,
    Step,
    Task,
    Value,
)
from resonate_lab.protocol.requests import DebugTick, read_envelope, read_request

if TYPE_CHECKING:
    import pandas as pd

    from resonate_lab.instants import Duration, Instant

__all__ = ["Engine", "Outage", "Promises", "Schedules", "Tasks"]

_PAGE = 1000


@dataclass(frozen=True, slots=True, repr=False)
class Outage:
    """What a restart brought after an outage.

    Attributes
    ----------
    down_at, up_at : int
        instants, ms since the Unix epoch, UTC
    steps : list of Step
        what the restart did, in order; a schedule's whole catch-up is one step
    """

    down_at: int
    up_at: int
    steps: list[Step]

    @property
    def fired(self) -> int:
        """Ticks fired at the restart."""
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
        """Return the length of the outage and the counts."""
        return (
            f"Outage({format_duration(self.up_at - self.down_at)} to {format_instant(self.up_at)}: "
            f"{self.fired:,} ticks fired, {self.live:,} live, {self.expired:,} expired, "
            f"{len(self.steps):,} steps)"
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
        self._now = instant_ms(now, "now")
        self.state = State(profile_named(profile), self._now)
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
            now = self._now if debug_time is None else debug_time
            if isinstance(body, DebugTick) and body.at is not None:
                now = body.at
            with self.state.transaction():
                status, data = answer(self.state, now, body, corr_id)
                self._now = max(self._now, now)
        except ProtocolError as err:
            return _response(kind, corr_id, err.status, err.message)
        except WindowError as err:
            return _response(kind, corr_id, 400, str(err))
        return _response(kind, corr_id, status, data)

    # --- time ----------------------------------------------------------------------------

    @property
    def profile(self) -> Profile:
        """The rules it answers by."""
        return self.state.profile

    @property
    def now_ms(self) -> int:
        """The clock, ms since the Unix epoch, UTC."""
        return self._now

    @property
    def now(self) -> pd.Timestamp:
        """The clock, as a Timestamp in UTC."""
        return timestamp(self._now)

    def advance(self, duration: Duration) -> None:
        """Let time pass: take every step at the instant at which it is due.

        Raises
        ------
        WindowError
            the duration is negative
        """
        self.run_until(self._now + duration_ms(duration))

    def run_until(self, instant: Instant) -> None:
        """Let time pass up to and including an instant.

        Each instant at which something is due is a transaction of its own: interrupted,
        the engine stands at the last one it finished.

        Raises
        ------
        WindowError
            the instant lies before the clock
        """
        until = instant_ms(instant)
        self._refuse_return(until)
        while (at := self.peek_ms()) is not None and at <= until:
            self._run(max(at, self._now))
        self._now = until

    def outage(self, duration: Duration) -> Outage:
        """Let time pass with the server down, then restart it and let it catch up.

        Raises
        ------
        WindowError
            the duration is negative, or the catch-up is too large for one run; nothing
            has happened then
        """
        down_at = self._now
        up_at = down_at + duration_ms(duration)
        self._refuse_return(up_at)
        steps = self._run(up_at)
        # A profile that fires one tick a run stays due after it.
        while (at := self.peek_ms()) is not None and at <= up_at:
            steps += self._run(up_at)
        return Outage(down_at, up_at, steps)

    def peek_ms(self) -> int | None:
        """Return when the next step is due, ms since the Unix epoch, UTC; None if never."""
        head = self.state.agenda.peek()
        return head and head.at

    def step(self) -> Step:
        """Take exactly one step, at the instant at which it is due, and return it.

        Raises
        ------
        EmptyAgenda
            nothing is armed
        WindowError
            a schedule has missed more ticks than one run fires
        """
        head = self.state.agenda.peek()
        if head is None:
            raise EmptyAgenda(
                f"nothing is due after {format_instant(self._now)}: create a schedule or a promise "
                "first"
            )
        now = max(head.at, self._now)
        with self.state.transaction() as steps:
            run_head(self.state, now, head)
            self._now = now
        return steps[0]

    @property
    def trace(self) -> list[Step]:
        """What happened, oldest first; ``state.steps`` counts those that made room, too."""
        return list(self.state.trace)

    def check(self) -> list[Violation]:
        """Return the laws of the state that are broken now: none, unless there is a bug."""
        return violations(self._now, self.state)

    def _run(self, now: int) -> list[Step]:
        with self.state.transaction() as steps:
            run_due(self.state, now)
            self._now = now
        return steps

    def _refuse_return(self, until: int) -> None:
        if until < self._now:
            raise WindowError(
                f"{format_instant(until)} lies before the engine's clock, which stands at "
                f"{format_instant(self._now)}; time does not go back, so start another engine there"
            )

    # --- looks ---------------------------------------------------------------------------

    def _shown(self) -> list[tuple[str, str]]:
        at, state = self.peek_ms(), self.state
        return [
            ("profile", plain(self.profile.name)),
            ("now", format_instant(self._now)),
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
        return table(self._shown(), ["Engine", ""])


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


# --- the same requests in Python ---------------------------------------------------------

R = TypeVar("R", bound=Record)


class _Face(Generic[R]):
    """One kind of record, by requests: get and search are the same for all."""

    _word: str
    _record: type[R]

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, id: str) -> R:
        """Return the record of that id.

        Raises
        ------
        ProtocolError
            404: there is none
        """
        return self._one("get", {"id": id})

    def __iter__(self) -> Iterator[R]:
        """Walk all records in byte order of their ids, a page at a time."""
        return self._walk({})

    def __len__(self) -> int:
        """Return how many are stored."""
        return len(getattr(self._engine.state, f"{self._word}s"))

    def __repr__(self) -> str:
        """Return what it is and how many there are."""
        return f"<{len(self):,} {self._word}s of {self._engine!r}>"

    def _repr_html_(self) -> str:
        first = Records(record for record, _ in zip(self, range(10), strict=False))
        return first._repr_html_()

    def _call(self, verb: str, data: Mapping[str, object]) -> dict[str, Any]:
        head = {"corrId": "python", "version": PROTOCOL_VERSION}
        kind = f"{self._word}.{verb}"
        response = self._engine.send({"kind": kind, "head": head, "data": data})
        status = cast(dict[str, Any], response["head"])["status"]
        if status >= 400:
            raise ProtocolError(status, str(response["data"]))
        return cast(dict[str, Any], response["data"])

    def _one(self, verb: str, data: Mapping[str, object]) -> R:
        return self._record.from_wire(self._call(verb, data)[self._word])

    def _walk(self, filters: Mapping[str, object]) -> Iterator[R]:
        request: dict[str, object] = {**filters, "limit": _PAGE}
        while True:
            page = self._call("search", request)
            yield from map(self._record.from_wire, page[f"{self._word}s"])
            if "cursor" not in page:
                return
            request["cursor"] = page["cursor"]


class Schedules(_Face[Schedule]):
    """The engine's schedules."""

    _word = "schedule"
    _record = Schedule

    def create(
        self,
        id: str,
        *,
        cron: str,
        promise_id: str = "{{.id}}-{{.timestamp}}",
        promise_timeout: Duration = "1d",
        promise_param: Value | None = None,
        promise_tags: Mapping[str, str] | None = None,
        target: str | None = None,
    ) -> Schedule:
        """Create a schedule, or return the one that has that id already, unchanged.

        Parameters
        ----------
        id, cron : str
        promise_id : str
            template; ``{{.id}}`` and ``{{.timestamp}}`` (the tick, ms) are filled in
        promise_timeout : duration
            from the tick to the promise's deadline
        promise_param : Value, optional
        promise_tags : mapping of str to str, optional
        target : str, optional
            the tag ``resonate:target``, such as ``"poll://any@default"``

        Raises
        ------
        ProtocolError
            400: the engine refuses it; the cause says what is wrong with a cron text
        """
        tags = dict(promise_tags or {})
        if target is not None:
            tags[TARGET_TAG] = target
        data = {
            "id": id,
            "cron": cron,
            "promiseId": promise_id,
            "promiseTimeout": duration_ms(promise_timeout, "promise_timeout"),
            "promiseParam": promise_param or {},
            "promiseTags": tags,
        }
        try:
            return self._one("create", data)
        except ProtocolError as err:
            if isinstance(cron, str):
                _explain_cron(cron, self._engine.profile.dialect, err)
            raise

    def delete(self, id: str) -> None:
        """Delete a schedule; the promises it created stay.

        Raises
        ------
        ProtocolError
            404: there is none
        """
        self._call("delete", {"id": id})

    def search(self, tags: Mapping[str, str] | None = None) -> Records[Schedule]:
        """Return the schedules whose promise tags hold all of these."""
        return Records(self._walk({"tags": tags}))


class Promises(_Face[Promise]):
    """The engine's promises."""

    _word = "promise"
    _record = Promise

    def create(
        self,
        id: str,
        *,
        timeout: Duration | None = None,
        timeout_at: Instant | None = None,
        param: Value | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> Promise:
        """Create a promise, or return the one that has that id already, unchanged.

        Parameters
        ----------
        id : str
        timeout : duration
            from now to the deadline
        timeout_at : instant
            the deadline; one of the two is needed
        param : Value, optional
        tags : mapping of str to str, optional

        Raises
        ------
        ProtocolError
            400: the engine refuses it
        TypeError
            both or none of `timeout` and `timeout_at` are given
        """
        if (timeout is None) == (timeout_at is None):
            raise TypeError(
                f"promise {id!r} needs a deadline: give timeout or timeout_at, not both"
            )
        if timeout_at is not None:
            deadline = instant_ms(timeout_at, "timeout_at")
        else:
            deadline = self._engine.now_ms + duration_ms(cast("Duration", timeout), "timeout")
        data = {"id": id, "timeoutAt": deadline, "param": param or {}, "tags": dict(tags or {})}
        return self._one("create", data)

    def search(
        self, tags: Mapping[str, str] | None = None, state: str | None = None
    ) -> Records[Promise]:
        """Return the promises whose tags hold all of these, and whose stored state is that."""
        return Records(self._walk({"tags": tags, "state": state}))


class Tasks(_Face[Task]):
    """The engine's tasks."""

    _word = "task"
    _record = Task

    def search(self, state: str | None = None) -> Records[Task]:
        """Return the tasks whose stored state is that."""
        return Records(self._walk({"state": state}))


def _explain_cron(cron: str, dialect: str, refusal: ProtocolError) -> None:
    """Raise the refusal with the parser's words as its cause, if the text is at fault."""
    try:
        CronExpression(cron, dialect=dialect)
    except CronError as cause:
        raise refusal from cause
