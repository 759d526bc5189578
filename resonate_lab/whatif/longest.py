"""How long a server may be down: the longest outage after which a rule still holds.

What an outage from a fixed instant brings changes at two kinds of instants only: a tick is
missed too, or a missed one has timed out by then. So these are walked in their order, until
the first that breaks the rule; how far ahead they are listed is doubled until it comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from resonate_lab import _html, frames
from resonate_lab.cron import CronExpression
from resonate_lab.errors import WindowError
from resonate_lab.instants import (
    EPOCH_END_MS,
    duration_ms,
    format_duration,
    format_instant,
    instant_ms,
    timestamp,
)
from resonate_lab.protocol.profile import PROFILES
from resonate_lab.protocol.records import TARGET_TAG
from resonate_lab.whatif.answer import Answer, Table, counted, refused_table
from resonate_lab.whatif.catchup import NONE, Bools, Ints, Rows, ids_differ, promise_ids
from resonate_lab.whatif.chains import MAX_TICKS, too_many
from resonate_lab.whatif.fleet import Source
from resonate_lab.whatif.question import asked, complete

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from resonate_lab.instants import Duration, Instant

__all__ = ["LongestOutage", "longest_outage"]

_NEVER = np.iinfo(np.int64).max
_FIRST_REACH = 3_600_000  # ms


@dataclass(frozen=True, eq=False, repr=False)
class LongestOutage(Answer):
    """How long a server may be down; made by `longest_outage`.

    Attributes
    ----------
    start : Timestamp
        when the outage begins
    up : Timestamp
        the latest end at which the rule holds, and has held at every end before
    duration : Timedelta
        `up` less `start`
    stopped_by : str
        "expired", "messages" or "limit"
    schedule_id : str or None
        whose tick breaks the rule a millisecond later; None at the limit
    tick : Timestamp
        the logical time of that tick, NaT at the limit
    schedules : DataFrame
        one row an accepted schedule, those that break the rule first come first:
        ``schedule_id``, ``cron`` (str) and ``breaks_at`` (instant), from which an outage
        breaks the rule even if the schedule were alone; NaT if that is beyond the limit,
        or beyond `MAX_TICKS` ticks of it
    refused : DataFrame
        the rows that are not computed: ``schedule_id``, ``cron``, ``line`` and ``reason``
    """

    start: pd.Timestamp
    up: pd.Timestamp
    duration: pd.Timedelta
    stopped_by: str
    schedule_id: str | None
    tick: pd.Timestamp
    schedules: pd.DataFrame
    refused: pd.DataFrame
    _rule: str

    _title: ClassVar[str] = "How long may the server be down?"

    def headline(self) -> str:
        """Return the answer in one sentence."""
        start, up = instant_ms(self.start), instant_ms(self.up)
        said = (
            f"down from {format_instant(start)}, the server may be away for "
            f"{format_duration(up - start)}, until {format_instant(up)}, with {self._rule}"
        )
        if self.schedule_id is None:
            return f"{said}; that is as far as was asked"
        return (
            f"{said}; a millisecond later {_html.plain(self.schedule_id, 80)!r} breaks it with its "
            f"tick of {format_instant(instant_ms(self.tick))}"
        )

    def plot(self, *, ax: Axes | None = None, max_lanes: int = 30, **kwargs: Any) -> Axes:
        """Draw how long each schedule would bear alone; see `plots.endurance`."""
        from resonate_lab import plots

        return plots.endurance(
            self.schedules, start=self.start, up=self.up, ax=ax, max_lanes=max_lanes, **kwargs
        )

    def _main(self) -> pd.DataFrame:
        return self.schedules

    def _tables(self) -> list[Table]:
        headings = {
            "schedule_id": "schedule",
            "cron": "cron",
            "breaks_at": "alone it breaks the rule at",
        }
        first = Table("The schedules that break the rule first", self.schedules, headings)
        return [first, *refused_table(self.refused)]

    def __repr__(self) -> str:
        return f"<LongestOutage: {self.headline()}>"

    def _repr_html_(self) -> str:
        rows = [
            (name, cron, "" if at is pd.NaT else format_instant(instant_ms(at)))
            for name, cron, at in self.schedules.head(10).itertuples(index=False)
        ]
        columns = ["schedule", "cron", "alone it breaks the rule at"]
        table = _html.table(rows, columns, total=len(self.schedules))
        return f"<div><p>{_html.escape(self.headline(), None)}</p>{table}</div>"


def longest_outage(
    fleet: Source,
    start: Instant,
    *,
    expired: int | None = 0,
    messages: int | None = None,
    promise_timeout: Duration = "1h",
    limit: Duration = "31d",
) -> LongestOutage:
    """Return how long a server may be down until an outage breaks a rule.

    Parameters
    ----------
    fleet : DataFrame, path or file object
        anything that `read_fleet` takes
    start : instant
        when the server stops
    expired : int or None
        most promises that may be born expired; None: any number
    messages : int or None
        most execute messages that may be queued at the restart; None: any number
    promise_timeout : duration
        for the schedules whose fleet names none
    limit : duration
        how far to look

    Returns
    -------
    LongestOutage
        the largest duration, exact to the millisecond, of which it and every shorter outage
        from `start` keep the rule, and what breaks it then

    Raises
    ------
    FleetError
        the fleet cannot be read
    InstantError, DurationError, TypeError
        an argument is no instant, no duration or no int
    WindowError
        `limit` is negative or leaves 1970-2100, or more than `MAX_TICKS` ticks would have to
        be looked at
    ValueError
        there is no rule, or one that even an outage of no length breaks

    Notes
    -----
    As `what_if` counts them, in profile ``standard``: all is caught up at the restart, and a
    promise is born expired if its deadline has passed by then.

    Examples
    --------
    >>> fleet = pd.DataFrame({"id": ["report"], "cron": ["*/10 * * * *"]})
    >>> longest = longest_outage(fleet, "2024-03-01T00:05Z", promise_timeout="1h")
    >>> longest.duration, longest.tick
    (Timedelta('0 days 01:04:59.999000'), Timestamp('2024-03-01 00:10:00+0000', tz='UTC'))
    """
    begin = instant_ms(start, "start")
    reach = duration_ms(limit, "limit")
    if reach < 0 or not 0 <= begin <= begin + reach < EPOCH_END_MS:
        raise WindowError(
            f"start {format_instant(begin)} and limit {limit!r} must stay in the years 1970 to "
            "2100, and the limit must not be negative: write limit='31d'"
        )
    rule = _Rule(_count("expired", expired), _count("messages", messages))
    if rule.expired is None and rule.messages is None:
        raise ValueError(
            "neither expired nor messages bounds the outage: give expired=0, say, or messages=1000"
        )
    found = asked(complete(fleet, promise_timeout), PROFILES["standard"], begin)
    world = _World(
        found.fleet,
        found.expressions,
        found.fleet["promise_timeout"].to_numpy(dtype=np.int64),
        np.array([TARGET_TAG in tags for tags in found.fleet["promise_tags"]], dtype=bool),
        begin,
    )
    broken = world.first_broken(rule, begin + reach)
    up = begin + reach if broken is None else broken.at - 1
    alone = world.alone(rule, begin + reach)
    order = np.argsort(alone, kind="stable")
    return LongestOutage(
        start=timestamp(begin),
        up=timestamp(up),
        duration=pd.Timedelta(up - begin, "ms"),
        stopped_by="limit" if broken is None else broken.by,
        schedule_id=None if broken is None else str(found.fleet["id"].iloc[broken.row]),
        tick=frames.instants(
            np.array([0 if broken is None else broken.tick]), np.array([broken is None])
        )[0],
        schedules=pd.DataFrame(
            {
                "schedule_id": found.fleet["id"].iloc[order].array,
                "cron": found.fleet["cron"].iloc[order].array,
                "breaks_at": frames.instants(alone[order], alone[order] == _NEVER),
            }
        ),
        refused=found.refused,
        _rule=str(rule),
    )


def _count(name: str, given: int | None) -> int | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        raise TypeError(f"{name} is {given!r}, but it must be an int, 0 or more, or None")
    if given < 0:
        raise ValueError(
            f"{name} is {given}, which even an outage of no length breaks: give 0 or more, or None"
        )
    return int(given)


class _Rule(NamedTuple):
    """What must hold at the restart; None where anything may be."""

    expired: int | None
    messages: int | None

    def __str__(self) -> str:
        told = []
        if self.expired is not None:
            told.append(f"at most {counted(self.expired, 'promise')} born expired")
        if self.messages is not None:
            told.append(f"at most {counted(self.messages, 'execute message')}")
        return " and ".join(told)


class _Broken(NamedTuple):
    """What breaks a rule first."""

    at: int
    by: str
    row: int
    tick: int


class _Events(NamedTuple):
    """What changes when, as columns; instants in ms."""

    at: Ints
    row: Rows
    tick: Ints
    expired: Ints  # by so much the number of promises born expired changes
    messages: Ints

    def first_broken(self, rule: _Rule, until: int) -> _Broken | None:
        """Return what breaks a rule first, up to an instant."""
        order = np.argsort(self.at, kind="stable")
        events = _Events(*(column[order] for column in self))
        last = np.append(events.at[1:] != events.at[:-1], True)[: len(order)]
        last &= events.at <= until
        found = []
        for by, most in zip(("expired", "messages"), rule, strict=True):
            if most is None:
                continue
            change: Ints = getattr(events, by)
            over = np.flatnonzero(last & (np.cumsum(change) > most))
            if len(over):
                # Of the changes of that instant the last one that adds.
                added = np.flatnonzero(change[: over[0] + 1] > 0)[-1]
                found.append(
                    _Broken(
                        int(events.at[over[0]]), by, int(events.row[added]), int(events.tick[added])
                    )
                )
        return min(found, default=None)


class _World(NamedTuple):
    """The schedules of a fleet when a server stops."""

    fleet: pd.DataFrame
    expressions: Sequence[CronExpression]
    timeout: Ints
    target: Bools
    start: int

    def first_broken(self, rule: _Rule, limit: int) -> _Broken | None:
        """Return what breaks a rule first, up to an instant."""
        reach = _FIRST_REACH
        plain = ids_differ(self.fleet)
        while True:
            until = min(limit, self.start + reach)
            events = self._events(rule, until, plain)
            broken = events.first_broken(rule, until)
            if broken is not None or until == limit:
                return broken
            reach *= 2

    def alone(self, rule: _Rule, limit: int) -> Ints:
        """Return from which instant each schedule alone breaks a rule, `_NEVER` if beyond."""
        columns = (self.timeout, self.target, self.fleet["promise_id"], self.fleet["id"])
        parts = zip(self.expressions, *(column.tolist() for column in columns), strict=True)
        known: dict[tuple[CronExpression, int, bool, bool], int] = {}
        found = []
        for row, (expression, timeout, target, template, name) in enumerate(parts):
            repeats = "{{.timestamp}}" in template.replace("{{.id}}", name)
            key = (expression, timeout, target, repeats)
            if key not in known:
                one = self.fleet.iloc[[row]]
                world = _World(
                    one, [expression], self.timeout[[row]], self.target[[row]], self.start
                )
                known[key] = world.breaks_at(rule, limit)
            found.append(known[key])
        return np.array(found, dtype=np.int64)

    def breaks_at(self, rule: _Rule, limit: int) -> int:
        """Return from which instant a rule is broken, `_NEVER` if that is not seen."""
        try:
            broken = self.first_broken(rule, limit)
        except WindowError:  # more ticks than may be looked at, and none that breaks it
            return _NEVER
        return _NEVER if broken is None else broken.at

    def _events(self, rule: _Rule, until: int, plain: bool) -> _Events:
        """Return what changes up to an instant."""
        # Where messages may be any number, a tick counts when it has timed out, not before.
        ends = np.full(len(self.expressions), until)
        if rule.messages is None and plain:
            ends = np.maximum(until - self.timeout, self.start)
        windows = list(zip(self.expressions, ends.tolist(), strict=True))
        counts = {w: w[0].count_ms(self.start + 1, w[1]) for w in set(windows) if w[1] > self.start}
        total = sum(counts.get(window, 0) for window in windows)
        if total > MAX_TICKS:
            raise too_many(f"{total:,}")
        arrays = [
            e.between_ms(self.start + 1, end) if counts.get((e, end)) else NONE
            for e, end in windows
        ]
        row = np.repeat(np.arange(len(arrays)), [len(ticks) for ticks in arrays])
        tick = np.concatenate([NONE, *arrays])
        if plain:
            gone = np.full(len(tick), _NEVER)
        else:
            row, tick, gone = self._owned(row, tick)
        dead = np.minimum(tick + self.timeout[row], gone)
        target = self.target[row].astype(np.int64)
        dies = dead < gone
        leaves = (gone < _NEVER) & dies
        none = np.zeros(len(tick), dtype=np.int64)
        parts = [
            _Events(tick, row, tick, none, target),
            _Events(dead, row, tick, dies.astype(np.int64), -target),
        ]
        if leaves.any():
            parts.append(
                _Events(gone[leaves], row[leaves], tick[leaves], none[leaves] - 1, none[leaves])
            )
        return _Events(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _owned(self, row: Rows, tick: Ints) -> tuple[Rows, Ints, Ints]:
        """Return the ticks that ever create a promise, and when another takes its id instead."""
        # Of equal ids the first in the order of firing creates the promise. That order is by
        # first tick and id, so a longer outage can bring one that comes before.
        ids = self.fleet["id"].tolist()
        firsts = np.full(len(ids), _NEVER)
        np.minimum.at(firsts, row, tick)
        place = np.empty(len(ids), dtype=np.int64)
        place[sorted(range(len(ids)), key=lambda at: (firsts[at], ids[at]))] = np.arange(len(ids))
        order = np.lexsort((place[row], tick))
        row, tick = row[order], tick[order]
        gone = np.full(len(tick), _NEVER)
        owner: dict[str, int] = {}
        kept = []
        for at, id in enumerate(promise_ids(self.fleet, row, tick).tolist()):
            before = owner.get(id)
            if before is not None:
                if place[row[before]] <= place[row[at]]:
                    continue
                gone[before] = tick[at]
            owner[id] = at
            kept.append(at)
        return row[kept], tick[kept], gone[kept]
