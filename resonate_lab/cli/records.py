"""Schedules, promises, tasks and trees of an engine file, in the words of the real command line.

Flags, output and exit codes are those of `resonate`: what the engine answers is printed as
JSON, keys in alphabetical order, and a refusal is ``Error:`` with the answer on stderr and
code 1. `tree` draws. Instants and durations in JSON are ms.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

import resonate_lab as rl
from resonate_lab.cli import options, show
from resonate_lab.protocol.records import PROTOCOL_VERSION

__all__ = ["promises", "schedules", "tasks", "tree"]

F = TypeVar("F", bound=Callable[..., Any])

_READS = ("get", "search")  # verbs that leave the file alone

_ID = click.argument("id")
_TAGS = click.option("--tags", type=options.JSON_OBJECT, help="JSON object; a subset to match.")
_CURSOR = click.option("--cursor", help="That of the page before.")
_STATE = click.option("--state", help="Only those in this state.")
_PID = click.option("--pid", required=True, help="Who holds the lease.")
_TTL = click.option(
    "--ttl", required=True, type=options.WIRE_DURATION, help="Length of the lease, such as 1m."
)
_VERSION = click.option("--version", required=True, type=int, help="That of the task.")
_JSON = options.JSON_OBJECT


def _limit(default: int) -> Callable[[F], F]:
    return click.option(
        "--limit", default=default, show_default=True, help="Records a page, at most 1000."
    )


def _asks(function: F) -> F:
    """Add ``--file`` and ``--json``; the latter changes nothing, since the answer is JSON."""
    flag = click.option(
        "--json", is_flag=True, expose_value=False, help="Print JSON, as this does anyway."
    )
    return options.takes_file(flag(function))


def _ask(file: str, kind: str, **data: object) -> None:
    """Send a request to the engine in a file, and print what it answers."""
    engine = rl.Engine.load(file)
    head = {"corrId": f"cli-{engine.now_ms}-1", "version": PROTOCOL_VERSION}
    given = {name: value for name, value in data.items() if value is not None}
    response: Any = engine.send({"kind": kind, "head": head, "data": given})
    status, answer = response["head"]["status"], response["data"]
    if status < 400 and kind.partition(".")[2] not in _READS:
        engine.save(file)
    if not 200 <= status < 300:
        raise show.Refusal(answer)
    show.print_json(answer)


def _encoded(value: Any) -> Any:
    """Return a param or value with its ``data`` as the wire has it: base64 of text or JSON."""
    if not isinstance(value, dict) or "data" not in value:
        return value
    data = value["data"]
    if not isinstance(data, str):
        data = json.dumps(data, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return {**value, "data": base64.b64encode(data.encode(errors="surrogatepass")).decode()}


# --- schedules -------------------------------------------------------------------------------


@click.group()
def schedules() -> None:
    """Create, get, search, delete schedules of an engine file."""


@schedules.command(
    epilog=options.examples(
        "resonate-lab schedules create nightly-rollup --cron '0 2 * * *' \\",
        "    --promise-id 'nightly-{{.timestamp}}' --promise-timeout 1h \\",
        """    --promise-tags '{"resonate:target": "poll://any@default"}'""",
    )
)
@_ID
@click.option("--cron", required=True, help="Evaluated in UTC; 1 is Sunday.")
@click.option(
    "--promise-id", required=True, help="Template; {{.id}} and {{.timestamp}} are filled in."
)
@click.option(
    "--promise-timeout", required=True, type=options.WIRE_DURATION,
    help="From the tick to the promise's deadline, such as 1h.",
)  # fmt: skip
@click.option(
    "--promise-param", type=_JSON, help="JSON object with headers and data; data gets base64."
)
@click.option("--promise-tags", type=_JSON, help="JSON object; needs resonate:target.")
@_asks
def create(
    file: str,
    id: str,
    cron: str,
    promise_id: str,
    promise_timeout: int,
    promise_param: Any,
    promise_tags: Any,
) -> None:
    """Create a schedule.

    One that has this ID already is printed as it is.
    """
    _ask(
        file,
        "schedule.create",
        id=id,
        cron=cron,
        promiseId=promise_id,
        promiseTimeout=promise_timeout,
        promiseParam=_encoded(promise_param),
        promiseTags=promise_tags,
    )


@schedules.command("get", epilog=options.examples("resonate-lab schedules get nightly-rollup"))
@_ID
@_asks
def get_schedule(file: str, id: str) -> None:
    """Print a schedule."""
    _ask(file, "schedule.get", id=id)


@schedules.command(epilog=options.examples("resonate-lab schedules delete nightly-rollup"))
@_ID
@_asks
def delete(file: str, id: str) -> None:
    """Delete a schedule; the promises it created stay."""
    _ask(file, "schedule.delete", id=id)


@schedules.command(
    "search",
    epilog=options.examples(
        "resonate-lab schedules search --limit 100",
        """resonate-lab schedules search --tags '{"resonate:target": "poll://any@default"}'""",
    ),
)
@_TAGS
@_limit(10)
@_CURSOR
@_asks
def search_schedules(file: str, tags: Any, limit: int, cursor: str | None) -> None:
    """Print a page of schedules, by id.

    The tags are those of the promises to come.
    """
    _ask(file, "schedule.search", tags=tags, limit=limit, cursor=cursor)


# --- promises --------------------------------------------------------------------------------


@click.group()
def promises() -> None:
    """Create, get, search, settle promises of an engine file."""


@promises.command("get", epilog=options.examples("resonate-lab promises get nightly-1796090400000"))
@_ID
@_asks
def get_promise(file: str, id: str) -> None:
    """Print a promise."""
    _ask(file, "promise.get", id=id)


@promises.command(
    "create",
    epilog=options.examples(
        """resonate-lab promises create order-7 --timeout 1h --param '{"data": {"n": 7}}'"""
    ),
)
@_ID
@click.option(
    "--timeout", required=True, type=options.WIRE_DURATION, help="From now to the deadline."
)
@click.option("--param", type=_JSON, help="JSON object with headers and data; data gets base64.")
@click.option("--tags", type=_JSON, help="JSON object.")
@_asks
def create_promise(file: str, id: str, timeout: int, param: Any, tags: Any) -> None:
    """Create a promise.

    One that has this ID already is printed as it is.
    """
    at = rl.Engine.load(file).now_ms + timeout
    _ask(file, "promise.create", id=id, timeoutAt=at, param=_encoded(param), tags=tags)


def _settles(verb: str, state: str) -> click.Command:
    @promises.command(
        verb,
        epilog=options.examples(
            f"""resonate-lab promises {verb} order-7 --value '{{"data": "done"}}'"""
        ),
        help=f"Settle a promise as {state}.\n\nOne that is settled already is printed as it is.",
    )
    @_ID
    @click.option(
        "--value", type=_JSON, help="JSON object with headers and data; data gets base64."
    )
    @_asks
    def settle(file: str, id: str, value: Any) -> None:
        _ask(file, "promise.settle", id=id, state=state, value=_encoded(value))

    return settle


for _verb, _settled in (
    ("resolve", "resolved"),
    ("reject", "rejected"),
    ("cancel", "rejected_canceled"),
):
    _settles(_verb, _settled)


@promises.command(
    "search",
    epilog=options.examples(
        """resonate-lab promises search --tags '{"resonate:schedule": "nightly-rollup"}'""",
        "resonate-lab promises search --state pending --limit 1000",
    ),
)
@_STATE
@_TAGS
@_limit(100)
@_CURSOR
@_asks
def search_promises(
    file: str, state: str | None, tags: Any, limit: int, cursor: str | None
) -> None:
    """Print a page of promises, by id."""
    _ask(file, "promise.search", state=state, tags=tags, limit=limit, cursor=cursor)


@promises.command(epilog=options.examples("resonate-lab promises register-callback a.1 a"))
@click.argument("awaited")
@click.argument("awaiter")
@_asks
def register_callback(file: str, awaited: str, awaiter: str) -> None:
    """Wake the task of AWAITER when AWAITED settles."""
    _ask(file, "promise.register_callback", awaited=awaited, awaiter=awaiter)


@promises.command(
    epilog=options.examples("resonate-lab promises register-listener a poll://uni@default/me")
)
@click.argument("awaited")
@click.argument("address")
@_asks
def register_listener(file: str, awaited: str, address: str) -> None:
    """Tell ADDRESS when AWAITED settles."""
    _ask(file, "promise.register_listener", awaited=awaited, address=address)


# --- tasks -----------------------------------------------------------------------------------


@click.group()
def tasks() -> None:
    """Do to tasks of an engine file what a worker does."""


@tasks.command("get", epilog=options.examples("resonate-lab tasks get nightly-1796090400000"))
@_ID
@_asks
def get_task(file: str, id: str) -> None:
    """Print a task."""
    _ask(file, "task.get", id=id)


@tasks.command(
    "create",
    epilog=options.examples(
        "resonate-lab tasks create order-7 --pid me --ttl 1m --timeout 1h \\",
        """    --tags '{"resonate:target": "poll://any@default"}'""",
    ),
)
@_ID
@_PID
@_TTL
@click.option(
    "--timeout", required=True, type=options.WIRE_DURATION, help="From now to the deadline."
)
@click.option("--param", type=_JSON, help="JSON object, sent as it is: data must be base64.")
@click.option("--tags", type=_JSON, help="JSON object; needs resonate:target.")
@_asks
def create_task(
    file: str, id: str, pid: str, ttl: int, timeout: int, param: Any, tags: Any
) -> None:
    """Create a promise and claim its task in one go."""
    at = rl.Engine.load(file).now_ms + timeout
    promise = {"id": id, "timeoutAt": at, "param": param or {}, "tags": tags or {}}
    action = {"kind": "promise.create", "head": {}, "data": promise}
    _ask(file, "task.create", pid=pid, ttl=ttl, action=action)


@tasks.command(
    epilog=options.examples("resonate-lab tasks claim order-7 --pid me --version 0 --ttl 1m")
)
@_ID
@_PID
@_VERSION
@_TTL
@_asks
def claim(file: str, id: str, pid: str, version: int, ttl: int) -> None:
    """Take a pending task under a lease."""
    _ask(file, "task.acquire", id=id, version=version, pid=pid, ttl=ttl)


@tasks.command(
    epilog=options.examples(
        "resonate-lab tasks fence order-7 --version 1 --action \\",
        """    '{"kind": "promise.settle", "head": {},""",
        """      "data": {"id": "b", "state": "resolved"}}'""",
    )
)
@_ID
@_VERSION
@click.option("--action", required=True, type=_JSON, help="JSON of a request.")
@_asks
def fence(file: str, id: str, version: int, action: Any) -> None:
    """Create or settle another promise as long as the task is held."""
    _ask(file, "task.fence", id=id, version=version, action=action)


@tasks.command(
    epilog=options.examples(
        """resonate-lab tasks heartbeat --pid me --tasks '[{"id": "order-7", "version": 1}]'"""
    )
)
@_PID
@click.option("--tasks", required=True, type=_JSON, help="JSON array of objects: id, version.")
@_asks
def heartbeat(file: str, pid: str, tasks: Any) -> None:
    """Renew the leases on some tasks."""
    _ask(file, "task.heartbeat", pid=pid, tasks=tasks)


@tasks.command(
    epilog=options.examples(
        "resonate-lab tasks suspend a --version 1 --actions \\",
        """    '[{"kind": "promise.register_callback", "head": {},""",
        """       "data": {"awaited": "a.1", "awaiter": "a"}}]'""",
    )
)
@_ID
@_VERSION
@click.option("--actions", required=True, type=_JSON, help="JSON array of requests.")
@_asks
def suspend(file: str, id: str, version: int, actions: Any) -> None:
    """Put a task down until one of some promises settles."""
    _ask(file, "task.suspend", id=id, version=version, actions=actions)


@tasks.command(
    epilog=options.examples(
        "resonate-lab tasks complete a --version 1 --action \\",
        """    '{"kind": "promise.settle", "head": {},""",
        """      "data": {"id": "a", "state": "resolved"}}'""",
    )
)
@_ID
@_VERSION
@click.option("--action", required=True, type=_JSON, help="JSON of a promise.settle request.")
@_asks
def complete(file: str, id: str, version: int, action: Any) -> None:
    """Settle the promise of a task that is held."""
    _ask(file, "task.fulfill", id=id, version=version, action=action)


@tasks.command(epilog=options.examples("resonate-lab tasks release order-7 --version 1"))
@_ID
@_VERSION
@_asks
def release(file: str, id: str, version: int) -> None:
    """Put a task back, to be sent again."""
    _ask(file, "task.release", id=id, version=version)


@tasks.command(epilog=options.examples("resonate-lab tasks halt order-7"))
@_ID
@_asks
def halt(file: str, id: str) -> None:
    """Keep a task from everybody until it is continued."""
    _ask(file, "task.halt", id=id)


@tasks.command("continue", epilog=options.examples("resonate-lab tasks continue order-7"))
@_ID
@_asks
def continue_(file: str, id: str) -> None:
    """Let a halted task go on."""
    _ask(file, "task.continue", id=id)


@tasks.command("search", epilog=options.examples("resonate-lab tasks search --state pending"))
@_STATE
@_limit(100)
@_CURSOR
@_asks
def search_tasks(file: str, state: str | None, limit: int, cursor: str | None) -> None:
    """Print a page of tasks, by id."""
    _ask(file, "task.search", state=state, limit=limit, cursor=cursor)


# --- trees -----------------------------------------------------------------------------------


@click.command(epilog=options.examples("resonate-lab tree nightly-1796090400000"))
@_ID
@options.takes_file
@options.as_json
def tree(file: str, id: str, as_json: bool) -> None:
    """Draw what came of a promise.

    One line a promise: yellow is pending, green resolved, red rejected. An ID that is unknown
    is printed alone, and the code is 0, as with the real command line.
    """
    found = rl.Engine.load(file).tree(id)
    if as_json:
        nodes = [
            {"id": node.id, "state": node.state, "detail": node.detail, "branch": node.branch}
            for node in found.nodes
        ]
        show.print_json({"nodes": nodes, "more": found.more})
        return
    if found.nodes[0].state is None:
        found = type(found)([found.nodes[0]._replace(detail="")], 0)
    for line in found.lines():
        click.echo(line)
