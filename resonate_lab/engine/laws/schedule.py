"""The laws of one schedule, and of the ids in the tables."""

from __future__ import annotations

from resonate_lab.engine.internal import next_tick
from resonate_lab.engine.laws.catalogue import Cases, Claim, schedule_law, state_law, step_law
from resonate_lab.engine.laws.picture import Move, Picture
from resonate_lab.engine.rows import ScheduleRow
from resonate_lab.protocol.records import TARGET_TAG, is_timer
from resonate_lab.protocol.texts import template_parts

# The next run of a dormant schedule lies at infinity.


@schedule_law("N N N N", "a schedule must have a target, and its tags are not checked")
def well_formed_schedule_promise_tags_not_timer_targeted(c: ScheduleRow) -> Claim:
    """A schedule makes no timers, for they would have a target."""
    return TARGET_TAG not in c.promise_tags if is_timer(c.promise_tags) else None


@schedule_law()
def well_formed_schedule_created_at_lte_next_run_at(c: ScheduleRow) -> Claim:
    """The next tick of a schedule lies after its creation."""
    return None if c.next_run_at is None else c.created_at <= c.next_run_at


@schedule_law()
def well_formed_schedule_created_at_lte_last_run_at(c: ScheduleRow) -> Claim:
    """The last tick of a schedule lies after its creation."""
    return None if c.last_run_at is None else c.created_at <= c.last_run_at


@schedule_law()
def well_formed_schedule_last_run_at_lt_next_run_at(c: ScheduleRow) -> Claim:
    """The next tick of a schedule lies after its last one."""
    if c.last_run_at is None or c.next_run_at is None:
        return None
    return c.last_run_at < c.next_run_at


@step_law()
def preserved_schedule_birth_fields_immutable(move: Move) -> Cases:
    """What a schedule is created with never changes."""
    for id, c in move.before.schedules.items():
        c2 = move.after.schedules.get(id)
        if c2 is not None:
            yield id, c[:7] == c2[:7]


# --- from one state to the next: the calendar contract -----------------------------------


@step_law(catalogued=False)
def consistent_schedule_fires_exactly_the_chain(move: Move) -> Cases:
    """A firing walks each tick from the next one on, up to now, and makes or finds its promise."""
    for id, c in move.before.schedules.items():
        c2 = move.after.schedules.get(id)
        if c2 is not None and (c.next_run_at, c.last_run_at) != (c2.next_run_at, c2.last_run_at):
            yield id, _walks(move, c, c2)


def _walks(move: Move, c: ScheduleRow, c2: ScheduleRow) -> bool:
    rules, ticks, tick = move.after.rules, [], c.next_run_at
    while tick is not None and c2.last_run_at is not None and tick <= c2.last_run_at:
        ticks.append(tick)
        tick = next_tick(rules, c.expression, tick)
    if not ticks or ticks[-1] != c2.last_run_at or tick != c2.next_run_at:
        return False
    is_whole = tick is None or tick > move.now if rules.catch_up == "every tick" else True
    parts = template_parts(c.promise_id, c.id)
    ids = (str(tick).join(parts) for tick in ticks)
    return ticks[-1] <= move.now and is_whole and all(id in move.after.promises for id in ids)


@step_law(catalogued=False)
def consistent_schedule_fires_oldest_first(move: Move) -> Cases:
    """The promises of a firing are created in the order of their ticks."""
    deadlines: dict[str, list[int]] = {}
    for id, p2 in move.after.promises.items():
        if p2.firing is not None and id not in move.before.promises:
            deadlines.setdefault(p2.firing.schedule_id, []).append(p2.timeout_at)
    return ((id, found == sorted(found)) for id, found in deadlines.items())


# --- the tables --------------------------------------------------------------------------


@state_law()
def well_formed_store_schedule_ids_unique(now: int, picture: Picture) -> Cases:
    """No two schedules have one id."""
    return ((id, row.id == id) for id, row in picture.schedules.items())


@state_law()
def well_formed_store_promise_ids_unique(now: int, picture: Picture) -> Cases:
    """No two promises have one id."""
    return ((id, row.id == id) for id, row in picture.promises.items())


@state_law()
def well_formed_store_task_ids_unique(now: int, picture: Picture) -> Cases:
    """No two tasks have one id: each stands in the promise whose id it has."""
    promises = picture.promises
    return ((id, id in promises and promises[id].id == id) for id in picture.tasks)


@state_law()
def well_formed_store_outbox_keys_unique(now: int, picture: Picture) -> Cases:
    """No two messages have one key: a task, or a promise and an address."""
    promises = picture.promises
    yield from ((id, id not in promises or promises[id].id == id) for id in picture.executes)
    yield from ((id, notice.id == id) for (id, _), notice in picture.unblocks.items())


@state_law(catalogued=False)
def consistent_agenda_holds_every_deadline(now: int, picture: Picture) -> Cases:
    """The agenda holds every step that a record asks for, and no other."""
    known = picture.schedules.keys() | picture.promises.keys() | picture.misarmed
    return ((id, id not in picture.misarmed) for id in known)


@state_law(catalogued=False)
def well_formed_config_retry_positive(now: int, picture: Picture) -> Cases:
    """The retry interval is positive: at zero a due task would stay due."""
    yield picture.rules.name, picture.rules.retry_ms > 0
