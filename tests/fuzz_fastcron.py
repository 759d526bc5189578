"""Drive the compiled core hard: the ground truth, then damaged texts at random instants.

Run by ``make sanitize`` on a build with the address and undefined-behaviour sanitizers,
which end the process at the first fault. Same seed, same run. Needs nothing beyond the
standard library and the core:

    python tests/fuzz_fastcron.py [number of damaged texts] [seed]
"""

import array
import gzip
import json
import random
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import oracle  # noqa: E402

from resonate_lab import _fastcron  # noqa: E402
from resonate_lab._fastcron import END_MS, Cron, CronError  # noqa: E402

TRUTH = {"cron_resonate.jsonl.gz": "resonate-0.9.8", "cron_quartz.jsonl.gz": "quartz"}


def rows_of(name: str) -> list[dict]:
    """Return the rows of a ground truth file."""
    with gzip.open(HERE / "data" / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def replay(name: str, dialect: str) -> tuple[int, int, int]:
    """Return the numbers of rows, of fires, and of differences."""
    rows, fires, wrong = rows_of(name), 0, 0
    for row in rows:
        try:
            cron = Cron(row["expr"], dialect)
        except CronError:
            wrong += row["valid"]
            continue
        wrong += not row["valid"]
        for after, expected in zip(row.get("after", ()), row.get("fires", ()), strict=True):
            out = array.array("q", bytes(8 * row["limit"]))
            n = cron.fill_ms(after * 1000, out)
            wrong += [t // 1000 for t in out[:n]] != expected
            fires += n
    return len(rows), fires, wrong


def exercise(cron: Cron, rng: random.Random) -> int:
    """Call every method at random instants; return the number of broken laws."""
    start, end = sorted(rng.randrange(-1, END_MS + 1) for _ in range(2))
    if rng.random() < 0.3:
        end = min(start + rng.randrange(200_000_000), END_MS)
    room = rng.choice((0, 1, 2, 7, 60, 1000, 20_000))
    out = array.array("q", bytes(8 * room))
    n = cron.fill_ms(start, out)
    first, before = cron.next_ms(start), cron.prev_ms(end)
    wrong = n != min(room, cron.remaining_ms(start)) or (n > 0 and out[0] != first)
    wrong += any(not cron.matches_ms(out[i]) for i in (0, n // 2, n - 1) if n)
    wrong += n > 1 and (
        cron.next_ms(out[n - 2]) != out[n - 1] or cron.prev_ms(out[n - 1]) != out[n - 2]
    )
    wrong += before is not None and not cron.matches_ms(before)
    # Edges that cut minutes cost a walk, so the tally is asked for a million ticks at most.
    while cron.count_ms(start, end) > 1_000_000:
        end = start + (end - start) // 8
    width = (end - start) // 500 + rng.choice((1, 1000, 60_000, 3_600_000))
    bins = array.array("q", bytes(8 * ((end - start) // width + 1)))
    wrong += cron.tally_ms(start, end, bins, start, width) != sum(bins)
    wrong += sum(bins) != cron.count_ms(start, end)
    wrong += len(cron.field_texts) != 7 or type(cron)(*cron.__reduce__()[1]) != cron
    wrong += not all((cron.seconds, cron.minutes, cron.hours, cron.days_of_month, cron.months))
    return int(wrong) + (not cron.days_of_week) + (not cron.years) + (hash(cron) != hash(cron))


def main(texts: int = 200_000, seed: int = 1) -> int:
    """Run all and print the counts; return 1 if anything differs."""
    core = Path(_fastcron.__file__)
    print(f"core {core.name}, sanitizers built in: {b'__asan_init' in core.read_bytes()}")
    wrong = 0
    for name, dialect in TRUTH.items():
        rows, fires, differences = replay(name, dialect)
        wrong += differences
        print(f"{dialect}: {rows:,} rows, {fires:,} fires, {differences} differences")
    seeds = [row["expr"] for name in TRUTH for row in rows_of(name)]
    rng = random.Random(seed)
    taken = refused = broken = verdicts = 0
    for text in oracle.mutations(seed, seeds, texts):
        for dialect in oracle.DIALECTS:
            try:
                cron = Cron(text, dialect)
            except CronError as error:
                refused += 1
                token, position = error.token, error.position
                broken += token is not None and text[position : position + len(token)] != token
                broken += not str(error).isprintable() or len(str(error)) > 500
                verdict = False
            else:
                taken += 1
                broken += exercise(cron, rng)
                verdict = True
            verdicts += verdict != (oracle.read(text, dialect) is not None)
    wrong += broken + verdicts
    print(f"{texts:,} damaged texts in three dialects, seed {seed}: {taken:,} taken,")
    print(f"{refused:,} refused, {verdicts} verdicts unlike the judge's, {broken} laws broken")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
