"""The engine at scale: a million missed ticks, schedules, promises; agenda, search, copies.

Each figure comes from a process of its own, which asserts what it did: a fast wrong answer
fails. Seconds are those of the processor, since a call of seconds is never alone on a machine;
what the clock on the wall said stands beside them in the results.
``python benchmarks/bench_engine.py NAME [N]`` runs one of them and prints its JSON.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from timing import peak_mb

from resonate_lab import Engine
from resonate_lab.engine.rows import PromiseRow

START = 1_796_000_000_000  # 2026-11-30T00:53:20Z, ms since the Unix epoch
TARGET = "poll://any@default"
MILLION = 1_000_000
DAYS_30 = 30 * 86_400_000

#: What the released server's in-memory model takes for that many missed ticks of one
#: schedule, s. Quoted as given by those who observed it; nothing here has measured it.
REFERENCE_S = {10_000: 27, 20_000: 169}

Row = dict[str, object]
Figures = dict[str, float]


def rows() -> Iterator[Row]:
    """Yield the rows of the table: what, value, unit, target, whether it is reached."""
    yield from catch_up_rows()
    yield from schedules_rows()
    yield from search_rows()
    yield from agenda_rows()
    yield from copies_rows()


def row(what: str, value: float, unit: str, target: float, **more: object) -> Row:
    """Return one line of the table; `more` goes into the results file."""
    return {
        "what": what, "value": value, "unit": unit,
        "target": f"<= {target:g}", "reached": value <= target, **more,
    }  # fmt: skip


def fresh(name: str, *args: int, rounds: int = 3) -> list[Figures]:
    """Return what a figure says in that many processes of its own."""
    command = [sys.executable, __file__, name, *map(str, args)]
    return [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(rounds)
    ]


def median(figures: list[Figures], name: str) -> float:
    """Return the middle one of the rounds."""
    return statistics.median(figure[name] for figure in figures)


def timed(call: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """Return how long a call takes, s."""
    start = clock()
    call()
    return clock() - start


# --- catching up -------------------------------------------------------------------------


def missed(schedules: int = 1) -> Engine:
    """Return an engine with schedules that miss a tick a second from the start on."""
    engine = Engine(now=START)
    for k in range(schedules):
        engine.schedules.create(f"s{k}", cron="* * * * * *", promise_timeout=DAYS_30, target=TARGET)
    return engine


def catch_up(n: int) -> Figures:
    """Catch up n missed ticks of one schedule, by one request."""
    engine = missed()
    now = START + n * 1000
    head = {"corrId": "1", "version": "2026-04-01", "resonate:debug_time": now}
    tick = {"kind": "debug.tick", "head": head, "data": {"time": now}}
    wall = time.perf_counter()
    took = timed(lambda: engine.send(tick))
    wall = time.perf_counter() - wall
    peak = peak_mb()
    assert len(engine.state.promises) == n
    for k in (1, n // 2, n):
        promise = engine.promises.get(f"s0-{START + 1000 * k}")
        assert promise.created_at == START + 1000 * k
        assert promise.timeout_at == promise.created_at + DAYS_30
        assert promise.tags["resonate:schedule"] == "s0"
        assert promise.tags["resonate:origin"] == promise.id
        assert engine.tasks.get(promise.id).state == "pending"
    assert engine.schedules.get("s0").next_run_at == now + 1000
    return {"s": took, "wall_s": wall, "peak_mb": peak}


def catch_up_rows() -> Iterator[Row]:
    """Yield the curve of one schedule's catch-up, its memory, and whether it is a line."""
    took = {}
    for n, target in ((10_000, 0.27), (20_000, 0.54), (100_000, 0.6), (MILLION, 4)):
        rounds = fresh("catch_up", n, rounds=5 if n < MILLION else 3)
        took[n] = median(rounds, "s")
        details = {"rounds": rounds} | ({"reference_s": REFERENCE_S[n]} if n in REFERENCE_S else {})
        yield row(f"catch up {n:,} missed ticks", took[n], "s", target, details=details)
    yield row("peak memory of 1,000,000", median(rounds, "peak_mb"), "MB", 1200)
    yield row("1,000,000 : 100,000 missed ticks", took[MILLION] / took[100_000], "x", 13)


# --- many schedules ----------------------------------------------------------------------


def schedules(n: int) -> Figures:
    """Let n schedules come due together, and advance past that once."""
    engine = Engine(now=START)
    due = START + 40_000  # the next full minute
    create = timed(
        lambda: [
            engine.schedules.create(f"s{k:06}", cron="* * * * *", target=TARGET) for k in range(n)
        ]
    )
    wall = time.perf_counter()
    took = timed(lambda: engine.advance("40s"))
    wall = time.perf_counter() - wall
    assert len(engine.state.promises) == len(engine.state.executes) == n
    assert {row.created_at for row in engine.state.promises.values()} == {due}
    assert {row.next_run_at for row in engine.state.schedules.values()} == {due + 60_000}
    return {"s": took, "wall_s": wall, "create_s": create, "peak_mb": peak_mb()}


def schedules_rows() -> Iterator[Row]:
    """Yield one advance over 100,000 due schedules."""
    rounds = fresh("schedules", 100_000)
    what = "one advance, 100,000 schedules due"
    yield row(what, median(rounds, "s"), "s", 2, details={"rounds": rounds})


# --- searching ---------------------------------------------------------------------------


def search(n: int) -> Figures:
    """Search n promises of 100 schedules by a tag: first, again, after a new promise."""
    engine = missed(schedules=100)
    engine.outage(10 * n)  # n / 100 seconds
    assert len(engine.state.promises) == n
    head = {"corrId": "1", "version": "2026-04-01"}
    data = {"tags": {"resonate:schedule": "s42"}, "limit": 1000}

    def page() -> None:
        answer = engine.send({"kind": "promise.search", "head": head, "data": data})
        found = answer["data"]["promises"]
        assert [p["id"] for p in found[:2]] == [f"s42-{START + 1000 * k}" for k in (1, 2)]
        assert len(found) == 1000

    first = timed(page)
    again = [timed(page) for _ in range(9)]
    changed = []
    for k in range(9):
        engine.promises.create(f"new{k}", timeout="1h", target=TARGET)
        changed.append(timed(page))
    return {
        "first_ms": 1e3 * first,
        "again_ms": 1e3 * statistics.median(again),
        "changed_ms": 1e3 * max(changed),
    }


def search_rows() -> Iterator[Row]:
    """Yield searches by tag over 1,000,000 promises; the first builds the order."""
    rounds = fresh("search", MILLION, rounds=1)
    more = {"details": {"rounds": rounds}}
    what = "search by tag, 1,000,000 promises"
    yield row(f"{what}, first", median(rounds, "first_ms"), "ms", 2000, **more)
    yield row(f"{what}, again", median(rounds, "again_ms"), "ms", 50, **more)
    yield row(f"{what}, one is new", median(rounds, "changed_ms"), "ms", 50, **more)


# --- the agenda --------------------------------------------------------------------------


def agenda(n: int) -> Figures:
    """Look at the next step and take it, with n promises waiting for their deadlines.

    The deadlines lie in no order, so nothing of the agenda can be folded together.
    """
    engine = Engine(now=START)
    tags = {"resonate:timer": "true"}
    with engine.state.transaction():
        # What `promise.create` comes to, without the way there.
        for k in range(n):
            deadline = START + 1 + k * 7919 % n * 60_000
            engine.state.put_promise(PromiseRow(f"p{k}", "pending", {}, {}, tags, deadline, START))
    took, peeked = [], []
    for k in range(500):
        # Too short for the processor's clock, and the middle one of 500 is alone.
        peeked.append(timed(engine.peek_ms, time.perf_counter))
        took.append(timed(engine.step, time.perf_counter))
        assert engine.now_ms == START + 1 + k * 60_000
    settled = [row for row in engine.state.promises.values() if row.state == "resolved"]
    assert len(settled) == 500
    return {"peek_us": 1e6 * statistics.median(peeked), "step_us": 1e6 * statistics.median(took)}


def agenda_rows() -> Iterator[Row]:
    """Yield `peek_ms` and `step` with 1,000,000 entries, and beside 1,000 of them."""
    few, many = fresh("agenda", 1000, rounds=5), fresh("agenda", MILLION, rounds=1)
    more = {"details": {"few": few, "many": many}}
    for name, target in (("peek", 50), ("step", 200)):
        small, large = (median(rounds, f"{name}_us") for rounds in (few, many))
        yield row(f"{name}, 1,000,000 armed", large, "us", target, **more)
        yield row(f"{name}, 1,000,000 : 1,000 armed", large / small, "x", 4, **more)


# --- copies ------------------------------------------------------------------------------


def copies(n: int) -> Figures:
    """Save, load and fork an engine of n promises."""
    engine = missed()
    engine.outage(1000 * n)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "engine")
        saving = timed(lambda: engine.save(path))
        size = path.stat().st_size if path.is_file() else 0
        start = time.process_time()
        loaded = Engine.load(path)
        loading = time.process_time() - start
    start = time.process_time()
    twin = engine.fork()
    forking = time.process_time() - start
    for copy in (loaded, twin):
        assert len(copy.state.promises) == n
        assert copy.peek_ms() == engine.peek_ms()
        for k in (1, n):
            id = f"s0-{START + 1000 * k}"
            assert copy.promises.get(id) == engine.promises.get(id)
    twin.promises.settle(f"s0-{START + 1000}")
    assert engine.promises.get(f"s0-{START + 1000}").state == "pending"
    return {"save_s": saving, "load_s": loading, "fork_s": forking, "file_mb": size / 1e6}


def copies_rows() -> Iterator[Row]:
    """Yield save, load and fork of 1,000,000 promises."""
    rounds = fresh("copies", MILLION)
    more = {"details": {"rounds": rounds}}
    for name, target in (("save", 6), ("load", 6), ("fork", 1)):
        yield row(f"{name} 1,000,000 promises", median(rounds, f"{name}_s"), "s", target, **more)
    yield row("file of 1,000,000 promises", median(rounds, "file_mb"), "MB", 200, **more)


if __name__ == "__main__":
    FIGURES = {f.__name__: f for f in (catch_up, schedules, search, agenda, copies)}
    print(json.dumps(FIGURES[sys.argv[1]](*map(int, sys.argv[2:]))))
