"""longest_outage: exact to the millisecond, held against every instant of small fleets."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import resonate_lab as rl
from resonate_lab.errors import DurationError, InstantError, WindowError
from resonate_lab.whatif import longest_outage, what_if

T0 = 1704067200000  # 2024-01-01T00:00:00Z
TEN = pd.DataFrame({"id": ["report"], "cron": ["*/10 * * * *"]})


def breaks(fleet, up, expired, messages):
    """Return whether an outage breaks the rule, as what_if counts it."""
    n = what_if(fleet, (T0, up)).counters
    return any(
        most is not None and n[name] > most
        for name, most in (("expired", expired), ("dispatched", messages))
    )


class TestExact:
    def test_the_first_promise_expires_an_hour_after_the_first_tick(self):
        longest = longest_outage(TEN, "2024-01-01")
        assert longest.up == pd.Timestamp("2024-01-01 01:09:59.999", tz="UTC")
        assert longest.duration == longest.up - longest.start
        assert (longest.stopped_by, longest.schedule_id) == ("expired", "report")
        assert longest.tick == pd.Timestamp("2024-01-01 00:10", tz="UTC")

    def test_messages_that_expire_make_room_but_the_first_breach_counts(self):
        longest = longest_outage(TEN, T0, expired=None, messages=5)
        assert longest.up == pd.Timestamp("2024-01-01 00:59:59.999", tz="UTC")
        assert longest.stopped_by == "messages"
        # Never more than six are in time, so six messages are never exceeded.
        longest = longest_outage(TEN, T0, expired=None, messages=6)
        assert (longest.stopped_by, longest.schedule_id) == ("limit", None)
        assert longest.tick is pd.NaT
        assert longest.duration == pd.Timedelta("31D")

    def test_schedules_are_sorted_by_when_each_alone_breaks_the_rule(self):
        fleet = pd.DataFrame(
            {"id": ["day", "hour", "year"], "cron": ["@daily", "@hourly", "@yearly"]}
        )
        frame = longest_outage(fleet, T0).schedules
        assert frame["schedule_id"].tolist() == ["hour", "day", "year"]
        assert frame["breaks_at"].tolist()[:2] == [
            pd.Timestamp("2024-01-01 02:00", tz="UTC"),
            pd.Timestamp("2024-01-02 01:00", tz="UTC"),
        ]
        assert frame["breaks_at"].isna().tolist() == [False, False, True]

    def test_refused_rows_are_listed_and_the_others_computed(self):
        fleet = pd.DataFrame({"id": ["bad", "good"], "cron": ["0 25 * * *", "@hourly"]})
        longest = longest_outage(fleet, T0)
        assert longest.refused["schedule_id"].tolist() == ["bad"]
        assert longest.schedules["schedule_id"].tolist() == ["good"]

    def test_an_empty_fleet_may_be_down_as_long_as_is_asked(self):
        assert longest_outage(TEN.head(0), T0, limit="3d").duration == pd.Timedelta("3D")

    def test_a_millennium_of_timeouts_lists_no_ticks(self):
        seconds = pd.DataFrame({"id": ["s"], "cron": ["* * * * * *"]})
        assert (
            longest_outage(seconds, T0, promise_timeout="3650d", limit="3000d").stopped_by
            == "limit"
        )

    def test_it_says_the_answer_and_escapes_what_is_hostile(self):
        fleet = pd.DataFrame({"id": ["<img src=x>\x1b[31m"], "cron": ["@hourly"]})
        longest = longest_outage(fleet, T0)
        assert "1 h 59 min, until 2024-01-01 01:59:59.999Z" in repr(longest)
        assert "\x1b" not in repr(longest)
        assert "<img" not in longest._repr_html_()


class TestRejects:
    @pytest.mark.parametrize(
        ("rules", "error", "token"),
        [
            ({"expired": None}, ValueError, "expired=0"),
            ({"expired": -1}, ValueError, "no length breaks"),
            ({"messages": -5}, ValueError, "messages is -5"),
            ({"expired": True}, TypeError, "an int, 0 or more"),
            ({"messages": 1.5}, TypeError, "an int, 0 or more"),
            ({"limit": "-1d"}, WindowError, "limit='31d'"),
            ({"limit": "99999d"}, WindowError, "1970 to 2100"),
            ({"limit": "soon"}, DurationError, "limit"),
            ({"expired": None, "messages": 10**6, "limit": "4000d"}, WindowError, "10,000,000"),
        ],
    )
    def test_a_rule_is_one_or_two_counts_within_the_calendar(self, rules, error, token):
        fleet = pd.DataFrame({"id": ["s"], "cron": ["* * * * * *"]})
        with pytest.raises(error, match=token):
            longest_outage(fleet, T0, **rules)

    def test_the_start_is_an_instant(self):
        with pytest.raises(InstantError, match="start"):
            longest_outage(TEN, "soon")

    def test_it_is_a_name_of_the_package(self):
        assert rl.longest_outage is longest_outage


FLEETS = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.sampled_from("abcd"),
            "cron": st.sampled_from(
                ["*/2 * * * * *", "*/7 * * * * *", "30 * * * * *", "1,2,3,58 * * * * *"]
            ),
            "promise_id": st.sampled_from(
                ["", "x-{{.timestamp}}", "one", "{{.id}}{{.timestamp}}", "x"]
            ),
            "promise_timeout": st.sampled_from([0, 1, 999, 5_000, 12_345, 60_000]),
            "promise_tags": st.sampled_from([None, {"resonate:target": "poll://any@x", "a": "b"}]),
        }
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda row: row["id"],
)
MOST = st.none() | st.integers(0, 12)


class TestLaws:
    @settings(max_examples=40)
    @given(FLEETS, MOST, MOST, st.sampled_from([0, 1, 7_000, 20_000, 70_000]))
    def test_it_is_the_longest_of_all_that_hold(self, rows, expired, messages, limit):
        if expired is None and messages is None:
            return
        fleet = pd.DataFrame(rows)
        longest = longest_outage(fleet, T0, expired=expired, messages=messages, limit=limit)
        up = T0 + longest.duration // pd.Timedelta(1, "ms")
        # What an outage brings changes at whole seconds and at deadlines only.
        deadlines = {T0 + 1000 * s + row["promise_timeout"] for s in range(71) for row in rows}
        instants = sorted(deadlines | {T0 + 1000 * s for s in range(71)} | {T0, up})
        held = [at for at in instants if at <= up]
        assert not any(breaks(fleet, at, expired, messages) for at in held)
        assert up <= T0 + limit
        if longest.stopped_by == "limit":
            assert up == T0 + limit
        else:
            assert breaks(fleet, up + 1, expired, messages)
            alone = longest.schedules["breaks_at"].dropna()
            assert (
                not len(alone) or longest.up < alone.min() or messages is not None or len(rows) > 1
            )
