"""what_if: every missed tick, and nothing else than what the engine does."""

from bisect import bisect_left
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resonate_lab import frames
from resonate_lab.cron import CronExpression
from resonate_lab.engine import Engine
from resonate_lab.errors import DurationError, InstantError, ProtocolError, WindowError
from resonate_lab.protocol.profile import PROFILES
from resonate_lab.whatif import LogNormal, catchup, what_if
from resonate_lab.whatif.outage import DEFAULT_TAGS, WhatIf
from resonate_lab.whatif.policies import SYSTEMS, Policy, PolicyError, compare

EXAMPLE = Path(__file__).parents[1] / "examples" / "public_fleet.csv"
T0 = 1704067200000  # 2024-01-01T00:00:00Z
HOUR = 3_600_000
DOWN = ("2024-03-01T00:05:00Z", "2024-03-01T02:07:30Z")


def fleet(*crons, **columns):
    return pd.DataFrame({"id": [f"s{n}" for n in range(len(crons))], "cron": crons} | columns)


def instants(*texts):
    return pd.DatetimeIndex(texts, tz="UTC").as_unit("ms").tolist()


class TestCases:
    """Cases from public reports, by their number in tests/data/cases.jsonl."""

    def test_w01_resonate_starts_every_missed_tick(self):
        asked = what_if(fleet("*/10 * * * *"), DOWN)
        lag = asked.ticks["lag"]
        assert len(asked.ticks) == 12
        assert lag.max() == pd.Timedelta(minutes=117.5)
        assert lag.min() == pd.Timedelta(minutes=7.5)

    def test_w17_half_hourly_for_five_hours_is_ten(self):
        asked = what_if(fleet("*/30 * * * *"), ("2024-03-01T00:00Z", "2024-03-01T05:00Z"))
        assert asked.counters["missed"] == 10

    def test_w16_every_minute_from_8_29_to_10_21_is_112(self):
        asked = what_if(fleet("* * * * *"), ("2024-03-01T08:29Z", "2024-03-01T10:21Z"))
        assert asked.counters["missed"] == 112


class TestTicks:
    def test_the_window_is_open_at_the_stop_and_closed_at_the_restart(self):
        asked = what_if(fleet("0 * * * *"), ("2024-01-01T00:00Z", "2024-01-01T02:00Z"))
        assert asked.ticks["scheduled_at"].tolist() == instants(
            "2024-01-01 01:00", "2024-01-01 02:00"
        )

    def test_columns_and_dtypes_are_as_documented_with_and_without_rows(self):
        for down in (DOWN, (DOWN[0], DOWN[0])):
            ticks = what_if(fleet("*/10 * * * *"), down).ticks
            assert list(ticks) == [
                "schedule_id",
                "scheduled_at",
                "fired_at",
                "lag",
                "promise_id",
                "timeout_at",
                "state",
                "dispatched",
                "sent_at",
                "outage",
                "lost",
            ]
            assert [str(ticks[c].dtype) for c in ("scheduled_at", "fired_at", "timeout_at")] == [
                "datetime64[ms, UTC]"
            ] * 3
            assert str(ticks["lag"].dtype) == "timedelta64[ms]"
            assert ticks["state"].dtype == frames.BIRTH_STATES
            assert ticks["dispatched"].dtype == bool

    def test_timeouts_count_from_the_tick(self):
        ticks = what_if(fleet("0 * * * *"), DOWN, promise_timeout="90m").ticks
        assert (ticks["timeout_at"] - ticks["scheduled_at"] == pd.Timedelta("90min")).all()

    def test_expired_at_creation_is_settled_and_not_dispatched(self):
        ticks = what_if(fleet("0 * * * *"), ("2024-01-01", "2024-01-01 03:00")).ticks
        assert ticks["state"].tolist() == ["rejected_timedout", "rejected_timedout", "pending"]
        assert ticks["dispatched"].tolist() == [False, False, True]

    def test_a_deadline_at_the_restart_itself_has_passed(self):
        ticks = what_if(fleet("0 * * * *"), ("2024-01-01", "2024-01-01 02:00")).ticks
        assert ticks["timeout_at"].iloc[0] == ticks["fired_at"].iloc[0]
        assert ticks["state"].tolist() == ["rejected_timedout", "pending"]

    def test_a_timer_is_born_resolved(self):
        tags = [{**DEFAULT_TAGS, "resonate:timer": "true"}]
        ticks = what_if(
            fleet("0 * * * *", promise_tags=tags), ("2024-01-01", "2024-01-01 03:00")
        ).ticks
        assert ticks["state"].tolist() == ["resolved", "resolved", "pending"]

    def test_schedules_fire_one_after_another_by_first_tick_and_id(self):
        frame = pd.DataFrame(
            {"id": ["b", "a", "c"], "cron": ["*/30 * * * *"] * 2 + ["*/20 * * * *"]}
        )
        ticks = what_if(frame, ("2024-01-01 00:10", "2024-01-01 01:10")).ticks
        assert ticks["schedule_id"].tolist() == ["c"] * 3 + ["a"] * 2 + ["b"] * 2
        assert ticks.groupby("schedule_id")["scheduled_at"].is_monotonic_increasing.all()

    def test_templates_are_filled_in_id_first(self):
        dotted = PROFILES["standard"].replace(schedule_id_may_have_dot=True)
        frame = pd.DataFrame(
            {
                "id": ["a", "b{{.timestamp}}"],
                "cron": ["0 1 * * *"] * 2,
                "promise_id": ["{{.id}}/{{.timestamp}}/{{.timestamp}}/{{ .id }}", "{{.id}}!"],
            }
        )
        ids = what_if(frame, (T0, T0 + HOUR), profile=dotted).ticks["promise_id"]
        tick = T0 + HOUR
        assert ids.tolist() == [f"a/{tick}/{tick}/{{{{ .id }}}}", f"b{tick}!"]

    def test_a_template_without_timestamp_creates_one_promise(self):
        asked = what_if(fleet("0 * * * *", promise_id=["one"]), ("2024-01-01", "2024-01-01 03:00"))
        assert asked.ticks["state"].isna().tolist() == [False, True, True]
        assert asked.summary["existing"].tolist() == [2]
        assert len(asked.promises) == 1

    def test_ids_that_two_schedules_share_belong_to_the_first(self):
        frame = fleet("0 * * * *", "0 * * * *", promise_id=["x-{{.timestamp}}"] * 2)
        asked = what_if(frame, ("2024-01-01", "2024-01-01 03:00"))
        assert asked.summary["existing"].tolist() == [0, 3]

    def test_ids_that_only_look_alike_are_told_apart(self):
        # "a1" + "1704..." and "a" + "11704..." are different ticks of different schedules
        frame = fleet("0 * * * *", "0 * * * *", promise_id=["a1{{.timestamp}}", "a{{.timestamp}}"])
        asked = what_if(frame, ("2024-01-01", "2024-01-01 03:00"))
        assert asked.counters["existing"] == 0

    def test_ids_are_the_same_whichever_way_they_are_joined(self, monkeypatch):
        frame = fleet("*/7 * * * *", "0 * * * *", promise_id=["", "{{.timestamp}}-x"])
        quick = what_if(frame, DOWN).ticks["promise_id"].tolist()
        monkeypatch.setattr(catchup, "_arrow_texts", lambda: False)
        assert what_if(frame, DOWN).ticks["promise_id"].tolist() == quick

    def test_a_million_ticks_are_counted_and_listed(self):
        asked = what_if(fleet("* * * * * *"), (T0, T0 + 10**9))
        assert asked.counters["missed"] == 10**6
        assert asked.ticks["promise_id"].iloc[-1] == f"s0-{T0 + 10**9}"


class TestViews:
    def test_the_summary_has_a_row_for_each_accepted_schedule(self):
        asked = what_if(fleet("0 0 1 1 *", "0 * * * *", "nonsense"), DOWN)
        summary = asked.summary
        assert summary["schedule_id"].tolist() == ["s0", "s1"]
        assert summary["missed"].tolist() == [0, 2]
        assert summary["first"].isna().tolist() == [True, False]
        assert summary["max_lag"].isna().tolist() == [True, False]
        assert summary["next_run_at"].tolist() == instants("2025-01-01", "2024-03-01 03:00")
        assert str(summary["first"].dtype) == "datetime64[ms, UTC]"

    def test_the_views_agree_with_each_other(self):
        asked = what_if(EXAMPLE, ("2026-12-01", "2026-12-01 12:00"))
        n, ticks, summary = asked.counters, asked.ticks, asked.summary
        assert n["missed"] == len(ticks) == summary["missed"].sum() == asked.load["due"].sum()
        assert n["dispatched"] == ticks["dispatched"].sum() == asked.load["dispatched"].sum()
        assert n["created"] == len(asked.promises) == len(asked.tags) == asked.load["created"].sum()
        assert n["expired"] == (asked.promises["state"] != "pending").sum()
        assert n["idle"] == (summary["missed"] == 0).sum()
        assert n["schedules"] + n["refused"] == 785
        assert asked.load.index.is_monotonic_increasing

    def test_every_count_is_that_of_a_walk(self):
        asked = what_if(EXAMPLE, ("2026-12-01", "2026-12-01 12:00"))
        start, up = 1796083200000, 1796083200000 + 12 * HOUR
        for cron, missed in zip(asked.summary["cron"], asked.summary["missed"], strict=True):
            expression, tick, walked = CronExpression(cron), start, 0
            if missed > 1000:
                continue
            while (tick := expression.next_ms(tick)) is not None and tick <= up:
                walked += 1
            assert walked == missed

    def test_tags_are_one_column_each(self):
        tags = [{**DEFAULT_TAGS, "team": "a"}, dict(DEFAULT_TAGS)]
        asked = what_if(
            fleet("0 1 * * *", "0 1 * * *", promise_tags=tags), ("2024-01-01", "2024-01-02")
        )
        assert list(asked.tags) == [
            "resonate:branch",
            "resonate:origin",
            "resonate:parent",
            "resonate:prefix",
            "resonate:schedule",
            "resonate:target",
            "team",
        ]
        assert asked.tags["team"].isna().tolist() == [False, True]
        assert (asked.tags["resonate:origin"] == asked.tags.index).all()

    def test_refused_rows_have_line_and_reason_and_the_others_are_computed(self):
        frame = fleet("0 0 * * 0", "0 1 * * *", "", "0 0 30 2 *", "0 1 * * *", "0 1 * * *")
        frame["id"] = ["zero", "fine", "blank", "never", "with.dot", "aimless"]
        frame["promise_tags"] = [None] * 5 + [{"team": "a"}]
        asked = what_if(frame, ("2024-01-01", "2024-01-02"))
        assert asked.summary["schedule_id"].tolist() == ["fine"]
        reasons = asked.refused.set_index("schedule_id")["reason"]
        for name, word in {
            "zero": "outside 1-7",
            "blank": "blank",
            "never": "no tick after",
            "with.dot": "'.'",
            "aimless": "resonate:target",
        }.items():
            assert word in reasons[name]
        assert asked.refused["line"].tolist() == [1, 3, 4, 5, 6]

    def test_an_empty_fleet_and_a_fleet_all_refused(self):
        for frame in (fleet(), fleet("nonsense")):
            asked = what_if(frame, DOWN)
            assert asked.counters["missed"] == 0
            assert len(asked.ticks) == len(asked.summary) == len(asked.tags) == 0
            assert "0 schedules" in repr(asked)
            assert asked._repr_html_()

    def test_hostile_ids_are_text_in_html(self):
        frame = pd.DataFrame({"id": ["<img src=x onerror=alert(1)>"], "cron": ["0 * * * *"]})
        asked = what_if(frame, DOWN)
        assert "<img" not in asked._repr_html_()
        assert "&lt;img" in asked._repr_html_()

    def test_the_answer_cannot_be_changed(self):
        asked = what_if(fleet("0 * * * *"), DOWN)
        with pytest.raises(AttributeError):
            asked.down = None
        assert isinstance(asked, WhatIf)
        assert asked.ticks is asked.ticks


class TestRefused:
    @pytest.mark.parametrize("down", [None, "2024-01-01", (1,), (1, 2, 3), 5])
    def test_down_is_a_pair(self, down):
        with pytest.raises(TypeError, match="pair"):
            what_if(fleet("@daily"), down)

    @pytest.mark.parametrize("wrap", [pd.Series, np.array, pd.DatetimeIndex])
    def test_what_is_no_pair_is_shown_on_one_line(self, wrap):
        with pytest.raises(TypeError, match="pair") as caught:
            what_if(fleet("@daily"), wrap(np.array(["2024-01-01"] * 2, dtype="datetime64[ms]")))
        assert str(caught.value).isprintable()

    @pytest.mark.parametrize("bad", [None, True, 1.5, pd.NaT, "soon", float("nan")])
    def test_down_holds_instants(self, bad):
        with pytest.raises((TypeError, InstantError), match=r"down\[1\]"):
            what_if(fleet("@daily"), (0, bad))

    @pytest.mark.parametrize("down", [(2, 1), (-1, 1), (0, 2**62), ("2100-01-01", "2101-01-01")])
    def test_the_outage_goes_forward_within_the_calendar(self, down):
        with pytest.raises(WindowError, match="1970 to 2100"):
            what_if(fleet("@daily"), down)

    def test_naive_instants_are_utc_and_others_are_converted(self):
        naive = what_if(fleet("0 * * * *"), ("2024-01-01 01:00", "2024-01-01 03:00"))
        zoned = what_if(fleet("0 * * * *"), ("2024-01-01 02:00+01:00", "2024-01-01 04:00+01:00"))
        assert naive.down == zoned.down

    def test_a_century_of_seconds_is_refused_with_its_count(self):
        with pytest.raises(WindowError, match=r"3,155,796,525 missed ticks.*'s1' alone"):
            what_if(fleet("@daily", "* * * * * *", "bad"), ("2000-01-01", "2100-01-01"))

    @pytest.mark.parametrize("timeout", ["soon", -1, "-1h", 2**63])
    def test_a_timeout_that_is_none(self, timeout):
        with pytest.raises(DurationError):
            what_if(fleet("@daily"), DOWN, promise_timeout=timeout)

    def test_a_profile_that_is_none(self):
        with pytest.raises(ValueError, match="klingon"):
            what_if(fleet("@daily"), DOWN, profile="klingon")


CRONS = st.sampled_from(
    [
        "*/10 * * * *",
        "0 9 * * MON-FRI",
        "*/7 * * * *",
        "*/20 * * * * *",
        "0 0 1 * *",
        "0 0 30 2 *",
        "30 3 13 * FRI",
        "@hourly",
        "5 4 * * 0",
        "0 0 0 1 1 * 2023",
        "0 */2 * * *",
        "0 0 9 2 1 * 2025",
        "* * * * *",
    ]
)
TEMPLATES = st.sampled_from(
    ["{{.id}}-{{.timestamp}}", "x-{{.timestamp}}", "one", "{{.timestamp}}{{.id}}{{.timestamp}}"]
)
TAGS = st.fixed_dictionaries(
    {},
    optional={
        "resonate:target": st.just("poll://any@default"),
        "resonate:timer": st.sampled_from(["true", "false"]),
        "resonate:delay": st.sampled_from([str(T0 + 10**8), str(T0 + 10**10), "soon"]),
        "team": st.sampled_from(["a", "b"]),
    },
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.text("abz.-", min_size=1, max_size=3),
            "cron": CRONS,
            "promise_id": TEMPLATES,
            "promise_timeout": st.sampled_from([0, 1000, HOUR, 2 * HOUR, 10**10]),
            "promise_tags": TAGS | st.just(dict(DEFAULT_TAGS)),
        }
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda row: row["id"],
)
RULES = st.fixed_dictionaries(
    {},
    optional={
        "expiry": st.just("tick"),
        "schedule_needs_target": st.just(False),
        "schedule_id_may_have_dot": st.just(True),
        "adds_tags": st.just(False),
        "due_order": st.just("creation"),
        "expired_created_at": st.just("timeout"),
    },
)


MINUTE = 60_000
OUTAGES = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 999, MINUTE, HOUR]),  # up before it
        st.sampled_from([0, 1, 500, 7 * MINUTE + 1, 2 * HOUR]),  # down
    ),
    min_size=1,
    max_size=3,
)
PROFILE = st.sampled_from(
    [
        *PROFILES.values(),
        PROFILES["server"].replace(name="all at a poll", catch_up="every tick"),
        PROFILES["server"].replace(name="seldom", poll_ms=7_000),
        PROFILES["spec"].replace(name="one by one", catch_up="one tick a run"),
    ]
)


def engine_of(rows, profile, start):
    """Return an engine with the schedules of a fleet, and the ids that it refuses."""
    engine, refused = Engine(profile, now=start), []
    for row in rows:
        try:
            engine.schedules.create(**row)
        except ProtocolError:
            refused.append(row["id"])
    return engine, refused


def looks(outages, poll_ms, end):
    """Return the instants at which the server polls, one by one."""
    found = []
    for (_, up), (until, _) in zip(outages, [*outages[1:], (end, 0)], strict=True):
        found += range(up + poll_ms, until + 1, poll_ms)
    return found


def caught_up(ticks, outages, poll_ms):
    """Return which of an engine's ticks are part of a catch-up, judged one by one."""
    fired_at = ms(ticks["fired_at"])
    polls = looks(outages, poll_ms, max(fired_at, default=0) + 2 * poll_ms) if poll_ms else []
    seen = [start for start, _ in outages]
    if poll_ms:
        for n, ((_, up), (until, _)) in enumerate(pairwise(outages), 1):
            seen[n] = max([at for at in polls if up < at <= until], default=up)
    judged = []
    for due, fired in zip(ms(ticks["scheduled_at"]), fired_at, strict=True):
        missed = any(low < due <= up for low, (_, up) in zip(seen, outages, strict=True))
        late = False
        if poll_ms and fired != polls[bisect_left(polls, due)]:
            last = max(n for n, (_, up) in enumerate(outages) if up < fired)
            late = fired <= outages[last][1] + sum(up - at for at, up in outages[: last + 1])
        judged.append(missed or late)
    return ticks[np.array(judged, dtype=bool)].reset_index(drop=True)


def ms(column):
    return column.astype("int64").tolist()


CREATED = list(frames.ticks(Engine()))


class TestLaws:
    @settings(max_examples=200)
    @given(
        ROWS,
        st.integers(T0, T0 + 10**10),
        st.sampled_from([0, 1, HOUR, 3 * HOUR, 26 * HOUR]),
        RULES,
    )
    def test_what_if_is_what_the_engine_does(self, rows, start, length, rules):
        profile = PROFILES["standard"].replace(**rules)
        engine, refused = engine_of(rows, profile, start)
        engine.outage(length)
        asked = what_if(pd.DataFrame(rows), (start, start + length), profile=profile)
        created = asked.ticks[asked.ticks["state"].notna()].reset_index(drop=True)
        assert asked.refused["schedule_id"].tolist() == refused
        pd.testing.assert_frame_equal(created[CREATED], frames.ticks(engine))
        if profile.expiry == "processing time":  # else the overdue ones settle a run later
            pd.testing.assert_frame_equal(asked.promises, frames.promises(engine))
        pd.testing.assert_frame_equal(asked.tags, frames.tags(engine))
        sent = asked.ticks.loc[asked.ticks["dispatched"], "promise_id"]
        assert frames.outbox(engine)["task_id"].tolist() == sent.tolist()
        nexts = frames.schedules(engine)["next_run_at"]
        np.testing.assert_array_equal(asked.summary["next_run_at"].isna(), nexts.isna())
        assert asked.summary["next_run_at"].dropna().tolist() == nexts.dropna().tolist()

    @pytest.mark.parametrize("name", PROFILES)
    @settings(max_examples=200)
    @given(
        ROWS,
        st.integers(T0, T0 + 10**10),
        st.sampled_from([0, 1, 999, 5 * MINUTE, HOUR, 26 * HOUR]),
    )
    def test_one_outage_is_what_the_engine_does_in_each_profile(self, name, rows, start, length):
        profile = PROFILES[name]
        engine, refused = engine_of(rows, profile, start)
        outage = engine.outage(length)
        asked = what_if(pd.DataFrame(rows), (start, start + length), profile=profile)
        assert asked.refused["schedule_id"].tolist() == refused
        ticks = asked.ticks[asked.ticks["fired_at"].astype("int64") <= start + 2 * length]
        created = ticks[ticks["state"].notna()].reset_index(drop=True)
        expected = caught_up(frames.ticks(engine), [(start, start + length)], profile.poll_ms)
        pd.testing.assert_frame_equal(created[CREATED], expected)
        if outage.drained_at is not None and not refused and profile.poll_ms:
            level = asked.drain["level_at"]
            assert max(ms(level), default=start + length) == max(outage.drained_at, start + length)

    @settings(max_examples=200)
    @given(ROWS, st.integers(T0, T0 + 10**10), OUTAGES, PROFILE)
    def test_several_outages_are_what_the_engine_does(self, rows, start, spans, profile):
        at, outages = start, []
        for up, down in spans:
            at += up if outages else 0
            outages.append((at, at + down))
            at += down
        engine, _ = engine_of(rows, profile, start)
        for begin, up in outages:
            engine.run_until(begin)
            engine._runs.restart(up)
        end = at + sum(up - begin for begin, up in outages)
        engine.run_until(end)
        asked = what_if(pd.DataFrame(rows), outages[::-1], profile=profile)
        ticks = asked.ticks[asked.ticks["fired_at"].astype("int64") <= end]
        created = ticks[ticks["state"].notna()].reset_index(drop=True)
        expected = caught_up(frames.ticks(engine), outages, profile.poll_ms)
        pd.testing.assert_frame_equal(created[CREATED], expected)

    def test_the_schedules_of_an_engine_are_a_fleet(self):
        engine = Engine(now=T0)
        engine.schedules.create("a", cron="0 * * * *", target="poll://any@x", promise_timeout="2h")
        asked = what_if(frames.schedules(engine), (T0, T0 + 3 * HOUR))
        assert asked.ticks["state"].tolist() == ["rejected_timedout", "pending", "pending"]


class TestSeveral:
    def test_windows_may_come_in_any_order_and_touch(self):
        windows = [("2024-01-01 05:00", "2024-01-01 06:00"), ("2024-01-01", "2024-01-01 05:00")]
        ticks = what_if(fleet("0 * * * *"), windows).ticks
        assert ticks["outage"].tolist() == [0] * 5 + [1]
        assert ticks["fired_at"].tolist() == instants("2024-01-01 05:00") * 5 + instants(
            "2024-01-01 06:00"
        )

    def test_ticks_between_two_outages_count_as_existing(self):
        windows = [("2024-01-01", "2024-01-01 00:30"), ("2024-01-01 02:30", "2024-01-01 04:30")]
        asked = what_if(fleet("0 * * * *", promise_id=["one"]), windows)
        assert asked.ticks["state"].isna().tolist() == [True, True]
        assert asked.summary["existing"].tolist() == [2]

    def test_windows_far_apart_list_nothing_between_them(self):
        windows = [(T0, T0 + 60_000), (T0 + 10**11, T0 + 10**11 + 60_000)]
        for profile in PROFILES:
            assert len(what_if(fleet("* * * * *"), windows, profile=profile).ticks) >= 2
        seconds = what_if(fleet("* * * * * *"), windows).ticks
        assert len(seconds) == 120

    def test_windows_that_overlap_are_refused_in_one_sentence(self):
        with pytest.raises(WindowError, match="overlap: make them one"):
            what_if(fleet("@daily"), [(0, 10), (5, 20)])
        with pytest.raises(TypeError, match=r"down\[1\] is \(3,\)"):
            what_if(fleet("@daily"), [(0, 1), (3,)])

    def test_it_says_how_often_and_draws_each(self):
        asked = what_if(fleet("0 * * * *"), [(T0, T0 + HOUR), (T0 + 2 * HOUR, T0 + 3 * HOUR)])
        assert "down 2 times between" in repr(asked)
        assert asked.down == tuple(instants("2024-01-01", "2024-01-01 03:00"))
        assert asked.plot() is not None


class TestPolicy:
    def test_a_policy_starts_the_latest_and_the_others_are_lost(self):
        asked = what_if(fleet("*/10 * * * *"), DOWN, policy="Kubernetes CronJob")
        assert asked.ticks["lost"].tolist() == [True] * 11 + [False]
        assert asked.ticks["state"].isna().tolist() == [True] * 11 + [False]
        assert not asked.ticks.loc[asked.ticks["lost"], "dispatched"].any()
        assert (asked.counters["lost"], asked.counters["existing"]) == (11, 0)
        assert "policy 'Kubernetes CronJob'" in repr(asked)

    def test_waiting_runs_start_one_after_another(self):
        policy = Policy(name="ours", overlap="buffer all")
        asked = what_if(fleet("*/10 * * * *"), DOWN, policy=policy, run_time="5 min")
        late = (asked.ticks["fired_at"] - asked.down[1]) // pd.Timedelta("1min")
        assert late.tolist() == [5 * n for n in range(12)]
        assert asked.drain["level_at"].iloc[0] == asked.down[1] + pd.Timedelta("55min")

    @pytest.mark.parametrize("name", [name for name in SYSTEMS if SYSTEMS[name].mode != "unstated"])
    def test_it_starts_as_many_as_the_comparison_says(self, name):
        frame = fleet("*/10 * * * *", "0 * * * *", "*/7 * * * *")
        asked = what_if(frame, DOWN, policy=name)
        row = compare(frame, DOWN, policies=[name]).iloc[0]
        assert asked.counters["lost"] == row["lost"]
        assert (~asked.ticks["lost"]).sum() == row["starts"]

    def test_workers_serve_what_it_starts(self):
        asked = what_if(fleet("*/10 * * * *"), DOWN, policy="Hangfire", workers=1, run_time="1s")
        assert asked.queue.messages == 1

    @pytest.mark.parametrize(
        ("how", "error", "token"),
        [
            ({"policy": "GitHub Actions"}, PolicyError, "unstated"),
            ({"policy": "Hangfir"}, PolicyError, "'Hangfire'"),
            ({"policy": 5}, TypeError, "a Policy"),
            ({"policy": "Hangfire", "profile": "server"}, PolicyError, "choose profile"),
            (
                {"policy": "APScheduler 3", "run_time": LogNormal(median="1s", sigma=1)},
                PolicyError,
                "overlap rule",
            ),
        ],
    )
    def test_a_policy_that_cannot_be_computed_is_refused(self, how, error, token):
        with pytest.raises(error, match=token):
            what_if(fleet("@daily"), DOWN, **how)
