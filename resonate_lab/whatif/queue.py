"""Workers after an outage: when their queue is empty again, and what times out meanwhile.

One discrete-event run over the execute messages, first sent first taken. A message that is
taken before its promise times out keeps a worker for a run time; one that is not leaves the
queue when its promise times out, and costs no worker anything. In that order each message
needs to be looked at once, with the workers in a heap by the instant at which they are free.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from heapq import heapreplace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np
import pandas as pd

from resonate_lab import _html
from resonate_lab.errors import DurationError, FleetError
from resonate_lab.instants import (
    EPOCH_END_MS,
    datetime_index,
    duration_ms,
    format_duration,
    format_instant,
    instant_ms,
)
from resonate_lab.whatif.answer import Answer, Table, counted
from resonate_lab.whatif.catchup import Bools, Ints, Rows
from resonate_lab.whatif.collisions import run_times
from resonate_lab.whatif.polls import Downtime

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from resonate_lab.instants import Duration

__all__ = [
    "MAX_MESSAGES",
    "QUEUE_MS",
    "LogNormal",
    "Messages",
    "Queue",
    "RunTimes",
    "checked_workers",
    "serve",
]

QUEUE_MS = 31 * 86_400_000
"""How long after the last restart a queue is followed, ms."""

MAX_MESSAGES = 2_000_000
"""Most messages that a queue is followed for; some seconds."""

_NAT = np.iinfo(np.int64).min  # what numpy stores for NaT
_POINTS = 999  # spans that the curves are thinned to, with two points in each


@dataclass(frozen=True)
class LogNormal:
    """Run times that are drawn: half are below the median, and few are very long.

    Parameters
    ----------
    median : duration
    sigma : float
        standard deviation of the logarithm; 0 makes all alike, 1 lets one run in six take
        more than e times the median

    Raises
    ------
    DurationError
        the median is not positive, or sigma is negative or no finite number
    TypeError
        one is of another type

    Examples
    --------
    >>> LogNormal(median="30s", sigma=0.5).median
    30000
    """

    median: Duration = field(kw_only=True)
    sigma: float = field(kw_only=True)

    def __post_init__(self) -> None:
        """Refuse what is no such distribution, and keep the median in ms."""
        median = duration_ms(self.median, "median of LogNormal")
        if not 0 < median < EPOCH_END_MS:
            raise DurationError(
                f"median of LogNormal is {self.median!r}, but it must be positive and shorter than "
                "the calendar: write it as '30s'"
            )
        if isinstance(self.sigma, bool) or not isinstance(self.sigma, int | float):
            raise TypeError(f"sigma of LogNormal is {self.sigma!r}, but it must be a number")
        if not 0 <= self.sigma <= 10:
            raise DurationError(
                f"sigma of LogNormal is {self.sigma!r}, but it must be from 0 to 10: write 0.5, say"
            )
        object.__setattr__(self, "median", median)

    @property
    def median_ms(self) -> int:
        """The median in ms."""
        return cast("int", self.median)

    def __str__(self) -> str:
        return f"about {format_duration(self.median_ms)} (lognormal, sigma {self.sigma:g})"


@dataclass(frozen=True, eq=False, repr=False)
class Queue(Answer):
    """What the workers do after an outage; part of what `what_if` answers.

    Attributes
    ----------
    workers : int
        how many there are
    run_time : str
        how long they take, in words
    empty_at : Timestamp
        The first instant, at or after the last restart, at which all messages of the
        catch-up are sent and nothing waits any more; NaT if that is not seen, see `reason`.
    reason : str
        why the queue is not seen empty; "" where it is
    waiting, busy : Series
        int64 on UTC instants, ascending: how many messages wait, and how many workers are
        at work, from each instant on until the next; from the first restart to `empty_at`.
        Beyond two thousand changes they are thinned, so that each peak stays.
    messages : int
        how many were sent until then
    timed_out_waiting : int
        messages whose promise timed out before a worker took them
    timed_out_running : int
        those whose promise timed out at work, which keeps the worker until its end
    max_wait : Timedelta
        the longest that a message waited, to be taken or to time out
    offered : float
        workers that are busy on average with what falls due in time after the restart
    """

    workers: int
    run_time: str
    empty_at: pd.Timestamp
    reason: str
    waiting: pd.Series
    busy: pd.Series
    messages: int
    timed_out_waiting: int
    timed_out_running: int
    max_wait: pd.Timedelta
    offered: float
    _up: int

    _title: ClassVar[str] = "When have the workers caught up?"

    def plot(self, *, ax: Axes | None = None, **kwargs: Any) -> Axes:
        """Draw how many wait and how many work; see `plots.backlog`."""
        from resonate_lab import plots

        return plots.backlog(
            waiting=self.waiting,
            busy=self.busy,
            empty_at=None if self.reason else self.empty_at,
            ax=ax,
            **kwargs,
        )

    def headline(self) -> str:
        """Return the answer in one sentence."""
        if self.reason:
            end = f"the queue is not seen empty: {self.reason}"
        else:
            at = instant_ms(self.empty_at)
            after = format_duration(at - self._up)
            end = f"the queue is empty at {format_instant(at)}, {after} after the restart"
        return (
            f"{self.workers:,} worker{'s' * (self.workers != 1)}, each run {self.run_time}: {end}; "
            f"of {counted(self.messages, 'message')} {self.timed_out_waiting:,} time out waiting "
            f"and {self.timed_out_running:,} at work"
        )

    def __repr__(self) -> str:
        return f"<Queue: {self.headline()}>"

    def _figures(self) -> list[tuple[str, str]]:
        most = int(self.waiting.max()) if len(self.waiting) else 0
        return [
            (f"{self.messages:,}", "messages"),
            (f"{most:,}", "most waiting at once"),
            (format_duration(self.max_wait // pd.Timedelta(1, "ms")), "longest wait"),
            (f"{self.timed_out_waiting:,}", "timed out waiting"),
            (f"{self.timed_out_running:,}", "timed out at work"),
            (f"{self.offered:,.1f} of {self.workers:,}", "busy with what falls due in time"),
        ]

    def _main(self) -> pd.DataFrame:
        curves = pd.concat([self.waiting, self.busy], axis="columns", sort=True)
        return curves.ffill().fillna(0).astype(np.int64).rename_axis("at").reset_index()

    def _tables(self) -> list[Table]:
        figures = pd.DataFrame(self._figures(), columns=["figure", "of"])
        return [Table("The queue in numbers", figures, {"of": "", "figure": "figure"}, {"of"})]

    def _repr_html_(self) -> str:
        rows = [(words, figure) for figure, words in self._figures()]
        return _html.table(rows, ["queue", ""], caption=self.headline())


class RunTimes(NamedTuple):
    """How long runs take: of a schedule's row, or drawn."""

    rows: Ints | None  # ms, one a row of the fleet
    drawn: LogNormal | None
    seed: int
    words: str

    @classmethod
    def of(
        cls, given: Duration | LogNormal, fleet: pd.DataFrame, seed: int
    ) -> tuple[RunTimes, list[str]]:
        """Return the run times that were asked for, and what is wrong with each row's.

        Raises
        ------
        DurationError, TypeError
            it is no run time
        FleetError
            it is a text that is neither a duration nor a column of the fleet
        """
        none = [""] * len(fleet)
        if isinstance(given, LogNormal):
            return cls(None, given, seed, str(given)), none
        if isinstance(given, str) and given in fleet:
            lengths, reasons = run_times(fleet.assign(run_time=fleet[given]), None)
            told = [why.replace("run_time", given, 1) for why in reasons]
            return cls(lengths, None, seed, f"as column {given!r} says"), told
        if isinstance(given, float):
            raise TypeError(
                f"run_time is {given!r}, but it must be an int (ms), a text such as '15 min', a "
                "LogNormal, or the name of a column"
            )
        try:
            ms = duration_ms(given, "run_time")
        except DurationError as error:
            if not isinstance(given, str):
                raise
            columns = ", ".join(map(repr, list(fleet)[:12]))
            raise FleetError(
                f"run_time is {given[:60]!r}, which is neither a duration such as '15 min' nor a "
                f"column of the fleet, which has {columns}"
            ) from error
        if not 0 <= ms < EPOCH_END_MS:
            raise DurationError(
                f"run_time is {given!r}, but it must be from 0 to the 131 years of the calendar: "
                "write it as '15 min'"
            )
        return cls(np.full(len(fleet), ms, dtype=np.int64), None, seed, format_duration(ms)), none

    def take(self, accepted: Rows) -> RunTimes:
        """Return the run times of some rows of the fleet."""
        return self if self.rows is None else self._replace(rows=self.rows[accepted])

    def lengths(self, schedule: Rows) -> Ints:
        """Return the run time of each message, ms, given its row of the fleet.

        The n-th message has the n-th draw, whatever comes after it.
        """
        if self.rows is not None:
            return self.rows[schedule]
        assert self.drawn is not None
        dice = np.random.Generator(np.random.PCG64(self.seed))
        median = math.log(self.drawn.median_ms)
        drawn = np.rint(dice.lognormal(median, self.drawn.sigma, len(schedule)))
        return np.minimum(drawn, EPOCH_END_MS).astype(np.int64)


class Messages(NamedTuple):
    """Execute messages, first sent first, as columns; instants in ms."""

    schedule: Rows
    sent: Ints
    timeout: Ints
    caught_up: Bools  # of a missed or late tick


class Served(NamedTuple):
    """A queue, and what became of the messages of each schedule."""

    queue: Queue
    timed_out_waiting: Ints  # one a row of the fleet
    timed_out_running: Ints


def serve(
    messages: Messages,
    runs: RunTimes,
    workers: int,
    down: Downtime,
    known_to: int,
    owes: bool,
    size: int,
) -> Served:
    """Return what workers do with the messages of an outage.

    Parameters
    ----------
    messages : Messages
        all that are sent from the first restart up to `known_to`, ms since the Unix epoch, UTC
    runs : RunTimes
    workers : int
    down : Downtime
        while the server is down no message is taken
    known_to : int
    owes : bool
        messages of the catch-up are sent after that
    size : int
        rows of the fleet
    """
    lengths = runs.lengths(messages.schedule)
    taken = _taken(messages, lengths, workers, down)
    late = taken < 0
    left = np.where(late, np.maximum(messages.sent, messages.timeout), taken)
    up, first = int(down.ups[-1]), int(down.ups[0])
    # What has to be gone: what was sent by the restart, and the whole catch-up.
    owed = np.flatnonzero(messages.caught_up | (messages.sent <= up))
    gone = np.maximum.accumulate(left)
    following = np.append(messages.sent, known_to + 1)[1:]
    clear = np.flatnonzero(following > gone)
    least = int(owed[-1]) if len(owed) else -1
    empty = clear[clear >= least]
    if least < 0 and not owes:
        count, end, seen = 0, up, True
    elif len(empty) and not owes:
        count = int(empty[0]) + 1
        end, seen = max(up, int(gone[count - 1]), int(messages.sent[count - 1])), True
    else:
        count, end, seen = len(left), known_to, False
    kept = slice(count)
    waits, runs_late = (
        late[kept],
        ~late[kept] & (messages.timeout[kept] <= taken[kept] + lengths[kept]),
    )
    ontime = ~messages.caught_up & (messages.sent > up)
    span = known_to - up
    offered = float(lengths[ontime].sum()) / span if span > 0 else 0.0
    reason = "" if seen else _reason(offered, workers, known_to - up)
    at_work = taken[kept][~waits]
    schedule = messages.schedule[kept]
    queue = Queue(
        workers=workers,
        run_time=runs.words,
        empty_at=datetime_index(np.array([end if seen else _NAT]))[0],
        reason=reason,
        waiting=_curve(messages.sent[kept], left[kept], first, end, "waiting"),
        busy=_curve(at_work, at_work + lengths[kept][~waits], first, end, "busy"),
        messages=count,
        timed_out_waiting=int(waits.sum()),
        timed_out_running=int(runs_late.sum()),
        max_wait=pd.Timedelta(int((left[kept] - messages.sent[kept]).max(initial=0)), "ms"),
        offered=offered,
        _up=up,
    )
    return Served(
        queue,
        np.bincount(schedule[waits], minlength=size).astype(np.int64),
        np.bincount(schedule[runs_late], minlength=size).astype(np.int64),
    )


def _reason(offered: float, workers: int, span: int) -> str:
    followed = f"within {format_duration(span)} after the restart"
    if offered >= workers:
        return (
            f"what falls due in time keeps {offered:,.1f} workers busy and there are {workers:,}, "
            f"so it does not drain {followed}"
        )
    return f"it does not drain {followed}, for which it is followed"


def _taken(messages: Messages, lengths: Ints, workers: int, down: Downtime) -> Ints:
    """Return when each message is taken by a worker, -1 where its promise times out first."""
    taken: list[int] = []
    free = [0] * min(workers, max(len(lengths), 1))
    starts, ups = down.starts.tolist(), down.ups.tolist()
    # Plain ints: numpy's own would take three times as long here.
    columns = (messages.sent.tolist(), messages.timeout.tolist(), lengths.tolist())
    for sent, timeout, length in zip(*columns, strict=True):
        at = free[0]
        if at < sent:
            at = sent
        if len(ups) > 1:
            last = bisect_right(starts, at - 1) - 1
            if at < ups[last]:
                at = ups[last]
        if at >= timeout:
            taken.append(-1)
        else:
            taken.append(at)
            heapreplace(free, at + length)
    return np.array(taken, dtype=np.int64)


def _curve(more: Ints, less: Ints, first: int, end: int, name: str) -> pd.Series:
    """Return how many there are from each instant on, thinned, in [first, end]."""
    at = np.concatenate([[first], more, less])
    change = np.repeat([0, 1, -1], [1, len(more), len(less)])
    order = np.argsort(at, kind="stable")
    at, level = at[order], np.cumsum(change[order])
    last = np.flatnonzero(np.diff(at, append=at[-1] + 1))
    at, level = at[last], level[last]
    inside = (first <= at) & (at <= end)
    at, level = at[inside], level[inside]
    if len(at) > 2 * _POINTS:
        span = (at - first) * _POINTS // (end - first + 1)
        ends = np.flatnonzero(np.diff(span, append=_POINTS))
        highest = np.lexsort((level, span))[ends]
        kept = np.union1d(np.append(ends, 0), highest)
        at, level = at[kept], level[kept]
    return pd.Series(level, index=datetime_index(at, name="at"), name=name, dtype=np.int64)


def checked_workers(workers: object) -> int:
    """Return a number of workers.

    Raises
    ------
    TypeError, ValueError
        it is none
    """
    if isinstance(workers, bool) or not isinstance(workers, int | np.integer):
        raise TypeError(f"workers is {workers!r}, but it must be an int, 1 or more")
    if workers < 1:
        raise ValueError(f"workers is {workers!r}, but nobody serves the queue: give 1 or more")
    return int(workers)
