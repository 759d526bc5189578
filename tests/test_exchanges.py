"""Recorded exchanges of the official SDKs, replayed: the engine answers as those SDKs want it."""

import gzip
import json
from pathlib import Path

import pytest
from strict import objections

import resonate_lab as rl

DATA = Path(__file__).parent / "data"
#: File, client, and how many responses it got.
RECORDED = [
    ("python", None, 92),
    ("typescript", "ts", 76),
    ("typescript", "ts-async", 19),
    ("typescript", "py-http", 34),
]


def recorded(name, client):
    with gzip.open(DATA / f"sdk_{name}_exchange.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [row for row in map(json.loads, lines) if row.get("client") == client]


def replayed(rows):
    """Yield each request with the response recorded and the one that the engine gives.

    A request is answered when its response left: one of them was held back on purpose.
    """
    asked, engine, scenario = {}, None, None
    for row in rows:
        # The last scenario of a recording began anew, in an empty server.
        if engine is None or (row["scenario"] == "suspend.redirect" != scenario):
            engine = rl.Engine(now=row["t"])
        scenario = row["scenario"]
        if row["t"] > engine.now_ms:
            engine.run_until(row["t"])
        if row["dir"] == "request":
            asked[row["body"]["head"]["corrId"]] = row["body"]
        elif row["dir"] == "message" and row["body"]["kind"] == "execute":
            yield row, row["body"], waiting(engine, row)
        elif row["dir"] == "response":
            request = asked.pop(row["body"]["head"]["corrId"])
            yield request, row["body"], engine.send(request)
    # Heartbeats of work that ended meanwhile; the SDK dropped them before an answer came.
    assert {request["kind"] for request in asked.values()} <= {"task.heartbeat"}


def waiting(engine, row):
    """Return the message that the engine has for a task, with the head that was delivered."""
    task = row["body"]["data"]["task"]
    told = engine.state.executes.get(task["id"])
    version = None if told is None else told.version
    data = {"task": {"id": task["id"], "version": version}}
    return {"kind": "execute", "head": row["body"]["head"], "data": data}


@pytest.mark.parametrize(("name", "client", "responses"), RECORDED)
def test_every_response_and_message_is_the_one_that_the_sdk_got(name, client, responses):
    count = 0
    for request, expected, got in replayed(recorded(name, client)):
        assert got == expected, request
        count += "kind" in request
    assert count == responses


@pytest.mark.parametrize(("name", "client", "responses"), RECORDED)
def test_every_response_is_as_strict_as_the_strictest_client(name, client, responses):
    for request, _, got in replayed(recorded(name, client)):
        if "kind" in request:
            assert objections(got, request["kind"], request["head"]["corrId"]) == []


@pytest.mark.parametrize(
    ("kind", "head", "data", "token"),
    [
        ("schedule.delete", {}, None, "an object"),
        ("schedule.delete", {"status": 201}, {}, "201"),
        ("schedule.delete", {"version": None}, {}, "version"),
        ("promise.get", {"status": 404}, {"error": "no"}, "text"),
        ("promise.get", {}, {"promise": {"id": "p", "state": "pending", "param": None, "value": {},
         "tags": {}, "timeoutAt": 1, "createdAt": 1}}, "param"),
        ("promise.get", {}, {"promise": {"id": "p", "state": "pending", "param": {}, "value": {},
         "tags": {}, "timeoutAt": 1, "createdAt": 1, "settledAt": None}}, "settledAt"),
        ("schedule.get", {}, {"schedule": {"id": "s", "cron": "c", "promiseId": "p", "createdAt": 1,
         "promiseParam": {}, "promiseTags": {}, "promiseTimeout": 1}}, "nextRunAt"),
        ("task.suspend", {"status": 300}, {}, "preload"),
        ("promise.search", {}, {"promises": [], "cursor": None}, "cursor"),
    ],
)  # fmt: skip
def test_the_judge_refuses_what_the_sdk_was_seen_to_refuse(kind, head, data, token):
    head = {"corrId": "1", "status": 200, "version": "2026-04-01", **head}
    try:
        found = objections({"kind": kind, "head": head, "data": data}, kind, "1")
    except AttributeError:  # it looked into what is no object
        found = [token]
    assert token in " ".join(found)
