"""A client for the tests: it asks an engine over the wire, each time at an instant it names."""

import json

from resonate_lab import Engine

T = 1_704_067_200_000  # 2024-01-01T00:00:00Z, a Monday
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
TARGET = "poll://any@default"
TARGETED = {"resonate:target": TARGET}
PROFILES = ("standard", "server", "reference", "spec")


class Client:
    """An engine behind its wire; what it answers must be JSON."""

    def __init__(self, profile="standard", now=T):
        self.engine = Engine(profile, now=now)
        self.now = now

    def send(self, kind, **data):
        head = {"corrId": "c-1", "version": "2026-04-01", "resonate:debug_time": self.now}
        response = self.engine.send({"kind": kind, "head": head, "data": data})
        assert response["kind"] == kind
        status = response["head"]["status"]
        assert response["head"] == {"corrId": "c-1", "status": status, "version": "2026-04-01"}
        json.dumps(response)
        return status, response["data"]

    def ok(self, kind, **data):
        status, answer = self.send(kind, **data)
        assert status == 200, answer
        return answer

    def create(self, id="s", cron="*/10 * * * *", **data):
        """Ask for a schedule; return status and data as they come."""
        default = {
            "promiseId": "{{.id}}-{{.timestamp}}",
            "promiseTimeout": HOUR,
            "promiseTags": TARGETED,
        }
        return self.send("schedule.create", id=id, cron=cron, **{**default, **data})

    def schedule(self, id="s", cron="*/10 * * * *", **data):
        status, answer = self.create(id, cron, **data)
        assert status == 200, answer
        return answer["schedule"]

    def stored_schedule(self, id="s"):
        return self.ok("schedule.get", id=id)["schedule"]

    def tick(self, now):
        """Let the server look once for what is due."""
        self.now = now
        assert self.ok("debug.tick", time=now) == []

    def promise(self, id):
        return self.ok("promise.get", id=id)["promise"]

    def stored(self):
        """Return the promises as stored, untouched, by id."""
        return {record["id"]: record for record in self.promises()}

    def promises(self):
        """Return the promises as stored, untouched, in the order of creation."""
        return self.ok("debug.snap")["promises"]

    def ids(self):
        return [promise["id"] for promise in self.promises()]

    def messages(self):
        """Return the queued execute messages: address by task id."""
        return {
            item["message"]["data"]["task"]["id"]: item["address"]
            for item in self.ok("debug.snap")["messages"]
            if item["message"]["kind"] == "execute"
        }

    def snap(self):
        """Return everything that is stored, the schedules included."""
        rows = [row.record() for row in self.engine.state.schedules.values()]
        return self.ok("debug.snap"), rows, self.engine.peek_ms()
