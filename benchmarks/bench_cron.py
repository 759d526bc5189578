"""The cron rows of the figures: next tick, bulk fill, count, parse, memory, import.

Rivals run the same expressions in the same process, one after the other, and every call
asserts what it found: a fast wrong answer fails. No expression is adjusted for a rival.
"""

import datetime as dt
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator

import croniter_rs
import numpy as np
from croniter import croniter
from cronsim import CronSim
from timing import Measure, measure

from resonate_lab.cron import CronExpression

START = 1_796_000_000  # 2026-11-30T00:53:20Z, s since the Unix epoch
START_DATE = dt.datetime.fromtimestamp(START, dt.UTC)
CALENDAR_END_MS = 4_133_980_799_999

SIX = (
    "*/5 * * * *",
    "0 9 * * MON-FRI",
    "0 0 1 * *",
    "0 0 29 2 *",
    "*/15 9-17 * * MON-FRI",
    "30 3 13 * FRI",
)
# The last one is "the 13th or a Friday" to the rivals, so their ticks are not compared;
# they are denser and each search is shorter, which is in the rivals' favour.
SAME_TICKS = SIX[:5]
RARE = {"0 0 29 2 *": 15, "30 3 13 * FRI": 15}
CHAIN = 300

Row = dict[str, object]


def rows() -> Iterator[Row]:
    """Yield the rows of the table: what, value, unit, target, whether it is reached."""
    yield from next_rows()
    yield from fill_rows()
    yield from count_rows()
    yield parse_row()
    yield memory_row()
    yield import_row()


def row(
    what: str, value: float, unit: str, target: float, *, at_least: bool = False, **more: object
) -> Row:
    """Return one line of the table; `more` goes into the results file."""
    reached = value >= target if at_least else value <= target
    return {
        "what": what, "value": value, "unit": unit,
        "target": f"{'>=' if at_least else '<='} {target:g}", "reached": reached, **more,
    }  # fmt: skip


def next_rows() -> Iterator[Row]:
    """Yield `next_ms` one tick at a time beside the rivals, and the medians."""
    ours, ratios = [], {"croniter": [], "cronsim": [], "croniter-rs": []}
    for text in SIX:
        n = RARE.get(text, CHAIN)
        last = chain_end(text, n)
        mine = measure(next_chain(text, n, last))
        ours.append(mine.median)
        details = {"ours_ns": vars(mine)}
        for name, chain in (
            ("croniter", croniter_chain),
            ("cronsim", cronsim_chain),
            ("croniter-rs", rust_chain),
        ):
            theirs = measure(chain(text, n, last if text in SAME_TICKS else None), rounds=5)
            details[f"{name}_ns"] = vars(theirs)
            # Of the fastest rounds: noise only adds.
            ratios[name].append(theirs.min / mine.min)
        yield row(f"next_ms {text}", mine.median, "ns", 350, details=details)
    yield row("next_ms, median of the six", statistics.median(ours), "ns", 350)
    for name, target in (("croniter", 300), ("cronsim", 80), ("croniter-rs", 5)):
        each = dict(zip(SIX, ratios[name], strict=True))
        middle = statistics.median(ratios[name])
        what = f"next_ms, times faster than {name}"
        yield row(what, middle, "x", target, at_least=True, each=each)


def chain_end(text: str, n: int) -> int:
    """Return the n-th tick (s) after the start, found by bulk fill, not by the timed call."""
    return int(CronExpression(text).fires_ms(START * 1000, n)[-1]) // 1000


def next_chain(text: str, n: int, last: int) -> Callable[[], int]:
    """Return the timed call: `next_ms` n times, each from the tick before."""
    step, repeats = CronExpression(text).next_ms, max(1, 30_000 // n)

    def call() -> int:
        for _ in range(repeats):
            t = START * 1000
            for _ in range(n):
                t = step(t)
        assert t == last * 1000
        return n * repeats

    return call


def croniter_chain(text: str, n: int, last: int | None) -> Callable[[], int]:
    """Return the timed call: croniter's iterator, n ticks."""

    def call() -> int:
        ticks = croniter(text, START)
        for _ in range(n):
            t = ticks.get_next(float)
        assert last is None or t == last
        return n

    return call


def cronsim_chain(text: str, n: int, last: int | None) -> Callable[[], int]:
    """Return the timed call: cronsim's iterator, n ticks."""

    def call() -> int:
        ticks = CronSim(text, START_DATE)
        for _ in range(n):
            t = next(ticks)
        assert last is None or t.timestamp() == last
        return n

    return call


def rust_chain(text: str, n: int, last: int | None) -> Callable[[], int]:
    """Return the timed call: croniter-rs, n ticks."""

    def call() -> int:
        ticks = croniter_rs.croniter(text, START_DATE)
        for _ in range(n):
            t = ticks.get_next(float)
        assert last is None or t == last
        return n

    return call


def filled(text: str, n: int) -> Measure:
    """Time `fires_ms` of n ticks."""
    cron = CronExpression(text)
    last = START * 1000
    for _ in range(n):
        last = cron.next_ms(last)
    repeats = max(1, 20_000 // n)

    def call() -> int:
        for _ in range(repeats):
            ticks = cron.fires_ms(START * 1000, n)
        assert len(ticks) == n
        assert ticks[-1] == last
        return n * repeats

    return measure(call)


def fill_rows() -> Iterator[Row]:
    """Yield bulk fill: dense beside numpy.arange, sparse in ns a tick."""
    n = 1_000_000
    arange = measure(lambda: len(np.arange(n)))
    for text in ("* * * * * *", "*/5 * * * *"):
        took = filled(text, n)
        yield row(f"fires_ms {text}, 1,000,000 ticks", took.min / arange.min, "x arange", 1.5,
                  ns_a_tick=vars(took), arange_ns=vars(arange))  # fmt: skip
    for text, ticks, target in (
        ("0 9 * * *", 20_000, 6),
        ("0 9 * * MON-FRI", 15_000, 6),
        ("0 0 29 2 *", 15, 60),
        ("30 3 13 * FRI", 100, 60),
    ):
        took = filled(text, ticks)
        yield row(
            f"fires_ms {text}, {ticks:,} ticks",
            took.median,
            "ns a tick",
            target,
            details=vars(took),
        )


def count_rows() -> Iterator[Row]:
    """Yield `count_ms` over the whole calendar, parse included."""
    for text, n in (("* * * * * *", 4_133_980_800), ("30 3 13 * FRI", 225), ("0 0 30 2 *", 0)):

        def call(text: str = text, n: int = n) -> int:
            assert CronExpression(text).count_ms(0, CALENDAR_END_MS) == n
            return 1

        took = measure(call, rounds=25)
        yield row(f"count_ms {text}, 1970-2100", took.median / 1000, "us", 50, details=vars(took))


def parse_row() -> Row:
    """Return the time to compile a five-field text."""
    texts = [f"{i % 60} {i % 24} * * MON-FRI" for i in range(5000)]
    took = measure(lambda: len([CronExpression(text) for text in texts]))
    return row("parse a five-field text", took.median / 1000, "us", 3, details=vars(took))


def fresh(code: str) -> str:
    """Return what a fresh interpreter prints; -P, or the clone's folder would be imported."""
    command = [sys.executable, "-P", "-c", code]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def memory_row() -> Row:
    """Return what 100,000 distinct compiled expressions hold, texts included."""
    code = """
import resource
from resonate_lab.cron import CronExpression
texts = [
    f"{i % 60} {i // 60 % 24} {i // 1440 % 28 + 1} * {i // 40320 + 1}-7" for i in range(100_000)
]
def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize()
before = resident()
kept = [CronExpression(t) for t in texts]
assert len(set(kept)) == 100_000
print(resident() - before + sum(len(t) + 49 for t in texts))
"""
    return row("memory of 100,000 expressions", int(fresh(code)) / 1e6, "MB", 100)


def import_row() -> Row:
    """Return what `import resonate_lab` adds to a bare interpreter's start."""
    code = """
import time
start = time.perf_counter()
import resonate_lab
print((time.perf_counter() - start) * 1e3)
"""
    times = [float(fresh(code)) for _ in range(9)]
    return row("import resonate_lab", statistics.median(times), "ms", 60, rounds=times)
