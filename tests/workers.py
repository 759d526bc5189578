"""Clients for the tests that are workers, too: they hold tasks and wait for promises."""

from wire import HOUR, MINUTE, TARGETED, Client


class Workers(Client):
    """A client that is many workers, too."""

    def promise(self, id, timeout=HOUR, tags=TARGETED):
        return self.ok("promise.create", id=id, timeoutAt=self.now + timeout, tags=tags)["promise"]

    def acquire(self, id, ttl=10 * MINUTE):
        version = self.task(id)["version"]
        return self.ok("task.acquire", id=id, version=version, pid="w", ttl=ttl)["task"]

    def task(self, id):
        return self.ok("task.get", id=id)["task"]

    def suspend(self, id, *awaited):
        data = [{"awaited": other, "awaiter": id} for other in awaited]
        actions = [{"kind": "promise.register_callback", "head": {}, "data": one} for one in data]
        version = self.stored_task(id)["version"]
        return self.send("task.suspend", id=id, version=version, actions=actions)

    def settle(self, id, state="resolved", **data):
        return self.ok("promise.settle", id=id, state=state, **data)["promise"]

    def stored_task(self, id):
        (found,) = [task for task in self.ok("debug.snap")["tasks"] if task["id"] == id]
        return found

    def stored(self, id):
        (found,) = [promise for promise in self.promises() if promise["id"] == id]
        return found

    def unblocks(self):
        return [
            (item["address"], item["message"]["data"]["promise"])
            for item in self.ok("debug.snap")["messages"]
            if item["message"]["kind"] == "unblock"
        ]

    def parked(self, *awaited):
        """Let ``a`` hold its task and wait for some promises, ``a.1`` and so on."""
        self.promise("a")
        self.acquire("a")
        for id in awaited:
            self.promise(id)
        assert self.suspend("a", *awaited) == (200, {})
