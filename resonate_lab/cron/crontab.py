"""What a text means in a crontab.

croniter reads the crontab. Of its two readings this is the one of the daemons (Vixie cron,
Debian, cronie): day of month OR weekday where both are set, but AND where one of the two
begins with ``*``, so that ``0 0 */2 * 1`` means the Mondays of odd date. Readers that go by
the letter of POSIX, croniter's own default among them, say OR there; `Reading.disputed`
tells. Four habits of croniter are kept out: ``5-5``, which it takes for the whole field, is
handed to it as ``5``; a star behind a comma, which makes it take a full list of days in the
other field for a star, is handed to it as a range; ``H`` and ``R``, which it draws from a hash
or at random, and ``W`` are refused as no crontab syntax. Six and seven fields are its own
extension: minute, hour, day, month, weekday, second, year.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from resonate_lab.cron.reading import ALL_DAYS, ALL_WEEKDAYS, YEARS, Reading, field_value, shown
from resonate_lab.errors import ResonateLabError

if TYPE_CHECKING:
    from croniter import croniter

__all__ = ["CrontabError", "crontab_fires_ms", "crontab_reading", "crontab_weekdays"]

_LATER_STAR = re.compile(r",\*")
_DAY_FIELDS = {2: ",1-31", 4: ",0-6"}  # and what a star behind a comma means in them
_MAX_CRONTAB = 1000  # characters; what a daemon takes in a line
_DRAWN = re.compile(r"[hr](\(\d+-\d+\))?(/\d+)?", re.ASCII | re.IGNORECASE)
_ONE_VALUE_RANGE = re.compile(r"(?<![\w#-])(\w+)-\1(/\d+)?(?=,|$)", re.ASCII | re.IGNORECASE)


class CrontabError(ResonateLabError, ValueError):
    """A text has no crontab reading."""


def crontab_reading(text: str, *, by_letter: bool = False) -> Reading:
    """Return the meaning of a text in a crontab, as croniter reads it for the daemons.

    Parameters
    ----------
    text : str
        five fields, or croniter's six (seconds last) or seven (year after the seconds), or
        a shorthand
    by_letter : bool
        read by the letter of POSIX instead, as croniter does on its own: either day field is
        enough, whichever characters they begin with

    Raises
    ------
    CrontabError
        croniter refuses the text, or it is none that a crontab could hold

    Examples
    --------
    >>> crontab_reading("0 9 * * 1-5").days_of_week
    (2, 3, 4, 5, 6)
    """
    fields = _crontab_fields(text)
    return _read_crontab(text, fields if by_letter else _for_daemons(fields), by_letter)


def crontab_fires_ms(text: str, after_ms: int, limit: int) -> list[int]:
    """Return the next instants of a crontab text, walked by croniter itself.

    Parameters
    ----------
    text : str
        a crontab text
    after_ms : int
        instant, ms since the Unix epoch, UTC; ticks lie strictly after it
    limit : int
        how many at most

    Returns
    -------
    list of int
        ms since the Unix epoch, UTC; shorter than `limit` where croniter finds no more
        within fifty years or before the year 10000

    Raises
    ------
    CrontabError
        the text has no crontab reading
    """
    fields = _for_daemons(_crontab_fields(text))
    _read_crontab(text, fields)
    walk = _croniter(fields, after_ms / 1000)
    fires: list[int] = []
    try:
        while len(fires) < limit:
            fires.append(int(walk.get_next(float)) * 1000)
    except (ValueError, OverflowError):
        # Its error for "no more" is a ValueError, and so is the end of datetime's calendar.
        return fires
    return fires


def crontab_weekdays(field: str) -> frozenset[int] | None:
    """Return the weekdays (1 = Sunday) that a weekday field means in a crontab.

    Parameters
    ----------
    field : str
        ``*``, numbers 0-7 (0 and 7 are Sunday), English names, ranges, steps, lists

    Returns
    -------
    frozenset of int or None
        None where an item is none of these, such as Quartz's ``6L``
    """
    days: set[int] = set()
    for item in re.sub(r"\s", "", field).split(","):
        match = re.fullmatch(r"(?:[*?]|(\w+)(?:-(\w+))?)(?:/(\d+))?", item, re.ASCII)
        if match is None:
            return None
        low, high = (_crontab_weekday(match[1] or "0"), _crontab_weekday(match[2] or "6"))
        step = field_value(match[3] or "1", 0)
        if low is None or high is None or step is None:
            return None
        if match[1] and not match[2] and not match[3]:
            high = low
        elif match[1] and not match[2]:
            low %= 7
        high += 7 if high < low else 0
        days.update(day % 7 + 1 for day in range(low, high + 1, max(1, step)))
    return frozenset(days)


def _crontab_weekday(word: str) -> int | None:
    value = field_value(word, 5)
    if value is None or not word.isdecimal():
        return None if value is None else value - 1
    return value if value <= 7 else None


def _crontab_fields(text: str) -> list[str]:
    stripped = text.strip()
    if len(stripped) > _MAX_CRONTAB:
        raise CrontabError(
            f"crontab text {shown(text)} is longer than {_MAX_CRONTAB:,} characters, more than "
            "a crontab line holds; write a shorter list"
        )
    if stripped.lower().startswith("@reboot"):
        raise CrontabError(
            "crontab shorthand '@reboot' means the start of the machine and no instant; "
            "write the time at which it is to fire"
        )
    fields = stripped.split(" ") if stripped.startswith("@") else stripped.split()
    for field in fields:
        if "~" in field:
            raise CrontabError(
                f"crontab field {field[:40]!r} of {shown(text)} is drawn at random whenever the "
                "file is loaded, so it names no time; write the number"
            )
        if _DRAWN.fullmatch(field):
            raise CrontabError(
                f"crontab field {field!r} of {shown(text)} is drawn from a hash or at random, "
                "which no crontab knows; write the number"
            )
    return [_ONE_VALUE_RANGE.sub(r"\1", field) for field in fields]


def _for_daemons(fields: Sequence[str]) -> list[str]:
    """Only a star that a day field begins with counts: others are handed on as ranges."""
    return [
        _LATER_STAR.sub(_DAY_FIELDS[place], field) if place in _DAY_FIELDS else field
        for place, field in enumerate(fields)
    ]


def _croniter(fields: Sequence[str], after: float) -> croniter:
    from croniter import croniter

    # "The cron bug" is the rule of the daemons that a leading * turns OR into AND.
    return croniter(" ".join(fields), after, implement_cron_bug=True)


def _read_crontab(text: str, fields: Sequence[str], by_letter: bool = False) -> Reading:
    try:
        found = _croniter(fields, 0.0)
    except ValueError as err:
        # croniter raises a bare ValueError for a number of thousands of digits.
        raise CrontabError(
            f"crontab text {shown(text)} is refused by croniter; write minute, hour, day, "
            "month and weekday, such as '0 9 * * 1-5'"
        ) from err
    words = [str(word) for word in found.expressions]
    minutes, hours, days, months, weekdays = found.expanded[:5]
    seconds = found.expanded[5] if len(words) > 5 else [0]
    years = found.expanded[6] if len(words) > 6 else ["*"]
    stars = [days[0] == "*", weekdays[0] == "*"]
    begins = [words[2].startswith("*"), words[4].startswith("*")]
    rules = tuple(
        f"{int(day) + 1}{'L' if nth == 'l' else f'#{nth}'}"
        for day, chosen in sorted(found.nth_weekday_of_month.items())
        for nth in sorted(chosen, key=str)
    )
    if found.nearest_weekday or (rules and not any(stars)):
        raise CrontabError(
            f"crontab text {shown(text)} uses W, or # or L beside a day of month, which no "
            "crontab knows; write days and weekdays as numbers or names"
        )
    return Reading(
        text,
        _numbers(seconds, range(60)),
        _numbers(minutes, range(60)),
        _numbers(hours, range(24)),
        _numbers(days, ALL_DAYS),
        _numbers(months, range(1, 13)),
        () if rules else _numbers([d if d == "*" else d + 1 for d in weekdays], ALL_WEEKDAYS),
        _numbers(years, YEARS),
        (*(("L",) if "l" in days and not stars[0] else ()), *rules),
        either=not any(stars) and (by_letter or not any(begins)),
        disputed=not any(stars) and any(begins) and not by_letter,
    )


def _numbers(values: Iterable[int | str], full: range) -> tuple[int, ...]:
    chosen = set(values)
    if "*" in chosen:
        return tuple(full)
    return tuple(sorted(value for value in chosen if isinstance(value, int)))
