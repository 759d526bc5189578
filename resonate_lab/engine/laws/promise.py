"""The laws of one promise: in every state, and from one state to the next."""

from __future__ import annotations

from resonate_lab.engine.laws.catalogue import (
    Cases,
    Claim,
    promise_after,
    promise_before,
    promise_law,
    step_law,
)
from resonate_lab.engine.laws.picture import Move
from resonate_lab.engine.rows import PromiseRow
from resonate_lab.engine.settlement import verdict
from resonate_lab.protocol.records import (
    PENDING,
    PROMISE_STATES,
    REJECTED_TIMEDOUT,
    TARGET_TAG,
    is_timer,
)
from resonate_lab.protocol.texts import delay_of

_TIMER_AND_TARGET = (
    "nobody refuses the two tags together, and a schedule must have a target: such a promise "
    "resolves at its deadline although its task was dispatched"
)

# --- in every state: instants ------------------------------------------------------------


@promise_law()
def well_formed_promise_created_at_lte_timeout_at(now: int, p: PromiseRow) -> Claim:
    """A promise is not created after its deadline."""
    return p.created_at <= p.timeout_at


@promise_law()
def well_formed_promise_pending_created_before_deadline(now: int, p: PromiseRow) -> Claim:
    """A pending promise was created before its deadline."""
    return p.created_at < p.timeout_at if p.state == PENDING else None


@promise_law()
def well_formed_promise_settled_at_lte_timeout_at(now: int, p: PromiseRow) -> Claim:
    """A promise does not settle after its deadline."""
    return None if p.settled_at is None else p.settled_at <= p.timeout_at


@promise_law()
def well_formed_promise_created_at_lte_settled_at(now: int, p: PromiseRow) -> Claim:
    """A promise does not settle before it is created."""
    return None if p.settled_at is None else p.created_at <= p.settled_at


@promise_law()
def well_formed_promise_created_at_lte_now(now: int, p: PromiseRow) -> Claim:
    """A promise is not created in the future."""
    return p.created_at <= now


@promise_law()
def well_formed_promise_settled_at_lte_now(now: int, p: PromiseRow) -> Claim:
    """A promise does not settle in the future."""
    return None if p.settled_at is None else p.settled_at <= now


# --- in every state: settlement ----------------------------------------------------------


@promise_law("D Y Y Y")
def well_formed_promise_settled_at_iff_not_pending(now: int, p: PromiseRow) -> Claim:
    """A promise has a time of settlement exactly if it is settled."""
    return (p.state != PENDING) == (p.settled_at is not None)


@promise_law("D Y Y Y")
def well_formed_promise_pending_has_no_value(now: int, p: PromiseRow) -> Claim:
    """A pending promise has no value."""
    return not p.value if p.state == PENDING else None


@promise_law()
def well_formed_promise_deadline_verdict_matches_timer_tag(now: int, p: PromiseRow) -> Claim:
    """A promise that settled at its deadline is resolved if a timer, else timed out."""
    return p.state == verdict(p.tags) if p.settled_at == p.timeout_at else None


@promise_law()
def well_formed_promise_deadline_settlement_has_no_value(now: int, p: PromiseRow) -> Claim:
    """A promise that settled at its deadline has no value."""
    return not p.value if p.settled_at == p.timeout_at else None


@promise_law("D Y Y Y")
def well_formed_promise_timedout_is_server_owned(now: int, p: PromiseRow) -> Claim:
    """A promise that timed out did so at its deadline."""
    return p.settled_at == p.timeout_at if p.state == REJECTED_TIMEDOUT else None


# --- in every state: tags ----------------------------------------------------------------


@promise_law("N N N N", _TIMER_AND_TARGET)
def well_formed_promise_timer_not_targeted(now: int, p: PromiseRow) -> Claim:
    """A timer has no target."""
    return TARGET_TAG not in p.tags if is_timer(p.tags) else None


@promise_law("N N N N", "a schedule's target need only be present", catalogued=False)
def well_formed_promise_target_is_nonempty(now: int, p: PromiseRow) -> Claim:
    """A target is not the empty text."""
    return bool(p.tags[TARGET_TAG]) if TARGET_TAG in p.tags else None


@promise_law("N N N N", "the tags of a schedule's promises are not checked", catalogued=False)
def well_formed_promise_delay_before_deadline(now: int, p: PromiseRow) -> Claim:
    """A delay ends before the deadline."""
    delay = delay_of(p.tags)
    return None if delay is None else delay < p.timeout_at


# --- from one state to the next: what stays ----------------------------------------------


@promise_before()
def preserved_promise_birth_fields_immutable(
    move: Move, p: PromiseRow, p2: PromiseRow | None
) -> Claim:
    """What a promise is born with never changes."""
    return None if p2 is None else _birth(p) == _birth(p2)


@promise_before()
def preserved_settled_promise_record(move: Move, p: PromiseRow, p2: PromiseRow | None) -> Claim:
    """The record of a settled promise never changes."""
    if p.state == PENDING:
        return None
    return p2 is not None and _settlement(p) == _settlement(p2)


@promise_before()
def preserved_promise_state_frozen_once_settled(
    move: Move, p: PromiseRow, p2: PromiseRow | None
) -> Claim:
    """The state of a settled promise never changes."""
    return None if p.state == PENDING else p2 is not None and p2.state == p.state


@promise_after()
def preserved_promise_settlement_is_one_way(
    move: Move, p: PromiseRow | None, p2: PromiseRow
) -> Claim:
    """A pending promise was pending, or is new."""
    return p is None or p.state == PENDING if p2.state == PENDING else None


@promise_before("D Y Y Y")
def preserved_promise_value_until_settlement(
    move: Move, p: PromiseRow, p2: PromiseRow | None
) -> Claim:
    """A promise keeps its value until it settles."""
    return p2 is not None and (p2.state != PENDING or p2.value == p.value)


@step_law()
def preserved_promise_no_duplicate_ids(move: Move) -> Cases:
    """A step leaves no two promises of one id."""
    return ((id, row.id == id) for id, row in move.after.promises.items())


@promise_before("D Y Y Y")
def preserved_timedout_is_server_owned(move: Move, p: PromiseRow, p2: PromiseRow | None) -> Claim:
    """A promise times out only once its deadline has come, and as of it."""
    if p.state != PENDING or p2 is None or p2.state != REJECTED_TIMEDOUT:
        return None
    return p.timeout_at <= move.now and p2.settled_at == p.timeout_at


@step_law()
def monotone_promise_set_grows(move: Move) -> Cases:
    """No promise goes."""
    return ((id, id in move.after.promises) for id in move.before.promises)


# --- from one state to the next: settlement ----------------------------------------------


@promise_before()
def consistent_promise_state_edge_admissible(
    move: Move, p: PromiseRow, p2: PromiseRow | None
) -> Claim:
    """A promise stays as it is, or settles from pending."""
    if p2 is None:
        return None
    return p2.state in PROMISE_STATES if p.state == PENDING else p2.state == p.state


@promise_before(catalogued=False)
def consistent_promise_state_edge_internal_admissible(
    move: Move, p: PromiseRow, p2: PromiseRow | None
) -> Claim:
    """The server itself settles a promise by its deadline's verdict only."""
    if p2 is None or not move.is_internal:
        return None
    return p2.state == p.state or (p.state == PENDING and p2.state == verdict(p.tags))


@promise_before("D Y Y Y")
def consistent_promise_settled_at_moves_with_state(
    move: Move, p: PromiseRow, p2: PromiseRow | None
) -> Claim:
    """A promise's time of settlement changes exactly with its state."""
    return p2 is not None and (p.settled_at != p2.settled_at) == (p.state != p2.state)


@promise_before("D Y Y Y")
def consistent_promise_settlement_stamp(move: Move, p: PromiseRow, p2: PromiseRow | None) -> Claim:
    """A promise settles by a client, now and before its deadline, or by the deadline, as of it."""
    if p.state != PENDING:
        return None
    if p2 is None or p2.state == PENDING:
        return p2 is not None
    by_client = p2.settled_at == move.now < p.timeout_at and p2.state != REJECTED_TIMEDOUT
    by_deadline = p2.settled_at == p.timeout_at <= move.now and p2.state == verdict(p.tags)
    return by_client or (by_deadline and p2.value == p.value)


@promise_after(
    "Y R R Y",
    "a schedule's promise that is born expired was created at its tick, before its deadline",
)
def consistent_new_promise_born_clean(move: Move, p: PromiseRow | None, p2: PromiseRow) -> Claim:
    """A promise is born without value and obligations: pending, or settled by its deadline."""
    if p is not None:
        return None
    owes = p2.id in move.after.callbacks or p2.id in move.after.listeners
    if p2.value or owes or p2.created_at > move.now:
        return False
    if p2.state == PENDING:
        return p2.settled_at is None and p2.created_at < p2.timeout_at
    at_tick = p2.firing is not None and move.after.rules.expired_created_at == "tick"
    in_time = p2.created_at <= p2.timeout_at if at_tick else p2.created_at == p2.timeout_at
    return in_time and p2.settled_at == p2.timeout_at <= move.now and p2.state == verdict(p2.tags)


def _birth(p: PromiseRow) -> tuple[object, ...]:
    return p.param, p.all_tags(), p.timeout_at, p.created_at


def _settlement(p: PromiseRow) -> tuple[object, ...]:
    return p.state, p.settled_at, p.value
