"""The timeline without a page: zoom and pan, read the window and the words."""

import pandas as pd
import pytest
from widget_words import HOSTILE, tags, words

from resonate_lab.errors import FrameError
from resonate_lab.whatif import what_if
from resonate_lab.widgets import TickTimeline

DOWN = ("2024-01-01 00:00Z", "2024-01-02 00:00Z")


def outage(*ids, cron="* * * * *"):
    return what_if(pd.DataFrame({"id": list(ids), "cron": [cron] * len(ids)}), DOWN)


@pytest.fixture
def timeline():
    asked = outage("a", "b")
    made = TickTimeline(asked.ticks, asked.down)
    yield made
    made.close()


def in_window(timeline, ticks) -> int:
    begin, end = (pd.Timestamp(ms, unit="ms", tz="UTC") for ms in timeline.window)
    return int(ticks["scheduled_at"].between(begin, end).sum())


class TestWindow:
    def test_begins_with_everything(self, timeline):
        assert "2,880 ticks of 2,880 are due" in words(timeline.words.value)

    def test_is_what_it_says_at_every_zoom_and_place(self, timeline):
        ticks = outage("a", "b").ticks
        for index in range(len(timeline.zoom.options)):
            for place in (0, 0.3, 0.55, 1):
                timeline.zoom.index, timeline.place.value = index, place
                begin, end = timeline.window
                assert end - begin == timeline.zoom.value
                assert f"{in_window(timeline, ticks):,} ticks of" in words(timeline.words.value)

    def test_moves_by_half_of_itself_and_not_past_the_ends(self, timeline):
        timeline.zoom.index = 4
        begin, end = timeline.window
        timeline.later.click()
        assert timeline.window[0] == pytest.approx(begin + (end - begin) / 2, abs=2)
        timeline.earlier.click()
        assert timeline.window[0] == pytest.approx(begin, abs=2)
        for _ in range(40):
            timeline.earlier.click()
        first = pd.Timestamp("2024-01-01 00:01Z").value // 1_000_000
        assert timeline.window[0] == first
        timeline.later.click()
        assert timeline.window[0] > first

    def test_an_arrow_key_moves_less_where_the_window_is_small(self, timeline):
        coarse = timeline.place.step
        timeline.zoom.index = 8
        assert timeline.place.step < coarse

    def test_another_window_is_another_picture(self, timeline):
        before = timeline.picture.value
        timeline.zoom.index = 2
        assert bytes(timeline.picture.value).startswith(b"\x89PNG")
        assert timeline.picture.value != before

    def test_of_many_ticks_holds_them_all(self):
        asked = outage("every-second", cron="* * * * * *")
        timeline = TickTimeline(asked.ticks, asked.down)
        assert "86,400 ticks of 86,400" in words(timeline.words.value)
        timeline.close()

    def test_of_no_tick_and_of_one_has_an_answer(self):
        asked = outage("a", cron="0 12 * * *")
        for ticks, said in (
            (asked.ticks, "1 tick of 1 is due from"),
            (asked.ticks.head(0), "There is no tick."),
        ):
            timeline = TickTimeline(ticks)
            assert words(timeline.words.value).strip().startswith(said)
            assert "1970" not in timeline.words.value
            timeline.close()


class TestTwinAndStrangers:
    def test_static_holds_words_and_picture(self, timeline):
        html = timeline.static().data
        assert timeline.words.value in html
        assert html.count("<img") == 1
        assert "script" not in tags(html)

    def test_hostile_ids_stay_in_the_picture(self):
        asked = outage(HOSTILE, "\u202egnp", "x" * 10_000, "$\\frac{")
        timeline = TickTimeline(asked.ticks, asked.down)
        assert "img" not in tags(timeline.words.value)
        timeline.close()

    def test_a_frame_without_a_column_and_no_lane_are_refused(self):
        ticks = outage("a").ticks
        with pytest.raises(FrameError, match="'fired_at'"):
            TickTimeline(ticks.drop(columns="fired_at"))
        with pytest.raises(ValueError, match="at least one lane"):
            TickTimeline(ticks, lanes=0)


def test_closing_detaches_and_takes_every_part_off_the_page(timeline):
    before, parts = timeline.words.value, [timeline, *timeline.children[0].children]
    timeline.close()
    timeline.zoom.index = 3
    timeline.later.click()
    assert timeline.words.value == before
    assert [part for part in parts if part.comm is not None] == []
