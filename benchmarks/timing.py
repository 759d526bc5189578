"""How the benchmarks measure: rounds of one timed call, in ns an item."""

import gc
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 7


@dataclass(frozen=True)
class Measure:
    """ns an item: the fastest round and the middle one."""

    min: float
    median: float


def measure(call: Callable[[], int], rounds: int = ROUNDS) -> Measure:
    """Time `call`, which returns the number of items it made, after one warm-up."""
    times = []
    call()
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            start = time.perf_counter_ns()
            items = call()
            times.append((time.perf_counter_ns() - start) / items)
    finally:
        gc.enable()
    return Measure(min(times), statistics.median(times))


def peak_mb() -> float:
    """Return the most memory that this process ever held, MB, libraries included."""
    status = Path("/proc/self/status")
    if status.exists():
        # getrusage would count what the parent held when it started this process, too.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
