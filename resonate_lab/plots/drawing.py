"""What all pictures share: a new Axes, an axis of time, names as safe text, empty states."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, ParamSpec

import matplotlib.dates as mdates
import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import Locator, MaxNLocator

from resonate_lab._html import plain
from resonate_lab.errors import FrameError
from resonate_lab.instants import format_duration

__all__ = [
    "CURVE_POINTS",
    "SPANS",
    "WIDTH",
    "as_days",
    "count_axis",
    "days",
    "duration_axis",
    "empty",
    "ink",
    "lanes_height",
    "ms_of",
    "name_lanes",
    "name_text",
    "new_axes",
    "png",
    "require",
    "round_span",
    "time_axis",
]

WIDTH = 11  # inches
CURVE_POINTS = 800  # of a curve; more would share pixels
_NAME_LENGTH = 36
_LEFTWARD = ("R", "AL", "AN")  # Unicode's classes of what is written from right to left
SPANS = tuple(  # ms: the lengths of time that a point of a curve or a bar may stand for
    seconds * 1000
    for seconds in (
        *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200),
        *(86_400, 604_800, 2_419_200, 31_536_000),
    )
)
_DURATIONS = (  # ms: the steps of an axis of durations, from milliseconds to centuries
    *(1, 2, 5, 10, 20, 50, 100, 200, 500),
    *(span for span in SPANS if span <= 86_400_000),
    *(86_400_000 * n for n in (2, 7, 14, 28, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)),
)
_PNG_DPI = 160  # sharp on paper and on a dense screen
_off_screen = ContextVar("_off_screen", default=False)
_Arguments = ParamSpec("_Arguments")


def require(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    """Raise FrameError, naming the first column that a frame lacks."""
    missing = [name for name in columns if name not in frame]
    if missing:
        present = ", ".join(map(str, frame.columns)) or "none"
        raise FrameError(f"the frame has no column {missing[0]!r}; its columns are {present}")


def days(column: pd.Series) -> npt.NDArray[np.float64]:
    """Return tz-aware instants as matplotlib's days."""
    utc = column.dt.tz_convert("UTC").dt.tz_localize(None)
    return as_days(utc.to_numpy(dtype="datetime64[ms]"))


def as_days(stamps: npt.NDArray[np.datetime64]) -> npt.NDArray[np.float64]:
    """Return UTC datetime64 as matplotlib's days."""
    days = mdates.date2num(stamps)  # type: ignore[no-untyped-call]
    return np.asarray(days, dtype=np.float64)


def ms_of(column: pd.Series) -> npt.NDArray[np.int64]:
    """Return tz-aware instants as ms since the Unix epoch, UTC."""
    utc = column.dt.tz_convert("UTC").dt.tz_localize(None)
    return np.asarray(utc.to_numpy(dtype="datetime64[ms]"), dtype=np.int64)


def new_axes(height: float) -> Axes:
    """Return the Axes of a new figure that is `WIDTH` wide and so many inches high."""
    if _off_screen.get():
        return Figure(figsize=(WIDTH, height), layout="constrained").subplots()
    # pyplot, so that a notebook shows the figure; imported here, since it chooses a
    # backend for the whole process.
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(WIDTH, height), layout="constrained")[1]


def png(
    draw: Callable[_Arguments, Axes], *args: _Arguments.args, **kwargs: _Arguments.kwargs
) -> bytes:
    """Return as PNG what a function of this package draws, for a file or a page.

    It is drawn on a figure of its own, so it works in any thread and leaves pyplot alone.

    Parameters
    ----------
    draw : callable
        a picture of this package, or the ``plot`` of an answer
    *args, **kwargs
        passed to it

    Examples
    --------
    >>> from resonate_lab import plots
    >>> png(plots.load_curve, pd.Series(1, pd.date_range("2024", periods=9, tz="UTC")))[1:4]
    b'PNG'
    """
    token = _off_screen.set(True)
    try:
        figure = draw(*args, **kwargs).get_figure(root=True)
    finally:
        _off_screen.reset(token)
    assert figure is not None
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=_PNG_DPI)
    return out.getvalue()


def lanes_height(lanes: int) -> float:
    """Return how high a figure of so many lanes is, in inches."""
    return min(1.7 + 0.3 * max(lanes, 3), 40)


def round_span(least: float) -> int:
    """Return a length of time that people have a name for, of at least so many ms."""
    return next((span for span in SPANS if span >= least), SPANS[-1])


def empty(ax: Axes, message: str) -> Axes:
    """Write why there is nothing to draw, and return the Axes."""
    ax.text(
        0.5, 0.5, message, ha="center", va="center", transform=ax.transAxes, alpha=0.7,
        parse_math=False,
    )  # fmt: skip
    ax.set_xticks([])
    ax.set_yticks([])
    return ax


def ink(ax: Axes) -> str:
    """Return the colour in which an Axes is lettered: black, or light where its style is dark."""
    return str(ax.xaxis.label.get_color())


def name_text(name: str) -> str:
    """Return an id as text that is safe to draw; a long one keeps its head and its tail."""
    text = plain(name, None)
    if len(text) > _NAME_LENGTH:
        text = f"{text[: _NAME_LENGTH // 2]}…{text[1 - _NAME_LENGTH // 2 :]}"
    if any(unicodedata.bidirectional(letter) in _LEFTWARD for letter in text):
        # Between two marks it turns neither the sentence around it nor the next name.
        return f"\u200e{text}\u200e"
    return text


def name_lanes(ax: Axes, names: Sequence[str]) -> None:
    """Write names down the y axis, the first on top, one a lane of height 1."""
    ax.set_yticks(range(len(names)), [name_text(name) for name in names], fontsize=8)
    for label in ax.get_yticklabels():
        # An id may hold dollar signs, which matplotlib would read as mathematics.
        label.set_parse_math(False)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(names) - 0.5, -0.5)


def count_axis(axis: Axis) -> None:
    """Let an axis show counts: whole numbers, as many as it has room for."""
    axis.set_major_locator(
        MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True, min_n_ticks=1)
    )
    axis.set_major_formatter("{x:,.0f}")


class _Durations(Locator):
    """Round durations, in seconds, as many as an axis has room for."""

    axis: Any

    def __call__(self) -> Sequence[float]:
        return self.tick_values(*self.axis.get_view_interval())

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """Return the ticks of a span that begins at nothing."""
        # Beside matplotlib's three letters a tick, since these have up to ten.
        room = min(max(self.axis.get_tick_space() // 2, 2), 7)
        fitting = (span for span in _DURATIONS if vmax * 1000 / span < room + 0.5)
        ticks: list[float] = np.arange(0, vmax, next(fitting, _DURATIONS[-1]) / 1000).tolist()
        return ticks


def duration_axis(ax: Axes, label: str) -> None:
    """Let the x axis show durations, in seconds from 0, on round steps."""
    ax.xaxis.set_major_formatter(lambda second, _: format_duration(round(second * 1000)))
    ax.xaxis.set_major_locator(_Durations())
    ax.set_xlabel(label, fontsize=8.5)


class _Instants(mdates.AutoDateLocator):
    """As many ticks as an axis has room for; matplotlib's own are a dozen on the shortest."""

    axis: Any

    def __init__(self) -> None:
        super().__init__(tz="UTC")  # type: ignore[no-untyped-call]
        self._most, self._least = dict(self.maxticks), self.minticks

    def get_locator(self, dmin: Any, dmax: Any) -> Any:
        """Return the locator for a span, as matplotlib asks for it before each drawing."""
        # Its room is in numbers of three letters; an instant has six, and a gap.
        room = max(self.axis.get_tick_space() * 3 // 5, 3)
        self.maxticks = {unit: min(most, room) for unit, most in self._most.items()}
        # Two days may be 48 hours, of which at least every twelfth would be written.
        self.minticks = min((room - 1) // 2, self._least)
        return super().get_locator(dmin, dmax)  # type: ignore[no-untyped-call]


def time_axis(ax: Axes, label: str) -> None:
    """Let the x axis show UTC instants, concisely, with a label below."""
    locator = _Instants()
    ax.xaxis.set_major_locator(locator)
    formatter = mdates.ConciseDateFormatter(locator, tz="UTC", show_offset=False)  # type: ignore[no-untyped-call]
    # A bare 30 among 10:00 and 10:01, or 06 before 07, could be anything.
    formatter.formats[2], formatter.formats[5] = "%b-%d", ":%S.%f"
    ax.xaxis.set_major_formatter(formatter)
    ax.set_xlabel(label, fontsize=8.5)
