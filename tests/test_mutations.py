"""Broken on purpose: five rules of firing, each broken alone, are each caught twice.

Once by the laws, which a user has as `Engine.check` and which judge each step of a short
story here; and once by a sentence of the documents in `test_seeds`. What is broken is not
asked how: the judges see states and answers, never the code.
"""

import pytest
import test_seeds as seeds
from wire import DAY, HOUR, MINUTE, PROFILES, Client, T

from resonate_lab.engine import internal
from resonate_lab.engine.laws import Picture, step_violations, violations
from resonate_lab.engine.rows import PromiseRow, TaskRow
from resonate_lab.engine.state import State

TEN = 10 * MINUTE


def broken_laws(profile):
    """Live through an outage and a deletion; return the names of the laws that were broken."""
    client, broken = Client(profile), set()

    def judged(kind, now, **data):
        client.now = now
        before = Picture.of(client.engine.state)
        client.ok(kind, **data)
        after = Picture.of(client.engine.state, kind)
        found = step_violations(now, before, after) + violations(now, client.engine.state)
        broken.update(item.law for item in found)

    client.schedule("often", promiseTimeout=25 * MINUTE)
    client.schedule("hourly", "0 * * * *", promiseTimeout=DAY)
    client.schedule("late", "*/15 * * * *", promiseTimeout=0)
    # Behind the others when it is deleted: only its own timer can come after that.
    client.schedule("gone", "0 12 * * *")
    judged("debug.tick", T + 45 * MINUTE, time=T + 45 * MINUTE)
    for minutes in (46, 50, 61, 200, 201, 202):
        judged("debug.tick", T + minutes * MINUTE, time=T + minutes * MINUTE)
    judged("schedule.delete", client.now, id="gone")
    judged("debug.tick", client.now + HOUR, time=client.now + HOUR)
    return broken


# --- the mutations -----------------------------------------------------------------------


def skip_a_tick(patch):
    """The second of the ticks that were missed is left out."""
    real = internal.missed_ticks

    def missed_ticks(*args):
        ticks, following = real(*args)
        return ticks[:1] + ticks[2:], following

    patch.setattr(internal, "missed_ticks", missed_ticks)


def rows_in(args):
    """Return the rows of promises among the arguments with which many are stored."""
    for items in map(list, args):
        if items and isinstance(items[0], PromiseRow):
            return items
    return []


def fire_out_of_order(patch):
    """The promises of one catch-up are created latest first."""

    def add_promises(state, *args):
        for row in reversed(rows_in(args)):
            state.put_promise(row)

    patch.setattr(State, "add_promises", add_promises)


def dispatch_an_expired_one(patch):
    """A promise that is created settled sends its worker a message all the same."""
    real = State.put_promise

    def put_promise(state, row):
        if row.firing and row.settled_at is not None and row.id not in state.promises:
            task = TaskRow("pending", retry_at=row.timeout_at + DAY, queued=0)
            row = row._replace(task=task)
        real(state, row)

    def add_promises(state, *args):
        for row in rows_in(args):
            state.put_promise(row)

    # One, or many at once.
    patch.setattr(State, "put_promise", put_promise)
    patch.setattr(State, "add_promises", add_promises)


def keep_the_timeout_after_delete(patch):
    """The record goes, the timer stays on the agenda."""
    drop, due_at, kept = State.drop_schedule, State.due_at, {}

    def drop_schedule(state, id):
        kept[id] = state.schedules[id].next_run_at
        drop(state, id)

    def remembered(state, due, id):
        found = due_at(state, due, id)
        is_gone = due is internal.Due.SCHEDULE_FIRING and id not in state.schedules
        return kept.get(id) if is_gone else found

    patch.setattr(State, "drop_schedule", drop_schedule)
    patch.setattr(State, "due_at", remembered)


def advance_from_now(patch):
    """One tick is fired, and the next is looked for after now instead of after it."""
    real = internal.missed_ticks

    def missed_ticks(profile, row, now, most):
        ticks, following = real(profile, row, now, most)
        if ticks:
            following = internal.next_tick(profile, row.expression, now)
        return ticks[:1], following

    patch.setattr(internal, "missed_ticks", missed_ticks)


SHAPES, CATCH_UP = seeds.TestGuideNormativeShapes, seeds.TestGuideCatchUp
DELETE = seeds.TestGuideS03Delete

#: Each mutation with the laws and the sentences that must catch it.
MUTATIONS = {
    skip_a_tick: (
        {"consistent_schedule_fires_exactly_the_chain"},
        [
            SHAPES.test_none_is_skipped_and_not_only_the_latest_is_fired,
            CATCH_UP.test_it_fires_for_every_missed_occurrence,
        ],
    ),
    fire_out_of_order: (
        {"consistent_schedule_fires_oldest_first"},
        [SHAPES.test_one_promise_per_missed_occurrence_in_chronological_order],
    ),
    dispatch_an_expired_one: (
        {"consistent_settled_promise_has_fulfilled_task"},
        [SHAPES.test_one_that_is_expired_at_creation_dispatches_no_task],
    ),
    keep_the_timeout_after_delete: (
        {"consistent_agenda_holds_every_deadline"},
        [DELETE.test_its_timeout_is_disarmed],
    ),
    advance_from_now: (
        {"consistent_schedule_fires_exactly_the_chain"},
        [
            SHAPES.test_none_is_skipped_and_not_only_the_latest_is_fired,
            CATCH_UP.test_it_fires_for_every_missed_occurrence,
        ],
    ),
}

#: One tick a firing has no second tick, and no order: there these cannot be broken.
OUT_OF_REACH = {(skip_a_tick, "server"), (fire_out_of_order, "server")}

CASES = [
    (mutation, profile)
    for mutation in MUTATIONS
    for profile in PROFILES
    if (mutation, profile) not in OUT_OF_REACH
]


def words(item):
    return getattr(item, "__name__", item)


class TestEachIsCaught:
    @pytest.mark.parametrize(("mutation", "profile"), CASES, ids=words)
    def test_by_the_laws(self, mutation, profile, monkeypatch):
        laws, _ = MUTATIONS[mutation]
        mutation(monkeypatch)
        assert laws <= broken_laws(profile)

    @pytest.mark.parametrize("mutation", MUTATIONS, ids=words)
    def test_by_the_documents(self, mutation, monkeypatch):
        _, sentences = MUTATIONS[mutation]
        mutation(monkeypatch)
        for sentence in sentences:
            with pytest.raises(AssertionError):
                sentence(None, Client())


class TestWithoutThemNothingIs:
    @pytest.mark.parametrize("profile", PROFILES)
    def test_by_the_laws(self, profile):
        assert broken_laws(profile) == set()

    @pytest.mark.parametrize("mutation", MUTATIONS, ids=words)
    def test_by_the_documents(self, mutation):
        for sentence in MUTATIONS[mutation][1]:
            sentence(None, Client())

    @pytest.mark.parametrize(("mutation", "profile"), sorted(OUT_OF_REACH, key=str), ids=words)
    def test_where_a_rule_cannot_be_broken(self, mutation, profile, monkeypatch):
        mutation(monkeypatch)
        assert broken_laws(profile) == set()
