"""The outbox: the messages that wait, by address, and the one way out of it.

A message is no record of its own: an execute message stands in the row of its task, a
notice in `State.unblocks`. What is kept here is an order over them, built when somebody
first asks for news and kept up from then on; who takes no messages does not pay for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, TypeAlias

from resonate_lab.engine.rows import PromiseRow
from resonate_lab.protocol.records import PENDING, TARGET_TAG

if TYPE_CHECKING:
    from resonate_lab.engine.state import State

__all__ = ["Outbox", "execute_message", "take_messages", "unblock_message"]

# Since when it can wait (creation of the promise, or its settlement; ms since the Unix epoch,
# UTC), whether it is a notice, the id of the promise: an order that hangs on the records alone,
# so that a copy of an engine delivers as the engine itself.
_Entry: TypeAlias = tuple[int, bool, str]

_NOTICE: Final = True


class Outbox:
    """Which messages wait for which address, oldest first.

    Parameters
    ----------
    promises : mapping of str to PromiseRow
    unblocks : mapping of (str, str) to PromiseRow
        the notices, by promise id and address
    """

    def __init__(
        self, promises: Mapping[str, PromiseRow], unblocks: Mapping[tuple[str, str], PromiseRow]
    ) -> None:
        self._promises = promises
        self._unblocks = unblocks
        self._heaps: dict[str, list[_Entry]] | None = None
        self._news: dict[str, None] = {}

    def close(self) -> None:
        """Forget the order; who asks next finds it anew, and every address is news."""
        self._heaps = None
        self._news = {}

    def news(self) -> list[str]:
        """Return the addresses that got a message while they had none, since last asked.

        At first, and after `close`, these are all that have messages: O(number of promises).
        """
        if self._heaps is None:
            self._heaps = {}
            self.note_each(self._promises.values())
            for (id, address), row in self._unblocks.items():
                self.note_notice(id, address, row)
        found, self._news = list(self._news), {}
        return found

    def waits(self, address: str) -> bool:
        """Return whether an address that was news has messages still. O(1)."""
        return self._heaps is not None and address in self._heaps

    def note(self, before: PromiseRow | None, row: PromiseRow) -> None:
        """Take in a promise, new or changed, whose task may have got a message."""
        if self._heaps is not None and _has_message(row) and not _has_message(before):
            self._enter(row.tags.get(TARGET_TAG, ""), (row.created_at, not _NOTICE, row.id))

    def note_each(self, rows: Iterable[PromiseRow]) -> None:
        """Take in promises that are new."""
        if self._heaps is not None:
            for row in rows:
                self.note(None, row)

    def note_notice(self, id: str, address: str, row: PromiseRow) -> None:
        """Take in a notice that is new."""
        if self._heaps is not None:
            self._enter(address, (row.settled_at or 0, _NOTICE, id))

    def _enter(self, address: str, entry: _Entry) -> None:
        assert self._heaps is not None
        heap = self._heaps.get(address)
        if heap is None:
            heap = self._heaps[address] = []
            self._news[address] = None
        heappush(heap, entry)

    def pop(self, address: str) -> Iterator[_Entry]:
        """Take the messages of an address out of the order, oldest first, as one asks for them."""
        if self._heaps is None:
            self._news = dict.fromkeys(self.news())
        heaps = self._heaps or {}
        while heap := heaps.get(address):
            entry = heappop(heap)
            if not heap:
                del heaps[address]
            yield entry


def _has_message(row: PromiseRow | None) -> bool:
    return row is not None and row.task is not None and row.task.queued is not None


def take_messages(
    state: State, now: int, address: str, most: int | None
) -> list[dict[str, object]]:
    """Take messages for an address out of the outbox; return them as the wire shows them.

    What is taken is gone: the retry of a task queues another one. An execute message that
    nobody can acquire by any more, since its task was acquired or its promise has settled,
    goes without being returned.
    """
    taken: list[dict[str, object]] = []
    if most == 0:
        return taken
    for _, is_notice, id in state.outbox.pop(address):
        if is_notice:
            taken.append(unblock_message(state.drop_unblock(id, address)))
            state.log(now, "delivery", id, f"unblock to {address}")
        else:
            task = state.promises[id].task
            assert task is not None
            state.put_task(id, task._replace(queued=None))
            if task.state == PENDING and task.queued == task.version:
                taken.append(execute_message(id, task.version))
                state.log(now, "delivery", id, f"execute to {address}")
            else:
                state.log(now, "delivery", id, "dropped, the task is not to be had")
        if len(taken) == most:
            break
    return taken


def execute_message(id: str, version: int) -> dict[str, object]:
    """Return the message that tells a worker to acquire a task."""
    return _message("execute", {"task": {"id": id, "version": version}})


def unblock_message(row: PromiseRow) -> dict[str, object]:
    """Return the message that tells a listener that a promise has settled."""
    return _message("unblock", {"promise": row.record().to_wire()})


def _message(kind: str, data: object) -> dict[str, object]:
    return {"kind": kind, "head": {}, "data": data}
