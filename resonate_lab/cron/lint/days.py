"""Days that do not come, and days that others mean by the same text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from resonate_lab.cron.crontab import crontab_weekdays
from resonate_lab.cron.explain import MONTH_NAMES, joined, listed, month_words, weekday_words
from resonate_lab.cron.lint.finding import DAY, WEEKDAY, Case, Finding
from resonate_lab.cron.reading import number_text, shown, weekday_text
from resonate_lab.instants import format_instant

if TYPE_CHECKING:
    from resonate_lab._fastcron import Cron

__all__ = ["both_day_fields", "leap_day_only", "never_fires", "numeric_weekday", "skips_months"]

_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def never_fires(case: Case) -> Iterator[Finding]:
    """Find that no date of the calendar matches."""
    if not case.never:
        return
    cron = case.cron
    longest = max(_LONGEST[month - 1] for month in cron.months)
    shortest = min(28 if month == 2 else _LONGEST[month - 1] for month in cron.months)
    replacement = None
    if cron.day_rule is None and cron.days_of_month[0] > longest:
        why = f"there is no day {listed(cron.days_of_month)} in {month_words(cron.months)}"
        replacement = case.rewritten({DAY: str(shortest)})
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


def numeric_weekday(case: Case) -> Iterator[Finding]:
    """Find weekdays by numbers, which a crontab counts from another day."""
    cron, text = case.cron, case.field(WEEKDAY)
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
            case.rewritten({WEEKDAY: weekday_text((here,)) + rule[1:]}),
        )
        return
    ours, meant = set(cron.days_of_week), crontab_weekdays(text)
    if meant is None or meant == ours:
        return
    message = (
        f"weekdays count from 1 = Sunday here, so {shown(text)} is {weekday_words(sorted(ours))}; "
        f"in a crontab it is {weekday_words(sorted(meant))}"
    )
    kept = case.rewritten({WEEKDAY: weekday_text(sorted(ours))})
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
        case.rewritten({WEEKDAY: weekday_text(sorted(meant))}),
    )


def both_day_fields(case: Case) -> Iterator[Finding]:
    """Find both day fields set, which are joined by AND here and by OR in a crontab."""
    cron = case.cron
    dates, weekdays = cron.days_of_month, cron.days_of_week
    if cron.day_rule is not None or len(dates) == 31 or len(weekdays) == 7:
        return
    both = f"day {listed(dates)} AND {weekday_words(weekdays)} must both match here"
    starred = any((case.field(index) or "").startswith(("*", "?")) for index in (DAY, WEEKDAY))
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
        case.rewritten({WEEKDAY: "*"}),
        case.rewritten({DAY: number_text(others, range(1, 32))}),
    )
    say = "keep it if both are meant"
    if all(case.compiles(text) for text in either):
        texts = joined([shown(text) for text in either if text])
        say += f"; for either create two schedules: {texts}"
    yield Finding("both-day-fields", "warning", f"{both}; in a crontab one of them is enough", say)


def skips_months(case: Case) -> Iterator[Finding]:
    """Find a day of month that some of the months lack."""
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
        case.rewritten({DAY: "L" if rule else "28"}),
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


def leap_day_only(case: Case) -> Iterator[Finding]:
    """Find that 29 February is the only date."""
    if case.never or not _leap_day_only_dates(case.cron):
        return
    following = None if case.now_ms is None else case.cron.next_ms(case.now_ms)
    state = "" if following is None else f"; the next tick is {format_instant(following)}"
    yield case.finding(
        "leap-day-only",
        "warning",
        f"29 February is the only date, which most years lack{state}",
        "write {} to fire each year",
        case.rewritten({DAY: "28"}),
        "write day 28 to fire each year",
    )
