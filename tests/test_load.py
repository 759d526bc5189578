"""load, peaks, makers and collisions: held against every tick, one by one."""

import io
import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from grammar import texts
from hypothesis import given, settings
from hypothesis import strategies as st

import resonate_lab as rl
from resonate_lab.errors import DurationError, FleetError, FrameError, InstantError, WindowError
from resonate_lab.whatif import Load, collisions, load, makers, peaks
from resonate_lab.whatif.load import MAX_BINS, bin_ms

NOW = 1_704_067_200_000  # 2024-01-01T00:00:00Z, a Monday
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
FREQS = {"1s": 1000, "7s": 7000, "1min": MINUTE, "7min": 7 * MINUTE, "1h": HOUR, "1D": DAY}


def fleet(*crons, **columns):
    return pd.DataFrame({"id": [f"s{n}" for n in range(len(crons))], "cron": crons} | columns)


def by_hand(crons, start, end, width, dialect="resonate"):
    """Count tick by tick, in plain Python."""
    origin = start // width * width
    bins = [0] * ((end - origin) // width + 1)
    for text in crons:
        for tick in rl.CronExpression(text, dialect).between_ms(start, end).tolist():
            bins[(tick - origin) // width] += 1
    return bins


class TestLoad:
    @settings(max_examples=40)
    @given(
        data=st.data(),
        freq=st.sampled_from(sorted(FREQS)),
        start=st.integers(0, 400 * DAY),
        share=st.floats(0, 1),
        dialect=st.sampled_from(["resonate", "resonate-0.9.8", "quartz"]),
    )
    def test_it_is_what_counting_tick_by_tick_finds(self, data, freq, start, share, dialect):
        crons = data.draw(st.lists(texts(dialect), max_size=5))
        crons += data.draw(st.lists(st.sampled_from(crons), max_size=3)) if crons else []
        width = FREQS[freq]
        start, end = NOW + start, NOW + start + int(share * min(400 * width, 40 * DAY))
        found = load(fleet(*crons), start, end, freq, dialect=dialect)
        assert found.tolist() == by_hand(crons, start, end, width, dialect)
        assert found.index.asi8.tolist() == list(range(start // width * width, end + 1, width))

    def test_a_mixed_fleet_over_a_month_is_what_the_core_lists(self):
        crons = [f"{n % 60} {n % 24} * * *" for n in range(200)]
        crons += ["*/5 * * * *", "0 9 * * MON-FRI", "30 3 13 * FRI", "*/10 * * * * *"] * 20
        start, end = NOW, NOW + 31 * DAY - 1
        assert load(fleet(*crons), start, end).tolist() == by_hand(crons, start, end, MINUTE)

    def test_the_series_has_its_dtypes_names_and_frequency(self):
        found = load(fleet("* * * * *"), "2024-01-01", "2024-01-02")
        assert isinstance(found, pd.Series)
        assert found.dtype == np.int64
        assert found.name == "ticks"
        assert found.index.dtype == "datetime64[ms, UTC]"
        assert found.index.name == "start"
        assert found.index.freq == pd.tseries.frequencies.to_offset("1min")

    def test_the_window_is_closed_and_the_first_and_last_bin_hold_their_part(self):
        found = load(fleet("*/10 * * * *"), "2024-01-01 00:20", "2024-01-01 02:00", "1h")
        assert found.tolist() == [4, 6, 1]
        assert load(fleet("*/10 * * * *"), "2024-01-01 00:20", "2024-01-01 00:20").tolist() == [1]

    def test_bins_are_multiples_of_their_length_since_the_epoch(self):
        found = load(fleet("* * * * *"), "2024-01-01 00:03", "2024-01-01 01:00", "7min")
        assert found.index.asi8[0] % (7 * MINUTE) == 0
        assert found.sum() == 58

    def test_naive_instants_and_texts_and_aware_ones_are_the_same(self):
        a = load(fleet("* * * * *"), "2024-01-01", pd.Timestamp("2024-01-01 01:00"))
        b = load(fleet("* * * * *"), pd.Timestamp("2024-01-01T02:00+02:00"), NOW + HOUR)
        pd.testing.assert_series_equal(a, b)

    def test_each_row_is_read_in_its_own_dialect(self):
        given = fleet("0 0 0 ? * 6L", "0 0 * * *", dialect=["quartz", ""])
        assert load(given, "2024-01-01", "2024-01-31", "1D").sum() == 1 + 31

    def test_a_century_by_the_day_is_computed(self):
        found = load(fleet("0 0 29 2 *", "@daily"), "1970-01-01", "2100-12-31", "1D")
        assert len(found) == 47_847
        assert found.sum() == 32 + 47_847

    def test_the_progress_bar_sees_each_distinct_expression_once(self):
        seen = []
        load(fleet("@daily", "@hourly", "@daily"), NOW, NOW, progress=lambda x: seen.extend(x) or x)
        assert seen == [0, 1]

    @pytest.mark.parametrize("freq", [pd.Timedelta("5min"), np.timedelta64(5, "m"), "300s"])
    def test_a_frequency_may_be_a_duration(self, freq):
        assert bin_ms(freq) == 5 * MINUTE


class TestLoadRejects:
    @pytest.mark.parametrize("freq", ["MS", "W", "B", "XYZ", "999ms", "-1h", "0min", "1500us"])
    def test_a_frequency_that_is_no_fixed_second_or_more_is_refused(self, freq):
        with pytest.raises(DurationError, match=r"freq .*: write a fixed length of whole ms"):
            load(fleet("@daily"), NOW, NOW, freq)

    @pytest.mark.parametrize("freq", [60, None, 1.5, ["1h"]])
    def test_a_frequency_of_another_type_is_refused(self, freq):
        with pytest.raises(TypeError, match=r"freq is .*: write a fixed length"):
            load(fleet("@daily"), NOW, NOW, freq)

    def test_a_frequency_longer_than_the_calendar_is_refused(self):
        with pytest.raises(DurationError, match="longer than the calendar"):
            load(fleet("@daily"), NOW, NOW, "80000D")

    def test_too_many_bins_are_refused_with_their_number(self):
        with pytest.raises(WindowError, match=rf"52,\d{{3}},\d{{3}} bins of 1 min.*{MAX_BINS:,}"):
            load(fleet("@daily"), "2000-01-01", "2100-01-01")

    @pytest.mark.parametrize(
        ("start", "end"),
        [(NOW, NOW - 1), (-1, NOW), (NOW, "2101-01-01"), ("1969-12-31", "1969-12-31")],
    )
    def test_a_window_turned_round_or_outside_the_calendar_is_refused(self, start, end):
        with pytest.raises(WindowError, match=r"the window is .*1970 to 2100"):
            load(fleet("@daily"), start, end)

    def test_what_is_no_instant_is_refused_by_name(self):
        with pytest.raises(InstantError, match=r"^end 'tomorrow'"):
            load(fleet("@daily"), NOW, "tomorrow")

    def test_rows_at_fault_are_listed_with_their_line_and_the_others_computed(self):
        source = io.StringIO("id,cron\na,@daily\nb,nonsense\nc,\nd,@daily\n")
        found = load(source, NOW, NOW + DAY - 1, "1D")
        assert found.tolist() == [2]
        assert found.refused[["schedule_id", "line"]].values.tolist() == [["b", 3], ["c", 4]]
        assert all(found.refused["reason"])
        assert found.fleet["id"].tolist() == ["a", "d"]
        assert repr(found).endswith("rows refused: 2, see .refused")

    def test_a_fleet_that_is_all_refused_and_an_empty_one_have_no_tick(self):
        for rows, refused in ((fleet("x", "y"), 2), (fleet(), 0)):
            found = load(rows, NOW, NOW + HOUR - 1)
            assert found.tolist() == [0] * 60
            assert len(found.refused) == refused
            assert peaks(found).empty

    def test_duplicate_ids_and_a_missing_column_are_refused(self):
        with pytest.raises(FleetError, match="ids must be unique"):
            load(fleet("@daily", "@daily", id=["a", "a"]), NOW, NOW)
        with pytest.raises(FleetError, match="no cron column"):
            load(pd.DataFrame({"id": ["a"]}), NOW, NOW)


class TestTheSeriesKnowsItsFleet:
    def test_through_slices_arithmetic_copies_and_pickle(self):
        found = load(fleet("@hourly", "x"), NOW, NOW + DAY - 1)
        for part in (found[found > 0], found * 2, found.copy(), found.resample("1h").sum()):
            assert isinstance(part, Load)
            assert part.refused["schedule_id"].tolist() == ["s1"]
        assert pickle.loads(pickle.dumps(found)).fleet["id"].tolist() == ["s0"]

    def test_one_made_by_hand_says_what_to_do(self):
        with pytest.raises(FrameError, match=r"load\(\)"):
            _ = Load([1, 2]).refused


class TestPeaks:
    def test_the_busiest_bins_come_first_with_who_makes_them(self):
        found = load(
            fleet("*/30 * * * *", "0 * * * *", "0 9 * * *", "* * * * * *"), NOW, NOW + DAY - 1
        )
        top = peaks(found, 3, ids=2)
        assert top["at"].dt.strftime("%H:%M").tolist() == ["09:00", "00:00", "01:00"]
        assert top["ticks"].tolist() == [63, 62, 62]
        assert top["schedules"].tolist() == [4, 3, 3]
        assert top["busiest"].tolist() == [["s3", "s0"]] * 3
        assert top["times_mean"].iloc[0] == pytest.approx(63 / found.mean())

    def test_no_more_bins_than_have_a_tick(self):
        found = load(fleet("0 9 * * *"), NOW, NOW + DAY - 1)
        assert len(peaks(found, 10)) == 1
        assert peaks(found, 0).empty

    @settings(max_examples=30)
    @given(crons=st.lists(texts("resonate"), min_size=1, max_size=6), n=st.integers(1, 5))
    def test_they_are_the_largest_and_their_makers_add_up(self, crons, n):
        found = load(fleet(*crons), NOW + 5000, NOW + 3 * DAY + 7000, "7min")
        top = peaks(found, n, ids=100)
        assert top["ticks"].tolist() == sorted(found[found > 0].tolist(), reverse=True)[:n]
        for row in top.itertuples():
            made = makers(found, row.at)
            assert made["ticks"].sum() == row.ticks == found[row.at]
            assert made["id"].tolist() == row.busiest
            assert len(made) == row.schedules

    def test_makers_are_those_of_the_released_servers_chain_from_the_windows_start(self):
        given = fleet("0 0 0 * * * 2025", "0 0 12 * * *")
        found = load(given, "2024-06-15", "2025-12-31", "1D", dialect="resonate-0.9.8")
        assert makers(found, "2025-06-14")["id"].tolist() == ["s1"]
        assert makers(found, "2025-06-15")["id"].tolist() == ["s0", "s1"]
        assert peaks(found, 1)["at"].tolist() == [pd.Timestamp("2025-06-15", tz="UTC")]

    def test_a_resampled_load_is_asked_by_its_own_bins(self):
        found = load(fleet("*/10 * * * *"), NOW, NOW + DAY - 1).resample("1h").sum()
        assert peaks(found, 1)["ticks"].tolist() == [6]
        assert makers(found, NOW + 90 * MINUTE)["ticks"].tolist() == [6]

    def test_a_plain_series_needs_the_fleet(self):
        minutes = pd.date_range("2024-01-01", periods=1440, freq="1min", tz="UTC")
        plain = pd.Series(load(fleet("@hourly"), NOW, NOW + DAY - 1).to_numpy(), minutes)
        with pytest.raises(FrameError, match="pass fleet="):
            peaks(plain)
        assert peaks(plain, 1, fleet=fleet("@hourly"))["schedules"].tolist() == [1]

    @pytest.mark.parametrize(
        ("series", "message"),
        [
            (pd.Series([1, 2]), "RangeIndex"),
            (pd.Series([1], pd.to_datetime(["2024-01-01"], utc=True)), "no freq"),
        ],
    )
    def test_what_is_no_load_is_refused(self, series, message):
        with pytest.raises(FrameError, match=message):
            peaks(series)

    def test_what_makes_no_sense_is_refused(self):
        found = load(fleet("@hourly"), NOW, NOW + DAY - 1)
        with pytest.raises(ValueError, match="n is -1"):
            peaks(found, -1)
        with pytest.raises(ValueError, match="ids is -1"):
            peaks(found, ids=-1)
        with pytest.raises(WindowError, match=r"outside the load.*2024-01-01 23:59"):
            makers(found, "2024-01-02")


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
