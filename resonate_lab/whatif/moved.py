"""What a schedule of another zone needs here: one expression, two by season, or more.

Resonate evaluates in UTC. While a zone keeps one offset, its times are other UTC times, and
one expression may say them; where the offset changes with the season, it takes two, of which
one is active at a time. An answer is proved by days and times of the day: for each minute of
the day, the days from 1970 to 2099 on which the wall clock's schedule fires in it, moved by the
offset, are those on which the expressions fire.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from resonate_lab.cron import CronExpression
from resonate_lab.cron.localtime import utc_pieces
from resonate_lab.cron.offsets import FIRST_YEAR, LAST_YEAR, Stretch, offset_text, stretches
from resonate_lab.cron.reading import YEARS, Reading, dialect_reading
from resonate_lab.instants import format_instant

__all__ = ["BY_SEASON", "Moved", "moved", "part_ms"]

BY_SEASON = "never both at once"
"""Stands in the reason where the two proposed texts take turns."""

_YEARS_AHEAD = 8
_CHUNK_MS = 32 * 86_400_000  # of an expression that fires each second only so much is laid out
_FIRST_DAY = date(1970, 1, 1).toordinal()
_DAYS = date(2100, 1, 1).toordinal() - _FIRST_DAY

_Timetable = dict[tuple[int, int, tuple[int, ...]], int]  # days by hour, minute, seconds


class Moved(NamedTuple):
    """What the times of a zone are in UTC.

    Attributes
    ----------
    reason : str
        one sentence: what the zone does to the schedule
    texts : tuple of str
        one or two expressions, proved; empty where it takes more
    plain : bool
        True if `ours` fires at exactly these times as it stands
    """

    reason: str
    texts: tuple[str, ...]
    plain: bool


def moved(
    local: Sequence[CronExpression], ours: CronExpression | None, zone: str, after_ms: int
) -> Moved:
    """Return what to write in UTC for the times of a wall clock.

    Parameters
    ----------
    local : sequence of CronExpression
        that together say what the wall clock is to show, no two of them at once
    ours : CronExpression or None
        the author's text as it would be evaluated here, if it would be
    zone : str
        name in the zone database
    after_ms : int
        instant, ms since the Unix epoch, UTC; offsets count from it on, for eight years

    Raises
    ------
    ZoneError
        the zone is unknown; the message has a close name
    """
    ahead = list(_ahead(zone, after_ms))
    by_offset: dict[int, int] = {}
    for year, part in ahead:
        by_offset.setdefault(part.offset, year)
    meant = [dialect_reading(cron) for cron in local]
    wall = {offset: _timetable(meant, -offset) for offset in by_offset}
    plain = ours is not None and all(
        _alike(_timetable([dialect_reading(ours)], 0), times) for times in wall.values()
    )
    needed = {part.offset for _, part in ahead if _count(local, part, part.offset * 1000)}
    answers = {
        offset: _proved(local, offset, zone, year, wall[offset])
        for offset, year in by_offset.items()
        if offset in needed or not needed
    }
    offsets = " and ".join(dict.fromkeys(offset_text([part]) for _, part in ahead))
    said = f"the times are those of {zone}, which is {offsets}, and Resonate evaluates in UTC"
    first, *others = answers.values()
    if first and all(texts == first for texts in others):
        every = "; the UTC times are the same in each offset" if others else ""
        fires = [CronExpression(text) for text in first]
        if others or not any(
            _count(fires, part, 0) for _, part in ahead if part.offset not in answers
        ):
            return Moved(said + every, first, plain)
    elif len(answers) == len(by_offset) == 2 and all(len(some) == 1 for some in answers.values()):
        ((second,),) = others
        until, again = (f"until {format_instant(part.end_ms)}" for part in _joined(ahead)[:2])
        return Moved(
            f"{said}: write the first expression {until} and the second from then {again}, "
            f"and so on, {BY_SEASON}",
            (*first, second),
            plain,
        )
    year = datetime.fromtimestamp(after_ms / 1000, UTC).year + 1
    return Moved(
        f"{said}: that takes more than two expressions, or others every year; "
        f"to_utc({local[0].text!r}, {zone!r}, {year}) lists those of a year",
        (),
        plain,
    )


def part_ms(
    local: Sequence[CronExpression], ours: CronExpression, zone: str, after_ms: int
) -> tuple[int, int, int]:
    """Return where the times of a zone and those of an expression here part.

    Returns
    -------
    tuple of int
        the first instant strictly after `after_ms` at which only one of them fires, and the
        first ticks here and there from it on; ms since the Unix epoch, UTC, -1 where there
        is none within eight years
    """
    for _, part in _ahead(zone, after_ms):
        on = part.offset * 1000
        start = max(part.start_ms, after_ms + 1)
        for low in range(start, part.end_ms, _CHUNK_MS):
            high = min(low + _CHUNK_MS, part.end_ms) - 1
            mine = ours.between_ms(low, high)
            his = np.sort(
                np.concatenate([cron.between_ms(low + on, high + on) - on for cron in local])
            )
            alone = np.setxor1d(mine, his)
            if len(alone):
                at = int(alone[0])
                here = ours.next_ms(at - 1)
                return at, -1 if here is None else here, _next_ms(local, zone, at)
    return -1, -1, -1


def _next_ms(local: Sequence[CronExpression], zone: str, from_ms: int) -> int:
    """The first tick of a wall clock at or after an instant; -1 for none within eight years."""
    for _, part in _ahead(zone, from_ms - 1):
        on = part.offset * 1000
        before = max(part.start_ms, from_ms) + on - 1
        ticks = [tick for cron in local if (tick := cron.next_ms(before)) is not None]
        if ticks and min(ticks) - on < part.end_ms:
            return min(ticks) - on
    return -1


def _ahead(zone: str, after_ms: int) -> Iterator[tuple[int, Stretch]]:
    """(year, stretch) of a zone from an instant on."""
    first = datetime.fromtimestamp(after_ms / 1000, UTC).year
    # Where UTC's year has just begun, the wall clock's may not have.
    early = datetime.fromtimestamp(after_ms / 1000 - 86_400, UTC).year
    for year in range(max(early, FIRST_YEAR), min(first + _YEARS_AHEAD, LAST_YEAR) + 1):
        for part in stretches(zone, year):
            if part.end_ms > after_ms + 1:
                yield year, part


def _count(crons: Sequence[CronExpression], part: Stretch, on: int) -> int:
    """How often expressions fire in a stretch, on a clock that is so many ms ahead of UTC."""
    return sum(cron.count_ms(part.start_ms + on, part.end_ms + on - 1) for cron in crons)


def _joined(ahead: Sequence[tuple[int, Stretch]]) -> list[Stretch]:
    """The stretches, those that go on over a new year as one."""
    joined: list[Stretch] = []
    for _, part in ahead:
        if joined and joined[-1].offset == part.offset:
            joined[-1] = joined[-1]._replace(end_ms=part.end_ms)
        else:
            joined.append(part)
    return joined


# --- the proof ---------------------------------------------------------------------------------


def _proved(
    local: Sequence[CronExpression], offset: int, zone: str, year: int, wall: _Timetable
) -> tuple[str, ...]:
    """The UTC expressions while an offset holds; empty where they are more than two."""
    texts: list[str] = []
    for cron in local:
        pieces = utc_pieces(cron, CronExpression, zone, year, "naive")
        # What fires in no stretch of this year has no text there.
        found = (p.texts for p in pieces if any(s.offset == offset for s in p.stretches))
        texts += next((some for some in found if some), ())
    if not 1 <= len(texts) <= 2:
        return ()
    found_times = _timetable([dialect_reading(CronExpression(text)) for text in texts], 0)
    return tuple(texts) if _alike(found_times, wall) else ()


def _alike(one: _Timetable, other: _Timetable) -> bool:
    # A day that a move takes over the edge of the calendar proves nothing.
    inner = (1 << _DAYS - 1) - 2
    keys = one.keys() | other.keys()
    return all(one.get(key, 0) & inner == other.get(key, 0) & inner for key in keys)


def _timetable(readings: Sequence[Reading], by_seconds: int) -> _Timetable:
    """The days of each minute of the day, after a move by whole minutes."""
    times: _Timetable = {}
    minutes_on, rest = divmod(by_seconds, 60)
    if rest:
        raise AssertionError(f"no zone since 1973 has an offset of {-by_seconds} s")
    for reading in readings:
        days = _day_bits(reading)
        shifted = {on: days << on if on >= 0 else days >> -on for on in (-1, 0, 1)}
        for hour in reading.hours:
            for minute in reading.minutes:
                on, moved_minute = divmod(hour * 60 + minute + minutes_on, 1440)
                key = (*divmod(moved_minute, 60), reading.seconds)
                times[key] = times.get(key, 0) | shifted[on]
    return times


@lru_cache(maxsize=256)
def _day_bits(reading: Reading) -> int:
    """The days of 1970-2099 on which a reading fires, bit n = n days since the Unix epoch."""
    bits = 0
    for year in YEARS:
        of_year = 0
        for month, mask in enumerate(reading.masks(year), start=1):
            of_year |= mask >> 1 << date(year, month, 1).timetuple().tm_yday - 1
        bits |= of_year << date(year, 1, 1).toordinal() - _FIRST_DAY
    return bits
