"""The catch-up timeline: when missed ticks were due, and when they fire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from resonate_lab.instants import format_duration, format_instant, instant_ms
from resonate_lab.plots.drawing import (
    as_days,
    days,
    empty,
    lanes_height,
    ms_of,
    name_lanes,
    new_axes,
    require,
    time_axis,
)
from resonate_lab.plots.states import STATE_STYLE, state_codes
from resonate_lab.plots.strips import strips

if TYPE_CHECKING:
    from resonate_lab.instants import Instant

    Outages = tuple[Instant, Instant] | Sequence[tuple[Instant, Instant]]

__all__ = ["catch_up_timeline"]


_BORN_SETTLED = ["resolved", "rejected_timedout"]
_HOLLOW = {"s"}
_MARKERS_ACROSS = 150  # more would touch, and their shapes would be lost
_FAN_LINES = 48
_TICK_RAIL, _FIRE_RAIL = -0.16, 0.30
_MOST_MARKED = 20_000  # ticks of a window; more are counted by pixel
_COLUMNS = 1_000  # pixels of a lane in which they are counted
_MARKED = "a marker stands at a tick's logical time; a line leads from it to its firing"
_COUNTED = "a strip of a lane stands for a state; the darker it is, the more ticks are due"
_OF_TICKS = ["schedule_id", "scheduled_at", "fired_at", "state", "dispatched"]


def catch_up_timeline(
    ticks: pd.DataFrame,
    *,
    down: Outages | None = None,
    ax: Axes | None = None,
    max_lanes: int = 30,
    lanes: Sequence[str] | None = None,
    window: tuple[Instant, Instant] | None = None,
    words: bool = True,
    **kwargs: Any,
) -> Axes:
    """Draw when missed ticks were due and when they fire: one lane a schedule.

    In a lane a marker stands at the logical time of each tick, and a fan of thin lines
    leads from there to the instant of firing. The outage is shaded. How many messages a
    lane sends and how many of its promises are born expired stands at its right end.

    Parameters
    ----------
    ticks : DataFrame
        one row a missed tick, with the columns ``schedule_id``, ``scheduled_at``,
        ``fired_at`` (tz-aware), ``state`` and ``dispatched``, as in `WhatIf.ticks`
    down : (start, up), or a sequence of such pairs, optional
        the outages to shade; default: from the first tick to the last firing
    ax : Axes, optional
        default: a new figure, as high as the lanes need
    max_lanes : int
        schedules to draw; the others are summed up in one line
    lanes : sequence of str, optional
        the schedules to draw, top to bottom; default: in the order of the frame
    window : (from, to), optional
        the closed window of logical times to draw; default: all of them
    words : bool
        whether to write the title, the legend and the numbers at the right; names and times
        are written always
    **kwargs
        passed to `Axes.scatter`, for every state

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

    Notes
    -----
    Ticks of one state that would cover one another are drawn once, so that a million of
    them cost no more than the lanes have room for; the numbers at the right count all.

    A window with more than 20,000 ticks is drawn as one image: each lane has a strip a state,
    the darker the more ticks (on a logarithmic scale) are due in the time that a pixel stands
    for. It is quickest where ``schedule_id`` is a category.
    """
    require(ticks, _OF_TICKS)
    if max_lanes < 1:
        raise ValueError(f"max_lanes is {max_lanes}, but at least one lane must be drawn")
    ids = ticks["schedule_id"]
    every = list(dict.fromkeys(lanes if lanes is not None else ids.unique().tolist()))
    names = every[:max_lanes]
    lane = _lanes(ids, names)
    if ax is None:
        ax = new_axes(lanes_height(len(names) + (len(names) < len(every))))
    if not names or ticks.empty:
        return empty(ax, "no tick was missed")
    shown = lane >= 0
    if window is not None:
        return _windowed(ax, ticks, lane, names, window, down, words, kwargs)
    drawn = _Drawn.of(ticks[shown], lane[shown])
    _shade(ax, ticks, down)
    _lane_rules(ax, len(names))
    _fans(ax, drawn)
    _markers(ax, drawn, kwargs)
    _finish(ax, names)
    if not words:
        return ax
    _count_lanes(ax, names, drawn)
    if len(every) > len(names) or not shown.all():
        _more(ax, ticks, shown, len(names))
    _entitle(ax, ticks, down)
    return ax


def _lanes(ids: pd.Series, names: Sequence[str]) -> npt.NDArray[np.intp]:
    """Return the lane of each tick, -1 for one that is not drawn."""
    if not names:
        return np.full(len(ids), -1)
    lanes = pd.Index(np.array(names, dtype=object))
    if isinstance(ids.dtype, pd.CategoricalDtype):
        places = np.asarray(lanes.get_indexer(ids.cat.categories.astype(object)))
        return places[ids.cat.codes.to_numpy()]
    return np.asarray(lanes.get_indexer(pd.Index(ids.astype(object))))


class _Drawn(NamedTuple):
    """The ticks of the lanes to draw, as arrays; times in matplotlib's days."""

    lane: npt.NDArray[np.intp]
    at: npt.NDArray[np.float64]
    fired: npt.NDArray[np.float64]
    state: npt.NDArray[np.object_]
    dispatched: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, ticks: pd.DataFrame, lane: npt.NDArray[np.intp]) -> _Drawn:
        return cls(
            lane,
            days(ticks["scheduled_at"]),
            days(ticks["fired_at"]),
            np.array(list(STATE_STYLE), dtype=object)[state_codes(ticks)],
            ticks["dispatched"].to_numpy(dtype=bool),
        )

    def take(self, keep: npt.NDArray[Any]) -> _Drawn:
        return _Drawn(*(column[keep] for column in self))


def _windows(ticks: pd.DataFrame, down: Outages | None) -> list[tuple[int, int]]:
    if down is None:
        return [(instant_ms(ticks["scheduled_at"].min()), instant_ms(ticks["fired_at"].max()))]
    pairs = [down] if not isinstance(down[0], Sequence) or isinstance(down[0], str) else down
    return [
        (instant_ms(start, "down[0]"), instant_ms(up, "down[1]"))
        for start, up in cast("Sequence[tuple[Instant, Instant]]", pairs)
    ]


def _shade(ax: Axes, ticks: pd.DataFrame, down: Outages | None) -> None:
    outages = _windows(ticks, down)
    for start, up in as_days(np.array(outages, dtype="datetime64[ms]")).tolist():
        ax.axvspan(start, up, color="#888888", alpha=0.13, lw=0, zorder=0)
        ax.axvline(up, color="#555555", lw=1.2, zorder=1)
    # Where a server polls, firings go on after it is back.
    span = (outages[0][0], max(outages[-1][1], instant_ms(ticks["fired_at"].max())))
    start, end = as_days(np.array(span, dtype="datetime64[ms]")).tolist()
    margin = (end - start) * 0.02 or 1 / 1440
    ax.set_xlim(start - margin, end + margin)


def _lane_rules(ax: Axes, lanes: int) -> None:
    heights = np.arange(lanes) + 0.5
    ax.hlines(heights, 0, 1, transform=ax.get_yaxis_transform(), color="#888888", lw=0.4, alpha=0.5)


def _fans(ax: Axes, drawn: _Drawn) -> None:
    """Lead from tick to firing, with at most `_FAN_LINES` lines a lane and state."""
    for state, style in STATE_STYLE.items():
        own = drawn.take(drawn.state == state)
        if not len(own.lane) or state == "lost":
            continue
        # The how-manieth of its lane each tick is, over the lane's size: an even sample.
        order = np.argsort(own.lane, kind="stable")
        own = own.take(order)
        sizes = np.bincount(own.lane)
        rank = np.arange(len(own.lane)) - (np.cumsum(sizes) - sizes)[own.lane]
        stride = np.maximum(1, -(-sizes // _FAN_LINES))[own.lane]
        own = own.take(rank % stride == 0)
        segments = np.empty((len(own.lane), 2, 2))
        segments[:, 0, 0], segments[:, 0, 1] = own.at, own.lane + _TICK_RAIL
        segments[:, 1, 0], segments[:, 1, 1] = own.fired, own.lane + _FIRE_RAIL
        ax.add_collection(
            LineCollection(list(segments), colors=style.color, linewidths=0.5, alpha=0.3, zorder=2),
            autolim=False,
        )


def _markers(ax: Axes, drawn: _Drawn, kwargs: dict[str, Any]) -> None:
    drawn = _thinned(drawn)
    for state, style in STATE_STYLE.items():
        own = drawn.take(drawn.state == state)
        if not len(own.lane):
            continue
        look: dict[str, Any] = {
            "s": style.size,
            "marker": style.marker,
            "linewidths": 1.1,
            "label": style.label,
            "zorder": 3,
        }
        if style.marker in _HOLLOW:
            look |= {"facecolors": "none", "edgecolors": style.color}
        else:
            look["color"] = style.color
        ax.scatter(own.at, own.lane + _TICK_RAIL, **(look | kwargs))


def _thinned(drawn: _Drawn) -> _Drawn:
    """Return the first tick of each lane, state and marker's width."""
    if not len(drawn.at):
        return drawn
    low, high = drawn.at.min(), drawn.at.max()
    column = ((drawn.at - low) / ((high - low) or 1) * _MARKERS_ACROSS).astype(np.int64)
    state = pd.factorize(drawn.state)[0]
    key = (drawn.lane * (_MARKERS_ACROSS + 1) + column) * len(STATE_STYLE) + state
    return drawn.take(np.unique(key, return_index=True)[1])


def _count_lanes(ax: Axes, names: Sequence[str], drawn: _Drawn) -> None:
    count = len(names)
    sent = np.bincount(drawn.lane[drawn.dispatched], minlength=count)
    born = np.isin(drawn.state, _BORN_SETTLED)
    _tell_lanes(ax, sent, np.bincount(drawn.lane[born], minlength=count))


def _tell_lanes(ax: Axes, sent: npt.NDArray[Any], expired: npt.NDArray[Any]) -> None:
    for lane in range(len(sent)):
        ax.annotate(
            f"{sent[lane]:,} sent, {expired[lane]:,} expired",
            (1.005, lane),
            xycoords=ax.get_yaxis_transform(),
            va="center",
            fontsize=7.5,
            annotation_clip=False,
        )


def _more(ax: Axes, ticks: pd.DataFrame, shown: npt.NDArray[np.bool_], lanes: int) -> None:
    rest = ticks[~shown]
    schedules = rest["schedule_id"].nunique()
    if not schedules:
        return
    ax.set_ylim(lanes + 0.5, -0.5)
    ax.annotate(
        f"and {schedules:,} more schedule{'s' if schedules > 1 else ''} with {len(rest):,} "
        f"tick{'s' * (len(rest) != 1)}",
        (0.01, lanes),
        xycoords=ax.get_yaxis_transform(),
        va="center",
        fontsize=8,
        style="italic",
    )


def _finish(ax: Axes, names: Sequence[str]) -> None:
    name_lanes(ax, names)
    time_axis(ax, "time (UTC)")
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)


def _entitle(ax: Axes, ticks: pd.DataFrame, down: Outages | None) -> None:
    outages = _windows(ticks, down)
    length = sum(end - begin for begin, end in outages)
    sent = int(ticks["dispatched"].sum())
    born = int(ticks["state"].isin(_BORN_SETTLED).sum())
    _say(
        ax,
        f"{format_duration(length)} down: {len(ticks):,} missed tick{'s' * (len(ticks) != 1)}, "
        f"{sent:,} execute message{'s' * (sent != 1)} at restart, "
        f"{born:,} promise{'s' * (born != 1)} born expired",
        (outages[0][0], outages[-1][1]),
        _MARKED,
    )


def _say(ax: Axes, title: str, span: tuple[int, int], note: str) -> None:
    ax.set_title(title, loc="left", fontsize=10, pad=22)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(
            loc="lower left", bbox_to_anchor=(0, 1), ncols=4, fontsize=8, frameon=False,
            borderaxespad=0.2, handletextpad=0.3, borderpad=0.1,
        )  # fmt: skip
    times = f"{format_instant(span[0])} to {format_instant(span[1])}"
    ax.set_xlabel(f"time (UTC), {times}\n{note}", fontsize=8.5)


# --- a window of many ticks ---------------------------------------------------------------


def _windowed(
    ax: Axes,
    ticks: pd.DataFrame,
    lane: npt.NDArray[np.intp],
    names: Sequence[str],
    window: tuple[Instant, Instant],
    down: Outages | None,
    words: bool,
    kwargs: dict[str, Any],
) -> Axes:
    """Draw the ticks of a window: one by one, or counted by pixel where they are many."""
    start, end = instant_ms(window[0], "window[0]"), instant_ms(window[1], "window[1]")
    low, high = as_days(np.array([start, end], dtype="datetime64[ms]")).tolist()
    _shade(ax, ticks, down)
    ticks, lane = _due_within(ticks, lane, start, end)
    codes = state_codes(ticks)
    _lane_rules(ax, len(names))
    many = len(ticks) > _MOST_MARKED
    if many:
        column = (ms_of(ticks["scheduled_at"]) - start) * _COLUMNS // (end - start + 1)
        cells = (lane * _COLUMNS + column) * len(STATE_STYLE) + codes
        shape = (len(names), _COLUMNS, len(STATE_STYLE))
        counts = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)
        strips(ax, counts, (low, high), words=words)
    else:
        drawn = _Drawn.of(ticks, lane)
        _fans(ax, drawn)
        _markers(ax, drawn, kwargs)
    _finish(ax, names)
    ax.set_xlim(low, max(high, low + 1e-8))
    if not words:
        return ax
    sent = ticks["dispatched"].to_numpy(dtype=bool)
    born = np.array([state in _BORN_SETTLED for state in STATE_STYLE])[codes]
    expired = np.bincount(lane[born], minlength=len(names))
    _tell_lanes(ax, np.bincount(lane[sent], minlength=len(names)), expired)
    _say(
        ax,
        f"{len(ticks):,} ticks due in these {format_duration(end - start)}, {sent.sum():,} of them "
        f"sent, {born.sum():,} born expired",
        (start, end),
        _COUNTED if many else _MARKED,
    )
    return ax


def _due_within(
    ticks: pd.DataFrame, lane: npt.NDArray[np.intp], start: int, end: int
) -> tuple[pd.DataFrame, npt.NDArray[np.intp]]:
    """Return the ticks that are due in a closed window, ms, and have a lane."""
    needed = [name for name in (*_OF_TICKS, "lost") if name in ticks]
    ticks, scheduled = ticks[needed], ms_of(ticks["scheduled_at"])
    if ticks["scheduled_at"].is_monotonic_increasing:
        part = slice(*np.searchsorted(scheduled, [start, end + 1]))
        ticks, lane = ticks.iloc[part], lane[part]
    else:
        due = (scheduled >= start) & (scheduled <= end)
        ticks, lane = ticks[due], lane[due]
    shown = lane >= 0
    return (ticks, lane) if shown.all() else (ticks[shown], lane[shown])
