"""How the benchmarks measure: rounds of one timed call, in ns an item."""

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

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
