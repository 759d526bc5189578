"""Steps that do not go where they seem to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import lcm

from resonate_lab.cron.explain import joined, listed, month_words, weekday_words
from resonate_lab.cron.lint.finding import DAY, MINUTE, MONTH, SECOND, WEEKDAY, YEAR, Case, Finding
from resonate_lab.cron.mend import FIELD_NAMES
from resonate_lab.cron.reading import field_value, shown, weekday_text

__all__ = ["step_above_range", "uneven_step"]

_UNITS = ("second", "minute", "hour", "day", "month", "weekday")
_PERIODS = ("minute", "hour", "day", "month", "year", "week")
_LOWEST = (0, 0, 0, 1, 1, 1)
_HIGHEST = (59, 59, 23, 31, 12, 7)
_STEP = re.compile(r"(?:[*?]|(\w+)(?:-(\w+))?)/(\d+)", re.ASCII)


@dataclass(frozen=True)
class _Step:
    """An item with a step: where it stands, and the range that it steps through."""

    items: list[str]
    number: int
    index: int
    low: int
    high: int
    step: int

    @property
    def item(self) -> str:
        return self.items[self.number]

    @property
    def alone(self) -> bool:
        return len(self.items) == 1

    def replaced_by(self, text: str) -> str:
        """The field with another item in this place."""
        return ",".join([*self.items[: self.number], text, *self.items[self.number + 1 :]])


def _steps(case: Case) -> Iterator[_Step]:
    for index in range(YEAR):
        text = case.field(index)
        items = [] if text is None else text.split(",")
        for number, item in enumerate(items):
            match = _STEP.fullmatch(item)
            if match is None:
                continue
            low = field_value(match[1], index) if match[1] else _LOWEST[index]
            high = field_value(match[2], index) if match[2] else _HIGHEST[index]
            step = field_value(match[3], index)
            if low is None or high is None or step is None or high < low:
                continue  # a wrapped range of Quartz is written out on purpose
            yield _Step(items, number, index, low, high, step)


def step_above_range(case: Case) -> Iterator[Finding]:
    """Find steps so large that one value is left."""
    fields = set()
    for it in _steps(case):
        # One finding a field: a list may repeat its mistake a thousand times.
        if it.step <= max(1, it.high - it.low) or it.index in fields:
            continue
        fields.add(it.index)
        unit = _UNITS[it.index]
        value = weekday_text((it.low,)) if it.index == WEEKDAY else str(it.low)
        once = f", once a {_PERIODS[it.index]}" if it.alone else ""
        yield case.finding(
            "step-above-range",
            "warning",
            f"step {it.step} in the {FIELD_NAMES[it.index]} field goes beyond {it.high}, so "
            f"{shown(it.item)} is {unit} {value} alone{once}, not every {it.step} {unit}s",
            f"write {{}}, which says so{_every_minutes(case, it)}",
            case.rewritten({it.index: it.replaced_by(value)}),
            "write the value that is left",
        )


def _every_minutes(case: Case, it: _Step) -> str:
    """Advice for a step of minutes or seconds that was to last longer than its field."""
    if it.index not in (SECOND, MINUTE) or it.item[0] != "*" or not it.alone:
        return ""
    coarser = it.index + 1
    size = 60 if coarser == MINUTE else 24
    period = lcm(it.step, 60) // 60
    if size % period or case.field(coarser) != "*" or period * 60 // it.step > 4:
        return ""
    starts = [divmod(start, 60) for start in range(0, period * 60, it.step)]
    hours = [f"{whole or '*'}/{period}" for whole, _ in starts]
    texts = [
        case.rewritten({it.index: str(rest), coarser: hour})
        for hour, (_, rest) in zip(hours, starts, strict=True)
    ]
    unit = _UNITS[it.index]
    return f", or for every {it.step} {unit}s {joined([shown(text) for text in texts if text])}"


def uneven_step(case: Case) -> Iterator[Finding]:
    """Find steps that do not divide their range."""
    cron = case.cron
    fields = (cron.seconds, cron.minutes, cron.hours, (), cron.months, cron.days_of_week)
    for it in _steps(case):
        if not it.alone or it.high < _HIGHEST[it.index] or not 1 < it.step <= it.high - it.low:
            continue
        if it.index == DAY:
            yield from _uneven_days(it)
            continue
        values, size = fields[it.index], _HIGHEST[it.index] - _LOWEST[it.index] + 1
        if it.index in (SECOND, MINUTE) and not _has_neighbours(fields[it.index + 1], it.index):
            continue
        wrap = values[0] + size - values[-1]
        if wrap == it.step:
            continue
        unit = _UNITS[it.index]
        span = "days" if it.index == WEEKDAY else f"{unit}s"
        gaps = f"{it.step} and {wrap} {span}"
        if it.index == WEEKDAY and it.item[0] not in "*?":
            continue  # numeric-weekday, which asks for other days, has the floor
        if it.index == WEEKDAY:
            said = weekday_words(values)
        elif it.index == MONTH:
            said = month_words(values)
        else:
            said = f"{unit}s {listed(values)}"
        even = [
            step
            for step in range(1, size)
            if size % step == 0 and it.low - _LOWEST[it.index] < step
        ]
        message = (
            f"{shown(it.item)} in the {FIELD_NAMES[it.index]} field is {said}, with gaps of "
            f"{gaps}, not every {it.step} {span}"
        )
        if it.index == WEEKDAY:
            names = case.rewritten({it.index: weekday_text(values)})
            yield case.finding("uneven-step", "warning", message, "name the days: {}", names)
            continue
        best = min(even, key=lambda step: (abs(step - it.step), step), default=1)
        yield case.finding(
            "uneven-step",
            "warning",
            message,
            f"write {{}} for every {best} {span}; steps that divide {size} are even",
            case.rewritten({it.index: f"{it.item.partition('/')[0]}/{best}"}),
            f"write a step that divides {size}",
        )


def _uneven_days(it: _Step) -> Iterator[Finding]:
    last = max(range(it.low, 32, it.step))
    yield Finding(
        "uneven-step",
        "info",
        f"{shown(it.item)} in the day-of-month field starts again each month, so day {last} is "
        f"followed by day {it.low}, not by {it.step} days",
        "keep it if these dates are meant; cron has no rhythm of days that crosses months",
    )


def _has_neighbours(values: Sequence[int], index: int) -> bool:
    """Whether two values of the next coarser field follow each other, also across its end."""
    size = 60 if index == SECOND else 24
    return any((value + 1) % size in values for value in values)
