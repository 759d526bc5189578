"""The official TypeScript SDK, unmodified, over HTTP, on the Node that it asks for.

Run by ``make test-node``, which installs both into build/typescript; ``pytest -m node`` takes
them from there, or from a node_modules named in RESONATE_LAB_NODE_MODULES.
"""

import asyncio
import json
import os
from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from asynchronous import scenario
from wire import DAY, HOUR, SECOND, T

import resonate_lab as rl
from resonate_lab.clients import serving

pytestmark = pytest.mark.node

HERE = Path(__file__).parent
MODULES = os.environ.get("RESONATE_LAB_NODE_MODULES")
FOLDER = Path(MODULES) if MODULES else HERE.parent / "build" / "typescript" / "node_modules"
TOKEN = "s3cret-token"


class Worker:
    """A Node process that runs worker.mjs."""

    @asynccontextmanager
    async def running(self, url, token=None):
        node = FOLDER / ".bin" / "node"
        assert node.exists(), f"no {node}: make test-node installs it"
        self.process = await asyncio.create_subprocess_exec(
            node, "--import", HERE / "typescript" / "engine_clock.mjs",
            HERE / "typescript" / "worker.mjs",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            env={"RESONATE_URL": url, "SDK_FROM": str(FOLDER), "PATH": os.environ["PATH"],
                 **({"WORKER_TOKEN": token} if token else {})},
        )  # fmt: skip
        try:
            yield await self.said()
        finally:
            if self.process.returncode is None:
                self.process.kill()
                await self.process.wait()

    async def said(self):
        return json.loads(await self.process.stdout.readline())

    async def ask(self, word):
        self.process.stdin.write(word.encode() + b"\n")
        return await self.said() if word != "stop" else await self.process.wait()


@scenario
async def test_scheduled_workflows_with_rpc_and_sleep_run_to_the_millisecond():
    engine = rl.Engine(now=T)
    async with (
        serving(engine, token=TOKEN, always_200=True) as url,
        httpx.AsyncClient(base_url=url, timeout=300) as control,
    ):
        control.headers["authorization"] = f"Bearer {TOKEN}"
        worker = Worker()

        async def advance(**way):
            answer = await control.post("/control/advance", json=way)
            assert answer.status_code == 200, answer.text

        async with worker.running(url, TOKEN) as said:
            assert said == {"ready": "asked"}
            await advance(duration="9h")
            await advance(duration="5m")
            assert await worker.said() == {"result": 9}
            up = engine.now_ms + 6 * HOUR
            await advance(outage="6h")
            await advance(duration=f"{T + DAY + 120 * SECOND - engine.now_ms}ms")
            assert "nvalid" in (await worker.ask("wrong"))["refused"]
            assert await worker.ask("stop") == 0
        runs = engine.promises.search(tags={"resonate:schedule": "report"})
        late = [p for p in runs if up - 6 * HOUR < p.created_at <= up]
        assert Counter((p.state, p.settled_at - up) for p in late) == {
            ("resolved", 90 * SECOND): 36
        }
        on_time = Counter((p.state, p.settled_at - p.created_at) for p in runs if p not in late)
        assert on_time == {("resolved", 90 * SECOND): 108}
        assert engine.promises.get("asked").settled_at == T + 90 * SECOND
        assert engine.check() == []
