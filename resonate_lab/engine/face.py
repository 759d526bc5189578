"""The engine's requests in Python: keyword arguments, durations, instants, records.

Everything goes through `Engine.send`; a refusal is raised as `ProtocolError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from resonate_lab.cron import CronError, CronExpression
from resonate_lab.errors import ProtocolError
from resonate_lab.instants import duration_ms, instant_ms
from resonate_lab.protocol.records import (
    PROTOCOL_VERSION,
    TARGET_TAG,
    Promise,
    Record,
    Records,
    Schedule,
    Task,
    Value,
)

if TYPE_CHECKING:
    from resonate_lab.engine.engine import Engine
    from resonate_lab.instants import Duration, Instant

__all__ = ["Promises", "Schedules", "Tasks"]

_PAGE = 1000

R = TypeVar("R", bound=Record)


class _Face(Generic[R]):
    """One kind of record, by requests: what is the same for all."""

    _word: str
    _record: type[R]

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, id: str) -> R:
        """Return the record of that id.

        Raises
        ------
        ProtocolError
            404: there is none
        """
        return self._one("get", {"id": id})

    def _ids(self) -> list[str]:
        return self._engine.state.promise_ids()

    def _row(self, id: str) -> R | None:
        raise NotImplementedError

    def __iter__(self) -> Iterator[R]:
        """Walk all records, as they are stored, in byte order of their ids."""
        return (record for id in list(self._ids()) if (record := self._row(id)) is not None)

    def __len__(self) -> int:
        """Return how many are stored."""
        return len(self._ids())

    def __repr__(self) -> str:
        """Return what it is and how many there are."""
        return f"<{len(self):,} {self._word}s of {self._engine!r}>"

    def _repr_html_(self) -> str:
        first = Records(record for record, _ in zip(self, range(10), strict=False))
        return first._first_of(len(self))

    def _call(self, verb: str, data: Mapping[str, object]) -> dict[str, Any]:
        return self._answer(verb, data)[1]

    def _answer(self, verb: str, data: Mapping[str, object]) -> tuple[int, dict[str, Any]]:
        head = {"corrId": "python", "version": PROTOCOL_VERSION}
        kind = f"{self._word}.{verb}"
        response = self._engine.send({"kind": kind, "head": head, "data": data})
        status = cast(dict[str, Any], response["head"])["status"]
        if status >= 400:
            raise ProtocolError(status, str(response["data"]))
        return status, cast(dict[str, Any], response["data"])

    def _one(self, verb: str, data: Mapping[str, object]) -> R:
        return self._record.from_wire(self._call(verb, data)[self._word])

    def _search(self, filters: Mapping[str, object]) -> Records[R]:
        return Records(self._walk(filters))

    def _walk(self, filters: Mapping[str, object]) -> Iterator[R]:
        request: dict[str, object] = {**filters, "limit": _PAGE}
        while True:
            page = self._call("search", request)
            yield from map(self._record.from_wire, page[f"{self._word}s"])
            if "cursor" not in page:
                return
            request["cursor"] = page["cursor"]


class Schedules(_Face[Schedule]):
    """The engine's schedules."""

    _word = "schedule"
    _record = Schedule

    def _ids(self) -> list[str]:
        return self._engine.state.schedule_ids()

    def _row(self, id: str) -> Schedule | None:
        row = self._engine.state.schedules.get(id)
        return row and row.record()

    def create(
        self,
        id: str,
        *,
        cron: str,
        promise_id: str = "{{.id}}-{{.timestamp}}",
        promise_timeout: Duration = "1d",
        promise_param: Value | None = None,
        promise_tags: Mapping[str, str] | None = None,
        target: str | None = None,
    ) -> Schedule:
        """Create a schedule, or return the one that has that id already, unchanged.

        Parameters
        ----------
        id, cron : str
        promise_id : str
            template; ``{{.id}}`` and ``{{.timestamp}}`` (the tick, ms) are filled in
        promise_timeout : duration
            from the tick to the promise's deadline
        promise_param : Value, optional
        promise_tags : mapping of str to str, optional
        target : str, optional
            the tag ``resonate:target``, such as ``"poll://any@default"``

        Raises
        ------
        ProtocolError
            400: the engine refuses it; the cause says what is wrong with a cron text
        """
        data = {
            "id": id,
            "cron": cron,
            "promiseId": promise_id,
            "promiseTimeout": duration_ms(promise_timeout, "promise_timeout"),
            "promiseParam": promise_param or {},
            "promiseTags": _targeted(promise_tags, target),
        }
        try:
            return self._one("create", data)
        except ProtocolError as err:
            if isinstance(cron, str):
                _explain_cron(cron, self._engine.profile.dialect, err)
            raise

    def delete(self, id: str) -> None:
        """Delete a schedule; the promises it created stay.

        Raises
        ------
        ProtocolError
            404: there is none
        """
        self._call("delete", {"id": id})

    def search(self, tags: Mapping[str, str] | None = None) -> Records[Schedule]:
        """Return the schedules whose promise tags hold all of these."""
        return self._search({"tags": tags})


class Promises(_Face[Promise]):
    """The engine's promises."""

    _word = "promise"
    _record = Promise

    def _row(self, id: str) -> Promise | None:
        row = self._engine.state.promises.get(id)
        return row and row.record()

    def create(
        self,
        id: str,
        *,
        timeout: Duration | None = None,
        timeout_at: Instant | None = None,
        param: Value | None = None,
        tags: Mapping[str, str] | None = None,
        target: str | None = None,
    ) -> Promise:
        """Create a promise, or return the one that has that id already, unchanged.

        Parameters
        ----------
        id : str
        timeout : duration
            from now to the deadline
        timeout_at : instant
            the deadline; one of the two is needed
        param : Value, optional
        tags : mapping of str to str, optional
        target : str, optional
            the tag ``resonate:target``: with it the promise gets a task

        Raises
        ------
        ProtocolError
            400: the engine refuses it
        TypeError
            both or none of `timeout` and `timeout_at` are given
        """
        deadline = _deadline(self._engine, id, timeout, timeout_at)
        return self._one("create", _promise_data(id, deadline, param, _targeted(tags, target)))

    def settle(self, id: str, state: str = "resolved", value: Value | None = None) -> Promise:
        """Settle a promise; one that is settled already is returned as it is.

        Parameters
        ----------
        id : str
        state : str
            resolved, rejected or rejected_canceled
        value : Value, optional

        Raises
        ------
        ProtocolError
            404: there is none; 400: there is no such state
        """
        return self._one("settle", {"id": id, "state": state, "value": value or {}})

    def register_callback(self, awaited: str, awaiter: str) -> Promise:
        """Let the awaiter's task wake when the awaited settles; return the awaited.

        Raises
        ------
        ProtocolError
            404: there is no awaited; 422: there is no awaiter, or it has no task; 400: they
            are the same, or of different origins
        """
        return self._one("register_callback", {"awaited": awaited, "awaiter": awaiter})

    def register_listener(self, awaited: str, address: str) -> Promise:
        """Let an address be told when a promise settles; return the promise.

        Raises
        ------
        ProtocolError
            404: there is no such promise; 400: nothing can be sent to the address
        """
        return self._one("register_listener", {"awaited": awaited, "address": address})

    def search(
        self, tags: Mapping[str, str] | None = None, state: str | None = None
    ) -> Records[Promise]:
        """Return the promises whose tags hold all of these, and whose stored state is that."""
        return self._search({"tags": tags, "state": state})


class Tasks(_Face[Task]):
    """The engine's tasks.

    Where a version is asked for, None means the one that the task has now: what a worker
    that holds it would name.
    """

    _word = "task"
    _record = Task

    def _row(self, id: str) -> Task | None:
        row = self._engine.state.promises.get(id)
        return None if row is None or row.task is None else row.task.record(id)

    def __len__(self) -> int:
        """Return how many are stored."""
        return len(self._engine.state.tasks)

    def create(
        self,
        id: str,
        *,
        pid: str,
        target: str,
        ttl: Duration = "1min",
        timeout: Duration | None = None,
        timeout_at: Instant | None = None,
        param: Value | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> Task:
        """Create a promise and acquire its task in one go; return the task.

        Parameters
        ----------
        id : str
        pid : str
            who holds the lease
        target : str
            the tag ``resonate:target``
        ttl : duration
            length of the lease
        timeout, timeout_at, param, tags
            of the promise, see `Promises.create`

        Raises
        ------
        ProtocolError
            409: somebody else holds it; 422: the promise exists without a task; 400
        """
        deadline = _deadline(self._engine, id, timeout, timeout_at)
        promise = _promise_data(id, deadline, param, _targeted(tags, target))
        action = {"kind": "promise.create", "head": {}, "data": promise}
        return self._one("create", {"pid": pid, "ttl": duration_ms(ttl, "ttl"), "action": action})

    def acquire(
        self, id: str, *, pid: str, ttl: Duration = "1min", version: int | None = None
    ) -> Task:
        """Acquire a pending task under a lease; return it, one version up.

        Raises
        ------
        ProtocolError
            404: there is none; 409: it is not pending, or at another version
        """
        data = {**self._ref(id, version), "pid": pid, "ttl": duration_ms(ttl, "ttl")}
        return self._one("acquire", data)

    def release(self, id: str, version: int | None = None) -> None:
        """Put an acquired task back; its message is sent again.

        Raises
        ------
        ProtocolError
            404: there is none; 409: it is not acquired, or at another version
        """
        self._call("release", self._ref(id, version))

    def fulfill(
        self,
        id: str,
        state: str = "resolved",
        value: Value | None = None,
        version: int | None = None,
    ) -> Promise:
        """Settle the promise of an acquired task; return the promise.

        Raises
        ------
        ProtocolError
            404: there is none; 409: it is not acquired, or at another version
        """
        settle = {"id": id, "state": state, "value": value or {}}
        action = {"kind": "promise.settle", "head": {}, "data": settle}
        answer = self._call("fulfill", {**self._ref(id, version), "action": action})
        return Promise.from_wire(answer["promise"])

    def suspend(self, id: str, awaited: Iterable[str], version: int | None = None) -> bool:
        """Put an acquired task down until one of these promises settles.

        Returns
        -------
        bool
            whether it is suspended; if one of them is settled already, it just goes on

        Raises
        ------
        ProtocolError
            404: there is no such task; 409: it is not acquired, or at another version; 422:
            there is no such promise; 400
        """
        actions = [
            {
                "kind": "promise.register_callback",
                "head": {},
                "data": {"awaited": other, "awaiter": id},
            }
            for other in awaited
        ]
        return self._answer("suspend", {**self._ref(id, version), "actions": actions})[0] == 200

    def fence(
        self, id: str, kind: str, data: Mapping[str, object], version: int | None = None
    ) -> Promise:
        """Create or settle another promise as long as a task is held; return the promise.

        Parameters
        ----------
        id : str
            of the task
        kind : str
            ``promise.create`` or ``promise.settle``
        data : mapping
            of that request, with the names of the wire

        Raises
        ------
        ProtocolError
            404: there is no such task, or no promise to settle; 409: it is not acquired, or
            at another version; 400
        """
        action = {"kind": kind, "head": {}, "data": dict(data)}
        inner = self._call("fence", {**self._ref(id, version), "action": action})["action"]
        if inner["head"]["status"] >= 400:
            raise ProtocolError(inner["head"]["status"], str(inner["data"]))
        return Promise.from_wire(inner["data"]["promise"])

    def heartbeat(self, pid: str, tasks: Iterable[str] | Mapping[str, int]) -> None:
        """Renew the leases that a holder has on some tasks, given by id, or by id and version.

        Raises
        ------
        ProtocolError
            400
        """
        versions = tasks if isinstance(tasks, Mapping) else dict.fromkeys(tasks)
        refs = [self._ref(id, version) for id, version in versions.items()]
        self._call("heartbeat", {"pid": pid, "tasks": refs})

    def halt(self, id: str) -> None:
        """Keep a task from everybody until it is continued.

        Raises
        ------
        ProtocolError
            404: there is none; 409: it is fulfilled
        """
        self._call("halt", {"id": id})

    def continue_(self, id: str) -> None:
        """Let a halted task go on; its message is sent again.

        Raises
        ------
        ProtocolError
            404: there is none; 409: it is not halted
        """
        self._call("continue", {"id": id})

    def search(self, state: str | None = None) -> Records[Task]:
        """Return the tasks whose stored state is that."""
        return self._search({"state": state})

    def _ref(self, id: str, version: int | None) -> dict[str, object]:
        if version is None:
            row = self._engine.state.promises.get(id) if isinstance(id, str) else None
            version = row.task.version if row is not None and row.task is not None else 0
        return {"id": id, "version": version}


def _targeted(tags: Mapping[str, str] | None, target: str | None) -> dict[str, str]:
    added = {} if target is None else {TARGET_TAG: target}
    return {**(tags or {}), **added}


def _deadline(engine: Engine, id: str, timeout: Duration | None, timeout_at: Instant | None) -> int:
    if (timeout is None) == (timeout_at is None):
        raise TypeError(f"promise {id!r} needs a deadline: give timeout or timeout_at, not both")
    if timeout_at is not None:
        return instant_ms(timeout_at, "timeout_at")
    return engine.now_ms + duration_ms(cast("Duration", timeout), "timeout")


def _promise_data(
    id: str, deadline: int, param: Value | None, tags: Mapping[str, str]
) -> dict[str, object]:
    return {"id": id, "timeoutAt": deadline, "param": param or {}, "tags": dict(tags)}


def _explain_cron(cron: str, dialect: str, refusal: ProtocolError) -> None:
    """Raise the refusal with the parser's words as its cause, if the text is at fault."""
    try:
        CronExpression(cron, dialect=dialect)
    except CronError as cause:
        raise refusal from cause
