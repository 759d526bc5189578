"""A fleet beyond one process: 5,000,000 schedules in Parquet files, on a cluster of 2 processes.

``python benchmarks/bench_scale.py`` makes the files in a temporary folder, asks for the load per
minute over 31 days and for an outage of an hour, and prints time and peak memory. On a sample
of 100,000 schedules the answers must be those of a frame in memory.
"""

import csv
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from bench_cron import Row, fresh, row
from timing import peak_mb

from resonate_lab import load, what_if

HERE = Path(__file__).parent
SIZE, FILES, DISTINCT, SAMPLE = 5_000_000, 40, 200_000, 100_000
MONTH = ("2026-12-01", "2026-12-31 23:59:59.999")
DOWN = ("2026-12-01 08:30", "2026-12-01 09:30")
DAYS = ("* * *", "* * MON-FRI", "* * SUN", "* * MON", "1 * *", "15 * *", "* DEC *")


def crons() -> list[str]:
    """Return distinct expressions: those of the public fleet, and seeded ones like them."""
    with open(HERE.parent / "examples" / "public_fleet.csv", encoding="utf-8") as file:
        found = dict.fromkeys(entry["expr"] for entry in csv.DictReader(file))
    rng = random.Random(7)
    while len(found) < DISTINCT:
        second, minute, hour = rng.randrange(60), rng.randrange(60), rng.randrange(24)
        found[f"{second} {minute} {hour} {rng.choice(DAYS)}"] = None
    return list(found)


def make(folder: Path, sample: Path) -> None:
    """Write the fleet into files, and every so many rows of it into files of the sample."""
    rng = random.Random(11)
    texts, size = crons(), SIZE // FILES
    often = texts[: len(texts) // 100]  # most fleets say the same few things again and again
    for number in range(FILES):
        rows = range(number * size, (number + 1) * size)
        table = pa.table(
            {
                "id": [f"team-{n % 997}/job-{n}" for n in rows],
                "cron": [rng.choice(often if rng.random() < 0.3 else texts) for _ in rows],
            }
        )
        pq.write_table(table, folder / f"part-{number}.parquet")
        every = SIZE // SAMPLE
        pq.write_table(table.take(list(range(0, size, every))), sample / f"part-{number}.parquet")


def measured(folder: str, sample: str) -> dict[str, float]:
    """Ask on a cluster of two processes, and return seconds, MB and counts."""
    from distributed import Client, LocalCluster

    if hasattr(os, "sched_setaffinity"):  # the other benchmarks keep to one core
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    found: dict[str, float] = {}
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False},
    )
    with cluster, Client(cluster) as client:

        def timed(name: str, ask: Callable[[], Any]) -> Any:
            begin, before = time.perf_counter(), sum(client.run(time.process_time).values())
            answer = ask()
            found[f"{name}_s"] = time.perf_counter() - begin
            found[f"{name}_cpu_s"] = sum(client.run(time.process_time).values()) - before
            return answer

        whole = timed("load", lambda: load(folder, *MONTH))
        outage = timed("what_if", lambda: what_if(folder, DOWN))
        found["worker_mb"] = max(client.run(peak_mb).values())
        found["client_mb"] = peak_mb()
        found |= {"ticks": int(whole.sum()), "refused": len(whole.refused)}
        found |= {"missed": outage.counters["missed"], "schedules": outage.counters["schedules"]}
        on_cluster = load(sample, *MONTH), what_if(sample, DOWN)
    frame = pd.concat(map(pd.read_parquet, by_number(sample)), ignore_index=True)
    in_memory = load(frame, *MONTH), what_if(frame, DOWN)
    assert len(frame) == SAMPLE
    assert on_cluster[0].tolist() == in_memory[0].tolist()
    assert on_cluster[0].refused.equals(in_memory[0].refused)
    assert on_cluster[1].counters == in_memory[1].counters
    assert on_cluster[1].load.equals(in_memory[1].load)
    assert on_cluster[1].summary.equals(in_memory[1].summary)
    return found


def by_number(folder: str) -> list[Path]:
    return [Path(folder, f"part-{number}.parquet") for number in range(FILES)]


def rows() -> Iterator[Row]:
    """Yield the times and the peak memory, measured in a process of its own."""
    with tempfile.TemporaryDirectory() as place:
        folder, sample = Path(place, "fleet"), Path(place, "sample")
        folder.mkdir()
        sample.mkdir()
        make(folder, sample)
        code = f"""
import json, sys
sys.path.insert(0, {str(HERE)!r})
import bench_scale
if __name__ == "__main__":
    print(json.dumps(bench_scale.measured({str(folder)!r}, {str(sample)!r})))
"""
        found = json.loads(fresh(code))
    what = f"{SIZE:,} schedules in {FILES} files, 2 processes: "
    yield row(f"{what}load, 31 days", found["load_s"], "s", 120, details=found)
    yield row(f"{what}outage of 1 h", found["what_if_s"], "s", 180)
    yield row(f"{what}peak of a worker", found["worker_mb"], "MB", 1000)
    yield row(f"{what}peak of the client", found["client_mb"], "MB", 1000)


if __name__ == "__main__":
    for line in rows():
        print(json.dumps(line))
    sys.exit(0)
