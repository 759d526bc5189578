"""The laws of obligations: what a promise owes to those that wait for it or listen to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from resonate_lab.engine.laws.catalogue import (
    Cases,
    Claim,
    promise_after,
    state_law,
    step_law,
    task_after,
    task_before,
)
from resonate_lab.engine.laws.picture import Move, Picture
from resonate_lab.engine.rows import PromiseRow, TaskRow
from resonate_lab.protocol.records import (
    ACQUIRED,
    FULFILLED,
    PENDING,
    SUSPENDED,
    TARGET_TAG,
    is_timer,
)
from resonate_lab.protocol.texts import is_address

_STRIKE = "a promise that settles is struck from all other callbacks; listeners stay as they are"

# --- in every state ----------------------------------------------------------------------


@state_law()
def well_formed_promise_callbacks_unique(now: int, picture: Picture) -> Cases:
    """No task awaits a promise twice."""
    return ((id, len(set(ids)) == len(ids)) for id, ids in picture.callbacks.items())


@state_law()
def well_formed_promise_listeners_unique(now: int, picture: Picture) -> Cases:
    """No address listens to a promise twice."""
    return ((id, len(set(ids)) == len(ids)) for id, ids in picture.listeners.items())


@state_law("D Y Y Y")
def well_formed_promise_awaiter_is_not_self(now: int, picture: Picture) -> Cases:
    """No promise awaits itself."""
    return ((id, id not in awaiters) for id, awaiters in picture.callbacks.items())


@state_law(
    "N N N N",
    "callbacks, suspends and listeners are accepted on every promise; on one without a timer "
    "only a touch or a settle discharges them",
)
def well_formed_promise_obligations_require_external(now: int, picture: Picture) -> Cases:
    """Only a promise that settles from outside owes anything."""
    for id in picture.callbacks.keys() | picture.listeners.keys():
        if (p := picture.promises.get(id)) is not None:
            is_external = p.tags.get("resonate:external") == "true"
            yield id, TARGET_TAG in p.tags or is_timer(p.tags) or is_external


@state_law("D Y Y Y")
def consistent_callback_awaiter_is_targeted(now: int, picture: Picture) -> Cases:
    """Whoever awaits a promise is a promise with a target."""
    for id, awaiters in picture.callbacks.items():
        rows = [picture.promises.get(awaiter) for awaiter in awaiters]
        yield id, all(row is not None and TARGET_TAG in row.tags for row in rows)


@state_law("D Y Y Y", "deliverable is what the profile takes")
def consistent_listener_addresses_deliverable(now: int, picture: Picture) -> Cases:
    """A notice can be sent to every listener."""
    routed = picture.rules.addresses == "routed"
    for id, addresses in picture.listeners.items():
        yield id, all(is_address(address, routed) for address in addresses)


@state_law("D Y Y Y")
def consistent_suspended_task_holds_rung(now: int, picture: Picture) -> Cases:
    """A suspended task whose promise is live awaits some promise."""
    awaiting = {id for awaiters in picture.callbacks.values() for id in awaiters}
    for id, t in picture.tasks.items():
        if t.state == SUSPENDED and picture.is_live(now, id):
            yield id, id in awaiting


@state_law(catalogued=False)
def consistent_settled_promise_owes_nothing(now: int, picture: Picture) -> Cases:
    """A settled promise owes no wake and no notice: it discharged them as it settled."""
    for id, p in picture.promises.items():
        if p.state != PENDING:
            yield id, id not in picture.callbacks and id not in picture.listeners


@state_law(catalogued=False)
def consistent_awaits_mirror_callbacks(now: int, picture: Picture) -> Cases:
    """Who awaits what reads the same from either end."""
    there = _pairs(picture.callbacks)
    back = {(awaited, awaiter) for awaiter, awaited in _pairs(picture.awaits)}
    return ((pair[0], pair in there and pair in back) for pair in there | back)


# --- from one state to the next: obligations come and go ---------------------------------


@promise_after("R R R R", _STRIKE)
def monotone_promise_callbacks_grow_while_pending(
    move: Move, p: PromiseRow | None, p2: PromiseRow
) -> Claim:
    """A pending promise loses no callback but that of a promise that settles."""
    before, after = _callbacks(move, p2.id)
    if p2.state != PENDING or (p is not None and not before):
        return None
    return not after if p is None else before - after <= move.settled


@promise_after()
def monotone_promise_callbacks_shrink_once_settled(
    move: Move, p: PromiseRow | None, p2: PromiseRow
) -> Claim:
    """A settled promise gets no new callback."""
    before, after = _callbacks(move, p2.id)
    return None if p2.state == PENDING else after <= before


@promise_after("D Y Y Y")
def monotone_promise_listeners_grow_while_pending(
    move: Move, p: PromiseRow | None, p2: PromiseRow
) -> Claim:
    """A pending promise loses no listener."""
    before, after = _listeners(move, p2.id)
    if p2.state != PENDING or (p is not None and not before):
        return None
    return not after if p is None else before <= after


@promise_after()
def monotone_promise_listeners_shrink_once_settled(
    move: Move, p: PromiseRow | None, p2: PromiseRow
) -> Claim:
    """A settled promise gets no new listener."""
    before, after = _listeners(move, p2.id)
    return None if p2.state == PENDING else after <= before


@promise_after("R R R R", _STRIKE)
def consistent_obligation_discharge_requires_settled(
    move: Move, p: PromiseRow | None, p2: PromiseRow
) -> Claim:
    """Only settlement discharges an obligation."""
    awaiters, awaiters2 = _callbacks(move, p2.id)
    addresses, addresses2 = _listeners(move, p2.id)
    if awaiters <= awaiters2 and addresses <= addresses2:
        return None
    is_struck = addresses <= addresses2 and awaiters - awaiters2 <= move.settled
    return p2.state != PENDING or is_struck


# --- from one state to the next: what discharge leaves -----------------------------------


@step_law(
    "Y R R R",
    "a suspend that finds its promise settled clears the resume that its own touch caused; a "
    "profile that wakes no overdue task leaves it none",
)
def consistent_callback_consumption_resumes_awaiter(move: Move) -> Cases:
    """A callback that goes leaves its awaiter fulfilled, or with a resume."""
    for id in move.before.callbacks:
        before, after = _callbacks(move, id)
        for awaiter in (before - after) & move.after.tasks.keys():
            t2 = move.after.tasks[awaiter]
            is_told = t2.state == FULFILLED or id in t2.resumes
            yield id, is_told or _is_excused(move, awaiter, t2)


def _is_excused(move: Move, awaiter: str, t2: TaskRow) -> bool:
    """Return whether a task that awaited may go without a resume."""
    rules = move.after.rules
    if move.after.step == "task.suspend" and rules.overdue == "settled":
        return t2.state == ACQUIRED and not t2.resumes
    return rules.overdue_awaiter == "skipped" and not move.is_live(awaiter)


@step_law("D Y Y Y")
def consistent_listener_consumption_enqueues_unblock(move: Move) -> Cases:
    """A listener that goes leaves a notice in the outbox."""
    for id in move.before.listeners:
        before, after = _listeners(move, id)
        for address in before - after:
            notice = move.after.unblocks.get((id, address))
            yield id, notice is not None and notice.state != PENDING


@task_before(
    "Y R R R",
    "promise.register_callback on a settled promise wakes a suspended awaiter directly",
)
def consistent_wake_follows_callback_consumption(
    move: Move, id: str, t: TaskRow, t2: TaskRow | None
) -> Claim:
    """A task wakes because a promise that it awaited gave its callback up."""
    if t2 is None or (t.state, t2.state) != (SUSPENDED, PENDING):
        return None
    if move.after.step == "promise.register_callback" and _late_callback_wakes(move):
        return None
    return any(
        id in before and id not in after
        for before, after in (_callbacks(move, awaited) for awaited in t2.resumes)
    )


def _late_callback_wakes(move: Move) -> bool:
    return move.after.rules.late_callback != "nothing"


@task_after("R R R R", "a task that is parked again may await only what it awaits already")
def consistent_suspension_registers_callback(
    move: Move, id: str, t: TaskRow | None, t2: TaskRow
) -> Claim:
    """A task that becomes suspended awaits a pending promise."""
    if t2.state != SUSPENDED or (t is not None and t.state == SUSPENDED):
        return None
    after = move.after
    return any(
        id in awaiters and awaited in after.promises and after.promises[awaited].state == PENDING
        for awaited, awaiters in after.callbacks.items()
    )


def _callbacks(move: Move, id: str) -> tuple[set[str], set[str]]:
    """Return who awaited a promise before the step, and after it."""
    return set(move.before.callbacks.get(id, ())), set(move.after.callbacks.get(id, ()))


def _listeners(move: Move, id: str) -> tuple[set[str], set[str]]:
    """Return who listened to a promise before the step, and after it."""
    return set(move.before.listeners.get(id, ())), set(move.after.listeners.get(id, ()))


def _pairs(table: Mapping[str, Collection[str]]) -> set[tuple[str, str]]:
    return {(id, other) for id, others in table.items() for other in others}
