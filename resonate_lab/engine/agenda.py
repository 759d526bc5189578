"""The agenda: which internal step is due when.

Deadlines live in the records; the agenda is an index over them and nothing more. An
entry counts only while its record still names the same instant, so whatever moves a
deadline just arms the new one, and the old entry dies where it lies. Steps of one kind
are ordered by instant and then by id, so the order of ties does not depend on history.

A million tasks may be armed at once for one instant; they are one entry until the first
of them is taken alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from heapq import heapify, heappop, heappush
from itertools import repeat
from typing import NamedTuple, TypeAlias

__all__ = ["Agenda", "Due", "Head"]


class Due(IntEnum):
    """The internal steps, in the order in which those due together are taken."""

    PROMISE_TIMEOUT = 0
    LEASE_EXPIRY = 1
    RETRY = 2
    SCHEDULE_FIRING = 3


class Head(NamedTuple):
    """The next entry: instant (ms since the Unix epoch, UTC), step, id of the record."""

    at: int
    due: Due
    id: str


# An instant, the first id that waits for it, and further ids that came along with it.
_Entry: TypeAlias = tuple[int, str, tuple[str, ...]]


class _Queue:
    """The entries of one step."""

    def __init__(self, lives: Callable[[int, str], bool]) -> None:
        self.lives = lives
        self.heap: list[_Entry] = []
        self.moves = 0

    def clear(self) -> None:
        self.heap.clear()
        self.moves = 0

    def arm(self, at: int, id: str) -> None:
        heappush(self.heap, (at, id, ()))

    def arm_each(self, instants: Sequence[int], ids: Sequence[str]) -> None:
        entries = zip(instants, ids, repeat(()), strict=False)
        # To order the whole heap anew pays only if it about doubles.
        if len(ids) < len(self.heap):
            for entry in entries:
                heappush(self.heap, entry)
        else:
            self.heap.extend(entries)
            heapify(self.heap)

    def arm_together(self, at: int, ids: Iterable[str]) -> None:
        first, *rest = sorted(ids)
        heappush(self.heap, (at, first, tuple(rest)))

    def head(self) -> tuple[int, str] | None:
        """Return the first living entry; the dead before it are dropped."""
        while self.heap:
            at, id, _ = self.heap[0]
            if self.lives(at, id):
                return at, id
            self.pop()
        return None

    def pop(self) -> None:
        """Drop the first id, dead or alive; those that came with it stand alone then."""
        at, _, rest = heappop(self.heap)
        for id in rest:
            self.arm(at, id)

    def pop_until(self, now: int) -> Iterator[str]:
        """Drop all entries up to `now` and yield the ids that live, earliest first."""
        while self.heap and self.heap[0][0] <= now:
            at = self.heap[0][0]
            ids: set[str] = set()
            while self.heap and self.heap[0][0] == at:
                _, id, rest = heappop(self.heap)
                ids.update((id, *rest))
            # A set, for an instant dropped and named again has left the same id twice.
            yield from (id for id in sorted(ids) if self.lives(at, id))

    def entries(self) -> Iterator[tuple[int, str]]:
        """Yield instants and ids that live, in no order."""
        for at, first, rest in self.heap:
            yield from ((at, id) for id in (first, *rest) if self.lives(at, id))

    def moved(self) -> None:
        """Drop the dead once they may be half of all: O(1) a death in the long run."""
        self.moves += 1
        if self.moves > 64 + len(self.heap) // 2:
            living = set(self.entries())
            self.clear()
            self.heap.extend((at, id, ()) for at, id in living)
            heapify(self.heap)


def _judge(due_at: Callable[[Due, str], int | None], due: Due) -> Callable[[int, str], bool]:
    return lambda at, id: due_at(due, id) == at


class Agenda:
    """The queues of the four steps.

    Parameters
    ----------
    due_at : callable
        what instant a record names for a step now, or None
    """

    def __init__(self, due_at: Callable[[Due, str], int | None]) -> None:
        self._queues = tuple(_Queue(_judge(due_at, due)) for due in Due)

    def clear(self) -> None:
        """Take everything off."""
        for queue in self._queues:
            queue.clear()

    def arm(self, due: Due, at: int, id: str) -> None:
        """Put a step on the agenda. O(log n)."""
        self._queues[due].arm(at, id)

    def arm_each(self, due: Due, instants: Sequence[int], ids: Sequence[str]) -> None:
        """Put on many steps, each at its own instant. O(n) into an agenda no larger."""
        self._queues[due].arm_each(instants, ids)

    def arm_together(self, due: Due, at: int, ids: Iterable[str]) -> None:
        """Put on many steps, at least one, for one instant. O(n) for sorted ids."""
        self._queues[due].arm_together(at, ids)

    def disarm(self, due: Due) -> None:
        """Note that a record dropped an instant that it had named.

        Its entry is dead by that alone; the note is for the memory it takes.
        """
        self._queues[due].moved()

    def peek(self) -> Head | None:
        """Return the next step, or None if nothing is armed. O(log n)."""
        heads = [(head[0], due, head[1]) for due in Due if (head := self._queues[due].head())]
        return Head(*min(heads)) if heads else None

    def pop(self, head: Head) -> None:
        """Take the step off that `peek` returned."""
        self._queues[head.due].pop()

    def pop_due(self, due: Due, now: int) -> list[str]:
        """Take off all steps of a kind that are due; return their ids, earliest first."""
        return list(self._queues[due].pop_until(now))

    def entries(self, due: Due) -> set[tuple[int, str]]:
        """Return what is armed for a step: pairs of instant and id. O(n)."""
        return set(self._queues[due].entries())
