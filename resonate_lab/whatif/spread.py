"""Which schedules to move by how many minutes, so that no bin holds more than a bound.

A move is later by whole minutes, and it is a new expression, proved to be the old one
shifted. A second run proposes the same, on any machine.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from resonate_lab import _html
from resonate_lab.errors import DurationError, WindowError
from resonate_lab.instants import (
    EPOCH_END_MS,
    duration_ms,
    format_duration,
    format_instant,
    instant_ms,
)
from resonate_lab.whatif.answer import Answer, Table, counted, refused_table
from resonate_lab.whatif.fleet import Source
from resonate_lab.whatif.later import PROOF_YEARS
from resonate_lab.whatif.load import Load, load
from resonate_lab.whatif.partitions import Progress, needed
from resonate_lab.whatif.placement import Ground, Move
from resonate_lab.whatif.tally import Asked, tallied

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from resonate_lab.instants import Duration, Instant
    from resonate_lab.whatif.bins import Frequency

__all__ = ["Spread", "spread"]

_MINUTE, _DAY = 60_000, 86_400_000  # ms


@dataclass(frozen=True, eq=False, repr=False)
class Spread(Answer):
    """Which schedules to move, and the load before and after; made by `spread`.

    Attributes
    ----------
    moves : DataFrame
        One row a schedule to be moved, in the fleet's order:

        =========== ====== ==========================================================
        schedule_id str
        cron        str    as it is
        minutes     int64  by how many it is moved later, 1 or more
        proposed    str    the expression to write instead
        compared    int64  ticks in which `proposed` was found to be `cron` shifted:
                           all of `PROOF_YEARS` years from the window's start
        =========== ====== ==========================================================
    before, after : Load
        ticks a bin, as the fleet is and with the moves made
    bound : int
        most ticks that a bin may hold
    within : int
        most minutes by which a schedule may be moved
    complete : bool
        False where the search was interrupted; the moves found until then stand
    """

    moves: pd.DataFrame
    before: Load
    after: Load
    bound: int
    within: int
    complete: bool = True

    _title: ClassVar[str] = "Which schedules to move, and by how much?"

    @property
    def refused(self) -> pd.DataFrame:
        """The rows that were not counted: ``schedule_id``, ``cron``, ``line``, ``reason``."""
        return self.before.refused

    @property
    def reached(self) -> bool:
        """Whether no bin holds more than the bound once the moves are made."""
        return _peak(self.after) <= self.bound

    @cached_property
    def fleet(self) -> pd.DataFrame:
        """The accepted schedules with their expressions as proposed, ready for `load`."""
        fleet = self.before.fleet.copy()
        cron = dict(zip(self.moves["schedule_id"], self.moves["proposed"], strict=True))
        texts = zip(fleet["id"].tolist(), fleet["cron"].tolist(), strict=True)
        fleet["cron"] = pd.Series([cron.get(name, text) for name, text in texts], dtype=str)
        return fleet

    def headline(self) -> str:
        """Return the answer in one sentence."""
        high, low = _peak(self.before), _peak(self.after)
        assert self.before._bins is not None
        a_bin = f"a bin of {format_duration(self.before._bins.width)}"
        peak = f"{counted(high, 'tick')} {a_bin}"
        if not len(self.moves) and self.reached:
            return f"nothing to move: the peak is {peak}, and the bound {self.bound:,}"
        moved = f"{len(self.moves):,} of {counted(len(self.before.fleet), 'schedule')}"
        if self.reached:
            return (
                f"moving {moved} by at most {int(self.moves['minutes'].max())} min brings the "
                f"peak from {high:,} to {counted(low, 'tick')} {a_bin}, the bound being "
                f"{self.bound:,}"
            )
        at = format_instant(instant_ms(self.after.index[int(self.after.to_numpy().argmax())]))
        when = "" if self.complete else " before the search was interrupted"
        return (
            f"no moves of at most {self.within} min were found{when} that bring the peak of "
            f"{peak} to {self.bound:,}: the best is {low:,} (at {at}), reached by "
            f"moving {moved}"
        )

    def plot(self, *, ax: Axes | None = None, **kwargs: Any) -> Axes:
        """Draw the load before and after; see `plots.load_curve`."""
        from resonate_lab import plots

        return plots.load_curve(
            {"before": self.before, "after": self.after}, bound=self.bound, ax=ax, **kwargs
        )

    def _main(self) -> pd.DataFrame:
        return self.moves

    def _tables(self) -> list[Table]:
        headings = {
            "schedule_id": "schedule",
            "cron": "cron",
            "minutes": "minutes later",
            "proposed": "write instead",
            "compared": "ticks compared",
        }
        note = (
            f"Each proposal is proved: so many ticks, all of {PROOF_YEARS} years, are those of the "
            "old expression, shifted."
        )
        moves = Table("What to write instead", self.moves, headings, note=note)
        return [moves, *refused_table(self.refused)]

    def __repr__(self) -> str:
        return f"<Spread: {self.headline()}>"

    def _repr_html_(self) -> str:
        rows = self.moves.head(10).values.tolist()
        table = _html.table(rows, list(self.moves.columns), total=len(self.moves))
        return f"<div><p>{_html.escape(self.headline(), None)}</p>{table}</div>"


def spread(
    fleet: Source,
    start: Instant,
    end: Instant,
    bound: int,
    within: Duration = "30min",
    freq: Frequency = "1min",
    *,
    keep: Iterable[str] = (),
    dialect: str = "resonate",
    progress: Progress = iter,
) -> Spread:
    """Return which schedules to move later so that no bin holds more than a bound.

    Parameters
    ----------
    fleet : DataFrame, path or file object
        anything that `read_fleet` takes
    start, end : instant
        the closed window in which the load is looked at
    bound : int
        most ticks that a bin may hold
    within : duration
        most that a schedule may be moved, whole minutes from 1 min to 1 day
    freq : str, timedelta or pandas offset
        length of a bin; see `load`
    keep : iterable of str
        ids that must not be moved; a text is one id
    dialect : str
        of the rows that name none
    progress : callable, optional
        wraps the iterable of the numbers of the schedules in a peak, as `tqdm.auto.tqdm`
        does; once a round. Ctrl-C ends the search and keeps what is found.

    Returns
    -------
    Spread
        the moves with their new expressions, and the load before and after. Where the bound
        cannot be reached, the best that was found; its ``headline()`` says so.

    Raises
    ------
    FleetError
        the fleet cannot be read
    InstantError, DurationError, TypeError
        an argument is no instant or no duration, or `keep` holds no texts
    ValueError
        the bound is less than 1, or `keep` names an id that the fleet lacks
    WindowError
        see `load`

    Notes
    -----
    Schedules that tick in a bin above the bound are taken in the order of a hash of their
    id (BLAKE2b). Each tries the minutes from a place that the hash names and takes the first
    at which none of its bins is above the bound; if there is none, the one whose highest bin
    is lowest, if that is lower than where it stands. Only moves that a single expression
    can say are tried: a schedule of weekdays is not moved past midnight. The search is
    greedy, so a bound that it misses may still be possible.

    Examples
    --------
    >>> fleet = pd.DataFrame({"id": list("abcd"), "cron": ["0 9 * * MON-FRI"] * 4})
    >>> less = spread(fleet, "2024-01-01", "2024-01-31", bound=1, within="5min")
    >>> less.reached, less.moves["proposed"].nunique()
    (True, 3)
    """
    bound, most = _bound(bound), _within(within)
    whole = needed(fleet, "spread", "dialect", "line")
    before = load(whole, start, end, freq, dialect=dialect)
    asked, bins = before._answered(), before._bins
    assert isinstance(asked, Asked)
    assert bins is not None
    if bins.end + most * _MINUTE >= EPOCH_END_MS:
        raise WindowError(
            f"the window ends {format_instant(bins.end)}, so that moves by up to {most} min leave "
            "the calendar: end it earlier"
        )
    may_move = _may_move(asked, keep)
    ground = Ground(bins, before.to_numpy().copy(), bound, most)
    moves, complete = ground.settle(asked, may_move, progress)
    expressions = [moves[row][1] if row in moves else e for row, e in enumerate(asked.expressions)]
    table = _moves(asked, moves)
    after = Load(
        tallied(asked._replace(expressions=expressions).weights(), bins),
        index=before.index,
        name="ticks",
    )
    result = Spread(table, before, after, bound, most, complete)
    after._bins = bins
    after._asked = Asked(result.fleet, expressions, asked.refused)
    return result


def _bound(bound: int) -> int:
    try:
        ticks = 0 if isinstance(bound, bool | np.bool_) else operator.index(bound)
    except TypeError:
        ticks = 0
    if ticks < 1:
        raise ValueError(f"bound is {bound!r}, but must be a whole number of ticks, 1 or more")
    return ticks


def _within(within: Duration) -> int:
    ms = duration_ms(within, "within")
    if not _MINUTE <= ms <= _DAY or ms % _MINUTE:
        raise DurationError(
            f"within is {within!r}, but schedules are moved by whole minutes, from '1min' to '1d'"
        )
    return ms // _MINUTE


def _may_move(asked: Asked, keep: object) -> npt.NDArray[np.bool_]:
    kept: list[str] = []
    for name in [keep] if isinstance(keep, str) or not isinstance(keep, Iterable) else keep:
        if not isinstance(name, str):
            raise TypeError(
                f"keep holds {name!r} of type {type(name).__name__}, but ids are texts: write "
                "keep=['nightly'], say"
            )
        kept.append(name)
    ids = {*asked.fleet["id"].tolist(), *asked.refused["schedule_id"].tolist()}
    unknown = sorted(set(kept) - ids)
    if unknown:
        raise ValueError(f"keep names {unknown[0][:80]!r}, but the fleet has no such id")
    return ~asked.fleet["id"].isin(kept).to_numpy(dtype=bool)


def _moves(asked: Asked, moves: dict[int, Move]) -> pd.DataFrame:
    rows = sorted(moves)
    chosen = asked.fleet.iloc[rows]
    return pd.DataFrame(
        {
            "schedule_id": chosen["id"].array,
            "cron": chosen["cron"].array,
            "minutes": np.array([moves[row].minutes for row in rows], dtype=np.int64),
            "proposed": pd.Series([moves[row].expression.text for row in rows], dtype=str),
            "compared": np.array([moves[row].compared for row in rows], dtype=np.int64),
        }
    )


def _peak(load: Load) -> int:
    return int(load.to_numpy().max(initial=0))
