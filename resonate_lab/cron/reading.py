"""The one form to which every expression can be brought, and the proof of equality.

Two texts mean the same if they fire at the same instants, whatever their grammars. That is
proved here, not sampled. A `Reading` holds three sets of numbers for the time of the day, a
set of years and, for each of the 14 kinds of year (the weekday of 1 January, leap or not),
the days on which the expression fires as 12 bit masks. Two expressions fire at the same
instants of 1970-2099, the years that every dialect has, exactly if these agree in each of
the 130 years; the first instant at which they part is read off the first month that differs.
"""

from __future__ import annotations

from calendar import isleap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from resonate_lab._fastcron import Cron

__all__ = [
    "ALL_DAYS",
    "ALL_WEEKDAYS",
    "MONTHS",
    "NEVER",
    "WEEKDAYS",
    "YEARS",
    "Make",
    "Reading",
    "dialect_reading",
    "field_value",
    "number_text",
    "runs",
    "shown",
    "step_of",
    "weekday_text",
]

#: The years that every dialect has.
YEARS = range(1970, 2100)
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTHS = (
    *("JAN", "FEB", "MAR", "APR", "MAY", "JUN"),
    *("JUL", "AUG", "SEP", "OCT", "NOV", "DEC"),
)
ALL_DAYS, ALL_WEEKDAYS = range(1, 32), range(1, 8)

_Times = tuple[Sequence[int], ...]  # hours, minutes, seconds; or the last of them


class Make(Protocol):
    """Compiles a text in a dialect; raises CronError, a ValueError. A class `Cron` is one."""

    def __call__(self, text: str, dialect: str = ..., /) -> Cron:
        """Return the compiled expression."""


@dataclass(frozen=True)
class Reading:
    """What an expression means, independent of its grammar.

    Attributes
    ----------
    text : str
        the expression
    seconds, minutes, hours, days_of_month, months, days_of_week, years : tuple of int
        the allowed values, ascending; days_of_week 1 = Sunday .. 7 = Saturday. A day field
        that consists of rules alone is empty.
    day_rules : tuple of str
        further days: ``L``, ``L-3``, ``LW``, ``15W`` beside the days of month, ``6L``,
        ``6#3`` beside the weekdays
    either : bool
        True if a day needs to match one of the two day fields only
    disputed : bool
        True for a crontab text that readers take differently: both day fields set, and
        one of them begins with ``*``
    """

    text: str
    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days_of_month: tuple[int, ...]
    months: tuple[int, ...]
    days_of_week: tuple[int, ...]
    years: tuple[int, ...]
    day_rules: tuple[str, ...] = ()
    either: bool = False
    disputed: bool = False

    @cached_property
    def days(self) -> tuple[tuple[int, ...], ...]:
        """Days it fires on: 14 kinds of year, 12 masks each, bit d = day d of the month."""
        by_date = sum(1 << day for day in self.days_of_month)
        by_week = [sum(days[weekday] for weekday in self.days_of_week) for days in _WEEKDAY_DAYS]
        by_shape = {shape: self._joined(by_date, by_week[shape[0]], *shape) for shape in _SHAPES}
        months = [month in self.months for month in range(13)]
        return tuple(
            tuple(by_shape[shape] if months[month] else 0 for month, shape in kind)
            for kind in _KINDS
        )

    def _joined(self, by_date: int, by_week: int, first: int, size: int) -> int:
        """Join the days of both fields and of the rules, in a month that begins on a weekday."""
        for rule in self.day_rules:
            day = _day_of_rule(rule, first, size)
            if rule[-1] == "W" or rule[0] == "L":
                by_date |= day
            else:
                by_week |= day
        return (by_date | by_week if self.either else by_date & by_week) & (2 << size) - 2

    @cached_property
    def _chosen_years(self) -> frozenset[int]:
        return frozenset(self.years)

    @property
    def times(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """The time of the day: hours, minutes, seconds."""
        return self.hours, self.minutes, self.seconds

    def masks(self, year: int) -> tuple[int, ...]:
        """Return the days of the 12 months of a year, bit d = day d."""
        return self.days[_KIND_OF_YEAR[year]] if year in self._chosen_years else _NO_DAYS

    def fires_like(self, other: Reading) -> bool:
        """Return whether both fire at the same instants of 1970-2099."""
        if self.times == other.times:
            return all(self.masks(year) == other.masks(year) for year in YEARS)
        return not any(any(self.masks(year)) or any(other.masks(year)) for year in YEARS)

    def parts_from(self, other: Reading, after_ms: int) -> int | None:
        """Return the first instant at which only one of the two fires.

        Parameters
        ----------
        other : Reading
            the other expression
        after_ms : int
            instant, ms since the Unix epoch, UTC; the answer lies strictly after it

        Returns
        -------
        int or None
            ms since the Unix epoch, UTC; None if they agree up to the end of 2099
        """
        same_times = self.times == other.times
        if same_times and self.years == other.years and self.days == other.days:
            return None
        after = after_ms // 1000
        # No year is longer than 366 days, so none is left out that ends later.
        for year in range(max(YEARS[0], YEARS[0] + after // (366 * 86_400)), YEARS[-1] + 1):
            if _second_of(year + 1, 1, 1) <= after:
                continue
            for month, (ours, theirs) in enumerate(
                zip(self.masks(year), other.masks(year), strict=True), start=1
            ):
                suspects = ours ^ theirs if same_times else ours | theirs
                while suspects:
                    day = (suspects & -suspects).bit_length() - 1
                    suspects &= suspects - 1
                    start = _second_of(year, month, day)
                    if start + 86_400 <= after + 1:
                        continue
                    mine = self.times if ours >> day & 1 else None
                    his = other.times if theirs >> day & 1 else None
                    clock = _first_lone(mine, his, _clock_of(max(0, after + 1 - start)))
                    if clock is not None:
                        hour, minute, second = clock
                        return (start + (hour * 60 + minute) * 60 + second) * 1000
        return None


def _shapes_of(first: int, leap: bool) -> list[tuple[int, tuple[int, int]]]:
    """(month, (weekday of its first day, 0 = Sunday, its length)) of a kind of year."""
    shapes = []
    for month, size in enumerate((31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), start=1):
        shapes.append((month, (first, size)))
        first = (first + size) % 7
    return shapes


_KINDS = [_shapes_of(first, leap) for first in range(7) for leap in (False, True)]
_SHAPES = {shape for kind in _KINDS for _, shape in kind}
_KIND_OF_YEAR = {
    year: date(year, 1, 1).isoweekday() % 7 * 2 + isleap(year) for year in range(1970, 2101)
}
_NO_DAYS = (0,) * 12
# _WEEKDAY_DAYS[first][weekday]: the days on a weekday, bit d = day d, in a month that
# begins on weekday `first` (0 = Sunday); weekdays count from 1 = Sunday.
_WEEKDAY_DAYS = [
    [sum(1 << day for day in ALL_DAYS if (first + day - 1) % 7 == w - 1) for w in range(8)]
    for first in range(7)
]


def _day_of_rule(rule: str, first: int, size: int) -> int:
    """The day that a rule names in a month, as a mask; 0 where the month has none."""
    if "#" in rule:
        weekday, nth = map(int, rule.split("#"))
        day = (weekday - 1 - first) % 7 + 1 + 7 * (nth - 1)
        return 1 << day if day <= size else 0
    if rule[-1] == "L" and rule != "L":
        return 1 << size - (first + size - int(rule[:-1])) % 7
    body = rule.removesuffix("W")
    day = size - int(body[2:] or 0) if body[0] == "L" else int(body)
    if not 1 <= day <= size:
        return 0
    if rule[-1] == "W":
        weekday = (first + day - 1) % 7
        if weekday == 6:
            day += 2 if day == 1 else -1
        elif weekday == 0:
            day -= 2 if day == size else -1
    return 1 << day


def _second_of(year: int, month: int, day: int) -> int:
    return (date(year, month, day).toordinal() - 719_163) * 86_400


def _clock_of(second: int) -> tuple[int, int, int]:
    """Return the hour, minute and second of a second of the day."""
    return second // 3600, second // 60 % 60, second % 60


def _first_lone(
    mine: _Times | None, his: _Times | None, low: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Return the first time of the day from `low` on that one set of times has alone.

    A set is a product of its units' values, None one without times. Products that differ
    have a lone time, so beyond the bound the first value whose rests differ leads to it, and
    at the bound there is one value to look into: no second of the day is walked.
    """
    if mine == his:
        return None
    if not low:
        return ()
    rest = (0,) * (len(low) - 1)
    for value in sorted({*(mine[0] if mine else ()), *(his[0] if his else ())}):
        if value >= low[0]:
            found = _first_lone(
                mine[1:] if mine and value in mine[0] else None,
                his[1:] if his and value in his[0] else None,
                low[1:] if value == low[0] else rest,
            )
            if found is not None:
                return value, *found
    return None


def dialect_reading(cron: Cron) -> Reading:
    """Return what a compiled expression means.

    The future-year defect of ``resonate-0.9.8`` is a matter of the first step of a search
    and not of the set of instants; `compare` and `verdict` look at it apart.
    """
    rule = cron.day_rule
    by_date = rule is not None and (rule[-1] == "W" or rule[0] == "L")
    return Reading(
        cron.text,
        cron.seconds,
        cron.minutes,
        cron.hours,
        () if by_date else cron.days_of_month,
        cron.months,
        () if rule is not None and not by_date else cron.days_of_week,
        cron.years,
        () if rule is None else (rule,),
    )


#: Fires at no instant.
NEVER = Reading("", (0,), (0,), (0,), (), (), (), ())


# --- writing it down ---


def shown(text: str) -> str:
    """Return a text as a message quotes it: escaped, and cut where it is long."""
    return repr(text) if len(text) <= 60 else f"{text[:50]!r}... ({len(text):,} characters)"


def weekday_text(weekdays: Sequence[int]) -> str:
    """Return weekdays (1 = Sunday) as names that every dialect reads alike.

    Examples
    --------
    >>> weekday_text((2, 3, 4, 5, 6)), weekday_text((1, 2, 7)), weekday_text(range(1, 8))
    ('MON-FRI', 'SAT,SUN,MON', '*')
    """
    chosen = set(weekdays)
    if len(chosen) == 7:
        return "*"
    # The week is written from Monday, but the run that holds Sunday and Monday stays whole.
    head = 2
    if {1, 2} <= chosen:
        head = 1
        while (head - 2) % 7 + 1 in chosen:
            head = (head - 2) % 7 + 1
    order = [day for day in (*range(head, 8), *range(1, head)) if day in chosen]
    return ",".join(
        item for run in runs(order) for item in _items(run, lambda day: WEEKDAYS[day - 1])
    )


def number_text(values: Sequence[int], full: range) -> str:
    """Return ascending values as the shortest plain field text: ``*``, steps, ranges, lists.

    Examples
    --------
    >>> number_text((0, 20, 40), range(60)), number_text((1, 2, 3, 8), range(24))
    ('*/20', '1-3,8')
    """
    if len(values) == len(full):
        return "*"
    step = step_of(values)
    if step is not None and step > 1 and len(values) > 2:
        if values[0] == full[0] and values[-1] + step > full[-1]:
            return f"*/{step}"
        return f"{values[0]}-{values[-1]}/{step}"
    return ",".join(item for run in runs(values) for item in _items(run, str))


def field_value(word: str, field: int) -> int | None:
    """Return what a number or a name stands for in a field; None if it is neither.

    Parameters
    ----------
    word : str
        digits, or a name that begins with the three letters of a month or a weekday
    field : int
        0 = seconds .. 6 = year; only 4 (month) and 5 (day of week, 1 = Sunday) have names

    Examples
    --------
    >>> field_value("Sept", 4), field_value("5", 5), field_value("MON", 0)
    (9, 5, None)
    """
    if word.isascii() and word.isdecimal():
        # int() refuses thousands of digits, also if most of them are zeros in front.
        digits = word.lstrip("0") or "0"
        return int(digits) if len(digits) <= 10 else None
    names = {4: MONTHS, 5: WEEKDAYS}.get(field, ())
    short = word[:3].upper()
    return names.index(short) + 1 if short in names else None


def runs(values: Sequence[int]) -> list[tuple[int, int]]:
    """Return the maximal stretches of neighbours among ascending values, as (first, last).

    Examples
    --------
    >>> runs((1, 2, 3, 8))
    [(1, 3), (8, 8)]
    """
    found: list[tuple[int, int]] = []
    for value in values:
        if found and found[-1][1] == value - 1:
            found[-1] = (found[-1][0], value)
        else:
            found.append((value, value))
    return found


def step_of(values: Sequence[int]) -> int | None:
    """Return the one distance between all neighbours; None if there are several or no two.

    Examples
    --------
    >>> step_of((0, 20, 40)), step_of((0, 20, 50))
    (20, None)
    """
    if len(values) < 2:
        return None
    step = values[1] - values[0]
    # Ascending values that span exactly so many steps may still differ inside.
    return step if tuple(values) == tuple(range(values[0], values[-1] + 1, step)) else None


def _items(run: tuple[int, int], name: Callable[[int], str]) -> list[str]:
    """A stretch of neighbours as field text: a range from three on."""
    low, high = run
    if high - low >= 2:
        return [f"{name(low)}-{name(high)}"]
    return [name(value) for value in range(low, high + 1)]
