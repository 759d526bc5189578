"""The searches: what is stored, in byte order of the ids, a page at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import TypeAlias

from resonate_lab.engine.replies import Reply
from resonate_lab.engine.state import State
from resonate_lab.protocol.records import Record
from resonate_lab.protocol.requests import PromiseSearch, ScheduleSearch, TaskSearch

__all__ = ["promise_search", "schedule_search", "task_search"]

Search: TypeAlias = PromiseSearch | TaskSearch | ScheduleSearch


def promise_search(state: State, now: int, request: PromiseSearch) -> Reply:
    """Answer ``promise.search`` from what is stored; nothing is touched."""
    wanted = request.tags or {}

    def record(id: str) -> Record | None:
        row = state.promises[id]
        if request.state not in (None, row.state):
            return None
        if any(row.tag(name) != text for name, text in wanted.items()):
            return None
        return row.record()

    return _page(state, "promises", lambda: _candidates(state, wanted), request, 100, record)


def _candidates(state: State, wanted: Mapping[str, str]) -> list[str]:
    """Return ids in byte order, among them all of the promises that have these tags."""
    if not wanted:
        return state.promise_ids()
    return min((state.tagged_ids(name, text) for name, text in wanted.items()), key=len)


def task_search(state: State, now: int, request: TaskSearch) -> Reply:
    """Answer ``task.search`` from what is stored; nothing is touched."""

    def record(id: str) -> Record | None:
        task = state.promises[id].task
        if task is None or request.state not in (None, task.state):
            return None
        return task.record(id)

    return _page(state, "tasks", state.promise_ids, request, 100, record)


def schedule_search(state: State, now: int, request: ScheduleSearch) -> Reply:
    """Answer ``schedule.search``; the tags are those of the promises to come."""
    wanted = request.tags or {}

    def record(id: str) -> Record | None:
        row = state.schedules[id]
        matches = all(row.promise_tags.get(name) == text for name, text in wanted.items())
        return row.record() if matches else None

    return _page(state, "schedules", state.schedule_ids, request, 10, record)


def _page(
    state: State,
    table: str,
    candidates: Callable[[], list[str]],
    request: Search,
    default_limit: int,
    record: Callable[[str], Record | None],
) -> Reply:
    """Answer with the records behind the cursor, and a cursor if there are more."""
    if not state.profile.serves_search:
        return Reply(501, f"Search of {table} is not served in profile {state.profile.name!r}")
    ids = candidates()
    limit = request.limit or default_limit
    found = _scan(ids, request.cursor, limit + 1, record)
    if not found and request.cursor is not None and state.profile.cursor_wraps:
        found = _scan(ids, None, limit + 1, record)
    page: dict[str, object] = {table: [item.to_wire() for _, item in found[:limit]]}
    if len(found) > limit:
        page["cursor"] = found[limit - 1][0]
    return Reply(200, page)


def _scan(
    ids: list[str], cursor: str | None, most: int, record: Callable[[str], Record | None]
) -> list[tuple[str, Record]]:
    found = []
    for at in range(0 if cursor is None else bisect_right(ids, cursor), len(ids)):
        item = record(ids[at])
        if item is not None:
            found.append((ids[at], item))
            if len(found) == most:
                break
    return found
