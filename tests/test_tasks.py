"""The task kinds: claims, leases, suspension, fences."""

import pytest
from wire import HOUR, MINUTE, PROFILES, SECOND, TARGET, TARGETED, T
from workers import Workers

NOT_HELD = (409, "Task version mismatch or invalid state")
UNKNOWN = (404, "Task not found")


def creation(id="p", timeout=HOUR, **data):
    return {"id": id, "timeoutAt": T + timeout, "tags": TARGETED, **data}


def action(data, kind="promise.create"):
    return {"kind": kind, "head": {}, "data": data}


@pytest.fixture(params=PROFILES)
def client(request):
    return Workers(request.param)


@pytest.fixture
def standard():
    return Workers()


class TestCreate:
    def create(self, client, **data):
        return client.send("task.create", pid="w", ttl=MINUTE, action=action(creation(**data)))

    def test_promise_and_lease_in_one_go_and_nobody_is_sent_for(self, client):
        status, answer = self.create(client)
        assert status == 200
        held = {"state": "acquired", "version": 1, "resumes": 0, "ttl": MINUTE, "pid": "w"}
        assert answer["task"] == {"id": "p", **held}
        assert answer["promise"]["state"] == "pending"
        assert answer["preload"] == []
        snap = client.ok("debug.snap")
        assert snap["messages"] == []
        assert snap["promiseTimeouts"] == [{"id": "p", "timeout": T + HOUR}]
        assert snap["taskTimeouts"] == [{"id": "p", "type": 1, "timeout": T + MINUTE}]

    def test_a_pending_task_is_acquired_and_its_promise_stays(self, client):
        first = client.promise("p")
        _, answer = self.create(client, timeout=2 * HOUR)
        assert answer["task"]["version"] == 1
        assert answer["promise"] == first

    def test_what_somebody_holds_is_refused(self, client):
        self.create(client)
        assert self.create(client) == (409, "Already exists")

    def test_a_promise_without_a_task_is_refused(self, client):
        client.promise("p", tags={})
        text = "The promise does not have a resonate:target tag"
        assert self.create(client) == (422, text)

    def test_expired_at_creation_it_is_fulfilled(self, client):
        _, answer = self.create(client, timeout=-1)
        assert answer["task"] == {"id": "p", "state": "fulfilled", "version": 0, "resumes": 0}
        assert answer["promise"]["state"] == "rejected_timedout"
        assert client.engine.peek_ms() is None

    @pytest.mark.parametrize(("profile", "preloads"), [("standard", True), ("server", False)])
    def test_a_fulfilled_task_comes_with_its_siblings_or_without(self, profile, preloads):
        client = Workers(profile)
        tags = {**TARGETED, "resonate:branch": "p"}
        client.promise("p.1", tags=tags)
        client.promise("p", tags=tags)
        client.settle("p")
        _, answer = self.create(client)
        assert [promise["id"] for promise in answer["preload"]] == (["p.1"] if preloads else [])


class TestAcquireAndRelease:
    def test_only_acquiring_makes_a_version(self, client):
        client.promise("p")
        assert client.acquire("p")["version"] == 1
        assert client.ok("task.release", id="p", version=1) == {}
        assert client.task("p") == {"id": "p", "state": "pending", "version": 1, "resumes": 0}
        assert client.acquire("p")["version"] == 2

    def test_a_released_task_is_sent_again_at_once(self, client):
        client.promise("p")
        client.acquire("p")
        client.now += SECOND
        client.ok("task.release", id="p", version=1)
        (message,) = client.ok("debug.snap")["messages"]
        assert message["message"]["data"]["task"] == {"id": "p", "version": 1}
        retry_ms = client.engine.profile.retry_ms
        assert client.ok("debug.snap")["taskTimeouts"] == [
            {"id": "p", "type": 0, "timeout": T + SECOND + retry_ms}
        ]

    def test_refusals_in_order(self, client):
        data = {"pid": "w", "ttl": 1}
        assert client.send("task.acquire", id="p", version=5, **data) == UNKNOWN
        client.promise("p")
        assert client.send("task.acquire", id="p", version=5, **data) == (409, "Version mismatch")
        assert client.send("task.release", id="p", version=0) == NOT_HELD
        client.acquire("p")
        assert client.send("task.acquire", id="p", version=5, **data) == (
            409,
            "Task is not pending",
        )
        assert client.send("task.release", id="p", version=0) == NOT_HELD

    def test_a_lease_that_lapses_puts_the_task_back(self, client):
        client.promise("p")
        client.acquire("p", ttl=SECOND)
        client.tick(T + SECOND - 1)
        assert client.stored_task("p")["state"] == "acquired"
        client.tick(T + SECOND)
        assert client.stored_task("p") == {
            "id": "p",
            "state": "pending",
            "version": 1,
            "resumes": 0,
        }
        assert client.messages() == {"p": TARGET}

    def test_the_longest_lease_ends_with_64_bits(self, client):
        client.promise("p", timeout=2**62)
        client.acquire("p", ttl=2**63 - 1)
        assert client.ok("debug.snap")["taskTimeouts"][0]["timeout"] == 2**63 - 1
        client.ok("task.heartbeat", pid="w", tasks=[{"id": "p", "version": 1}])
        assert client.engine.check() == []


class TestFulfill:
    def settle(self, client, id="p", version=1, **data):
        inner = action({"id": id, "state": "resolved", **data}, "promise.settle")
        return client.send("task.fulfill", id=id, version=version, action=inner)

    def test_it_settles_the_promise(self, client):
        client.promise("p")
        client.acquire("p")
        client.now += SECOND
        status, answer = self.settle(client, value={"data": "x"})
        assert status == 200
        assert answer["promise"] == client.stored("p")
        assert answer["promise"]["settledAt"] == T + SECOND
        assert client.task("p")["state"] == "fulfilled"

    def test_only_who_holds_it_may(self, client):
        assert self.settle(client) == UNKNOWN
        client.promise("p")
        assert self.settle(client, version=0) == NOT_HELD
        client.acquire("p")
        assert self.settle(client, version=2) == NOT_HELD
        assert client.stored("p")["state"] == "pending"


class TestSuspend:
    def test_a_task_put_down_keeps_its_version_and_nothing_else(self, client):
        client.parked("a.1")
        assert client.task("a") == {"id": "a", "state": "suspended", "version": 1, "resumes": 0}
        assert [t for t in client.ok("debug.snap")["taskTimeouts"] if t["id"] == "a"] == []

    def test_if_one_has_settled_it_goes_on_under_its_lease(self, client):
        client.parked("a.1", "a.2")
        client.settle("a.1")
        client.acquire("a")
        timers = client.ok("debug.snap")["taskTimeouts"]
        client.settle("a.2")
        assert client.task("a")["resumes"] == 1
        assert client.suspend("a", "a.1", "a.2") == (300, {"preload": []})
        assert client.task("a")["state"] == "acquired"
        assert client.task("a")["resumes"] == 0
        # The task of a.2 is fulfilled by now, and its timer gone.
        assert client.ok("debug.snap")["taskTimeouts"] == [t for t in timers if t["id"] == "a"]

    def test_one_that_is_overdue_has_settled(self, client):
        client.promise("a")
        client.acquire("a", ttl=2 * HOUR)
        client.promise("a.1", MINUTE)
        client.now += MINUTE
        assert client.suspend("a", "a.1")[0] == 300

    def test_all_must_be_there(self, client):
        client.promise("a")
        client.acquire("a")
        client.promise("a.1")
        client.settle("a.1")
        assert client.suspend("a", "a.1", "a.2") == (422, "Awaited promise not found")
        assert client.task("a")["state"] == "acquired"

    def test_only_who_holds_it_may(self, client):
        client.promise("a")
        client.promise("a.1")
        text = "Task is not acquired or version mismatch"
        assert client.suspend("a", "a.1") == (409, text)


class TestFence:
    def fence(self, client, data, kind="promise.create", **more):
        request = {"id": "p", "version": 1, "action": action(data, kind), **more}
        return client.send("task.fence", **request)

    def held(self, profile="standard"):
        client = Workers(profile)
        client.promise("p")
        client.acquire("p")
        return client

    def test_the_answer_holds_an_answer(self):
        client = self.held()
        status, answer = self.fence(client, creation("p.1"))
        assert status == 200
        head = {"corrId": "c-1", "status": 200, "version": "2026-04-01"}
        assert answer["action"]["head"] == head
        assert answer["action"]["kind"] == "promise.create"
        assert answer["action"]["data"]["promise"] == client.stored("p.1")
        settle = {"id": "p.1", "state": "rejected"}
        _, answer = self.fence(client, settle, "promise.settle")
        assert answer["action"]["data"]["promise"]["state"] == "rejected"

    def test_an_unknown_promise_is_unknown_within(self):
        status, answer = self.fence(self.held(), {"id": "x", "state": "resolved"}, "promise.settle")
        assert status == 200
        assert answer["action"]["head"]["status"] == 404
        assert answer["action"]["data"] == "Promise not found"

    def test_it_does_nothing_for_one_that_does_not_hold_the_task(self):
        client = self.held()
        assert self.fence(client, creation("p.1"), version=2) == (409, "Version mismatch")
        assert self.fence(client, creation("p.1"), id="q") == UNKNOWN
        assert client.ids() == ["p"]

    @pytest.mark.parametrize(
        ("profile", "answer"),
        [
            ("standard", (409, "Version mismatch")),
            ("reference", (409, "Version mismatch")),
            ("server", (400, "Invalid fence action kind")),
        ],
    )
    def test_the_first_check_is_the_profiles(self, profile, answer):
        client = self.held(profile)
        assert self.fence(client, creation("p.1"), "promise.get", version=2) == answer

    def test_a_refused_action_leaves_what_was_touched_settled(self):
        client = self.held()
        client.promise("q", MINUTE)
        client.now += MINUTE
        assert self.fence(client, {"id": "q"}) == (
            400,
            "Invalid action data: missing field `timeoutAt`",
        )
        assert client.stored("q")["state"] == "rejected_timedout"


class TestHeartbeat:
    def test_it_renews_what_is_held_and_passes_over_the_rest(self, client):
        for id in ("a.1", "a.2", "a.3"):
            client.promise(id)
        client.acquire("a.1", MINUTE)
        client.acquire("a.2", MINUTE)
        client.now += SECOND
        refs = [("a.1", 1), ("a.2", 9), ("a.3", 0), ("a.4", 1)]
        tasks = [{"id": id, "version": version} for id, version in refs]
        assert client.ok("task.heartbeat", pid="w", tasks=tasks) == {}
        assert client.ok("task.heartbeat", pid="other", tasks=[{"id": "a.2", "version": 1}]) == {}
        leases = {t["id"]: t["timeout"] for t in client.ok("debug.snap")["taskTimeouts"]}
        assert leases["a.1"] == T + SECOND + MINUTE
        assert leases["a.2"] == T + MINUTE

    @pytest.mark.parametrize(("profile", "renewed"), [("standard", True), ("spec", False)])
    def test_an_overdue_task_is_renewed_or_not(self, profile, renewed):
        client = Workers(profile)
        client.promise("p", MINUTE)
        client.acquire("p", HOUR)
        client.now += 2 * MINUTE
        client.ok("task.heartbeat", pid="w", tasks=[{"id": "p", "version": 1}])
        lease = client.engine.state.tasks["p"].expires_at
        assert lease == (client.now if renewed else T) + HOUR


class TestHaltAndContinue:
    def test_nobody_gets_a_halted_task_until_it_is_continued(self, client):
        client.promise("p")
        client.acquire("p")
        assert client.ok("task.halt", id="p") == client.ok("task.halt", id="p") == {}
        assert client.task("p") == {"id": "p", "state": "halted", "version": 1, "resumes": 0}
        assert client.ok("debug.snap")["taskTimeouts"] == []
        assert client.ok("task.continue", id="p") == {}
        assert client.task("p")["state"] == "pending"
        assert client.messages() == {"p": TARGET}

    def test_refusals(self, client):
        assert client.send("task.halt", id="p") == UNKNOWN
        assert client.send("task.continue", id="p") == UNKNOWN
        client.promise("p")
        assert client.send("task.continue", id="p") == (409, "Task is not halted")
        client.settle("p")
        assert client.send("task.halt", id="p") == (409, "Task is fulfilled")


class TestPreload:
    def test_the_others_of_the_branch_come_along_as_they_are_stored(self, standard):
        branch = {"resonate:branch": "a"}
        standard.promise("a", tags={**TARGETED, **branch})
        for id in ("a.2", "a.1", "a.10"):
            standard.promise(id, MINUTE, tags=branch)
        standard.promise("b", tags={"resonate:branch": "b"})
        standard.now += MINUTE
        data = {"id": "a", "version": 0, "pid": "w", "ttl": HOUR}
        preload = standard.ok("task.acquire", **data)["preload"]
        assert [p["id"] for p in preload] == ["a.1", "a.10", "a.2"]
        assert {p["state"] for p in preload} == {"pending"}

    def test_a_fired_promise_is_its_own_branch(self, standard):
        standard.schedule()
        standard.tick(T + 10 * MINUTE)
        (root,) = standard.ids()
        standard.promise(f"{root}:1", tags={"resonate:branch": root})
        data = {"id": root, "version": 0, "pid": "w", "ttl": HOUR}
        preload = standard.ok("task.acquire", **data)["preload"]
        assert [p["id"] for p in preload] == [f"{root}:1"]

    @pytest.mark.parametrize(("profile", "matches"), [("server", True), ("reference", False)])
    def test_an_empty_branch_is_one_or_none(self, profile, matches):
        client = Workers(profile)
        for id in (".a", ".b"):
            client.promise(id, tags={**TARGETED, "resonate:branch": ""})
        data = {"id": ".a", "version": 0, "pid": "w", "ttl": HOUR}
        preload = client.ok("task.acquire", **data)["preload"]
        assert [p["id"] for p in preload] == ([".b"] if matches else [])
