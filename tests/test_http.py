"""The server over HTTP, on real sockets of this machine: fidelity, streams, and what it refuses."""

import asyncio
import gzip
import json
import re
import socket
import sys
from contextlib import asynccontextmanager, suppress
from itertools import count

import httpx
import pytest
from asynchronous import scenario
from counted import held
from fuzz_http import fuzz
from hypothesis import given, settings
from hypothesis import strategies as st
from strict import frame_objections
from wire import DAY, HOUR, MINUTE, SECOND, TARGET, TARGETED, T

import resonate_lab as rl
from resonate_lab.clients import Limits, serving
from resonate_lab.clients.admission import is_loopback
from resonate_lab.clients.server import _server

TOKEN = "s3cret-token"


class Remote:
    """A client that speaks HTTP to a server, and knows the engine behind it."""

    def __init__(self, http, engine, url):
        self.http, self.engine, self.url = http, engine, url

    async def send(self, kind, head=None, **data):
        head = {"corrId": "c-1", "version": "2026-04-01", **(head or {})}
        response = await self.http.post("/", json={"kind": kind, "head": head, "data": data})
        assert response.headers["content-type"] == "application/json"
        return response

    async def ok(self, kind, **data):
        response = await self.send(kind, **data)
        assert response.status_code == 200, response.text
        return response.json()["data"]

    async def promise(self, id, target=TARGET, timeout=HOUR):
        tags = {"resonate:target": target}
        now = self.engine.now_ms
        return await self.ok("promise.create", id=id, timeoutAt=now + timeout, tags=tags)

    async def acquire(self, id, version=0, pid="w"):
        return await self.ok("task.acquire", id=id, version=version, pid=pid, ttl=DAY)

    async def fulfill(self, id, version=1):
        settle = {"id": id, "state": "resolved", "value": {}}
        action = {"kind": "promise.settle", "head": {}, "data": settle}
        return await self.ok("task.fulfill", id=id, version=version, action=action)

    @asynccontextmanager
    async def poll(self, group="default", pid="w", **headers):
        stream = self.http.stream("GET", f"/poll/{group}/{pid}", headers=headers)
        async with stream as response:
            yield Events(response)


class Events:
    """The events of a stream; a comment is one, too."""

    def __init__(self, response):
        self.response = response
        self.lines = response.aiter_lines()

    async def next(self):
        """Return the next message."""
        async for line in self.lines:
            if line.startswith("data: "):
                return json.loads(line.removeprefix("data: "))
        return None

    async def begun(self):
        """Wait until the server listens for this process."""
        assert await anext(self.lines) == ": listening"
        return self


@asynccontextmanager
async def remote(engine=None, **options):
    engine = engine or rl.Engine(now=T)
    async with (
        serving(engine, **options) as url,
        httpx.AsyncClient(base_url=url, timeout=20) as http,
    ):
        yield Remote(http, engine, url)


class TestEnvelopes:
    @scenario
    async def test_it_answers_as_the_engine_does_and_mirrors_the_status(self):
        async with remote() as client:
            twin = rl.Engine(now=T)
            for kind, data in [
                ("promise.create", {"id": "p", "timeoutAt": T + HOUR, "tags": TARGETED}),
                ("promise.get", {"id": "p"}),
                ("promise.get", {"id": "nobody"}),
                ("task.acquire", {"id": "p", "version": 7, "pid": "w", "ttl": 1}),
                ("promise.register_listener", {"awaited": "p", "address": "nonsense"}),
                ("no.such", {}),
                ("promise.create", {}),
            ]:
                response = await client.send(kind, **data)
                head = {"corrId": "c-1", "version": "2026-04-01"}
                expected = twin.send({"kind": kind, "head": head, "data": data})
                assert response.json() == expected
                assert response.status_code == expected["head"]["status"]
                assert response.headers["x-engine-now"] == str(T)

    @scenario
    async def test_a_suspension_that_goes_on_is_a_300_without_a_location(self):
        async with remote() as client:
            await client.promise("a")
            await client.promise("a:1")
            await client.acquire("a")
            await client.ok("promise.settle", id="a:1", state="resolved", value={})
            data = {"awaited": "a:1", "awaiter": "a"}
            action = {"kind": "promise.register_callback", "head": {}, "data": data}
            response = await client.send("task.suspend", id="a", version=1, actions=[action])
            assert response.status_code == 300
            assert "location" not in response.headers
            assert isinstance(response.json()["data"]["preload"], list)

    @scenario
    async def test_always_200_leaves_the_status_to_the_envelope(self):
        async with remote(always_200=True) as client:
            response = await client.send("promise.get", id="nobody")
            assert (response.status_code, response.json()["head"]["status"]) == (200, 404)

    @scenario
    async def test_everything_that_leaves_is_ascii(self):
        async with remote() as client:
            async with client.poll() as events:
                await events.begun()
                await client.promise("tägli\u2028ch")
                chunk = await anext(events.response.stream.__aiter__(), None) or b""
            assert (await client.send("promise.get", id="tägli\u2028ch")).content.isascii()
            assert chunk.isascii()

    @scenario
    async def test_probes_and_the_old_paths(self):
        async with remote() as client:
            health = await client.http.get("/health")
            assert (health.status_code, health.content) == (200, b"")
            assert (await client.http.get("/ready")).status_code == 200
            for path in ("/promises", "/schedules/x", "/tasks/x/y"):
                for method in ("GET", "POST", "PATCH", "DELETE"):
                    gone = await client.http.request(method, path)
                    assert (gone.status_code, list(gone.json())) == (410, ["error"])

    @scenario
    async def test_the_colon_of_a_header_that_an_sdk_sends_is_no_reason_to_refuse(self):
        async with remote() as client:
            body = json.dumps({"kind": "promise.get", "head": {"corrId": "1", "version":
                               "2026-04-01"}, "data": {"id": "tägl"}}).encode()  # fmt: skip
            request = (
                b"POST / HTTP/1.1\r\nHost: localhost\r\nresonate:origin: t\xc3\xa4gl\r\n"
                b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body)
            ) + body
            assert (await raw(client.url, request)).startswith(b"HTTP/1.1 404")


async def raw(url, request):
    """Return all that comes back for some bytes."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request)
    with suppress(ConnectionError):
        await writer.drain()
    answer = await reader.read()
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()
    return answer


async def trickle(url):
    """Send a head that does not end, byte by byte; return what comes back."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    answer = asyncio.create_task(reader.read())
    with suppress(ConnectionError):
        while not answer.done():
            writer.write(b"x")
            await writer.drain()
            await asyncio.wait([answer], timeout=0.01)
    writer.close()
    with suppress(ConnectionError):
        return await answer
    return b""


def notices(engine, count):
    """Let 100 kB each wait for a process called deaf: more in all than its sockets hold."""
    for n in range(count):
        engine.promises.create(f"p{n}", timeout="1h")
        data = {"awaited": f"p{n}", "address": "poll://uni@default/deaf"}
        head = {"corrId": "1", "version": "2026-04-01"}
        engine.send({"kind": "promise.register_listener", "head": head, "data": data})
        engine.promises.settle(f"p{n}", value={"data": "A" * 100_000})


def unread(url, request):
    """Send something and never read."""
    host, port = url.removeprefix("http://").split(":")
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    deaf.connect((host, int(port)))
    deaf.sendall(request)
    return deaf


class TestStreams:
    @scenario
    async def test_a_worker_is_told_acquires_and_fulfils_and_a_listener_hears_of_it(self):
        async with remote() as client, client.poll() as worker, client.poll(pid="me") as me:
            await worker.begun()
            await me.begun()
            await client.promise("p", f"{TARGET}/w")
            await client.ok(
                "promise.register_listener", awaited="p", address="poll://uni@default/me"
            )
            told = await worker.next()
            assert told == {
                "kind": "execute", "head": {}, "data": {"task": {"id": "p", "version": 0}},
            }  # fmt: skip
            await client.acquire("p")
            await client.fulfill("p")
            heard = await me.next()
            assert heard["kind"] == "unblock"
            assert heard["data"]["promise"]["state"] == "resolved"
            assert worker.response.headers["content-type"] == "text/event-stream"

    @scenario
    async def test_frames_are_what_the_sdks_parse(self):
        async with remote() as client:
            for n in range(2):
                await client.promise(f"tägli\u2028ch 😀{n}")
            await client.promise("p")
            me = {"awaited": "p", "address": "poll://uni@default/w"}
            await client.ok("promise.register_listener", **me)
            await client.ok("promise.settle", id="p", state="resolved", value={})
            request = b"GET /poll/default/w HTTP/1.1\r\nHost: localhost\r\n\r\n"
            host, port = client.url.removeprefix("http://").split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(request)
            got = b""
            while got.count(b"data:") < 3:
                got += await reader.read(4096)
            writer.close()
            _, _, chunks = got.partition(b"\r\n\r\n")
            # The one chunk with the messages: lines end with LF alone, a blank one after each.
            frames = re.search(rb"\r\n((?:data: [^\r\n]+\n\n){3})\r\n", chunks)
            assert frames is not None, got
            events = [frame + b"\n\n" for frame in frames[1].split(b"\n\n")[:-1]]
            assert [frame_objections(event) for event in events] == [[], [], []]
            assert b'"unblock"' in got
            assert b"event:" not in got

    @scenario
    async def test_names_come_percent_encoded_or_as_they_are(self):
        async with remote() as client:
            await client.promise("p", "poll://any@gr:ü/w/1")
            async with client.poll("gr%3A%C3%BC", "w%2F1") as events:
                assert (await events.next())["data"]["task"]["id"] == "p"
            for path in ("/poll/a%20b/w", "/poll/a/w%40x", "/poll/a%2Fb/w", "/poll/a", "/poll//x"):
                assert (await client.http.get(path)).status_code == 400

    @scenario
    async def test_what_came_while_a_worker_was_away_waits_for_it(self):
        async with remote() as client:
            async with client.poll() as events:
                await events.begun()
            await client.promise("p")
            async with client.poll() as events:
                assert (await events.next())["data"]["task"]["id"] == "p"

    @scenario
    async def test_many_messages_reach_many_workers_once_each(self):
        async with remote() as client:
            streams = [client.poll(pid=f"w{n}") for n in range(4)]
            opened = [await stream.__aenter__() for stream in streams]
            for events in opened:
                await events.begun()
            for n in range(200):
                await client.promise(f"p{n}")
            got, share = [], []

            async def read(events):
                count = 0
                while len(got) < 200:
                    message = await events.next()
                    got.append(message["data"]["task"]["id"])
                    count += 1
                    if len(got) == 200:
                        done.set()
                share.append(count)

            done = asyncio.Event()
            readers = [asyncio.create_task(read(events)) for events in opened]
            await done.wait()
            for reader in readers:
                reader.cancel()
            await asyncio.gather(*readers, return_exceptions=True)
            assert sorted(got) == sorted(f"p{n}" for n in range(200))
            for stream in streams:
                await stream.__aexit__(None, None, None)

    @scenario
    async def test_a_probe_of_a_stream_ends_and_listens_to_nothing(self):
        async with remote() as client, client.poll() as events:
            await events.begun()
            for pid in ("w", "v"):
                probe = await client.http.head(f"/poll/default/{pid}")
                assert probe.headers["content-type"].startswith("text/event-stream")
            assert (await client.http.get("/control")).json()["listening"] == 1
            await client.promise("p")
            assert (await events.next())["data"]["task"] == {"id": "p", "version": 0}

    @scenario
    async def test_a_comment_shows_that_the_stream_lives(self):
        async with (
            remote(limits=Limits(comment_seconds=0.01)) as client,
            client.poll() as events,
        ):
            await events.begun()
            lines = [await anext(events.lines) for _ in range(3)]
            assert ": here" in lines

    @scenario
    async def test_one_that_never_reads_is_cut_off_and_the_rest_of_its_messages_wait(self):
        engine, number = rl.Engine(now=T), 120
        notices(engine, number)
        limits = Limits(write_seconds=0.05, listeners=1)
        async with remote(engine, limits=limits) as client:
            deaf = unread(client.url, b"GET /poll/default/deaf HTTP/1.1\r\nHost: localhost\r\n\r\n")
            while len(engine.state.unblocks) == number:
                await client.http.get("/health")
            # There is one stream at most, so another is let in when that one has been cut off.
            refused = 503
            while refused == 503:
                async with client.poll() as events:
                    refused = events.response.status_code
            assert refused == 200
            assert 0 < len(engine.state.unblocks) < number
            assert engine.check() == []
            deaf.close()

    @scenario
    async def test_nothing_is_kept_for_one_that_does_not_read_its_response(self):
        engine = rl.Engine(now=T)
        notices(engine, 120)
        body = b'{"kind": "promise.search", "head": {"corrId": "1", "version": "2026-04-01"}, '
        body += b'"data": {"limit": 500}}'
        head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
        limits = Limits(write_seconds=0.05)
        server, listening, url = _server(engine, "127.0.0.1", 0, False, {"limits": limits})
        running = asyncio.create_task(server.serve([listening]))
        await server.is_up.wait()
        deaf = [unread(url, head + body), unread(url, (head + body) * 2)]
        connections = server.server_state.connections
        while sum(c.transport.get_write_buffer_size() > 0 for c in connections) < 2:
            await asyncio.sleep(0)
        while connections:
            await asyncio.sleep(0)
        server.should_exit = True
        await running
        for one in deaf:
            one.close()

    @scenario
    async def test_one_that_reads_slowly_gets_it_all(self):
        engine, number = rl.Engine(now=T), 60
        notices(engine, number)
        async with remote(engine, limits=Limits(write_seconds=0.2)) as client:
            host, port = client.url.removeprefix("http://").split(":")
            reader, writer = await asyncio.open_connection(host, int(port), limit=1024)
            writer.write(b"GET /poll/default/deaf HTTP/1.1\r\nHost: localhost\r\n\r\n")
            got = 0
            while got < number:
                got += (await reader.read(4096)).count(b"data: ")
            assert engine.state.unblocks == {}
            writer.close()

    @scenario
    async def test_streams_are_counted(self):
        async with remote(limits=Limits(listeners=2)) as client:
            async with client.poll(pid="a") as a, client.poll(pid="b") as b:
                await a.begun()
                await b.begun()
                assert (await client.http.get("/poll/default/c")).status_code == 503
            while (await client.http.get("/health")).status_code == 200:
                async with client.poll(pid="c") as c:
                    if c.response.status_code == 200:
                        break

    @scenario
    async def test_a_shutdown_waits_neither_for_the_deaf_nor_for_time(self, monkeypatch, caplog):
        monkeypatch.setattr("resonate_lab.clients.server._GRACE", 0.05)
        engine = rl.Engine(now=T)
        notices(engine, 120)
        server, listening, url = _server(engine, "127.0.0.1", 0, False, {})
        running = asyncio.create_task(server.serve([listening]))
        await server.is_up.wait()
        async with httpx.AsyncClient(base_url=url, timeout=20) as http:
            client = Remote(http, engine, url)
            deaf = unread(url, b"GET /poll/default/deaf HTTP/1.1\r\nHost: localhost\r\n\r\n")
            stream = client.poll()
            events = await stream.__aenter__()
            await events.begun()
            await client.promise("p")
            # A worker was told of it and says nothing, so time waits.
            moving = asyncio.create_task(http.post("/control/advance", json={"duration": "1h"}))
            while len(engine.state.unblocks) == 120 or not server._service._moves:
                await asyncio.sleep(0)
            server.should_exit = True
            await running
            answer = await moving
            await stream.__aexit__(None, None, None)
        deaf.close()
        assert (answer.status_code, engine.now_ms) == (503, T)
        assert "time stands still" in answer.json()["data"]
        assert server._service._moves == set()
        assert [r.getMessage() for r in caplog.records if r.levelname == "ERROR"] == []

    @scenario
    async def test_a_shutdown_ends_streams_properly(self):
        async with serving(rl.Engine(now=T)) as url:
            host, port = url.removeprefix("http://").split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(b"GET /poll/default/w HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await reader.readuntil(b": listening\n\n")
        assert (await reader.read()).endswith(b"0\r\n\r\n")
        writer.close()


class TestTime:
    @scenario
    async def test_it_moves_when_told_and_waits_for_the_workers(self):
        async with remote() as client, client.poll() as events:
            await events.begun()
            await client.ok("schedule.create", id="s", cron="*/10 * * * *", promiseTags=TARGETED,
                            promiseId="{{.id}}-{{.timestamp}}", promiseTimeout=HOUR)  # fmt: skip

            async def work():
                while message := await events.next():
                    id = message["data"]["task"]["id"]
                    # Time stands at the tick until this is done.
                    seen.append((id, client.engine.now_ms))
                    await client.acquire(id)
                    await client.fulfill(id)

            seen = []
            working = asyncio.create_task(work())
            answer = await client.http.post("/control/advance", json={"duration": "1h"})
            next_at = T + HOUR + 10 * MINUTE
            assert answer.json() == {"now": T + HOUR, "next": next_at, "listening": 1}
            ticks = [T + n * 10 * MINUTE for n in range(1, 7)]
            assert seen == [(f"s-{tick}", tick) for tick in ticks]
            settled = [client.engine.promises.get(id).settled_at for id, _ in seen]
            assert settled == ticks
            working.cancel()

    @scenario
    async def test_an_outage_is_one_request(self):
        async with remote() as client:
            await client.ok("schedule.create", id="s", cron="0 * * * *", promiseTags=TARGETED,
                            promiseId="{{.id}}-{{.timestamp}}", promiseTimeout=HOUR)  # fmt: skip
            answer = await client.http.post("/control/advance", json={"outage": "6h"})
            assert answer.json()["now"] == T + 6 * HOUR
            assert len(client.engine.promises.search()) == 6
            assert (await client.http.get("/control")).json() == answer.json()

    @scenario
    async def test_a_worker_that_spins_is_reported(self):
        async with remote() as client, client.poll() as events:
            await events.begun()
            await client.promise("p")

            async def give_back():
                version = 0
                while await events.next():
                    await client.acquire("p", version)
                    version += 1
                    await client.ok("task.release", id="p", version=version)

            working = asyncio.create_task(give_back())
            answer = await client.http.post("/control/advance", json={"duration": "1h"})
            assert answer.status_code == 409
            assert "'p' was given back" in answer.json()["data"]
            working.cancel()

    @scenario
    async def test_a_worker_that_says_nothing_is_reported_and_then_not_waited_for(self):
        async with remote(patience=0.05) as client, client.poll() as events:
            await events.begun()
            await client.promise("p")
            answer = await client.http.post("/control/advance", json={"duration": "10s"})
            assert answer.status_code == 409
            again = await client.http.post("/control/advance", json={"duration": "10s"})
            assert again.json()["now"] == T + 10 * SECOND

    @pytest.mark.parametrize(
        "body",
        [{}, {"duration": "-1h"}, {"duration": "soon"}, {"duration": "4000d"}, {"duration": None},
         {"outage": "1e9d"}, {"duration": "1h", "outage": "1h"}, {"duration": [1]}],
    )  # fmt: skip
    @scenario
    async def test_what_is_no_way_forward_is_refused(self, body):
        async with remote() as client:
            answer = await client.http.post("/control/advance", json=body)
            assert answer.status_code == 400
            assert client.engine.now_ms == T

    @scenario
    async def test_one_that_follows_a_clock_fires_by_itself_and_cannot_be_moved(self):
        now = [T]
        async with remote(clock=lambda: now[0]) as client, client.poll() as events:
            await events.begun()
            await client.ok("schedule.create", id="s", cron="* * * * * *", promiseTags=TARGETED,
                            promiseId="{{.id}}-{{.timestamp}}", promiseTimeout=HOUR)  # fmt: skip
            now[0] += SECOND
            assert (await events.next())["data"]["task"]["id"] == f"s-{T + SECOND}"
            now[0] -= 10 * SECOND  # set back: time stands still
            assert (await client.send("promise.search")).status_code == 200
            assert client.engine.now_ms == T + SECOND
            assert (await client.http.post("/control/advance", json={})).status_code == 404


class TestMemory:
    @scenario
    async def test_what_comes_and_goes_leaves_nothing_behind(self, monkeypatch):
        monkeypatch.setattr("resonate_lab.clients.http._ABSENCE", 1)
        monkeypatch.setattr("resonate_lab.clients.http._TICK", 0.001)
        now, number = [T], count()
        engine, options = rl.Engine(now=T), {"clock": lambda: now[0], "token": TOKEN}
        server, listening, url = _server(engine, "127.0.0.1", 0, False, options)
        running = asyncio.create_task(server.serve([listening]))
        await server.is_up.wait()

        lazy = unread(
            url,
            b"GET /poll/lazy/w HTTP/1.1\r\nHost: localhost\r\n"
            b"Authorization: Bearer %s\r\n\r\n" % TOKEN.encode(),
        )

        async def cycle():
            """Do all that a client can do; but for the two promises nothing is to stay."""
            n = next(number)
            async with httpx.AsyncClient(base_url=url, timeout=20, verify=False) as http:
                http.headers["authorization"] = f"Bearer {TOKEN}"
                client = Remote(http, engine, url)

                async def ask(kind, **data):
                    response = await client.send(kind, {"auth": TOKEN}, **data)
                    return response.json()["data"]

                assert (await client.send("promise.search", {"auth": f"x{n}"})).status_code == 401
                assert (await http.get(f"/no/{n}", headers={"origin": f"o{n}"})).status_code == 404
                async with client.poll(f"group{n}", f"pid{n}") as events:
                    await events.begun()
                one = {"cron": "* * * * *", "promiseTags": TARGETED, "promiseTimeout": HOUR}
                await ask("schedule.create", id=f"s{n}", promiseId=f"s{n}", **one)
                await ask("schedule.delete", id=f"s{n}")
                address = f"poll://uni@g{n}/{n}"
                await ask("promise.create", id=f"p{n}", timeoutAt=now[0] + DAY, tags=TARGETED)
                await ask("promise.register_listener", awaited=f"p{n}", address=address)
                async with client.poll(pid=f"w{n}") as events:
                    version = (await events.next())["data"]["task"]["version"]
                    lease = {"version": version, "pid": f"w{n}", "ttl": 1000}
                    task = (await ask("task.acquire", id=f"p{n}", **lease))["task"]
                    beat = [{"id": f"p{n}", "version": task["version"]}]
                    await ask("task.heartbeat", pid=f"w{n}", tasks=beat)
                    if n % 2:  # the others die with it
                        await ask("task.release", id=f"p{n}", version=task["version"])
                await ask("promise.settle", id=f"p{n}", state="resolved", value={})
                # One is told of a task, and does not acquire it.
                tags = {"resonate:target": "poll://any@lazy"}
                await ask("promise.create", id=f"q{n}", timeoutAt=now[0] + DAY, tags=tags)
                while f"q{n}" in engine.state.executes:
                    await asyncio.sleep(0)
                await ask("promise.settle", id=f"q{n}", state="resolved", value={})
            now[0] += 2 * SECOND
            # The notice for a process that never was there goes at the second look.
            while engine.state.unblocks or len(server.server_state.connections) > 1:
                now[0] += 1
                await asyncio.sleep(0)
            engine.state.trace.clear()

        def kept():
            tables = [engine.state.outbox, engine.state.agenda]
            assert engine.state.unblocks == engine.state.executes == {}
            return held(server._service, server.server_state, *tables, but=others())

        def others():
            # The event loop is left out, too: it drops timers that were cancelled when it likes.
            tables = [engine.state, engine.state.promises, engine.state.unblocks]
            return [*tables, asyncio.get_running_loop()]

        try:
            for _ in range(4):
                await cycle()
            first = kept()
            for _ in range(24):
                await cycle()
            second = kept()
        finally:
            server.should_exit = True
            await running
            lazy.close()
        assert len(engine.state.promises) == 2 * 28
        # A connection that lives has one buffer more or less at times.
        grown = {name: (first[name], n) for name, n in second.items() if n >= first[name] + 24}
        assert grown == {}


class TestSecurity:
    def test_it_listens_on_this_machine_alone_by_default(self):
        async def main():
            async with serving(rl.Engine()) as url:
                return url

        assert asyncio.run(main()).startswith("http://127.0.0.1:")
        assert [is_loopback(h) for h in ("::1", "127.0.0.2", "10.0.0.1", "example.org")] == [
            True, True, False, False,
        ]  # fmt: skip

    @scenario
    async def test_without_the_token_nothing_is_answered(self, caplog, capsys):
        async with remote(token=TOKEN) as client:
            for head in ({}, {"auth": ""}, {"auth": "wrong"}, {"auth": TOKEN + "x"},
                         {"auth": 7}, {"auth": "\u00fc"}, {"auth": None}):  # fmt: skip
                text = json.dumps({"kind": "promise.search", "head": {"corrId": "c", **head,
                                   "version": "2026-04-01"}, "data": {}})  # fmt: skip
                response = await client.http.post("/", content=text)
                assert response.status_code == 401
                assert response.json()["head"]["corrId"] == "c"
                assert TOKEN not in response.text
            good = await client.send("promise.search", {"auth": TOKEN})
            assert good.status_code == 200
            for path in ("/poll/default/w", "/control", f"/control?token={TOKEN}"):
                for header in ({}, {"authorization": "Bearer wrong"}, {"authorization": TOKEN}):
                    answer = await client.http.get(path, headers=header)
                    assert answer.status_code == 401
            advance = await client.http.post("/control/advance", json={"duration": "1h"})
            assert advance.status_code == 401
            async with client.poll(authorization=f"Bearer {TOKEN}") as events:
                await events.begun()
        assert client.engine.now_ms == T
        assert TOKEN not in caplog.text + "".join(capsys.readouterr())

    @scenario
    async def test_debug_is_off_and_so_is_the_time_that_a_request_names(self):
        async with remote() as client:
            for kind in ("debug.reset", "debug.snap", "debug.tick"):
                assert (await client.send(kind, time=T + DAY)).status_code == 403
            response = await client.send("promise.search", {"resonate:debug_time": T + DAY})
            assert response.status_code == 200
            assert client.engine.now_ms == T
        async with remote(debug=True) as client:
            assert (await client.send("debug.snap")).status_code == 200

    @pytest.mark.parametrize(
        "headers",
        [{"origin": "http://evil"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"},
         {"sec-fetch-site": "same-origin"}, {"host": "evil.example:8001"}],
    )  # fmt: skip
    @scenario
    async def test_a_page_in_a_browser_is_refused_whatever_it_asks(self, headers):
        async with remote() as client:
            await client.promise("p")
            for method, path in (("POST", "/"), ("GET", "/poll/default/w"), ("GET", "/control"),
                                 ("POST", "/control/advance")):  # fmt: skip
                answer = await client.http.request(
                    method, path, headers=headers, content=b'{"duration": "1h"}'
                )
                assert answer.status_code == 403
                assert "access-control-allow-origin" not in answer.headers
            asked = {"origin": "http://evil", "access-control-request-method": "POST"}
            answer = await client.http.request("OPTIONS", "/", headers=asked)
            assert answer.status_code == 405
            assert "access-control-allow-origin" not in answer.headers
            # The message that a stream for a page would have taken is there still.
            assert client.engine.now_ms == T
            assert len(client.engine.take_messages(TARGET)) == 1

    @pytest.mark.parametrize(
        "body",
        [b"", b"{", b"[]", b"null", b"7", b"\xff\xfe", b'{"kind": NaN}', b"[" * 100_000,
         b'{"kind": ' + b"9" * 5000 + b"}", b'"x"', b"\x80\x04K\x01.", b'{"a": "\xed\xa0\x80"}',
         b'{"kind": "promise.get", "head": {"corrId": "1"}, "data": {"id": "\\ud800"}}',
         b'{"kind": "promise.get", "data": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
         gzip.compress(b"{}", mtime=0)],
    )  # fmt: skip
    @scenario
    async def test_what_is_no_envelope_is_refused_in_a_sentence(self, body):
        async with remote() as client:
            answer = await client.http.post("/", content=body)
            assert answer.status_code == 400
            read = answer.json()
            assert (read["kind"], read["head"]["corrId"]) == ("unknown", "0")
            assert "Traceback" not in answer.text
            assert "File" not in answer.text
            assert len(answer.text) < 400

    @scenario
    async def test_a_large_request_is_refused_before_it_is_held(self):
        async with remote(limits=Limits(body=1000)) as client:
            assert (await client.http.post("/", content=b"x" * 1001)).status_code == 413

            # No length is told, and the end never comes.
            drops = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            drops += b"64\r\n" + b"x" * 100 + b"\r\n"
            drops += (b"64\r\n" + b"x" * 100 + b"\r\n") * 20
            assert (await raw(client.url, drops)).startswith(b"HTTP/1.1 413")
            assert (await client.send("promise.search")).status_code == 200

    @scenario
    async def test_a_slow_request_is_given_up(self):
        async with remote(limits=Limits(body_seconds=0.02)) as client:
            half = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
            assert (await raw(client.url, half)).startswith(b"HTTP/1.1 408")

    @scenario
    async def test_connections_that_do_not_come_to_a_request_are_closed(self):
        health = b" /health HTTP/1.1\r\nHost: localhost\r\n"
        begun = [
            b"",
            b"P",
            b"POST / HTTP/1.1\r\nHost: localhost\r\n",
            b"GET" + health + b"\r\nGET /health",
            b"POST" + health + b"Content-Length: 9\r\n\r\n{",
        ]
        async with remote(limits=Limits(idle_seconds=1)) as client, client.poll() as events:
            await events.begun()
            answers = await asyncio.gather(
                *(raw(client.url, some) for some in begun), trickle(client.url)
            )
            assert [answer.count(b"HTTP/1.1") for answer in answers] == [0, 0, 0, 1, 1, 0]
            # One whose request is under way is not idle.
            await client.promise("p")
            assert (await events.next())["data"]["task"]["id"] == "p"

    @scenario
    async def test_heads_are_bounded_whatever_parsers_are_installed(self):
        async with serving(rl.Engine()) as url:
            host, port = url.removeprefix("http://").split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(b"GET / HTTP/1.1\r\nx: " + b"a" * 200_000)
            assert (await reader.readline()).startswith(b"HTTP/1.1 400")
            writer.close()

    @scenario
    async def test_half_a_surrogate_pair_is_refused_and_a_whole_one_is_a_letter(self):
        async with remote() as client:
            text = '{"kind": "promise.create", "head": {"corrId": "1", "version": "2026-04-01"}, '
            text += '"data": {"id": "%s", "timeoutAt": 9000000000000}}'
            for half in ("\\ud83d", "\\ude00", "\\ude00\\ud83d"):
                assert (await client.http.post("/", content=text % half)).status_code == 400
            assert (await client.http.post("/", content=text % r"\ud83d\ude00")).status_code == 200
            assert [p.id for p in client.engine.promises.search()] == ["😀"]

    @scenario
    async def test_numbers_beyond_all_measure_are_refused_in_a_sentence(self):
        async with remote() as client:
            text = '{"kind": "promise.create", "head": {"corrId": "1", "version": "2026-04-01"}, '
            text += '"data": {"id": "a", "timeoutAt": %s}}'
            for number in ("1e999", "-1e999", "1e308", "9" * 4000, str(2**63), "1.5", "-0.0"):
                answer = await client.http.post("/", content=text % number)
                assert answer.status_code == 400
                assert "timeoutAt" in answer.text or "i64" in answer.text
            assert client.engine.promises.search() == []

    @scenario
    async def test_a_key_that_comes_twice_has_its_last_value(self):
        async with remote() as client:
            text = '{"kind": "promise.get", "head": {"corrId": "1", "version": "2026-04-01"}, '
            text += '"kind": "promise.create", "data": {"id": "a", "id": "b", "timeoutAt": 9}}'
            answer = await client.http.post("/", content=text)
            assert answer.json()["data"]["promise"]["id"] == "b"

    @pytest.mark.parametrize(
        "lie",
        [b"Content-Length: 2\r\n\r\n{}GARBAGE\r\n\r\n",
         b"Content-Length: " + b"9" * 40 + b"\r\n\r\n",
         b"Content-Length: " + b"9" * 6000 + b"\r\n\r\n", b"Content-Length: +2\r\n\r\n{}",
         b"Content-Length: 2\r\nContent-Length: 5\r\n\r\n{}",
         b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
         b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 30 + b"\r\n{}",
         b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
         b"".join(b"x%d: y\r\n" % n for n in range(5_000)) + b"\r\n"],
    )  # fmt: skip
    @scenario
    async def test_a_lie_about_a_length_or_a_flood_of_headers_ends_the_connection(self, lie):
        async with remote() as client:
            answer = await raw(client.url, b"POST / HTTP/1.1\r\nHost: localhost\r\n" + lie)
            assert set(re.findall(rb"HTTP/1.1 (\d+)", answer)) <= {b"400", b"501"}
            assert b"Traceback" not in answer
            assert (await client.send("promise.search")).status_code == 200

    @scenario
    async def test_what_is_being_sent_at_once_is_bounded_and_counted_off(self):
        half = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n" + b" " * 600
        async with remote(limits=Limits(bodies=1500)) as client:
            host, port = client.url.removeprefix("http://").split(":")
            connections = [await asyncio.open_connection(host, int(port)) for _ in range(3)]
            for _, writer in connections:
                writer.write(half)
            reads = {asyncio.create_task(reader.readline()): w for reader, w in connections}
            (one,), _ = await asyncio.wait(reads, return_when=asyncio.FIRST_COMPLETED)
            assert one.result().startswith(b"HTTP/1.1 503")
            for read, writer in reads.items():
                if read is not one:
                    writer.write(b" " * 300)
                    assert (await read).startswith(b"HTTP/1.1 400")
                writer.close()
            assert (await client.send("promise.search")).status_code == 200

    @scenario
    async def test_too_many_requests_are_refused(self):
        async with remote(limits=Limits(rate=1)) as client:
            answers = [await client.send("promise.search") for _ in range(12)]
            refused = [a for a in answers if a.status_code == 429]
            assert refused
            assert "at most 1 a second" in refused[0].json()["data"]

    @scenario
    async def test_bytes_that_are_no_http_do_not_end_the_server(self):
        async with remote() as client:
            for request in (b"\x00" * 100, b"GET / HTTP/9.9\r\nConnection: close\r\n\r\n",
                            b"\r\n" * 50 + b"x\r\n",
                            b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                            b"GET /" + b"a" * 100_000):  # fmt: skip
                assert b"Traceback" not in await raw(client.url, request)
            assert (await client.http.get("/health")).status_code == 200

    @pytest.mark.parametrize(
        "path", ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/static/x",
                 "/poll/..%2f..%2fetc/passwd", "/control/../../x", "//etc/passwd"],
    )  # fmt: skip
    @scenario
    async def test_no_path_leads_to_a_file(self, path):
        async with remote() as client:
            head = "Host: localhost\r\nConnection: close"
            answer = await raw(client.url, f"GET {path} HTTP/1.1\r\n{head}\r\n\r\n".encode())
            assert re.match(rb"HTTP/1.1 (400|404)", answer)

    @scenario
    async def test_no_request_opens_a_file(self, tmp_path):
        name = str(tmp_path / "x")

        async def ask(client, prefix):
            for kind in ("promise.create", "promise.get", "schedule.create", "engine.save"):
                id = prefix + name
                await client.send(kind, id=id, path=id, cron="* * * * *", promiseId=id,
                                  timeoutAt=T + HOUR, promiseTimeout=1,
                                  tags={"resonate:target": f"file://{name}"},
                                  promiseTags={"resonate:target": f"bash://{name}"})  # fmt: skip
            await client.http.post("/control/advance", json={"duration": "2m"})
            await client.http.get(f"/poll/{name}/{name}")
            await client.http.get(name)

        async with remote() as client:
            await ask(client, "first:")  # what loads on first use has loaded after this
            OPENED.clear()
            sys.addaudithook(note_opened)
            WATCHING.append(True)
            try:
                await ask(client, "")
            finally:
                WATCHING.clear()
        assert OPENED == []
        assert list(tmp_path.iterdir()) == []


OPENED, WATCHING = [], []


def note_opened(event, arguments):
    """Note what is opened while somebody watches; a hook stays for good."""
    if WATCHING and event in ("open", "os.remove", "os.rename", "subprocess.Popen", "os.system"):
        OPENED.append((event, arguments))


class TestLaws:
    JSON = st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
        ),
        max_leaves=8,
    )

    def test_hostile_requests_are_answered_and_the_laws_stay_true(self, capsys):
        statuses = asyncio.run(fuzz(400, report=200))
        assert {200, 400, 403, 404, 409} <= set(statuses)
        assert sum(statuses.values()) == 400

    @settings(max_examples=5)
    @given(st.lists(st.binary(max_size=60) | JSON, max_size=20))
    def test_whatever_is_posted_is_answered_and_the_laws_stay_true(self, bodies):
        async def main():
            async with remote() as client:
                for body in bodies:
                    content = body if isinstance(body, bytes) else json.dumps(body).encode()
                    answer = await client.http.post("/", content=content)
                    assert answer.status_code == 400
                    assert answer.json()["head"]["status"] == 400
                assert client.engine.check() == []

        asyncio.run(main())
