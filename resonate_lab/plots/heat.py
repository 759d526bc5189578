"""The load of a fleet as a heat map of hours, and as a calendar of days."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator

from resonate_lab.errors import FrameError
from resonate_lab.instants import format_duration, format_instant
from resonate_lab.plots.bins import Bins, busiest, entitle, window
from resonate_lab.plots.drawing import empty, ink, new_axes

__all__ = ["calendar", "hour_by_day", "hour_by_weekday"]

_HOUR, _DAY = 3_600_000, 86_400_000  # ms
_COLORS = "cividis"  # apart in every colour vision, and its lightness alone tells the order
_OUTSIDE = "#d9d9d9"
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAYS_NAMED = 45  # more days than that have no room for their names
_DAY_POINTS = 12  # the room that a day's name needs
_WEEKS_NAMED = 10
_FRAMED = 12  # cells; more frames say nothing

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
    bins = Bins.of(load, show)
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
    day, hour = np.divmod(busiest(grid.T.ravel()), 24)
    most = float(np.nanmax(grid))
    _outline(ax, first + day, hour, most)
    top = format_instant((first + int(day[0])) * _DAY + int(hour[0]) * _HOUR)
    entitle(ax, bins, show, "hour", most, top, len(day))
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
        where it has five Mondays and four Tuesdays; by all of them; or by the busiest bin.
        The first and the last hour of the load, which its window may have cut, are part of a
        mean only where there is no other such hour
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
    bins = Bins.of(load, show, ("mean", "sum", "peak"))
    _need_hours(bins, "a column an hour")
    ax = new_axes(3.4) if ax is None else ax
    if not len(bins.at):
        return empty(ax, "the load has no bin")
    counted = _whole_hours(bins) if show == "mean" else bins
    hours = counted.at // _HOUR
    values = counted.gathered(_hour_of_week(hours), 168, show)
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
    ax.set_xlabel(f"hour of the day (UTC), {window(bins)}", fontsize=8.5)
    day, hour = np.divmod(busiest(values), 24)
    most = float(np.nanmax(values))
    _outline(ax, hour, day, most)
    more = f" and {len(day) - 1:,} more" if len(day) > 1 else ""
    many = f"{most:,.1f}".removesuffix(".0") if most >= 0.1 else f"{most:.2g}"
    top = f"; busiest: {_WEEKDAYS[day[0]]} {hour[0]:02d}:00{more} with {many} {what}"
    ax.set_title(
        f"{bins.values.sum():,.0f} ticks{top if most else ''}",
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
    bins = Bins.of(load, show)
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
    top_days = busiest(values)
    most = float(np.nanmax(values))
    _outline(ax, column[top_days], row[top_days], most)
    if words:
        top = str(days[top_days[0]])
        entitle(ax, bins, show, "day", most, top, len(top_days))
    return ax


def _need_hours(bins: Bins, cells: str) -> None:
    if bins.width > _HOUR:
        raise FrameError(
            f"the load has bins of {format_duration(bins.width)}, too long for {cells}: "
            "use load(..., freq='1h'), or plots.calendar"
        )


def _hour_of_week(hours: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return how many hours after Monday 00:00 UTC each hour since the Unix epoch begins."""
    # 1970-01-01 was a Thursday, three days after a Monday.
    return (hours + 3 * 24) % 168


def _whole_hours(bins: Bins) -> Bins:
    """Leave out the first and the last hour where the week has that hour once more."""
    hours = bins.at // _HOUR
    edge = (hours == hours[0]) | (hours == hours[-1])
    week = _hour_of_week(hours)
    kept = ~edge | ~np.isin(week, week[~edge])
    return Bins(bins.at[kept], bins.values[kept], bins.width)


def _measure(bins: Bins, show: str, cell: str) -> str:
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
    lowest, highest = float(np.nanmin(grid)), float(np.nanmax(grid)) or 1.0
    # From 0, unless that would leave all cells alike; but a tenth is no great difference.
    base = 0 if lowest < highest / 2 else min(lowest, 0.9 * highest)
    look: dict[str, Any] = {"cmap": _COLORS, "vmin": base, "vmax": highest}
    if max(grid.shape) <= 60:
        look |= {"edgecolors": ax.figure.get_facecolor(), "linewidth": 0.4}
    mesh = ax.pcolormesh(x, y, np.ma.masked_invalid(grid), **(look | kwargs))
    ax.set_facecolor(_OUTSIDE)
    if scale is not None:
        bar = ax.figure.colorbar(mesh, ax=ax, pad=0.015, aspect=30)
        bar.set_label(scale, fontsize=8.5)
        # A mean may be less than one.
        ticks = MaxNLocator(6, integer=highest >= 1, min_n_ticks=1)
        bar.ax.yaxis.set_major_locator(ticks)
        bar.ax.yaxis.set_major_formatter("{x:,.0f}" if highest >= 1 else "{x:g}")
        bar.ax.tick_params(labelsize=8)
    ax.tick_params(labelsize=8.5, length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return mesh


def _outline(ax: Axes, x: npt.NDArray[Any], y: npt.NDArray[Any], most: float) -> None:
    """Frame the busiest cells, where they are few, in two tones that show on any colour."""
    if len(x) > _FRAMED or not most:
        return
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)]) - 0.5
    cells = (Path(corners + cell, closed=True) for cell in np.column_stack([x, y]))
    frames = Path.make_compound_path(*cells)
    for color, width in (("white", 2.6), ("#D55E00", 1.4)):
        ax.add_patch(PathPatch(frames, fill=False, ec=color, lw=width, zorder=4))


def _name_days(ax: Axes, first: int, last: int) -> None:
    days = np.arange(first, last + 1)
    dates = days.astype("datetime64[D]")
    if len(days) <= _DAYS_NAMED:
        room = ax.get_window_extent().width * 72 / ax.figure.dpi / _DAY_POINTS
        step = max(1, -(-len(days) // max(int(room), 1)))
        named, month, labels = dates[::step].tolist(), None, []
        for date in named:
            first_of_month = "" if date.month == month else f"\n{date:%b %Y}"
            labels.append(f"{date.day}\n{_WEEKDAYS[date.weekday()][:2]}{first_of_month}")
            month = date.month
        ax.set_xticks(days[::step], labels, fontsize=7.5)
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
    # Each in the paper's colour as well, below it, since ink is lost on some days.
    n = len(lines)
    paper = ax.figure.get_facecolor()
    colors, widths = [paper] * n + [ink(ax)] * n, [2.8] * n + [1.2] * n
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
        written = "black" if 0.3 * red + 0.59 * green + 0.11 * blue > 0.5 else "white"
        name = f"{day:%b} {day.day}" if day.day == 1 or day == days[0] else f"{day.day}"
        ax.text(x - 0.45, y - 0.42, name, color=written, fontsize=6.5, va="top")
        ax.text(x, y + 0.14, f"{value:,.0f}", color=written, fontsize=8, ha="center", va="center")


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
