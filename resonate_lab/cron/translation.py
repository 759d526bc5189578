"""What to write for the server, so that it fires when a text fires elsewhere.

A translation is proved before it is given: the sets of values of what it says are those of the
reading (see `resonate_lab.cron.reading`); no tick is walked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from resonate_lab.cron.crontab import crontab_reading
from resonate_lab.cron.explain import listed, weekday_words
from resonate_lab.cron.reading import (
    ALL_DAYS,
    ALL_WEEKDAYS,
    YEARS,
    Make,
    Reading,
    dialect_reading,
    number_text,
    shown,
    weekday_text,
)

__all__ = ["SHORTHANDS", "Translation", "day_summary", "translate", "translate_reading"]

#: Shorthands of a crontab, and those of the server that mean the same.
SHORTHANDS = {"@annually": "@yearly", "@midnight": "@daily"}
SHORTHANDS |= {name: name for name in ("@yearly", "@monthly", "@weekly", "@daily", "@hourly")}


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
    shorthand = SHORTHANDS.get(text.strip().lower())
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
            return [(ALL_DAYS, ALL_WEEKDAYS) if everything else (dates, weekdays)]
        others = [day for day in ALL_DAYS if day not in dates]
        return [(dates, ALL_WEEKDAYS), (others, weekdays)]
    if all("#" in rule for rule in reading.day_rules):
        # The k-th Friday is the Friday among seven days; k must be the same for all.
        pairs = [tuple(map(int, rule.split("#"))) for rule in reading.day_rules]
        named, nths = ({pair[0] for pair in pairs}, {pair[1] for pair in pairs})
        if len(pairs) == len(named) * len(nths):
            weeks = [day for day in ALL_DAYS if (day - 1) // 7 + 1 in nths]
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
        number_text(dates, ALL_DAYS),
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
    return f"the same instants: {day_summary(reading)}"


def day_summary(reading: Reading) -> str:
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
