"""The busiest bins of a load, and who makes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from resonate_lab.instants import format_instant, instant_ms
from resonate_lab.plots.drawing import count_axis, empty, lanes_height, name_text, new_axes, require

__all__ = ["peak_bars"]

_NAMES = 2  # ids that there is room for


def peak_bars(
    peaks: pd.DataFrame, *, ax: Axes | None = None, max_bars: int = 30, **kwargs: Any
) -> Axes:
    """Draw the busiest bins of a load: one bar a bin, with the schedules that make it.

    Parameters
    ----------
    peaks : DataFrame
        one row a bin, with the columns ``at``, ``ticks``, ``schedules`` and ``busiest``, as
        `whatif.peaks` returns it
    ax : Axes, optional
        default: a new figure, as high as the bars need
    max_bars : int
        bins to draw; the others are summed up in one line
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
    ValueError
        `max_bars` is less than 1
    """
    require(peaks, ("at", "ticks", "schedules", "busiest"))
    if max_bars < 1:
        raise ValueError(f"max_bars is {max_bars}, but at least one bar must be drawn")
    shown = peaks.head(max_bars)
    if ax is None:
        ax = new_axes(lanes_height(len(shown) + (len(shown) < len(peaks))))
    if not len(shown):
        return empty(ax, "the load has no tick")
    ticks = shown["ticks"].to_numpy()
    look: dict[str, Any] = {"height": 0.62, "color": "#0072B2"}
    ax.barh(np.arange(len(shown)), ticks, **(look | kwargs))
    names = [format_instant(instant_ms(at)) for at in shown["at"]]
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(names) - 0.5, -0.5)
    for bar, row in enumerate(shown.itertuples(index=False)):
        ax.annotate(
            _makers(row),
            (1.01, bar),
            xycoords=ax.get_yaxis_transform(),
            va="center",
            fontsize=7.5,
            annotation_clip=False,
            parse_math=False,
        )
    rest = peaks.iloc[len(shown) :]
    if len(rest):
        ax.set_ylim(len(names) + 0.5, -0.5)
        ax.annotate(
            f"and {len(rest):,} more of {rest['ticks'].min():,} to {rest['ticks'].max():,} ticks",
            (0.01, len(names)),
            xycoords=ax.get_yaxis_transform(),
            va="center",
            fontsize=8,
            style="italic",
        )
    most = int(peaks["ticks"].max())
    ax.set_title(
        f"the busiest {len(peaks):,} bins: at most {most:,} tick{'s' if most > 1 else ''}"
        if len(peaks) > 1
        else f"the busiest bin: {most:,} tick{'s' if most > 1 else ''}",
        loc="left",
        fontsize=10,
    )
    count_axis(ax.xaxis)
    ax.set_xlabel(
        "ticks; a bar is named by the instant (UTC) at which its bin begins", fontsize=8.5
    )
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    return ax


def _makers(row: Any) -> str:
    names = [name_text(name) for name in row.busiest[:_NAMES]]
    more = row.schedules - len(names)
    listed = ", ".join(names) + (f" and {more:,} more" if more else "")
    return f"{row.ticks:,}: {listed}"
