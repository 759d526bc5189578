"""The laws: each refuses a violator made by hand, and a healthy state breaks none."""

import pytest

from resonate_lab import Engine
from resonate_lab.engine.laws import LAWS
from resonate_lab.engine.state import PromiseRow, TaskRow

TARGET = {"resonate:target": "poll://any@g"}
NOW = 1_000_000


def healthy():
    """Return an engine that holds a record of every condition that can be reached."""
    engine = Engine(now=0)
    engine.schedules.create(
        "s", cron="* * * * *", promise_timeout="5m", target=TARGET["resonate:target"]
    )
    engine.schedules.create(
        "t", cron="0 0 0 1 1 ? 1971", promise_tags={**TARGET, "resonate:timer": "true"}
    )
    engine.promises.create("targeted", timeout_at=2 * NOW, tags=TARGET)
    engine.promises.create("timer", timeout_at=5, tags={"resonate:timer": "true"})
    engine.promises.create("plain", timeout_at=2 * NOW)
    engine.outage(NOW)
    return engine


def promise(
    id="plain",
    state="pending",
    value=None,
    tags=None,
    timeout_at=2 * NOW,
    created_at=0,
    settled_at=None,
):
    def break_it(state_):
        old = state_.promises.get(id)
        row = PromiseRow(id, state, {}, value or {}, tags or {}, timeout_at, created_at, settled_at)
        state_.put_promise(row._replace(task=old and old.task))

    return break_it


def task(*fields, id="targeted", **named):
    return lambda state: state.put_task(id, TaskRow(*fields, **named))


def schedule(**changes):
    return lambda state: state.put_schedule(state.schedules["s"]._replace(**changes))


def entry(table, key, change):
    def break_it(state):
        getattr(state, table)[key] = change(state)

    return break_it


VIOLATORS = {
    "well_formed_promise_created_at_lte_timeout_at": promise(created_at=9, timeout_at=8),
    "well_formed_promise_pending_created_before_deadline": promise(created_at=9, timeout_at=9),
    "well_formed_promise_settled_at_lte_timeout_at": promise(
        state="resolved", settled_at=9, timeout_at=8
    ),
    "well_formed_promise_created_at_lte_settled_at": promise(
        state="resolved", settled_at=8, created_at=9
    ),
    "well_formed_promise_settled_at_iff_not_pending": promise(settled_at=9),
    "well_formed_promise_pending_has_no_value": promise(value={"data": "x"}),
    "well_formed_promise_deadline_verdict_matches_timer_tag": promise(
        state="rejected", settled_at=9, timeout_at=9
    ),
    "well_formed_promise_deadline_settlement_has_no_value": promise(
        state="rejected_timedout", value={"data": "x"}, settled_at=9, timeout_at=9
    ),
    "well_formed_promise_timedout_is_server_owned": promise(
        state="rejected_timedout", settled_at=8, timeout_at=9
    ),
    "well_formed_promise_created_at_lte_now": promise(created_at=NOW + 1),
    "well_formed_promise_settled_at_lte_now": promise(state="resolved", settled_at=NOW + 1),
    "well_formed_task_acquired_iff_has_pid": task("acquired", 1, ttl=5, expires_at=9),
    "well_formed_task_acquired_iff_has_ttl": task("acquired", 1, pid="w", expires_at=9),
    "well_formed_task_acquired_iff_has_expires_at": task("acquired", 1, pid="w", ttl=5),
    "well_formed_task_pending_iff_has_retry_at": task("pending"),
    "well_formed_task_fulfilled_is_cleared": task(
        "fulfilled", resumes=frozenset("a"), id="timer"
    ),
    "well_formed_task_suspended_is_cleared": task("suspended", 1, pid="w"),
    "well_formed_task_halted_is_cleared": task("halted", 1, retry_at=9),
    "well_formed_task_suspended_has_no_resumes": task("suspended", 1, frozenset("a")),
    "well_formed_task_acquired_version_positive": task("acquired", 0),
    "well_formed_schedule_created_at_lte_next_run_at": schedule(next_run_at=-1),
    "well_formed_schedule_created_at_lte_last_run_at": schedule(last_run_at=-1),
    "well_formed_schedule_last_run_at_lt_next_run_at": schedule(last_run_at=9, next_run_at=9),
    "well_formed_store_promise_ids_unique": entry("promises", "x", lambda s: s.promises["plain"]),
    "well_formed_store_schedule_ids_unique": entry("schedules", "x", lambda s: s.schedules["s"]),
    "consistent_task_iff_targeted_promise": promise(id="new", tags=TARGET),
    "consistent_settled_promise_has_fulfilled_task": promise(
        id="targeted", state="resolved", tags=TARGET, settled_at=9
    ),
    "consistent_settled_task_promise_settled": task("fulfilled"),
    "consistent_outbox_never_ahead": task("pending", retry_at=9, queued=1),
    "consistent_agenda_holds_every_deadline": entry(
        "promises",
        "targeted",
        lambda s: s.promises["targeted"]._replace(task=TaskRow("pending", retry_at=77)),
    ),
}  # fmt: skip


def test_a_healthy_state_breaks_none():
    engine = healthy()
    assert {row.state for row in engine.state.promises.values()} == {
        "pending",
        "resolved",
        "rejected_timedout",
    }
    assert engine.check() == []


def test_every_law_has_its_violator():
    assert VIOLATORS.keys() == LAWS.keys()


@pytest.mark.parametrize("law", LAWS)
def test_a_violator_is_named(law):
    engine = healthy()
    VIOLATORS[law](engine.state)
    assert law in [violation.law for violation in engine.check()]


def test_a_dormant_schedule_breaks_none():
    engine = healthy()
    engine.outage("400d")
    assert engine.state.schedules["t"].next_run_at is None
    assert engine.check() == []
