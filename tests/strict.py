"""What the official TypeScript SDK accepts of a response, the strictest client there is.

Written from what the SDK refused when it was tried, not from our own shapes: 200 and no
other success, 300 for ``task.suspend`` alone, objects where nothing is, and members left out
rather than null. test_typescript.py asks the SDK itself whether that is so.
"""

import json
import re

STATES = {"pending", "resolved", "rejected", "rejected_canceled", "rejected_timedout"}
TASK_STATES = {"pending", "acquired", "suspended", "halted", "fulfilled"}
SHOWS = {
    "promise.get": "promise", "promise.create": "promise", "promise.settle": "promise",
    "promise.register_callback": "promise", "promise.register_listener": "promise",
    "schedule.get": "schedule", "schedule.create": "schedule", "task.fulfill": "promise",
    "task.get": "task",
}  # fmt: skip
VOID = {"schedule.delete", "task.release", "task.heartbeat", "task.halt", "task.continue"}
FENCED = ("promise.create", "promise.settle")
#: An event of a stream, as all SDKs read it: LF, one line, ASCII, without a name.
FRAME = re.compile(rb"data: ([\x20-\x7e]+)\n\n")


class Judge:
    """Who looks at a response or a message and notes what the SDK would refuse."""

    def __init__(self, kind):
        self.kind, self.found = kind, []

    def need(self, is_so, what):
        if not is_so:
            self.found.append(f"{self.kind}: {what}")
        return is_so

    def object(self, it, where):
        return self.need(isinstance(it, dict), f"{where} is an object")

    def text_map(self, it, where):
        if self.object(it, where):
            self.need(all(isinstance(v, str) for v in it.values()), f"{where} is of texts")

    def value(self, it, where):
        if self.object(it, where):
            self.need(isinstance(it.get("data", ""), str), f"{where}.data is a text or left out")
            self.text_map(it.get("headers", {}), f"{where}.headers")

    def whole(self, it, *names):
        for name in names:
            self.need(type(it.get(name)) is int, f"{name} is a number")

    def state(self, it, name, states):
        self.need(isinstance(it.get("id"), str), f"{name}.id")
        state = it.get("state")
        self.need(isinstance(state, str) and state in states, f"{name}.state")

    def promise(self, it):
        if not self.object(it, "promise"):
            return
        self.state(it, "promise", STATES)
        self.value(it.get("param"), "param")
        self.value(it.get("value"), "value")
        self.text_map(it.get("tags"), "tags")
        self.whole(it, "timeoutAt", "createdAt")
        if it.get("state") == "pending":
            self.need("settledAt" not in it, "settledAt is left out while pending")
        else:
            self.whole(it, "settledAt")

    def schedule(self, it):
        if not self.object(it, "schedule"):
            return
        for name in ("id", "cron", "promiseId"):
            self.need(isinstance(it.get(name), str), f"schedule.{name}")
        self.value(it.get("promiseParam"), "promiseParam")
        self.text_map(it.get("promiseTags"), "promiseTags")
        self.whole(it, "promiseTimeout", "createdAt", "nextRunAt")
        if "lastRunAt" in it:
            self.whole(it, "lastRunAt")

    def task(self, it):
        if not self.object(it, "task"):
            return
        self.state(it, "task", TASK_STATES)
        self.whole(it, "version")
        self.need(isinstance(it.get("resumes"), int | list), "resumes")
        self.need(type(it.get("ttl", 0)) is int, "ttl is a number or left out")
        self.need(isinstance(it.get("pid", ""), str), "pid is a text or left out")

    def each(self, it, judge, where):
        if self.need(isinstance(it, list), f"{where} is an array"):
            for one in it:
                judge(one)


def message_objections(message):
    """Return why the SDK would drop a message of its stream."""
    judge = Judge(message.get("kind"))
    head, data = message.get("head"), message.get("data")
    if judge.object(head, "head"):
        judge.need(isinstance(head.get("serverUrl", ""), str), "serverUrl is a text or left out")
    if not judge.object(data, "data"):
        return judge.found
    if judge.kind == "execute":
        task = data.get("task")
        if judge.object(task, "task"):
            judge.need(isinstance(task.get("id"), str), "task.id")
            judge.whole(task, "version")
    elif judge.need(judge.kind == "unblock", "no such message is known"):
        judge.promise(data.get("promise"))
    return judge.found


def frame_objections(frame):
    """Return why an SDK would not see an event of a stream, or drop its message."""
    found = FRAME.fullmatch(frame)
    if found is None:
        return [f"{frame!r} is no event"]
    return message_objections(json.loads(found[1]))


def objections(response, kind, corr_id):
    """Return why the SDK would refuse a response to a request."""
    if not (isinstance(response, dict) and isinstance(kind, str)):
        return ["no envelope"]
    judge = Judge(kind)
    need, promise, found = judge.need, judge.promise, judge.found
    head, data = response.get("head"), response.get("data")
    if set(response) < {"kind", "head", "data"} or not isinstance(head, dict):
        return ["no envelope"]
    need(response["kind"] == kind, "kind is echoed")
    need(head.get("corrId") == corr_id, "corrId is echoed")
    need(head.get("version") == "2026-04-01", "head.version")
    status = head.get("status")
    if type(status) is not int or status >= 400:
        need(type(status) is int and isinstance(data, str), "an error is a text")
        return found
    need(status == 200 or (status == 300 and kind == "task.suspend"), f"status {status}")
    if not isinstance(data, dict):
        return [*found, f"{kind}: data is an object"]
    need(None not in members(data), "nothing is null, it is left out")
    if kind in VOID or (kind == "task.suspend" and status == 200):
        pass
    elif kind == "task.suspend":
        judge.each(data.get("preload"), promise, "preload")
    elif kind in ("task.acquire", "task.create"):
        if kind == "task.acquire" or "task" in data:
            judge.task(data.get("task"))
        promise(data.get("promise"))
        judge.each(data.get("preload"), promise, "preload")
    elif kind == "task.fence":
        judge.each(data.get("preload"), promise, "preload")
        inner = data.get("action")
        if judge.object(inner, "action") and need(inner.get("kind") in FENCED, "action.kind"):
            head = inner.get("head")
            corr = head.get("corrId") if isinstance(head, dict) else None
            need(isinstance(corr, str), "action.head.corrId")
            found += objections(inner, inner["kind"], corr)
    elif kind in SHOWS:
        getattr(judge, SHOWS[kind])(data.get(SHOWS[kind]))
    elif kind.endswith(".search"):
        name = kind.removesuffix(".search")
        need(isinstance(data.get("cursor", ""), str), "cursor is a text or left out")
        judge.each(data.get(f"{name}s"), getattr(judge, name), "a page")
    else:
        need(False, "no such kind is known")
    return found


def members(it):
    """Yield all that stands in a JSON value."""
    for one in it.values() if isinstance(it, dict) else it if isinstance(it, list) else ():
        yield one
        yield from members(one)
