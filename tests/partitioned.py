"""Fleets laid out in partitions, and the demand that every answer is that of a frame in memory."""

import itertools
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from pandas.testing import assert_frame_equal, assert_series_equal

import resonate_lab as rl
from resonate_lab.whatif import makers, policies

WINDOW = ("2024-01-05 23:00", "2024-01-06 01:00")
DOWN = ("2024-01-05 20:10", "2024-01-06 09:30")
AFTER = "2024-01-01"
CRONS = ["*/20 * * * *", "0 0 * * *", "0 9 * * MON-FRI", "0 0 * * 1-5", "30 23 * * *", "@daily"]
REFUSED = ["", "0 9 * * 0", "61 * * * *", "0 0 30 2 *"]


def mixed(size, seed=1):
    """Return a fleet with all that fleets have: blanks, refusals, dialects, zones, run times."""
    rng = np.random.default_rng(seed)

    def some(*cells):
        return [cells[k] for k in rng.integers(len(cells), size=size)]

    return pd.DataFrame(
        {
            "name": [None if n % 5 == 4 else f"s{n}" for n in range(size)],
            "expr": some(*CRONS, *REFUSED),
            "dialect": some("", "", "resonate-0.9.8", "quartz"),
            "promise_timeout": some("1h", "2h", None),
            "run_time": some("5min", "0s", None),
            "Time Zone": some("", "", "UTC", "Asia/Kolkata", "Europe/Berlin"),
        }
    )


def cut(frame, cuts):
    """Return the frame in pieces, empty ones too where cuts meet."""
    edges = [0, *sorted(cuts), len(frame)]
    return [frame.iloc[a:b] for a, b in itertools.pairwise(edges)]


def in_dask(frame, cuts):
    pieces = [dask.delayed(piece) for piece in cut(frame, cuts)]
    return dd.from_delayed(pieces, meta=frame.iloc[:0], verify_meta=False)


def in_files(frame, cuts, folder):
    folder = Path(folder)
    for number, piece in enumerate(cut(frame, cuts)):
        piece.to_parquet(folder / f"part-{number}.parquet", row_group_size=3, index=False)
    return folder


def assert_same_answers(frame, source):
    """Demand of every function that it says the same of both."""
    ours, theirs = rl.load(frame, *WINDOW), rl.load(source, *WINDOW)
    assert_series_equal(pd.Series(ours), pd.Series(theirs))
    assert_frame_equal(ours.refused, theirs.refused)
    assert_frame_equal(rl.peaks(ours, 5, ids=3), rl.peaks(theirs, 5, ids=3))
    assert_frame_equal(makers(ours, "2024-01-06"), makers(theirs, "2024-01-06"))
    assert_frame_equal(
        makers(ours, "2024-01-06", fleet=source), makers(ours, "2024-01-06", fleet=frame)
    )

    assert_frame_equal(*(rl.audit(each, after=AFTER) for each in (frame, source)))

    ours, theirs = (policies.compare(each, DOWN, run_time="45 min") for each in (frame, source))
    assert_frame_equal(ours, theirs)
    assert {name: theirs.attrs[name] for name in ours.attrs} == ours.attrs

    ours, theirs = rl.what_if(frame, DOWN), rl.what_if(source, DOWN)
    assert (theirs.counters, theirs.down, theirs.profile) == (
        ours.counters,
        ours.down,
        ours.profile,
    )
    assert theirs.headline() == ours.headline()
    for name in ("load", "summary", "refused"):
        assert_frame_equal(getattr(ours, name), getattr(theirs, name))
    # Each partition's ticks stand in the order in which they fire in it.
    keys = ["schedule_id", "scheduled_at"]
    walked = pd.concat([part.ticks for part in theirs.parts()])
    ticks = [each.sort_values(keys, ignore_index=True) for each in (ours.ticks, walked)]
    assert_frame_equal(*ticks)

    assert_frame_equal(rl.read_fleet(frame), rl.read_fleet(source))
    ours, theirs = (rl.collisions(each, *WINDOW, run_time="1min") for each in (frame, source))
    assert_frame_equal(ours.pairs, theirs.pairs)
    assert_frame_equal(ours.refused, theirs.refused)
    assert_frame_equal(ours.fleet[list(theirs.fleet)], theirs.fleet)
    ours, theirs = (rl.spread(each, *WINDOW, bound=2, within="5min") for each in (frame, source))
    assert_frame_equal(ours.moves, theirs.moves)
