"""The load of a fleet: a heat map, a calendar, curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from resonate_lab.errors import FrameError
from resonate_lab.instants import format_duration, format_instant
from resonate_lab.plots.drawing import (
    CURVE_POINTS,
    as_days,
    empty,
    new_axes,
    round_span,
    time_axis,
)

__all__ = ["calendar", "hour_by_day", "hour_by_weekday", "load_curve"]

_HOUR, _DAY = 3_600_000, 86_400_000  # ms
_COLORS = "cividis"  # apart in every colour vision, and its lightness alone tells the order
_OUTSIDE = "#d9d9d9"
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAYS_NAMED = 45  # more days than that have no room for their names
_WEEKS_NAMED = 10
_FRAMED = 12  # cells; more frames say nothing
# Line styles tell the curves apart where colours do not.
_CURVES = (("#0072B2", "-"), ("#D55E00", "--"), ("#009E73", ":"), ("#000000", "-."))

Show = Literal["sum", "peak"]
ShowWeek = Literal["mean", "sum", "peak"]


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
    _need_hours(bins, "a row an hour")
    ax = new_axes(4.6) if ax is None else ax
    if not len(bins.at):
        return empty(ax, "the load has no bin")
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


def hour_by_weekday(
    load: pd.Series, *, show: ShowWeek = "mean", ax: Axes | None = None, **kwargs: Any
) -> Axes:
    """Draw a load as a heat map of the week: one row a weekday, one column an hour of the day.

    Parameters
    ----------
    load : Series
        numbers on a tz-aware DatetimeIndex of the bins' beginnings, as `whatif.load` returns
        it, in bins of an hour or less; a bin belongs to the hour in which it begins
    show : {"mean", "sum", "peak"}
        colour by the ticks of such an hour on average over those the load has, which is fair
        where it has five Mondays and four Tuesdays; by all of them; or by the busiest bin
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
        `show` is none of the three
    """
    bins = _Bins.of(load, show, ("mean", "sum", "peak"))
    _need_hours(bins, "a column an hour")
    ax = new_axes(3.4) if ax is None else ax
    if not len(bins.at):
        return empty(ax, "the load has no bin")
    hours = bins.at // _HOUR
    values = bins.gathered(_hour_of_week(hours), 168, show)
    if show == "mean":
        values /= np.maximum(np.bincount(_hour_of_week(np.unique(hours)), minlength=168), 1)
    grid = values.reshape(7, 24)
    what = {
        "mean": "ticks an hour, on average",
        "sum": "ticks in all such hours",
        "peak": f"ticks in the busiest {format_duration(bins.width)}",
    }[show]
    _heat(ax, np.arange(25) - 0.5, np.arange(8) - 0.5, grid, kwargs, what)
    ax.set_ylim(6.5, -0.5)
    ax.set_yticks(range(7), _WEEKDAYS)
    ax.set_xticks(range(0, 24, 3), [f"{hour:02d}:00" for hour in range(0, 24, 3)])
    ax.set_xlabel(f"hour of the day (UTC), {_span(bins)}", fontsize=8.5)
    day, hour = np.divmod(_busiest(values), 24)
    _outline(ax, hour, day)
    more = f" and {len(day) - 1:,} more" if len(day) > 1 else ""
    most = f"{np.nanmax(values):,.1f}".removesuffix(".0")
    ax.set_title(
        f"{bins.values.sum():,.0f} ticks; busiest: {_WEEKDAYS[day[0]]} {hour[0]:02d}:00{more} with "
        f"{most} {what}",
        loc="left",
        fontsize=10,
    )
    return ax


def calendar(
    load: pd.Series,
    *,
    show: Show = "sum",
    words: bool = True,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
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
    words : bool
        whether to write the title and the scale; the days and weeks are named always
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
        ax = new_axes(4.6 if named else min(1.5 + 0.21 * shape[0], 40))
    if not len(bins.at):
        return empty(ax, "the load has no bin")
    values = bins.gathered(cells - first, len(days), show)
    grid = np.full(shape, np.nan)
    grid[row, column] = values
    edges = np.arange(shape[1] + 1) - 0.5, np.arange(shape[0] + 1) - 0.5
    mesh = _heat(ax, *edges, grid, kwargs, _measure(bins, show, "day") if words else None)
    ax.set_facecolor("none")
    _month_edges(ax, days, row, column, shape)
    if shape[1] <= _WEEKS_NAMED:
        _write_days(ax, mesh, days, row, column, values)
    _name_weeks(ax, days, row, column, shape, banded)
    busiest = _busiest(values)
    _outline(ax, column[busiest], row[busiest])
    if words:
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
    ax = new_axes(3.6) if ax is None else ax
    if not any(len(bins.at) for bins in every.values()):
        return empty(ax, "the load has no bin")
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
    time_axis(ax, f"time (UTC), {_span(bins)}")
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
    def of(cls, load: pd.Series, show: str, known: Sequence[str] = ("sum", "peak")) -> _Bins:
        if show not in known:
            raise ValueError(f"show is {show!r}, but must be {' or '.join(map(repr, known))}")
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
        least = len(self.at) * self.width / CURVE_POINTS
        return self.width if least <= self.width else round_span(least)

    def drawn(self) -> tuple[npt.NDArray[np.float64], ...]:
        """Return the points of a curve (matplotlib's days), the highest and the mean of each."""
        if not len(self.at):
            return (self.values,) * 3
        starts = np.flatnonzero(np.diff(self.at // self.span, prepend=-1))
        highest = np.maximum.reduceat(self.values, starts)
        mean = np.add.reduceat(self.values, starts) / np.diff(starts, append=len(self.at))
        # The last bin goes on to its end.
        at = np.append(self.at[starts], self.at[-1] + self.width).view("datetime64[ms]")
        return as_days(at), np.append(highest, highest[-1]), np.append(mean, mean[-1])

    def gathered(
        self, cell: npt.NDArray[np.int64], cells: int, show: str
    ) -> npt.NDArray[np.float64]:
        """Return the sum, or for "peak" the highest bin, of each cell, NaN where there is none."""
        found = np.full(cells, np.nan)
        found[cell] = 0
        (np.maximum if show == "peak" else np.add).at(found, cell, self.values)
        return found


def _need_hours(bins: _Bins, cells: str) -> None:
    if bins.width > _HOUR:
        raise FrameError(
            f"the load has bins of {format_duration(bins.width)}, too long for {cells}: "
            "use load(..., freq='1h'), or plots.calendar"
        )


def _hour_of_week(hours: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return how many hours after Monday 00:00 UTC each hour since the Unix epoch begins."""
    # 1970-01-01 was a Thursday, three days after a Monday.
    return (hours + 3 * 24) % 168


def _measure(bins: _Bins, show: str, cell: str) -> str:
    if show == "sum":
        return f"ticks a {cell}"
    return f"ticks in the busiest {format_duration(bins.width)} of the {cell}"


def _heat(
    ax: Axes,
    x: Any,
    y: Any,
    grid: npt.NDArray[np.float64],
    kwargs: dict[str, Any],
    scale: str | None,
) -> QuadMesh:
    lowest, highest = float(np.nanmin(grid)), max(float(np.nanmax(grid)), 1)
    # From 0, unless that would leave all cells alike; but a tenth is no great difference.
    base = 0 if lowest < highest / 2 else min(lowest, 0.9 * highest)
    look: dict[str, Any] = {"cmap": _COLORS, "vmin": base, "vmax": highest}
    if max(grid.shape) <= 60:
        look |= {"edgecolors": "white", "linewidth": 0.4}
    mesh = ax.pcolormesh(x, y, np.ma.masked_invalid(grid), **(look | kwargs))
    ax.set_facecolor(_OUTSIDE)
    if scale is not None:
        bar = ax.figure.colorbar(mesh, ax=ax, pad=0.015, aspect=30)
        bar.set_label(scale, fontsize=8.5)
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
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)]) - 0.5
    cells = (Path(corners + cell, closed=True) for cell in np.column_stack([x, y]))
    frames = Path.make_compound_path(*cells)
    for color, width in (("white", 2.6), ("#D55E00", 1.4)):
        ax.add_patch(PathPatch(frames, fill=False, ec=color, lw=width, zorder=4))


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
    # Each in white as well, below it, since black is lost on the days of few ticks.
    n = len(lines)
    colors, widths = ["white"] * n + ["black"] * n, [2.8] * n + [1.2] * n
    ax.add_collection(LineCollection(lines * 2, colors=colors, linewidths=widths, zorder=3))


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
    # Under the first day of each month, once for all bands; a year once.
    firsts: dict[str, int] = {}
    for x, date in zip(column.tolist(), days.astype(object), strict=True):
        if date.day == 1 or not firsts:
            year = "" if banded or (firsts and date.month > 1) else f"\n{date:%Y}"
            firsts.setdefault(f"{date:%b}{year}", x)
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
