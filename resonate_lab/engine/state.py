"""The state: what the engine stores, and the one way to change it.

Rows are immutable and replaced, so a table copied is a state kept, and tasks in like
condition share one row. A task stands in the row of its promise, whose id it has. Every
change goes through a
method of `State`, which notes what it replaced (a transaction that fails is undone to the
last row) and arms what the new row asks for (timers follow states by construction).

To read is free: the tables are plain dicts in order of insertion. Rows are named tuples,
so ``zip(*state.promises.values())`` turns a table into columns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final, Literal, NamedTuple, TypeVar

from resonate_lab.cron import CronExpression
from resonate_lab.engine.agenda import Agenda, Due
from resonate_lab.protocol.profile import Profile
from resonate_lab.protocol.records import (
    LINEAGE_TAGS,
    PENDING,
    SCHEDULE_TAG,
    TARGET_TAG,
    Promise,
    Schedule,
    Step,
    Task,
    Ticks,
    Value,
    is_timer,
)

__all__ = [
    "TRACE_LIMIT",
    "Execute",
    "Firing",
    "PromiseRow",
    "ScheduleRow",
    "State",
    "TaskRow",
]

#: Steps that the trace keeps; older ones make room.
TRACE_LIMIT: Final = 100_000


class Firing(NamedTuple):
    """The firing that created a promise; shared by all promises of one catch-up.

    Attributes
    ----------
    schedule_id : str
    at : int
        when it was processed, ms since the Unix epoch, UTC; the tick itself is the
        promise's deadline less the schedule's timeout
    adds_tags : bool
        whether it added the schedule and lineage tags
    """

    schedule_id: str
    at: int
    adds_tags: bool

    def tag(self, name: str, promise_id: str) -> str | None:
        """Return the tag of that name that it added, or None."""
        if not self.adds_tags:
            return None
        if name == SCHEDULE_TAG:
            return self.schedule_id
        return promise_id if name in LINEAGE_TAGS else None


class TaskRow(NamedTuple):
    """The condition of a task; shared by all tasks in the same.

    Attributes
    ----------
    state : str
    version : int
    resumes : frozenset of str
        awaited promises that settled
    ttl : int or None
        length of the lease in ms, while acquired
    pid : str or None
        its holder
    expires_at : int or None
        its end, ms since the Unix epoch, UTC
    retry_at : int or None
        the next dispatch while pending, ms since the Unix epoch, UTC
    queued : int or None
        version that the execute message in the outbox names; None if there is none. There
        is one message a task at most, and its address is the target of the promise.
    """

    state: str
    version: int = 0
    resumes: frozenset[str] = frozenset()
    ttl: int | None = None
    pid: str | None = None
    expires_at: int | None = None
    retry_at: int | None = None
    queued: int | None = None

    def record(self, id: str) -> Task:
        """Return the task of that id as the wire shows it."""
        return Task(id, self.state, self.version, len(self.resumes), self.ttl, self.pid)


class PromiseRow(NamedTuple):
    """A promise as stored, with its task.

    Attributes
    ----------
    id, state : str
    param, value : Value
        shared between rows; never written to
    tags : mapping of str to str
        of a fired promise: those of its schedule, one dict for all; `all_tags` adds
        what the firing added
    timeout_at, created_at : int
        instants, ms since the Unix epoch, UTC
    settled_at : int or None
        instant, ms since the Unix epoch, UTC; None while pending
    firing : Firing or None
        None for a promise that a client created
    task : TaskRow or None
        None exactly for a promise without a target
    """

    id: str
    state: str
    param: Value
    value: Value
    tags: Mapping[str, str]
    timeout_at: int
    created_at: int
    settled_at: int | None = None
    firing: Firing | None = None
    task: TaskRow | None = None

    def tag(self, name: str) -> str | None:
        """Return one tag, or None."""
        added = None if self.firing is None else self.firing.tag(name, self.id)
        return self.tags.get(name) if added is None else added

    def all_tags(self) -> dict[str, str]:
        """Return all tags, in a dict of their own."""
        tags = dict(self.tags)
        if self.firing is not None and self.firing.adds_tags:
            tags[SCHEDULE_TAG] = self.firing.schedule_id
            tags.update(dict.fromkeys(LINEAGE_TAGS, self.id))
        return tags

    def record(self) -> Promise:
        """Return the promise as the wire shows it."""
        return Promise(
            self.id,
            self.state,
            self.param,
            self.value,
            self.all_tags(),
            self.timeout_at,
            self.created_at,
            self.settled_at,
        )


class Execute(NamedTuple):
    """An execute message in the outbox."""

    version: int
    address: str


class ScheduleRow(NamedTuple):
    """A schedule as stored: the record, its rank by creation, its compiled expression."""

    id: str
    cron: str
    promise_id: str
    promise_timeout: int
    promise_param: Value
    promise_tags: Mapping[str, str]
    created_at: int
    next_run_at: int | None
    last_run_at: int | None
    rank: int
    expression: CronExpression

    def record(self) -> Schedule:
        """Return the schedule as the wire shows it."""
        return Schedule(*self[:5], dict(self.promise_tags), *self[6:9])


Row = TypeVar("Row")

_ABSENT: Final = object()


class State:
    """The tables, their agenda, and the trace.

    Attributes
    ----------
    profile : Profile
    promises : dict of str to PromiseRow
        each with its task
    schedules : dict of str to ScheduleRow
    agenda : Agenda
    trace : deque of Step
        the last ``TRACE_LIMIT`` steps, oldest first
    steps : int
        steps ever taken; what the trace lacks has made room
    load : int
        ticks that the transaction under way has fired, weighed by the length of their ids
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.promises: dict[str, PromiseRow] = {}
        self.schedules: dict[str, ScheduleRow] = {}
        self.agenda = Agenda(self.due_at)
        self.trace: deque[Step] = deque(maxlen=TRACE_LIMIT)
        self.steps = 0
        self.load = 0
        self._sorted: dict[str, list[str]] = {}
        self._ranks = 0
        self._last_task = TaskRow(PENDING)
        # A table, a key (or the keys of many new rows), and the row that stood there.
        self._undo: list[tuple[dict[str, Any], Any, Any]] = []
        self._taken: list[Step] = []

    # --- transactions --------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[list[Step]]:
        """Make all changes within stand, or, on any exception, none of them.

        Yields
        ------
        list of Step
            the steps taken so far; they enter the trace at the end
        """
        self._undo, self._taken, self.load = [], [], 0
        try:
            yield self._taken
        except BaseException:
            self._roll_back()
            raise
        self.trace.extend(self._taken)
        self.steps += len(self._taken)
        self._undo = []

    def _roll_back(self) -> None:
        while self._undo:
            table, key, row = self._undo[-1]
            if row is not _ABSENT:
                table[key] = row
            elif isinstance(key, str):
                table.pop(key, None)
            else:
                for id in key:
                    table.pop(id, None)
            self._undo.pop()
        self._sorted.clear()
        self.agenda.clear()
        for due, entries in self.deadlines().items():
            for at, id in entries:
                self.agenda.arm(due, at, id)

    def log(
        self, at: int, step: str, subject: str, effect: str, ticks: Ticks | None = None
    ) -> None:
        """Note a step; it enters the trace with its transaction."""
        self._taken.append(Step(at, step, subject, effect, ticks))

    # --- changes -------------------------------------------------------------------------

    def put_promise(self, row: PromiseRow) -> None:
        """Store a promise with its task, new or changed."""
        before = self.promises.get(row.id)
        self._put(self.promises, row.id, row)
        for due in _OF_PROMISE:
            self._rearm(due, row.id, self._named(due, before), self._named(due, row))

    def put_task(self, id: str, task: TaskRow) -> None:
        """Store a task with its promise, which exists."""
        # Tasks in like condition come one after the other: let them share the row.
        self._last_task = task = self._last_task if task == self._last_task else task
        self.put_promise(self.promises[id]._replace(task=task))

    def put_schedule(self, row: ScheduleRow) -> None:
        """Store a schedule, new or changed."""
        before = self.schedules.get(row.id)
        self._put(self.schedules, row.id, row)
        self._rearm(Due.SCHEDULE_FIRING, row.id, before and before.next_run_at, row.next_run_at)

    def drop_schedule(self, id: str) -> None:
        """Take a schedule out, and its timer with it."""
        row = self.schedules[id]
        self._undo.append((self.schedules, id, row))
        self._sorted.pop("schedules", None)
        del self.schedules[id]
        self._rearm(Due.SCHEDULE_FIRING, id, row.next_run_at, None)

    def add_promises(self, rows: Sequence[PromiseRow]) -> None:
        """Store many new promises in like condition, none of whose ids is stored yet.

        Equal to `put_promise` for each, at a fraction of its time.
        """
        if not rows:
            return
        ids = [row.id for row in rows]
        self._undo.append((self.promises, ids, _ABSENT))
        self.promises.update(zip(ids, rows, strict=True))
        if self._named(Due.PROMISE_TIMEOUT, rows[0]) is not None:
            self.agenda.arm_each(Due.PROMISE_TIMEOUT, [row.timeout_at for row in rows], ids)
        retry_at = self._named(Due.RETRY, rows[0])
        if retry_at is not None:
            self.agenda.arm_together(Due.RETRY, retry_at, ids)

    def clear(self) -> None:
        """Forget everything but the trace."""
        for table in (self.promises, self.schedules):
            table.clear()
        self._sorted.clear()
        self.agenda.clear()

    def next_rank(self) -> int:
        """Return a number above all that it returned before."""
        self._ranks += 1
        return self._ranks

    # --- reading -------------------------------------------------------------------------

    @property
    def tasks(self) -> dict[str, TaskRow]:
        """The tasks by the id of their promise. O(number of promises)."""
        return {row.id: row.task for row in self.promises.values() if row.task is not None}

    @property
    def executes(self) -> dict[str, Execute]:
        """The execute messages in the outbox by the id of their task. O(number of promises)."""
        return {
            row.id: Execute(row.task.queued, row.tags[TARGET_TAG])
            for row in self.promises.values()
            if row.task is not None and row.task.queued is not None
        }

    def sorted_ids(self, table: Literal["promises", "schedules"]) -> list[str]:
        """Return the ids of a table in byte order.

        Sorted once; ids that came since are merged in. The order of code points, which
        Python compares by, is that of the bytes of UTF-8.
        """
        rows: dict[str, object] = getattr(self, table)
        ids = self._sorted.setdefault(table, [])
        if len(ids) < len(rows):
            ids.extend(islice(rows, len(ids), None))
            ids.sort()
        return ids

    def due_at(self, due: Due, id: str) -> int | None:
        """Return when a record wants a step taken, or None. What the agenda indexes."""
        if due is Due.SCHEDULE_FIRING:
            schedule = self.schedules.get(id)
            return schedule and schedule.next_run_at
        return self._named(due, self.promises.get(id))

    def deadlines(self) -> dict[Due, list[tuple[int, str]]]:
        """Return all instants that the records name, by step. O(n)."""
        found: dict[Due, list[tuple[int, str]]] = {}
        for due in Due:
            table = self.schedules if due is Due.SCHEDULE_FIRING else self.promises
            named = ((self.due_at(due, id), id) for id in table)
            found[due] = [(at, id) for at, id in named if at is not None]
        return found

    def times_out_at(self, row: PromiseRow) -> int | None:
        """Return when a promise times out by itself, or None."""
        return self._named(Due.PROMISE_TIMEOUT, row)

    def _named(self, due: Due, row: PromiseRow | None) -> int | None:
        """Return the instant that a promise or its task names for a step, or None."""
        if row is None:
            return None
        if due is not Due.PROMISE_TIMEOUT:
            return row.task and (row.task.retry_at if due is Due.RETRY else row.task.expires_at)
        if row.state != PENDING:
            return None
        timer = self.profile.timers_time_out and is_timer(row.tags)
        return row.timeout_at if timer or TARGET_TAG in row.tags else None

    def _put(self, table: dict[str, Row], id: str, row: Row) -> None:
        self._undo.append((table, id, table.get(id, _ABSENT)))
        table[id] = row

    def _rearm(self, due: Due, id: str, before: int | None, after: int | None) -> None:
        if before == after:
            return
        if before is not None:
            self.agenda.disarm(due)
        if after is not None:
            self.agenda.arm(due, after, id)


_OF_PROMISE: Final = (Due.PROMISE_TIMEOUT, Due.LEASE_EXPIRY, Due.RETRY)
