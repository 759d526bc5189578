"""How an expression is written, and how often it fires."""

from __future__ import annotations

import re
from collections.abc import Iterator

from resonate_lab.cron.lint.finding import SECOND, YEAR, Case, Finding
from resonate_lab.cron.reading import shown
from resonate_lab.instants import format_duration

__all__ = ["blanks", "faster_than_poll", "seconds_last_elsewhere"]


def blanks(case: Case) -> Iterator[Finding]:
    """Find blanks that are missing between fields, and those inside of one."""
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


def faster_than_poll(case: Case) -> Iterator[Finding]:
    """Find more ticks than the server polls."""
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
        case.rewritten({SECOND: "0"}) if per_minute > 1 else None,
        "fire less often",
    )


def seconds_last_elsewhere(case: Case) -> Iterator[Finding]:
    """Find six or seven fields, which other tools read otherwise."""
    cron = case.cron
    if case.texts[SECOND] is None or cron.dialect == "quartz":
        return
    year = case.texts[YEAR] is not None
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
        case.rewritten({SECOND: None}) if plain else None,
        otherwise,
    )
