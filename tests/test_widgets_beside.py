"""What holds the kernel: little, counted, for each widget on 1,000 schedules.

Whatever a control costs is counted here by the thread in which it is done: the kernel's own
may compute no answer of many schedules, and what it draws has few parts.
"""

import asyncio
import threading

import pandas as pd
import pytest
from widget_words import words

import resonate_lab.widgets.load as load_module
import resonate_lab.widgets.machine as machine_module
import resonate_lab.widgets.outage as outage_module
import resonate_lab.widgets.timeline as timeline_module
from resonate_lab.engine import Engine
from resonate_lab.engine.rows import PromiseRow
from resonate_lab.engine.state import State
from resonate_lab.whatif import what_if
from resonate_lab.widgets import (
    CronExplorer,
    FleetLoad,
    OutageSimulator,
    TagInspector,
    TickTimeline,
    TimeMachine,
)
from resonate_lab.widgets import explorer as explorer_module
from resonate_lab.widgets import tags as tags_module

DOWN = ("2024-01-05 20:00Z", "2024-01-06 08:00Z")
DAY = ("2024-01-01", "2024-01-02")
SIZE = 1_000


def fleet(size=SIZE):
    """Schedules of every quarter of an hour and of every hour."""
    crons = ["*/15 * * * *" if n % 2 else f"{n % 60} * * * *" for n in range(size)]
    return pd.DataFrame({"id": [f"s{n}" for n in range(size)], "cron": crons})


def engine(size=SIZE, ahead="2h"):
    made = Engine(now="2024-01-01")
    for row in fleet(size).itertuples():
        made.schedules.create(row.id, cron=row.cron, target="poll://any@default")
    made.advance(ahead)
    return made


@pytest.fixture(scope="module")
def fired():
    return engine(ahead="3h")


@pytest.fixture(scope="module")
def ticks():
    return what_if(fleet(), DOWN).ticks


@pytest.fixture
def held(monkeypatch):
    """Let a test name functions whose calls in the kernel's own thread are noted."""
    kernel, noted = threading.get_ident(), []

    def watched(name, whole):
        def called(*args, **kwargs):
            if threading.get_ident() == kernel:
                noted.append(name)
            return whole(*args, **kwargs)

        return called

    def watch(owner, *names):
        for name in names:
            monkeypatch.setattr(owner, name, watched(name, getattr(owner, name)))
        return noted

    return watch


async def settled(widget):
    """Wait until a widget has answered."""
    while widget._busy:
        await asyncio.wait({widget._work})


async def moved(widget, **values):
    """Set controls one after another, and wait for each answer."""
    for name, value in values.items():
        getattr(widget, name).value = value
        await settled(widget)


class TestWorkThatFails:
    def test_says_so_on_the_page_until_there_is_an_answer(self, monkeypatch):
        whole = outage_module.what_if

        def short_of_memory(*args, **kwargs):
            raise MemoryError("<b>no room</b>")

        async def driven():
            widget = OutageSimulator(fleet(), *DOWN)
            await settled(widget)
            monkeypatch.setattr(outage_module, "what_if", short_of_memory)
            widget.timeout.value = "7d"
            raised = (await asyncio.wait({widget._work}))[0].pop().exception()
            bar = widget.progress
            failed = bar.description, bar.bar_style, bar.layout.visibility
            monkeypatch.setattr(outage_module, "what_if", whole)
            await moved(widget, timeout="1h")
            after = bar.bar_style, bar.layout.visibility
            widget.close()
            return raised, failed, after

        raised, failed, after = asyncio.run(driven())
        assert isinstance(raised, MemoryError)
        assert failed == ("No answer: MemoryError('<b>no room</b>')", "danger", "visible")
        assert after == ("", "hidden")


class TestTheKernelComputesNothingLong:
    def test_of_an_outage(self, held):
        async def driven():
            widget = OutageSimulator(fleet(), *DOWN)
            noted = held(outage_module, "what_if", "png")
            await settled(widget)
            stops = [stop for _, stop in widget.outage.options]
            await moved(widget, outage=(stops[3], stops[-1]), timeout="7d", profile="server")
            await moved(widget, profile="standard", policy="Quartz cron trigger")
            said = words(widget.counters.value)
            widget.close()
            return said, noted

        said, noted = asyncio.run(driven())
        assert "of 1,000 schedules hit" in said
        assert noted == []

    def test_of_a_small_outage_more_than_is_light(self, held):
        many = pd.DataFrame({"id": ["a"], "cron": ["* * * * * *"]})

        async def driven():
            widget = OutageSimulator(many, *DOWN)
            asked = held(outage_module, "what_if")
            stops = [stop for _, stop in widget.outage.options]
            await moved(widget, outage=(stops[0], stops[-1]))
            heavy = len(asked)
            down, up = stops[10], stops[11]  # minutes apart
            assert (up - down) // 1000 <= outage_module._LIGHT_TICKS
            widget.outage.value = (down, up)
            said, light = words(widget.counters.value), len(asked)
            widget.close()
            return heavy, light, f"{(up - down) // 1000:,} missed ticks" in said

        assert asyncio.run(driven()) == (0, 1, True)

    def test_of_a_search(self, held):
        async def driven():
            widget = FleetLoad(fleet(), *DAY)
            noted = held(load_module, "load", "spread", "_picture")
            await settled(widget)
            await moved(widget, bound=widget.bound.max, within="5min")
            said = words(widget.answer.value)
            widget.close()
            return said, noted

        said, noted = asyncio.run(driven())
        assert "of 1,000 schedules move" in said
        assert noted == []

    def test_of_moves_of_a_large_engine(self, fired, held):
        async def driven():
            widget = TimeMachine(fired)
            noted = held(Engine, "step", "run_until")
            begun = fired.state.steps
            for press in (widget.forward, widget.onward):
                press.click()
                await settled(widget)
            widget.play.value += 1
            await settled(widget)
            taken = widget.engine.state.steps - begun
            widget.close()
            return taken, noted

        taken, noted = asyncio.run(driven())
        assert taken > 3
        assert noted == []

    def test_of_the_page_of_a_large_engine(self, fired, monkeypatch):
        widget = TimeMachine(fired)
        said = words(widget.answer.value)
        assert f"{len(fired.state.executes):,} messages in the outbox" in said
        assert f"{len(fired.state.tasks):,} tasks" in said
        # Which make a table of all there are.
        monkeypatch.delattr(State, "executes")
        monkeypatch.delattr(State, "tasks")
        widget.show()
        assert words(widget.answer.value) == said
        widget.close()

    def test_of_the_tags_of_many_promises(self, fired, held):
        assert len(fired.promises) > tags_module._READ_AT_ONCE

        async def driven():
            noted = held(PromiseRow, "all_tags")
            widget = TagInspector(fired)
            first = words(widget.answer.value)
            await settled(widget)
            offered, said = len(widget.promise.options), words(widget.answer.value)
            read = len(noted)
            widget.show()
            await settled(widget)
            again = len(noted)
            widget.close()
            return first, said, offered, read, again

        first, said, offered, read, again = asyncio.run(driven())
        assert "The tags of the promises are being read." in first
        assert f"of {len(fired.promises):,}, the newest 200 are listed" in said
        assert offered == 200
        # Of the one that is shown, for its call graph; none is read for the list.
        assert read <= again < 10

    def test_of_the_picture_of_many_ticks(self, ticks, held):
        assert len(ticks) > timeline_module._LIGHT_TICKS

        async def driven():
            widget = TickTimeline(ticks)
            noted = held(timeline_module.plots, "catch_up_timeline")
            await settled(widget)
            spans = [span for _, span in widget.zoom.options]
            await moved(widget, zoom=spans[3], place=0.3)
            widget.later.click()
            await settled(widget)
            png = bytes(widget.picture.value[:4])
            widget.close()
            return png, noted

        assert asyncio.run(driven()) == (b"\x89PNG", [])

    def test_of_a_cron_text(self, monkeypatch):
        limits = []
        walked = explorer_module.crontab.crontab_fires_ms
        monkeypatch.setattr(
            explorer_module.crontab,
            "crontab_fires_ms",
            lambda text, after, limit: limits.append(limit) or walked(text, after, limit),
        )
        widget = CronExplorer("0 9 * * 1-5", after="2024-01-01 23:59:58Z")
        for text in ("* * * * * *", "1-59/2 * * * * *", "*/5 * * * *"):
            widget.text.value = text
            assert len(widget._ax.findobj()) < 400
        assert set(limits) == {7}
        widget.close()


class TestPicturesHaveFewParts:
    def test_of_an_outage_of_1000_schedules(self):
        widget = OutageSimulator(fleet(), *DOWN)
        assert len(widget._timeline.lanes) == 8
        assert len(widget._timeline._ax.findobj()) < 200
        widget.close()

    def test_of_a_timeline_at_every_zoom(self, ticks):
        widget = TickTimeline(ticks)
        for index in range(0, len(widget.zoom.options), 4):
            widget.zoom.index = index
            assert len(widget._ax.findobj()) < 300
        widget.close()


class TestProgress:
    def test_a_bar_is_shown_while_the_work_lasts_and_only_then(self, monkeypatch):
        going = threading.Event()
        whole = outage_module.what_if

        async def driven():
            widget = OutageSimulator(fleet(2_001), *DOWN)
            bar = widget.progress
            while bar.layout.visibility == "hidden":
                await asyncio.wait({widget._work}, timeout=0.01)
            seen = bar.description, bar.value, words(widget.counters.value)
            going.set()
            await settled(widget)
            said = words(widget.counters.value)
            widget.close()
            return seen, bar.layout.visibility, said

        def gated(rows, *args, **kwargs):
            if len(rows) > 1:
                assert going.wait(60)
            return whole(rows, *args, **kwargs)

        monkeypatch.setattr(outage_module, "what_if", gated)
        seen, after, said = asyncio.run(driven())
        assert seen == ("Computing", 0.0, "")
        assert after == "hidden"
        assert "of 2,001 schedules hit" in said

    def test_no_place_is_kept_for_a_picture_that_is_not_there_yet(self, ticks):
        async def driven(make, *given):
            widget = make(*given)
            before = widget.picture.layout.display
            await settled(widget)
            after = widget.picture.layout.display
            widget.close()
            return before, after

        async def all_driven():
            return [
                await driven(OutageSimulator, fleet(), *DOWN),
                await driven(FleetLoad, fleet(), *DAY),
                await driven(TickTimeline, ticks),
            ]

        assert asyncio.run(all_driven()) == [("none", None)] * 3

    def test_places_between_are_left_out_and_the_last_one_is_answered(self, monkeypatch):
        asked = []
        whole = outage_module.what_if
        monkeypatch.setattr(
            outage_module,
            "what_if",
            lambda *args, **how: asked.append(how["promise_timeout"]) or whole(*args, **how),
        )

        async def driven():
            widget = OutageSimulator(fleet(300), *DOWN)
            for timeout in ("2h", "3h", "4h", "5h"):
                widget.timeout.value = timeout
            await settled(widget)
            said = words(widget.counters.value)
            widget.close()
            return said

        said = asyncio.run(driven())
        expired = what_if(fleet(300), DOWN, promise_timeout="5h").counters["expired"]
        assert f"{expired:,} promises born expired" in said
        # The one of the constructor and the last: the thread begins when the cell has ended.
        assert asked == ["1h", "5h"]

    def test_a_light_answer_is_not_undone_by_a_heavy_one_that_ends_later(self, monkeypatch):
        going, whole = threading.Event(), outage_module.what_if
        kernel = threading.get_ident()

        def gated(*args, **kwargs):
            if threading.get_ident() != kernel:
                assert going.wait(60)
            return whole(*args, **kwargs)

        async def driven():
            second = pd.DataFrame({"id": ["a"], "cron": ["* * * * * *"]})
            widget = OutageSimulator(second, *DOWN)
            monkeypatch.setattr(outage_module, "what_if", gated)
            stops = [stop for _, stop in widget.outage.options]
            widget.outage.value = (stops[0], stops[-1])
            widget.outage.value = (stops[10], stops[11])
            light = widget.counters.value
            going.set()
            await settled(widget)
            last = widget.counters.value
            widget.close()
            return light, last

        light, last = asyncio.run(driven())
        assert "missed ticks" in words(light)
        assert light == last

    def test_moves_are_made_one_after_another_and_back_waits_for_its_turn(self, fired):
        async def driven():
            widget = TimeMachine(fired)
            for press in (widget.forward, widget.forward, widget.back, widget.forward):
                press.click()
            before = widget.engine.state.steps
            await settled(widget)
            after = widget.engine.state.steps
            widget.close()
            return before, after, len(widget._moments)

        before, after, moments = asyncio.run(driven())
        assert (after - before, moments) == (2, 3)

    def test_the_player_does_not_pile_up_steps_that_wait(self, fired):
        async def driven():
            widget = TimeMachine(fired)
            for tick in range(1, 20):
                widget.play.value = tick
            await settled(widget)
            taken = widget.engine.state.steps - fired.state.steps
            widget.close()
            return taken

        assert asyncio.run(driven()) == 1


def made(name, ticks, fired):
    """Return a widget on 1,000 schedules, and values for its controls."""
    if name == "CronExplorer":
        return CronExplorer(after="2024-01-01"), {"text": "* * * * *", "zone": "UTC"}
    if name == "OutageSimulator":
        return OutageSimulator(fleet(), *DOWN), {"timeout": "2d", "profile": "spec"}
    if name == "TimeMachine":
        return TimeMachine(fired), {"play": 1}
    if name == "TagInspector":
        return TagInspector(fired), {"tag": "s1", "schedule": "s7"}
    if name == "FleetLoad":
        return FleetLoad(fleet(), *DAY), {"bound": 100, "within": "5min"}
    return TickTimeline(ticks), {"zoom": 2, "place": 0.1}


NAMES = ["CronExplorer", "OutageSimulator", "TimeMachine", "TagInspector"]
NAMES += ["FleetLoad", "TickTimeline"]


def views(widget):
    """Return all that a widget shows."""
    return [
        bytes(part.value) if isinstance(part.value, memoryview) else part.value
        for name in ("answer", "year", "counters", "tables", "words", "picture")
        if (part := getattr(widget, name, None)) is not None
    ]


@pytest.mark.parametrize("name", NAMES)
class TestClosing:
    def test_nothing_is_followed_any_more(self, name, ticks, fired):
        async def driven():
            widget, values = made(name, ticks, fired)
            while getattr(widget, "_busy", False):
                await asyncio.wait({widget._work})
            widget.close()
            before = views(widget)
            for control, value in values.items():
                part = getattr(widget, control)
                if control == "zoom":
                    part.index = value
                elif control == "schedule":
                    part.value = part.options[1][1]
                else:
                    part.value = value
            for press in ("forward", "onward", "back", "older", "newer", "earlier", "later"):
                if hasattr(widget, press):
                    getattr(widget, press).click()
            busy = getattr(widget, "_busy", False)
            assert views(widget) == before
            return busy

        assert asyncio.run(driven()) is False

    def test_work_under_way_ends_and_is_not_shown(self, name, ticks, fired, monkeypatch):
        if name == "CronExplorer":
            assert not hasattr(CronExplorer, "_beside")  # it has none
            return
        going = threading.Event()

        def gated(owner, name):
            whole = getattr(owner, name)

            def waiting(*args, **kwargs):
                if threading.current_thread() is not threading.main_thread():
                    assert going.wait(60)
                return whole(*args, **kwargs)

            monkeypatch.setattr(owner, name, waiting)

        async def driven():
            gated(outage_module, "what_if")
            gated(load_module, "spread")
            gated(machine_module, "_refusal")
            gated(timeline_module.plots, "catch_up_timeline")
            gated(PromiseRow, "all_tags")
            widget, _ = made(name, ticks, fired)
            if name == "TimeMachine":
                widget.onward.click()
            assert widget._busy
            await asyncio.wait({widget._work}, timeout=0)
            before = views(widget)
            widget.close()
            # Though the thread is still at work.
            await widget._work
            going.set()
            assert views(widget) == before
            assert widget.progress.layout.visibility == "hidden"

        asyncio.run(driven())


@pytest.mark.parametrize("name", NAMES)
def test_a_terminal_is_told_in_one_line_where_the_widget_can_be_seen(name, ticks, fired):
    widget, _ = made(name, ticks, fired)
    told = f"<{name}: for a notebook page; .static() is its answer as HTML>"
    assert repr(widget) == widget._repr_mimebundle_()["text/plain"] == told
    widget.close()
