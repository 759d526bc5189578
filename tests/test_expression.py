"""`CronExpression`: arrays, friendly twins, limits, and what it is as an object."""

import copy
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import oracle
import pandas as pd
import pytest
from grammar import END_MS, instants, texts
from hypothesis import given
from hypothesis import strategies as st
from oracle import DIALECTS

import resonate_lab as rl
from resonate_lab.cron import CronError, CronExpression
from resonate_lab.cron.expression import MAX_TICKS
from resonate_lab.errors import InstantError, WindowError

NOW = 1_704_067_200_000  # 2024-01-01T00:00:00Z, a Monday
SECONDLY = CronExpression("* * * * * *")
NINE = CronExpression("0 9 * * MON-FRI")

each_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def chain(cron, after, limit):
    found, at = [], after
    while len(found) < limit and (at := cron.next_ms(at)) is not None:
        found.append(at)
    return found


class TestArrays:
    @each_dialect
    @given(data=st.data(), after=instants, limit=st.integers(0, 60))
    def test_fires_are_the_chain_of_next(self, dialect, data, after, limit):
        cron = CronExpression(data.draw(texts(dialect)), dialect)
        assert cron.fires_ms(after, limit).tolist() == chain(cron, after, limit)

    @each_dialect
    @given(data=st.data(), start=instants, days=st.integers(0, 40))
    def test_a_window_holds_the_chain_and_as_many_as_counted(self, dialect, data, start, days):
        text = data.draw(texts(dialect))
        cron, model = CronExpression(text, dialect), oracle.read(text, dialect)
        end = min(start + days * 86_400_000 + data.draw(st.integers(0, 5000)), END_MS)
        found = cron.between_ms(start, end, 2_000)
        first = model.next(-(-start // 1000) - 1)
        assert found.tolist() == chain(cron, start - 1 if start > 0 else -1, 2_000)[: len(found)]
        assert len(found) == min(2_000, cron.count_ms(start, end))
        if len(found):
            assert found[0] == first * 1000
            assert start <= found[0]
            assert found[-1] <= end

    @each_dialect
    @given(data=st.data(), at=instants)
    def test_an_instant_matches_exactly_if_its_own_window_holds_it(self, dialect, data, at):
        cron = CronExpression(data.draw(texts(dialect)), dialect)
        tick = cron.next_ms(at)
        for instant in {at, at if tick is None else tick, at // 1000 * 1000}:
            instant = max(instant, -1)
            inside = cron.between_ms(instant, instant).tolist()
            if dialect == "resonate-0.9.8" and cron.matches_ms(instant):
                assert inside == [instant]  # a tick's year is listed: no defect
            assert inside == ([instant] if cron.matches_ms(instant) else [])

    @pytest.mark.parametrize("limit", [0, 1, 4095, 4096, 4097, 10_000])
    def test_an_array_is_int64_its_own_contiguous_and_strictly_increasing(self, limit):
        found = SECONDLY.fires_ms(NOW, limit)
        assert found.dtype == np.int64
        assert found.shape == (limit,)
        assert found.flags.owndata
        assert found.flags.c_contiguous
        assert found.flags.writeable
        assert found.tolist() == list(range(NOW + 1000, NOW + 1000 * (limit + 1), 1000))

    @pytest.mark.parametrize("limit", [33, 34, 100, 4096, 5000, 10**12, 2**63, 10**30])
    def test_a_limit_beyond_the_end_returns_all_that_is_left(self, limit):
        found = CronExpression("0 0 0 29 2 ? 1970-2100").fires_ms(-1, limit)
        assert len(found) == min(limit, 32)
        assert found.flags.owndata
        assert pd.Timestamp(found[-1], unit="ms") == pd.Timestamp("2096-02-29")

    def test_windows_are_closed_and_may_be_one_instant(self):
        assert SECONDLY.between_ms(NOW, NOW).tolist() == [NOW]
        assert SECONDLY.between_ms(NOW + 1, NOW + 999).tolist() == []
        assert SECONDLY.between_ms(NOW + 1, NOW + 1000).tolist() == [NOW + 1000]
        assert SECONDLY.between_ms(NOW, NOW + 2000).tolist() == [NOW, NOW + 1000, NOW + 2000]
        assert SECONDLY.between_ms(-1, 0).tolist() == [0]
        assert SECONDLY.between_ms(-1, -1).tolist() == []
        assert SECONDLY.between_ms(0, 0).tolist() == [0]
        assert SECONDLY.between_ms(END_MS - 1000, END_MS).tolist() == [END_MS - 1000]
        assert SECONDLY.between_ms(END_MS, END_MS).tolist() == []

    @pytest.mark.parametrize(
        ("limit", "n"), [(None, 3), (0, 0), (1, 1), (3, 3), (4, 3), (10**30, 3)]
    )
    def test_the_limit_of_a_window_keeps_the_earliest(self, limit, n):
        found = NINE.between_ms(NOW, NOW + 3 * 86_400_000, limit)
        assert found.tolist() == [NOW + 9 * 3_600_000 + i * 86_400_000 for i in range(n)]

    def test_the_released_server_counts_and_lists_its_own_chain(self):
        theirs = CronExpression("0 0 0 1 1,12 * 2027,2029", "resonate-0.9.8")
        ours = CronExpression("0 0 0 1 1,12 * 2027,2029")
        start = 1_795_999_600_000  # 2026-11-30, with 2026 not listed
        assert ours.count("2026-11-30", "2100-01-01") == 4
        assert theirs.count("2026-11-30", "2100-01-01") == 3
        assert (
            theirs.between_ms(start, END_MS).tolist() == ours.between_ms(start, END_MS)[1:].tolist()
        )
        assert theirs.matches("2027-01-01")
        assert theirs.prev("2027-06-01") == pd.Timestamp("2027-01-01", tz="UTC")


class TestLimits:
    """What would not fit, and what is no limit: one sentence, and nothing half done."""

    def test_a_hundred_years_at_every_second_are_refused_with_their_number(self):
        with pytest.raises(WindowError, match=r"would return 4,133,980,800 ticks .* 100,000,000"):
            SECONDLY.between_ms(0, END_MS)
        with pytest.raises(WindowError, match=r"would return 3,155,760,000 ticks"):
            SECONDLY.between("2000-01-01", "2099-12-31 23:59:59")
        with pytest.raises(WindowError, match=r"would return 4,133,980,799 ticks"):
            SECONDLY.fires_ms(0, 10**30)
        assert SECONDLY.between_ms(0, END_MS, 5).tolist() == [0, 1000, 2000, 3000, 4000]
        assert SECONDLY.count_ms(0, END_MS) == 4_133_980_800

    def test_the_most_that_one_array_holds_is_said_exactly(self):
        end = NOW + (MAX_TICKS - 1) * 1000
        assert SECONDLY.count_ms(NOW, end) == MAX_TICKS
        with pytest.raises(WindowError, match=f"would return {MAX_TICKS + 1:,} ticks"):
            SECONDLY.between_ms(NOW, end + 1000)

    @pytest.mark.parametrize(
        "call", [SECONDLY.fires_ms, lambda at, n: SECONDLY.between_ms(at, at, n)]
    )
    def test_a_limit_is_an_int_that_is_not_negative(self, call):
        for limit in (-1, -(2**63), np.int64(-1), -(10**30)):
            with pytest.raises(WindowError, match="negative; give 0 or more"):
                call(NOW, limit)
        for limit in (True, False, np.True_, 1.0, float("nan"), "5", b"5", [1], 1j):
            with pytest.raises(TypeError, match=r"limit is .*; give an int, the most ticks"):
                call(NOW, limit)
        assert call(NOW, np.int64(0)).tolist() == []

    def test_fires_needs_a_limit_and_a_window_does_not(self):
        with pytest.raises(TypeError, match="limit is None"):
            SECONDLY.fires_ms(NOW, None)
        with pytest.raises(TypeError):
            SECONDLY.fires_ms(NOW)
        assert len(SECONDLY.between_ms(NOW, NOW, None)) == 1

    def test_a_window_turned_round_is_refused(self):
        for call in (SECONDLY.between_ms, SECONDLY.count_ms):
            with pytest.raises(ValueError, match=f"end_ms {NOW - 1} lies before start_ms {NOW}"):
                call(NOW, NOW - 1)
        with pytest.raises(ValueError, match="lies before"):
            SECONDLY.between("2024-01-02", "2024-01-01")

    @pytest.mark.parametrize("value", [None, True, 1.5, float("nan"), "2024", b"1", np.True_])
    def test_instants_of_the_fast_methods_are_int_alone(self, value):
        calls = [
            lambda: SECONDLY.fires_ms(value, 1),
            lambda: SECONDLY.fires_ms(value, 10**6),
            lambda: SECONDLY.between_ms(value, NOW),
            lambda: SECONDLY.between_ms(NOW, value),
            lambda: SECONDLY.next_ms(value),
        ]
        for call in calls:
            with pytest.raises(TypeError, match=r"_ms is .*; give an int, ms since the Unix epoch"):
                call()

    @pytest.mark.parametrize("value", [-2, END_MS + 1, 2**63, -(2**70)])
    def test_instants_beyond_the_calendar_are_refused_with_its_bounds(self, value):
        for call in (SECONDLY.fires_ms, SECONDLY.between_ms):
            with pytest.raises(ValueError, match=rf"outside the calendar; .*{END_MS}"):
                call(value, END_MS)

    def test_integers_of_numpy_are_as_good(self):
        start, end = np.int64(NOW), np.uint64(NOW + 1000)
        assert SECONDLY.between_ms(start, end, np.int32(2)).tolist() == [NOW, NOW + 1000]
        assert SECONDLY.fires_ms(start, np.int8(1)).tolist() == [NOW + 1000]


class TestFriendlyTwins:
    @each_dialect
    @given(data=st.data(), at=instants)
    def test_a_twin_says_the_same_in_utc(self, dialect, data, at):
        cron = CronExpression(data.draw(texts(dialect)), dialect)
        for fast, friendly in (
            (cron.next_ms(at), cron.next(at)),
            (cron.prev_ms(at), cron.prev(at)),
        ):
            if fast is None:
                assert friendly is None
            else:
                assert str(friendly.tz) == "UTC"
                assert friendly == pd.Timestamp(fast, unit="ms", tz="UTC")
        fires = cron.fires(5, at)
        assert fires.dtype == "datetime64[ms, UTC]"
        assert fires.equals(
            pd.DatetimeIndex(cron.fires_ms(at, 5).view("M8[ms]")).tz_localize("UTC")
        )
        assert cron.matches(at) == cron.matches_ms(at)

    @pytest.mark.parametrize(
        "at",
        [
            NOW,
            np.int64(NOW),
            "2024-01-01",
            "2024-01-01T01:00+01:00",
            date(2024, 1, 1),
            datetime(2024, 1, 1),
            datetime(2024, 1, 1, tzinfo=UTC),
            datetime(2024, 1, 1, 5, 45, tzinfo=timezone(timedelta(hours=5, minutes=45))),
            datetime(2023, 12, 31, 19, tzinfo=ZoneInfo("America/New_York")),
            np.datetime64("2024-01-01"),
            np.datetime64("2024-01-01T00:00:00.000000000"),
            pd.Timestamp("2024-01-01"),
            pd.Timestamp("2024-01-01 01:00", tz="Europe/Berlin"),
        ],
        ids=repr,
    )
    def test_every_way_to_write_an_instant_gives_the_same_answers(self, at):
        monday = pd.Timestamp("2024-01-01 09:00", tz="UTC")
        assert NINE.next(at) == monday
        assert NINE.prev(at) == pd.Timestamp("2023-12-29 09:00", tz="UTC")
        assert NINE.fires(2, at).tolist() == [monday, monday + pd.Timedelta(days=1)]
        assert NINE.between(at, "2024-01-01 09:00").tolist() == [monday]
        assert NINE.between(at, "2024-01-03", limit=1).tolist() == [monday]
        assert NINE.count(at, "2024-01-08") == 5
        assert not NINE.matches(at)
        assert NINE.matches(monday)

    @pytest.mark.parametrize("value", [None, True, 1.5, float("nan"), b"2024-01-01", np.True_, [1]])
    def test_what_is_no_instant_is_a_type_error_that_names_the_argument(self, value):
        calls = {
            "after": [lambda: NINE.next(value), lambda: NINE.fires(1, value)],
            "before": [lambda: NINE.prev(value)],
            "at": [lambda: NINE.matches(value)],
            "start": [lambda: NINE.between(value, NOW), lambda: NINE.count(value, NOW)],
            "end": [lambda: NINE.between(NOW, value), lambda: NINE.count(NOW, value)],
        }
        for name, each in calls.items():
            for call in each:
                with pytest.raises(TypeError, match=rf"^{name} is .*; give an int \(ms since the"):
                    call()

    @pytest.mark.parametrize(
        "value", ["", "soon", "2024-13-01", pd.NaT, np.datetime64("NaT", "ms"), 2**63]
    )
    def test_a_wrong_instant_is_answered_with_how_to_write_one(self, value):
        with pytest.raises(
            InstantError, match=r"^after .*; (write it as '2026-12-01 09:00'|give ms)"
        ):
            NINE.next(value)

    @pytest.mark.parametrize(
        "value", ["1969-12-31", "2101-01-01 00:00:01", pd.Timestamp("1900-01-01")]
    )
    def test_an_instant_beyond_the_calendar_is_refused(self, value):
        with pytest.raises(ValueError, match="outside the calendar"):
            NINE.next(value)

    def test_answers_are_plain_types(self):
        assert type(NINE.count("2024-01-01", "2024-02-01")) is int
        assert type(NINE.next_ms(NOW)) is int
        assert type(NINE.matches(NOW)) is bool
        assert isinstance(NINE.next(NOW), pd.Timestamp)
        assert len(CronExpression("0 0 30 2 *").fires(3, NOW)) == 0
        assert CronExpression("0 0 30 2 *").fires(3, NOW).dtype == "datetime64[ms, UTC]"


class TestObject:
    def test_it_is_what_the_package_exports(self):
        assert rl.CronExpression is CronExpression
        assert rl.CronError is CronError
        assert issubclass(CronError, ValueError)

    @given(data=st.data(), dialect=st.sampled_from(DIALECTS))
    def test_copies_are_equal_of_its_type_and_tick_alike(self, data, dialect):
        cron = CronExpression(data.draw(texts(dialect)), dialect)
        for twin in (pickle.loads(pickle.dumps(cron)), copy.deepcopy(cron), eval(repr(cron))):
            assert type(twin) is CronExpression
            assert twin == cron
            assert hash(twin) == hash(cron)
            assert twin.next_ms(NOW) == cron.next_ms(NOW)

    def test_nothing_can_be_added_or_changed(self):
        for name in ("text", "hours", "dialect", "other"):
            with pytest.raises(AttributeError):
                setattr(NINE, name, 1)
        assert not hasattr(NINE, "__dict__")

    def test_a_subclass_may_carry_more(self):
        class Labelled(CronExpression):
            def __init__(self, text, dialect="resonate"):
                self.label = "x"

        labelled = Labelled("0 9 * * MON-FRI")
        assert labelled == NINE
        assert labelled.label == "x"
        assert repr(labelled) == "Labelled('0 9 * * MON-FRI')"

    def test_it_can_be_the_key_of_a_table_and_the_value_of_a_column(self):
        crons = [NINE, CronExpression("0 9 * * MON-FRI"), SECONDLY]
        assert len(set(crons)) == 2
        assert pd.Series(crons).nunique() == 2

    def test_a_refused_text_makes_no_object_and_says_where(self):
        with pytest.raises(CronError, match=r"token '8' \(position 8 of .* outside 1-7") as caught:
            CronExpression("0 9 * * 8")
        assert (caught.value.field, caught.value.token) == ("day-of-week", "8")

    def test_eight_threads_share_one_object_in_bulk_calls(self):
        cron = CronExpression("*/7 * 1-5,9 * * MON-FRI")
        expected = cron.between_ms(NOW, NOW + 366 * 86_400_000)

        def work(_):
            found = cron.between_ms(NOW, NOW + 366 * 86_400_000)
            n = cron.count_ms(NOW, END_MS)
            return np.array_equal(found, expected), n, cron.prev_ms(END_MS), cron.remaining_ms(NOW)

        with ThreadPoolExecutor(8) as pool:
            answers = set(pool.map(work, range(64)))
        assert answers == {
            (True, cron.count_ms(NOW, END_MS), cron.prev_ms(END_MS), cron.remaining_ms(NOW))
        }

    def test_a_hundred_thousand_of_them_fit_into_a_hundred_megabytes(self):
        script = (
            "import psutil\n"
            "from resonate_lab.cron import CronExpression\n"
            "def resident():\n"
            "    return psutil.Process().memory_info().rss\n"
            "before = resident()\n"
            "crons = [CronExpression(f'{i % 60} {i % 24} {1 + i % 28} * {1 + i % 7}')"
            " for i in range(100_000)]\n"
            "print(len(crons), resident() - before)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], check=True, capture_output=True, text=True
        )
        count, grown = map(int, done.stdout.split())
        assert count == 100_000
        assert 20_000_000 < grown <= 100_000_000


class TestHtml:
    @pytest.mark.parametrize(
        ("text", "dialect"),
        [
            ("0 9 * * 1-5", "resonate"),
            ("0 0 9 ? * 6#3", "quartz"),
            ("0 0 30 2 *", "resonate-0.9.8"),
        ],
    )
    def test_it_shows_text_dialect_and_no_script(self, text, dialect):
        html = CronExpression(text, dialect)._repr_html_()
        assert text in html
        assert dialect in html
        assert "<script" not in html
        assert ("no tick is left" in html) == (text == "0 0 30 2 *")

    def test_it_stays_small_for_a_very_long_text(self):
        html = CronExpression(",".join(["5"] * 20_000) + " * * * *")._repr_html_()
        assert len(html) < 20_000


class TestFriendlyRefusals:
    """The twins answer in the words that they were asked in."""

    @pytest.mark.parametrize("instant", ["1960-01-01", "2150-01-01"])
    def test_an_instant_outside_the_calendar_is_named_as_a_date(self, instant):
        daily = CronExpression("@daily")
        for ask in (daily.next, daily.prev, daily.matches, lambda at: daily.fires(1, at)):
            with pytest.raises(
                InstantError, match=f"{instant} 00:00:00Z is outside .* 1970 to 2100"
            ):
                ask(instant)

    def test_a_window_turned_round_is_named_by_its_dates(self):
        daily = CronExpression("@daily")
        for ask in (daily.count, daily.between):
            with pytest.raises(WindowError, match=r"end 2024-01-01 .* before start 2024-02-01"):
                ask("2024-02-01", "2024-01-01")

    def test_the_ends_of_the_calendar_may_be_asked(self):
        daily = CronExpression("@daily")
        assert daily.next("2101-01-01") is None
        assert daily.prev("1970-01-01") is None
        assert str(daily.prev("2101-01-01")) == "2100-12-31 00:00:00+00:00"
