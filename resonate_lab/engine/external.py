"""What clients ask for: one function a kind, from the state and a request to a reply.

A request names the promises it touches; those past their deadline are settled before
anything else happens. All checks stand before the first other change.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeVar

from resonate_lab._html import plain
from resonate_lab.cron import CronError, CronExpression
from resonate_lab.engine.internal import dispatched, next_tick, run_due, touch, verdict
from resonate_lab.engine.state import Execute, PromiseRow, ScheduleRow, State, TaskRow
from resonate_lab.instants import EPOCH_END_MS, format_instant
from resonate_lab.protocol.records import (
    EMPTY_VALUE,
    FULFILLED,
    PENDING,
    TARGET_TAG,
    Record,
)
from resonate_lab.protocol.requests import (
    DebugReset,
    DebugSnap,
    DebugStart,
    DebugStop,
    DebugTick,
    PromiseCreate,
    PromiseGet,
    PromiseSearch,
    Request,
    ScheduleCreate,
    ScheduleDelete,
    ScheduleGet,
    ScheduleSearch,
    TaskGet,
    TaskSearch,
    delay_of,
)

__all__ = ["Reply", "answer"]


class Reply(NamedTuple):
    """Status and data of a response; the data of a refusal is its text."""

    status: int
    data: object


def answer(state: State, now: int, request: Request) -> Reply:
    """Return the reply to a request that came in at `now`, ms since the Unix epoch, UTC."""
    return _HANDLERS[type(request)](state, now, request)


# --- promises ----------------------------------------------------------------------------


def promise_get(state: State, now: int, request: PromiseGet) -> Reply:
    """Answer ``promise.get``."""
    row = touch(state, now, request.id)
    if row is None:
        return Reply(404, "Promise not found")
    return Reply(200, {"promise": row.record().to_wire()})


def promise_create(state: State, now: int, request: PromiseCreate) -> Reply:
    """Answer ``promise.create``: a promise that exists is returned as it is."""
    row = touch(state, now, request.id)
    if row is None:
        row = create_promise(state, now, request)
        state.log(now, "promise.create", row.id, row.state)
    return Reply(200, {"promise": row.record().to_wire()})


def create_promise(state: State, now: int, request: PromiseCreate) -> PromiseRow:
    """Store a promise that is new, with its task and message if it is targeted.

    Past its deadline already, it is stored settled and nobody is told.
    """
    row = PromiseRow(
        request.id,
        PENDING,
        request.param,
        EMPTY_VALUE,
        request.tags,
        request.timeout_at,
        created_at=min(now, request.timeout_at),
        task=_first_task(state, now, request) if TARGET_TAG in request.tags else None,
    )
    if request.timeout_at <= now:
        row = row._replace(state=verdict(request.tags), settled_at=request.timeout_at)
    state.put_promise(row)
    return row


def _first_task(state: State, now: int, request: PromiseCreate) -> TaskRow:
    if request.timeout_at <= now:
        return TaskRow(FULFILLED)
    delay = delay_of(request.tags) if state.profile.delay_honoured else None
    if delay is not None and now < delay:
        return TaskRow(PENDING, retry_at=delay)
    return dispatched(state, now, TaskRow(PENDING))


def promise_search(state: State, now: int, request: PromiseSearch) -> Reply:
    """Answer ``promise.search`` from what is stored; nothing is touched."""
    wanted = (request.tags or {}).items()

    def record(id: str) -> Record | None:
        row = state.promises[id]
        if request.state not in (None, row.state):
            return None
        if any(row.tag(name) != text for name, text in wanted):
            return None
        return row.record()

    return _page(state, "promises", request, 100, record)


# --- tasks -------------------------------------------------------------------------------


def task_get(state: State, now: int, request: TaskGet) -> Reply:
    """Answer ``task.get``."""
    row = touch(state, now, request.id)
    if row is None or row.task is None:
        return Reply(404, "Task not found")
    return Reply(200, {"task": row.task.record(row.id).to_wire()})


def task_search(state: State, now: int, request: TaskSearch) -> Reply:
    """Answer ``task.search`` from what is stored; nothing is touched."""

    def record(id: str) -> Record | None:
        task = state.promises[id].task
        if task is None or request.state not in (None, task.state):
            return None
        return task.record(id)

    return _page(state, "tasks", request, 100, record)


# --- schedules ---------------------------------------------------------------------------


def schedule_get(state: State, now: int, request: ScheduleGet) -> Reply:
    """Answer ``schedule.get``."""
    row = state.schedules.get(request.id)
    if row is None:
        return Reply(404, "Schedule not found")
    return Reply(200, {"schedule": row.record().to_wire()})


def schedule_create(state: State, now: int, request: ScheduleCreate) -> Reply:
    """Answer ``schedule.create``: a schedule that exists is returned as it is."""
    try:
        expression = CronExpression(request.cron, dialect=state.profile.dialect)
    except CronError:
        return Reply(400, "Invalid cron expression")
    row = state.schedules.get(request.id)
    if row is None:
        next_run_at = next_tick(state.profile, expression, now)
        if next_run_at is None:
            return Reply(400, _why_never(expression, request.cron, now))
        row = ScheduleRow(
            request.id,
            request.cron,
            request.promise_id,
            request.promise_timeout,
            request.promise_param,
            request.promise_tags,
            now,
            next_run_at,
            None,
            state.next_rank(),
            expression,
        )
        state.put_schedule(row)
        state.log(now, "schedule.create", row.id, "armed")
    return Reply(200, {"schedule": row.record().to_wire()})


def _why_never(expression: CronExpression, cron: str, now: int) -> str:
    last = expression.prev_ms(EPOCH_END_MS)
    if last is None:
        return (
            f"Cron expression {plain(cron)!r} never fires: no day from 1970 to 2100 matches; "
            "write a date that exists"
        )
    return (
        f"Cron expression {plain(cron)!r} has no tick after {format_instant(now)}, its last is "
        f"{format_instant(last)}; write years to come, or leave the year out"
    )


def schedule_delete(state: State, now: int, request: ScheduleDelete) -> Reply:
    """Answer ``schedule.delete``: the record and its timer go together."""
    if request.id not in state.schedules:
        return Reply(404, "Schedule not found")
    state.drop_schedule(request.id)
    state.log(now, "schedule.delete", request.id, "disarmed")
    return Reply(200, {})


def schedule_search(state: State, now: int, request: ScheduleSearch) -> Reply:
    """Answer ``schedule.search``; the tags are those of the promises to come."""
    wanted = (request.tags or {}).items()

    def record(id: str) -> Record | None:
        row = state.schedules[id]
        matches = all(row.promise_tags.get(name) == text for name, text in wanted)
        return row.record() if matches else None

    return _page(state, "schedules", request, 10, record)


# --- searches ----------------------------------------------------------------------------

Search = TypeVar("Search", PromiseSearch, TaskSearch, ScheduleSearch)


def _page(
    state: State,
    table: str,
    request: Search,
    default_limit: int,
    record: Callable[[str], Record | None],
) -> Reply:
    """Answer a search: the records behind the cursor, and a cursor if there are more."""
    if not state.profile.serves_search:
        return Reply(501, f"Search of {table} is not served in profile {state.profile.name!r}")
    ids = state.sorted_ids("schedules" if table == "schedules" else "promises")
    limit = request.limit or default_limit
    found = _scan(ids, request.cursor, limit + 1, record)
    if not found and request.cursor is not None and state.profile.cursor_wraps:
        found = _scan(ids, None, limit + 1, record)
    page: dict[str, object] = {table: [item.to_wire() for _, item in found[:limit]]}
    if len(found) > limit:
        page["cursor"] = found[limit - 1][0]
    return Reply(200, page)


def _scan(
    ids: list[str], cursor: str | None, most: int, record: Callable[[str], Record | None]
) -> list[tuple[str, Record]]:
    found = []
    for at in range(0 if cursor is None else bisect_right(ids, cursor), len(ids)):
        item = record(ids[at])
        if item is not None:
            found.append((ids[at], item))
            if len(found) == most:
                break
    return found


# --- debug -------------------------------------------------------------------------------


def debug_tick(state: State, now: int, request: DebugTick) -> Reply:
    """Answer ``debug.tick``: take what is due at the time it names."""
    run_due(state, now)
    return Reply(200, [])


def debug_reset(state: State, now: int, request: DebugReset) -> Reply:
    """Answer ``debug.reset``."""
    state.clear()
    state.log(now, "debug.reset", "", "emptied")
    return Reply(200, {})


def debug_loops(state: State, now: int, request: DebugStart | DebugStop) -> Reply:
    """Answer ``debug.start`` and ``debug.stop``: there is no loop to stop or start."""
    return Reply(200, {})


def debug_snap(state: State, now: int, request: DebugSnap) -> Reply:
    """Answer ``debug.snap``: all but the schedules, each list by id."""
    promises = [state.promises[id] for id in state.sorted_ids("promises")]
    tasks = [(row.id, row.task) for row in promises if row.task is not None]
    deadlines = ((row, state.times_out_at(row)) for row in promises)
    return Reply(
        200,
        {
            "promises": [row.record().to_wire() for row in promises],
            "promiseTimeouts": [
                {"id": row.id, "timeout": at} for row, at in deadlines if at is not None
            ],
            # No kind that is served registers any of these two.
            "callbacks": [],
            "listeners": [],
            "tasks": [row.record(id).to_wire() for id, row in tasks],
            "taskTimeouts": [
                {"id": id, "type": kind, "timeout": at}
                for id, row in tasks
                for kind, at in enumerate((row.retry_at, row.expires_at))
                if at is not None
            ],
            "messages": [_message(*item) for item in sorted(state.executes.items())],
        },
    )


def _message(id: str, execute: Execute) -> dict[str, object]:
    task = {"id": id, "version": execute.version}
    message = {"kind": "execute", "head": {}, "data": {"task": task}}
    return {"address": execute.address, "message": message}


_HANDLERS: Final[Mapping[type[Request], Callable[..., Reply]]] = {
    PromiseGet: promise_get,
    PromiseCreate: promise_create,
    PromiseSearch: promise_search,
    TaskGet: task_get,
    TaskSearch: task_search,
    ScheduleGet: schedule_get,
    ScheduleCreate: schedule_create,
    ScheduleDelete: schedule_delete,
    ScheduleSearch: schedule_search,
    DebugTick: debug_tick,
    DebugReset: debug_reset,
    DebugStart: debug_loops,
    DebugStop: debug_loops,
    DebugSnap: debug_snap,
}
