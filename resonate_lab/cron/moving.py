"""An expression moved by seconds: the expressions that fire then, for a time.

The time of the day moves by the seconds, and where that crosses midnight the days move by
one. Minutes that cross the hour (offsets of half an hour), days that cross midnight and days
of month that cross the end of a month each may take a further expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from resonate_lab.cron.reading import (
    ALL_WEEKDAYS,
    YEARS,
    Make,
    Reading,
    dialect_reading,
    number_text,
    weekday_text,
)

if TYPE_CHECKING:
    from resonate_lab._fastcron import Cron

__all__ = ["RANGES", "Clock", "moved_texts", "rectangles"]

_DAY_MS = 86_400_000
#: The values of the fields but the year, in their order.
RANGES = (range(60), range(60), range(24), range(1, 32), range(1, 13), range(1, 8))
_EVERY_DATE = (2 << 31) - 2
_ALL_DATES, _ALL_MONTHS = tuple(range(1, 32)), tuple(range(1, 13))
_Window = tuple[int, int]  # half-open, ms
Clock = set[tuple[int, int]]  # (hour, minute)
_Span = Callable[[int], range]  # days since the Unix epoch, by how many days the days move


class _Days(NamedTuple):
    """Days that the day fields of one expression hold: all of these must match."""

    dates: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    years: tuple[int, ...]


def moved_texts(cron: Cron, make: Make, by: int, window: _Window, year: _Span) -> tuple[str, ...]:
    """Return the expressions that in a window fire `by` seconds after the ticks of another.

    Those that hold for the whole year are preferred to those for the window alone, if
    they are not more.

    Parameters
    ----------
    cron : Cron
        looked at as a set of times
    make : callable (text, dialect) -> Cron
        compiles a text
    by : int
        seconds, negative for earlier
    window : tuple of int
        half-open window [start, end) of the moved ticks, ms since the Unix epoch, UTC
    year : callable (int) -> range
        the days of the year, since the Unix epoch, by how many days the days move
    """
    days = range(window[0] // _DAY_MS, -(-window[1] // _DAY_MS))

    def within(on: int) -> range:
        whole = year(on)
        return range(max(days.start, whole.start), min(days.stop, whole.stop))

    texts = _texts(cron, make, by, window, year)
    if len(texts) < 2:
        return texts
    return min(texts, _texts(cron, make, by, window, within), key=len)


def _texts(cron: Cron, make: Make, by: int, window: _Window, span: _Span) -> tuple[str, ...]:
    reading = dialect_reading(cron)
    texts = []
    for seconds, minutes_on in _moved_seconds(reading.seconds, by):
        by_days: dict[_Days, Clock] = {}
        for on, clock in _moved_clock(reading, minutes_on).items():
            for days in _moved_days(reading, on, span(on)):
                by_days.setdefault(days, set()).update(clock)
        for days, clock in by_days.items():
            for hours, minutes in rectangles(clock):
                text = _written(cron, reading, (seconds, minutes, hours), days)
                if make(text, "resonate").count_ms(window[0], window[1] - 1):
                    texts.append(text)
    return tuple(texts)


def _moved_seconds(seconds: Sequence[int], by: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Moved seconds, and by how many minutes the minutes move with them."""
    groups: dict[int, list[int]] = {}
    for second in seconds:
        minutes_on, moved = divmod(second + by, 60)
        groups.setdefault(minutes_on, []).append(moved)
    for minutes_on, group in groups.items():
        yield tuple(sorted(group)), minutes_on


def _moved_clock(reading: Reading, minutes_on: int) -> dict[int, Clock]:
    """Moved times of the day, by the number of days that they go on."""
    groups: dict[int, Clock] = {}
    for hour in reading.hours:
        for minute in reading.minutes:
            days_on, moved = divmod(hour * 60 + minute + minutes_on, 1440)
            groups.setdefault(days_on, set()).add(divmod(moved, 60))
    return groups


def rectangles(clock: Clock) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return pairs (hours, minutes) of sets that together hold each time of the day once."""

    def grouped(pairs: Iterator[tuple[int, int]]) -> list[tuple[tuple[int, ...], ...]]:
        partners: dict[int, set[int]] = {}
        for one, other in pairs:
            partners.setdefault(one, set()).add(other)
        alike: dict[tuple[int, ...], list[int]] = {}
        for one, others in sorted(partners.items()):
            alike.setdefault(tuple(sorted(others)), []).append(one)
        return [(tuple(ones), others) for others, ones in alike.items()]

    by_minute = [(h, m) for m, h in grouped((minute, hour) for hour, minute in clock)]
    by_hour = [(h, m) for h, m in grouped(iter(clock))]
    return min(by_minute, by_hour, key=len)


def _moved_days(reading: Reading, on: int, span: range) -> list[_Days]:
    """The days of a reading, moved on by whole days, as the day fields of expressions.

    They hold for the days of `span` (since the Unix epoch): which dates a month has, and
    where it ends, is a matter of the year.
    """
    everything = set(YEARS) <= set(reading.years)
    if not on and not reading.day_rules:
        years_kept = tuple(YEARS) if everything else reading.years
        return [_Days(reading.days_of_month, reading.months, reading.days_of_week, years_kept)]
    by_rule = bool(reading.day_rules)
    weekdays = (
        ALL_WEEKDAYS
        if by_rule
        else sorted((weekday - 1 + on) % 7 + 1 for weekday in reading.days_of_week)
    )
    wanted, unwanted, years = [0] * 13, [0] * 13, set()
    for number in span:
        day, source = _date(number), _date(number - on)
        if by_rule:
            hit = bool(reading.masks(source.year)[source.month - 1] >> source.day & 1)
        else:
            hit = (
                source.day in reading.days_of_month
                and source.month in reading.months
                and source.year in reading.years
            )
        (wanted if hit else unwanted)[day.month] |= 1 << day.day
        if hit:
            years.add(day.year)
    return [
        _Days(dates, months, tuple(weekdays), tuple(YEARS if everything else sorted(years)))
        for dates, months in _months_alike(wanted, unwanted)
    ]


def _months_alike(
    wanted: list[int], unwanted: list[int]
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Pairs (dates, months) that hold the wanted dates of each month once, no unwanted one."""
    groups: list[tuple[int, int, list[int]]] = []
    for month in _ALL_MONTHS:
        if not wanted[month]:
            continue
        for place, (have, avoid, months) in enumerate(groups):
            both, neither = have | wanted[month], avoid | unwanted[month]
            if not both & neither:
                groups[place] = (both, neither, [*months, month])
                break
        else:
            groups.append((wanted[month], unwanted[month], [month]))
    for have, avoid, months in groups:
        # Where nothing is unwanted all dates may stand; a month that is not asked about, or
        # has none of the dates, may stand with the others, if that makes it all months.
        dates = have if avoid else _EVERY_DATE
        harmless = [m for m in _ALL_MONTHS if m in months or not dates & (wanted[m] | unwanted[m])]
        yield (
            tuple(day for day in _ALL_DATES if dates >> day & 1),
            _ALL_MONTHS if len(harmless) == 12 else tuple(months),
        )


def _date(number: int) -> date:
    return date.fromordinal(719_163 + number)


def _written(cron: Cron, reading: Reading, clock: tuple[Sequence[int], ...], days: _Days) -> str:
    """The text of an expression; what its author wrote stays where it means the same."""
    seconds, minutes, hours = clock
    values = (seconds, minutes, hours, days.dates, days.months, days.weekdays, days.years)
    before = (
        *(reading.seconds, reading.minutes, reading.hours),
        *(reading.days_of_month, reading.months, reading.days_of_week, reading.years),
    )
    fields = []
    for place, (new, old) in enumerate(zip(values, before, strict=True)):
        own = cron.field_texts[place]
        if (
            own is not None
            and tuple(new) == old
            and cron.dialect != "quartz"
            and own.split() == [own]
        ):
            fields.append(own)
        elif place == 5:
            fields.append(weekday_text(new))
        elif place == 6:
            kept = [year for year in new if year in YEARS]
            fields.append(number_text(kept, YEARS))
        else:
            fields.append(number_text(new, RANGES[place]))
    if fields[6] == "*":
        del fields[6]
        if tuple(seconds) == (0,) and cron.field_texts[0] is None:
            del fields[0]
    return " ".join(fields)
