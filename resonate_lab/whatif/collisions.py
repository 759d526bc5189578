"""Which schedules run at the same time, given how long they run.

Ticks become runs [tick, tick + run time), sorted by their beginnings. A run meets those that
begin before it ends, which in that order are its neighbours: their number is a binary
search, so it is known, and bounded, before a single pair is written down.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from resonate_lab import _html
from resonate_lab.cron import CronExpression
from resonate_lab.errors import DurationError, FleetError, WindowError
from resonate_lab.instants import (
    EPOCH_END_MS,
    datetime_index,
    duration_ms,
    format_duration,
    format_instant,
    instant_ms,
    timestamp,
)
from resonate_lab.whatif.answer import Answer, Table, counted, refused_table
from resonate_lab.whatif.bins import window_ms
from resonate_lab.whatif.fleet import Source, compile_fleet, read_fleet, refused_rows
from resonate_lab.whatif.partitions import Progress, needed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from resonate_lab.instants import Duration, Instant

__all__ = ["MAX_MEETINGS", "MAX_RUNS", "Collisions", "collisions", "run_times"]

MAX_RUNS = 5_000_000
"""Most runs that one question may have; some 200 MB."""

MAX_MEETINGS = 20_000_000
"""Most meetings of two runs that one question may have; a few seconds."""

_CHUNK = 1_000_000  # meetings written down at once

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Collisions(Answer):
    """Which schedules run at the same time, how often and how long; made by `collisions`.

    Attributes
    ----------
    pairs : DataFrame
        One row a pair that meets, the most frequent first, then the longest together, then
        in the fleet's order:

        ======================= ========= ==============================================
        schedule_a, schedule_b  str       in the fleet's order; the same id twice where a
                                          run of a schedule meets its own next one
        collisions              int64     meetings of two runs
        overlap                 timedelta how long they run together, summed up
        longest                 timedelta the longest of it
        first_at, last_at       instant   beginning of the first and of the last meeting
        ======================= ========= ==============================================
    fleet : DataFrame
        the schedules that were asked, with their ``run_time`` (timedelta) and their number
        of ``runs`` (int64)
    refused : DataFrame
        the others: ``schedule_id``, ``cron``, ``line`` and ``reason``
    window : (Timestamp, Timestamp)
        the closed window in which the runs begin
    """

    pairs: pd.DataFrame
    fleet: pd.DataFrame
    refused: pd.DataFrame
    window: tuple[pd.Timestamp, pd.Timestamp]
    _runs: _Runs

    _title: ClassVar[str] = "Which schedules run at the same time?"

    @cached_property
    def running(self) -> pd.Series:
        """How many runs there are at once: int64, one row a change, UTC, ascending.

        A value holds until the next row's instant; a run of no length is in none.
        """
        runs = self._runs
        long = runs.end > runs.start
        at = np.concatenate([runs.start[long], runs.end[long]])
        change = np.repeat(np.array([1, -1], dtype=np.int64), long.sum())
        order = np.argsort(at, kind="stable")
        level = np.cumsum(change[order])
        last = np.flatnonzero(np.diff(at[order], append=-1))  # the last change of each instant
        index = datetime_index(at[order][last], name="at")
        return pd.Series(level[last], index=index, name="running", dtype=np.int64)

    def headline(self) -> str:
        """Return the answer in one sentence."""
        start, end = (instant_ms(at) for at in self.window)
        meetings = int(self.pairs["collisions"].sum())
        most = int(self.running.max()) if len(self.running) else 0
        meet = "pair meets" if len(self.pairs) == 1 else "pairs meet"
        return (
            f"{counted(len(self.fleet), 'schedule')} from {format_instant(start)} to "
            f"{format_instant(end)}: {len(self.pairs):,} {meet} {counted(meetings, 'time')}, "
            f"at most {counted(most, 'run')} at once"
        )

    def plot(self, *, ax: Axes | None = None, **kwargs: Any) -> Axes:
        """Draw how many runs there are at once; see `plots.running_curve`."""
        from resonate_lab import plots

        return plots.running_curve(self.running, ax=ax, **kwargs)

    def _main(self) -> pd.DataFrame:
        return self.pairs

    def _tables(self) -> list[Table]:
        headings = {
            "schedule_a": "one",
            "schedule_b": "the other",
            "collisions": "meetings",
            "overlap": "together in all",
            "longest": "longest",
            "first_at": "first",
            "last_at": "last",
        }
        return [
            Table("The pairs that meet most", self.pairs, headings),
            *refused_table(self.refused),
        ]

    def __repr__(self) -> str:
        return f"<Collisions: {self.headline()}>"

    def _repr_html_(self) -> str:
        columns = ["schedule_a", "schedule_b", "collisions", "overlap", "longest"]
        shown = self.pairs[columns].head(10)
        rows = [
            (a, b, int(n), *(format_duration(int(d.total_seconds() * 1000)) for d in spans))
            for a, b, n, *spans in shown.itertuples(index=False)
        ]
        table = _html.table(rows, columns, total=len(self.pairs))
        return f"<div><p>{_html.escape(self.headline(), None)}</p>{table}</div>"


class _Runs(NamedTuple):
    """Runs in the order of their beginnings, as columns; instants in ms."""

    schedule: Ints  # row of the accepted fleet
    start: Ints
    end: Ints


def collisions(
    fleet: Source,
    start: Instant,
    end: Instant,
    run_time: Duration | None = None,
    *,
    dialect: str = "resonate",
    progress: Progress = iter,
) -> Collisions:
    """Return which schedules of a fleet run at the same time.

    Parameters
    ----------
    fleet : DataFrame, path or file object
        anything that `read_fleet` takes; its column ``run_time`` (ms, or a duration such as
        ``"5min"``) has the last word where it is not blank
    start, end : instant
        the closed window in which the runs begin
    run_time : duration, optional
        of the schedules that name none
    dialect : str
        of the rows that name none
    progress : callable, optional
        wraps the iterable of the steps' numbers, as `tqdm.auto.tqdm` does

    Returns
    -------
    Collisions
        the pairs that meet, how many runs there are at once, and the rows refused

    Raises
    ------
    FleetError
        the fleet cannot be read, or names no run time where `run_time` is not given
    InstantError, DurationError, TypeError
        an argument is no instant or no duration
    WindowError
        `end` is before `start`, the window leaves 1970-2100, or it holds more than
        `MAX_RUNS` runs or `MAX_MEETINGS` meetings

    Notes
    -----
    Two runs meet where one begins before the other has ended, or both begin at the same
    instant; one that begins as the other ends does not meet it. A row whose run time is
    negative, infinite or no duration is refused, the others are computed.
    O(runs log runs + meetings).

    Examples
    --------
    >>> fleet = pd.DataFrame({"id": ["a", "b"], "cron": ["0 * * * *", "10 9 * * *"]})
    >>> met = collisions(fleet, "2024-01-01", "2024-01-07", run_time="15min")
    >>> met.pairs[["schedule_a", "schedule_b", "collisions"]].values.tolist()
    [['a', 'b', 6]]
    """
    first, last = window_ms(start, end)
    frame = read_fleet(needed(fleet, "collisions", "dialect", "run_time", "line"))
    expressions, reasons = compile_fleet(frame, dialect)
    lengths, faults = run_times(frame, run_time)
    reasons = [why or fault for why, fault in zip(reasons, faults, strict=True)]
    accepted = np.flatnonzero([not why for why in reasons])
    kept = [cast("CronExpression", expressions[row]) for row in accepted]
    runs = _runs(frame.iloc[accepted], kept, lengths[accepted], first, last)
    return Collisions(
        pairs=_pairs(frame["id"].iloc[accepted], runs, progress),
        fleet=frame.iloc[accepted]
        .reset_index(drop=True)
        .assign(
            run_time=lengths[accepted].view("timedelta64[ms]"),
            runs=np.bincount(runs.schedule, minlength=len(accepted)).astype(np.int64),
        ),
        refused=refused_rows(frame, reasons),
        window=(timestamp(first), timestamp(last)),
        _runs=runs,
    )


def run_times(fleet: pd.DataFrame, default: Duration | None) -> tuple[Ints, list[str]]:
    """Return how long each schedule runs, in ms, and the reason where that is senseless.

    Parameters
    ----------
    fleet : DataFrame
        a fleet frame; its column ``run_time``, where not blank, has the last word
    default : duration or None
        of the other rows; None refuses them

    Returns
    -------
    int64 ndarray of shape (rows,)
        ms, 0 or more; 0 where there is a reason
    list of str
        one a row; "" where there is a run time

    Raises
    ------
    FleetError
        there is neither a column nor a default
    DurationError, TypeError
        the default is no duration, or negative
    """
    given = -1
    if default is not None:
        given = duration_ms(default, "run_time")
        if not 0 <= given < EPOCH_END_MS:
            raise DurationError(
                f"run_time {default!r} is negative or longer than the calendar: write a duration "
                "such as '5min'"
            )
    elif "run_time" not in fleet:
        raise FleetError(
            "the fleet has no column run_time: add one (ms, or durations such as '5min'), or pass "
            "run_time='5min' for all"
        )
    cells = fleet["run_time"].tolist() if "run_time" in fleet else [None] * len(fleet)
    lengths, reasons = np.zeros(len(cells), dtype=np.int64), [""] * len(cells)
    for row, cell in enumerate(cells):
        try:
            lengths[row] = _run_time(cell, given)
        except (DurationError, TypeError) as error:
            reasons[row] = str(error)
    return lengths, reasons


def _run_time(cell: object, default: int) -> int:
    if cell is None or cell is pd.NA or cell is pd.NaT or cell != cell or not str(cell).strip():
        if default < 0:
            raise DurationError("run_time is blank: write ms, or a duration such as '5min'")
        return default
    ms = -1
    if isinstance(cell, float | np.floating):
        if math.isfinite(cell) and cell >= 0:  # a column of ms with a blank reaches us as floats
            ms = math.ceil(cell)
    elif isinstance(cell, str) and re.fullmatch(r"\s*\d{1,18}\s*", cell, re.ASCII):
        ms = int(cell)
    else:
        ms = duration_ms(cast("Duration", cell), "run_time")
    if not 0 <= ms < EPOCH_END_MS:
        raise DurationError(
            f"run_time {str(cell)[:40]!r} is negative, infinite or longer than the calendar: write "
            "ms, or a duration such as '5min'"
        )
    return ms


def _runs(
    fleet: pd.DataFrame, expressions: list[CronExpression], lengths: Ints, start: int, end: int
) -> _Runs:
    counts = {e: e.count_ms(start, end) for e in set(expressions)}
    own = [counts[e] for e in expressions]
    if sum(own) > MAX_RUNS:
        most = own.index(max(own))
        raise WindowError(
            f"{format_instant(start)} to {format_instant(end)} holds {sum(own):,} runs, more than "
            f"the {MAX_RUNS:,} that one question may have ({fleet['id'].iloc[most][:80]!r} alone "
            f"has {own[most]:,}): shorten the window or ask for fewer schedules"
        )
    ticks = {e: e.between_ms(start, end) for e in counts}
    schedule = np.repeat(np.arange(len(own), dtype=np.int64), own)
    at = np.concatenate([np.empty(0, dtype=np.int64), *(ticks[e] for e in expressions)])
    order = np.argsort(at, kind="stable")
    schedule, at = schedule[order], at[order]
    return _Runs(schedule, at, at + lengths[schedule])


def _pairs(ids: pd.Series, runs: _Runs, progress: Progress) -> pd.DataFrame:
    # Those behind a run in the order of beginnings that begin before it ends; a run of no
    # length still meets what begins with it.
    place = np.arange(len(runs.start))
    meets = np.searchsorted(runs.start, np.maximum(runs.end, runs.start + 1)) - place - 1
    total = int(meets.sum())
    if total > MAX_MEETINGS:
        busiest = int(meets.argmax())
        raise WindowError(
            f"the runs meet {total:,} times, more than the {MAX_MEETINGS:,} that one question may "
            f"have (that of {ids.iloc[runs.schedule[busiest]][:80]!r} at "
            f"{format_instant(int(runs.start[busiest]))} alone meets {meets[busiest]:,} others): "
            "shorten the window or ask for fewer schedules"
        )
    # Cut where so many meetings are full, so that memory stays bounded.
    before = np.concatenate([[0], np.cumsum(meets)])
    cuts = np.searchsorted(before, np.arange(0, total, _CHUNK), side="right") - 1
    cuts = np.unique(np.append(cuts, len(meets)))
    found = _Met.none()
    for at in progress(range(len(cuts) - 1)):
        low, high = int(cuts[at]), int(cuts[at + 1])
        found = _Met.joined(found, _met(runs, place[low:high], meets[low:high], len(ids)))
    a, b = np.divmod(found.pair, max(len(ids), 1))
    order = np.lexsort((found.pair, -found.overlap, -found.times))
    names = ids.to_numpy(dtype=object)
    return pd.DataFrame(
        {
            "schedule_a": pd.Series(names[a[order]], dtype=str),
            "schedule_b": pd.Series(names[b[order]], dtype=str),
            "collisions": found.times[order],
            "overlap": found.overlap[order].view("timedelta64[ms]"),
            "longest": found.longest[order].view("timedelta64[ms]"),
            "first_at": datetime_index(found.first[order]),
            "last_at": datetime_index(found.last[order]),
        }
    )


class _Met(NamedTuple):
    """What is known of each pair, ascending by its number, as columns; ms."""

    pair: Ints  # row of a times the fleet's size, plus row of b
    times: Ints
    overlap: Ints
    longest: Ints
    first: Ints
    last: Ints

    @classmethod
    def none(cls) -> _Met:
        return cls(*[np.empty(0, dtype=np.int64)] * 6)

    @classmethod
    def joined(cls, *parts: _Met) -> _Met:
        """Return what several parts say, one row a pair."""
        every = cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        if not len(every.pair):
            return every
        order = np.argsort(every.pair, kind="stable")
        every = cls(*(column[order] for column in every))
        at = np.flatnonzero(np.diff(every.pair, prepend=-1))
        return cls(
            every.pair[at],
            np.add.reduceat(every.times, at),
            np.add.reduceat(every.overlap, at),
            np.maximum.reduceat(every.longest, at),
            np.minimum.reduceat(every.first, at),
            np.maximum.reduceat(every.last, at),
        )


def _met(runs: _Runs, place: npt.NDArray[np.intp], meets: Ints, size: int) -> _Met:
    """Return the meetings of some runs with those behind them."""
    one = np.repeat(place, meets)
    # The first behind it, the second, ...: a count that starts again at each run.
    other = one + 1 + np.arange(len(one)) - np.repeat(np.cumsum(meets) - meets, meets)
    a, b = runs.schedule[one], runs.schedule[other]
    at = runs.start[other]
    together = np.minimum(runs.end[one], runs.end[other]) - at
    pair = np.minimum(a, b) * size + np.maximum(a, b)
    return _Met.joined(_Met(pair, np.ones(len(pair), np.int64), together, together, at, at))
