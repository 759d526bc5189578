"""Wall clocks and UTC: an expression moved from the one to the other, for one year.

The server evaluates in UTC. A zone's offset is constant in each *stretch* between two
changes of its clocks, and there a wall-clock expression is a UTC expression: the time of
the day moves by the offset, and where that crosses midnight the days move by one. Minutes
that cross the hour (offsets of half an hour), days that cross midnight and days of month
that cross the end of a month each may take a further expression.

At a change of the clocks some wall-clock times do not exist and some come twice. What a
schedule does then is a rule, and has a name:

======  ========================================  ======================================
rule    a time that does not exist                a time that comes twice
======  ========================================  ======================================
debian  fires once, right after the change        fires the first time
naive   is lost                                   fires both times
shift   fires later, by the length of the change  fires the first time
======  ========================================  ======================================

Debian's cron has its rule for changes below three hours, and for jobs at fixed times: one
whose minutes or hours begin with ``*`` goes by the clock, as under ``naive``.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from resonate_lab.cron.reading import Make, Reading, dialect_reading, number_text, weekday_text
from resonate_lab.errors import ResonateLabError
from resonate_lab.instants import format_duration

if TYPE_CHECKING:
    from resonate_lab._fastcron import Cron

__all__ = [
    "FIRST_YEAR",
    "LAST_YEAR",
    "RULES",
    "Piece",
    "Rule",
    "Stretch",
    "ZoneError",
    "goes_by_the_clock",
    "local_pieces",
    "offset_text",
    "stretches",
    "utc_pieces",
    "zone_named",
]

Rule = Literal["debian", "naive", "shift"]
RULES: tuple[Rule, ...] = get_args(Rule)

#: The years that lie in the calendar of the cron core wherever one is.
FIRST_YEAR, LAST_YEAR = 1971, 2099

_DAY_MS = 86_400_000
_DEBIAN_LIMIT = 3 * 3600  # seconds: a larger change is a correction of the clock
_LOOK = 3 * 3600  # seconds: no zone has changed its offset to and fro within this time
_ALL_DATES, _ALL_MONTHS, _ALL_WEEKDAYS = tuple(range(1, 32)), tuple(range(1, 13)), range(1, 8)
_EVERY_DATE = (2 << 31) - 2
_RANGES = (range(60), range(60), range(24), range(1, 32), range(1, 13), range(1, 8))
_FULL_YEARS = range(1970, 2100)


class ZoneError(ResonateLabError, ValueError):
    """A text names no time zone, or a year lies outside the calendar."""


class Stretch(NamedTuple):
    """A time in which the offset of a zone does not change.

    Attributes
    ----------
    start_ms, end_ms : int
        half-open window [start, end) of instants, ms since the Unix epoch, UTC
    offset : int
        seconds that the wall clock is ahead of UTC
    name : str
        the zone's abbreviation, such as "EST" or "-03"
    """

    start_ms: int
    end_ms: int
    offset: int
    name: str


@dataclass(frozen=True)
class Piece:
    """Expressions that hold for a time, and what the change that opens it brought.

    Attributes
    ----------
    start_ms, end_ms : int
        half-open window [start, end) of instants, ms since the Unix epoch, UTC
    stretches : tuple of Stretch
        whose offsets apply; several where the same expressions do for all of them
    texts : tuple of str
        expressions of dialect ``resonate`` that never fire at the same instant; empty
        where nothing fires
    lost, doubled, moved : int
        wall-clock ticks at changes of the clocks that do not fire, fire twice, or fire
        at another time than they say
    notes : tuple of str
        sentences: the changes, and why it takes several expressions
    """

    start_ms: int
    end_ms: int
    stretches: tuple[Stretch, ...]
    texts: tuple[str, ...]
    lost: int = 0
    doubled: int = 0
    moved: int = 0
    notes: tuple[str, ...] = ()


# --- zones -----------------------------------------------------------------------------------


def zone_named(name: str) -> ZoneInfo:
    """Return the time zone of a name from the zone database.

    Raises
    ------
    ZoneError
        there is none of that name; the message has a close one
    TypeError
        the name is no str

    Examples
    --------
    >>> zone_named("Asia/Kolkata").key
    'Asia/Kolkata'
    """
    if not isinstance(name, str):
        raise TypeError(
            f"zone is {name!r} of type {type(name).__name__}; give a name such as 'Europe/Berlin'"
        )
    try:
        if name in _zone_names():
            return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as err:
        raise ZoneError(f"zone {name!r} cannot be read from the zone database: {err}") from err
    raise ZoneError(
        f"zone {name[:60]!r} is none of the {len(_zone_names()):,} names of the zone database; "
        f"{_suggestion(name)}"
    )


@lru_cache(maxsize=1)
def _zone_names() -> frozenset[str]:
    return frozenset(available_timezones())


def _suggestion(name: str) -> str:
    """A close name: the same letters, the same city, or nearly so."""

    def key(text: str) -> str:
        return re.sub(r"[\s_-]", "", text).lower()

    wanted = key(name[:60])
    whole = {key(known): known for known in sorted(_zone_names())}
    city = {key(known.rpartition("/")[2]): known for known in sorted(_zone_names()) if "/" in known}
    for names in (whole, city):
        if wanted in names:
            return f"write {names[wanted]!r}"
    near = get_close_matches(wanted, whole, 1, 0.75) or get_close_matches(
        wanted.rpartition("/")[2], city, 1, 0.75
    )
    found = [names[near[0]] for names in (whole, city) if near and near[0] in names]
    return f"did you mean {found[0]!r}?" if found else "write one such as 'Europe/Berlin' or 'UTC'"


def stretches(zone: str, year: int) -> tuple[Stretch, ...]:
    """Return the stretches of constant offset of a wall-clock year.

    Parameters
    ----------
    zone : str
        name in the zone database
    year : int
        of the wall clock, 1971 to 2099

    Returns
    -------
    tuple of Stretch
        one after the other, from the first instant of the year to the first of the next

    Raises
    ------
    ZoneError
        the zone is unknown, or the year lies outside

    Examples
    --------
    >>> [offset_text([stretch]) for stretch in stretches("America/New_York", 2026)]
    ['UTC-05:00 (EST)', 'UTC-04:00 (EDT)', 'UTC-05:00 (EST)']
    """
    info = zone_named(zone)
    if isinstance(year, bool) or not hasattr(type(year), "__index__"):
        raise TypeError(f"year is {year!r} of type {type(year).__name__}; give an int, as 2026")
    year = operator.index(year)
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise ZoneError(
            f"year {year} is outside {FIRST_YEAR}-{LAST_YEAR}, the years that the calendar of the "
            "expressions holds in every zone"
        )

    return _stretches(info, year)


@lru_cache(maxsize=256)
def _stretches(info: ZoneInfo, year: int) -> tuple[Stretch, ...]:
    def offset(second: int) -> int:
        away = datetime.fromtimestamp(second, info).utcoffset()
        return 0 if away is None else away // timedelta(seconds=1)

    # Of a midnight that comes twice the first counts; of one that does not exist the
    # offset before the change, which is the change itself.
    first, end = (int(datetime(y, 1, 1, tzinfo=info).timestamp()) for y in (year, year + 1))
    changes = []
    for low, high in pairwise([*range(first, end, _LOOK), end - 1]):
        if offset(low) == offset(high):
            continue
        before = offset(low)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(middle) == before else (low, middle)
        changes.append(high)
    return tuple(
        Stretch(start * 1000, stop * 1000, offset(start), _abbreviation(start, info))
        for start, stop in pairwise([first, *changes, end])
    )


def _abbreviation(second: int, info: ZoneInfo) -> str:
    return datetime.fromtimestamp(second, info).tzname() or ""


def offset_text(of: Sequence[Stretch]) -> str:
    """Return the offsets of stretches as a person reads them, each once."""
    texts = []
    for stretch in of:
        hours, rest = divmod(abs(stretch.offset), 3600)
        minutes, seconds = divmod(rest, 60)
        text = f"UTC{'-' if stretch.offset < 0 else '+'}{hours:02}:{minutes:02}"
        text += f":{seconds:02}" if seconds else ""
        texts.append(f"{text} ({stretch.name})" if stretch.name.isalpha() else text)
    return ", ".join(dict.fromkeys(texts))


# --- moving an expression --------------------------------------------------------------------


class _Days(NamedTuple):
    """Days that the day fields of one expression hold: all of these must match."""

    dates: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    years: tuple[int, ...]


_Window = tuple[int, int]  # half-open, ms
_Clock = set[tuple[int, int]]  # (hour, minute)
_Span = Callable[[int], range]  # days since the Unix epoch, by how many days the days move


def _moved(cron: Cron, make: Make, by: int, window: _Window, year: _Span) -> tuple[str, ...]:
    """Expressions that in a window fire `by` seconds after the ticks of another.

    Those that hold for the whole year are preferred to those for the window alone, if
    they are not more.
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
        by_days: dict[_Days, _Clock] = {}
        for on, clock in _moved_clock(reading, minutes_on).items():
            for days in _moved_days(reading, on, span(on)):
                by_days.setdefault(days, set()).update(clock)
        for days, clock in by_days.items():
            for hours, minutes in _rectangles(clock):
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


def _moved_clock(reading: Reading, minutes_on: int) -> dict[int, _Clock]:
    """Moved times of the day, by the number of days that they go on."""
    groups: dict[int, _Clock] = {}
    for hour in reading.hours:
        for minute in reading.minutes:
            days_on, moved = divmod(hour * 60 + minute + minutes_on, 1440)
            groups.setdefault(days_on, set()).add(divmod(moved, 60))
    return groups


def _rectangles(clock: _Clock) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Pairs (hours, minutes) of sets that together hold each time of the day once."""

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
    everything = set(_FULL_YEARS) <= set(reading.years)
    if not on and not reading.day_rules:
        years_kept = tuple(_FULL_YEARS) if everything else reading.years
        return [_Days(reading.days_of_month, reading.months, reading.days_of_week, years_kept)]
    by_rule = bool(reading.day_rules)
    weekdays = (
        _ALL_WEEKDAYS
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
        _Days(dates, months, tuple(weekdays), tuple(_FULL_YEARS if everything else sorted(years)))
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
            kept = [year for year in new if year in _FULL_YEARS]
            fields.append(number_text(kept, _FULL_YEARS))
        else:
            fields.append(number_text(new, _RANGES[place]))
    if fields[6] == "*":
        del fields[6]
        if tuple(seconds) == (0,) and cron.field_texts[0] is None:
            del fields[0]
    return " ".join(fields)


# --- a wall-clock expression in UTC ------------------------------------------------------------


def goes_by_the_clock(cron: Cron) -> bool:
    """Return whether Debian's cron leaves an expression alone at changes of the clocks.

    That is so where the minutes or the hours begin with ``*``.

    Examples
    --------
    >>> from resonate_lab.cron import CronExpression
    >>> [goes_by_the_clock(CronExpression(text)) for text in ("*/10 2 * * *", "10 2 * * *")]
    [True, False]
    """
    if cron.shorthand is not None:
        return cron.shorthand == "@hourly"
    return any((cron.field_texts[place] or "").startswith("*") for place in (1, 2))


def utc_pieces(cron: Cron, make: Make, zone: str, year: int, rule: Rule) -> list[Piece]:
    """Return the UTC expressions of a wall-clock expression through a year.

    Parameters
    ----------
    cron : Cron
        what the wall clock is to show; looked at as a set of times
    make : callable (text, dialect) -> Cron
        compiles a text
    zone : str
        name in the zone database
    year : int
        of the wall clock
    rule : {"debian", "naive", "shift"}
        what happens at a change of the clocks

    Returns
    -------
    list of Piece
        in order of their starts; those for the ticks that a change moves overlap others

    Raises
    ------
    ZoneError
        the zone is unknown, or the year lies outside
    """
    parts, days = stretches(zone, year), _year_days(year)
    pieces: list[Piece] = []
    for number, part in enumerate(parts):
        change = _change(cron, parts[number - 1], part, rule) if number else _Change()
        if change.extra_ms:
            texts = tuple(_dated(change.extra_ms))
            end = change.extra_ms[-1] + 1000
            pieces.append(Piece(part.start_ms, end, (part,), texts, notes=(_EXTRA,)))
        window = (part.start_ms + change.passed_over_ms, part.end_ms)
        # It is days of the wall clock's year that are moved, so the days move with them.
        texts = _moved(
            cron, make, -part.offset, window, lambda on: range(days.start + on, days.stop + on)
        )
        notes = [change.note] if change.note else []
        notes += [_why_several(len(texts), cron)] if len(texts) > 1 else []
        pieces.append(
            Piece(*window, (part,), texts, *change[:3], tuple(notes))  # lost, doubled, moved
        )
    pieces[-1] = _cut_short(pieces[-1], cron, days.stop * _DAY_MS)
    return _joined(pieces, make)


def _cut_short(last: Piece, cron: Cron, wall_end: int) -> Piece:
    """The last piece of a year; its last wall-clock times may be skipped by a change.

    Kiritimati had no 31 December 1994: the change is no change within the year.
    """
    shown = last.end_ms + last.stretches[-1].offset * 1000
    count = cron.count_ms(shown, wall_end - 1) if shown < wall_end else 0
    if not count:
        return last
    note = f"{_ticks_text(cron, shown, wall_end, count)} {_DO_NOT_EXIST[count == 1]}"
    return replace(last, lost=last.lost + count, notes=(*last.notes, note))


_DO_NOT_EXIST = ("do not exist and are lost", "does not exist and is lost")


def local_pieces(cron: Cron, make: Make, zone: str, year: int) -> list[Piece]:
    """Return the wall-clock expressions of a UTC expression through a year.

    Parameters
    ----------
    cron : Cron
        evaluated in UTC; looked at as a set of times
    make : callable (text, dialect) -> Cron
        compiles a text
    zone : str
        name in the zone database
    year : int
        of the wall clock

    Returns
    -------
    list of Piece
        one after the other; the texts say what the wall clock shows at the ticks

    Raises
    ------
    ZoneError
        the zone is unknown, or the year lies outside
    """
    parts, days = stretches(zone, year), _year_days(year)
    pieces = []
    for part in parts:
        on_the_wall = (part.start_ms + part.offset * 1000, part.end_ms + part.offset * 1000)
        texts = _moved(cron, make, part.offset, on_the_wall, lambda _: days)
        notes = (_why_several(len(texts), cron),) if len(texts) > 1 else ()
        pieces.append(Piece(part.start_ms, part.end_ms, (part,), texts, notes=notes))
    return _joined(pieces, make, on_the_wall=True)


_EXTRA = (
    "a schedule of its own for what the change moves: delete it right after, since the released "
    "server fires a schedule without a further tick every minute"
)


def _year_days(year: int) -> range:
    start, stop = (date(y, 1, 1).toordinal() - 719_163 for y in (year, year + 1))
    return range(start, stop)


class _Change(NamedTuple):
    """What a change of the clocks does to the ticks of an expression."""

    lost: int = 0
    doubled: int = 0
    moved: int = 0
    passed_over_ms: int = 0  # how long the new expressions must wait
    extra_ms: tuple[int, ...] = ()  # instants of ticks that no other expression has
    note: str = ""


def _change(cron: Cron, before: Stretch, after: Stretch, rule: Rule) -> _Change:
    at, size = after.start_ms, after.offset - before.offset
    old, new = (at + stretch.offset * 1000 for stretch in (before, after))
    start, end = min(old, new), max(old, new)  # wall times that do not exist, or come twice
    count = cron.count_ms(start, end - 1)
    if not count:
        return _Change()
    naive = rule == "naive" or (
        rule == "debian" and (goes_by_the_clock(cron) or abs(size) >= _DEBIAN_LIMIT)
    )
    one = count == 1
    if size < 0:
        note = f"{_ticks_text(cron, start, end, count)} {'comes' if one else 'come'} twice and "
        note += "fires " if one else "fire "
        if naive:
            return _Change(doubled=count, note=f"{note}both times")
        return _Change(passed_over_ms=-size * 1000, note=f"{note}the first time")
    note = f"{_ticks_text(cron, start, end, count)} {'does' if one else 'do'} not exist and "
    gone = "is lost" if one else "are lost"
    if naive:
        return _Change(lost=count, note=note + gone)
    if rule == "debian":
        fires, how = {at}, f"{'fires' if one else 'fire once,'} at {_wall_text(new)}"
    else:
        # With the old offset, which is the size of the change later on the new clock.
        fires = {wall - before.offset * 1000 for wall in _chain(cron, start, end)}
        how = f"{'fires' if one else 'fire'} {format_duration(size * 1000)} later"
    extra = tuple(sorted(tick for tick in fires if not cron.matches_ms(tick + after.offset * 1000)))
    if not extra:
        how = f"{gone}, since the schedule fires there anyway"
    return _Change(count - len(extra), 0, len(extra), extra_ms=extra, note=note + how)


def _chain(cron: Cron, start_ms: int, end_ms: int) -> Iterator[int]:
    tick = cron.next_ms(start_ms - 1)
    while tick is not None and tick < end_ms:
        yield tick
        tick = cron.next_ms(tick)


def _wall_text(wall_ms: int) -> str:
    moment = datetime.fromtimestamp(wall_ms // 1000, UTC)
    return f"{moment:%Y-%m-%d %H:%M}" + (f":{moment:%S}" if moment.second else "")


def _ticks_text(cron: Cron, start: int, end: int, count: int) -> str:
    ticks = list(zip(range(3), _chain(cron, start, end), strict=False))
    texts = [_wall_text(tick) for _, tick in ticks]
    texts = [texts[0], *(text[11:] if text[:10] == texts[0][:10] else text for text in texts[1:])]
    more = f" and {count - len(texts):,} more" if count > len(texts) else ""
    return f"wall-clock time{'s' if count > 1 else ''} {', '.join(texts)}{more}"


def _dated(instants_ms: Iterable[int]) -> Iterator[str]:
    """Expressions that fire at given instants and, with their year, never again."""
    by_day: dict[date, dict[tuple[int, int], list[int]]] = {}
    for instant in instants_ms:
        moment = datetime.fromtimestamp(instant // 1000, UTC)
        clock = by_day.setdefault(moment.date(), {})
        clock.setdefault((moment.hour, moment.minute), []).append(moment.second)
    for day, clock in by_day.items():
        alike: dict[tuple[int, ...], _Clock] = {}
        for minute, seconds in clock.items():
            alike.setdefault(tuple(seconds), set()).add(minute)
        for seconds_alike, minutes_alike in alike.items():
            for hours, minutes in _rectangles(minutes_alike):
                values = (seconds_alike, minutes, hours)
                times = [number_text(v, r) for v, r in zip(values, _RANGES, strict=False)]
                yield f"{' '.join(times)} {day.day} {day.month} * {day.year}"


def _why_several(count: int, cron: Cron) -> str:
    reading = dialect_reading(cron)
    days = len(reading.days_of_month) < 31 or len(reading.months) < 12 or reading.day_rules
    why = "the days of month do not move as one" if days else "the times do not move as one"
    return f"takes {count} schedules that never fire together, since {why}"


def _joined(pieces: list[Piece], make: Make, *, on_the_wall: bool = False) -> list[Piece]:
    """The pieces, neighbours made one where the same expressions do for both."""
    joined: list[Piece] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if last is None or last.end_ms != piece.start_ms or _EXTRA in (*last.notes, *piece.notes):
            joined.append(piece)
            continue
        if last.texts == piece.texts or (
            not piece.texts and _silent(last.texts, piece, make, on_the_wall)
        ):
            texts = last.texts
        elif not last.texts and _silent(piece.texts, last, make, on_the_wall):
            texts = piece.texts
        else:
            joined.append(piece)
            continue
        joined[-1] = Piece(
            last.start_ms, piece.end_ms, last.stretches + piece.stretches, texts,
            last.lost + piece.lost, last.doubled + piece.doubled, last.moved + piece.moved,
            tuple(dict.fromkeys(last.notes + piece.notes)),
        )  # fmt: skip
    return joined


def _silent(texts: tuple[str, ...], during: Piece, make: Make, on_the_wall: bool) -> bool:
    """Whether expressions do not fire during a piece."""
    windows = [(during.start_ms, during.end_ms - 1)]
    if on_the_wall:
        windows = [
            (max(part.start_ms, during.start_ms) + part.offset * 1000,
             min(part.end_ms, during.end_ms) + part.offset * 1000 - 1)
            for part in during.stretches
        ]  # fmt: skip
    return not any(make(text, "resonate").count_ms(*window) for text in texts for window in windows)
