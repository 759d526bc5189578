"""A live server mirrored into an engine: the same records, by searches alone."""

import subprocess
import sys

import pytest
from live_server import engine_answers, page, record
from wire import HOUR, MINUTE, PROFILES, TARGET, T

import resonate_lab as rl
from resonate_lab.clients import engine_from_server
from resonate_lab.errors import ServerError


def busy_engine(profile="server"):
    """Return an engine with something of everything, the morning after."""
    engine = rl.Engine(profile, now="2024-01-01 08:30")
    engine.schedules.create("nightly", cron="0 2 * * *", target=TARGET)
    engine.schedules.create("hourly", cron="0 * * * *", promise_timeout="10min", target=TARGET)
    engine.promises.create("plain", timeout="3d")
    engine.promises.create("timer", timeout="2h", tags={"resonate:timer": "true"})
    for name in ("held", "put-down", "halted", "done", "canceled", "waiting"):
        engine.promises.create(name, timeout="5d", target=TARGET)
    child = {"resonate:parent": "put-down"}
    engine.promises.create("put-down.1", timeout="4d", tags=child)
    for name in ("held", "put-down", "done"):
        engine.tasks.acquire(name, pid="w", ttl="6h")
    engine.tasks.suspend("put-down", ["put-down.1"])
    engine.tasks.fulfill("done", value={"data": "eA=="})
    engine.tasks.halt("halted")
    engine.promises.settle("canceled", "rejected_canceled")
    engine.run_until("2024-01-01 12:30")
    return engine


def wire_of(records):
    return [found.to_wire() for found in records]


@pytest.mark.parametrize("profile", [name for name in PROFILES if name != "spec"])
class TestMirror:
    def test_schedules_are_the_same_with_their_next_and_last_tick(self, serve, profile):
        engine = busy_engine(profile)
        server = serve(engine_answers(engine))
        mirror = engine_from_server(server.url, now=engine.now, profile=profile)
        assert wire_of(mirror.schedules) == wire_of(engine.schedules)
        assert len(mirror.promises) == 0
        assert mirror.now_ms == engine.now_ms
        assert mirror.peek_ms() is not None

    def test_promises_and_tasks_are_the_same(self, serve, profile):
        engine = busy_engine(profile)
        server = serve(engine_answers(engine))
        mirror = engine_from_server(server.url, promises=True, now=engine.now, profile=profile)
        assert wire_of(mirror.promises) == wire_of(engine.promises)
        assert wire_of(mirror.tasks) == wire_of(engine.tasks)

    def test_no_law_is_broken_then_or_later(self, serve, profile):
        server = serve(engine_answers(busy_engine(profile)))
        mirror = engine_from_server(
            server.url, promises=True, now="2024-01-01 12:30", profile=profile
        )
        assert not mirror.check()
        mirror.outage("2d")
        assert not mirror.check()

    def test_an_outage_of_the_mirror_is_that_of_the_server(self, serve, profile):
        engine = busy_engine(profile)
        server = serve(engine_answers(engine))
        mirror = engine_from_server(server.url, promises=True, now=engine.now, profile=profile)
        here, there = mirror.outage("2d"), engine.fork().outage("2d")
        assert (here.fired, here.live, here.expired) == (there.fired, there.live, there.expired)
        assert here.fired >= 48

    def test_the_server_stays_as_it_was_and_is_asked_by_searches_alone(self, serve, profile):
        engine = busy_engine(profile)
        before = wire_of(engine.schedules), wire_of(engine.promises), wire_of(engine.tasks)
        server = serve(engine_answers(engine))
        mirror = engine_from_server(server.url, promises=True, now=engine.now, profile=profile)
        mirror.advance("30d")
        mirror.schedules.delete("nightly")
        assert set(server.kinds) == {"schedule.search", "promise.search", "task.search"}
        assert (
            wire_of(engine.schedules),
            wire_of(engine.promises),
            wire_of(engine.tasks),
        ) == before


class TestWhatSearchesDoNotShow:
    def mirror(self, serve):
        server = serve(engine_answers(busy_engine()))
        return engine_from_server(server.url, promises=True, now="2024-01-01 12:30")

    def test_a_lease_ends_one_ttl_after_now(self, serve):
        mirror = self.mirror(serve)
        row = mirror.state.promises["held"].task
        assert (row.pid, row.expires_at) == ("w", mirror.now_ms + 6 * HOUR)

    def test_a_suspended_task_waits_for_its_pending_children(self, serve):
        mirror = self.mirror(serve)
        assert mirror.tasks.get("put-down").state == "suspended"
        mirror.promises.settle("put-down.1")
        assert mirror.tasks.get("put-down").state == "pending"

    def test_without_one_it_is_sent_again(self, serve):
        engine = rl.Engine("server", now=T)
        engine.promises.create("a", timeout="1d", target=TARGET)
        engine.promises.create("a.1", timeout="1d")
        engine.tasks.acquire("a", pid="w")
        engine.tasks.suspend("a", ["a.1"])
        mirror = engine_from_server(serve(engine_answers(engine)).url, promises=True, now=T)
        assert mirror.tasks.get("a").state == "pending"
        assert mirror.state.executes["a"] == (1, TARGET)

    def test_a_pending_task_is_sent_now(self, serve):
        mirror = self.mirror(serve)
        assert mirror.state.executes["waiting"] == (0, TARGET)
        assert mirror.state.promises["waiting"].task.retry_at == mirror.now_ms + MINUTE // 2

    def test_a_task_that_the_server_no_longer_shows_is_sent(self, serve):
        answer = engine_answers(busy_engine())
        server = serve(lambda e: page(e, tasks=[]) if e["kind"] == "task.search" else answer(e))
        mirror = engine_from_server(server.url, promises=True, now="2024-01-01 12:30")
        assert mirror.tasks.get("held").state == "pending"
        assert mirror.tasks.get("done").state == "fulfilled"
        assert not mirror.check()


class TestRefused:
    def why(self, serve, answer, **options):
        with pytest.raises(ServerError) as caught:
            engine_from_server(serve(answer).url, now=T, **options)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    @pytest.mark.parametrize(
        ("members", "token"),
        [
            ({"createdAt": None}, "'b'"),
            ({"nextRunAt": "soon"}, "'b'"),
            ({"nextRunAt": -1}, "not negative"),
            ({"lastRunAt": 2**64}, "'b'"),
            ({"promiseTags": {"a": 1}}, "'b'"),
            ({"cron": "0 9 * * 8"}, "'8'"),
            ({"cron": ""}, "Cron expression"),
        ],
    )
    def test_a_schedule_that_is_none(self, serve, members, token):
        records = [record(), record(id="b", **members)]
        assert token in self.why(serve, lambda e: page(e, schedules=records))

    @pytest.mark.parametrize("name", ["cron", "promiseId", "promiseTimeout", "createdAt"])
    def test_a_missing_member_is_named(self, serve, name):
        lame = record(id="b")
        del lame[name]
        assert f"`{name}`" in self.why(serve, lambda e: page(e, schedules=[lame]))

    @pytest.mark.parametrize(
        ("members", "token"),
        [
            ({"state": "lost"}, "'p'"),
            ({"settledAt": 5}, "settledAt"),
            ({"state": "resolved"}, "settledAt"),
            ({"timeoutAt": "x"}, "'p'"),
            ({"value": []}, "'p'"),
        ],
    )
    def test_a_promise_that_is_none(self, serve, members, token):
        found = {"id": "p", "state": "pending", "param": {}, "value": {}, "tags": {}}
        found |= {"timeoutAt": T + HOUR, "createdAt": T, **members}

        def answer(envelope):
            word = envelope["kind"].partition(".")[0]
            return page(envelope, **{f"{word}s": [found] if word == "promise" else []})

        assert token in self.why(serve, answer, promises=True)

    def test_an_unknown_profile(self, serve):
        with pytest.raises(ValueError, match="servr"):
            engine_from_server(serve(engine_answers(busy_engine())).url, now=T, profile="servr")

    def test_hostile_ids_are_shown_harmlessly(self, serve):
        text = self.why(serve, lambda e: page(e, schedules=[record(id="\x1b[31m\u202e", cron=1)]))
        assert text.isprintable()


class TestDoor:
    def test_the_clients_load_no_http_before_they_are_asked(self):
        code = "import sys, resonate_lab as rl; rl.clients; print('httpx' in sys.modules)"
        command = [sys.executable, "-P", "-c", code]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        assert done.stdout.strip() == "False"

    def test_an_unknown_name_is_refused_with_those_that_exist(self):
        with pytest.raises(AttributeError, match="engine_from_server"):
            _ = rl.clients.engine_from_serve

    def test_the_present_moment_is_the_default(self, serve):
        server = serve(engine_answers(busy_engine()))
        assert engine_from_server(server.url).now_ms > T
