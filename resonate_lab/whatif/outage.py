"""What outages bring at restart: every missed tick, before it happens.

This is Resonate's own catch-up, computed column by column instead of promise by promise:
the ticks of a schedule are one array from the cron core, and all else follows from them
by arithmetic. The engine does the same one promise at a time; a test holds the two
together, so what is said here is what the engine does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import pandas as pd

from resonate_lab import _html, frames
from resonate_lab.instants import (
    datetime_index,
    format_duration,
    format_instant,
    instant_ms,
    timestamp,
)
from resonate_lab.protocol.profile import Profile, profile_named
from resonate_lab.protocol.records import LINEAGE_TAGS, SCHEDULE_TAG
from resonate_lab.whatif import report
from resonate_lab.whatif.answer import Answer, Table, counted, refused_table
from resonate_lab.whatif.catchup import Bools, CatchUp, Ints, bound, promise_ids, repeated
from resonate_lab.whatif.chains import MAX_TICKS
from resonate_lab.whatif.fleet import Source
from resonate_lab.whatif.following import Question, followed
from resonate_lab.whatif.partitions import Progress, partitions_of
from resonate_lab.whatif.polls import Downtime
from resonate_lab.whatif.question import (
    DEFAULT_PROMISE_ID,
    DEFAULT_TAGS,
    asked,
    complete,
    outage_windows,
    policy_asked,
    runs_asked,
)
from resonate_lab.whatif.queue import LogNormal, Queue, Served
from resonate_lab.whatif.starts import policy_starts
from resonate_lab.whatif.systems import Policy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from resonate_lab.instants import Duration, Instant

__all__ = ["DEFAULT_PROMISE_ID", "DEFAULT_TAGS", "MAX_TICKS", "WhatIf", "what_if"]


@dataclass(frozen=True, eq=False, repr=False)
class WhatIf(Answer):
    """What a fleet's schedules do at the restart after outages; made by `what_if`.

    The frames are built when first asked for, and kept. Instants are tz-aware UTC
    (datetime64[ms, UTC]), durations timedelta64[ms], missing instants NaT.

    Attributes
    ----------
    fleet : DataFrame
        the accepted schedules, one row each, with the template, the timeout and the tags
        that were used
    refused : DataFrame
        the others: ``schedule_id``, ``cron``, ``line`` (of the file, else the row's
        number from 1) and ``reason``
    outages : tuple of (Timestamp, Timestamp)
        when the server stops and when it is back, ascending
    profile : Profile
        the rules of catch-up
    policy : Policy or None
        what starts the missed ticks instead of Resonate's own catch-up
    queue : Queue or None
        what the workers do; None if none were asked for
    """

    fleet: pd.DataFrame
    refused: pd.DataFrame
    outages: tuple[tuple[pd.Timestamp, pd.Timestamp], ...]
    profile: Profile
    policy: Policy | None
    queue: Queue | None
    _catch_up: CatchUp
    _next_run: Ints
    _level: Ints
    _served: Served | None

    @property
    def down(self) -> tuple[pd.Timestamp, pd.Timestamp]:
        """When the server stops first, and when it is back for good."""
        return self.outages[0][0], self.outages[-1][1]

    _title: ClassVar[str] = "What happens at the restart after an outage?"

    @cached_property
    def ticks(self) -> pd.DataFrame:
        """One row a missed tick, in the order of firing.

        In a profile that fires one tick a poll also those that fall due after a restart and
        fire late, since their schedule is not level yet; they are followed for as long again
        as the server was down.

        ============ ============== ====================================================
        schedule_id  str
        scheduled_at instant        logical time: what the cron text says
        fired_at     instant        when the server, back again, gets to it
        lag          timedelta      ``fired_at - scheduled_at``
        promise_id   str            template with id and logical time filled in
        timeout_at   instant        ``scheduled_at`` plus the promise timeout
        state        category       at creation: pending, resolved or rejected_timedout;
                                    missing where the id existed and nothing is created
        dispatched   bool           an execute message is queued
        sent_at      instant        when that message leaves, NaT without one
        outage       int64          number of the outage, from 0
        lost         bool           the policy does not start it: nothing is created, and
                                    ``fired_at`` is the restart
        ============ ============== ====================================================

        In a profile that polls, messages leave as the released server sends them: up to 100
        every 100 ms, those with the smallest task ids first (byte order); otherwise at the
        firing, or when ``resonate:delay`` is over where the profile honours it.
        """
        run = self._missed
        state = np.where(run.expired, np.where(run.timer, 1, 2), 0).astype(np.int8)
        return pd.DataFrame(
            {
                "schedule_id": repeated(self.fleet["id"].tolist(), run.schedule),
                "scheduled_at": datetime_index(run.scheduled),
                "fired_at": datetime_index(run.fired),
                "lag": (run.fired - run.scheduled).view("timedelta64[ms]"),
                "promise_id": self._promise_ids,
                "timeout_at": datetime_index(run.timeout),
                "state": pd.Categorical.from_codes(
                    np.where(run.created, state, np.int8(-1)), dtype=frames.BIRTH_STATES
                ),
                "dispatched": run.dispatched,
                "sent_at": frames.instants(run.sent, run.sent < 0),
                "outage": run.outage.astype(np.int64),
                "lost": run.lost,
            }
        )

    @cached_property
    def summary(self) -> pd.DataFrame:
        """One row an accepted schedule, in the fleet's order, those without a miss too.

        =========== ========= =======================================================
        schedule_id str
        cron        str
        missed      int64     ticks in the outage
        dispatched  int64     execute messages queued at restart
        expired     int64     promises that are born settled
        existing    int64     ticks whose promise id existed, so that nothing is created
        first, last instant   first and last missed tick, NaT without one
        max_lag     timedelta of the first missed tick, NaT without one
        lost        int64     ticks that the policy does not start
        next_run_at instant   first tick after the restart, NaT if there is none
        =========== ========= =======================================================

        With workers two more, int64: ``timed_out_waiting`` and ``timed_out_running``, the
        messages whose promise timed out before a worker took them, and at work.
        """
        run, size = self._missed, len(self.fleet)

        def count(which: Bools | None) -> Ints:
            rows = run.schedule if which is None else run.schedule[which]
            return np.bincount(rows, minlength=size).astype(np.int64)

        first = np.full(size, np.iinfo(np.int64).max)
        last = np.full(size, np.iinfo(np.int64).min)
        lag = np.full(size, np.iinfo(np.int64).min)
        np.minimum.at(first, run.schedule, run.scheduled)
        np.maximum.at(last, run.schedule, run.scheduled)
        np.maximum.at(lag, run.schedule, run.fired - run.scheduled)
        missed = count(None)
        absent = missed == 0
        summary = pd.DataFrame(
            {
                "schedule_id": self.fleet["id"].array,
                "cron": self.fleet["cron"].array,
                "missed": missed,
                "dispatched": count(run.dispatched),
                "expired": count(run.expired),
                "existing": count(~run.created & ~run.lost),
                "first": frames.instants(first, absent),
                "last": frames.instants(last, absent),
                "max_lag": frames.durations(lag, absent),
                "lost": count(run.lost),
                "next_run_at": frames.instants(self._next_run, self._next_run < 0),
            }
        )
        if self._served is not None:
            summary["timed_out_waiting"] = self._served.timed_out_waiting
            summary["timed_out_running"] = self._served.timed_out_running
        return summary

    @cached_property
    def drain(self) -> pd.DataFrame:
        """When each schedule is level again: one row an accepted schedule, in their order.

        =========== ========= =======================================================
        schedule_id str
        level_at    instant   the first instant, at or after the last restart, at which
                              nothing of it is overdue; NaT if it is not level within as
                              long again as the server was down
        late_ticks  int64     ticks fired late, over all outages
        last_lag    timedelta of the last of them, NaT without one
        =========== ========= =======================================================
        """
        run, size = self._missed, len(self.fleet)
        started = np.flatnonzero(~run.lost)
        schedule, fired = run.schedule[started], run.fired[started]
        level, lag = self._level.copy(), np.full(size, -1)
        if self.policy is not None:
            np.maximum.at(level, schedule, fired)
        # Of equal rows numpy keeps the last value, and the ticks of a schedule ascend.
        lag[schedule] = fired - run.scheduled[started]
        return pd.DataFrame(
            {
                "schedule_id": self.fleet["id"].array,
                "level_at": frames.instants(level, level < 0),
                "late_ticks": np.bincount(schedule, minlength=size).astype(np.int64),
                "last_lag": frames.durations(lag, lag < 0),
            }
        )

    @cached_property
    def load(self) -> pd.DataFrame:
        """Ticks by minute: how many were due, and what is done for them when.

        The index is the start of the minute (UTC), ascending; minutes without anything
        are left out. Columns, all int64: ``due`` (ticks by logical time), ``created``
        (promises by firing time), ``dispatched`` (execute messages by firing time).
        """
        run = self._missed
        events = {
            "due": run.scheduled,
            "created": run.fired[run.created],
            "dispatched": run.fired[run.dispatched],
        }
        minutes = {name: np.unique(at // 60_000, return_counts=True) for name, at in events.items()}
        index = np.unique(np.concatenate([at for at, _ in minutes.values()]))
        load = pd.DataFrame(index=datetime_index(index * 60_000, name="minute"))
        for name, (at, counts) in minutes.items():
            column = np.zeros(len(index), dtype=np.int64)
            column[np.searchsorted(index, at)] = counts
            load[name] = column
        return load

    @cached_property
    def promises(self) -> pd.DataFrame:
        """The promises as they are created, in the columns of `frames.promises`."""
        run = self._missed
        made = np.flatnonzero(run.created)
        run = run.take(made)
        state = np.where(run.expired, np.where(run.timer, 1, 4), 0).astype(np.int8)
        late = self.profile.expired_created_at == "timeout"
        created = np.where(run.expired & late, run.timeout, run.scheduled)
        params = self.fleet["promise_param"].to_numpy(dtype=object)
        empty = np.empty(len(made), dtype=object)
        empty[:] = [{}] * len(made)
        return pd.DataFrame(
            {
                "id": self._promise_ids.iloc[made].array,
                "schedule_id": repeated(self.fleet["id"].tolist(), run.schedule).array,
                "state": pd.Categorical.from_codes(state, dtype=frames.PROMISE_STATES),
                "created_at": datetime_index(created),
                "timeout_at": datetime_index(run.timeout),
                "settled_at": frames.instants(run.timeout, ~run.expired),
                "param": params[run.schedule],
                "value": empty,
            }
        )

    @cached_property
    def tags(self) -> pd.DataFrame:
        """The tags of the promises that are created: one row a promise, one column a tag.

        The index is the promise id; the columns, all str, stand in the order of the
        tags' names; NaN where a promise lacks the tag.
        """
        made = np.flatnonzero(self._missed.created)
        schedule = self._missed.schedule[made]
        own = self.fleet["promise_tags"].tolist()
        ids = pd.Series(self._promise_ids.iloc[made].array)
        columns: dict[str, pd.Series] = {}
        for name in {name for row in np.unique(schedule) for name in own[row]}:
            columns[name] = repeated([tags.get(name) for tags in own], schedule)
        if self.profile.adds_tags and len(made):
            columns |= dict.fromkeys(LINEAGE_TAGS, ids)
            columns[SCHEDULE_TAG] = repeated(self.fleet["id"].tolist(), schedule)
        return pd.DataFrame(
            {name: columns[name].array for name in sorted(columns)},
            index=pd.Index(ids, name="promise_id"),
        )

    @cached_property
    def counters(self) -> dict[str, int]:
        """The totals: schedules, refused, idle, missed, created, dispatched, expired and so on.

        ``idle`` counts the accepted schedules without a missed tick; ``max_lag_ms`` is
        the longest lag in ms, 0 without a missed tick.
        """
        run = self._missed
        created, lost = int(run.created.sum()), int(run.lost.sum())
        return {
            "schedules": len(self.fleet),
            "refused": len(self.refused),
            "idle": len(self.fleet) - len(np.unique(run.schedule)),
            "missed": len(run.schedule),
            "created": created,
            "dispatched": int(run.dispatched.sum()),
            "expired": int(run.expired.sum()),
            "existing": len(run.schedule) - created - lost,
            "lost": lost,
            "max_lag_ms": int((run.fired - run.scheduled).max(initial=0)),
        }

    def plot(self, *, ax: Axes | None = None, max_lanes: int = 30, **kwargs: Any) -> Axes:
        """Draw the catch-up timeline; see `plots.catch_up_timeline`."""
        from resonate_lab import plots

        down = self.down if len(self.outages) == 1 else self.outages
        return plots.catch_up_timeline(self.ticks, down=down, ax=ax, max_lanes=max_lanes, **kwargs)

    def _picture(self) -> bytes:
        return report.timeline_png(self)

    def _main(self) -> pd.DataFrame:
        return self.summary

    def _tables(self) -> list[Table]:
        busiest = Table("The busiest schedules", self.summary, _HEADINGS, most="missed", note=_NOTE)
        return [busiest, *refused_table(self.refused)]

    def _figures(self) -> list[tuple[str, str]]:
        n = self.counters
        return [
            (f"{n['schedules']:,}", "schedules accepted"),
            (f"{n['missed']:,}", "missed ticks"),
            (f"{n['dispatched']:,}", "execute messages at once"),
            (f"{n['expired']:,}", "promises born expired"),
            (f"{n['idle']:,}", "schedules without a miss"),
            (format_duration(n["max_lag_ms"]), "longest lag"),
        ]

    def __repr__(self) -> str:
        return f"<WhatIf: {self.headline()}>"

    def headline(self) -> str:
        """Return the answer in one sentence."""
        n = self.counters
        start, up = (instant_ms(at) for at in self.down)
        times = f"{len(self.outages):,} times between " if len(self.outages) > 1 else ""
        length = sum(instant_ms(end) - instant_ms(begin) for begin, end in self.outages)
        span = f"{format_instant(start)} {'and' if times else 'to'} {format_instant(up)}"
        under = f" under policy {_html.plain(self.policy.name)!r}" if self.policy else ""
        lost = f", {counted(n['lost'], 'tick')} lost" if self.policy else ""
        return (
            f"{counted(n['schedules'], 'schedule')}, server down {times}{span} "
            f"({format_duration(length)}){under}: "
            f"{counted(n['missed'], 'missed tick')}, "
            f"{counted(n['dispatched'], 'execute message')} at restart, "
            f"{counted(n['expired'], 'promise')} born expired{lost}"
        )

    def _repr_html_(self) -> str:
        shown = self.summary.nlargest(10, "missed")
        rows = zip(*(shown[name].tolist() for name in _BRIEF), strict=True)
        refused = ""
        if len(self.refused):
            listed = self.refused.head(5)
            refused = _html.table(
                listed[["schedule_id", "cron", "reason"]].values.tolist(),
                ["schedule", "cron", "why it is refused"],
                total=len(self.refused),
            )
        table = _html.table(rows, _BRIEF, total=len(self.fleet))
        return f"<div><p>{_html.escape(self.headline(), None)}</p>{table}{refused}</div>"

    @cached_property
    def _promise_ids(self) -> pd.Series:
        return promise_ids(self.fleet, self._missed.schedule, self._missed.scheduled)

    @cached_property
    def _missed(self) -> CatchUp:
        """Those of the ticks that are part of a catch-up, and not fired in time."""
        late = self._catch_up.outage >= 0
        return self._catch_up if late.all() else self._catch_up.take(np.flatnonzero(late))


_HEADINGS = {
    "schedule_id": "schedule",
    "cron": "cron",
    "missed": "missed",
    "dispatched": "sent",
    "expired": "expired",
    "existing": "existed",
    "max_lag": "longest lag",
    "next_run_at": "next tick",
}
_NOTE = (
    "Every tick missed is caught up at restart, in order, and its timeout counts from its own "
    "logical time: where that has passed already, the promise is born settled and no worker hears "
    "of it."
)
_BRIEF = ("schedule_id", "cron", "missed", "dispatched", "expired")


def what_if(
    fleet: Source,
    down: tuple[Instant, Instant] | Sequence[tuple[Instant, Instant]],
    *,
    profile: str | Profile = "standard",
    promise_timeout: Duration = "1h",
    policy: Policy | str | None = None,
    workers: int | None = None,
    run_time: Duration | LogNormal | None = None,
    seed: int = 0,
    progress: Progress = iter,
) -> WhatIf:
    """Return what the schedules of a fleet do at the restart after outages.

    Parameters
    ----------
    fleet : DataFrame, path or file object
        anything that `read_fleet` takes
    down : (start, up), or a sequence of such pairs
        instants: the server stops at `start` and is back at `up`; several, planned windows
        for instance, in any order
    profile : str or Profile
        the rules of catch-up
    promise_timeout : duration
        for the schedules whose fleet names none; the default is that of the documents'
        examples
    policy : Policy or str, optional
        what starts the missed ticks, and when, instead of Resonate's own catch-up; a name of
        `policies.SYSTEMS` or `policies.VARIANTS`. Their promises follow the profile.
    workers : int, optional
        how many take the execute messages; the answer then has a ``queue``
    run_time : duration, LogNormal or str, optional
        how long a worker is busy with a message: always as long, drawn, or as a column of
        the fleet says (ms, or durations such as "5min"). A policy with an overlap rule needs
        one that is always as long; its default there is 1 min.
    seed : int
        of what is drawn; with the same seed the n-th message takes as long, whatever else
        is changed
    progress : callable, optional
        wraps the iterable of the numbers of a fleet's partitions, as `tqdm.auto.tqdm` does

    Returns
    -------
    WhatIf
        every missed tick, a summary a schedule, the drain, load, promises, tags, counters
        and the queue; rows that Resonate would refuse stand in its ``refused``, the others
        are computed. That of a fleet in partitions does not hold the ticks together: its
        ``parts()`` yields the answer of one partition after another, and its ``complete`` is
        False where Ctrl-C came before the last. With workers, or where the profile sends
        messages in batches, such a fleet is taken as a whole.

    Raises
    ------
    FleetError
        the fleet cannot be read, or `run_time` is neither a duration nor a column of it
    InstantError, DurationError, TypeError
        an argument is no instant, no duration, or of another type
    WindowError
        an outage ends before it starts, overlaps another one or leaves 1970-2100, or there
        are more than `MAX_TICKS` ticks
    PolicyError
        there is no such policy, it promises nothing, or the profile does not fire every tick
        at the restart
    ValueError
        there is no such profile, or `workers` and `run_time` do not go together

    Notes
    -----
    Missed are the ticks t with start < t <= up: the tick at the very instant of the stop
    has fired, the one at the instant of the restart is caught up. In a profile that polls,
    those between its last poll and the stop are missed as well. It is as if each schedule
    had been created at the first `start`; a template without ``{{.timestamp}}`` therefore
    creates one promise. A schedule without a promise-id template gets
    `DEFAULT_PROMISE_ID`, one without tags `DEFAULT_TAGS`.

    Only first messages are counted, not those that are repeated when nobody takes them. In a
    profile that polls, both loops start at the restart, and a message leaves after the poll
    that queued it. Workers take the messages of missed ticks and of those that fall due in
    time after the first restart, first sent first taken; nothing is taken while the server
    is down. A promise that times out before it is taken costs no worker anything, one that
    times out at work keeps its worker to the end. A queue is followed for `QUEUE_MS` after
    the last restart, at most for `MAX_MESSAGES` messages.

    Examples
    --------
    >>> import pandas as pd
    >>> fleet = pd.DataFrame({"id": ["report"], "cron": ["*/10 * * * *"]})
    >>> w = what_if(fleet, down=("2024-03-01T00:05Z", "2024-03-01T02:07:30Z"))
    >>> w.counters["missed"], w.counters["dispatched"], w.counters["expired"]
    (12, 6, 6)
    >>> what_if(fleet, ("2024-03-01T00:05Z", "2024-03-01T02:07:30Z"), profile="server",
    ...         workers=1, run_time="90s").queue.empty_at
    Timestamp('2024-03-01 02:16:37.100000+0000', tz='UTC')
    """
    parts = partitions_of(fleet)
    if parts is not None and (workers is not None or profile_named(profile).poll_ms is not None):
        # Messages of all schedules stand in one queue.
        fleet, parts = parts.together("a queue of messages"), None
    if parts is not None:
        from resonate_lab.whatif import combined

        rest = {
            "down": down,
            "profile": profile,
            "promise_timeout": promise_timeout,
            "policy": policy,
            "run_time": run_time,
            "seed": seed,
        }
        return cast("WhatIf", combined.what_if(parts, rest, progress))
    outages, rules = outage_windows(down), profile_named(profile)
    in_steps = rules.catch_up == "one tick a run"
    span = Downtime.of(outages, rules.poll_ms, in_steps)
    given = complete(fleet, promise_timeout)
    chosen, run_ms = policy_asked(policy, rules, run_time)
    runs, faults = runs_asked(given, workers, run_time, chosen, seed)
    found = asked(given, rules, outages[0][0], faults)
    if runs is not None:
        runs = runs.take(found.rows)
    bound(found.fleet["id"].tolist(), found.expressions, outages)
    starts = None
    if chosen is not None:
        starts = policy_starts(chosen, found.fleet["id"].tolist(), span, run_ms)
    question = Question(found, span, rules, starts)
    run, chains, end = question.answer()
    served = None
    if runs is not None and workers is not None:
        served = followed(question, run, end, runs, workers)
    return WhatIf(
        fleet=found.fleet,
        refused=found.refused,
        outages=tuple((timestamp(start), timestamp(up)) for start, up in outages),
        profile=rules,
        policy=chosen,
        queue=served and served.queue,
        _catch_up=run,
        _next_run=np.array([chains[e].next_run for e in found.expressions], dtype=np.int64),
        _level=np.array([chains[e].level_at for e in found.expressions], dtype=np.int64),
        _served=served,
    )
