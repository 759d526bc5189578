"""Runs: when the engine looks for what is due, polls, steps, outages, and what repeats."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire import DAY, HOUR, MINUTE, PROFILES, SECOND, TARGETED, T
from workers import Workers

from resonate_lab import Engine
from resonate_lab.engine import runs
from resonate_lab.errors import EmptyAgenda, WindowError
from resonate_lab.protocol import PROFILES as RECORDS


def picture(engine):
    """Everything that must be alike where two ways lead to the same instant."""
    state = engine.state
    return (
        engine.now_ms,
        list(state.promises.values()),
        list(state.schedules.values()),
        state.callbacks,
        state.awaits,
        state.listeners,
        state.unblocks,
        state.polled_at,
        engine.peek_ms(),
    )


def fired(steps):
    return [(step.at, step.ticks.first) for step in steps if step.ticks]


class TestPolls:
    """The released server looks once a second, and fires one tick of each schedule."""

    def test_the_first_comes_one_interval_after_the_start(self):
        engine = Engine("server", now=T + 250)
        engine.schedules.create("s", cron="* * * * * *", target="poll://any@g")
        engine.advance(3 * SECOND)
        assert fired(engine.trace) == [(T + n * SECOND + 250, T + n * SECOND) for n in (1, 2, 3)]

    def test_what_falls_due_between_two_polls_waits_for_the_second(self):
        client = Workers("server", now=T)
        client.promise("p", timeout=1500)
        client.engine.run_until(T + 1999)
        assert client.stored("p")["state"] == "pending"
        client.engine.run_until(T + 2000)
        assert client.stored("p")["settledAt"] == T + 1500

    def test_each_fires_one_tick_of_every_schedule(self):
        engine = Engine("server", now=T)
        for id in ("b", "a"):
            engine.schedules.create(id, cron="* * * * *", target="poll://any@g")
        steps = engine.outage(3 * MINUTE).steps
        polls = [T + 3 * MINUTE + n * SECOND for n in (1, 2, 3)]
        assert [(s.at, s.subject) for s in steps if s.ticks] == [
            (at, id) for at in polls for id in ("a", "b")
        ]

    # How many polls it takes, and whether it ever ends: the table of what operators meet.
    @pytest.mark.parametrize(
        ("cron", "outage", "polls", "drained"),
        [
            ("* * * * *", HOUR, 61, True),
            ("* * * * *", DAY, 1464, True),
            ("*/10 * * * * *", 10 * MINUTE, 66, True),
            ("* * * * * *", 30 * SECOND, 30, False),
            ("0 * * * *", 30 * DAY, 720, True),
        ],
    )
    def test_a_drain_takes_as_long_as_it_was_seen_to(self, cron, outage, polls, drained):
        engine = Engine("server", now=T)
        engine.schedules.create("s", cron=cron, target="poll://any@g", promise_timeout=MINUTE)
        result = engine.outage(outage)
        assert len({step.at for step in result.steps if step.ticks}) == polls
        if drained:
            assert result.drained_at == engine.now_ms == result.up_at + polls * SECOND
        else:
            assert result.drained_at is None
            assert engine.state.schedules["s"].next_run_at <= engine.now_ms - 29 * SECOND
        assert engine.check() == []

    def test_of_a_lost_day_one_minute_runs(self):
        engine = Engine("server", now=T)
        engine.schedules.create("s", cron="* * * * *", target="poll://any@g", promise_timeout="60s")
        result = engine.outage(DAY)
        assert (result.fired, result.live) == (1464, 1)
        assert "drained after 24 min 24 s: 1,464 ticks fired, 1 live" in repr(result)

    def test_another_interval_is_another_rule(self):
        engine = Engine(RECORDS["server"].replace(name="slow", poll_ms=5 * SECOND), now=T)
        engine.schedules.create("s", cron="*/2 * * * * *", target="poll://any@g")
        engine.advance(11 * SECOND)
        assert fired(engine.trace) == [
            (T + 5 * SECOND, T + 2 * SECOND),
            (T + 10 * SECOND, T + 4 * SECOND),
        ]

    def test_debug_start_stops_them_and_debug_stop_starts_them_again(self):
        client = Workers("server")
        client.schedule(cron="* * * * *")
        client.ok("debug.start")
        client.engine.advance(5 * MINUTE)
        assert client.promises() == []
        with pytest.raises(EmptyAgenda, match=r"debug\.stop"):
            client.engine.step()
        client.now = client.engine.now_ms
        client.tick(client.now)
        assert len(client.promises()) == 1
        client.ok("debug.stop")
        client.engine.advance(4 * SECOND)
        assert len(client.promises()) == 5

    @pytest.mark.parametrize("profile", ["standard", "reference", "spec"])
    def test_where_there_is_no_loop_nothing_is_stopped(self, profile):
        client = Workers(profile)
        client.schedule(cron="* * * * *")
        client.ok("debug.start")
        client.engine.advance(MINUTE)
        assert len(client.promises()) == 1


class TestOutage:
    @pytest.mark.parametrize("profile", ["standard", "reference", "spec"])
    def test_without_polls_the_restart_catches_up_at_once(self, profile):
        engine = Engine(profile, now=T)
        engine.schedules.create("s", cron="* * * * *", target="poll://any@g")
        result = engine.outage(HOUR)
        assert result.drained_at == result.up_at == engine.now_ms
        assert result.fired == 60
        assert fired(result.steps) == [(T + HOUR, T + MINUTE)]

    def test_what_it_did_to_timeouts_and_leases_happens_at_the_restart(self):
        client = Workers("server")
        client.promise("a", MINUTE)
        client.promise("b")
        client.acquire("b", MINUTE)
        client.engine.outage(10 * MINUTE)
        assert client.stored("a")["settledAt"] == T + MINUTE
        assert [s.at for s in client.engine.trace if s.step == "lease expiry"] == [
            T + 10 * MINUTE + SECOND
        ]

    def test_the_trace_says_when_it_was(self):
        engine = Engine(now=T)
        engine.outage(HOUR)
        assert [tuple(step[:4]) for step in engine.trace] == [
            (T, "outage", "", "down"),
            (T + HOUR, "outage", "", "up"),
        ]

    def test_nothing_due_nothing_to_drain(self):
        engine = Engine("server", now=T)
        result = engine.outage(HOUR)
        assert result.drained_at == result.up_at == T + HOUR
        assert result.steps == []

    def test_a_step_by_step_run_ends_where_the_server_goes_down(self):
        engine = Engine("server", now=T)
        for id in ("a", "b"):
            engine.schedules.create(id, cron="* * * * *", target="poll://any@g")
        engine.step()
        engine.outage(MINUTE)
        assert [s.subject for s in engine.trace if s.ticks][:3] == ["a", "b", "a"]
        assert engine.check() == []


class TestSteps:
    def test_in_a_profile_that_polls_the_rest_of_a_poll_comes_first(self):
        engine = Engine("server", now=T)
        for id in ("a", "b"):
            engine.schedules.create(id, cron="* * * * *", target="poll://any@g")
        engine.outage(3 * MINUTE - 1)
        client = Engine("server", now=T)
        for id in ("a", "b"):
            client.schedules.create(id, cron="* * * * *", target="poll://any@g")
        client.send(
            {
                "kind": "promise.get",
                "head": {
                    "corrId": "1",
                    "version": "2026-04-01",
                    "resonate:debug_time": T + 3 * MINUTE,
                },
                "data": {"id": "x"},
            }
        )
        steps = [client.step() for _ in range(6)]
        assert [(s.at - T - 3 * MINUTE, s.subject) for s in steps] == [
            (0, "a"),
            (0, "b"),
            (SECOND, "a"),
            (SECOND, "b"),
            (2 * SECOND, "a"),
            (2 * SECOND, "b"),
        ]

    def test_a_schedule_deleted_between_two_steps_is_passed_over(self):
        engine = Engine("server", now=T)
        for id in ("a", "b", "c"):
            engine.schedules.create(id, cron="* * * * *", target="poll://any@g")
        assert engine.step().subject == "a"
        engine.schedules.delete("b")
        assert engine.step().subject == "c"

    def test_a_tick_by_hand_ends_the_run_under_way(self):
        client = Workers("server")
        for id in ("a", "b"):
            client.schedule(id, cron="* * * * *")
        client.engine.step()
        client.tick(client.engine.now_ms)
        assert client.ids() == [f"{id}-{T + MINUTE}" for id in ("a", "b")]
        client.engine.advance(29 * SECOND)
        assert [step.subject for step in client.engine.trace if step.ticks] == ["a", "b"]


CRONS = ["* * * * *", "*/7 * * * * *", "0 */5 * * * *", "*/30 * * * * *"]
TIMEOUTS = [0, 500, SECOND, 20 * SECOND, 90 * SECOND, HOUR]

scenes = st.fixed_dictionaries(
    {
        "phase": st.sampled_from([0, 123]),
        "schedules": st.lists(
            st.tuples(
                st.sampled_from(CRONS), st.sampled_from(TIMEOUTS), st.sampled_from(["s", "same"])
            ),
            max_size=3,
        ),
        "promises": st.lists(
            st.tuples(
                st.sampled_from([SECOND, 45 * SECOND, HOUR]),
                st.sampled_from([None, 500, 40 * SECOND, HOUR]),
                st.none() | st.integers(0, 4),
            ),
            max_size=5,
        ),
    }
)


def staged(profile, scene):
    """Return an engine with schedules, promises, leases and tasks that wait."""
    engine = Engine(profile, now=T + scene["phase"])
    for number, (cron, timeout, name) in enumerate(scene["schedules"]):
        template = "same-{{.timestamp}}" if name == "same" else "{{.id}}-{{.timestamp}}"
        engine.schedules.create(
            f"s{9 - number}",
            cron=cron,
            promise_id=template,
            promise_timeout=timeout,
            target="poll://any@g",
        )
    for number, (timeout, ttl, _) in enumerate(scene["promises"]):
        engine.promises.create(f"a.{number}", timeout=timeout, target="poll://any@g")
        if ttl is not None:
            engine.tasks.acquire(f"a.{number}", pid="w", ttl=ttl)
    for number, (_, ttl, awaited) in enumerate(scene["promises"]):
        is_there = awaited is not None and awaited < len(scene["promises"])
        if ttl is not None and is_there and awaited != number:
            engine.tasks.suspend(f"a.{number}", [f"a.{awaited}"])
    return engine


@pytest.mark.parametrize("profile", PROFILES)
class TestAllWaysLeadToTheSameState:
    @settings(max_examples=40)
    @given(scene=scenes, wait=st.integers(0, 400 * SECOND))
    def test_step_by_step(self, profile, scene, wait):
        whole, steps = staged(profile, scene), staged(profile, scene)
        until = whole.now_ms + wait
        whole.run_until(until)
        while (head := steps._runs.next()) is not None and head.at <= until:
            steps.step()
        steps.run_until(until)
        assert picture(steps) == picture(whole)
        assert len(steps.trace) == len(whole.trace)
        assert whole.check() == []

    @settings(max_examples=40)
    @given(scene=scenes, waits=st.lists(st.integers(0, 70 * SECOND), max_size=6), data=st.data())
    def test_in_portions_and_from_the_middle_of_a_run(self, profile, scene, waits, data):
        whole, portions = staged(profile, scene), staged(profile, scene)
        whole.run_until(whole.now_ms + sum(waits))
        for wait in waits:
            until = portions.now_ms + wait
            for _ in range(data.draw(st.integers(0, 3))):
                head = portions._runs.next()
                if head is not None and head.at <= until:
                    portions.step()
            portions.run_until(until)
        assert picture(portions) == picture(whole)

    @settings(max_examples=40)
    @given(scene=scenes, wait=st.integers(0, 400 * SECOND), told=st.integers(0, 6))
    def test_with_the_repeats_summed_up(self, profile, scene, wait, told):
        whole, summed = staged(profile, scene), staged(profile, scene)
        whole.advance(wait)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(runs, "REPEATS_TOLD", told)
            summed.advance(wait)
        assert picture(summed) == picture(whole)
        assert summed.check() == []


class TestRepeats:
    def test_a_few_are_told_one_by_one(self):
        client = Workers()
        client.promise("p", 10 * HOUR)
        client.engine.advance(5 * MINUTE)
        retries = [step for step in client.engine.trace if step.step == "retry"]
        assert [step.at for step in retries] == [T + n * 30 * SECOND for n in range(1, 11)]
        assert {tuple(step[1:4]) for step in retries} == {("retry", "p", "dispatched")}

    def test_many_are_told_in_one_line(self, monkeypatch):
        monkeypatch.setattr(runs, "REPEATS_TOLD", 6)
        client = Workers()
        for id in ("a", "b", "c"):
            client.promise(id, 10 * DAY)
        client.engine.advance(DAY)
        retries = [step for step in client.engine.trace if step.step == "retry"]
        assert len(retries) == 7
        assert retries[-1].effect == f"dispatched {3 * (2880 - 2):,} times in all, 3 tasks"
        assert {task.retry_at for task in client.engine.state.tasks.values()} == {
            T + DAY + 30 * SECOND
        }

    def test_a_day_of_idle_tasks_costs_no_day(self):
        client = Workers()
        for n in range(500):
            client.promise(f"p{n}", 100 * DAY)
        client.engine.advance(30 * DAY)
        assert client.engine.state.steps < 15_000
        assert client.engine.check() == []

    def test_a_first_message_held_back_leaves_at_its_instant(self, monkeypatch):
        monkeypatch.setattr(runs, "REPEATS_TOLD", 0)
        client = Workers()
        client.promise("p", HOUR, {**TARGETED, "resonate:delay": str(T + 7 * SECOND)})
        client.engine.advance(MINUTE)
        (first, *_) = [step for step in client.engine.trace if step.step == "retry"]
        assert (first.at, first.subject) == (T + 7 * SECOND, "p")
        assert client.engine.state.tasks["p"].retry_at == T + 67 * SECOND

    def test_an_interrupted_wait_stands_where_it_was_interrupted(self, monkeypatch):
        monkeypatch.setattr(runs, "REPEATS_TOLD", 0)
        client = Workers()
        client.promise("idle", 10 * DAY)
        client.schedule(cron="0 * * * *")
        real = runs.run_due

        def fails(state, now, repeats=True):
            if now > T + HOUR:
                raise KeyboardInterrupt
            return real(state, now, repeats)

        with monkeypatch.context() as patch:
            patch.setattr(runs, "run_due", fails)
            with pytest.raises(KeyboardInterrupt):
                client.engine.advance(DAY)
        assert client.engine.now_ms == T + HOUR
        assert client.engine.state.tasks["idle"].retry_at == T + HOUR + 30 * SECOND
        assert client.engine.check() == []


class TestScale:
    """How much work is done, whatever the machine: counts, no clocks."""

    def test_schedules_with_one_tick_each_take_one_step_each(self):
        engine = Engine(now=T)
        for n in range(2000):
            engine.schedules.create(
                f"s{n}", cron="0 * * * *", target="poll://any@g", promise_timeout="2h"
            )
        engine.advance(HOUR)
        assert len(engine.state.promises) == 2000
        assert engine.state.steps == 4000
        assert len({id(row.task) for row in engine.state.promises.values()}) == 1

    def test_one_run_too_large_is_refused_and_time_stands(self, monkeypatch):
        engine = Engine(now=T)
        engine.schedules.create("s", cron="* * * * * *", target="poll://any@g")
        with pytest.raises(WindowError, match="shorter steps"):
            engine.outage(30 * DAY)
        assert engine.now_ms == T
        assert engine.trace[-1].step == "schedule.create"
