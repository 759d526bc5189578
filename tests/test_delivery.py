"""Messages leave the outbox once, go to whom they are for, and wait for those who are not there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire import DAY, HOUR, MINUTE, SECOND, TARGET, TARGETED, T
from workers import Workers

from resonate_lab import Engine
from resonate_lab.clients.delivery import Post
from resonate_lab.engine.agenda import Due
from resonate_lab.engine.laws import DELIVERY, Picture, step_violations, violations

ME = "poll://uni@default/me"


def told(messages):
    """Return what messages say: task and version, or the id of a settled promise."""
    return [
        (m["data"]["task"]["id"], m["data"]["task"]["version"])
        if m["kind"] == "execute"
        else m["data"]["promise"]["id"]
        for m in messages
    ]


class Listener:
    """A member that takes what it is woken for, as much at a time as it has room for."""

    def __init__(self, post, pid, group="default", room=1):
        self.post, self.room = post, room
        self.got, self.is_awake = [], False
        self.member = post.join(group, pid, self.wake)

    def wake(self):
        self.is_awake = True

    def work(self):
        if not self.is_awake:
            return False
        messages = self.post.take(self.member, self.room)
        self.got += told(messages)
        self.is_awake = bool(messages)
        return self.is_awake


def work(*listeners):
    while sum(one.work() for one in listeners):
        pass


@pytest.fixture
def client():
    return Workers()


@pytest.fixture
def engine(client):
    return client.engine


class TestTaking:
    def test_a_message_taken_is_gone_and_says_what_the_snapshot_showed(self, client, engine):
        client.promise("a")
        (shown,) = client.ok("debug.snap")["messages"]
        assert engine.take_messages(TARGET) == [shown["message"]]
        assert client.messages() == {}
        assert engine.take_messages(TARGET) == []

    def test_the_oldest_goes_first_and_no_more_than_wanted(self, client, engine):
        for id in "ba":
            client.promise(id)
            client.now += 1
        assert told(engine.take_messages(TARGET, 0)) == []
        assert told(engine.take_messages(TARGET, 1)) == [("b", 0)]
        assert told(engine.take_messages(TARGET, 5)) == [("a", 0)]

    def test_other_addresses_keep_theirs(self, client, engine):
        client.promise("a")
        assert engine.take_messages("poll://any@other") == []
        assert client.messages() == {"a": TARGET}

    def test_a_task_not_acquired_is_told_of_again_after_the_retry_interval(self, client, engine):
        client.promise("a")
        engine.run_until(T)
        assert told(engine.take_messages(TARGET)) == [("a", 0)]
        assert engine.next_run_ms() == T + 30 * SECOND
        engine.run_until(T + 30 * SECOND - 1)
        assert engine.take_messages(TARGET) == []
        engine.run_until(T + 30 * SECOND)
        assert told(engine.take_messages(TARGET)) == [("a", 0)]

    def test_while_it_is_queued_its_retry_is_a_repeat_and_no_run_worth_waiting_for(
        self, client, engine
    ):
        client.promise("a")
        assert engine.next_run_ms() == T + HOUR
        assert engine.state.agenda.head(Due.REPEAT).at == T + 30 * SECOND
        engine.take_messages(TARGET)
        assert engine.state.agenda.head(Due.REPEAT) is None
        assert engine.state.agenda.head(Due.RETRY).at == T + 30 * SECOND

    def test_a_day_of_retries_of_many_tasks_is_summed_up_only_where_messages_wait(self):
        client = Workers()
        for n in range(20):
            client.promise(f"p{n}", timeout=2 * DAY)
        twin = client.engine.fork()
        client.engine.run_until(T + DAY)
        assert client.engine.next_run_ms() == T + 2 * DAY
        # One took its messages and forgot them: the first retry queues them, the rest repeat.
        twin.take_messages(TARGET)
        twin.run_until(T + DAY)
        assert len(twin.take_messages(TARGET)) == 20
        assert twin.check() == []

    def test_an_acquired_task_is_not_told_of_and_its_message_goes(self, client, engine):
        client.promise("a")
        client.acquire("a")
        assert engine.take_messages(TARGET) == []
        assert client.messages() == {}

    def test_a_settled_promise_is_not_told_of_and_its_message_goes(self, client, engine):
        client.promise("a")
        client.settle("a")
        assert engine.take_messages(TARGET) == []
        assert client.messages() == {}

    def test_a_notice_is_taken_once_and_shows_the_promise_settled(self, client, engine):
        client.promise("a")
        client.ok("promise.register_listener", awaited="a", address=ME)
        client.settle("a", value={"data": "x"})
        (message,) = engine.take_messages(ME)
        assert message["kind"] == "unblock"
        assert message["data"]["promise"] == client.stored("a")
        assert engine.take_messages(ME) == []
        assert client.unblocks() == []

    def test_what_is_taken_stands_in_the_trace(self, client, engine):
        client.promise("a")
        engine.take_messages(TARGET)
        assert engine.trace[-1][1:4] == ("delivery", "a", f"execute to {TARGET}")

    def test_a_message_does_not_share_anything_with_the_state(self, client, engine):
        client.promise("a")
        client.ok("promise.register_listener", awaited="a", address=ME)
        client.settle("a")
        (message,) = engine.take_messages(ME)
        message["data"]["promise"]["tags"].clear()
        assert client.stored("a")["tags"] == TARGETED

    def test_a_saved_engine_delivers_what_the_original_would(self, client, engine, tmp_path):
        for id in "cab":
            client.promise(id)
        engine.take_messages(TARGET, 1)
        engine.save(tmp_path / "engine")
        again = Engine.load(tmp_path / "engine")
        assert again.take_messages(TARGET) == engine.take_messages(TARGET)

    def test_a_request_undone_leaves_no_message(self, client, engine):
        engine.state.outbox.news()
        client.schedule(cron="* * * * * *")
        client.tick(T + 5 * SECOND)
        before = engine.fork()
        assert client.send("debug.tick", time=T + 400 * DAY)[0] == 400
        assert engine.state.outbox.news() == [TARGET]
        assert engine.take_messages(TARGET) == before.take_messages(TARGET) != []


class TestNews:
    def test_an_address_is_news_when_its_first_message_comes(self, client, engine):
        assert engine.state.outbox.news() == []
        client.promise("a")
        client.promise("b")
        assert engine.state.outbox.news() == [TARGET]
        assert engine.state.outbox.news() == []
        engine.take_messages(TARGET, 1)
        client.promise("c")
        assert engine.state.outbox.news() == []
        engine.take_messages(TARGET)
        client.promise("d")
        assert engine.state.outbox.news() == [TARGET]

    def test_what_a_catch_up_queues_is_news(self, client, engine):
        engine.state.outbox.news()
        client.schedule(cron="*/10 * * * * *")
        client.tick(T + MINUTE)
        assert engine.state.outbox.news() == [TARGET]
        assert len(engine.take_messages(TARGET)) == 6

    def test_a_reset_is_the_end_of_all_messages(self, client, engine):
        client.promise("a")
        engine.state.outbox.news()
        client.ok("debug.reset")
        assert engine.state.outbox.news() == []
        assert engine.take_messages(TARGET) == []


class TestPost:
    def test_a_process_gets_what_is_for_it_and_its_group(self, client, engine):
        for id, address in {"a": TARGET, "b": ME, "c": "poll://any@other", "d": f"{TARGET}/me",
                            "e": f"{TARGET}/you", "f": "poll://uni@default/you",
                            "g": "http://host", "h": "poll://uni@other/me"}.items():  # fmt: skip
            client.promise(id, tags={"resonate:target": address})
        post = Post(engine)
        me = Listener(post, "me")
        post.call()
        work(me)
        assert sorted(id for id, _ in me.got) == ["a", "b", "d", "e"]

    def test_the_preferred_process_gets_it_if_it_is_there_even_if_it_is_busy(self, client, engine):
        post = Post(engine)
        me, you = Listener(post, "me"), Listener(post, "you")
        work(me)  # `you` has not come to it yet
        client.promise("a", tags={"resonate:target": f"{TARGET}/you"})
        post.call()
        work(me)
        assert me.got == []
        work(you)
        assert you.got == [("a", 0)]

    def test_any_goes_round(self, client, engine):
        post = Post(engine)
        workers = [Listener(post, pid) for pid in "xyz"]
        work(*workers)
        for id in "abcdef":
            client.promise(id)
            post.call()
            work(*workers)
        assert [[id for id, _ in one.got] for one in workers] == [
            ["a", "d"], ["b", "e"], ["c", "f"],
        ]  # fmt: skip

    def test_what_nobody_listens_for_waits_and_is_not_lost(self, client, engine):
        post = Post(engine)
        client.promise("a")
        post.call()
        engine.run_until(T + 10 * MINUTE)
        post.call()
        late = Listener(post, "late")
        work(late)
        assert late.got == [("a", 0)]

    def test_a_notice_waits_for_its_process_to_come_back(self, client, engine):
        post = Post(engine)
        me = Listener(post, "me")
        client.promise("a")
        client.ok("promise.register_listener", awaited="a", address=ME)
        post.leave(me.member)
        client.settle("a")
        post.call()
        again = Listener(post, "me")
        work(again)
        assert "a" in again.got

    def test_one_that_was_woken_and_died_leaves_it_to_the_next(self, client, engine):
        post = Post(engine)
        dying, other = Listener(post, "x"), Listener(post, "y")
        work(dying, other)
        client.promise("a")
        post.call()
        assert dying.is_awake
        assert not other.is_awake
        post.leave(dying.member)
        work(other)
        assert other.got == [("a", 0)]
        assert post.take(dying.member, 9) == []

    def test_a_group_that_nobody_is_in_and_nothing_waits_for_is_forgotten(self, client, engine):
        post = Post(engine)
        for n in range(100):
            post.leave(Listener(post, "me", f"g{n}").member)
        assert post._groups == {}
        client.promise("a")
        post.leave(Listener(post, "me").member)
        assert list(post._groups) == ["default"]  # it has a message

    def test_what_is_for_a_process_that_stays_away_is_forgotten_at_the_second_look(
        self, client, engine
    ):
        post = Post(engine)
        for n in range(20):
            client.promise(f"p{n}")
            address = f"poll://uni@gone{n}/{n}"
            client.ok("promise.register_listener", awaited=f"p{n}", address=address)
            client.settle(f"p{n}")
        client.promise("task", tags={"resonate:target": ME})
        post.call()
        post.forget_absent()
        # One was there between the looks, and one is there.
        post.leave(Listener(post, "0", "gone0").member)
        one = Listener(post, "1", "gone1")
        post.forget_absent()
        assert {address for _, address in engine.state.unblocks} == {
            "poll://uni@gone0/0", "poll://uni@gone1/1",
        }  # fmt: skip
        assert set(post._groups) == {"default", "gone0", "gone1"}
        work(one)
        post.forget_absent()
        assert engine.state.unblocks == {}
        assert engine.check() == []
        # A task's message comes again.
        me = Listener(post, "me")
        engine.run_until(T + MINUTE)
        post.call()
        work(me)
        assert me.got == [("task", 0)]

    def test_of_two_with_one_name_the_later_listens(self, client, engine):
        post = Post(engine)
        old, new = Listener(post, "me"), Listener(post, "me")
        assert not old.member.is_connected
        client.promise("a")
        post.call()
        work(old, new)
        assert (old.got, new.got) == ([], [("a", 0)])
        post.leave(old.member)
        assert len(post) == 1

    def test_one_that_never_takes_holds_nothing_back_from_the_others(self, client, engine):
        post = Post(engine)
        stuck, other = Listener(post, "stuck"), Listener(post, "other")
        work(other)  # `stuck` was woken and never comes
        for id in "abc":
            client.promise(id)
        post.call()
        work(other)
        assert [id for id, _ in other.got] == ["a", "b", "c"]
        assert stuck.got == []

    def test_a_new_post_gets_all_that_waits(self, client, engine):
        client.promise("a")
        Post(engine).call()
        second = Post(engine)
        me = Listener(second, "me")
        second.call()
        work(me)
        assert me.got == [("a", 0)]


class TestLaws:
    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["make", "settle", "acquire", "listen", "take", "wait"]),
                st.sampled_from("abc"),
            ),
            max_size=25,
        ),
        st.sampled_from(["standard", "server", "reference", "spec"]),
    )
    def test_every_law_holds_whenever_something_is_taken_and_each_version_goes_once_a_retry(
        self, moves, profile
    ):
        client = Workers(profile)
        engine = client.engine
        delivered = {}
        for move, id in moves:
            if move == "make":
                client.send("promise.create", id=id, timeoutAt=T + HOUR, tags=TARGETED)
            elif move == "settle":
                client.send("promise.settle", id=id, state="resolved")
            elif move == "acquire":
                client.send("task.acquire", id=id, version=0, pid="w", ttl=MINUTE)
            elif move == "listen":
                client.send("promise.register_listener", awaited=id, address=ME)
            elif move == "wait":
                client.now += 20 * SECOND
                engine.run_until(client.now)
            else:
                before = Picture.of(engine.state)
                for message in told(engine.take_messages(TARGET)):
                    last = delivered.get(message)
                    assert last is None or client.now - last >= engine.profile.retry_ms
                    delivered[message] = client.now
                engine.take_messages(ME)
                assert engine.state.executes == engine.state.unblocks == {}
                after = Picture.of(engine.state, DELIVERY)
                assert step_violations(engine.now_ms, before, after) == []
            assert violations(engine.now_ms, engine.state) == []
