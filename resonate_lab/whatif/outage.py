"""What an outage brings at restart: every missed tick, before it happens.

This is Resonate's own catch-up, computed column by column instead of promise by promise:
the ticks of a schedule are one array from the cron core, and all else follows from them
by arithmetic. The engine does the same one promise at a time; a test holds the two
together, so what is said here is what the engine does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from resonate_lab import _html, frames
from resonate_lab.errors import DurationError, WindowError
from resonate_lab.instants import (
    EPOCH_END_MS,
    datetime_index,
    duration_ms,
    format_duration,
    format_instant,
    instant_ms,
    timestamp,
)
from resonate_lab.protocol.profile import Profile, profile_named
from resonate_lab.protocol.records import LINEAGE_TAGS, SCHEDULE_TAG, TARGET_TAG
from resonate_lab.whatif.catchup import (
    MAX_TICKS,
    Bools,
    CatchUp,
    Ints,
    caught_up,
    missed_ticks,
    promise_ids,
    repeated,
)
from resonate_lab.whatif.fleet import (
    MAX_TIMEOUT_MS,
    Source,
    compile_fleet,
    read_fleet,
    refused_rows,
)
from resonate_lab.whatif.partitions import Progress, partitions_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from resonate_lab.instants import Duration, Instant

__all__ = ["DEFAULT_PROMISE_ID", "DEFAULT_TAGS", "MAX_TICKS", "WhatIf", "outage_window", "what_if"]

DEFAULT_PROMISE_ID = "{{.id}}-{{.timestamp}}"
"""Promise-id template of a schedule whose fleet names none."""

DEFAULT_TAGS: Mapping[str, str] = {"resonate:target": "poll://any@default"}
"""Promise tags of a schedule whose fleet names none."""


@dataclass(frozen=True, eq=False, repr=False)
class WhatIf:
    """What a fleet's schedules do at the restart after an outage; made by `what_if`.

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
    down : (Timestamp, Timestamp)
        when the server stops and when it is back
    profile : Profile
        the rules of catch-up
    """

    fleet: pd.DataFrame
    refused: pd.DataFrame
    down: tuple[pd.Timestamp, pd.Timestamp]
    profile: Profile
    _catch_up: CatchUp
    _next_run: Ints

    @cached_property
    def ticks(self) -> pd.DataFrame:
        """One row a missed tick, in the order of firing.

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
        ============ ============== ====================================================
        """
        run = self._catch_up
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
        next_run_at instant   first tick after the restart, NaT if there is none
        =========== ========= =======================================================
        """
        run, size = self._catch_up, len(self.fleet)

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
        return pd.DataFrame(
            {
                "schedule_id": self.fleet["id"].array,
                "cron": self.fleet["cron"].array,
                "missed": missed,
                "dispatched": count(run.dispatched),
                "expired": count(run.expired),
                "existing": count(~run.created),
                "first": frames.instants(first, absent),
                "last": frames.instants(last, absent),
                "max_lag": frames.durations(lag, absent),
                "next_run_at": frames.instants(self._next_run, self._next_run < 0),
            }
        )

    @cached_property
    def load(self) -> pd.DataFrame:
        """Ticks by minute: how many were due, and what is done for them when.

        The index is the start of the minute (UTC), ascending; minutes without anything
        are left out. Columns, all int64: ``due`` (ticks by logical time), ``created``
        (promises by firing time), ``dispatched`` (execute messages by firing time).
        """
        run = self._catch_up
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
        run = self._catch_up
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
        made = np.flatnonzero(self._catch_up.created)
        schedule = self._catch_up.schedule[made]
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
        """The totals: schedules, refused, idle, missed, created, dispatched, expired, existing.

        ``idle`` counts the accepted schedules without a missed tick; ``max_lag_ms`` is
        the longest lag in ms, 0 without a missed tick.
        """
        run = self._catch_up
        created = int(run.created.sum())
        return {
            "schedules": len(self.fleet),
            "refused": len(self.refused),
            "idle": len(self.fleet) - len(np.unique(run.schedule)),
            "missed": len(run.schedule),
            "created": created,
            "dispatched": int(run.dispatched.sum()),
            "expired": int(run.expired.sum()),
            "existing": len(run.schedule) - created,
            "max_lag_ms": int((run.fired - run.scheduled).max(initial=0)),
        }

    def plot(self, *, ax: Axes | None = None, max_lanes: int = 30, **kwargs: Any) -> Axes:
        """Draw the catch-up timeline; see `plots.catch_up_timeline`."""
        from resonate_lab import plots

        return plots.catch_up_timeline(
            self.ticks, down=self.down, ax=ax, max_lanes=max_lanes, **kwargs
        )

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the answer as one self-contained page, and write it if a path is given."""
        from resonate_lab.whatif import report

        page = report.outage_page(self)
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def __repr__(self) -> str:
        return f"<WhatIf: {self.headline()}>"

    def headline(self) -> str:
        """Return the answer in one sentence."""
        n = self.counters
        start, up = (instant_ms(at) for at in self.down)
        return (
            f"{_counted(n['schedules'], 'schedule')}, server down {format_instant(start)} to "
            f"{format_instant(up)} ({format_duration(up - start)}): "
            f"{_counted(n['missed'], 'missed tick')}, "
            f"{_counted(n['dispatched'], 'execute message')} at restart, "
            f"{_counted(n['expired'], 'promise')} born expired"
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
        return promise_ids(self.fleet, self._catch_up.schedule, self._catch_up.scheduled)


_BRIEF = ("schedule_id", "cron", "missed", "dispatched", "expired")


def what_if(
    fleet: Source,
    down: tuple[Instant, Instant],
    *,
    profile: str | Profile = "standard",
    promise_timeout: Duration = "1h",
    progress: Progress = iter,
) -> WhatIf:
    """Return what the schedules of a fleet do at the restart after an outage.

    Parameters
    ----------
    fleet : DataFrame, path or file object
        anything that `read_fleet` takes
    down : (start, up)
        instants: the server stops at `start` and is back at `up`
    profile : str or Profile
        the rules of catch-up; one that fires every missed tick
    promise_timeout : duration
        for the schedules whose fleet names none; the default is that of the documents'
        examples
    progress : callable, optional
        wraps the iterable of the numbers of a fleet's partitions, as `tqdm.auto.tqdm` does

    Returns
    -------
    WhatIf
        every missed tick, a summary a schedule, load, promises, tags and counters; rows
        that Resonate would refuse stand in its ``refused``, the others are computed. That
        of a fleet in partitions does not hold the ticks together: its ``parts()`` yields
        the answer of one partition after another. Its ``complete`` is False where Ctrl-C
        came before the last.

    Raises
    ------
    FleetError
        the fleet cannot be read
    InstantError, DurationError, TypeError
        an argument is no instant or no duration
    WindowError
        `up` is before `start`, the outage leaves 1970-2100, or it holds more than
        `MAX_TICKS` ticks

    Notes
    -----
    Missed are the ticks t with start < t <= up: the tick at the very instant of the stop
    has fired, the one at the instant of the restart is caught up. It is as if each
    schedule had been created at `start`; a template without ``{{.timestamp}}`` therefore
    creates one promise. A schedule without a promise-id template gets
    `DEFAULT_PROMISE_ID`, one without tags `DEFAULT_TAGS`.

    Examples
    --------
    >>> import pandas as pd
    >>> fleet = pd.DataFrame({"id": ["report"], "cron": ["*/10 * * * *"]})
    >>> w = what_if(fleet, down=("2024-03-01T00:05Z", "2024-03-01T02:07:30Z"))
    >>> w.counters["missed"], w.counters["dispatched"], w.counters["expired"]
    (12, 6, 6)
    """
    parts = partitions_of(fleet)
    if parts is not None:
        from resonate_lab.whatif import combined

        rest = {"down": down, "profile": profile, "promise_timeout": promise_timeout}
        return cast("WhatIf", combined.what_if(parts, rest, progress))
    start, up = outage_window(down)
    rules = _rules(profile)
    given = _completed(read_fleet(fleet), duration_ms(promise_timeout, "promise_timeout"))
    expressions, reasons = compile_fleet(given, rules.dialect)
    reasons = _with_refusals(given, reasons, rules)
    arrays, nexts = missed_ticks(given, expressions, reasons, start, up)
    accepted = np.flatnonzero([not why for why in reasons])
    kept = given.iloc[accepted].reset_index(drop=True)
    run = caught_up(kept, [arrays[row] for row in accepted], up, rules)
    return WhatIf(
        fleet=kept,
        refused=refused_rows(given, reasons),
        down=(timestamp(start), timestamp(up)),
        profile=rules,
        _catch_up=run,
        _next_run=np.array([nexts[row] for row in accepted], dtype=np.int64),
    )


def _counted(n: int, word: str) -> str:
    return f"{n:,} {word}" if n == 1 else f"{n:,} {word}s"


def outage_window(down: tuple[Instant, Instant]) -> tuple[int, int]:
    """Return the start and the end of an outage, ms since the Unix epoch, UTC.

    Raises
    ------
    WindowError
        it ends before it starts, or leaves 1970-2100
    InstantError, TypeError
        it is no pair of instants
    """
    if isinstance(down, str) or not isinstance(down, Sequence) or len(down) != 2:
        raise TypeError(
            f"down is {down!r}, but it must be the pair (start, up), such as "
            "('2026-12-01', '2026-12-01 12:00')"
        )
    start, up = instant_ms(down[0], "down[0]"), instant_ms(down[1], "down[1]")
    if not 0 <= start <= up < EPOCH_END_MS:
        raise WindowError(
            f"down is {format_instant(start)} to {format_instant(up)}, but an outage must not end "
            "before it starts, and both instants lie in the years 1970 to 2100"
        )
    return start, up


def _rules(profile: str | Profile) -> Profile:
    rules = profile_named(profile)
    if rules.catch_up != "every tick" or rules.fallback_ms is not None:
        raise ValueError(
            f"profile {rules.name!r} (catch_up {rules.catch_up!r}, fallback_ms "
            f"{rules.fallback_ms}) is not computed here, only one that fires every tick and has "
            "no fallback: use 'standard', or an Engine of that profile"
        )
    return rules


def _with_refusals(fleet: pd.DataFrame, reasons: Sequence[str], rules: Profile) -> list[str]:
    """Return the reasons, and where there is none that for which schedule.create says no."""
    rows = zip(reasons, fleet["id"].tolist(), fleet["promise_tags"].tolist(), strict=True)
    return [why or _refusal(name, tags, rules) for why, name, tags in rows]


def _refusal(name: str, tags: Mapping[str, str], rules: Profile) -> str:
    if "." in name and not rules.schedule_id_may_have_dot:
        return f"schedule id {name[:80]!r} holds a '.', which the server refuses: write '-' instead"
    if rules.schedule_needs_target and TARGET_TAG not in tags:
        return (
            f"promise_tags have no {TARGET_TAG}, without which the server refuses the schedule: "
            "add one such as 'poll://any@default'"
        )
    return ""


def _completed(fleet: pd.DataFrame, timeout: int) -> pd.DataFrame:
    """Return the fleet with the template, the timeout and the tags that hold for each row."""
    if not 0 <= timeout <= MAX_TIMEOUT_MS:
        raise DurationError(
            f"promise_timeout is {timeout} ms, but it must be from 0 to {MAX_TIMEOUT_MS} ms"
        )
    size = len(fleet)
    given = fleet.assign(
        promise_id=fleet["promise_id"].replace("", DEFAULT_PROMISE_ID)
        if "promise_id" in fleet
        else pd.Series([DEFAULT_PROMISE_ID] * size, dtype=str),
        promise_timeout=fleet["promise_timeout"].fillna(timeout).astype(np.int64)
        if "promise_timeout" in fleet
        else np.full(size, timeout, dtype=np.int64),
    )
    for name, default in (("promise_tags", DEFAULT_TAGS), ("promise_param", {})):
        cells = np.empty(size, dtype=object)
        own = fleet[name].tolist() if name in fleet else [None] * size
        cells[:] = [dict(default) if cell is None else cell for cell in own]
        given[name] = pd.Series(cells, index=given.index, dtype=object)
    return given
