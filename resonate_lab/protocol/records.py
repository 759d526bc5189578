"""The records of the protocol: as they go over the wire, and as Python meets them.

Wire names are the Python names in camel case (``timeout_at`` is ``timeoutAt``), and
this module is the only one that turns one into the other. On the wire an absent member
is left out, never null: the official clients refuse null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import islice
from typing import Final, NamedTuple, Self, TypedDict, TypeVar

from resonate_lab._html import plain, table
from resonate_lab.instants import format_duration, format_instant

__all__ = [
    "ACQUIRED",
    "BRANCH_TAG",
    "DELAY_TAG",
    "EMPTY_VALUE",
    "FULFILLED",
    "HALTED",
    "LINEAGE_TAGS",
    "ORIGIN_TAG",
    "PENDING",
    "PREFIX_TAG",
    "PROMISE_STATES",
    "PROTOCOL_VERSION",
    "REJECTED_TIMEDOUT",
    "RESOLVED",
    "SCHEDULE_TAG",
    "SETTLEMENTS",
    "SUSPENDED",
    "TARGET_TAG",
    "TASK_STATES",
    "TIMER_TAG",
    "Promise",
    "Record",
    "Records",
    "Schedule",
    "Step",
    "Task",
    "Ticks",
    "Value",
    "is_timer",
    "wire_name",
]

PROTOCOL_VERSION: Final = "2026-04-01"

PENDING: Final = "pending"
RESOLVED: Final = "resolved"
REJECTED_TIMEDOUT: Final = "rejected_timedout"
#: A promise settles once, from the first of these to one of the others.
PROMISE_STATES: Final = (PENDING, RESOLVED, "rejected", "rejected_canceled", REJECTED_TIMEDOUT)
#: What a client may settle a promise to; the deadline is the server's alone.
SETTLEMENTS: Final = PROMISE_STATES[1:4]

ACQUIRED: Final = "acquired"
SUSPENDED: Final = "suspended"
HALTED: Final = "halted"
FULFILLED: Final = "fulfilled"
TASK_STATES: Final = (PENDING, ACQUIRED, SUSPENDED, HALTED, FULFILLED)

TARGET_TAG: Final = "resonate:target"
TIMER_TAG: Final = "resonate:timer"
DELAY_TAG: Final = "resonate:delay"
SCHEDULE_TAG: Final = "resonate:schedule"
ORIGIN_TAG: Final = "resonate:origin"
BRANCH_TAG: Final = "resonate:branch"
PREFIX_TAG: Final = "resonate:prefix"
#: The tags by which a fired promise names itself the root of its own call graph.
LINEAGE_TAGS: Final = (ORIGIN_TAG, BRANCH_TAG, "resonate:parent", PREFIX_TAG)


_TAGS = 12  # of a record on a page


class Value(TypedDict, total=False):
    """What a promise carries: ``headers`` and ``data``, each absent where empty."""

    headers: dict[str, str]
    data: str


#: Shared by all records without a value; nobody writes to it.
EMPTY_VALUE: Final = Value()


def is_timer(tags: Mapping[str, str]) -> bool:
    """Return whether a promise with these tags resolves at its deadline."""
    return tags.get(TIMER_TAG) == "true"


def wire_name(name: str) -> str:
    """Return the name of a field on the wire.

    Examples
    --------
    >>> wire_name("timeout_at"), wire_name("id")
    ('timeoutAt', 'id')
    """
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


class Record:
    """Base of the three records: to the wire, from the wire, and for a notebook."""

    __slots__ = ()

    def to_wire(self) -> dict[str, object]:
        """Return the record as the protocol shows it, sharing no dict with the record."""
        wire = {}
        for name, key in _NAMES[type(self)]:
            value = getattr(self, name)
            if value is not None:
                wire[key] = _copy(value) if type(value) is dict else value
        return wire

    @classmethod
    def from_wire(cls, data: Mapping[str, object]) -> Self:
        """Return the record that a response holds."""
        return cls(**{name: data[key] for name, key in _NAMES[cls] if key in data})

    def _shown(self) -> list[tuple[str, str]]:
        return [(name, _show(name, getattr(self, name))) for name, _ in _NAMES[type(self)]]

    def __repr__(self) -> str:
        """Return class, id and the fields that say something, instants written out."""
        (_, first), *rest = self._shown()
        shown = [f"{name}={text}" for name, text in rest if text not in ("", "{}")]
        return f"{type(self).__name__}({', '.join([repr(first), *shown])})"

    def _repr_html_(self) -> str:
        rows = [line for name, text in self._shown() for line in self._lines(name, text)]
        return table(rows, [type(self).__name__, ""], limit=len(rows))

    def _lines(self, name: str, text: str) -> list[tuple[str, str]]:
        """Return what a field says, of tags one a line: they tell where a promise comes from."""
        held = getattr(self, name)
        if not isinstance(held, dict) or not name.endswith("tags") or not held:
            return [(name, text)]
        lines = [f"{plain(tag)}: {plain(value)}" for tag, value in islice(held.items(), _TAGS)]
        if len(held) > _TAGS:
            lines.append(f"and {len(held) - _TAGS:,} more")
        return [(name if at == 0 else "", line) for at, line in enumerate(lines)]


@dataclass(frozen=True, slots=True, repr=False)
class Promise(Record):
    """A durable promise.

    Attributes
    ----------
    id : str
    state : str
        one of ``PROMISE_STATES``
    param, value : Value
        what was asked and what came of it
    tags : dict of str to str
    timeout_at, created_at : int
        instants, ms since the Unix epoch, UTC
    settled_at : int or None
        instant, ms since the Unix epoch, UTC; None while pending
    """

    id: str
    state: str
    param: Value
    value: Value
    tags: dict[str, str]
    timeout_at: int
    created_at: int
    settled_at: int | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Task(Record):
    """The work that a targeted promise asks of a worker; it has the promise's id.

    Attributes
    ----------
    id : str
    state : str
        one of ``TASK_STATES``
    version : int
        how often it was acquired
    resumes : int
        awaited promises that settled since it was last acquired
    ttl : int or None
        length of the lease in ms, while acquired
    pid : str or None
        holder of the lease, while acquired
    """

    id: str
    state: str
    version: int
    resumes: int
    ttl: int | None = None
    pid: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Schedule(Record):
    """A cron rule that creates a promise on every tick.

    Attributes
    ----------
    id, cron : str
    promise_id : str
        template of the promise ids
    promise_timeout : int
        ms from a tick to its promise's deadline
    promise_param : Value
    promise_tags : dict of str to str
    created_at : int
        instant, ms since the Unix epoch, UTC
    next_run_at : int or None
        the next tick; None once the expression has no further one: the schedule is
        dormant, and the wire omits the member
    last_run_at : int or None
        the last tick fired; None before the first
    """

    id: str
    cron: str
    promise_id: str
    promise_timeout: int
    promise_param: Value
    promise_tags: dict[str, str]
    created_at: int
    next_run_at: int | None = None
    last_run_at: int | None = None


R = TypeVar("R", bound=Record)


class Records(list[R]):
    """A list of records that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        return self._first_of(len(self))

    def _first_of(self, total: int) -> str:
        """Return a table of the first ten of so many, as HTML."""
        if not self:
            return table([], ["nothing found"])
        rows = [[text for _, text in record._shown()] for record in self[:10]]
        return table(rows, [name for name, _ in self[0]._shown()], total=total)


class Ticks(NamedTuple):
    """What one firing of a schedule did, over the ticks from `first` to `last`.

    Attributes
    ----------
    first, last : int
        instants, ms since the Unix epoch, UTC
    fired : int
        ticks walked: created + existed
    expired : int
        promises created already settled; no worker hears of them
    live : int
        promises created pending
    existed : int
        ticks whose promise id was taken already; nothing was created
    """

    first: int
    last: int
    fired: int
    expired: int
    live: int
    existed: int


class Step(NamedTuple):
    """One thing that happened in the engine.

    Attributes
    ----------
    at : int
        instant, ms since the Unix epoch, UTC
    step : str
        what the server did by itself (``promise timeout``, ``lease expiry``, ``retry``,
        ``schedule firing``), what followed from a settlement (``resume``, ``unblock``),
        ``outage``, or the kind of the request
    subject : str
        id of the record; empty for the engine as a whole
    effect : str
        what became of it
    ticks : Ticks or None
        of a firing: a whole catch-up is one step
    """

    at: int
    step: str
    subject: str
    effect: str
    ticks: Ticks | None = None

    def __repr__(self) -> str:
        """Return the step as a line of a log."""
        text = f"{format_instant(self.at)} {self.step} {plain(self.subject)!r}: {self.effect}"
        if self.ticks is None:
            return text
        n = self.ticks
        return (
            f"{text}, {n.fired:,} ticks from {format_instant(n.first)} to {format_instant(n.last)}"
            f" ({n.live:,} live, {n.expired:,} expired, {n.existed:,} existed)"
        )


_NAMES: Final[Mapping[type[Record], tuple[tuple[str, str], ...]]] = {
    record: tuple((field.name, wire_name(field.name)) for field in fields(record))
    for record in (Promise, Task, Schedule)
}


def _copy(value: dict[str, object]) -> dict[str, object]:
    return {key: dict(item) if isinstance(item, dict) else item for key, item in value.items()}


def _show(name: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, int) and name.endswith("_at"):
        return format_instant(value)
    if isinstance(value, int) and name in ("promise_timeout", "ttl"):
        return format_duration(value)
    return plain(value)
