"""A history as data: requests that lead an engine through every condition that laws speak of.

Each line is an instant (s after the start), a kind and its data. It is answered alike in
all four profiles, but for what their rules are about.
"""

from resonate_lab import Engine
from resonate_lab.engine.laws import Picture
from resonate_lab.protocol.records import PROTOCOL_VERSION

START = 1_704_067_200_000  # 2024-01-01
TARGET = {"resonate:target": "poll://any@g"}
TIMER = {"resonate:timer": "true"}
ADDRESS = "http://watcher"
HOUR = 3600


def at(seconds):
    return START + 1000 * seconds


def schedule(id, cron, promise_id, timeout, tags):
    names = ("id", "cron", "promiseId", "promiseTimeout", "promiseTags")
    return dict(zip(names, (id, cron, promise_id, 1000 * timeout, tags), strict=True))


def promise(id, deadline, tags=None):
    return {"id": id, "timeoutAt": at(deadline), "tags": tags or {}}


def held(id, version, **data):
    return {"id": id, "version": version, **data}


def claimed(id, version, ttl=HOUR):
    return held(id, version, pid="w", ttl=1000 * ttl)


def action(kind, **data):
    return {"kind": kind, "head": {}, "data": data}


def parked(id, version, *awaited):
    actions = [action("promise.register_callback", awaited=it, awaiter=id) for it in awaited]
    return held(id, version, actions=actions)


HISTORY = [
    # schedules: an ordinary one, one whose promises are timers, one born expired
    (0, "schedule.create", schedule("s", "* * * * *", "{{.id}}-{{.timestamp}}", 90, TARGET)),
    (0, "schedule.create", schedule("t", "*/2 * * * *", "t{{.timestamp}}", 90, TARGET | TIMER)),
    (0, "schedule.create", schedule("x", "*/2 * * * *", "x{{.timestamp}}", 0, TARGET)),
    # promises of each kind, and a born settled one
    (1, "promise.create", promise("o.plain", HOUR)),
    (1, "promise.create", promise("o.timer", HOUR, TIMER)),
    (1, "promise.create", promise("o.past", -5, TARGET)),
    (1, "promise.create", promise("o.late", 100, TARGET)),
    (1, "promise.create", promise("o.delayed", HOUR, TARGET | {"resonate:delay": str(at(50))})),
    *((1, "promise.create", promise(f"o.{name}", HOUR, TARGET)) for name in (
        "pend", "acq", "susp", "halt", "done", "ask", "lazy")),
    (1, "promise.create", promise("o.ext", HOUR, {"resonate:external": "true"})),
    # a task that is born acquired, and loses its lease
    (2, "task.create", {"pid": "w", "ttl": 5000,
                        "action": action("promise.create", **promise("o.own", HOUR, TARGET))}),
    # obligations, on promises with and without a timer
    (3, "promise.register_listener", {"awaited": "o.plain", "address": ADDRESS}),
    (3, "promise.register_listener", {"awaited": "o.done", "address": ADDRESS}),
    (3, "promise.register_listener", {"awaited": "o.late", "address": ADDRESS}),
    (3, "promise.register_callback", {"awaited": "o.ext", "awaiter": "o.pend"}),
    (3, "promise.register_callback", {"awaited": "o.done", "awaiter": "o.halt"}),
    (3, "promise.register_callback", {"awaited": "o.done", "awaiter": "o.lazy"}),
    # leases: taken, prolonged, given back, halted
    (4, "task.acquire", claimed("o.acq", 0)),
    (5, "task.heartbeat", {"pid": "w", "tasks": [{"id": "o.acq", "version": 1}]}),
    (5, "task.acquire", claimed("o.halt", 0)),
    (5, "task.release", held("o.halt", 1)),
    (5, "task.acquire", claimed("o.lazy", 0)),
    (6, "task.halt", {"id": "o.halt"}),
    # parked on two, woken by one, parked again on what it awaits already
    (7, "task.acquire", claimed("o.susp", 0)),
    (7, "task.suspend", parked("o.susp", 1, "o.plain", "o.done")),
    (8, "promise.settle", {"id": "o.done", "state": "resolved", "value": {"data": "x"}}),
    (9, "task.acquire", claimed("o.susp", 1)),
    (9, "task.suspend", parked("o.susp", 2, "o.plain")),
    # a suspend that finds its promise settled by its own touch: 300, the resume is cleared
    (10, "task.acquire", claimed("o.ask", 0)),
    (10, "promise.create", promise("o.soon", 12)),
    (10, "promise.register_callback", {"awaited": "o.soon", "awaiter": "o.ask"}),
    (13, "task.suspend", parked("o.ask", 1, "o.soon")),
    # a callback on a settled promise wakes at once
    (14, "task.suspend", parked("o.ask", 1, "o.plain")),
    (14, "promise.register_callback", {"awaited": "o.done", "awaiter": "o.ask"}),
    (15, "task.continue", {"id": "o.halt"}),
    (15, "task.halt", {"id": "o.halt"}),
    (16, "task.fulfill", held("o.lazy", 1, action=action(
        "promise.settle", id="o.lazy", state="rejected", value={"data": "y"}))),
    # an awaiter that is itself overdue, and untouched, when what it awaits settles
    (17, "promise.create", promise("o.dead", 19, TARGET)),
    (17, "promise.create", promise("o.live", HOUR)),
    (17, "task.acquire", claimed("o.dead", 0)),
    (17, "task.suspend", parked("o.dead", 1, "o.live")),
    (20, "promise.settle", {"id": "o.live", "state": "rejected_canceled"}),
    # time: leases, retries, deadlines, firings that are on time and late
    *((second, "debug.tick", {"time": at(second)}) for second in (21, 40, 60, 80, 125, 600, 601)),
    (602, "schedule.delete", {"id": "x"}),
    (603, "promise.get", {"id": "o.timer"}),
]  # fmt: skip


def send(engine, now, kind, data):
    head = {"corrId": "test", "version": PROTOCOL_VERSION, "resonate:debug_time": now}
    return engine.send({"kind": kind, "head": head, "data": data})


def lived(profile="standard", check=None):
    """Return an engine with the history behind it; `check` meets each step on the way."""
    engine = Engine(profile, START)
    before = Picture.of(engine.state)
    for seconds, kind, data in HISTORY:
        response = send(engine, at(seconds), kind, data)
        assert response["head"]["status"] < 400, (profile, kind, data, response)
        if check is not None:
            after = Picture.of(engine.state, kind)
            check(at(seconds), before, after)
            before = after
    return engine
