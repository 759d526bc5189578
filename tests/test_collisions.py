"""collisions: held against every two runs, one by one."""

import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import resonate_lab as rl
from resonate_lab.errors import DurationError, FleetError, WindowError
from resonate_lab.whatif import collisions

NOW = 1_704_067_200_000  # 2024-01-01T00:00:00Z, a Monday
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


def fleet(*crons, **columns):
    return pd.DataFrame({"id": [f"s{n}" for n in range(len(crons))], "cron": crons} | columns)


def met_by_hand(starts, lengths):
    """Compare every run with every other, in plain Python."""
    runs = [(at, row) for row, ticks in enumerate(starts) for at in ticks]
    found = {}
    for i, (a, one) in enumerate(runs):
        for b, other in runs[i + 1 :]:
            ends = a + lengths[one], b + lengths[other]
            if a == b or max(a, b) < ends[a > b]:  # before the end of the one that was first
                n, total = found.get((one, other), (0, 0))
                found[one, other] = (n + 1, total + max(min(ends) - max(a, b), 0))
    return found


class TestCollisions:
    @settings(max_examples=30)
    @given(
        crons=st.lists(
            st.sampled_from(
                ["*/7 * * * *", "0 * * * *", "5 */2 * * *", "30 * * * * *", "59 1 * * *"]
            ),
            max_size=5,
        ),
        data=st.data(),
    )
    def test_pairs_are_what_comparing_every_two_runs_finds(self, crons, data):
        length = st.sampled_from([0, 1, 999, 30_000, MINUTE, 7 * MINUTE, HOUR, 5 * HOUR])
        lengths = data.draw(st.lists(length, min_size=len(crons), max_size=len(crons)))
        end = NOW + data.draw(st.integers(0, 3 * HOUR))
        found = collisions(fleet(*crons, run_time=lengths), NOW, end)
        starts = [rl.CronExpression(text).between_ms(NOW, end).tolist() for text in crons]
        expected = met_by_hand(starts, lengths)
        rows = found.pairs[["schedule_a", "schedule_b", "collisions"]].values.tolist()
        assert {(a, b): n for a, b, n in rows} == {
            (f"s{a}", f"s{b}"): n for (a, b), (n, _) in expected.items()
        }
        overlaps = (found.pairs["overlap"] // pd.Timedelta("1ms")).tolist()
        assert sum(overlaps) == sum(total for _, total in expected.values())
        counts = [n for *_, n in rows]
        assert counts == sorted(counts, reverse=True)

    def test_a_pair_says_how_long_and_when(self):
        found = collisions(
            fleet("0 * * * *", "10 9 * * *", run_time=["15min", "1h"]), NOW, NOW + 2 * DAY - 1
        )
        (row,) = found.pairs.to_dict("records")
        assert row["collisions"] == 4  # with the run of 9:00, and with that of 10:00
        assert row["overlap"] == pd.Timedelta("30min")
        assert row["longest"] == pd.Timedelta("10min")
        assert row["first_at"] == pd.Timestamp("2024-01-01 09:10", tz="UTC")
        assert row["last_at"] == pd.Timestamp("2024-01-02 10:00", tz="UTC")

    def test_a_run_that_begins_as_another_ends_does_not_meet_it(self):
        found = collisions(fleet("0 9 * * *", "5 9 * * *"), NOW, NOW + DAY, run_time="5min")
        assert found.pairs.empty
        assert collisions(fleet("0 9 * * *", "0 9 * * *"), NOW, NOW + DAY, 0).pairs.shape[0] == 1

    def test_a_schedule_that_outlasts_its_own_gap_meets_itself(self):
        found = collisions(fleet("* * * * *"), NOW, NOW + 2 * MINUTE, run_time="90s")
        assert found.pairs[["schedule_a", "schedule_b", "collisions"]].values.tolist() == [
            ["s0", "s0", 2]
        ]

    def test_running_counts_the_runs_at_once(self):
        found = collisions(
            fleet("0 9 * * *", "5 9 * * *", "15 9 * * *"), NOW, NOW + DAY - 1, run_time="10min"
        )
        at = found.running.index.strftime("%H:%M").tolist()
        assert list(zip(at, found.running.tolist(), strict=True)) == [
            ("09:00", 1),
            ("09:05", 2),
            ("09:10", 1),
            ("09:15", 1),
            ("09:25", 0),
        ]

    def test_the_answer_is_told_in_one_sentence_and_as_a_table(self):
        found = collisions(fleet("* * * * *", "0 * * * *", id=["<b>", "b"]), NOW, NOW + DAY, "30s")
        assert "2 schedules" in repr(found)
        assert "25 times, at most 2 runs at once" in found.headline()
        assert "&lt;b&gt;" in found._repr_html_()
        assert 'text-align:right">25</td>' in found._repr_html_()

    def test_one_of_a_kind_is_no_plural(self):
        fleet = pd.DataFrame({"id": ["a"], "cron": ["0 9 * * *"]})
        alone = collisions(fleet, "2024-01-01", "2024-01-02", run_time="1min").headline()
        assert alone.startswith("1 schedule from ")
        assert alone.endswith("0 pairs meet 0 times, at most 1 run at once")
        fleet = pd.concat([fleet, fleet.assign(id="b")])
        both = collisions(fleet, "2024-01-01", "2024-01-01 10:00", run_time="1min").headline()
        assert both.endswith(": 1 pair meets 1 time, at most 2 runs at once")

    @pytest.mark.parametrize(
        "cell",
        ["-5min", float("inf"), float("-inf"), -1, -0.5, "nonsense", True, 10**15, "9" * 15],
    )
    def test_a_senseless_run_time_is_refused_and_the_others_computed(self, cell):
        given = fleet("* * * * *", "* * * * *", "@daily", run_time=[cell, "1s", 250])
        found = collisions(given, NOW, NOW + HOUR)
        assert found.refused["line"].tolist() == [1]
        assert "run_time" in found.refused["reason"].iloc[0]
        assert found.pairs["collisions"].tolist() == [1]

    def test_run_times_may_be_numbers_of_numpy(self):
        given = fleet(*["@daily"] * 3, run_time=[np.float32(5), np.int16(5), np.float64(4.5)])
        assert collisions(given, NOW, NOW).fleet["run_time"].tolist() == [pd.Timedelta("5ms")] * 3

    def test_blank_run_times_take_the_default_or_are_refused(self):
        given = fleet("@daily", "@daily", run_time=[None, 60_000.0])
        assert collisions(given, NOW, NOW).refused["schedule_id"].tolist() == ["s0"]
        assert collisions(given, NOW, NOW, run_time="1h").fleet["run_time"].tolist() == [
            pd.Timedelta("1h"),
            pd.Timedelta("1min"),
        ]

    def test_no_run_time_at_all_is_refused_with_what_to_write(self):
        with pytest.raises(FleetError, match=r"no column run_time: .*run_time='5min'"):
            collisions(fleet("@daily"), NOW, NOW)
        with pytest.raises(DurationError, match="'-1h' is negative"):
            collisions(fleet("@daily"), NOW, NOW, run_time="-1h")

    def test_more_than_can_be_computed_is_refused_with_its_number(self):
        with pytest.raises(WindowError, match=r"31,536,000 runs, more than the 5,000,000.*'s0'"):
            collisions(fleet("* * * * * *"), "2023-01-01", "2023-12-31 23:59:59", run_time=0)
        with pytest.raises(WindowError, match=r"runs meet 49,\d{3},\d{3} times.*20,000,000"):
            collisions(fleet(*["0 9 * * *"] * 10_000), NOW, NOW + DAY, run_time="1min")

    def test_pieces_of_the_sweep_add_up(self, monkeypatch):
        given = fleet(*["*/3 * * * *", "*/5 * * * *", "0 * * * *"] * 3)
        whole = collisions(given, NOW, NOW + 6 * HOUR, run_time="4min")
        seen = []
        monkeypatch.setattr(sys.modules[collisions.__module__], "_CHUNK", 7)
        pieces = collisions(
            given, NOW, NOW + 6 * HOUR, run_time="4min", progress=lambda x: seen.extend(x) or x
        )
        pd.testing.assert_frame_equal(whole.pairs, pieces.pairs)
        assert len(seen) > 100

    @pytest.mark.parametrize("given", [fleet(), fleet("x")])
    def test_nothing_to_compute_gives_the_same_columns(self, given):
        empty = collisions(given, NOW, NOW + DAY, run_time="1min")
        full = collisions(fleet("@hourly", "@hourly"), NOW, NOW + DAY, run_time="1min")
        assert empty.pairs.dtypes.tolist() == full.pairs.dtypes.tolist()
        assert empty.running.empty
        assert "0 pairs" in empty.headline()
