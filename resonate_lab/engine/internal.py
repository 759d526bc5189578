"""The steps that the server takes itself: what falls due, and how a schedule fires.

Each step looks again whether it is due: the agenda is an index, the records decide.
"""

from __future__ import annotations

import gc
from bisect import bisect_right
from calendar import isleap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import repeat
from typing import Final, cast

from resonate_lab._html import plain
from resonate_lab.cron import CronExpression
from resonate_lab.engine.agenda import Due, Head
from resonate_lab.engine.rows import Firing, PromiseRow, ScheduleRow, TaskRow
from resonate_lab.engine.settlement import dispatched, settles_together, time_out, verdict
from resonate_lab.engine.state import State
from resonate_lab.errors import WindowError
from resonate_lab.instants import EPOCH_END_MS, format_instant
from resonate_lab.protocol.profile import Profile
from resonate_lab.protocol.records import EMPTY_VALUE, FULFILLED, PENDING, TARGET_TAG, Ticks
from resonate_lab.protocol.shapes import I64_MAX
from resonate_lab.protocol.texts import delay_of, expanded_length, template_parts

__all__ = [
    "LOAD_LIMIT",
    "REPEATS_FROM",
    "STEP_NAMES",
    "collector_paused",
    "due_schedules",
    "missed_ticks",
    "next_tick",
    "run_due",
    "run_head",
]

#: Ticks that one run may fire, those with long promise ids counting more than once: a
#: schedule of every second and a clock that jumps a century would fill any memory.
LOAD_LIMIT: Final = 2_000_000

#: 2100-01-01: the first instant after which `repeats_calendar` looks at an earlier year.
REPEATS_FROM: Final = 4102444800000
_400_YEARS: Final = 146_097 * 86_400_000
_EPOCH: Final = datetime(1970, 1, 1)

STEP_NAMES: Final = {
    Due.PROMISE_TIMEOUT: "promise timeout",
    Due.LEASE_EXPIRY: "lease expiry",
    Due.RETRY: "retry",
    Due.REPEAT: "retry",
    Due.SCHEDULE_FIRING: "schedule firing",
}


# --- tasks -------------------------------------------------------------------------------


def expire_lease(state: State, now: int, id: str) -> None:
    """Take a task from a worker that let its lease lapse."""
    task = state.promises[id].task
    if task is not None and task.expires_at is not None and task.expires_at <= now:
        state.put_task(id, dispatched(state, now, task))
        state.log(now, STEP_NAMES[Due.LEASE_EXPIRY], id, "dispatched")


def retry(state: State, now: int, id: str) -> None:
    """Send the execute message of a task that nobody acquired once more."""
    task = state.promises[id].task
    if task is not None and _retries_by(state, id, now):
        state.put_task(id, dispatched(state, now, task))
        state.log(now, STEP_NAMES[Due.RETRY], id, "dispatched")


def send_again(state: State, now: int, ids: Sequence[str]) -> None:
    """Send again what is still queued: the one thing that changes is when to do so next."""
    due = [id for id in ids if _retries_by(state, id, now)]
    if due:
        state.postpone(due, now + state.profile.retry_ms)
        for id in due:
            state.log(now, STEP_NAMES[Due.REPEAT], id, "dispatched")


def _retries_by(state: State, id: str, now: int) -> bool:
    task = state.promises[id].task
    return task is not None and task.retry_at is not None and task.retry_at <= now


# --- schedules ---------------------------------------------------------------------------


def next_tick(profile: Profile, expression: CronExpression, after: int) -> int | None:
    """Return the tick that follows an instant, or None where the profile knows none."""
    ahead = _years_ahead(after) if profile.repeats_calendar and after >= REPEATS_FROM else 0
    # The calendar begins in 1970 and ends with 2100; clocks need not.
    known = max(after - ahead, -1)
    found = expression.next_ms(known) if known < EPOCH_END_MS else None
    if found is not None:
        return found + ahead
    return None if profile.fallback_ms is None else after + profile.fallback_ms


def _years_ahead(at: int) -> int:
    """Return how far an instant after 2099 lies ahead of the same day in a year before.

    The same day has the same month, day and weekday, and the year is the latest such.
    """
    # After 400 years dates and weekdays come again, so any instant has a twin soon after 2100.
    day = _EPOCH + timedelta(milliseconds=REPEATS_FROM + (at - REPEATS_FROM) % _400_YEARS)
    whole = (at - REPEATS_FROM) // _400_YEARS * _400_YEARS
    for year in range(2099, 1969, -1):
        if (day.month, day.day) == (2, 29) and not isleap(year):
            continue
        twin = day.replace(year=year)
        if twin.weekday() == day.weekday():
            return whole + (day - twin) // timedelta(milliseconds=1)
    raise AssertionError("28 years in a row hold every pair of date and weekday")


def missed_ticks(
    profile: Profile, row: ScheduleRow, now: int, most: int
) -> tuple[list[int], int | None]:
    """Return the ticks that a firing walks, in order, and the one that comes next.

    Raises
    ------
    WindowError
        they are more than `most`
    """
    first = row.next_run_at
    if first is None or first > now:
        return [], first
    ticks = [first]
    following = next_tick(profile, row.expression, first)
    if profile.catch_up == "one tick a run":
        return ticks, following
    # Bulk calls of growing size: few for a million ticks, cheap for two.
    size = 16
    while following is not None and following <= now:
        ticks.append(following)
        chunk: list[int] = []
        if following < EPOCH_END_MS:
            chunk = row.expression.fires_ms(following, size).tolist()
        missed = bisect_right(chunk, now)
        ticks += chunk[:missed]
        if len(ticks) > most:
            raise _too_many(row, now, most)
        following = (
            chunk[missed] if missed < len(chunk) else next_tick(profile, row.expression, ticks[-1])
        )
        size = min(4 * size, 65_536)
    return ticks, following


def _too_many(row: ScheduleRow, now: int, most: int) -> WindowError:
    return WindowError(
        f"schedule {plain(row.id, 80)!r} ({plain(row.cron, 80)!r}) is due since "
        f"{format_instant(row.next_run_at or 0)}, and a run at {format_instant(now)} may fire no "
        f"more than {most:,} of its ticks; go there in several shorter steps"
    )


def fire(state: State, now: int, id: str) -> None:
    """Create the promises of the ticks that a schedule missed, and advance it.

    A promise that exists already is adopted as it is. One whose deadline has passed is
    created settled, with its task fulfilled, and no worker is told.
    """
    row = state.schedules.get(id)
    if row is None:
        return
    weight = 1 + expanded_length(row.promise_id, row.id) // 128
    ticks, next_run_at = missed_ticks(state.profile, row, now, (LOAD_LIMIT - state.load) // weight)
    if not ticks:
        return
    create = _create if len(ticks) > 1 else _create_one
    expired, live = create(state, now, row, ticks)
    state.put_schedule(row._replace(next_run_at=next_run_at, last_run_at=ticks[-1]))
    state.load += weight * len(ticks)
    existed = len(ticks) - expired - live
    counts = Ticks(ticks[0], ticks[-1], len(ticks), expired, live, existed)
    effect = "fired" if next_run_at is not None else "fired for the last time"
    state.log(now, STEP_NAMES[Due.SCHEDULE_FIRING], id, effect, counts)


def _create(state: State, now: int, row: ScheduleRow, ticks: list[int]) -> tuple[int, int]:
    """Create what is missing; return how many were expired and how many live."""
    profile, tags = state.profile, row.promise_tags
    parts = template_parts(row.promise_id, row.id)
    if len(parts) == 1:
        # The same id at every tick: the first creates it, the others find it.
        ticks = ticks[:1]
    ids = _expanded(parts, ticks)
    if not state.promises.keys().isdisjoint(ids):
        new = [n for n, id in enumerate(ids) if id not in state.promises]
        ticks, ids = [ticks[n] for n in new], [ids[n] for n in new]
    timeouts = [tick + row.promise_timeout for tick in ticks]
    if timeouts and timeouts[-1] > I64_MAX:
        timeouts = [min(timeout, I64_MAX) for timeout in timeouts]
    firing = Firing(row.id, now, profile.adds_tags)
    pattern = PromiseRow("", PENDING, row.promise_param, EMPTY_VALUE, tags, 0, 0, None, firing)
    # Deadlines grow with the ticks, so those that have passed come first.
    cut = _expired(profile, now, row, timeouts)
    if cut:
        task = TaskRow(FULFILLED) if TARGET_TAG in tags else None
        settled, expired = timeouts[:cut], ids[:cut]
        born = settled if profile.expired_created_at == "timeout" else ticks
        past = pattern._replace(state=verdict(tags), task=task)
        rows = _rows(past, id=expired, timeout_at=settled, created_at=born, settled_at=settled)
        state.add_promises(expired, rows, settled)
        ticks, ids, timeouts = ticks[cut:], ids[cut:], timeouts[cut:]
    if ids:
        tasks = _first_tasks(profile, now, tags, ticks)
        rows = _rows(pattern, id=ids, timeout_at=timeouts, created_at=ticks, task=tasks)
        state.add_promises(ids, rows, timeouts)
    return cut, len(ids)


def _create_one(state: State, now: int, row: ScheduleRow, ticks: list[int]) -> tuple[int, int]:
    """Do as `_create` for a single tick, without its columns: most schedules miss no more."""
    profile, tags, (tick,) = state.profile, row.promise_tags, ticks
    id = str(tick).join(template_parts(row.promise_id, row.id))
    if id in state.promises:
        return 0, 0
    timeout_at = min(tick + row.promise_timeout, I64_MAX)
    firing = Firing(row.id, now, profile.adds_tags)
    if _expired(profile, now, row, [timeout_at]):
        status, settled_at = verdict(tags), timeout_at
        born = timeout_at if profile.expired_created_at == "timeout" else tick
        task = TaskRow(FULFILLED) if TARGET_TAG in tags else None
    else:
        status, settled_at, born = PENDING, None, tick
        task = next(iter(_first_tasks(profile, now, tags, ticks)), None)
    state.put_promise(
        PromiseRow(
            id,
            status,
            row.promise_param,
            EMPTY_VALUE,
            tags,
            timeout_at,
            born,
            settled_at,
            firing,
            task and state.shared(task),
        )
    )
    return (1, 0) if settled_at is not None else (0, 1)


def _expired(profile: Profile, now: int, row: ScheduleRow, timeouts: list[int]) -> int:
    """Return how many of these deadlines, which ascend, find their promise expired at birth."""
    if profile.expiry == "processing time":
        return bisect_right(timeouts, now)
    return 0 if row.promise_timeout else len(timeouts)


def _expanded(parts: list[str], ticks: list[int]) -> list[str]:
    if len(parts) == 2:
        # Nearly every template: worth half the time of the general way.
        head, tail = parts
        return [f"{head}{tick}{tail}" for tick in ticks]
    return [str(tick).join(parts) for tick in ticks]


def _first_tasks(
    profile: Profile, now: int, tags: Mapping[str, str], ticks: list[int]
) -> list[TaskRow]:
    """Return the tasks of promises that were fired live, none where there is no target.

    In like condition they share one.
    """
    if TARGET_TAG not in tags:
        return []
    delay = delay_of(tags) if profile.fired_delay_honoured else None
    if delay is None and profile.fired_retry_from == "processing time":
        return [TaskRow(PENDING, retry_at=now + profile.retry_ms, queued=0)] * len(ticks)
    counted_from = ticks if profile.fired_retry_from == "tick" else [now] * len(ticks)
    return [
        TaskRow(PENDING, retry_at=delay)
        if delay is not None and tick < delay
        else TaskRow(PENDING, retry_at=start + profile.retry_ms, queued=0)
        for tick, start in zip(ticks, counted_from, strict=True)
    ]


def _rows(pattern: PromiseRow, **columns: Sequence[object]) -> list[PromiseRow]:
    """Return rows that differ from a pattern in some columns; an empty one is the pattern's."""
    whole = zip(PromiseRow._fields, pattern, strict=True)
    values = [columns.get(name) or repeat(value) for name, value in whole]
    # PromiseRow(...) by another name: the class's own constructor is Python code and
    # would take a third of the time of a million ticks.
    made = map(tuple.__new__, repeat(PromiseRow), zip(*values, strict=False))
    return cast(list[PromiseRow], list(made))


# --- runs --------------------------------------------------------------------------------


def _each(step: Callable[[State, int, str], None]) -> Callable[[State, int, Sequence[str]], None]:
    def steps(state: State, now: int, ids: Sequence[str]) -> None:
        for id in ids:
            step(state, now, id)

    return steps


#: What is taken, in this order; promises time out together, all else one by one.
_STEPS: Final[dict[Due, Callable[[State, int, Sequence[str]], None]]] = {
    Due.PROMISE_TIMEOUT: time_out,
    Due.LEASE_EXPIRY: _each(expire_lease),
    Due.RETRY: _each(retry),
    Due.REPEAT: send_again,
    Due.SCHEDULE_FIRING: _each(fire),
}


def run_due(state: State, now: int, repeats: bool = True) -> None:
    """Take every step that is due: timeouts, leases, retries, then schedules.

    What a step arms for this very instant waits for the next run. Repeats can be left out.
    """
    with collector_paused():
        kinds = [kind for kind in Due if repeats or kind is not Due.REPEAT]
        due = {kind: state.agenda.pop_due(kind, now) for kind in kinds}
        due[Due.SCHEDULE_FIRING] = _in_order(state, due[Due.SCHEDULE_FIRING])
        for kind, ids in due.items():
            _STEPS[kind](state, now, ids)


def due_schedules(state: State, now: int) -> list[str]:
    """Return the ids of the schedules that a run fires, in its order."""
    return _in_order(state, state.agenda.due(Due.SCHEDULE_FIRING, now))


def _in_order(state: State, ids: list[str]) -> list[str]:
    if state.profile.due_order == "creation":
        ids.sort(key=lambda id: state.schedules[id].rank)
    return ids


def run_head(state: State, now: int, head: Head) -> None:
    """Take one step; its entry on the agenda dies with what it changes."""
    ids = [head.id]
    if head.due is Due.PROMISE_TIMEOUT and settles_together(state):
        ids = state.agenda.due(head.due, now)
    _STEPS[head.due](state, now, ids)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Make many records without the collector looking at them."""
    # All that a run makes is kept and free of cycles. The collector would walk the rows
    # again and again to find that out: half of the time of a million ticks.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            # There and back moves all that is young to where the collector comes last, so
            # that it need not be walked once more. Who froze something himself keeps it.
            if gc.get_freeze_count() == 0:
                gc.freeze()
                gc.unfreeze()
            gc.enable()
