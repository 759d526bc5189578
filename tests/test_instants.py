"""Instants and durations: what a person writes, to int milliseconds and back."""

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resonate_lab.errors import DurationError, InstantError, ResonateLabError
from resonate_lab.instants import (
    EPOCH_END_MS,
    datetime_index,
    duration_ms,
    format_duration,
    format_instant,
    instant_ms,
    timestamp,
)

NOW = 1_704_067_200_000  # 2024-01-01T00:00:00Z
CALENDAR = st.integers(0, EPOCH_END_MS)


class Zoneless(tzinfo):
    """A zone that does not know its offset: such a datetime is naive by Python's rules."""

    def utcoffset(self, _):
        return None

    def __repr__(self):
        return "Zoneless()"  # each process must collect tests of the same names


class TestInstants:
    @pytest.mark.parametrize(
        "value",
        [
            NOW,
            np.int64(NOW),
            np.uint64(NOW),
            np.array(NOW),
            "2024-01-01",
            " 2024-01-01 00:00 ",
            "2024-01-01T00:00:00Z",
            "2024-01-01T05:45+05:45",
            "1 January 2024",
            date(2024, 1, 1),
            datetime(2024, 1, 1),
            datetime(2024, 1, 1, tzinfo=UTC),
            datetime(2024, 1, 1, tzinfo=Zoneless()),
            datetime(2023, 12, 31, 16, tzinfo=timezone(timedelta(hours=-8))),
            np.datetime64("2024-01-01"),
            np.datetime64("2024-01-01T00:00:00.000000000"),
            pd.Timestamp("2024-01-01"),
            pd.Timestamp("2024-01-01 01:00", tz="Europe/Berlin"),
        ],
        ids=repr,
    )
    def test_every_way_to_write_it_is_the_same_instant(self, value):
        found = instant_ms(value)
        assert found == NOW
        assert type(found) is int

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ("1970-01-01 00:00:00.0019", 1),
            (datetime(1970, 1, 1, 0, 0, 0, 1999), 1),
            ("1969-12-31 23:59:59.9999", -1),
            (datetime(1969, 12, 31, 23, 59, 59, 999_900), -1),
            (np.datetime64(1_999_999, "ns"), 1),
            ("0001-01-01", -62_135_596_800_000),
            ("9999-12-31 23:59:59.999", 253_402_300_799_999),
            (datetime.max, 253_402_300_799_999),
            (-(2**63), -(2**63)),
            (2**63 - 1, 2**63 - 1),
        ],
    )
    def test_what_is_finer_than_a_millisecond_is_cut_off_downward(self, value, expected):
        assert instant_ms(value) == expected

    @pytest.mark.parametrize(
        "value",
        [
            None,
            True,
            False,
            np.True_,
            1.0,
            float("nan"),
            np.float64(1),
            np.float32(1),
            b"2024-01-01",
            np.array(5.5),
            np.array([5]),
            [5],
            {},
            1j,
            timedelta(1),
            np.timedelta64(1, "s"),
            object,
        ],
        ids=repr,
    )
    def test_what_is_no_instant_by_its_type_is_a_type_error(self, value):
        with pytest.raises(
            TypeError, match=r"^up is .* of type \w+; give an int \(ms since the Unix"
        ) as e:
            instant_ms(value, "up")
        assert str(e.value).isprintable()

    @pytest.mark.parametrize(
        "value",
        [
            "",
            " ",
            "nan",
            "NaT",
            "soon",
            "2024-13-01",
            "2024-02-30",
            "25:00",
            "30000-01-01",
            "\x00",
            "x" * 10**6,
            pd.NaT,
            np.datetime64("NaT", "ms"),
            np.datetime64(10**17, "s"),
            np.datetime64(-(10**17), "s"),
        ],
        ids=lambda value: repr(value)[:30],
    )
    def test_a_text_that_is_no_instant_is_answered_with_one_that_is(self, value):
        with pytest.raises(InstantError, match=r"^up .*; write it as '2026-12-01 09:00'") as caught:
            instant_ms(value, "up")
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 250
        assert isinstance(caught.value, ValueError)
        assert isinstance(caught.value, ResonateLabError)

    @pytest.mark.parametrize(
        "value", [2**63, -(2**63) - 1, 10**40, 10**5000], ids=["max", "min", "40", "5000"]
    )
    def test_an_int_beyond_64_bits_is_refused(self, value):
        with pytest.raises(InstantError, match=r"^up .* does not fit 64 bits; give ms since"):
            instant_ms(value, "up")

    @given(ms=CALENDAR)
    def test_it_comes_back_from_timestamp_datetime_and_text(self, ms):
        stamp = timestamp(ms)
        assert str(stamp.tz) == "UTC"
        assert instant_ms(stamp) == ms
        assert instant_ms(stamp.to_pydatetime()) == ms
        assert instant_ms(format_instant(ms)) == ms
        assert instant_ms(stamp.isoformat()) == ms


class TestIndex:
    def test_an_index_is_utc_in_milliseconds_with_the_same_order_and_name(self):
        ms = np.array([NOW, 0, EPOCH_END_MS - 1], np.int64)
        index = datetime_index(ms, "scheduled_at")
        assert index.dtype == "datetime64[ms, UTC]"
        assert index.name == "scheduled_at"
        assert [instant_ms(t) for t in index] == ms.tolist()

    def test_an_empty_one_keeps_the_dtype(self):
        assert datetime_index(np.empty(0, np.int64)).dtype == "datetime64[ms, UTC]"


class TestDurations:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (250, 250),
            (-250, -250),
            (np.int64(250), 250),
            ("250ms", 250),
            ("90s", 90_000),
            ("30 min", 1_800_000),
            ("1h", 3_600_000),
            ("1h30m", 5_400_000),
            ("12h 30min", 45_000_000),
            (" 3 d ", 259_200_000),
            ("2w", 1_209_600_000),
            ("1 day 1 HOUR", 90_000_000),
            ("0.5s", 500),
            ("1.001s", 1001),
            ("1.5 h", 5_400_000),
            ("0.0004 s 0.0006 s", 1),
            ("0.9ms", 0),
            ("-1h30m", -5_400_000),
            ("9007199254740993ms", 9_007_199_254_740_993),
            ("9223372036854775807 ms", 2**63 - 1),
            (timedelta(hours=1, microseconds=900), 3_600_000),
            (timedelta(microseconds=-1), -1),
            (pd.Timedelta("1h30m"), 5_400_000),
            (np.timedelta64(2, "h"), 7_200_000),
            (np.timedelta64(1_999_999, "ns"), 1),
        ],
        ids=repr,
    )
    def test_every_way_to_write_it_is_ms(self, value, expected):
        found = duration_ms(value)
        assert found == expected
        assert type(found) is int

    @pytest.mark.parametrize(
        "value",
        [None, True, np.True_, 1.0, float("inf"), b"1h", [1], pd.NaT, datetime(2024, 1, 1)],
        ids=repr,
    )
    def test_what_is_no_duration_by_its_type_is_a_type_error(self, value):
        with pytest.raises(
            TypeError, match=r"^lag is .* of type \w+; give an int \(ms\), a text such as"
        ):
            duration_ms(value, "lag")

    @pytest.mark.parametrize(
        "value",
        [
            "",
            " ",
            "-",
            "1",
            "h",
            "1x",
            "1h-30m",
            "1 h, 30 m",
            "1e3s",
            "--1h",
            "1..5s",
            "nan",
            "inf s",
            "1h\x00",
            "x" * 10**6,
            "9" * 5000 + "s",
            "1h" * 1000 + "!",
        ],
        ids=lambda value: repr(value)[:20],
    )
    def test_a_text_that_is_no_duration_is_answered_with_one_that_is(self, value):
        with pytest.raises(
            DurationError, match=r"^lag .*; write numbers with units .* such as '90s'"
        ) as caught:
            duration_ms(value, "lag")
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 250

    @pytest.mark.parametrize(
        "value",
        [2**63, -(2**63) - 1, 10**5000, "9223372036854775808 ms"],
        ids=["max", "min", "5000", "text"],
    )
    def test_what_does_not_fit_64_bits_is_refused(self, value):
        with pytest.raises(DurationError, match=r"^lag .* does not fit 64 bits of ms"):
            duration_ms(value, "lag")

    def test_a_missing_duration_is_refused(self):
        with pytest.raises(DurationError, match="missing"):
            duration_ms(np.timedelta64("NaT", "ms"))

    @given(st.integers(0, 10**15))
    def test_it_comes_back_from_any_unit_that_divides_it(self, n):
        assert duration_ms(f"{n}ms") == n
        assert duration_ms(f"{n // 1000}.{n % 1000:03d}s") == n
        assert duration_ms(f"-{n}ms") == -n


class TestFormats:
    @pytest.mark.parametrize(
        ("ms", "text"),
        [
            (0, "1970-01-01 00:00:00Z"),
            (NOW, "2024-01-01 00:00:00Z"),
            (NOW + 7, "2024-01-01 00:00:00.007Z"),
            (-1, "1969-12-31 23:59:59.999Z"),
            (-62_135_596_800_000, "0001-01-01 00:00:00Z"),
            (253_402_300_799_999, "9999-12-31 23:59:59.999Z"),
            (253_402_300_800_000, "253402300800000 ms"),
            (2**63, "9223372036854775808 ms"),
        ],
    )
    def test_an_instant_shows_ms_only_where_it_has_some(self, ms, text):
        assert format_instant(ms) == text

    @pytest.mark.parametrize(
        ("ms", "text"),
        [
            (0, "0 s"),
            (1, "1 ms"),
            (250, "250 ms"),
            (1250, "1 s 250 ms"),
            (30_000, "30 s"),
            (90_000, "1 min 30 s"),
            (3_600_000, "1 h"),
            (43_500_000, "12 h 5 min"),
            (86_400_001, "1 d 1 ms"),
            (273_600_000, "3 d 4 h"),
            (-90_000, "-1 min 30 s"),
            (10**15, "11,574,074 d 1 h"),
        ],
    )
    def test_a_duration_shows_its_two_largest_units(self, ms, text):
        assert format_duration(ms) == text

    @given(st.integers(-(10**15), 10**15))
    def test_a_duration_reads_back_to_within_its_second_unit(self, ms):
        back = duration_ms(format_duration(ms).replace(",", ""))
        assert abs(back) <= abs(ms)
        assert back * ms >= 0
        assert abs(ms) - abs(back) < 86_400_000
