"""What a saved engine holds, as tables of columns, and the way back.

What many rows share (tags, parameters, firings, conditions of tasks) is stored once and
shared again after loading. Instants are stored as distances from their neighbours, which
a cron expression makes equal, and equal neighbours are counted. So of a million promises
that a schedule fired little more than their ids is written.

Whoever can write a file can write its checksum, so reading trusts nothing: types, lengths
and places first, then what each record says, and then the laws that the engine leans on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from itertools import repeat
from operator import add, sub
from typing import Any, Final, TypeVar, cast

from resonate_lab._html import plain
from resonate_lab.cron import DIALECTS, CronError, CronExpression
from resonate_lab.engine.rows import Firing, PromiseRow, ScheduleRow, TaskRow
from resonate_lab.engine.runs import Runs
from resonate_lab.engine.saved.columns import (
    DamageError,
    Pool,
    damaged,
    integers,
    maybe_integers,
    member,
    packed,
    packed_rises,
    pooled,
    rises,
    texts,
    words,
)
from resonate_lab.engine.state import State
from resonate_lab.protocol.profile import PROFILES, Profile
from resonate_lab.protocol.records import (
    EMPTY_VALUE,
    PENDING,
    PROMISE_STATES,
    TARGET_TAG,
    TASK_STATES,
    Step,
    Ticks,
    Value,
)

__all__ = ["content_of", "restored"]

T = TypeVar("T")

_NONE: Final = type(None)


# --- writing -----------------------------------------------------------------------------


class _Pools:
    """What rows share, each once."""

    def __init__(self) -> None:
        self.values = Pool[Value](dict, by_identity=True)
        self.tags = Pool[Mapping[str, str]](dict, by_identity=True)
        self.firings = Pool[Firing | None](lambda firing: firing and list(firing))
        self.tasks = Pool[TaskRow | None](_task_shown)
        self.ticks = Pool[Ticks | None](lambda ticks: ticks and list(ticks))

    def shown(self) -> dict[str, list[object]]:
        """Return the pools as they are written."""
        return {name: pool.items for name, pool in vars(self).items()}


def _task_shown(task: TaskRow | None) -> list[object] | None:
    return task and [sorted(value) if isinstance(value, frozenset) else value for value in task]


def content_of(state: State, runs: Runs) -> dict[str, object]:
    """Return what is to be written of a state and its runs, for JSON."""
    pools = _Pools()
    content: dict[str, object] = {
        "profile": asdict(state.profile),
        "now": runs.now,
        "opened_at": runs.opened_at,
        "firing": runs.firing,
        "rest": list(runs.rest),
        "polled_at": state.polled_at,
        "polling": state.polling,
        "steps": state.steps,
        "ranks": state.ranks,
        "promises": _promises_packed(list(state.promises.values()), pools),
        "schedules": _schedules_packed(list(state.schedules.values()), pools),
        "callbacks": _pairs_packed(_pairs(state.callbacks)),
        "listeners": _pairs_packed(_pairs(state.listeners)),
        # The promise is settled, so the message shows it as it is stored.
        "unblocks": _pairs_packed(list(state.unblocks)),
        "trace": _trace_packed(state.trace, pools),
    }
    return {**content, "pools": pools.shown()}


def _columns(rows: Collection[Sequence[Any]], fields: Sequence[str]) -> dict[str, Sequence[Any]]:
    """Return named columns of rows, which may be none."""
    columns = zip(*rows, strict=True) if rows else repeat((), len(fields))
    return dict(zip(fields, columns, strict=True))


def _promises_packed(rows: list[PromiseRow], pools: _Pools) -> dict[str, object]:
    column = _columns(rows, PromiseRow._fields)
    created, timeout = column["created_at"], column["timeout_at"]
    lived = [
        None if settled is None else deadline - settled
        for settled, deadline in zip(column["settled_at"], timeout, strict=True)
    ]
    return {
        "rows": len(rows),
        "id": packed(column["id"]),
        "state": packed(column["state"]),
        "created_at": packed_rises(created),
        "timeout": packed(list(map(sub, timeout, created))),
        "left_at_settlement": packed(lived),
        "param": pools.values.packed(column["param"]),
        "value": pools.values.packed(column["value"]),
        "tags": pools.tags.packed(column["tags"]),
        "firing": pools.firings.packed(column["firing"]),
        "task": pools.tasks.packed(column["task"]),
    }


def _schedules_packed(rows: list[ScheduleRow], pools: _Pools) -> dict[str, object]:
    column = _columns(rows, ScheduleRow._fields)
    plainly = (
        "id",
        "cron",
        "promise_id",
        "promise_timeout",
        "created_at",
        "next_run_at",
        "last_run_at",
        "rank",
    )
    return {
        "rows": len(rows),
        **{name: packed(column[name]) for name in plainly},
        "promise_param": pools.values.packed(column["promise_param"]),
        "promise_tags": pools.tags.packed(column["promise_tags"]),
    }


def _pairs(table: Mapping[str, Collection[str]]) -> list[tuple[str, str]]:
    return [(id, other) for id, others in table.items() for other in sorted(others)]


def _pairs_packed(pairs: list[tuple[str, str]]) -> dict[str, object]:
    column = _columns(pairs, ("id", "other"))
    return {"rows": len(pairs), **{name: packed(values) for name, values in column.items()}}


def _trace_packed(steps: Collection[Step], pools: _Pools) -> dict[str, object]:
    column = _columns(steps, Step._fields)
    return {
        "rows": len(steps),
        "at": packed_rises(column["at"]),
        **{name: packed(column[name]) for name in ("step", "subject", "effect")},
        "ticks": pools.ticks.packed(column["ticks"]),
    }


# --- reading -----------------------------------------------------------------------------


def restored(content: object) -> tuple[State, Runs]:
    """Return the state and its runs that a content tells of.

    Raises
    ------
    DamageError
        it tells of none that an engine can have
    """
    whole = _Object(content, "the content")
    state = State(_profile(whole))
    state.polled_at, state.steps = whole.integer("polled_at"), whole.integer("steps")
    state.polling = whole.member("polling", bool)
    pools = _ReadPools(_Object(whole.member("pools", dict), "pools"))

    promises = _promises(_Table(whole, "promises"), pools)
    state.promises.update((row.id, row) for row in promises)
    state.created += state.promises
    _refuse_twins("promises", len(promises), len(state.promises))
    schedules = _schedules(_Table(whole, "schedules"), pools, state.profile.dialect)
    state.schedules.update((row.id, row) for row in schedules)
    _refuse_twins("schedules", len(schedules), len(state.schedules))
    state.ranks = max(whole.integer("ranks"), *(row.rank for row in schedules), 0)

    for awaited, awaiter in _pairs_read(whole, "callbacks"):
        _pending(state, "callbacks", awaited)
        if _stored(state, "callbacks", awaiter).task is None:
            damaged("callbacks.other", "the id of a promise with a task", awaiter)
        state.add_callback(awaited, awaiter)
    for id, address in _pairs_read(whole, "listeners"):
        _pending(state, "listeners", id)
        state.add_listener(id, address)
    for id, address in _pairs_read(whole, "unblocks"):
        state.unblocks[id, address] = _stored(state, "unblocks", id)
    state.trace.extend(_trace(_Table(whole, "trace"), pools))
    state.rebuild_agenda()
    runs = Runs(state, whole.integer("now"))
    runs.opened_at = whole.maybe_integer("opened_at")
    runs.firing = whole.member("firing", bool)
    rest = whole.member("rest", list)
    runs.rest += texts({"each": rest}, len(rest), "rest")
    return state, runs


def _stored(state: State, where: str, id: str) -> PromiseRow:
    row = state.promises.get(id)
    if row is None:
        damaged(f"{where}.id", "the id of a promise", id)
    return row


def _pending(state: State, where: str, id: str) -> None:
    if _stored(state, where, id).state != PENDING:
        damaged(f"{where}.id", "the id of a pending promise", id)


def _refuse_twins(where: str, rows: int, ids: int) -> None:
    if ids < rows:
        raise DamageError(f"{where}.id tells some id twice: {rows:,} rows have {ids:,} ids")


class _Object:
    """An object of the file, read by its members."""

    def __init__(self, data: object, where: str) -> None:
        self.data = data
        self.where = where

    def member(self, name: str, kind: type[T]) -> T:
        """Return a member that is of exactly that type."""
        return member(self.data, name, kind, self.where)

    def maybe_integer(self, name: str) -> int | None:
        """Return a member that is null or an integer of 64 bits."""
        is_null = type(self.data) is dict and name in self.data and self.data[name] is None
        return None if is_null else self.integer(name)

    def integer(self, name: str) -> int:
        """Return a member that is an integer of 64 bits."""
        return integers({"each": [self.member(name, int)]}, 1, f"{self.where}.{name}")[0]


class _Table(_Object):
    """A table of the file, read by its columns."""

    def __init__(self, whole: _Object, name: str) -> None:
        super().__init__(whole.member(name, dict), name)
        self.rows = self.integer("rows")

    def column(self, name: str, read: Callable[..., list[T]], *more: object) -> list[T]:
        """Return a column, read in one of the ways of `columns`."""
        return read(self.member(name, dict), self.rows, f"{self.where}.{name}", *more)


def _profile(whole: _Object) -> Profile:
    rules = whole.member("profile", dict)
    said = {item.name: _rule(rules, item.name) for item in fields(Profile)}
    if said["dialect"] not in DIALECTS:
        damaged("profile.dialect", f"one of {', '.join(DIALECTS)}", said["dialect"])
    try:
        return Profile(**said)
    except ValueError as err:
        raise DamageError(str(err)) from err


def _rule(rules: dict[str, Any], name: str) -> Any:
    """Return what a rule says, if it is of the type of what the named profiles say."""
    if name not in rules:
        raise DamageError(f"profile lacks the rule {name!r}")
    value = rules[name]
    if type(value) is list:
        value = tuple(value)
    kinds = {type(getattr(profile, name)) for profile in PROFILES.values()}
    is_text = type(value) is not tuple or all(type(item) is str for item in value)
    if type(value) not in kinds or not is_text:
        damaged(f"profile.{name}", "what the rule can say", value)
    return value


class _ReadPools:
    """The pools of a file, each value looked at."""

    def __init__(self, pools: _Object) -> None:
        self.values = [_value(item) for item in pools.member("values", list)]
        self.tags = [_tags("pools.tags", item) for item in pools.member("tags", list)]
        self.firings = [_firing(item) for item in pools.member("firings", list)]
        self.tasks = [_task(item) for item in pools.member("tasks", list)]
        self.ticks = [_ticks(item) for item in pools.member("ticks", list)]


def _tags(where: str, item: object) -> dict[str, str]:
    if type(item) is not dict or not all(type(text) is str for text in item.values()):
        damaged(f"an item of {where}", "an object of texts", item)
    return item


def _value(item: object) -> Value:
    where = "pools.values"
    if type(item) is not dict or not item.keys() <= {"headers", "data"}:
        damaged(f"an item of {where}", "a value with headers and data", item)
    if "headers" in item:
        _tags(f"{where}.headers", item["headers"])
    if type(item.get("data", "")) is not str:
        damaged(f"an item of {where}.data", "a text", item["data"])
    return cast(Value, item) if item else EMPTY_VALUE


def _fields(item: object, where: str, *kinds: type | tuple[type, ...]) -> list[Any]:
    """Return the members of a list, if they are of these types."""
    if type(item) is not list or len(item) != len(kinds):
        damaged(f"an item of {where}", f"a list of {len(kinds)}", item)
    for value, kind in zip(item, kinds, strict=True):
        allowed = kind if isinstance(kind, tuple) else (kind,)
        if type(value) not in allowed or (type(value) is int and abs(value) >= 2**63):
            damaged(f"a member of {where}", " or ".join(one.__name__ for one in allowed), value)
    return item


def _firing(item: object) -> Firing | None:
    return None if item is None else Firing(*_fields(item, "pools.firings", str, int, bool))


def _ticks(item: object) -> Ticks | None:
    return None if item is None else Ticks(*_fields(item, "pools.ticks", *[int] * 6))


def _task(item: object) -> TaskRow | None:
    if item is None:
        return None
    where, maybe = "pools.tasks", (int, _NONE)
    state, version, resumes, *rest = _fields(
        item, where, str, int, list, maybe, (str, _NONE), maybe, maybe, maybe
    )
    if state not in TASK_STATES:
        damaged(f"a state of {where}", f"one of {', '.join(TASK_STATES)}", state)
    if not all(type(id) is str for id in resumes):
        damaged(f"resumes of {where}", "a list of texts", resumes)
    return TaskRow(state, version, frozenset(resumes), *rest)


def _promises(table: _Table, pools: _ReadPools) -> list[PromiseRow]:
    created = table.column("created_at", rises)
    timeout = list(map(add, created, table.column("timeout", integers)))
    left = table.column("left_at_settlement", maybe_integers)
    settled = [
        None if rest is None else deadline - rest
        for deadline, rest in zip(timeout, left, strict=True)
    ]
    columns = (
        table.column("id", texts),
        table.column("state", words, PROMISE_STATES),
        table.column("param", pooled, pools.values),
        table.column("value", pooled, pools.values),
        table.column("tags", pooled, pools.tags),
        timeout,
        created,
        settled,
        table.column("firing", pooled, pools.firings),
        table.column("task", pooled, pools.tasks),
    )
    # PromiseRow(...) by another name, at half the time.
    made = map(tuple.__new__, repeat(PromiseRow), zip(*columns, strict=True))
    rows = cast(list[PromiseRow], list(made))
    for row in rows:
        # What the code leans on everywhere; other lies are for `Engine.check` to find.
        if (row.settled_at is None) != (row.state == PENDING):
            damaged(f"settlement of promise {plain(row.id, 40)!r}", "that of its state", row.state)
        if (row.task is None) != (TARGET_TAG not in row.tags):
            damaged(f"task of promise {plain(row.id, 40)!r}", "that of its target", row.task)
    return rows


def _schedules(table: _Table, pools: _ReadPools, dialect: str) -> list[ScheduleRow]:
    crons = table.column("cron", texts)
    columns = (
        table.column("id", texts),
        crons,
        table.column("promise_id", texts),
        table.column("promise_timeout", integers),
        table.column("promise_param", pooled, pools.values),
        table.column("promise_tags", pooled, pools.tags),
        table.column("created_at", integers),
        table.column("next_run_at", maybe_integers),
        table.column("last_run_at", maybe_integers),
        table.column("rank", integers),
        [_compiled(cron, dialect) for cron in crons],
    )
    return list(map(ScheduleRow._make, zip(*columns, strict=True)))


def _compiled(cron: str, dialect: str) -> CronExpression:
    try:
        return CronExpression(cron, dialect=dialect)
    except CronError as err:
        raise DamageError(f"schedules.cron holds {plain(cron)!r}: {err}") from err


def _pairs_read(whole: _Object, name: str) -> Iterator[tuple[str, str]]:
    table = _Table(whole, name)
    return zip(table.column("id", texts), table.column("other", texts), strict=True)


def _trace(table: _Table, pools: _ReadPools) -> Iterator[Step]:
    columns = (
        table.column("at", rises),
        table.column("step", texts),
        table.column("subject", texts),
        table.column("effect", texts),
        table.column("ticks", pooled, pools.ticks),
    )
    return map(Step._make, zip(*columns, strict=True))
