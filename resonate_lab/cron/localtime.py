"""Wall clocks and UTC: an expression moved from the one to the other, for one year.

The server evaluates in UTC. A zone's offset is constant in each *stretch* between two
changes of its clocks (see `resonate_lab.cron.offsets`), and there a wall-clock expression is
one that fires so many seconds earlier or later in UTC (see `resonate_lab.cron.moving`).

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

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from resonate_lab.cron.moving import RANGES, Clock, moved_texts, rectangles
from resonate_lab.cron.offsets import Stretch, stretches
from resonate_lab.cron.reading import Make, dialect_reading, number_text
from resonate_lab.instants import format_duration

if TYPE_CHECKING:
    from resonate_lab._fastcron import Cron

__all__ = ["RULES", "Piece", "Rule", "goes_by_the_clock", "local_pieces", "utc_pieces"]

Rule = Literal["debian", "naive", "shift"]
RULES: tuple[Rule, ...] = get_args(Rule)

_DAY_MS = 86_400_000
_DEBIAN_LIMIT = 3 * 3600  # seconds: a larger change is a correction of the clock
_DO_NOT_EXIST = ("do not exist and are lost", "does not exist and is lost")
_EXTRA = (
    "a schedule of its own for what the change moves: delete it right after, since the released "
    "server fires a schedule without a further tick every minute"
)


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
        texts = moved_texts(
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
        texts = moved_texts(cron, make, part.offset, on_the_wall, lambda _: days)
        notes = (_why_several(len(texts), cron),) if len(texts) > 1 else ()
        pieces.append(Piece(part.start_ms, part.end_ms, (part,), texts, notes=notes))
    return _joined(pieces, make, on_the_wall=True)


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
        alike: dict[tuple[int, ...], Clock] = {}
        for minute, seconds in clock.items():
            alike.setdefault(tuple(seconds), set()).add(minute)
        for seconds_alike, minutes_alike in alike.items():
            for hours, minutes in rectangles(minutes_alike):
                values = (seconds_alike, minutes, hours)
                times = [number_text(v, r) for v, r in zip(values, RANGES, strict=False)]
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
