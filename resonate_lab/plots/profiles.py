"""The profiles: the same outage under each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from resonate_lab.instants import format_duration, format_instant, instant_ms
from resonate_lab.plots.drawing import (
    count_axis,
    empty,
    lanes_height,
    name_lanes,
    new_axes,
    require,
)

if TYPE_CHECKING:
    from resonate_lab.instants import Instant

__all__ = ["profile_comparison"]

_COLUMNS = ("scheduled_at", "fired_at", "timeout_at", "state", "dispatched")

# Filled, hatched and empty: they stay apart without their colours.
_LOOKS: Mapping[str, Mapping[str, Any]] = {
    "in time, a worker is told": {"color": "#0072B2"},
    "in time, no worker is told": {
        "facecolor": "none", "edgecolor": "#0072B2", "hatch": "....",
    },
    "too late, a worker is told in vain": {
        "facecolor": "none", "edgecolor": "#D55E00", "hatch": "xxxx",
    },
    "too late, no worker is told": {
        "facecolor": "none", "edgecolor": "#D55E00", "hatch": "////",
    },
    "id existed: nothing created": {"facecolor": "none", "edgecolor": "#767676"},
}  # fmt: skip


def profile_comparison(
    outages: Mapping[str, pd.DataFrame],
    *,
    up: Instant | None = None,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw what each profile makes of the same outage: one bar a profile.

    A bar is as long as there are ticks that were made up for, by what became of them. At its
    right end stands how long it took to the first promise that a worker can keep, and until
    the last was made up for.

    Parameters
    ----------
    outages : mapping of str to DataFrame
        profile name to its ticks: one row a tick, with the columns ``scheduled_at``,
        ``fired_at`` and ``timeout_at`` (tz-aware), ``state`` (at creation) and
        ``dispatched``, as `frames.ticks` or `WhatIf.ticks` returns them
    up : instant, optional
        the restart; ticks fired before are left out. Default: the first firing of all
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
    for frame in outages.values():
        require(frame, _COLUMNS)
    fired = [frame["fired_at"].min() for frame in outages.values() if len(frame)]
    ax = new_axes(lanes_height(len(outages))) if ax is None else ax
    if not fired:
        return empty(ax, "no tick was made up for")
    restart = instant_ms(min(fired) if up is None else up, "up")
    stamp = pd.Timestamp(restart, unit="ms", tz="UTC")
    after = {name: frame[frame["fired_at"] >= stamp] for name, frame in outages.items()}
    counts = np.array([_fates(frame) for frame in after.values()])
    left = np.zeros(len(after), dtype=np.int64)
    for (label, look), numbers in zip(_LOOKS.items(), counts.T, strict=True):
        own = np.flatnonzero(numbers)  # a bar of no length would show its edge
        if len(own):
            bars = {"height": 0.6, "linewidth": 0.9, "label": label, **look, **kwargs}
            ax.barh(own, numbers[own], left=left[own], **bars)
        left += numbers
    name_lanes(ax, list(after))
    for bar, (frame, fates) in enumerate(zip(after.values(), counts, strict=True)):
        ax.annotate(
            _story(frame, fates, stamp),
            (1.01, bar),
            xycoords=ax.get_yaxis_transform(),
            va="center",
            fontsize=7.5,
            annotation_clip=False,
        )
    ax.set_xlim(0, max(int(left.max()), 1) * 1.004)  # the last edge is drawn whole
    count_axis(ax.xaxis)
    ax.set_xlabel(f"ticks made up for since {format_instant(restart)}", fontsize=8.5)
    ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=4, fontsize=8, frameon=False,
        borderaxespad=0.2, handletextpad=0.5, borderpad=0.1,
    )  # fmt: skip
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    return ax


def _in_time(frame: pd.DataFrame) -> pd.Series:
    # Some profiles create what is too late as pending all the same.
    return (frame["state"] == "pending") & (frame["timeout_at"] > frame["fired_at"])


def _fates(frame: pd.DataFrame) -> list[int]:
    """Return how many ticks had each of the fates of `_LOOKS`."""
    in_time = _in_time(frame)
    told = frame["dispatched"].to_numpy(dtype=bool)
    missing = frame["state"].isna()
    too_late = ~in_time & ~missing
    return [
        int((in_time & told).sum()),
        int((in_time & ~told).sum()),
        int((too_late & told).sum()),
        int((too_late & ~told).sum()),
        int(missing.sum()),
    ]


def _story(frame: pd.DataFrame, fates: list[int], restart: pd.Timestamp) -> str:
    if frame.empty:
        return "nothing made up for"
    in_time = frame.loc[_in_time(frame), "fired_at"]
    first = "none in time" if in_time.empty else f"first in time {_after(in_time.min() - restart)}"
    last = f"last {_after(frame['fired_at'].max() - restart)}"
    messages, late = fates[0] + fates[2], fates[2] + fates[3]
    return f"{messages:,} messages, {late:,} too late\n{first}, {last}"


def _after(span: pd.Timedelta) -> str:
    ms = span // pd.Timedelta(milliseconds=1)
    return f"after {format_duration(ms)}" if ms else "at once"
