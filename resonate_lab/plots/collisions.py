"""How many runs there are at the same time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from resonate_lab.errors import FrameError
from resonate_lab.instants import format_duration, format_instant
from resonate_lab.plots.drawing import (
    CURVE_POINTS,
    as_days,
    count_axis,
    empty,
    new_axes,
    round_span,
    time_axis,
)

__all__ = ["running_curve"]

_Ints = npt.NDArray[np.int64]


def running_curve(running: pd.Series, *, ax: Axes | None = None, **kwargs: Any) -> Axes:
    """Draw how many runs there are at once: a step at each change.

    Parameters
    ----------
    running : Series
        how many run from an instant to the next, on a tz-aware DatetimeIndex, ascending, as
        in `Collisions.running`
    ax : Axes, optional
        default: a new figure
    **kwargs
        passed to `Axes.fill_between`

    Returns
    -------
    Axes
        the one that was given, or the new one

    Raises
    ------
    FrameError
        the Series is not on a tz-aware DatetimeIndex

    Notes
    -----
    Where there are more changes than pixels, a point stands for several: the area reaches
    to the fewest of them, a lighter one to the most, so that no peak is lost.
    """
    index = running.index
    if not isinstance(index, pd.DatetimeIndex) or index.tz is None:
        raise FrameError(
            f"running is on {type(index).__name__}, but must be on a tz-aware DatetimeIndex, as in "
            "Collisions.running"
        )
    ax = new_axes(3.6) if ax is None else ax
    if not len(running):
        return empty(ax, "nothing runs")
    utc = index.tz_convert("UTC").tz_localize(None).to_numpy(dtype="datetime64[ms]")
    at, level = utc.astype(np.int64), running.to_numpy(dtype=np.int64)
    span, points, least, most = _thinned(at, level)
    x = as_days(points.view("datetime64[ms]"))
    many = span > 0
    look: dict[str, Any] = {"step": "post", "lw": 0}
    if many:
        ax.fill_between(x, most, **look, color="#56B4E9", label="most", **kwargs)
    ax.fill_between(x, least, **look, color="#0072B2", label="fewest" if many else "", **kwargs)
    top = int(level.max())
    times = np.flatnonzero(level == top)
    more = f" and {len(times) - 1:,} more" if len(times) > 1 else ""
    ax.set_title(
        f"at most {top:,} run{'s' if top > 1 else ''} at once "
        f"({format_instant(int(at[times[0]]))}{more})",
        loc="left",
        fontsize=10,
        pad=22 if many else 6,
    )
    if many:
        ax.legend(
            title=f"in each {format_duration(span)}:", title_fontsize=8, loc="lower right",
            bbox_to_anchor=(1, 1), ncols=2, fontsize=8, frameon=False,
        )  # fmt: skip
    ax.set_ylim(bottom=0)
    count_axis(ax.yaxis)
    ax.set_ylabel("runs at once")
    time_axis(ax, f"time (UTC), {format_instant(int(at[0]))} to {format_instant(int(at[-1]))}")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def _thinned(at: _Ints, level: _Ints) -> tuple[int, _Ints, _Ints, _Ints]:
    """Return the length of a point in ms (0: a point a change), the points, fewest, most."""
    if len(at) <= CURVE_POINTS:
        return 0, at, level, level
    span = round_span((at[-1] - at[0]) / CURVE_POINTS)
    edges = np.arange(at[0] // span, at[-1] // span + 2) * span
    first = np.searchsorted(at, edges)  # the first change of each point
    held = np.append(0, level)[np.searchsorted(at, edges, side="right")]
    padded = np.append(level, 0)
    inside = first < np.append(first[1:], len(at))  # a point without a change holds its level
    fewest = np.where(inside, np.minimum(np.minimum.reduceat(padded, first), held), held)
    most = np.where(inside, np.maximum(np.maximum.reduceat(padded, first), held), held)
    return span, edges, fewest, most
