"""The bins of a load, and what every picture of one says of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from resonate_lab.errors import FrameError
from resonate_lab.instants import format_duration, format_instant
from resonate_lab.plots.drawing import CURVE_POINTS, as_days, round_span

__all__ = ["Bins", "busiest", "entitle", "window"]


class Bins(NamedTuple):
    """The bins of a load: beginnings and length in ms, and the ticks in each."""

    at: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    width: int

    @classmethod
    def of(cls, load: pd.Series, show: str, known: Sequence[str] = ("sum", "peak")) -> Bins:
        """Return the bins of a load for a picture that shows one of the `known`, or raise."""
        if show not in known:
            raise ValueError(f"show is {show!r}, but must be {' or '.join(map(repr, known))}")
        index = load.index if isinstance(load, pd.Series) else None
        if not isinstance(index, pd.DatetimeIndex) or index.tz is None:
            what = "no Series" if index is None else f"indexed by {type(index).__name__}"
            raise FrameError(
                f"a load is a Series on a tz-aware DatetimeIndex, and this is {what}: make it with "
                "load()"
            )
        order = load.sort_index()
        utc = pd.DatetimeIndex(order.index).tz_convert("UTC").tz_localize(None)
        at = utc.to_numpy(dtype="datetime64[ms]").astype(np.int64)
        gaps = np.diff(np.unique(at))
        if index.freq is not None:
            try:
                width = abs(int(index.freq.nanos)) // 1_000_000
            except ValueError as error:
                raise FrameError(
                    f"bins of {index.freq.freqstr!r} differ in length: resample the load to a "
                    "fixed one such as '7D', or draw it with pandas alone: pd.Series(ticks).plot()"
                ) from error
        else:
            # A part of a load has gaps, but none is shorter than a bin; one bin alone has none.
            width = int(gaps.min()) if len(gaps) else 60_000
        return cls(at, order.to_numpy(dtype=np.float64), width)

    @property
    def span(self) -> int:
        """Length of time that one point of a curve stands for, ms."""
        least = len(self.at) * self.width / CURVE_POINTS
        return self.width if least <= self.width else round_span(least)

    def drawn(self) -> tuple[npt.NDArray[np.float64], ...]:
        """Return the points of a curve (matplotlib's days), the highest and the mean of each."""
        if not len(self.at):
            return (self.values,) * 3
        starts = np.flatnonzero(np.diff(self.at // self.span, prepend=-1))
        highest = np.maximum.reduceat(self.values, starts)
        mean = np.add.reduceat(self.values, starts) / np.diff(starts, append=len(self.at))
        # The last bin goes on to its end.
        at = np.append(self.at[starts], self.at[-1] + self.width).view("datetime64[ms]")
        return as_days(at), np.append(highest, highest[-1]), np.append(mean, mean[-1])

    def gathered(
        self, cell: npt.NDArray[np.int64], cells: int, show: str
    ) -> npt.NDArray[np.float64]:
        """Return the sum, or for "peak" the highest bin, of each cell, NaN where there is none."""
        found = np.full(cells, np.nan)
        found[cell] = 0
        (np.maximum if show == "peak" else np.add).at(found, cell, self.values)
        return found


def busiest(values: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
    """Return the positions of the highest values."""
    return np.flatnonzero(values == np.nanmax(values))


def window(bins: Bins) -> str:
    """Return from when to when the bins go."""
    return f"{format_instant(int(bins.at[0]))} to {format_instant(int(bins.at[-1]) + bins.width)}"


def entitle(
    ax: Axes,
    bins: Bins,
    show: str,
    cell: str,
    most: float,
    first: str,
    times: int,
    pad: float = 6,
) -> None:
    """Write above a picture how many ticks there are, and which cell or bin has most."""
    what = f"busiest {cell}" if show == "sum" else f"busiest {format_duration(bins.width)}"
    where = f"in the {cell} of {first}" if show == "peak" and cell else first
    more = f" and {times - 1:,} more" if times > 1 else ""
    top = f"; {what}: {most:,.0f} ({where}{more})" if most else ""
    ax.set_title(
        f"{bins.values.sum():,.0f} ticks{top}",
        loc="left",
        fontsize=10,
        pad=pad,
    )
