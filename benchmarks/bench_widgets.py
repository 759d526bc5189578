"""The widgets on 1,000 schedules: for how long the kernel is not free while a control moves.

A kernel is one event loop. Beside it a watch goes round once a millisecond, and the time of
the processor between two rounds is the time for which no cell could run and no other control
be heard: a callback, a piece of work between two awaits, or a thread that holds the
interpreter. Python's collections of its whole heap are counted apart: they come when the heap
has grown by a quarter, whoever let it grow, and take half a microsecond an object.

All controls of a widget are moved, each to several places; the value is that of the worst one.
Each widget has a process of its own, whose first round is the first use.
``python benchmarks/bench_widgets.py NAME [N]`` runs one on N schedules and prints its JSON.
"""

import asyncio
import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import bench_load

import resonate_lab as rl
import resonate_lab.widgets  # whose libraries take a second to load, in any cell

Row = dict[str, object]
Acts = dict[str, list[Callable[[], object]]]  # by the name of a control

SCHEDULES, ROUNDS = 1_000, 3
TARGET_MS = 100
DOWN = ("2024-03-01 20:00Z", "2024-03-02 08:00Z")
MONTH = ("2024-03-01", "2024-03-31")
TEXTS = (
    *("0 9 * * MON-FRI", "* * * * * *", "1-59/2 * * * * *", "*/5 * * * *", "0 0 29 2 *"),
    *("0 0 */30 2 1", "0 9 * * 0", "0 9 * * 8", "59 23 31 12 * 59 2099", "x" * 10_000),
    ",".join(["1-50"] * 200) + " * * * *",
)


def rows() -> Iterator[Row]:
    """Yield a row a widget: the longest time for which it holds the kernel."""
    for name in WIDGETS:
        command = [sys.executable, __file__, name]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found = json.loads(said.splitlines()[-1])
        yield {
            "what": f"{name}, any control, 1,000 schedules", "value": found["ms"], "unit": "ms",
            "target": f"<= {TARGET_MS}", "reached": found["ms"] <= TARGET_MS, "details": found,
        }  # fmt: skip


# --- the widgets and their controls --------------------------------------------------------


def fleet(size: int) -> Any:
    """Return mixed schedules, one in a hundred of them refused."""
    made = bench_load.fleet(size)
    made.loc[made.index % 100 == 99, "cron"] = "0 9 * * 8"
    return made


def engine(size: int, ahead: str) -> rl.Engine:
    """Return an engine that has fired the schedules for a while."""
    made = rl.Engine(now="2024-03-01")
    for row in bench_load.fleet(size).itertuples():
        made.schedules.create(
            row.id, cron=row.cron, promise_timeout="1h", target="poll://any@default",
            promise_tags={"team": "red"},
        )  # fmt: skip
    made.advance(ahead)
    return made


def places(widget: Any, **values: list[Any]) -> Acts:
    """Return what sets the controls of those names to each of their values."""
    return {
        name: [partial(setattr, getattr(widget, name), "value", value) for value in wanted]
        for name, wanted in values.items()
    }


def pressed(widget: Any, *names: str) -> Acts:
    """Return what presses the buttons of those names."""
    return {name: [getattr(widget, name).click] for name in names}


def cron_explorer(size: int) -> Callable[[], tuple[Any, Acts]]:
    """Return what makes an explorer, late on a day, when most of its ticks lie behind."""

    def made() -> tuple[Any, Acts]:
        widget = rl.widgets.CronExplorer(after="2024-03-01 23:59:58Z")
        return widget, places(
            widget, text=[*TEXTS, "0 9 * * 1-5"], zone=["Asia/Tokyo", "Mars", "Europe/Berlin"],
            dialect=["quartz", "resonate-0.9.8", "resonate"],
        )  # fmt: skip

    return made


def outage_simulator(size: int) -> Callable[[], tuple[Any, Acts]]:
    """Return what makes a simulator."""
    schedules = fleet(size)

    def made() -> tuple[Any, Acts]:
        widget = rl.widgets.OutageSimulator(schedules, *DOWN)
        stops = [value for _, value in widget.outage.options]
        outages = [(stops[a], stops[b]) for a, b in ((0, -1), (10, 11), (40, 120), (30, 60))]
        policies = [value for _, value in widget.policy.options][::6]
        return widget, places(
            widget, outage=outages, timeout=["7d", "1", "1h"], policy=[*policies, ""],
            profile=["server", "reference", "spec", "standard"],
        )  # fmt: skip

    return made


def time_machine(size: int) -> Callable[[], tuple[Any, Acts]]:
    """Return what makes a machine; of its player each step is one of the page's clock."""
    begin = engine(size, "2h")

    def made() -> tuple[Any, Acts]:
        widget = rl.widgets.TimeMachine(begin)

        def tick() -> None:
            widget.play.value += 1

        acts = pressed(widget, "forward", "onward") | {"play": [tick, tick, tick]}
        acts["onward"] *= 3
        return widget, acts | places(widget, pace=[100, 1000]) | pressed(widget, "back")

    return made


def tag_inspector(size: int) -> Callable[[], tuple[Any, Acts]]:
    """Return what makes an inspector; its reading anew is taken for a control."""
    looked_into = engine(size, "2h")

    def made() -> tuple[Any, Acts]:
        widget = rl.widgets.TagInspector(looked_into)
        busiest = next(iter(looked_into.state.promises.values())).firing.schedule_id
        tags = ["t", "team=red", "resonate:schedule=s1", "none", ""]
        acts = places(widget, tag=tags, schedule=[busiest, ""])
        return widget, acts | pressed(widget, "older", "newer") | {"show()": [widget.show]}

    return made


def fleet_load(size: int) -> Callable[[], tuple[Any, Acts]]:
    """Return what makes a load of a month by the minute."""
    schedules = fleet(size)

    def made() -> tuple[Any, Acts]:
        widget = rl.widgets.FleetLoad(schedules, *MONTH)
        most = widget.bound.max
        return widget, places(
            widget, bound=[most // 2, most, most * 3 // 4], within=["5min", "30min"]
        )

    return made


def tick_timeline(size: int) -> Callable[[], tuple[Any, Acts]]:
    """Return what makes a timeline of an outage of a day."""
    outage = rl.what_if(fleet(size), ("2024-03-01", "2024-03-02"))
    ticks, down = outage.ticks, outage.down

    def made() -> tuple[Any, Acts]:
        widget = rl.widgets.TickTimeline(ticks, down)
        spans = [value for _, value in widget.zoom.options]
        acts = places(widget, zoom=[spans[2], spans[-1], spans[0]], place=[0.0, 0.3, 1.0, 0.5])
        return widget, acts | pressed(widget, "earlier", "later")

    return made


WIDGETS = {
    "CronExplorer": cron_explorer,
    "OutageSimulator": outage_simulator,
    "TimeMachine": time_machine,
    "TagInspector": tag_inspector,
    "FleetLoad": fleet_load,
    "TickTimeline": tick_timeline,
}


# --- the watch -----------------------------------------------------------------------------


class Watch:
    """Goes round in the event loop, and keeps the longest time of the processor of a round."""

    def __init__(self) -> None:
        self.collected = self.longest_collection = 0.0  # s
        self._began: float | None = None
        gc.callbacks.append(self._collects)

    def _collects(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] < 2:
            return
        if phase == "start":
            self._began = time.process_time()
        elif self._began is not None:
            took = time.process_time() - self._began
            self._began = None
            self.collected += took
            self.longest_collection = max(self.longest_collection, took)

    def _worked(self) -> float:
        # A thread that collected may give up the interpreter before it says that it is done.
        now = time.process_time() if self._began is None else self._began
        return now - self.collected

    async def longest(self, act: Callable[[], Any], busy: Callable[[], bool]) -> float:
        """Return for how long the loop was held, ms, by a call and the work that it began."""
        worst, last = 0.0, self._worked()
        asyncio.get_running_loop().call_soon(act)
        await asyncio.sleep(0)
        while True:
            now = self._worked()
            worst, last = max(worst, now - last), now
            if not busy():
                return worst * 1000
            await asyncio.sleep(0.001)


async def drive(make: Callable[[], tuple[Any, Acts]]) -> dict[str, object]:
    """Return the longest times of a widget, ms: made, at first use, and the medians after it."""
    watch, held = Watch(), []

    def begun() -> None:
        held.append(make())

    def busy() -> bool:
        work = getattr(held[0][0], "_work", None) if held else None
        return not held or (work is not None and not work.done())

    made_ms = await watch.longest(begun, busy)
    widget, acts = held[0]
    rounds = [
        {name: max([await watch.longest(act, busy) for act in acts[name]]) for name in acts}
        for _ in range(1 + ROUNDS)
    ]
    first = rounds[0]
    later = {name: statistics.median(one[name] for one in rounds[1:]) for name in acts}
    worst, worst_first = max(later, key=later.__getitem__), max(first, key=first.__getitem__)
    if hasattr(widget, "picture"):
        assert bytes(widget.picture.value[:4]) == b"\x89PNG"
    widget.close()
    return {
        "ms": later[worst], "control": worst, "first_ms": first[worst_first],
        "first_control": worst_first, "made_ms": made_ms, "controls": later,
        "collection_ms": watch.longest_collection * 1000,
    }  # fmt: skip


if __name__ == "__main__":
    name, size = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else SCHEDULES
    print(json.dumps(asyncio.run(drive(WIDGETS[name](size)))))
