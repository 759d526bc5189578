"""The verdict on one expression: what it means here, what its author meant, and what to write.

The comparison itself is `resonate_lab.cron.comparison`, the grammars of other systems are
`resonate_lab.cron.elsewhere`, other zones are `resonate_lab.whatif.moved`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from resonate_lab.cron import CronError, CronExpression, comparison, crontab, elsewhere, lint
from resonate_lab.cron.offsets import ZoneError, zone_named
from resonate_lab.cron.reading import NEVER
from resonate_lab.instants import format_duration
from resonate_lab.whatif.fleet import is_utc
from resonate_lab.whatif.moved import moved, part_ms

__all__ = ["PLACES", "Judged", "judged"]

PLACES = {
    "crontab": "in a crontab",
    "aws": "in EventBridge",
    "kubernetes": "in Kubernetes",
    "airflow": "in Airflow",
    "quartz": "in Quartz",
    "resonate": "in Resonate",
    "resonate-0.9.8": "in Resonate 0.9.8",
}
"""The readings, and where each of them holds, in the words of a sentence."""

_VERDICT_OF = {
    "same": "same",
    "different": "different",
    "refused-here": "refused",
    "refused-both": "refused",
    "refused-there": "unclear",
}
_AWS_FIELDS = (
    "EventBridge's six fields begin with the minute and end with the year, the server's begin "
    "with the second"
)
_NO_TIME = re.compile(r"^\s*@reboot|~", re.IGNORECASE)
_INLINE_ZONE = re.compile(r"(CRON_TZ|TZ)=(\S*)\s+")


class Judged(NamedTuple):
    """What the audit says of one expression; instants in ms, -1 for none."""

    verdict: str
    reason: str
    differs_at: int = -1
    ours_at: int = -1
    theirs_at: int = -1
    proposed: str = ""
    proposed_second: str = ""
    proven: bool = False
    findings: str = ""


def judged(text: str, reading: str, zone: str, after_ms: int) -> Judged:
    """Return what an expression means here, beside what its author meant.

    Parameters
    ----------
    text : str
        the expression
    reading : str
        how its author meant it: one of `PLACES`
    zone : str
        whose times its author meant; "" is UTC
    after_ms : int
        instant, ms since the Unix epoch, UTC; the two are compared strictly after it
    """
    if not text.strip() and reading not in elsewhere.SYSTEMS:
        return Judged("refused", "the cron cell is blank: write an expression")
    inline = _INLINE_ZONE.match(text) if reading == "kubernetes" else None
    if inline:
        if zone:
            return Judged(
                "refused", f"{inline[1]}= in the schedule and timeZone exclude each other"
            )
        zone, text = inline[2], text[inline.end() :]
    row = _compared(text, reading, zone, after_ms)
    if inline:
        texts = (text,) if row.verdict == "same" else (row.proposed, row.proposed_second)
        reason = (
            f"a Resonate expression names no zone; {row.reason.split('; they part')[0]}; "
            f"{inline[1]}= in a schedule is refused by Kubernetes since 1.29, timeZone is not"
        )
        row = _with_proposal(Judged("refused", reason), tuple(filter(None, texts)))
    codes = ", ".join(dict.fromkeys(_codes(text, after_ms)))
    return row._replace(findings=codes)


def _codes(text: str, after_ms: int) -> Iterable[str]:
    try:
        return [finding.code for finding in lint.lint(CronExpression(text), after_ms)]
    except CronError as error:
        return [finding.code for finding in lint.lint_refused(error)]


def _compared(text: str, reading: str, zone: str, after_ms: int) -> Judged:
    if reading in elsewhere.SYSTEMS:
        try:
            there = elsewhere.system_reading(text, reading, CronExpression)
        except elsewhere.ElsewhereError as error:
            # Whether the server takes the text is no news: it never meant times.
            return Judged("unclear" if _accepted(text) else "refused", str(error))
        if isinstance(there, elsewhere.Interval):
            return _interval(text, there)
        found = comparison.against(
            text,
            CronExpression,
            after_ms,
            there,
            PLACES[reading],
            seconds_last=reading == "airflow",
        )
    else:
        found = comparison.verdict(text, CronExpression, after_ms, other=reading)
        there = None
    texts = found.translation.texts if found.translation else ()
    row = _with_proposal(Judged(_VERDICT_OF[found.verdict], found.reason), texts)
    if found.translation and not texts:
        row = row._replace(reason=f"{found.reason}; {found.translation.reason}")
    if found.verdict == "refused-both" and reading == "crontab" and _NO_TIME.search(text):
        row = row._replace(reason=_crontab_refusal(text))
    if reading == "aws" and (row.verdict == "different" or text.strip().startswith("cron(")):
        row = row._replace(reason=_AWS_FIELDS if texts else f"{_AWS_FIELDS}; {_reason(found)}")
    if not is_utc(zone):
        return _in_zone(
            text, row, texts or ((text,) if row.verdict == "same" else ()), zone, after_ms
        )
    if found.first_difference_ms is None:
        return row
    before = found.first_difference_ms - 1000
    if reading == "crontab":
        theirs = next(iter(crontab.crontab_fires_ms(text, before, 1)), None)
    elif there is not None:
        theirs = there.parts_from(NEVER, before)
    else:
        theirs = CronExpression(text, reading).next_ms(before)
    return row._replace(
        differs_at=found.first_difference_ms,
        ours_at=_or_none(CronExpression(text).next_ms(before)),
        theirs_at=_or_none(theirs),
    )


def _reason(found: comparison.Comparison) -> str:
    return found.translation.reason if found.translation else found.reason


def _crontab_refusal(text: str) -> str:
    """Why a crontab's text means no instants, where that is the better reason."""
    try:
        crontab.crontab_reading(text)
    except crontab.CrontabError as error:
        return str(error)
    raise AssertionError(f"{text!r} was refused before")


def _accepted(text: str) -> bool:
    try:
        CronExpression(text)
    except CronError:
        return False
    return True


def _interval(text: str, interval: elsewhere.Interval) -> Judged:
    """Judge a text that counts from the moment it was made: no clock says when that was."""
    texts = elsewhere.interval_texts(interval.seconds)
    length = format_duration(interval.seconds * 1000)
    if texts:
        reason = (
            f"it fires every {length}, counted from {interval.begins}; what is proposed has the "
            "same distances, counted from midnight UTC"
        )
    else:
        reason = (
            f"it fires every {length}, counted from {interval.begins}, and no one or two "
            "expressions keep that distance from day to day"
        )
    return _with_proposal(Judged("refused", reason), texts)


def _in_zone(text: str, row: Judged, local: tuple[str, ...], zone: str, after_ms: int) -> Judged:
    """Judge a row whose times are those of another clock than UTC's."""
    try:
        zone_named(zone)
    except ZoneError as error:
        return Judged("refused", str(error))
    if not local:
        # What no expression says for a clock at UTC, none says for another.
        return row
    wall = [CronExpression(one) for one in local]
    ours = CronExpression(text) if row.verdict != "refused" else None
    found = moved(wall, ours, zone, after_ms)
    if found.plain:
        return Judged("same", found.reason)
    first = "" if row.verdict == "same" else f"{row.reason.split('; they part')[0]}; "
    verdict = "refused" if ours is None else "different"
    row = _with_proposal(Judged(verdict, first + found.reason), found.texts)
    if ours is None:
        return row
    differs, ours_at, theirs_at = part_ms(wall, ours, zone, after_ms)
    return row._replace(differs_at=differs, ours_at=ours_at, theirs_at=theirs_at)


def _with_proposal(row: Judged, texts: tuple[str, ...]) -> Judged:
    first, second = (*texts, "", "")[:2]
    return row._replace(proposed=first, proposed_second=second, proven=bool(texts))


def _or_none(ms: int | None) -> int:
    return -1 if ms is None else ms
