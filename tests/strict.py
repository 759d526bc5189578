"""What the official TypeScript SDK accepts of a response, the strictest client there is.

Written from what the SDK refused when it was tried, not from our own shapes: 200 and no
other success, 300 for ``task.suspend`` alone, objects where nothing is, and members left out
rather than null.
"""

STATES = {"pending", "resolved", "rejected", "rejected_canceled", "rejected_timedout"}
TASK_STATES = {"pending", "acquired", "suspended", "halted", "fulfilled"}
SHOWS = {
    "promise.get": "promise", "promise.create": "promise", "promise.settle": "promise",
    "promise.register_callback": "promise", "promise.register_listener": "promise",
    "schedule.get": "schedule", "schedule.create": "schedule", "task.fulfill": "promise",
    "task.get": "task",
}  # fmt: skip
VOID = {"schedule.delete", "task.release", "task.heartbeat"}


def objections(response, kind, corr_id):
    """Return why the SDK would refuse a response to a request."""
    found = []

    def need(is_so, what):
        if not is_so:
            found.append(f"{kind}: {what}")

    def is_text_map(value):
        return isinstance(value, dict) and all(isinstance(v, str) for v in value.values())

    def value(it, where):
        need(isinstance(it, dict), f"{where} is an object")
        need(isinstance(it.get("data", ""), str), f"{where}.data is a text or left out")
        need(is_text_map(it.get("headers", {})), f"{where}.headers is an object or left out")

    def whole(it, *names):
        for name in names:
            need(type(it.get(name)) is int, f"{name} is a number")

    def promise(it):
        need(isinstance(it.get("id"), str) and it.get("state") in STATES, "promise.id, .state")
        value(it.get("param"), "param")
        value(it.get("value"), "value")
        need(is_text_map(it.get("tags")), "tags")
        whole(it, "timeoutAt", "createdAt")
        if it.get("state") == "pending":
            need("settledAt" not in it, "settledAt is left out while pending")
        else:
            whole(it, "settledAt")

    def schedule(it):
        for name in ("id", "cron", "promiseId"):
            need(isinstance(it.get(name), str), f"schedule.{name}")
        value(it.get("promiseParam"), "promiseParam")
        need(is_text_map(it.get("promiseTags")), "promiseTags")
        whole(it, "promiseTimeout", "createdAt", "nextRunAt")
        if "lastRunAt" in it:
            whole(it, "lastRunAt")

    def task(it):
        need(isinstance(it.get("id"), str) and it.get("state") in TASK_STATES, "task.id, .state")
        whole(it, "version")
        need(isinstance(it.get("resumes"), int | list | bool), "resumes")
        need(it.get("ttl", 0) is not None and it.get("pid", "") is not None, "ttl, pid left out")

    def preload(data):
        need(isinstance(data.get("preload"), list), "preload is an array")
        for one in data.get("preload", []):
            promise(one)

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
    if kind in VOID or (kind == "task.suspend" and status == 200):
        pass
    elif kind == "task.suspend":
        preload(data)
    elif kind in ("task.acquire", "task.create"):
        if kind == "task.acquire" or "task" in data:
            task(data.get("task", {}))
        promise(data.get("promise", {}))
        preload(data)
    elif kind == "task.fence":
        preload(data)
        inner = data.get("action", {})
        head = inner.get("head", {})
        found += objections(inner, inner.get("kind"), head.get("corrId"))
    elif kind in SHOWS:
        show = {"promise": promise, "schedule": schedule, "task": task}[SHOWS[kind]]
        show(data.get(SHOWS[kind], {}))
    elif kind.endswith(".search"):
        name = kind.removesuffix(".search")
        need(isinstance(data.get(f"{name}s"), list), "a page is an array")
        need(isinstance(data.get("cursor", ""), str), "cursor is a text or left out")
        for one in data.get(f"{name}s", []):
            {"promise": promise, "schedule": schedule, "task": task}[name](one)
    else:
        need(False, "no such kind is known")
    return found
