"""The timeline that pans and zooms, however many ticks there are."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

import ipywidgets
from IPython.display import HTML
from matplotlib.figure import Figure

from resonate_lab import plots
from resonate_lab.instants import format_duration, format_instant, instant_ms, timestamp
from resonate_lab.widgets.base import (
    ANSWER,
    PICTURE,
    WHOLE_LABEL,
    bare_axes,
    bare_slider,
    body,
    button,
    emptied,
    picture_tag,
    png,
    scrolled,
    shown,
    state_signs,
)
from resonate_lab.widgets.beside import Answering

if TYPE_CHECKING:
    import pandas as pd

    from resonate_lab.instants import Instant

__all__ = ["TickTimeline"]

_LEAST_MS = 10_000  # of a window
_LIGHT_TICKS = 20_000  # drawn at once; windows on more are drawn beside the kernel
_STEPS = 1_000  # of the whole, in which a window begins; a window moves by less when it is small


class TickTimeline(Answering):
    """Pan and zoom through the ticks of an outage, up to millions of them.

    Only what the window shows is drawn, and where it shows more ticks than there are pixels,
    they are counted by pixel first; see `plots.catch_up_timeline`. In a notebook the picture
    of more than 20,000 ticks is drawn beside the kernel, which stays free.

    Parameters
    ----------
    ticks : DataFrame
        one row a tick, as in `WhatIf.ticks` or `frames.ticks`
    down : (start, up), optional
        the outage to shade
    lanes : int
        schedules to draw, the first of the frame

    Attributes
    ----------
    zoom : ipywidgets.SelectionSlider
        its ``value`` is the length of the window, ms
    place : ipywidgets.FloatSlider
        its ``value`` says where the middle of the window is: 0 is the first tick, 1 the last
    earlier, later : ipywidgets.Button
        half a window back, half a window on
    window : pair of int
        the window on show, ms since the Unix epoch, UTC
    progress : ipywidgets.FloatProgress
        shown while a picture is drawn that takes long
    words, picture : ipywidgets.HTML, ipywidgets.Image
        the answer

    Raises
    ------
    FrameError
        a column is missing
    ValueError
        `lanes` is less than 1

    Examples
    --------
    >>> import pandas as pd, resonate_lab as rl
    >>> fleet = pd.DataFrame({"id": ["report"], "cron": ["*/10 * * * *"]})
    >>> outage = rl.what_if(fleet, down=("2024-03-01", "2024-03-02"))
    >>> timeline = TickTimeline(outage.ticks, outage.down)
    >>> timeline.zoom.index = 3  # an eighth of it
    >>> "18 ticks" in timeline.words.value
    True
    >>> timeline.close()
    """

    _doing = "Drawing"

    def __init__(
        self, ticks: pd.DataFrame, down: tuple[Instant, Instant] | None = None, *, lanes: int = 16
    ) -> None:
        # Which refuses what it cannot draw, before anything is on a page.
        plots.catch_up_timeline(ticks.head(1), ax=Figure().subplots(), max_lanes=lanes)
        self._lanes = ticks["schedule_id"].unique().tolist()[:lanes]
        self._down = down
        # In the order of time a window is a slice, and a category needs no look at the ids.
        ordered = ticks.sort_values("scheduled_at", kind="stable")
        self._ticks = ordered.assign(schedule_id=ordered["schedule_id"].astype("category"))
        at = self._ticks["scheduled_at"]
        self._first = instant_ms(at.iloc[0]) if len(at) else 0
        self._last = instant_ms(at.iloc[-1]) if len(at) else 0
        self._ax = bare_axes(1.0 + 0.28 * max(len(self._lanes), 2), left=0.24)
        self._signs = state_signs(self._ticks)
        # A static twin may be asked for while the thread draws.
        self._drawing = Lock()
        super().__init__()
        spans = _spans(self._last - self._first)
        self.zoom = ipywidgets.SelectionSlider(
            options=[(format_duration(span), span) for span in spans],
            value=spans[0],
            description="Window",
            readout=False,  # too long for its place; the first line of the answer says it
            style=WHOLE_LABEL,
            layout=bare_slider("18em"),
        )
        self.place = ipywidgets.FloatSlider(
            value=0.5, min=0, max=1, step=1 / _STEPS, description="Middle", readout=False,
            style=WHOLE_LABEL, layout=bare_slider("18em"),
        )  # fmt: skip
        self.earlier = button("◀ Earlier", "Half a window back")
        self.later = button("Later ▶", "Half a window on")
        self.words = ipywidgets.HTML(layout=ANSWER)
        self.picture = ipywidgets.Image(format="png", layout=PICTURE)
        self._heed(self.earlier, self._back)
        self._heed(self.later, self._on)
        controls = (self.zoom, self.place, self.earlier, self.later)
        self._assemble(controls, (self.progress, self.words, scrolled(self.picture)))

    @property
    def window(self) -> tuple[int, int]:
        """The window on show, ms since the Unix epoch, UTC."""
        span, whole = self.zoom.value, self._last - self._first
        begin = self._first + round(self.place.value * whole) - span // 2
        begin = max(self._first, min(begin, self._last - span))
        return begin, begin + span

    def static(self) -> HTML:
        """Return the window on show as HTML that needs no kernel."""
        begin, end = self.window
        words = f"Timeline from {format_instant(begin)} to {format_instant(end)}."
        return shown(self._words() + picture_tag(words, self._answered(self.window)))

    def _back(self, _button: object = None) -> None:
        self._move(-0.5)

    def _on(self, _button: object = None) -> None:
        self._move(0.5)

    def _move(self, windows: float) -> None:
        whole = max(self._last - self._first, 1)
        begin, end = self.window
        # From where the window is, not from where the slider would have it.
        middle = ((begin + end) / 2 - self._first + windows * (end - begin)) / whole
        self.place.value = min(max(middle, 0.0), 1.0)

    def _follow(self, change: object = None) -> None:
        whole = max(self._last - self._first, 1)
        self.place.step = min(1 / _STEPS, self.zoom.value / whole / 10)
        self.words.value = self._words()  # first what is there first
        super()._follow(change)

    def _light(self) -> bool:
        return len(self._ticks) <= _LIGHT_TICKS

    def _question(self) -> tuple[int, int]:
        return self.window

    def _show(self, answer: bytes) -> None:
        self.picture.value = answer
        self.picture.layout.display = None

    def _words(self) -> str:
        if self._ticks.empty:
            return body('<p role="status">There is no tick.</p>')
        begin, end = self.window
        at = self._ticks["scheduled_at"]
        low, high = at.searchsorted([timestamp(begin), timestamp(end + 1)])
        lanes = f", in the {len(self._lanes):,} schedules drawn and others" * (
            len(self._lanes) < len(self._ticks["schedule_id"].cat.categories)
        )
        due = "1 tick of {} is" if high - low == 1 else f"{high - low:,} ticks of {{}} are"
        return body(
            f'<p role="status">{due.format(f"{len(at):,}")} due from '
            f"{format_instant(begin)} to {format_instant(end)}, "
            f"{format_duration(end - begin)}{lanes}.</p>",
            f"<p>{self._signs}a sign stands at a tick's logical time. Where ticks are many, each "
            "state has a strip of the lane instead, in this order; the darker it is, the more.</p>",
        )

    def _answered(self, question: tuple[int, int]) -> bytes:
        with self._drawing:
            return png(
                plots.catch_up_timeline(
                    self._ticks,
                    down=self._down,
                    window=question,
                    lanes=self._lanes,
                    max_lanes=max(len(self._lanes), 1),
                    words=False,
                    ax=emptied(self._ax),
                )
            )


def _spans(whole: int) -> list[int]:
    """Return the lengths of window to choose from, ms: the whole, and halves of halves."""
    spans = [max(whole, 1)]
    while spans[-1] // 2 >= _LEAST_MS:
        spans.append(spans[-1] // 2)
    return spans
