"""The laws of one task: in every state, and from one state to the next."""

from __future__ import annotations

from resonate_lab.engine.laws.catalogue import (
    Cases,
    Claim,
    step_law,
    task_after,
    task_before,
    task_law,
)
from resonate_lab.engine.laws.picture import Move
from resonate_lab.engine.rows import TaskRow
from resonate_lab.protocol.records import (
    ACQUIRED,
    FULFILLED,
    HALTED,
    PENDING,
    SUSPENDED,
    TARGET_TAG,
)
from resonate_lab.protocol.shapes import I64_MAX

#: What a task may become, by what it is; whatever it is, it may stay so.
_EDGES = {
    PENDING: {PENDING, ACQUIRED, HALTED, FULFILLED},
    ACQUIRED: {ACQUIRED, PENDING, SUSPENDED, HALTED, FULFILLED},
    SUSPENDED: {SUSPENDED, PENDING, HALTED, FULFILLED},
    HALTED: {HALTED, PENDING, FULFILLED},
    FULFILLED: {FULFILLED},
}
#: The same of what the server does by itself.
_INTERNAL_EDGES = {
    PENDING: {PENDING, FULFILLED},
    ACQUIRED: {ACQUIRED, PENDING, FULFILLED},
    SUSPENDED: {SUSPENDED, PENDING, FULFILLED},
    HALTED: {HALTED, FULFILLED},
    FULFILLED: {FULFILLED},
}
_DISPATCHED_AT_ONCE = (
    "dispatch is part of the step: the retry is armed a retry interval ahead, and the message "
    "is in the outbox unless the target is empty"
)

# --- in every state ----------------------------------------------------------------------


@task_law()
def well_formed_task_acquired_iff_has_pid(t: TaskRow) -> Claim:
    """A task has a holder exactly if it is acquired."""
    return (t.state == ACQUIRED) == (t.pid is not None)


@task_law()
def well_formed_task_acquired_iff_has_ttl(t: TaskRow) -> Claim:
    """A task has a length of lease exactly if it is acquired."""
    return (t.state == ACQUIRED) == (t.ttl is not None)


@task_law()
def well_formed_task_acquired_iff_has_expires_at(t: TaskRow) -> Claim:
    """A task has an end of lease exactly if it is acquired."""
    return (t.state == ACQUIRED) == (t.expires_at is not None)


@task_law()
def well_formed_task_pending_iff_has_retry_at(t: TaskRow) -> Claim:
    """A task has a next dispatch exactly if it is pending."""
    return (t.state == PENDING) == (t.retry_at is not None)


@task_law()
def well_formed_task_fulfilled_is_cleared(t: TaskRow) -> Claim:
    """A fulfilled task has no lease, no dispatch and no resumes."""
    return _is_cleared(t) and not t.resumes if t.state == FULFILLED else None


@task_law()
def well_formed_task_suspended_is_cleared(t: TaskRow) -> Claim:
    """A suspended task has no lease and no dispatch."""
    return _is_cleared(t) if t.state == SUSPENDED else None


@task_law()
def well_formed_task_halted_is_cleared(t: TaskRow) -> Claim:
    """A halted task has no lease and no dispatch."""
    return _is_cleared(t) if t.state == HALTED else None


@task_law()
def well_formed_task_suspended_has_no_resumes(t: TaskRow) -> Claim:
    """A suspended task has no resumes: the first one would wake it."""
    return not t.resumes if t.state == SUSPENDED else None


@task_law()
def well_formed_task_resumes_unique(t: TaskRow) -> Claim:
    """A task notes no settled promise twice."""
    return len(set(t.resumes)) == len(t.resumes) if t.resumes else None


@task_law()
def well_formed_task_acquired_version_positive(t: TaskRow) -> Claim:
    """An acquired task has been acquired at least once."""
    return t.version >= 1 if t.state == ACQUIRED else None


@task_law(catalogued=False)
def well_formed_task_one_timer_of_its_state(t: TaskRow) -> Claim:
    """A task has one timer at most: a retry if pending, a lease if acquired."""
    retry, lease = t.retry_at is not None, t.expires_at is not None
    return (retry, lease) == (t.state == PENDING, t.state == ACQUIRED)


@task_law("D Y Y Y", catalogued=False)
def well_formed_task_ttl_positive(t: TaskRow) -> Claim:
    """A lease lasts at least a millisecond."""
    return t.ttl is not None and t.ttl > 0 if t.state == ACQUIRED else None


# --- from one state to the next: what stays ----------------------------------------------


@task_before()
def preserved_fulfilled_task(move: Move, id: str, t: TaskRow, t2: TaskRow | None) -> Claim:
    """A fulfilled task stays so, at its version."""
    if t.state != FULFILLED:
        return None
    if t2 is None or t2.state != FULFILLED or t2.version != t.version:
        return False
    return _is_cleared(t2) and not t2.resumes


@task_after()
def preserved_task_acquisition_only_from_pending(
    move: Move, id: str, t: TaskRow | None, t2: TaskRow
) -> Claim:
    """An acquired task was acquired or pending, or is new."""
    return t is None or t.state in (PENDING, ACQUIRED) if t2.state == ACQUIRED else None


@task_after()
def preserved_task_suspension_only_from_acquired(
    move: Move, id: str, t: TaskRow | None, t2: TaskRow
) -> Claim:
    """A suspended task was suspended or acquired."""
    if t2.state != SUSPENDED:
        return None
    return t is not None and t.state in (ACQUIRED, SUSPENDED)


@task_before()
def preserved_task_halted_only_reenters_via_pending(
    move: Move, id: str, t: TaskRow, t2: TaskRow | None
) -> Claim:
    """A halted task stays so, goes on as pending, or is fulfilled."""
    if t.state != HALTED:
        return None
    return t2 is not None and t2.state in (HALTED, PENDING, FULFILLED)


@task_before()
def preserved_task_lease_holder_stable(
    move: Move, id: str, t: TaskRow, t2: TaskRow | None
) -> Claim:
    """Between two acquisitions neither holder nor length of the lease changes."""
    if t2 is None or (t.state, t2.state) != (ACQUIRED, ACQUIRED) or t.version != t2.version:
        return None
    return (t.pid, t.ttl) == (t2.pid, t2.ttl)


@task_after(
    "N Y R R",
    "a profile that creates by the tick dispatches promises born overdue; one that wakes dead "
    "awaiters dispatches those",
    keeps=lambda rules: rules.overdue == "settled",
)
def preserved_no_dead_dispatch(move: Move, id: str, t: TaskRow | None, t2: TaskRow) -> Claim:
    """Only a task whose promise is live becomes pending."""
    if t2.state != PENDING or (t is not None and t.state == PENDING):
        return None
    return move.is_live(id) or move.may_dispatch_dead(id)


@step_law()
def monotone_task_set_grows(move: Move) -> Cases:
    """No task goes."""
    return ((id, id in move.after.tasks) for id in move.before.tasks)


@task_before()
def monotone_task_version_increases_only_on_acquisition(
    move: Move, id: str, t: TaskRow, t2: TaskRow | None
) -> Claim:
    """A task's version grows by one when it is acquired, and never else."""
    if t2 is None:
        return None
    return t2.version == t.version + ((t.state, t2.state) == (PENDING, ACQUIRED))


@task_before()
def monotone_task_resumes_grow_or_clear(
    move: Move, id: str, t: TaskRow, t2: TaskRow | None
) -> Claim:
    """A task's resumes grow, or are cleared as a whole."""
    if t2 is None or not t.resumes:
        return None
    return not t2.resumes or set(t2.resumes) >= set(t.resumes)


@task_before()
def monotone_task_retry_rearm_advances(
    move: Move, id: str, t: TaskRow, t2: TaskRow | None
) -> Claim:
    """A dispatch armed anew lies ahead."""
    if t2 is None or not _is_rearmed(t, t2):
        return None
    return t2.retry_at is not None and t2.retry_at > move.now


# --- from one state to the next: edges ---------------------------------------------------


@task_before()
def consistent_task_state_edge_admissible(
    move: Move, id: str, t: TaskRow, t2: TaskRow | None
) -> Claim:
    """A task goes from state to state along the edges of its life."""
    return None if t2 is None else t2.state in _EDGES[t.state]


@task_before(catalogued=False)
def consistent_task_state_edge_internal_admissible(
    move: Move, id: str, t: TaskRow, t2: TaskRow | None
) -> Claim:
    """The server itself acquires, suspends and halts no task, nor continues a halted one."""
    if t2 is None or not move.is_internal:
        return None
    return t2.state in _INTERNAL_EDGES[t.state]


@task_after()
def consistent_task_birth_state(move: Move, id: str, t: TaskRow | None, t2: TaskRow) -> Claim:
    """A task is born pending and armed, acquired with its lease, or fulfilled and cleared."""
    if t is not None:
        return None
    if t2.resumes:
        return False
    has = (t2.pid is not None, t2.ttl is not None, t2.expires_at is not None)
    if t2.state == ACQUIRED:
        return all(has) and t2.version >= 1 and t2.retry_at is None
    return not any(has) and (
        (t2.state == PENDING and t2.retry_at is not None)
        or (t2.state == FULFILLED and t2.retry_at is None)
    )


# --- from one state to the next: leases --------------------------------------------------


def _lease_end(now: int, ttl: int) -> int:
    # An instant of the wire has 64 bits, and a lease may be longer than what is left.
    return min(now + ttl, I64_MAX)


@task_before()
def consistent_task_acquisition_is_atomic(
    move: Move, id: str, t: TaskRow, t2: TaskRow | None
) -> Claim:
    """An acquisition takes a pending task, raises its version and grants the lease, in one."""
    if t2 is None or t.state == ACQUIRED or t2.state != ACQUIRED:
        return None
    return (
        t.state == PENDING
        and t2.version > t.version
        and t2.pid is not None
        and t2.ttl is not None
        and t2.expires_at == _lease_end(move.now, t2.ttl)
        and t2.retry_at is None
        and not t2.resumes
    )


@task_before()
def consistent_task_lease_released_atomically(
    move: Move, id: str, t: TaskRow, t2: TaskRow | None
) -> Claim:
    """A task that is no longer acquired has no trace of its lease, and the same version."""
    if t2 is None or t.state != ACQUIRED or t2.state == ACQUIRED:
        return None
    return _lease(t2) == (None, None, None) and t2.version == t.version


@task_before()
def consistent_task_lease_fields_move_together(
    move: Move, id: str, t: TaskRow, t2: TaskRow | None
) -> Claim:
    """Holder, length and end of a lease come and go together; alone moves only the end."""
    if t2 is None or _lease(t) == _lease(t2):
        return None
    if t2.state == ACQUIRED:
        is_prolonged = t.state == ACQUIRED and (t.pid, t.ttl) == (t2.pid, t2.ttl)
        return is_prolonged or (t.state != ACQUIRED and None not in _lease(t2))
    return t.state == ACQUIRED and _lease(t2) == (None, None, None)


@task_after()
def consistent_task_lease_deadline_is_now_plus_ttl(
    move: Move, id: str, t: TaskRow | None, t2: TaskRow
) -> Claim:
    """A lease ends its length from now, unless it is as it was."""
    if t2.expires_at is None:
        return None
    is_old = t is not None and (t.state, *_lease(t)[1:]) == (t2.state, *_lease(t2)[1:])
    return is_old or (t2.ttl is not None and t2.expires_at == _lease_end(move.now, t2.ttl))


# --- from one state to the next: dispatch ------------------------------------------------


@task_before("R R R R", _DISPATCHED_AT_ONCE)
def consistent_task_pending_entry_arms_retry(
    move: Move, id: str, t: TaskRow, t2: TaskRow | None
) -> Claim:
    """A task that becomes pending is dispatched, and its retry armed."""
    if t2 is None or t.state == PENDING or t2.state != PENDING:
        return None
    return _is_dispatched(move, id, t2)


@task_before()
def consistent_task_retry_rearm_only_when_due(
    move: Move, id: str, t: TaskRow, t2: TaskRow | None
) -> Claim:
    """The dispatch of a task that stays pending is armed anew only when it is due."""
    if t2 is None or not _is_rearmed(t, t2):
        return None
    return t.retry_at is not None and t.retry_at <= move.now


@task_before(
    "R R R R",
    _DISPATCHED_AT_ONCE + "; promise.register_callback wakes without a resume where the "
    "profile has it so",
)
def consistent_task_wake_records_resume(
    move: Move, id: str, t: TaskRow, t2: TaskRow | None
) -> Claim:
    """A task that wakes notes what woke it, at its version."""
    if t2 is None or (t.state, t2.state) != (SUSPENDED, PENDING):
        return None
    is_noted = bool(t2.resumes) or move.after.step == "promise.register_callback"
    return is_noted and t2.version == t.version and _is_dispatched(move, id, t2)


@task_before()
def consistent_task_resumes_cleared_only_on_dispatch_or_park(
    move: Move, id: str, t: TaskRow, t2: TaskRow | None
) -> Claim:
    """A task's resumes are cleared only where it is acquired, suspended or fulfilled."""
    if t2 is None or not t.resumes or t2.resumes:
        return None
    return t2.state in (ACQUIRED, SUSPENDED, FULFILLED)


def _is_cleared(t: TaskRow) -> bool:
    return _lease(t) == (None, None, None) and t.retry_at is None


def _lease(t: TaskRow) -> tuple[str | None, int | None, int | None]:
    return t.pid, t.ttl, t.expires_at


def _is_rearmed(t: TaskRow, t2: TaskRow) -> bool:
    return t.state == t2.state == PENDING and t.retry_at != t2.retry_at


def _is_dispatched(move: Move, id: str, t2: TaskRow) -> bool:
    promise, message = move.after.promises.get(id), move.after.executes.get(id)
    has_target = promise is not None and bool(promise.tags.get(TARGET_TAG))
    is_queued = not has_target or (message is not None and message.version == t2.version)
    return is_queued and t2.retry_at == move.now + move.after.rules.retry_ms
