"""The requests in Python: records, durations, and refusals as exceptions."""

import pytest
from wire import HOUR, MINUTE, PROFILES, T

from resonate_lab import Engine
from resonate_lab.errors import ProtocolError
from resonate_lab.protocol import Promise, Task

TARGET = "poll://any@g"


@pytest.fixture(params=PROFILES)
def engine(request):
    return Engine(request.param, now=T)


class TestPromises:
    def test_settle(self, engine):
        engine.promises.create("p", timeout="1h", target=TARGET)
        settled = engine.promises.settle("p", "rejected", {"data": "x"})
        assert isinstance(settled, Promise)
        assert (settled.state, settled.value) == ("rejected", {"data": "x"})
        assert engine.promises.get("p") == settled

    def test_callbacks_and_listeners(self, engine):
        for id in ("a", "a.1"):
            engine.promises.create(id, timeout="1h", target=TARGET)
        assert engine.promises.register_callback("a.1", "a").id == "a.1"
        assert engine.promises.register_listener("a.1", "http://a").id == "a.1"
        assert engine.state.callbacks == {"a.1": {"a"}}
        assert engine.state.listeners == {"a.1": {"http://a"}}

    def test_refusals(self, engine):
        with pytest.raises(ProtocolError, match="404: Promise not found"):
            engine.promises.settle("p")
        with pytest.raises(ProtocolError, match="400: Invalid request: unknown variant"):
            engine.promises.settle("p", "pending")


class TestTasks:
    def test_from_acquired_to_fulfilled(self, engine):
        engine.promises.create("a", timeout="1h", target=TARGET)
        task = engine.tasks.acquire("a", pid="w", ttl="90s")
        assert task == Task("a", "acquired", 1, 0, 90_000, "w")
        engine.advance("1min")
        engine.tasks.heartbeat("w", ["a"])
        assert engine.state.tasks["a"].expires_at == T + MINUTE + 90_000
        settled = engine.tasks.fulfill("a", value={"data": "x"})
        assert (settled.state, settled.settled_at) == ("resolved", T + MINUTE)
        assert engine.tasks.get("a").state == "fulfilled"

    def test_created_and_acquired_in_one_go(self, engine):
        task = engine.tasks.create("a", pid="w", target=TARGET, timeout="1h")
        assert (task.state, task.version, task.ttl) == ("acquired", 1, MINUTE)
        assert engine.promises.get("a").timeout_at == T + HOUR
        with pytest.raises(ProtocolError, match="409: Already exists"):
            engine.tasks.create("a", pid="w", target=TARGET, timeout="1h")

    def test_suspended_until_another_settles(self, engine):
        engine.tasks.create("a", pid="w", target=TARGET, timeout="1h")
        engine.promises.create("a.1", timeout="1h")
        assert engine.tasks.suspend("a", ["a.1"]) is True
        engine.promises.settle("a.1")
        engine.tasks.acquire("a", pid="w")
        assert engine.tasks.suspend("a", ["a.1"]) is False
        assert engine.tasks.get("a").state == "acquired"

    def test_a_fence_answers_with_the_promise(self, engine):
        engine.tasks.create("a", pid="w", target=TARGET, timeout="1h")
        made = engine.tasks.fence("a", "promise.create", {"id": "a.1", "timeoutAt": T + HOUR})
        assert made == engine.promises.get("a.1")
        with pytest.raises(ProtocolError, match="404: Promise not found"):
            engine.tasks.fence("a", "promise.settle", {"id": "a.2", "state": "resolved"})

    def test_halted_released_continued(self, engine):
        engine.tasks.create("a", pid="w", target=TARGET, timeout="1h")
        engine.tasks.release("a")
        engine.tasks.halt("a")
        assert engine.tasks.get("a").state == "halted"
        engine.tasks.continue_("a")
        assert engine.tasks.get("a").state == "pending"

    def test_a_version_of_ones_own_is_asked_for(self, engine):
        engine.tasks.create("a", pid="w", target=TARGET, timeout="1h")
        with pytest.raises(ProtocolError, match="409"):
            engine.tasks.release("a", version=7)
        with pytest.raises(ProtocolError, match="404"):
            engine.tasks.release("nobody")
        engine.advance("1s")
        engine.tasks.heartbeat("w", {"a": 7})
        assert engine.state.tasks["a"].expires_at == T + MINUTE


class TestCollections:
    def test_they_are_walked_in_byte_order_in_every_profile(self, engine):
        for id in ("b", "a.1", "a"):
            engine.promises.create(id, timeout="1h", target=None if id == "b" else TARGET)
            engine.schedules.create(
                id.replace(".", "-"), cron="@daily", promise_timeout="1h", target=TARGET
            )
        assert [p.id for p in engine.promises] == ["a", "a.1", "b"]
        assert [t.id for t in engine.tasks] == ["a", "a.1"]
        assert [s.id for s in engine.schedules] == ["a", "a-1", "b"]
        assert (len(engine.promises), len(engine.tasks), len(engine.schedules)) == (3, 2, 3)

    def test_all_of_it_has_a_look(self, engine):
        for face in (engine.promises, engine.tasks, engine.schedules):
            assert "nothing found" in face._repr_html_()
        engine.promises.create("<b>", timeout="1h", target=TARGET)
        assert "&lt;b&gt;" in engine.promises._repr_html_()
        assert "1 promises of Engine(profile" in repr(engine.promises)

    def test_ten_are_shown_and_the_others_counted(self, engine):
        for number in range(12):
            engine.promises.create(f"p{number}", timeout="1h")
        shown = engine.promises._repr_html_()
        assert shown.count("<tr>") == 1 + 10 + 1
        assert "and 2 more" in shown

    def test_a_search_that_a_profile_does_not_serve_is_refused(self):
        engine = Engine("spec", now=T)
        for face in (engine.promises, engine.tasks, engine.schedules):
            with pytest.raises(ProtocolError, match=r"501: .*not served in profile 'spec'"):
                face.search()
