"""One outage under the missed-run rules of many schedulers, side by side.

The parameters and the systems stand in `resonate_lab.whatif.systems`; here they are
applied, to all missed ticks of a fleet at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from resonate_lab import frames
from resonate_lab.cron import CronError, CronExpression
from resonate_lab.errors import DurationError
from resonate_lab.frames import TEXT
from resonate_lab.instants import EPOCH_END_MS, duration_ms, timestamp
from resonate_lab.whatif.catchup import Bools, Ints, Rows, missed_ticks
from resonate_lab.whatif.fleet import Source, compile_fleet, read_fleet, refused_rows
from resonate_lab.whatif.live import is_url
from resonate_lab.whatif.outage import outage_window
from resonate_lab.whatif.systems import SYSTEMS, VARIANTS, Policy, PolicyError

if TYPE_CHECKING:
    from resonate_lab.instants import Duration, Instant

__all__ = ["SYSTEMS", "VARIANTS", "Policy", "PolicyError", "compare"]


def compare(
    fleet: Source | CronExpression,
    down: tuple[Instant, Instant],
    *,
    run_time: Duration = "1 min",
    policies: Iterable[Policy | str] | None = None,
) -> pd.DataFrame:
    """Return what each of several policies does after the same outage.

    Parameters
    ----------
    fleet : str, CronExpression, DataFrame, path or file object
        one expression, or anything that `read_fleet` takes
    down : (start, up)
        instants: the scheduler stops at `start` and is back at `up`; missed are the ticks
        t with start < t <= up
    run_time : duration
        how long each run takes; it decides which runs overlap
    policies : iterable of Policy or str, optional
        names are those of `SYSTEMS` and `VARIANTS`; default: `SYSTEMS`

    Returns
    -------
    DataFrame
        One row a policy, in their order. Int64 and missing durations and instants, since a
        policy may promise nothing (mode "unstated") or start nothing.

        ============ ========= ======================================================
        policy       str       its name
        missed       Int64     ticks in the outage, the same for all
        eligible     Int64     those that are not too late for its window
        starts       Int64     runs at the restart or after it
        lost         Int64     missed ticks without a run of their own
        min_lateness timedelta of the start that is least late after its tick
        max_lateness timedelta of the one that is most late
        first_start  instant   when the first run starts
        last_start   instant   when the last one does
        peak         Int64     most runs at the same time
        default      str       the settings that the system comes with
        source       str       where that is said
        note         str       what the parameters leave out
        ============ ========= ======================================================

        ``attrs`` holds ``down`` (two Timestamps), ``run_time`` (ms), ``schedules`` (how
        many were computed) and ``refused``, a tuple of (id, line, reason) of the rows that
        could not be.

    Raises
    ------
    CronError
        the text is neither an expression nor the name of a file
    FleetError
        the fleet cannot be read
    PolicyError
        a name is unknown (the message has a close one), or one stands there twice
    DurationError, InstantError, TypeError
        an argument is no duration or no instant
    WindowError
        `up` is before `start`, or the outage holds too many ticks

    Examples
    --------
    >>> down = ("2024-03-01 00:05", "2024-03-01 02:07:30")
    >>> frame = compare("*/10 * * * *", down, run_time="15 min")
    >>> frame.set_index("policy").loc[["Resonate", "Temporal schedule"], "starts"].tolist()
    [12, 1]
    """
    start, up = outage_window(down)
    run_ms = _run_time(run_time)
    chosen = _chosen(policies)
    given = _fleet(fleet)
    expressions, reasons = compile_fleet(given, "resonate")
    arrays, _ = missed_ticks(given, expressions, reasons, start, up)
    accepted = [row for row, why in enumerate(reasons) if not why]
    missed = _Missed.of([arrays[row] for row in accepted], given["id"].iloc[accepted].tolist(), up)
    rows = [_row(policy, missed, run_ms) for policy in chosen]
    frame = _framed(chosen, rows)
    refused = refused_rows(given, reasons)
    frame.attrs.update(
        down=(timestamp(start), timestamp(up)),
        run_time=run_ms,
        schedules=len(accepted),
        refused=tuple(
            zip(refused["schedule_id"], refused["line"].tolist(), refused["reason"], strict=True)
        ),
    )
    return frame


# --- what was asked ----------------------------------------------------------------------------


def _run_time(given: Duration) -> int:
    if isinstance(given, float):
        raise TypeError(
            f"run_time is {given!r}, but it must be a finite duration: an int (ms), a text such as "
            "'15 min', or a timedelta"
        )
    ms = duration_ms(given, "run_time")
    if not 0 <= ms <= EPOCH_END_MS:
        raise DurationError(
            f"run_time is {given!r}, but it must be from 0 to the 131 years of the calendar: "
            "write it as '15 min'"
        )
    return ms


def _chosen(policies: Iterable[Policy | str] | None) -> list[Policy]:
    if isinstance(policies, str | Policy):
        policies = [policies]
    known: Mapping[str, Policy] = {**SYSTEMS, **VARIANTS}
    chosen: dict[str, Policy] = {}
    for policy in SYSTEMS.values() if policies is None else policies:
        if not isinstance(policy, str | Policy):
            raise TypeError(
                f"policies holds {policy!r} of type {type(policy).__name__}; give Policy objects, "
                "or names such as 'Resonate'"
            )
        found = policy if isinstance(policy, Policy) else _policy_named(policy, known)
        if found.name in chosen:
            raise PolicyError(
                f"policy {found.name!r} stands there twice: give each a name of its own"
            )
        chosen[found.name] = found
    return list(chosen.values())


def _policy_named(name: str, known: Mapping[str, Policy]) -> Policy:
    if name in known:
        return known[name]
    lower = {known_name.lower(): known_name for known_name in known}
    begins = [lower[other] for other in lower if name and other.startswith(name.lower())]
    near = begins or [lower[n] for n in get_close_matches(name.lower(), lower, 1, 0.5)]
    meant = f"did you mean {near[0]!r}?" if near else f"they are {', '.join(map(repr, SYSTEMS))}"
    raise PolicyError(f"policy {name[:60]!r} is none of SYSTEMS and VARIANTS; {meant}")


def _fleet(given: Source | CronExpression) -> pd.DataFrame:
    if isinstance(given, CronExpression):
        alone = {"id": ["schedule"], "cron": [given.text], "dialect": [given.dialect]}
        return read_fleet(pd.DataFrame(alone))
    if isinstance(given, str) and not is_url(given):
        try:
            return _fleet(CronExpression(given))
        except CronError:
            # A text that is no expression may be the name of a file. If there is none, what
            # it lacks as an expression is the better answer, unless it looks like a name.
            looks_like_a_name = Path(given).suffix and len(given.split()) < 5
            if not looks_like_a_name and not _exists(given):
                raise
    return read_fleet(given)


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False


# --- the ticks and what becomes of them -----------------------------------------------------------


class _Missed(NamedTuple):
    """The missed ticks of all schedules, each schedule's in a row and ascending."""

    schedule: Rows
    at: Ints
    late: Ints  # at the restart
    first_late: Ints  # of the schedule's first missed tick, for each tick
    ids: Sequence[str]
    up: int

    @classmethod
    def of(cls, arrays: Sequence[Ints], ids: Sequence[str], up: int) -> _Missed:
        sizes = np.array([len(ticks) for ticks in arrays], dtype=np.intp)
        schedule = np.repeat(np.arange(len(arrays)), sizes)
        at = np.concatenate(arrays) if arrays else np.empty(0, dtype=np.int64)
        firsts = (np.cumsum(sizes) - sizes)[schedule]
        late = up - at
        return cls(schedule, at, late, late[firsts], ids, up)

    def rank(self, which: Bools) -> Ints:
        """The place of each of some ticks among those of its schedule, from 0."""
        schedule = self.schedule[which]
        counts = np.bincount(schedule, minlength=len(self.ids))
        return np.arange(len(schedule)) - (np.cumsum(counts) - counts)[schedule]

    def number(self, which: Bools) -> Ints:
        """How many of some ticks each tick's schedule has."""
        counts = np.bincount(self.schedule[which], minlength=len(self.ids))
        return counts[self.schedule].astype(np.int64)


def _eligible(policy: Policy, missed: _Missed) -> Bools:
    if policy.window_ms is None:
        return np.ones(len(missed.at), dtype=bool)
    return missed.late <= policy.window_ms


def _started(policy: Policy, missed: _Missed) -> Bools:
    """Which ticks start a run, before runs are in each other's way."""
    which = _eligible(policy, missed)
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
    normal: Bools = missed.first_late <= policy.threshold_ms
    return which | normal


def _starts(policy: Policy, missed: _Missed, run_ms: int) -> tuple[Rows, Ints]:
    """The ticks that start a run, and when it starts (ms since the Unix epoch, UTC)."""
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


def _delays(policy: Policy, missed: _Missed, ticks: Rows, rank: Ints) -> Ints:
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


def _peak(starts: Ints, run_ms: int) -> int:
    """Most runs at the same time; runs of no length count at their instant."""
    if not len(starts):
        return 0
    ordered = np.sort(starts)
    over = np.searchsorted(ordered, ordered - max(run_ms, 1), side="right")
    return int((np.arange(1, len(ordered) + 1) - over).max())


# --- the frame ---------------------------------------------------------------------------------


class _Row(NamedTuple):
    """The numbers of one policy; None where it promises nothing or starts nothing."""

    missed: int
    eligible: int | None = None
    starts: int | None = None
    lost: int | None = None
    min_lateness: int | None = None
    max_lateness: int | None = None
    first_start: int | None = None
    last_start: int | None = None
    peak: int | None = None


def _row(policy: Policy, missed: _Missed, run_ms: int) -> _Row:
    total = len(missed.at)
    if policy.mode == "unstated":
        return _Row(total)
    eligible = int(_eligible(policy, missed).sum())
    ticks, starts = _starts(policy, missed, run_ms)
    if not len(ticks):
        return _Row(total, eligible, 0, total, peak=0)
    late = starts - missed.at[ticks]
    return _Row(
        total,
        eligible,
        starts=len(ticks),
        lost=total - len(ticks),
        min_lateness=int(late.min()),
        max_lateness=int(late.max()),
        first_start=int(starts.min()),
        last_start=int(starts.max()),
        peak=_peak(starts, run_ms),
    )


def _framed(policies: Sequence[Policy], rows: Sequence[_Row]) -> pd.DataFrame:
    columns: dict[str, object] = {"policy": _texts(policy.name for policy in policies)}
    for name in _Row._fields:
        values = [getattr(row, name) for row in rows]
        if name.endswith(("_lateness", "_start")):
            numbers = np.array([0 if v is None else v for v in values], dtype=np.int64)
            absent = np.array([v is None for v in values], dtype=bool)
            as_column = frames.durations if name.endswith("_lateness") else frames.instants
            columns[name] = as_column(numbers, absent)
        else:
            columns[name] = pd.Series(values, dtype="Int64")
    for name in ("default", "source", "note"):
        columns[name] = _texts(getattr(policy, name) for policy in policies)
    return pd.DataFrame(columns)


def _texts(values: Iterable[str]) -> pd.Series:
    return pd.Series(list(values), dtype=TEXT)
