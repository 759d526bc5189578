"""The missed-run rules of many schedulers, beside one another."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from resonate_lab.instants import format_duration
from resonate_lab.plots.drawing import (
    count_axis,
    empty,
    lanes_height,
    name_lanes,
    new_axes,
    require,
)

__all__ = ["policy_bars"]


def policy_bars(comparison: pd.DataFrame, *, ax: Axes | None = None, **kwargs: Any) -> Axes:
    """Draw what each policy does with the same missed ticks: one bar a policy.

    A bar is as long as there are missed ticks: filled as far as they start a run, hatched
    where they are lost, dotted where the policy promises nothing. How late the starts
    are and how many run at once stands at its right end.

    Parameters
    ----------
    comparison : DataFrame
        one row a policy, with the columns ``policy``, ``missed``, ``starts``, ``lost``,
        ``min_lateness``, ``max_lateness`` and ``peak``, as `policies.compare` returns it
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
    require(comparison, _POLICY_COLUMNS)
    if ax is None:
        ax = new_axes(lanes_height(len(comparison)))
    missed = comparison["missed"].to_numpy(dtype=np.int64)
    if not missed.any():
        return empty(ax, "no tick was missed")
    counts = {
        name: comparison[name].fillna(0).to_numpy(dtype=np.int64) for name in ("starts", "lost")
    }
    counts["unstated"] = np.where(comparison["starts"].isna(), missed, 0)
    left = np.zeros(len(missed), dtype=np.int64)
    for name, look in _FATE_STYLE.items():
        shown = np.flatnonzero(counts[name])
        if len(shown):
            bars = {"height": 0.62, "linewidth": 0.9, **look, **kwargs}
            ax.barh(shown, counts[name][shown], left=left[shown], **bars)
        left += counts[name]
    _name_bars(ax, comparison)
    ax.set_title(
        f"{missed.max():,} missed tick{'s' if missed.max() > 1 else ''} under "
        f"{len(comparison):,} polic{'ies' if len(comparison) > 1 else 'y'}",
        loc="left",
        fontsize=10,
        pad=22,
    )
    ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=3, fontsize=8, frameon=False,
        borderaxespad=0.2, handletextpad=0.5, borderpad=0.1,
    )  # fmt: skip
    ax.set_xlim(0, missed.max() * 1.004)  # the last edge is drawn whole
    count_axis(ax.xaxis)
    ax.set_xlabel("missed ticks", fontsize=8.5)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    return ax


_POLICY_COLUMNS = (
    *("policy", "missed", "starts", "lost"),
    *("min_lateness", "max_lateness", "peak"),
)

# Filled, hatched and dotted: they stay apart without their colours.
_FATE_STYLE: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "starts": {"color": "#0072B2", "label": "starts a run"},
        "lost": {
            "facecolor": "none", "edgecolor": "#D55E00", "hatch": "////", "label": "lost",
        },
        "unstated": {
            "facecolor": "none", "edgecolor": "#767676", "linestyle": ":",
            "label": "the system promises nothing",
        },
    }
)  # fmt: skip


def _name_bars(ax: Axes, comparison: pd.DataFrame) -> None:
    name_lanes(ax, comparison["policy"].tolist())
    for bar, row in enumerate(comparison[list(_POLICY_COLUMNS)].itertuples(index=False)):
        ax.annotate(
            _fate_text(row),
            (1.01, bar),
            xycoords=ax.get_yaxis_transform(),
            va="center",
            fontsize=7.5,
            annotation_clip=False,
        )


def _fate_text(row: Any) -> str:
    if pd.isna(row.starts):
        return "not stated"
    if not row.starts:
        return f"none of {row.missed:,}"
    late = dict.fromkeys(
        format_duration(span // pd.Timedelta(milliseconds=1))
        for span in (row.min_lateness, row.max_lateness)
    )
    return f"{row.starts:,} of {row.missed:,}, {row.peak:,} at once, late {' to '.join(late)}"
