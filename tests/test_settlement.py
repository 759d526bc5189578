"""How promises settle and what follows: tasks fulfilled, awaiters woken, addresses told."""

import pytest
from wire import HOUR, MINUTE, PROFILES, SECOND, TARGET, TARGETED, T
from workers import Workers

TIMER = {"resonate:timer": "true"}


@pytest.fixture(params=PROFILES)
def client(request):
    return Workers(request.param)


@pytest.fixture
def standard():
    return Workers()


class TestSettle:
    def test_a_promise_settles_now_with_state_and_value(self, client):
        client.promise("p")
        client.now += MINUTE
        settled = client.settle("p", "rejected", value={"data": "x"})
        assert settled["state"] == "rejected"
        assert settled["value"] == {"data": "x"}
        assert settled["settledAt"] == T + MINUTE
        assert client.stored("p") == settled

    def test_it_settles_once(self, client):
        client.promise("p")
        first = client.settle("p")
        client.now += 1
        assert client.settle("p", "rejected", value={"data": "late"}) == first

    def test_its_task_is_fulfilled_and_its_message_stays_queued(self, client):
        client.promise("p")
        client.acquire("p")
        client.settle("p")
        assert client.task("p") == {"id": "p", "state": "fulfilled", "version": 1, "resumes": 0}
        assert client.messages() == {"p": TARGET}
        snap = client.ok("debug.snap")
        assert snap["promiseTimeouts"] == snap["taskTimeouts"] == []

    def test_unknown_is_unknown(self, client):
        assert client.send("promise.settle", id="p", state="resolved") == (404, "Promise not found")

    def test_past_its_deadline_the_deadline_has_settled_it(self, client):
        client.promise("p", tags=TIMER)
        client.now += 2 * HOUR
        settled = client.settle("p", "rejected", value={"data": "x"})
        assert settled["state"] == "resolved"
        assert settled["settledAt"] == T + HOUR
        assert settled["value"] == {}


class TestCallbacks:
    def test_a_settlement_wakes_what_waits(self, client):
        client.parked("a.1", "a.2")
        client.now += MINUTE
        client.settle("a.1")
        task = client.task("a")
        assert task == {"id": "a", "state": "pending", "version": 1, "resumes": 1}
        assert client.messages()["a"] == TARGET
        assert client.engine.state.tasks["a"].retry_at == (
            client.now + client.engine.profile.retry_ms
        )

    def test_what_is_awake_only_notes_it(self, client):
        client.parked("a.1", "a.2", "a.3")
        client.settle("a.1")
        client.settle("a.2")
        assert client.task("a")["resumes"] == 2
        assert client.acquire("a")["resumes"] == 0
        client.settle("a.3")
        assert client.task("a")["state"] == "acquired"
        assert client.task("a")["resumes"] == 1

    def test_a_halted_task_notes_it_and_sleeps_on(self, client):
        client.parked("a.1")
        client.ok("task.halt", id="a")
        client.settle("a.1")
        assert client.task("a") == {"id": "a", "state": "halted", "version": 1, "resumes": 1}

    def test_what_settles_waits_for_nothing_any_more(self, client):
        client.parked("a.1")
        assert client.ok("debug.snap")["callbacks"] == [{"awaiter": "a", "awaited": "a.1"}]
        client.settle("a")
        assert client.ok("debug.snap")["callbacks"] == []
        client.settle("a.1")
        assert client.task("a")["resumes"] == 0

    def test_a_callback_twice_is_one(self, client):
        client.parked("a.1")
        before = client.ok("debug.snap")
        client.ok("promise.register_callback", awaited="a.1", awaiter="a")
        assert client.ok("debug.snap") == before

    def test_the_awaited_is_answered_as_it_was(self, client):
        client.promise("a")
        awaited = client.promise("a.1", tags={})
        data = {"awaited": "a.1", "awaiter": "a"}
        assert client.ok("promise.register_callback", **data)["promise"] == awaited

    @pytest.mark.parametrize(
        ("awaited", "awaiter", "answer"),
        [
            ("a.9", "a", (404, "Awaited promise not found")),
            ("a", "a.9", (422, "Awaiter promise not found")),
            ("a", "a.1", (422, "Awaiter promise has no resonate:target tag")),
        ],
    )
    def test_who_is_not_there_is_named(self, client, awaited, awaiter, answer):
        client.promise("a")
        client.promise("a.1", tags={})
        assert client.send("promise.register_callback", awaited=awaited, awaiter=awaiter) == answer

    @pytest.mark.parametrize(
        ("profile", "state", "resumes"),
        [
            ("standard", "pending", 0),
            ("reference", "pending", 0),
            ("server", "pending", 1),
            ("spec", "suspended", 0),
        ],
    )
    def test_a_callback_that_comes_late_does_as_the_profile_says(self, profile, state, resumes):
        client = Workers(profile)
        client.parked("a.1")
        client.promise("a.2")
        client.settle("a.2")
        client.ok("promise.register_callback", awaited="a.2", awaiter="a")
        task = client.task("a")
        assert (task["state"], task["resumes"]) == (state, resumes)
        assert ("a" in client.messages()) is True
        assert client.engine.check() == []

    def test_late_and_awake_it_is_noted_and_late_and_halted_it_is_not(self, standard):
        standard.promise("a.1")
        standard.settle("a.1")
        for id in ("a", "a.2"):
            standard.promise(id)
        standard.ok("task.halt", id="a.2")
        for id in ("a", "a.2"):
            standard.ok("promise.register_callback", awaited="a.1", awaiter=id)
        assert standard.task("a")["resumes"] == 1
        assert standard.task("a.2")["resumes"] == 0


class TestOverdueAwaiters:
    """One that waits and is itself overdue: the documents' thorniest corner."""

    def client(self, profile, awaited_timeout):
        client = Workers(profile)
        client.promise("a", MINUTE)
        client.acquire("a")
        client.promise("a.1", awaited_timeout)
        client.suspend("a", "a.1")
        client.now += 2 * MINUTE
        return client

    @pytest.mark.parametrize(
        ("profile", "woken"),
        [("standard", False), ("reference", False), ("server", True), ("spec", True)],
    )
    def test_a_settlement_wakes_it_or_not(self, profile, woken):
        client = self.client(profile, HOUR)
        client.settle("a.1")
        assert client.engine.state.promises["a"].state == "pending"
        assert (client.stored_task("a")["state"] == "pending") is woken
        assert client.task("a")["state"] == "fulfilled"

    @pytest.mark.parametrize("profile", ["standard", "reference", "server"])
    def test_one_that_times_out_with_it_is_not_woken(self, profile):
        client = self.client(profile, MINUTE)
        client.tick(client.now)
        assert client.stored_task("a")["state"] == "fulfilled"
        # A wake would have queued the message anew, with the version that it then had.
        queued = {
            m["message"]["data"]["task"]["id"]: m for m in client.ok("debug.snap")["messages"]
        }
        assert queued["a"]["message"]["data"]["task"]["version"] == 0

    def test_in_the_specification_each_times_out_alone(self):
        client = self.client("spec", MINUTE - 1)
        client.tick(client.now)
        assert client.engine.state.tasks["a"].queued == 1


class TestListeners:
    def test_a_settlement_tells_every_address_once(self, client):
        client.promise("p")
        for address in ("http://b", "http://a", "http://b"):
            client.ok("promise.register_listener", awaited="p", address=address)
        assert client.unblocks() == []
        settled = client.settle("p")
        assert client.unblocks() == [("http://a", settled), ("http://b", settled)]
        assert client.ok("debug.snap")["listeners"] == []

    def test_a_deadline_tells_them_too(self, client):
        client.promise("p")
        client.ok("promise.register_listener", awaited="p", address="http://a")
        client.tick(T + HOUR)
        assert client.unblocks() == [("http://a", client.stored("p"))]

    def test_a_settled_promise_tells_nobody(self, client):
        client.promise("p")
        settled = client.settle("p")
        answer = client.ok("promise.register_listener", awaited="p", address="http://a")
        assert answer["promise"] == settled
        assert client.unblocks() == client.ok("debug.snap")["listeners"] == []

    def test_unknown_is_unknown(self, client):
        data = {"awaited": "p", "address": "http://a"}
        answer = client.send("promise.register_listener", **data)
        assert answer == (404, "Awaited promise not found")


class TestTouch:
    KINDS = [
        ("promise.get", {"id": "p"}),
        ("promise.create", {"id": "p", "timeoutAt": T}),
        ("promise.settle", {"id": "p", "state": "resolved"}),
        ("promise.register_listener", {"awaited": "p", "address": "http://a"}),
        ("promise.register_callback", {"awaited": "p", "awaiter": "p.1"}),
        ("promise.register_callback", {"awaited": "p.1", "awaiter": "p"}),
        ("task.get", {"id": "p"}),
        ("task.acquire", {"id": "p", "version": 0, "pid": "w", "ttl": 1}),
        ("task.release", {"id": "p", "version": 0}),
        ("task.halt", {"id": "p"}),
        ("task.continue", {"id": "p"}),
    ]

    @pytest.mark.parametrize(("kind", "data"), KINDS)
    def test_what_a_request_names_is_settled_first_if_it_is_overdue(self, standard, kind, data):
        standard.promise("p")
        standard.promise("p.1", 3 * HOUR)
        standard.now += 2 * HOUR
        standard.send(kind, **data)
        assert standard.stored("p")["state"] == "rejected_timedout"
        assert standard.stored("p")["settledAt"] == T + HOUR
        assert standard.engine.check() == []

    @pytest.mark.parametrize(("kind", "data"), KINDS)
    def test_in_the_specification_it_is_only_shown_so(self, kind, data):
        client = Workers("spec")
        client.promise("p")
        client.promise("p.1", 3 * HOUR)
        client.now += 2 * HOUR
        before = client.stored("p")
        _, answer = client.send(kind, **data)
        assert client.stored("p") == before
        if isinstance(answer, dict) and answer.get("promise", {}).get("id") == "p":
            assert answer["promise"]["state"] == "rejected_timedout"
            assert answer["promise"]["settledAt"] == T + HOUR

    def test_the_specification_lets_some_claims_see_the_store(self):
        client = Workers("spec")
        for id in ("p", "q"):
            client.promise(id)
        client.ok("task.halt", id="q")
        client.now += 2 * HOUR
        action = {"id": "p", "timeoutAt": T, "tags": TARGETED}
        data = {"pid": "w", "ttl": 1, "action": {"kind": "x", "head": {}, "data": action}}
        created = client.ok("task.create", **data)
        assert created["task"]["state"] == "acquired"
        assert created["promise"]["state"] == "pending"
        client.ok("task.halt", id="p")
        client.ok("task.continue", id="q")
        assert client.task("p")["state"] == client.task("q")["state"] == "fulfilled"


class TestTrace:
    def test_what_follows_a_settlement_stands_behind_it(self, standard):
        standard.parked("a.1")
        standard.ok("promise.register_listener", awaited="a.1", address="http://a")
        seen = len(standard.engine.trace)
        standard.now += SECOND
        standard.settle("a.1")
        assert [tuple(step[:4]) for step in standard.engine.trace[seen:]] == [
            (standard.now, "promise.settle", "a.1", "resolved"),
            (standard.now, "resume", "a", "dispatched"),
            (standard.now, "unblock", "a.1", "http://a"),
        ]
