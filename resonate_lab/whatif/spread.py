"""Which schedules to move by how many minutes, so that no bin holds more than a bound.

A move is later by whole minutes, and it is a new expression, proved to be the old one
shifted. Who moves, and where the search for a place begins, hangs on a hash of the id and on
nothing else that is drawn: a second run proposes the same, on any machine.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from resonate_lab import _html
from resonate_lab.cron import CronError, CronExpression
from resonate_lab.cron.reading import number_text, weekday_text
from resonate_lab.errors import DurationError, WindowError
from resonate_lab.instants import (
    EPOCH_END_MS,
    duration_ms,
    format_duration,
    format_instant,
    instant_ms,
)
from resonate_lab.whatif.answer import Answer, Table, refused_table
from resonate_lab.whatif.bins import Bins
from resonate_lab.whatif.fleet import Source
from resonate_lab.whatif.load import Load, load
from resonate_lab.whatif.partitions import Progress, needed
from resonate_lab.whatif.tally import Asked, Ints, tallied

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from resonate_lab.instants import Duration, Instant
    from resonate_lab.whatif.bins import Frequency

__all__ = ["PROOF_YEARS", "Spread", "shifted", "spread"]

PROOF_YEARS = 8
"""How far the ticks of a new expression are compared with the old ones shifted."""

_MINUTE, _DAY, _YEAR = 60_000, 86_400_000, 31_557_600_000  # ms; a Julian year
_ROUNDS = 3  # rarely is there a move left after the second
_MOST_KEPT = 8_000_000  # bins that are remembered; 128 MB
_PROVED_AT_ONCE = 1_000_000  # ticks

_NONE: Ints = np.empty(0, dtype=np.int64)


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
        a_bin = f"ticks a bin of {format_duration(self.before._bins.width)}"
        if not len(self.moves) and self.reached:
            return f"nothing to move: the peak is {high:,} {a_bin}, and the bound {self.bound:,}"
        moved = f"{len(self.moves):,} of {len(self.before.fleet):,} schedules"
        if self.reached:
            return (
                f"moving {moved} by at most {int(self.moves['minutes'].max())} min brings the "
                f"peak from {high:,} to {low:,} {a_bin}, the bound being {self.bound:,}"
            )
        at = format_instant(instant_ms(self.after.index[int(self.after.to_numpy().argmax())]))
        when = "" if self.complete else " before the search was interrupted"
        return (
            f"no moves of at most {self.within} min were found{when} that bring the peak of "
            f"{high:,} {a_bin} to {self.bound:,}: the best is {low:,} (at {at}), reached by "
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
    ground = _Ground(bins, before.to_numpy().copy(), bound, most)
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


def shifted(cron: CronExpression, minutes: int) -> str | None:
    """Return the text whose ticks are those of an expression, so many minutes later.

    Parameters
    ----------
    cron : CronExpression
    minutes : int
        from 0 to 1440

    Returns
    -------
    str or None
        in the same dialect, with the other fields as written; None where no single
        expression says it

    Examples
    --------
    >>> shifted(CronExpression("*/20 9 * * MON-FRI"), 5)
    '5-45/20 9 * * MON-FRI'
    >>> shifted(CronExpression("50 23 * * MON-FRI"), 20) is None  # into another day
    True
    """
    found = _fields_shifted(cron, minutes)
    if found is None:
        return None
    clock = [number_text(values, range(size)) for values, size in zip(found, (60, 24), strict=True)]
    texts = cron.field_texts
    if cron.shorthand is None:
        written = " ".join(text for text in (texts[0], *clock, *texts[3:]) if text is not None)
        if _differs_by_clock_alone(cron, written):
            return written
    # A shorthand, or fields run together (",5 ** * * *"), which must be written anew.
    seconds = "" if cron.seconds == (0,) else number_text(cron.seconds, range(60))
    days = (
        number_text(cron.days_of_month, range(1, 32)),
        number_text(cron.months, range(1, 13)),
        "*" if len(cron.days_of_week) == 7 else weekday_text(cron.days_of_week),
        "" if len(cron.years) == 131 else number_text(cron.years, range(1970, 2101)),
    )
    if not seconds and days[3]:
        seconds = "0"  # a year makes seven fields
    return " ".join(text for text in (seconds, *clock, *days) if text)


def _differs_by_clock_alone(cron: CronExpression, text: str) -> bool:
    try:
        other = CronExpression(text, cron.dialect)
    except CronError:
        return False
    names = ("seconds", "days_of_month", "months", "days_of_week", "years", "day_rule")
    return all(getattr(cron, name) == getattr(other, name) for name in names)


# ---- moves that one expression can say


def _fields_shifted(
    cron: CronExpression, minutes: int
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the minutes and hours of an expression moved later, if they stay a product."""
    carry, rest = divmod(minutes, 60)
    early = [m + rest for m in cron.minutes if m + rest < 60]
    late = [m + rest - 60 for m in cron.minutes if m + rest >= 60]
    if early and late and len(cron.hours) < 24:
        return None  # some minutes would need other hours than the rest
    hours = [hour + carry + (not early) for hour in cron.hours]
    highest = hours[-1] + bool(early and late)
    if highest >= 24 and not _every_day(cron):
        return None
    return tuple(sorted(early + late)), tuple(sorted(hour % 24 for hour in hours))


def _every_day(cron: CronExpression) -> bool:
    sizes = (len(cron.days_of_month), len(cron.months), len(cron.days_of_week))
    return sizes == (31, 12, 7) and cron.day_rule is None and len(cron.years) >= 130


def _proved(old: CronExpression, new: CronExpression, minutes: int, start: int) -> int:
    """Return in how many ticks the new one is the old one shifted; -1 if it is not."""
    shift, compared, low = minutes * _MINUTE, 0, start
    end = min(start + PROOF_YEARS * _YEAR, EPOCH_END_MS - shift) - 1
    # In pieces, so that an expression of every second fits the memory.
    step = max(_DAY, (end - start) * _PROVED_AT_ONCE // (old.count_ms(start, end) + 1))
    while low <= end:
        high = min(low + step, end)
        ours = old.between_ms(low, high)
        if not np.array_equal(ours + shift, new.between_ms(low + shift, high + shift)):
            return -1
        compared, low = compared + len(ours), high + 1
    return compared


# ---- the search


class _Move(NamedTuple):
    minutes: int
    expression: CronExpression
    compared: int


class _Ground:
    """The load while schedules are moved about on it."""

    def __init__(self, bins: Bins, counts: Ints, bound: int, within: int) -> None:
        self.bins, self.counts, self.bound, self.within = bins, counts, bound, within
        self._moves: dict[tuple[CronExpression, int], _Move | None] = {}
        self._choices: dict[CronExpression, list[int]] = {}
        self._places: dict[tuple[CronExpression, int], tuple[Ints, Ints]] = {}
        self._kept = 0  # items in _places

    def settle(
        self, asked: Asked, may_move: npt.NDArray[np.bool_], progress: Progress
    ) -> tuple[dict[int, _Move], bool]:
        """Move schedules until none can be bettered; return the moves by row, and if it ended."""
        moves: dict[int, _Move] = {}
        hashes = {
            row: int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")
            for row, name in enumerate(asked.fleet["id"].tolist())
            if may_move[row]
        }
        order = sorted(hashes, key=lambda row: (hashes[row], row))
        try:
            for _ in range(_ROUNDS):
                if not self._round(asked, order, hashes, moves, progress):
                    break
        except KeyboardInterrupt:
            return moves, False
        return moves, True

    def _round(
        self,
        asked: Asked,
        order: Sequence[int],
        hashes: dict[int, int],
        moves: dict[int, _Move],
        progress: Progress,
    ) -> bool:
        """Better each schedule in a peak once; return whether one was moved."""
        if self.counts.max(initial=0) <= self.bound:
            return False
        candidates = self._in_a_peak(asked, order, moves)
        changed = False
        for at in progress(range(len(candidates))):
            row = candidates[at]
            new = self._bettered(asked.expressions[row], moves.get(row), hashes[row])
            if new is not None and new != moves.get(row):
                moves[row] = new
                changed = True
        return changed

    def _in_a_peak(self, asked: Asked, order: Sequence[int], moves: dict[int, _Move]) -> list[int]:
        """Return the rows that tick in a bin above the bound and have somewhere to go."""
        known: dict[tuple[CronExpression, int], bool] = {}
        found = []
        for row in order:
            key = asked.expressions[row], moves[row].minutes if row in moves else 0
            if key not in known:
                at, _ = self._place(*key)
                high = len(at) > 0 and bool(self.counts[at].max() > self.bound)
                known[key] = high and bool(self._chosen(key[0]))
            if known[key]:
                found.append(row)
        return found

    def _bettered(self, expression: CronExpression, old: _Move | None, hashed: int) -> _Move | None:
        """Move a schedule to where its highest bin is low enough, or lower; None if it stays."""
        stands = self._place(expression, old.minutes if old else 0)
        highest = int(self.counts[stands[0]].max())
        if highest <= self.bound:  # others have moved since
            return None
        self._add(stands, -1)
        choices = self._chosen(expression)
        turn = hashed % len(choices)
        best: _Move | None = None
        for minutes in choices[turn:] + choices[:turn]:
            at, times = self._place(expression, minutes)
            there = int((self.counts[at] + times).max()) if len(at) else 0
            if there < highest and (move := self._move(expression, minutes)) is not None:
                best, highest = move, there
                if there <= self.bound:
                    break
        self._add(self._place(expression, best.minutes) if best else stands, 1)
        return best

    def _add(self, place: tuple[Ints, Ints], sign: int) -> None:
        at, times = place
        self.counts[at] += sign * times

    def _chosen(self, expression: CronExpression) -> list[int]:
        """Return the minutes by which an expression can be moved to a place of its own."""
        if expression not in self._choices:
            # An expression of every tenth minute moved by 11 is itself moved by 1.
            seen = {_fields_shifted(expression, 0), None}
            choices = []
            for minutes in range(1, self.within + 1):
                fields = _fields_shifted(expression, minutes)
                if fields not in seen:
                    seen.add(fields)
                    choices.append(minutes)
            self._choices[expression] = choices
        return self._choices[expression]

    def _move(self, expression: CronExpression, minutes: int) -> _Move | None:
        """Return a move with its proof; None where its new text is not the old one shifted."""
        key = expression, minutes
        if key not in self._moves:
            text = shifted(expression, minutes)
            assert text is not None
            new = CronExpression(text, expression.dialect)
            compared = _proved(expression, new, minutes, self.bins.start)
            self._moves[key] = None if compared < 0 else _Move(minutes, new, compared)
        return self._moves[key]

    def _place(self, expression: CronExpression, minutes: int) -> tuple[Ints, Ints]:
        """Return the bins of an expression's ticks when moved, and how many are in each."""
        key = expression, minutes
        if key in self._places:
            return self._places[key]
        shift = minutes * _MINUTE
        low, high = max(self.bins.start - shift, 0), self.bins.end - shift
        # Before the calendar there are no ticks to move into the window.
        ticks = expression.between_ms(low, high) if high >= 0 else _NONE
        at = (ticks + (shift - self.bins.origin)) // self.bins.width
        first = np.flatnonzero(np.diff(at, prepend=-1))
        place = at[first], np.diff(first, append=len(at))
        if self._kept + len(first) <= _MOST_KEPT:
            self._kept += len(first)
            self._places[key] = place
        return place


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


def _moves(asked: Asked, moves: dict[int, _Move]) -> pd.DataFrame:
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
