"""What clients ask for: one function a kind, from the state and a request to a reply.

A request names the promises it touches; those past their deadline are settled before
anything else happens. All checks stand before the first other change. The kinds about
promises and tasks stand in files of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from resonate_lab._html import plain
from resonate_lab.cron import CronError, CronExpression
from resonate_lab.engine.internal import next_tick, run_due
from resonate_lab.engine.outbox import execute_message, unblock_message
from resonate_lab.engine.promises import (
    promise_create,
    promise_get,
    promise_register_callback,
    promise_register_listener,
    promise_settle,
)
from resonate_lab.engine.replies import Reply
from resonate_lab.engine.rows import ScheduleRow
from resonate_lab.engine.searches import promise_search, schedule_search, task_search
from resonate_lab.engine.state import State
from resonate_lab.engine.tasks import (
    task_acquire,
    task_continue,
    task_create,
    task_fence,
    task_fulfill,
    task_get,
    task_halt,
    task_heartbeat,
    task_release,
    task_suspend,
)
from resonate_lab.instants import EPOCH_END_MS, format_instant
from resonate_lab.protocol import requests
from resonate_lab.protocol.requests import (
    DebugReset,
    DebugSnap,
    DebugStart,
    DebugStop,
    DebugTick,
    Request,
    ScheduleCreate,
    ScheduleDelete,
    ScheduleGet,
    TaskFence,
)

__all__ = ["Reply", "answer"]


def answer(state: State, now: int, request: Request, corr_id: str = "") -> Reply:
    """Return the reply to a request that came in at `now`, ms since the Unix epoch, UTC."""
    if isinstance(request, TaskFence):
        return task_fence(state, now, request, corr_id)
    return _HANDLERS[type(request)](state, now, request)


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


def debug_loop(state: State, now: int, request: DebugStart | DebugStop) -> Reply:
    """Answer ``debug.start`` and ``debug.stop``: the first stops the server's own loop."""
    if state.profile.debug_stops_polls:
        state.polling = isinstance(request, DebugStop)
    return Reply(200, {})


def debug_snap(state: State, now: int, request: DebugSnap) -> Reply:
    """Answer ``debug.snap``: all but the schedules, each list by id."""
    promises = [state.promises[id] for id in state.promise_ids()]
    tasks = [(row.id, row.task) for row in promises if row.task is not None]
    deadlines = ((row, state.times_out_at(row)) for row in promises)
    return Reply(
        200,
        {
            "promises": [row.record().to_wire() for row in promises],
            "promiseTimeouts": [
                {"id": row.id, "timeout": at} for row, at in deadlines if at is not None
            ],
            "callbacks": [
                {"awaiter": awaiter, "awaited": awaited}
                for awaited, awaiters in sorted(state.callbacks.items())
                for awaiter in sorted(awaiters)
            ],
            "listeners": [
                {"id": id, "address": address}
                for id, addresses in sorted(state.listeners.items())
                for address in sorted(addresses)
            ],
            "tasks": [row.record(id).to_wire() for id, row in tasks],
            "taskTimeouts": [
                {"id": id, "type": kind, "timeout": at}
                for id, row in tasks
                for kind, at in enumerate((row.retry_at, row.expires_at))
                if at is not None
            ],
            "messages": [
                *(
                    {"address": address, "message": execute_message(id, version)}
                    for id, (version, address) in sorted(state.executes.items())
                ),
                *(
                    {"address": address, "message": unblock_message(row)}
                    for (_, address), row in sorted(state.unblocks.items(), key=_key)
                ),
            ],
        },
    )


def _key(item: tuple[tuple[str, str], object]) -> tuple[str, str]:
    return item[0]


_HANDLERS: Final[Mapping[type[Request], Callable[..., Reply]]] = {
    requests.PromiseGet: promise_get,
    requests.PromiseCreate: promise_create,
    requests.PromiseSettle: promise_settle,
    requests.PromiseRegisterCallback: promise_register_callback,
    requests.PromiseRegisterListener: promise_register_listener,
    requests.PromiseSearch: promise_search,
    requests.TaskGet: task_get,
    requests.TaskCreate: task_create,
    requests.TaskAcquire: task_acquire,
    requests.TaskRelease: task_release,
    requests.TaskFulfill: task_fulfill,
    requests.TaskSuspend: task_suspend,
    requests.TaskHeartbeat: task_heartbeat,
    requests.TaskHalt: task_halt,
    requests.TaskContinue: task_continue,
    requests.TaskSearch: task_search,
    ScheduleGet: schedule_get,
    ScheduleCreate: schedule_create,
    ScheduleDelete: schedule_delete,
    requests.ScheduleSearch: schedule_search,
    DebugTick: debug_tick,
    DebugReset: debug_reset,
    DebugStart: debug_loop,
    DebugStop: debug_loop,
    DebugSnap: debug_snap,
}
