"""The requests of the protocol: what each kind asks for, and what is wrong with it.

One dataclass a kind, one field a member; what a member must look like and which rule it
obeys stands beside it. Reading goes through three gates, in this order: the shapes in
the order in which the client wrote the members, then what is missing, then the rules of
the members, and last the rules across members. What the released server's parser says
after ``Invalid request: `` is imitated in substance, not to the letter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import (
    Annotated,
    Final,
    NamedTuple,
    TypeAlias,
    TypeVar,
    cast,
    get_type_hints,
)

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
    TARGET_TAG,
    TASK_STATES,
    Value,
    wire_name,
)

__all__ = [
    "I64_MAX",
    "ID_LIMIT",
    "REQUESTS",
    "UNBUILT",
    "DebugReset",
    "DebugSnap",
    "DebugStart",
    "DebugStop",
    "DebugTick",
    "Envelope",
    "PromiseCreate",
    "PromiseGet",
    "PromiseSearch",
    "Request",
    "ScheduleCreate",
    "ScheduleDelete",
    "ScheduleGet",
    "ScheduleSearch",
    "TaskGet",
    "TaskSearch",
    "delay_of",
    "expanded_length",
    "is_address",
    "read_envelope",
    "read_request",
    "template_parts",
]

I64_MAX = 2**63 - 1
#: Characters of a promise id that a schedule may make.
ID_LIMIT = 2**22

_SHOWN = 80
_ID_MARK = "{{.id}}"
_TICK_MARK = "{{.timestamp}}"

Shape: TypeAlias = Callable[[object], object]


class _WrongShapeError(ValueError):
    """A member is not of the type that the protocol declares."""


# --- shapes: each returns what is kept, or raises _WrongShapeError ---------------------


def _what(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return f"boolean `{str(value).lower()}`"
        case int():
            # Python refuses to write out an int of more than some thousand digits.
            return f"integer `{value}`" if value.bit_length() <= 64 else "integer beyond 64 bits"
        case float():
            return f"floating point `{value!r}`"
        case str():
            return f"string {json.dumps(value[:_SHOWN])}"
        case list() | tuple():
            return "sequence"
        case dict():
            return "map"
    return f"{type(value).__name__} object"


def _wrong(value: object, expected: str) -> _WrongShapeError:
    return _WrongShapeError(f"invalid type: {_what(value)}, expected {expected}")


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise _wrong(value, "a string")


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong(value, "i64")
    if not -I64_MAX - 1 <= value <= I64_MAX:
        raise _WrongShapeError(f"invalid value: {_what(value)}, expected i64")
    return value


def _text_map(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise _wrong(value, "a map")
    return {_text(key): _text(item) for key, item in value.items()}


def _value(value: object) -> Value:
    if isinstance(value, list):
        # The released parser takes a struct from an array, by position.
        if len(value) != 2:
            raise _WrongShapeError(
                f"invalid length {len(value)}, expected struct PromiseValue with 2 elements"
            )
        value = dict(zip(("headers", "data"), value, strict=True))
    if not isinstance(value, dict):
        raise _wrong(value, "struct PromiseValue")
    kept = Value()
    if value.get("headers") is not None:
        kept["headers"] = _text_map(value["headers"])
    if value.get("data") is not None:
        kept["data"] = _text(value["data"])
    return kept or EMPTY_VALUE


def _one_of(*names: str) -> Shape:
    listed = ", ".join(f"`{name}`" for name in names)

    def shape(value: object) -> str:
        if isinstance(value, dict):
            if len(value) != 1:
                raise _WrongShapeError("invalid value: map, expected map with a single key")
            ((value, content),) = value.items()
            if content is not None:
                raise _wrong(content, "unit")
        if not isinstance(value, str):
            raise _wrong(value, "string or map")
        if value not in names:
            raise _WrongShapeError(f"unknown variant `{value[:_SHOWN]}`, expected one of {listed}")
        return value

    return shape


def _optional(shape: Shape) -> Shape:
    return lambda value: None if value is None else shape(value)


# --- members: the type that Python sees, with its shape and its rules ---------------------


class Rule(NamedTuple):
    """What a value must satisfy, and what the server says where it does not."""

    message: str
    holds: Callable[[object], bool]


class WireName(NamedTuple):
    """The name on the wire of a member that is not its Python name in camel case."""

    name: str


def _given(message: str) -> Rule:
    return Rule(message, bool)


def _at_least(least: int, message: str) -> Rule:
    return Rule(message, lambda value: value is None or cast(int, value) >= least)


def _at_most(most: int, message: str) -> Rule:
    return Rule(message, lambda value: value is None or cast(int, value) <= most)


_Text = Annotated[str, _text]
_Integer = Annotated[int, _integer]
_Tags = Annotated[dict[str, str], _text_map]
_Value = Annotated[Value, _value]
_MaybeText = Annotated[str | None, _optional(_text)]
_MaybeTags = Annotated[dict[str, str] | None, _optional(_text_map)]
_Limit = Annotated[
    int | None,
    _optional(_integer),
    _at_least(1, "Limit must be a positive integer"),
    _at_most(1000, "Invalid 'limit' — must be between 1 and 1000"),
]
_PromiseId = Annotated[str, _text, _given("Promise ID is required")]
_TaskId = Annotated[str, _text, _given("Task ID is required")]
_ScheduleId = Annotated[str, _text, _given("Schedule ID is required")]


class _Member(NamedTuple):
    name: str
    shape: Shape
    rules: tuple[Rule, ...]
    required: bool


def _members_of(struct: type) -> dict[str, _Member]:
    """Return the members of a struct by their names on the wire, in order."""
    hints = get_type_hints(struct, include_extras=True)
    members = {}
    for item in fields(struct):
        shape, *marks = hints[item.name].__metadata__
        names = [mark.name for mark in marks if isinstance(mark, WireName)]
        rules = tuple(mark for mark in marks if isinstance(mark, Rule))
        required = item.default is MISSING and item.default_factory is MISSING
        members[names[0] if names else wire_name(item.name)] = _Member(
            item.name, shape, rules, required
        )
    return members


S = TypeVar("S")


def _read(struct: type[S], data: Mapping[str, object]) -> S:
    members = _MEMBERS[struct]
    values = {}
    for key, raw in data.items():
        member = members.get(key)
        if member is not None:
            values[member.name] = member.shape(raw)
    for key, member in members.items():
        if member.required and member.name not in values:
            raise _WrongShapeError(f"missing field `{key}`")
    return struct(**values)


def _broken(request: object) -> list[str]:
    """Return the message of the first broken rule of each member, in order."""
    messages = []
    for name, _, rules, _ in _MEMBERS[type(request)].values():
        value = getattr(request, name)
        messages += [rule.message for rule in rules if not rule.holds(value)][:1]
    return messages


# --- the kinds ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Base of the kinds."""

    def faults(self, profile: Profile, debug_time: int | None) -> Iterator[str]:
        """Yield what is wrong across members; only the first is told."""
        return iter(())


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseGet(Request):
    """``promise.get``."""

    id: _PromiseId


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseCreate(Request):
    """``promise.create``."""

    id: _PromiseId
    timeout_at: Annotated[int, _integer, _at_least(0, "TimeoutAt must be a non-negative integer")]
    param: _Value = field(default_factory=lambda: EMPTY_VALUE)
    tags: _Tags = field(default_factory=dict)

    def faults(self, profile: Profile, debug_time: int | None) -> Iterator[str]:
        """Yield what is wrong with the tags, in the order of the server's checks."""
        tags = self.tags
        if "\0" in self.id:
            yield "Promise ID must not contain null bytes"
        if not profile.origin_may_have_dot and "." in tags.get(ORIGIN_TAG, ""):
            yield f"{ORIGIN_TAG} must not contain '.'"
        for tag in LINEAGE_TAGS:
            if tag != PREFIX_TAG and tag in tags and not self._descends(tags[tag], profile):
                yield f"Promise ID must be prefixed by {tag}"
        if not profile.origin_may_have_dot and "." in tags.get(PREFIX_TAG, ""):
            yield f"{PREFIX_TAG} must not contain '.'"
        if DELAY_TAG in tags:
            delay = delay_of(tags)
            if delay is None:
                yield f"{DELAY_TAG} must be a non-negative integer"
            elif delay >= self.timeout_at:
                yield f"{DELAY_TAG} must be less than timeoutAt"
            elif TARGET_TAG not in tags:
                yield f"{DELAY_TAG} requires a {TARGET_TAG} tag"
        if TARGET_TAG in tags and not is_address(tags[TARGET_TAG]):
            yield f"Invalid {TARGET_TAG} address"

    def _descends(self, ancestor: str, profile: Profile) -> bool:
        heads = tuple(ancestor + separator for separator in profile.id_separators)
        return not heads or self.id == ancestor or self.id.startswith(heads)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseSearch(Request):
    """``promise.search``."""

    state: Annotated[str | None, _optional(_one_of(*PROMISE_STATES))] = None
    tags: _MaybeTags = None
    limit: _Limit = None
    cursor: _MaybeText = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskGet(Request):
    """``task.get``."""

    id: _TaskId


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSearch(Request):
    """``task.search``."""

    state: Annotated[str | None, _optional(_one_of(*TASK_STATES))] = None
    limit: _Limit = None
    cursor: _MaybeText = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleGet(Request):
    """``schedule.get``."""

    id: _ScheduleId


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleCreate(Request):
    """``schedule.create``."""

    id: _ScheduleId
    cron: Annotated[str, _text, _given("Cron expression is required")]
    promise_id: Annotated[str, _text, _given("Promise ID template is required")]
    promise_timeout: Annotated[
        int, _integer, _at_least(0, "Promise timeout must be a non-negative integer")
    ]
    promise_param: _Value = field(default_factory=lambda: EMPTY_VALUE)
    promise_tags: _Tags = field(default_factory=dict)

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

    tags: _MaybeTags = None
    limit: _Limit = None
    cursor: _MaybeText = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugTick(Request):
    """``debug.tick``: run what is due at `time`, ms since the Unix epoch, UTC."""

    time: Annotated[object, lambda value: value] = None

    @property
    def at(self) -> int | None:
        """The time, or None where it is no integer of 64 bits."""
        try:
            return _integer(self.time)
        except _WrongShapeError:
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
    """``debug.start``: stop the server's own loops; the engine has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugStop(Request):
    """``debug.stop``: start the server's own loops; the engine has none."""


#: The kinds that the engine answers.
REQUESTS: Mapping[str, type[Request]] = {
    "promise.get": PromiseGet,
    "promise.create": PromiseCreate,
    "promise.search": PromiseSearch,
    "task.get": TaskGet,
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

#: The kinds of the protocol that it does not answer yet.
UNBUILT = frozenset(
    {
        "promise.settle",
        "promise.register_callback",
        "promise.register_listener",
        "task.create",
        "task.acquire",
        "task.release",
        "task.fulfill",
        "task.suspend",
        "task.fence",
        "task.heartbeat",
        "task.halt",
        "task.continue",
    }
)


# --- the front door ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The head of a request."""

    corr_id: _Text
    version: _Text
    auth: _MaybeText = None
    debug_time: Annotated[int | None, _optional(_integer), WireName("resonate:debug_time")] = None


def _head(value: object) -> Head:
    if not isinstance(value, dict):
        raise _wrong(value, "struct Head")
    return _read(Head, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """A request as it came in; its `data` is not read yet."""

    kind: _Text
    head: Annotated[Head, _head]
    data: Annotated[object, lambda value: value] = None


_MEMBERS: Final[Mapping[type, dict[str, _Member]]] = {
    struct: _members_of(struct) for struct in (Head, Envelope, *REQUESTS.values())
}


def read_envelope(envelope: object) -> Envelope:
    """Return the envelope, read as far as its head.

    Raises
    ------
    ProtocolError
        400: no envelope
    """
    try:
        if not isinstance(envelope, dict):
            raise _wrong(envelope, "struct Envelope")
        return _read(Envelope, envelope)
    except _WrongShapeError as err:
        raise ProtocolError(400, f"Invalid request envelope: {err}") from err


def read_request(envelope: Envelope, profile: Profile) -> Request:
    """Return what an envelope asks for.

    Raises
    ------
    ProtocolError
        400: a member is missing, has a wrong type or breaks a rule, or nobody knows the
        kind or the version; 501: the kind is known, but not built
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
    if kind in UNBUILT:
        raise ProtocolError(
            501, f"Operation {kind} belongs to the protocol but this engine does not serve it yet"
        )
    if kind not in REQUESTS:
        raise ProtocolError(400, f"Unknown operation: {kind}")
    try:
        request = _read(REQUESTS[kind], data)
    except _WrongShapeError as err:
        raise ProtocolError(400, f"Invalid request: {err}") from err
    broken = _broken(request) or list(request.faults(profile, envelope.head.debug_time))[:1]
    if broken:
        raise ProtocolError(400, "; ".join(broken))
    return request


# --- words within members -------------------------------------------------------------------

_DELAY = re.compile(r"\+?0*([0-9]{1,19})|-0+", re.ASCII)
_POLL = re.compile(r"(?:uni|any)@[^/@\s]+(?:/\S+)?")
_PROJECT = re.compile(r"[^/\s]+/\S+")
_HOST = re.compile(r"[^/?#\s]\S*")
_ANY = re.compile(r"\S*")
_ADDRESSES = {"http": _HOST, "https": _HOST, "bash": _ANY, "poll": _POLL, "gcps": _PROJECT}


def delay_of(tags: Mapping[str, str]) -> int | None:
    """Return the instant before which no execute message may leave, or None.

    Examples
    --------
    >>> delay_of({"resonate:delay": "1704067200000"}), delay_of({"resonate:delay": "1.5"})
    (1704067200000, None)
    """
    found = _DELAY.fullmatch(tags.get(DELAY_TAG, ""))
    delay = int(found[1] or 0) if found else None
    return delay if delay is not None and delay <= I64_MAX else None


def template_parts(template: str, schedule_id: str) -> list[str]:
    """Return what stands around the tick in the promise ids of a schedule.

    The id is filled in first, so one that holds ``{{.timestamp}}`` is itself expanded;
    nothing else is.

    Examples
    --------
    >>> "1783978446000".join(template_parts("report.{{.id}}.{{.timestamp}}", "nightly"))
    'report.nightly.1783978446000'
    """
    return template.replace(_ID_MARK, schedule_id).split(_TICK_MARK)


def expanded_length(template: str, schedule_id: str) -> int:
    """Return about how long the promise ids get, without making one."""
    return len(template) + template.count(_ID_MARK) * len(schedule_id)


def is_address(text: str) -> bool:
    """Return whether messages can be routed to an address.

    Examples
    --------
    >>> is_address("poll://any@default"), is_address("poll://default"), is_address("worker")
    (True, False, False)
    """
    scheme, found, rest = text.partition("://")
    pattern = _ADDRESSES.get(scheme.lower())
    return bool(found and pattern and pattern.fullmatch(rest))
