"""The searches: what is stored, in byte order of the ids, a page at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TypeAlias

from resonate_lab.engine.replies import Reply
from resonate_lab.engine.rows import PromiseRow
from resonate_lab.engine.state import State
from resonate_lab.protocol.records import Record
from resonate_lab.protocol.requests import PromiseSearch, ScheduleSearch, TaskSearch

__all__ = ["promise_search", "schedule_search", "task_search"]

Search: TypeAlias = PromiseSearch | TaskSearch | ScheduleSearch
#: From ids to the ids and records of those that are looked for, one by one.
Filter: TypeAlias = Callable[[Iterable[str]], Iterator[tuple[str, Record]]]


def promise_search(state: State, now: int, request: PromiseSearch) -> Reply:
    """Answer ``promise.search`` from what is stored; nothing is touched."""
    wanted = request.tags or {}

    def matching(ids: Iterable[str]) -> Iterator[tuple[str, Record]]:
        rows: Iterator[PromiseRow] = map(state.promises.__getitem__, ids)
        if request.state is not None:
            rows = (row for row in rows if row.state == request.state)
        return (
            (row.id, row.record())
            for row in rows
            if all(row.tag(name) == text for name, text in wanted.items())
        )

    return _page(state, "promises", lambda: _candidates(state, wanted), request, 100, matching)


def _candidates(state: State, wanted: Mapping[str, str]) -> list[str]:
    """Return ids in byte order, among them all of the promises that have these tags."""
    if not wanted:
        return state.promise_ids()
    return min((state.tagged_ids(name, text) for name, text in wanted.items()), key=len)


def task_search(state: State, now: int, request: TaskSearch) -> Reply:
    """Answer ``task.search`` from what is stored; nothing is touched."""

    def matching(ids: Iterable[str]) -> Iterator[tuple[str, Record]]:
        return (
            (row.id, row.task.record(row.id))
            for row in map(state.promises.__getitem__, ids)
            if row.task is not None and request.state in (None, row.task.state)
        )

    return _page(state, "tasks", state.promise_ids, request, 100, matching)


def schedule_search(state: State, now: int, request: ScheduleSearch) -> Reply:
    """Answer ``schedule.search``; the tags are those of the promises to come."""
    wanted = request.tags or {}

    def matching(ids: Iterable[str]) -> Iterator[tuple[str, Record]]:
        return (
            (row.id, row.record())
            for row in map(state.schedules.__getitem__, ids)
            if wanted.items() <= row.promise_tags.items()
        )

    return _page(state, "schedules", state.schedule_ids, request, 10, matching)


def _page(
    state: State,
    table: str,
    candidates: Callable[[], list[str]],
    request: Search,
    default_limit: int,
    matching: Filter,
) -> Reply:
    """Answer with the records behind the cursor, and a cursor if there are more."""
    if not state.profile.serves_search:
        return Reply(501, f"Search of {table} is not served in profile {state.profile.name!r}")
    ids = candidates()
    limit = request.limit or default_limit
    found = _scan(ids, request.cursor, limit + 1, matching)
    if not found and request.cursor is not None and state.profile.cursor_wraps:
        found = _scan(ids, None, limit + 1, matching)
    page: dict[str, object] = {table: [item.to_wire() for _, item in found[:limit]]}
    if len(found) > limit:
        page["cursor"] = found[limit - 1][0]
    return Reply(200, page)


def _scan(
    ids: list[str], cursor: str | None, most: int, matching: Filter
) -> list[tuple[str, Record]]:
    start = 0 if cursor is None else bisect_right(ids, cursor)
    return list(islice(matching(map(ids.__getitem__, range(start, len(ids)))), most))
