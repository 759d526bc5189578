"""The catch-up timeline: when missed ticks were due, and when they fire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
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
    name_text,
    new_axes,
    require,
    time_axis,
)

if TYPE_CHECKING:
    from resonate_lab.instants import Instant

    Outages = tuple[Instant, Instant] | Sequence[tuple[Instant, Instant]]

__all__ = ["STATE_STYLE", "StateStyle", "catch_up_timeline"]


class StateStyle(NamedTuple):
    """How one state looks: its colour, its marker and its words, never colour alone."""

    color: str
    marker: str
    size: float  # points squared
    label: str


# The palette of Okabe and Ito, which stays apart in the three common colour-vision
# deficiencies; in greyscale the markers tell: filled disc, cross, hollow square.
STATE_STYLE: Mapping[str, StateStyle] = MappingProxyType(
    {
        "pending": StateStyle("#0072B2", "o", 22, "created pending, in time"),
        "rejected_timedout": StateStyle("#D55E00", "x", 14, "born expired (rejected_timedout)"),
        "resolved": StateStyle("#009E73", "s", 16, "born resolved (timer)"),
        "existing": StateStyle("#767676", "|", 22, "id existed: nothing created"),
        "lost": StateStyle("#000000", "1", 26, "lost: the policy starts none"),
    }
)
"""Look of each state at creation; ``existing`` and ``lost`` stand for a missing one."""

_BORN_SETTLED = ["resolved", "rejected_timedout"]
_HOLLOW = {"s"}
_MARKERS_ACROSS = 150  # more would touch, and their shapes would be lost
_FAN_LINES = 48
_TICK_RAIL, _FIRE_RAIL = -0.16, 0.30


def catch_up_timeline(
    ticks: pd.DataFrame,
    *,
    down: Outages | None = None,
    ax: Axes | None = None,
    max_lanes: int = 30,
    lanes: Sequence[str] | None = None,
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
    """
    require(ticks, ("schedule_id", "scheduled_at", "fired_at", "state", "dispatched"))
    if max_lanes < 1:
        raise ValueError(f"max_lanes is {max_lanes}, but at least one lane must be drawn")
    ids = ticks["schedule_id"].astype(object)
    every = list(dict.fromkeys(lanes)) if lanes is not None else ids.unique().tolist()
    names = every[:max_lanes]
    lane = pd.Index(names).get_indexer(pd.Index(ids)) if names else np.array([], dtype=np.intp)
    if ax is None:
        ax = new_axes(lanes_height(len(names) + (len(names) < len(every))))
    if not names or ticks.empty:
        return empty(ax, "no tick was missed")
    shown = lane >= 0
    drawn = _Drawn.of(ticks[shown], lane[shown])
    _shade(ax, ticks, down)
    _lane_rules(ax, len(names))
    _fans(ax, drawn)
    _markers(ax, drawn, kwargs)
    _name_lanes(ax, names, drawn)
    if len(every) > len(names) or not shown.all():
        _more(ax, ticks, shown, len(names))
    _finish(ax, ticks, down)
    return ax


class _Drawn(NamedTuple):
    """The ticks of the lanes to draw, as arrays; times in matplotlib's days."""

    lane: npt.NDArray[np.intp]
    at: npt.NDArray[np.float64]
    fired: npt.NDArray[np.float64]
    state: npt.NDArray[np.object_]
    dispatched: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, ticks: pd.DataFrame, lane: npt.NDArray[np.intp]) -> _Drawn:
        state = ticks["state"].astype(object)
        state = state.where(state.notna(), "existing")
        if "lost" in ticks:
            state = state.mask(ticks["lost"], "lost")
        return cls(
            lane,
            days(ticks["scheduled_at"]),
            days(ticks["fired_at"]),
            state.to_numpy(dtype=object),
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


def _name_lanes(ax: Axes, names: Sequence[str], drawn: _Drawn) -> None:
    count = len(names)
    ax.set_yticks(range(count), [name_text(name) for name in names], fontsize=8)
    for label in ax.get_yticklabels():
        # An id may hold dollar signs, which matplotlib would read as mathematics.
        label.set_parse_math(False)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(count - 0.5, -0.5)
    sent = np.bincount(drawn.lane[drawn.dispatched], minlength=count)
    born = np.isin(drawn.state, _BORN_SETTLED)
    expired = np.bincount(drawn.lane[born], minlength=count)
    for lane in range(count):
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
        f"and {schedules:,} more schedule{'s' if schedules > 1 else ''} with {len(rest):,} ticks",
        (0.01, lanes),
        xycoords=ax.get_yaxis_transform(),
        va="center",
        fontsize=8,
        style="italic",
    )


def _finish(ax: Axes, ticks: pd.DataFrame, down: Outages | None) -> None:
    outages = _windows(ticks, down)
    start, up = outages[0][0], outages[-1][1]
    length = sum(end - begin for begin, end in outages)
    sent = int(ticks["dispatched"].sum())
    born = int(ticks["state"].isin(_BORN_SETTLED).sum())
    ax.set_title(
        f"{format_duration(length)} down: {len(ticks):,} missed ticks, "
        f"{sent:,} execute messages at restart, {born:,} promises born expired",
        loc="left",
        fontsize=10,
        pad=22,
    )
    if ax.get_legend_handles_labels()[0]:
        ax.legend(
            loc="lower left", bbox_to_anchor=(0, 1), ncols=4, fontsize=8, frameon=False,
            borderaxespad=0.2, handletextpad=0.3, borderpad=0.1,
        )  # fmt: skip
    time_axis(
        ax,
        f"time (UTC), {format_instant(start)} to {format_instant(up)}\n"
        "a marker stands at a tick's logical time; a line leads from it to its firing",
    )
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
