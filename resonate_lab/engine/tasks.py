"""What workers ask about tasks: one function a kind."""

from __future__ import annotations

from typing import cast

from resonate_lab.engine.promises import (
    create,
    promise_create,
    promise_settle,
    settle_by_client,
)
from resonate_lab.engine.replies import Reply, preload, promise_reply, task_reply
from resonate_lab.engine.rows import PromiseRow, TaskRow
from resonate_lab.engine.settlement import dispatched, look, touch
from resonate_lab.engine.state import State
from resonate_lab.errors import ProtocolError
from resonate_lab.protocol.records import (
    ACQUIRED,
    FULFILLED,
    HALTED,
    PENDING,
    PROTOCOL_VERSION,
    SUSPENDED,
    TARGET_TAG,
)
from resonate_lab.protocol.requests import (
    PromiseCreate,
    PromiseSettle,
    Request,
    TaskAcquire,
    TaskContinue,
    TaskCreate,
    TaskFence,
    TaskFulfill,
    TaskGet,
    TaskHalt,
    TaskHeartbeat,
    TaskRelease,
    TaskSuspend,
    read_action,
)
from resonate_lab.protocol.shapes import I64_MAX

__all__ = [
    "task_acquire",
    "task_continue",
    "task_create",
    "task_fence",
    "task_fulfill",
    "task_get",
    "task_halt",
    "task_heartbeat",
    "task_release",
    "task_suspend",
]

_UNKNOWN = Reply(404, "Task not found")
_NOT_HELD = Reply(409, "Task version mismatch or invalid state")


def _claimed(state: State, now: int, id: str) -> PromiseRow | None:
    """Return what a claim on a task goes by: the promise, settled first if it is overdue."""
    if not state.profile.claims_see_deadline:
        return state.promises.get(id)
    touch(state, now, [id])
    return look(state, now, id)


def _holds(task: TaskRow, version: int) -> bool:
    """Return whether a worker that names this version holds the task."""
    return task.state == ACQUIRED and task.version == version


def _lease(now: int, task: TaskRow, pid: str, ttl: int) -> TaskRow:
    """Return a task acquired: one version up, nothing to resume, its message still queued."""
    expires_at = min(now + ttl, I64_MAX)
    return TaskRow(
        ACQUIRED, task.version + 1, ttl=ttl, pid=pid, expires_at=expires_at, queued=task.queued
    )


def task_get(state: State, now: int, request: TaskGet) -> Reply:
    """Answer ``task.get``."""
    touch(state, now, [request.id])
    row = look(state, now, request.id)
    if row is None or row.task is None:
        return _UNKNOWN
    return Reply(200, {"task": row.task.record(row.id).to_wire()})


def task_create(state: State, now: int, request: TaskCreate) -> Reply:
    """Answer ``task.create``: acquire the task of a promise, which is created if need be."""
    promise = request.action.data
    row = _claimed(state, now, promise.id)
    is_new = row is None
    if row is None:
        lease = _lease(now, TaskRow(PENDING), request.pid, request.ttl)
        row = create(state, now, promise, lease)
        state.log(now, "task.create", row.id, row.state)
    task = row.task
    if task is None:
        return Reply(422, f"The promise does not have a {TARGET_TAG} tag")
    if task.state == PENDING:
        task = _lease(now, task, request.pid, request.ttl)
        state.put_task(row.id, task)
        state.log(now, "task.create", row.id, ACQUIRED)
    elif not is_new and task.state != FULFILLED:
        return Reply(409, "Already exists")
    siblings = task.state != FULFILLED or state.profile.preloads_fulfilled
    return task_reply(state, row, task, siblings)


def task_acquire(state: State, now: int, request: TaskAcquire) -> Reply:
    """Answer ``task.acquire``: only this makes a new version."""
    touch(state, now, [request.id])
    row = look(state, now, request.id)
    if row is None or row.task is None:
        return _UNKNOWN
    if row.task.state != PENDING:
        return Reply(409, "Task is not pending")
    if row.task.version != request.version:
        return Reply(409, "Version mismatch")
    task = _lease(now, row.task, request.pid, request.ttl)
    state.put_task(row.id, task)
    state.log(now, "task.acquire", row.id, ACQUIRED)
    return task_reply(state, row, task)


def task_release(state: State, now: int, request: TaskRelease) -> Reply:
    """Answer ``task.release``."""
    touch(state, now, [request.id])
    row = look(state, now, request.id)
    if row is None or row.task is None:
        return _UNKNOWN
    if not _holds(row.task, request.version):
        return _NOT_HELD
    state.put_task(row.id, dispatched(state, now, row.task))
    state.log(now, "task.release", row.id, "dispatched")
    return Reply(200, {})


def task_fulfill(state: State, now: int, request: TaskFulfill) -> Reply:
    """Answer ``task.fulfill``."""
    touch(state, now, [request.id])
    row = look(state, now, request.id)
    if row is None or row.task is None:
        return _UNKNOWN
    if not _holds(row.task, request.version):
        return _NOT_HELD
    return promise_reply(settle_by_client(state, now, row, request.action.data, "task.fulfill"))


def task_suspend(state: State, now: int, request: TaskSuspend) -> Reply:
    """Answer ``task.suspend``: 300, and the task goes on, if there is nothing to wait for."""
    touch(state, now, [request.id, *request.awaited])
    row = look(state, now, request.id)
    if row is None or row.task is None:
        return _UNKNOWN
    if not _holds(row.task, request.version):
        return Reply(409, "Task is not acquired or version mismatch")
    awaited = [look(state, now, id) for id in request.awaited]
    if None in awaited:
        return Reply(422, "Awaited promise not found")
    if any(promise and promise.state != PENDING for promise in awaited):
        state.put_task(row.id, row.task._replace(resumes=frozenset()))
        state.log(now, "task.suspend", row.id, "goes on")
        return Reply(300, {"preload": preload(state, row)})
    for id in request.awaited:
        state.add_callback(id, row.id)
    state.put_task(row.id, TaskRow(SUSPENDED, row.task.version, queued=row.task.queued))
    state.log(now, "task.suspend", row.id, SUSPENDED)
    return Reply(200, {})


def task_fence(state: State, now: int, request: TaskFence, corr_id: str) -> Reply:
    """Answer ``task.fence``: do something to another promise while the task is held.

    What the answer to a fence holds is itself a response, with the same `corr_id`.
    """
    action_first = state.profile.fence_order == "action first"
    if action_first and isinstance(action := _action(state, request), Reply):
        return action
    touch(state, now, [request.id, *([request.promise_id] if request.promise_id else [])])
    row = look(state, now, request.id)
    if row is None or row.task is None:
        return _UNKNOWN
    if not _holds(row.task, request.version):
        return Reply(409, "Version mismatch")
    if not action_first and isinstance(action := _action(state, request), Reply):
        return action
    inner = (
        promise_create(state, now, action)
        if isinstance(action, PromiseCreate)
        else promise_settle(state, now, cast(PromiseSettle, action))
    )
    head = {"corrId": corr_id, "status": inner.status, "version": PROTOCOL_VERSION}
    response = {"kind": request.action.kind, "head": head, "data": inner.data}
    return Reply(200, {"action": response, "preload": preload(state, row)})


def _action(state: State, request: TaskFence) -> Request | Reply:
    # A refusal is an answer here and no exception: what was touched before it stands.
    try:
        return read_action(request.action, state.profile)
    except ProtocolError as err:
        return Reply(err.status, err.message)


def task_heartbeat(state: State, now: int, request: TaskHeartbeat) -> Reply:
    """Answer ``task.heartbeat``: tasks that are not held any more are passed over."""
    for ref in request.tasks:
        row = state.promises.get(ref.id)
        if row is None or row.task is None or row.task.ttl is None:
            continue
        if row.timeout_at <= now and state.profile.heartbeat_sees_deadline:
            continue
        if _holds(row.task, ref.version) and row.task.pid == request.pid:
            expires_at = min(now + row.task.ttl, I64_MAX)
            state.put_task(ref.id, row.task._replace(expires_at=expires_at))
            state.log(now, "task.heartbeat", ref.id, "lease renewed")
    return Reply(200, {})


def task_halt(state: State, now: int, request: TaskHalt) -> Reply:
    """Answer ``task.halt``: nobody gets the task until it is continued."""
    row = _claimed(state, now, request.id)
    if row is None or row.task is None:
        return _UNKNOWN
    if row.task.state == FULFILLED:
        return Reply(409, "Task is fulfilled")
    if row.task.state != HALTED:
        task = row.task
        state.put_task(row.id, TaskRow(HALTED, task.version, task.resumes, queued=task.queued))
        state.log(now, "task.halt", row.id, HALTED)
    return Reply(200, {})


def task_continue(state: State, now: int, request: TaskContinue) -> Reply:
    """Answer ``task.continue``."""
    row = _claimed(state, now, request.id)
    if row is None or row.task is None:
        return _UNKNOWN
    if row.task.state != HALTED:
        return Reply(409, "Task is not halted")
    state.put_task(row.id, dispatched(state, now, row.task))
    state.log(now, "task.continue", row.id, "dispatched")
    return Reply(200, {})
