"""The laws: the whole catalogue, each with a violator that it refuses and a state it speaks to."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from history import ADDRESS, START, TARGET, at, lived

from resonate_lab import Engine
from resonate_lab.engine.laws import (
    KEEPERS,
    LAWS,
    Move,
    Picture,
    Violation,
    step_violations,
    violations,
)
from resonate_lab.engine.rows import Execute, PromiseRow, TaskRow
from resonate_lab.engine.state import State
from resonate_lab.protocol.profile import PROFILES

DATA = Path(__file__).parent / "data"
NOW = at(603)
PENDING_TASK = TaskRow("pending", retry_at=NOW + 30_000, queued=0)
HELD = TaskRow("acquired", 1, ttl=9, pid="w", expires_at=NOW + 9)


def catalogue():
    """Yield kind, name and marks of the specification's laws."""
    for line in (DATA / "laws.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            kind, name, *marks = line.split()
            yield name, kind, tuple(marks)


class TestCatalogue:
    def test_it_is_the_specifications_name_for_name_and_mark_for_mark(self):
        ours = [(law.name, law.kind, law.marks) for law in LAWS.values() if law.catalogued]
        assert sorted(ours) == sorted(catalogue())

    def test_it_has_95_laws_45_of_states_and_50_of_steps(self):
        counts = Counter(law.kind for law in LAWS.values() if law.catalogued)
        assert counts == {"state": 45, "transition": 50}

    def test_beside_it_stand_few(self):
        assert sorted(name for name, law in LAWS.items() if not law.catalogued) == [
            "consistent_agenda_holds_every_deadline",
            "consistent_awaits_mirror_callbacks",
            "consistent_promise_state_edge_internal_admissible",
            "consistent_schedule_fires_exactly_the_chain",
            "consistent_schedule_fires_oldest_first",
            "consistent_settled_promise_owes_nothing",
            "consistent_task_state_edge_internal_admissible",
            "well_formed_config_retry_positive",
            "well_formed_promise_delay_before_deadline",
            "well_formed_promise_record_hides_callbacks",
            "well_formed_promise_record_hides_listeners",
            "well_formed_promise_target_is_nonempty",
            "well_formed_task_one_timer_of_its_state",
            "well_formed_task_record_hides_deadlines",
            "well_formed_task_record_resumes_is_a_count",
            "well_formed_task_ttl_positive",
        ]

    @pytest.mark.parametrize("law", LAWS.values(), ids=str)
    def test_a_law_states_itself_in_a_line(self, law):
        assert law.statement.endswith(".")
        assert law.statement in repr(law)
        # A mark that is neither Y nor D needs a word.
        assert bool(set(law.marks) & {"R", "N"}) <= bool(law.note)

    @pytest.mark.parametrize("profile", KEEPERS)
    def test_a_profile_keeps_all_but_the_laws_marked_n(self, profile):
        place = KEEPERS.index(profile)
        left_out = {name for name, law in LAWS.items() if law.marks[place] == "N"}
        rules = PROFILES[profile]
        assert {name for name, law in LAWS.items() if not law.keeps(rules)} == left_out

    def test_a_mix_of_rules_keeps_what_its_rules_keep(self):
        law = LAWS["preserved_no_dead_dispatch"]
        assert law.keeps(PROFILES["spec"].replace(name="mine", overdue="settled"))
        assert not law.keeps(PROFILES["standard"].replace(name="mine", overdue="shown as settled"))

    def test_a_law_is_a_row_of_a_table(self):
        law = LAWS["preserved_no_dead_dispatch"]
        assert law.row() == {
            "name": "preserved_no_dead_dispatch",
            "kind": "transition",
            "statement": "Only a task whose promise is live becomes pending.",
            "spec": "N",
            "standard": "Y",
            "server": "R",
            "reference": "R",
        }


# --- violators: each breaks a healthy state, or a healthy step, in one way ----------------


def promise(id="o.plain", **changes):
    return lambda p: p.promises.update({id: p.promises[id]._replace(**changes)})


def task(id, *fields, **changes):
    def change(p):
        row = p.promises[id]
        new = TaskRow(*fields, **changes) if fields else row.task._replace(**changes)
        p.promises[id] = row._replace(task=new)

    return change


def new(state="pending", tags=None, deadline=NOW + 99, created=NOW, settled=None, **changes):
    row = PromiseRow("new", state, {}, {}, tags or {}, deadline, created, settled)
    return lambda p: p.promises.update(new=row._replace(**changes))


def schedule(**changes):
    return lambda p: p.schedules.update(s=p.schedules["s"]._replace(**changes))


def entry(table, key, value):
    def put(p):
        getattr(p, table)[key] = value(p) if callable(value) else value

    return put


def without(table, key):
    return lambda p: getattr(p, table).pop(key)


def both(*changes):
    def change(p):
        for each in changes:
            each(p)

    return change


def step(name):
    return lambda p: setattr(p, "step", name)


def fired(*ticks):
    """Return new promises as of a firing of the schedule, in this order."""

    def create(p):
        pattern = next(row for row in p.promises.values() if row.firing)
        for tick in ticks:
            p.promises[f"s-{tick}"] = pattern._replace(id=f"s-{tick}", timeout_at=tick + 90_000)

    return create


RETARGET = both(lambda p: p.tasks, entry("executes", "o.acq", Execute(1, "http://else")))

STATE_VIOLATORS = {
    "well_formed_promise_created_at_lte_timeout_at": promise(created_at=9, timeout_at=8),
    "well_formed_promise_pending_created_before_deadline": promise(created_at=9, timeout_at=9),
    "well_formed_promise_settled_at_lte_timeout_at": promise(settled_at=9, timeout_at=8),
    "well_formed_promise_created_at_lte_settled_at": promise(settled_at=8, created_at=9),
    "well_formed_promise_settled_at_iff_not_pending": promise(settled_at=9),
    "well_formed_promise_pending_has_no_value": promise(value={"data": "x"}),
    "well_formed_promise_deadline_verdict_matches_timer_tag": promise(
        state="rejected", settled_at=9, timeout_at=9
    ),
    "well_formed_promise_deadline_settlement_has_no_value": promise(
        "o.late", value={"data": "x"}
    ),
    "well_formed_promise_timer_not_targeted": promise(
        "o.pend", tags=TARGET | {"resonate:timer": "true"}
    ),
    "well_formed_promise_timedout_is_server_owned": promise("o.late", settled_at=NOW),
    "well_formed_promise_callbacks_unique": entry("callbacks", "o.plain", ("o.susp", "o.susp")),
    "well_formed_promise_listeners_unique": entry("listeners", "o.plain", (ADDRESS, ADDRESS)),
    "well_formed_promise_obligations_require_external": entry("listeners", "o.soon", (ADDRESS,)),
    "well_formed_promise_awaiter_is_not_self": entry("callbacks", "o.pend", ("o.pend",)),
    "well_formed_promise_created_at_lte_now": promise(created_at=NOW + 1),
    "well_formed_promise_settled_at_lte_now": promise("o.done", settled_at=NOW + 1),
    "well_formed_promise_target_is_nonempty": promise("o.pend", tags={"resonate:target": ""}),
    "well_formed_promise_delay_before_deadline": promise(
        "o.delayed", timeout_at=at(50)
    ),
    "well_formed_task_acquired_iff_has_pid": task("o.acq", pid=None),
    "well_formed_task_acquired_iff_has_ttl": task("o.acq", ttl=None),
    "well_formed_task_acquired_iff_has_expires_at": task("o.acq", expires_at=None),
    "well_formed_task_pending_iff_has_retry_at": task("o.pend", retry_at=None),
    "well_formed_task_fulfilled_is_cleared": task("o.done", resumes=frozenset("a")),
    "well_formed_task_suspended_is_cleared": task("o.susp", pid="w"),
    "well_formed_task_halted_is_cleared": task("o.halt", retry_at=9),
    "well_formed_task_suspended_has_no_resumes": task("o.susp", resumes=frozenset("a")),
    "well_formed_task_resumes_unique": task("o.halt", resumes=("a", "a")),
    "well_formed_task_acquired_version_positive": task("o.acq", version=0),
    "well_formed_task_one_timer_of_its_state": task("o.acq", retry_at=9),
    "well_formed_task_ttl_positive": task("o.acq", ttl=0),
    "well_formed_schedule_promise_tags_not_timer_targeted": schedule(
        promise_tags=TARGET | {"resonate:timer": "true"}
    ),
    "well_formed_schedule_created_at_lte_next_run_at": schedule(next_run_at=START - 1),
    "well_formed_schedule_created_at_lte_last_run_at": schedule(last_run_at=START - 1),
    "well_formed_schedule_last_run_at_lt_next_run_at": schedule(last_run_at=NOW, next_run_at=NOW),
    "well_formed_store_promise_ids_unique": entry(
        "promises", "twin", lambda p: p.promises["o.plain"]
    ),
    "well_formed_store_task_ids_unique": entry("promises", "twin", lambda p: p.promises["o.acq"]),
    "well_formed_store_schedule_ids_unique": entry(
        "schedules", "twin", lambda p: p.schedules["s"]
    ),
    "well_formed_store_outbox_keys_unique": entry(
        "unblocks", ("twin", ADDRESS), lambda p: p.promises["o.done"]
    ),
    "well_formed_config_retry_positive": lambda p: object.__setattr__(p.rules, "retry_ms", 0),
    "consistent_task_iff_targeted_promise": promise("o.pend", task=None),
    "consistent_settled_promise_has_fulfilled_task": task("o.done", *HELD),
    "consistent_settled_task_promise_settled": task("o.pend", "fulfilled"),
    "consistent_callback_awaiter_is_targeted": entry("callbacks", "o.plain", ("o.timer",)),
    "consistent_listener_addresses_deliverable": entry("listeners", "o.plain", ("nowhere",)),
    "consistent_suspended_task_holds_rung": without("callbacks", "o.plain"),
    "consistent_settled_promise_owes_nothing": entry("listeners", "o.done", (ADDRESS,)),
    "consistent_awaits_mirror_callbacks": without("awaits", "o.susp"),
    "consistent_outbox_execute_names_existing_task": entry("executes", "o.timer", Execute(0, "")),
    "consistent_outbox_never_ahead": task("o.pend", queued=1),
    "consistent_outbox_execute_address_is_target_tag": RETARGET,
    "consistent_outbox_unblock_names_settled_promise": entry(
        "unblocks", ("o.plain", ADDRESS), lambda p: p.promises["o.plain"]
    ),
    "consistent_outbox_unblock_address_deliverable": entry(
        "unblocks", ("o.done", "nowhere"), lambda p: p.promises["o.done"]
    ),
    "consistent_agenda_holds_every_deadline": lambda p: setattr(p, "misarmed", {"o.pend"}),
}  # fmt: skip

STEP_VIOLATORS = {
    "preserved_promise_birth_fields_immutable": promise(tags={"a": "b"}),
    "preserved_settled_promise_record": promise("o.done", value={}),
    "preserved_promise_state_frozen_once_settled": promise("o.done", state="rejected"),
    "preserved_promise_settlement_is_one_way": promise("o.done", state="pending"),
    "preserved_promise_value_until_settlement": promise(value={"data": "x"}),
    "preserved_promise_no_duplicate_ids": entry(
        "promises", "twin", lambda p: p.promises["o.plain"]
    ),
    "preserved_fulfilled_task": task("o.done", version=1),
    "preserved_task_acquisition_only_from_pending": task("o.halt", *HELD),
    "preserved_task_suspension_only_from_acquired": task("o.pend", "suspended"),
    "preserved_task_halted_only_reenters_via_pending": task("o.halt", "suspended", 1),
    "preserved_task_lease_holder_stable": task("o.acq", pid="other"),
    "preserved_schedule_birth_fields_immutable": schedule(promise_timeout=7),
    "preserved_no_dead_dispatch": new(tags=TARGET, deadline=NOW, task=PENDING_TASK),
    "preserved_execute_only_for_live_task": new(tags=TARGET, deadline=NOW, task=PENDING_TASK),
    "preserved_timedout_is_server_owned": promise(state="rejected_timedout", settled_at=NOW),
    "monotone_promise_set_grows": without("promises", "o.plain"),
    "monotone_task_set_grows": without("promises", "o.pend"),
    "monotone_task_version_increases_only_on_acquisition": task("o.halt", version=2),
    "monotone_promise_callbacks_grow_while_pending": without("callbacks", "o.plain"),
    "monotone_promise_callbacks_shrink_once_settled": entry("callbacks", "o.done", ("o.pend",)),
    "monotone_promise_listeners_grow_while_pending": without("listeners", "o.plain"),
    "monotone_promise_listeners_shrink_once_settled": entry("listeners", "o.done", (ADDRESS,)),
    "monotone_outbox_keys_never_disappear": without("unblocks", ("o.done", ADDRESS)),
    "monotone_task_resumes_grow_or_clear": task("o.halt", resumes=frozenset("a")),
    "monotone_task_retry_rearm_advances": task("o.pend", retry_at=NOW),
    "consistent_promise_state_edge_admissible": promise("o.done", state="rejected"),
    "consistent_promise_state_edge_internal_admissible": both(
        promise(state="resolved", settled_at=NOW), step("run")
    ),
    "consistent_promise_settled_at_moves_with_state": promise("o.done", settled_at=NOW),
    "consistent_promise_settlement_stamp": promise(state="resolved", settled_at=NOW - 1),
    "consistent_new_promise_born_clean": new(created=NOW + 1),
    "consistent_task_state_edge_admissible": task("o.halt", *HELD),
    "consistent_task_state_edge_internal_admissible": both(
        task("o.pend", *HELD), step("run")
    ),
    "consistent_settlement_fulfils_task": promise("o.pend", state="resolved", settled_at=NOW),
    "consistent_task_fulfilment_needs_settlement": task("o.pend", "fulfilled"),
    "consistent_task_birth_couples_promise_birth": new(tags=TARGET),
    "consistent_task_birth_state": new(tags=TARGET, task=TaskRow("pending")),
    "consistent_task_acquisition_is_atomic": task("o.pend", *HELD._replace(expires_at=NOW)),
    "consistent_task_lease_released_atomically": task("o.acq", "halted", 1, pid="w"),
    "consistent_task_lease_fields_move_together": task("o.acq", ttl=8),
    "consistent_task_lease_deadline_is_now_plus_ttl": task("o.acq", expires_at=NOW),
    "consistent_task_pending_entry_arms_retry": task(
        "o.halt", "pending", 1, retry_at=NOW, queued=1
    ),
    "consistent_task_retry_rearm_only_when_due": task("o.pend", retry_at=NOW + 99_999),
    "consistent_task_wake_records_resume": task(
        "o.susp", "pending", 2, retry_at=NOW + 30_000, queued=2
    ),
    "consistent_task_resumes_cleared_only_on_dispatch_or_park": task(
        "o.halt", resumes=frozenset()
    ),
    "consistent_obligation_discharge_requires_settled": without("listeners", "o.plain"),
    "consistent_callback_consumption_resumes_awaiter": without("callbacks", "o.plain"),
    "consistent_listener_consumption_enqueues_unblock": without("listeners", "o.plain"),
    "consistent_wake_follows_callback_consumption": task(
        "o.susp", "pending", 2, frozenset({"o.plain"}), retry_at=NOW + 30_000, queued=2
    ),
    "consistent_suspension_registers_callback": task("o.acq", "suspended", 1),
    "consistent_new_execute_matches_task_and_target": task("o.halt", queued=0),
    "consistent_new_unblock_carries_stored_record": entry(
        "unblocks", ("o.late", "http://new"), lambda p: p.promises["o.late"]._replace(value="x")
    ),
    "consistent_new_unblock_discharges_its_listener": entry(
        "unblocks", ("o.late", "http://new"), lambda p: p.promises["o.late"]
    ),
    "consistent_schedule_fires_exactly_the_chain": schedule(last_run_at=at(601)),
    "consistent_schedule_fires_oldest_first": fired(at(720), at(660)),
}  # fmt: skip


class Leaky(PromiseRow):
    """A promise whose record shows more than the wire has."""

    def record(self):
        return self

    def to_wire(self):
        return {"callbacks": [], "listeners": []}


class LeakyTask(TaskRow):
    """A task whose record shows all."""

    def record(self, id):
        return self


WIRE_VIOLATORS = {
    "well_formed_promise_record_hides_callbacks": entry(
        "promises", "o.plain", lambda p: Leaky(*p.promises["o.plain"])
    ),
    "well_formed_promise_record_hides_listeners": entry(
        "promises", "o.plain", lambda p: Leaky(*p.promises["o.plain"])
    ),
    "well_formed_task_record_hides_deadlines": promise("o.acq", task=LeakyTask(*HELD)),
    "well_formed_task_record_resumes_is_a_count": promise("o.acq", task=LeakyTask(*HELD)),
}  # fmt: skip

VIOLATORS = STATE_VIOLATORS | STEP_VIOLATORS | WIRE_VIOLATORS


@pytest.fixture(scope="module")
def healthy():
    """Return an engine that holds a record of every condition."""
    return lived("standard")


class TestViolators:
    def test_every_law_has_one(self):
        assert VIOLATORS.keys() == LAWS.keys()

    @pytest.mark.parametrize("law", LAWS.values(), ids=str)
    def test_it_is_refused_and_the_healthy_are_not(self, law, healthy):
        before, after = Picture.of(healthy.state), Picture.of(healthy.state)
        after.rules = before.rules.replace(name="mine")
        if any(mark != "N" for mark in law.marks):
            assert list(law.broken(Move(NOW, before, after))) == []
        after = Picture.of(healthy.state)
        after.rules = before.rules.replace(name="mine")
        VIOLATORS[law.name](after)
        assert list(law.broken(Move(NOW, before, after)))

    def test_a_violation_names_the_law_and_the_record(self, healthy):
        after = Picture.of(healthy.state)
        promise(value={"data": "x"})(after)
        found = violations(NOW, after)
        assert found == [Violation("well_formed_promise_pending_has_no_value", "o.plain")]
        assert "A pending promise has no value" in found._repr_html_()
        moved = step_violations(NOW, Picture.of(healthy.state), after)
        assert moved == [Violation("preserved_promise_value_until_settlement", "o.plain")]

    def test_a_hostile_id_is_harmless_in_a_notebook(self):
        engine = Engine(now=0)
        engine.promises.create("<script>", timeout="1h")
        row = engine.state.promises["<script>"]
        engine.state.put_promise(row._replace(settled_at=0))
        assert "<script>" not in engine.check()._repr_html_()

    def test_the_agenda_is_compared_with_the_records(self):
        engine = Engine(now=0)
        engine.promises.create("p", timeout="1h", tags=TARGET)
        assert engine.check() == []
        engine.state.agenda.clear()
        assert engine.check() == [Violation("consistent_agenda_holds_every_deadline", "p")]


class TestReached:
    """A law whose condition is never true proves nothing: the history makes each true."""

    @pytest.mark.parametrize("profile", PROFILES)
    def test_the_history_puts_every_law_to_the_test_and_breaks_none(self, profile):
        reached, broken = Counter(), []

        def check(now, before, after):
            move = Move(now, before, after)
            for law in LAWS.values():
                for subject, holds in law.cases(move):
                    reached[law.name] += 1
                    if not holds and law.keeps(move.after.rules):
                        broken.append((after.step, law.name, subject))

        engine = lived(profile, check)
        assert broken == []
        assert engine.check() == []
        assert LAWS.keys() - reached.keys() == set()

    def test_an_empty_state_breaks_none(self):
        assert violations(0, State(PROFILES["standard"])) == []

    def test_a_dormant_schedule_breaks_none(self):
        engine = Engine(now=0)
        engine.schedules.create("t", cron="0 0 0 1 1 ? 1971", target=TARGET["resonate:target"])
        engine.outage("400d")
        assert engine.state.schedules["t"].next_run_at is None
        assert engine.check() == []


class TestRecordedStates:
    """The released server and its model keep the laws too, as far as a snapshot shows them."""

    FILES = {
        "reference": ("reference", 2588),
        "reference_schedules": ("reference", 1279),
        "sqlite": ("server", 1944),
        "sqlite_schedules": ("server", 1293),
    }
    # What nobody checks at the door.
    KEPT_BY_NOBODY = {
        "well_formed_promise_timer_not_targeted",
        "well_formed_promise_obligations_require_external",
        "well_formed_promise_delay_before_deadline",
    }

    @pytest.mark.parametrize("name", FILES)
    def test_every_snapshot_keeps_all_but_the_laws_that_nobody_keeps(self, name):
        profile, expected = self.FILES[name]
        states = [law for law in LAWS.values() if law.kind == "state"]
        broken, count = Counter(), 0
        for now, snap in snapshots(DATA / "traces" / f"{name}.jsonl.gz"):
            picture = Picture.of_snap(PROFILES[profile], snap)
            move = Move(now, picture, picture)
            broken.update(law.name for law in states if any(law.broken(move)))
            count += 1
        assert count == expected
        assert broken.keys() <= self.KEPT_BY_NOBODY
        # The real thing does break it, so leaving it out is no softness.
        assert "well_formed_promise_timer_not_targeted" in broken


def snapshots(path):
    """Yield the time and the data of each recorded snapshot."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for trace in map(json.loads, lines):
            now = 0
            for recorded in trace["steps"]:
                request, response = recorded["req"], recorded["res"]
                now = max(now, request["head"].get("resonate:debug_time") or 0)
                if response["head"]["status"] != 200:
                    continue
                if request["kind"] == "debug.tick":
                    now = max(now, request["data"]["time"])
                elif request["kind"] == "debug.snap":
                    yield now, response["data"]
