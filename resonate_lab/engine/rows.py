"""The rows of the state: immutable, replaced and never written to, shared where alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from resonate_lab.cron import CronExpression
from resonate_lab.protocol.records import (
    LINEAGE_TAGS,
    SCHEDULE_TAG,
    Promise,
    Schedule,
    Task,
    Value,
)

__all__ = ["Execute", "Firing", "PromiseRow", "ScheduleRow", "TaskRow"]


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
