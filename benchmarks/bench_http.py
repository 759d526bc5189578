"""The server under load on this machine: creations over HTTP, fired promises over streams.

``python benchmarks/bench_http.py [SECONDS]`` runs the server in a process of its own. First
creations alone tell what one costs. Then, for 60 s unless told otherwise, 500 schedules a second
are created over 16 connections, while 2,000 promises a second are fired and told to four
workers. Every tick must have made its promise, every promise have been told exactly once, every
schedule be stored. Last, 10,000 streams are open at once, 50 more are refused, and creations are
answered still. Latencies run from the instant at which a request was due, whoever was late.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any
from urllib.parse import urlsplit

import psutil
from bench_cron import Row, row

from resonate_lab import Engine
from resonate_lab.clients import Limits, server

CREATIONS, FIRED, CONNECTIONS, WORKERS = 500, 2_000, 16, 4
ALONE = 5_000
STREAMS, TOO_MANY = 10_000, 50
#: Shorter than the 30 s after which a task that nobody acquires is told again, ms.
TIMEOUT = 20_000


# --- the two processes -------------------------------------------------------------------


def serve() -> None:
    """Serve until the process is ended."""
    limits = Limits(rate=1e6, listeners=STREAMS)
    server.serve(
        Engine(now=server.wall_clock()), port=0, clock=server.wall_clock, limits=limits,
        when_up=lambda url: print(url, flush=True),
    )  # fmt: skip


@contextmanager
def serving() -> Iterator[tuple[str, psutil.Process]]:
    """Yield the URL of a server in a process of its own, and the process."""
    command = [sys.executable, __file__, "serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip(), psutil.Process(process.pid)
        finally:
            process.terminate()


class Connection:
    """One that is kept alive: the thinnest client, so that it is the server that is measured."""

    @classmethod
    async def open(cls, url: str) -> "Connection":
        self, where = cls(), urlsplit(url)
        self.reader, self.writer = await asyncio.open_connection(where.hostname, where.port)
        return self

    async def post(self, kind: str, **data: Any) -> Any:
        """Return the data of the response, which must be a good one."""
        head = {"corrId": "b", "version": "2026-04-01"}
        body = json.dumps({"kind": kind, "head": head, "data": data}).encode()
        first = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
        self.writer.write(first % len(body))
        self.writer.write(body)
        status, length = await self.head()
        answer = await self.reader.readexactly(length)
        assert status == 200, answer
        return json.loads(answer)["data"]

    async def get(self, path: str) -> int:
        """Return the status of a response whose body is left unread."""
        self.writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        return (await self.head())[0]

    async def head(self) -> tuple[int, int]:
        """Return the status and the length that the head of a response tells."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        _, _, length = head.partition(b"content-length: ")
        return int(head[9:12]), int(length.partition(b"\r\n")[0] or 0)


async def schedule(here: Connection, id: str, cron: str, group: str) -> None:
    target = {"resonate:target": f"poll://any@{group}"}
    await here.post("schedule.create", id=id, cron=cron, promiseId="{{.id}}/{{.timestamp}}",
                    promiseTimeout=TIMEOUT, promiseTags=target)  # fmt: skip


async def create(here: Connection, name: str, numbers: Iterator[int], rate: float, most: int,
                 took: list[float]) -> None:  # fmt: skip
    """Create schedules that fire in 2090, at a rate; note the seconds since each was due."""
    begun = time.monotonic()
    for n in numbers:
        if n >= most:
            return
        due = begun + n / rate
        await asyncio.sleep(due - time.monotonic())
        await schedule(here, f"{name}-{n}", f"{n % 60} {n // 60 % 60} 0 1 1 ? 2090", "nobody")
        took.append(time.monotonic() - due)


async def listen(here: Connection, pid: str, told: dict[str, list[float]]) -> None:
    """Take messages as a worker does; note, by promise, how many seconds after its tick."""
    assert await here.get(f"/poll/bench/{pid}") == 200
    async for line in here.reader:
        _, found, rest = line.partition(b'"task": {"id": "')
        if found:
            id = rest.partition(b'"')[0].decode()
            told.setdefault(id, []).append(time.time() - int(id.partition("/")[2]) / 1000)


async def stored(here: Connection, kind: str, prefix: str) -> list[str]:
    """Return the ids that the server has."""
    found: list[str] = []
    page: dict[str, str] = {}
    while True:
        data = await here.post(f"{kind}.search", limit=1000, **page)
        found += [item["id"] for item in data[f"{kind}s"] if item["id"].startswith(prefix)]
        if "cursor" not in data:
            return found
        page = {"cursor": data["cursor"]}


def cpu(process: psutil.Process) -> float:
    """Return the CPU seconds that a process has taken."""
    times = process.cpu_times()
    return times.user + times.system


def mb(process: psutil.Process) -> float:
    """Return the memory that a process holds now."""
    return process.memory_info().rss / 1e6


def quantile(seconds: list[float], share: float) -> float:
    """Return a quantile in ms."""
    return sorted(seconds)[int(len(seconds) * share)] * 1000


# --- what is measured --------------------------------------------------------------------


async def load(url: str, process: psutil.Process, seconds: float) -> dict[str, float]:
    """Return rates, latencies, CPU, memory, and what was lost."""
    connections = [await Connection.open(url) for _ in range(CONNECTIONS)]
    here = connections[0]
    found: dict[str, float] = {}

    spent, ours = cpu(process), time.process_time()
    numbers, took = count(), []
    await asyncio.gather(*(create(c, "alone", numbers, 1e9, ALONE, took) for c in connections))
    found["cpu_ms"] = (cpu(process) - spent) / ALONE * 1000
    found["client_cpu_ms"] = (time.process_time() - ours) / ALONE * 1000

    told: dict[str, list[float]] = {}
    streams = [await Connection.open(url) for _ in range(WORKERS)]
    workers = [asyncio.create_task(listen(s, f"w{n}", told)) for n, s in enumerate(streams)]
    for n in range(FIRED):
        await schedule(here, f"tick-{n}", "* * * * * *", "bench")
    while len(told) < FIRED:
        await asyncio.sleep(0.1)

    # Those from before may have been idle for too long.
    connections = [await Connection.open(url) for _ in range(CONNECTIONS)]
    found["begin_mb"], spent = mb(process), cpu(process)
    begun, first = time.monotonic(), len(told)
    numbers, took = count(), []
    most = int(CREATIONS * seconds)
    await asyncio.gather(*(create(c, "new", numbers, CREATIONS, most, took) for c in connections))
    lasted = time.monotonic() - begun
    found |= {"creations": most / lasted, "fired": (len(told) - first) / lasted}
    found |= {"cpu_share": (cpu(process) - spent) / lasted, "end_mb": mb(process)}
    records = most + len(told) - first
    found["kb_a_record"] = (found["end_mb"] - found["begin_mb"]) * 1000 / records
    found |= {"p50_ms": quantile(took, 0.5), "p99_ms": quantile(took, 0.99)}

    # No tick after this; what was fired until now arrives.
    here = await Connection.open(url)
    for n in range(FIRED):
        await here.post("schedule.delete", id=f"tick-{n}")
    promises = await stored(here, "promise", "tick-")
    until = time.monotonic() + 30
    while len(told) < len(promises) and time.monotonic() < until:
        await asyncio.sleep(0.1)
    here = await Connection.open(url)
    for worker in workers:
        worker.cancel()
    ticks: dict[str, list[int]] = {}
    for id in promises:
        name, _, at = id.partition("/")
        ticks.setdefault(name, []).append(int(at) // 1000)
    expected = {f"new-{n}" for n in range(most)} | {f"alone-{n}" for n in range(ALONE)}
    late = [delay for delays in told.values() for delay in delays]
    found |= {"told_p50_ms": quantile(late, 0.5), "told_p99_ms": quantile(late, 0.99)}
    found |= {"promises": len(promises), "schedules": len(expected)}
    found["not_fired"] = sum(max(at) - min(at) + 1 - len(set(at)) for at in ticks.values())
    found["not_told"] = len(set(promises) - told.keys())
    found["told_twice"] = len(late) - len(told)
    found["not_stored"] = len(expected - set(await stored(here, "schedule", "")))
    return found


async def crowd(url: str, process: psutil.Process) -> dict[str, float]:
    """Open as many streams as the server takes, twice, and return what that did."""
    found: dict[str, float] = {"idle_mb": mb(process)}
    gate = asyncio.Semaphore(200)

    async def join(n: int) -> tuple[Connection, int]:
        async with gate:
            here = await Connection.open(url)
            return here, await here.get(f"/poll/crowd/w{n}")

    for name in ("first", "second"):
        begun, spent = time.monotonic(), cpu(process)
        joined = await asyncio.gather(*map(join, range(STREAMS)))
        found[f"{name}_open_s"] = time.monotonic() - begun
        found[f"{name}_cpu_ms"] = (cpu(process) - spent) / STREAMS * 1000
        found[f"{name}_mb"] = mb(process)
        more = [await join(STREAMS + n) for n in range(TOO_MANY)]
        found[f"{name}_open"] = [status for _, status in joined].count(200)
        found[f"{name}_refused"] = [status for _, status in more].count(503)
        here, took = await Connection.open(url), []
        for n in range(200):
            begun = time.monotonic()
            await schedule(here, f"{name}-{n}", "0 0 0 1 1 ? 2090", "crowd")
            took.append(time.monotonic() - begun)
        found[f"{name}_p99_ms"] = quantile(took, 0.99)
        for other, _ in (*joined, *more):
            other.writer.close()
        until = time.monotonic() + 60
        while process.num_fds() > STREAMS / 10:
            assert time.monotonic() < until, "streams that were closed hold their sockets"
            await asyncio.sleep(0.1)
        found[f"{name}_closed_mb"] = mb(process)
    return found


def rows(seconds: float = 60.0) -> Iterator[Row]:
    """Yield what the server did; each part has a server of its own."""
    if hasattr(os, "sched_setaffinity"):  # the other benchmarks keep to one core
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with serving() as (url, process):
        found = asyncio.run(load(url, process, seconds))
    what = f"{seconds:g} s: "
    lost = found["not_fired"] + found["not_told"] + found["told_twice"] + found["not_stored"]
    yield row("a creation, the server's CPU time", found["cpu_ms"], "ms", 1.5, details=found)
    yield row(f"{what}schedules created", found["creations"], "1/s", 0.98 * CREATIONS,
              at_least=True)  # fmt: skip
    yield row(f"{what}promises fired and told", found["fired"], "1/s", 0.98 * FIRED, at_least=True)
    yield row(f"{what}median of a creation", found["p50_ms"], "ms", 100)
    yield row(f"{what}p99 of a creation", found["p99_ms"], "ms", 1000)
    yield row(f"{what}p99 from tick to worker", found["told_p99_ms"], "ms", 1000)
    yield row(f"{what}memory for each record stored", found["kb_a_record"], "kB", 3)
    yield row(f"{what}lost, or told twice", lost, "", 0)
    with serving() as (url, process):
        found = asyncio.run(crowd(url, process))
    what = f"{STREAMS:,} streams: "
    each = (found["first_mb"] - found["idle_mb"]) * 1000 / STREAMS
    yield row(f"{what}open at once", found["first_open"], "", STREAMS, at_least=True, details=found)
    yield row(
        f"{what}of {TOO_MANY} more refused", found["first_refused"], "", TOO_MANY, at_least=True
    )
    yield row(f"{what}p99 of a creation beside them", found["first_p99_ms"], "ms", 100)
    yield row(f"{what}memory of each", each, "kB", 60)
    # The system does not get all of it back, but the next ones take no more.
    yield row(f"{what}closed and opened again, memory", found["second_mb"] / found["first_mb"],
              "x", 1.1)  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        for line in rows(*map(float, sys.argv[1:])):
            print(json.dumps(line))
