"""The steps that the server takes itself: what falls due, and how a schedule fires.

Each step looks again whether it is due: the agenda is an index, the records decide.
"""

from __future__ import annotations

import gc
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import repeat
from typing import Final, cast

from resonate_lab._html import plain
from resonate_lab.cron import CronExpression
from resonate_lab.engine.agenda import Due, Head
from resonate_lab.engine.state import Firing, PromiseRow, ScheduleRow, State, TaskRow
from resonate_lab.errors import WindowError
from resonate_lab.instants import EPOCH_END_MS, format_instant
from resonate_lab.protocol.profile import Profile
from resonate_lab.protocol.records import (
    EMPTY_VALUE,
    FULFILLED,
    PENDING,
    REJECTED_TIMEDOUT,
    RESOLVED,
    TARGET_TAG,
    Ticks,
    is_timer,
)
from resonate_lab.protocol.requests import I64_MAX, expanded_length, template_parts

__all__ = [
    "LOAD_LIMIT",
    "STEP_NAMES",
    "dispatched",
    "missed_ticks",
    "next_tick",
    "run_due",
    "run_head",
    "touch",
    "verdict",
]

#: Ticks that one run may fire, those with long promise ids counting more than once: a
#: schedule of every second and a clock that jumps a century would fill any memory.
LOAD_LIMIT: Final = 2_000_000

STEP_NAMES: Final = {
    Due.PROMISE_TIMEOUT: "promise timeout",
    Due.LEASE_EXPIRY: "lease expiry",
    Due.RETRY: "retry",
    Due.SCHEDULE_FIRING: "schedule firing",
}


def verdict(tags: Mapping[str, str]) -> str:
    """Return the state in which a deadline leaves a promise with these tags."""
    return RESOLVED if is_timer(tags) else REJECTED_TIMEDOUT


# --- promises ----------------------------------------------------------------------------


def touch(state: State, now: int, id: str) -> PromiseRow | None:
    """Return the promise, settled first if it is past its deadline; None if unknown."""
    row = state.promises.get(id)
    if row is not None and row.state == PENDING and row.timeout_at <= now:
        time_out(state, now, id)
        row = state.promises[id]
    return row


def time_out(state: State, now: int, id: str) -> None:
    """Settle a promise whose deadline has come, as of that deadline."""
    row = state.promises[id]
    if row.state != PENDING or row.timeout_at > now:
        return
    task = row.task
    if task is not None and task.state != FULFILLED:
        task = TaskRow(FULFILLED, task.version, queued=task.queued)
    settled = row._replace(state=verdict(row.tags), settled_at=row.timeout_at, task=task)
    state.put_promise(settled)
    state.log(now, STEP_NAMES[Due.PROMISE_TIMEOUT], id, settled.state)


# --- tasks -------------------------------------------------------------------------------


def dispatched(state: State, now: int, task: TaskRow) -> TaskRow:
    """Return a task pending, its execute message queued, to be queued again later."""
    retry_at, version = now + state.profile.retry_ms, task.version
    return TaskRow(PENDING, version, task.resumes, retry_at=retry_at, queued=version)


def expire_lease(state: State, now: int, id: str) -> None:
    """Take a task from a worker that let its lease lapse."""
    task = state.promises[id].task
    if task is not None and task.expires_at is not None and task.expires_at <= now:
        state.put_task(id, dispatched(state, now, task))
        state.log(now, STEP_NAMES[Due.LEASE_EXPIRY], id, "dispatched")


def retry(state: State, now: int, id: str) -> None:
    """Send the execute message of a task that nobody acquired once more."""
    task = state.promises[id].task
    if task is not None and task.retry_at is not None and task.retry_at <= now:
        state.put_task(id, dispatched(state, now, task))
        state.log(now, STEP_NAMES[Due.RETRY], id, "dispatched")


# --- schedules ---------------------------------------------------------------------------


def next_tick(profile: Profile, expression: CronExpression, after: int) -> int | None:
    """Return the tick that follows an instant, or None where the profile knows none."""
    # The calendar begins in 1970 and ends with 2100; clocks need not.
    found = expression.next_ms(max(after, -1)) if after < EPOCH_END_MS else None
    if found is None and profile.fallback_ms is not None:
        return after + profile.fallback_ms
    return found


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
    expired, live = _create(state, now, row, ticks)
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
    ids = [str(tick).join(parts) for tick in ticks]
    if not state.promises.keys().isdisjoint(ids):
        ticks = [tick for tick, id in zip(ticks, ids, strict=True) if id not in state.promises]
        ids = [id for id in ids if id not in state.promises]
    timeouts = [min(tick + row.promise_timeout, I64_MAX) for tick in ticks]
    if profile.expiry == "processing time":
        cut = bisect_right(timeouts, now)
    else:
        cut = 0 if row.promise_timeout else len(ticks)
    born = ticks if profile.expired_created_at == "tick" else timeouts
    firing = Firing(row.id, now, profile.adds_tags)
    pattern = PromiseRow("", PENDING, row.promise_param, EMPTY_VALUE, tags, 0, 0, None, firing)
    targeted = TARGET_TAG in tags
    # Deadlines grow with the ticks, so those that have passed come first.
    if cut:
        past, task = timeouts[:cut], TaskRow(FULFILLED) if targeted else None
        expired = pattern._replace(state=verdict(tags), task=task)
        rows = _rows(expired, id=ids[:cut], timeout_at=past, created_at=born, settled_at=past)
        state.add_promises(rows)
    if cut < len(ids):
        waiting = TaskRow(PENDING, retry_at=now + profile.retry_ms, queued=0)
        live = pattern._replace(task=waiting) if targeted else pattern
        rows = _rows(live, id=ids[cut:], timeout_at=timeouts[cut:], created_at=ticks[cut:])
        state.add_promises(rows)
    return cut, len(ids) - cut


def _rows(pattern: PromiseRow, **columns: Sequence[object]) -> list[PromiseRow]:
    """Return rows that differ from a pattern in some columns."""
    whole = zip(PromiseRow._fields, pattern, strict=True)
    values = [columns.get(name) or repeat(value) for name, value in whole]
    # PromiseRow(...) by another name: the class's own constructor is Python code and
    # would take a third of the time of a million ticks.
    made = map(tuple.__new__, repeat(PromiseRow), zip(*values, strict=False))
    return cast(list[PromiseRow], list(made))


# --- runs --------------------------------------------------------------------------------

_STEPS: Final[dict[Due, Callable[[State, int, str], None]]] = {
    Due.PROMISE_TIMEOUT: time_out,
    Due.LEASE_EXPIRY: expire_lease,
    Due.RETRY: retry,
    Due.SCHEDULE_FIRING: fire,
}


def run_due(state: State, now: int) -> None:
    """Take every step that is due: timeouts, leases, retries, then schedules.

    What a step arms for this very instant waits for the next run.
    """
    with _collector_paused():
        for due, step in _STEPS.items():
            ids = state.agenda.pop_due(due, now)
            if due is Due.SCHEDULE_FIRING and state.profile.due_order == "creation":
                ids.sort(key=lambda id: state.schedules[id].rank)
            for id in ids:
                step(state, now, id)


def run_head(state: State, now: int, head: Head) -> None:
    """Take the one step at the head of the agenda."""
    state.agenda.pop(head)
    _STEPS[head.due](state, now, head.id)


@contextmanager
def _collector_paused() -> Iterator[None]:
    # All that a run makes is kept and free of cycles. The collector would walk the rows
    # again and again to find that out: a third of the time of a million ticks.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
