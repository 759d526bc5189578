"""One text here and elsewhere: whether it means the same, and where the two part.

"Same" and "different" are proved on sets of values (see `resonate_lab.cron.reading`), no
tick is walked for them; croniter walks only the ticks that are shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

from resonate_lab.cron.crontab import CrontabError, crontab_fires_ms, crontab_reading
from resonate_lab.cron.explain import joined, weekday_words
from resonate_lab.cron.reading import NEVER, Make, Reading, dialect_reading
from resonate_lab.cron.translation import (
    SHORTHANDS,
    Translation,
    day_summary,
    translate,
    translate_reading,
)
from resonate_lab.instants import format_instant

if TYPE_CHECKING:
    from resonate_lab._fastcron import Cron

__all__ = ["Comparison", "against", "compare", "verdict"]

Verdict = Literal["same", "different", "refused-here", "refused-there", "refused-both"]
_END_MS = 4_102_444_800_000  # 2100-01-01T00:00:00Z, where the years that all have end


@dataclass(frozen=True)
class Comparison:
    """One text, here and elsewhere.

    Attributes
    ----------
    text : str
        the expression
    other : str
        what it is compared with: "crontab", a dialect, or a place such as "in Kubernetes"
    verdict : str
        "same", "different", "refused-here", "refused-there" or "refused-both"; "same" and
        "different" hold for all instants from `after_ms` to the end of 2099
    reason : str
        one sentence: how they differ, or why the text is refused
    first_difference_ms : int or None
        the first instant at which only one of the two fires, ms since the Unix epoch, UTC
    translation : Translation or None
        what to write here for what it means there; None where the verdict is "same" or
        there it means nothing
    """

    text: str
    other: str
    verdict: Verdict
    reason: str
    first_difference_ms: int | None = None
    translation: Translation | None = None


def verdict(
    text: str,
    make: Make,
    after_ms: int,
    *,
    other: str = "crontab",
    dialect: str = "resonate",
) -> Comparison:
    """Return whether a text means the same here and elsewhere, and what to write if not.

    Parameters
    ----------
    text : str
        the expression
    make : callable (text, dialect) -> Cron
        compiles a text
    after_ms : int
        instant, ms since the Unix epoch, UTC; the two are compared strictly after it
    other : str
        "crontab" or a dialect
    dialect : str
        the dialect here

    Raises
    ------
    ValueError
        `dialect` or `other` is none that there is

    Notes
    -----
    Some 0.5 ms: the sets are compared, no tick is walked.
    """
    there = _elsewhere(text, make, other)
    where = "in a crontab" if other == "crontab" else f"in dialect {other!r}"
    last = other == "crontab"
    found = against(text, make, after_ms, there, where, dialect=dialect, seconds_last=last)
    if other == "crontab" and text.strip().lower() in SHORTHANDS and found.translation is not None:
        return replace(found, other=other, translation=translate(text, make))
    return replace(found, other=other)


def against(
    text: str,
    make: Make,
    after_ms: int,
    there: Cron | Reading | str,
    where: str,
    *,
    dialect: str = "resonate",
    seconds_last: bool = False,
) -> Comparison:
    """Return whether a text means here what it means elsewhere, whoever read it there.

    Parameters
    ----------
    text : str
        the expression
    make : callable (text, dialect) -> Cron
        compiles a text
    after_ms : int
        instant, ms since the Unix epoch, UTC; the two are compared strictly after it
    there : Cron, Reading or str
        what it means elsewhere, or the sentence that refuses it
    where : str
        where that is, for the reasons, such as "in Kubernetes"
    dialect : str
        the dialect here
    seconds_last : bool
        True if the sixth field of the text is the seconds there
    """
    ours = _compiled(text, make, dialect)
    if isinstance(there, str):
        if isinstance(ours, str):
            return Comparison(text, where, "refused-both", ours)
        return Comparison(text, where, "refused-there", there)
    theirs = there if isinstance(there, Reading) else dialect_reading(there)
    parting = None
    if not isinstance(ours, str):
        parting = _first_difference(ours, there, after_ms)
        if parting is None:
            return Comparison(text, where, "same", f"the same instants: {day_summary(theirs)}")
    translation = translate_reading(theirs, make, seconds_last=seconds_last)
    if isinstance(ours, str):
        return Comparison(text, where, "refused-here", ours, None, translation)
    reason = _difference(dialect_reading(ours), theirs, where, seconds_last)
    if parting is not None:
        reason += f"; they part at {format_instant(parting)}"
    return Comparison(text, where, "different", reason, parting, translation)


def compare(
    cron: Cron, other: str, after_ms: int, n: int = 5
) -> list[dict[str, int | bool | None]]:
    """Return the ticks of an expression beside those of the same text elsewhere.

    Parameters
    ----------
    cron : Cron
        the expression here
    other : str
        "crontab" or a dialect
    after_ms : int
        instant, ms since the Unix epoch, UTC; ticks lie strictly after it
    n : int
        rows

    Returns
    -------
    list of dict
        `n` rows, and one more where the first difference lies beyond them: ``tick`` (int,
        from 1), ``ours_ms`` and ``theirs_ms`` (int, ms since the Unix epoch, UTC, or None),
        ``same`` (bool), ``first_difference`` (bool)

    Raises
    ------
    CrontabError
        the text has no crontab reading
    ValueError
        the other dialect refuses the text (CronError), or is none that there is
    """
    there: Cron | Reading
    if other == "crontab":
        there = crontab_reading(cron.text)
        theirs = crontab_fires_ms(cron.text, after_ms, n)
    else:
        there = type(cron)(cron.text, other)
        theirs = list(_chain(there, after_ms, n))
    ours = list(_chain(cron, after_ms, n))
    parting = _first_difference(cron, there, after_ms)
    rows = [
        _row(tick, mine, his, parting)
        for tick, (mine, his) in enumerate(zip_longest(ours, theirs), start=1)
    ]
    if parting is not None and all(row["same"] for row in rows):
        # Up to there both chains are one, so ours numbers the tick for both.
        tick = cron.count_ms(after_ms + 1, parting - 1) + 1
        rows.append(_row(tick, cron.next_ms(parting - 1), _next_ms(there, parting - 1), parting))
    return rows


def _row(
    tick: int, ours: int | None, theirs: int | None, parting: int | None
) -> dict[str, int | bool | None]:
    return {
        "tick": tick,
        "ours_ms": ours,
        "theirs_ms": theirs,
        "same": ours == theirs,
        "first_difference": ours != theirs and parting in (ours, theirs),
    }


def _chain(cron: Cron, after_ms: int, n: int) -> Iterator[int]:
    for _ in range(n):
        tick = cron.next_ms(after_ms)
        if tick is None:
            return
        yield tick
        after_ms = tick


def _next_ms(there: Cron | Reading, after_ms: int) -> int | None:
    """The first tick strictly after an instant, up to the end of 2099."""
    if isinstance(there, Reading):
        return there.parts_from(NEVER, after_ms)
    tick = there.next_ms(after_ms)
    return tick if tick is not None and tick < _END_MS else None


def _first_difference(ours: Cron, there: Cron | Reading, after_ms: int) -> int | None:
    """The first instant at which only one of the two fires, up to the end of 2099."""
    mine, his = _next_ms(ours, after_ms), _next_ms(there, after_ms)
    if mine is None or his is None or mine != his:
        # The future-year defect of the released server shows here and nowhere later: from
        # its first tick on, its chain is the calendar's.
        return min((tick for tick in (mine, his) if tick is not None), default=None)
    reading = there if isinstance(there, Reading) else dialect_reading(there)
    return dialect_reading(ours).parts_from(reading, mine)


def _compiled(text: str, make: Make, dialect: str) -> Cron | str:
    """The expression, or the sentence that refuses it."""
    try:
        return make(text, dialect)
    except ValueError as err:
        if not hasattr(err, "expression"):
            raise  # an unknown dialect is the caller's mistake, not the text's
        return str(err)


def _elsewhere(text: str, make: Make, other: str) -> Cron | Reading | str:
    if other != "crontab":
        return _compiled(text, make, other)
    try:
        return crontab_reading(text)
    except CrontabError as err:
        return str(err)


def _difference(ours: Reading, theirs: Reading, there: str, seconds_last: bool) -> str:
    """One clause that says how two readings of one text differ."""
    if ours.fires_like(theirs):
        return (
            "dialect 'resonate-0.9.8' begins a year list at the month, day and time of the "
            "search and not on 1 January"
        )
    parts: list[str] = []
    if ours.times != theirs.times:
        parts.append(
            f"the first field is the seconds here and the last {there}"
            if seconds_last and len(ours.text.split()) > 5
            else f"the times of the day are others {there}"
        )
    if theirs.either and len(ours.days_of_month) < 31 and len(ours.days_of_week) < 7:
        parts.append(f"both day fields must match here and one of them is enough {there}")
    if ours.days_of_week != theirs.days_of_week and not theirs.day_rules and not ours.day_rules:
        parts.append(
            f"the weekdays are {weekday_words(ours.days_of_week)} here and "
            f"{weekday_words(theirs.days_of_week)} {there}"
        )
    if not parts:
        parts.append(f"the days are others {there}")
    return joined(parts)
