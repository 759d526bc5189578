"""The engine, profile `standard`: what the two documents promise, asked over the wire."""

import gc
from dataclasses import fields

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from wire import DAY, HOUR, MINUTE, SECOND, TARGET, TARGETED, Client, T

from resonate_lab import CronExpression, Engine
from resonate_lab.engine import internal
from resonate_lab.errors import EmptyAgenda, ProtocolError, WindowError
from resonate_lab.protocol import PROFILES, Promise, Schedule, Task
from resonate_lab.protocol.records import wire_name
from resonate_lab.protocol.requests import REQUESTS

STANDARD = PROFILES["standard"]
FIVE = [
    "resonate:schedule",
    "resonate:origin",
    "resonate:branch",
    "resonate:parent",
    "resonate:prefix",
]


@pytest.fixture
def client():
    return Client()


class TestScheduleCreate:
    def test_the_record_is_returned_with_its_next_run(self, client):
        assert client.schedule(promiseParam={"data": "x"}) == {
            "id": "s",
            "cron": "*/10 * * * *",
            "promiseId": "{{.id}}-{{.timestamp}}",
            "promiseTimeout": HOUR,
            "promiseParam": {"data": "x"},
            "promiseTags": TARGETED,
            "createdAt": T,
            "nextRunAt": T + 10 * MINUTE,
        }

    def test_creating_again_returns_the_first_unchanged(self, client):
        first = client.schedule()
        client.now += HOUR
        assert client.schedule(cron="@daily", promiseTimeout=1) == first
        assert client.engine.peek_ms() == first["nextRunAt"]

    @pytest.mark.parametrize(
        ("now", "next_run_at"),
        [
            ("2024-01-02T08:59:59.999Z", "2024-01-02T09:00Z"),
            ("2024-01-02T09:00:00.000Z", "2024-01-03T09:00Z"),
            ("2024-01-02T09:00:00.500Z", "2024-01-03T09:00Z"),
        ],
    )
    def test_next_run_is_strictly_after_now(self, now, next_run_at):
        client = Client(now=pd.Timestamp(now).value // 10**6)
        assert (
            client.schedule(cron="0 9 * * *")["nextRunAt"]
            == pd.Timestamp(next_run_at).value // 10**6
        )

    @pytest.mark.parametrize("cron", ["0 9 * * 0", "x", "* * * *", "\0", "\ud800", "9" * 10_000])
    def test_a_cron_that_is_none_is_refused(self, client, cron):
        tags = {"promiseId": "p", "promiseTimeout": 1, "promiseTags": TARGETED}
        assert client.send("schedule.create", id="s", cron=cron, **tags) == (
            400,
            "Invalid cron expression",
        )
        assert client.send("schedule.get", id="s") == (404, "Schedule not found")

    @pytest.mark.parametrize(
        ("cron", "text"),
        [
            (
                "0 0 30 2 *",
                "never fires: no day from 1970 to 2100 matches; write a date that exists",
            ),
            (
                "0 0 0 1 1 ? 2023",
                "has no tick after 2024-01-01 00:00:00Z, its last is 2023-01-01 00:00:00Z",
            ),
        ],
    )
    def test_a_cron_without_a_next_tick_is_refused_with_the_reason(self, client, cron, text):
        data = {"promiseId": "p", "promiseTimeout": 1, "promiseTags": TARGETED}
        status, told = client.send("schedule.create", id="s", cron=cron, **data)
        assert status == 400
        assert text in told
        assert client.engine.peek_ms() is None

    def test_the_text_is_checked_though_the_schedule_exists(self, client):
        client.schedule()
        data = {"promiseId": "p", "promiseTimeout": 1, "promiseTags": TARGETED}
        assert client.send("schedule.create", id="s", cron="x", **data)[0] == 400

    def test_neither_target_nor_other_tags_are_judged(self, client):
        tags = {"resonate:target": "", "resonate:origin": "a.b", "resonate:delay": "x"}
        assert client.schedule(promiseTags=tags)["promiseTags"] == tags


class TestScheduleGetDeleteSearch:
    def test_get_returns_it_or_404(self, client):
        assert client.send("schedule.get", id="s") == (404, "Schedule not found")
        assert client.ok("schedule.get", id="s") if client.schedule() is None else True
        assert client.ok("schedule.get", id="s")["schedule"]["id"] == "s"

    def test_delete_takes_record_and_timer(self, client):
        client.schedule()
        assert client.ok("schedule.delete", id="s") == {}
        assert client.send("schedule.delete", id="s") == (404, "Schedule not found")
        assert client.engine.peek_ms() is None
        client.tick(T + DAY)
        assert client.stored() == {}

    def test_delete_between_two_ticks_keeps_what_was_fired(self, client):
        client.schedule()
        client.tick(T + 25 * MINUTE)
        before = client.stored()
        client.ok("schedule.delete", id="s")
        client.tick(T + 26 * MINUTE)
        client.tick(T + 50 * MINUTE)
        assert client.stored() == before
        assert len(before) == 2

    def test_a_schedule_created_again_starts_afresh(self, client):
        client.schedule()
        client.tick(T + HOUR)
        client.ok("schedule.delete", id="s")
        again = client.schedule()
        assert again["createdAt"] == T + HOUR
        assert again["nextRunAt"] == T + HOUR + 10 * MINUTE
        assert "lastRunAt" not in again

    def test_search_pages_by_the_bytes_of_the_id(self, client):
        ids = [*(f"s{n:02}" for n in range(12)), "Z", "é"]
        for id in ids:
            client.schedule(id)
        first = client.ok("schedule.search")
        assert [s["id"] for s in first["schedules"]] == sorted(ids)[:10]
        second = client.ok("schedule.search", cursor=first["cursor"])
        assert [s["id"] for s in second["schedules"]] == sorted(ids)[10:]
        assert "cursor" not in second

    def test_a_page_that_is_just_full_has_no_cursor(self, client):
        client.schedule("a")
        client.schedule("b")
        assert "cursor" not in client.ok("schedule.search", limit=2)
        assert client.ok("schedule.search", limit=1)["cursor"] == "a"

    def test_a_cursor_at_the_end_finds_nothing(self, client):
        client.schedule("a")
        assert client.ok("schedule.search", cursor="a") == {"schedules": []}

    def test_tags_match_the_promise_tags_and_all_of_them(self, client):
        client.schedule("a", promiseTags={**TARGETED, "k": "1"})
        client.schedule("b")
        found = client.ok("schedule.search", tags={"k": "1", **TARGETED})["schedules"]
        assert [s["id"] for s in found] == ["a"]
        assert len(client.ok("schedule.search", tags={})["schedules"]) == 2
        assert client.ok("schedule.search", tags={"k": "2"}) == {"schedules": []}


class TestCatchUp:
    def test_every_missed_tick_is_fired_in_order_each_at_its_own_time(self, client):
        client.schedule(promiseTimeout=DAY)
        client.tick(T + 35 * MINUTE)
        promises = list(client.stored().values())
        assert [p["id"] for p in promises] == [f"s-{T + n * 10 * MINUTE}" for n in (1, 2, 3)]
        assert [p["createdAt"] for p in promises] == [T + n * 10 * MINUTE for n in (1, 2, 3)]
        assert [p["timeoutAt"] for p in promises] == [T + n * 10 * MINUTE + DAY for n in (1, 2, 3)]
        ticks = client.engine.trace[-1].ticks
        assert (ticks.first, ticks.last, ticks.fired) == (T + 10 * MINUTE, T + 30 * MINUTE, 3)

    def test_the_schedule_advances_from_the_tick_and_not_from_now(self, client):
        client.schedule()
        client.tick(T + 35 * MINUTE + 123)
        record = client.ok("schedule.get", id="s")["schedule"]
        assert record["lastRunAt"] == T + 30 * MINUTE
        assert record["nextRunAt"] == T + 40 * MINUTE

    def test_a_tick_at_now_is_due(self, client):
        client.schedule()
        client.tick(T + 10 * MINUTE - 1)
        assert client.stored() == {}
        client.tick(T + 10 * MINUTE)
        assert len(client.stored()) == 1

    def test_catching_up_again_creates_nothing(self, client):
        client.schedule()
        client.tick(T + HOUR)
        before = client.ok("debug.snap"), client.ok("schedule.get", id="s")
        client.tick(T + HOUR)
        assert (client.ok("debug.snap"), client.ok("schedule.get", id="s")) == before

    def test_param_and_tags_are_copied_and_five_tags_are_added(self, client):
        tags = {**TARGETED, "env": "dev", "resonate:origin": "user"}
        client.schedule(promiseParam={"headers": {"h": "1"}, "data": "d"}, promiseTags=tags)
        client.tick(T + 10 * MINUTE)
        id = f"s-{T + 10 * MINUTE}"
        promise = client.promise(id)
        assert promise["param"] == {"headers": {"h": "1"}, "data": "d"}
        assert promise["tags"] == {**tags, **dict.fromkeys(FIVE, id), "resonate:schedule": "s"}

    def test_the_template_of_the_document_gives_the_id_of_the_document(self):
        tick = 1783978446000  # 2026-07-13T21:34:06Z
        client = Client(now=tick - 1)
        client.schedule(
            "nightly", "6 34 21 13 7 ?", promiseId="report.{{.id}}.{{.timestamp}}{{.x}}"
        )
        client.tick(tick)
        assert list(client.stored()) == ["report.nightly.1783978446000{{.x}}"]

    def test_a_template_without_the_tick_makes_one_promise(self, client):
        client.schedule(promiseId="fixed", promiseTimeout=DAY)
        client.tick(T + 35 * MINUTE)
        assert client.promise("fixed")["createdAt"] == T + 10 * MINUTE
        ticks = client.engine.trace[-1].ticks
        assert (ticks.fired, ticks.live, ticks.existed) == (3, 1, 2)
        assert client.ok("schedule.get", id="s")["schedule"]["nextRunAt"] == T + 40 * MINUTE

    def test_a_promise_that_exists_is_adopted_untouched(self, client):
        client.schedule()
        id = f"s-{T + 20 * MINUTE}"
        created = client.ok("promise.create", id=id, timeoutAt=T + 1, param={"data": "mine"})[
            "promise"
        ]
        client.tick(T + 35 * MINUTE)
        assert client.stored()[id] == created
        assert created["state"] == "pending"
        assert client.engine.trace[-1].ticks.existed == 1
        assert len(client.stored()) == 3

    def test_of_two_schedules_with_one_id_the_earlier_tick_wins_then_the_smaller_id(self, client):
        client.schedule("b", "*/20 * * * *", promiseId="x", promiseParam={"data": "b"})
        client.schedule("a", "*/20 * * * *", promiseId="x", promiseParam={"data": "a"})
        client.tick(T + 20 * MINUTE)
        assert client.promise("x")["param"] == {"data": "a"}
        other = Client()
        other.schedule("a", "*/20 * * * *", promiseId="x", promiseParam={"data": "a"})
        other.schedule("b", "*/10 * * * *", promiseId="x", promiseParam={"data": "b"})
        other.tick(T + 20 * MINUTE)
        assert other.promise("x")["param"] == {"data": "b"}

    def test_a_schedule_that_runs_out_goes_dormant(self, client):
        client.schedule(cron="0 0 0 1 2 ? 2024", promiseTimeout=DAY)
        client.tick(T + 400 * DAY)
        record = client.ok("schedule.get", id="s")["schedule"]
        assert "nextRunAt" not in record
        assert record["lastRunAt"] == T + 31 * DAY
        client.tick(T + 800 * DAY)
        assert len(client.stored()) == 1
        assert client.engine.trace[-1].effect == "fired for the last time"
        assert client.ok("schedule.search")["schedules"] == [record]

    def test_a_clock_beyond_the_calendar_fires_what_is_within_it_and_ends(self, client):
        client.schedule(cron="0 0 1 1 *")
        client.tick(2**62)
        assert len(client.stored()) == 76  # 2025 to 2100
        assert client.engine.peek_ms() is None
        data = {"promiseId": "p", "promiseTimeout": 1, "promiseTags": TARGETED}
        assert client.send("schedule.create", id="t", cron="* * * * *", **data)[0] == 400

    def test_a_clock_before_1970_sees_the_first_tick_of_the_calendar(self):
        client = Client(now=-(10**9))
        assert client.schedule(cron="0 0 1 1 *")["nextRunAt"] == 0

    @settings(max_examples=40)
    @given(
        cron=st.sampled_from(
            ["* * * * * *", "*/7 * * * *", "0 9 * * MON-FRI", "0 0 29 2 *", "5-9 3 * * ?"]
        ),
        start=st.integers(T, T + 400 * DAY),
        waits=st.lists(st.integers(0, 5000), min_size=1, max_size=4),
    )
    def test_ticks_are_exactly_the_chain_of_next(self, cron, start, waits):
        expression = CronExpression(cron)
        step = expression.next_ms(expression.next_ms(T)) - expression.next_ms(T)
        client = Client(now=start)
        client.schedule(cron=cron, promiseId="{{.timestamp}}")
        for wait in waits:
            client.tick(client.now + wait * step // 1000)
        chain, tick = [], expression.next_ms(start)
        while tick <= client.now:
            chain.append(tick)
            tick = expression.next_ms(tick)
        assert sorted(int(id) for id in client.engine.state.promises) == chain
        assert client.ok("schedule.get", id="s")["schedule"]["nextRunAt"] == tick
        assert client.engine.check() == []

    @pytest.mark.parametrize("profile", PROFILES)
    @pytest.mark.parametrize("tags", [TARGETED, {**TARGETED, "resonate:timer": "true"}])
    @pytest.mark.parametrize("timeout", [0, 90 * SECOND, HOUR, 2**63 - 1])
    def test_ticks_fired_at_once_are_as_ticks_fired_alone(self, profile, tags, timeout):
        # A lone tick takes another way than many, and must leave the same rows.
        rules = PROFILES[profile].replace(
            name="mine", catch_up="every tick", expiry="processing time"
        )
        rows = []
        for alone in (True, False):
            mine = rules.replace(catch_up="one tick a run") if alone else rules
            client = Client(mine)
            client.schedule(cron="* * * * *", promiseTimeout=timeout, promiseTags=tags)
            for _ in range(5 if alone else 1):
                client.tick(T + 5 * MINUTE)
            rows.append(list(client.engine.state.promises.values()))
        if rules.fired_retry_from == "tick":
            # Those retries are overdue at birth, and the ticks after the first take them.
            rows = [[row._replace(task=row.task.record(row.id)) for row in each] for each in rows]
        assert rows[0] == rows[1]

    def test_work_grows_with_the_ticks_and_every_record_is_real(self):
        for n in (10, 1_000, 30_000):
            client = Client()
            client.schedule(cron="* * * * * *", promiseTimeout=10**9)
            client.tick(T + n * SECOND)
            state = client.engine.state
            assert len(state.promises) == len(state.tasks) == len(state.executes) == n
            assert len(client.engine.trace) == 2
            for k in (1, n // 2, n):
                promise = client.promise(f"s-{T + k * SECOND}")
                assert promise["createdAt"] == T + k * SECOND
                assert promise["tags"]["resonate:schedule"] == "s"
            assert client.engine.check() == []


class TestExpiredAtCreation:
    """The path that the document asks to test explicitly."""

    def test_it_is_settled_with_its_task_fulfilled_and_nobody_told(self, client):
        client.schedule(promiseTimeout=MINUTE)
        client.tick(T + 15 * MINUTE)
        tick, id = T + 10 * MINUTE, f"s-{T + 10 * MINUTE}"
        promise = client.promise(id)
        assert promise["state"] == "rejected_timedout"
        assert promise["createdAt"] == tick
        assert promise["settledAt"] == promise["timeoutAt"] == tick + MINUTE
        assert promise["value"] == {}
        assert client.ok("task.get", id=id)["task"] == {
            "id": id, "state": "fulfilled", "version": 0, "resumes": 0,
        }  # fmt: skip
        snap = client.ok("debug.snap")
        assert snap["messages"] == snap["promiseTimeouts"] == snap["taskTimeouts"] == []

    def test_a_timer_is_resolved_instead(self, client):
        client.schedule(promiseTimeout=MINUTE, promiseTags={**TARGETED, "resonate:timer": "true"})
        client.tick(T + 15 * MINUTE)
        assert client.promise(f"s-{T + 10 * MINUTE}")["state"] == "resolved"

    @pytest.mark.parametrize(("late", "state"), [(-1, "pending"), (0, "rejected_timedout")])
    def test_a_deadline_at_the_processing_time_has_passed(self, client, late, state):
        client.schedule(promiseTimeout=MINUTE)
        client.tick(T + 11 * MINUTE + late)
        assert client.stored()[f"s-{T + 10 * MINUTE}"]["state"] == state

    def test_a_timeout_of_zero_always_expires(self, client):
        client.schedule(promiseTimeout=0)
        client.tick(T + 10 * MINUTE)
        promise = client.promise(f"s-{T + 10 * MINUTE}")
        assert promise["settledAt"] == promise["createdAt"] == T + 10 * MINUTE

    def test_after_two_hours_nine_of_twelve_are_expired(self, client):
        client.schedule(promiseTimeout=30 * MINUTE)
        client.tick(T + 2 * HOUR)
        promises = list(client.stored().values())
        assert [p["state"] for p in promises] == ["rejected_timedout"] * 9 + ["pending"] * 3
        assert [p.get("settledAt") for p in promises[:9]] == [
            p["createdAt"] + 30 * MINUTE for p in promises[:9]
        ]
        sent = [m["message"]["data"]["task"]["id"] for m in client.ok("debug.snap")["messages"]]
        assert sent == [p["id"] for p in promises[9:]]

    def test_a_huge_timeout_ends_with_64_bits(self, client):
        client.schedule(cron="* * * * * *", promiseTimeout=2**63 - 1)
        client.tick(T + 3 * SECOND)
        assert {p["timeoutAt"] for p in client.stored().values()} == {2**63 - 1}
        assert client.engine.check() == []


class TestDispatch:
    def test_a_live_tick_arms_its_timers_and_sends_one_message(self, client):
        client.schedule()
        client.tick(T + 12 * MINUTE)
        id, tick = f"s-{T + 10 * MINUTE}", T + 10 * MINUTE
        snap = client.ok("debug.snap")
        assert snap["promiseTimeouts"] == [{"id": id, "timeout": tick + HOUR}]
        # The retry counts from the processing time, not from the tick.
        assert snap["taskTimeouts"] == [
            {"id": id, "type": 0, "timeout": T + 12 * MINUTE + 30 * SECOND}
        ]
        assert snap["messages"] == [
            {
                "address": TARGET,
                "message": {
                    "kind": "execute",
                    "head": {},
                    "data": {"task": {"id": id, "version": 0}},
                },
            }
        ]

    def test_a_task_that_nobody_acquires_is_sent_again_under_the_same_key(self, client):
        client.schedule()
        client.tick(T + 10 * MINUTE)
        client.tick(T + 10 * MINUTE + 30 * SECOND)
        snap = client.ok("debug.snap")
        assert len(snap["messages"]) == 1
        assert snap["taskTimeouts"][0]["timeout"] == T + 11 * MINUTE
        assert client.engine.trace[-1].step == "retry"

    def test_at_its_deadline_a_promise_settles_and_its_task_with_it(self, client):
        client.schedule(promiseTimeout=MINUTE)
        client.tick(T + 10 * MINUTE)
        client.tick(T + 15 * MINUTE)
        id = f"s-{T + 10 * MINUTE}"
        assert client.stored()[id]["settledAt"] == T + 11 * MINUTE
        assert client.ok("task.get", id=id)["task"]["state"] == "fulfilled"
        assert client.ok("debug.snap")["taskTimeouts"] == []

    def test_what_is_overdue_is_settled_before_it_is_retried(self, client):
        client.schedule(promiseTimeout=30 * SECOND)
        client.tick(T + 10 * MINUTE)
        client.tick(T + 10 * MINUTE + 30 * SECOND)
        assert [step.step for step in client.engine.trace[-2:]] == [
            "schedule firing",
            "promise timeout",
        ]


class TestPromises:
    def test_a_targeted_promise_gets_timers_task_and_message(self, client):
        promise = client.ok("promise.create", id="p", timeoutAt=T + HOUR, tags=TARGETED)["promise"]
        assert promise == {
            "id": "p", "state": "pending", "param": {}, "value": {}, "tags": TARGETED,
            "timeoutAt": T + HOUR, "createdAt": T,
        }  # fmt: skip
        snap = client.ok("debug.snap")
        assert snap["taskTimeouts"] == [{"id": "p", "type": 0, "timeout": T + 30 * SECOND}]
        assert len(snap["messages"]) == len(snap["promiseTimeouts"]) == 1

    def test_creating_again_returns_the_first_unchanged(self, client):
        first = client.ok("promise.create", id="p", timeoutAt=T + HOUR, tags=TARGETED)
        client.now += MINUTE
        assert client.ok("promise.create", id="p", timeoutAt=T + DAY, param={"data": "x"}) == first

    @pytest.mark.parametrize(
        ("tags", "state"), [({}, "rejected_timedout"), ({"resonate:timer": "true"}, "resolved")]
    )
    def test_past_its_deadline_it_is_created_settled(self, client, tags, state):
        promise = client.ok("promise.create", id="p", timeoutAt=T, tags={**TARGETED, **tags})[
            "promise"
        ]
        assert promise["state"] == state
        assert promise["createdAt"] == promise["settledAt"] == T
        assert client.ok("task.get", id="p")["task"]["state"] == "fulfilled"
        assert client.ok("debug.snap")["messages"] == []

    @pytest.mark.parametrize("kind", ["promise.get", "promise.create"])
    def test_a_touch_settles_what_is_overdue(self, client, kind):
        client.ok("promise.create", id="p", timeoutAt=T + MINUTE)
        client.now = T + HOUR
        assert client.stored()["p"]["state"] == "pending"
        data = {"id": "p"} if kind == "promise.get" else {"id": "p", "timeoutAt": T + DAY}
        promise = client.ok(kind, **data)["promise"]
        assert promise["state"] == "rejected_timedout"
        assert promise["settledAt"] == T + MINUTE
        assert client.stored()["p"] == promise

    def test_timers_settle_at_a_tick_and_plain_promises_wait_for_a_touch(self, client):
        client.ok("promise.create", id="timer", timeoutAt=T + 1, tags={"resonate:timer": "true"})
        client.ok("promise.create", id="plain", timeoutAt=T + 1)
        client.tick(T + 1)
        assert {id: p["state"] for id, p in client.stored().items()} == {
            "timer": "resolved",
            "plain": "pending",
        }

    def test_a_delay_holds_the_message_back(self, client):
        tags = {**TARGETED, "resonate:delay": str(T + MINUTE)}
        client.ok("promise.create", id="p", timeoutAt=T + HOUR, tags=tags)
        assert client.ok("debug.snap")["messages"] == []
        assert client.engine.peek_ms() == T + MINUTE
        client.tick(T + MINUTE)
        snap = client.ok("debug.snap")
        assert len(snap["messages"]) == 1
        assert snap["taskTimeouts"][0]["timeout"] == T + MINUTE + 30 * SECOND

    def test_a_delay_that_is_over_holds_nothing_back(self, client):
        tags = {**TARGETED, "resonate:delay": str(T)}
        client.ok("promise.create", id="p", timeoutAt=T + HOUR, tags=tags)
        assert len(client.ok("debug.snap")["messages"]) == 1

    def test_search_finds_by_state_and_by_the_tags_of_a_firing(self, client):
        client.schedule(promiseTimeout=15 * MINUTE)
        client.ok("promise.create", id="other", timeoutAt=T + DAY)
        client.tick(T + 30 * MINUTE)
        found = client.ok("promise.search", tags={"resonate:schedule": "s"})["promises"]
        assert len(found) == 3
        pending = client.ok("promise.search", tags={"resonate:schedule": "s"}, state="pending")
        assert [p["createdAt"] for p in pending["promises"]] == [T + 20 * MINUTE, T + 30 * MINUTE]
        origin = client.ok("promise.search", tags={"resonate:origin": found[0]["id"]})
        assert origin["promises"] == [found[0]]

    def test_search_shows_what_is_stored(self, client):
        client.ok("promise.create", id="p", timeoutAt=T + 1)
        client.now = T + HOUR
        assert client.ok("promise.search")["promises"][0]["state"] == "pending"

    def test_promises_and_tasks_come_a_hundred_a_page(self, client):
        client.schedule(cron="* * * * * *")
        client.tick(T + 101 * SECOND)
        assert len(client.ok("promise.search")["promises"]) == 100
        page = client.ok("task.search", state="pending")
        assert len(page["tasks"]) == 100
        assert page["cursor"] == page["tasks"][-1]["id"]


class TestDebug:
    def test_snap_of_nothing(self, client):
        names = [
            "promises",
            "promiseTimeouts",
            "callbacks",
            "listeners",
            "tasks",
            "taskTimeouts",
            "messages",
        ]
        assert client.ok("debug.snap") == {name: [] for name in names}

    def test_reset_empties_everything(self, client):
        client.schedule()
        client.tick(T + HOUR)
        assert client.ok("debug.reset") == {}
        assert client.stored() == {}
        assert client.ok("schedule.search") == {"schedules": []}
        assert client.engine.peek_ms() is None

    def test_start_and_stop_are_answered(self, client):
        assert client.ok("debug.start") == client.ok("debug.stop") == {}


class TestRulesOfOtherProfiles:
    """Each rule is one switch; `replace` is how the other profiles will be written."""

    def client(self, **rules):
        return Client(STANDARD.replace(name="mine", **rules))

    def test_one_tick_a_run(self):
        client = self.client(catch_up="one tick a run")
        client.schedule()
        client.tick(T + HOUR)
        assert len(client.stored()) == 1
        assert client.engine.peek_ms() == T + 20 * MINUTE
        assert client.engine.outage(0).fired == 5

    def test_expiry_by_the_tick(self):
        client = self.client(expiry="tick")
        client.schedule("late", promiseTimeout=1)
        client.schedule("never", promiseTimeout=0)
        client.tick(T + 10 * MINUTE + 30)
        assert [p["state"] for p in client.stored().values()] == ["pending", "rejected_timedout"]

    def test_created_at_the_timeout(self):
        client = self.client(expired_created_at="timeout")
        client.schedule(promiseTimeout=MINUTE)
        client.tick(T + HOUR)
        expired = [p for p in client.stored().values() if p["state"] != "pending"]
        assert len(expired) == 5
        assert all(p["createdAt"] == p["timeoutAt"] for p in expired)

    def test_without_added_tags(self):
        client = self.client(adds_tags=False)
        client.schedule()
        client.tick(T + 10 * MINUTE)
        assert client.promise(f"s-{T + 10 * MINUTE}")["tags"] == TARGETED

    def test_schedules_without_target(self):
        client = self.client(schedule_needs_target=False, adds_tags=False)
        client.schedule(promiseTags={})
        client.tick(T + 10 * MINUTE)
        snap = client.ok("debug.snap")
        assert len(snap["promises"]) == 1
        assert snap["tasks"] == snap["messages"] == snap["promiseTimeouts"] == []
        assert client.engine.check() == []

    def test_searches_not_served(self):
        client = self.client(serves_search=False)
        for table in ("promise", "task", "schedule"):
            assert client.send(f"{table}.search")[0] == 501

    def test_delay_ignored(self):
        client = self.client(delay_honoured=False)
        tags = {**TARGETED, "resonate:delay": str(T + MINUTE)}
        client.ok("promise.create", id="p", timeoutAt=T + HOUR, tags=tags)
        assert len(client.ok("debug.snap")["messages"]) == 1

    def test_order_of_creation(self):
        client = self.client(due_order="creation")
        client.schedule("b", promiseId="x", promiseParam={"data": "b"})
        client.schedule("a", promiseId="x", promiseParam={"data": "a"})
        client.tick(T + HOUR)
        assert client.promise("x")["param"] == {"data": "b"}

    def test_a_minute_later_where_there_is_no_next_tick(self):
        client = self.client(fallback_ms=MINUTE)
        assert client.schedule(cron="0 0 30 2 *")["nextRunAt"] == T + MINUTE
        client.tick(T + 3 * MINUTE)
        assert len(client.stored()) == 3
        client.schedule("once", "0 4 0 1 1 ? 2024")
        client.tick(T + 6 * MINUTE)
        ids = [id for id in client.stored() if id.startswith("once")]
        assert ids == [f"once-{T + n * MINUTE}" for n in (4, 5, 6)]

    def test_a_cursor_that_wraps(self):
        client = self.client(cursor_wraps=True)
        client.schedule("a")
        assert len(client.ok("schedule.search", cursor="z")["schedules"]) == 1

    def test_retry_interval(self):
        client = self.client(retry_ms=5 * SECOND)
        client.schedule()
        client.tick(T + 10 * MINUTE)
        assert client.engine.peek_ms() == T + 10 * MINUTE + 5 * SECOND


class TestTime:
    def test_requests_without_a_time_happen_now(self):
        engine = Engine(now=T)
        head = {"corrId": "1", "version": "2026-04-01"}
        engine.send(
            {"kind": "promise.create", "head": head, "data": {"id": "p", "timeoutAt": T + 1}}
        )
        assert engine.promises.get("p").created_at == T

    def test_the_clock_follows_requests_and_never_goes_back(self, client):
        client.tick(T + HOUR)
        assert client.engine.now_ms == T + HOUR
        client.now = T
        assert client.ok("promise.create", id="p", timeoutAt=T + 1)["promise"]["createdAt"] == T
        assert client.engine.now_ms == T + HOUR
        assert client.engine.now == pd.Timestamp(T + HOUR, unit="ms", tz="UTC")

    def test_requests_run_nothing_that_is_due(self, client):
        client.schedule()
        client.now = T + HOUR
        assert client.stored() == {}
        assert client.engine.peek_ms() == T + 10 * MINUTE

    def test_advance_takes_every_step_when_it_is_due(self, client):
        client.schedule(promiseTimeout=MINUTE)
        client.engine.advance("21m")
        assert client.engine.now_ms == T + 21 * MINUTE
        assert [(step.at, step.step) for step in client.engine.trace[1:]] == [
            (T + 10 * MINUTE, "schedule firing"),
            (T + 10 * MINUTE + 30 * SECOND, "retry"),
            (T + 11 * MINUTE, "promise timeout"),
            (T + 20 * MINUTE, "schedule firing"),
            (T + 20 * MINUTE + 30 * SECOND, "retry"),
            (T + 21 * MINUTE, "promise timeout"),
        ]

    def test_step_takes_one_and_says_which(self, client):
        client.schedule(promiseTimeout=MINUTE)
        steps = [client.engine.step() for _ in range(4)]
        assert [(s.at, s.step, s.effect) for s in steps] == [
            (T + 10 * MINUTE, "schedule firing", "fired"),
            (T + 10 * MINUTE + 30 * SECOND, "retry", "dispatched"),
            (T + 11 * MINUTE, "promise timeout", "rejected_timedout"),
            (T + 20 * MINUTE, "schedule firing", "fired"),
        ]
        assert client.engine.now_ms == T + 20 * MINUTE
        assert client.engine.trace[1:] == steps

    def test_steps_and_run_until_agree(self):
        one, other = Client(), Client()
        for client in (one, other):
            client.schedule("a", "*/3 * * * *", promiseTimeout=2 * MINUTE)
            client.schedule("b", "*/5 * * * *", promiseTimeout=15 * SECOND)
        one.engine.run_until(T + HOUR)
        while other.engine.peek_ms() <= T + HOUR:
            other.engine.step()
        assert one.ok("debug.snap") == other.ok("debug.snap")
        assert one.engine.trace == other.engine.trace

    def test_what_is_overdue_happens_now(self, client):
        client.schedule()
        client.now = T + HOUR
        client.ok("debug.snap")
        assert client.engine.step().at == T + HOUR
        assert client.engine.now_ms == T + HOUR

    def test_a_step_with_nothing_armed_is_refused(self, client):
        assert client.engine.peek_ms() is None
        with pytest.raises(
            EmptyAgenda, match="nothing is taken after 2024-01-01 00:00:00Z: create a"
        ):
            client.engine.step()

    def test_time_does_not_go_back(self, client):
        for go in (
            lambda: client.engine.run_until(T - 1),
            lambda: client.engine.advance("-1s"),
            lambda: client.engine.outage(-1),
        ):
            with pytest.raises(WindowError, match=r"2023-12-31 23:59:59.*2024-01-01 00:00:00Z"):
                go()
        client.engine.run_until(T)

    def test_an_outage_fires_nothing_until_its_end(self, client):
        client.schedule(promiseTimeout=30 * MINUTE)
        outage = client.engine.outage("2h")
        assert (outage.fired, outage.expired, outage.live) == (12, 9, 3)
        assert (outage.down_at, outage.up_at) == (T, T + 2 * HOUR)
        assert client.engine.now_ms == T + 2 * HOUR
        assert all(step.at == T + 2 * HOUR for step in outage.steps)
        assert repr(outage) == (
            "Outage(2 h to 2024-01-01 02:00:00Z: 12 ticks fired, 3 live, 9 expired, 1 steps)"
        )
        assert "schedule firing" in outage._repr_html_()

    def test_an_outage_in_which_nothing_falls_due_does_nothing(self, client):
        assert client.engine.outage("1d").steps == []


class TestPythonFace:
    def test_create_get_delete_speak_in_records(self):
        engine = Engine(now="2024-01-01")
        made = engine.schedules.create(
            "s", cron="0 9 * * MON-FRI", promise_timeout="1h", target=TARGET
        )
        assert isinstance(made, Schedule)
        assert made == engine.schedules.get("s")
        assert (made.promise_timeout, made.promise_tags) == (HOUR, TARGETED)
        engine.schedules.delete("s")
        with pytest.raises(ProtocolError) as caught:
            engine.schedules.get("s")
        assert (caught.value.status, caught.value.message) == (404, "Schedule not found")

    def test_a_promise_takes_a_duration_or_an_instant(self):
        engine = Engine(now="2024-01-01")
        assert engine.promises.create("a", timeout="1h").timeout_at == T + HOUR
        assert engine.promises.create("b", timeout_at="2024-01-01 01:00").timeout_at == T + HOUR
        for deadline in ({}, {"timeout": 1, "timeout_at": T}):
            with pytest.raises(
                TypeError, match=r"'c' needs a deadline: give timeout or timeout_at"
            ):
                engine.promises.create("c", **deadline)

    def test_a_refused_cron_names_the_token_as_its_cause(self):
        with pytest.raises(ProtocolError, match="Invalid cron expression") as caught:
            Engine().schedules.create("s", cron="0 9 * * 0", target=TARGET)
        assert caught.value.__cause__.token == "0"

    def test_other_refusals_have_no_cause(self):
        with pytest.raises(ProtocolError, match="must include a resonate:target tag") as caught:
            Engine().schedules.create("s", cron="0 9 * * 2")
        assert caught.value.__cause__ is None

    def test_search_walks_all_pages(self):
        engine = Engine(now=T)
        engine.schedules.create("s", cron="* * * * * *", target=TARGET)
        engine.outage(2500 * SECOND)
        found = engine.promises.search(tags={"resonate:schedule": "s"})
        assert len(found) == len(engine.promises) == len(engine.tasks) == 2500
        assert all(isinstance(record, Promise) for record in found)
        assert [record.id for record in engine.tasks] == [record.id for record in found]
        assert engine.tasks.search(state="fulfilled") == []
        assert isinstance(engine.tasks.get(found[0].id), Task)
        assert len(engine.schedules.search({"resonate:target": TARGET})) == 1
        assert engine.promises.search(state="resolved") == []

    def test_everything_has_a_look(self):
        engine = Engine(now=T)
        engine.schedules.create("<b>", cron="* * * * * *", target=TARGET)
        engine.outage(20 * SECOND)
        assert "now: 2024-01-01 00:00:20Z" in repr(engine)
        assert "next step" in engine._repr_html_()
        assert repr(engine.promises).startswith("<20 promises of Engine(")
        for view in (engine.schedules, engine.promises, engine.tasks):
            html = view._repr_html_()
            assert "&lt;b&gt;" in html
            assert "<b>" not in html

    def test_answers_share_nothing_with_the_state(self, client):
        client.schedule()
        client.tick(T + 10 * MINUTE)
        before = client.ok("debug.snap")
        client.ok("schedule.get", id="s")["schedule"]["promiseTags"].clear()
        client.promise(f"s-{T + 10 * MINUTE}")["tags"].clear()
        client.ok("debug.snap")["promises"][0]["param"]["data"] = "changed"
        assert client.ok("debug.snap") == before


class TestAllOrNothing:
    @pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ZeroDivisionError])
    def test_a_run_that_fails_leaves_the_state_as_it_was(self, client, monkeypatch, error):
        client.schedule("a")
        client.schedule("b")
        client.tick(T + HOUR)
        before = client.ok("debug.snap"), client.ok("schedule.search"), client.engine.trace
        real = internal.missed_ticks

        def fails(profile, row, now, most):
            if row.id == "b":
                raise error
            return real(profile, row, now, most)

        with monkeypatch.context() as patch:
            patch.setattr(internal, "missed_ticks", fails)
            for go in (lambda: client.tick(T + DAY), lambda: client.engine.outage(DAY)):
                with pytest.raises(error):
                    go()
        client.now = client.engine.now_ms
        assert client.now == T + HOUR
        assert (
            client.ok("debug.snap"),
            client.ok("schedule.search"),
            client.engine.trace,
        ) == before
        assert client.engine.check() == []
        assert gc.isenabled()
        client.tick(T + DAY)
        assert len(client.stored()) == 2 * 144

    def test_a_run_without_measure_is_refused_whole(self, client, monkeypatch):
        monkeypatch.setattr(internal, "LOAD_LIMIT", 1000)
        client.schedule("minutely", "* * * * *")
        client.schedule("secondly", "* * * * * *")
        client.now = T + HOUR
        status, text = client.send("debug.tick", time=client.now)
        assert status == 400
        assert "'secondly' ('* * * * * *') is due since 2024-01-01 00:00:01Z" in text
        assert "go there in several shorter steps" in text
        assert client.stored() == {}
        with pytest.raises(WindowError, match="shorter steps"):
            Engine.outage(client.engine, HOUR)
        client.tick(T + 10 * MINUTE)
        assert len(client.stored()) == 610

    def test_a_century_of_seconds_is_refused_at_once(self, client):
        client.schedule(cron="* * * * * *")
        client.now = 2**62
        assert client.send("debug.tick", time=client.now)[0] == 400
        assert client.stored() == {}

    def test_long_ids_count_more(self, client):
        client.schedule("s" * 100_000, "* * * * * *")
        client.now = T + DAY
        assert client.send("debug.tick", time=client.now)[0] == 400
        client.tick(T + MINUTE)
        assert len(client.stored()) == 60


def members(kind):
    return [wire_name(field.name) for field in fields(kind)]


def nested(depth):
    value = {}
    for _ in range(depth):
        value = {"data": value, "id": [value]}
    return value


class TestHostileInput:
    @pytest.mark.parametrize(
        "envelope",
        [None, True, 5, 1.5, float("nan"), "x", b"x", [], [[]], {}, {"kind": []}, {1: 2}, object()],
    )
    def test_what_is_no_envelope_gets_an_answer(self, envelope):
        response = Engine().send(envelope)
        assert response["head"] == {"corrId": "0", "status": 400, "version": "2026-04-01"}
        assert response["kind"] == "unknown"
        assert response["data"].startswith("Invalid request envelope: ")

    def test_kind_and_id_are_recovered_where_they_can_be(self):
        response = Engine().send({"kind": "promise.get", "head": {"corrId": "7"}})
        assert response["kind"] == "promise.get"
        assert response["head"]["corrId"] == "7"

    @pytest.mark.parametrize(
        "kind", ["promise.create", "schedule.create", "promise.search", "debug.tick", "x"]
    )
    def test_nesting_ten_thousand_deep_is_only_a_wrong_shape(self, kind):
        deep = nested(10_000)
        head = {"corrId": "1", "version": "2026-04-01", "deep": deep}
        for data in (deep, {"id": "p", "timeoutAt": 1, "param": deep}, {"id": "p", "tags": deep}):
            assert Engine().send({"kind": kind, "head": head, "data": data})["head"]["status"] in (
                200,
                400,
            )
        assert Engine().send(deep)["head"]["status"] == 400

    @pytest.mark.parametrize(
        "id",
        [
            "\0",
            "\ud800",
            "x" * 1_000_000,
            "<script>",
            "__proto__",
            "=1+1",
            "\u202e",
            " ",
            "{{x}}",
            "😀",
        ],
    )
    def test_odd_ids_are_kept_as_they_are(self, client, id):
        assert client.schedule(id)["id"] == id
        client.tick(T + 10 * MINUTE)
        assert client.promise(f"{id}-{T + 10 * MINUTE}")["tags"]["resonate:schedule"] == id
        assert client.ok("schedule.search")["schedules"][0]["id"] == id
        assert client.ok("promise.search", tags={"resonate:schedule": id})["promises"]
        assert client.engine.check() == []
        repr(client.engine), repr(client.engine.trace), client.engine.promises._repr_html_()

    @pytest.mark.parametrize("time", [-(2**63), -1, 0, 2**63 - 1])
    def test_every_instant_of_64_bits_is_taken(self, time):
        client = Client(now=0)
        client.schedule(cron="0 0 1 1 *", promiseTimeout=2**63 - 1)
        client.tick(time)
        client.ok("promise.create", id="p", timeoutAt=2**63 - 1, tags=TARGETED)
        client.tick(time)
        repr(client.engine), client.engine._repr_html_(), client.ok("debug.snap")

    ODD = st.sampled_from([2**63, -(2**63), "poll://any@g", "* * * * *", "pending", T])
    SCALAR = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | ODD
    JSON = st.recursive(
        SCALAR,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
        ),
        max_leaves=6,
    )
    NAMES = st.sampled_from(sorted({name for kind in REQUESTS.values() for name in members(kind)}))
    KINDS = st.sampled_from([*sorted(REQUESTS), "?"])

    @settings(max_examples=300)
    @given(kind=KINDS | JSON, data=st.dictionaries(NAMES, JSON) | JSON, head=st.none() | JSON)
    def test_any_json_is_answered(self, kind, data, head):
        head = {"corrId": "1", "version": "2026-04-01"} if head is None else head
        engine = Engine(now=T)
        response = engine.send({"kind": kind, "head": head, "data": data})
        assert isinstance(response["head"]["status"], int)
        assert (response["head"]["status"] < 400) or isinstance(response["data"], str)
        assert engine.check() == []


class Machine(RuleBasedStateMachine):
    """Clients, time and outages in any order: the laws hold after every step."""

    SCHEDULES = st.sampled_from(["a", "b", "c"])
    CRONS = st.sampled_from(
        ["* * * * *", "*/7 * * * * *", "0 */6 * * *", "0 0 0 2 1 ? 2024", "30 3 13 * FRI"]
    )
    TEMPLATES = st.sampled_from(["{{.id}}-{{.timestamp}}", "{{.timestamp}}", "fixed", "{{.id}}"])
    TIMEOUTS = st.sampled_from([0, 1, 20 * SECOND, MINUTE, HOUR, 2**63 - 1])
    TAGS = st.sampled_from(
        [{}, TARGETED, {**TARGETED, "resonate:timer": "true"}, {"resonate:timer": "true"}]
    )
    WAITS = st.sampled_from([0, 1, SECOND, 30 * SECOND, MINUTE, 10 * MINUTE])

    @initialize()
    def start(self):
        self.client = Client()
        self.created = {}
        self.fired = {}

    @property
    def engine(self):
        return self.client.engine

    def account(self):
        """Take down which ticks the trace says were fired, by schedule."""
        self.client.now = self.engine.now_ms
        for step in self.engine.trace[self.seen :]:
            if step.ticks:
                self.fired.setdefault(step.subject, []).append(step.ticks)
        self.seen = len(self.engine.trace)

    seen = 0

    @rule(id=SCHEDULES, cron=CRONS, promiseId=TEMPLATES, promiseTimeout=TIMEOUTS, tags=TAGS)
    def create_schedule(self, id, cron, tags, **data):
        data["promiseTags"] = {**TARGETED, **tags}
        status, answer = self.client.send("schedule.create", id=id, cron=cron, **data)
        if status == 200 and id not in self.created:
            self.created[id] = answer["schedule"]["createdAt"]
            self.fired.pop(id, None)

    @rule(id=SCHEDULES)
    def delete_schedule(self, id):
        status, _ = self.client.send("schedule.delete", id=id)
        assert (status == 200) == (self.created.pop(id, None) is not None)

    @rule(id=st.sampled_from(["fixed", "p", "q"]), timeout=st.integers(0, 5 * MINUTE), tags=TAGS)
    def create_promise(self, id, timeout, tags):
        self.client.ok("promise.create", id=id, timeoutAt=self.client.now + timeout, tags=tags)

    @rule(data=st.data())
    def touch(self, data):
        ids = self.engine.state.promise_ids()
        if ids:
            promise = self.client.promise(data.draw(st.sampled_from(ids)))
            assert promise["state"] != "pending" or promise["timeoutAt"] > self.client.now

    @rule(wait=WAITS)
    def tick(self, wait):
        self.client.tick(self.engine.now_ms + wait)
        self.account()
        before = self.client.ok("debug.snap")
        self.client.tick(self.client.now)
        after = self.client.ok("debug.snap")
        assert after["promises"] == before["promises"]
        self.account()

    @rule(wait=WAITS)
    def advance(self, wait):
        self.engine.advance(wait)
        self.account()

    @rule(wait=WAITS)
    def outage(self, wait):
        self.engine.outage(wait)
        self.account()

    @rule()
    def step(self):
        if self.engine.peek_ms() is not None:
            self.engine.step()
            self.account()

    @invariant()
    def the_laws_hold(self):
        assert self.engine.check() == [], self.engine.trace

    @invariant()
    def ticks_are_the_chain(self):
        for id, row in self.engine.state.schedules.items():
            tick = row.expression.next_ms(row.created_at)
            for ticks in self.fired.get(id, []):
                assert ticks.first == tick
                assert ticks.fired == row.expression.count_ms(ticks.first, ticks.last)
                tick = row.expression.next_ms(ticks.last)
            assert row.next_run_at == tick


TestMachine = Machine.TestCase
TestMachine.settings = settings(stateful_step_count=30)
