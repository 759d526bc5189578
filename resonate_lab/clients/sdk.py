"""The official Python SDK, unmodified, in this process and under the engine's clock.

The SDK takes a connection for its network and its source, and a clock, a sleeper and a
heartbeat for its time. Here all of them come from one engine.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from resonate_lab.clients.delivery import Member
from resonate_lab.clients.driver import PATIENCE, Alarm, Driver
from resonate_lab.errors import DurationError
from resonate_lab.instants import duration_ms
from resonate_lab.protocol.records import PROTOCOL_VERSION

try:
    from resonate.error import ConnectorError
    from resonate.heartbeat import NoopHeartbeat
    from resonate.resonate import DEFAULT_MAX_CONCURRENT_TASKS, Resonate
except (ImportError, SyntaxError) as err:
    raise ImportError(
        "the official SDK is not installed: pip install 'resonate-lab[sdk]', which needs "
        "Python 3.12 or newer"
    ) from err

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from resonate_lab.engine import Engine, Outage
    from resonate_lab.instants import Duration, Instant

__all__ = ["Connection", "Leases", "Simulation", "simulate"]

#: The task for which the code at hand runs; all that it starts inherits it.
_task: ContextVar[str] = ContextVar("task", default="")
#: The SDK's way to say that a lease does not end.
_ENDLESS: Final = timedelta(0)


class Connection:
    """What the SDK needs of a server: requests, messages, and sleep.

    Parameters
    ----------
    driver : Driver
    group, pid : str
    most_tasks : int
        how many tasks the SDK works on at once
    """

    def __init__(self, driver: Driver, group: str, pid: str, most_tasks: int) -> None:
        self.driver = driver
        self.group = group
        self.pid = pid
        self.is_dead = False
        self._most_tasks = most_tasks
        self._member: Member | None = None
        self._callbacks: list[Callable[[str], None]] = []
        self._sleeps: dict[asyncio.Future[None], Alarm] = {}

    # --- the SDK's two protocols ---------------------------------------------------------

    async def start(self) -> None:
        """Listen from now on."""
        if self._member is None and not self.is_dead:
            post = self.driver.post
            self._member = post.join(self.group, self.pid, self._take, self._most_tasks)

    async def stop(self) -> None:
        """Listen no more; who sleeps is cut off, for no time passes until he would wake."""
        if self._member is not None:
            self.driver.leave(self._member, for_good=True)
            self._member = None
        for awake in list(self._sleeps):
            awake.cancel()

    async def send(self, req: str, headers: dict[str, str] | None = None) -> str:
        """Answer a request, which is JSON, as JSON.

        Raises
        ------
        ConnectorError
            the worker is dead
        """
        if self.is_dead:
            raise ConnectorError(RuntimeError(f"worker {self.pid} is dead"))
        response = self.driver.send(json.loads(req))
        data: Any = response["data"]
        if isinstance(data, dict) and isinstance(data.get("task"), dict):
            _task.set(data["task"]["id"])
        return json.dumps(response)

    def unicast(self) -> str:
        """Return the address of this process alone."""
        return f"poll://uni@{self.group}/{self.pid}"

    def resolve_target(self, target: str) -> str:
        """Return the address of any member of a group."""
        return f"poll://any@{target}"

    def recv(self, callback: Callable[[str], None]) -> None:
        """Have messages brought, as JSON."""
        self._callbacks.append(callback)

    def _take(self) -> None:
        # Not from within: the request that led to the message is answered first.
        asyncio.get_running_loop().call_soon(self._take_each)

    def _take_each(self) -> None:
        while self._member is not None:
            messages = self.driver.post.take(self._member, 1)
            for message in messages:
                self.driver.told(self._member, message)
                for callback in self._callbacks:
                    callback(json.dumps(message))
            if not messages:
                break

    # --- time ----------------------------------------------------------------------------

    async def sleep(self, seconds: float) -> None:
        """Sleep in the engine's time: the pause before a retry, for instance."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        awake = asyncio.get_running_loop().create_future()
        alarm = self.driver.set_alarm(seconds, partial(_wake, awake), _task.get())
        self._sleeps[awake] = alarm
        try:
            await awake
        finally:
            self.driver.cancel(alarm)
            del self._sleeps[awake]

    def die(self) -> None:
        """Hear and say nothing any more; what sleeps never wakes."""
        self.is_dead = True
        for alarm in self._sleeps.values():
            self.driver.cancel(alarm)
        if self._member is not None:
            self.driver.leave(self._member, for_good=True)
            self._member = None


def _wake(awake: asyncio.Future[None]) -> None:
    if not awake.done():
        awake.set_result(None)


class Leases:
    """The SDK's heartbeat, in the engine's time: renews what is held at half its lease.

    Parameters
    ----------
    connection : Connection
    ttl : int
        length of the leases, ms
    """

    def __init__(self, connection: Connection, ttl: int) -> None:
        self._connection = connection
        self._seconds = ttl / 2000
        self._held: dict[str, int] = {}
        self._alarm: Alarm | None = None

    def start(self, task_id: str, task_version: int) -> None:
        """Renew the lease of a task from now on."""
        self._held[task_id] = task_version
        if self._alarm is None:
            self._alarm = self._connection.driver.set_alarm(self._seconds, self._renew)

    def stop(self, task_id: str) -> None:
        """Renew the lease of a task no more."""
        self._held.pop(task_id, None)

    def shutdown(self) -> None:
        """Renew nothing any more."""
        self._held.clear()
        if self._alarm is not None:
            self._connection.driver.cancel(self._alarm)
            self._alarm = None

    def _renew(self) -> None:
        self._alarm = None
        if not self._held or self._connection.is_dead:
            return
        driver = self._connection.driver
        tasks = [{"id": id, "version": version} for id, version in self._held.items()]
        # Those of one call graph go together: a server may refuse to renew over several.
        for task in tasks:
            data = {"pid": self._connection.pid, "tasks": [task]}
            head = {"corrId": "heartbeat", "version": PROTOCOL_VERSION}
            driver.send({"kind": "task.heartbeat", "head": head, "data": data})
        self._alarm = driver.set_alarm(self._seconds, self._renew)


class Simulation(Resonate):
    """The official `Resonate` object, on an engine, with time in the caller's hand.

    All of the SDK's own methods are there, unchanged: ``register``, ``schedule``, ``run``,
    ``rpc``, ``get``, ``promises``, ``schedules``, ``stop``. Made by `simulate`.

    Attributes
    ----------
    driver : Driver
    connection : Connection
    """

    def __init__(
        self, driver: Driver, group: str, pid: str, ttl: Duration | None, **options: Any
    ) -> None:
        most_tasks = options.get("max_concurrent_tasks") or DEFAULT_MAX_CONCURRENT_TASKS
        self.driver = driver
        self.connection = Connection(driver, group, pid, most_tasks)
        settings: dict[str, Any] = {
            "network": self.connection,
            "group": group,
            "pid": pid,
            "env": {},
            "clock": lambda: driver.engine.now_ms,
            "sleeper": self.connection.sleep,
            "subscription_refresh_secs": 0,
            "autostart": False,
            **_lease(self.connection, ttl),
        }
        if taken := sorted(settings.keys() & options.keys()):
            raise TypeError(
                f"{', '.join(taken)} cannot be set: in a simulation this is the engine's"
            )
        super().__init__(**settings, **options)

    @property
    def engine(self) -> Engine:
        """The engine that answers, with its schedules, promises and clock."""
        return self.driver.engine

    def worker(
        self, group: str, pid: str, *, ttl: Duration | None = None, **options: Any
    ) -> Simulation:
        """Return another process on the same engine; the arguments are those of `simulate`.

        Whoever of them lets time pass lets it pass for all.
        """
        return _begun(Simulation(self.driver, group, pid, ttl, **options))

    # --- time ----------------------------------------------------------------------------

    async def advance(self, duration: Duration) -> None:
        """Let time pass; at each instant at which something happens all come to rest.

        Schedules fire, workers run what they are told of, durable sleeps and pauses before
        retries end, leases and promises time out.

        Parameters
        ----------
        duration : duration
            such as ``"7d"``, ``timedelta(hours=1)``

        Raises
        ------
        WindowError
            the duration is negative
        WorkerError
            a function spins at one instant, or does not come to rest; it is named
        """
        self.start()
        await self.driver.advance(duration)

    async def run_until(self, instant: Instant) -> None:
        """Let time pass up to and including an instant, as `advance` does.

        Raises
        ------
        WindowError
            the instant lies before the clock
        WorkerError
            a function spins at one instant, or does not come to rest; it is named
        """
        self.start()
        await self.driver.run_until(instant)

    async def settle(self) -> None:
        """Let everybody do what can be done at this instant: time stands still.

        Raises
        ------
        WorkerError
            a function spins, or does not come to rest; it is named
        """
        self.start()
        await self.driver.settle()

    async def outage(self, duration: Duration) -> Outage:
        """Take the server down for a while, restart it, and let it catch up.

        While it is down nothing fires and nobody is told of anything. Returns what
        `Engine.outage` does.
        """
        self.start()
        return await self.driver.outage(duration)

    # --- the end -------------------------------------------------------------------------

    def crash(self) -> None:
        """Let this process die where it stands: it hears and says nothing any more.

        What it holds is free when its leases expire; so give it a `ttl` that ends.
        """
        self.connection.die()

    async def __aenter__(self) -> Self:
        """Connect, if that has not happened."""
        self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop; where an error ends the block, what still runs is cut off and not waited for."""
        try:
            async with asyncio.timeout(None if error is None else 0):
                await self.stop()
        except TimeoutError:
            # Its last wait was cut off, for functions that may never end.
            await self.stop()

    def __repr__(self) -> str:
        """Return who listens, and the engine."""
        return f"Simulation({self.connection.unicast()}, {self.engine!r})"


def simulate(
    engine: Engine,
    group: str = "default",
    pid: str = "simulated",
    *,
    ttl: Duration | None = None,
    patience: float = PATIENCE,
    **options: Any,
) -> Simulation:
    """Return the official SDK's `Resonate` object, working on an engine instead of a server.

    Parameters
    ----------
    engine : Engine
        its clock is the SDK's clock, and time passes by `Simulation.advance` only
    group, pid : str
        who listens, as for `Resonate`
    ttl : duration, optional
        length of the leases, which are then renewed in simulated time; by default they do
        not end
    patience : float
        seconds of real time that a function may take before `advance` gives up on it
    **options
        whatever else `Resonate` takes: ``retry_policy``, ``encryptor``, ``observer``,
        ``max_concurrent_tasks``, ``token``

    Returns
    -------
    Simulation
        a `Resonate`; use it with ``async with``, or as it is in a notebook

    Raises
    ------
    TypeError
        an option is the engine's to set, such as the clock

    Notes
    -----
    Two runs with the same calls end in the same state, as long as the functions do the
    same. An engine has one simulation; `Simulation.worker` adds processes to it. The SDK
    retries a function that fails as it would in production, in simulated time.

    Examples
    --------
    >>> import asyncio
    >>> from resonate_lab import Engine
    >>> async def main():
    ...     async with simulate(Engine(now="2024-01-01")) as resonate:
    ...         async def report(ctx, name):
    ...             await ctx.sleep(timedelta(seconds=90))
    ...             return f"{name} sent"
    ...         resonate.register(report)
    ...         await resonate.schedule("nightly", "0 2 * * *", "report", ("totals",))
    ...         await resonate.advance("2d")
    ...         return resonate.engine.promises.search(tags={"resonate:schedule": "nightly"})
    >>> for promise in asyncio.run(main()):
    ...     print(promise.id, promise.state, promise.settled_at - promise.created_at)
    nightly-1704074400000 resolved 90000
    nightly-1704160800000 resolved 90000
    """
    return _begun(Simulation(Driver(engine, patience), group, pid, ttl, **options))


def _begun(simulation: Simulation) -> Simulation:
    """Start a simulation if an event loop runs here; else it starts when it is first used."""
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        simulation.start()
    return simulation


def _lease(connection: Connection, ttl: Duration | None) -> dict[str, Any]:
    """Return the SDK's settings for leases that end after a while, or never."""
    if ttl is None:
        return {"ttl": _ENDLESS, "heartbeat": NoopHeartbeat()}
    length = duration_ms(ttl)
    if length <= 0:
        raise DurationError(f"ttl {ttl!r} is no length of a lease: leave it out for endless ones")
    return {"ttl": timedelta(milliseconds=length), "heartbeat": Leases(connection, length)}
