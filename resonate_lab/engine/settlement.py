"""How a promise settles, and what follows from it in the same step.

A settlement is one step with three parts: the promise and its own task, then the tasks
that waited for it, then the addresses that wanted to be told. Where promises
settle together, all do the first part before any of them does the second, so that none
wakes a task that is fulfilled a moment later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from resonate_lab.engine.rows import PromiseRow, TaskRow
from resonate_lab.engine.state import State
from resonate_lab.protocol.records import (
    FULFILLED,
    PENDING,
    REJECTED_TIMEDOUT,
    RESOLVED,
    SUSPENDED,
    is_timer,
)

__all__ = [
    "dispatched",
    "fulfilled",
    "look",
    "resume",
    "settle",
    "settles_together",
    "time_out",
    "touch",
    "verdict",
]


def verdict(tags: Mapping[str, str]) -> str:
    """Return the state in which a deadline leaves a promise with these tags."""
    return RESOLVED if is_timer(tags) else REJECTED_TIMEDOUT


def fulfilled(task: TaskRow | None) -> TaskRow | None:
    """Return the task of a settled promise, if it has one; its message stays queued."""
    if task is None or task.state == FULFILLED:
        return task
    return TaskRow(FULFILLED, task.version, queued=task.queued)


def lapsed(row: PromiseRow) -> PromiseRow:
    """Return a pending promise as its deadline leaves it."""
    return row._replace(
        state=verdict(row.tags), settled_at=row.timeout_at, task=fulfilled(row.task)
    )


def is_overdue(row: PromiseRow, now: int) -> bool:
    """Return whether a promise is stored pending past its deadline."""
    return row.state == PENDING and row.timeout_at <= now


def dispatched(state: State, now: int, task: TaskRow) -> TaskRow:
    """Return a task pending, its execute message queued, to be queued again later."""
    retry_at, version = now + state.profile.retry_ms, task.version
    return TaskRow(PENDING, version, task.resumes, retry_at=retry_at, queued=version)


# --- settling ----------------------------------------------------------------------------


def settle(state: State, now: int, step: str, rows: Iterable[PromiseRow]) -> None:
    """Store promises as settled together, with all that follows.

    Parameters
    ----------
    state : State
    now : int
        instant, ms since the Unix epoch, UTC
    step : str
        why, for the trace
    rows : iterable of PromiseRow
        as they are from now on, settled, each with its task fulfilled
    """
    rows = list(rows)
    for row in rows:
        state.put_promise(row)
        state.log(now, step, row.id, row.state)
    for row in rows:
        state.drop_awaits(row.id)
    for row in rows:
        for awaiter in state.take_callbacks(row.id):
            resume(state, now, row.id, awaiter)
        for address in state.take_listeners(row.id):
            state.put_unblock(row, address)
            state.log(now, "unblock", row.id, address)


def resume(state: State, now: int, awaited: str, awaiter: str) -> None:
    """Tell a task that a promise which it waited for has settled."""
    row = state.promises[awaiter]
    if row.state != PENDING or row.task is None:
        return
    if row.timeout_at <= now and state.profile.overdue_awaiter == "skipped":
        return
    task = row.task._replace(resumes=row.task.resumes | {awaited})
    if task.state == SUSPENDED:
        state.put_task(awaiter, dispatched(state, now, task))
        state.log(now, "resume", awaiter, "dispatched")
    else:
        state.put_task(awaiter, task)
        state.log(now, "resume", awaiter, "noted")


def time_out(state: State, now: int, ids: Iterable[str]) -> None:
    """Settle the promises among these whose deadline has come, as of that deadline."""
    portions = [list(ids)] if settles_together(state) else [[id] for id in ids]
    for portion in portions:
        rows = (state.promises[id] for id in portion)
        settle(state, now, "promise timeout", [lapsed(r) for r in rows if is_overdue(r, now)])


def settles_together(state: State) -> bool:
    """Return whether it matters that promises which time out together settle in one step."""
    return state.profile.overdue_awaiter == "woken unless it settles too"


# --- what a request sees -----------------------------------------------------------------


def touch(state: State, now: int, ids: Sequence[str]) -> None:
    """Settle the overdue among the promises that a request names, if the profile does."""
    if state.profile.overdue == "settled":
        known = [id for id in dict.fromkeys(ids) if id in state.promises]
        if any(is_overdue(state.promises[id], now) for id in known):
            time_out(state, now, known)


def look(state: State, now: int, id: str) -> PromiseRow | None:
    """Return a promise as a request sees it, settled if it is overdue; None if unknown.

    After a touch nothing is overdue; in a profile that stores no verdict for a request,
    the promise is only shown as its deadline will leave it.
    """
    row = state.promises.get(id)
    if row is not None and is_overdue(row, now):
        return lapsed(row)
    return row
