"""The missed ticks of a fleet as columns: when each is due, fires and times out.

The heart of every question about an outage, without a word about how the answer is
shown. A fleet here is *complete*: each row has its template, timeout and tags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from resonate_lab.cron import CronExpression
from resonate_lab.errors import WindowError
from resonate_lab.frames import TEXT
from resonate_lab.instants import format_instant
from resonate_lab.protocol.profile import Profile
from resonate_lab.protocol.records import TARGET_TAG, is_timer

__all__ = ["MAX_TICKS", "CatchUp", "caught_up", "missed_ticks", "promise_ids", "repeated"]

MAX_TICKS = 10_000_000
"""Most missed ticks that one question may have; some 2 GB as a frame."""

Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]

_NONE: Ints = np.empty(0, dtype=np.int64)
_TIMESTAMP = "{{.timestamp}}"


class CatchUp(NamedTuple):
    """The missed ticks in the order in which they fire, as columns; instants in ms."""

    schedule: Rows  # row of the accepted fleet
    scheduled: Ints
    fired: Ints
    timeout: Ints
    created: Bools
    expired: Bools  # born settled
    timer: Bools
    dispatched: Bools

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
    counts = {
        expression: expression.count_ms(start + 1, up) if start < up else 0
        for expression in {e for e, why in zip(expressions, reasons, strict=True) if e and not why}
    }
    _bound(fleet, expressions, reasons, counts)
    ticks = {e: e.between_ms(start + 1, up) if n else _NONE for e, n in counts.items()}
    nexts = {e: e.next_ms(up) for e in counts}
    arrays, afterwards = [], []
    for row, expression in enumerate(expressions):
        found = ticks.get(expression, _NONE) if expression else _NONE
        after = nexts.get(expression) if expression else None
        if expression and not reasons[row] and not len(found) and after is None:
            reasons[row] = (
                f"{expression.text!r} has no tick after {format_instant(start)}: "
                "a schedule needs one to be created"
            )
        arrays.append(found)
        afterwards.append(-1 if after is None else after)
    return arrays, afterwards


def _bound(
    fleet: pd.DataFrame,
    expressions: Sequence[CronExpression | None],
    reasons: Sequence[str],
    counts: Mapping[CronExpression, int],
) -> None:
    own = [counts[e] if e and not why else 0 for e, why in zip(expressions, reasons, strict=True)]
    total = sum(own)
    if total > MAX_TICKS:
        most = own.index(max(own))
        raise WindowError(
            f"the outage holds {total:,} missed ticks, more than the {MAX_TICKS:,} that one "
            f"question may have ({fleet['id'].iloc[most][:80]!r} alone has {own[most]:,}): shorten "
            "the outage or ask for fewer schedules"
        )


def caught_up(fleet: pd.DataFrame, arrays: Sequence[Ints], up: int, rules: Profile) -> CatchUp:
    """Return the ticks in the order of firing, and what becomes of each."""
    # Each schedule fires all its ticks before the next one comes.
    ids = fleet["id"].tolist()
    due = [row for row, ticks in enumerate(arrays) if len(ticks)]
    if rules.due_order == "next_run_at":
        due.sort(key=lambda row: (arrays[row][0], ids[row]))
    sizes = [len(arrays[row]) for row in due]
    schedule = np.repeat(np.array(due, dtype=np.intp), sizes)
    scheduled = np.concatenate([arrays[row] for row in due]) if due else _NONE
    fired = np.full(len(scheduled), up, dtype=np.int64)
    timeout = scheduled + fleet["promise_timeout"].to_numpy(dtype=np.int64)[schedule]
    tags = fleet["promise_tags"].tolist()
    timer = np.array([is_timer(t) for t in tags], dtype=bool)[schedule]
    target = np.array([TARGET_TAG in t for t in tags], dtype=bool)[schedule]
    created = _first_of_its_id(fleet, schedule, scheduled)
    judged_at = fired if rules.expiry == "processing time" else scheduled
    expired = (timeout <= judged_at) & created
    return CatchUp(
        schedule, scheduled, fired, timeout, created, expired, timer, created & ~expired & target
    )


def _first_of_its_id(fleet: pd.DataFrame, schedule: Rows, scheduled: Ints) -> Bools:
    """Return which ticks create a promise: those whose id no earlier one has taken."""
    parts = [text.split(_TIMESTAMP) for text in _templates(fleet)]
    # Ids "prefix + digits" differ wherever the prefixes do, if no prefix ends in a digit.
    plain = all(len(p) == 2 and not p[1] and not p[0][-1:].isdecimal() for p in parts)
    if plain and len({p[0] for p in parts}) == len(parts):
        return np.ones(len(schedule), dtype=bool)
    return ~promise_ids(fleet, schedule, scheduled).duplicated().to_numpy(dtype=bool)


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
        ends = [pa.array([p[side] for p in parts], texts).take(rows) for side in (0, 1)]
        stamps = pc.cast(pa.array(scheduled), texts)
        joined = pc.binary_join_element_wise(ends[0], stamps, ends[1], pa.scalar("", texts))
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
