"""localtime and zones: what a wall clock says in UTC, judged by a walk minute by minute.

The walk asks the zone database what each minute of the year is called, and knows nothing
of offsets, stretches or expressions that move.
"""

from datetime import UTC, datetime
from functools import cache
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import PLACES

import resonate_lab as rl
from resonate_lab.cron import CronExpression
from resonate_lab.cron.localtime import RULES

MINUTE = 60_000
BUSINESS = "0 9 * * MON-FRI"
EXPRESSIONS = [
    "*/10 * * * *",
    "0 * * * MON",
    "30 2 * * *",
    "15,45 1,2,3 * * *",
    BUSINESS,
    "0 23 * * MON-FRI",
    "5 0 * * SUN",
    "0 0 1 * *",
    "0 22 31 * *",
    "30 20 28-30 2,3 *",
    "*/20 9-17 1-15 * MON,WED",
    "0 12 29 2 *",
    "* 2 * * *",
    "0 0 9 31 12 * 2026",
    "@daily",
]


def ms(text):
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1000


@cache
def minutes_of(zone, year):
    """Every minute of a wall-clock year: when it is, what the clock shows, whether anew."""
    info = ZoneInfo(zone)
    first, end = (int(datetime(y, 1, 1, tzinfo=UTC).timestamp()) for y in (year, year + 1))
    utc = range(first - 16 * 3600, end + 16 * 3600, 60)
    ahead = [datetime.fromtimestamp(second, info).utcoffset().total_seconds() for second in utc]
    wall = np.array(utc) + np.array(ahead, dtype=np.int64)
    inside = (first <= wall) & (wall < end)
    utc, wall = np.array(utc)[inside] * 1000, wall[inside] * 1000
    anew = np.zeros(len(wall), dtype=bool)
    anew[np.unique(wall, return_index=True)[1]] = True
    return utc, wall, anew


def walked(text, zone, year, rule, dialect="resonate"):
    """The instants at which a schedule with wall-clock times fires, by the rule's words."""
    cron = CronExpression(text, dialect)
    utc, wall, anew = minutes_of(zone, year)
    ticks = cron.between_ms(ms(f"{year}-01-01"), ms(f"{year + 1}-01-01") - 1)
    due = np.zeros(366 * 1440, dtype=bool)
    due[(ticks - ms(f"{year}-01-01")) // MINUTE] = True
    here = due[(wall - ms(f"{year}-01-01")) // MINUTE]
    clock = text.split()[:2] if len(text.split()) == 5 else text.split()[1:3]
    by_the_clock = any(field.startswith("*") for field in clock)
    if rule == "naive" or (rule == "debian" and by_the_clock):
        return utc[here]
    fires = set()
    for place in np.flatnonzero(np.diff(wall) > MINUTE):
        if rule == "debian" and wall[place + 1] - wall[place] > 180 * MINUTE:
            continue  # a correction
        for tick in ticks[(wall[place] < ticks) & (ticks < wall[place + 1])].tolist():
            after = int(utc[place + 1])
            fires.add(after if rule == "debian" else int(utc[place]) + tick - int(wall[place]))
    return np.union1d(utc[here & anew], np.array(sorted(fires), dtype=np.int64))


def fired(plan):
    """The ticks of a plan: each expression in its time, nothing merged."""
    rows = zip(plan["cron"], plan["from_at"], plan["until_at"], strict=True)
    ticks = [
        CronExpression(text).between_ms(
            int(start.timestamp() * 1000), int(end.timestamp() * 1000) - 1
        )
        for text, start, end in rows
        if text
    ]
    return np.sort(np.concatenate(ticks)) if ticks else np.array([], dtype=np.int64)


def shown(ticks):
    return pd.to_datetime(pd.Series(ticks), unit="ms").dt.strftime("%m-%d %H:%M").tolist()


class TestTheWalk:
    @pytest.mark.parametrize("rule", RULES)
    @pytest.mark.parametrize(("zone", "year"), PLACES)
    def test_a_plan_fires_as_walked_and_accounts_for_every_tick(self, zone, year, rule):
        for text in EXPRESSIONS:
            plan = rl.to_utc(text, zone, year, rule)
            expected = walked(text, zone, year, rule)
            assert np.array_equal(fired(plan), expected), text
            assert plan["ticks"].sum() == len(expected)
            wall = CronExpression(text).count_ms(ms(f"{year}-01-01"), ms(f"{year + 1}-01-01") - 1)
            assert len(expected) == wall - plan["lost"].sum() + plan["doubled"].sum()

    @pytest.mark.parametrize(("zone", "year"), PLACES)
    def test_a_local_view_shows_what_the_clock_shows_at_each_tick(self, zone, year):
        utc, wall, _ = minutes_of(zone, year)
        for text in EXPRESSIONS:
            view = rl.local_view(text, zone, year)
            ticks = CronExpression(text).between_ms(int(utc.min()), int(utc.max()))
            assert view["ticks"].sum() == len(ticks)
            texts = {name for name in view["wall"] if name}
            walls = wall[np.searchsorted(utc, ticks)]
            assert all(any(CronExpression(t).matches_ms(w) for t in texts) for w in walls.tolist())
            times = view.dropna(subset="first")
            if len(ticks):
                assert times["first"].min() == pd.Timestamp(ticks[0], unit="ms", tz="UTC")
                assert times["last"].max() == pd.Timestamp(ticks[-1], unit="ms", tz="UTC")


def fields(low, high, names=()):
    number = st.integers(low, high).map(str)
    ranged = st.tuples(st.integers(low, high), st.integers(low, high)).map(
        lambda pair: f"{min(pair)}-{max(pair)}"
    )
    stepped = st.integers(1, high - low).map(lambda step: f"*/{step}")
    listed = st.lists(st.integers(low, high), min_size=2, max_size=4, unique=True).map(
        lambda values: ",".join(map(str, sorted(values)))
    )
    return st.one_of(st.just("*"), number, ranged, stepped, listed, *map(st.just, names))


EXPRESSION = st.tuples(
    fields(0, 59), fields(0, 23), fields(1, 31), fields(1, 12), fields(1, 7, ["MON-FRI"])
).map(" ".join)


class TestLaws:
    @given(EXPRESSION, st.sampled_from(PLACES), st.sampled_from(RULES))
    def test_any_expression_in_any_zone_under_any_rule_is_as_walked(self, text, place, rule):
        plan = rl.to_utc(text, *place, rule)
        assert np.array_equal(fired(plan), walked(text, *place, rule))

    @given(EXPRESSION, st.sampled_from(PLACES))
    def test_the_local_view_of_a_plan_is_the_wall_clock_again(self, text, place):
        plan = rl.to_utc(text, *place, "naive")
        alone = ~plan.duplicated("from_at", keep=False) & ~plan["offset"].str.contains(",")
        for row in plan[alone & (plan["cron"] != "")].head(2).itertuples():
            view = rl.local_view(row.cron, *place)
            same = view[(view["from_at"] <= row.from_at) & (view["until_at"] >= row.until_at)]
            zone, second = ZoneInfo(place[0]), pd.Timedelta(seconds=1)
            ends = [row.from_at.tz_convert(zone), (row.until_at - second).tz_convert(zone)]
            window = [int(at.tz_localize(None).timestamp() * 1000) for at in ends]
            shown = [CronExpression(wall).between_ms(*window) for wall in same["wall"]]
            again = np.sort(np.concatenate(shown))
            assert np.array_equal(again, CronExpression(text).between_ms(*window))

    @given(EXPRESSION, st.sampled_from(PLACES))
    def test_five_fields_stay_five_where_no_tick_is_moved(self, text, place):
        plan = rl.to_utc(text, *place, "naive")
        assert plan["cron"].str.split().str.len().isin([0, 5]).all()

    @pytest.mark.parametrize("rule", ["L", "LW", "15W", "6#3", "2L"])
    def test_a_day_rule_of_quartz_is_written_out_for_the_year(self, rule):
        field = f"{rule} * ?" if rule[-1] == "W" or rule == "L" else f"? * {rule}"
        text = f"0 30 20 {field}"
        plan = rl.to_utc(CronExpression(text, "quartz"), "America/New_York", 2026, "naive")
        expected = walked(text, "America/New_York", 2026, "naive", "quartz")
        assert np.array_equal(fired(plan), expected)
        assert len(expected) == 12 or rule == "6#3"

    def test_seconds_move_with_an_offset_of_seconds(self):
        # Monrovia was 44 min 30 s behind until 1972-01-07.
        plan = rl.to_utc("10,50 15 9 * * *", "Africa/Monrovia", 1972)
        assert plan["cron"].tolist() == ["40 59 9 * * *", "20 0 10 * * *", "10,50 15 9 * * *"]
        assert plan["offset"][0] == "UTC-00:44:30 (MMT)"
        first = datetime(1972, 1, 1, 9, 15, 10, tzinfo=ZoneInfo("Africa/Monrovia"))
        assert fired(plan)[0] == int(first.timestamp()) * 1000
        assert plan["ticks"].sum() == 366 * 2 - plan["lost"].sum()


class TestToUtc:
    def test_new_york_gets_both_expressions_and_the_days_to_switch(self):
        plan = rl.to_utc(BUSINESS, "America/New_York", year=2026)
        assert plan["cron"].tolist() == [
            "0 14 * * MON-FRI",
            "0 13 * * MON-FRI",
            "0 14 * * MON-FRI",
        ]
        assert shown(plan["from_at"]) == ["01-01 05:00", "03-08 07:00", "11-01 06:00"]
        assert plan["offset"].tolist()[:2] == ["UTC-05:00 (EST)", "UTC-04:00 (EDT)"]
        assert plan["until_at"].tolist()[:2] == plan["from_at"].tolist()[1:]
        assert plan["from_at"].dtype == "datetime64[ms, UTC]"

    def test_late_evening_moves_the_weekdays_by_one(self):
        plan = rl.to_utc("0 23 * * MON-FRI", "America/New_York", 2026)
        assert plan["cron"].tolist() == ["0 4 * * TUE-SAT", "0 3 * * TUE-SAT", "0 4 * * TUE-SAT"]

    def test_early_morning_in_the_east_moves_them_back(self):
        plan = rl.to_utc("0 3 * * MON-FRI", "Asia/Kolkata", 2026)
        assert plan["cron"].tolist() == ["30 21 * * SUN-THU"]

    def test_a_zone_without_summer_time_needs_no_switch(self):
        plan = rl.to_utc("0 9 * * *", "America/Sao_Paulo", 2026)
        assert plan["cron"].tolist() == ["0 12 * * *"]

    def test_half_an_hour_splits_a_range_of_hours_and_says_so(self):
        plan = rl.to_utc("*/10 9-17 * * *", "Asia/Kolkata", 2026)
        assert set(plan["cron"]) == {"0-20/10 4-12 * * *", "30-50/10 3-11 * * *"}
        assert "2 schedules" in plan["note"][0]

    def test_the_first_of_the_month_needs_three_in_the_east_and_says_why(self):
        plan = rl.to_utc("0 0 1 * *", "Asia/Kolkata", 2026)
        assert set(plan["cron"]) == {"30 18 31 * *", "30 18 30 4,6,9,11 *", "30 18 28 2 *"}
        assert "days of month" in plan["note"][0]

    def test_a_day_within_the_month_moves_in_one_expression(self):
        assert "0 3 16 * *" in set(rl.to_utc("0 22 15 * *", "America/New_York", 2026)["cron"])

    def test_what_fires_in_one_season_only_is_one_expression(self):
        plan = rl.to_utc("0 9 * 6 *", "America/New_York", 2026)
        assert plan["cron"].tolist() == ["0 13 * 6 *"]

    def test_what_the_author_wrote_stays_where_it_means_the_same(self):
        plan = rl.to_utc("5/20 9 ? JAN,Jul Mon", "UTC", 2026)
        assert plan["cron"].tolist() == ["5/20 9 ? JAN,Jul Mon"]

    def test_the_released_servers_dialect_is_read_as_a_calendar(self):
        cron = CronExpression("0 0 9 1 1 * 2027", "resonate-0.9.8")
        assert shown(fired(rl.to_utc(cron, "Europe/Berlin", 2027))) == ["01-01 08:00"]

    def test_every_second_of_a_year_is_proved_too(self):
        plan = rl.to_utc("* * * * * *", "Australia/Lord_Howe", 2026, "shift")
        assert plan["ticks"].sum() == 365 * 86_400 - 1800


class TestRules:
    """W: 02:30 does not exist on 2026-03-08 in New York, and 01:30 comes twice on 2026-11-01."""

    @pytest.mark.parametrize(
        ("rule", "fires"), [("debian", ["07:00"]), ("naive", []), ("shift", ["07:30"])]
    )
    def test_a_time_that_does_not_exist(self, rule, fires):
        plan = rl.to_utc("30 2 * * *", "America/New_York", 2026, rule)
        on_the_day = [text for text in shown(fired(plan)) if text.startswith("03-08")]
        assert on_the_day == [f"03-08 {time}" for time in fires]
        assert (plan["lost"].sum(), plan["moved"].sum()) == ((0, 1) if fires else (1, 0))
        assert "2026-03-08 02:30 does not exist" in " ".join(plan["note"])

    @pytest.mark.parametrize(
        ("rule", "fires"),
        [("debian", ["05:30"]), ("naive", ["05:30", "06:30"]), ("shift", ["05:30"])],
    )
    def test_a_time_that_comes_twice(self, rule, fires):
        plan = rl.to_utc("30 1 * * *", "America/New_York", 2026, rule)
        on_the_day = [text for text in shown(fired(plan)) if text.startswith("11-01")]
        assert on_the_day == [f"11-01 {time}" for time in fires]
        assert plan["doubled"].sum() == len(fires) - 1

    def test_debian_lets_an_hourly_job_go_by_the_clock(self):
        plan = rl.to_utc("0 * * * *", "America/New_York", 2026)
        assert plan["cron"].tolist() == ["0 * * * *"]
        assert plan["ticks"].tolist() == [8760]
        assert (plan["lost"][0], plan["doubled"][0]) == (1, 1)

    def test_the_moved_tick_is_an_expression_of_its_own_that_ends(self):
        plan = rl.to_utc("30 2 * * *", "America/New_York", 2026)
        extra = plan[plan["cron"] == "0 0 7 8 3 * 2026"]
        assert len(extra) == 1
        assert "delete it" in extra["note"].iloc[0]
        assert CronExpression("0 0 7 8 3 * 2026").count("2026-01-01", "2100-01-01") == 1

    def test_several_moved_to_one_instant_fire_once(self):
        plan = rl.to_utc("0,30 2 * * *", "America/New_York", 2026)
        assert (plan["moved"].sum(), plan["lost"].sum()) == (1, 1)

    @pytest.mark.parametrize("rule", RULES)
    def test_a_day_that_is_skipped_at_the_end_of_a_year_is_lost(self, rule):
        plan = rl.to_utc("0 9 * * *", "Pacific/Kiritimati", 1994, rule)
        assert (plan["ticks"].sum(), plan["lost"].sum()) == (364, 1)
        assert (
            plan["note"].iloc[-1] == "wall-clock time 1994-12-31 09:00 does not exist and is lost"
        )

    def test_a_skipped_day_is_a_correction_that_debian_does_not_mend(self):
        plan = rl.to_utc("0 9 * * *", "Pacific/Apia", 2011)
        assert plan["lost"].sum() == 1
        assert "2011-12-30 09:00 does not exist and is lost" in plan["note"].iloc[-1]


class TestCases:
    """Rows of public reports, as in tests/data/cases.jsonl."""

    def test_d01_one_utc_time_is_two_in_chicago(self):
        view = rl.local_view("0 14 * * *", "America/Chicago", 2024)
        assert view["times"].tolist() == ["08:00", "09:00", "08:00"]
        assert f"{view['last'][0]:%m-%d %H:%M %Z}" == "03-09 08:00 CST"
        assert f"{view['first'][1]:%m-%d %H:%M %Z}" == "03-10 09:00 CDT"
        ticks = CronExpression("0 14 * * *").between("2024-03-09", "2024-03-12")
        local = ticks.tz_convert("America/Chicago").strftime("%H:%M %Z").tolist()
        assert local == ["08:00 CST", "09:00 CDT", "09:00 CDT"]

    def test_d03_berlins_half_past_two_is_two_instants_and_one_expression_meets_the_first(self):
        twice = fired(rl.to_utc("30 2 * * *", "Europe/Berlin", 2023, "naive"))
        assert [t for t in shown(twice) if t.startswith("10-29")] == ["10-29 00:30", "10-29 01:30"]
        alone = CronExpression("30 0 * * *").between("2023-10-29", "2023-10-29 23:59")
        assert shown(alone) == ["10-29 00:30"]
        once = fired(rl.to_utc("30 2 * * *", "Europe/Berlin", 2023))
        assert [t for t in shown(once) if t.startswith("10-29")] == ["10-29 00:30"]

    def test_d05_nine_utc_is_ten_in_berlin_in_winter_and_eleven_in_summer(self):
        view = rl.local_view(BUSINESS, "Europe/Berlin", 2026)
        assert view["times"].tolist() == ["10:00", "11:00", "10:00"]
        assert view["wall"][1] == "0 11 * * MON-FRI"
        assert view["offset"].tolist()[:2] == ["UTC+01:00 (CET)", "UTC+02:00 (CEST)"]

    def test_d06_toronto_all_year_takes_two_expressions_and_their_dates(self):
        plan = rl.to_utc("30 8 * * *", "America/Toronto", 2026)
        assert plan["cron"].tolist() == ["30 13 * * *", "30 12 * * *", "30 13 * * *"]
        local = plan["from_at"].dt.tz_convert("America/Toronto").dt.strftime("%m-%d %H:%M").tolist()
        assert local == ["01-01 00:00", "03-08 03:00", "11-01 01:00"]


class TestLocalView:
    def test_weekdays_go_back_where_the_clock_is_behind(self):
        view = rl.local_view("0 2 * * MON", "America/New_York", 2026)
        assert view["wall"].tolist() == ["0 21 * * SUN", "0 22 * * SUN", "0 21 * * SUN"]

    def test_many_times_are_cut_and_counted(self):
        view = rl.local_view("*/10 * * * *", "Europe/Berlin", 2026)
        assert view["times"].tolist() == ["00:00, 00:10, 00:20, 00:30 and 140 more"]

    def test_first_and_last_are_of_the_zone(self):
        view = rl.local_view("0 2 * * *", "Asia/Kolkata", 2026)
        assert str(view["first"].dtype) == "datetime64[ms, Asia/Kolkata]"
        assert str(view["first"][0]) == "2026-01-01 07:30:00+05:30"

    def test_what_never_fires_is_a_row_without_times(self):
        view = rl.local_view("0 0 1 1 1 * 2030", "UTC", 2026)
        assert (view["wall"][0], view["ticks"][0]) == ("", 0)
        assert view["first"].isna().all()


class TestRejects:
    def test_a_year_may_be_an_integer_of_numpy(self):
        years = (2026, np.int64(2026))
        assert (
            len({tuple(rl.to_utc(BUSINESS, "Europe/Berlin", year)["cron"]) for year in years}) == 1
        )

    @pytest.mark.parametrize(("rule", "close"), [("Debian", "debian"), ("shif", "shift")])
    def test_an_unknown_rule_names_those_that_exist(self, rule, close):
        with pytest.raises(ValueError, match=rf"'debian', 'naive', 'shift'.*'{close}'"):
            rl.to_utc(BUSINESS, "UTC", 2026, rule)

    def test_an_expression_at_fault_is_the_cores_own_error(self):
        with pytest.raises(rl.CronError, match="25"):
            rl.to_utc("0 25 * * *", "UTC", 2026)

    def test_an_expression_is_text_or_compiled(self):
        with pytest.raises(TypeError, match="CronExpression"):
            rl.to_utc(5, "UTC", 2026)
