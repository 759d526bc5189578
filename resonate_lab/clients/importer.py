"""A live server mirrored into an engine, for a what-if that leaves the server alone.

The server is searched and never written to (`resonate_lab.whatif.live`). What its searches
show is taken as it is: instants, versions and values, whatever the profile would have made
of them. What they do not show is put in its place by a rule, see `engine_from_server`.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from resonate_lab._html import plain
from resonate_lab.cron import CronError, CronExpression
from resonate_lab.engine import Engine
from resonate_lab.engine.rows import PromiseRow, ScheduleRow, TaskRow
from resonate_lab.engine.settlement import dispatched
from resonate_lab.errors import ServerError
from resonate_lab.instants import instant_ms
from resonate_lab.protocol.records import (
    ACQUIRED,
    FULFILLED,
    HALTED,
    PENDING,
    PROMISE_STATES,
    SUSPENDED,
    TARGET_TAG,
    TASK_STATES,
)
from resonate_lab.protocol.requests import PromiseCreate, ScheduleCreate
from resonate_lab.protocol.shapes import (
    Integer,
    MaybeText,
    PromiseValue,
    Text,
    WrongShapeError,
    at_least,
    broken,
    integer,
    one_of,
    optional,
    read,
)
from resonate_lab.whatif.live import LiveServer

if TYPE_CHECKING:
    from resonate_lab.engine.state import State
    from resonate_lab.instants import Duration, Instant
    from resonate_lab.protocol.profile import Profile

__all__ = ["engine_from_server"]

_PARENT_TAG = "resonate:parent"

T = TypeVar("T")

_Instant = Annotated[Integer, at_least(0, "an instant is not negative")]
_MaybeInstant = Annotated[int | None, optional(integer), at_least(0, "an instant is not negative")]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Schedule(ScheduleCreate):
    """A schedule as the server shows it."""

    created_at: _Instant
    next_run_at: _MaybeInstant = None
    last_run_at: _MaybeInstant = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Promise(PromiseCreate):
    """A promise as the server shows it."""

    state: Annotated[str, one_of(*PROMISE_STATES)]
    value: PromiseValue
    created_at: _Instant
    settled_at: _MaybeInstant = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """A task as the server shows it."""

    id: Text
    state: Annotated[str, one_of(*TASK_STATES)]
    version: Annotated[Integer, at_least(0, "a version is not negative")]
    ttl: _MaybeInstant = None
    pid: MaybeText = None


def engine_from_server(
    url: str,
    *,
    promises: bool = False,
    now: Instant | None = None,
    profile: str | Profile = "server",
    token: str | None = None,
    timeout: Duration = "10s",
) -> Engine:
    """Return an engine that holds what a live server does, for a what-if.

    Parameters
    ----------
    url : str
        such as ``"http://localhost:8001"``
    promises : bool
        take over the promises and their tasks, too
    now : instant, optional
        where the engine's clock starts; default: the present moment
    profile : str or Profile
        the rules by which the engine goes on; the default is the released server's
    token : str, optional
        default: the environment variable ``RESONATE_TOKEN``
    timeout : duration
        longest that a page may take; three attempts are made

    Returns
    -------
    Engine
        with the same schedules, next and last ticks included, and the same promises

    Raises
    ------
    ServerError
        the server cannot be read (see `read_fleet`), or shows a record that is none; nothing
        is returned then
    ValueError
        there is no such profile

    Notes
    -----
    The server is asked by searches alone, page by page, and goes on meanwhile: what changes
    between two pages may be seen or not.

    Searches show neither leases nor who waits for whom. A lease therefore ends one ``ttl``
    after `now`; a suspended task waits for the pending promises whose ``resonate:parent`` it
    is, and without one is sent again; a pending task is sent at `now`; listeners are left out.

    Examples
    --------
    >>> engine = engine_from_server("http://localhost:8001")  # doctest: +SKIP
    >>> engine.outage("3d")  # doctest: +SKIP
    """
    start = time.time_ns() // 1_000_000 if now is None else instant_ms(now, "now")
    server = LiveServer(url, token, timeout)
    engine = Engine(profile, now=start)
    with engine.state.transaction():
        for record in server.records("schedule"):
            _put_schedule(engine.state, _read(_Schedule, record, "schedule", server))
        if promises:
            found = [_read(_Promise, r, "promise", server) for r in server.records("promise")]
            tasks = {r["id"]: _read(_Task, r, "task", server) for r in server.records("task")}
            _put_promises(engine.state, start, found, tasks)
    return engine


def _read(kind: type[T], record: Mapping[str, Any], word: str, server: LiveServer) -> T:
    fault = ""
    try:
        item = read(kind, record)
        fault = "; ".join(broken(item))
    except WrongShapeError as error:
        fault = str(error)
    if fault:
        raise ServerError(
            f"{word} {plain(record['id'], 80)!r} of {server.name} is none that can be mirrored: "
            f"{plain(fault)}"
        )
    return item


def _put_schedule(state: State, found: _Schedule) -> None:
    dialect = state.profile.dialect
    try:
        expression = CronExpression(found.cron, dialect=dialect)
    except CronError as error:
        raise ServerError(
            f"schedule {plain(found.id, 80)!r} cannot be mirrored, since profile "
            f"{state.profile.name!r} reads its cron text in dialect {dialect!r}: {error}"
        ) from error
    row = ScheduleRow(
        found.id,
        found.cron,
        found.promise_id,
        found.promise_timeout,
        found.promise_param,
        found.promise_tags,
        found.created_at,
        found.next_run_at,
        found.last_run_at,
        state.next_rank(),
        expression,
    )
    state.put_schedule(row)


def _put_promises(
    state: State, now: int, promises: Sequence[_Promise], tasks: Mapping[str, _Task]
) -> None:
    awaited: dict[str, list[str]] = defaultdict(list)
    for promise in promises:
        parent = promise.tags.get(_PARENT_TAG)
        if promise.state == PENDING and parent not in (None, promise.id):
            awaited[str(parent)].append(promise.id)
    for promise in promises:
        if (promise.settled_at is None) != (promise.state == PENDING):
            raise ServerError(
                f"promise {plain(promise.id, 80)!r} is {promise.state}, and its settledAt is "
                f"{promise.settled_at}: it cannot be mirrored"
            )
        row = PromiseRow(
            promise.id,
            promise.state,
            promise.param,
            promise.value,
            promise.tags,
            promise.timeout_at,
            promise.created_at,
            promise.settled_at,
        )
        if TARGET_TAG in promise.tags:
            known = tasks.get(promise.id)
            task = _task(state, now, known, waits=bool(awaited[promise.id]))
            row = row._replace(
                task=task if promise.state == PENDING else TaskRow(FULFILLED, task.version)
            )
        state.put_promise(row)
    for id, others in awaited.items():
        row_of = state.promises.get(id)
        if row_of is not None and row_of.task is not None and row_of.task.state == SUSPENDED:
            for other in others:
                state.add_callback(other, id)


def _task(state: State, now: int, known: _Task | None, *, waits: bool) -> TaskRow:
    """Return the task of a pending promise, as far as the server shows it."""
    version = known.version if known else 0
    if known and known.state == ACQUIRED and known.ttl is not None:
        return TaskRow(
            ACQUIRED, version, ttl=known.ttl, pid=known.pid or "", expires_at=now + known.ttl
        )
    if known and (known.state == HALTED or (known.state == SUSPENDED and waits)):
        return TaskRow(known.state, version)
    return dispatched(state, now, TaskRow(PENDING, version))
