"""Which missed ticks a policy starts, and when: its parameters, applied to all at once."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from resonate_lab.whatif.catchup import Bools, Ints, Rows, Starts
from resonate_lab.whatif.polls import Downtime
from resonate_lab.whatif.systems import Policy

__all__ = ["Missed", "eligible", "policy_starts", "start_times"]


class Missed(NamedTuple):
    """The missed ticks of all schedules, each schedule's in a row and ascending."""

    schedule: Rows
    at: Ints
    late: Ints  # at the restart
    first_late: Ints  # of the schedule's first missed tick, for each tick
    ids: Sequence[str]
    up: int

    @classmethod
    def of(cls, arrays: Sequence[Ints], ids: Sequence[str], up: int) -> Missed:
        """Return the ticks of each schedule as columns."""
        sizes = np.array([len(ticks) for ticks in arrays], dtype=np.intp)
        schedule = np.repeat(np.arange(len(arrays)), sizes)
        at = np.concatenate(arrays) if arrays else np.empty(0, dtype=np.int64)
        firsts = (np.cumsum(sizes) - sizes)[schedule]
        late = up - at
        return cls(schedule, at, late, late[firsts], ids, up)

    def rank(self, which: Bools) -> Ints:
        """Return the place of each of some ticks among those of its schedule, from 0."""
        schedule = self.schedule[which]
        counts = np.bincount(schedule, minlength=len(self.ids))
        return np.arange(len(schedule)) - (np.cumsum(counts) - counts)[schedule]

    def number(self, which: Bools) -> Ints:
        """Return how many of some ticks each tick's schedule has."""
        counts = np.bincount(self.schedule[which], minlength=len(self.ids))
        return counts[self.schedule].astype(np.int64)


def policy_starts(policy: Policy, ids: Sequence[str], down: Downtime, run_ms: int) -> Starts:
    """Return what starts the missed ticks of a fleet as a policy says, outage by outage.

    Parameters
    ----------
    policy : Policy
    ids : sequence of str
        of the fleet's schedules
    down : Downtime
    run_ms : int
        how long each run takes, ms; it decides which runs overlap
    """

    def starts(schedule: Rows, due: Ints, fired: Ints, outage: Ints) -> tuple[Ints, Bools]:
        fired, lost = fired.copy(), outage >= 0
        for number, up in enumerate(down.ups.tolist()):
            own = np.flatnonzero(outage == number)
            begins = np.flatnonzero(np.diff(schedule[own], prepend=-1))
            arrays = np.split(due[own], begins[1:]) if len(own) else []
            names = [ids[row] for row in schedule[own][begins]]
            ticks, at = start_times(policy, Missed.of(arrays, names, up), run_ms)
            fired[own[ticks]] = at
            lost[own[ticks]] = False
        return fired, lost

    return starts


def eligible(policy: Policy, missed: Missed) -> Bools:
    """Return which ticks are not too late for the policy's window."""
    if policy.window_ms is None:
        return np.ones(len(missed.at), dtype=bool)
    return missed.late <= policy.window_ms


def _started(policy: Policy, missed: Missed) -> Bools:
    """Which ticks start a run, before runs are in each other's way."""
    which = eligible(policy, missed)
    if policy.cap is not None:
        number = missed.number(which)
        if policy.cap_rule == "stop":
            which &= number <= policy.cap
        else:
            place = np.zeros(len(which), dtype=np.int64)
            place[which] = missed.rank(which)
            low = number - policy.cap if policy.cap_rule == "keep latest" else 0
            which &= (low <= place) & (place < low + policy.cap)
    if policy.mode == "none":
        which = np.zeros(len(which), dtype=bool)
    elif policy.mode in ("latest", "earliest"):
        rank, number = missed.rank(which), missed.number(which)[which]
        which[which] = rank == (number - 1 if policy.mode == "latest" else 0)
    if policy.threshold_ms:  # without one the tick at the restart itself is missed, too
        which = which | (missed.first_late <= policy.threshold_ms)
    return which


def start_times(policy: Policy, missed: Missed, run_ms: int) -> tuple[Rows, Ints]:
    """Return the ticks that start a run, and when it starts (ms since the Unix epoch, UTC)."""
    which = _started(policy, missed)
    rank = missed.rank(which)
    if policy.overlap in ("skip", "buffer one") and run_ms:
        fits = rank < policy.at_once + (policy.overlap == "buffer one")
        which[which] = fits
        rank = rank[fits]
    ticks = np.flatnonzero(which)
    # Runs of no length are never in each other's way, and waiting for them takes no time.
    waits = rank // policy.at_once * run_ms if policy.overlap != "parallel" else 0
    return ticks, missed.up + waits + _delays(policy, missed, ticks, rank)


def _delays(policy: Policy, missed: Missed, ticks: Rows, rank: Ints) -> Ints:
    if not policy.spread_ms or not len(ticks):
        return np.zeros(len(ticks), dtype=np.int64)
    digests = (blake2b(name.encode(), digest_size=8).digest() for name in missed.ids)
    seeds = np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)[missed.schedule[ticks]]
    if policy.spread_by == "jitter":
        at = missed.at[ticks].astype(np.uint64)
        if policy.overlap != "parallel":
            # Runs that wait for one another are put off together, by what the first draws.
            at = at[np.flatnonzero(rank == 0)][np.cumsum(rank == 0) - 1]
        seeds = _mixed(seeds ^ at)
    share = (seeds >> np.uint64(11)).astype(np.float64) / 2**53
    return (share * (policy.spread_ms + 1)).astype(np.int64)


def _mixed(seeds: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Scatter 64-bit numbers: the finaliser of splitmix64 (Steele, Lea, Flood 2014)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        seeds = (seeds ^ (seeds >> np.uint64(shift))) * np.uint64(factor)
    return seeds ^ (seeds >> np.uint64(31))
