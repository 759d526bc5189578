"""Grids of looks, and what leaves in batches: held against loops that go look by look."""

import numpy as np
import pandas as pd
from hypothesis import example, given, settings
from hypothesis import strategies as st

from resonate_lab.protocol import PROFILES
from resonate_lab.whatif import what_if
from resonate_lab.whatif.polls import Grid, batched

OUTAGES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=4)
T0 = 1704067200000  # 2024-01-01T00:00:00Z


def windows(spans):
    at, outages = 0, []
    for up, down in spans:
        outages.append((at + up, at + up + down))
        at += up + down
    return outages


def looks(outages, every, end=2_000):
    found = []
    for (_, up), (until, _) in zip(outages, [*outages[1:], (end, 0)], strict=True):
        found += range(up + every, until + 1, every)
    return found


class TestGrid:
    @example([(5, 30), (30, 0)], 1, [65])  # an outage of no length, at a look
    @given(OUTAGES, st.integers(1, 9), st.lists(st.integers(0, 200), min_size=1))
    def test_a_number_is_the_place_among_all_looks(self, spans, every, instants):
        outages = windows(spans)
        starts, ups = np.array(outages, dtype=np.int64).T
        grid, all_looks = Grid(starts, ups, every), looks(outages, every)
        at = np.array(instants, dtype=np.int64)
        for strictly in (False, True):
            expected = [
                next(look for look in all_looks if look > i or (look == i and not strictly))
                for i in instants
            ]
            number = grid.number(at, strictly=strictly)
            assert grid.at(number).tolist() == expected
            assert number.tolist() == [all_looks.index(look) + 1 for look in expected]

    @given(OUTAGES, st.integers(1, 9))
    def test_the_last_look_before_an_outage_is_one_or_the_restart(self, spans, every):
        outages = windows(spans)
        starts, ups = np.array(outages, dtype=np.int64).T
        for number, (start, _) in enumerate(outages):
            last = outages[number - 1][1] if number else start
            found = [look for look in looks(outages, every) if last <= look <= start]
            seen = max(found, default=last) if number else start
            assert Grid(starts, ups, every).last_until(number) == seen


class TestBatches:
    @settings(max_examples=200)
    @given(
        OUTAGES,
        st.lists(st.tuples(st.integers(0, 100), st.integers(0, 10**6)), unique_by=lambda m: m[1]),
        st.integers(1, 5),
    )
    def test_each_look_takes_the_smallest_ids(self, spans, messages, size):
        outages = windows(spans)
        starts, ups = np.array(outages, dtype=np.int64).T
        queued = np.array([at for at, _ in messages], dtype=np.int64)
        ids = np.array([id for _, id in messages], dtype=np.int64)
        grid = Grid(starts, ups, 7)

        def places(which):
            return np.argsort(np.argsort(ids[which]))

        sent = batched(queued, grid, places, size).tolist() if len(messages) else []
        waiting, left = [], {}
        coming = sorted(messages)
        for look in looks(outages, 7):
            while coming and coming[0][0] < look:
                waiting.append(coming.pop(0)[1])
            waiting.sort()
            for id in waiting[:size]:
                left[id] = look
            del waiting[:size]
        assert sent == [left[id] for _, id in messages]


class TestServer:
    def test_two_hundred_and_fifty_messages_leave_in_three_batches_by_id(self):
        names = [f"s{n}" for n in range(250)]
        fleet = pd.DataFrame({"id": names, "cron": ["0 * * * *"] * 250})
        ticks = what_if(fleet, (T0, T0 + 3_600_000), profile="server").ticks
        ticks = ticks.sort_values("promise_id")  # str compares by code points, as bytes do
        waited = (ticks["sent_at"] - ticks["fired_at"]) // pd.Timedelta(1, "ms")
        assert waited.tolist() == [100] * 100 + [200] * 100 + [300] * 50

    def test_late_ids_wait_while_smaller_ones_keep_coming(self):
        # 1,200 due at each poll, and 1,000 leave in that time: the largest ids are left over.
        names = [f"{n:04}" for n in range(1_200)]
        fleet = pd.DataFrame({"id": names, "cron": ["*/10 * * * *"] * 1_200})
        ticks = what_if(fleet, (T0, T0 + 3_600_000), profile="server", promise_timeout="3h").ticks
        waited = ticks.groupby("schedule_id")["sent_at"].min()
        first_poll = pd.Timestamp(T0 + 3_601_000, unit="ms", tz="UTC")
        assert (waited[:1_000] <= first_poll + pd.Timedelta(1, "s")).all()
        assert (waited[1_000:] > first_poll + pd.Timedelta(6, "s")).all()

    def test_a_schedule_of_every_second_is_never_level(self):
        fleet = pd.DataFrame({"id": ["s", "m"], "cron": ["* * * * * *", "* * * * *"]})
        answer = what_if(fleet, (T0, T0 + 30_000), profile="server")
        assert answer.drain["level_at"].isna().tolist() == [True, False]
        assert answer.drain["last_lag"].iloc[0] == pd.Timedelta(30, "s")

    def test_every_ten_seconds_for_ten_minutes_takes_66_polls(self):
        fleet = pd.DataFrame({"id": ["s"], "cron": ["*/10 * * * * *"]})
        level = what_if(fleet, (T0, T0 + 600_000), profile="server").drain["level_at"]
        assert level.iloc[0] == pd.Timestamp(T0 + 666_000, unit="ms", tz="UTC")

    def test_the_fleet_of_a_poll_that_fires_every_tick_is_level_after_one(self):
        rules = PROFILES["server"].replace(name="all at once", catch_up="every tick")
        fleet = pd.DataFrame({"id": ["s"], "cron": ["* * * * *"]})
        level = what_if(fleet, (T0, T0 + 600_000), profile=rules).drain["level_at"]
        assert level.iloc[0] == pd.Timestamp(T0 + 601_000, unit="ms", tz="UTC")
