"""Findings: what may surprise the author of an expression, and what to write instead.

Each finding has a stable code. A text that is offered instead is compiled before it is
offered, and whether it fires at the same instants is proved (`Reading.fires_like`), not
claimed. `lint` looks at an expression, `lint_refused` at a text that its dialect refuses.

================== ======== ============================================================
code               severity what it finds
================== ======== ============================================================
never-fires        error    no date of the calendar matches
sixty-second-rule  error    the released server fires it every minute once no tick is left
future-year-defect error    the released server will skip ticks of a future year
runs-out           warning  the years end; an error once they are over
numeric-weekday    warning  a crontab means other weekdays by these numbers
both-day-fields    warning  AND here, OR in a crontab
missing-blank      warning  two fields stand together without a blank
inner-blank        warning  blanks inside a field
skips-months       warning  day 29, 30 or 31 leaves months out
leap-day-only      warning  29 February is the only date
uneven-step        warning  a step that does not divide its range
step-above-range   warning  a step so large that one value is left
faster-than-poll   warning  more ticks than the server polls
seconds-last-      info     six or seven fields are read otherwise by other tools
elsewhere
================== ======== ============================================================

A text that is refused has the codes of `resonate_lab.cron.mend`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import lcm
from typing import TYPE_CHECKING, Literal

from resonate_lab.cron.crontab import crontab_weekdays
from resonate_lab.cron.explain import MONTH_NAMES, joined, listed, weekday_words
from resonate_lab.cron.mend import FIELD_NAMES, mend
from resonate_lab.cron.reading import (
    Make,
    dialect_reading,
    field_value,
    number_text,
    shown,
    weekday_text,
)
from resonate_lab.instants import EPOCH_END_MS, format_duration, format_instant

if TYPE_CHECKING:
    from resonate_lab._fastcron import Cron, CronError

__all__ = ["Finding", "lint", "lint_refused"]

Severity = Literal["error", "warning", "info"]
_SEVERITIES = ("error", "warning", "info")

_UNITS = ("second", "minute", "hour", "day", "month", "weekday")
_PERIODS = ("minute", "hour", "day", "month", "year", "week")
_LOWEST = (0, 0, 0, 1, 1, 1)
_HIGHEST = (59, 59, 23, 31, 12, 7)
_SECOND, _MINUTE, _HOUR, _DAY, _MONTH, _WEEKDAY, _YEAR = range(7)
_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_RELEASED = "resonate-0.9.8"


@dataclass(frozen=True)
class Finding:
    """One thing that may surprise, and what to write instead.

    Attributes
    ----------
    code : str
        stable, in kebab case
    severity : {"error", "warning", "info"}
        "error" where it cannot be meant
    message : str
        one sentence: what is so
    suggestion : str
        one sentence: what to do or to write
    replacement : str or None
        an expression of the same dialect to write instead
    same_ticks : bool or None
        True if the replacement fires at exactly the instants of the expression, False if
        it does not and is what may have been meant; None without a replacement, or where
        the text is refused and has no instants
    """

    code: str
    severity: Severity
    message: str
    suggestion: str
    replacement: str | None = None
    same_ticks: bool | None = None


def lint(cron: Cron, now_ms: int | None = None, poll_ms: int = 1000) -> list[Finding]:
    """Return what may surprise the author of an expression.

    Parameters
    ----------
    cron : Cron
        a compiled expression of any dialect
    now_ms : int, optional
        instant at which the schedule is created, ms since the Unix epoch, UTC; without it
        the findings about years say what depends on it
    poll_ms : int
        how often the server looks for due schedules, ms

    Returns
    -------
    list of Finding
        errors first, then warnings, then infos

    Examples
    --------
    >>> from resonate_lab.cron import CronExpression
    >>> finding = lint(CronExpression("0 9 * * 1-5"))[0]
    >>> finding.code, finding.replacement, finding.same_ticks
    ('numeric-weekday', '0 9 * * MON-FRI', False)
    """
    case = _Case(cron, now_ms, poll_ms)
    findings = [finding for check in _CHECKS for finding in check(case)]
    return sorted(findings, key=lambda finding: _SEVERITIES.index(finding.severity))


def lint_refused(
    error: CronError, make: Make | None = None, dialect: str = "resonate"
) -> list[Finding]:
    """Return why a text is refused, by code, and what to write instead.

    Parameters
    ----------
    error : CronError
        the refusal
    make : callable (text, dialect) -> Cron, optional
        compiles the text to be offered instead; without it none is offered
    dialect : str
        the dialect that refused

    Returns
    -------
    list of Finding
        at least one, all with severity "error"; the first has the message of `error`

    Examples
    --------
    >>> from resonate_lab.cron import CronError, CronExpression
    >>> try:
    ...     CronExpression("0 22-2 * * 0")
    ... except CronError as error:
    ...     found = lint_refused(error, CronExpression)
    >>> [finding.code for finding in found], found[0].replacement
    (['descending-range', 'weekday-zero'], '0 22-23,0-2 * * SUN')
    """
    causes, replacement, advice = mend(error, make, dialect)
    suggestion = advice if replacement is None else f"write {shown(replacement)}; {advice}"
    return [
        Finding(code, "error", message if number else str(error), suggestion, replacement)
        for number, (code, message) in enumerate(causes)
    ]


class _Case:
    """An expression under inspection, and the texts that it could be turned into."""

    def __init__(self, cron: Cron, now_ms: int | None, poll_ms: int) -> None:
        self.cron = cron
        self.now_ms = now_ms
        self.poll_ms = poll_ms
        self.texts = cron.field_texts
        self.never = cron.next_ms(-1) is None
        self.last_year = 2099 if cron.dialect == "quartz" else 2100
        self.ends = cron.years[-1] < 2099

    def field(self, index: int) -> str | None:
        """A field without blanks; None if it is not written."""
        text = self.texts[index]
        return None if text is None else re.sub(r"\s", "", text)

    def rewritten(self, changes: dict[int, str | None]) -> str | None:
        """The expression with single blanks and some fields exchanged, None = left out."""
        if self.cron.shorthand is not None:
            return None
        fields = [changes.get(index, self.field(index)) for index in range(7)]
        if fields[_SECOND] is None and (fields[_YEAR] is not None or self.cron.dialect == "quartz"):
            fields[_SECOND] = "0"
        return " ".join(field for field in fields if field is not None)

    def compiles(self, text: str | None) -> Cron | None:
        if text is None:
            return None
        try:
            return type(self.cron)(text, self.cron.dialect)
        except ValueError:
            return None

    def finding(
        self,
        code: str,
        severity: Severity,
        message: str,
        advice: str,
        replacement: str | None = None,
        otherwise: str = "",
    ) -> Finding:
        """A finding; `advice` has ``{}`` where the replacement goes, `otherwise` has none."""
        instead = self.compiles(replacement)
        if instead is None:
            return Finding(code, severity, message, otherwise or advice)
        same = dialect_reading(self.cron).fires_like(dialect_reading(instead))
        said = advice.replace("{}", shown(instead.text))
        return Finding(code, severity, message, said, instead.text, same)


# --- dates that do not come ------------------------------------------------------------------


def _never_fires(case: _Case) -> Iterator[Finding]:
    if not case.never:
        return
    cron = case.cron
    longest = max(_LONGEST[month - 1] for month in cron.months)
    shortest = min(28 if month == 2 else _LONGEST[month - 1] for month in cron.months)
    replacement = None
    if cron.day_rule is None and cron.days_of_month[0] > longest:
        why = f"there is no day {listed(cron.days_of_month)} in {_month_list(cron.months)}"
        replacement = case.rewritten({_DAY: str(shortest)})
    else:
        why = f"no date from 1970 to {case.last_year} matches"
    also = ", but the released server 0.9.8 fires it every minute"
    also = also if cron.dialect == "resonate" else ""
    yield case.finding(
        "never-fires",
        "error",
        f"the expression never fires: {why}{also}",
        f"write {{}} for day {shortest}, or delete the schedule if it is to be switched off",
        replacement,
        "write a date that exists, or delete the schedule if it is to be switched off",
    )


def _sixty_second_rule(case: _Case) -> Iterator[Finding]:
    cron = case.cron
    if cron.dialect != _RELEASED:
        return
    rule = "the released server then fires it 60 s later, and every minute from then on"
    if case.never or (case.now_ms is not None and cron.next_ms(case.now_ms) is None):
        yield Finding(
            "sixty-second-rule",
            "error",
            f"no tick is left, and {rule}",
            "delete the schedule, or write an expression that has a tick",
        )
    elif case.ends:
        last = format_instant(_last_tick(cron))
        yield Finding(
            "sixty-second-rule",
            "warning",
            f"no tick is left after {last}, and {rule}",
            f"delete the schedule within the minute after {last}",
        )


def _runs_out(case: _Case) -> Iterator[Finding]:
    cron = case.cron
    if case.never or not case.ends:
        return
    last = _last_tick(cron)
    over = case.now_ms is not None and last <= case.now_ms
    state = ""
    if over:
        state = ", which is over"
    elif case.now_ms is not None:
        left = cron.count_ms(case.now_ms + 1, EPOCH_END_MS)
        state = f", {left:,} tick{'s' if left != 1 else ''} from now"
    yield case.finding(
        "runs-out",
        "error" if over else "warning",
        f"the years end with {cron.years[-1]}: the last tick is {format_instant(last)}{state}",
        "leave the year out to go on for ever: {}",
        case.rewritten({_YEAR: None}),
        "leave the year out to go on for ever",
    )


def _future_year_defect(case: _Case) -> Iterator[Finding]:
    cron = case.cron
    if cron.dialect != _RELEASED or case.never or len(cron.years) == case.last_year - 1969:
        return
    habit = "enters a later year at the month, day and time of creation, not on 1 January"
    replacement = case.rewritten({_YEAR: None})
    if case.now_ms is None:
        yield case.finding(
            "future-year-defect",
            "warning",
            f"if it is created in a year that is not listed, the released server {habit}",
            "create it in a year that is listed, or leave the year out: {}",
            replacement,
        )
        return
    right = type(cron)(cron.text, "resonate").next_ms(case.now_ms)
    real = cron.next_ms(case.now_ms)
    if right is None or real == right:
        return
    if real is None:
        effect = "it finds no tick at all and fires every minute"
    else:
        skipped = type(cron)(cron.text, "resonate").count_ms(right, real - 1)
        ticks = f"{skipped:,} tick{'s' if skipped != 1 else ''}"
        effect = f"it first fires at {format_instant(real)}, {ticks} late"
    yield case.finding(
        "future-year-defect",
        "error",
        f"the released server {habit}: created now, {effect}, not at {format_instant(right)}",
        f"create it in {format_instant(right)[:4]}, or leave the year out: {{}}",
        replacement,
    )


def _last_tick(cron: Cron) -> int:
    last = cron.prev_ms(EPOCH_END_MS)
    assert last is not None, "only asked where the expression fires"
    return last


# --- days ------------------------------------------------------------------------------------


def _numeric_weekday(case: _Case) -> Iterator[Finding]:
    cron, text = case.cron, case.field(_WEEKDAY)
    if text is None or not re.search(r"\d", re.sub(r"[/#]\d+", "", text)):
        return
    rule = cron.day_rule
    if rule is not None:
        here, there = int(rule[0]), int(rule[0]) % 7 + 1
        yield case.finding(
            "numeric-weekday",
            "info",
            f"weekday {here} is {weekday_words((here,))} here, and {weekday_words((there,))} where "
            "Monday is 1",
            "write the name: {}",
            case.rewritten({_WEEKDAY: weekday_text((here,)) + rule[1:]}),
        )
        return
    ours, meant = set(cron.days_of_week), crontab_weekdays(text)
    if meant is None or meant == ours:
        return
    message = (
        f"weekdays count from 1 = Sunday here, so {shown(text)} is {weekday_words(sorted(ours))}; "
        f"in a crontab it is {weekday_words(sorted(meant))}"
    )
    kept = case.rewritten({_WEEKDAY: weekday_text(sorted(ours))})
    if cron.dialect == "quartz" or "?" in cron.text:
        # A question mark is Quartz's, whose numbers are these.
        yield case.finding("numeric-weekday", "info", message, "write the names: {}", kept)
        return
    yield case.finding(
        "numeric-weekday",
        "warning",
        message,
        f"write {{}} for {weekday_words(sorted(meant))}, or {shown(kept or '')} for "
        f"{weekday_words(sorted(ours))}",
        case.rewritten({_WEEKDAY: weekday_text(sorted(meant))}),
    )


def _both_day_fields(case: _Case) -> Iterator[Finding]:
    cron = case.cron
    dates, weekdays = cron.days_of_month, cron.days_of_week
    if cron.day_rule is not None or len(dates) == 31 or len(weekdays) == 7:
        return
    both = f"day {listed(dates)} AND {weekday_words(weekdays)} must both match here"
    starred = any((case.field(index) or "").startswith(("*", "?")) for index in (_DAY, _WEEKDAY))
    if starred:
        yield Finding(
            "both-day-fields",
            "info",
            f"{both}; a crontab does the same as one of them begins with '*', but readers that go "
            "by the letter of POSIX fire when either matches",
            "keep it if both are meant",
        )
        return
    others = [day for day in range(1, 32) if day not in dates]
    either = (
        case.rewritten({_WEEKDAY: "*"}),
        case.rewritten({_DAY: number_text(others, range(1, 32))}),
    )
    say = "keep it if both are meant"
    if all(case.compiles(text) for text in either):
        texts = joined([shown(text) for text in either if text])
        say += f"; for either create two schedules: {texts}"
    yield Finding("both-day-fields", "warning", f"{both}; in a crontab one of them is enough", say)


def _skips_months(case: _Case) -> Iterator[Finding]:
    cron = case.cron
    need = _length_needed(cron)
    if case.never or need < 29 or len(cron.days_of_week) < 7 or _leap_day_only_dates(cron):
        return
    short = [month for month in cron.months if _LONGEST[month - 1] < need]
    names = [MONTH_NAMES[month - 1] for month in short]
    if need == 29 and 2 in cron.months:
        names.append("February outside leap years")
    if not names:
        return
    what = f"day {listed(cron.days_of_month)} does not exist"
    if cron.day_rule is not None:
        what = f"rule {cron.day_rule} names no day"
    rule = cron.dialect == "quartz"
    yield case.finding(
        "skips-months",
        "warning",
        f"{what} in {joined(names)}, so there is no tick then",
        "write {} for the last day of the month" if rule else "write {} for a day that all have",
        case.rewritten({_DAY: "L" if rule else "28"}),
        "write a day that all months have",
    )


def _length_needed(cron: Cron) -> int:
    """The length that a month must have to hold a day of the expression."""
    rule = cron.day_rule
    if rule is None:
        return cron.days_of_month[0]
    if rule[0] == "L":
        return int(rule.removesuffix("W")[2:] or 0) + 1
    return int(rule[:-1]) if rule[-1] == "W" else 1


def _leap_day_only_dates(cron: Cron) -> bool:
    dates = [(m, d) for m in cron.months for d in cron.days_of_month if d <= _LONGEST[m - 1]]
    return cron.day_rule is None and dates == [(2, 29)]


def _leap_day_only(case: _Case) -> Iterator[Finding]:
    if case.never or not _leap_day_only_dates(case.cron):
        return
    following = None if case.now_ms is None else case.cron.next_ms(case.now_ms)
    state = "" if following is None else f"; the next tick is {format_instant(following)}"
    yield case.finding(
        "leap-day-only",
        "warning",
        f"29 February is the only date, which most years lack{state}",
        "write {} to fire each year",
        case.rewritten({_DAY: "28"}),
        "write day 28 to fire each year",
    )


# --- steps -----------------------------------------------------------------------------------

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


def _steps(case: _Case) -> Iterator[_Step]:
    for index in range(_YEAR):
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


def _step_above_range(case: _Case) -> Iterator[Finding]:
    fields = set()
    for it in _steps(case):
        # One finding a field: a list may repeat its mistake a thousand times.
        if it.step <= max(1, it.high - it.low) or it.index in fields:
            continue
        fields.add(it.index)
        unit = _UNITS[it.index]
        value = weekday_text((it.low,)) if it.index == _WEEKDAY else str(it.low)
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


def _every_minutes(case: _Case, it: _Step) -> str:
    """Advice for a step of minutes or seconds that was to last longer than its field."""
    if it.index not in (_SECOND, _MINUTE) or it.item[0] != "*" or not it.alone:
        return ""
    coarser = it.index + 1
    size = 60 if coarser == _MINUTE else 24
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


def _uneven_step(case: _Case) -> Iterator[Finding]:
    cron = case.cron
    fields = (cron.seconds, cron.minutes, cron.hours, (), cron.months, cron.days_of_week)
    for it in _steps(case):
        if not it.alone or it.high < _HIGHEST[it.index] or not 1 < it.step <= it.high - it.low:
            continue
        if it.index == _DAY:
            yield from _uneven_days(it)
            continue
        values, size = fields[it.index], _HIGHEST[it.index] - _LOWEST[it.index] + 1
        if it.index in (_SECOND, _MINUTE) and not _has_neighbours(fields[it.index + 1], it.index):
            continue
        wrap = values[0] + size - values[-1]
        if wrap == it.step:
            continue
        unit = _UNITS[it.index]
        span = "days" if it.index == _WEEKDAY else f"{unit}s"
        gaps = f"{it.step} and {wrap} {span}"
        if it.index == _WEEKDAY and it.item[0] not in "*?":
            continue  # numeric-weekday, which asks for other days, has the floor
        if it.index == _WEEKDAY:
            said = weekday_words(values)
        elif it.index == _MONTH:
            said = _month_list(values)
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
        if it.index == _WEEKDAY:
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
    size = 60 if index == _SECOND else 24
    return any((value + 1) % size in values for value in values)


# --- how it is written, how often it fires -----------------------------------------------------


def _blanks(case: _Case) -> Iterator[Finding]:
    written = [text for text in case.texts if text is not None]
    if not written:
        return
    plain = case.rewritten({})
    at, together = 0, []
    for number, text in enumerate(written):
        start = case.cron.text.find(text, at)
        if number and start >= 0 and not re.search(r"\s", case.cron.text[at:start]):
            together.append(f"{shown(written[number - 1])} and {shown(text)}")
        at = max(start, at) + len(text)
    if together:
        others = len(together) - 1
        more = f", and so do {others} more pair{'s' if others > 1 else ''}" if others else ""
        yield case.finding(
            "missing-blank",
            "warning",
            f"fields {together[0]} stand together without a blank{more}",
            "write {}",
            plain,
            "put a blank between all fields",
        )
    inner = [text for text in written if re.search(r"\s", text)]
    if inner:
        yield case.finding(
            "inner-blank",
            "warning",
            f"field {shown(inner[0])} holds blanks, where other tools end a field",
            "write {}",
            plain,
            "leave the blanks out",
        )


def _faster_than_poll(case: _Case) -> Iterator[Finding]:
    cron = case.cron
    per_minute = len(cron.seconds)
    per_hour = per_minute * len(cron.minutes)
    per_day = per_hour * len(cron.hours)
    spans = ((per_minute, 60_000), (per_hour, 3_600_000), (per_day, 86_400_000))
    if not any(ticks > 1 and ticks * case.poll_ms >= span for ticks, span in spans):
        return
    rate = f"{per_minute} ticks a minute" if per_minute > 1 else f"{per_day:,} ticks a day"
    for_ever = per_day * case.poll_ms >= 86_400_000
    lag = "for ever" if for_ever else "and catches up only in the pauses"
    yield case.finding(
        "faster-than-poll",
        "warning",
        f"it has {rate}, and the server fires one each {format_duration(case.poll_ms)} plus the "
        f"time that takes, so it falls behind {lag}",
        "write {} for one tick a minute",
        case.rewritten({_SECOND: "0"}) if per_minute > 1 else None,
        "fire less often",
    )


def _seconds_last_elsewhere(case: _Case) -> Iterator[Finding]:
    cron = case.cron
    if case.texts[_SECOND] is None or cron.dialect == "quartz":
        return
    year = case.texts[_YEAR] is not None
    count = "seven" if year else "six"
    there = "sixth and seventh as seconds and year" if year else "sixth as the seconds"
    plain = cron.seconds == (0,) and not year
    otherwise = "tell a tool that reads it that the seconds come first"
    yield case.finding(
        "seconds-last-elsewhere",
        "info",
        f"the first of {count} fields is the seconds here; croniter and what builds on it read the "
        f"{there}",
        "write {}, which needs no seconds" if plain else otherwise,
        case.rewritten({_SECOND: None}) if plain else None,
        otherwise,
    )


def _month_list(months: Sequence[int]) -> str:
    return listed(months, lambda month: MONTH_NAMES[month - 1])


_CHECKS: tuple[Callable[[_Case], Iterator[Finding]], ...] = (
    _never_fires,
    _sixty_second_rule,
    _runs_out,
    _future_year_defect,
    _numeric_weekday,
    _both_day_fields,
    _skips_months,
    _leap_day_only,
    _blanks,
    _step_above_range,
    _uneven_step,
    _faster_than_poll,
    _seconds_last_elsewhere,
)
