"""The load of a fleet as curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from resonate_lab.instants import format_duration, format_instant
from resonate_lab.plots.bins import Bins, busiest, entitle, window
from resonate_lab.plots.drawing import count_axis, empty, ink, new_axes, time_axis

__all__ = ["load_curve"]

# Line styles tell the curves apart where colours do not.
_CURVES = (("#0072B2", "-"), ("#D55E00", "--"), ("#009E73", ":"), ("", "-."))


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
    every = {name: Bins.of(each, "peak") for name, each in named.items()}
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
        look: dict[str, Any] = {
            "color": color or ink(ax),
            "ls": style,
            "lw": 1.0,
            "label": label,
            "zorder": 2,
        }
        ax.plot(at, highest, drawstyle="steps-post", **(look | kwargs))
    if bound is not None:
        ax.axhline(bound, color=ink(ax), ls=(0, (6, 3)), lw=1.1, label=f"bound {bound:,}", zorder=3)
    bins = next(iter(every.values()))
    ax.set_ylim(bottom=0)
    count_axis(ax.yaxis)
    note = f"\n(highest of each {format_duration(bins.span)})" if bins.span > bins.width else ""
    ax.set_ylabel(f"ticks in {format_duration(bins.width)}{note}")
    time_axis(ax, f"time (UTC), {window(bins)}")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=5, fontsize=8, frameon=False)
    if not several:
        at_most = busiest(bins.values)
        top = format_instant(int(bins.at[at_most[0]]))
        entitle(ax, bins, "peak", "", float(bins.values.max()), top, len(at_most), pad=22)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax
