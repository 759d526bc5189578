"""Pictures of frames: a frame and an Axes in, the Axes out.

Nothing here knows where a frame comes from; a column that is missing is named. No
function shows a figure or touches rcParams, and none draws an artist per row: a million
ticks become one scatter a state, thinned to what the pixels can tell apart.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import matplotlib.dates as mdates
import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from resonate_lab._html import plain
from resonate_lab.errors import FrameError
from resonate_lab.instants import format_duration, format_instant, instant_ms

if TYPE_CHECKING:
    from resonate_lab.instants import Instant

__all__ = [
    "STATE_STYLE",
    "StateStyle",
    "calendar",
    "catch_up_timeline",
    "hour_by_day",
    "load_curve",
    "policy_bars",
    "timeline_png",
]


class StateStyle(NamedTuple):
    """How one state looks: its colour, its marker and its words, never colour alone."""

    color: str
    marker: str
    size: float  # points squared
    label: str


# The palette of Okabe and Ito, which stays apart in the three common colour-vision
# deficiencies; in greyscale the markers tell: filled disc, cross, hollow square.
STATE_STYLE: Mapping[str, StateStyle] = MappingProxyType(
    {
        "pending": StateStyle("#0072B2", "o", 22, "created pending, in time"),
        "rejected_timedout": StateStyle("#D55E00", "x", 14, "born expired (rejected_timedout)"),
        "resolved": StateStyle("#009E73", "s", 16, "born resolved (timer)"),
        "existing": StateStyle("#767676", "|", 22, "id existed: nothing created"),
    }
)
"""Look of each state at creation; ``existing`` stands for a missing state."""

_BORN_SETTLED = ["resolved", "rejected_timedout"]
_HOLLOW = {"s"}
_MARKERS_ACROSS = 150  # more would touch, and their shapes would be lost
_FAN_LINES = 48
_NAME_LENGTH = 36
_WIDTH = 11  # inches
_TICK_RAIL, _FIRE_RAIL = -0.16, 0.30


def catch_up_timeline(
    ticks: pd.DataFrame,
    *,
    down: tuple[Instant, Instant] | None = None,
    ax: Axes | None = None,
    max_lanes: int = 30,
    lanes: Sequence[str] | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw when missed ticks were due and when they fire: one lane a schedule.

    In a lane a marker stands at the logical time of each tick, and a fan of thin lines
    leads from there to the instant of firing. The outage is shaded. How many messages a
    lane sends and how many of its promises are born expired stands at its right end.

    Parameters
    ----------
    ticks : DataFrame
        one row a missed tick, with the columns ``schedule_id``, ``scheduled_at``,
        ``fired_at`` (tz-aware), ``state`` and ``dispatched``, as in `WhatIf.ticks`
    down : (start, up), optional
        the outage to shade; default: from the first tick to the last firing
    ax : Axes, optional
        default: a new figure, as high as the lanes need
    max_lanes : int
        schedules to draw; the others are summed up in one line
    lanes : sequence of str, optional
        the schedules to draw, top to bottom; default: in the order of the frame
    **kwargs
        passed to `Axes.scatter`, for every state

    Returns
    -------
    Axes
        the one that was given, or the new one

    Raises
    ------
    FrameError
        a column is missing
    ValueError
        `max_lanes` is less than 1

    Notes
    -----
    Ticks of one state that would cover one another are drawn once, so that a million of
    them cost no more than the lanes have room for; the numbers at the right count all.
    """
    _require(ticks, ("schedule_id", "scheduled_at", "fired_at", "state", "dispatched"))
    if max_lanes < 1:
        raise ValueError(f"max_lanes is {max_lanes}, but at least one lane must be drawn")
    ids = ticks["schedule_id"].astype(object)
    every = list(dict.fromkeys(lanes)) if lanes is not None else ids.unique().tolist()
    names = every[:max_lanes]
    lane = pd.Index(names).get_indexer(pd.Index(ids)) if names else np.array([], dtype=np.intp)
    if ax is None:
        ax = _new_axes(_height(len(names) + (len(names) < len(every))))
    if not names or ticks.empty:
        return _empty(ax, "no tick was missed")
    shown = lane >= 0
    drawn = _Drawn.of(ticks[shown], lane[shown])
    _shade(ax, ticks, down)
    _lane_rules(ax, len(names))
    _fans(ax, drawn)
    _markers(ax, drawn, kwargs)
    _name_lanes(ax, names, drawn)
    if len(every) > len(names) or not shown.all():
        _more(ax, ticks, shown, len(names))
    _finish(ax, ticks, down)
    return ax


def timeline_png(
    ticks: pd.DataFrame,
    *,
    down: tuple[Instant, Instant] | None = None,
    max_lanes: int = 24,
    lanes: Sequence[str] | None = None,
) -> bytes:
    """Return a catch-up timeline as PNG, for a file or a page; see `catch_up_timeline`.

    It is drawn on a figure of its own, so it works in any thread and leaves pyplot alone.
    """
    names = ticks["schedule_id"].unique() if lanes is None else lanes
    height = _height(min(max_lanes, len(names)) + 1)
    figure = Figure(figsize=(_WIDTH, height), dpi=160, layout="constrained")
    catch_up_timeline(ticks, down=down, ax=figure.subplots(), max_lanes=max_lanes, lanes=lanes)
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()


def policy_bars(comparison: pd.DataFrame, *, ax: Axes | None = None, **kwargs: Any) -> Axes:
    """Draw what each policy does with the same missed ticks: one bar a policy.

    A bar is as long as there are missed ticks: filled as far as they start a run, hatched
    where they are lost, dotted where the policy promises nothing. How late the starts
    are and how many run at once stands at its right end.

    Parameters
    ----------
    comparison : DataFrame
        one row a policy, with the columns ``policy``, ``missed``, ``starts``, ``lost``,
        ``min_lateness``, ``max_lateness`` and ``peak``, as `policies.compare` returns it
    ax : Axes, optional
        default: a new figure, as high as the bars need
    **kwargs
        passed to `Axes.barh`, for every bar

    Returns
    -------
    Axes
        the one that was given, or the new one

    Raises
    ------
    FrameError
        a column is missing
    """
    _require(comparison, _POLICY_COLUMNS)
    if ax is None:
        ax = _new_axes(_height(len(comparison)))
    missed = comparison["missed"].to_numpy(dtype=np.int64)
    if not missed.any():
        return _empty(ax, "no tick was missed")
    counts = {
        name: comparison[name].fillna(0).to_numpy(dtype=np.int64) for name in ("starts", "lost")
    }
    counts["unstated"] = np.where(comparison["starts"].isna(), missed, 0)
    left = np.zeros(len(missed), dtype=np.int64)
    for name, look in _FATE_STYLE.items():
        shown = np.flatnonzero(counts[name])
        if len(shown):
            bars = {"height": 0.62, "linewidth": 0.9, **look, **kwargs}
            ax.barh(shown, counts[name][shown], left=left[shown], **bars)
        left += counts[name]
    _name_bars(ax, comparison)
    ax.set_title(
        f"{missed.max():,} missed tick{'s' if missed.max() > 1 else ''} under "
        f"{len(comparison):,} polic{'ies' if len(comparison) > 1 else 'y'}",
        loc="left",
        fontsize=10,
        pad=22,
    )
    ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=3, fontsize=8, frameon=False,
        borderaxespad=0.2, handletextpad=0.5, borderpad=0.1,
    )  # fmt: skip
    ax.set_xlim(0, missed.max() * 1.004)  # the last edge is drawn whole
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set_xlabel("missed ticks", fontsize=8.5)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    return ax


_POLICY_COLUMNS = (
    *("policy", "missed", "starts", "lost"),
    *("min_lateness", "max_lateness", "peak"),
)

# Filled, hatched and dotted: they stay apart without their colours.
_FATE_STYLE: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "starts": {"color": "#0072B2", "label": "starts a run"},
        "lost": {
            "facecolor": "none", "edgecolor": "#D55E00", "hatch": "////", "label": "lost",
        },
        "unstated": {
            "facecolor": "none", "edgecolor": "#767676", "linestyle": ":",
            "label": "the system promises nothing",
        },
    }
)  # fmt: skip


def _name_bars(ax: Axes, comparison: pd.DataFrame) -> None:
    names = [_lane_name(name) for name in comparison["policy"]]
    ax.set_yticks(range(len(names)), names, fontsize=8)
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(names) - 0.5, -0.5)
    for bar, row in enumerate(comparison[list(_POLICY_COLUMNS)].itertuples(index=False)):
        ax.annotate(
            _fate_text(row),
            (1.01, bar),
            xycoords=ax.get_yaxis_transform(),
            va="center",
            fontsize=7.5,
            annotation_clip=False,
        )


def _fate_text(row: Any) -> str:
    if pd.isna(row.starts):
        return "not stated"
    if not row.starts:
        return f"none of {row.missed:,}"
    late = dict.fromkeys(
        format_duration(span // pd.Timedelta(milliseconds=1))
        for span in (row.min_lateness, row.max_lateness)
    )
    return f"{row.starts:,} of {row.missed:,}, {row.peak:,} at once, late {' to '.join(late)}"


class _Drawn(NamedTuple):
    """The ticks of the lanes to draw, as arrays; times in matplotlib's days."""

    lane: npt.NDArray[np.intp]
    at: npt.NDArray[np.float64]
    fired: npt.NDArray[np.float64]
    state: npt.NDArray[np.object_]
    dispatched: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, ticks: pd.DataFrame, lane: npt.NDArray[np.intp]) -> _Drawn:
        state = ticks["state"].astype(object)
        return cls(
            lane,
            _days(ticks["scheduled_at"]),
            _days(ticks["fired_at"]),
            state.where(state.notna(), "existing").to_numpy(dtype=object),
            ticks["dispatched"].to_numpy(dtype=bool),
        )

    def take(self, keep: npt.NDArray[Any]) -> _Drawn:
        return _Drawn(*(column[keep] for column in self))


def _require(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    missing = [name for name in columns if name not in frame]
    if missing:
        present = ", ".join(map(str, frame.columns)) or "none"
        raise FrameError(f"the frame has no column {missing[0]!r}; its columns are {present}")


def _days(column: pd.Series) -> npt.NDArray[np.float64]:
    utc = column.dt.tz_convert("UTC").dt.tz_localize(None)
    return _as_days(utc.to_numpy(dtype="datetime64[ms]"))


def _as_days(stamps: npt.NDArray[np.datetime64]) -> npt.NDArray[np.float64]:
    days = mdates.date2num(stamps)  # type: ignore[no-untyped-call]
    return np.asarray(days, dtype=np.float64)


def _new_axes(height: float) -> Axes:
    # pyplot, so that a notebook shows the figure; imported here, since it chooses a
    # backend for the whole process.
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(_WIDTH, height), layout="constrained")[1]


def _height(lanes: int) -> float:
    return min(1.7 + 0.3 * max(lanes, 3), 40)


def _empty(ax: Axes, message: str) -> Axes:
    ax.text(0.5, 0.5, message, ha="center", va="center", transform=ax.transAxes, alpha=0.7)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_xlabel("time (UTC)")
    return ax


def _window(ticks: pd.DataFrame, down: tuple[Instant, Instant] | None) -> tuple[int, int]:
    if down is not None:
        start, up = down
        return instant_ms(start, "down[0]"), instant_ms(up, "down[1]")
    first, last = ticks["scheduled_at"].min(), ticks["fired_at"].max()
    return instant_ms(first), instant_ms(last)


def _shade(ax: Axes, ticks: pd.DataFrame, down: tuple[Instant, Instant] | None) -> None:
    start, up = _as_days(np.array(_window(ticks, down), dtype="datetime64[ms]")).tolist()
    ax.axvspan(start, up, color="#888888", alpha=0.13, lw=0, zorder=0)
    ax.axvline(up, color="#555555", lw=1.2, zorder=1)
    margin = (up - start) * 0.02 or 1 / 1440
    ax.set_xlim(start - margin, up + margin)


def _lane_rules(ax: Axes, lanes: int) -> None:
    heights = np.arange(lanes) + 0.5
    ax.hlines(heights, 0, 1, transform=ax.get_yaxis_transform(), color="#888888", lw=0.4, alpha=0.5)


def _fans(ax: Axes, drawn: _Drawn) -> None:
    """Lead from tick to firing, with at most `_FAN_LINES` lines a lane and state."""
    for state, style in STATE_STYLE.items():
        own = drawn.take(drawn.state == state)
        if not len(own.lane):
            continue
        # The how-manieth of its lane each tick is, over the lane's size: an even sample.
        order = np.argsort(own.lane, kind="stable")
        own = own.take(order)
        sizes = np.bincount(own.lane)
        rank = np.arange(len(own.lane)) - (np.cumsum(sizes) - sizes)[own.lane]
        stride = np.maximum(1, -(-sizes // _FAN_LINES))[own.lane]
        own = own.take(rank % stride == 0)
        segments = np.empty((len(own.lane), 2, 2))
        segments[:, 0, 0], segments[:, 0, 1] = own.at, own.lane + _TICK_RAIL
        segments[:, 1, 0], segments[:, 1, 1] = own.fired, own.lane + _FIRE_RAIL
        ax.add_collection(
            LineCollection(list(segments), colors=style.color, linewidths=0.5, alpha=0.3, zorder=2),
            autolim=False,
        )


def _markers(ax: Axes, drawn: _Drawn, kwargs: dict[str, Any]) -> None:
    drawn = _thinned(drawn)
    for state, style in STATE_STYLE.items():
        own = drawn.take(drawn.state == state)
        if not len(own.lane):
            continue
        look: dict[str, Any] = {
            "s": style.size,
            "marker": style.marker,
            "linewidths": 1.1,
            "label": style.label,
            "zorder": 3,
        }
        if style.marker in _HOLLOW:
            look |= {"facecolors": "none", "edgecolors": style.color}
        else:
            look["color"] = style.color
        ax.scatter(own.at, own.lane + _TICK_RAIL, **(look | kwargs))


def _thinned(drawn: _Drawn) -> _Drawn:
    """Return the first tick of each lane, state and marker's width."""
    if not len(drawn.at):
        return drawn
    low, high = drawn.at.min(), drawn.at.max()
    column = ((drawn.at - low) / ((high - low) or 1) * _MARKERS_ACROSS).astype(np.int64)
    state = pd.factorize(drawn.state)[0]
    key = (drawn.lane * (_MARKERS_ACROSS + 1) + column) * len(STATE_STYLE) + state
    return drawn.take(np.unique(key, return_index=True)[1])


def _name_lanes(ax: Axes, names: Sequence[str], drawn: _Drawn) -> None:
    count = len(names)
    ax.set_yticks(range(count), [_lane_name(name) for name in names], fontsize=8)
    for label in ax.get_yticklabels():
        # An id may hold dollar signs, which matplotlib would read as mathematics.
        label.set_parse_math(False)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(count - 0.5, -0.5)
    sent = np.bincount(drawn.lane[drawn.dispatched], minlength=count)
    born = np.isin(drawn.state, _BORN_SETTLED)
    expired = np.bincount(drawn.lane[born], minlength=count)
    for lane in range(count):
        ax.annotate(
            f"{sent[lane]:,} sent, {expired[lane]:,} expired",
            (1.005, lane),
            xycoords=ax.get_yaxis_transform(),
            va="center",
            fontsize=7.5,
            annotation_clip=False,
        )


def _lane_name(name: str) -> str:
    """Return an id as text that is safe to draw; a long one keeps its head and its tail."""
    text = plain(name, None)
    if len(text) <= _NAME_LENGTH:
        return text
    return f"{text[: _NAME_LENGTH // 2]}…{text[1 - _NAME_LENGTH // 2 :]}"


def _more(ax: Axes, ticks: pd.DataFrame, shown: npt.NDArray[np.bool_], lanes: int) -> None:
    rest = ticks[~shown]
    schedules = rest["schedule_id"].nunique()
    if not schedules:
        return
    ax.set_ylim(lanes + 0.5, -0.5)
    ax.annotate(
        f"and {schedules:,} more schedule{'s' if schedules > 1 else ''} with {len(rest):,} ticks",
        (0.01, lanes),
        xycoords=ax.get_yaxis_transform(),
        va="center",
        fontsize=8,
        style="italic",
    )


def _finish(ax: Axes, ticks: pd.DataFrame, down: tuple[Instant, Instant] | None) -> None:
    start, up = _window(ticks, down)
    sent = int(ticks["dispatched"].sum())
    born = int(ticks["state"].isin(_BORN_SETTLED).sum())
    ax.set_title(
        f"{format_duration(up - start)} down: {len(ticks):,} missed ticks, "
        f"{sent:,} execute messages at restart, {born:,} promises born expired",
        loc="left",
        fontsize=10,
        pad=22,
    )
    if ax.get_legend_handles_labels()[0]:
        ax.legend(
            loc="lower left", bbox_to_anchor=(0, 1), ncols=4, fontsize=8, frameon=False,
            borderaxespad=0.2, handletextpad=0.3, borderpad=0.1,
        )  # fmt: skip
    _time_axis(
        ax,
        f"time (UTC), {format_instant(start)} to {format_instant(up)}\n"
        "a marker stands at a tick's logical time; a line leads from it to its firing",
    )
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)


# ---- load: ticks a bin

_HOUR, _DAY = 3_600_000, 86_400_000  # ms
_COLORS = "cividis"  # apart in every colour vision, and its lightness alone tells the order
_OUTSIDE = "#d9d9d9"
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAYS_NAMED = 45  # more days than that have no room for their names
_WEEKS_NAMED = 10
_FRAMED = 12  # cells; more frames say nothing
_CURVE_POINTS = 800
_SPANS = tuple(  # ms: the lengths of time that bins of a curve are drawn together in
    seconds * 1000
    for seconds in (
        *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200),
        *(86_400, 604_800, 2_419_200, 31_536_000),
    )
)
# Line styles tell the curves apart where colours do not.
_CURVES = (("#0072B2", "-"), ("#D55E00", "--"), ("#009E73", ":"), ("#000000", "-."))

Show = Literal["sum", "peak"]


def hour_by_day(
    load: pd.Series, *, show: Show = "sum", ax: Axes | None = None, **kwargs: Any
) -> Axes:
    """Draw a load as a heat map: one column a day, one row an hour of the day.

    Parameters
    ----------
    load : Series
        numbers on a tz-aware DatetimeIndex of the bins' beginnings, as `whatif.load` returns
        it, in bins of an hour or less; a bin belongs to the hour in which it begins
    show : {"sum", "peak"}
        colour by all ticks of the hour, or by its busiest bin, which shows the herd at :00
    ax : Axes, optional
        default: a new figure
    **kwargs
        passed to `Axes.pcolormesh`

    Returns
    -------
    Axes
        the one that was given, or the new one

    Raises
    ------
    FrameError
        the Series is no load, or its bins are longer than an hour
    ValueError
        `show` is none of the two
    """
    bins = _Bins.of(load, show)
    if bins.width > _HOUR:
        raise FrameError(
            f"the load has bins of {format_duration(bins.width)}, too long for a row an hour: "
            "use load(..., freq='1h'), or plots.calendar"
        )
    ax = _new_axes(4.6) if ax is None else ax
    if not len(bins.at):
        return _empty(ax, "the load has no bin")
    cells = bins.at // _HOUR
    first, last = int(cells[0]) // 24, int(cells[-1]) // 24
    grid = bins.gathered(cells - first * 24, (last - first + 1) * 24, show).reshape(-1, 24).T
    days = np.arange(first, last + 2) - 0.5
    _heat(ax, days, np.arange(25) - 0.5, grid, kwargs, _measure(bins, show, "hour"))
    ax.set_ylim(23.5, -0.5)
    ax.set_yticks(range(0, 24, 3), [f"{hour:02d}:00" for hour in range(0, 24, 3)])
    ax.set_ylabel("hour of the day (UTC)")
    _name_days(ax, first, last)
    day, hour = np.divmod(_busiest(grid.T.ravel()), 24)
    _outline(ax, first + day, hour)
    top = format_instant((first + int(day[0])) * _DAY + int(hour[0]) * _HOUR)
    _entitle(ax, bins, show, "hour", float(np.nanmax(grid)), top, len(day))
    return ax


def calendar(load: pd.Series, *, show: Show = "sum", ax: Axes | None = None, **kwargs: Any) -> Axes:
    """Draw a load as a calendar: one cell a day, one column a week, Monday on top.

    Up to ten weeks have the day and its number in each cell; more than a year is drawn in
    bands, one a year.

    Parameters
    ----------
    load : Series
        numbers on a tz-aware DatetimeIndex of the bins' beginnings, as `whatif.load` returns
        it, in bins of a day or less; a bin belongs to the day in which it begins
    show : {"sum", "peak"}
        colour by all ticks of the day, or by its busiest bin
    ax : Axes, optional
        default: a new figure, as high as the years need
    **kwargs
        passed to `Axes.pcolormesh`

    Returns
    -------
    Axes
        the one that was given, or the new one

    Raises
    ------
    FrameError
        the Series is no load, or its bins are longer than a day
    ValueError
        `show` is none of the two
    """
    bins = _Bins.of(load, show)
    if bins.width > _DAY:
        raise FrameError(
            f"the load has bins of {format_duration(bins.width)}, too long for a cell a day: use "
            "load(..., freq='1D')"
        )
    cells = bins.at // _DAY
    first, last = (int(cells[0]), int(cells[-1])) if len(cells) else (0, 0)
    days = np.arange(first, last + 1).astype("datetime64[D]")
    years = days.astype("datetime64[Y]").astype(np.int64) + 1970
    banded = len(days) > 366
    band = (years - years[0] if banded else np.zeros(len(days), dtype=np.int64)) * 8
    # 1970-01-01 was a Thursday, three days after a Monday.
    week = (days.astype(np.int64) + 3) // 7
    new_year = (days.astype("datetime64[Y]").astype("datetime64[D]").astype(np.int64) + 3) // 7
    column = week - (new_year if banded else week[0])
    row = band + (days.astype(np.int64) + 3) % 7
    shape = (int(row.max() // 8 * 8 + 7), int(column.max() + 1))
    if ax is None:
        named = shape[1] <= _WEEKS_NAMED
        ax = _new_axes(4.6 if named else min(1.5 + 0.21 * shape[0], 40))
    if not len(bins.at):
        return _empty(ax, "the load has no bin")
    values = bins.gathered(cells - first, len(days), show)
    grid = np.full(shape, np.nan)
    grid[row, column] = values
    edges = np.arange(shape[1] + 1) - 0.5, np.arange(shape[0] + 1) - 0.5
    mesh = _heat(ax, *edges, grid, kwargs, _measure(bins, show, "day"))
    ax.set_facecolor("none")
    _month_edges(ax, days, row, column, shape)
    if shape[1] <= _WEEKS_NAMED:
        _write_days(ax, mesh, days, row, column, values)
    _name_weeks(ax, days, row, column, shape, banded)
    busiest = _busiest(values)
    _outline(ax, column[busiest], row[busiest])
    top = str(days[busiest[0]])
    _entitle(ax, bins, show, "day", float(np.nanmax(values)), top, len(busiest))
    return ax


def load_curve(
    load: pd.Series | Mapping[str, pd.Series],
    *,
    bound: int | None = None,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw one load as a curve, or several beside one another, such as before and after.

    Parameters
    ----------
    load : Series, or mapping of names to Series
        numbers on a tz-aware DatetimeIndex, as `whatif.load` returns them; of several, the
        first is drawn as an area
    bound : int, optional
        a level to draw
    ax : Axes, optional
        default: a new figure
    **kwargs
        passed to `Axes.plot`, for each curve

    Returns
    -------
    Axes
        the one that was given, or the new one

    Raises
    ------
    FrameError
        a Series is no load

    Notes
    -----
    Where there are more bins than pixels, a point stands for several, and shows the highest
    of them: no peak is lost.
    """
    named = dict(load) if isinstance(load, Mapping) else {"ticks": load}
    every = {name: _Bins.of(each, "peak") for name, each in named.items()}
    ax = _new_axes(3.6) if ax is None else ax
    if not any(len(bins.at) for bins in every.values()):
        return _empty(ax, "the load has no bin")
    several = len(every) > 1
    for number, (name, bins) in enumerate(every.items()):
        at, highest, mean = bins.drawn()
        label = f"{name}: peak {bins.values.max(initial=0):,.0f}"
        if several and number == 0:
            ax.fill_between(at, highest, step="post", color="#b5b5b5", lw=0, label=label, zorder=1)
            continue
        if not several and bins.span > bins.width:
            ax.fill_between(at, mean, step="post", color="#b5b5b5", lw=0, label="mean", zorder=1)
        color, style = _CURVES[(number - several) % len(_CURVES)]
        look: dict[str, Any] = {"color": color, "ls": style, "lw": 1.0, "label": label, "zorder": 2}
        ax.plot(at, highest, drawstyle="steps-post", **(look | kwargs))
    if bound is not None:
        ax.axhline(bound, color="black", ls=(0, (6, 3)), lw=1.1, label=f"bound {bound:,}", zorder=3)
    bins = next(iter(every.values()))
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    note = f"\n(highest of each {format_duration(bins.span)})" if bins.span > bins.width else ""
    ax.set_ylabel(f"ticks in {format_duration(bins.width)}{note}")
    _time_axis(ax, f"time (UTC), {_span(bins)}")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=5, fontsize=8, frameon=False)
    if not several:
        busiest = _busiest(bins.values)
        top = format_instant(int(bins.at[busiest[0]]))
        _entitle(ax, bins, "peak", "", float(bins.values.max()), top, len(busiest), pad=22)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


class _Bins(NamedTuple):
    """The bins of a load: beginnings and length in ms, and the ticks in each."""

    at: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    width: int

    @classmethod
    def of(cls, load: pd.Series, show: str) -> _Bins:
        if show not in ("sum", "peak"):
            raise ValueError(f"show is {show!r}, but must be 'sum' or 'peak'")
        index = load.index if isinstance(load, pd.Series) else None
        if not isinstance(index, pd.DatetimeIndex) or index.tz is None:
            what = "no Series" if index is None else f"indexed by {type(index).__name__}"
            raise FrameError(
                f"a load is a Series on a tz-aware DatetimeIndex, and this is {what}: make it with "
                "load()"
            )
        order = load.sort_index()
        utc = pd.DatetimeIndex(order.index).tz_convert("UTC").tz_localize(None)
        at = utc.to_numpy(dtype="datetime64[ms]").astype(np.int64)
        gaps = np.diff(np.unique(at))
        if index.freq is not None:
            width = abs(int(index.freq.nanos // 1_000_000))
        else:
            # A part of a load has gaps, but none is shorter than a bin; one bin alone has none.
            width = int(gaps.min()) if len(gaps) else 60_000
        return cls(at, order.to_numpy(dtype=np.float64), width)

    @property
    def span(self) -> int:
        """Length of time that one point of a curve stands for, ms."""
        least = len(self.at) * self.width / _CURVE_POINTS
        return (
            self.width
            if least <= self.width
            else next((span for span in _SPANS if span >= least), _SPANS[-1])
        )

    def drawn(self) -> tuple[npt.NDArray[np.float64], ...]:
        """Return the points of a curve (matplotlib's days), the highest and the mean of each."""
        if not len(self.at):
            return (self.values,) * 3
        starts = np.flatnonzero(np.diff(self.at // self.span, prepend=-1))
        highest = np.maximum.reduceat(self.values, starts)
        mean = np.add.reduceat(self.values, starts) / np.diff(starts, append=len(self.at))
        # The last bin goes on to its end.
        at = np.append(self.at[starts], self.at[-1] + self.width).view("datetime64[ms]")
        return _as_days(at), np.append(highest, highest[-1]), np.append(mean, mean[-1])

    def gathered(
        self, cell: npt.NDArray[np.int64], cells: int, show: str
    ) -> npt.NDArray[np.float64]:
        """Return the sum or the highest bin of each cell, NaN where there is none."""
        found = np.full(cells, np.nan)
        found[cell] = 0
        (np.add if show == "sum" else np.maximum).at(found, cell, self.values)
        return found


def _measure(bins: _Bins, show: str, cell: str) -> str:
    if show == "sum":
        return f"ticks a {cell}"
    return f"ticks in the busiest {format_duration(bins.width)} of the {cell}"


def _heat(
    ax: Axes, x: Any, y: Any, grid: npt.NDArray[np.float64], kwargs: dict[str, Any], words: str
) -> QuadMesh:
    lowest, highest = float(np.nanmin(grid)), max(float(np.nanmax(grid)), 1)
    # From 0, unless that would leave all cells alike; but a tenth is no great difference.
    base = 0 if lowest < highest / 2 else min(lowest, 0.9 * highest)
    look: dict[str, Any] = {"cmap": _COLORS, "vmin": base, "vmax": highest}
    if max(grid.shape) <= 60:
        look |= {"edgecolors": "white", "linewidth": 0.4}
    mesh = ax.pcolormesh(x, y, np.ma.masked_invalid(grid), **(look | kwargs))
    ax.set_facecolor(_OUTSIDE)
    bar = ax.figure.colorbar(mesh, ax=ax, pad=0.015, aspect=30)
    bar.set_label(words, fontsize=8.5)
    bar.ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    bar.ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    bar.ax.tick_params(labelsize=8)
    ax.tick_params(labelsize=8.5, length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return mesh


def _busiest(values: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    return np.flatnonzero(values == np.nanmax(values))


def _outline(ax: Axes, x: npt.NDArray[Any], y: npt.NDArray[Any]) -> None:
    """Frame the busiest cells, where they are few, in two tones that show on any colour."""
    if len(x) > _FRAMED:
        return
    for color, width in (("white", 2.6), ("#D55E00", 1.4)):
        for left, low in zip(x - 0.5, y - 0.5, strict=True):
            frame = Rectangle((left, low), 1, 1, fill=False, ec=color, lw=width, zorder=4)
            ax.add_patch(frame)


def _span(bins: _Bins) -> str:
    return f"{format_instant(int(bins.at[0]))} to {format_instant(int(bins.at[-1]) + bins.width)}"


def _entitle(
    ax: Axes,
    bins: _Bins,
    show: str,
    cell: str,
    most: float,
    first: str,
    times: int,
    pad: float = 6,
) -> None:
    what = f"busiest {cell}" if show == "sum" else f"busiest {format_duration(bins.width)}"
    where = f"in the {cell} of {first}" if show == "peak" and cell else first
    more = f" and {times - 1:,} more" if times > 1 else ""
    ax.set_title(
        f"{bins.values.sum():,.0f} ticks; {what}: {most:,.0f} ({where}{more})",
        loc="left",
        fontsize=10,
        pad=pad,
    )


def _name_days(ax: Axes, first: int, last: int) -> None:
    days = np.arange(first, last + 1)
    dates = days.astype("datetime64[D]")
    if len(days) <= _DAYS_NAMED:
        labels = [
            f"{date.day}\n{_WEEKDAYS[date.weekday()][:2]}"
            + (f"\n{date:%b %Y}" if date.day == 1 or at == 0 else "")
            for at, date in enumerate(dates.tolist())
        ]
        ax.set_xticks(days, labels, fontsize=7.5)
    else:
        months = dates.astype("datetime64[M]")
        begins = np.flatnonzero(np.diff(months.astype(np.int64), prepend=-1))
        begins = begins[:: max(1, len(begins) // 13)]
        ax.set_xticks(days[begins], [f"{d:%b\n%Y}" for d in dates[begins].tolist()])
    ax.set_xlabel("day (UTC)")


def _month_edges(
    ax: Axes,
    days: npt.NDArray[np.datetime64],
    row: npt.NDArray[np.int64],
    column: npt.NDArray[np.int64],
    shape: tuple[int, int],
) -> None:
    """Draw lines between neighbouring days of different months."""
    month = np.full((shape[0] + 1, shape[1] + 1), -1)
    month[row, column] = days.astype("datetime64[M]").astype(np.int64)
    lines = []
    for (down, right), place in (((1, 0), month[1:, :]), ((0, 1), month[:, 1:])):
        here = month[: shape[0] + 1 - down, : shape[1] + 1 - right]
        for y, x in np.argwhere((here != place) & (here >= 0) & (place >= 0)).tolist():
            low, left = y + 0.5 * (1 if down else -1), x + 0.5 * (1 if right else -1)
            lines.append([(left, low), (left + down, low + right)])
    ax.add_collection(LineCollection(lines, colors="black", linewidths=1.3, zorder=3))


def _write_days(
    ax: Axes,
    mesh: QuadMesh,
    days: npt.NDArray[np.datetime64],
    row: npt.NDArray[np.int64],
    column: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
) -> None:
    for day, y, x, value in zip(days.tolist(), row, column, values, strict=True):
        if np.isnan(value):
            continue
        red, green, blue, _ = mesh.cmap(mesh.norm(value))
        ink = "black" if 0.3 * red + 0.59 * green + 0.11 * blue > 0.5 else "white"
        name = f"{day:%b} {day.day}" if day.day == 1 or day == days[0] else f"{day.day}"
        ax.text(x - 0.45, y - 0.42, name, color=ink, fontsize=6.5, va="top")
        ax.text(x, y + 0.14, f"{value:,.0f}", color=ink, fontsize=8, ha="center", va="center")


def _name_weeks(
    ax: Axes,
    days: npt.NDArray[np.datetime64],
    row: npt.NDArray[np.int64],
    column: npt.NDArray[np.int64],
    shape: tuple[int, int],
    banded: bool,
) -> None:
    rows = [y for y in range(shape[0]) if y % 8 < 7]
    if banded:
        years = days.astype("datetime64[Y]").astype(np.int64) + 1970
        middle = {int(years[0]) + y // 8: y for y in rows if y % 8 == 3}
        ax.set_yticks(list(middle.values()), [str(year) for year in middle])
    else:
        ax.set_yticks(rows, [_WEEKDAYS[y % 8] for y in rows])
    # Under the first day of each month, once for all bands.
    firsts: dict[str, int] = {}
    for x, date in zip(column.tolist(), days.astype(object), strict=True):
        if date.day == 1 or not firsts:
            firsts.setdefault(f"{date:%b}" if banded else f"{date:%b\n%Y}", x)
    if shape[1] <= _WEEKS_NAMED:
        first = int(days[0].astype(np.int64))
        mondays = first - (first + 3) % 7 + 7 * np.arange(shape[1])
        labels = [f"{date.day} {date:%b}" for date in mondays.astype("datetime64[D]").tolist()]
        ax.set_xticks(range(shape[1]), labels)
        ax.set_xlabel("week of Monday (UTC)")
    else:
        ax.set_xticks(list(firsts.values()), list(firsts))
        ax.set_xlabel("week with the first day of the month; days are UTC")
    ax.set_xlim(-0.5, shape[1] - 0.5)
    ax.set_ylim(shape[0] - 0.5, -0.5)


def _time_axis(ax: Axes, label: str) -> None:
    locator = mdates.AutoDateLocator(tz="UTC")  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(
        mdates.ConciseDateFormatter(locator, tz="UTC", show_offset=False)  # type: ignore[no-untyped-call]
    )
    ax.set_xlabel(label, fontsize=8.5)
