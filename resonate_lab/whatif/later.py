"""An expression some minutes later: the one expression that says it, and the proof of it."""

from __future__ import annotations

import numpy as np

from resonate_lab.cron import CronError, CronExpression
from resonate_lab.cron.reading import number_text, weekday_text
from resonate_lab.instants import EPOCH_END_MS

__all__ = ["PROOF_YEARS", "fields_shifted", "proved", "shifted"]

PROOF_YEARS = 8
"""How far the ticks of a new expression are compared with the old ones shifted."""

_MINUTE, _DAY, _YEAR = 60_000, 86_400_000, 31_557_600_000  # ms; a Julian year
_PROVED_AT_ONCE = 1_000_000  # ticks


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
    found = fields_shifted(cron, minutes)
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


def fields_shifted(
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


def proved(old: CronExpression, new: CronExpression, minutes: int, start: int) -> int:
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
