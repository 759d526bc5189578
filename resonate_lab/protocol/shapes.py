"""What a member of a request looks like: its shape, its rules, and how it is read.

Reading goes through three gates, in this order: the shapes in the order in which the
client wrote the members, then what is missing, then the rules of the members. A struct
within a struct is a member like any other. What the released server's parser says about
a wrong shape is imitated in substance, not to the letter.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Annotated, Any, Final, NamedTuple, TypeAlias, TypeVar, cast, get_type_hints

from resonate_lab.protocol.records import EMPTY_VALUE, Value, wire_name

__all__ = [
    "I64_MAX",
    "Anything",
    "Integer",
    "MaybeTags",
    "MaybeText",
    "PromiseValue",
    "Rule",
    "Shape",
    "Tags",
    "Text",
    "WireName",
    "WrongShapeError",
    "at_least",
    "at_most",
    "broken",
    "given",
    "integer",
    "list_of",
    "one_of",
    "optional",
    "read",
    "struct",
    "wrong",
]

I64_MAX = 2**63 - 1

_SHOWN = 80

Shape: TypeAlias = Callable[[object], object]


class WrongShapeError(ValueError):
    """A member is not of the type that the protocol declares."""


# --- shapes: each returns what is kept, or raises WrongShapeError ------------------------


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


def wrong(value: object, expected: str) -> WrongShapeError:
    """Return the error that says what was found where something else was expected."""
    return WrongShapeError(f"invalid type: {_what(value)}, expected {expected}")


def text(value: object) -> str:
    """Return a text."""
    if isinstance(value, str):
        return value
    raise wrong(value, "a string")


def integer(value: object) -> int:
    """Return an integer of 64 bits."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong(value, "i64")
    if not -I64_MAX - 1 <= value <= I64_MAX:
        raise WrongShapeError(f"invalid value: {_what(value)}, expected i64")
    return value


def _anything(value: object) -> object:
    return value


def _text_map(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise wrong(value, "a map")
    return {text(key): text(item) for key, item in value.items()}


def _value(value: object) -> Value:
    if isinstance(value, list):
        value = _by_position(value, ("headers", "data"), 2, "struct PromiseValue")
    if not isinstance(value, dict):
        raise wrong(value, "struct PromiseValue")
    kept = Value()
    if value.get("headers") is not None:
        kept["headers"] = _text_map(value["headers"])
    if value.get("data") is not None:
        kept["data"] = text(value["data"])
    return kept or EMPTY_VALUE


def _by_position(
    items: list[object], names: tuple[str, ...], least: int, expected: str
) -> dict[str, object]:
    # The released parser takes a struct from an array, by position.
    if not least <= len(items) <= len(names):
        raise WrongShapeError(
            f"invalid length {len(items)}, expected {expected} with {len(names)} elements"
        )
    return dict(zip(names, items, strict=False))


def one_of(*names: str) -> Shape:
    """Return the shape of a text that is one of these, or of a map with it as its one key."""
    listed = ", ".join(f"`{name}`" for name in names)

    def shape(value: object) -> str:
        if isinstance(value, dict):
            if len(value) != 1:
                raise WrongShapeError("invalid value: map, expected map with a single key")
            ((value, content),) = value.items()
            if content is not None:
                raise wrong(content, "unit")
        if not isinstance(value, str):
            raise wrong(value, "string or map")
        if value not in names:
            raise WrongShapeError(f"unknown variant `{value[:_SHOWN]}`, expected one of {listed}")
        return value

    return shape


def optional(shape: Shape) -> Shape:
    """Return the shape of what may be null."""
    return lambda value: None if value is None else shape(value)


def list_of(shape: Shape) -> Shape:
    """Return the shape of an array."""

    def of_each(value: object) -> tuple[object, ...]:
        if not isinstance(value, list):
            raise wrong(value, "a sequence")
        return tuple(map(shape, value))

    return of_each


def struct(kind: type) -> Shape:
    """Return the shape of a dataclass whose fields are members."""
    return lambda value: read(kind, value)


# --- members: the type that Python sees, with its shape and its rules ---------------------


class Rule(NamedTuple):
    """What a value must satisfy, and what the server says where it does not."""

    message: str
    holds: Callable[[object], bool]


class WireName(NamedTuple):
    """The name on the wire of a member that is not its Python name in camel case."""

    name: str


def given(message: str) -> Rule:
    """Return the rule that a value is not empty."""
    return Rule(message, bool)


def at_least(least: int, message: str) -> Rule:
    """Return the rule that a number, if there is one, is not too small."""
    return Rule(message, lambda value: value is None or cast(int, value) >= least)


def at_most(most: int, message: str) -> Rule:
    """Return the rule that a number, if there is one, is not too large."""
    return Rule(message, lambda value: value is None or cast(int, value) <= most)


Text = Annotated[str, text]
Integer = Annotated[int, integer]
Anything = Annotated[object, _anything]
Tags = Annotated[dict[str, str], _text_map]
PromiseValue = Annotated[Value, _value]
MaybeText = Annotated[str | None, optional(text)]
MaybeTags = Annotated[dict[str, str] | None, optional(_text_map)]


class _Member(NamedTuple):
    name: str
    shape: Shape
    rules: tuple[Rule, ...]
    required: bool


_MEMBERS: Final[dict[type, Mapping[str, _Member]]] = {}


def _members_of(kind: type) -> Mapping[str, _Member]:
    """Return the members of a struct by their names on the wire, in order."""
    if kind not in _MEMBERS:
        _MEMBERS[kind] = _declared(kind)
    return _MEMBERS[kind]


def _declared(kind: type) -> Mapping[str, _Member]:
    hints = get_type_hints(kind, include_extras=True)
    members = {}
    for item in fields(kind):
        shape, *marks = hints[item.name].__metadata__
        names = [mark.name for mark in marks if isinstance(mark, WireName)]
        rules = tuple(mark for mark in marks if isinstance(mark, Rule))
        required = item.default is MISSING and item.default_factory is MISSING
        members[names[0] if names else wire_name(item.name)] = _Member(
            item.name, shape, rules, required
        )
    return members


S = TypeVar("S")


def read(kind: type[S], data: object) -> S:
    """Return a struct read from JSON; members that it does not have are ignored.

    Raises
    ------
    WrongShapeError
        it is no object, a member has a wrong type or is missing
    """
    members = _members_of(kind)
    if isinstance(data, list):
        least = sum(member.required for member in members.values())
        data = _by_position(data, tuple(members), least, f"struct {kind.__name__}")
    if not isinstance(data, dict):
        raise wrong(data, f"struct {kind.__name__}")
    values: dict[str, Any] = {}
    for key, raw in data.items():
        member = members.get(key)
        if member is not None:
            values[member.name] = member.shape(raw)
    for key, member in members.items():
        if member.required and member.name not in values:
            raise WrongShapeError(f"missing field `{key}`")
    return kind(**values)


def broken(item: object) -> Iterator[str]:
    """Yield the message of the first broken rule of each member, those within included."""
    for name, _, rules, _ in _members_of(type(item)).values():
        value = getattr(item, name)
        for rule in rules:
            if not rule.holds(value):
                yield rule.message
                break
        for inner in value if isinstance(value, tuple) else (value,):
            if hasattr(inner, "__dataclass_fields__"):
                yield from broken(inner)
