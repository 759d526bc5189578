"""The laws of several records: promises with their tasks, and the messages in the outbox."""

from __future__ import annotations

from resonate_lab.engine.laws.catalogue import (
    Cases,
    Claim,
    promise_before,
    state_law,
    step_law,
    task_after,
)
from resonate_lab.engine.laws.picture import DELIVERY, Move, Picture
from resonate_lab.engine.rows import PromiseRow, TaskRow
from resonate_lab.protocol.records import (
    ACQUIRED,
    FULFILLED,
    PENDING,
    TARGET_TAG,
)
from resonate_lab.protocol.texts import is_address

# --- in every state: promises and tasks --------------------------------------------------


@state_law("D Y Y Y")
def consistent_task_iff_targeted_promise(now: int, picture: Picture) -> Cases:
    """Every targeted promise has a task, and every task a targeted promise."""
    for id, p in picture.promises.items():
        if TARGET_TAG in p.tags or id in picture.tasks:
            yield id, TARGET_TAG in p.tags and id in picture.tasks
    yield from ((id, False) for id in picture.tasks if id not in picture.promises)


@state_law()
def consistent_settled_promise_has_fulfilled_task(now: int, picture: Picture) -> Cases:
    """The task of a settled promise is fulfilled."""
    for id, t in picture.tasks.items():
        p = picture.promises.get(id)
        if p is not None and p.state != PENDING:
            yield id, t.state == FULFILLED


@state_law("D Y Y Y")
def consistent_settled_task_promise_settled(now: int, picture: Picture) -> Cases:
    """The promise of a fulfilled task is settled."""
    for id, t in picture.tasks.items():
        p = picture.promises.get(id)
        if p is not None and t.state == FULFILLED:
            yield id, p.state != PENDING


# --- in every state: the outbox ----------------------------------------------------------


@state_law()
def consistent_outbox_execute_names_existing_task(now: int, picture: Picture) -> Cases:
    """An execute message names a task that exists."""
    return ((id, id in picture.tasks) for id in picture.executes)


@state_law()
def consistent_outbox_never_ahead(now: int, picture: Picture) -> Cases:
    """An execute message names no version that its task has not reached."""
    for id, message in picture.executes.items():
        if id in picture.tasks:
            yield id, message.version <= picture.tasks[id].version


@state_law()
def consistent_outbox_execute_address_is_target_tag(now: int, picture: Picture) -> Cases:
    """An execute message goes to the target of its promise."""
    for id, message in picture.executes.items():
        if id in picture.promises:
            yield id, message.address == picture.promises[id].tags.get(TARGET_TAG, "")


@state_law("D Y Y Y")
def consistent_outbox_unblock_names_settled_promise(now: int, picture: Picture) -> Cases:
    """A notice tells of a promise that is stored, and settled."""
    for (id, _), notice in picture.unblocks.items():
        p = picture.promises.get(id)
        yield id, notice.state != PENDING and p is not None and p.state != PENDING


@state_law("D Y Y Y")
def consistent_outbox_unblock_address_deliverable(now: int, picture: Picture) -> Cases:
    """A notice in the outbox can be routed."""
    routed = picture.rules.addresses == "routed"
    return ((id, is_address(address, routed)) for id, address in picture.unblocks)


# --- from one state to the next: promises and tasks --------------------------------------


@promise_before()
def consistent_settlement_fulfils_task(move: Move, p: PromiseRow, p2: PromiseRow | None) -> Claim:
    """A promise that settles fulfils its task in the same step."""
    t2 = move.after.tasks.get(p.id)
    if p.state != PENDING or p2 is None or p2.state == PENDING or t2 is None:
        return None
    return t2.state == FULFILLED


@task_after("D Y Y Y")
def consistent_task_fulfilment_needs_settlement(
    move: Move, id: str, t: TaskRow | None, t2: TaskRow
) -> Claim:
    """A task is fulfilled only by the settlement of its promise, in the same step."""
    if t2.state != FULFILLED or t is None or t.state == FULFILLED:
        return None
    return id in move.settled


@step_law("D Y Y Y")
def consistent_task_birth_couples_promise_birth(move: Move) -> Cases:
    """A targeted promise and its task are born together, in like condition."""
    for id, t2 in move.after.tasks.items():
        if id not in move.before.tasks:
            p2 = move.after.promises.get(id)
            yield id, id not in move.before.promises and p2 is not None and _suit(p2, t2)
    for id, p2 in move.after.promises.items():
        if id not in move.before.promises and TARGET_TAG in p2.tags:
            yield id, id in move.after.tasks


@step_law(
    "N Y R R",
    "a profile that creates by the tick sends for promises born overdue; one that wakes dead "
    "awaiters sends for those",
    keeps=lambda rules: rules.overdue == "settled",
)
def preserved_execute_only_for_live_task(move: Move) -> Cases:
    """An execute message is sent only for a live promise."""
    for id in move.new_executes:
        yield id, move.is_live(id) or move.may_dispatch_dead(id)


# --- from one state to the next: the outbox ----------------------------------------------


@step_law("Y R R Y", "delivery takes messages out of the outbox")
def monotone_outbox_keys_never_disappear(move: Move) -> Cases:
    """No message goes but by delivery."""
    if move.after.step == DELIVERY:
        return
    yield from ((id, id in move.after.executes) for id in move.before.executes)
    yield from ((key[0], key in move.after.unblocks) for key in move.before.unblocks)


@step_law()
def consistent_new_execute_matches_task_and_target(move: Move) -> Cases:
    """A new execute message names its task's version, and goes to its promise's target."""
    for id, message in move.new_executes.items():
        p2, t2 = move.after.promises.get(id), move.after.tasks.get(id)
        yield (
            id,
            p2 is not None
            and t2 is not None
            and message == (t2.version, p2.tags.get(TARGET_TAG, "")),
        )


@step_law("D Y Y Y")
def consistent_new_unblock_carries_stored_record(move: Move) -> Cases:
    """A new notice carries the settled promise as it is stored."""
    for (id, _), notice in move.new_unblocks.items():
        p2 = move.after.promises.get(id)
        yield id, p2 is not None and notice.state != PENDING and notice.record() == p2.record()


@step_law()
def consistent_new_unblock_discharges_its_listener(move: Move) -> Cases:
    """A new notice takes the place of the listener that asked for it."""
    before, after = move.before.listeners, move.after.listeners
    for id, address in move.new_unblocks:
        yield id, address in before.get(id, ()) and address not in after.get(id, ())


def _suit(p: PromiseRow, t: TaskRow) -> bool:
    version_suits = t.version >= 1 if t.state == ACQUIRED else t.version == 0
    return (
        TARGET_TAG in p.tags
        and version_suits
        and t.state in (PENDING, ACQUIRED, FULFILLED)
        and (t.state == FULFILLED) == (p.state != PENDING)
    )
