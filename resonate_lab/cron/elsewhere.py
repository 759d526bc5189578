"""What a schedule's text means in Kubernetes, in Airflow and in EventBridge.

Each has a grammar that looks like a crontab and is none:

* Kubernetes reads with robfig/cron v3: five fields, weekdays 0-6 and never 7, no descending
  range, ``?`` as ``*``. A step takes the star away, so ``0 0 */2 * 1`` means odd dates OR
  Mondays there, and Mondays of odd date in a crontab.
* Airflow reads with croniter by the letter of POSIX: both day fields set means OR, whatever
  they begin with; a sixth field is the seconds.
* EventBridge has Quartz's fields without the seconds, and always a year.

All three know intervals as well, which count from the moment they were made and not from the
clock.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from resonate_lab.cron.crontab import CrontabError, crontab_reading
from resonate_lab.cron.reading import (
    MONTHS,
    WEEKDAYS,
    YEARS,
    Make,
    Reading,
    dialect_reading,
    number_text,
    shown,
)
from resonate_lab.errors import ResonateLabError

__all__ = ["SYSTEMS", "ElsewhereError", "Interval", "interval_texts", "system_reading"]

_DAY = 86_400
_MOST_TEXTS = 2  # what one row of an audit may propose


class ElsewhereError(ResonateLabError, ValueError):
    """A text names no repeated times where it comes from."""


class Interval(NamedTuple):
    """A fixed distance from one tick to the next.

    Attributes
    ----------
    seconds : int
        the distance, positive
    begins : str
        what the first tick depends on, in words
    """

    seconds: int
    begins: str


def system_reading(text: str, system: str, make: Make) -> Reading | Interval:
    """Return what a text means to a system.

    Parameters
    ----------
    text : str
        as the system stores it: ``cron(0 9 * * ? *)``, ``@every 1h30m``, ``0 9 * * 1-5``
    system : {"airflow", "aws", "kubernetes"}
        who reads it
    make : callable (text, dialect) -> Cron
        compiles a text

    Raises
    ------
    ElsewhereError
        the system refuses the text, or it names no repeated times (``at(...)``, ``@once``)

    Examples
    --------
    >>> from resonate_lab.cron import CronExpression
    >>> system_reading("0 0 1 * 1", "kubernetes", CronExpression).either
    True
    >>> system_reading("rate(5 minutes)", "aws", CronExpression).seconds
    300
    """
    return SYSTEMS[system](text.strip(), make)


def interval_texts(seconds: int) -> tuple[str, ...]:
    """Return the expressions that fire at a fixed distance, counted from midnight UTC.

    Returns
    -------
    tuple of str
        one or two expressions of dialect ``resonate``, which share no instant; empty where
        the distance divides neither the day nor is a week, or it takes more of them

    Examples
    --------
    >>> interval_texts(300), interval_texts(5_400), interval_texts(7 * 60)
    (('*/5 * * * *',), ('0 */3 * * *', '30 1-22/3 * * *'), ())
    """
    if seconds == 7 * _DAY:
        return ("0 0 * * SUN",)
    if seconds < 1 or _DAY % seconds:
        return ()
    minutes_of: dict[tuple[int, ...], dict[int, list[int]]] = {}
    for minute in range(1440):
        first = -minute * 60 % seconds
        if first < 60:
            alike = minutes_of.setdefault(tuple(range(first, 60, seconds)), {})
            alike.setdefault(minute // 60, []).append(minute % 60)
    texts = []
    for every_second, by_hour in minutes_of.items():
        hours_of: dict[tuple[int, ...], list[int]] = {}
        for hour, minutes in by_hour.items():
            hours_of.setdefault(tuple(minutes), []).append(hour)
        for every_minute, hours in hours_of.items():
            clock = [number_text(every_minute, range(60)), number_text(hours, range(24))]
            if every_second != (0,):
                clock.insert(0, number_text(every_second, range(60)))
            texts.append(" ".join([*clock, "* * *"]))
    return tuple(texts) if len(texts) <= _MOST_TEXTS else ()


# --- EventBridge -------------------------------------------------------------------------------

# A range that ends there, of which group 1 is the year before if it begins earlier, or a value.
_LATER_YEARS = re.compile(r"(?:(?:(20\d\d|19[7-9]\d)|21\d\d)-)?21\d\d(/\d+)?", re.ASCII)
_UNITS = {"minute": 60, "hour": 3600, "day": _DAY}
_RATE = re.compile(r"rate\(\s*(\d{1,9})\s+(minute|hour|day)s?\s*\)", re.ASCII)


def _aws(text: str, make: Make) -> Reading | Interval:
    if not text:
        raise ElsewhereError(
            "the rule has no schedule expression, so it waits for events and not for times"
        )
    if text.startswith("at("):
        raise ElsewhereError(
            f"{shown(text)} fires once, and a Resonate schedule repeats: create one promise with "
            "a timer for that instant instead"
        )
    if text.startswith("rate"):
        rate = _RATE.fullmatch(text)
        if rate is None or not int(rate[1]):
            raise ElsewhereError(
                f"{shown(text)} is no rate; write a positive number and a unit of minutes, hours "
                "or days, such as 'rate(5 minutes)'"
            )
        return Interval(int(rate[1]) * _UNITS[rate[2]], "the moment the schedule was made")
    wrapped = re.fullmatch(r"cron\((.*)\)|([^()]*)", text, re.DOTALL)
    fields = (wrapped[1] or wrapped[2] or "").split() if wrapped else []
    if len(fields) != 6:
        fault = (
            f"has {len(fields)} fields and not EventBridge's six" if wrapped else "lacks a bracket"
        )
        raise ElsewhereError(
            f"{shown(text)} {fault}; write minute, hour, day, month, weekday and year, such as "
            "'cron(0 9 ? * MON-FRI *)'"
        )
    fields[5] = _years_compared(text, fields[5])
    try:
        return dialect_reading(make(f"0 {' '.join(fields)}", "quartz"))
    except ValueError as error:
        raise ElsewhereError(
            f"as EventBridge reads it, with seconds 0 in front: {error}"
        ) from error


def _years_compared(text: str, field: str) -> str:
    """Return a field of years to 2199, which EventBridge has, up to where comparisons end."""
    items = []
    for item in field.split(","):
        years = _LATER_YEARS.fullmatch(item)
        if years is None:
            items.append(item)
        elif years[1]:
            items.append(f"{years[1]}-2099{years[2] or ''}")
    if not items:
        raise ElsewhereError(
            f"{shown(text)} fires in no year before 2100, the last that a Resonate schedule knows; "
            "create promises with a timer for its instants instead"
        )
    return ",".join(items)


# --- Kubernetes --------------------------------------------------------------------------------

_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_NAMED: tuple[tuple[str, range, dict[str, int]], ...] = (
    ("minute", range(60), {}),
    ("hour", range(24), {}),
    ("day of month", range(1, 32), {}),
    ("month", range(1, 13), {name: number for number, name in enumerate(MONTHS, 1)}),
    ("day of week", range(7), {name: number for number, name in enumerate(WEEKDAYS)}),
)
_GO_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_GO_NUMBER = re.compile(r"\+?\d{1,9}", re.ASCII)
_GO_PART = re.compile(r"(\d+\.?\d*|\.\d+)(h|ms|m|s|us|µs|ns)", re.ASCII)
_MOST_SECONDS = 9_223_372_036  # what Go's duration holds


def _kubernetes(text: str, make: Make) -> Reading | Interval:
    if text.startswith("@every "):
        return Interval(_go_seconds(text), "the moment the CronJob was made")
    fields = _DESCRIPTORS.get(text, text).split()
    if len(fields) != 5:
        raise ElsewhereError(
            f"Kubernetes schedule {shown(text)} has {len(fields)} fields and not five; write "
            "minute, hour, day, month and weekday, or a word such as @daily"
        )
    read = [_robfig(text, place, field) for place, field in enumerate(fields)]
    (minutes, _), (hours, _), (dates, any_date), (months, _), (weekdays, any_weekday) = read
    return Reading(
        " ".join(fields),
        (0,),
        minutes,
        hours,
        dates,
        months,
        tuple(day + 1 for day in weekdays),
        tuple(YEARS),
        either=not (any_date or any_weekday),
    )


def _robfig(text: str, place: int, field: str) -> tuple[tuple[int, ...], bool]:
    """The values of a field, and whether it counts as a star."""
    name, full, names = _NAMED[place]
    values: set[int] = set()
    star = False
    for item in filter(None, field.split(",")):
        body, slash, step_text = item.partition("/")
        first, dash, last = body.partition("-")
        low = full[0] if first in ("*", "?") else _robfig_value(first, names)
        high = full[-1] if first in ("*", "?") or (slash and not dash) else low
        if dash and first not in ("*", "?"):
            high = _robfig_value(last, names)
        step = _robfig_value(step_text, {}) if slash else 1
        if low is None or high is None or not step or not full[0] <= low <= high <= full[-1]:
            raise ElsewhereError(
                f"{name} {item[:40]!r} of Kubernetes schedule {shown(text)} is none that "
                f"Kubernetes reads; write values from {full[0]} to {full[-1]}, ranges that ascend, "
                "and steps"
            )
        star = star or (first in ("*", "?") and step == 1)
        values.update(range(low, high + 1, step))
    if not values:
        raise ElsewhereError(f"{name} of Kubernetes schedule {shown(text)} is empty; write '*'")
    return tuple(sorted(values)), star


def _robfig_value(word: str, names: dict[str, int]) -> int | None:
    if word.upper() in names:
        return names[word.upper()]
    return int(word) if _GO_NUMBER.fullmatch(word) else None


def _go_seconds(text: str) -> int:
    body = text.removeprefix("@every ")
    parts = _GO_PART.findall(body) if len(body) < 100 else []
    seconds = sum(float(number) * _GO_UNITS[unit] for number, unit in parts)
    if "".join(map("".join, parts)) != body or not 0 < seconds < _MOST_SECONDS:
        raise ElsewhereError(
            f"{shown(text)} names no length of time; write such as '@every 1h30m', '@every 90s'"
        )
    return max(1, int(seconds))  # whole seconds, at least one


# --- Airflow -----------------------------------------------------------------------------------

_PRESETS = _DESCRIPTORS | {"@quarterly": "0 0 1 */3 *"}
_NO_TIMES = {
    "": "the DAG has no schedule, so it is started by hand or from outside",
    "none": "the DAG has no schedule, so it is started by hand or from outside",
    "never, external triggers only": "the DAG has no schedule, so it is started from outside",
    "@once": "'@once' fires once, and a Resonate schedule repeats: create one promise instead",
    "@continuous": (
        "'@continuous' starts when the run before it has ended, and no expression says that: let "
        "the run create its successor"
    ),
    "dataset": "the DAG waits for data and not for times: settle a promise from the producer",
    "asset": "the DAG waits for data and not for times: settle a promise from the producer",
}
_TIMEDELTA = re.compile(
    r"(?:(\d{1,6}) days?, )?(\d{1,2}):(\d\d):(\d\d)(?:\.\d{1,6})?|(\d{1,6}) days?", re.ASCII
)
_CALL = re.compile(r"(?:datetime\.)?timedelta\(((?:\s*[a-z]+\s*=\s*\d{1,9}\s*,?)+)\)", re.ASCII)
_CALL_UNITS = {"weeks": 7 * _DAY, "days": _DAY, "hours": 3600, "minutes": 60, "seconds": 1}


def _airflow(text: str, make: Make) -> Reading | Interval:
    text = text.strip("\"'")
    reason = _NO_TIMES.get(text.lower())
    if reason is not None:
        raise ElsewhereError(reason)
    seconds = _timedelta_seconds(text)
    if seconds is not None:
        if not seconds:
            raise ElsewhereError(
                f"{shown(text)} is no positive length of time; write such as 1 day"
            )
        return Interval(seconds, "the start date of the DAG")
    try:
        return crontab_reading(_PRESETS.get(text, text), by_letter=True)
    except CrontabError as error:
        raise ElsewhereError(f"as Airflow reads it: {error}") from error


def _timedelta_seconds(text: str) -> int | None:
    """The length of a timedelta as Airflow prints it or Python writes it; None if it is none."""
    printed = _TIMEDELTA.fullmatch(text)
    if printed is not None:
        days, hours, minutes, seconds, only_days = (int(part or 0) for part in printed.groups())
        return (days + only_days) * _DAY + hours * 3600 + minutes * 60 + seconds
    call = _CALL.fullmatch(text)
    if call is None:
        return None
    parts = re.findall(r"([a-z]+)\s*=\s*(\d+)", call[1])
    if any(unit not in _CALL_UNITS for unit, _ in parts):
        return None
    return sum(int(number) * _CALL_UNITS[unit] for unit, number in parts)


SYSTEMS = {"airflow": _airflow, "aws": _aws, "kubernetes": _kubernetes}
"""Who reads a text, and how; see `system_reading`."""
