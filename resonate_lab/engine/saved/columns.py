"""Columns of a saved table: what neighbours have in common is written once.

A column becomes JSON in one of two forms, ``{"each": [...]}`` or, where it is shorter,
``{"runs": [[value, how often], ...]}``. Values that are no plain text or number stand in
a pool beside the columns, and the column holds their places in it; equal values come
back as one object, as they were.

Reading trusts nothing: every length, type and place is looked at, and what is wrong is
told with its place in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import accumulate, chain, groupby, islice, repeat
from operator import ne, sub
from typing import Any, Final, Generic, NoReturn, TypeVar

__all__ = [
    "DamageError",
    "Packed",
    "Pool",
    "damaged",
    "integers",
    "maybe_integers",
    "member",
    "packed",
    "packed_rises",
    "pooled",
    "rises",
    "texts",
    "words",
]

T = TypeVar("T")

#: A column as it is written.
Packed = dict[str, list[Any]]

_I64_END: Final = 2**63


class DamageError(Exception):
    """A place in the file that does not hold what belongs there."""


def damaged(where: str, wanted: str, found: object) -> NoReturn:
    """Refuse what is found at a place."""
    text = repr(found)
    raise DamageError(f"{where} is {text[:60]}{'…' * (len(text) > 60)}, not {wanted}")


def member(data: object, name: str, kind: type[T], where: str) -> T:
    """Return a member of an object, of exactly that type."""
    if type(data) is not dict:
        damaged(where, "an object", data)
    if name not in data:
        raise DamageError(f"{where} lacks the member {name!r}")
    value = data[name]
    # A bool is an int to isinstance, and to nobody else.
    if type(value) is not kind:
        damaged(f"{where}.{name}", f"of type {kind.__name__}", value)
    return value


# --- writing -----------------------------------------------------------------------------


def packed(values: Sequence[object]) -> Packed:
    """Return a column of texts, numbers and None as it is written."""
    runs = 1 + sum(map(ne, values, islice(values, 1, None)))
    if 3 * runs >= len(values):
        return {"each": list(values)}
    return {"runs": [[value, len(list(same))] for value, same in groupby(values)]}


def packed_rises(values: Sequence[int]) -> Packed:
    """Return a column of numbers as it is written: by how much each exceeds the one before."""
    return packed(list(map(sub, values, chain((0,), values))))


class Pool(Generic[T]):
    """Values that many rows share, each once.

    Parameters
    ----------
    show : callable
        turns a value into what JSON can hold
    by_identity : bool
        the values are no keys: equal ones that are not the same stand apart
    """

    def __init__(self, show: Callable[[T], object], *, by_identity: bool = False) -> None:
        self.items: list[object] = []
        self._show = show
        self._by_identity = by_identity
        self._places: dict[object, int] = {}
        # An identity means one value only as long as that lives.
        self._kept: list[T] = []

    def packed(self, values: Sequence[T]) -> Packed:
        """Return a column of values as it is written, its values in the pool."""
        places: list[int] = []
        for _, same in groupby(values, key=id):
            alike = list(same)
            places += [self._place(alike[0])] * len(alike)
        return packed(places)

    def _place(self, value: T) -> int:
        key = id(value) if self._by_identity else value
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = len(self.items)
            self.items.append(self._show(value))
            self._kept.append(value)
        return place


# --- reading -----------------------------------------------------------------------------


def texts(data: object, length: int, where: str) -> list[str]:
    """Return a column of texts."""
    return _checked(_column(data, length, where), {str}, where)


def words(data: object, length: int, where: str, allowed: Collection[str | None]) -> list[Any]:
    """Return a column of words out of a few."""
    values = _checked(_column(data, length, where), {type(word) for word in allowed}, where)
    for value in set(values).difference(allowed):
        damaged(where, f"one of {', '.join(map(str, allowed))}", value)
    return values


def integers(data: object, length: int, where: str) -> list[int]:
    """Return a column of integers of 64 bits."""
    return _bounded(_checked(_column(data, length, where), {int}, where), where)


def maybe_integers(data: object, length: int, where: str) -> list[int | None]:
    """Return a column of integers of 64 bits, or None."""
    values = _checked(_column(data, length, where), {int, type(None)}, where)
    _bounded([value for value in values if value is not None], where)
    return values


def rises(data: object, length: int, where: str) -> list[int]:
    """Return a column of numbers that was written by `packed_rises`."""
    return _bounded(list(accumulate(integers(data, length, where))), where)


def pooled(data: object, length: int, where: str, items: Sequence[T]) -> list[T]:
    """Return a column of values that stand in a pool."""
    places = integers(data, length, where)
    # A negative place would count from the end.
    for place in (min(places, default=0), max(places, default=0)):
        if places and not 0 <= place < len(items):
            damaged(where, f"a place in a pool of {len(items):,}", place)
    return list(map(items.__getitem__, places))


def _column(data: object, length: int, where: str) -> list[Any]:
    if type(data) is dict and data.keys() == {"each"}:
        values = member(data, "each", list, where)
        found = len(values)
    elif type(data) is dict and data.keys() == {"runs"}:
        runs = member(data, "runs", list, where)
        for run in runs:
            if type(run) is not list or len(run) != 2 or type(run[1]) is not int or run[1] < 1:
                damaged(f"a run of {where}", "a value and how often it stands", run)
        # Counted before it is spread: it may claim more than any memory holds.
        found = sum(count for _, count in runs)
        spread = (repeat(value, count) for value, count in runs if found == length)
        values = list(chain.from_iterable(spread))
    else:
        damaged(where, "a column, an object with 'each' or 'runs'", data)
    if found != length:
        raise DamageError(f"{where} holds {found:,} values for {length:,} rows")
    return values


def _checked(values: list[Any], allowed: Collection[type], where: str) -> list[Any]:
    for kind in set(map(type, values)).difference(allowed):
        names = " or ".join(sorted(each.__name__ for each in allowed))
        damaged(
            f"a value of {where}", f"of type {names}", next(v for v in values if type(v) is kind)
        )
    return values


def _bounded(values: list[int], where: str) -> list[int]:
    if values and not -_I64_END <= min(values) <= max(values) < _I64_END:
        raise DamageError(f"{where} holds a number of more than 64 bits")
    return values
