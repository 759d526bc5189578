"""The time machine without a page: press a button, read the engine and the answer."""

import pytest
from widget_words import HOSTILE, tags, words

from resonate_lab import frames
from resonate_lab.engine import Engine
from resonate_lab.widgets import TimeMachine
from resonate_lab.widgets import machine as module

START = "2024-01-01T00:00:00Z"
TARGET = "poll://any@default"


@pytest.fixture
def engine():
    made = Engine(now=START)
    made.schedules.create("hourly", cron="0 * * * *", promise_timeout="30min", target=TARGET)
    made.schedules.create("daily", cron="0 1 * * *", promise_timeout="30min", target=TARGET)
    return made


@pytest.fixture
def machine(engine):
    made = TimeMachine(engine)
    yield made
    made.close()


def said(machine) -> str:
    return words(machine.answer.value)


class TestMoves:
    def test_a_step_is_the_step_of_the_engine(self, machine, engine):
        machine.forward.click()
        engine.step()
        assert machine.engine.trace == engine.trace
        assert machine.engine.now_ms == engine.now_ms

    def test_the_engine_given_stays_as_it_is(self, machine, engine):
        for press in (machine.forward, machine.onward, machine.onward):
            press.click()
        assert (engine.now.isoformat(), len(engine.promises)) == ("2024-01-01T00:00:00+00:00", 0)

    def test_the_next_instant_takes_all_that_is_due_then(self, machine):
        machine.onward.click()
        assert machine.engine.now.hour == 1
        assert {promise.tags["resonate:schedule"] for promise in machine.engine.promises} == {
            "hourly",
            "daily",
        }
        machine.back.click()
        machine.forward.click()
        assert len(machine.engine.promises) == 1

    def test_in_a_profile_that_polls_the_next_instant_is_a_poll(self):
        polled = Engine("server", now="2024-01-01 00:00:00.5")
        polled.schedules.create("often", cron="* * * * *", target=TARGET)
        machine = TimeMachine(polled)
        machine.onward.click()
        assert machine.engine.now.isoformat() == "2024-01-01T00:01:00.500000+00:00"
        assert len(machine.engine.promises) == 1
        machine.close()

    def test_back_returns_to_the_very_engine_that_was(self, machine):
        seen = [machine.engine]
        for _ in range(4):
            machine.forward.click()
            seen.append(machine.engine)
        for was in reversed(seen[:-1]):
            machine.back.click()
            assert machine.engine is was
        machine.back.click()
        assert machine.engine is seen[0]
        assert "no moment before this one" in said(machine)

    def test_moments_make_room_for_later_ones(self, machine, monkeypatch):
        monkeypatch.setattr(module, "_MOST_ROWS", 40)
        for _ in range(30):
            machine.forward.click()
        here = machine.engine.state.steps
        for _ in range(30):
            machine.back.click()
        assert 0 < here - machine.engine.state.steps < 30

    def test_where_nothing_is_due_it_says_so_and_stays(self):
        machine = TimeMachine(Engine(now=START))
        machine.play.playing = True
        machine.forward.click()
        assert "Nothing is taken after 2024-01-01 00:00:00Z: create" in said(machine)
        assert not machine.play.playing
        machine.close()


class TestPlayer:
    def test_steps_whenever_its_clock_ticks(self, machine):
        for tick in (1, 2, 3):
            machine.play.value = tick
        assert machine.engine.state.steps == 3 + 2  # two schedules were created before

    def test_takes_one_step_for_ticks_that_came_together(self, machine):
        machine.play.value = 7
        assert machine.engine.state.steps == 1 + 2

    def test_does_nothing_when_it_is_wound_back(self, machine):
        machine.play.value = 3
        machine.play.value = 0
        assert machine.engine.state.steps == 1 + 2

    def test_its_clock_runs_in_the_page_at_the_pace_chosen(self, machine):
        assert machine.play.interval == 1000
        machine.pace.value = 100
        assert machine.play.interval == 100


class TestAnswer:
    def test_says_clock_counts_and_what_comes_next(self, machine):
        assert "2024-01-01 00:00:00Z , profile standard." in said(machine)
        assert "The next step is due 2024-01-01 01:00:00Z, in 1 h." in said(machine)
        machine.onward.click()
        assert "2 promises 2 tasks 2 messages in the outbox" in said(machine)

    def test_marks_what_the_last_move_made_and_changed(self, machine):
        machine.onward.click()
        promise = frames.promises(machine.engine)["id"].iloc[0]
        assert f"new {promise} pending 2024-01-01 01:00:00Z 2024-01-01 01:30:00Z" in said(machine)
        while machine.engine.promises.get(promise).state == "pending":
            machine.onward.click()
        assert f"changed {promise} rejected_timedout" in said(machine)
        assert "promise timeout" in said(machine)

    def test_shows_the_outbox_and_the_tags_of_the_newest_promise(self, machine):
        machine.forward.click()
        (promise,) = machine.engine.promises
        assert f"execute {promise.id} {TARGET}" in said(machine)
        assert f"resonate:origin {promise.id}" in said(machine)

    def test_shows_a_change_made_by_a_request_when_it_is_asked_to(self, machine):
        machine.forward.click()
        (promise,) = machine.engine.promises
        machine.engine.promises.settle(promise.id)
        assert "resolved" not in said(machine)
        machine.show()
        assert f"{promise.id} resolved" in said(machine)

    def test_stays_short_whatever_the_engine_holds(self, engine):
        engine.outage("30d")
        machine = TimeMachine(engine)
        machine.onward.click()
        assert len(machine.engine.promises) > 700
        assert len(machine.answer.value) < 30_000
        machine.close()

    def test_has_a_static_twin(self, machine):
        machine.onward.click()
        assert machine.static().data == machine.answer.value
        assert "script" not in tags(machine.static().data)


class TestStrangers:
    def test_hostile_ids_and_tags_are_shown_as_text(self):
        engine = Engine(now=START)
        for id in (HOSTILE, "\u202egnp", "x" * 1000, "=1+1"):
            engine.promises.create(id, timeout="1h", target=TARGET, tags={HOSTILE: HOSTILE})
        machine = TimeMachine(engine)
        machine.onward.click()
        assert HOSTILE in said(machine)
        assert "img" not in tags(machine.answer.value)
        assert "\u202e" not in machine.answer.value
        assert len(machine.answer.value) < 30_000
        machine.close()

    def test_what_is_no_engine_is_refused(self):
        with pytest.raises(TypeError, match=r"engine is 'x' of type str; give an Engine"):
            TimeMachine("x")


class TestClosing:
    def test_detaches_the_buttons_and_takes_every_part_off_the_page(self, machine):
        here, parts = machine.engine, [machine, *machine.children, *machine.children[0].children]
        machine.close()
        machine.forward.click()
        machine.play.value = 5
        assert machine.engine is here
        assert [part for part in parts if part.comm is not None] == []
