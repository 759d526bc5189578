"""English for a compiled expression, said from its values and never from its text.

The words come from what the expression was compiled to, so they hold for every spelling
and every dialect: weekdays by name, the two day fields joined as the dialect joins them,
steps called "every" only where they are even. cron-descriptor was tried first and set
aside: of the same texts it says OR where both day fields must match, "every 40 minutes"
of ``*/40``, "every 90 minutes" of ``*/90``, and describes dates that never come.

The length is bounded: a list shows its first pieces and counts the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from resonate_lab.cron.reading import runs, step_of

if TYPE_CHECKING:
    from resonate_lab._fastcron import Cron

__all__ = [
    "MONTH_NAMES",
    "WEEKDAY_NAMES",
    "explain",
    "joined",
    "listed",
    "month_words",
    "weekday_words",
]

WEEKDAY_NAMES = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTH_NAMES = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_NTH = ("", "first", "second", "third", "fourth", "fifth")

_CLOCKS = 4  # so many times of the day are listed even where a rule would say them
_MORE_CLOCKS = 8  # and so many where no short rule does
_WINDOWS = 3
_PIECES = 10


def explain(cron: Cron) -> str:
    """Return one English sentence that says when an expression fires.

    Parameters
    ----------
    cron : Cron
        a compiled expression of any dialect

    Returns
    -------
    str
        at most some 900 characters, whatever the text is; all times are UTC

    Examples
    --------
    >>> from resonate_lab.cron import CronExpression
    >>> explain(CronExpression("0 9 * * 1-5"))
    'At 09:00 UTC, Sunday to Thursday.'
    >>> explain(CronExpression("30 3 13 * FRI"))
    'At 03:30 UTC, on day 13 of the month AND on Friday (both must match).'
    >>> explain(CronExpression("*/40 * * * *"))
    'At minutes 0 and 40 past every hour.'
    """
    time = _time_words(cron.seconds, cron.minutes, cron.hours)
    days = _date_words(cron)
    named_times = time.endswith(" UTC")
    if not days and named_times:
        days = "every day"
    elif days.startswith(("in ", "from ")) and named_times:
        days = f"every day {days}"
    sentence = f"{time}, {days}" if days else time
    if days and not named_times:
        sentence += " (UTC)"
    if cron.next_ms(-1) is None:
        last = _last_year(cron)
        return f"Never fires: {sentence[0].lower()}{sentence[1:]}; 1970 to {last} has no such date."
    return f"{sentence}."


def joined(pieces: Sequence[str]) -> str:
    """Return pieces as an English list: "a", "a and b", "a, b and c"."""
    if len(pieces) < 2:
        return "".join(pieces)
    return f"{', '.join(pieces[:-1])} and {pieces[-1]}"


def listed(values: Sequence[int], show: Callable[[int], str] = str) -> str:
    """Return ascending values as a list, runs as "a to b", the excess counted.

    Examples
    --------
    >>> listed((1, 2, 3, 7, 9))
    '1 to 3, 7 and 9'
    """
    pieces: list[str] = []
    told = 0
    for low, high in runs(values):
        if len(pieces) >= _PIECES:
            pieces.append(f"{len(values) - told:,} more")
            break
        if high - low >= 2:
            pieces.append(f"{show(low)} to {show(high)}")
        else:
            pieces += [show(value) for value in range(low, high + 1)]
        told += high - low + 1
    return joined(pieces)


def weekday_words(weekdays: Sequence[int]) -> str:
    """Return weekdays (1 = Sunday .. 7 = Saturday) in words, the week from Monday on.

    Examples
    --------
    >>> weekday_words((1, 6, 7)), weekday_words((2, 4))
    ('Friday to Sunday', 'Monday and Wednesday')
    """
    chosen = set(weekdays)
    starts = [day for day in chosen if (day + 5) % 7 + 1 not in chosen]
    if len(chosen) >= 3 and len(starts) == 1:
        last = (starts[0] + len(chosen) - 2) % 7 + 1
        return f"{WEEKDAY_NAMES[starts[0] - 1]} to {WEEKDAY_NAMES[last - 1]}"
    from_monday = sorted(chosen, key=lambda day: (day + 5) % 7)
    return joined([WEEKDAY_NAMES[day - 1] for day in from_monday])


def month_words(months: Sequence[int]) -> str:
    """Return months in words, runs as "a to b".

    Examples
    --------
    >>> month_words((1, 2, 3, 12))
    'January to March and December'
    """
    return listed(months, lambda month: MONTH_NAMES[month - 1])


# --- time of the day ---------------------------------------------------------------------


def _time_words(seconds: Sequence[int], minutes: Sequence[int], hours: Sequence[int]) -> str:
    """Words for the time of the day; they end in "UTC" where they name a time."""
    by_second = tuple(seconds) != (0,)
    per_day = len(seconds) * len(minutes) * len(hours)
    # A rhythm is what may be called "every ...": the finest field that is even, with all
    # coarser fields but the hours full.
    if not by_second:
        rhythm = _even(minutes, 60, "minute")
    elif len(minutes) == 60:
        rhythm = _even(seconds, 60, "second")
    else:
        rhythm = None
    if rhythm and len(hours) == 24:
        return rhythm + _offset(minutes if not by_second else seconds, by_second)
    if per_day > _CLOCKS and len(minutes) == 1 and not by_second:
        single = _hourly(minutes[0], hours)
        if single:
            return single
    if per_day > _CLOCKS and rhythm and len(runs(hours)) <= _WINDOWS:
        windows = [
            f"from {_clock(low, minutes[0], seconds[0], by_second)} "
            f"to {_clock(high, minutes[-1], seconds[-1], by_second)}"
            for low, high in runs(hours)
        ]
        return f"{rhythm} {joined(windows)} UTC"
    if per_day <= _MORE_CLOCKS:
        clocks = [
            _clock(hour, minute, second, by_second)
            for hour in hours
            for minute in minutes
            for second in seconds
        ]
        return f"At {joined(clocks)} UTC"
    return _composed(seconds, minutes, hours, by_second, rhythm)


def _composed(
    seconds: Sequence[int],
    minutes: Sequence[int],
    hours: Sequence[int],
    by_second: bool,
    rhythm: str | None,
) -> str:
    hour_words = "every hour" if len(hours) == 24 else _numbers("hour", hours)
    zone = "" if len(hours) == 24 else " UTC"
    if rhythm:
        return f"{rhythm} during {hour_words}{zone}"
    if not by_second:
        return f"At {_numbers('minute', minutes)} past {hour_words}{zone}"
    even = _even(seconds, 60, "second")
    start = even or f"At {_numbers('second', seconds)}"
    if even and seconds[0]:
        start = f"{even} (from second {seconds[0]})"
    if len(minutes) < 60:
        return f"{start} of {_numbers('minute', minutes)} past {hour_words}{zone}"
    if len(hours) == 24:
        return f"{start} of every minute"
    return f"{start} of every minute of {hour_words}{zone}"


def _hourly(minute: int, hours: Sequence[int]) -> str | None:
    """Words for one minute of many hours, where the hours have a rhythm."""
    if len(hours) == 24:
        return f"Every hour at minute {minute}"
    step = step_of(hours)
    if step is None:
        return None
    every = "Every hour" if step == 1 else f"Every {step} hours"
    return f"{every} from {hours[0]:02d}:{minute:02d} to {hours[-1]:02d}:{minute:02d} UTC"


def _even(values: Sequence[int], size: int, unit: str) -> str | None:
    """ "Every n units" where the values keep their distance across the field's end too."""
    step = step_of(values)
    if step is None or step * len(values) != size:
        return None
    return f"Every {unit}" if step == 1 else f"Every {step} {unit}s"


def _offset(values: Sequence[int], by_second: bool) -> str:
    if values[0] == 0:
        return ""
    return f", starting at {'second' if by_second else 'minute'} {values[0]}"


def _clock(hour: int, minute: int, second: int, by_second: bool) -> str:
    return f"{hour:02d}:{minute:02d}" + (f":{second:02d}" if by_second else "")


# --- dates -------------------------------------------------------------------------------


def _date_words(cron: Cron) -> str:
    """Words for days, months and years; empty where every day is meant."""
    months = "" if len(cron.months) == 12 else month_words(cron.months)
    days = _day_words(cron, months)
    parts = [days or (months and _within(months, len(runs(cron.months)) == 1))]
    first, last = 1970, _last_year(cron)
    if len(cron.years) < last - first + 1:
        # One run is said as a span, all else as a list or a rhythm.
        one_run = len(cron.years) > 2 and cron.years[-1] - cron.years[0] == len(cron.years) - 1
        years = _series("year", cron.years)
        parts.append(_within(years, one_run and " to " in years))
    return " ".join(part for part in parts if part)


def _day_words(cron: Cron, months: str) -> str:
    of_month = f" of {months or 'the month'}"
    if cron.day_rule is not None:
        return _rule_words(cron.day_rule, of_month)
    in_months = f" in {months}" if months else ""
    by_day = len(cron.days_of_month) < 31
    by_week = len(cron.days_of_week) < 7
    weekdays = weekday_words(cron.days_of_week)
    on_weekdays = weekdays if " to " in weekdays else f"on {weekdays}"
    if by_day:
        days = f"on {_numbers('day', cron.days_of_month)}{of_month}"
        return f"{days} AND {on_weekdays} (both must match)" if by_week else days
    return f"{on_weekdays}{in_months}" if by_week else ""


def _rule_words(rule: str, of_month: str) -> str:
    """Words for Quartz's L, L-n, LW, L-nW, nW, nL and n#k."""
    if "#" in rule:
        weekday, nth = rule.split("#")
        return f"on the {_NTH[int(nth)]} {WEEKDAY_NAMES[int(weekday) - 1]}{of_month}"
    if rule.endswith("L") and rule != "L":
        return f"on the last {WEEKDAY_NAMES[int(rule[:-1]) - 1]}{of_month}"
    nearest = "the weekday (Monday to Friday) nearest to "
    if rule == "LW":
        return f"on the last weekday (Monday to Friday){of_month}"
    if not rule.startswith("L"):
        return f"on {nearest}day {rule.removesuffix('W')}{of_month}"
    back = rule.removesuffix("W")[2:]
    plural = "" if back == "1" else "s"
    day = f"the day {back} day{plural} before the last day" if back else "the last day"
    return f"on {nearest if rule.endswith('W') else ''}{day}{of_month}"


def _within(words: str, is_span: bool) -> str:
    return f"from {words}" if is_span and " to " in words else f"in {words}"


def _last_year(cron: Cron) -> int:
    return 2099 if cron.dialect == "quartz" else 2100


# --- numbers -----------------------------------------------------------------------------


def _numbers(unit: str, values: Sequence[int]) -> str:
    """ "minute 5", "minutes 0, 5 and 10", "every 5th minute from 0 to 55"."""
    words = _series(unit, values)
    if words.startswith("every "):
        return words
    return f"{unit}{'s' if len(values) > 1 else ''} {words}"


def _series(unit: str, values: Sequence[int]) -> str:
    step = step_of(values)
    if step is not None and step > 1 and len(values) > _PIECES:
        return f"every {_ordinal(step)} {unit} from {values[0]} to {values[-1]}"
    return listed(values)


def _ordinal(n: int) -> str:
    suffix = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{suffix}"
