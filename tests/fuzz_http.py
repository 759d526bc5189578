"""A hundred thousand hostile requests over HTTP: each is answered, and every law stays true.

``python tests/fuzz_http.py [REQUESTS] [SEED]`` prints a line each ten thousand. Exit code 1 on
the first that is not answered properly, with what was sent.
"""

import asyncio
import json
import random
import sys
from collections import Counter

import httpx

from resonate_lab import Engine
from resonate_lab.clients import Limits, serving

T = 1_704_067_200_000
KINDS = [
    *(f"promise.{verb}" for verb in (
        "get", "create", "settle", "register_callback", "register_listener", "search")),
    *(f"task.{verb}" for verb in (
        "get", "create", "acquire", "release", "fulfill", "suspend", "fence", "heartbeat", "halt",
        "continue", "search")),
    *(f"schedule.{verb}" for verb in ("get", "create", "delete", "search")),
    "debug.tick", "debug.reset", "debug.snap", "", "../../etc/passwd", "__class__",
]  # fmt: skip
IDS = ["a", "a:1", "a:2", "a.b", "b", "", "x" * 300, "\u0000", "\ud800", "é", "../x", "<b>", "=1+1"]
TARGETS = [
    "poll://any@g",
    "poll://uni@g/w",
    "poll://any@g/w",
    "http://h",
    "file:///x",
    "",
    "poll://",
]
ODD = [None, True, -1, 0, 1, 2**63 - 1, 2**63, 1.5, "", [], {}, "\udfff", [[[]]], {"a": {"b": 1}}]
CRONS = ["* * * * *", "*/5 * * * * *", "0 0 31 2 *", "@daily", "x", "", "* * * * * * 2099"]


class Fuzzer:
    """Requests, mostly such that they could come from a client, and worse ones."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def some(self, *choices):
        return self.random.choice(choices)

    def data(self):
        r = self.random
        now = T + r.choice([-1, 0, 1, 1000, 60_000, 10**9])
        data = {
            "id": r.choice(IDS), "timeoutAt": now, "tags": self.tags(), "param": self.value(),
            "value": self.value(), "state": self.some("resolved", "rejected", "pending", "x"),
            "awaited": r.choice(IDS), "awaiter": r.choice(IDS), "address": r.choice(TARGETS),
            "version": r.choice([0, 1, 2, 3, 99]), "pid": "w", "ttl": r.choice([1, 1000, 2**50]),
            "cron": r.choice(CRONS), "promiseId": self.some("{{.id}}-{{.timestamp}}", "x", "a"),
            "promiseTimeout": r.choice([0, 1, 60_000]), "promiseTags": self.tags(),
            "limit": r.choice([1, 10, 1000, 5000]), "tasks": [{"id": r.choice(IDS), "version": 1}],
        }  # fmt: skip
        for name in r.sample(sorted(data), r.randrange(4)):
            data[name] = r.choice(ODD)
        data["actions"] = [self.action("promise.register_callback", dict(data))]
        data["action"] = self.action(self.some("promise.create", "promise.settle"), dict(data))
        return data

    def action(self, kind, data):
        return {"kind": kind, "head": {}, "data": data}

    def tags(self):
        tags = {"resonate:target": self.random.choice(TARGETS)}
        if self.random.random() < 0.3:
            tags["resonate:timer"] = "true"
        return tags if self.random.random() < 0.7 else {}

    def value(self):
        # A pickle that would end the process, were it ever unpickled.
        return self.some({}, {"data": "gASVCAAAAAAAAACMAm9zlC4="}, {"data": "%", "headers": {}})

    def body(self):
        kind = self.random.random()
        head = {"corrId": self.some("1", "é", ""), "version": self.some("2026-04-01", "x", None)}
        if self.random.random() < 0.9:
            head["version"] = "2026-04-01"
        if self.random.random() < 0.1:
            head[self.some("auth", "resonate:debug_time", "x")] = self.random.choice(ODD)
        envelope = {"kind": self.random.choice(KINDS), "head": head, "data": self.data()}
        if kind < 0.05:
            envelope[self.some("kind", "head", "data")] = self.random.choice(ODD)
        text = json.dumps(envelope).encode()
        if kind > 0.95:
            cut = self.random.randrange(len(text))
            text = text[:cut] + self.random.randbytes(self.random.randrange(8)) + text[cut + 3 :]
        return text


async def fuzz(requests, seed=1, report=10_000):
    """Send them over some connections; return how often each status came."""
    engine, fuzzer, statuses = Engine(now=T), Fuzzer(seed), Counter()
    limits = Limits(rate=1e9)
    async with (
        serving(engine, limits=limits) as url,
        httpx.AsyncClient(base_url=url, timeout=60) as http,
    ):
        for n in range(1, requests + 1):
            body = fuzzer.body()
            response = await http.post("/", content=body)
            status = response.status_code
            statuses[status] += 1
            answer = response.json()
            good = status in (200, 300, 400, 403, 404, 409, 422) and isinstance(answer, dict)
            text = response.text
            if not good or answer["head"]["status"] != status or "Traceback" in text:
                raise AssertionError(f"request {n} got {status} {text[:500]}: {body!r}")
            if n % 500 == 0:
                engine.take_messages("poll://any@g")
                await http.post("/control/advance", json={"duration": "20s"})
            if n % report == 0 or n == requests:
                assert engine.check() == [], engine.check()
                print(f"{n:,} requests: {dict(sorted(statuses.items()))}", flush=True)
    return statuses


if __name__ == "__main__":
    numbers = [int(text.replace(",", "")) for text in sys.argv[1:]]
    asyncio.run(fuzz(*(numbers or [100_000])))
