"""What the same text means elsewhere: the crontab reading, the difference, the translation.

croniter reads the crontab. Of its two readings this is the one of the daemons (Vixie cron,
Debian, cronie): day of month OR weekday where both are set, but AND where one of the two
begins with ``*``, so that ``0 0 */2 * 1`` means the Mondays of odd date. Readers that go by
the letter of POSIX, croniter's own default among them, say OR there; `Reading.disputed`
tells. Four habits of croniter are kept out: ``5-5``, which it takes for the whole field, is
handed to it as ``5``; a star behind a comma, which makes it take a full list of days in the
other field for a star, is handed to it as a range; ``H`` and ``R``, which it draws from a hash
or at random, and ``W`` are refused as no crontab syntax. Six and seven fields are its own
extension: minute, hour, day, month, weekday, second, year.

"Same" and "different" are proved on sets of values (see `resonate_lab.cron.reading`), no
tick is walked for them; croniter walks only the ticks that are shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal, Protocol

from resonate_lab.cron.explain import joined, listed, weekday_words
from resonate_lab.cron.reading import (
    NEVER,
    YEARS,
    Reading,
    dialect_reading,
    field_value,
    number_text,
    shown,
    weekday_text,
)
from resonate_lab.errors import ResonateLabError
from resonate_lab.instants import format_instant

if TYPE_CHECKING:
    from croniter import croniter

    from resonate_lab._fastcron import Cron

__all__ = [
    "Comparison",
    "CrontabError",
    "Make",
    "Reading",
    "Translation",
    "against",
    "compare",
    "crontab_fires_ms",
    "crontab_reading",
    "crontab_weekdays",
    "dialect_reading",
    "translate",
    "translate_reading",
    "verdict",
]

Verdict = Literal["same", "different", "refused-here", "refused-there", "refused-both"]

_ALL_DAYS, _ALL_WEEKDAYS = range(1, 32), range(1, 8)
_SHORTHANDS = {"@annually": "@yearly", "@midnight": "@daily"}
_SHORTHANDS |= {name: name for name in ("@yearly", "@monthly", "@weekly", "@daily", "@hourly")}
_END_MS = 4_102_444_800_000  # 2100-01-01T00:00:00Z, where the years that all have end
_LATER_STAR = re.compile(r",\*")
_DAY_FIELDS = {2: ",1-31", 4: ",0-6"}  # and what a star behind a comma means in them
_MAX_CRONTAB = 1000  # characters; what a daemon takes in a line


class CrontabError(ResonateLabError, ValueError):
    """A text has no crontab reading."""


class Make(Protocol):
    """Compiles a text in a dialect; raises CronError, a ValueError. A class `Cron` is one."""

    def __call__(self, text: str, dialect: str = ..., /) -> Cron:
        """Return the compiled expression."""


# --- the crontab ---------------------------------------------------------------------------

_DRAWN = re.compile(r"[hr](\(\d+-\d+\))?(/\d+)?", re.ASCII | re.IGNORECASE)
_ONE_VALUE_RANGE = re.compile(r"(?<![\w#-])(\w+)-\1(/\d+)?(?=,|$)", re.ASCII | re.IGNORECASE)


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
        _numbers(days, _ALL_DAYS),
        _numbers(months, range(1, 13)),
        () if rules else _numbers([d if d == "*" else d + 1 for d in weekdays], _ALL_WEEKDAYS),
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


# --- writing it for the server ---------------------------------------------------------------


@dataclass(frozen=True)
class Translation:
    """The Resonate texts that fire when another text fires elsewhere.

    Attributes
    ----------
    source : str
        the text translated
    texts : tuple of str
        expressions of dialect ``resonate`` that together fire at exactly the instants of
        the source, no instant twice; empty if there are none
    reason : str
        one sentence: what was changed, or why there is no translation
    """

    source: str
    texts: tuple[str, ...]
    reason: str

    @property
    def text(self) -> str | None:
        """The translation, if it is one expression."""
        return self.texts[0] if len(self.texts) == 1 else None


def translate(text: str, make: Make) -> Translation:
    """Return the Resonate text that means what a text means in a crontab.

    Parameters
    ----------
    text : str
        a crontab text
    make : callable (text, dialect) -> Cron
        compiles a candidate; each is compared with the crontab reading before it is given

    Raises
    ------
    CrontabError
        the text has no crontab reading

    Notes
    -----
    Day of month OR weekday cannot be one expression where the two day fields are joined by
    AND. It becomes two that share no instant: the days of month, and the weekdays on all
    other days of month.

    Examples
    --------
    >>> from resonate_lab.cron import CronExpression
    >>> translate("0 9 * * 1-5", CronExpression).text
    '0 9 * * MON-FRI'
    >>> translate("0 0 1 * 1", CronExpression).texts
    ('0 0 1 * *', '0 0 2-31 * MON')
    """
    reading = crontab_reading(text)
    shorthand = _SHORTHANDS.get(text.strip().lower())
    if shorthand is not None:
        return Translation(text, (shorthand,), "the shorthand of the server that means the same")
    return translate_reading(reading, make, seconds_last=True)


def translate_reading(reading: Reading, make: Make, *, seconds_last: bool = False) -> Translation:
    """Return the Resonate texts that mean what a reading means.

    Parameters
    ----------
    reading : Reading
        of a crontab text or of an expression of any dialect
    make : callable (text, dialect) -> Cron
        compiles a candidate; each is compared with the reading before it is given
    seconds_last : bool
        True if the sixth field of the text is the seconds, as croniter has it
    """
    text = reading.text
    days = _day_choices(reading)
    if days is None:
        return Translation(
            text,
            (),
            f"day rule {', '.join(map(repr, reading.day_rules))} depends on the length of the "
            "month, which no expression of the server says; dialect 'quartz' has it",
        )
    # What the author wrote is kept where it stands for the same values; if the server has no
    # such spelling (22-2), all is written from the values.
    for written in (_written_fields(text, seconds_last), None):
        texts = tuple(_assembled(reading, dates, week, written) for dates, week in days)
        if _proved(reading, texts, make):
            return Translation(text, texts, _change(reading, texts))
    return Translation(
        text, (), f"{shown(text)} fires on days that no expression of the server can list"
    )


def _day_choices(reading: Reading) -> list[tuple[Sequence[int], Sequence[int]]] | None:
    """Pairs (days of month, weekdays), to be joined by AND, that hold the days together."""
    dates, weekdays = reading.days_of_month, reading.days_of_week
    if not reading.day_rules:
        if not reading.either or len(dates) == 31 or len(weekdays) == 7:
            everything = reading.either and (len(dates) == 31 or len(weekdays) == 7)
            return [(_ALL_DAYS, _ALL_WEEKDAYS) if everything else (dates, weekdays)]
        others = [day for day in _ALL_DAYS if day not in dates]
        return [(dates, _ALL_WEEKDAYS), (others, weekdays)]
    if all("#" in rule for rule in reading.day_rules):
        # The k-th Friday is the Friday among seven days; k must be the same for all.
        pairs = [tuple(map(int, rule.split("#"))) for rule in reading.day_rules]
        named, nths = ({pair[0] for pair in pairs}, {pair[1] for pair in pairs})
        if len(pairs) == len(named) * len(nths):
            weeks = [day for day in _ALL_DAYS if (day - 1) // 7 + 1 in nths]
            return [(weeks, sorted(named))]
    return None


def _written_fields(text: str, seconds_last: bool) -> list[str] | None:
    """The fields as written, in the order of the server with seconds and year; None if unclear."""
    fields = text.split()
    if len(fields) == 5:
        return ["0", *fields, "*"]
    if len(fields) not in (6, 7):
        return None
    year = fields[6] if len(fields) == 7 else "*"
    if seconds_last:
        return [fields[5], *fields[:5], year]
    return [*fields[:6], year]


def _assembled(
    reading: Reading, dates: Sequence[int], weekdays: Sequence[int], written: list[str] | None
) -> str:
    fields = [
        number_text(reading.seconds, range(60)),
        number_text(reading.minutes, range(60)),
        number_text(reading.hours, range(24)),
        number_text(dates, _ALL_DAYS),
        number_text(reading.months, range(1, 13)),
        weekday_text(weekdays),
        number_text([year for year in reading.years if year in YEARS], YEARS),
    ]
    if written is not None:
        same_dates = tuple(dates) == reading.days_of_month
        kept = (0, 1, 2, 3, 4, 6) if same_dates else (0, 1, 2, 4, 6)
        for field in kept:
            fields[field] = written[field]
    if fields[6] == "*":
        del fields[6]
    if len(fields) == 6 and fields[0] == "0" and len(reading.text.split()) == 5:
        del fields[0]
    return " ".join(fields)


def _proved(reading: Reading, texts: Sequence[str], make: Make) -> bool:
    """Whether the texts fire together as the reading does, and never two at once."""
    try:
        parts = [dialect_reading(make(text, "resonate")) for text in texts]
    except ValueError:
        return False
    if len(parts) == 1:
        return parts[0].fires_like(reading)
    first, second = parts
    return first.times == second.times == reading.times and all(
        mine & his == 0 and mine | his == whole
        for year in YEARS
        for mine, his, whole in zip(
            first.masks(year), second.masks(year), reading.masks(year), strict=True
        )
    )


def _change(reading: Reading, texts: tuple[str, ...]) -> str:
    if len(texts) == 2:
        return (
            "a crontab fires when either day field matches and the server when both do, so it "
            "takes two schedules, which never fire together"
        )
    if texts[0] == reading.text:
        return "the text means the same"
    return f"the same instants: {_day_summary(reading)}"


# --- the comparison --------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """One text, here and elsewhere.

    Attributes
    ----------
    text : str
        the expression
    other : str
        what it is compared with: "crontab", a dialect, or a place such as "in Kubernetes"
    verdict : str
        "same", "different", "refused-here", "refused-there" or "refused-both"; "same" and
        "different" hold for all instants from `after_ms` to the end of 2099
    reason : str
        one sentence: how they differ, or why the text is refused
    first_difference_ms : int or None
        the first instant at which only one of the two fires, ms since the Unix epoch, UTC
    translation : Translation or None
        what to write here for what it means there; None where the verdict is "same" or
        there it means nothing
    """

    text: str
    other: str
    verdict: Verdict
    reason: str
    first_difference_ms: int | None = None
    translation: Translation | None = None


def verdict(
    text: str,
    make: Make,
    after_ms: int,
    *,
    other: str = "crontab",
    dialect: str = "resonate",
) -> Comparison:
    """Return whether a text means the same here and elsewhere, and what to write if not.

    Parameters
    ----------
    text : str
        the expression
    make : callable (text, dialect) -> Cron
        compiles a text
    after_ms : int
        instant, ms since the Unix epoch, UTC; the two are compared strictly after it
    other : str
        "crontab" or a dialect
    dialect : str
        the dialect here

    Raises
    ------
    ValueError
        `dialect` or `other` is none that there is

    Notes
    -----
    Some 0.5 ms: the sets are compared, no tick is walked.
    """
    there = _elsewhere(text, make, other)
    where = "in a crontab" if other == "crontab" else f"in dialect {other!r}"
    last = other == "crontab"
    found = against(text, make, after_ms, there, where, dialect=dialect, seconds_last=last)
    if other == "crontab" and text.strip().lower() in _SHORTHANDS and found.translation is not None:
        return replace(found, other=other, translation=translate(text, make))
    return replace(found, other=other)


def against(
    text: str,
    make: Make,
    after_ms: int,
    there: Cron | Reading | str,
    where: str,
    *,
    dialect: str = "resonate",
    seconds_last: bool = False,
) -> Comparison:
    """Return whether a text means here what it means elsewhere, whoever read it there.

    Parameters
    ----------
    text : str
        the expression
    make : callable (text, dialect) -> Cron
        compiles a text
    after_ms : int
        instant, ms since the Unix epoch, UTC; the two are compared strictly after it
    there : Cron, Reading or str
        what it means elsewhere, or the sentence that refuses it
    where : str
        where that is, for the reasons, such as "in Kubernetes"
    dialect : str
        the dialect here
    seconds_last : bool
        True if the sixth field of the text is the seconds there
    """
    ours = _compiled(text, make, dialect)
    if isinstance(there, str):
        if isinstance(ours, str):
            return Comparison(text, where, "refused-both", ours)
        return Comparison(text, where, "refused-there", there)
    theirs = there if isinstance(there, Reading) else dialect_reading(there)
    parting = None
    if not isinstance(ours, str):
        parting = _first_difference(ours, there, after_ms)
        if parting is None:
            return Comparison(text, where, "same", f"the same instants: {_day_summary(theirs)}")
    translation = translate_reading(theirs, make, seconds_last=seconds_last)
    if isinstance(ours, str):
        return Comparison(text, where, "refused-here", ours, None, translation)
    reason = _difference(dialect_reading(ours), theirs, where, seconds_last)
    if parting is not None:
        reason += f"; they part at {format_instant(parting)}"
    return Comparison(text, where, "different", reason, parting, translation)


def compare(
    cron: Cron, other: str, after_ms: int, n: int = 5
) -> list[dict[str, int | bool | None]]:
    """Return the ticks of an expression beside those of the same text elsewhere.

    Parameters
    ----------
    cron : Cron
        the expression here
    other : str
        "crontab" or a dialect
    after_ms : int
        instant, ms since the Unix epoch, UTC; ticks lie strictly after it
    n : int
        rows

    Returns
    -------
    list of dict
        `n` rows, and one more where the first difference lies beyond them: ``tick`` (int,
        from 1), ``ours_ms`` and ``theirs_ms`` (int, ms since the Unix epoch, UTC, or None),
        ``same`` (bool), ``first_difference`` (bool)

    Raises
    ------
    CrontabError
        the text has no crontab reading
    ValueError
        the other dialect refuses the text (CronError), or is none that there is
    """
    there: Cron | Reading
    if other == "crontab":
        there = crontab_reading(cron.text)
        theirs = crontab_fires_ms(cron.text, after_ms, n)
    else:
        there = type(cron)(cron.text, other)
        theirs = list(_chain(there, after_ms, n))
    ours = list(_chain(cron, after_ms, n))
    parting = _first_difference(cron, there, after_ms)
    rows = [
        _row(tick, mine, his, parting)
        for tick, (mine, his) in enumerate(zip_longest(ours, theirs), start=1)
    ]
    if parting is not None and all(row["same"] for row in rows):
        # Up to there both chains are one, so ours numbers the tick for both.
        tick = cron.count_ms(after_ms + 1, parting - 1) + 1
        rows.append(_row(tick, cron.next_ms(parting - 1), _next_ms(there, parting - 1), parting))
    return rows


def _row(
    tick: int, ours: int | None, theirs: int | None, parting: int | None
) -> dict[str, int | bool | None]:
    return {
        "tick": tick,
        "ours_ms": ours,
        "theirs_ms": theirs,
        "same": ours == theirs,
        "first_difference": ours != theirs and parting in (ours, theirs),
    }


def _chain(cron: Cron, after_ms: int, n: int) -> Iterator[int]:
    for _ in range(n):
        tick = cron.next_ms(after_ms)
        if tick is None:
            return
        yield tick
        after_ms = tick


def _next_ms(there: Cron | Reading, after_ms: int) -> int | None:
    """The first tick strictly after an instant, up to the end of 2099."""
    if isinstance(there, Reading):
        return there.parts_from(NEVER, after_ms)
    tick = there.next_ms(after_ms)
    return tick if tick is not None and tick < _END_MS else None


def _first_difference(ours: Cron, there: Cron | Reading, after_ms: int) -> int | None:
    """The first instant at which only one of the two fires, up to the end of 2099."""
    mine, his = _next_ms(ours, after_ms), _next_ms(there, after_ms)
    if mine is None or his is None or mine != his:
        # The future-year defect of the released server shows here and nowhere later: from
        # its first tick on, its chain is the calendar's.
        return min((tick for tick in (mine, his) if tick is not None), default=None)
    reading = there if isinstance(there, Reading) else dialect_reading(there)
    return dialect_reading(ours).parts_from(reading, mine)


def _compiled(text: str, make: Make, dialect: str) -> Cron | str:
    """The expression, or the sentence that refuses it."""
    try:
        return make(text, dialect)
    except ValueError as err:
        if not hasattr(err, "expression"):
            raise  # an unknown dialect is the caller's mistake, not the text's
        return str(err)


def _elsewhere(text: str, make: Make, other: str) -> Cron | Reading | str:
    if other != "crontab":
        return _compiled(text, make, other)
    try:
        return crontab_reading(text)
    except CrontabError as err:
        return str(err)


def _difference(ours: Reading, theirs: Reading, there: str, seconds_last: bool) -> str:
    """One clause that says how two readings of one text differ."""
    if ours.fires_like(theirs):
        return (
            "dialect 'resonate-0.9.8' begins a year list at the month, day and time of the "
            "search and not on 1 January"
        )
    parts: list[str] = []
    if ours.times != theirs.times:
        parts.append(
            f"the first field is the seconds here and the last {there}"
            if seconds_last and len(ours.text.split()) > 5
            else f"the times of the day are others {there}"
        )
    if theirs.either and len(ours.days_of_month) < 31 and len(ours.days_of_week) < 7:
        parts.append(f"both day fields must match here and one of them is enough {there}")
    if ours.days_of_week != theirs.days_of_week and not theirs.day_rules and not ours.day_rules:
        parts.append(
            f"the weekdays are {weekday_words(ours.days_of_week)} here and "
            f"{weekday_words(theirs.days_of_week)} {there}"
        )
    if not parts:
        parts.append(f"the days are others {there}")
    return joined(parts)


def _day_summary(reading: Reading) -> str:
    """The days of a reading in a few words."""
    dates, weekdays = reading.days_of_month, reading.days_of_week
    if reading.either and (len(dates) == 31 or len(weekdays) == 7):
        return "every day"
    parts = [f"rule {rule}" for rule in reading.day_rules]
    if 0 < len(dates) < 31:
        parts.append(f"day {listed(dates)} of the month")
    if 0 < len(weekdays) < 7:
        parts.append(weekday_words(weekdays))
    said = (" or " if reading.either else " and ").join(parts) or "every day"
    if reading.disputed:
        said += ", though readers that go by the letter of POSIX fire when either matches"
    return said
