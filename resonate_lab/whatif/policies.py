"""One outage under the missed-run rules of many schedulers, side by side.

The parameters and the systems stand in `resonate_lab.whatif.systems`; here they are
applied, to all missed ticks of a fleet at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from resonate_lab import frames
from resonate_lab.cron import CronError, CronExpression
from resonate_lab.errors import DurationError
from resonate_lab.frames import TEXT
from resonate_lab.instants import EPOCH_END_MS, duration_ms, format_duration, timestamp
from resonate_lab.whatif.answer import AnswerFrame, Table, counted, refused_table
from resonate_lab.whatif.catchup import Ints, missed_ticks
from resonate_lab.whatif.fleet import Source, compile_fleet, read_fleet, refused_rows
from resonate_lab.whatif.live import is_url
from resonate_lab.whatif.partitions import Progress, partitions_of
from resonate_lab.whatif.question import outage_window
from resonate_lab.whatif.starts import Missed, eligible, start_times
from resonate_lab.whatif.systems import SYSTEMS, VARIANTS, Policy, PolicyError, policy_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from resonate_lab.instants import Duration, Instant

__all__ = ["SYSTEMS", "VARIANTS", "Policy", "PolicyError", "compare"]


class Comparison(AnswerFrame):
    """What each of several policies does; made by `compare`, which names the columns."""

    _title: ClassVar[str] = "What would other schedulers do after the same outage?"
    _needs: ClassVar = {
        "policy": "O",
        "missed": "i",
        "starts": "i",
        "lost": "i",
        "min_lateness": "m",
        "max_lateness": "m",
        "peak": "i",
    }

    def headline(self) -> str:
        """Return the answer in one sentence."""
        run_ms = self.attrs.get("run_time")
        long = "" if run_ms is None else f" of {format_duration(run_ms)} each"
        missed = int(self["missed"].max()) if len(self) else 0
        policies = "1 policy" if len(self) == 1 else f"{len(self):,} policies"
        found = f"{counted(missed, 'missed tick')} under {policies}, runs{long}"
        stated = self[self["starts"].notna()]
        if not len(stated):
            return found
        least, most = (
            stated.sort_values("starts", ascending=up, kind="stable").iloc[0]
            for up in (True, False)
        )
        return (
            f"{found}: from {counted(least['starts'], 'start')} ({least['policy']}) to "
            f"{most['starts']:,} ({most['policy']}), at most {stated['peak'].max():,} at once"
        )

    def _tables(self) -> list[Table]:
        headings = {
            "policy": "policy",
            "starts": "starts",
            "lost": "lost",
            "min_lateness": "least late",
            "max_lateness": "most late",
            "peak": "at once",
            "default": "settings",
            "note": "what the numbers leave out",
        }
        refused = pd.DataFrame(
            self.attrs.get("refused", ()), columns=["schedule_id", "line", "reason"]
        )
        return [
            Table("The policies", self._main(), headings, {"policy", "default", "note"}),
            *refused_table(refused),
        ]

    def _draw(self, ax: Axes | None) -> Axes:
        from resonate_lab import plots

        return plots.policy_bars(self, ax=ax)


def compare(
    fleet: Source | CronExpression,
    down: tuple[Instant, Instant],
    *,
    run_time: Duration = "1 min",
    policies: Iterable[Policy | str] | None = None,
    progress: Progress = iter,
) -> Comparison:
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
    progress : callable, optional
        wraps the iterable of the numbers of a fleet's partitions, as `tqdm.auto.tqdm` does

    Returns
    -------
    Comparison
        a DataFrame; one row a policy, in their order. Int64 and missing durations and
        instants, since a policy may promise nothing (mode "unstated") or start nothing.

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
        could not be; of a fleet in partitions also ``complete`` and ``partitions``, as in
        `audit`.

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
    parts = partitions_of(fleet, "dialect", "line")
    if parts is not None:
        from resonate_lab.whatif import combined

        return combined.compare(parts, (start, up), run_ms, chosen, progress)
    given = _fleet(fleet)
    expressions, reasons = compile_fleet(given, "resonate")
    arrays, _ = missed_ticks(given, expressions, reasons, start, up)
    accepted = [row for row, why in enumerate(reasons) if not why]
    missed = Missed.of([arrays[row] for row in accepted], given["id"].iloc[accepted].tolist(), up)
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
    if isinstance(policies, str | Policy) or not isinstance(policies, Iterable | None):
        policies = [policies]
    chosen: dict[str, Policy] = {}
    for policy in SYSTEMS.values() if policies is None else policies:
        if not isinstance(policy, str | Policy):
            raise TypeError(
                f"policies holds {policy!r} of type {type(policy).__name__}; give Policy objects, "
                "or names such as 'Resonate'"
            )
        found = policy if isinstance(policy, Policy) else policy_named(policy)
        if found.name in chosen:
            raise PolicyError(
                f"policy {found.name!r} stands there twice: give each a name of its own"
            )
        chosen[found.name] = found
    return list(chosen.values())


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


# --- the frame ---------------------------------------------------------------------------------


def _peak(starts: Ints, run_ms: int) -> int:
    """Most runs at the same time; runs of no length count at their instant."""
    if not len(starts):
        return 0
    ordered = np.sort(starts)
    over = np.searchsorted(ordered, ordered - max(run_ms, 1), side="right")
    return int((np.arange(1, len(ordered) + 1) - over).max())


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


def _row(policy: Policy, missed: Missed, run_ms: int) -> _Row:
    total = len(missed.at)
    if policy.mode == "unstated":
        return _Row(total)
    in_time = int(eligible(policy, missed).sum())
    ticks, starts = start_times(policy, missed, run_ms)
    if not len(ticks):
        return _Row(total, in_time, 0, total, peak=0)
    late = starts - missed.at[ticks]
    return _Row(
        total,
        in_time,
        starts=len(ticks),
        lost=total - len(ticks),
        min_lateness=int(late.min()),
        max_lateness=int(late.max()),
        first_start=int(starts.min()),
        last_start=int(starts.max()),
        peak=_peak(starts, run_ms),
    )


def _framed(policies: Sequence[Policy], rows: Sequence[_Row]) -> Comparison:
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
    return Comparison(columns)


def _texts(values: Iterable[str]) -> pd.Series:
    return pd.Series(list(values), dtype=TEXT)
