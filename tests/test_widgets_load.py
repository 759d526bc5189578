"""The fleet's load without a page: drag the bound, read what moves."""

import asyncio

import pandas as pd
import pytest
from widget_words import HOSTILE, tags, words

from resonate_lab.errors import DurationError, FleetError, WindowError
from resonate_lab.whatif import spread
from resonate_lab.widgets import FleetLoad

WINDOW = ("2024-01-01", "2024-01-03")


def fleet(count=8):
    return pd.DataFrame({"id": [f"s{n}" for n in range(count)], "cron": ["0 9 * * *"] * count})


@pytest.fixture
def widget():
    made = FleetLoad(fleet(), *WINDOW, bound=4)
    yield made
    made.close()


class TestAnswers:
    def test_with_what_spread_finds(self, widget):
        for bound in (4, 1, 8):
            widget.bound.value = bound
            found = spread(fleet(), *WINDOW, bound)
            said = words(widget.answer.value)
            assert found.headline().lower() in said.lower()
            for row in found.moves.head(8).itertuples():
                assert f"{row.schedule_id} {row.cron} {row.minutes} {row.proposed}" in said
            assert bytes(widget.picture.value).startswith(b"\x89PNG")

    def test_anew_when_moves_may_be_longer(self, widget):
        widget.bound.value = 1
        widget.within.value = "5min"
        assert "no moves of at most 5 min were found" in words(widget.answer.value).lower()
        widget.within.value = "1h"
        assert "from 8 to 1 tick a bin" in words(widget.answer.value)

    def test_begins_below_the_peak_and_reaches_up_to_it(self):
        widget = FleetLoad(fleet(), *WINDOW)
        assert (widget.bound.value, widget.bound.min, widget.bound.max) == (6, 1, 8)
        widget.close()

    def test_says_how_many_rows_are_refused(self):
        bad = pd.concat([fleet(), pd.DataFrame({"id": ["bad"], "cron": ["0 9 * * 8"]})])
        widget = FleetLoad(bad, *WINDOW)
        assert "1 rows refused" in words(widget.answer.value)
        widget.close()

    def test_has_a_static_twin(self, widget):
        html = widget.static().data
        assert widget.answer.value in html
        assert html.count("<img") == 1
        assert "script" not in tags(html)


class TestBesideTheKernel:
    def test_the_last_question_is_the_one_that_is_answered(self):
        async def dragged():
            widget = FleetLoad(fleet(40), *WINDOW, bound=30)
            first = words(widget.answer.value)
            for bound in (20, 10, 5):
                widget.bound.value = bound
                await asyncio.wait({widget._work}, timeout=0)
            await widget._work
            said = first, words(widget.answer.value), widget.progress.layout.visibility
            widget.close()
            return said

        first, last, bar = asyncio.run(dragged())
        assert first == ""
        assert spread(fleet(40), *WINDOW, 5).headline().lower() in last.lower()
        assert bar == "hidden"

    def test_the_loop_runs_on_while_it_searches(self):
        async def counted():
            widget = FleetLoad(fleet(400), *WINDOW, bound=20)
            turns = 0
            while not widget._work.done():
                await asyncio.wait({widget._work}, timeout=0.005)
                turns += 1
            widget.close()
            return turns

        assert asyncio.run(counted()) > 3

    def test_a_large_fleet_is_counted_there_and_the_bound_waits_for_it(self):
        async def begun():
            widget = FleetLoad(fleet(2_001), *WINDOW, within="5min")
            first = widget.bound.disabled, widget.bound.max, widget.answer.value
            await widget._work
            last = widget.bound.disabled, widget.bound.value, widget.bound.max
            said = words(widget.answer.value)
            widget.close()
            return first, last, said

        first, last, said = asyncio.run(begun())
        assert first == (True, 1, "")
        assert last == (False, 1500, 2001)
        assert spread(fleet(2_001), *WINDOW, 1500, "5min").headline().lower() in said.lower()

    def test_a_large_fleet_closed_while_it_is_counted_says_nothing(self):
        async def closed():
            widget = FleetLoad(fleet(2_001), *WINDOW)
            await asyncio.wait({widget._work}, timeout=0)
            widget.close()
            await widget._work
            return widget.bound.disabled, widget.answer.value

        assert asyncio.run(closed()) == (True, "")

    def test_the_static_twin_of_a_large_fleet_waits_for_nobody(self):
        async def asked():
            widget = FleetLoad(fleet(2_001), *WINDOW, bound=2_000)
            said = words(widget.static().data)
            widget.close()
            await widget._work
            return said

        assert "from 2,001 to" in asyncio.run(asked())

    def test_closing_ends_the_search(self):
        async def closed():
            widget = FleetLoad(fleet(400), *WINDOW, bound=20)
            await asyncio.wait({widget._work}, timeout=0)
            widget.close()
            await widget._work
            return widget.answer.value

        assert asyncio.run(closed()) == ""


class TestStrangers:
    def test_hostile_ids_are_shown_as_text(self):
        frame = pd.DataFrame(
            {"id": [HOSTILE, "\u202egnp", "x" * 10_000, "=1"], "cron": ["0 9 * * *"] * 4}
        )
        widget = FleetLoad(frame, *WINDOW, bound=1)
        html = widget.answer.value
        assert "img" not in tags(html)
        assert "\u202e" not in html
        assert len(html) < 20_000
        widget.close()

    def test_wrong_arguments_where_they_are_given(self):
        with pytest.raises(FleetError, match="no cron column"):
            FleetLoad(pd.DataFrame({"id": ["a"]}), *WINDOW)
        with pytest.raises(WindowError, match="1970 to 2100"):
            FleetLoad(fleet(), "2024-01-01", "2105-01-01")
        with pytest.raises(DurationError, match="parsec"):
            FleetLoad(fleet(), *WINDOW, within="1 parsec")


def test_closing_detaches_and_takes_every_part_off_the_page(widget):
    before, parts = widget.answer.value, [widget, *widget.children, *widget.children[0].children]
    widget.close()
    widget.bound.value = 1
    assert widget.answer.value == before
    assert [part for part in parts if part.comm is not None] == []
