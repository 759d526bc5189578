"""Running `http.app`: on a socket of its own, for as long as a block or a process lasts."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from resonate_lab.clients.http import Service, app

try:
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError as err:
    raise ImportError("the server is not installed: pip install 'resonate-lab[http]'") from err

if TYPE_CHECKING:
    from resonate_lab.engine import Engine

__all__ = ["serve", "serving", "wall_clock"]

LOOPBACK: Final = "127.0.0.1"
#: Connections beyond the streams' own.
_OTHERS: Final = 2_000
#: Files that are no connections.
_OWN_FILES: Final = 100
#: Seconds that a shutdown waits for requests under way, and then for what cutting them off ends.
_GRACE: Final = 5
_AFTERWARDS: Final = 1


def wall_clock() -> int:
    """Return the time, ms since the Unix epoch, UTC: for an engine that follows it."""
    return time.time_ns() // 1_000_000


class _Connection(H11Protocol):
    """uvicorn's, which ends as well if the head of a request never does, or nobody reads.

    uvicorn knows a time only between two requests: one that says nothing from the first, or
    begins to say something, it lets stay. So it does with one that does not read, even after
    it has closed it, for a close waits until all is read. Its other parser takes heads of any
    length, too.
    """

    _ending: asyncio.TimerHandle | None = None
    _unread: int | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._ending is not None:
            self._ending.cancel()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = None

    def cut_if_deaf(self) -> None:
        """End it if nothing has been read since the last look while nothing could be added."""
        is_full = self.flow.write_paused or self.transport.is_closing()
        unread = self.transport.get_write_buffer_size() if is_full else None
        if unread and unread == self._unread:
            self.transport.abort()
        self._unread = unread

    def _watch(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            if self._ending is not None:
                self._ending.cancel()
                self._ending = None
        elif self._ending is None:
            self._ending = self.loop.call_later(self.timeout_keep_alive, self.transport.close)


class _Server(uvicorn.Server):
    """uvicorn, which says when it listens, looks who reads, and does not wait for who never will.

    At its end the streams are ended first, and what then is left is cut off.
    """

    def __init__(self, config: uvicorn.Config, service: Service, takes_signals: bool) -> None:
        super().__init__(config)
        self.is_up = asyncio.Event()
        self._service = service
        self._takes_signals = takes_signals
        self._looking: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._looking = asyncio.create_task(self._look_who_reads())
        self.is_up.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.close()
        cutting = asyncio.get_running_loop().call_later(_GRACE, self._cut_all)
        try:
            await super().shutdown(sockets)
        finally:
            cutting.cancel()
            if self._looking is not None:
                self._looking.cancel()

    async def _look_who_reads(self) -> None:
        while True:
            await asyncio.sleep(self._service.limits.write_seconds)
            for connection in list(self.server_state.connections):
                if isinstance(connection, _Connection):
                    connection.cut_if_deaf()

    def _cut_all(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # A notebook's or a test's signals are not ours.
        if self._takes_signals:
            with super().capture_signals():
                yield
        else:
            yield


def _allow_files(number: int) -> None:
    """Let this process have that many connections, as far as the system does."""
    try:
        import resource
    except ImportError:  # Windows knows no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = number + _OWN_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _server(
    engine: Engine, host: str, port: int, takes_signals: bool, options: dict[str, Any]
) -> tuple[_Server, socket.socket, str]:
    starlette = app(engine, **options)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family, backlog=2048)
    # Accepted sockets inherit it. asyncio sees to it only where the protocol is named, and without
    # it every response waits 40 ms for the acknowledgement of its own head.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    service: Service = starlette.state.service
    config = uvicorn.Config(
        starlette,
        http=_Connection,
        # Warnings tell of what clients do wrong: as many lines as they like.
        log_level="error",
        # Whoever put a token into a URL shall not find it in a log.
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="on",
        timeout_keep_alive=service.limits.idle_seconds,
        limit_concurrency=service.limits.listeners + _OTHERS,
        timeout_graceful_shutdown=_GRACE + _AFTERWARDS,
    )
    name = f"[{host}]" if ":" in host else host
    url = f"http://{name}:{listening.getsockname()[1]}"
    return _Server(config, service, takes_signals), listening, url


@asynccontextmanager
async def serving(
    engine: Engine, host: str = LOOPBACK, port: int = 0, **options: Any
) -> AsyncIterator[str]:
    """Serve an engine over HTTP for as long as a block lasts; yield the URL.

    Parameters
    ----------
    engine : Engine
    host : str
        the address to listen on; this machine alone can connect by default
    port : int
        0 takes one that is free
    **options
        those of `app`

    Raises
    ------
    OSError
        one cannot listen there

    Examples
    --------
    >>> import asyncio, urllib.request
    >>> from resonate_lab import Engine
    >>> async def main():
    ...     async with serving(Engine(now="2024-01-01")) as url:
    ...         answer = await asyncio.to_thread(urllib.request.urlopen, url + "/health")
    ...         with answer:
    ...             return answer.status
    >>> asyncio.run(main())
    200
    """
    server, listening, url = _server(engine, host, port, False, options)
    running = asyncio.create_task(server.serve([listening]))
    up = asyncio.create_task(server.is_up.wait())
    await asyncio.wait({running, up}, return_when=asyncio.FIRST_COMPLETED)
    try:
        yield url
    finally:
        up.cancel()
        server.should_exit = True
        await running


def serve(
    engine: Engine,
    host: str = LOOPBACK,
    port: int = 8001,
    *,
    when_up: Callable[[str], object] = print,
    **options: Any,
) -> None:
    """Serve an engine over HTTP until the process is told to end.

    Parameters
    ----------
    engine : Engine
    host : str
        the address to listen on; this machine alone can connect by default
    port : int
    when_up : callable
        gets the URL once one can connect
    **options
        those of `app`

    Raises
    ------
    OSError
        one cannot listen there
    """

    async def main() -> None:
        server, listening, url = _server(engine, host, port, True, options)
        _allow_files(server.config.limit_concurrency or 0)
        running = asyncio.create_task(server.serve([listening]))
        await server.is_up.wait()
        try:
            when_up(url)
        except BaseException:
            # Nobody can be told, so it ends as it would otherwise.
            server.should_exit = True
            await running
            raise
        await running

    asyncio.run(main())
