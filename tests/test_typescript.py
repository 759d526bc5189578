"""The official TypeScript SDK, unmodified, over HTTP, on the Node that it asks for.

Run by ``make test-node``, which installs both into build/typescript; ``pytest -m node`` takes
them from there, or from a node_modules named in RESONATE_LAB_NODE_MODULES.
"""

import asyncio
import json
import os
import subprocess
import tempfile
from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from asynchronous import scenario
from exchanges import RECORDED, REFUSED, TAKEN, recorded, replayed, whole
from strict import message_objections, objections
from wire import DAY, HOUR, MINUTE, SECOND, T

import resonate_lab as rl
from resonate_lab.clients import serving

pytestmark = pytest.mark.node

HERE = Path(__file__).parent
MODULES = os.environ.get("RESONATE_LAB_NODE_MODULES")
FOLDER = Path(MODULES) if MODULES else HERE.parent / "build" / "typescript" / "node_modules"
TOKEN = "s3cret-token"
EVERY_TEN = "*/10 * * * *"
#: Seconds of real time after which a worker that says nothing is taken to be stuck.
PATIENCE = 60


def node(script, *flags):
    """Return the command that runs a script of the folder typescript/."""
    program = FOLDER / ".bin" / "node"
    assert program.exists(), f"there is no {program}: make test-node installs it"
    return [str(program), *flags, str(HERE / "typescript" / script)]


class Worker:
    """A Node process: what it says are lines of JSON, among others that are for people."""

    def __init__(self, process, errors):
        self.process, self.errors, self.heard = process, errors, []

    async def said(self):
        """Return the next thing that it says."""
        try:
            async with asyncio.timeout(PATIENCE):
                while line := await self.process.stdout.readline():
                    self.heard.append(line.decode())
                    if line.startswith(b"{"):
                        return json.loads(line)
        except TimeoutError:
            pass
        self.errors.seek(0)
        raise AssertionError(
            f"the worker (exit code {self.process.returncode}) said nothing for {PATIENCE} s or "
            f"ended; last: {self.heard[-5:]}; on stderr: {self.errors.read()[-3000:].decode()}"
        )

    async def ask(self, kind, **what):
        """Have something asked for; return what comes of it."""
        self.process.stdin.write(json.dumps({"ask": kind, **what}).encode() + b"\n")
        return await self.said()

    async def stop(self):
        self.process.stdin.write(b'{"ask": "stop"}\n')
        return await self.process.wait()


@asynccontextmanager
async def worker(url, script="worker.mjs", **environment):
    """Run a worker until the block ends; it is up when it has said so and its stream is open."""
    environment = {"RESONATE_URL": url, "SDK_FROM": str(FOLDER), "PATH": os.environ["PATH"],
                   **environment}  # fmt: skip
    preload = "--import", str(HERE / "typescript" / "engine_clock.mjs")
    with tempfile.TemporaryFile() as errors:
        process = await asyncio.create_subprocess_exec(
            *node(script, *preload), env=environment,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=errors,
        )  # fmt: skip
        try:
            one = Worker(process, errors)
            assert list(await one.said()) == ["listening"]
            await streams(url, 1, environment.get("WORKER_TOKEN"))
            yield one
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def streams(url, number, token=None):
    """Wait until so many listen: the SDK opens its stream in the background."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    async with httpx.AsyncClient(base_url=url, headers=headers) as http, asyncio.timeout(PATIENCE):
        while (await http.get("/control")).json()["listening"] != number:
            pass


@asynccontextmanager
async def control(url, token=None):
    """Return the function by which time passes."""
    async with httpx.AsyncClient(base_url=url, timeout=300) as http:
        if token:
            http.headers["authorization"] = f"Bearer {token}"

        async def advance(expected=200, **way):
            answer = await http.post("/control/advance", json=way)
            assert answer.status_code == expected, answer.text
            return answer.json()

        yield advance


@asynccontextmanager
async def served(**environment):
    """Return an engine behind HTTP, a worker of it, and the function by which time passes."""
    engine = rl.Engine(now=T)
    async with (
        serving(engine, always_200=True) as url,
        control(url) as advance,
        worker(url, **environment) as one,
    ):
        yield engine, one, advance


def fired(engine, id):
    return engine.promises.search(tags={"resonate:schedule": id})


def lasted(promises):
    return Counter((p.state, (p.settled_at or 0) - p.created_at) for p in promises)


class TestWorkflows:
    @scenario
    async def test_a_day_with_an_outage_behind_a_token_to_the_millisecond(self):
        engine = rl.Engine(now=T)
        async with (
            serving(engine, token=TOKEN, always_200=True) as url,
            control(url, TOKEN) as advance,
            worker(url, WORKER_TOKEN=TOKEN) as one,
        ):
            report = {"id": "report", "cron": EVERY_TEN, "func": "report", "args": [20]}
            assert await one.ask("schedule", **report) == {"done": "schedule"}
            await one.ask("rpc", id="asked", func="report", args=[4])
            await advance(duration="9h")
            await advance(duration="5m")
            assert await one.said() == {"id": "asked", "result": 9}
            up = engine.now_ms + 6 * HOUR
            await advance(outage="6h")
            await advance(duration=f"{T + DAY + 120 * SECOND - engine.now_ms}ms")
            wrong = await one.ask("schedule", id="bad", cron="not a cron", func="report")
            assert "nvalid" in wrong["refused"]
            assert await one.stop() == 0
        runs = fired(engine, "report")
        late = [p for p in runs if up - 6 * HOUR < p.created_at <= up]
        after_restart = Counter((p.state, p.settled_at - up) for p in late)
        assert after_restart == {("resolved", 90 * SECOND): 36}
        on_time = [p for p in runs if p not in late]
        assert lasted(on_time) == {("resolved", 90 * SECOND): 108}
        assert engine.promises.get("asked").settled_at == T + 90 * SECOND
        assert engine.check() == []

    @scenario
    async def test_failures_are_retried_or_settle_the_run(self):
        async with served() as (engine, one, advance):
            await one.ask("schedule", id="moody", cron="@hourly", func="moody", args=[3])
            await one.ask("schedule", id="hopeless", cron="@hourly", func="hopeless")
            await advance(duration="2h")
            assert lasted(fired(engine, "moody")) == {("resolved", 0): 2}
            assert lasted(fired(engine, "hopeless")) == {("rejected", 0): 2}
            assert engine.check() == []

    @scenario
    async def test_run_detached_and_a_promise_settled_by_hand(self):
        async with served() as (engine, one, advance):
            await one.ask("run", id="ran", func="report", args=[1])
            await one.ask("schedule", id="approval", cron="@hourly", func="approval")
            await advance(duration="1h")
            assert await one.said() == {"id": "ran", "result": 3}
            assert engine.promises.get("ran").settled_at == T + 90 * SECOND
            question = (await one.said())["question"]
            await advance(duration="10m")
            assert await one.ask("settle", id=question, value="InllcyI=") == {"done": "settle"}
            await advance(duration="1s")
            (run,) = fired(engine, "approval")
            assert (run.state, run.settled_at) == ("resolved", T + 70 * MINUTE)
            detached = [p for p in engine.promises.search() if ":d" in p.id]
            assert {p.state for p in detached} == {"resolved"}
            assert max(p.settled_at for p in detached) == T + 62 * MINUTE
            assert engine.check() == []

    @scenario
    async def test_async_functions_run_as_the_generators_do(self):
        async with served(script="worker_async.mjs") as (engine, _, advance):
            await advance(duration="1h")
            await advance(duration="2m")
            assert lasted(fired(engine, "report")) == {("resolved", 90 * SECOND): 6}
            assert engine.check() == []


class TestTrouble:
    @scenario
    async def test_a_worker_that_dies_leaves_its_task_to_another_when_the_lease_ends(self):
        engine = rl.Engine(now=T)
        async with serving(engine) as url, control(url) as advance:
            dying = {"WORKER_PID": "dying", "WORKER_TTL": "60000", "WORKER_ENDS": "never"}
            async with worker(url, **dying) as one:
                await one.ask("rpc", id="p", func="held")
                assert await one.said() == {"held": "p"}
                assert engine.tasks.get("p").pid == "dying"
            await streams(url, 0)
            async with worker(url, WORKER_PID="heir") as heir:
                await advance(duration="59s")
                assert engine.promises.get("p").state == "pending"
                await advance(duration="1s")
                assert await heir.said() == {"held": "p"}
                assert engine.promises.get("p").settled_at == T + MINUTE
        assert engine.check() == []

    @scenario
    async def test_a_stream_that_ended_is_opened_again_and_nothing_is_lost(self):
        engine = rl.Engine(now=T)
        async with serving(engine) as url:
            port = int(url.rpartition(":")[2])
            running = worker(url)
            one = await running.__aenter__()
            await one.ask("schedule", id="s", cron=EVERY_TEN, func="held")
        try:
            engine.advance("1h")
            async with serving(engine, port=port) as again, control(again) as advance:
                # It comes back after a second of real time, by itself.
                told = [(await one.said())["held"] for _ in range(6)]
                await advance(duration="1s")
            assert sorted(told) == [f"s-{T + n * 10 * MINUTE}" for n in range(1, 7)]
            assert Counter(p.state for p in fired(engine, "s")) == {"resolved": 6}
            assert engine.check() == []
        finally:
            await running.__aexit__(None, None, None)

    @scenario
    async def test_a_function_that_is_not_registered_is_named(self):
        async with served() as (engine, one, advance):
            await one.ask("schedule", id="s", cron=EVERY_TEN, func="forgotten")
            refused = await advance(200, duration="1h")  # the status is in the envelope
            assert refused["head"]["status"] == 409
            assert "'forgotten'" in refused["data"]
            assert engine.now_ms == T + 10 * MINUTE


class TestJudge:
    """The SDK's own judgement of responses: it takes ours, and our judge's as well."""

    def takes(self, lines):
        """Return for each line whether the SDK takes it."""
        text = "".join(json.dumps(line) + "\n" for line in lines)
        done = subprocess.run(
            node("judge.mjs"), input=text, capture_output=True, text=True, timeout=PATIENCE,
            env={"SDK_FROM": str(FOLDER), "PATH": os.environ["PATH"]}, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(found) == len(lines)
        return found

    def test_it_takes_every_response_and_message_of_the_engine(self):
        lines = []
        for name, client, _ in RECORDED:
            for request, _, got in replayed(recorded(name, client)):
                if "kind" in request:
                    corr_id = request["head"]["corrId"]
                    lines.append({"response": got, "kind": request["kind"], "corrId": corr_id})
                else:
                    lines.append({"message": got})
        refused = [line for line, is_so in zip(lines, self.takes(lines), strict=True) if not is_so]
        assert refused == []
        assert len(lines) > 221

    def test_what_our_judge_takes_it_takes_whatever_is_missing_or_exchanged(self):
        samples = [(whole(*row[:3]), row[0]) for row in [*TAKEN, *REFUSED]]
        samples += [(other, row[0]) for row in TAKEN for other in altered(whole(*row))]
        lines = [{"response": one, "kind": kind, "corrId": "1"} for one, kind in samples]
        judged = [objections(one["response"], one["kind"], "1") == [] for one in lines]
        for line, ours, theirs in zip(lines, judged, self.takes(lines), strict=True):
            assert theirs or not ours, line
        assert 13 < sum(judged) < len(lines) / 2

    def test_the_same_of_messages(self):
        (_, _, acquired), (_, _, shown) = TAKEN[7], TAKEN[0]
        messages = [
            {"kind": "execute", "head": {"serverUrl": "x"}, "data": {"task": acquired["task"]}},
            {"kind": "unblock", "head": {}, "data": {"promise": shown["promise"]}},
        ]
        messages += [other for one in messages for other in altered(one)]
        lines = [{"message": one} for one in messages]
        for line, theirs in zip(lines, self.takes(lines), strict=True):
            assert theirs or message_objections(line["message"]), line


def altered(it):
    """Yield a JSON value with each of its members left out, and exchanged, one at a time."""
    for key in list(it) if isinstance(it, dict) else range(len(it)):
        rest = {k: v for k, v in it.items() if k != key} if isinstance(it, dict) else it[:key]
        if isinstance(it, dict):
            yield rest
        inner = altered(it[key]) if isinstance(it[key], dict | list) else ()
        for other in (None, "text", 7, 1.5, True, [], {}, [None], {"a": 1}, *inner):
            if isinstance(it, dict):
                yield {**it, key: other}
            else:
                yield [*rest, other, *it[key + 1 :]]
