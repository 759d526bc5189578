"""The load rows of the figures: 100,000 mixed schedules, a month, by the minute.

croniter gets a sample of the same schedules, and the time that it would take for all is
extrapolated from the sample's; the row says so. Both must find the same ticks.
"""

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from bench_cron import Row, fresh, row
from croniter import croniter
from timing import measure

from resonate_lab.whatif import load

HERE = Path(__file__).parent
SIZE, SAMPLE = 100_000, 60
START_MS = 1_796_083_200_000  # 2026-12-01T00:00:00Z
END_MS = START_MS + 31 * 86_400_000 - 1


def fleet(size: int) -> pd.DataFrame:
    """Return mixed schedules: a fifth every few minutes, most daily, some weekly or monthly."""
    rng = random.Random(7)

    def text() -> str:
        kind, minute, hour = rng.random(), rng.randrange(60), rng.randrange(24)
        if kind < 0.2:
            return f"*/{rng.choice([1, 2, 5, 10, 15, 30])} * * * *"
        if kind < 0.5:
            return f"{minute} {hour} * * *"
        if kind < 0.7:
            return f"{minute} {hour} * * MON-FRI"
        if kind < 0.8:
            return f"{minute} */{rng.choice([2, 3, 4, 6])} * * *"
        if kind < 0.9:
            return f"{minute} {hour} {rng.randint(1, 28)} * *"
        return f"{minute} {hour} * * {rng.choice(['SUN', 'MON', 'SAT'])}"

    crons = [text() for _ in range(size)]
    return pd.DataFrame({"id": [f"s{n}" for n in range(size)], "cron": crons})


def rows() -> Iterator[Row]:
    """Yield the time, the ratio to croniter's extrapolated time, and the peak memory."""
    given = fleet(SIZE)
    ticks = int(load(given, START_MS, END_MS).sum())

    def call() -> int:
        assert load(given, START_MS, END_MS).sum() == ticks
        return 1

    took = measure(call)
    seconds = took.median / 1e9
    yield row(f"load of {SIZE:,} schedules, {ticks:,} ticks, per minute, 31 days", seconds, "s", 1,
              details=vars(took))  # fmt: skip
    theirs, found = croniter_seconds(given.head(SAMPLE))
    assert found == load(given.head(SAMPLE), START_MS, END_MS).sum()
    # Its time goes with the ticks, so the sample's is scaled by theirs.
    extrapolated = theirs * ticks / found
    what = f"load, times faster than croniter (extrapolated from {SAMPLE} schedules)"
    yield row(what, extrapolated / seconds, "x", 300, at_least=True, sample_s=theirs,
              sample_ticks=found, croniter_s=extrapolated)  # fmt: skip
    yield memory_row()


def croniter_seconds(sample: pd.DataFrame) -> tuple[float, int]:
    """Return how long croniter takes to list the ticks of a sample, and how many there are."""
    n, start = 0, time.perf_counter()
    for text in sample["cron"]:
        ticks = croniter(text, START_MS / 1000 - 1)
        while ticks.get_next(float) * 1000 <= END_MS:
            n += 1
    return time.perf_counter() - start, n


def memory_row() -> Row:
    """Return the peak memory of a fresh process that does it, libraries included."""
    code = """
import sys
sys.path.insert(0, FOLDER)
import bench_load, timing
bench_load.load(bench_load.fleet(bench_load.SIZE), bench_load.START_MS, bench_load.END_MS)
print(timing.peak_mb())
"""
    code = code.replace("FOLDER", repr(str(HERE)))
    return row(f"load of {SIZE:,} schedules, peak memory", float(fresh(code)), "MB", 1000)
