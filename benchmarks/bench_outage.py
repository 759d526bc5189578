"""The outage rows of the figures: a million missed ticks, as a question and as its table."""

from collections.abc import Iterator

import pandas as pd
from bench_cron import Row, row
from timing import measure

from resonate_lab.whatif import what_if

TICKS = 1_000_000
START_MS = 1_796_083_200_000  # 2026-12-01T00:00:00Z
# A hundred schedules of every minute, until each has missed ten thousand ticks.
SCHEDULES = 100
UP_MS = START_MS + TICKS // SCHEDULES * 60_000


def rows() -> Iterator[Row]:
    """Yield the time of the answer with its table of ticks, in two profiles."""
    names = [f"s{n}" for n in range(SCHEDULES)]
    fleet = pd.DataFrame({"id": names, "cron": ["* * * * *"] * SCHEDULES})
    for profile, least, target in (("standard", TICKS, 0.2), ("server", TICKS, 0.5)):

        def call(profile: str = profile, least: int = least) -> int:
            assert len(what_if(fleet, (START_MS, UP_MS), profile=profile).ticks) >= least
            return 1

        took = measure(call)
        what = f"what_if, {TICKS:,} missed ticks, profile {profile}, as a table"
        yield row(what, took.median / 1e9, "s", target, details=vars(took))
