"""When a server looks: its outages, the polls between them, its batches of messages.

A loop that looks every so often makes a grid of instants in each time that the server is
up; the first lies one interval after its start. Counted through, over all outages, the
instants of a grid are one row of numbers, and what depends on "the next look" becomes
arithmetic on them: who fires one tick a look fires at a running maximum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

__all__ = ["MESSAGES_A_BATCH", "MESSAGE_MS", "Downtime", "Grid", "batched"]

MESSAGE_MS = 100
"""How often the released server sends execute messages (its default, server 0.9.8)."""

MESSAGES_A_BATCH = 100
"""Most execute messages that it sends at once (server 0.9.8)."""

Ints = npt.NDArray[np.int64]

_NO_END = np.iinfo(np.int64).max - 1


@dataclass(frozen=True)
class Grid:
    """The instants at which a loop looks, numbered from 1 over all times that it runs.

    Attributes
    ----------
    starts, ups : int64 ndarray
        when each outage begins and ends, ms since the Unix epoch, UTC, ascending; the loop
        runs from each of `ups` up to and including the next of `starts`
    every_ms : int
        the loop's interval
    """

    starts: Ints
    ups: Ints
    every_ms: int

    @cached_property
    def _before(self) -> Ints:
        """How many looks there are before each restart."""
        looks = (self.starts[1:] - self.ups[:-1]) // self.every_ms
        return np.concatenate([[0], np.cumsum(looks)])

    def number(self, at: Ints, *, strictly: bool = False) -> Ints:
        """Return the number of the first look at or after each instant, or strictly after."""
        while_up: Ints | int = 0
        if len(self.ups) > 1:
            # An instant of a restart counts as before it: where the outage had no length, the
            # loop looked at that very instant.
            while_up = np.maximum(np.searchsorted(self.ups, at, side="left") - 1, 0)
        first, last = self._before[while_up], np.append(self._before[1:], _NO_END)[while_up]
        since = at - self.ups[while_up] + (strictly - 1)
        # Where the times up have no more looks, the first of the next one sees it.
        number: Ints = np.clip(first + since // self.every_ms + 1, first + 1, last + 1)
        return number

    def at(self, number: Ints) -> Ints:
        """Return the instant of each look."""
        while_up = self.outage_before(number)
        found: Ints = self.ups[while_up] + (number - self._before[while_up]) * self.every_ms
        return found

    def outage_before(self, number: Ints) -> Ints | int:
        """Return the number, from 0, of the last outage before each look; just 0 if one is all."""
        if len(self.ups) == 1:
            return 0
        return np.searchsorted(self._before, number, side="left") - 1

    def last_until(self, outage: int) -> int:
        """Return the last instant before an outage at which the loop looked, or was started."""
        if outage == 0:
            return int(self.starts[0])
        looks = int(self._before[outage] - self._before[outage - 1])
        return int(self.ups[outage - 1]) + looks * self.every_ms


@dataclass(frozen=True)
class Downtime:
    """Several outages of a server, and when it fires what falls due meanwhile.

    Attributes
    ----------
    starts, ups : int64 ndarray
        when each begins and ends, ms since the Unix epoch, UTC, ascending
    poll_ms : int or None
        how often the server looks for what is due; None: at once when it is due
    in_steps : bool
        a look fires one tick of a schedule, and not all that are due
    """

    starts: Ints
    ups: Ints
    poll_ms: int | None
    in_steps: bool

    @classmethod
    def of(
        cls, outages: Sequence[tuple[int, int]], poll_ms: int | None, in_steps: bool
    ) -> Downtime:
        """Return the outages as arrays."""
        starts, ups = np.array(outages, dtype=np.int64).T
        return cls(starts, ups, poll_ms, in_steps)

    @cached_property
    def polls(self) -> Grid | None:
        """The looks of the loop that fires schedules; None where there is none."""
        return None if self.poll_ms is None else Grid(self.starts, self.ups, self.poll_ms)

    @cached_property
    def messages(self) -> Grid | None:
        """The looks of the loop that sends messages; None where they leave at once."""
        return None if self.poll_ms is None else Grid(self.starts, self.ups, MESSAGE_MS)

    @cached_property
    def bounds(self) -> Ints:
        """Until when each catch-up is followed: as long again as the server was down.

        A cron of whole seconds that has not caught up by then never will.
        """
        return self.ups + np.cumsum(self.ups - self.starts)

    def seen(self, outage: int) -> int:
        """Return the instant up to which everything had been fired when an outage began."""
        return int(self.starts[outage]) if self.polls is None else self.polls.last_until(outage)

    def next_look(self, at: Ints) -> Ints:
        """Return when the server first looks, at or after each instant."""
        if self.polls is not None:
            return self.polls.at(self.polls.number(at))
        outage = np.minimum(np.searchsorted(self.ups, at), len(self.ups) - 1)
        inside = (self.starts[outage] < at) & (at <= self.ups[outage])
        return np.where(inside, self.ups[outage], at)

    def fired(self, due: Ints) -> tuple[Ints, Ints]:
        """Return when the ticks of one schedule fire, and of which catch-up each is part.

        Parameters
        ----------
        due : int64 ndarray, strictly increasing
            all ticks of the schedule, but those that a server without arrears fires in time

        Returns
        -------
        fired : int64 ndarray
            instants, ms since the Unix epoch, UTC
        outage : int64 ndarray
            number, from 0, of the outage in which the tick was missed, or after which it is
            late; -1 where it fires in time, or beyond `bounds`
        """
        # Ticks ascend, so those missed in an outage are a slice.
        fired, missed = due.copy(), np.full(len(due), -1)
        for outage, up in enumerate(self.ups.tolist()):
            first, end = np.searchsorted(due, [self.seen(outage), up], side="right")
            fired[first:end] = up
            missed[first:end] = outage
        if self.polls is None:
            return fired, missed
        number = own = self.polls.number(due)
        if self.in_steps:
            rank = np.arange(len(due))
            number = np.maximum.accumulate(own - rank) + rank
        fired, last = self.polls.at(number), self.polls.outage_before(number)
        late = (number > own) & (fired <= self.bounds[last]) & (missed < 0)
        return fired, np.where(late, last, missed)


def batched(
    queued: Ints, grid: Grid, places: Callable[[npt.NDArray[np.intp]], Ints], size: int
) -> Ints:
    """Return when each message leaves, if a look takes those with the smallest ids.

    Parameters
    ----------
    queued : int64 ndarray
        when each is queued, ms since the Unix epoch, UTC; it leaves strictly after that
    grid : Grid
        the looks of the loop
    places : callable
        the places of some messages in the order of their ids; asked only where more wait
        than a look takes
    size : int
        most messages that a look takes
    """
    first, group, counts = np.unique(
        grid.number(queued, strictly=True), return_inverse=True, return_counts=True
    )
    room = np.append(np.diff(first), len(queued) + 1) * size
    # What is left over from group to group: the waiting time of a queue (Lindley 1952).
    steps = np.cumsum(counts - room)
    left = steps - np.minimum(np.minimum.accumulate(steps), 0)
    crowded = (left > 0) | (np.append(0, left[:-1]) > 0) | (counts > size)
    number = first[group]
    some = np.flatnonzero(crowded[group])
    if len(some):
        some = some[np.argsort(group[some], kind="stable")]
        place = places(some)
        edges = np.append(np.flatnonzero(crowded), len(first))
        cuts = np.searchsorted(group[some], edges)
        number[some] = _in_order(place, cuts, first[crowded], room[crowded], size)
    return grid.at(number)


def _in_order(place: Ints, cuts: Ints, first: Ints, room: Ints, size: int) -> Ints:
    """Return the numbers of the looks that take crowded groups, smallest places first."""
    number = np.empty(len(place), dtype=np.int64)
    by_place = np.argsort(place)
    rank = np.empty(len(place), dtype=np.int64)
    rank[by_place] = np.arange(len(place))
    waiting = np.empty(0, dtype=np.int64)
    for group, (low, high) in enumerate(pairwise(cuts.tolist())):
        waiting = np.sort(np.concatenate([waiting, rank[low:high]]), kind="stable")
        taken, waiting = waiting[: room[group]], waiting[room[group] :]
        number[by_place[taken]] = first[group] + np.arange(len(taken)) // size
    return number
