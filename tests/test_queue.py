"""The workers' queue: held against a simulation that looks at every single instant."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import resonate_lab as rl
from resonate_lab.errors import DurationError, FleetError
from resonate_lab.whatif import LogNormal, what_if
from resonate_lab.whatif.polls import Downtime
from resonate_lab.whatif.queue import Messages, RunTimes, serve

T0 = 1704067200000  # 2024-01-01T00:00:00Z
HOUR = 3_600_000
MINUTELY = pd.DataFrame({"id": ["report"], "cron": ["* * * * *"]})
NIGHT = ("2024-01-01", "2024-01-01 12:00")


def asked(fleet=MINUTELY, down=NIGHT, **how):
    return what_if(fleet, down, **{"workers": 2, "run_time": "30s", **how})


class TestOneWorker:
    def test_a_backlog_of_sixty_and_one_a_minute_takes_an_hour(self):
        queue = asked(workers=1, run_time="30s", promise_timeout="1h").queue
        # 60 at noon and one a minute: the 118th, sent at 12:58, is taken after 117 half minutes.
        assert queue.empty_at == pd.Timestamp("2024-01-01 12:58:30", tz="UTC")
        assert queue.waiting.iloc[0] == 59
        assert queue.busy.max() == 1
        assert queue.offered == pytest.approx(0.5, abs=0.02)

    def test_with_workers_enough_nothing_waits(self):
        queue = asked(workers=60).queue
        assert queue.empty_at == pd.Timestamp(NIGHT[1], tz="UTC")
        assert queue.max_wait == pd.Timedelta(0)

    def test_what_waits_too_long_costs_no_worker_anything(self):
        asked_ = asked(workers=1, run_time="10 min", promise_timeout="1h")
        queue, summary = asked_.queue, asked_.summary
        assert queue.reason
        assert queue.timed_out_waiting > 0
        assert summary["timed_out_waiting"].tolist() == [queue.timed_out_waiting]
        assert summary["timed_out_running"].tolist() == [queue.timed_out_running]
        assert queue.max_wait <= pd.Timedelta("1h")

    def test_a_queue_that_never_drains_says_why(self):
        queue = asked(workers=1, run_time="2 min", promise_timeout="30d").queue
        assert queue.empty_at is pd.NaT
        assert "keeps 2.0 workers busy and there are 1" in queue.reason
        assert queue.reason in repr(queue)

    def test_an_outage_without_a_tick_leaves_the_queue_empty_at_the_restart(self):
        queue = asked(MINUTELY.head(0)).queue
        assert queue.empty_at == pd.Timestamp(NIGHT[1], tz="UTC")
        assert (queue.messages, queue.timed_out_waiting, queue.timed_out_running) == (0, 0, 0)

    def test_curves_are_thinned_and_keep_their_peak(self):
        fleet = pd.DataFrame({"id": ["s"], "cron": ["* * * * * *"]})
        queue = asked(fleet, (T0, T0 + HOUR), workers=3, run_time="1500ms").queue
        assert len(queue.waiting) <= 2_000
        # 3,600 at the restart, of which three are taken, and one more before the next is.
        assert queue.waiting.max() == 3_598
        assert queue.waiting.iloc[0] == 3_597
        assert queue.waiting.index.is_monotonic_increasing

    def test_nothing_is_taken_while_the_server_is_down(self):
        down = [(T0, T0 + HOUR), (T0 + HOUR + 10_000, T0 + 2 * HOUR)]
        queue = asked(down=down, workers=1, run_time="30s", promise_timeout="1d").queue
        between = queue.waiting[pd.Timestamp(T0 + HOUR + 11_000, unit="ms", tz="UTC") :]
        assert between.iloc[0] > between.iloc[-1] == 0
        taken = queue.busy[queue.busy.diff() > 0].index
        assert not (
            (taken > queue.busy.index[0])
            & (taken < pd.Timestamp(T0 + 2 * HOUR, unit="ms", tz="UTC"))
        ).any()


class TestRunTimes:
    def test_a_seed_may_be_an_integer_of_numpy(self):
        long = LogNormal(median="1min", sigma=1)
        one, two = (asked(run_time=long, seed=seed).queue.empty_at for seed in (7, np.int64(7)))
        assert one == two

    def test_a_draw_is_the_same_again_and_another_seed_is_another(self):
        long = LogNormal(median="45s", sigma=0.7)
        one, two, other = (asked(run_time=long, seed=seed).queue for seed in (1, 1, 2))
        assert one.empty_at == two.empty_at != other.empty_at

    def test_sigma_zero_is_a_constant(self):
        drawn = asked(run_time=LogNormal(median="30s", sigma=0)).queue
        assert drawn.empty_at == asked(run_time="30s").queue.empty_at

    def test_a_column_says_how_long_and_rows_at_fault_are_refused(self):
        cells = ["30s", 30_000.0, float("inf"), float("nan"), "-5s", None, "soon"]
        fleet = pd.DataFrame(
            {
                "id": list("abcdefg"),
                "cron": ["* * * * *"] * 7,
                "takes": pd.Series(cells, dtype=object),
            }
        )
        answer = asked(fleet, run_time="takes")
        assert answer.summary["schedule_id"].tolist() == ["a", "b"]
        assert answer.refused["line"].tolist() == [3, 4, 5, 6, 7]
        assert answer.refused["reason"].str.contains("takes").all()
        assert answer.refused["reason"].iloc[0].count(".") == 0

    @pytest.mark.parametrize(
        ("how", "error", "token"),
        [
            ({"workers": 0}, ValueError, "nobody serves"),
            ({"workers": True}, TypeError, "1 or more"),
            ({"workers": 2.0}, TypeError, "1 or more"),
            ({"run_time": None}, ValueError, "run_time='30s'"),
            ({"workers": None}, ValueError, "workers=10"),
            ({"run_time": "-5s"}, DurationError, "15 min"),
            ({"run_time": "nowhere"}, FleetError, "neither a duration.*'cron'"),
            ({"run_time": float("inf")}, TypeError, "LogNormal"),
            ({"seed": -1}, TypeError, "seed"),
            ({"seed": None}, TypeError, "seed"),
        ],
    )
    def test_senseless_arguments_are_refused_in_one_sentence(self, how, error, token):
        with pytest.raises(error, match=token):
            asked(**how)

    @pytest.mark.parametrize(
        ("median", "sigma", "error"),
        [
            ("0s", 1, DurationError),
            ("-1s", 1, DurationError),
            ("1s", -1, DurationError),
            ("1s", float("nan"), DurationError),
            ("1s", float("inf"), DurationError),
            ("1s", "wide", TypeError),
            ("1s", True, TypeError),
            (1.5, 1, TypeError),
        ],
    )
    def test_a_distribution_has_a_median_and_a_spread(self, median, sigma, error):
        with pytest.raises(error, match="LogNormal"):
            LogNormal(median=median, sigma=sigma)

    def test_the_name_is_at_the_door(self):
        assert rl.LogNormal is LogNormal


class TestLooks:
    def test_its_tables_say_the_answer(self):
        queue = asked(workers=1).queue
        assert "1 worker, each run 30 s: the queue is empty at" in repr(queue)
        assert "most waiting at once" in queue._repr_html_()

    def test_a_hostile_column_name_is_text(self):
        fleet = MINUTELY.assign(**{"<b>": ["30s"]})
        assert "<b>" not in asked(fleet, run_time="<b>").queue._repr_html_()


def simulated(messages, lengths, workers, outages, end):
    """Return who is taken when, by looking at every ms: (taken, left) a message, None where not."""
    free, waiting, coming = [0] * workers, [], list(range(len(messages)))
    taken, left = [None] * len(messages), [None] * len(messages)
    for now in range(end + 1):
        while coming and messages[coming[0]][0] <= now:
            waiting.append(coming.pop(0))
        for each in [each for each in waiting if messages[each][1] <= now]:
            waiting.remove(each)
            left[each] = now
        if any(start < now < up for start, up in outages[1:]):
            continue
        for worker in range(workers):
            if waiting and free[worker] <= now:
                each = waiting.pop(0)
                taken[each] = left[each] = now
                free[worker] = now + lengths[each]
                if not lengths[each]:
                    free[worker] = now
        # A worker whose run takes no time is free again at once.
        while waiting and (idle := [w for w in range(workers) if free[w] <= now]):
            each = waiting.pop(0)
            taken[each] = left[each] = now
            free[idle[0]] = now + lengths[each]
    return taken, left


class TestLaws:
    @settings(max_examples=150)
    @given(
        st.lists(
            st.tuples(st.integers(0, 40), st.integers(-3, 30), st.integers(0, 12)), max_size=25
        ),
        st.integers(1, 4),
        st.sampled_from([[(-9, 0)], [(-9, 0), (7, 15)], [(-5, 0), (4, 4), (20, 31)]]),
    )
    def test_it_is_what_a_simulation_of_each_ms_says(self, drawn, workers, outages):
        up = outages[-1][1]
        drawn.sort(key=lambda message: message[0])
        rows = [(sent, sent + timeout) for sent, timeout, _ in drawn]
        lengths = [length for *_, length in drawn]
        columns = [np.array([row[n] for row in rows], dtype=np.int64) for n in (0, 1)]
        late = np.arange(len(rows)) % 3 == 0
        messages = Messages(np.zeros(len(rows), dtype=np.intp), *columns, late)
        every = RunTimes(np.zeros(1, dtype=np.int64), None, 0, "drawn")
        runs = _Each(every, np.array(lengths, dtype=np.int64))
        end = 500
        served = serve(messages, runs, workers, Downtime.of(outages, None, False), end, False, 1)
        taken, left = simulated(rows, lengths, workers, outages, end)

        def waits(at):
            return sum(s <= at < gone for (s, _), gone in zip(rows, left, strict=True))

        last = max(
            [sent for (sent, _), is_late in zip(rows, late, strict=True) if is_late], default=0
        )
        # The simulation looks after what happens at an instant, so a message taken when it is
        # sent never waits.
        empty = next(at for at in range(max(up, last, 0), end + 1) if not waits(at))
        assert served.queue.empty_at.value // 10**6 == empty or not rows
        n = served.queue.messages
        assert n == sum(sent <= empty for sent, _ in rows) or not late.any()
        lost = [at is None for at in taken[:n]]
        assert served.queue.timed_out_waiting == sum(lost)
        ran_late = [
            at is not None and rows[each][1] <= at + lengths[each]
            for each, at in enumerate(taken[:n])
        ]
        assert served.queue.timed_out_running == sum(ran_late)
        for at, level in served.queue.waiting.items():
            instant = at.value // 10**6
            assert level == sum(
                s <= instant < gone for (s, _), gone in zip(rows[:n], left[:n], strict=True)
            )


class _Each:
    """Run times one a message, which no fleet has."""

    def __init__(self, runs, lengths):
        self.words, self._lengths = runs.words, lengths

    def lengths(self, schedule):
        return self._lengths
