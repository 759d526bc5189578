"""The laws of the state: named properties that hold whenever no transaction is under way.

The names are those of the specification's catalogue; a law takes the time and the state
and yields the ids of the records that break it. Laws that the tables cannot break are not
written down: ids and outbox keys are unique, an execute message names a task that exists
and goes to the target of its promise. Those that speak of callbacks, listeners and
transitions come with the kinds that make them matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from resonate_lab.engine.internal import verdict
from resonate_lab.engine.state import PromiseRow, ScheduleRow, State, TaskRow
from resonate_lab.protocol.records import (
    ACQUIRED,
    FULFILLED,
    HALTED,
    PENDING,
    REJECTED_TIMEDOUT,
    SUSPENDED,
    TARGET_TAG,
)

__all__ = ["LAWS", "Violation", "violations"]

Law: TypeAlias = Callable[[int, State], Iterator[str]]


class Violation(NamedTuple):
    """A law that is broken, and the id of a record that breaks it."""

    law: str
    subject: str


def violations(now: int, state: State) -> list[Violation]:
    """Return all broken laws at `now`, ms since the Unix epoch, UTC. O(size of the state)."""
    return [Violation(name, id) for name, law in LAWS.items() for id in law(now, state)]


# --- one promise, one task, one schedule: what must hold of each -------------------------

_PROMISES: Final[Mapping[str, Callable[[int, PromiseRow], bool]]] = {
    "created_at_lte_timeout_at": lambda now, p: p.created_at <= p.timeout_at,
    "pending_created_before_deadline": lambda now, p: (
        p.state != PENDING or p.created_at < p.timeout_at
    ),
    "settled_at_lte_timeout_at": lambda now, p: (
        p.settled_at is None or p.settled_at <= p.timeout_at
    ),
    "created_at_lte_settled_at": lambda now, p: (
        p.settled_at is None or p.created_at <= p.settled_at
    ),
    "settled_at_iff_not_pending": lambda now, p: (p.state != PENDING) == (p.settled_at is not None),
    "pending_has_no_value": lambda now, p: p.state != PENDING or not p.value,
    "deadline_verdict_matches_timer_tag": lambda now, p: (
        p.settled_at != p.timeout_at or p.state == verdict(p.tags)
    ),
    "deadline_settlement_has_no_value": lambda now, p: p.settled_at != p.timeout_at or not p.value,
    "timedout_is_server_owned": lambda now, p: (
        p.state != REJECTED_TIMEDOUT or p.settled_at == p.timeout_at
    ),
    "created_at_lte_now": lambda now, p: p.created_at <= now,
    "settled_at_lte_now": lambda now, p: p.settled_at is None or p.settled_at <= now,
}


def _is_cleared(t: TaskRow) -> bool:
    return t.pid is None and t.ttl is None and t.expires_at is None and t.retry_at is None


_TASKS: Final[Mapping[str, Callable[[TaskRow], bool]]] = {
    "acquired_iff_has_pid": lambda t: (t.state == ACQUIRED) == (t.pid is not None),
    "acquired_iff_has_ttl": lambda t: (t.state == ACQUIRED) == (t.ttl is not None),
    "acquired_iff_has_expires_at": lambda t: (t.state == ACQUIRED) == (t.expires_at is not None),
    "pending_iff_has_retry_at": lambda t: (t.state == PENDING) == (t.retry_at is not None),
    "fulfilled_is_cleared": lambda t: t.state != FULFILLED or (_is_cleared(t) and not t.resumes),
    "suspended_is_cleared": lambda t: t.state != SUSPENDED or _is_cleared(t),
    "halted_is_cleared": lambda t: t.state != HALTED or _is_cleared(t),
    "suspended_has_no_resumes": lambda t: t.state != SUSPENDED or not t.resumes,
    "acquired_version_positive": lambda t: t.state != ACQUIRED or t.version >= 1,
}

# A dormant schedule's next run lies at infinity, so it satisfies all that bound it below.
_SCHEDULES: Final[Mapping[str, Callable[[ScheduleRow], bool]]] = {
    "created_at_lte_next_run_at": lambda c: c.next_run_at is None or c.created_at <= c.next_run_at,
    "created_at_lte_last_run_at": lambda c: c.last_run_at is None or c.created_at <= c.last_run_at,
    "last_run_at_lt_next_run_at": lambda c: (
        c.last_run_at is None or c.next_run_at is None or c.last_run_at < c.next_run_at
    ),
}


def _of_promise(holds: Callable[[int, PromiseRow], bool]) -> Law:
    return lambda now, state: (id for id, row in state.promises.items() if not holds(now, row))


def _of_task(holds: Callable[[TaskRow], bool]) -> Law:
    return lambda now, state: (
        id for id, row in state.promises.items() if row.task is not None and not holds(row.task)
    )


def _of_schedule(holds: Callable[[ScheduleRow], bool]) -> Law:
    return lambda now, state: (id for id, row in state.schedules.items() if not holds(row))


# --- several records ---------------------------------------------------------------------


def _promise_ids_unique(now: int, state: State) -> Iterator[str]:
    return (id for id, row in state.promises.items() if row.id != id)


def _schedule_ids_unique(now: int, state: State) -> Iterator[str]:
    return (id for id, row in state.schedules.items() if row.id != id)


def _task_iff_targeted_promise(now: int, state: State) -> Iterator[str]:
    for id, row in state.promises.items():
        if (TARGET_TAG in row.tags) != (row.task is not None):
            yield id


def _settled_promise_has_fulfilled_task(now: int, state: State) -> Iterator[str]:
    for id, row in state.promises.items():
        if row.task is not None and row.task.state != FULFILLED and row.state != PENDING:
            yield id


def _settled_task_promise_settled(now: int, state: State) -> Iterator[str]:
    for id, row in state.promises.items():
        if row.task is not None and row.task.state == FULFILLED and row.state == PENDING:
            yield id


def _outbox_never_ahead(now: int, state: State) -> Iterator[str]:
    for id, row in state.promises.items():
        task = row.task
        if task is not None and task.queued is not None and task.queued > task.version:
            yield id


def _agenda_holds_every_deadline(now: int, state: State) -> Iterator[str]:
    """Yield ids that the agenda forgot; what it holds beyond the records is dead."""
    for due, entries in state.deadlines().items():
        yield from (id for _, id in set(entries) - state.agenda.entries(due))


#: The laws by name. `consistent_agenda_holds_every_deadline` is the engine's own.
LAWS: Final[Mapping[str, Law]] = {
    **{f"well_formed_promise_{name}": _of_promise(law) for name, law in _PROMISES.items()},
    **{f"well_formed_task_{name}": _of_task(law) for name, law in _TASKS.items()},
    **{f"well_formed_schedule_{name}": _of_schedule(law) for name, law in _SCHEDULES.items()},
    "well_formed_store_promise_ids_unique": _promise_ids_unique,
    "well_formed_store_schedule_ids_unique": _schedule_ids_unique,
    "consistent_task_iff_targeted_promise": _task_iff_targeted_promise,
    "consistent_settled_promise_has_fulfilled_task": _settled_promise_has_fulfilled_task,
    "consistent_settled_task_promise_settled": _settled_task_promise_settled,
    "consistent_outbox_never_ahead": _outbox_never_ahead,
    "consistent_agenda_holds_every_deadline": _agenda_holds_every_deadline,
}
