"""Years that end, and those into which the released server steps in the wrong place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from resonate_lab.cron.lint.finding import YEAR, Case, Finding
from resonate_lab.instants import EPOCH_END_MS, format_instant

if TYPE_CHECKING:
    from resonate_lab._fastcron import Cron

__all__ = ["future_year_defect", "runs_out", "sixty_second_rule"]

_RELEASED = "resonate-0.9.8"


def sixty_second_rule(case: Case) -> Iterator[Finding]:
    """Find that the released server fires it every minute, now or once no tick is left."""
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


def runs_out(case: Case) -> Iterator[Finding]:
    """Find that the years end."""
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
        case.rewritten({YEAR: None}),
        "leave the year out to go on for ever",
    )


def future_year_defect(case: Case) -> Iterator[Finding]:
    """Find that the released server skips ticks of a future year."""
    cron = case.cron
    if cron.dialect != _RELEASED or case.never or len(cron.years) == case.last_year - 1969:
        return
    habit = "enters a later year at the month, day and time of creation, not on 1 January"
    replacement = case.rewritten({YEAR: None})
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
