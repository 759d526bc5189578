"""Many ticks as one image: how many are due in the time of a pixel, by lane and state."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch

from resonate_lab.plots.states import STATE_STYLE

__all__ = ["strips"]

_BAND, _GAP = 3, 1  # rows of the image: a state's, and between two


def strips(
    ax: Axes, counts: npt.NDArray[np.int64], extent: tuple[float, float], *, words: bool
) -> None:
    """Draw counts by lane, pixel and state as one image: a strip a state, in a fixed order."""
    lanes, columns, states = counts.shape
    height = states * (_BAND + _GAP) + _GAP
    image = np.zeros((lanes, height, columns, 4), dtype=np.uint8)
    # A single tick must be seen beside a thousand.
    dark = np.where(counts, 64 + 191 * np.log1p(counts) / np.log1p(counts.max()), 0)
    for at, style in enumerate(STATE_STYLE.values()):
        rows = slice(_GAP + at * (_BAND + _GAP), (at + 1) * (_BAND + _GAP))
        image[:, rows, :, :3] = np.array(to_rgb(style.color)) * 255
        image[:, rows, :, 3] = dark[:, None, :, at]
    ax.imshow(
        image.reshape(lanes * height, columns, 4),
        extent=(*extent, lanes - 0.5, -0.5),
        aspect="auto",
        interpolation="nearest",
        zorder=2,
    )
    if not words:
        return
    handles = [
        Patch(color=style.color, label=f"strip {at + 1} of a lane: {style.label}")
        for at, style in enumerate(STATE_STYLE.values())
        if counts[:, :, at].any()
    ]
    ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=4, fontsize=8,
        frameon=False, borderaxespad=0.2, handletextpad=0.3, borderpad=0.1,
    )  # fmt: skip
