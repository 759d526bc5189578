"""Exchanges with the official SDKs: those recorded, and single ones made up for a judge."""

import gzip
import json
from pathlib import Path

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
        elif row["dir"] == "message":
            yield row, row["body"], waiting(engine, row)
        elif row["dir"] == "response":
            request = asked.pop(row["body"]["head"]["corrId"])
            yield request, row["body"], engine.send(request)
    # Heartbeats of work that ended meanwhile; the SDK dropped them before an answer came.
    assert {request["kind"] for request in asked.values()} <= {"task.heartbeat"}


def waiting(engine, row):
    """Return the message that the engine has for an address, with the head that was delivered."""
    kind, data = row["body"]["kind"], row["body"]["data"]
    if kind == "execute":
        id = data["task"]["id"]
        told = engine.state.executes.get(id)
        data = {"task": {"id": id, "version": None if told is None else told.version}}
    else:
        settled = engine.state.unblocks.get((data["promise"]["id"], row["address"]))
        data = {"promise": None if settled is None else settled.record().to_wire()}
    return {"kind": kind, "head": row["body"]["head"], "data": data}


PROMISE = {"id": "p", "state": "pending", "param": {}, "value": {}, "tags": {}, "timeoutAt": 1,
           "createdAt": 1}  # fmt: skip
SCHEDULE = {"id": "s", "cron": "c", "promiseId": "p", "promiseTimeout": 1, "promiseParam": {},
            "promiseTags": {}, "createdAt": 1, "nextRunAt": 1}  # fmt: skip
TASK = {"id": "t", "state": "acquired", "version": 1, "resumes": []}
HEAD = {"corrId": "1", "status": 200, "version": "2026-04-01"}
CREATED = {"kind": "promise.create", "head": HEAD, "data": {"promise": PROMISE}}
ACQUIRED = {"task": TASK, "promise": PROMISE, "preload": [PROMISE]}

#: Kind, head, data and whatever the objection says: one row for each thing that was seen.
REFUSED = [
    ("schedule.delete", {}, None, "an object"),
    ("task.release", {}, [], "an object"),
    ("task.heartbeat", {}, "ok", "an object"),
    ("task.suspend", {}, None, "an object"),
    ("schedule.delete", {"status": 201}, {}, "201"),
    ("schedule.delete", {"status": 300}, {}, "300"),
    ("schedule.delete", {"version": None}, {}, "version"),
    ("schedule.delete", {"corrId": "2"}, {}, "corrId"),
    ("promise.get", {"status": 404}, {"error": "no"}, "text"),
    ("promise.get", {"status": 500}, None, "text"),
    ("promise.get", {}, {}, "promise"),
    *[("promise.get", {}, {"promise": {**PROMISE, **wrong}}, token) for wrong, token in [
        ({"param": None}, "param"), ({"value": None}, "value"), ({"tags": None}, "tags"),
        ({"param": {"data": None}}, "data"), ({"param": {"headers": None}}, "headers"),
        ({"settledAt": None}, "settledAt"), ({"state": "done"}, "state"),
        ({"timeoutAt": "1"}, "timeoutAt"), ({"createdAt": None}, "createdAt"),
        ({"state": "resolved"}, "settledAt"), ({"pid": None}, "null"),
    ]],
    *[("schedule.get", {}, {"schedule": {**SCHEDULE, **wrong}}, token) for wrong, token in [
        ({"nextRunAt": None}, "nextRunAt"), ({"createdAt": None}, "createdAt"),
        ({"lastRunAt": None}, "lastRunAt"), ({"promiseParam": None}, "promiseParam"),
        ({"promiseTags": None}, "promiseTags"), ({"promiseTimeout": "1h"}, "promiseTimeout"),
    ]],
    *[("task.create", {}, {**ACQUIRED, "task": {**TASK, **wrong}}, token) for wrong, token in [
        ({"resumes": None}, "resumes"), ({"ttl": None}, "ttl"), ({"pid": None}, "pid"),
        ({"version": "1"}, "version"), ({"state": "ready"}, "state"),
    ]],
    ("task.acquire", {}, {**ACQUIRED, "preload": None}, "preload"),
    ("task.create", {}, {"promise": PROMISE}, "preload"),
    ("task.acquire", {}, {**ACQUIRED, "preload": [{}]}, "promise.id"),
    ("task.suspend", {"status": 300}, {}, "preload"),
    ("task.fence", {}, {"action": CREATED}, "preload"),
    ("task.fence", {}, {"action": {"promise": PROMISE}, "preload": []}, "action.kind"),
    ("task.fence", {}, {"action": {**CREATED, "head": {}}, "preload": []}, "corrId"),
    ("task.fence", {}, {"action": {**CREATED, "data": None}, "preload": []}, "an object"),
    ("promise.search", {}, {"promises": [], "cursor": None}, "cursor"),
    ("promise.search", {}, {"promises": [{**PROMISE, "value": None}]}, "value"),
    ("schedule.search", {}, {"schedules": {}}, "array"),
    ("no.such", {}, {}, "known"),
]  # fmt: skip

#: What it takes, whole: a judge that refuses everything would be none.
TAKEN = [
    ("promise.get", {}, {"promise": PROMISE, "more": 1}),
    ("promise.settle", {}, {"promise": {**PROMISE, "state": "resolved", "settledAt": 2}}),
    ("schedule.create", {}, {"schedule": {**SCHEDULE, "lastRunAt": 0}}),
    ("schedule.search", {}, {"schedules": [SCHEDULE], "cursor": "s"}),
    ("schedule.delete", {}, {}),
    ("task.create", {}, ACQUIRED),
    ("task.create", {}, {"promise": PROMISE, "preload": []}),
    ("task.acquire", {}, ACQUIRED),
    ("task.suspend", {}, {}),
    ("task.suspend", {"status": 300}, {"preload": [PROMISE]}),
    ("task.fence", {}, {"action": CREATED, "preload": []}),
    ("task.search", {}, {"tasks": [{**TASK, "ttl": 1, "pid": "w"}]}),
    ("promise.get", {"status": 404}, "no such promise"),
]


def whole(kind, head, data):
    return {"kind": kind, "head": {**HEAD, **head}, "data": data}
