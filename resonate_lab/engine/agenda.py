"""The agenda: which internal step is due when.

Deadlines live in the records; the agenda is an index over them and nothing more. An
entry counts only while its record still names the same instant, so whatever moves a
deadline just arms the new one, and the old entry dies where it lies. Steps of one kind
are ordered by instant and then by id, so the order of ties does not depend on history.

A million steps may be armed at once; where they come in order they are one entry, whose
place the next of them takes when the first is done.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from heapq import heapify, heappop, heappush
from itertools import chain, count, islice
from operator import lt
from typing import NamedTuple, TypeAlias

__all__ = ["Agenda", "Due", "Head"]


class Due(IntEnum):
    """The internal steps, in the order in which those due together are taken.

    A repeat is the retry of a task whose message nobody has taken yet: it queues again what
    is queued, and only moves the next retry.
    """

    PROMISE_TIMEOUT = 0
    LEASE_EXPIRY = 1
    RETRY = 2
    REPEAT = 3
    SCHEDULE_FIRING = 4


class Head(NamedTuple):
    """The next entry: instant (ms since the Unix epoch, UTC), step, id of the record."""

    at: int
    due: Due
    id: str


# An instant and the id that waits for it; where many came together, also a number (two of
# these never compare further), all their instants and ids in order, and the place of this one.
_Entry: TypeAlias = tuple[int, str] | tuple[int, str, int, Sequence[int], Sequence[str], int]


class _Queue:
    """The entries of one step."""

    def __init__(self, lives: Callable[[int, str], bool]) -> None:
        self.lives = lives
        self.heap: list[_Entry] = []
        self.size = 0  # pairs of instant and id in the heap
        self.dead = 0  # those among them that no record names any more
        self.numbers = count()

    def clear(self) -> None:
        self.heap.clear()
        self.size = self.dead = 0

    def take_over(self, other: _Queue) -> None:
        # The entries are never written to.
        self.heap, self.size, self.dead = other.heap.copy(), other.size, other.dead
        self.numbers = count(next(other.numbers))

    def arm(self, at: int, id: str) -> None:
        heappush(self.heap, (at, id))
        self.size += 1

    def arm_each(self, instants: Sequence[int], ids: Sequence[str]) -> None:
        if all(map(lt, instants, islice(instants, 1, None))):
            self._push(instants, ids, 0)
        else:
            self.heap.extend(zip(instants, ids, strict=True))
            heapify(self.heap)
        self.size += len(ids)

    def arm_together(self, at: int, ids: Iterable[str]) -> None:
        together = sorted(ids)
        self._push([at] * len(together), together, 0)
        self.size += len(together)

    def _push(self, instants: Sequence[int], ids: Sequence[str], place: int) -> None:
        if place < len(ids):
            number = next(self.numbers)
            heappush(self.heap, (instants[place], ids[place], number, instants, ids, place))

    def head(self) -> tuple[int, str] | None:
        """Return the first living entry; the dead before it are dropped."""
        while self.heap:
            at, id = self.heap[0][:2]
            if self.lives(at, id):
                return at, id
            entry = heappop(self.heap)
            self.size -= 1
            self.dead -= 1
            if len(entry) == 6:
                self._push(entry[3], entry[4], entry[5] + 1)
        return None

    def pop_until(self, now: int) -> Iterator[tuple[int, list[str]]]:
        """Drop all entries up to `now`; yield instants, ascending, each with the ids that live.

        The records are expected to name other instants before long.
        """
        while self.heap and self.heap[0][0] <= now:
            at = self.heap[0][0]
            ids: list[str] = []
            while self.heap and self.heap[0][0] == at:
                entry = heappop(self.heap)
                if len(entry) == 6:
                    _, _, _, instants, together, place = entry
                    end = bisect_right(instants, at, place)
                    ids += together[place:end]
                    self._push(instants, together, end)
                else:
                    ids.append(entry[1])
            self.size -= len(ids)
            self.dead -= len(ids)
            # A set, for an instant dropped and named again has left the same id twice.
            living = sorted(id for id in set(ids) if self.lives(at, id))
            if living:
                yield at, living

    def until(self, now: int) -> list[str]:
        """Return the ids that live and are due, earliest first; nothing is dropped."""
        found: set[tuple[int, str]] = set()
        places = [0]
        while places:
            place = places.pop()
            # In a heap nothing below an entry comes before it.
            if place < len(self.heap) and self.heap[place][0] <= now:
                found.update(self._living(self.heap[place], now))
                places += (2 * place + 1, 2 * place + 2)
        return [id for _, id in sorted(found)]

    def entries(self) -> Iterator[tuple[int, str]]:
        """Yield instants and ids that live, in no order."""
        for entry in self.heap:
            yield from self._living(entry)

    def _living(self, entry: _Entry, now: int | None = None) -> Iterator[tuple[int, str]]:
        """Yield what lives of all that an entry stands for, up to `now` if there is one."""
        if len(entry) == 2:
            pairs: Iterable[tuple[int, str]] = (entry,)
        else:
            _, _, _, instants, ids, place = entry
            end = len(ids) if now is None else bisect_right(instants, now, place)
            pairs = zip(instants[place:end], ids[place:end], strict=True)
        return (pair for pair in pairs if self.lives(*pair))

    def disarm(self, count: int) -> None:
        """Drop the dead once they are half of all: O(1) a death in the long run."""
        self.dead += count
        if self.dead > 64 + self.size // 2:
            living = set(self.entries())
            self.clear()
            self.heap.extend(living)
            self.size = len(living)
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

    def take_over(self, other: Agenda) -> None:
        """Hold what another agenda holds, in its stead or beside it. O(n), a copy."""
        for mine, theirs in zip(self._queues, other._queues, strict=True):
            mine.take_over(theirs)

    def arm(self, due: Due, at: int, id: str) -> None:
        """Put a step on the agenda. O(log n)."""
        self._queues[due].arm(at, id)

    def arm_each(self, due: Due, instants: Sequence[int], ids: Sequence[str]) -> None:
        """Put on many steps, each at its own instant. O(n) if these only increase."""
        self._queues[due].arm_each(instants, ids)

    def arm_together(self, due: Due, at: int, ids: Iterable[str]) -> None:
        """Put on many steps, at least one, for one instant. O(n) for sorted ids."""
        self._queues[due].arm_together(at, ids)

    def disarm(self, due: Due, count: int = 1) -> None:
        """Note that records dropped instants that they had named.

        Their entries are dead by that alone; the note is for the memory they take.
        """
        self._queues[due].disarm(count)

    def peek(self) -> Head | None:
        """Return the next step of any kind, or None if nothing is armed. O(log n)."""
        return min(filter(None, map(self.head, Due)), default=None)

    def head(self, due: Due) -> Head | None:
        """Return the first step of a kind, or None if nothing is armed. O(log n)."""
        found = self._queues[due].head()
        return found and Head(found[0], due, found[1])

    def due(self, due: Due, now: int) -> list[str]:
        """Return the ids of all steps of a kind that are due, earliest first."""
        return self._queues[due].until(now)

    def pop_due(self, due: Due, now: int) -> list[str]:
        """Take off all steps of a kind that are due; return their ids, earliest first."""
        return list(chain.from_iterable(ids for _, ids in self.pop_instants(due, now)))

    def pop_instants(self, due: Due, now: int) -> Iterator[tuple[int, list[str]]]:
        """Take off all steps of a kind that are due; yield their instants, with the ids."""
        return self._queues[due].pop_until(now)

    def put_back(self, due: Due, at: int, ids: Sequence[str]) -> None:
        """Put steps on again that were taken off before their time."""
        self._queues[due].arm_together(at, ids)
        self._queues[due].disarm(len(ids))

    def entries(self, due: Due) -> set[tuple[int, str]]:
        """Return what is armed for a step: pairs of instant and id. O(n)."""
        return set(self._queues[due].entries())
