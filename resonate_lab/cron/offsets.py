"""The zones of the database, and the stretches of time in which each keeps one offset."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from resonate_lab.errors import ResonateLabError

__all__ = [
    "FIRST_YEAR",
    "LAST_YEAR",
    "Stretch",
    "ZoneError",
    "offset_text",
    "stretches",
    "zone_named",
]

#: The years that lie in the calendar of the cron core wherever one is.
FIRST_YEAR, LAST_YEAR = 1971, 2099

_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d\d))?", re.IGNORECASE | re.ASCII)
_LOOK = 3 * 3600  # seconds: no zone has changed its offset to and fro within this time


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

    offset = _OFFSET.fullmatch(name)
    if offset:
        # Names of the database have the sign of POSIX, the other way round.
        sign, hours, minutes = offset[1], int(offset[2]), int(offset[3] or 0)
        known = f"Etc/GMT{'-' if sign == '+' else '+'}{hours}"
        if not minutes and known in _zone_names():
            return f"write {known!r} if it is UTC{sign}{hours:02}:00"
        return "an offset is no name: write one such as 'Europe/Berlin' or 'UTC'"
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
