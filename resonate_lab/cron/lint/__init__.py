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

A text that is refused has the codes of `resonate_lab.cron.mend`. The files go by subject: the days,
the years, the steps, and how the text is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from resonate_lab.cron.lint import days, steps, writing, years
from resonate_lab.cron.lint.finding import Case, Finding
from resonate_lab.cron.mend import mend
from resonate_lab.cron.reading import Make, shown

if TYPE_CHECKING:
    from resonate_lab._fastcron import Cron, CronError

__all__ = ["lint", "lint_refused"]

_SEVERITIES = ("error", "warning", "info")
_CHECKS: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    days.never_fires,
    years.sixty_second_rule,
    years.runs_out,
    years.future_year_defect,
    days.numeric_weekday,
    days.both_day_fields,
    days.skips_months,
    days.leap_day_only,
    writing.blanks,
    steps.step_above_range,
    steps.uneven_step,
    writing.faster_than_poll,
    writing.seconds_last_elsewhere,
)


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
    case = Case(cron, now_ms, poll_ms)
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
