"""policies: the missed-run rules of many systems, judged by a plain walk and by public cases."""

import json
import pickle
from datetime import timedelta

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

import resonate_lab as rl
from resonate_lab import plots
from resonate_lab.cron import CronExpression
from resonate_lab.errors import DurationError, FleetError, FrameError, WindowError
from resonate_lab.whatif.policies import SYSTEMS, VARIANTS, Policy, PolicyError, compare

# The outage of most cases: 12 ticks of */10 are missed, 00:10 to 02:00.
DOWN = ("2024-03-01T00:05:00Z", "2024-03-01T02:07:30Z")
TEN = "*/10 * * * *"
MINUTE = timedelta(minutes=1)


def starts(policy, cron=TEN, down=DOWN, **kwargs):
    return compare(cron, down, policies=[policy], **kwargs)["starts"][0]


def ours(**parameters):
    return Policy(name="ours", **parameters)


class TestCases:
    """The rows W01 to W17 of public reports, as in tests/data/cases.jsonl."""

    def test_w01_resonate_starts_all_twelve_late_by_7_to_117_minutes(self):
        row = compare(TEN, DOWN, policies="Resonate").iloc[0]
        assert (row["missed"], row["starts"], row["lost"]) == (12, 12, 0)
        assert (row["min_lateness"], row["max_lateness"]) == (7.5 * MINUTE, 117.5 * MINUTE)
        assert row["first_start"] == row["last_start"] == pd.Timestamp(DOWN[1])

    @pytest.mark.parametrize(
        ("policy", "count"),
        [
            ("Quartz cron trigger", 1),
            ("Quartz cron trigger, RAM store", 1),
            ("Quartz cron trigger, DO_NOTHING", 0),
            ("Quartz cron trigger, IGNORE_MISFIRE_POLICY", 12),
        ],
    )
    def test_w04_quartz_starts_one_none_or_all_by_its_instruction(self, policy, count):
        assert starts(policy) == count

    def test_w05_temporal_as_it_comes_finds_twelve_eligible_and_starts_one(self):
        row = compare(TEN, DOWN, run_time="15 min", policies=["Temporal schedule"]).iloc[0]
        assert (row["eligible"], row["starts"], row["lost"]) == (12, 1, 11)

    @pytest.mark.parametrize(("window", "count"), [("60s", 0), ("600s", 1), ("3600s", 6)])
    def test_w06_temporal_allow_all_starts_what_is_within_the_window(self, window, count):
        assert starts(ours(window=window, overlap="parallel"), run_time="15 min") == count

    @pytest.mark.parametrize(("grace", "count"), [("60s", 0), ("600s", 1)])
    def test_w08_sidekiq_cron_starts_what_is_within_the_grace_period(self, grace, count):
        assert starts(ours(window=grace)) == count
        assert SYSTEMS["sidekiq-cron"].window == 60_000

    def test_w11_airflow_starts_all_with_catchup_and_the_latest_without(self):
        assert (starts("Airflow 2"), starts("Airflow")) == (12, 1)
        assert VARIANTS["Airflow 2"].at_once == 16

    def test_w13_dagster_starts_the_latest_or_up_to_five_of_them(self):
        assert (starts("Dagster"), starts("Dagster, partitioned")) == (1, 5)
        row = compare(TEN, DOWN, policies=["Dagster, partitioned"]).iloc[0]
        assert (row["min_lateness"], row["max_lateness"]) == (7.5 * MINUTE, 47.5 * MINUTE)

    def test_w14_prefect_starts_all_late_runs_when_a_worker_returns(self):
        assert starts("Prefect") == 12

    def test_w16_an_old_kubernetes_gives_up_above_a_hundred_and_counts_in_the_deadline(self):
        down = ("2024-03-01 08:29", "2024-03-01 10:21")
        names = ["Kubernetes CronJob, old controller", "Kubernetes CronJob, deadline 200 s"]
        frame = compare("* * * * *", down, policies=names)
        assert frame["missed"].tolist() == [112, 112]
        assert frame["starts"].tolist() == [0, 1]
        assert frame["eligible"].tolist() == [112, 4]

    def test_w17_kestra_starts_ten_after_five_hours_of_every_half_hour(self):
        down = ("2024-03-01 00:10", "2024-03-01 05:10")
        assert starts("Kestra", "*/30 * * * *", down) == 10

    def test_every_row_about_time_has_a_test(self, root):
        lines = (root / "tests" / "data" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
        wanted = {row["id"] for row in map(json.loads, lines) if row["dialect"] == "whatif"}
        files = [root / "tests" / f"test_{name}.py" for name in ("policies", "localtime")]
        source = "".join(path.read_text(encoding="utf-8") for path in files)
        assert len(wanted) == 14
        assert [name for name in sorted(wanted) if f"def test_{name.lower()}_" not in source] == []


class TestSystems:
    def test_there_are_nineteen_each_with_its_default_and_a_link(self):
        assert len(SYSTEMS) == 19
        for policy in [*SYSTEMS.values(), *VARIANTS.values()]:
            assert policy.source.startswith("https://")
            assert policy.default

    def test_all_stand_side_by_side_on_one_outage(self):
        frame = compare(TEN, DOWN, run_time="15 min").set_index("policy")
        assert frame.index.tolist() == list(SYSTEMS)
        assert frame["starts"].dropna().astype(int).to_dict() == {
            "Resonate": 12,
            "Vixie cron, Debian cron": 0,
            "anacron": 1,
            "systemd timer": 0,
            "Kubernetes CronJob": 1,
            "Quartz cron trigger": 1,
            "Airflow": 1,
            "Temporal schedule": 1,
            "APScheduler 3": 0,
            "APScheduler 4": 1,
            "sidekiq-cron": 0,
            "Sidekiq Enterprise periodic": 0,
            "Hangfire": 1,
            "Kestra": 12,
            "Dagster": 1,
            "Prefect": 12,
            "go-cron (netresearch)": 0,
        }

    def test_what_a_system_does_not_state_is_missing_and_not_zero(self):
        frame = compare(TEN, DOWN, policies=["GitHub Actions", "EventBridge Scheduler"])
        assert frame["starts"].isna().all()
        assert frame["peak"].isna().all()
        assert frame["missed"].tolist() == [12, 12]

    def test_resonate_agrees_with_what_if(self):
        fleet = pd.DataFrame({"id": ["a", "b"], "cron": [TEN, "0 * * * *"]})
        assert rl.what_if(fleet, DOWN).counters["missed"] == starts("Resonate", fleet)


class TestParameters:
    def test_within_the_threshold_nothing_counts_as_missed(self):
        down = ("2024-03-01 00:09:30", "2024-03-01 00:10:30")
        assert starts("Quartz cron trigger, DO_NOTHING", TEN, down) == 1

    @pytest.mark.parametrize("name", [n for n, p in SYSTEMS.items() if p.mode == "none"])
    def test_who_starts_nothing_does_not_start_the_tick_of_the_restart_either(self, name):
        assert starts(name, down=("2024-03-01 00:05", "2024-03-01 00:10")) == 0

    def test_a_tick_at_the_restart_is_within_any_threshold(self):
        down = ("2024-03-01 00:05", "2024-03-01 00:10")
        assert starts(ours(threshold=1, mode="none"), down=down) == 1

    def test_the_first_missed_tick_decides_about_the_threshold(self):
        down = ("2024-03-01 00:00:30", "2024-03-01 00:02:30")
        assert starts("Quartz cron trigger", "* * * * *", down) == 1
        assert starts(ours(threshold="2 min", mode="none"), "* * * * *", down) == 2

    @pytest.mark.parametrize(
        ("rule", "count", "least"),
        [("keep latest", 3, 7.5), ("keep earliest", 3, 97.5), ("stop", 0, None)],
    )
    def test_a_cap_keeps_the_last_the_first_or_none(self, rule, count, least):
        row = compare(TEN, DOWN, policies=[ours(cap=3, cap_rule=rule)]).iloc[0]
        assert row["starts"] == count
        assert (
            pd.isna(row["min_lateness"]) if least is None else row["min_lateness"] == least * MINUTE
        )

    def test_a_cap_that_is_not_exceeded_bounds_nothing(self):
        assert starts(ours(cap=12, cap_rule="stop")) == 12

    def test_earliest_starts_the_first(self):
        row = compare(TEN, DOWN, policies=[ours(mode="earliest")]).iloc[0]
        assert row["max_lateness"] == 117.5 * MINUTE

    @pytest.mark.parametrize(
        ("overlap", "count", "last", "peak"),
        [
            ("parallel", 12, 0, 12),
            ("skip", 1, 0, 1),
            ("buffer one", 2, 15, 1),
            ("buffer all", 12, 165, 1),
        ],
    )
    def test_overlap_decides_who_starts_and_when(self, overlap, count, last, peak):
        frame = compare(TEN, DOWN, run_time="15 min", policies=[ours(overlap=overlap)])
        row = frame.iloc[0]
        assert (row["starts"], row["peak"]) == (count, peak)
        assert row["last_start"] == pd.Timestamp(DOWN[1]) + last * MINUTE

    def test_more_may_be_under_way_at_once(self):
        policy = ours(overlap="buffer all", at_once=5)
        row = compare(TEN, DOWN, run_time="15 min", policies=[policy]).iloc[0]
        assert (row["starts"], row["peak"]) == (12, 5)
        assert row["last_start"] == pd.Timestamp(DOWN[1]) + 30 * MINUTE

    def test_runs_of_no_length_are_never_in_each_others_way(self):
        assert starts(ours(overlap="skip"), run_time=0) == 12

    @pytest.mark.parametrize("by", ["hash", "jitter"])
    def test_a_spread_puts_starts_off_and_lowers_the_peak_the_same_each_time(self, by):
        fleet = pd.DataFrame({"id": [f"job-{n}" for n in range(200)], "cron": [TEN] * 200})
        policy = ours(mode="latest", spread="1 h", spread_by=by)
        first, again = (compare(fleet, DOWN, policies=[policy]) for _ in range(2))
        pd.testing.assert_frame_equal(first, again)
        row = first.iloc[0]
        assert 1 < row["peak"] < 20
        assert row["min_lateness"] >= 7.5 * MINUTE
        assert 60 * MINUTE < row["max_lateness"] <= 67.5 * MINUTE

    def test_the_hash_puts_all_runs_of_a_schedule_off_alike_and_jitter_does_not(self):
        alike, apart = (
            compare(TEN, DOWN, policies=[ours(spread="1 h", spread_by=by)]).iloc[0]
            for by in ("hash", "jitter")
        )
        assert alike["first_start"] == alike["last_start"]
        assert apart["first_start"] < apart["last_start"]

    def test_schedules_are_judged_each_by_itself(self):
        fleet = pd.DataFrame({"id": list("abc"), "cron": [TEN, "0 * * * *", "0 0 1 1 *"]})
        frame = compare(fleet, DOWN, policies=["Airflow", "Resonate"])
        assert frame["starts"].tolist() == [2, 14]


def walked(policy, fleet, down, run_ms):
    """The starts of a policy as (lateness, start), schedule by schedule, in plain Python."""
    start, up = (int(pd.Timestamp(at, tz="UTC").timestamp() * 1000) for at in down)
    found = []
    for cron in fleet["cron"]:
        ticks = CronExpression(cron).between_ms(start, up).tolist()
        ticks = [tick for tick in ticks if tick > start]
        if ticks and policy.threshold and up - ticks[0] <= policy.threshold:
            chosen = ticks
        else:
            chosen = [t for t in ticks if policy.window is None or up - t <= policy.window]
            if policy.cap is not None and len(chosen) > policy.cap:
                kept = {
                    "stop": [],
                    "keep latest": chosen[-policy.cap :],
                    "keep earliest": chosen[: policy.cap],
                }
                chosen = kept[policy.cap_rule]
            chosen = {
                "all": chosen,
                "latest": chosen[-1:],
                "earliest": chosen[:1],
                "none": [],
            }[policy.mode]
        free = [up] * policy.at_once
        waiting = 0
        for tick in chosen:
            if policy.overlap == "parallel":
                found.append((up - tick, up))
                continue
            free.sort()
            at = free[0]
            if at > up:
                if policy.overlap == "skip" or (policy.overlap == "buffer one" and waiting):
                    continue
                waiting += 1
            free[0] = at + run_ms
            found.append((at - tick, at))
    return found


def most_at_once(begun, run_ms):
    return max((sum(s <= at < s + max(run_ms, 1) for s in begun) for at in begun), default=0)


@st.composite
def policies(draw):
    mode = draw(st.sampled_from(["all", "latest", "earliest", "none"]))
    cap = None if mode == "none" else draw(st.none() | st.integers(1, 9))
    rules = {"latest": ["stop", "keep latest"], "earliest": ["stop", "keep earliest"]}
    rule = draw(st.sampled_from(rules.get(mode, ["stop", "keep latest", "keep earliest"])))
    threshold = draw(st.sampled_from([0, 60_000, 3_600_000]))
    window = None if mode == "none" else draw(st.none() | st.integers(0, 10**7))
    overlap = draw(st.sampled_from(["parallel", "skip", "buffer one", "buffer all"]))
    return ours(
        mode=mode,
        cap=cap,
        cap_rule=rule if cap else None,
        threshold=threshold,
        window=None if window is None else window + threshold,
        overlap=overlap,
        at_once=1 if overlap == "parallel" else draw(st.integers(1, 4)),
    )


class TestLaws:
    @given(
        policies(),
        st.lists(st.sampled_from([TEN, "*/7 * * * *", "0 * * * *", "@daily"]), max_size=4),
        st.integers(0, 300),
        st.sampled_from([0, 1, 60_000, 900_000]),
    )
    def test_any_policy_starts_what_a_plain_walk_starts(self, policy, crons, length, run_ms):
        fleet = pd.DataFrame({"id": [f"s{n}" for n in range(len(crons))], "cron": crons})
        down = (
            pd.Timestamp("2024-03-01 00:05"),
            pd.Timestamp("2024-03-01 00:05") + length * MINUTE,
        )
        row = compare(fleet, down, run_time=run_ms, policies=[policy]).iloc[0]
        found = walked(policy, fleet, down, run_ms)
        assert row["starts"] == len(found)
        assert row["missed"] == row["starts"] + row["lost"]
        assert row["peak"] == most_at_once([at for _, at in found], run_ms)
        if found:
            late = [ms for ms, _ in found]
            assert row["min_lateness"] == pd.Timedelta(min(late), unit="ms")
            assert row["max_lateness"] == pd.Timedelta(max(late), unit="ms")
            assert row["last_start"].timestamp() * 1000 == max(at for _, at in found)

    @given(policies())
    def test_a_policy_is_its_parameters_and_survives_pickling(self, policy):
        assert pickle.loads(pickle.dumps(policy)) == policy
        assert hash(policy) == hash(pickle.loads(pickle.dumps(policy)))


class TestFleets:
    def test_a_cron_text_an_expression_and_a_fleet_are_the_same_question(self, tmp_path):
        path = tmp_path / "fleet.csv"
        path.write_text(f"id,cron\nschedule,{TEN}\n")
        answers = [
            compare(source, DOWN, policies="Kestra")
            for source in (TEN, CronExpression(TEN), path, str(path))
        ]
        for answer in answers[1:]:
            pd.testing.assert_frame_equal(answer, answers[0])

    def test_rows_at_fault_are_listed_with_their_line_and_the_others_computed(self):
        fleet = pd.DataFrame({"id": ["good", "bad"], "cron": [TEN, "0 25 * * *"]})
        frame = compare(fleet, DOWN, policies="Resonate")
        assert frame["starts"].tolist() == [12]
        ((name, line, reason),) = frame.attrs["refused"]
        assert (name, line) == ("bad", 2)
        assert "25" in reason
        assert frame.attrs["schedules"] == 1

    def test_an_outage_without_a_tick_starts_nothing(self):
        frame = compare("0 0 1 1 *", DOWN)
        assert frame["missed"].tolist() == [0] * 19
        assert frame["starts"].dropna().eq(0).all()
        assert frame["first_start"].isna().all()

    def test_an_empty_fleet_is_no_error(self):
        empty = pd.DataFrame({"id": [], "cron": []}, dtype=str)
        assert compare(empty, DOWN)["missed"].tolist() == [0] * 19

    def test_types_are_those_of_the_docstring(self):
        frame = compare(TEN, DOWN)
        assert frame["starts"].dtype == "Int64"
        assert frame["min_lateness"].dtype == "timedelta64[ms]"
        assert frame["first_start"].dtype == "datetime64[ms, UTC]"
        assert frame.attrs["down"][1] == pd.Timestamp(DOWN[1])


class TestRejects:
    @pytest.mark.parametrize(
        ("parameters", "token"),
        [
            ({"mode": "lastest"}, "'latest'"),
            ({"mode": None}, "'all'"),
            ({"overlap": "queue"}, "'buffer one'"),
            ({"cap": 5}, "cap_rule None"),
            ({"cap_rule": "stop"}, "cap None"),
            ({"cap": 0, "cap_rule": "stop"}, "mode='none'"),
            ({"cap": True, "cap_rule": "stop"}, "1 or more"),
            ({"cap": 5, "cap_rule": "keep"}, "'keep latest'"),
            ({"mode": "earliest", "cap": 5, "cap_rule": "keep latest"}, "drops the tick"),
            ({"mode": "latest", "cap": 5, "cap_rule": "keep earliest"}, "drops the tick"),
            ({"mode": "none", "window": "1h"}, "nothing to bound"),
            ({"mode": "none", "cap": 5, "cap_rule": "stop"}, "nothing to bound"),
            ({"mode": "unstated", "spread": "1h"}, "computes nothing"),
            ({"window": "10s", "threshold": "1 min"}, "below threshold"),
            ({"at_once": 3}, "'parallel'"),
            ({"at_once": 0, "overlap": "skip"}, "1 or more"),
            ({"spread_by": "jitter"}, "needs a spread"),
        ],
    )
    def test_parameters_that_contradict_are_refused_in_one_sentence(self, parameters, token):
        with pytest.raises(PolicyError) as caught:
            ours(**parameters)
        assert token in str(caught.value)
        assert "'ours'" in str(caught.value)
        assert isinstance(caught.value, rl.ResonateLabError)

    @pytest.mark.parametrize("field", ["threshold", "window", "spread"])
    def test_a_duration_is_not_negative(self, field):
        with pytest.raises(DurationError, match="negative"):
            ours(**{field: "-1h"})

    @pytest.mark.parametrize("name", ["", "  ", None, 3])
    def test_a_policy_has_a_name(self, name):
        with pytest.raises(PolicyError, match="such as 'ours'"):
            Policy(name=name)

    @pytest.mark.parametrize(
        ("name", "close"),
        [("resonat", "Resonate"), ("quartz", "Quartz cron trigger"), ("zzz", "'Resonate', 'Vixie")],
    )
    def test_an_unknown_name_has_a_close_one(self, name, close):
        with pytest.raises(PolicyError, match=close):
            compare(TEN, DOWN, policies=[name])

    def test_a_name_stands_there_once(self):
        with pytest.raises(PolicyError, match="twice"):
            compare(TEN, DOWN, policies=[ours(), ours(mode="latest")])

    @pytest.mark.parametrize("policy", [None, 5, {"mode": "all"}])
    def test_a_policy_is_one_or_its_name(self, policy):
        with pytest.raises(TypeError, match="Policy objects"):
            compare(TEN, DOWN, policies=[policy])

    def test_policies_that_are_none_are_refused_as_one_of_them_is(self):
        with pytest.raises(TypeError, match=r"policies holds 5 .*Policy objects"):
            compare(TEN, DOWN, policies=5)

    def test_counts_may_be_integers_of_numpy(self):
        policy = ours(cap=np.int64(5), cap_rule="stop", overlap="skip", at_once=np.uint8(2))
        assert policy == ours(cap=5, cap_rule="stop", overlap="skip", at_once=2)
        assert type(policy.cap) is int

    @pytest.mark.parametrize("run_time", ["-1s", "500000d"])
    def test_a_run_time_is_positive_and_ends(self, run_time):
        with pytest.raises(DurationError, match="15 min"):
            compare(TEN, DOWN, run_time=run_time)

    @pytest.mark.parametrize("run_time", [float("inf"), 1.5, None, True])
    def test_a_run_time_is_a_duration(self, run_time):
        with pytest.raises(TypeError, match="run_time"):
            compare(TEN, DOWN, run_time=run_time)

    def test_the_outage_ends_after_it_starts(self):
        with pytest.raises(WindowError, match="must not end before"):
            compare(TEN, DOWN[::-1])

    def test_a_text_that_is_neither_expression_nor_file(self):
        with pytest.raises(rl.CronError, match="25"):
            compare("0 25 * * *", DOWN)
        with pytest.raises(OSError, match=r"nowhere\.csv"):
            compare("nowhere.csv", DOWN)

    def test_a_fleet_without_expressions_is_refused(self):
        with pytest.raises(FleetError, match="cron"):
            compare(pd.DataFrame({"id": ["a"]}), DOWN)


class TestPicture:
    @pytest.fixture(autouse=True)
    def closed(self):
        yield
        plt.close("all")

    def test_the_given_axes_are_the_ones_returned(self):
        ax = Figure().subplots()
        assert plots.policy_bars(compare(TEN, DOWN), ax=ax) is ax

    def test_each_bar_is_as_long_as_there_are_ticks(self):
        ax = plots.policy_bars(compare(TEN, DOWN, run_time="15 min"))
        lengths = np.zeros(19)
        for bar in ax.patches:
            lengths[round(bar.get_y() + bar.get_height() / 2)] += bar.get_width()
        assert lengths.tolist() == [12] * 19
        assert ax.get_xlabel() == "missed ticks"

    def test_starts_and_losses_differ_in_more_than_colour(self):
        ax = plots.policy_bars(compare(TEN, DOWN))
        looks = {
            handle.get_label(): (handle.patches[0].get_hatch(), handle.patches[0].get_linestyle())
            for handle in ax.containers
        }
        assert len(set(looks.values())) == 3

    def test_numbers_stand_at_the_end_of_each_bar(self):
        ax = plots.policy_bars(compare(TEN, DOWN, policies=["Resonate", "GitHub Actions"]))
        texts = [text.get_text() for text in ax.texts]
        assert texts == ["12 of 12, 12 at once, late 7 min 30 s to 1 h 57 min", "not stated"]

    def test_an_outage_without_a_tick_says_so(self):
        ax = plots.policy_bars(compare("0 0 1 1 *", DOWN))
        assert ax.texts[0].get_text() == "no tick was missed"

    def test_a_name_is_drawn_as_text_and_not_as_mathematics(self):
        frame = compare(TEN, DOWN, policies=[Policy(name="$x^2$\u202e<b>")])
        ax = plots.policy_bars(frame, ax=Figure().subplots())
        ax.figure.canvas.draw()
        (label,) = ax.get_yticklabels()
        assert not label.get_parse_math()
        assert "\u202e" not in label.get_text()

    def test_a_missing_column_is_named(self):
        with pytest.raises(FrameError, match="'starts'"):
            plots.policy_bars(compare(TEN, DOWN).drop(columns="starts"))
