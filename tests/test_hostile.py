"""Hostile requests, all kinds, all profiles: each gets an answer, and the laws hold after it."""

import json
from dataclasses import fields, is_dataclass
from typing import get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire import HOUR, MINUTE, PROFILES, SECOND, TARGETED, T
from workers import Workers

from resonate_lab import Engine
from resonate_lab.protocol.records import wire_name
from resonate_lab.protocol.requests import REQUESTS

HEAD = {"corrId": "1", "version": "2026-04-01"}
IDS = [
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
]


def nested(depth):
    value = {}
    for _ in range(depth):
        value = {"data": value, "id": [value]}
    return value


def request_of(kind, id="p", **data):
    """Return data that a kind accepts, or nearly."""
    action = {"kind": "promise.create", "head": {}, "data": {"id": id, "timeoutAt": T + HOUR}}
    action["data"]["tags"] = TARGETED
    settle = {"kind": "promise.settle", "head": {}, "data": {"id": id, "state": "resolved"}}
    wait = {"kind": "x", "head": {}, "data": {"awaited": f"{id}.1", "awaiter": id}}
    held = {"id": id, "version": 1}
    known = {
        "promise.create": action["data"],
        "promise.settle": settle["data"],
        "promise.register_callback": wait["data"],
        "promise.register_listener": {"awaited": id, "address": "http://a"},
        "task.create": {"pid": "w", "ttl": MINUTE, "action": action},
        "task.acquire": {"id": id, "version": 0, "pid": "w", "ttl": MINUTE},
        "task.release": held,
        "task.fulfill": {**held, "action": settle},
        "task.suspend": {**held, "actions": [wait]},
        "task.fence": {**held, "action": {**action, "data": {**action["data"], "id": f"{id}.1"}}},
        "task.heartbeat": {"pid": "w", "tasks": [held]},
        "schedule.create": {
            "id": id,
            "cron": "* * * * *",
            "promiseId": "{{.id}}-{{.timestamp}}",
            "promiseTimeout": HOUR,
            "promiseTags": TARGETED,
        },
        "debug.tick": {"time": T + HOUR},
    }
    return {**known.get(kind, {"id": id}), **data}


def numbers(kind):
    """Yield the members of a kind that are integers, those within included, as paths."""
    hints = get_type_hints(kind)
    for item in fields(kind):
        hint = hints[item.name]
        if hint in (int, int | None) or item.name == "time":
            yield (wire_name(item.name),)
        elif is_dataclass(hint):
            yield from ((wire_name(item.name), *path) for path in numbers(hint))


def with_member(data, path, value):
    head, *rest = path
    inner = with_member(data.get(head, {}), rest, value) if rest else value
    return {**data, head: inner}


def answered(engine, kind, data, **head):
    response = engine.send({"kind": kind, "head": {**HEAD, **head}, "data": data})
    assert isinstance(response["head"]["status"], int)
    assert (response["head"]["status"] < 400) or isinstance(response["data"], str)
    return response["head"]["status"], response["data"]


@pytest.mark.parametrize("profile", PROFILES)
class TestEveryKind:
    @pytest.mark.parametrize("id", ["", *IDS], ids=range(len(IDS) + 1))
    def test_odd_ids(self, profile, id):
        engine = Engine(profile, now=T)
        for kind in REQUESTS:
            if kind != "debug.reset":
                answered(engine, kind, request_of(kind, id))
        for kind in ("promise.search", "task.search", "schedule.search"):
            answered(engine, kind, {"cursor": id, "tags": {id: id}})
        assert engine.check() == []
        assert (id in engine.state.promises) == bool(id and "\0" not in id)
        repr(engine), repr(engine.trace), repr(list(engine.promises)), repr(list(engine.tasks))
        engine.promises._repr_html_(), engine.schedules._repr_html_(), engine._repr_html_()

    EDGES = {"2^63": 2**63, "largest": 2**63 - 1, "-1": -1, "-2^63": -(2**63), "huge": 10**5000}

    @pytest.mark.parametrize("value", [*EDGES.values(), 1e308], ids=[*EDGES, "float"])
    def test_numbers_at_the_edge(self, profile, value):
        for kind, request in REQUESTS.items():
            for path in numbers(request):
                client = Workers(profile)
                client.promise("p")
                client.promise("p.1")
                client.acquire("p")
                answered(client.engine, kind, with_member(request_of(kind), path, value))
                assert client.engine.check() == []

    def test_nesting_ten_thousand_deep(self, profile):
        deep = nested(10_000)
        engine = Engine(profile, now=T)
        for kind in REQUESTS:
            for data in (
                deep,
                {"id": "p", "timeoutAt": 1, "param": deep},
                request_of(kind, tags=deep),
            ):
                answered(engine, kind, data, deep=deep)
            for member in ("action", "actions", "tasks", "promiseTags", "time"):
                answered(engine, kind, request_of(kind, **{member: deep}))
                answered(engine, kind, request_of(kind, **{member: [deep]}))
        assert engine.check() == []

    @pytest.mark.parametrize("tags", [{"a": 1}, {"a": None}, {"a": []}, [], "x", 5, None])
    def test_tags_that_are_no_texts(self, profile, tags):
        engine = Engine(profile, now=T)
        for kind, member in (("promise.create", "tags"), ("schedule.create", "promiseTags")):
            status, text = answered(engine, kind, request_of(kind, **{member: tags}))
            assert status == 400
            assert text.startswith("Invalid request: invalid type: ")
        assert engine.state.promises == engine.state.schedules == {}

    @pytest.mark.parametrize("time", [-(2**63), -1, 0, 2**62, 2**63 - 1])
    def test_every_instant_of_64_bits_is_one(self, profile, time):
        engine = Engine(profile, now=0)
        at = {"resonate:debug_time": time}
        for kind in REQUESTS:
            if kind not in ("debug.tick", "debug.reset"):
                answered(engine, kind, request_of(kind), **at)
        assert answered(engine, "debug.tick", {"time": time}, **at)[0] in (200, 400)
        json.dumps(answered(engine, "debug.snap", {}))
        repr(engine), engine._repr_html_(), repr(engine.trace)

    def test_time_that_runs_backwards(self, profile):
        client = Workers(profile)
        client.schedule(cron="* * * * *")
        client.promise("p", MINUTE)
        for time in (T + HOUR, T, T + 2 * MINUTE, T - HOUR, T + HOUR):
            client.now = time
            for kind in REQUESTS:
                if kind != "debug.reset":
                    answered(
                        client.engine,
                        kind,
                        request_of(kind, **({"time": time} if kind == "debug.tick" else {})),
                        **{"resonate:debug_time": time},
                    )
        assert client.engine.now_ms == T + HOUR
        client.engine.advance(HOUR)
        assert client.engine.check() == []

    def test_a_catch_up_in_the_middle_of_which_its_schedule_goes(self, profile):
        client = Workers(profile)
        client.schedule(cron="* * * * *")
        client.now = T + 3 * MINUTE
        client.ok("schedule.get", id="s")
        client.engine.step()
        fired = client.ids()
        client.ok("schedule.delete", id="s")
        client.tick(T + 9 * MINUTE)
        assert client.ids() == fired
        client.schedule(cron="* * * * *")
        client.tick(T + 10 * MINUTE)
        assert client.ids()[: len(fired)] == fired
        assert client.ids()[-1] == f"s-{T + 10 * MINUTE}"

    @pytest.mark.parametrize(
        ("template", "ids"),
        [
            ("fixed", ["fixed"]),
            ("{{.id}}", ["s"]),
            ("{{.timestamp}}", [str(T + MINUTE), str(T + 2 * MINUTE)]),
            ("{{.id}}.{{.timestamp}}.{{.id}}", [f"s.{T + n * MINUTE}.s" for n in (1, 2)]),
            ("{{.timestamp}}{{.timestamp}}", [str(T + n * MINUTE) * 2 for n in (1, 2)]),
            ("{{ .id }}{.id}{{{.id}}}", ["{{ .id }}{.id}{s}"]),
            ("{{.time{{.id}}stamp}}", ["{{.timesstamp}}"]),
        ],
    )
    def test_templates_of_every_make(self, profile, template, ids):
        client = Workers(profile)
        client.schedule(cron="* * * * *", promiseId=template)
        for minute in (1, 2):
            client.tick(T + minute * MINUTE)
        assert sorted(client.ids()) == sorted(ids)


ODD = st.sampled_from([2**63, -(2**63), "poll://any@g", "* * * * *", "pending", "resolved", T, "p"])
SCALAR = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | ODD
JSON = st.recursive(
    SCALAR,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
MEMBERS = sorted({wire_name(item.name) for kind in REQUESTS.values() for item in fields(kind)})
DATA = st.dictionaries(st.sampled_from([*MEMBERS, "data", "head", "kind", "awaited"]), JSON)
KINDS = st.sampled_from([*sorted(REQUESTS), "?"])


class TestAnyJson:
    @settings(max_examples=150)
    @given(
        profile=st.sampled_from(PROFILES),
        requests=st.lists(st.tuples(KINDS | JSON, DATA | JSON, st.none() | JSON), max_size=4),
    )
    def test_is_answered(self, profile, requests):
        client = Workers(profile)
        client.promise("p")
        client.acquire("p")
        for kind, data, head in requests:
            head = HEAD if head is None else head
            response = client.engine.send({"kind": kind, "head": head, "data": data})
            assert isinstance(response["head"]["status"], int)
        assert client.engine.check() == []

    @settings(max_examples=150)
    @given(
        profile=st.sampled_from(PROFILES),
        kind=st.sampled_from(sorted(set(REQUESTS) - {"debug.reset"})),
        changes=st.dictionaries(st.sampled_from(MEMBERS), JSON, max_size=2),
    )
    def test_in_place_of_a_member_is_answered(self, profile, kind, changes):
        client = Workers(profile)
        client.promise("p")
        client.promise("p.1")
        client.acquire("p")
        client.now += SECOND
        client.send(kind, **{**request_of(kind), **changes})
        assert client.engine.check() == []
