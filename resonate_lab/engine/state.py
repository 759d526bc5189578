"""The state: what the engine stores, and the one way to change it.

Rows are immutable and replaced, so a table copied is a state kept, and tasks in like
condition share one row. A task stands in the row of its promise, whose id it has. Every
change goes through a method of `State`, which notes what it replaced (a transaction that
fails is undone to the last row) and arms what the new row asks for (timers follow states
by construction).

To read is free: the tables are plain dicts in order of insertion. Rows are named tuples,
so ``zip(*state.promises.values())`` turns a table into columns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

from resonate_lab.engine.agenda import Agenda, Due
from resonate_lab.engine.index import Index
from resonate_lab.engine.outbox import Outbox
from resonate_lab.engine.rows import Execute, Firing, PromiseRow, ScheduleRow, TaskRow
from resonate_lab.protocol.profile import Profile
from resonate_lab.protocol.records import PENDING, TARGET_TAG, Step, Ticks, is_timer

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

Key = TypeVar("Key", bound=Hashable)
Row = TypeVar("Row")

_Instants: TypeAlias = tuple[int | None, int | None, int | None, int | None]

_ABSENT: Final = object()
_OF_PROMISE: Final = (Due.PROMISE_TIMEOUT, Due.LEASE_EXPIRY, Due.RETRY, Due.REPEAT)
_NO_INSTANTS: Final[_Instants] = (None, None, None, None)
_TABLES: Final = ("promises", "schedules", "callbacks", "awaits", "listeners", "unblocks")


class _Many(NamedTuple):
    """The keys of many rows of one table."""

    keys: Sequence[str]


class State:
    """The tables, their agenda, and the trace.

    Attributes
    ----------
    profile : Profile
    promises : dict of str to PromiseRow
        each with its task
    created : list of str
        the ids of the promises in the order of creation, which is that of `promises`
    schedules : dict of str to ScheduleRow
    callbacks : dict of str to frozenset of str
        by the id of a pending promise, the ids of those that wait for it; never empty
    awaits : dict of str to frozenset of str
        the same read the other way: by the id of one that waits, what it waits for
    listeners : dict of str to frozenset of str
        by the id of a pending promise, the addresses to tell; never empty
    unblocks : dict of (str, str) to PromiseRow
        the unblock messages in the outbox: by promise id and address, the promise as it
        was settled. The execute messages stand in the task rows, see `executes`.
    outbox : Outbox
        the messages by address, for those who deliver them
    agenda : Agenda
    polled_at : int
        when the server's own loop last ran, ms since the Unix epoch, UTC; it is the same
        loop from then on, so the next run lies a whole number of polls later
    polling : bool
        whether that loop runs; ``debug.start`` may stop it
    trace : deque of Step
        the last ``TRACE_LIMIT`` steps, oldest first
    steps : int
        steps ever taken; what the trace lacks has made room
    ranks : int
        the highest rank by creation that a schedule was given
    load : int
        ticks that the transaction under way has fired, weighed by the length of their ids
    repeats : int
        retries in it that queued again what was queued
    """

    def __init__(self, profile: Profile, now: int = 0) -> None:
        self.profile = profile
        self.promises: dict[str, PromiseRow] = {}
        self.created: list[str] = []
        self.schedules: dict[str, ScheduleRow] = {}
        self.callbacks: dict[str, frozenset[str]] = {}
        self.awaits: dict[str, frozenset[str]] = {}
        self.listeners: dict[str, frozenset[str]] = {}
        self.unblocks: dict[tuple[str, str], PromiseRow] = {}
        self.outbox = Outbox(self.promises, self.unblocks)
        self.agenda = Agenda(self.due_at)
        self.polled_at = now
        self.polling = True
        self.trace: deque[Step] = deque(maxlen=TRACE_LIMIT)
        self.steps = 0
        self.load = self.repeats = 0
        self._index = Index(self.promises, self.created)
        self._schedule_ids: list[str] | None = None
        self.ranks = 0
        self._last_task = TaskRow(PENDING)
        # A table, a key (or many new ones), and the row that stood there.
        self._undo: list[tuple[dict[Any, Any], Any, Any]] = []
        self._taken: list[Step] = []

    def fork(self) -> State:
        """Return an independent copy; the rows are shared, for they never change. O(n)."""
        twin = State(self.profile, self.polled_at)
        for name in _TABLES:
            getattr(twin, name).update(getattr(self, name))
        twin.created += self.created
        twin.trace += self.trace
        twin.polling, twin.steps, twin.ranks = self.polling, self.steps, self.ranks
        twin.agenda.take_over(self.agenda)
        return twin

    # --- transactions --------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[list[Step]]:
        """Make all changes within stand, or, on any exception, none of them.

        Yields
        ------
        list of Step
            the steps taken so far; they enter the trace at the end
        """
        self._undo, self._taken = [], []
        self.load = self.repeats = 0
        known, polled_at, polling = len(self.created), self.polled_at, self.polling
        try:
            yield self._taken
        except BaseException:
            self._roll_back()
            del self.created[known:]
            self.polled_at, self.polling = polled_at, polling
            raise
        self.trace.extend(self._taken)
        self.steps += len(self._taken)
        self._undo = []

    def _roll_back(self) -> None:
        while self._undo:
            table, key, row = self._undo[-1]
            if isinstance(key, _Many):
                if row is _ABSENT:
                    for id in key.keys:
                        table.pop(id, None)
                else:
                    table.update(zip(key.keys, row, strict=True))
            elif row is _ABSENT:
                table.pop(key, None)
            else:
                table[key] = row
            self._undo.pop()
        self._forget_orders()
        self.rebuild_agenda()

    def rebuild_agenda(self) -> None:
        """Arm what the records ask for, and nothing else. O(n)."""
        self.agenda.clear()
        for due, entries in self.deadlines().items():
            self.agenda.arm_each(due, [at for at, _ in entries], [id for _, id in entries])

    def log(
        self, at: int, step: str, subject: str, effect: str, ticks: Ticks | None = None
    ) -> None:
        """Note a step; it enters the trace with its transaction."""
        self._taken.append(Step(at, step, subject, effect, ticks))

    # --- promises and tasks --------------------------------------------------------------

    def put_promise(self, row: PromiseRow) -> None:
        """Store a promise with its task, new or changed."""
        before = self.promises.get(row.id)
        self._put(self.promises, row.id, row)
        self.outbox.note(before, row)
        if before is None:
            self.created.append(row.id)
        named, names = self._instants(before), self._instants(row)
        if named != names:
            for due in _OF_PROMISE:
                self._rearm(due, row.id, named[due], names[due])

    def put_task(self, id: str, task: TaskRow) -> None:
        """Store a task with its promise, which exists."""
        self.put_promise(self.promises[id]._replace(task=self.shared(task)))

    def shared(self, task: TaskRow) -> TaskRow:
        """Return a task, or the last one asked for if it is in the same condition.

        Tasks in like condition come one after the other; so they share the row.
        """
        if task != self._last_task:
            self._last_task = task
        return self._last_task

    def add_promises(
        self, ids: Sequence[str], rows: Sequence[PromiseRow], timeouts: Sequence[int]
    ) -> None:
        """Store many new promises in like condition, none of whose ids is stored yet.

        If the first and the last share their task row, all do. Equal to `put_promise` for
        each, at a fraction of its time.

        Parameters
        ----------
        ids : sequence of str
        rows : sequence of PromiseRow
        timeouts : sequence of int
            their deadlines, ms since the Unix epoch, UTC; ids and deadlines are at hand
            where rows are made, and to gather them again from a million rows takes time
        """
        if not ids:
            return
        self._undo.append((self.promises, _Many(ids), _ABSENT))
        self.promises.update(zip(ids, rows, strict=True))
        self.created += ids
        self.outbox.note_each(rows)
        first, last = self._instants(rows[0]), rows[-1]
        if first[Due.PROMISE_TIMEOUT] is not None:
            self.agenda.arm_each(Due.PROMISE_TIMEOUT, timeouts, ids)
        for due in (Due.RETRY, Due.REPEAT):
            if rows[0].task is not last.task:
                named = ((self._instants(row)[due], row.id) for row in rows)
                armed = [(at, id) for at, id in named if at is not None]
                self.agenda.arm_each(due, [at for at, _ in armed], [id for _, id in armed])
            elif (at := first[due]) is not None:
                self.agenda.arm_together(due, at, ids)

    def postpone(self, ids: Sequence[str], retry_at: int) -> None:
        """Move the next retry of pending tasks whose message is still queued.

        Equal to `put_task` for each, at a fraction of its time.
        """
        self.repeats += len(ids)
        before = [self.promises[id] for id in ids]
        moved: dict[int, TaskRow] = {}
        after = []
        for row in before:
            old = cast(TaskRow, row.task)
            task = moved.get(id(old))
            if task is None:
                task = moved[id(old)] = old._replace(retry_at=retry_at)
            after.append(tuple.__new__(PromiseRow, (*row[:-1], task)))
        self._undo.append((self.promises, _Many(ids), before))
        self.promises.update(zip(ids, after, strict=True))
        self.agenda.disarm(Due.REPEAT, len(ids))
        self.agenda.arm_together(Due.REPEAT, retry_at, ids)

    # --- obligations: what a promise owes when it settles --------------------------------

    def add_callback(self, awaited: str, awaiter: str) -> None:
        """Let one promise wake the task of another when it settles."""
        self._enter(self.callbacks, awaited, awaiter)
        self._enter(self.awaits, awaiter, awaited)

    def add_listener(self, awaited: str, address: str) -> None:
        """Let a promise tell an address when it settles."""
        self._enter(self.listeners, awaited, address)

    def drop_awaits(self, awaiter: str) -> None:
        """Let a promise wait for nothing any more."""
        for awaited in self._drop(self.awaits, awaiter):
            self._leave(self.callbacks, awaited, awaiter)

    def take_callbacks(self, awaited: str) -> list[str]:
        """Take out the callbacks of a promise; return the ids of those that wait, ascending."""
        found = sorted(self._drop(self.callbacks, awaited))
        for awaiter in found:
            self._leave(self.awaits, awaiter, awaited)
        return found

    def take_listeners(self, awaited: str) -> list[str]:
        """Take out the listeners of a promise; return their addresses, ascending."""
        return sorted(self._drop(self.listeners, awaited))

    def put_unblock(self, row: PromiseRow, address: str) -> None:
        """Put an unblock message into the outbox."""
        if (row.id, address) not in self.unblocks:
            self.outbox.note_notice(row.id, address, row)
        self._put(self.unblocks, (row.id, address), row)

    def drop_unblock(self, id: str, address: str) -> PromiseRow:
        """Take an unblock message out of the outbox; return the promise that it shows."""
        row = self.unblocks.pop((id, address))
        self._undo.append((self.unblocks, (id, address), row))
        return row

    def _enter(self, table: dict[str, frozenset[str]], id: str, other: str) -> None:
        others = table.get(id, frozenset())
        if other not in others:
            self._put(table, id, others | {other})

    def _leave(self, table: dict[str, frozenset[str]], id: str, other: str) -> None:
        others = table[id] - {other}
        if others:
            self._put(table, id, others)
        else:
            self._drop(table, id)

    def _drop(self, table: dict[str, frozenset[str]], id: str) -> frozenset[str]:
        others = table.get(id)
        if others is None:
            return frozenset()
        self._undo.append((table, id, others))
        del table[id]
        return others

    # --- schedules -----------------------------------------------------------------------

    def put_schedule(self, row: ScheduleRow) -> None:
        """Store a schedule, new or changed."""
        before = self.schedules.get(row.id)
        self._put(self.schedules, row.id, row)
        if before is None:
            self._schedule_ids = None
        self._rearm(Due.SCHEDULE_FIRING, row.id, before and before.next_run_at, row.next_run_at)

    def drop_schedule(self, id: str) -> None:
        """Take a schedule out, and its timer with it."""
        row = self.schedules[id]
        self._undo.append((self.schedules, id, row))
        self._schedule_ids = None
        del self.schedules[id]
        self._rearm(Due.SCHEDULE_FIRING, id, row.next_run_at, None)

    def next_rank(self) -> int:
        """Return a number above all that it returned before."""
        self.ranks += 1
        return self.ranks

    def clear(self) -> None:
        """Forget everything but the trace."""
        for name in _TABLES:
            getattr(self, name).clear()
        self.created.clear()
        self._forget_orders()
        self.agenda.clear()

    # --- reading -------------------------------------------------------------------------

    @property
    def tasks(self) -> dict[str, TaskRow]:
        """The tasks by the id of their promise. O(number of promises)."""
        return {row.id: row.task for row in self.promises.values() if row.task is not None}

    @property
    def executes(self) -> dict[str, Execute]:
        """The execute messages in the outbox by the id of their task. O(number of promises)."""
        return {
            row.id: Execute(row.task.queued, row.tags.get(TARGET_TAG, ""))
            for row in self.promises.values()
            if row.task is not None and row.task.queued is not None
        }

    def promise_ids(self) -> list[str]:
        """Return the ids of the promises in byte order."""
        return self._index.ids()

    def tagged_ids(self, name: str, text: str) -> list[str]:
        """Return the ids of the promises with a tag, in byte order."""
        return self._index.tagged(name, text)

    def schedule_ids(self) -> list[str]:
        """Return the ids of the schedules in byte order."""
        if self._schedule_ids is None:
            self._schedule_ids = sorted(self.schedules)
        return self._schedule_ids

    def due_at(self, due: Due, id: str) -> int | None:
        """Return when a record wants a step taken, or None. What the agenda indexes."""
        if due is Due.SCHEDULE_FIRING:
            schedule = self.schedules.get(id)
            return schedule and schedule.next_run_at
        return self._instants(self.promises.get(id))[due]

    def deadlines(self) -> dict[Due, list[tuple[int, str]]]:
        """Return all instants that the records name, by step. O(n)."""
        found: dict[Due, list[tuple[int, str]]] = {due: [] for due in Due}
        for id, row in self.promises.items():
            for due, at in zip(_OF_PROMISE, self._instants(row), strict=True):
                if at is not None:
                    found[due].append((at, id))
        for id, schedule in self.schedules.items():
            if schedule.next_run_at is not None:
                found[Due.SCHEDULE_FIRING].append((schedule.next_run_at, id))
        return found

    def times_out_at(self, row: PromiseRow) -> int | None:
        """Return when a promise times out by itself, or None."""
        return self._instants(row)[Due.PROMISE_TIMEOUT]

    def _instants(self, row: PromiseRow | None) -> _Instants:
        """Return what a promise with its task names for each step, in the order of `Due`."""
        if row is None:
            return _NO_INSTANTS
        task = row.task
        if task is None:
            timer = self.profile.timers_time_out and is_timer(row.tags)
            return row.timeout_at if timer and row.state == PENDING else None, None, None, None
        timeout_at = row.timeout_at if row.state == PENDING else None
        if task.queued == task.version:
            return timeout_at, task.expires_at, None, task.retry_at
        return timeout_at, task.expires_at, task.retry_at, None

    def _forget_orders(self) -> None:
        self._index.clear()
        self.outbox.close()
        self._schedule_ids = None

    def _put(self, table: dict[Key, Row], key: Key, row: Row) -> None:
        self._undo.append((table, key, table.get(key, _ABSENT)))
        table[key] = row

    def _rearm(self, due: Due, id: str, before: int | None, after: int | None) -> None:
        if before == after:
            return
        if before is not None:
            self.agenda.disarm(due)
        if after is not None:
            self.agenda.arm(due, after, id)
