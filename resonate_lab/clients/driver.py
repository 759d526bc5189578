"""Time with workers: at every instant all of them do their part before the next one comes.

A worker that suspends, fulfils or releases its task says so in a request, and one that was
told of a task acquires it. So the engine's own traffic shows when all are at rest: nobody
holds a task, other than asleep, and nobody has been told of one that he has not asked for.
Only then does time move, to the next instant at which something happens by itself.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from resonate_lab._html import plain
from resonate_lab.clients.delivery import Member, Post
from resonate_lab.engine import Engine, Outage
from resonate_lab.engine.tree import function_name
from resonate_lab.errors import WorkerError
from resonate_lab.instants import duration_ms, format_instant, instant_ms
from resonate_lab.protocol.records import ACQUIRED, PENDING, is_timer

if TYPE_CHECKING:
    from resonate_lab.instants import Duration, Instant

__all__ = ["MESSAGES_PER_CALL", "PATIENCE", "RELEASES", "Alarm", "Driver"]

#: Seconds of real time for which one waits for a worker that holds a task and says nothing.
PATIENCE: Final = 60.0
#: How often a task may be released at one instant. A release means that the worker could not
#: run it, and without time passing nothing changes.
RELEASES: Final = 20
#: Execute messages that one call graph may cause at one instant, and promises it may create.
MESSAGES_PER_CALL: Final = 10_000
#: Promises that it may create at one instant that lasts longer than one has patience: the more
#: there are, the longer each takes, and 10,000 would never come.
PROMISES_IN_TIME: Final = 1_000

#: What a worker says of a task that it works on; a heartbeat comes from one that is stuck, too.
_AT_WORK: Final = frozenset(
    f"task.{verb}" for verb in ("acquire", "create", "fence", "fulfill", "release", "suspend")
)
#: Turns of the event loop without a request after which clients that hold no task are taken
#: to be waiting: what follows from a response, or from a wake-up, comes within a few.
_QUIET_TURNS: Final = 12


@dataclass(slots=True, order=True)
class Alarm:
    """Something to be done at an instant, ms since the Unix epoch, UTC, for a task."""

    at: int
    number: int
    ring: Callable[[], None] | None
    task_id: str


class Driver:
    """An engine whose clock waits for its workers.

    Everything happens on one event loop. Workers send their requests by `send`.

    Parameters
    ----------
    engine : Engine
    patience : float
        seconds of real time

    Attributes
    ----------
    engine : Engine
    post : Post
    """

    def __init__(self, engine: Engine, patience: float = PATIENCE) -> None:
        self.engine = engine
        self.post = Post(engine)
        self.patience = patience
        # Task ids, with the worker; at most one message and one holder each.
        self._told: dict[str, Member] = {}
        self._held: dict[str, str] = {}
        self._alarms: list[Alarm] = []
        self._asleep: Counter[str] = Counter()
        self._numbers = count()
        self._moved = asyncio.Event()
        self._counted_at = engine.now_ms
        self._releases: Counter[str] = Counter()
        self._messages: Counter[str] = Counter()
        self._created: Counter[str] = Counter()
        self._prolific: str | None = None
        self._heard_at = 0.0
        self._refused: dict[str, str] = {}
        self._spinning: str | None = None
        self._moving = asyncio.Lock()

    # --- what workers do -----------------------------------------------------------------

    def send(self, envelope: object) -> dict[str, object]:
        """Answer a request, and see what it says about who is at work."""
        before = len(self.engine.state.promises)
        response = self.engine.send(envelope)
        self._note(envelope, response, len(self.engine.state.promises) > before)
        self.stir()
        return response

    def told(self, member: Member, message: Mapping[str, Any]) -> None:
        """Note that a worker gets a message."""
        if message["kind"] == "execute":
            id = message["data"]["task"]["id"]
            self._told[id] = member
            self._hear()
            self._count(self._messages, _root(id), MESSAGES_PER_CALL)

    def stir(self) -> None:
        """Look for new messages, and at the workers once more."""
        self.post.call()
        self._moved.set()

    def set_alarm(self, seconds: float, ring: Callable[[], None], task_id: str = "") -> Alarm:
        """Have something done after some seconds of the engine's time.

        With a task's id it is that task which sleeps until then.
        """
        at = self.engine.now_ms + max(1, -int(-seconds * 1000 // 1))
        alarm = Alarm(at, next(self._numbers), ring, task_id)
        heappush(self._alarms, alarm)
        self._asleep[task_id] += 1
        self._moved.set()
        return alarm

    def cancel(self, alarm: Alarm) -> None:
        """Let nothing be done after all."""
        if alarm.ring is not None:
            alarm.ring = None
            self._asleep[alarm.task_id] -= 1
            if not self._asleep[alarm.task_id]:
                del self._asleep[alarm.task_id]

    def leave(self, member: Member, *, for_good: bool = False) -> None:
        """Wait for a worker no more: it is gone, and what it holds is for its lease to free.

        One that is gone for good does not come back to what it holds: who comes by its name is
        another.
        """
        self.post.leave(member)
        self._told = {id: other for id, other in self._told.items() if other is not member}
        # It may come back to what it holds; what nobody holds any more is not kept for it.
        self._held = {
            id: pid
            for id, pid in self._held.items()
            if self.post.is_listening(pid)
            or (self._is_acquired(id) and not (for_good and pid == member.pid))
        }
        self._moved.set()

    def forget(self) -> None:
        """Forget who is at work: where time passes by itself nobody is waited for."""
        self._told.clear()
        self._held.clear()

    def _is_acquired(self, id: str) -> bool:
        row = self.engine.state.promises.get(id)
        return row is not None and row.task is not None and row.task.state == ACQUIRED

    def _hear(self) -> None:
        self._heard_at = asyncio.get_running_loop().time()

    def _note(self, envelope: object, response: Mapping[str, Any], creates: bool) -> None:
        kind, status, data = response["kind"], response["head"]["status"], response["data"]
        if kind not in _AT_WORK or not isinstance(envelope, dict):
            return
        self._hear()
        asked = envelope["data"] if isinstance(envelope.get("data"), dict) else {}
        if status == 400 and isinstance(asked.get("id"), str):
            self._refused[asked["id"]] = f"{kind} with {status} ({plain(data, 200)})"
        if kind in ("task.acquire", "task.create"):
            if isinstance(asked.get("id"), str):
                self._told.pop(asked["id"], None)
            if status == 200 and data["task"]["state"] == "acquired":
                promise = data["promise"]
                # A durable sleep is left alone by its worker: its deadline settles it.
                if not (is_timer(promise["tags"]) and promise["state"] == PENDING):
                    self._held[data["task"]["id"]] = asked["pid"]
        elif kind == "task.fence":
            if creates:
                root = _root(asked["id"])
                self._count(self._created, root, MESSAGES_PER_CALL)
                if self._created[root] > PROMISES_IN_TIME:
                    self._prolific = root
        elif kind in ("task.fulfill", "task.release", "task.suspend") and status != 300:
            id = asked.get("id")
            if isinstance(id, str) and status < 500:
                self._held.pop(id, None)
                if kind == "task.release" and status == 200:
                    self._count(self._releases, id, RELEASES)

    # --- spinning ------------------------------------------------------------------------

    def _count(self, counter: Counter[str], id: str, limit: int) -> None:
        if self._counted_at != self.engine.now_ms:
            self._count_anew()
        counter[id] += 1
        if counter[id] > limit and self._spinning is None:
            self._spinning = id

    def _count_anew(self) -> None:
        self._counted_at = self.engine.now_ms
        self._releases.clear()
        self._messages.clear()
        self._created.clear()
        self._refused.clear()
        self._spinning = self._prolific = None

    def _refuse_spin(self) -> None:
        if self._spinning is None or self._counted_at != self.engine.now_ms:
            return
        id, at = self._spinning, format_instant(self.engine.now_ms)
        if self._releases[id] > RELEASES:
            why = (
                f"the engine, of profile {self.engine.profile.name!r}, refuses its "
                f"{self._refused[id]}"
                if id in self._refused
                else "a worker could not run it, so register the function in that group (or see "
                "that its argument can be decoded and its result encoded)"
            )
            raise WorkerError(
                f"{self._called(id)} was given back {RELEASES} times at {at} and spins: {why}"
            )
        made = "caused" if self._messages[id] > MESSAGES_PER_CALL else "created"
        what = "execute messages" if made == "caused" else "promises"
        raise WorkerError(
            f"{self._called(id)} {made} {MESSAGES_PER_CALL:,} {what} at {at} without "
            "time passing, and spins: bound its recursion, or let it sleep"
        )

    def _refuse_endless(self, began: float) -> None:
        id = self._prolific
        if id is None or self._counted_at != self.engine.now_ms:
            return
        if asyncio.get_running_loop().time() - began > self.patience:
            raise WorkerError(
                f"{self._called(id)} created {self._created[id]:,} promises at "
                f"{format_instant(self.engine.now_ms)} in over {self.patience:g} s and goes on: "
                "bound its loop, let it sleep, or have more patience"
            )

    def _called(self, id: str) -> str:
        row = self.engine.state.promises.get(id)
        name = "" if row is None else function_name(row.param)
        return f"promise {plain(id, 120)!r}" + (f" (function {plain(name, 80)!r})" if name else "")

    # --- coming to rest ------------------------------------------------------------------

    async def settle(self) -> None:
        """Let the workers do all that they can do at this instant.

        Raises
        ------
        WorkerError
            one spins, or holds a task and has said nothing for as long as patience lasts
        """
        self.post.call()
        # What spun until now may have been seen to.
        self._count_anew()
        self._hear()
        began = self._heard_at
        turns = 0
        while turns < _QUIET_TURNS:
            self._refuse_spin()
            self._refuse_endless(began)
            self._moved.clear()
            if next(self._at_work(), None) is not None:
                await self._wait()
                turns = 0
                continue
            await asyncio.sleep(0)
            turns = 0 if self._moved.is_set() else turns + 1

    def _at_work(self) -> Iterator[str]:
        """Yield the ids of the tasks for which one has to wait."""
        for id, pid in self._held.items():
            if self._asleep[id] <= 0 and self.post.is_listening(pid):
                yield id
        holds = Counter(self._held.values())
        yield from (id for id, to in self._told.items() if holds[to.pid] < to.most_tasks)

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout_at(self._heard_at + self.patience):
                await self._moved.wait()
        except TimeoutError:
            late = list(self._at_work())
            for id in late:
                self._told.pop(id, None)
                self._held.pop(id, None)
            raise WorkerError(
                f"{self._called(late[0])}, {len(late)} in all, is with a worker that has said "
                f"nothing of it for {self.patience:g} s: let the function end or suspend (a "
                "durable sleep is ctx.sleep), or have more patience"
            ) from None

    # --- time ----------------------------------------------------------------------------

    async def advance(self, duration: Duration) -> None:
        """Let time pass, and the workers work; see `run_until`."""
        length = duration_ms(duration)
        async with self._moving:
            # From when it is one's turn: what another let pass before is not part of it.
            await self._pass_until(self.engine.now_ms + length)

    async def run_until(self, instant: Instant) -> None:
        """Let time pass up to an instant; at each at which something happens all come to rest.

        Raises
        ------
        WindowError
            the instant lies before the clock
        WorkerError
            a worker spins, or does not come to rest
        """
        until = instant_ms(instant)
        async with self._moving:
            await self._pass_until(until)

    async def _pass_until(self, until: int) -> None:
        await self.settle()
        while (at := self._next()) is not None and at <= until:
            self.engine.run_until(at)
            self._ring()
            await self.settle()
        self.engine.run_until(until)
        await self.settle()

    async def outage(self, duration: Duration) -> Outage:
        """Let time pass with the server down, restart it, and let all come to rest."""
        async with self._moving:
            await self.settle()
            outage = self.engine.outage(duration)
            self._ring()
            await self.settle()
            return outage

    def _next(self) -> int | None:
        while self._alarms and self._alarms[0].ring is None:
            heappop(self._alarms)
        heads = [alarm.at for alarm in self._alarms[:1]]
        if (at := self.engine.next_run_ms()) is not None:
            heads.append(max(at, self.engine.now_ms))
        return min(heads, default=None)

    def _ring(self) -> None:
        while self._alarms and self._alarms[0].at <= self.engine.now_ms:
            alarm = heappop(self._alarms)
            ring = alarm.ring
            if ring is not None:
                self.cancel(alarm)
                ring()


def _root(id: str) -> str:
    """Return the root of the call graph of an id, by the clients' separator."""
    return id.partition(":")[0]
