"""Clients, workers, time and outages in any order, in every profile: every law after every step.

The states are judged as they are, and each pair of them as a step. What a law would not see,
a rule says itself.
"""

import os
import tempfile
from pathlib import Path

import pytest
from history import ADDRESS, START, TARGET, TIMER, held, parked, send
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from resonate_lab import Engine
from resonate_lab.engine.laws import DELIVERY, RUN, Picture, step_violations, violations
from resonate_lab.errors import EmptyAgenda

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000

IS_DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"


class Machine(RuleBasedStateMachine):
    """An engine, judged before and after whatever happens to it."""

    PROFILE = "standard"

    IDS = st.sampled_from(["o", "o.a", "o.b", "o.c", "o.d", "q.a", "o.fixed"])
    TAGS = st.sampled_from(
        [{}, TARGET, TARGET, TARGET, TIMER, TARGET | TIMER, TARGET | {"resonate:delay": "late"}]
    )
    WAITS = st.sampled_from([0, 1, SECOND, 20 * SECOND, 30 * SECOND, MINUTE, 10 * MINUTE])
    DEADLINES = st.sampled_from([-5, 0, 1, SECOND, 40 * SECOND, MINUTE, HOUR, HOUR])
    SETTLEMENTS = st.sampled_from(["resolved", "rejected", "rejected_canceled"])
    ADDRESSES = st.sampled_from([ADDRESS, "poll://uni@g/me"])
    TTLS = st.sampled_from([1, 10 * SECOND, HOUR])
    # Mostly the version that is: the others are refused at the door.
    OFFSETS = st.sampled_from([0, 0, 0, 0, 1, -1])
    SCHEDULES = st.sampled_from(["s", "t", "u"])
    CRONS = st.sampled_from(["* * * * *", "*/20 * * * * *", "0 */6 * * *", "0 0 0 2 1 ? 2024"])
    TEMPLATES = st.sampled_from(["{{.id}}-{{.timestamp}}", "x{{.timestamp}}", "o.fixed"])

    @initialize()
    def start(self):
        self.engine = Engine(self.PROFILE, START)
        self.now = START
        self.before = Picture.of(self.engine.state)

    # --- judging

    def judge(self, step):
        after = Picture.of(self.engine.state, step)
        if step == "debug.reset":
            self.before = after
            return
        broken = step_violations(self.now, self.before, after)
        assert broken == [], (step, self.engine.trace)
        self.before = after

    def send(self, kind, **data):
        response = send(self.engine, self.now, kind, data)
        status = response["head"]["status"]
        assert status in (200, 300, 400, 404, 409, 422, 501)
        self.judge(kind)
        if status >= 400:
            assert isinstance(response["data"], str)
        return status, response["data"]

    @invariant()
    def the_laws_of_the_state_hold(self):
        if hasattr(self, "engine"):
            assert violations(self.now, self.engine.state) == [], self.engine.trace

    # --- promises

    def promise(self, id, deadline, tags):
        tags = {name: str(self.now + SECOND) if text == "late" else text
                for name, text in tags.items()}  # fmt: skip
        return {"id": id, "timeoutAt": self.now + deadline, "tags": tags}

    @rule(id=IDS, deadline=DEADLINES, tags=TAGS)
    def promise_create(self, id, deadline, tags):
        self.send("promise.create", **self.promise(id, deadline, tags))

    @rule(id=IDS)
    def promise_get(self, id):
        status, data = self.send("promise.get", id=id)
        if status == 200:
            record = data["promise"]
            assert record["state"] != "pending" or record["timeoutAt"] > self.now

    @rule(id=IDS, state=SETTLEMENTS, value=st.sampled_from([{}, {"data": "x"}]))
    def promise_settle(self, id, state, value):
        self.send("promise.settle", id=id, state=state, value=value)

    @rule(awaited=IDS, awaiter=IDS)
    def register_callback(self, awaited, awaiter):
        self.send("promise.register_callback", awaited=awaited, awaiter=awaiter)

    @rule(awaited=IDS, address=ADDRESSES)
    def register_listener(self, awaited, address):
        self.send("promise.register_listener", awaited=awaited, address=address)

    @rule(address=st.sampled_from([TARGET["resonate:target"], ADDRESS, "poll://uni@g/me"]))
    def deliver(self, address):
        self.engine.take_messages(address)
        self.judge(DELIVERY)
        assert self.engine.take_messages(address) == []

    @rule(kind=st.sampled_from(["promise.search", "task.search", "schedule.search", "debug.snap"]))
    def read(self, kind):
        self.send(kind)
        # The step of a read is that nothing moves.
        assert Picture.of(self.engine.state).promises == self.before.promises

    # --- tasks

    def version(self, id, offset=0):
        row = self.engine.state.promises.get(id)
        return max(0, (row.task.version if row and row.task else 0) + offset)

    @rule(id=IDS, deadline=DEADLINES, tags=TAGS, ttl=TTLS)
    def task_create(self, id, deadline, tags, ttl):
        data = self.promise(id, deadline, TARGET | tags)
        self.send("task.create", pid="w", ttl=ttl,
                  action={"kind": "promise.create", "head": {}, "data": data})  # fmt: skip

    @rule(id=IDS, ttl=TTLS, pid=st.sampled_from(["w", "v"]), offset=OFFSETS)
    def task_acquire(self, id, ttl, pid, offset):
        self.send("task.acquire", **held(id, self.version(id, offset), pid=pid, ttl=ttl))

    @rule(id=IDS, awaited=st.lists(IDS, min_size=1, max_size=3), offset=OFFSETS)
    def task_suspend(self, id, awaited, offset):
        self.send("task.suspend", **parked(id, self.version(id, offset), *awaited))

    @rule(id=IDS, ttl=TTLS, awaited=st.lists(IDS, min_size=1, max_size=2))
    def acquire_and_suspend(self, id, ttl, awaited):
        self.task_acquire(id, ttl, "w", 0)
        self.task_suspend(id, awaited, 0)

    @rule(id=IDS, offset=OFFSETS)
    def task_release(self, id, offset):
        self.send("task.release", **held(id, self.version(id, offset)))

    @rule(id=IDS, state=SETTLEMENTS, offset=OFFSETS)
    def task_fulfill(self, id, state, offset):
        data = {"id": id, "state": state, "value": {"data": "y"}}
        action = {"kind": "promise.settle", "head": {}, "data": data}
        self.send("task.fulfill", **held(id, self.version(id, offset), action=action))

    @rule(id=IDS, other=IDS, deadline=DEADLINES, tags=TAGS, state=SETTLEMENTS, offset=OFFSETS)
    def task_fence(self, id, other, deadline, tags, state, offset):
        settle = {"kind": "promise.settle", "data": {"id": other, "state": state}}
        create = {"kind": "promise.create", "data": self.promise(other, deadline, tags)}
        for action in (create, settle):
            fenced = held(id, self.version(id, offset), action=action)
            status, _ = self.send("task.fence", **fenced)
            # A fence around the fencing task's own promise leaves no trace to judge by.
            assert status >= 400 or id != other

    @rule(ids=st.lists(IDS, min_size=1, max_size=3), pid=st.sampled_from(["w", "v"]))
    def task_heartbeat(self, ids, pid):
        tasks = [{"id": id, "version": self.version(id)} for id in ids]
        self.send("task.heartbeat", pid=pid, tasks=tasks)

    @rule(id=IDS, kind=st.sampled_from(["task.halt", "task.continue", "task.get"]))
    def task_by_id(self, id, kind):
        self.send(kind, id=id)

    # --- schedules

    @rule(id=SCHEDULES, cron=CRONS, promise_id=TEMPLATES, tags=TAGS,
          timeout=st.sampled_from([0, 1, 20 * SECOND, MINUTE, HOUR]))  # fmt: skip
    def schedule_create(self, id, cron, promise_id, tags, timeout):
        tags = TARGET | {name: text for name, text in tags.items() if text != "late"}
        self.send("schedule.create", id=id, cron=cron, promiseId=promise_id,
                  promiseTimeout=timeout, promiseTags=tags)  # fmt: skip

    @rule(id=SCHEDULES)
    def schedule_delete(self, id):
        was_there = id in self.before.schedules
        status, _ = self.send("schedule.delete", id=id)
        assert (status == 200) == was_there
        assert self.send("schedule.get", id=id)[0] == 404

    # --- time

    @rule(wait=WAITS)
    def tick(self, wait):
        self.now += wait
        self.send("debug.tick", time=self.now)

    @rule(wait=WAITS)
    def advance(self, wait):
        until = self.now + wait
        # A server that is behind runs once a second: the first of these runs say it all.
        for _ in range(10):
            at = self.next_run()
            if at is None or at > until:
                break
            self.engine.run_until(at)
            self.now = at
            self.judge(RUN)
        self.engine.run_until(until)
        self.now = until
        self.before = Picture.of(self.engine.state)

    def next_run(self):
        """Return the instant of the next run that finds something, or None."""
        due, poll_ms = self.engine.peek_ms(), self.engine.profile.poll_ms
        if due is None or poll_ms is None:
            return due and max(due, self.now)
        polled_at = self.engine.state.polled_at
        polls = -(-(max(due, self.now) - polled_at) // poll_ms)
        return polled_at + max(polls, 1) * poll_ms

    @rule()
    def step(self):
        is_stopped = self.engine.profile.poll_ms is not None and not self.engine.state.polling
        if self.engine.peek_ms() is None or is_stopped:
            with pytest.raises(EmptyAgenda):
                self.engine.step()
            return
        taken = self.engine.step()
        self.now = self.engine.now_ms
        self.judge(taken.step)

    @rule(kind=st.sampled_from(["debug.start", "debug.stop", "debug.stop"]))
    def loop(self, kind):
        self.send(kind)

    @rule(wait=WAITS)
    def outage(self, wait):
        self.engine.outage(wait)
        self.now = self.engine.now_ms
        # Many runs where the profile polls: only the states are judged.
        self.before = Picture.of(self.engine.state)

    @precondition(lambda self: len(self.engine.state.promises) > 60)
    @rule()
    def reset(self):
        self.send("debug.reset")
        assert self.engine.peek_ms() is None

    # --- copies

    @rule(other=IDS)
    def fork(self, other):
        origin, self.engine = self.engine, self.engine.fork()
        self.send("promise.create", id=other, timeoutAt=self.now + HOUR)
        self.send("promise.settle", id=other, state="resolved")
        origin.check()

    @rule()
    def save_and_load(self):
        with tempfile.TemporaryDirectory() as folder:
            self.engine.save(Path(folder, "engine"))
            loaded = Engine.load(Path(folder, "engine"))
        assert what_comes(loaded.fork()) == what_comes(self.engine.fork())
        self.engine = loaded
        for table in ("promises", "schedules", "callbacks", "awaits", "listeners", "unblocks"):
            assert getattr(loaded.state, table) == getattr(self.before, table)


def what_comes(engine):
    """Return the next steps of an engine, as far as it takes any."""
    try:
        return [engine.step() for _ in range(3)]
    except EmptyAgenda:
        return engine.trace


def machine_of(profile):
    machine = type(f"Machine_{profile}", (Machine,), {"PROFILE": profile}).TestCase
    machine.settings = settings(
        max_examples=2_000 if IS_DEEP else 60,
        stateful_step_count=50,
        suppress_health_check=list(HealthCheck),
    )
    return machine


TestStandard = machine_of("standard")
TestServer = machine_of("server")
TestReference = machine_of("reference")
TestSpec = machine_of("spec")
