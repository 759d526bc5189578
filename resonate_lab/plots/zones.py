"""Through a year of changing clocks: at which time of the day something fires."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from resonate_lab._html import plain
from resonate_lab.errors import FrameError
from resonate_lab.plots.drawing import days, empty, ink, new_axes, require, time_axis

__all__ = ["clock_times"]

_SHORT = 10  # hours; each has room for its name
_CHANGES_NAMED = 4  # more names would cover one another


def clock_times(
    fires: pd.DatetimeIndex, changes: pd.DataFrame, *, ax: Axes | None = None, **kwargs: Any
) -> Axes:
    """Draw at which time of the day something fires: one point a tick, one column a day.

    Parameters
    ----------
    fires : DatetimeIndex
        tz-aware instants; the time of the day is that of their zone's clock
    changes : DataFrame
        one row a time between two changes of a clock, with ``from_at``, ``until_at``
        (tz-aware) and ``offset`` (str), as `whatif.to_utc` and `whatif.local_view` return
        it; a line is drawn where the offset changes
    ax : Axes, optional
        default: a new figure
    **kwargs
        passed to `Axes.plot`, for the points

    Returns
    -------
    Axes
        the one that was given, or the new one

    Raises
    ------
    FrameError
        a column is missing, or the instants have no zone
    """
    require(changes, ("from_at", "until_at", "offset"))
    if fires.tz is None:
        raise FrameError("fires has no time zone: give tz-aware instants, such as tz='UTC'")
    ax = new_axes(3.9) if ax is None else ax
    zone = plain(fires.tz)
    if not len(changes):
        return empty(ax, "the year has no row")
    wall = fires.hour + fires.minute / 60 + fires.second / 3600
    look: dict[str, Any] = {"ls": "", "marker": "s", "ms": 2.2, "mew": 0, "color": "#0072B2"}
    ax.plot(days(fires.to_series()), np.asarray(wall), **(look | kwargs))
    _mark_changes(ax, changes)
    low, high, step = _hours(np.asarray(wall))
    ax.set_ylim(high, low)
    hours = range(low, high + 1, step)
    ax.set_yticks(hours, [f"{hour:02d}:00" for hour in hours])
    ax.set_ylabel(f"time of the day\n({zone})", parse_math=False)
    ax.grid(axis="y", color="#888888", lw=0.4, alpha=0.5)
    time_axis(ax, "day (UTC); a dashed line stands where the wall clock changes")
    if not len(fires):
        ax.text(0.5, 0.5, "nothing fires", ha="center", transform=ax.transAxes, alpha=0.7)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def _hours(wall: npt.NDArray[np.float64]) -> tuple[int, int, int]:
    """Return the hours from which to which the axis goes, and its step."""
    if not len(wall):
        return 0, 24, 3
    low, high = max(0, int(wall.min()) - 2), min(24, int(wall.max()) + 3)
    return (low, high, 1) if high - low <= _SHORT else (0, 24, 3)


def _mark_changes(ax: Axes, changes: pd.DataFrame) -> None:
    """Name each offset above its part of the year, and draw a line between two."""
    parts = changes.drop_duplicates("from_at").sort_values("from_at", ignore_index=True)
    parts = parts[parts["offset"].ne(parts["offset"].shift())]
    edges = [*days(parts["from_at"]), float(days(changes["until_at"]).max())]
    ax.set_xlim(edges[0], edges[-1])
    for edge in edges[1:-1]:
        ax.axvline(edge, color=ink(ax), ls=(0, (5, 3)), lw=0.9)
    if len(parts) > _CHANGES_NAMED:
        return
    for left, right, offset in zip(edges, edges[1:], parts["offset"], strict=False):
        ax.annotate(
            plain(offset, 40),
            ((left + right) / 2, 1.02),
            xycoords=ax.get_xaxis_transform(),
            ha="center",
            fontsize=8,
            parse_math=False,
        )
