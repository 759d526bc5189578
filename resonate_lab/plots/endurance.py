"""How long an outage may last: when each schedule alone breaks the rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from resonate_lab.instants import format_duration, format_instant, instant_ms
from resonate_lab.plots.drawing import (
    duration_axis,
    empty,
    lanes_height,
    ms_of,
    name_lanes,
    new_axes,
    require,
)

if TYPE_CHECKING:
    from resonate_lab.instants import Instant

__all__ = ["endurance"]


def endurance(
    schedules: pd.DataFrame,
    *,
    start: Instant,
    up: Instant,
    ax: Axes | None = None,
    max_lanes: int = 30,
    **kwargs: Any,
) -> Axes:
    """Draw how long each schedule alone bears an outage: one bar a schedule, the shortest on top.

    Parameters
    ----------
    schedules : DataFrame
        one row a schedule, with the columns ``schedule_id`` and ``breaks_at`` (tz-aware, NaT
        for never), those that break the rule first come first, as in
        `LongestOutage.schedules`
    start : instant
        when the outage begins
    up : instant
        how long it may last for all of them together, drawn as a line
    ax : Axes, optional
        default: a new figure, as high as the bars need
    max_lanes : int
        schedules to draw; the others are counted in one line
    **kwargs
        passed to `Axes.barh`

    Returns
    -------
    Axes
        the one that was given, or the new one

    Raises
    ------
    FrameError
        a column is missing
    """
    require(schedules, ("schedule_id", "breaks_at"))
    begin, end = instant_ms(start, "start"), instant_ms(up, "up")
    breaking = schedules[schedules["breaks_at"].notna()]
    shown = breaking.head(max_lanes)
    more = len(schedules) - len(shown)
    if ax is None:
        ax = new_axes(lanes_height(len(shown) + (more > 0)))
    if shown.empty:
        return empty(ax, "no schedule alone breaks the rule")
    seconds = (ms_of(shown["breaks_at"]) - begin) / 1000
    ax.barh(np.arange(len(shown)), seconds, **{"height": 0.6, "color": "#0072B2", **kwargs})
    allowed = (end - begin) / 1000
    ax.axvline(allowed, color="#D55E00", lw=1.6, ls="--", zorder=3)
    name_lanes(ax, shown["schedule_id"].tolist())
    for lane, second in enumerate(seconds.tolist()):
        ax.annotate(
            f"breaks it after {format_duration(int(second * 1000))}",
            (1.01, lane),
            xycoords=ax.get_yaxis_transform(),
            va="center",
            fontsize=7.5,
            annotation_clip=False,
        )
    if more:
        ax.set_ylim(len(shown) + 0.5, -0.5)
        ax.annotate(
            f"and {more:,} more that would bear it as long or longer",
            (0.01, len(shown)),
            xycoords=ax.get_yaxis_transform(),
            va="center",
            fontsize=8,
            style="italic",
        )
    furthest = max(float(seconds.max()), allowed) or 1.0
    ax.set_xlim(0, furthest * 1.02)
    duration_axis(ax, f"time after the stop at {format_instant(begin)}")
    ax.set_title(
        f"the dashed line: all together bear {format_duration(end - begin)}; the bars: how long "
        "each would alone",
        loc="left",
        fontsize=10,
    )
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    return ax
