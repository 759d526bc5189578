"""The lives of promises: created, dispatched, settled or timed out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from resonate_lab.instants import format_instant, instant_ms
from resonate_lab.plots.drawing import (
    as_days,
    days,
    empty,
    ink,
    lanes_height,
    name_lanes,
    new_axes,
    require,
    time_axis,
)

if TYPE_CHECKING:
    from resonate_lab.instants import Instant

__all__ = ["lifelines"]

_COLUMNS = ("id", "state", "created_at", "timeout_at", "settled_at")

# How a life ends: colour, marker and words; the markers tell where the colours do not.
_ENDS = {
    "pending": ("#0072B2", ">", "still pending"),
    "resolved": ("#009E73", "s", "resolved"),
    "rejected": ("#CC79A7", "D", "rejected"),
    "rejected_canceled": ("#767676", "P", "canceled"),
    "rejected_timedout": ("#D55E00", "X", "timed out"),
}


def lifelines(
    promises: pd.DataFrame,
    *,
    dispatched: pd.DataFrame | None = None,
    now: Instant | None = None,
    ax: Axes | None = None,
    max_rows: int = 40,
    **kwargs: Any,
) -> Axes:
    """Draw the life of each promise: one row a promise, the earliest on top.

    A thick line leads from creation to settlement, or to `now` while the promise is pending;
    a thin one goes on to the deadline. What ended the life stands at its end, and a tick
    above the line wherever a message told a worker.

    Parameters
    ----------
    promises : DataFrame
        one row a promise, with the columns ``id``, ``state``, ``created_at``, ``timeout_at``
        and ``settled_at`` (tz-aware), as `frames.promises` returns it
    dispatched : DataFrame, optional
        when execute messages were queued: the columns ``promise_id`` and ``at``
        (tz-aware), as `frames.dispatches` returns it; of other promises they are left out
    now : instant, optional
        to which a pending promise is drawn; default: the latest instant of the frame other
        than a deadline
    ax : Axes, optional
        default: a new figure, as high as the rows need
    max_rows : int
        promises to draw, the first of the frame; the others are counted
    **kwargs
        passed to `Axes.hlines`, for the lives

    Returns
    -------
    Axes
        the one that was given, or the new one

    Raises
    ------
    FrameError
        a column is missing
    ValueError
        `max_rows` is less than 1
    """
    require(promises, _COLUMNS)
    if dispatched is not None:
        require(dispatched, ("promise_id", "at"))
    if max_rows < 1:
        raise ValueError(f"max_rows is {max_rows}, but at least one row must be drawn")
    rows = promises.head(max_rows)
    more = len(promises) - len(rows)
    if ax is None:
        ax = new_axes(lanes_height(len(rows) + bool(more)))
    if rows.empty:
        return empty(ax, "there is no promise")
    told = None if dispatched is None else dispatched[dispatched["promise_id"].isin(rows["id"])]
    begin, limit = days(rows["created_at"]), days(rows["timeout_at"])
    end = _ends(rows, _until(rows, told, now))
    at = np.arange(len(rows))
    colors = [_ENDS[state][0] for state in rows["state"]]
    # One born expired has no length, and its creation may lie after its deadline.
    ax.hlines(at, np.minimum(end, limit), np.maximum(end, limit), color="#888888", lw=0.8, zorder=1)
    ax.plot(limit, at, "|", color="#888888", ms=9, mew=1, label="deadline", zorder=1)
    ax.hlines(at, begin, end, **{"colors": colors, "lw": 3, "alpha": 0.55, "zorder": 2, **kwargs})
    ax.plot(begin, at, "o", color=ink(ax), mfc=ax.get_facecolor(), ms=5, label="created", zorder=3)
    _end_markers(ax, rows, at, end)
    if told is not None and len(told):
        row = pd.Index(rows["id"]).get_indexer(pd.Index(told["promise_id"]))
        ax.plot(days(told["at"]), row - 0.25, "|", color=ink(ax), ms=5, mew=1, label="dispatched")
    names = rows["id"].tolist() + ([f"and {more:,} more"] if more else [])
    name_lanes(ax, names)
    first, last = (
        format_instant(instant_ms(promises["created_at"].agg(f))) for f in ("min", "max")
    )
    time_axis(ax, f"time (UTC); created {first} to {last}")
    ax.margins(x=0.02)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=8, fontsize=8, frameon=False)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    return ax


def _until(rows: pd.DataFrame, told: pd.DataFrame | None, now: Instant | None) -> float:
    """Return to where a pending promise is drawn, in matplotlib's days."""
    if now is not None:
        return float(as_days(np.array([instant_ms(now, "now")], dtype="datetime64[ms]"))[0])
    seen = [days(rows["created_at"]).max(), days(rows["settled_at"].dropna()).max(initial=-np.inf)]
    if told is not None:
        seen.append(days(told["at"]).max(initial=-np.inf))
    return float(max(seen))


def _ends(rows: pd.DataFrame, until: float) -> npt.NDArray[np.float64]:
    """Return where each life ends, in matplotlib's days."""
    settled = days(rows["settled_at"].fillna(rows["created_at"]))
    pending = rows["settled_at"].isna().to_numpy()
    return np.where(pending, np.maximum(until, settled), settled)


def _end_markers(
    ax: Axes, rows: pd.DataFrame, at: npt.NDArray[Any], end: npt.NDArray[np.float64]
) -> None:
    states = rows["state"].astype(object).to_numpy()
    for state, (color, marker, words) in _ENDS.items():
        own = states == state
        if own.any():
            ax.plot(
                end[own], at[own], color=color, ls="", marker=marker, ms=6, label=words, zorder=3
            )
