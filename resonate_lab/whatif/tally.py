"""The ticks of a fleet counted into bins, and which schedules they are of.

Nothing is enumerated. Equal expressions are one, with a weight, and the core adds the ticks
of each to the bins by counting bits, so a month of a hundred thousand schedules takes a
fraction of a second and the memory of its bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from resonate_lab.cron import CronExpression
from resonate_lab.whatif.bins import Bins
from resonate_lab.whatif.fleet import Source, compile_fleet, read_fleet, refused_rows
from resonate_lab.whatif.partitions import Progress

__all__ = ["Asked", "Ints", "Makers", "ask", "tallied"]

Ints = npt.NDArray[np.int64]


class Makers(NamedTuple):
    """Who ticks in a bin: the busiest first, then in the fleet's order."""

    schedules: int  # how many there are, those left out too
    ids: npt.NDArray[np.object_]
    crons: npt.NDArray[np.object_]
    ticks: Ints


class Asked(NamedTuple):
    """Whose load it is: the accepted schedules with their expressions, and the others."""

    fleet: pd.DataFrame
    expressions: list[CronExpression]  # one a row of the fleet; equal texts share one object
    refused: pd.DataFrame
    complete: bool = True

    @property
    def schedules(self) -> int:
        """How many are accepted."""
        return len(self.fleet)

    def makers(self, bins: Bins, begins: Sequence[int], n: int | None = None) -> list[Makers]:
        """Return who ticks in some bins, of each the n busiest."""
        names, crons = (self.fleet[name].to_numpy(dtype=object) for name in ("id", "cron"))
        found = []
        for begin in begins:
            made = _made(self, bins, begin)
            size = int((made > 0).sum())
            rows = np.argsort(-made, kind="stable")[: size if n is None else min(n, size)]
            found.append(Makers(size, names[rows], crons[rows], made[rows]))
        return found

    def weights(self) -> dict[CronExpression, int]:
        """Return the distinct expressions, and how many schedules have each."""
        counts: dict[CronExpression, int] = {}
        for expression in self.expressions:
            counts[expression] = counts.get(expression, 0) + 1
        return counts


def ask(fleet: Source, dialect: str) -> Asked:
    """Return the schedules of a fleet with their expressions, and the rows refused."""
    frame = read_fleet(fleet)
    expressions, reasons = compile_fleet(frame, dialect)
    kept = [expression for expression in expressions if expression is not None]
    if len(kept) < len(expressions):
        accepted = np.array([not why for why in reasons], dtype=bool)
        return Asked(frame[accepted].reset_index(drop=True), kept, refused_rows(frame, reasons))
    return Asked(frame, kept, refused_rows(frame, reasons))


def tallied(weights: dict[CronExpression, int], bins: Bins, progress: Progress = iter) -> Ints:
    """Return the ticks a bin of weighted expressions; int64 ndarray of shape (bins,)."""
    counts = np.zeros(bins.size, dtype=np.int64)
    start, end, origin, width = bins.start, bins.end, bins.origin, bins.width
    pairs = list(weights.items())
    for at in progress(range(len(pairs))):
        expression, weight = pairs[at]
        expression.tally_ms(start, end, counts, origin, width, weight)
    return counts


def _made(asked: Asked, bins: Bins, begin: int) -> Ints:
    """Return how many ticks each schedule has in the bin that begins at an instant."""
    low, high = max(begin, bins.start), min(begin + bins.width - 1, bins.end)
    known: dict[CronExpression, int] = {}
    for expression in asked.expressions:
        if expression not in known:
            if low > bins.start and expression.dialect == "resonate-0.9.8":
                # What the released server's chain holds depends on where it begins.
                before = expression.count_ms(bins.start, low - 1)
                known[expression] = expression.count_ms(bins.start, high) - before
            else:
                known[expression] = expression.count_ms(low, high)
    return np.array([known[expression] for expression in asked.expressions], dtype=np.int64)
