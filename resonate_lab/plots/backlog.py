"""After an outage: how many messages wait and how many workers work; who is level when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from resonate_lab.errors import FrameError
from resonate_lab.instants import format_duration, format_instant, instant_ms
from resonate_lab.plots.drawing import (
    SPANS,
    as_days,
    count_axis,
    duration_axis,
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

    Outages = Sequence[tuple[Instant, Instant]]

__all__ = ["backlog", "levels"]

_BINS = 60  # the most bars of messages sent
_WAITING, _BUSY, _SENT = "#D55E00", "#0072B2", "#c9c9c9"


def backlog(
    *,
    waiting: pd.Series | None = None,
    busy: pd.Series | None = None,
    sent: pd.Series | None = None,
    outages: Outages = (),
    empty_at: Instant | None = None,
    ax: Axes | None = None,
    **kwargs: Any,
) -> Axes:
    """Draw how many messages wait, how many are sent, and how many workers work, over time.

    Parameters
    ----------
    waiting, busy : Series, optional
        numbers on a tz-aware DatetimeIndex, each until the next, as `Queue.waiting` and
        `Queue.busy`; the workers are drawn in a strip of their own above
    sent : Series, optional
        tz-aware instants at which messages leave, as the column ``sent_at`` of
        `WhatIf.ticks`; missing ones are left out. They are summed up in bars.
    outages : sequence of (start, up)
        what to shade, and where the server is back
    empty_at : instant, optional
        when nothing waits any more
    ax : Axes, optional
        default: a new figure
    **kwargs
        passed to `Axes.fill_between`, for what waits

    Returns
    -------
    Axes
        the one that was given, or the new one

    Raises
    ------
    FrameError
        a Series has no tz-aware instants
    """
    if ax is None:
        ax = new_axes(4.4)
    stamps = {
        name: _instants(series, name)
        for name, series in (("waiting", waiting), ("busy", busy), ("sent", sent))
        if series is not None
    }
    if not any(len(at) for at in stamps.values()):
        return empty(ax, "no message was sent")
    low, high = _window(stamps, outages, empty_at)
    if "sent" in stamps and len(stamps["sent"]):
        _bars(ax, stamps["sent"], low, high)
    if waiting is not None and len(waiting):
        _steps(ax, stamps["waiting"], waiting.to_numpy(), high, kwargs)
    _shade(ax, outages)
    if empty_at is not None:
        at = instant_ms(empty_at, "empty_at")
        x = as_days(np.array([at], dtype="datetime64[ms]"))[0]
        ax.axvline(x, color=ink(ax), lw=1.2, ls="--", label=f"empty at {format_instant(at)}")
    margin = (high - low) * 0.02 or 30_000
    ends = np.array([low - margin, high + margin]).astype(np.int64).view("datetime64[ms]")
    ax.set_xlim(*as_days(ends).tolist())
    ax.set_ylim(0, ax.dataLim.y1 * 1.28 or 1)  # room for the legend
    ax.set_ylabel("messages", fontsize=8.5)
    count_axis(ax.yaxis)
    time_axis(ax, f"time (UTC), {format_instant(low)} to {format_instant(high)}")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="upper right", fontsize=8, frameon=True, framealpha=0.9, edgecolor="none")
    if busy is not None and len(busy):
        _strip(ax, stamps["busy"], busy.to_numpy(), high)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def levels(
    drain: pd.DataFrame,
    *,
    up: Instant | None = None,
    ax: Axes | None = None,
    max_lanes: int = 30,
    **kwargs: Any,
) -> Axes:
    """Draw when each schedule is level again: one lane a schedule, the last ones on top.

    Parameters
    ----------
    drain : DataFrame
        one row a schedule, with the columns ``schedule_id``, ``level_at`` (tz-aware) and
        ``late_ticks``, as `WhatIf.drain`
    up : instant, optional
        when the server is back; default: the first instant of ``level_at``
    ax : Axes, optional
        default: a new figure, as high as the lanes need
    max_lanes : int
        schedules to draw; the others are summed up in one line
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
        `max_lanes` is less than 1
    """
    require(drain, ("schedule_id", "level_at", "late_ticks"))
    if max_lanes < 1:
        raise ValueError(f"max_lanes is {max_lanes}, but at least one lane must be drawn")
    late = drain[drain["late_ticks"] > 0]
    # Those that are not seen level come first: they take the longest.
    order = late["level_at"].astype("int64").where(late["level_at"].notna(), np.iinfo(np.int64).max)
    late = late.loc[order.sort_values(ascending=False, kind="stable").index]
    shown = late.head(max_lanes)
    more = len(late) - len(shown)
    ax = new_axes(lanes_height(len(shown) + (more > 0))) if ax is None else ax
    if late.empty:
        return empty(ax, "no tick was late")
    at = shown["level_at"].dt.as_unit("ms").astype("int64").to_numpy()
    seen = shown["level_at"].notna().to_numpy()
    known = drain["level_at"].dropna()
    back = instant_ms(up if up is not None else (known.min() if len(known) else 0), "up")
    seconds = np.where(seen, at - back, 0) / 1000
    end = float(seconds.max()) or 1.0
    bars: dict[str, Any] = {"height": 0.6, "linewidth": 0.9, "color": _BUSY, **kwargs}
    ax.barh(np.flatnonzero(seen), seconds[seen], **bars)
    hatched = {**bars, "color": "none", "edgecolor": _WAITING, "hatch": "////"}
    ax.barh(np.flatnonzero(~seen), np.full((~seen).sum(), end), **hatched)
    name_lanes(ax, shown["schedule_id"].tolist())
    ax.set_ylim(len(shown) - 0.5 + (more > 0), -0.5)
    counts = shown["late_ticks"].tolist()
    for lane, (count, is_level, second) in enumerate(zip(counts, seen, seconds, strict=True)):
        when = f"after {format_duration(int(second * 1000))}" if is_level else "not level yet"
        ax.annotate(
            f"{count:,} late, {when}",
            (1.01, lane),
            xycoords=ax.get_yaxis_transform(),
            va="center",
            fontsize=7.5,
            annotation_clip=False,
        )
    if more:
        rest = late.iloc[len(shown) :]
        ax.annotate(
            f"and {more:,} more schedule{'s' if more > 1 else ''} with "
            f"{int(rest['late_ticks'].sum()):,} late ticks, level no later",
            (0.01, len(shown)),
            xycoords=ax.get_yaxis_transform(),
            va="center",
            fontsize=8,
            style="italic",
        )
    ax.set_xlim(0, end * 1.01)
    duration_axis(ax, f"time after the restart at {format_instant(back)}")
    ax.set_title(
        f"{len(late):,} schedule{'s' * (len(late) != 1)} with late ticks: when each is level again",
        loc="left",
        fontsize=10,
    )
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    return ax


def _instants(series: pd.Series, name: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the instants of a curve, or of a column, as ms since the Unix epoch, UTC."""
    stamps = pd.DatetimeIndex(series.dropna()) if name == "sent" else series.index
    if not isinstance(stamps, pd.DatetimeIndex) or stamps.tz is None:
        raise FrameError(f"{name} has no tz-aware instants: give those of `what_if`'s answer")
    return stamps.tz_convert("UTC").as_unit("ms").asi8


def _window(
    stamps: dict[str, np.ndarray[Any, np.dtype[np.int64]]], outages: Outages, empty_at: object
) -> tuple[int, int]:
    found = [int(end) for at in stamps.values() if len(at) for end in (at.min(), at.max())]
    found += [instant_ms(at, "outages") for pair in outages for at in pair]
    if empty_at is not None:
        found.append(instant_ms(empty_at, "empty_at"))  # type: ignore[arg-type]
    return min(found), max(found)


def _bars(ax: Axes, at: np.ndarray[Any, np.dtype[np.int64]], low: int, high: int) -> None:
    span = next((s for s in SPANS if (high - low) // s < _BINS), SPANS[-1])
    bins, counts = np.unique(at // span, return_counts=True)
    left = as_days((bins * span).view("datetime64[ms]"))
    width = span / 86_400_000
    ax.bar(
        left, counts, width, align="edge", color=_SENT, edgecolor="#8a8a8a", linewidth=0.5,
        label=f"sent in {format_duration(span)}", zorder=1,
    )  # fmt: skip


def _steps(
    ax: Axes,
    at: np.ndarray[Any, np.dtype[np.int64]],
    level: np.ndarray[Any, np.dtype[np.int64]],
    high: int,
    kwargs: dict[str, Any],
) -> None:
    x = as_days(np.append(at, high).view("datetime64[ms]"))
    y = np.append(level, level[-1])
    look: dict[str, Any] = {"color": _WAITING, "alpha": 0.35, "lw": 0, "zorder": 2, **kwargs}
    ax.fill_between(x, y, step="post", **look)
    most = int(level.max())
    ax.step(
        x, y, where="post", color=_WAITING, lw=1.4, zorder=3, label=f"waiting, at most {most:,}"
    )


def _strip(
    ax: Axes,
    at: np.ndarray[Any, np.dtype[np.int64]],
    level: np.ndarray[Any, np.dtype[np.int64]],
    high: int,
) -> None:
    """Draw the workers above, on the same axis of time."""
    top = ax.inset_axes((0, 1.06, 1, 0.22), sharex=ax)
    x = as_days(np.append(at, high).view("datetime64[ms]"))
    y = np.append(level, level[-1])
    top.fill_between(x, y, step="post", color=_BUSY, alpha=0.55, lw=0)
    top.step(x, y, where="post", color=_BUSY, lw=1)
    top.set_ylim(0, max(1, int(level.max())) * 1.12)
    top.set_ylabel("busy\nworkers", fontsize=8)
    top.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    top.yaxis.set_major_formatter("{x:,.0f}")
    top.tick_params(axis="both", labelsize=7.5)
    top.tick_params(axis="x", labelbottom=False, length=0)
    for side in ("top", "right"):
        top.spines[side].set_visible(False)


def _shade(ax: Axes, outages: Outages) -> None:
    for number, pair in enumerate(outages):
        start, up = (instant_ms(at, "outages") for at in pair)
        left, right = as_days(np.array([start, up], dtype="datetime64[ms]")).tolist()
        label = "server down" if number == 0 else None
        ax.axvspan(left, right, color="#888888", alpha=0.18, lw=0, zorder=0, label=label)
        ax.axvline(right, color="#555555", lw=1.2, zorder=1)
