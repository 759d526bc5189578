"""The missed ticks of a fleet as columns: when each is due, fires and times out.

The heart of every question about an outage, without a word about how the answer is
shown. A fleet here is *complete*: each row has its template, timeout and tags.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from resonate_lab.cron import CronExpression
from resonate_lab.frames import TEXT
from resonate_lab.instants import format_instant
from resonate_lab.protocol.profile import Profile
from resonate_lab.protocol.records import DELAY_TAG, TARGET_TAG, is_timer
from resonate_lab.protocol.texts import delay_of
from resonate_lab.whatif.chains import MAX_TICKS, Chain, too_many
from resonate_lab.whatif.polls import MESSAGES_A_BATCH, Downtime, batched

__all__ = [
    "MAX_TICKS",
    "CatchUp",
    "bound",
    "caught_up",
    "ids_differ",
    "missed_ticks",
    "promise_ids",
    "repeated",
]

Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]

Starts = Callable[[Rows, Ints, Ints, Ints], tuple[Ints, Bools]]
"""From schedule, logical time, firing and outage of ticks: when they start, and who never does."""

NONE: Ints = np.empty(0, dtype=np.int64)
_TIMESTAMP = "{{.timestamp}}"


class CatchUp(NamedTuple):
    """Ticks in the order in which they fire, as columns; instants in ms."""

    schedule: Rows  # row of the accepted fleet
    scheduled: Ints
    fired: Ints
    timeout: Ints
    outage: Ints  # number of the outage, -1 where the tick is fired in time
    created: Bools
    expired: Bools  # born settled
    timer: Bools
    dispatched: Bools
    sent: Ints  # when the execute message leaves, -1 where there is none
    lost: Bools  # a policy does not start it

    def take(self, ticks: Rows) -> CatchUp:
        """Return some of the ticks."""
        return CatchUp._make(column[ticks] for column in self)


def missed_ticks(
    fleet: pd.DataFrame,
    expressions: Sequence[CronExpression | None],
    reasons: list[str],
    start: int,
    up: int,
) -> tuple[list[Ints], list[int]]:
    """Return each row's missed ticks and its next one after the restart, -1 without one.

    Rows whose expression never fires again are refused on the way, in `reasons`.
    """
    accepted = [row for row, why in enumerate(reasons) if not why]
    known = [cast("CronExpression", expressions[row]) for row in accepted]
    counts = bound(fleet["id"].iloc[accepted].tolist(), known, [(start, up)])
    ticks = {e: e.between_ms(start + 1, up) if n else NONE for e, n in counts.items()}
    nexts = {e: e.next_ms(up) for e in counts}
    arrays, afterwards = [], []
    for row, expression in enumerate(expressions):
        found = ticks.get(expression, NONE) if expression else NONE
        after = nexts.get(expression) if expression else None
        if expression and not reasons[row] and not len(found) and after is None:
            reasons[row] = (
                f"{expression.text!r} has no tick after {format_instant(start)}: "
                "a schedule needs one to be created"
            )
        arrays.append(found)
        afterwards.append(-1 if after is None else after)
    return arrays, afterwards


def bound(
    ids: Sequence[str],
    expressions: Sequence[CronExpression],
    outages: Sequence[tuple[int, int]],
) -> dict[CronExpression, int]:
    """Return how many ticks of each expression the calendar has in some outages.

    Raises
    ------
    WindowError
        those of all schedules are more than `MAX_TICKS`
    """
    counts = {
        e: sum(e.count_ms(start + 1, up) for start, up in outages if start < up)
        for e in set(expressions)
    }
    own = [counts[e] for e in expressions]
    if sum(own) > MAX_TICKS:
        most = own.index(max(own))
        raise too_many(f"{sum(own):,}", f" ({ids[most][:80]!r} alone has {own[most]:,})")
    return counts


def caught_up(
    fleet: pd.DataFrame,
    chains: Sequence[Chain],
    down: Downtime,
    rules: Profile,
    starts: Starts | None = None,
) -> CatchUp:
    """Return the ticks in the order of firing, and what becomes of each.

    Parameters
    ----------
    fleet : DataFrame
        complete
    chains : sequence of Chain
        one a row
    down : Downtime
    rules : Profile
    starts : callable, optional
        what starts the ticks of an outage instead of the server's own catch-up
    """
    schedule, scheduled, fired, outage, lost = _in_firing_order(fleet, chains, down, rules, starts)
    timeout = scheduled + fleet["promise_timeout"].to_numpy(dtype=np.int64)[schedule]
    tags = fleet["promise_tags"].tolist()
    timer = np.array([is_timer(t) for t in tags], dtype=bool)[schedule]
    target = np.array([TARGET_TAG in t for t in tags], dtype=bool)[schedule]
    created = ~lost
    kept = np.flatnonzero(created) if lost.any() else slice(None)
    created[kept] = _first_of_its_id(fleet, schedule[kept], scheduled[kept])
    judged_at = fired if rules.expiry == "processing time" else scheduled
    expired = (timeout <= judged_at) & created
    live = created & ~expired & target
    queued = fired
    if rules.fired_delay_honoured and any(DELAY_TAG in t for t in tags):
        delay = np.array([delay_of(t) or 0 for t in tags], dtype=np.int64)[schedule]
        held = live & (scheduled < delay)
        # What is held back is first looked at by the look after the one that fires.
        after = fired if down.poll_ms is None else fired + 1
        queued = np.where(held, down.next_look(np.maximum(after, delay)), fired)
        sends = live & ~(held & (timeout <= queued))
        live &= ~held
    else:
        sends = live
    run = CatchUp(
        schedule, scheduled, fired, timeout, outage, created, expired, timer, live, queued, lost
    )
    return run._replace(sent=_sent(fleet, run, sends, down))


def _sent(fleet: pd.DataFrame, run: CatchUp, sends: Bools, down: Downtime) -> Ints:
    """Return when the execute messages leave that are queued at `run.sent`."""
    if down.messages is None:
        return np.where(sends, run.sent, -1)
    sent = np.full(len(sends), -1, dtype=np.int64)
    some = np.flatnonzero(sends)
    if len(some):

        def places(which: Rows) -> Ints:
            ids = promise_ids(fleet, run.schedule[some[which]], run.scheduled[some[which]])
            return places_in_order(ids)

        sent[some] = batched(run.sent[some], down.messages, places, MESSAGES_A_BATCH)
    return sent


def _in_firing_order(
    fleet: pd.DataFrame,
    chains: Sequence[Chain],
    down: Downtime,
    rules: Profile,
    starts: Starts | None,
) -> tuple[Rows, Ints, Ints, Ints, Bools]:
    ids = fleet["id"].tolist()
    rows = [row for row, chain in enumerate(chains) if len(chain.due)]
    if rules.due_order == "next_run_at":
        rows.sort(key=ids.__getitem__)
    sizes = [len(chains[row].due) for row in rows]
    schedule = np.repeat(np.array(rows, dtype=np.intp), sizes)
    due, fired, outage = (
        np.concatenate([NONE, *(chains[row][column] for row in rows)]) for column in range(3)
    )
    # What one look fires of a schedule stays together: so many blocks are to be sorted.
    begins = np.ones(len(due), dtype=bool)
    begins[1:] = (schedule[1:] != schedule[:-1]) | (fired[1:] != fired[:-1])
    turn = NONE
    if down.in_steps:
        # A server that does not wait looks again at once: each tick is in a turn of its own.
        firsts = np.flatnonzero(begins)
        turn = np.arange(len(due)) - firsts[np.cumsum(begins) - 1]
        begins[:] = True
    lost = np.zeros(len(due), dtype=bool)
    if starts is not None:
        fired, lost = starts(schedule, due, fired, outage)
        begins[:] = True
    heads = np.flatnonzero(begins)
    key = due[heads] if rules.due_order == "next_run_at" else np.zeros(len(heads), dtype=np.int64)
    turns = [turn[heads]] if len(turn) else []
    order = np.lexsort((key, *turns, fired[heads]))
    if (np.diff(order) < 0).any():
        lengths = np.diff(heads, append=len(due))[order]
        moved = np.repeat(heads[order] - (np.cumsum(lengths) - lengths), lengths)
        ticks = np.arange(len(due)) + moved
        schedule, due, fired, outage, lost = (
            column[ticks] for column in (schedule, due, fired, outage, lost)
        )
    return schedule, due, fired, outage, lost


def places_in_order(ids: pd.Series) -> Ints:
    """Return the place of each id in their order by bytes, from 0."""
    # Code points, by which Python compares, are in the order of their bytes in UTF-8.
    names = ids.tolist()
    places = np.empty(len(names), dtype=np.int64)
    places[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return places


def _first_of_its_id(fleet: pd.DataFrame, schedule: Rows, scheduled: Ints) -> Bools:
    """Return which ticks create a promise: those whose id no earlier one has taken."""
    if ids_differ(fleet):
        return np.ones(len(schedule), dtype=bool)
    return ~promise_ids(fleet, schedule, scheduled).duplicated().to_numpy(dtype=bool)


def ids_differ(fleet: pd.DataFrame) -> bool:
    """Return whether one sees at once that no two ticks have the same promise id."""
    parts = [text.split(_TIMESTAMP) for text in _templates(fleet)]
    # Ids "prefix + digits" differ wherever the prefixes do, if no prefix ends in a digit.
    plain = all(len(p) == 2 and not p[1] and not p[0][-1:].isdecimal() for p in parts)
    return plain and len({p[0] for p in parts}) == len(parts)


def _templates(fleet: pd.DataFrame) -> list[str]:
    """Return the promise-id templates with the ids filled in, the timestamps not yet."""
    # The id goes in first: an id that holds {{.timestamp}} is expanded too, as the
    # server does it.
    return [
        template.replace("{{.id}}", name)
        for template, name in zip(fleet["promise_id"].tolist(), fleet["id"].tolist(), strict=True)
    ]


def promise_ids(fleet: pd.DataFrame, schedule: Rows, scheduled: Ints) -> pd.Series:
    """Return the promise id of each tick: its schedule's template, filled in."""
    parts = [text.split(_TIMESTAMP) for text in _templates(fleet)]
    if _arrow_texts() and all(len(p) == 2 for p in parts):
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = pa.large_string()
        rows = pa.array(schedule)
        pieces = [
            pa.array([p[0] for p in parts], texts).take(rows),
            pc.cast(pa.array(scheduled), texts),
        ]
        if any(p[1] for p in parts):  # few templates go on behind the timestamp
            pieces.append(pa.array([p[1] for p in parts], texts).take(rows))
        joined = pc.binary_join_element_wise(*pieces, pa.scalar("", texts))
        return pd.Series(pd.array(joined, dtype="str"))
    ticks = zip(schedule.tolist(), map(str, scheduled.tolist()), strict=True)
    return pd.Series([stamp.join(parts[row]) for row, stamp in ticks], dtype=str)


def repeated(texts: Sequence[str | None], rows: Rows) -> pd.Series:
    """Return ``texts[row]`` for each row as a str column, NaN for None."""
    values = pd.Series(list(texts), dtype=TEXT)
    return values.take(rows).reset_index(drop=True)


def _arrow_texts() -> bool:
    """Whether pandas keeps str columns in Arrow (3.0 and later, with pyarrow)."""
    return isinstance(TEXT, pd.StringDtype) and TEXT.storage == "pyarrow"
