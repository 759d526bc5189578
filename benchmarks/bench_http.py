"""The server under load on this machine: creations over HTTP, fired promises over a stream.

``python benchmarks/bench_http.py [SECONDS]`` runs the server in a process of its own, for 60 s
unless told otherwise: 500 schedules a second are created over 16 connections, while 2,000
promises a second are fired by the schedules of one second's period and told to four workers.
Every promise that fired must have been told exactly once, every schedule be stored. Exit code 1
if the rates are missed or anything is lost.
"""

import asyncio
import json
import multiprocessing
import socket
import sys
import time
from itertools import count
from urllib.parse import urlsplit

import httpx

from resonate_lab import Engine
from resonate_lab.clients import Limits, server

CREATIONS, FIRED, CONNECTIONS, WORKERS = 500, 2_000, 16, 4


def run(listening: multiprocessing.connection.Connection) -> None:
    """Serve until the process is ended."""
    engine = Engine(now=server.wall_clock())
    server.serve(
        engine, port=0, clock=server.wall_clock, limits=Limits(rate=1e6), when_up=listening.send
    )


def envelope(kind: str, **data: object) -> bytes:
    head = {"corrId": "b", "version": "2026-04-01"}
    return json.dumps({"kind": kind, "head": head, "data": data}).encode()


def schedule(id: str, cron: str, group: str) -> bytes:
    return envelope(
        "schedule.create", id=id, cron=cron, promiseId="{{.id}}-{{.timestamp}}",
        promiseTimeout=3_600_000, promiseTags={"resonate:target": f"poll://any@{group}"},
    )  # fmt: skip


async def create(http: httpx.AsyncClient, numbers: count, until: float, done: list[float]) -> None:
    """Create schedules that do not fire in this century's first half, at the rate agreed."""
    while time.monotonic() < until:
        n = next(numbers)
        await asyncio.sleep(done[0] + n / CREATIONS - time.monotonic())
        started = time.monotonic()
        response = await http.post("/", content=schedule(f"new-{n}", "0 0 0 1 1 ? 2090", "nobody"))
        assert response.status_code == 200, response.text
        done.append(time.monotonic() - started)


async def listen(url: str, pid: str, told: list[str]) -> None:
    """Take messages as a worker does, and note the ids."""
    where = urlsplit(url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    writer.write(f"GET /poll/bench/{pid} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    mark = b'"task": {"id": "'
    try:
        async for line in reader:
            _, found, rest = line.partition(mark)
            told += [rest.partition(b'"')[0].decode()] if found else []
    finally:
        writer.close()


async def measure(url: str, seconds: float) -> int:
    """Return the exit code."""
    told: list[str] = []
    limits = httpx.Limits(max_connections=CONNECTIONS)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as http:
        for n in range(FIRED):
            body = schedule(f"tick-{n}", "* * * * * *", "bench")
            assert (await http.post("/", content=body)).status_code == 200
        listeners = [asyncio.create_task(listen(url, f"w{n}", told)) for n in range(WORKERS)]
        await asyncio.sleep(3)
        begun, first = time.monotonic(), len(told)
        done = [begun]
        numbers = count()
        until = begun + seconds
        await asyncio.gather(*(create(http, numbers, until, done) for _ in range(CONNECTIONS)))
        took, fired = time.monotonic() - begun, len(told) - first
        # No tick after this; what was fired until now arrives.
        for n in range(FIRED):
            await http.post("/", content=envelope("schedule.delete", id=f"tick-{n}"))
        stored = [await ids(http, prefix) for prefix in ("tick", "new")]
        while len(told) < len(stored[0]):
            await asyncio.sleep(0.1)
        for listener in listeners:
            listener.cancel()
    latencies = sorted(done[1:])
    creations, rate = len(latencies) / took, fired / took
    median, tail = (latencies[int(len(latencies) * q)] * 1000 for q in (0.5, 0.99))
    print(f"{took:.0f} s: {creations:,.0f} schedules created a second (median {median:.1f} ms, "
          f"p99 {tail:.1f} ms), {rate:,.0f} fired promises a second told")  # fmt: skip
    lost = set(stored[0]) - set(told)
    twice = len(told) - len(set(told))
    missing = len(latencies) - len(stored[1])
    print(f"fired {len(stored[0]):,}, told {len(told):,}: {len(lost)} lost, {twice} told again "
          f"after 30 s without an acquisition; {missing} schedules missing")  # fmt: skip
    return int(bool(lost) or missing > 0 or creations < 0.98 * CREATIONS or rate < 0.98 * FIRED)


async def ids(http: httpx.AsyncClient, prefix: str) -> list[str]:
    """Return the ids that the server has stored: fired promises, or created schedules."""
    kind = "promise" if prefix == "tick" else "schedule"
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        response = await http.post("/", content=envelope(f"{kind}.search", limit=1000, **cursor))
        data = response.json()["data"]
        found += [item["id"] for item in data[f"{kind}s"] if item["id"].startswith(prefix)]
        if "cursor" not in data:
            return found
        cursor = {"cursor": data["cursor"]}


def main() -> int:
    """Start the server, measure, end it."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=run, args=(theirs,))
    process.start()
    try:
        return asyncio.run(measure(ours.recv(), float(sys.argv[1]) if sys.argv[1:] else 60.0))
    finally:
        process.terminate()
        process.join()


if __name__ == "__main__":
    socket.setdefaulttimeout(60)
    sys.exit(main())
