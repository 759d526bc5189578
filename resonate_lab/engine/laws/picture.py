"""What the laws judge: a picture of the state at rest, and the move between two of them.

A picture is cheap: rows never change, so a copied table is a state kept. The tables that
the engine folds into others (tasks and messages lie in the row of their promise) are
unfolded when a law first asks for them, so a law can speak of a message without a task
although this engine could not store one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from resonate_lab.engine.internal import STEP_NAMES
from resonate_lab.engine.rows import Execute, PromiseRow, ScheduleRow, TaskRow
from resonate_lab.protocol.records import PENDING, SUSPENDED, TARGET_TAG, Promise

if TYPE_CHECKING:
    from resonate_lab.engine.state import State
    from resonate_lab.protocol.profile import Profile

__all__ = ["DELIVERY", "RUN", "Move", "Picture"]

#: Names of steps that no record of the trace bears: all that was due at one instant, and
#: the taking of messages out of the outbox.
RUN: Final = "run"
DELIVERY: Final = "delivery"
_INTERNAL: Final = frozenset({*STEP_NAMES.values(), RUN, "debug.tick"})


class Picture:
    """A state at rest, between two steps.

    Attributes
    ----------
    rules : Profile
    promises : dict of str to PromiseRow
        each with its task
    schedules : dict of str to ScheduleRow
    callbacks : dict of str to collection of str
        by promise, the ids of those that wait for it
    awaits : dict of str to collection of str
        the same read the other way
    listeners : dict of str to collection of str
        by promise, the addresses to tell
    unblocks : dict of (str, str) to PromiseRow
        the notices in the outbox, by promise id and address
    tasks : dict of str to TaskRow
    executes : dict of str to Execute
        the execute messages in the outbox, by the id of their task
    misarmed : frozenset of str
        ids for which the agenda holds other steps than the records ask for
    step : str
        what led here: a kind, the name of an internal step, or ``run`` for all that was
        due at one instant; empty if unknown
    """

    def __init__(
        self,
        rules: Profile,
        promises: Mapping[str, PromiseRow],
        schedules: Mapping[str, ScheduleRow],
        step: str = "",
    ) -> None:
        self.rules = rules
        self.promises = dict(promises)
        self.schedules = dict(schedules)
        self.callbacks: dict[str, Collection[str]] = {}
        self.awaits: dict[str, Collection[str]] = {}
        self.listeners: dict[str, Collection[str]] = {}
        self.unblocks: dict[tuple[str, str], PromiseRow] = {}
        self.misarmed: frozenset[str] = frozenset()
        self.step = step

    @classmethod
    def of(cls, state: State, step: str = "") -> Picture:
        """Return what a state holds now. O(number of records), a copy of the tables."""
        picture = cls(state.profile, state.promises, state.schedules, step)
        picture.callbacks.update(state.callbacks)
        picture.awaits.update(state.awaits)
        picture.listeners.update(state.listeners)
        picture.unblocks.update(state.unblocks)
        return picture

    @classmethod
    def with_agenda(cls, state: State) -> Picture:
        """Return what a state holds now, its agenda compared with its records."""
        picture = cls.of(state)
        picture.misarmed = frozenset(
            id
            for due, named in state.deadlines().items()
            for _, id in state.agenda.entries(due).symmetric_difference(named)
        )
        return picture

    @classmethod
    def of_snap(cls, rules: Profile, snap: Mapping[str, Any]) -> Picture:
        """Return what the data of a ``debug.snap`` response shows.

        That is no schedules, and of a task's resumes only how many there are.
        """
        timers = {(item["id"], item["type"]): item["timeout"] for item in snap["taskTimeouts"]}
        tasks = {
            item["id"]: TaskRow(
                item["state"],
                item["version"],
                frozenset(map(str, range(item["resumes"]))),
                item.get("ttl"),
                item.get("pid"),
                timers.get((item["id"], 1)),
                timers.get((item["id"], 0)),
            )
            for item in snap["tasks"]
        }
        rows = (_row(item)._replace(task=tasks.get(item["id"])) for item in snap["promises"])
        picture = cls(rules, {row.id: row for row in rows}, {})
        picture.tasks, picture.executes = tasks, {}
        for item in snap["callbacks"]:
            _enter(picture.callbacks, item["awaited"], item["awaiter"])
            _enter(picture.awaits, item["awaiter"], item["awaited"])
        for item in snap["listeners"]:
            _enter(picture.listeners, item["id"], item["address"])
        for item in snap["messages"]:
            address, data = item["address"], item["message"]["data"]
            if item["message"]["kind"] == "execute":
                task = data["task"]
                picture.executes[task["id"]] = Execute(task["version"], address)
            else:
                notice = _row(data["promise"])
                picture.unblocks[notice.id, address] = notice
        return picture

    @cached_property
    def tasks(self) -> dict[str, TaskRow]:
        """The tasks by the id of their promise."""
        return {id: row.task for id, row in self.promises.items() if row.task is not None}

    @cached_property
    def executes(self) -> dict[str, Execute]:
        """The execute messages in the outbox by the id of their task."""
        return {
            id: Execute(row.task.queued, row.tags.get(TARGET_TAG, ""))
            for id, row in self.promises.items()
            if row.task is not None and row.task.queued is not None
        }

    def is_live(self, now: int, id: str) -> bool:
        """Return whether a promise is pending and its deadline ahead; True if unknown."""
        row = self.promises.get(id)
        return row is None or (row.state == PENDING and row.timeout_at > now)


class Move:
    """A step: the picture before it and the one after it.

    Attributes
    ----------
    now : int
        the one clock reading of the step, ms since the Unix epoch, UTC
    before, after : Picture
        the same, for a law of a single state
    """

    def __init__(self, now: int, before: Picture, after: Picture) -> None:
        self.now = now
        self.before = before
        self.after = after

    @property
    def is_internal(self) -> bool:
        """Whether the server took the step by itself."""
        return self.after.step in _INTERNAL

    @cached_property
    def settled(self) -> frozenset[str]:
        """Ids of the promises that were pending and are settled."""
        after = self.after.promises
        return frozenset(
            id
            for id, row in self.before.promises.items()
            if row.state == PENDING and id in after and after[id].state != PENDING
        )

    @cached_property
    def new_executes(self) -> dict[str, Execute]:
        """The execute messages that were not queued before, by task."""
        before = self.before.executes
        return {id: new for id, new in self.after.executes.items() if before.get(id) != new}

    @cached_property
    def new_unblocks(self) -> dict[tuple[str, str], PromiseRow]:
        """The notices that were not queued before, by promise and address."""
        before = self.before.unblocks
        return {key: new for key, new in self.after.unblocks.items() if key not in before}

    def is_live(self, id: str) -> bool:
        """Return whether a promise is live after the step; True if there is none."""
        return self.after.is_live(self.now, id)

    def may_dispatch_dead(self, id: str) -> bool:
        """Return whether the profile dispatches a task here whose promise is overdue."""
        rules, p2 = self.after.rules, self.after.promises[id]
        if p2.state != PENDING:
            return False
        if id not in self.before.promises:
            return rules.expiry == "tick" and p2.firing is not None
        was_asleep = id in self.before.tasks and self.before.tasks[id].state == SUSPENDED
        return was_asleep and rules.overdue_awaiter != "skipped"


def _row(item: Mapping[str, Any]) -> PromiseRow:
    shown = Promise.from_wire(item)
    return PromiseRow(*(getattr(shown, field.name) for field in fields(Promise)))


def _enter(table: dict[str, Collection[str]], id: str, other: str) -> None:
    # A tuple: a snapshot that tells something twice shall be seen to.
    table[id] = (*table.get(id, ()), other)
