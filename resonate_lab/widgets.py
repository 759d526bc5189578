"""Widgets for a notebook: type a cron text or drag an outage, and read the answer at once.

A widget holds the question, in its controls, and no answer. Whatever a control changes,
the answer is computed anew by the functions that give it without a widget. ``static()``
returns the same answer as plain HTML, for a notebook that is read without a kernel.

Every text that comes from outside passes `_html` on its way to the page.
"""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from io import BytesIO
from itertools import zip_longest
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, available_timezones

import ipywidgets
from IPython.display import HTML
from matplotlib.figure import Figure

from resonate_lab import _html, plots
from resonate_lab.cron import DIALECTS, CronError, CronExpression, crontab, lint
from resonate_lab.errors import ResonateLabError, WindowError
from resonate_lab.instants import EPOCH_END_MS, format_duration, format_instant, instant_ms
from resonate_lab.whatif import WhatIf, read_fleet, what_if
from resonate_lab.whatif.report import showcase

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from resonate_lab.instants import Instant
    from resonate_lab.whatif.fleet import Source

__all__ = ["CronExplorer", "OutageSimulator"]

_TICKS = 7  # a week of a daily schedule
_LANES = 8
_SLOTS = 240  # stops of the outage slider, about one to three pixels each
_ROWS = 8
_DAY_MS = 86_400_000
_STEPS_MS = [1000 * s for s in (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 7200, 21_600, 86_400)]
_SIGNS = {"o": "&#9679;", "x": "&times;", "s": "&#9633;", "|": "|"}
_TIMEOUTS = ("1m", "15m", "1h", "6h", "1d", "7d")

# Controls stand side by side while there is room, and below one another on a narrow screen.
_ROW = {"display": "flex", "flex_flow": "row wrap", "width": "100%"}
_ANSWER = {"width": "100%", "min_width": "0"}
# On a narrow screen a picture is scrolled, since its letters would be lost if it shrank further.
_PICTURE = {"width": "100%", "min_width": "560px", "max_width": "1000px", "flex": "0 0 auto"}
_WHOLE_LABEL = {"description_width": "initial"}


def _control(basis: str) -> dict[str, str]:
    return {"flex": f"1 1 {basis}", "width": "auto", "min_width": "0"}


def _shown(html: str) -> HTML:
    return HTML(html)  # type: ignore[no-untyped-call]


def _text(value: object, name: str, example: str) -> str:
    if not isinstance(value, str):
        raise TypeError(
            f"{name} is {value!r} of type {type(value).__name__}; give a text such as {example!r}"
        )
    return value


class _Live(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """Controls, and below them an answer that follows their values."""

    _controls: tuple[ipywidgets.Widget, ...] = ()

    def _assemble(
        self, controls: Sequence[ipywidgets.Widget], views: Sequence[ipywidgets.Widget]
    ) -> None:
        self.children = (ipywidgets.HBox(controls, layout=_ROW), *views)
        self._controls = tuple(controls)
        for control in controls:
            control.observe(self._follow, "value")
        self._follow()

    def _follow(self, _change: object = None) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Stop following the controls, and take the widget with all its parts off the page."""
        controls, self._controls = self._controls, ()
        for control in controls:
            control.unobserve(self._follow, "value")
        for child in self.children:
            for part in (*getattr(child, "children", ()), child):
                part.close()
        super().close()


# --- the cron explorer --------------------------------------------------------------------


class CronExplorer(_Live):
    """Type a cron text and see what it means: words, ticks, findings, the crontab reading.

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
            _text(text, "text", "0 9 * * MON-FRI"),
            description="Cron text",
            placeholder="0 9 * * MON-FRI",
            layout=_control("18em"),
        )
        self.dialect = ipywidgets.Dropdown(
            value=dialect, options=DIALECTS, description="Dialect", layout=_control("15em")
        )
        self.zone = ipywidgets.Combobox(
            value="" if zone is None else _text(zone, "zone", "Europe/Berlin"),
            options=sorted(available_timezones()),
            description="Time zone",
            placeholder="that of the machine",
            layout=_control("16em"),
        )
        self.answer = ipywidgets.HTML(layout=_ANSWER)
        self._assemble((self.text, self.dialect, self.zone), (self.answer,))

    def static(self) -> HTML:
        """Return the question and its answer as they stand, as HTML that needs no kernel."""
        asked = f"<code>{_html.escape(self.text.value)}</code> in dialect {self.dialect.value}"
        return _shown(f"<p>{asked}</p>{self._answer()}")

    def _follow(self, _change: object = None) -> None:
        self.answer.value = self._answer()

    def _answer(self) -> str:
        after = time.time_ns() // 1_000_000 if self._after_ms is None else self._after_ms
        return _meaning(self.text.value, self.dialect.value, self.zone.value.strip(), after)


def _supported(ms: int) -> int:
    if not 0 <= ms < EPOCH_END_MS:
        raise WindowError(f"after {format_instant(ms)} is outside 1970-2100; give an instant in it")
    return ms


def _meaning(text: str, dialect: str, zone: str, after_ms: int) -> str:
    """Return what a text means, or why it is refused, as HTML."""
    beside = crontab.verdict(text, CronExpression, after_ms, dialect=dialect)
    try:
        cron = CronExpression(text, dialect)
    except CronError as error:
        parts = [
            f'<p role="status"><strong>Refused.</strong> {_sentence(str(error))}</p>',
            _marked(text, error.position, error.token),
            _finding_table(lint.lint_refused(error, CronExpression, dialect)[1:]),
        ]
    else:
        parts = [
            f'<p role="status" style="font-size:115%">{_html.escape(cron.explain(), None)}</p>',
            _tick_table(cron, zone, after_ms, with_crontab=beside.verdict == "different"),
            _finding_table(cron.lint(after_ms)),
        ]
    return _body(*parts, _crontab_words(beside))


def _body(*parts: str) -> str:
    # Without the width, the widest table would widen its surroundings instead of scrolling.
    return f'<div style="width:0;min-width:100%;line-height:1.5">{"".join(parts)}</div>'


def _sentence(text: str) -> str:
    return f"{_html.escape(text[:1].upper() + text[1:], 800)}."


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
        note = f"<p>{_sentence(str(error))}</p>"
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


def _finding_table(findings: Sequence[lint.Finding]) -> str:
    rows = [(f.severity, f.message, f.suggestion) for f in findings]
    return _html.table(rows, ("finding", "what", "write instead")) if rows else ""


def _crontab_words(beside: crontab.Comparison) -> str:
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


# --- the outage simulator -----------------------------------------------------------------


class OutageSimulator(_Live):
    """Drag an outage over a fleet and see what its restart brings.

    Parameters
    ----------
    fleet : DataFrame, path or file object
        anything that `read_fleet` takes
    down, up : int, str, datetime or pandas.Timestamp
        instants: when the server stops and when it is back; the slider reaches further
    promise_timeout : str
        a duration such as ``"1h"``, for the schedules whose fleet names none

    Attributes
    ----------
    outage : ipywidgets.SelectionRangeSlider
        its ``value`` is the pair (down, up), ms since the Unix epoch, UTC
    timeout : ipywidgets.Combobox
        its ``value`` is the promise timeout as text
    counters, picture, tables : ipywidgets.HTML, ipywidgets.Image, ipywidgets.HTML
        the answer

    Raises
    ------
    FleetError
        the fleet cannot be read
    InstantError, DurationError, TypeError
        an argument is no instant, no duration or no text
    WindowError
        `up` is before `down`, the outage leaves 1970-2100, or it holds too many ticks

    Notes
    -----
    A question that a control makes and `what_if` refuses is answered by its sentence.

    Examples
    --------
    >>> import pandas as pd
    >>> fleet = pd.DataFrame({"id": ["report"], "cron": ["*/10 * * * *"]})
    >>> simulator = OutageSimulator(fleet, "2024-03-01 00:05", "2024-03-01 02:00")
    >>> "missed ticks" in simulator.counters.value
    True
    >>> simulator.close()
    """

    def __init__(
        self, fleet: Source, down: Instant, up: Instant, *, promise_timeout: str = "1h"
    ) -> None:
        self._fleet = read_fleet(fleet)
        timeout = _text(promise_timeout, "promise_timeout", "1h")
        asked = what_if(self._fleet, (down, up), promise_timeout=timeout)
        # Chosen once, so that the lanes stay where they are while the outage is dragged.
        ids = asked.fleet["id"].tolist()
        self._lanes = list(dict.fromkeys((*showcase(asked, _LANES), *ids)))[:_LANES]
        self._timeline = _Timeline(self._lanes)
        super().__init__()
        begin, end = (instant_ms(at) for at in asked.down)
        self.outage = ipywidgets.SelectionRangeSlider(
            options=[(_slot_label(at), at) for at in _slots(begin, end)],
            value=(begin, end),
            description="Server down",
            tooltip="Drag an end, or go to it with Tab and move it with the arrow keys",
            readout=False,  # too long for its place; the first line of the answer says it
            style=_WHOLE_LABEL,
            layout=_control("36em"),
        )
        self.timeout = ipywidgets.Combobox(
            value=timeout,
            options=_TIMEOUTS,
            description="Promise timeout",
            style=_WHOLE_LABEL,
            layout=_control("14em"),
        )
        self.counters = ipywidgets.HTML(layout=_ANSWER)
        self.picture = ipywidgets.Image(format="png", layout=_PICTURE)
        self.tables = ipywidgets.HTML(layout=_ANSWER)
        frame = ipywidgets.Box((self.picture,), layout={"width": "100%", "overflow": "auto hidden"})
        self._assemble((self.outage, self.timeout), (self.counters, frame, self.tables))

    def static(self) -> HTML:
        """Return the question and its answer as they stand, as HTML that needs no kernel."""
        try:
            asked = self._ask()
        except ResonateLabError as error:
            return _shown(_problem(error))
        picture = _picture_tag(asked, self._timeline.png(asked))
        return _shown(_counters(asked) + picture + _tables(asked, self._lanes))

    def _follow(self, _change: object = None) -> None:
        try:
            asked = self._ask()
        except ResonateLabError as error:
            self.counters.value, self.tables.value = _problem(error), ""
            self.picture.layout.display = "none"
            return
        self.counters.value = _counters(asked)  # first what is there first
        self.picture.value = self._timeline.png(asked)
        self.picture.layout.display = None
        self.tables.value = _tables(asked, self._lanes)

    def _ask(self) -> WhatIf:
        return what_if(self._fleet, self.outage.value, promise_timeout=self.timeout.value)


def _slots(down: int, up: int) -> list[int]:
    """Return the instants at which an outage may begin and end: a grid, and the given two."""
    reach = max(up - down, 3_600_000)
    low, high = max(0, down - reach), min(EPOCH_END_MS - 1, up + 2 * reach)
    coarse = -(-(high - low) // (_SLOTS * _DAY_MS)) * _DAY_MS
    step = next((step for step in _STEPS_MS if (high - low) // step <= _SLOTS), coarse)
    return sorted({down, up, *range(-(-low // step) * step, high + 1, step)})


def _slot_label(ms: int) -> str:
    moment = datetime.fromtimestamp(ms // 1000, UTC)
    return f"{moment:%a %Y-%m-%d %H:%M}{f':{moment:%S}' if moment.second else ''}Z"


def _problem(error: ResonateLabError) -> str:
    return _body(f'<p role="status"><strong>No answer.</strong> {_sentence(str(error))}</p>')


def _counters(asked: WhatIf) -> str:
    n, load = asked.counters, asked.load
    figures = {
        "missed ticks": n["missed"],
        "execute messages at restart": n["dispatched"],
        "promises born expired": n["expired"],
        "most promises created in a minute": load["created"].max() if len(load) else 0,
        "most ticks due in a minute": load["due"].max() if len(load) else 0,
        f"of {n['schedules']:,} schedules hit": n["schedules"] - n["idle"],
        f"of {n['schedules'] + n['refused']:,} rows refused": n["refused"],
    }
    cells = (
        f'<div><div style="font-size:150%;font-weight:600">{number:,}</div><div>{name}</div></div>'
        for name, number in figures.items()
    )
    start, up = (instant_ms(at) for at in asked.down)
    return _body(
        f'<p role="status">Server down for {format_duration(up - start)}, from '
        f"{format_instant(start)} to {format_instant(up)}.</p>",
        f'<div style="display:flex;flex-wrap:wrap;gap:0.6em 2em">{"".join(cells)}</div>',
    )


class _Timeline:
    """Draws outages one after another on the same Axes.

    New axes with their ticks would take a quarter of the time that a picture takes.
    """

    def __init__(self, lanes: Sequence[str]) -> None:
        self._lanes = lanes
        self._ax = self._new_axes()

    def _new_axes(self) -> Axes:
        height = 0.8 + 0.28 * max(len(self._lanes), 2)
        figure = Figure(figsize=(10, height), dpi=100)
        return figure.add_axes((0.22, 0.5 / height, 0.77, 1 - 0.6 / height))

    def png(self, asked: WhatIf) -> bytes:
        """Return the picture of an outage."""
        if asked.ticks["schedule_id"].isin(self._lanes).any():
            return _saved(self._drawn(asked))
        return _saved(asked.plot(ax=self._new_axes(), lanes=()))

    def _drawn(self, asked: WhatIf) -> Axes:
        ax = self._ax
        for old in (*ax.collections, *ax.lines, *ax.patches):
            old.remove()
        asked.plot(ax=ax, lanes=self._lanes, max_lanes=_LANES)
        # A drawn letter costs matplotlib a tenth of a millisecond: what the page says in text
        # is not drawn.
        for said in filter(None, (ax.get_legend(), *ax.texts)):
            said.remove()
        ax.set_ylim(len(self._lanes) - 0.5, -0.5)
        ax.set_title("", loc="left")
        ax.set_xlabel("time (UTC)", fontsize=8)
        return ax


def _saved(ax: Axes) -> bytes:
    out = BytesIO()
    figure = ax.figure
    assert isinstance(figure, Figure)  # and no part of one
    figure.savefig(out, format="png", pil_kwargs={"compress_level": 1})
    return out.getvalue()


def _picture_tag(asked: WhatIf, png: bytes) -> str:
    words = f"Timeline of the outage. {_html.escape(asked.headline(), 400)}."
    style = "width:100%;min-width:560px;max-width:1000px"
    source = f"data:image/png;base64,{b64encode(png).decode()}"
    return _body(
        f'<div style="overflow-x:auto"><img alt="{words}" style="{style}" src="{source}"></div>'
    )


def _of_lanes(asked: WhatIf, lanes: Sequence[str]) -> pd.DataFrame:
    """Return the summary of the schedules of the picture, in its order."""
    columns = ["cron", "missed", "dispatched", "expired"]
    summary = asked.summary.set_index("schedule_id")[columns]
    # The outage decides whether an expression that runs out is accepted.
    return summary.loc[[name for name in lanes if name in summary.index]].reset_index()


def _tables(asked: WhatIf, lanes: Sequence[str]) -> str:
    """Return the schedules of the picture, the first tags, and the rows that are refused."""
    tags = asked.tags.head(_ROWS)
    tags = tags.astype(object).where(tags.notna(), None).reset_index()
    refused = asked.refused.head(_ROWS)
    tables = (
        ("Schedules in the picture", _of_lanes(asked, lanes), len(asked.fleet)),
        ("First promises fired, one column a tag", tags, len(asked.tags)),
        ("Rows refused, which Resonate would not create", refused, len(asked.refused)),
    )
    shown_tables = (
        _html.table(
            frame.astype(object).to_numpy().tolist(),
            [str(name).replace("_", " ") for name in frame.columns],
            limit=len(frame),
            caption=caption,
            total=total,
        )
        for caption, frame, total in tables
        if total
    )
    return _body(_legend(asked), *shown_tables)


def _legend(asked: WhatIf) -> str:
    states = set(
        asked.ticks["state"].astype(object).where(asked.ticks["state"].notna(), "existing")
    )
    signs = "".join(
        f'<span style="color:{style.color};font-weight:700">{_SIGNS[style.marker]}</span> '
        f"{style.label}; "
        for state, style in plots.STATE_STYLE.items()
        if state in states
    )
    return f"<p>{signs}a sign stands at a tick's logical time, a line leads to its firing.</p>"
