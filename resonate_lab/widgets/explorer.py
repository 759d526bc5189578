"""The cron explorer: type a cron text, read what it means, and see its days of a year."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from itertools import zip_longest
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, available_timezones

import ipywidgets
import pandas as pd
from IPython.display import HTML

from resonate_lab import _html, plots
from resonate_lab.cron import DIALECTS, CronError, CronExpression, comparison, crontab, lint
from resonate_lab.cron.lint.finding import Finding
from resonate_lab.errors import WindowError
from resonate_lab.instants import EPOCH_END_MS, format_duration, format_instant, instant_ms
from resonate_lab.whatif.bins import Bins
from resonate_lab.whatif.tally import tallied
from resonate_lab.widgets.base import (
    ANSWER,
    PICTURE,
    Live,
    bare_axes,
    body,
    control,
    emptied,
    picture_tag,
    png,
    scrolled,
    sentence,
    shown,
    text_of,
)

if TYPE_CHECKING:
    from resonate_lab.instants import Instant

__all__ = ["CronExplorer"]

_TICKS = 7  # a week of a daily schedule
_DAY_MS = 86_400_000


class CronExplorer(Live):
    """Type a cron text and see what it means: words, ticks, findings, the crontab reading.

    Below stands the calendar of the year to come: the ticks of each day, in UTC.

    Parameters
    ----------
    text : str
        the expression to begin with; it may be wrong, the answer then says how
    dialect : {"resonate", "resonate-0.9.8", "quartz"}
        how to read it
    zone : str, optional
        a time zone such as ``"Europe/Berlin"``, in which the ticks stand beside UTC;
        default: that of the machine on which the kernel runs
    after : int, str, datetime or pandas.Timestamp, optional
        instant; the ticks shown are strictly after it. Default: the moment of each change

    Attributes
    ----------
    text, dialect, zone : ipywidgets.Text, ipywidgets.Dropdown, ipywidgets.Combobox
        the controls; set their ``value`` to ask from code
    answer : ipywidgets.HTML
        the answer
    year, picture : ipywidgets.HTML, ipywidgets.Image
        the calendar in a sentence, and drawn; there is none where there is no tick

    Raises
    ------
    ValueError
        the dialect is unknown
    WindowError
        `after` lies outside 1970-2100
    InstantError, TypeError
        `after` is no instant, or `text` or `zone` no text

    Examples
    --------
    >>> explorer = CronExplorer("0 9 * * 1-5", zone="Europe/Berlin", after="2024-01-01")
    >>> "Sunday to Thursday" in explorer.answer.value
    True
    >>> explorer.text.value = "0 9 * * MON-FRI"
    >>> "Monday to Friday" in explorer.static().data
    True
    >>> explorer.close()
    """

    def __init__(
        self,
        text: str = "0 9 * * 1-5",
        dialect: str = "resonate",
        zone: str | None = None,
        *,
        after: Instant | None = None,
    ) -> None:
        if dialect not in DIALECTS:
            raise ValueError(
                f"dialect {dialect!r} is none of {', '.join(DIALECTS)}; write one of them"
            )
        self._after_ms = None if after is None else _supported(instant_ms(after, "after"))
        super().__init__()
        self.text = ipywidgets.Text(
            text_of(text, "text", "0 9 * * MON-FRI"),
            description="Cron text",
            placeholder="0 9 * * MON-FRI",
            layout=control("18em"),
        )
        self.dialect = ipywidgets.Dropdown(
            value=dialect, options=DIALECTS, description="Dialect", layout=control("15em")
        )
        self.zone = ipywidgets.Combobox(
            value="" if zone is None else text_of(zone, "zone", "Europe/Berlin"),
            options=sorted(available_timezones()),
            description="Time zone",
            placeholder="that of the machine",
            layout=control("16em"),
        )
        self.answer = ipywidgets.HTML(layout=ANSWER)
        self.year = ipywidgets.HTML(layout=ANSWER)
        self.picture = ipywidgets.Image(format="png", layout=PICTURE)
        self._ax = bare_axes(1.95, left=0.05, below=0.62)
        views = (self.answer, self.year, scrolled(self.picture))
        self._assemble((self.text, self.dialect, self.zone), views)

    def static(self) -> HTML:
        """Return the question and its answer as they stand, as HTML that needs no kernel."""
        asked = f"<code>{_html.escape(self.text.value)}</code> in dialect {self.dialect.value}"
        after = self._after()
        said, picture = self._calendar(after)
        drawn = picture_tag("Calendar of the ticks of a year.", picture) if picture else ""
        return shown(f"<p>{asked}</p>{self._answer(after)}{said}{drawn}")

    def _follow(self, _change: object = None) -> None:
        after = self._after()
        self.answer.value = self._answer(after)  # first what is there first
        self.year.value, picture = self._calendar(after)
        if picture:
            self.picture.value = picture
        self.picture.layout.display = None if picture else "none"

    def _after(self) -> int:
        return time.time_ns() // 1_000_000 if self._after_ms is None else self._after_ms

    def _answer(self, after_ms: int) -> str:
        return _meaning(self.text.value, self.dialect.value, self.zone.value.strip(), after_ms)

    def _calendar(self, after_ms: int) -> tuple[str, bytes]:
        """Return the year to come in a sentence, and drawn; nothing of a text that is refused."""
        try:
            days = _days(self.text.value, self.dialect.value, after_ms)
        except CronError:
            return "", b""
        said = body(f"<p>{_in_words(days)}</p>")
        if not days.any():
            return said, b""
        return said, png(plots.calendar(days, words=False, ax=emptied(self._ax)))


def _supported(ms: int) -> int:
    if not 0 <= ms < EPOCH_END_MS:
        raise WindowError(f"after {format_instant(ms)} is outside 1970-2100; give an instant in it")
    return ms


def _days(text: str, dialect: str, after_ms: int) -> pd.Series:
    """Return the ticks of each day (UTC) of 365, strictly after an instant in the first."""
    end = min((after_ms // _DAY_MS + 365) * _DAY_MS, EPOCH_END_MS) - 1
    start = min(after_ms + 1, end)
    bins = Bins(start, end, _DAY_MS)
    return pd.Series(tallied({CronExpression(text, dialect): 1}, bins), index=bins.begins())


def _in_words(days: pd.Series) -> str:
    first, last = (f"{day:%Y-%m-%d}" for day in (days.index[0], days.index[-1]))
    if not days.any():
        return f"No tick falls in the year from {first} to {last}."
    busy, most, least = days[days > 0], days.max(), days[days > 0].min()
    each = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    tone = "" if least == most else " The lighter a day, the more."
    return (
        f"From {first} to {last} (UTC) {len(busy):,} of {len(days):,} days have ticks, "
        f"{each} each.{tone}"
    )


def _meaning(text: str, dialect: str, zone: str, after_ms: int) -> str:
    """Return what a text means, or why it is refused, as HTML."""
    beside = comparison.verdict(text, CronExpression, after_ms, dialect=dialect)
    try:
        cron = CronExpression(text, dialect)
    except CronError as error:
        parts = [
            f'<p role="status"><strong>Refused.</strong> {sentence(str(error))}</p>',
            _marked(text, error.position, error.token),
            _finding_table(lint.lint_refused(error, CronExpression, dialect)[1:]),
        ]
    else:
        parts = [
            f'<p role="status" style="font-size:115%">{_html.escape(cron.explain(), None)}</p>',
            _tick_table(cron, zone, after_ms, with_crontab=beside.verdict == "different"),
            _finding_table(cron.lint(after_ms)),
        ]
    return body(*parts, _crontab_words(beside))


def _marked(text: str, position: int | None, token: str | None) -> str:
    """Return the text with the token at fault underlined, and little of what is far from it."""
    if position is None or not token:
        return ""
    end = position + len(token)
    before, after = text[max(0, position - 40) : position], text[end : end + 40]
    line = "text-decoration:underline wavy #D55E00 2px;text-underline-offset:4px;font-weight:700"
    return (
        '<pre style="font-size:115%;line-height:2;overflow-x:auto;background:none;color:inherit">'
        f"{'…' if position > 40 else ''}{_html.escape(before)}"
        f'<mark style="background:none;color:inherit;{line}">{_html.escape(token, 60)}</mark>'
        f"{_html.escape(after)}{'…' if len(text) > end + 40 else ''}</pre>"
    )


def _tick_table(cron: CronExpression, zone: str, after_ms: int, *, with_crontab: bool) -> str:
    ticks = cron.fires_ms(after_ms, _TICKS).tolist()
    gaps = [format_duration(b - a) for a, b in zip([after_ms, *ticks], ticks, strict=False)]
    columns = {"next ticks (UTC)": [_clock(tick, UTC) for tick in ticks]}
    note = ""
    try:
        place = _place(zone)
        columns[zone or "zone of the machine"] = [_clock(tick, place, " %Z") for tick in ticks]
    except ValueError as error:
        note = f"<p>{sentence(str(error))}</p>"
    columns["gap"] = [f"in {gap}" for gap in gaps[:1]] + gaps[1:]
    if with_crontab:
        theirs = crontab.crontab_fires_ms(cron.text, after_ms, _TICKS)
        columns["as a crontab (UTC)"] = [_clock(tick, UTC) for tick in theirs]
    rows = list(zip_longest(*columns.values()))
    return note + (_html.table(rows, list(columns)) if rows else "<p>No tick is left.</p>")


def _place(zone: str) -> tzinfo | None:
    """Return the zone of a name, None (the machine's) for none; raise ValueError."""
    try:
        return ZoneInfo(zone) if zone else None
    except (KeyError, ValueError, OSError):
        # A name that is a folder of the database, or no file name at all, ends in OSError.
        raise ValueError(
            f"time zone {zone[:40]!r} is none that is known; write one such as 'Europe/Berlin', or "
            "nothing for the zone of the machine"
        ) from None


def _clock(ms: int, place: tzinfo | None, more: str = "") -> str:
    # astimezone(None) asks the machine for its offset at that very instant.
    return f"{datetime.fromtimestamp(ms // 1000, UTC).astimezone(place):%a %Y-%m-%d %H:%M:%S{more}}"


def _finding_table(findings: Sequence[Finding]) -> str:
    rows = [(f.severity, f.message, f.suggestion) for f in findings]
    return _html.table(rows, ("finding", "what", "write instead")) if rows else ""


def _crontab_words(beside: comparison.Comparison) -> str:
    """Return in a sentence or two what the text means in a crontab."""
    if beside.verdict == "refused-both":
        return ""
    words = {"same": "it means the same", "refused-here": "it is accepted"}
    said = words.get(beside.verdict, beside.reason)
    parts = [f"<p><strong>In a crontab:</strong> {_html.escape(said, 600)}."]
    if beside.translation is not None and beside.translation.texts:
        texts = " and ".join(f"<code>{_html.escape(t)}</code>" for t in beside.translation.texts)
        parts.append(f" Write {texts} here for what a crontab means.")
    return "".join((*parts, "</p>"))
