"""The agenda: an index over deadlines that live elsewhere."""

from hypothesis import given
from hypothesis import strategies as st

from resonate_lab.engine.agenda import Agenda, Due


class Desk:
    """Records that name one instant each, and the agenda over them."""

    def __init__(self):
        self.named = {}
        self.agenda = Agenda(lambda due, id: self.named.get((due, id)))

    def name(self, due, id, at):
        if self.named.get((due, id)) is not None:
            self.agenda.disarm(due)
        self.named[due, id] = at
        if at is not None:
            self.agenda.arm(due, at, id)

    def take(self):
        head = self.agenda.peek()
        del self.named[head.due, head.id]
        self.agenda.disarm(head.due)
        return tuple(head)


class TestOrder:
    def test_nothing_armed_is_none(self):
        assert Desk().agenda.peek() is None

    def test_earlier_goes_first_then_the_step_then_the_id(self):
        desk = Desk()
        for due, id, at in [
            (Due.SCHEDULE_FIRING, "a", 5),
            (Due.RETRY, "b", 5),
            (Due.RETRY, "a", 5),
            (Due.RETRY, "c", 5),
            (Due.PROMISE_TIMEOUT, "z", 5),
            (Due.SCHEDULE_FIRING, "z", 4),
        ]:
            desk.name(due, id, at)
        assert [desk.take() for _ in range(6)] == [
            (4, Due.SCHEDULE_FIRING, "z"),
            (5, Due.PROMISE_TIMEOUT, "z"),
            (5, Due.RETRY, "a"),
            (5, Due.RETRY, "b"),
            (5, Due.RETRY, "c"),
            (5, Due.SCHEDULE_FIRING, "a"),
        ]
        assert desk.agenda.peek() is None

    def test_pop_due_takes_what_is_due_and_no_more(self):
        desk = Desk()
        for id, at in [("c", 1), ("a", 2), ("b", 2), ("d", 3)]:
            desk.name(Due.RETRY, id, at)
        assert desk.agenda.pop_due(Due.RETRY, 2) == ["c", "a", "b"]
        assert desk.agenda.peek().id == "d"
        assert desk.agenda.pop_due(Due.LEASE_EXPIRY, 9) == []

    def test_due_tells_what_is_due_and_takes_nothing(self):
        desk = Desk()
        for id, at in [("c", 1), ("a", 2), ("b", 2), ("d", 3)]:
            desk.name(Due.RETRY, id, at)
        desk.name(Due.RETRY, "a", 9)
        assert desk.agenda.due(Due.RETRY, 2) == ["c", "b"]
        assert desk.agenda.due(Due.RETRY, 0) == []
        assert desk.agenda.pop_due(Due.RETRY, 2) == ["c", "b"]

    def test_what_is_taken_off_comes_with_its_instant_and_can_be_put_back(self):
        desk = Desk()
        for id, at in [("c", 1), ("b", 2), ("a", 2)]:
            desk.name(Due.RETRY, id, at)
        assert list(desk.agenda.pop_instants(Due.RETRY, 2)) == [(1, ["c"]), (2, ["a", "b"])]
        desk.agenda.put_back(Due.RETRY, 2, ["a", "b"])
        assert desk.agenda.due(Due.RETRY, 2) == ["a", "b"]


class TestDeadEntries:
    def test_a_moved_deadline_counts_once_and_where_it_went(self):
        desk = Desk()
        desk.name(Due.RETRY, "a", 1)
        desk.name(Due.RETRY, "a", 7)
        assert desk.agenda.pop_due(Due.RETRY, 6) == []
        assert desk.agenda.peek() == (7, Due.RETRY, "a")

    def test_an_instant_dropped_and_named_again_counts_once(self):
        desk = Desk()
        for at in (5, None, 5):
            desk.name(Due.RETRY, "a", at)
        assert desk.agenda.pop_due(Due.RETRY, 5) == ["a"]

    def test_a_deadline_that_moves_for_ever_costs_no_memory(self):
        desk = Desk()
        desk.name(Due.RETRY, "still", 10**9)
        for at in range(10_000):
            desk.name(Due.RETRY, "a", at)
        assert len(desk.agenda._queues[Due.RETRY].heap) < 300
        assert desk.agenda.entries(Due.RETRY) == {(10**9, "still"), (9_999, "a")}


class TestBulk:
    @given(
        st.lists(st.tuples(st.integers(0, 9), st.text("abc", max_size=2)), max_size=8),
        st.lists(st.integers(0, 12), min_size=1, max_size=9),
        st.integers(0, 9),
    )
    def test_bulk_is_as_one_by_one(self, before, instants, together_at):
        slow, fast = Desk(), Desk()
        for at, id in before:
            for desk in (slow, fast):
                desk.name(Due.RETRY, id, at)
        each = [f"each{n}" for n in range(len(instants))]
        together = [f"together{n}" for n in range(len(instants))]
        for at, id in zip(instants, each, strict=True):
            slow.name(Due.RETRY, id, at)
            fast.named[Due.RETRY, id] = at
        fast.agenda.arm_each(Due.RETRY, instants, each)
        for id in together:
            slow.name(Due.RETRY, id, together_at)
            fast.named[Due.RETRY, id] = together_at
        fast.agenda.arm_together(Due.RETRY, together_at, together)
        assert slow.agenda.entries(Due.RETRY) == fast.agenda.entries(Due.RETRY)
        assert slow.agenda.peek() == fast.agenda.peek()
        assert slow.agenda.due(Due.RETRY, 5) == fast.agenda.due(Due.RETRY, 5)
        assert slow.agenda.pop_due(Due.RETRY, 20) == fast.agenda.pop_due(Due.RETRY, 20)
        assert fast.agenda.peek() is None
