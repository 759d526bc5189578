"""What clients ask about promises: one function a kind."""

from __future__ import annotations

from resonate_lab.engine.replies import Reply, promise_reply
from resonate_lab.engine.rows import PromiseRow, TaskRow
from resonate_lab.engine.settlement import (
    dispatched,
    fulfilled,
    look,
    settle,
    touch,
    verdict,
)
from resonate_lab.engine.state import State
from resonate_lab.protocol.records import (
    EMPTY_VALUE,
    FULFILLED,
    HALTED,
    PENDING,
    SUSPENDED,
    TARGET_TAG,
)
from resonate_lab.protocol.requests import (
    PromiseCreate,
    PromiseGet,
    PromiseRegisterCallback,
    PromiseRegisterListener,
    PromiseSettle,
)
from resonate_lab.protocol.texts import delay_of

__all__ = [
    "create",
    "promise_create",
    "promise_get",
    "promise_register_callback",
    "promise_register_listener",
    "promise_settle",
    "settle_by_client",
    "unknown_promise",
]

unknown_promise = Reply(404, "Promise not found")


def promise_get(state: State, now: int, request: PromiseGet) -> Reply:
    """Answer ``promise.get``."""
    touch(state, now, [request.id])
    row = look(state, now, request.id)
    return unknown_promise if row is None else promise_reply(row)


def promise_create(state: State, now: int, request: PromiseCreate) -> Reply:
    """Answer ``promise.create``: a promise that exists is returned as it is."""
    touch(state, now, [request.id])
    row = look(state, now, request.id)
    if row is None:
        row = create(state, now, request)
        state.log(now, "promise.create", row.id, row.state)
    return promise_reply(row)


def create(
    state: State, now: int, request: PromiseCreate, task: TaskRow | None = None
) -> PromiseRow:
    """Store a promise that is new, with its task and message if it is targeted.

    Past its deadline already, it is stored settled and nobody is told.

    Parameters
    ----------
    state : State
    now : int
        instant, ms since the Unix epoch, UTC
    request : PromiseCreate
    task : TaskRow, optional
        of a live one, where it is not to be sent to the target
    """
    targeted = TARGET_TAG in request.tags
    row = PromiseRow(
        request.id,
        PENDING,
        request.param,
        EMPTY_VALUE,
        request.tags,
        request.timeout_at,
        created_at=min(now, request.timeout_at),
    )
    if request.timeout_at <= now:
        row = row._replace(
            state=verdict(request.tags),
            settled_at=request.timeout_at,
            task=TaskRow(FULFILLED) if targeted else None,
        )
    elif targeted:
        row = row._replace(task=task or _first_task(state, now, request))
    state.put_promise(row)
    return row


def _first_task(state: State, now: int, request: PromiseCreate) -> TaskRow:
    delay = delay_of(request.tags) if state.profile.delay_honoured else None
    if delay is not None and now < delay:
        return TaskRow(PENDING, retry_at=delay)
    return dispatched(state, now, TaskRow(PENDING))


def promise_settle(state: State, now: int, request: PromiseSettle) -> Reply:
    """Answer ``promise.settle``: a promise that is settled already is returned as it is."""
    touch(state, now, [request.id])
    row = look(state, now, request.id)
    if row is None:
        return unknown_promise
    if row.state == PENDING:
        row = settle_by_client(state, now, row, request, "promise.settle")
    return promise_reply(row)


def settle_by_client(
    state: State, now: int, row: PromiseRow, request: PromiseSettle, step: str
) -> PromiseRow:
    """Settle a pending promise as a client says; return it."""
    row = row._replace(
        state=request.state, value=request.value, settled_at=now, task=fulfilled(row.task)
    )
    settle(state, now, step, [row])
    return row


def promise_register_callback(state: State, now: int, request: PromiseRegisterCallback) -> Reply:
    """Answer ``promise.register_callback`` with the awaited as it was before."""
    touch(state, now, [request.awaited, request.awaiter])
    awaited = look(state, now, request.awaited)
    awaiter = look(state, now, request.awaiter)
    if awaited is None:
        return Reply(404, "Awaited promise not found")
    if awaiter is None:
        return Reply(422, "Awaiter promise not found")
    if awaiter.task is None:
        return Reply(422, f"Awaiter promise has no {TARGET_TAG} tag")
    if awaiter.state == PENDING:
        if awaited.state == PENDING:
            state.add_callback(awaited.id, awaiter.id)
            state.log(now, "promise.register_callback", awaited.id, f"wakes {awaiter.id}")
        else:
            _call_back_at_once(state, now, awaited.id, awaiter)
    return promise_reply(awaited)


def _call_back_at_once(state: State, now: int, awaited: str, awaiter: PromiseRow) -> None:
    """Do what a callback does that comes after the settlement."""
    rule, task = state.profile.late_callback, awaiter.task
    if rule == "nothing" or task is None or task.state == HALTED:
        return
    noted = task._replace(resumes=task.resumes | {awaited})
    if task.state == SUSPENDED:
        woken = noted if rule == "wakes with a resume" else task
        state.put_task(awaiter.id, dispatched(state, now, woken))
        state.log(now, "promise.register_callback", awaiter.id, "dispatched")
    else:
        state.put_task(awaiter.id, noted)
        state.log(now, "promise.register_callback", awaiter.id, "noted")


def promise_register_listener(state: State, now: int, request: PromiseRegisterListener) -> Reply:
    """Answer ``promise.register_listener``; a settled promise tells nobody any more."""
    touch(state, now, [request.awaited])
    row = look(state, now, request.awaited)
    if row is None:
        return Reply(404, "Awaited promise not found")
    if row.state == PENDING:
        state.add_listener(row.id, request.address)
        state.log(now, "promise.register_listener", row.id, f"tells {request.address}")
    return promise_reply(row)
