"""load, peaks and makers: held against every tick, one by one."""

import io
import pickle

import numpy as np
import pandas as pd
import pytest
from grammar import texts
from hypothesis import given, settings
from hypothesis import strategies as st

import resonate_lab as rl
from resonate_lab.errors import FleetError, FrameError, InstantError, WindowError
from resonate_lab.whatif import Load, load, makers, peaks
from resonate_lab.whatif.load import MAX_BINS

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


class TestLoadRejects:
    def test_too_many_bins_are_refused_with_their_number(self):
        with pytest.raises(WindowError, match=rf"52,\d{{3}},\d{{3}} bins of 1 min.*{MAX_BINS:,}"):
            load(fleet("@daily"), "2000-01-01", "2100-01-01")

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

    def test_its_sentence_names_the_window_and_not_the_bins(self):
        found = load(fleet("@hourly"), NOW, NOW + DAY, "37h")
        window = "from 2024-01-01 00:00:00Z to 2024-01-02 00:00:00Z"
        for part in (found, found[::-1], load(fleet("@hourly"), NOW, NOW + DAY).sort_values()):
            assert part.headline().startswith(f"25 ticks of 1 schedule {window}: ")


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

    def test_a_resampled_load_is_asked_by_its_own_bins(self):
        found = load(fleet("*/10 * * * *"), NOW, NOW + DAY - 1).resample("1h").sum()
        assert peaks(found, 1)["ticks"].tolist() == [6]
        assert makers(found, NOW + 90 * MINUTE)["ticks"].tolist() == [6]

    @pytest.mark.parametrize("freq", ["7min", "7h", "37h", "2D", "7D"])
    def test_a_resampled_bin_is_found_wherever_it_begins(self, freq):
        crons = fleet("*/10 * * * *", "7 */3 * * *")
        found = load(crons, NOW + 5 * MINUTE, NOW + 20 * DAY).resample(freq).sum()
        for at in found.index[[0, 1, len(found) // 2, -1]]:
            assert makers(found, at + pd.Timedelta("3min"))["ticks"].sum() == found[at]
        with pytest.raises(WindowError, match="outside the load"):
            makers(found, found.index[-1] + pd.Timedelta(freq))

    @pytest.mark.parametrize(("counted", "asked"), [("7min", "1h"), ("37h", "1h"), ("37h", "37h")])
    def test_bins_that_cut_through_those_counted_have_no_makers(self, counted, asked):
        found = load(fleet("@daily"), NOW, NOW + 3 * DAY, counted).resample(asked).sum()
        for ask in (peaks, lambda cut: makers(cut, NOW + DAY)):
            with pytest.raises(FrameError, match=r"cut through those of .* ask load\(\)"):
                ask(found)
        assert found.headline().startswith("4 ticks of 1 schedule from ")
        assert "| bin | ticks |" in found.to_markdown()

    @pytest.mark.parametrize("freq", ["W", "MS"])
    def test_bins_of_no_one_length_are_left_to_pandas(self, freq):
        found = load(fleet("@daily"), NOW, NOW + 90 * DAY).resample(freq).sum()
        assert found.to_html().startswith("<table")
        assert found.plot() is not None
        for ask in (peaks, Load.headline, rl.plots.load_curve):
            with pytest.raises(FrameError, match="differ in length: resample"):
                ask(found)

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
