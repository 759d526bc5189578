"""The official Python SDK, unmodified, on an engine in this process: whole days in a moment."""

import asyncio
import logging
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from datetime import timedelta

import pytest
from asynchronous import scenario
from counted import held
from resonate.resonate import Resonate
from resonate.retry import Constant, Exponential, Never
from resonate.types import Value
from wire import DAY, HOUR, MINUTE, SECOND, T

import resonate_lab as rl
from resonate_lab.clients import simulate
from resonate_lab.errors import DurationError, WindowError, WorkerError
from resonate_lab.protocol.records import is_timer

EVERY_TEN = "*/10 * * * *"


def engine():
    return rl.Engine(now=T)


def fired(resonate, id):
    return resonate.engine.promises.search(tags={"resonate:schedule": id})


def lasted(promises):
    return Counter((p.state, (p.settled_at or 0) - p.created_at) for p in promises)


async def leaf(ctx, n: int) -> int:
    return 2 * n


async def report(ctx, n: int) -> int:
    doubled = await ctx.rpc("leaf", n)
    await ctx.sleep(timedelta(seconds=90))
    return doubled + 1


class TestWorkflows:
    @scenario
    async def test_failures_are_retried_in_the_engines_time_and_then_settle_the_run(self):
        tried = []

        async def moody(ctx):
            tried.append(ctx.info.id)
            if tried.count(ctx.info.id) < 3:
                raise ValueError("not yet")
            return "at last"

        async def hopeless(ctx):
            raise ValueError("never")

        policy = Exponential(delay=1, factor=2, max_delay=60, max_retries=3)
        async with simulate(engine(), retry_policy=policy) as resonate:
            resonate.register(moody)
            resonate.register(hopeless)
            await resonate.schedule("moody", "0 * * * *", "moody")
            await resonate.schedule("hopeless", "0 * * * *", "hopeless")
            await resonate.advance("24h")
            await resonate.advance("1m")
            # Pauses of 2, 4 and 8 s: the third attempt succeeds, or the fourth is the last.
            assert lasted(fired(resonate, "moody")) == {("resolved", 6 * SECOND): 24}
            assert lasted(fired(resonate, "hopeless")) == {("rejected", 14 * SECOND): 24}
            assert len(tried) == 72
            assert resonate.engine.check() == []

    @scenario
    async def test_run_detached_and_a_promise_settled_by_hand(self):
        async def step(ctx, n):
            return n + 1

        async def audit(ctx, n):
            await ctx.sleep(timedelta(minutes=2))
            return f"audited {n}"

        async def approval(ctx):
            n = await ctx.run(step, 1)
            await ctx.detached("audit", n)
            question = ctx.promise()
            return [n, await question]

        async with simulate(engine(), retry_policy=Never()) as resonate:
            for function in (step, audit, approval):
                resonate.register(function)
            await resonate.schedule("approval", "0 */6 * * *", "approval")
            await resonate.advance("6h")
            waiting = resonate.engine.promises.search(tags={"resonate:external": "true"})
            assert [p.state for p in waiting] == ["pending"]
            await resonate.advance("1h")
            await resonate.promises.resolve(waiting[0].id, Value(data="yes"))
            await resonate.settle()
            (run,) = fired(resonate, "approval")
            assert (run.state, run.settled_at) == ("resolved", T + 7 * HOUR)
            assert await (await resonate.get(run.id)).result() == [2, "yes"]
            detached = [p for p in resonate.engine.promises.search() if ":d" in p.id]
            assert Counter(p.state for p in detached) == {"resolved": 2}
            assert max(p.settled_at for p in detached) == T + 6 * HOUR + 2 * MINUTE
            assert resonate.engine.check() == []

    @scenario
    async def test_run_and_rpc_from_outside_settle_their_handles(self):
        async with simulate(engine()) as resonate:
            resonate.register(leaf)
            resonate.register(report)
            ran, asked = resonate.run("by-run", leaf, 4), resonate.rpc("by-rpc", "report", 4)
            await resonate.advance("2m")
            assert (await ran.result(), await asked.result()) == (8, 9)
            assert resonate.engine.promises.get("by-rpc").settled_at == T + 90 * SECOND

    @scenario
    async def test_what_came_while_nobody_listened_runs_when_somebody_does(self):
        alone = engine()
        client = simulate(alone)
        await client.schedule("early", EVERY_TEN, "leaf", (3,))
        await client.stop()
        alone.advance("1h")
        async with simulate(alone) as resonate:
            resonate.register(leaf)
            await resonate.settle()
            assert Counter(p.state for p in fired(resonate, "early")) == {"resolved": 6}

    @scenario
    async def test_the_polling_profile_runs_them_too_at_its_polls(self):
        # Its rules of ids refuse the SDK's children, so a function by itself.
        async with simulate(rl.Engine("server", now=T + 1)) as resonate:
            resonate.register(leaf)
            await resonate.schedule("leaf", EVERY_TEN, "leaf", (1,))
            await resonate.advance("1h")
            assert lasted(fired(resonate, "leaf")) == {("resolved", 1): 6}

    @scenario
    async def test_more_firings_at_once_than_the_sdk_works_on(self):
        async with simulate(engine()) as resonate:
            resonate.register(leaf)
            resonate.register(report)
            for n in range(150):
                await resonate.schedule(f"s{n}", "0 * * * *", "report", (n,))
            await resonate.advance("1h")
            await resonate.advance("2m")
            runs = [p for p in resonate.engine.promises.search() if ":" not in p.id]
            assert lasted(runs) == {("resolved", 90 * SECOND): 150}


class TestADay:
    """Runs every ten minutes through 24 hours with an outage of six, each to the millisecond."""

    DOWN, UP = T + 9 * HOUR + 5 * MINUTE, T + 15 * HOUR + 5 * MINUTE

    async def day(self, resonate, name, by_hand=None):
        """Let the day pass; return how long the runs took: on time, and after the restart."""
        began = time.perf_counter()
        await resonate.schedule(name, EVERY_TEN, name, (20,))
        await resonate.run_until(self.DOWN)
        outage = await resonate.outage("6h")
        assert (outage.fired, resonate.engine.now_ms) == (36, self.UP)
        if by_hand:
            await by_hand(resonate)
        await resonate.run_until(T + DAY + 2 * MINUTE)
        runs = fired(resonate, name)
        assert len(runs) == 144
        assert resonate.engine.check() == []
        count, seconds = len(resonate.engine.promises.search()), time.perf_counter() - began
        print(f"{name}: 24 h, 144 firings, {count} promises in {seconds:.2f} s")
        late = [p for p in runs if self.DOWN < p.created_at <= self.UP]
        on_time = [p for p in runs if p not in late]
        return lasted(on_time), Counter((p.state, p.settled_at - self.UP) for p in late)

    @scenario
    async def test_of_a_call_and_a_sleep(self):
        async with simulate(engine()) as resonate:
            resonate.register(leaf)
            resonate.register(report)
            found = await self.day(resonate, "report")
            assert found == ({("resolved", 90 * SECOND): 108}, {("resolved", 90 * SECOND): 36})
            assert len(resonate.engine.promises.search()) == 3 * 144

    @scenario
    async def test_of_failures_that_are_retried(self):
        tried = Counter()

        async def flaky(ctx, n):
            tried[ctx.info.id] += 1
            if tried[ctx.info.id] < 3:
                raise ValueError("not yet")
            return n

        async def moody(ctx, n):
            await ctx.rpc("flaky", n)  # pauses of 2 and 4 s
            await ctx.sleep(timedelta(seconds=84))
            return n

        policy = Exponential(delay=1, factor=2, max_delay=60, max_retries=3)
        async with simulate(engine(), retry_policy=policy) as resonate:
            resonate.register(flaky)
            resonate.register(moody)
            found = await self.day(resonate, "moody")
            assert found == ({("resolved", 90 * SECOND): 108}, {("resolved", 90 * SECOND): 36})
            assert set(tried.values()) == {3}

    @scenario
    async def test_of_failures_that_stay(self):
        async def hopeless(ctx, n):
            raise ValueError("never")

        async def asks(ctx, n):
            await ctx.sleep(timedelta(seconds=90))
            return await ctx.rpc("hopeless", n)

        async with simulate(engine(), retry_policy=Never()) as resonate:
            resonate.register(hopeless)
            resonate.register(asks)
            found = await self.day(resonate, "asks")
            assert found == ({("rejected", 90 * SECOND): 108}, {("rejected", 90 * SECOND): 36})

    @scenario
    async def test_of_steps_in_the_same_process(self):
        async def step(ctx, n):
            await ctx.sleep(timedelta(seconds=45))
            return n + 1

        async def steps(ctx, n):
            return await ctx.run(step, await ctx.run(step, n))

        async with simulate(engine(), retry_policy=Never()) as resonate:
            resonate.register(step)
            resonate.register(steps)
            found = await self.day(resonate, "steps")
            assert found == ({("resolved", 90 * SECOND): 108}, {("resolved", 90 * SECOND): 36})

    @scenario
    async def test_of_work_that_is_detached(self):
        async def audit(ctx, n):
            await ctx.sleep(timedelta(seconds=90))

        async def parent(ctx, n):
            await ctx.detached("audit", n)

        async with simulate(engine(), retry_policy=Never()) as resonate:
            resonate.register(audit)
            resonate.register(parent)
            found = await self.day(resonate, "parent")
            assert found == ({("resolved", 0): 108}, {("resolved", 0): 36})
            audits = [p for p in resonate.engine.promises.search() if ":d" in p.id]
            audits = [p for p in audits if not is_timer(p.tags)]
            assert lasted(audits) == {("resolved", 90 * SECOND): 144}

    @scenario
    async def test_of_promises_settled_by_hand(self):
        async def approval(ctx, n):
            return await ctx.promise()

        async def answer(resonate):
            while resonate.engine.now_ms < T + DAY:
                await resonate.advance("90s")
                tags = {"resonate:external": "true"}
                for one in resonate.engine.promises.search(state="pending", tags=tags):
                    await resonate.promises.resolve(one.id, Value(data="yes"))
            await resonate.settle()

        async with simulate(engine(), retry_policy=Never()) as resonate:
            resonate.register(approval)
            # Nobody answers before the restart, and then somebody looks every 90 seconds.
            on_time, late = await self.day(resonate, "approval", answer)
            assert late == {("resolved", 90 * SECOND): 36}
            assert {state for state, _ in on_time} == {"resolved"}
            after = [p for p in fired(resonate, "approval") if p.created_at > self.UP]
            assert len(after) == 54
            assert max(p.settled_at - p.created_at for p in after) <= 90 * SECOND


class TestTime:
    def test_two_runs_with_the_same_calls_end_in_the_same_state(self):
        async def main():
            async with simulate(engine()) as resonate:
                resonate.register(leaf)
                resonate.register(report)
                for n in range(10):
                    await resonate.schedule(f"s{n}", f"*/{n + 3} * * * *", "report", (n,))
                await resonate.advance("1h")
                return resonate.engine

        first, second = asyncio.run(main()), asyncio.run(main())
        assert first.trace == second.trace
        assert first.state.promises == second.state.promises

    @scenario
    async def test_the_sdk_reads_the_engines_clock(self):
        async with simulate(engine()) as resonate:
            resonate.register(leaf)
            resonate.rpc("p", "leaf", 1)
            await resonate.settle()
            assert resonate.engine.promises.get("p").timeout_at == T + DAY

    def test_one_made_outside_a_loop_starts_when_it_is_used(self):
        resonate = simulate(engine())
        resonate.register(leaf)

        async def main():
            await resonate.schedule("s", EVERY_TEN, "leaf", (1,))
            await resonate.advance("1h")
            await resonate.stop()

        asyncio.run(main())
        assert lasted(fired(resonate, "s")) == {("resolved", 0): 6}

    @scenario
    async def test_real_work_is_waited_for(self):
        release = threading.Event()

        async def slow(ctx):
            return await asyncio.to_thread(release.wait)

        async with simulate(engine()) as resonate:
            resonate.register(slow)
            await resonate.schedule("slow", "0 * * * *", "slow")
            advancing = asyncio.create_task(resonate.advance("3h"))
            while resonate.engine.now_ms < T + HOUR:
                await asyncio.sleep(0)
            for _ in range(50):
                await asyncio.sleep(0)
            assert resonate.engine.now_ms == T + HOUR
            release.set()
            await advancing
            assert lasted(fired(resonate, "slow")) == {("resolved", 0): 3}

    @scenario
    async def test_those_who_let_time_pass_at_once_do_so_one_after_the_other(self):
        async with simulate(engine()) as resonate:
            await asyncio.gather(
                resonate.advance("2h"), resonate.outage("1h"), resonate.advance("30min")
            )
            assert resonate.engine.now_ms == T + 3 * HOUR + 30 * MINUTE

    @scenario
    async def test_time_does_not_go_back(self):
        async with simulate(engine()) as resonate:
            with pytest.raises(WindowError):
                await resonate.advance("-1s")

    @scenario
    async def test_stopping_does_not_wait_for_a_pause_that_no_time_ends(self):
        async def hopeless(ctx):
            raise ValueError("never")

        async with simulate(engine(), retry_policy=Constant(delay=3600, max_retries=9)) as resonate:
            resonate.register(hopeless)
            resonate.rpc("p", "hopeless")
            await resonate.advance("1m")
        assert resonate.engine.promises.get("p").state == "pending"
        assert resonate.engine.tasks.get("p").state == "acquired"


class TestLeases:
    @scenario
    async def test_they_do_not_lapse_by_default_however_long_a_pause_lasts(self):
        tries = []

        async def later(ctx):
            tries.append(ctx.info.id)
            if len(tries) == 1:
                raise ValueError("not yet")

        async with simulate(engine(), retry_policy=Constant(delay=7200, max_retries=1)) as resonate:
            resonate.register(later)
            resonate.rpc("p", "later")
            await resonate.advance("3h")
            assert resonate.engine.promises.get("p").settled_at == T + 2 * HOUR
            assert len(tries) == 2

    @scenario
    async def test_one_with_an_end_is_renewed_in_the_engines_time(self):
        tries = []

        async def later(ctx):
            tries.append(ctx.info.id)
            if len(tries) == 1:
                raise ValueError("not yet")

        policy = Constant(delay=600, max_retries=1)
        async with simulate(engine(), ttl="1min", retry_policy=policy) as resonate:
            resonate.register(later)
            resonate.rpc("p", "later")
            await resonate.advance("1h")
            assert resonate.engine.promises.get("p").settled_at == T + 10 * MINUTE
            assert len(tries) == 2
            renewed = [s for s in resonate.engine.trace if s.step == "task.heartbeat"]
            assert [s.at - T for s in renewed] == [30 * SECOND * n for n in range(1, 20 + 1)]

    @scenario
    async def test_a_worker_that_dies_leaves_its_task_to_another_when_the_lease_ends(self):
        async def job(ctx):
            if ctx.info.id not in done:
                done.append(ctx.info.id)
                raise ValueError("the first attempt fails")
            return "done"

        done = []
        policy = Constant(delay=600, max_retries=5)
        async with simulate(engine(), ttl="1min", retry_policy=policy) as resonate:
            dying = resonate.worker("jobs", "dying", ttl="1min", retry_policy=policy)
            dying.register(job)
            resonate.options(target="jobs").rpc("p", "job")
            await resonate.advance("45s")
            assert resonate.engine.tasks.get("p").pid == "dying"
            dying.crash()
            heir = resonate.worker("jobs", "heir", ttl="1min")
            heir.register(job)
            await resonate.advance("44s")
            assert resonate.engine.promises.get("p").state == "pending"
            await resonate.advance("1s")
            # Renewed at 30 s, so free at 90 s.
            assert resonate.engine.promises.get("p").settled_at == T + 90 * SECOND
            assert resonate.engine.check() == []
            await heir.stop()
            await dying.stop()

    @scenario
    async def test_a_worker_that_comes_up_by_the_name_of_a_dead_one_has_none_of_its_tasks(self):
        async def job(ctx):
            tries.append(ctx.info.id)
            if len(tries) == 1:
                raise ValueError("the first attempt fails")

        policy = Constant(delay=3600, max_retries=5)
        for crashes in (True, False):
            tries = []
            async with simulate(engine(), patience=5) as resonate:
                first = resonate.worker("jobs", "same", ttl="1min", retry_policy=policy)
                first.register(job)
                resonate.options(target="jobs").rpc("p", "job")
                await resonate.settle()
                if crashes:
                    first.crash()
                else:
                    await first.stop()
                second = resonate.worker("jobs", "same", ttl="1min", retry_policy=policy)
                second.register(job)
                await resonate.advance("2min")
                assert resonate.engine.promises.get("p").settled_at == T + MINUTE
                await second.stop()

    @scenario
    async def test_a_lease_of_no_length_is_refused(self):
        with pytest.raises(DurationError, match="leave it out"):
            simulate(engine(), ttl="0s")

    @scenario
    async def test_the_engines_part_cannot_be_set(self):
        with pytest.raises(TypeError, match="clock"):
            simulate(engine(), clock=lambda: 0)


class TestSpinning:
    @scenario
    async def test_a_function_that_is_not_registered_is_named(self, caplog):
        caplog.set_level(logging.CRITICAL)
        async with simulate(engine()) as resonate:
            await resonate.schedule("s", EVERY_TEN, "forgotten", (1,))
            with pytest.raises(WorkerError, match=r"s-\d+.*'forgotten'.*register"):
                await resonate.advance("1h")
            assert resonate.engine.now_ms == T + 10 * MINUTE

    @scenario
    async def test_once_the_function_is_registered_time_goes_on(self, caplog):
        caplog.set_level(logging.CRITICAL)
        async with simulate(engine()) as resonate:
            await resonate.schedule("s", EVERY_TEN, "leaf", (1,))
            for _ in range(2):
                with pytest.raises(WorkerError, match="spins"):
                    await resonate.advance("1h")
            resonate.register(leaf)
            await resonate.advance("1h")
            assert lasted(fired(resonate, "s")) == {("resolved", 0): 7}

    @scenario
    async def test_an_argument_that_cannot_be_decoded_is_named(self, caplog):
        caplog.set_level(logging.CRITICAL)
        async with simulate(engine()) as resonate:
            resonate.register(leaf)
            resonate.engine.promises.create(
                "odd", timeout="1h", target="poll://any@default", param={"data": "%%%"}
            )
            with pytest.raises(WorkerError, match=r"'odd' was given back"):
                await resonate.advance("1h")

    @scenario
    async def test_a_request_that_the_profile_refuses_is_named_with_its_reason(self, caplog):
        caplog.set_level(logging.CRITICAL)
        async with simulate(rl.Engine("server", now=T)) as resonate:
            resonate.register(leaf)
            resonate.register(report)
            await resonate.schedule("s", EVERY_TEN, "report", (1,))
            refused = r"'server', refuses its task\.fence with 400 \(Promise ID must"
            with pytest.raises(WorkerError, match=refused):
                await resonate.advance("1h")

    @scenario
    async def test_a_function_that_calls_itself_for_ever_is_named(self, monkeypatch):
        monkeypatch.setattr("resonate_lab.clients.driver.MESSAGES_PER_CALL", 200)

        async def again(ctx):
            await ctx.detached("again")

        async with simulate(engine()) as resonate:
            resonate.register(again)
            resonate.rpc("root", "again")
            with pytest.raises(WorkerError, match=r"'root' \(function 'again'\).*spins"):
                await resonate.advance("1h")

    @scenario
    async def test_a_function_that_never_ends_is_named_and_then_left_alone(self):
        async def stuck(ctx):
            await asyncio.Event().wait()

        async with simulate(engine(), patience=0.01) as resonate:
            resonate.register(stuck)
            resonate.rpc("p", "stuck")
            with pytest.raises(WorkerError, match=r"'p' \(function 'stuck'\).*ctx.sleep"):
                await resonate.advance("1h")
            await resonate.advance("1h")
            assert resonate.engine.now_ms == T + HOUR
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()

    @scenario
    async def test_a_result_that_cannot_be_encoded_is_named(self, caplog):
        caplog.set_level(logging.CRITICAL)

        async def odd(ctx):
            return object()

        async with simulate(engine()) as resonate:
            resonate.register(odd)
            resonate.rpc("p", "odd")
            with pytest.raises(WorkerError, match=r"'odd'\) was given back.*its result encoded"):
                await resonate.advance("1h")

    @scenario
    async def test_a_loop_that_no_sleep_suspends_is_named(self, monkeypatch):
        monkeypatch.setattr("resonate_lab.clients.driver.MESSAGES_PER_CALL", 200)

        async def loop(ctx):
            while True:
                await ctx.sleep(timedelta(0))

        async def main():
            async with simulate(engine()) as resonate:
                resonate.register(loop)
                resonate.rpc("p", "loop")
                await resonate.advance("1h")

        with pytest.raises(WorkerError, match=r"'loop'\) created 200 promises .*spins"):
            await main()

    @scenario
    async def test_a_loop_of_calls_is_named_before_it_has_become_slow(self, monkeypatch):
        monkeypatch.setattr("resonate_lab.clients.driver.PROMISES_IN_TIME", 10)

        async def loop(ctx):
            while True:
                await ctx.run(leaf, 1)

        async def main():
            async with simulate(engine(), patience=0.5) as resonate:
                resonate.register(leaf)
                resonate.register(loop)
                resonate.rpc("p", "loop")
                await resonate.advance("1h")

        with pytest.raises(WorkerError, match=r"'loop'\) created .* in over 0.5 s and goes on"):
            await main()

    @scenario
    async def test_a_function_that_asks_and_renews_for_ever_and_does_nothing_is_named(self):
        held = {"pid": "simulated", "tasks": [{"id": "p", "version": 1}]}
        head = {"corrId": "1", "version": "2026-04-01"}
        beat = {"kind": "task.heartbeat", "head": head, "data": held}

        async def main():
            async with simulate(engine(), patience=0.1) as resonate:

                @resonate.register
                async def asks(ctx):
                    while True:
                        await resonate.promises.search("pending", None, 1, None)
                        resonate.driver.send(beat)
                        await asyncio.sleep(0)

                resonate.rpc("p", "asks")
                await resonate.advance("1h")

        with pytest.raises(WorkerError, match=r"'asks'\), 1 in all, is with a worker"):
            await main()

    @scenario
    async def test_an_error_ends_the_block_though_a_function_never_ends(self):
        async def stuck(ctx):
            await asyncio.Event().wait()

        async def main():
            async with simulate(engine(), patience=0.01) as resonate:
                resonate.register(stuck)
                resonate.rpc("p", "stuck")
                await resonate.advance("1h")

        with pytest.raises(WorkerError, match=r"'p' \(function 'stuck'\)"):
            await main()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    @scenario
    async def test_many_calls_in_a_row_at_one_instant_are_no_spin(self):
        async def chain(ctx):
            for n in range(40):
                await ctx.rpc("leaf", n)

        async with simulate(engine()) as resonate:
            resonate.register(leaf)
            resonate.register(chain)
            resonate.rpc("p", "chain")
            await resonate.advance("1s")
            assert resonate.engine.promises.get("p").settled_at == T


class TestMemory:
    @scenario
    async def test_the_driver_keeps_nothing_of_what_is_over(self):
        async def later(ctx, n):
            if later.count < n:
                later.count += 1
                raise ValueError("not yet")
            await ctx.rpc("leaf", n)
            await ctx.sleep(timedelta(seconds=1))

        later.count = 0
        policy = Constant(delay=60, max_retries=1)
        async with simulate(engine(), ttl="1min", retry_policy=policy) as resonate:
            resonate.register(leaf)
            resonate.register(later)
            but = [resonate.engine, resonate, asyncio.get_running_loop()]

            async def some(begin):
                for n in range(begin, begin + 25):
                    worker = resonate.worker("jobs", f"w{n}", ttl="1min")
                    worker.register(leaf)
                    resonate.options(target="jobs").rpc(f"dies{n}", "leaf", n)
                    resonate.rpc(f"p{n}", "later", n + 1)
                    await resonate.settle()
                    await worker.stop()
                    await resonate.advance("5min")
                await resonate.advance("1h")
                return held(resonate.driver, resonate.connection, but=but)

            first, second = await some(0), await some(25)
            assert len(resonate.engine.promises.search(state="resolved")) == 2 * 50 + 2 * 50
            grown = {name: (first[name], n) for name, n in second.items() if n >= first[name] + 20}
            assert grown == {}


class TestTheObject:
    def test_the_names_of_the_room_are_locked(self):
        names = {
            "Limits", "Simulation", "app", "engine_from_server", "serve", "serving", "simulate",
        }  # fmt: skip
        assert set(rl.clients.__all__) == names
        for name in names:
            assert getattr(rl.clients, name).__doc__
        with pytest.raises(AttributeError, match="simulate"):
            _ = rl.clients.simulation

    @scenario
    async def test_it_is_the_official_one(self):
        async with simulate(engine()) as resonate:
            assert isinstance(resonate, Resonate)
            assert "poll://uni@default/simulated" in repr(resonate)

    @scenario
    async def test_a_second_simulation_takes_over_as_when_a_cell_is_run_again(self):
        shared = engine()
        first = simulate(shared)
        first.register(leaf)
        await first.schedule("s", EVERY_TEN, "leaf", (1,))
        second = simulate(shared)
        second.register(leaf)
        await second.advance("1h")
        assert lasted(fired(second, "s")) == {("resolved", 0): 6}
        await first.stop()
        await second.stop()

    @scenario
    async def test_a_pickle_in_a_payload_stays_one(self):
        # {"__type": "error", "__py_pickle": ...}: what would be run if somebody unpickled it.
        import base64
        import json
        import pickle

        class Bomb:
            def __reduce__(self):
                return (pytest.fail, ("unpickled",))

        bomb = base64.b64encode(pickle.dumps(Bomb())).decode()
        error = {"__type": "error", "message": "m", "__py_pickle": bomb}
        data = {"data": base64.b64encode(json.dumps(error).encode()).decode()}
        async with simulate(engine()) as resonate:
            alone = resonate.engine
            alone.promises.create("p", timeout="1h", param=data)
            alone.promises.settle("p", "rejected", value=data)
            await resonate.advance("1h")
            assert alone.tree("p").nodes[0].state == "rejected"
            assert rl.frames.promises(alone).shape[0] == 1

    @scenario
    async def test_frames_show_leases_without_an_end(self):
        async with simulate(engine(), retry_policy=Constant(delay=60, max_retries=1)) as resonate:

            async def fails(ctx):
                raise ValueError("no")

            resonate.register(fails)
            resonate.rpc("p", "fails")
            await resonate.settle()
            assert rl.frames.tasks(resonate.engine)["state"].tolist() == ["acquired"]


class TestFixture:
    TEST = """
import asyncio
import pytest

def test_it_stands_at_the_first_of_january(resonate_engine):
    assert str(resonate_engine.now) == "2024-01-01 00:00:00+00:00"

@pytest.mark.resonate(profile="server", now="2030-01-01")
def test_the_mark_says_otherwise(resonate_engine):
    assert resonate_engine.profile.name == "server"
    assert resonate_engine.now.year == 2030

class TestMarks:
    pytestmark = pytest.mark.resonate(now="2031-01-01")

    @pytest.mark.resonate("reference")
    def test_that_of_the_class_stays_where_the_tests_own_is_silent(self, resonate_engine):
        assert resonate_engine.profile.name == "reference"
        assert resonate_engine.now.year == 2031

def test_a_schedule_runs(resonate_engine):
    from resonate_lab.clients import simulate

    async def main():
        async with simulate(resonate_engine) as resonate:
            async def hello(ctx):
                return "hello"
            resonate.register(hello)
            await resonate.schedule("s", "@hourly", "hello")
            await resonate.advance("1d")
            return resonate.engine.promises.search()
    assert [p.state for p in asyncio.run(main())] == ["resolved"] * 24
"""

    def passed(self, folder, test):
        (folder / "test_ours.py").write_text(test)
        command = [sys.executable, "-P", "-W", "error", "-m", "pytest", "-q", "--strict-markers",
                   "-p", "resonate_lab.clients.fixture", "-p", "no:cacheprovider", "."]  # fmt: skip
        environment = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PATH": ""}
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        found = re.search(r"^(\d+) passed in", done.stdout, re.MULTILINE)
        assert found, done.stdout + done.stderr
        return int(found[1])

    def test_a_suite_that_has_the_package_has_the_fixture(self, tmp_path):
        assert self.passed(tmp_path, self.TEST) == 4

    def test_the_file_of_the_how_to_page_passes_as_it_stands_there(self, tmp_path, root):
        page = (root / "docs" / "testing-workflows.md").read_text(encoding="utf-8")
        (file,) = re.findall(r"^```python\n(import .*?)^```", page, re.DOTALL | re.MULTILINE)
        assert self.passed(tmp_path, file) == 1

    def test_the_entry_point_names_it(self, root):
        import tomllib

        project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
        assert project["entry-points"]["pytest11"] == {
            "resonate_lab": "resonate_lab.clients.fixture"
        }
