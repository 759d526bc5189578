"""What a request is answered with."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from resonate_lab.engine.rows import PromiseRow, TaskRow
from resonate_lab.engine.state import State
from resonate_lab.protocol.records import BRANCH_TAG

__all__ = ["Reply", "preload", "promise_reply", "task_reply"]


class Reply(NamedTuple):
    """Status and data of a response; the data of a refusal is its text."""

    status: int
    data: object


def promise_reply(row: PromiseRow) -> Reply:
    """Return the answer that shows a promise."""
    return Reply(200, {"promise": row.record().to_wire()})


def task_reply(state: State, row: PromiseRow, task: TaskRow, siblings: bool = True) -> Reply:
    """Return the answer that hands a task over: with its promise, and with its siblings."""
    return Reply(
        200,
        {
            "task": task.record(row.id).to_wire(),
            "promise": row.record().to_wire(),
            "preload": preload(state, row) if siblings else [],
        },
    )


def preload(state: State, row: PromiseRow) -> list[object]:
    """Return the other promises of a promise's branch, as they are stored, by id."""
    branch = row.tag(BRANCH_TAG)
    if branch is None or (not branch and not state.profile.empty_branch_matches):
        return []
    ids = state.tagged_ids(BRANCH_TAG, branch)
    own = bisect_left(ids, row.id)
    return [state.promises[id].record().to_wire() for id in (*ids[:own], *ids[own + 1 :])]
