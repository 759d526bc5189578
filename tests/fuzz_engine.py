"""Fuzz `Engine.send`: ``python tests/fuzz_engine.py [BYTES] [SEED]``, 10,000,000 unless told.

What is sent is JSON text: requests of every kind that mostly make sense, the same with
members exchanged for hostile values or any JSON, the same with bytes of their text flipped,
cut or repeated (a text that is no JSON any more is sent as it is), and any JSON at all.
They come in episodes of some hundred, each upon an engine of its own, with promises, tasks
and schedules that live, wait and fire, and a clock that moves on; late in an episode it may
leap anywhere. After a refusal nothing may have happened, and the laws are asked of states
and of steps. Everything follows from the seed.
"""

import faulthandler
import json
import random
import sys
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from itertools import islice, pairwise

from resonate_lab import Engine
from resonate_lab.engine import internal
from resonate_lab.engine.laws import Picture, step_violations
from resonate_lab.protocol import PROFILES
from resonate_lab.protocol.records import wire_name
from resonate_lab.protocol.requests import REQUESTS

START = 1_704_067_200_000  # 2024-01-01T00:00:00Z
EPISODE = 300
#: Requests of an episode from which on its clock may leap; before it only moves on.
LEAPS_FROM = 200
CHECK_EVERY = 5
#: Bytes of a long text that count: a few of these would be all of the budget.
COUNTED = 2_000
#: One leap over years of seconds is as good a test when it is refused earlier.
LOAD_LIMIT = 5_000
HANG_S = 10.0
#: Laws that compare instants, and that requests from a time gone back may break.
OF_A_STEADY_CLOCK = {"well_formed_promise_created_at_lte_settled_at"}

IDS = ["o", "o.a", "o.b", "o.c", "o.d", "o.e", "o:1", "o.a.1", "p", "s-1704067260000"]
SCHEDULES = ["s", "s", "t", "t", "u", "u.v", "{{.timestamp}}"]
LONG = "x" * 1_000_000
HOSTILE_TEXTS = [
    "", " ", ".", "..", "o.", ".o", ":", "\0", "o\0", "\ud800", "\udfff\ud800", "\u202eo", "😀",
    "<script>alert(1)</script>", "__proto__", "constructor", "=1+1", "%s%n", "'; drop table --",
    "{{.id}}", "{{.timestamp}}" * 3, "{{", "../../etc", "\x1b[31m", "\r\n", "null", "1e999", "٣",
]  # fmt: skip
NUMBERS = [
    0, 1, -1, 2, 1000, 1001, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64,
    10**300, START, 0.0, -0.0, 1.5, 1e300, float("inf"), float("-inf"), float("nan"),
]  # fmt: skip
CRONS = [
    "* * * * *", "*/20 * * * * *", "* * * * * *", "0 9 * * MON-FRI", "0 0 30 2 *", "@daily",
    "0 0 0 1 1 ? 2024", "0 0 1 1 * 2099-2100", "0 0 29 2 ? *", "0 9 * * 0", "* * * *", "******",
    "0 0 L * ?", "60 * * * *", "*/0 * * * *", "1,2,,3 * * * *", "MON - FRI", "5-1 * * * *",
    "* " * 5000, "1," * 5000 + "1 * * * *", "99999999999999999999 * * * *", "\0 * * * *",
]  # fmt: skip
TEMPLATES = [
    "{{.id}}-{{.timestamp}}", "{{.timestamp}}", "o.a", "{{.id}}", "{{.x}}{{.timestamp}}", "{{{{",
    "{{.id}}" * 50 + "{{.timestamp}}" * 50, "s-{{.timestamp}}",
]  # fmt: skip
TARGETS = ["poll://any@g", "poll://uni@g/me", "http://w", "bash://", "gcps://p/t", "w", "", "://"]
TAGS = ["target", "timer", "delay", "external", "origin", "branch", "parent", "prefix", "schedule"]
STATES = [
    "pending", "resolved", "rejected", "rejected_canceled", "rejected_timedout", "acquired",
    "suspended", "halted", "fulfilled", "unknown",
]  # fmt: skip
#: In which state a request wants its task.
WANTED = {"task.acquire": "pending", "task.halt": "suspended", "task.continue": "halted"} | {
    f"task.{verb}": "acquired" for verb in ("release", "fulfill", "suspend", "fence", "heartbeat")
}
CLOSING = str.maketrans("[{", "]}")
INNER = {
    "task.create": "promise.create",
    "task.fulfill": "promise.settle",
    "task.suspend": "promise.register_callback",
}


@dataclass
class Tally:
    """What was sent, what came back, what was checked."""

    profile: str
    bytes: int = 0
    requests: int = 0
    episodes: int = 0
    checks: int = 0
    slowest_s: float = 0.0
    slowest: str = ""
    statuses: Counter = field(default_factory=Counter)
    kinds: Counter = field(default_factory=Counter)

    def __str__(self):
        """Return the counts on three lines."""
        statuses = ", ".join(f"{status}: {n:,}" for status, n in sorted(self.statuses.items()))
        answered = {kind for kind, status in self.kinds if status < 400}
        return (
            f"{self.profile}: {self.bytes:,} bytes in {self.requests:,} requests, "
            f"{self.episodes:,} engines; statuses {statuses}\n"
            f"  {len(answered)} of {len(REQUESTS)} kinds answered with success; "
            f"slowest {1000 * self.slowest_s:,.0f} ms ({self.slowest})\n"
            f"  laws asked {self.checks:,} times, of states and of steps: none broken"
        )


class Fuzzer:
    """One stream of requests, from one seed."""

    def __init__(self, profile, seed):
        self.random = random.Random(f"{profile} {seed}")
        self.profile = profile
        self.tally = Tally(profile)
        self.engine = Engine(profile, START)
        self.now = START

    def pick(self, items):
        return self.random.choice(items)

    def chance(self, probability):
        return self.random.random() < probability

    # --- what is sent

    def id(self, kind=""):
        if kind in WANTED and self.chance(0.8):
            last = islice(reversed(self.engine.state.promises.values()), 200)
            fit = [row.id for row in last if row.task and row.task.state == WANTED[kind]]
            return self.pick(fit or IDS)
        return self.pick(HOSTILE_TEXTS) if self.chance(0.05) else self.pick(IDS)

    def tags(self):
        tags = {"resonate:target": self.pick(TARGETS[:3])} if self.chance(0.8) else {}
        if self.chance(0.1):
            tags["resonate:timer"] = "true"
        while self.chance(0.1):
            name, text = f"resonate:{self.pick(TAGS)}", self.pick(TARGETS + IDS + HOSTILE_TEXTS)
            text = self.pick(["true", str(self.now + 5_000), str(2**63), "-0", text, text])
            tags[name] = text
        return tags

    def version(self, id):
        row = self.engine.state.promises.get(id)
        known = row.task.version if row is not None and row.task is not None else 0
        return known if self.chance(0.9) else known + self.pick([-1, 1, 2**62])

    def member(self, kind, name, id):
        """Return a value that makes sense for a member of a request."""
        match name:
            case "id":
                return id
            case "awaited" | "awaiter" | "cursor":
                return self.id()
            case "address":
                return self.pick(TARGETS)
            case "timeoutAt":
                return self.now + self.pick([-5, 0, 1_000, 40_000, 3_600_000, 10**8, 10**8])
            case "param" | "value" | "promiseParam":
                return self.pick([{}, {"data": "x"}, {"headers": {"a": "b"}, "data": None}])
            case "tags" if kind.endswith("search"):
                return self.pick([{}, {"resonate:schedule": "s"}, {"resonate:target": TARGETS[0]}])
            case "tags":
                return self.tags()
            case "promiseTags":
                return {"resonate:target": TARGETS[0]} | self.tags()
            case "state":
                return self.pick(STATES[1:4]) if kind == "promise.settle" else self.pick(STATES)
            case "limit":
                return self.pick([1, 2, 100, 1000])
            case "pid":
                return self.pick(["w", "v"])
            case "ttl":
                return self.pick([1, 1_000, 60_000, 60_000, 3_600_000, 2**62])
            case "version":
                return self.version(id)
            case "action" if kind == "task.fence":
                inner = self.pick(["promise.create", "promise.settle"])
                return {"kind": inner, "data": self.data(inner, self.id())}
            case "action":
                return self.action(kind, id)
            case "actions":
                return [self.action(kind, id) for _ in range(self.pick([1, 1, 2, 3]))]
            case "tasks":
                some = [self.id(kind) for _ in range(self.pick([1, 2]))]
                return [{"id": one, "version": self.version(one)} for one in some]
            case "cron":
                return self.pick(CRONS[:3] if self.chance(0.8) else CRONS)
            case "promiseId":
                return self.pick(TEMPLATES)
            case "promiseTimeout":
                return self.pick([0, 1, 20_000, 3_600_000, 2**63 - 1])
            case "at" | "time":
                return self.now
        raise AssertionError(f"the fuzzer does not know member {name!r} of {kind}")

    def action(self, kind, id):
        data = self.data(INNER[kind], id)
        if "awaiter" in data:
            data["awaiter"] = id
        return {"kind": INNER[kind], "head": {}, "data": data}

    def data(self, kind, id):
        names = [wire_name(item.name) for item in fields(REQUESTS[kind])]
        if kind == "debug.tick":
            names = ["time"]
        optional = {"limit", "cursor", "param", "value", "promiseParam"}
        search = {"state", "tags"} if kind.endswith("search") else set()
        kept = [n for n in names if n not in optional | search or self.chance(0.4)]
        return {name: self.member(kind, name, id) for name in kept}

    def envelope(self):
        kind = self.pick(sorted(REQUESTS)) if self.chance(0.6) else self.pick(
            ["promise.create", "promise.create", "task.acquire", "task.suspend", "debug.tick"]
        )  # fmt: skip
        if kind in ("debug.reset", "debug.start") and self.chance(0.8):
            kind = "debug.stop"
        id = self.pick(SCHEDULES) if kind.startswith("schedule") else self.id(kind)
        head = {"corrId": "1", "version": "2026-04-01", "resonate:debug_time": self.now}
        return {"kind": kind, "head": head, "data": self.data(kind, id)}

    def any_json(self, depth=0):
        branch = self.random.random()
        if depth < 4 and branch < 0.2:
            return [self.any_json(depth + 1) for _ in range(self.pick([0, 1, 2, 3]))]
        if depth < 4 and branch < 0.4:
            names = ["id", "data", "kind", "head", "headers", "__proto__", *HOSTILE_TEXTS[:6]]
            return {self.pick(names): self.any_json(depth + 1) for _ in range(self.pick([0, 1, 3]))}
        if branch < 0.5:
            return self.pick([None, True, False])
        return self.pick(NUMBERS) if branch < 0.75 else self.pick(HOSTILE_TEXTS + IDS + STATES)

    def mutate(self, envelope):
        """Exchange, drop, add or rename something somewhere within."""
        places = [envelope]
        for place in places:
            inner = place.values() if isinstance(place, dict) else place
            places += [item for item in inner if isinstance(item, dict | list) and item]
        place = self.pick(places)
        key = self.pick(list(place) if isinstance(place, dict) else range(len(place)))
        if key == "resonate:debug_time":
            return
        what = self.random.random()
        if what < 0.15:
            del place[key]
        elif what < 0.3 and isinstance(place, dict):
            place[self.pick(HOSTILE_TEXTS)] = place.pop(key)
        elif what < 0.45 and isinstance(place[key], int):
            place[key] = self.pick(NUMBERS)
        elif what < 0.7 and isinstance(place[key], str):
            place[key] = LONG if self.chance(0.001) else self.pick(HOSTILE_TEXTS)
        else:
            place[key] = self.any_json()

    def garble(self, text):
        """Flip, cut or repeat some bytes of a text."""
        at = self.random.randrange(len(text))
        length = self.pick([1, 1, 2, 8, 40])
        piece = self.pick(
            ["", chr(self.random.randrange(32, 127)), text[at : at + length] * 2, *'"{}[],:\\0']
        )
        return text[:at] + piece + text[at + length :]

    def message(self):
        """Return the next text."""
        way = self.random.random()
        if way < 0.05:
            deep = self.pick(["[", '{"data":']) if self.chance(0.02) else ""
            return deep * 500 + json.dumps(self.any_json()) + deep.translate(CLOSING)[:1] * 500
        envelope = self.envelope()
        if way < 0.12:
            envelope[self.pick(["kind", "head", "data"])] = self.any_json()
        while way > 0.7 and envelope:
            self.mutate(envelope)
            way = self.random.random()
        text = json.dumps(envelope)
        while self.chance(0.08):
            text = self.garble(text)
        return text

    # --- what comes back

    def send(self, text):
        """Send a text, as far as it is JSON parsed, and look at the answer.

        Return the kind; None if it did not happen now, since its time was garbled, too.
        """
        try:
            sent = json.loads(text)
        except ValueError:
            sent = text
        state = self.engine.state
        before = state.steps, len(state.promises), len(state.schedules), self.engine.peek_ms()
        start = time.perf_counter()
        answer = self.engine.send(sent)
        took = time.perf_counter() - start
        status, kind = answer["head"]["status"], answer["kind"]
        assert answer.keys() == {"kind", "head", "data"}, answer
        assert status in (200, 300, 400, 404, 409, 422, 501), answer
        json.dumps(answer)
        if status >= 400:
            assert isinstance(answer["data"], str), answer
        if status == 400 and kind != "task.fence":
            after = state.steps, len(state.promises), len(state.schedules), self.engine.peek_ms()
            assert after == before, (text[:2000], answer)
        tally = self.tally
        tally.bytes += min(len(text), COUNTED)
        tally.requests += 1
        tally.statuses[status] += 1
        # What has the kind as it was sent may be any text.
        tally.kinds[kind if kind in REQUESTS else "?", status] += 1
        if took > tally.slowest_s:
            tally.slowest_s, tally.slowest = took, text[:60]
        assert took < HANG_S, (took, text[:2000])
        head = sent.get("head") if isinstance(sent, dict) else None
        is_now = isinstance(head, dict) and head.get("resonate:debug_time") == self.now
        return kind if is_now else None

    def episode(self):
        """Send some hundred texts to an engine of their own."""
        self.engine, self.now = Engine(self.profile, START), START
        self.tally.episodes += 1
        for n in range(EPISODE):
            is_checked = n % CHECK_EVERY == 0
            before = Picture.of(self.engine.state) if is_checked else None
            has_leapt = self.engine.now_ms > self.now
            kind = self.send(self.message())
            if is_checked and kind not in (None, "debug.reset") and not has_leapt:
                after = Picture.of(self.engine.state, kind)
                broken = step_violations(self.now, before, after)
                assert broken == [], (self.profile, kind, broken, self.engine.trace)
                self.check()
            self.pass_time(n)
        self.check()

    def check(self):
        """Ask the laws of the state."""
        went_back = any(a.at > b.at for a, b in pairwise(self.engine.trace))
        found = self.engine.check()
        broken = [item for item in found if not (went_back and item.law in OF_A_STEADY_CLOCK)]
        assert broken == [], (self.profile, broken, self.engine.trace)
        self.tally.checks += 1

    def pass_time(self, n):
        self.now = max(self.now, min(self.engine.now_ms, START + 10**9))
        if self.chance(0.3):
            self.now += self.pick([0, 1, 500, 1_000, 5_000, 31_000, 60_000])
        elif self.chance(0.02):
            self.now += self.pick([600_000, 3_600_000])
        elif n >= LEAPS_FROM and self.chance(0.01):
            self.now = self.pick([0, -1, -(2**63), 2**63 - 1, 2**62, START - 1, START + 10**12])


@contextmanager
def _limited():
    # Without monkeypatch: this is a program, too.
    limit, internal.LOAD_LIMIT = internal.LOAD_LIMIT, LOAD_LIMIT
    try:
        yield
    finally:
        internal.LOAD_LIMIT = limit


def fuzz(profile, size, seed=0):
    """Send at least that many bytes to engines of a profile; return the tally."""
    fuzzer = Fuzzer(profile, seed)
    with _limited():
        while fuzzer.tally.bytes < size:
            fuzzer.episode()
    return fuzzer.tally


def main(size=10_000_000, seed=0):
    """Fuzz all profiles, a quarter each; print what was done."""
    faulthandler.enable()
    start, sent = time.perf_counter(), 0
    for profile in PROFILES:
        tally = fuzz(profile, -(-size // len(PROFILES)), seed)
        print(tally, flush=True)
        sent += tally.bytes
    took = time.perf_counter() - start
    print(f"{sent:,} bytes, seed {seed}, {took:,.0f} s: no exception, no hang, no law broken")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
