"""The official Python SDK, unmodified, over HTTP; and the command that serves."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections import Counter
from datetime import timedelta

import pytest
from asynchronous import scenario
from resonate.connections.http import HttpConnection
from resonate.resonate import Resonate
from resonate.retry import Never
from wire import HOUR, MINUTE, SECOND, T

import resonate_lab as rl
from resonate_lab.clients import serving

TOKEN = "s3cret-token"


async def leaf(ctx, n: int) -> int:
    return 2 * n


async def report(ctx, n: int) -> int:
    doubled = await ctx.rpc("leaf", n)
    await ctx.sleep(timedelta(seconds=90))
    return doubled + 1


def client(url, engine, **options):
    """Return the SDK as a worker of a server, with the clock of the engine behind it."""
    return Resonate(url=url, env={}, clock=lambda: engine.now_ms, ttl=timedelta(0),
                    retry_policy=Never(), **options)  # fmt: skip


class Control:
    """Whoever moves the server's clock."""

    def __init__(self, url, token=None):
        self.connection = HttpConnection(url + "/control/advance", token)

    async def __aenter__(self):
        await self.connection.start()
        return self

    async def __aexit__(self, *_):
        await self.connection.stop()

    async def advance(self, duration):
        return await self.connection.send(f'{{"duration": "{duration}"}}')


class TestPythonOverHttp:
    @scenario
    async def test_scheduled_workflows_run_to_the_millisecond_behind_a_token(self, monkeypatch):
        # The SDK posts to URL + "/"; the control path has none, so it gets one of its own.
        engine = rl.Engine(now=T)
        async with serving(engine, token=TOKEN) as url:
            resonate = client(url, engine, token=TOKEN)
            resonate.register(leaf)
            resonate.register(report)
            await resonate.schedule("report", "*/10 * * * *", "report", (4,))
            handle = resonate.rpc("asked", "report", 5)
            await handle.id()
            async with Control(url, TOKEN) as control:
                await control.advance("1h")
                await control.advance("2m")
            assert await handle.result() == 11
            runs = engine.promises.search(tags={"resonate:schedule": "report"})
            lasted = Counter((p.state, (p.settled_at or 0) - p.created_at) for p in runs)
            assert lasted == {("resolved", 90 * SECOND): 6}
            assert engine.promises.get("asked").settled_at == T + 90 * SECOND
            assert engine.check() == []
            await resonate.stop()

    @scenario
    async def test_a_worker_that_comes_back_gets_what_it_missed(self):
        engine = rl.Engine(now=T)
        async with serving(engine) as url:
            first = client(url, engine, pid="one")
            await first.schedule("leaf", "*/10 * * * *", "leaf", (1,))
            await first.stop()
            async with Control(url) as control:
                await control.advance("1h")
                assert Counter(p.state for p in engine.promises.search()) == {"pending": 6}
                again = client(url, engine, pid="one")
                again.register(leaf)
                handle = await again.get(f"leaf-{T + 10 * MINUTE}")
                assert await handle.result() == 2
                await control.advance("1s")
            assert Counter(p.state for p in engine.promises.search()) == {"resolved": 6}
            assert max(p.settled_at for p in engine.promises.search()) == T + HOUR
            await again.stop()


class TestServe:
    #: What a shell starts in the background inherits that Ctrl-C is ignored.
    HEARS = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("resonate_lab", run_name="__main__", alter_sys=True)
"""

    def run(self, *arguments, **environment):
        command = [sys.executable, "-P", "-c", self.HEARS, "serve", "--port", "0", *arguments]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
        )  # fmt: skip

    @pytest.mark.parametrize(
        ("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)]
    )
    def test_a_signal_ends_it_and_its_streams_properly(self, how, code):
        process = self.run("--now", "2024-01-01")
        host, port = process.stdout.readline().split()[0].removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as stream:
            stream.sendall(b"GET /poll/default/w HTTP/1.1\r\nHost: localhost\r\n\r\n")
            got = b""
            while b": listening" not in got:
                got += stream.recv(4096)
            process.send_signal(how)
            while part := stream.recv(4096):
                got += part
        _, err = process.communicate()
        assert got.endswith(b"0\r\n\r\n")
        assert process.returncode == code
        assert "Traceback" not in err
        assert "ERROR" not in err

    def test_the_address_may_be_of_the_newer_kind(self):
        process = self.run("--host", "::1", "--now", "2024-01-01")
        url = process.stdout.readline().split()[0]
        assert url.startswith("http://[::1]:")
        with urllib.request.urlopen(url + "/control") as answer:
            assert json.load(answer)["now"] == T
        process.terminate()
        _, err = process.communicate()
        assert err == ""

    @pytest.mark.parametrize("host", ["127.0.0.1", "203.0.113.7"])
    def test_where_it_cannot_listen_it_says_so_in_a_sentence(self, host):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            process = self.run("--port", port, "--host", host)
            _, err = process.communicate()
        assert process.returncode == 1
        last = err.strip().splitlines()[-1]
        assert last.startswith("Error: ")
        assert "Traceback" not in err
        assert (port in last) if host == "127.0.0.1" else (host in last)

    def test_a_token_that_cannot_be_sent_is_refused_and_not_shown(self):
        process = self.run("--token", "schlüssel")
        _, err = process.communicate()
        assert process.returncode == 1
        assert "visible ASCII" in err
        assert "schl" not in err

    def test_it_says_where_it_listens_serves_and_ends_on_a_signal_without_its_token(self):
        process = self.run("--now", "2024-01-01", RESONATE_TOKEN=TOKEN)
        line = process.stdout.readline()
        url = line.split()[0]
        assert url.startswith("http://127.0.0.1:")
        assert "simulated time" in line

        async def main():
            async with Control(url, TOKEN) as control:
                return await control.advance("1h")

        assert f'"now": {T + HOUR}' in asyncio.run(main())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        assert process.returncode == 130
        assert TOKEN not in line + out + err
        assert "Traceback" not in err

    def test_who_opens_it_to_others_without_a_token_is_told(self):
        process = self.run("--host", "0.0.0.0")
        process.stdout.readline()
        process.terminate()
        _, err = process.communicate()
        assert "no --token" in err

    def test_a_profile_that_is_not_there_is_a_wrong_command_line(self):
        process = self.run("--profile", "no-such")
        _, err = process.communicate()
        assert process.returncode == 2
        assert "no-such" in err
        assert "Traceback" not in err
