"""The two documents, sentence by sentence.

Each docstring is a normative sentence in short: where it stands, what it asks. *Guide* is
"Implementing schedules", the chapter of the specification; *Reference* is "Schedules & cron
reference", the page of the released server. Unless a test says otherwise the engine
answers in profile `standard`, which keeps both; the last class says what each profile does
where the two do not agree.
"""

import time
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from wire import DAY, HOUR, MINUTE, PROFILES, SECOND, TARGET, TARGETED, Client, T

from resonate_lab import CronExpression, Engine
from resonate_lab.engine import internal
from resonate_lab.errors import ProtocolError

TEN = 10 * MINUTE
FIRST, SECOND_TICK, THIRD = (T + n * TEN for n in (1, 2, 3))
FIVE = ("schedule", "origin", "branch", "parent", "prefix")


@pytest.fixture
def client():
    return Client()


def at(text):
    """Return an instant, ms, of a text in UTC."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def fires(cron, after, count=1):
    """Return the first instants at which a schedule with that text creates a promise."""
    client = Client(now=after)
    # Promises that are born settled: between two ticks nothing happens.
    client.schedule(cron=cron, promiseTimeout=0)
    while len(client.promises()) < count:
        client.tick(client.engine.peek_ms())
    return [promise["createdAt"] for promise in client.promises()]


class TestGuideWhatAScheduleIs:
    def test_it_creates_a_promise_at_each_tick(self, client):
        """Guide, opening: a schedule fires promise.create at each tick."""
        client.schedule()
        for n in range(1, 6):
            client.tick(T + n * TEN)
            assert len(client.promises()) == n

    def test_it_executes_no_work_the_promise_machinery_does_all_that_follows(self, client):
        """Guide, opening: what a tick creates is an ordinary promise, with its task and message."""
        client.schedule(promiseId="fired")
        client.tick(FIRST)
        client.ok("promise.create", id="asked", timeoutAt=FIRST + HOUR, tags=TARGETED)
        snap = client.ok("debug.snap")
        for table in ("tasks", "promiseTimeouts", "taskTimeouts"):
            fired, asked = ({**item, "id": ""} for item in snap[table])
            assert fired == asked
        assert client.messages() == {"asked": TARGET, "fired": TARGET}

    def test_it_carries_everything_that_describes_the_work(self, client):
        """Guide, the schedule object: all that describes one class of recurring work."""
        asked = {
            "id": "s",
            "cron": "*/10 * * * *",
            "promiseId": "{{.id}}-{{.timestamp}}",
            "promiseTimeout": HOUR,
            "promiseParam": {"headers": {"h": "1"}, "data": "d"},
            "promiseTags": {**TARGETED, "env": "dev"},
        }
        record = client.ok("schedule.create", **asked)["schedule"]
        assert record == {**asked, "createdAt": T, "nextRunAt": FIRST}
        client.tick(FIRST)
        assert client.stored_schedule() == {
            **record,
            "nextRunAt": SECOND_TICK,
            "lastRunAt": FIRST,
        }


class TestGuideS01Get:
    def test_it_looks_up_by_id(self, client):
        """Guide, S-01: 200 with the schedule."""
        record = client.schedule()
        assert client.send("schedule.get", id="s") == (200, {"schedule": record})

    def test_an_unknown_id_is_404(self, client):
        """Guide, S-01: 404 if none exists."""
        assert client.send("schedule.get", id="s") == (404, "Schedule not found")

    def test_it_has_no_side_effects(self, client):
        """Guide, S-01: nothing changes, though ticks are due."""
        client.schedule()
        client.now = T + HOUR
        before = client.snap()
        client.ok("schedule.get", id="s")
        client.send("schedule.get", id="unknown")
        assert client.snap() == before


class TestGuideS02Create:
    def test_a_new_one_runs_next_at_the_next_tick_and_has_not_run(self, client):
        """Guide, S-02: nextRunAt is the tick after now, lastRunAt is none."""
        record = client.schedule()
        assert record["nextRunAt"] == FIRST
        assert "lastRunAt" not in record

    def test_its_timeout_is_armed_at_once(self, client):
        """Guide, S-02: the schedule timeout is armed at nextRunAt."""
        assert client.engine.peek_ms() is None
        record = client.schedule()
        assert client.engine.peek_ms() == record["nextRunAt"]

    @pytest.mark.parametrize(
        "other",
        [
            {},
            {"cron": "0 0 1 1 *"},
            {"promiseId": "other-{{.timestamp}}"},
            {"promiseTimeout": 1},
            {"promiseParam": {"data": "other"}},
            {"promiseTags": {"resonate:target": "poll://any@other"}},
        ],
        ids=lambda other: next(iter(other), "nothing"),
    )
    def test_an_existing_id_is_returned_unchanged(self, client, other):
        """Guide, S-02: fully idempotent: no update, no merge, whatever else is asked."""
        record = client.schedule()
        client.tick(FIRST)
        record = client.stored_schedule()
        before = client.snap()
        client.now += SECOND
        assert client.create(**{"cron": "*/10 * * * *", **other}) == (200, {"schedule": record})
        assert client.snap() == before

    def test_the_answer_is_200_at_first_and_again(self, client):
        """Guide, S-02: always 200, there is no 201."""
        assert [client.create()[0] for _ in range(3)] == [200, 200, 200]

    def test_created_at_tells_a_first_create_from_a_second(self, client):
        """Guide, S-02: a caller compares createdAt."""
        assert client.schedule()["createdAt"] == client.now
        client.now += SECOND
        assert client.schedule()["createdAt"] == client.now - SECOND

    @pytest.mark.parametrize("now", [FIRST - 1, FIRST, FIRST + 1, FIRST + 999])
    def test_the_next_fire_time_is_strictly_after(self, now):
        """Guide, S-02: nextCron returns the next fire time strictly after the instant."""
        record = Client(now=now).schedule()
        assert record["nextRunAt"] == (FIRST if now < FIRST else SECOND_TICK)

    def test_the_cron_format_is_documented(self, client, root):
        """Guide, S-02: which format it is, is the server's choice: document it."""
        assert "dialect" in client.engine.explain_profile()
        assert "| fields | 5, 6, 7 |" in (root / "docs" / "design.md").read_text(encoding="utf-8")


class TestGuideS03Delete:
    def test_an_unknown_id_is_404(self, client):
        """Guide, S-03: 404 if not found."""
        assert client.send("schedule.delete", id="s") == (404, "Schedule not found")

    def test_it_answers_200_and_the_schedule_is_gone(self, client):
        """Guide, S-03: 200, and the record is deleted."""
        client.schedule()
        assert client.send("schedule.delete", id="s") == (200, {})
        assert client.send("schedule.get", id="s")[0] == 404
        assert client.send("schedule.delete", id="s")[0] == 404

    def test_its_timeout_is_disarmed(self, client):
        """Guide, S-03: the disarm is required: nothing wakes for a gone schedule."""
        client.schedule()
        client.ok("schedule.delete", id="s")
        assert client.engine.peek_ms() is None
        steps = client.engine.state.steps
        client.engine.advance("1h")
        assert client.engine.state.steps == steps

    def test_record_and_timeout_go_together_or_not_at_all(self, client, monkeypatch):
        """Guide, S-03: atomically: both are removed, or neither."""
        client.schedule()
        before = client.snap()

        def fails(*words):
            raise MemoryError

        with monkeypatch.context() as patch:
            patch.setattr(type(client.engine.state), "log", fails)
            with pytest.raises(MemoryError):
                client.send("schedule.delete", id="s")
        assert client.snap() == before
        assert client.engine.check() == []
        client.tick(FIRST)
        assert client.ids() == [f"s-{FIRST}"]

    def test_a_firing_of_a_gone_schedule_does_nothing(self, client):
        """Guide, the firing side: none => pure ()."""
        before = client.snap()
        with client.engine.state.transaction() as steps:
            internal.fire(client.engine.state, FIRST, "gone")
        assert steps == []
        assert client.snap() == before


class TestGuideCatchUp:
    def test_it_fires_for_every_missed_occurrence(self, client):
        """Guide, the firing side: not once, but for every occurrence since the last run."""
        client.schedule(promiseTimeout=DAY)
        client.tick(FIRST)
        client.tick(T + HOUR)
        assert [p["createdAt"] for p in client.promises()] == [T + n * TEN for n in range(1, 7)]

    @pytest.mark.parametrize(("now", "count"), [(FIRST - 1, 0), (FIRST, 1), (FIRST + 1, 1)])
    def test_an_occurrence_is_due_from_its_own_instant_on(self, client, now, count):
        """Guide, step 1: due when nextRunAt <= now."""
        client.schedule()
        client.tick(now)
        assert len(client.promises()) == count

    def test_the_time_of_an_occurrence_is_logical(self, client):
        """Guide, step 2: cronTime is nextRunAt, not the wall clock."""
        client.schedule(promiseTimeout=DAY)
        client.tick(FIRST + 4321)
        (promise,) = client.promises()
        assert promise["createdAt"] == FIRST
        assert client.stored_schedule()["lastRunAt"] == FIRST

    def test_the_promise_id_is_expanded_from_template_id_and_tick(self, client):
        """Guide, step 3: expand s.promiseId s.id cronTime."""
        client.schedule("nightly", promiseId="{{.timestamp}}/{{.id}}")
        client.tick(FIRST + 4321)
        assert client.ids() == [f"{FIRST}/nightly"]

    def test_a_deadline_counts_from_the_tick(self, client):
        """Guide, step 4: timeoutAt = cronTime + promiseTimeout, whenever the handler ran."""
        client.schedule(promiseTimeout=DAY)
        client.tick(THIRD + 4321)
        deadlines = [promise["timeoutAt"] for promise in client.promises()]
        assert deadlines == [FIRST + DAY, SECOND_TICK + DAY, THIRD + DAY]

    def test_param_and_tags_are_those_of_the_schedule(self, client):
        """Guide, step 4: param := s.promiseParam, tags := s.promiseTags."""
        tags = {**TARGETED, "env": "dev"}
        client.schedule(promiseParam={"headers": {"h": "1"}, "data": "d"}, promiseTags=tags)
        client.tick(SECOND_TICK)
        for promise in client.promises():
            assert promise["param"] == {"headers": {"h": "1"}, "data": "d"}
            assert tags.items() <= promise["tags"].items()

    @pytest.mark.parametrize("cron", ["*/7 * * * *", "0 */3 * * *", "7,9 1-5 * * *"])
    def test_each_step_advances_from_the_tick_just_fired(self, cron):
        """Guide, step 5: the ticks are the chain of nextCron, each from the one before."""
        client = Client()
        client.schedule(cron=cron, promiseTimeout=2 * DAY)
        client.tick(T + DAY + 4321)
        chain, tick = [], CronExpression(cron).next_ms(T)
        while tick <= client.now:
            chain.append(tick)
            tick = CronExpression(cron).next_ms(tick)
        assert [promise["createdAt"] for promise in client.promises()] == chain
        assert client.stored_schedule()["lastRunAt"] == chain[-1]
        assert client.stored_schedule()["nextRunAt"] == tick

    def test_where_nothing_is_due_the_schedule_stays_as_it_is(self, client):
        """Guide, step 6: base case: s.nextRunAt > now."""
        # Promises that are born settled: no retry happens in the meantime.
        client.schedule(promiseTimeout=0)
        client.tick(FIRST)
        before = client.snap()
        client.tick(SECOND_TICK - 1)
        assert client.snap() == before

    def test_one_timeout_is_armed_at_the_next_tick(self, client):
        """Guide, after catchUp: the old timeout is disarmed, a new one armed at nextRunAt."""
        # Promises that are born settled arm nothing.
        client.schedule(promiseTimeout=0)
        client.tick(THIRD + 4321)
        assert client.engine.peek_ms() == client.stored_schedule()["nextRunAt"] == T + 4 * TEN
        assert client.engine.check() == []
        assert client.engine.step().at == T + 4 * TEN
        assert client.engine.peek_ms() == T + 5 * TEN


class TestGuideNormativeShapes:
    def test_one_promise_per_missed_occurrence_in_chronological_order(self, client):
        """Guide, catch-up shape: once per missed occurrence, in order, each at its own time."""
        client.schedule(promiseTimeout=DAY)
        client.tick(T + 12 * HOUR)
        created = list(client.engine.state.promises.values())
        ticks = [T + n * TEN for n in range(1, 73)]
        assert [row.id for row in created] == [f"s-{tick}" for tick in ticks]
        assert [row.created_at for row in created] == ticks

    def test_none_is_skipped_and_not_only_the_latest_is_fired(self, client):
        """Guide, catch-up shape: skipping ticks, or firing the most recent alone, is wrong."""
        client.schedule(cron="0 * * * *", promiseTimeout=30 * DAY)
        client.tick(T + 7 * DAY)
        assert len(client.promises()) == 7 * 24

    def test_an_existing_promise_is_returned_and_nothing_is_done(self, client):
        """Guide, idempotency: an id that exists is adopted unread; the schedule goes on."""
        client.schedule(promiseTimeout=DAY, promiseParam={"data": "from the schedule"})
        id = f"s-{SECOND_TICK}"
        mine = client.ok("promise.create", id=id, timeoutAt=T + DAY, param={"data": "mine"})
        client.tick(THIRD)
        assert client.ok("promise.get", id=id) == mine
        assert client.messages().keys() == {f"s-{FIRST}", f"s-{THIRD}"}
        assert client.stored_schedule()["nextRunAt"] == T + 4 * TEN

    def test_a_settled_promise_that_exists_is_not_opened_again(self, client):
        """Guide, idempotency: repeated catch-up calls for a fired tick are safe."""
        client.schedule(promiseTimeout=DAY)
        client.tick(FIRST)
        client.ok("promise.settle", id=f"s-{FIRST}", state="resolved", value={"data": "done"})
        client.ok("schedule.delete", id="s")
        client.now = T
        client.schedule(promiseTimeout=DAY)
        client.tick(SECOND_TICK)
        assert [p["state"] for p in client.promises()] == ["resolved", "pending"]

    def test_catching_up_again_creates_nothing(self, client):
        """Guide, idempotency: a second catch-up at the same instant finds nothing due."""
        client.schedule()
        client.tick(T + HOUR)
        before = client.snap()
        client.tick(T + HOUR)
        assert client.snap() == before

    def test_a_promise_may_be_past_its_deadline_when_it_is_created(self, client):
        """Guide, tick-anchored timeouts: such a one is created settled, not pending."""
        client.schedule(promiseTimeout=15 * MINUTE)
        client.tick(THIRD)
        first, second, third = client.promises()
        assert (first["state"], first["settledAt"]) == ("rejected_timedout", FIRST + 15 * MINUTE)
        assert (second["state"], third["state"]) == ("pending", "pending")

    @pytest.mark.parametrize(("late", "state"), [(-1, "pending"), (0, "rejected_timedout")])
    def test_a_deadline_that_is_now_has_passed(self, client, late, state):
        """Guide, tick-anchored timeouts: the edge, to the millisecond."""
        client.schedule(promiseTimeout=MINUTE)
        client.tick(FIRST + MINUTE + late)
        assert client.promises()[0]["state"] == state

    def test_a_timer_that_is_past_its_deadline_is_resolved(self, client):
        """Guide, tick-anchored timeouts: settled as its own deadline would have settled it."""
        client.schedule(promiseTimeout=MINUTE, promiseTags={**TARGETED, "resonate:timer": "true"})
        client.tick(SECOND_TICK - 1)
        assert [promise["state"] for promise in client.promises()] == ["resolved"]

    def test_one_that_is_expired_at_creation_dispatches_no_task(self, client):
        """Guide, tick-anchored timeouts: no message, no timer, the task fulfilled."""
        client.schedule(promiseTimeout=1)
        client.tick(FIRST + SECOND)
        snap = client.ok("debug.snap")
        assert [task["state"] for task in snap["tasks"]] == ["fulfilled"]
        assert snap["messages"] == snap["taskTimeouts"] == snap["promiseTimeouts"] == []
        assert client.send("task.acquire", id=f"s-{FIRST}", version=0, pid="w", ttl=1)[0] == 409

    def test_a_live_one_dispatches_its_task_to_the_target(self, client):
        """Guide, cross-references: with a target it has a task and an execute message."""
        client.schedule()
        client.tick(FIRST)
        assert client.messages() == {f"s-{FIRST}": TARGET}
        assert client.ok("task.get", id=f"s-{FIRST}")["task"]["state"] == "pending"

    def test_without_a_target_there_is_no_task(self):
        """Guide, cross-references: no target, no task, no message (profile spec)."""
        client = Client("spec")
        client.schedule(promiseTags={})
        client.tick(FIRST)
        snap = client.ok("debug.snap")
        assert len(snap["promises"]) == 1
        assert snap["tasks"] == snap["messages"] == []


class TestReferenceWhatAScheduleIs:
    def test_every_tick_is_a_new_promise(self, client):
        """Reference, what a schedule is: a new durable promise on every tick."""
        client.schedule()
        client.tick(THIRD)
        assert len(set(client.ids())) == 3

    def test_the_param_is_optional(self, client):
        """Reference, what a schedule is: an optional promise param."""
        assert client.schedule()["promiseParam"] == {}

    def test_tags_are_copied_onto_every_fired_promise(self, client):
        """Reference, what a schedule is: promise tags, copied onto every fired promise."""
        client.schedule(promiseTags={**TARGETED, "team": "data"})
        client.tick(THIRD)
        assert [promise["tags"]["team"] for promise in client.promises()] == ["data"] * 3

    def test_workers_receive_the_fired_promises_by_their_target(self, client):
        """Reference, what a schedule is: routed by resonate:target, the param with it."""
        client.schedule(promiseParam={"data": "work"}, promiseTags={"resonate:target": "http://w"})
        client.tick(FIRST)
        assert client.messages() == {f"s-{FIRST}": "http://w"}
        got = client.ok("task.acquire", id=f"s-{FIRST}", version=0, pid="w", ttl=HOUR)
        assert got["promise"]["param"] == {"data": "work"}


class TestReferenceCronFormat:
    @pytest.mark.parametrize(
        ("cron", "tick"),
        [
            ("30 9 * * *", "2024-01-01 09:30:00"),
            ("15 30 9 * * *", "2024-01-01 09:30:15"),
            ("15 30 9 1 2 * 2026", "2026-02-01 09:30:15"),
        ],
    )
    def test_five_six_and_seven_fields(self, cron, tick):
        """Reference, format: 5 fields; 6 with seconds first; 7 with the year last."""
        assert fires(cron, T) == [at(tick)]

    @pytest.mark.parametrize("cron", ["* * * *", "* * * * * * * *", "", "every day", "@never"])
    def test_other_texts_are_refused(self, client, cron):
        """Reference, format: 5, 6 or 7 fields, and nothing else."""
        status, text = client.create(cron=cron)
        assert status == 400
        assert text == ("Invalid cron expression" if cron else "Cron expression is required")

    @pytest.mark.parametrize(
        ("number", "name", "weekday"),
        [
            (1, "SUN", 6),
            (2, "MON", 0),
            (3, "TUE", 1),
            (4, "WED", 2),
            (5, "THU", 3),
            (6, "FRI", 4),
            (7, "SAT", 5),
        ],
    )
    def test_days_are_numbered_from_sunday_as_one(self, number, name, weekday):
        """Reference, weekdays: 1 = Sunday to 7 = Saturday, and what the names say."""
        for day in (str(number), name, name.lower()):
            (tick,) = fires(f"0 9 * * {day}", T)
            assert datetime.fromtimestamp(tick / 1000, UTC).weekday() == weekday

    def test_one_to_five_is_sunday_to_thursday(self):
        """Reference, weekdays: 1-5 is not Monday to Friday."""
        ticks = fires("0 9 * * 1-5", T, 5)
        days = [datetime.fromtimestamp(tick / 1000, UTC).strftime("%a") for tick in ticks]
        assert days == ["Mon", "Tue", "Wed", "Thu", "Sun"]

    @pytest.mark.parametrize("cron", ["0 9 * * 0", "0 9 * * 0-5", "0 0 9 * * 0", "0 9 * * 8"])
    def test_zero_is_no_valid_day(self, client, cron):
        """Reference, weekdays: 0 fails with "Invalid cron expression"."""
        assert client.create(cron=cron) == (400, "Invalid cron expression")
        assert client.ok("schedule.search") == {"schedules": []}

    def test_names_and_quartz_numbers_say_the_same(self):
        """Reference, weekdays: MON-FRI is 2-6."""
        assert fires("0 9 * * MON-FRI", T, 20) == fires("0 9 * * 2-6", T, 20)


class TestReferenceUtcOnly:
    def test_fires_at_nine_utc(self):
        """Reference, time zone: 0 9 * * MON-FRI fires at 09:00 UTC."""
        assert fires("0 9 * * MON-FRI", at("2024-07-05 09:00")) == [at("2024-07-08 09:00")]

    def test_what_that_is_elsewhere_in_summer_and_in_winter(self):
        """Reference, time zone: 02:00 in Los Angeles (PDT); Berlin moves with its clocks.

        The page says 10:00 in Berlin "(CEST)"; 10:00 is Berlin's winter, its summer is 11:00.
        """
        (summer,) = fires("0 9 * * MON-FRI", at("2024-07-01"))
        (winter,) = fires("0 9 * * MON-FRI", at("2024-01-01"))
        hours = {
            (zone, local.tzname()): local.hour
            for zone in ("America/Los_Angeles", "Europe/Berlin")
            for tick in (summer, winter)
            for local in [datetime.fromtimestamp(tick / 1000, ZoneInfo(zone))]
        }
        assert hours == {
            ("America/Los_Angeles", "PDT"): 2,
            ("America/Los_Angeles", "PST"): 1,
            ("Europe/Berlin", "CEST"): 11,
            ("Europe/Berlin", "CET"): 10,
        }

    def test_a_change_of_clocks_moves_nothing(self):
        """Reference, time zone: every day at 02:30 UTC, the days of the change included."""
        ticks = fires("30 2 * * *", at("2024-03-29"), 4) + fires("30 2 * * *", at("2024-10-25"), 4)
        assert {tick % DAY for tick in ticks} == {at("1970-01-01 02:30")}

    def test_there_is_no_zone_per_schedule(self, client):
        """Reference, time zone: no option of a schedule: neither a member nor a prefix."""
        record = client.schedule(cron="0 9 * * *", timezone="Europe/Berlin", tz="Europe/Berlin")
        assert record["nextRunAt"] == T + 9 * HOUR
        assert not {"timezone", "tz"} & record.keys()
        refused = (400, "Invalid cron expression")
        assert client.create("z", "CRON_TZ=Europe/Berlin 0 9 * * *") == refused

    @pytest.mark.skipif(not hasattr(time, "tzset"), reason="the process has no zone to set")
    def test_there_is_no_zone_per_server(self, monkeypatch):
        """Reference, time zone: no option of the server: the zone of the process is not asked."""
        with monkeypatch.context() as patch:
            patch.setenv("TZ", "America/Los_Angeles")
            time.tzset()
            try:
                assert fires("0 9 * * *", T) == [T + 9 * HOUR]
            finally:
                patch.undo()
                time.tzset()


class TestReferenceTarget:
    @pytest.mark.parametrize("tags", [{}, {"env": "dev"}, {"Resonate:target": TARGET}])
    def test_tags_without_a_target_are_refused(self, client, tags):
        """Reference, target: 400 promiseTags must include a resonate:target tag."""
        refused = (400, "promiseTags must include a resonate:target tag")
        assert client.create(promiseTags=tags) == refused
        status, text = client.send(
            "schedule.create", id="s", cron="* * * * *", promiseId="p", promiseTimeout=1
        )
        assert (status, text) == refused
        assert client.ok("schedule.search") == {"schedules": []}

    def test_a_face_that_takes_the_target_puts_the_tag(self):
        """Reference, target: the high-level schedule() injects the tag."""
        schedules = Engine(now=T).schedules
        record = schedules.create("s", cron="0 2 * * *", target=TARGET)
        assert record.promise_tags == TARGETED
        with pytest.raises(ProtocolError, match="must include a resonate:target tag"):
            schedules.create("t", cron="0 2 * * *")

    def test_the_example_of_the_page(self, client):
        """Reference, target: resonate schedules create nightly-rollup ..."""
        client.schedule(
            "nightly-rollup", "0 2 * * *", promiseId="nightly-{{.timestamp}}", promiseTimeout=HOUR
        )
        client.tick(T + 2 * HOUR)
        (promise,) = client.promises()
        assert promise["id"] == f"nightly-{T + 2 * HOUR}"
        assert promise["timeoutAt"] == T + 3 * HOUR
        assert client.messages() == {promise["id"]: "poll://any@default"}


class TestReferenceTemplates:
    TICK = 1_783_978_446_000  # 2026-07-13T21:34:06Z

    def expanded(self, template, id="nightly"):
        client = Client(now=self.TICK - 1)
        client.schedule(id, "6 34 21 13 7 ?", promiseId=template)
        client.tick(self.TICK)
        (promise,) = client.promises()
        return promise["id"]

    def test_the_example_of_the_page(self):
        """Reference, templates: report.nightly.1783978446000."""
        assert self.expanded("report.{{.id}}.{{.timestamp}}") == "report.nightly.1783978446000"

    @pytest.mark.parametrize(
        ("template", "id"),
        [
            ("{{.id}}", "nightly"),
            ("{{.timestamp}}", "1783978446000"),
            ("{{.id}}{{.id}}{{.timestamp}}{{.timestamp}}", "nightlynightly" + "1783978446000" * 2),
        ],
    )
    def test_two_variables_are_substituted_wherever_they_stand(self, template, id):
        """Reference, templates: exactly two variables, at fire time."""
        assert self.expanded(template) == id

    @pytest.mark.parametrize(
        "text",
        [
            "{{.cron}}",
            "{{ .id }}",
            "{{.ID}}",
            "{{id}}",
            "{.id}",
            "{{.Timestamp}}",
            "{{.timestamp",
            "{{",
            "}}",
            "%d",
            "{0}",
            "\\1",
            "$id",
            "<b>",
        ],
    )
    def test_anything_else_is_literal_text(self, text):
        """Reference, templates: what is no variable is kept to the letter."""
        assert self.expanded(text) == text
        assert self.expanded(f"a{text}b{{{{.timestamp}}}}") == f"a{text}b{self.TICK}"

    def test_without_the_tick_every_later_tick_is_a_no_op(self, client):
        """Reference, templates: the first tick creates the promise, later ones do nothing."""
        client.schedule(promiseId="report.{{.id}}", promiseTimeout=DAY)
        client.tick(FIRST)
        (created,) = client.promises()
        client.tick(T + HOUR)
        assert client.promises() == [created]
        assert created["createdAt"] == FIRST
        assert client.stored_schedule()["lastRunAt"] == T + HOUR

    def test_with_the_tick_every_tick_has_its_own_promise(self, client):
        """Reference, templates: include {{.timestamp}} in every template."""
        client.schedule(promiseId="report.{{.timestamp}}", promiseTimeout=DAY)
        client.tick(T + HOUR)
        assert len(client.promises()) == 6


class TestReferenceTags:
    def test_five_tags_are_added_to_those_of_the_schedule(self, client):
        """Reference, tags: promiseTags, your target among them, plus five."""
        client.schedule(promiseTags={**TARGETED, "env": "dev"})
        client.tick(FIRST)
        (promise,) = client.promises()
        assert promise["tags"].keys() - {"env", "resonate:target"} == {
            f"resonate:{name}" for name in FIVE
        }
        assert promise["tags"]["resonate:target"] == TARGET

    def test_resonate_schedule_is_the_id_of_the_schedule(self, client):
        """Reference, tags: resonate:schedule names the schedule."""
        client.schedule("nightly")
        client.tick(FIRST)
        assert client.promises()[0]["tags"]["resonate:schedule"] == "nightly"

    @pytest.mark.parametrize("name", FIVE[1:])
    def test_it_is_the_root_of_its_own_call_graph(self, client, name):
        """Reference, tags: origin, branch, parent and prefix point at the promise itself."""
        client.schedule(promiseTags={**TARGETED, f"resonate:{name}": "of somebody else"})
        client.tick(THIRD)
        for promise in client.promises():
            assert promise["tags"][f"resonate:{name}"] == promise["id"]

    def test_the_tags_of_the_schedule_itself_stay(self, client):
        """Reference, tags: they are injected at fire time, not into the schedule."""
        client.schedule()
        client.tick(FIRST)
        assert client.stored_schedule()["promiseTags"] == TARGETED

    def test_the_tree_of_a_fired_promise_is_that_of_its_tick(self, client):
        """Reference, tags: resonate tree shows the full call graph of that one tick."""
        client.schedule()
        client.tick(SECOND_TICK)
        root = f"s-{FIRST}"
        for id in (f"{root}.1", f"{root}.2"):
            lineage = {"resonate:origin": root, "resonate:branch": id, "resonate:parent": root}
            client.ok("promise.create", id=id, timeoutAt=T + DAY, tags=lineage)
        drawn = client.engine.tree(root)
        assert [node.id for node in drawn.nodes] == [root, f"{root}.1", f"{root}.2"]
        other = client.engine.tree(f"s-{SECOND_TICK}")
        assert [node.id for node in other.nodes] == [f"s-{SECOND_TICK}"]

    def test_search_by_its_tag_lists_all_that_a_schedule_ever_fired(self, client):
        """Reference, tags: promises search --tags {"resonate:schedule": id}."""
        client.schedule("nightly", promiseTimeout=15 * MINUTE)
        client.schedule("other")
        client.tick(FIRST)
        client.tick(T + HOUR)
        client.ok("schedule.delete", id="nightly")
        found = client.ok("promise.search", tags={"resonate:schedule": "nightly"})["promises"]
        assert [p["id"] for p in found] == [f"nightly-{T + n * TEN}" for n in range(1, 7)]
        assert {p["state"] for p in found} == {"pending", "rejected_timedout"}
        # Its own promises look like it in every other way, but no schedule fired them.
        client.ok("promise.create", id=f"nightly-{T}", timeoutAt=T + DAY, tags=TARGETED)
        assert len(client.engine.promises.search(tags={"resonate:schedule": "nightly"})) == 6


class TestReferenceDeleteAndSearch:
    def test_deleting_stops_future_ticks(self, client):
        """Reference, delete: future ticks stop."""
        client.schedule()
        client.tick(FIRST)
        client.ok("schedule.delete", id="s")
        client.tick(T + DAY)
        assert client.ids() == [f"s-{FIRST}"]

    def test_it_drops_what_it_had_missed_and_not_fired(self, client):
        """Reference, delete: a due tick that was not fired is not fired any more."""
        client.schedule()
        client.now = T + DAY
        client.ok("schedule.delete", id="s")
        client.tick(T + DAY)
        assert client.promises() == []

    def test_promises_already_fired_are_unaffected(self, client):
        """Reference, delete: the fired stay as they are."""
        client.schedule()
        client.tick(SECOND_TICK)
        before = client.ok("debug.snap")
        client.ok("schedule.delete", id="s")
        assert client.ok("debug.snap") == before

    def test_they_settle_or_time_out_on_their_own(self, client):
        """Reference, delete: workers finish them, or their deadline does."""
        client.schedule()
        client.tick(SECOND_TICK)
        client.ok("schedule.delete", id="s")
        client.ok("promise.settle", id=f"s-{FIRST}", state="resolved", value={"data": "done"})
        client.tick(SECOND_TICK + HOUR)
        assert [p["state"] for p in client.promises()] == ["resolved", "rejected_timedout"]

    def test_schedules_are_searched_page_by_page(self, client):
        """Reference, search: cursor pagination with --limit."""
        ids = [f"s{n:03}" for n in range(250)]
        for id in ids:
            client.schedule(id)
        found, cursor, pages = [], None, 0
        while pages == 0 or cursor:
            page = client.ok("schedule.search", limit=100, cursor=cursor)
            found += [record["id"] for record in page["schedules"]]
            cursor, pages = page.get("cursor"), pages + 1
        assert (found, pages) == (ids, 3)

    def test_tags_filter_on_the_promise_tags(self, client):
        """Reference, search: --tags matches against each schedule's promise tags."""
        client.schedule("a", promiseTags={**TARGETED, "env": "dev"})
        client.schedule("b", promiseTags={**TARGETED, "env": "prod"})
        client.schedule("c", promiseTags={"resonate:target": "poll://any@other"})

        def found(**tags):
            page = client.ok("schedule.search", tags=tags, limit=100)
            return [record["id"] for record in page["schedules"]]

        assert found(**TARGETED) == ["a", "b"]
        assert found(**TARGETED, env="prod") == ["b"]
        assert found(env="test") == []
        assert found() == ["a", "b", "c"]

    def test_a_schedule_has_no_tags_of_its_own(self, client):
        """Reference, search: there is no separate tag set."""
        record = client.schedule(tags={"env": "dev"})
        assert "tags" not in record
        assert client.ok("schedule.search", tags={"env": "dev"}) == {"schedules": []}


class TestWhereTheDocumentsDisagree:
    """The guide is the specification's, the reference the server's; profiles take sides."""

    SEARCHED = {"standard": 200, "server": 200, "reference": 200, "spec": 501}

    @pytest.mark.parametrize("profile", PROFILES)
    @pytest.mark.parametrize("kind", ["schedule.search", "promise.search", "task.search"])
    def test_search(self, profile, kind):
        """Guide, S-04: 501 unconditionally. Reference: schedules are searchable."""
        assert Client(profile).send(kind)[0] == self.SEARCHED[profile]

    @pytest.mark.parametrize("profile", PROFILES)
    def test_the_target(self, profile):
        """Guide: it is optional. Reference: a schedule without one is refused."""
        status, _ = Client(profile).create(promiseTags={})
        assert status == (200 if profile == "spec" else 400)

    @pytest.mark.parametrize("profile", PROFILES)
    def test_the_tags_of_a_fired_promise(self, profile):
        """Guide: tags := s.promiseTags. Reference: plus five."""
        client = Client(profile)
        client.schedule()
        client.tick(FIRST)
        added = client.promises()[0]["tags"].keys() - TARGETED.keys()
        assert len(added) == (0 if profile == "spec" else 5)

    @pytest.mark.parametrize("profile", PROFILES)
    def test_one_that_is_overdue_when_it_is_fired(self, profile):
        """Guide: its text says settled, its code compares with the tick and says pending."""
        client = Client(profile)
        client.schedule(promiseTimeout=MINUTE)
        client.tick(FIRST + 5 * MINUTE)
        is_settled = profile in ("standard", "server")
        (promise,) = client.promises()
        assert promise["state"] == ("rejected_timedout" if is_settled else "pending")
        assert bool(client.messages()) == (not is_settled)

    @pytest.mark.parametrize("profile", PROFILES)
    def test_every_missed_tick(self, profile):
        """Guide: all in one firing. The server with SQL storage: one at each poll."""
        client = Client(profile)
        client.schedule(promiseTimeout=DAY)
        client.tick(T + HOUR)
        assert len(client.promises()) == (1 if profile == "server" else 6)
        client.engine.advance("10s")
        assert len(client.promises()) == 6

    @pytest.mark.parametrize("profile", PROFILES)
    def test_a_cron_that_never_fires(self, profile):
        """Guide: next is opaque. Standard and spec refuse; 0.9.8 fires it every minute."""
        client = Client(profile)
        status, answer = client.create(cron="0 0 30 2 *")
        if profile in ("standard", "spec"):
            assert status == 400
            assert "never fires" in answer
        else:
            assert answer["schedule"]["nextRunAt"] == T + MINUTE

    @pytest.mark.parametrize("profile", PROFILES)
    def test_a_dot_in_the_id_of_a_schedule(self, profile):
        """Guide: no rule. Reference: silent; the server refuses it."""
        refused = (400, "Schedule ID must not contain '.'")
        answer = Client(profile).create("a.b")
        assert answer[0] == 200 if profile == "spec" else answer == refused


def test_every_sentence_is_named():
    """A checklist without words would be none."""
    tests = [
        test
        for name, item in globals().items()
        if isinstance(item, type) and name.startswith("Test")
        for word, test in vars(item).items()
        if word.startswith("test_")
    ]
    assert len(tests) >= 75
    assert all((test.__doc__ or "").startswith(("Guide", "Reference")) for test in tests)
