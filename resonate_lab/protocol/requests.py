"""The requests of the protocol: what each kind asks for, and what is wrong with it.

One dataclass a kind, one field a member; what a member must look like and which rule it
obeys stands beside it, what must hold across members in `faults`. How members are read
stands in `shapes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Annotated, Final

from resonate_lab.errors import ProtocolError
from resonate_lab.protocol.profile import Profile
from resonate_lab.protocol.records import (
    DELAY_TAG,
    EMPTY_VALUE,
    LINEAGE_TAGS,
    ORIGIN_TAG,
    PREFIX_TAG,
    PROMISE_STATES,
    PROTOCOL_VERSION,
    SETTLEMENTS,
    TARGET_TAG,
    TASK_STATES,
)
from resonate_lab.protocol.shapes import (
    Anything,
    Integer,
    MaybeTags,
    MaybeText,
    PromiseValue,
    Tags,
    Text,
    WireName,
    WrongShapeError,
    at_least,
    at_most,
    broken,
    given,
    integer,
    list_of,
    one_of,
    optional,
    read,
    struct,
    wrong,
)
from resonate_lab.protocol.texts import (
    ID_LIMIT,
    delay_of,
    descends,
    expanded_length,
    is_address,
    origin_of,
)

__all__ = [
    "REQUESTS",
    "DebugReset",
    "DebugSnap",
    "DebugStart",
    "DebugStop",
    "DebugTick",
    "Envelope",
    "PromiseCreate",
    "PromiseGet",
    "PromiseRegisterCallback",
    "PromiseRegisterListener",
    "PromiseSearch",
    "PromiseSettle",
    "Request",
    "ScheduleCreate",
    "ScheduleDelete",
    "ScheduleGet",
    "ScheduleSearch",
    "TaskAcquire",
    "TaskContinue",
    "TaskCreate",
    "TaskFence",
    "TaskFulfill",
    "TaskGet",
    "TaskHalt",
    "TaskHeartbeat",
    "TaskRef",
    "TaskRelease",
    "TaskSearch",
    "TaskSuspend",
    "read_action",
    "read_envelope",
    "read_request",
]

_Limit = Annotated[
    int | None,
    optional(integer),
    at_least(1, "Limit must be a positive integer"),
    at_most(1000, "Invalid 'limit' — must be between 1 and 1000"),
]
_PromiseId = Annotated[Text, given("Promise ID is required")]
_TaskId = Annotated[Text, given("Task ID is required")]
_ScheduleId = Annotated[Text, given("Schedule ID is required")]
_ProcessId = Annotated[Text, given("Process ID is required")]
_Version = Annotated[Integer, at_least(0, "Version must be a non-negative integer")]
_Ttl = Annotated[Integer, at_least(1, "TTL must be a positive integer")]
_Settlement = Annotated[str, one_of(*SETTLEMENTS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Base of the kinds."""

    def faults(self, profile: Profile, debug_time: int | None) -> Iterator[str]:
        """Yield what is wrong across members; only the first is told."""
        return iter(())


# --- promises ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseGet(Request):
    """``promise.get``."""

    id: _PromiseId


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseCreate(Request):
    """``promise.create``."""

    id: _PromiseId
    timeout_at: Annotated[Integer, at_least(0, "TimeoutAt must be a non-negative integer")]
    param: PromiseValue = field(default_factory=lambda: EMPTY_VALUE)
    tags: Tags = field(default_factory=dict)

    def faults(self, profile: Profile, debug_time: int | None) -> Iterator[str]:
        """Yield what is wrong with id and tags, in the order of the server's checks."""
        yield from self.faults_of_tags(profile)
        yield from self.faults_of_target(profile)

    def faults_of_tags(self, profile: Profile) -> Iterator[str]:
        """Yield what is wrong with the id and with the tags other than the target."""
        tags = self.tags
        if "\0" in self.id:
            yield "Promise ID must not contain null bytes"
        if not profile.origin_may_have_dot and "." in tags.get(ORIGIN_TAG, ""):
            yield f"{ORIGIN_TAG} must not contain '.'"
        if separators := profile.id_separators:
            for tag in LINEAGE_TAGS:
                wanted = tag in tags and tag != PREFIX_TAG
                if wanted and not descends(self.id, tags[tag], separators):
                    yield f"Promise ID must be prefixed by {tag}"
        if not profile.origin_may_have_dot and "." in tags.get(PREFIX_TAG, ""):
            yield f"{PREFIX_TAG} must not contain '.'"
        if DELAY_TAG in tags and profile.checks_delay:
            delay = delay_of(tags)
            if delay is None:
                yield f"{DELAY_TAG} must be a non-negative integer"
            elif delay >= self.timeout_at:
                yield f"{DELAY_TAG} must be less than timeoutAt"
            elif TARGET_TAG not in tags:
                yield f"{DELAY_TAG} requires a {TARGET_TAG} tag"

    def faults_of_target(self, profile: Profile) -> Iterator[str]:
        """Yield what is wrong with the target."""
        target = self.tags.get(TARGET_TAG)
        if target is not None and profile.checks_target and not is_address(target):
            yield f"Invalid {TARGET_TAG} address"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseSettle(Request):
    """``promise.settle``."""

    id: _PromiseId
    state: _Settlement
    value: PromiseValue = field(default_factory=lambda: EMPTY_VALUE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseRegisterCallback(Request):
    """``promise.register_callback``: wake the awaiter's task when the awaited settles."""

    awaited: Annotated[Text, given("Awaited promise ID is required")]
    awaiter: Annotated[Text, given("Awaiter promise ID is required")]

    def faults(self, profile: Profile, debug_time: int | None) -> Iterator[str]:
        """Yield one that awaits itself, then one that awaits a stranger."""
        if self.awaited == self.awaiter:
            yield "Awaited and awaiter must be different promises"
        if not _related((self.awaited, self.awaiter), profile):
            yield "Awaiter and awaited must belong to the same origin"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseRegisterListener(Request):
    """``promise.register_listener``: tell an address when the awaited settles."""

    awaited: Annotated[Text, given("Awaited promise ID is required")]
    address: Annotated[Text, given("Address is required")]

    def faults(self, profile: Profile, debug_time: int | None) -> Iterator[str]:
        """Yield an address to which nothing can be sent."""
        if not is_address(self.address, routed=profile.addresses == "routed"):
            yield "Invalid listener address"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseSearch(Request):
    """``promise.search``."""

    state: Annotated[str | None, optional(one_of(*PROMISE_STATES))] = None
    tags: MaybeTags = None
    limit: _Limit = None
    cursor: MaybeText = None


def _related(ids: Iterable[str], profile: Profile) -> bool:
    """Return whether all ids belong to one call graph, as far as the profile asks."""
    return len({origin_of(id, profile.id_separators) for id in ids}) <= 1


# --- tasks -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskGet(Request):
    """``task.get``."""

    id: _TaskId


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCreateAction:
    """The action of ``task.create``; nobody looks at its kind and its head."""

    kind: Text
    head: Anything
    data: Annotated[PromiseCreate, struct(PromiseCreate)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCreate(Request):
    """``task.create``: create a promise and acquire its task in one go."""

    pid: _ProcessId
    ttl: _Ttl
    action: Annotated[TaskCreateAction, struct(TaskCreateAction)]

    def faults(self, profile: Profile, debug_time: int | None) -> Iterator[str]:
        """Yield what is wrong with the promise, then a task that could not be begun."""
        promise = self.action.data
        yield from promise.faults_of_tags(profile)
        if TARGET_TAG not in promise.tags:
            yield f"Action must have a {TARGET_TAG} tag"
        if DELAY_TAG in promise.tags and profile.checks_delay:
            yield f"Action must not have a {DELAY_TAG} tag"
        yield from promise.faults_of_target(profile)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAcquire(Request):
    """``task.acquire``."""

    id: _TaskId
    version: _Version
    pid: _ProcessId
    ttl: _Ttl


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRelease(Request):
    """``task.release``."""

    id: _TaskId
    version: _Version


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFulfillAction:
    """The action of ``task.fulfill``; nobody looks at its kind and its head."""

    kind: Text
    head: Anything
    data: Annotated[PromiseSettle, struct(PromiseSettle)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFulfill(Request):
    """``task.fulfill``: settle the promise of an acquired task."""

    id: _TaskId
    version: _Version
    action: Annotated[TaskFulfillAction, struct(TaskFulfillAction)]

    def faults(self, profile: Profile, debug_time: int | None) -> Iterator[str]:
        """Yield an action on another promise."""
        if self.action.data.id != self.id:
            yield "Action ID must match the task ID"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSuspendAction:
    """One of the actions of ``task.suspend``; nobody looks at its kind and its head."""

    kind: Text
    head: Anything
    data: Annotated[PromiseRegisterCallback, struct(PromiseRegisterCallback)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSuspend(Request):
    """``task.suspend``: put an acquired task down until one of some promises settles."""

    id: _TaskId
    version: _Version
    actions: Annotated[
        tuple[TaskSuspendAction, ...],
        list_of(struct(TaskSuspendAction)),
        given("Actions array cannot be empty"),
    ]

    def faults(self, profile: Profile, debug_time: int | None) -> Iterator[str]:
        """Yield what is wrong with each callback, then one of another task."""
        for action in self.actions:
            yield from action.data.faults(profile, debug_time)
        if any(action.data.awaiter != self.id for action in self.actions):
            yield "All action awaiter IDs must match the task ID"

    @property
    def awaited(self) -> tuple[str, ...]:
        """The ids of the promises to wait for."""
        return tuple(action.data.awaited for action in self.actions)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFenceAction:
    """The action of ``task.fence``; its data are read late, see `read_action`."""

    kind: Text
    head: Anything = None
    data: Anything


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFence(Request):
    """``task.fence``: create or settle another promise while holding a task."""

    id: _TaskId
    version: _Version
    action: Annotated[TaskFenceAction, struct(TaskFenceAction)]

    def faults(self, profile: Profile, debug_time: int | None) -> Iterator[str]:
        """Yield an action on the task's own promise."""
        if self.promise_id == self.id:
            yield "Action ID must not equal the task ID"

    @property
    def promise_id(self) -> str | None:
        """The id of the promise that the action names, or None."""
        data = self.action.data
        id = data.get("id") if isinstance(data, dict) else None
        return id if isinstance(id, str) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRef:
    """A task at one of its versions."""

    id: _TaskId
    version: _Version


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskHeartbeat(Request):
    """``task.heartbeat``: renew the leases of one holder."""

    pid: _ProcessId
    tasks: Annotated[
        tuple[TaskRef, ...], list_of(struct(TaskRef)), given("Tasks array must not be empty")
    ]

    def faults(self, profile: Profile, debug_time: int | None) -> Iterator[str]:
        """Yield tasks of several call graphs, where the profile minds."""
        if profile.heartbeat_of_one_origin and not _related((t.id for t in self.tasks), profile):
            yield "All tasks must belong to the same origin"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskHalt(Request):
    """``task.halt``."""

    id: _TaskId


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContinue(Request):
    """``task.continue``."""

    id: _TaskId


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSearch(Request):
    """``task.search``."""

    state: Annotated[str | None, optional(one_of(*TASK_STATES))] = None
    limit: _Limit = None
    cursor: MaybeText = None


# --- schedules ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleGet(Request):
    """``schedule.get``."""

    id: _ScheduleId


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleCreate(Request):
    """``schedule.create``."""

    id: _ScheduleId
    cron: Annotated[Text, given("Cron expression is required")]
    promise_id: Annotated[Text, given("Promise ID template is required")]
    promise_timeout: Annotated[
        Integer, at_least(0, "Promise timeout must be a non-negative integer")
    ]
    promise_param: PromiseValue = field(default_factory=lambda: EMPTY_VALUE)
    promise_tags: Tags = field(default_factory=dict)

    def faults(self, profile: Profile, debug_time: int | None) -> Iterator[str]:
        """Yield a dot in the id, then a missing target; the cron text comes after."""
        if "." in self.id and not profile.schedule_id_may_have_dot:
            yield "Schedule ID must not contain '.'"
        if TARGET_TAG not in self.promise_tags and profile.schedule_needs_target:
            yield f"promiseTags must include a {TARGET_TAG} tag"
        length = expanded_length(self.promise_id, self.id)
        if length > ID_LIMIT:
            yield (
                f"Promise ID template expands to {length:,} characters; write one that stays "
                f"within {ID_LIMIT:,}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleDelete(Request):
    """``schedule.delete``."""

    id: _ScheduleId


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSearch(Request):
    """``schedule.search``."""

    tags: MaybeTags = None
    limit: _Limit = None
    cursor: MaybeText = None


# --- debug -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugTick(Request):
    """``debug.tick``: run what is due at `time`, ms since the Unix epoch, UTC."""

    time: Anything = None

    @property
    def at(self) -> int | None:
        """The time, or None where it is no integer of 64 bits."""
        try:
            return integer(self.time)
        except WrongShapeError:
            return None

    def faults(self, profile: Profile, debug_time: int | None) -> Iterator[str]:
        """Yield a time that is none, or is not that of the head."""
        if self.at is None:
            yield "Missing or invalid 'time' field"
        elif debug_time is not None and debug_time != self.at:
            yield "resonate:debug_time must equal data.time"


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugSnap(Request):
    """``debug.snap``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugReset(Request):
    """``debug.reset``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugStart(Request):
    """``debug.start``: stop the server's own loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugStop(Request):
    """``debug.stop``: start the server's own loop again."""


#: The kinds.
REQUESTS: Final[Mapping[str, type[Request]]] = {
    "promise.get": PromiseGet,
    "promise.create": PromiseCreate,
    "promise.settle": PromiseSettle,
    "promise.register_callback": PromiseRegisterCallback,
    "promise.register_listener": PromiseRegisterListener,
    "promise.search": PromiseSearch,
    "task.get": TaskGet,
    "task.create": TaskCreate,
    "task.acquire": TaskAcquire,
    "task.release": TaskRelease,
    "task.fulfill": TaskFulfill,
    "task.suspend": TaskSuspend,
    "task.fence": TaskFence,
    "task.heartbeat": TaskHeartbeat,
    "task.halt": TaskHalt,
    "task.continue": TaskContinue,
    "task.search": TaskSearch,
    "schedule.get": ScheduleGet,
    "schedule.create": ScheduleCreate,
    "schedule.delete": ScheduleDelete,
    "schedule.search": ScheduleSearch,
    "debug.start": DebugStart,
    "debug.stop": DebugStop,
    "debug.reset": DebugReset,
    "debug.snap": DebugSnap,
    "debug.tick": DebugTick,
}

#: The kinds that a fence may do to another promise.
_FENCED: Final = ("promise.create", "promise.settle")


# --- the front door ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The head of a request."""

    corr_id: Text
    version: Text
    auth: MaybeText = None
    debug_time: Annotated[int | None, optional(integer), WireName("resonate:debug_time")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """A request as it came in; its `data` is not read yet."""

    kind: Text
    head: Annotated[Head, struct(Head)]
    data: Anything = None


def read_envelope(envelope: object) -> Envelope:
    """Return the envelope, read as far as its head.

    Raises
    ------
    ProtocolError
        400: no envelope
    """
    try:
        if not isinstance(envelope, dict):
            raise wrong(envelope, "struct Envelope")
        return read(Envelope, envelope)
    except WrongShapeError as err:
        raise ProtocolError(400, f"Invalid request envelope: {err}") from err


def read_request(envelope: Envelope, profile: Profile) -> Request:
    """Return what an envelope asks for.

    Raises
    ------
    ProtocolError
        400: a member is missing, has a wrong type or breaks a rule, or nobody knows the
        kind or the version
    """
    kind, data, version = envelope.kind, envelope.data, envelope.head.version
    if not kind:
        raise ProtocolError(400, "Missing or invalid 'kind' field — must be a non-empty string")
    if not isinstance(data, dict):
        raise ProtocolError(400, "Invalid 'data' field — must be an object")
    if version != PROTOCOL_VERSION:
        raise ProtocolError(
            400,
            f"Unsupported protocol version '{version}', "
            f'supported versions: ["{PROTOCOL_VERSION}"]',
        )
    if kind not in REQUESTS:
        raise ProtocolError(400, f"Unknown operation: {kind}")
    return _read(REQUESTS[kind], data, "Invalid request", profile, envelope.head.debug_time)


def read_action(action: TaskFenceAction, profile: Profile) -> Request:
    """Return what the action of a fence asks for.

    Raises
    ------
    ProtocolError
        400: it is of a kind that cannot be fenced, or malformed
    """
    if action.kind not in _FENCED:
        raise ProtocolError(400, "Invalid fence action kind")
    return _read(REQUESTS[action.kind], action.data, "Invalid action data", profile, None)


def _read(
    kind: type[Request], data: object, complaint: str, profile: Profile, debug_time: int | None
) -> Request:
    try:
        request = read(kind, data)
    except WrongShapeError as err:
        raise ProtocolError(400, f"{complaint}: {err}") from err
    wrongs = list(broken(request)) or list(islice(request.faults(profile, debug_time), 1))
    if wrongs:
        raise ProtocolError(400, "; ".join(wrongs))
    return request
