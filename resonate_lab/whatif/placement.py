"""Where the schedules of a peak are placed: a greedy search, the same on every machine.

Who moves, and where the search for a place begins, hangs on a hash of the id and on nothing
else that is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from resonate_lab.cron import CronExpression
from resonate_lab.whatif.bins import Bins
from resonate_lab.whatif.later import fields_shifted, proved, shifted
from resonate_lab.whatif.partitions import Progress
from resonate_lab.whatif.tally import Asked, Ints

__all__ = ["Ground", "Move"]

_MINUTE = 60_000  # ms
_ROUNDS = 3  # rarely is there a move left after the second
_MOST_KEPT = 8_000_000  # bins that are remembered; 128 MB
_NONE: Ints = np.empty(0, dtype=np.int64)


class Move(NamedTuple):
    """What a schedule is to be: by how many minutes later, and in how many ticks that is proved."""

    minutes: int
    expression: CronExpression
    compared: int


class Ground:
    """The load while schedules are moved about on it."""

    def __init__(self, bins: Bins, counts: Ints, bound: int, within: int) -> None:
        self.bins, self.counts, self.bound, self.within = bins, counts, bound, within
        self._moves: dict[tuple[CronExpression, int], Move | None] = {}
        self._choices: dict[CronExpression, list[int]] = {}
        self._places: dict[tuple[CronExpression, int], tuple[Ints, Ints]] = {}
        self._kept = 0  # items in _places

    def settle(
        self, asked: Asked, may_move: npt.NDArray[np.bool_], progress: Progress
    ) -> tuple[dict[int, Move], bool]:
        """Move schedules until none can be bettered; return the moves by row, and if it ended."""
        moves: dict[int, Move] = {}
        hashes = {
            row: int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")
            for row, name in enumerate(asked.fleet["id"].tolist())
            if may_move[row]
        }
        order = sorted(hashes, key=lambda row: (hashes[row], row))
        try:
            for _ in range(_ROUNDS):
                if not self._round(asked, order, hashes, moves, progress):
                    break
        except KeyboardInterrupt:
            return moves, False
        return moves, True

    def _round(
        self,
        asked: Asked,
        order: Sequence[int],
        hashes: dict[int, int],
        moves: dict[int, Move],
        progress: Progress,
    ) -> bool:
        """Better each schedule in a peak once; return whether one was moved."""
        if self.counts.max(initial=0) <= self.bound:
            return False
        candidates = self._in_a_peak(asked, order, moves)
        changed = False
        for at in progress(range(len(candidates))):
            row = candidates[at]
            new = self._bettered(asked.expressions[row], moves.get(row), hashes[row])
            if new is not None and new != moves.get(row):
                moves[row] = new
                changed = True
        return changed

    def _in_a_peak(self, asked: Asked, order: Sequence[int], moves: dict[int, Move]) -> list[int]:
        """Return the rows that tick in a bin above the bound and have somewhere to go."""
        known: dict[tuple[CronExpression, int], bool] = {}
        found = []
        for row in order:
            key = asked.expressions[row], moves[row].minutes if row in moves else 0
            if key not in known:
                at, _ = self._place(*key)
                high = len(at) > 0 and bool(self.counts[at].max() > self.bound)
                known[key] = high and bool(self._chosen(key[0]))
            if known[key]:
                found.append(row)
        return found

    def _bettered(self, expression: CronExpression, old: Move | None, hashed: int) -> Move | None:
        """Move a schedule to where its highest bin is low enough, or lower; None if it stays."""
        stands = self._place(expression, old.minutes if old else 0)
        highest = int(self.counts[stands[0]].max())
        if highest <= self.bound:  # others have moved since
            return None
        self._add(stands, -1)
        choices = self._chosen(expression)
        turn = hashed % len(choices)
        best: Move | None = None
        for minutes in choices[turn:] + choices[:turn]:
            at, times = self._place(expression, minutes)
            there = int((self.counts[at] + times).max()) if len(at) else 0
            if there < highest and (move := self._move(expression, minutes)) is not None:
                best, highest = move, there
                if there <= self.bound:
                    break
        self._add(self._place(expression, best.minutes) if best else stands, 1)
        return best

    def _add(self, place: tuple[Ints, Ints], sign: int) -> None:
        at, times = place
        self.counts[at] += sign * times

    def _chosen(self, expression: CronExpression) -> list[int]:
        """Return the minutes by which an expression can be moved to a place of its own."""
        if expression not in self._choices:
            # An expression of every tenth minute moved by 11 is itself moved by 1.
            seen = {fields_shifted(expression, 0), None}
            choices = []
            for minutes in range(1, self.within + 1):
                fields = fields_shifted(expression, minutes)
                if fields not in seen:
                    seen.add(fields)
                    choices.append(minutes)
            self._choices[expression] = choices
        return self._choices[expression]

    def _move(self, expression: CronExpression, minutes: int) -> Move | None:
        """Return a move with its proof; None where its new text is not the old one shifted."""
        key = expression, minutes
        if key not in self._moves:
            text = shifted(expression, minutes)
            assert text is not None
            new = CronExpression(text, expression.dialect)
            compared = proved(expression, new, minutes, self.bins.start)
            self._moves[key] = None if compared < 0 else Move(minutes, new, compared)
        return self._moves[key]

    def _place(self, expression: CronExpression, minutes: int) -> tuple[Ints, Ints]:
        """Return the bins of an expression's ticks when moved, and how many are in each."""
        key = expression, minutes
        if key in self._places:
            return self._places[key]
        shift = minutes * _MINUTE
        low, high = max(self.bins.start - shift, 0), self.bins.end - shift
        # Before the calendar there are no ticks to move into the window.
        ticks = expression.between_ms(low, high) if high >= 0 else _NONE
        at = (ticks + (shift - self.bins.origin)) // self.bins.width
        first = np.flatnonzero(np.diff(at, prepend=-1))
        place = at[first], np.diff(first, append=len(at))
        if self._kept + len(first) <= _MOST_KEPT:
            self._kept += len(first)
            self._places[key] = place
        return place
