"""The state: transactions, timers that follow records, and reading."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resonate_lab.cron import CronExpression
from resonate_lab.engine.agenda import Due
from resonate_lab.engine.state import (
    TRACE_LIMIT,
    Firing,
    PromiseRow,
    ScheduleRow,
    State,
    TaskRow,
)
from resonate_lab.protocol import PROFILES

STANDARD = PROFILES["standard"]
TARGETED = {"resonate:target": "poll://any@g"}
MINUTELY = CronExpression("* * * * *")


def promise(
    id, state="pending", tags=TARGETED, timeout_at=100, settled_at=None, firing=None, task=None
):
    return PromiseRow(id, state, {}, {}, tags, timeout_at, 0, settled_at, firing, task)


def schedule(id, next_run_at=60_000, rank=1):
    return ScheduleRow(
        id, MINUTELY.text, "{{.id}}", 5, {}, TARGETED, 0, next_run_at, None, rank, MINUTELY
    )


def pending(retry_at):
    return TaskRow("pending", retry_at=retry_at)


def picture(state):
    """Everything that a transaction may change, in a form that compares."""
    armed = {due: state.agenda.entries(due) for due in Due}
    tables = [
        dict(table)
        for table in (
            state.promises,
            state.schedules,
            state.callbacks,
            state.awaits,
            state.listeners,
            state.unblocks,
        )
    ]
    ids = [list(state.created), list(state.promise_ids()), list(state.schedule_ids())]
    return tables, armed, ids, list(state.trace), state.steps


@pytest.fixture
def state():
    state = State(STANDARD)
    with state.transaction():
        state.put_promise(promise("old"))
        state.put_task("old", pending(50))
        state.put_schedule(schedule("s"))
        state.log(0, "test", "old", "made")
    return state


class TestTimersFollowRecords:
    def test_every_record_arms_what_it_names(self, state):
        assert state.agenda.entries(Due.PROMISE_TIMEOUT) == {(100, "old")}
        assert state.agenda.entries(Due.RETRY) == {(50, "old")}
        assert state.agenda.entries(Due.SCHEDULE_FIRING) == {(60_000, "s")}

    def test_a_settled_promise_has_no_timer(self, state):
        state.put_promise(promise("old", "resolved", settled_at=9))
        assert state.agenda.entries(Due.PROMISE_TIMEOUT) == set()

    def test_a_task_has_the_timer_of_its_condition(self, state):
        state.put_task("old", TaskRow("acquired", 1, ttl=5, pid="w", expires_at=70))
        assert state.agenda.entries(Due.RETRY) == set()
        assert state.agenda.entries(Due.LEASE_EXPIRY) == {(70, "old")}

    def test_a_dropped_schedule_takes_its_timer_along(self, state):
        state.drop_schedule("s")
        assert state.agenda.entries(Due.SCHEDULE_FIRING) == set()

    @pytest.mark.parametrize(
        ("tags", "timers", "armed"),
        [
            ({}, True, False),
            ({"resonate:timer": "true"}, True, True),
            ({"resonate:timer": "true"}, False, False),
            ({"resonate:timer": "True"}, True, False),
            (TARGETED, False, True),
            ({"resonate:target": ""}, False, True),
        ],
    )
    def test_targeted_promises_and_timers_time_out_by_themselves(self, tags, timers, armed):
        state = State(STANDARD.replace(timers_time_out=timers))
        task = pending(50) if "resonate:target" in tags else None
        state.put_promise(promise("p", tags=tags, task=task))
        assert bool(state.agenda.entries(Due.PROMISE_TIMEOUT)) is armed


class TestTransactions:
    @given(data=st.data())
    def test_a_failed_transaction_leaves_nothing(self, data):
        state = State(STANDARD)
        with state.transaction():
            state.put_promise(promise("a"))
            state.put_task("a", pending(50))
            state.put_schedule(schedule("a"))
            state.put_schedule(schedule("b", 120_000, 2))
            state.add_callback("a", "w")
            state.add_listener("a", "http://x")
            for id in ("idle", "b"):
                state.put_promise(promise(id, task=TaskRow("pending", retry_at=60, queued=0)))
        before = picture(state)
        changes = [
            lambda: state.put_promise(promise("a", "resolved", settled_at=9)),
            lambda: state.put_promise(promise("new")),
            lambda: state.put_task("a", TaskRow("fulfilled")),
            lambda: state.put_schedule(schedule("a", None)),
            lambda: "b" in state.schedules and state.drop_schedule("b"),
            lambda: state.log(1, "x", "y", "z"),
            lambda: state.agenda.pop_due(Due.RETRY, 50),
            lambda: state.add_callback("a", "w"),
            lambda: state.add_callback("a", "v"),
            lambda: state.add_callback("w", "v"),
            lambda: state.drop_awaits("v"),
            lambda: state.take_callbacks("a"),
            lambda: state.add_listener("a", "http://y"),
            lambda: state.take_listeners("a"),
            lambda: state.put_unblock(promise("a", "resolved"), "http://x"),
            lambda: state.postpone(["idle", "b"], 90),
            lambda: state.promise_ids(),
        ]
        chosen = data.draw(st.lists(st.sampled_from(changes), max_size=9))

        def interrupted():
            with state.transaction():
                task = pending(70)
                rows = [promise("x", task=task), promise("y", task=task)]
                state.add_promises(["x", "y"], rows, [100, 100])
                for change in chosen:
                    change()
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert picture(state) == before

    def test_a_transaction_that_ends_stands(self, state):
        assert [step.subject for step in state.trace] == ["old"]
        assert state.steps == 1

    def test_the_next_transaction_does_not_undo_the_last(self, state):
        before = picture(state)
        with pytest.raises(ZeroDivisionError), state.transaction():
            1 / 0  # noqa: B018
        assert picture(state) == before

    def test_the_trace_keeps_the_last_steps_and_counts_all(self, state):
        with state.transaction():
            for n in range(TRACE_LIMIT + 5):
                state.log(n, "test", "x", "y")
        assert len(state.trace) == TRACE_LIMIT
        assert state.trace[-1].at == TRACE_LIMIT + 4
        assert state.steps == TRACE_LIMIT + 6


class TestBulk:
    @pytest.mark.parametrize("tags", [TARGETED, {}, {"resonate:timer": "true"}])
    @pytest.mark.parametrize("timeouts", [(100, 200, 300), (100, 100, 100), (300, 200, 100)])
    def test_bulk_is_as_one_by_one(self, state, tags, timeouts):
        other = State(STANDARD)
        with other.transaction():
            other.put_promise(promise("old"))
            other.put_task("old", pending(50))
            other.put_schedule(schedule("s"))
            other.log(0, "test", "old", "made")
        rows = [
            promise(
                f"p{n}", tags=tags, timeout_at=at, task=pending(50) if tags == TARGETED else None
            )
            for n, at in enumerate(timeouts)
        ]
        with state.transaction():
            state.add_promises([row.id for row in rows], rows, timeouts)
        with other.transaction():
            for row in rows:
                other.put_promise(row)
        assert picture(state) == picture(other)

    def test_nothing_in_bulk_is_nothing(self, state):
        before = picture(state)
        state.add_promises([], [], [])
        assert picture(state) == before


class TestObligations:
    def test_a_callback_is_known_from_both_sides(self, state):
        for awaited, awaiter in [("a", "w"), ("a", "v"), ("b", "w"), ("a", "w")]:
            state.add_callback(awaited, awaiter)
        assert state.callbacks == {"a": {"v", "w"}, "b": {"w"}}
        assert state.awaits == {"w": {"a", "b"}, "v": {"a"}}
        assert state.take_callbacks("a") == ["v", "w"]
        assert (state.callbacks, state.awaits) == ({"b": {"w"}}, {"w": {"b"}})
        state.drop_awaits("w")
        assert state.callbacks == state.awaits == {}

    def test_what_is_not_there_is_nothing(self, state):
        assert state.take_callbacks("a") == state.take_listeners("a") == []
        state.drop_awaits("a")

    def test_listeners_come_in_order_and_once(self, state):
        for address in ("http://b", "http://a", "http://b"):
            state.add_listener("a", address)
        assert state.take_listeners("a") == ["http://a", "http://b"]
        assert state.listeners == {}

    def test_an_unblock_message_is_keyed_by_promise_and_address(self, state):
        for address in ("http://a", "http://b", "http://a"):
            state.put_unblock(promise("p", "resolved"), address)
        assert list(state.unblocks) == [("p", "http://a"), ("p", "http://b")]


class TestRepeats:
    def test_what_is_queued_already_repeats(self, state):
        state.put_task("old", TaskRow("pending", 1, retry_at=70, queued=1))
        assert state.agenda.entries(Due.REPEAT) == {(70, "old")}
        assert state.agenda.entries(Due.RETRY) == set()
        state.put_task("old", TaskRow("pending", 1, retry_at=70, queued=0))
        assert state.agenda.entries(Due.REPEAT) == set()
        assert state.agenda.entries(Due.RETRY) == {(70, "old")}

    def test_to_postpone_is_as_to_put_each(self, state):
        other = State(STANDARD)
        tasks = [TaskRow("pending", v, frozenset({"x"}), retry_at=60, queued=v) for v in (0, 0, 2)]
        for one in (state, other):
            one.clear()
            for n, task in enumerate(tasks):
                one.put_promise(promise(f"p{n}", task=task))
        with state.transaction(), other.transaction():
            state.postpone(["p0", "p1", "p2"], 90)
            for n, task in enumerate(tasks):
                other.put_task(f"p{n}", task._replace(retry_at=90))
        assert picture(state)[:3] == picture(other)[:3]
        assert state.repeats == 3


class TestReading:
    def test_the_outbox_goes_to_the_targets(self, state):
        assert state.executes == {}
        state.put_task("old", TaskRow("fulfilled", 3, queued=2))
        assert state.executes == {"old": (2, "poll://any@g")}

    def test_tasks_in_like_condition_share_a_row(self, state):
        for id in ("a", "b"):
            state.put_promise(promise(id))
            state.put_task(id, pending(int("70")))
        assert state.tasks["a"] is state.tasks["b"]

    def test_a_fired_promise_borrows_its_schedules_tags_and_adds_its_own(self):
        row = promise(
            "p", tags={**TARGETED, "resonate:origin": "user"}, firing=Firing("s", 7, True)
        )
        own = dict.fromkeys(["origin", "branch", "parent", "prefix"], "p") | {"schedule": "s"}
        expected = TARGETED | {f"resonate:{name}": text for name, text in own.items()}
        assert row.all_tags() == row.record().tags == expected
        assert {name: row.tag(name) for name in expected} == expected
        assert row.tag("resonate:timer") is None

    def test_a_firing_without_tags_adds_none(self):
        row = promise("p", firing=Firing("s", 7, False))
        assert row.all_tags() == TARGETED
        assert row.tag("resonate:schedule") is None

    def test_ids_are_sorted_by_the_bytes_of_utf8(self, state):
        ids = ["é", "z", "Z", "\U0001f600", "\ue000", "old", "a", "a.b", "a\0"]
        for id in ids:
            state.promise_ids()
            state.put_promise(promise(id))
        assert state.promise_ids() == sorted(ids, key=lambda id: id.encode())

    def test_sorted_ids_follow_deletion(self, state):
        state.put_schedule(schedule("a"))
        assert state.schedule_ids() == ["a", "s"]
        state.drop_schedule("a")
        state.put_schedule(schedule("z"))
        assert state.schedule_ids() == ["s", "z"]

    def test_rows_turn_into_columns(self, state):
        state.put_promise(promise("p"))
        ids, states, *_ = zip(*state.promises.values(), strict=True)
        assert ids == ("old", "p")
        assert states == ("pending", "pending")

    def test_clear_forgets_all_but_the_trace(self, state):
        state.clear()
        assert not any(picture(state)[0])
        assert state.agenda.peek() is None
        assert state.steps == 1
