"""What an audit found: how many expressions mean here what their authors meant."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from resonate_lab.plots.drawing import empty, ink, lanes_height, name_text, new_axes, require

__all__ = ["audit_bars"]

# Filled, hatched one way, hatched the other, dotted: they stay apart without their colours.
_VERDICT_STYLE: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "same": {"color": "#009E73", "label": "means the same"},
        "different": {
            "facecolor": "none", "edgecolor": "#D55E00", "hatch": "////",
            "label": "fires at other instants",
        },
        "refused": {
            "facecolor": "none", "hatch": "xxxx", "label": "refused",
        },
        "unclear": {
            "facecolor": "none", "edgecolor": "#767676", "linestyle": ":",
            "label": "no sense in the author's dialect",
        },
    }
)  # fmt: skip


def audit_bars(audited: pd.DataFrame, *, ax: Axes | None = None, **kwargs: Any) -> Axes:
    """Draw what an audit found: one bar for each reading and number of fields.

    A bar is all rows of its kind: filled as far as they mean the same, hatched where they
    fire at other instants, crossed where they are refused. The numbers stand at its right
    end.

    Parameters
    ----------
    audited : DataFrame
        one row an expression, with the columns ``reading``, ``fields`` and ``verdict``, as
        `whatif.audit` returns it
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
    require(audited, ("reading", "fields", "verdict"))
    names = list(_VERDICT_STYLE)
    keys = [audited["reading"].astype(str), audited["fields"]]
    counts = pd.crosstab(keys, audited["verdict"].astype(str)).reindex(columns=names, fill_value=0)
    if ax is None:
        ax = new_axes(lanes_height(len(counts)))
    if not len(counts):
        return empty(ax, "the fleet has no expression")
    totals = counts.sum(axis=1).to_numpy()
    left = np.zeros(len(counts))
    for name, look in _VERDICT_STYLE.items():
        share = counts[name].to_numpy() / totals
        shown = np.flatnonzero(share)
        if len(shown):
            edge = {"edgecolor": ink(ax)} if "facecolor" in look else {}
            bars = {"height": 0.62, "linewidth": 0.9, **edge, **look, **kwargs}
            ax.barh(shown, share[shown], left=left[shown], **bars)
        left += share
    labels = [f"{name_text(reading)}, {_form(fields)}" for reading, fields in counts.index]
    ax.set_yticks(range(len(labels)), labels, fontsize=8)
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    for bar, row in enumerate(counts.to_dict("records")):
        ax.annotate(
            ", ".join(f"{row[name]:,} {name}" for name in names if row[name]),
            (1.01, bar),
            xycoords=ax.get_yaxis_transform(),
            va="center",
            fontsize=7.5,
            annotation_clip=False,
        )
    rows = len(audited)
    ax.set_title(
        f"{int(counts['same'].sum()):,} of {rows:,} expression{'s' if rows > 1 else ''} "
        f"mean{'s' * (rows == 1)} here what the author meant",
        loc="left",
        fontsize=10,
        pad=22,
    )
    ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=4, fontsize=8, frameon=False,
        borderaxespad=0.2, handletextpad=0.5, borderpad=0.1,
    )  # fmt: skip
    ax.set_xlim(0, 1.004)  # the last edge is drawn whole
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    ax.set_xlabel("share of the expressions of that form", fontsize=8.5)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    return ax


def _form(fields: int) -> str:
    return "shorthand" if fields == 1 else f"{fields} fields"
