"""An engine behind HTTP, as the real server stands there: for clients in any language.

``POST /`` takes an envelope, ``GET /poll/{group}/{id}`` is the stream of a worker's
messages, ``/health`` and ``/ready`` answer probes. Where the engine's clock is simulated,
``GET /control`` reads it and ``POST /control/advance`` moves it, and it waits for the
workers at every instant.

Whoever can connect can send anything: `admission` says who is let in, sizes, rates, numbers
and waits are bounded, no request reads or writes a file, and payloads are carried, never
decoded.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from resonate_lab.clients.admission import Admission
from resonate_lab.clients.driver import PATIENCE, Driver
from resonate_lab.errors import ResonateLabError, WorkerError
from resonate_lab.instants import duration_ms
from resonate_lab.protocol.records import PROTOCOL_VERSION

try:
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response
    from starlette.routing import Route
except ImportError as err:
    raise ImportError("the server is not installed: pip install 'resonate-lab[http]'") from err

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from resonate_lab.engine import Engine

__all__ = ["Limits", "app"]

#: The header that tells a client the engine's time, ms since the Unix epoch, UTC.
_NOW: Final = "x-engine-now"
_ALL_WITHIN: Final = ("/promises", "/schedules", "/tasks")
_ANY_METHOD: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_DEBUG_TIME: Final = "resonate:debug_time"
_MEMBER: Final = re.compile(r"/poll/([^/]{1,1000})/([^/]{1,1000})")
#: Messages that go to a worker in one piece.
_BATCH: Final = 32
#: Seconds between two looks at a clock that runs by itself; the real server delivers as often.
_TICK: Final = 0.1
#: How long a process that listens no more is waited for where time passes by itself, ms.
_ABSENCE: Final = 3_600_000
#: The longest way that one request moves the clock, ms.
_LONGEST: Final = 366 * 86_400_000
_ENDS: Final = "The server ends; time stands still"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server puts up with.

    Attributes
    ----------
    body : int
        bytes of a request
    bodies : int
        bytes of all requests that are being sent
    body_seconds : float
        seconds for sending it
    idle_seconds : int
        seconds after which a connection ends that has not come to its next request
    rate : float
        requests a second, and as many at once
    listeners : int
        open streams
    write_seconds : float
        seconds between two looks at who reads: whoever has much to read and has read nothing
        from one look to the next is cut off
    comment_seconds : float
        seconds without a message after which a comment shows whether one is still there
    """

    body: int = 4_000_000
    bodies: int = 256_000_000
    body_seconds: float = 10.0
    idle_seconds: int = 5
    rate: float = 20_000.0
    listeners: int = 10_000
    write_seconds: float = 10.0
    comment_seconds: float = 15.0


def app(
    engine: Engine,
    *,
    token: str | None = None,
    clock: Callable[[], int] | None = None,
    always_200: bool = False,
    debug: bool = False,
    limits: Limits | None = None,
    patience: float = PATIENCE,
) -> Starlette:
    """Return an ASGI application that serves an engine.

    Parameters
    ----------
    engine : Engine
    token : str, optional
        what clients have to show: in ``head.auth`` of a request, as a bearer elsewhere; visible
        ASCII without blanks
    clock : callable, optional
        the time, ms since the Unix epoch, UTC, which the engine then follows by itself; by
        default its time passes by ``POST /control/advance``
    always_200 : bool
        whether the HTTP status is 200 where the response itself has another one, which the
        TypeScript SDK needs in order to show what went wrong
    debug : bool
        whether ``debug.*`` and ``resonate:debug_time`` are served
    limits : Limits, optional
    patience : float
        seconds of real time that ``/control`` waits for a worker that holds a task

    Returns
    -------
    Starlette
        its ``state.service`` has ``close()``, which ends all streams

    Raises
    ------
    ValueError
        the token is empty, or no header can carry it

    Notes
    -----
    Pages in a browser are refused: a request with ``Origin`` or a foreign ``Sec-Fetch-Site``,
    and, without a token, one over loopback whose ``Host`` is neither localhost nor an address.

    Examples
    --------
    >>> from resonate_lab import Engine
    >>> [route.path for route in app(Engine(now="2024-01-01")).routes][:3]
    ['/', '/health', '/ready']
    """
    service = Service(Driver(engine, patience), token, clock, always_200, debug, limits or Limits())
    routes = [
        Route("/", service.envelope, methods=["POST"]),
        Route("/health", service.health),
        Route("/ready", service.ready),
        Route("/poll/{names:path}", service.poll),
        *(Route(f"{path}{{rest:path}}", service.gone, methods=_ANY_METHOD) for path in _ALL_WITHIN),
    ]
    if clock is None:
        routes += [
            Route("/control", service.read_clock),
            Route("/control/advance", service.move_clock, methods=["POST"]),
        ]
    starlette = Starlette(routes=routes, lifespan=service.lifespan)
    starlette.state.service = service
    return starlette


class Service:
    """What stands behind the routes."""

    def __init__(
        self,
        driver: Driver,
        token: str | None,
        clock: Callable[[], int] | None,
        always_200: bool,
        debug: bool,
        limits: Limits,
    ) -> None:
        self.driver = driver
        self.limits = limits
        self.is_closing = False
        self._admission = Admission(token, limits.rate)
        self._clock = clock
        self._always_200 = always_200
        self._debug = debug
        self._streams: dict[Stream, None] = {}
        self._moves: set[asyncio.Task[object]] = set()
        self._being_sent = 0

    @asynccontextmanager
    async def lifespan(self, _: object) -> AsyncIterator[None]:
        """Follow the clock as long as the server runs, if there is one to follow."""
        following = asyncio.create_task(self._follow()) if self._clock else None
        try:
            yield
        finally:
            self.close()
            if following is not None:
                following.cancel()
                with suppress(asyncio.CancelledError):
                    await following

    def close(self) -> None:
        """End the streams and take no new ones; a worker that comes back finds the next server.

        Who waits for time to pass is told that it does not.
        """
        self.is_closing = True
        for moving in self._moves:
            moving.cancel()
        for stream in list(self._streams):
            stream.awake.set()

    # --- requests ------------------------------------------------------------------------

    async def envelope(self, request: Request) -> Response:
        """Answer ``POST /``."""
        if (why := self._admission.objection(request)) is not None:
            return self._refuse(*why)
        read = await self._read(request)
        if isinstance(read, Response):
            return read
        kind, head = read.get("kind"), read.get("head")
        head = head if isinstance(head, dict) else {}
        if not self._admission.knows(head.get("auth")):
            return self._refuse(401, "Unauthorized: head.auth is not the server's token", read)
        if not self._debug:
            if isinstance(kind, str) and kind.startswith("debug."):
                return self._refuse(403, "Debug operations are disabled", read)
            if _DEBUG_TIME in head:
                plain = {name: value for name, value in head.items() if name != _DEBUG_TIME}
                read = {**read, "head": plain}
        self._keep_up()
        return self._answer(self.driver.send(read))

    async def _read(self, request: Request) -> dict[str, Any] | Response:
        """Return the JSON object that a request brings, or the response that refuses it."""
        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                async for chunk in request.stream():
                    body += chunk
                    self._being_sent += len(chunk)
                    if len(body) > self.limits.body:
                        text = f"Request too large: at most {self.limits.body} bytes"
                        return self._refuse(413, text, close=True)
                    if self._being_sent > self.limits.bodies:
                        return self._refuse(503, "Too much is being sent at once", close=True)
        except TimeoutError:
            return self._refuse(408, "Request too slow", close=True)
        except ClientDisconnect:
            return self._refuse(400, "Request cut short", close=True)
        finally:
            self._being_sent -= len(body)
        try:
            read = json.loads(body.decode("utf-8"), parse_constant=_no_number)
            if b"\\u" in body:
                # Half a surrogate pair is no text: it could not be saved, shown or exported.
                json.dumps(read, ensure_ascii=False).encode("utf-8")
        except (ValueError, RecursionError) as err:
            reason = err if isinstance(err, json.JSONDecodeError) else "no JSON in UTF-8"
            return self._refuse(400, f"Invalid request envelope: {reason}")
        if not isinstance(read, dict):
            return self._refuse(400, "Invalid request envelope: not an object")
        return read

    def _keep_out(self, request: Request) -> Response | None:
        """Return what refuses a request that is no envelope, or None."""
        if (why := self._admission.objection(request)) is not None:
            return self._refuse(*why)
        if not self._admission.knows_bearer(request):
            return self._refuse(401, "Unauthorized: the bearer is not the server's token")
        return None

    def _answer(self, response: Mapping[str, Any], *, close: bool = False) -> Response:
        status = 200 if self._always_200 else response["head"]["status"]
        return self._json(status, response, close)

    def _refuse(
        self, status: int, text: str, read: Mapping[str, Any] | None = None, close: bool = False
    ) -> Response:
        kind, head = (read or {}).get("kind"), (read or {}).get("head")
        corr_id = head.get("corrId") if isinstance(head, dict) else None
        return self._answer(
            {
                "kind": kind if isinstance(kind, str) else "unknown",
                "head": {
                    "corrId": corr_id if isinstance(corr_id, str) else "0",
                    "status": status,
                    "version": PROTOCOL_VERSION,
                },
                "data": text,
            },
            close=close,
        )

    def _json(self, status: int, content: object, close: bool = False) -> Response:
        # Only ASCII leaves, so no character is ever cut in two.
        headers = {_NOW: str(self.driver.engine.now_ms)}
        if close:
            headers["connection"] = "close"
        return Response(json.dumps(content), status, headers, "application/json")

    # --- messages ------------------------------------------------------------------------

    async def poll(self, request: Request) -> Response | Stream:
        """Answer ``GET /poll/{group}/{id}`` with a stream that does not end."""
        if (why := self._keep_out(request)) is not None:
            return why
        # As it was sent: a slash within a name comes as %2F.
        path = request.scope.get("raw_path", b"").decode("ascii", "replace")
        found = _MEMBER.fullmatch(path.partition("?")[0])
        names = [unquote(name) for name in found.groups()] if found else []
        if not names or any(re.search(r"[\s@]", name) for name in names) or "/" in names[0]:
            return self._refuse(400, "Write /poll/GROUP/ID, without blanks or @ in the names")
        if self.is_closing or len(self._streams) >= self.limits.listeners:
            return self._refuse(503, "No more streams", close=True)
        if request.method == "HEAD":
            # It hears no message, so none may be taken for it, nor another cut off.
            return Response(media_type="text/event-stream")
        return Stream(self, *names)

    def add(self, stream: Stream) -> None:
        """Count a stream that has begun."""
        self._streams[stream] = None

    def drop(self, stream: Stream) -> None:
        """Count a stream that has ended no more."""
        del self._streams[stream]

    # --- time ----------------------------------------------------------------------------

    def _keep_up(self) -> None:
        if self._clock is not None:
            engine = self.driver.engine
            engine.run_until(max(self._clock(), engine.now_ms))

    async def _follow(self) -> None:
        driver = self.driver
        looked_at = driver.engine.now_ms
        while True:
            self._keep_up()
            driver.stir()
            driver.forget()
            if driver.engine.now_ms - looked_at >= _ABSENCE:
                driver.post.forget_absent()
                looked_at = driver.engine.now_ms
            await asyncio.sleep(_TICK)

    async def read_clock(self, request: Request) -> Response:
        """Answer ``GET /control``: the clock, when something happens next, how many listen."""
        return self._keep_out(request) or self._time()

    async def move_clock(self, request: Request) -> Response:
        """Answer ``POST /control/advance``: let time pass, and wait for the workers."""
        if (why := self._keep_out(request)) is not None:
            return why
        read = await self._read(request)
        if isinstance(read, Response):
            return read
        if self.is_closing:
            return self._refuse(503, _ENDS, close=True)
        names = set(read)
        length = next(iter(read.values()), None)
        if names not in ({"duration"}, {"outage"}) or not isinstance(length, str):
            return self._refuse(400, 'Write {"duration": "10m"} or {"outage": "6h"}')
        try:
            if duration_ms(length) > _LONGEST:
                return self._refuse(400, "Time passes by 366 days at a time, at the most")
            pass_time = self.driver.advance if names == {"duration"} else self.driver.outage
            await self._ended_by_close(pass_time(length))
        except WorkerError as err:
            return self._refuse(409, str(err))
        except asyncio.CancelledError:
            if not self.is_closing:
                raise
            return self._refuse(503, _ENDS, close=True)
        except ResonateLabError as err:
            return self._refuse(400, str(err))
        return self._time()

    async def _ended_by_close(self, way: Coroutine[Any, Any, object]) -> None:
        moving = asyncio.create_task(way)
        self._moves.add(moving)
        try:
            await moving
        finally:
            self._moves.discard(moving)

    def _time(self) -> Response:
        engine, listening = self.driver.engine, len(self.driver.post)
        known = {"now": engine.now_ms, "next": engine.next_run_ms(), "listening": listening}
        return self._json(200, known)

    # --- probes --------------------------------------------------------------------------

    async def health(self, _: Request) -> Response:
        """Answer ``GET /health``: the process lives."""
        return Response()

    async def ready(self, _: Request) -> Response:
        """Answer ``GET /ready``: it takes requests."""
        return Response(status_code=503 if self.is_closing else 200)

    async def gone(self, _: Request) -> Response:
        """Answer for the paths of an older protocol."""
        return self._json(410, {"error": "this path is gone: POST an envelope to /"})


class Stream:
    """A worker's messages, as server-sent events, until one of the two goes.

    One line of ``data:`` a message, LF alone, no names of events: what the SDKs' own
    parsers need. A message leaves the engine when its worker has read what came before, so
    one that reads slowly loses nothing, and holds nothing up for the others.
    """

    def __init__(self, service: Service, group: str, pid: str) -> None:
        self.awake = asyncio.Event()
        self._service = service
        self._group, self._pid = group, pid
        self._is_gone = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream."""
        driver = self._service.driver
        headers = [
            (b"content-type", b"text/event-stream"),
            (b"cache-control", b"no-store"),
            (_NOW.encode(), b"%d" % driver.engine.now_ms),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        # Some clients wait for a first byte before they call a stream open.
        await send({"type": "http.response.body", "body": b": listening\n\n", "more_body": True})
        listening = asyncio.create_task(self._listen(receive))
        self._service.add(self)
        member = driver.post.join(self._group, self._pid, self.awake.set)
        try:
            while member.is_connected and not (self._is_gone or self._service.is_closing):
                self.awake.clear()
                messages = driver.post.take(member, _BATCH)
                for message in messages:
                    driver.told(member, message)
                chunk = "".join(f"data: {json.dumps(message)}\n\n" for message in messages)
                if not messages and await self._has_rested():
                    chunk = ": here\n\n"
                if chunk:
                    part = {"type": "http.response.body", "body": chunk.encode(), "more_body": True}
                    await send(part)
            await send({"type": "http.response.body", "body": b""})
        finally:
            driver.leave(member)
            self._service.drop(self)
            listening.cancel()

    async def _has_rested(self) -> bool:
        """Wait until there is something to do; return whether nothing came for long."""
        try:
            async with asyncio.timeout(self._service.limits.comment_seconds):
                await self.awake.wait()
        except TimeoutError:
            return True
        return False

    async def _listen(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._is_gone = True
        self.awake.set()


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number")
