"""The pictures after an outage: what waits, who works, and who is level when."""

from itertools import pairwise

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.figure import Figure

from resonate_lab import plots
from resonate_lab.errors import FrameError
from resonate_lab.whatif import what_if

DOWN = ("2024-01-05 18:00", "2024-01-05 20:00")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def answer(schedules=3, crons=("* * * * *", "0 * * * *"), **how):
    fleet = pd.DataFrame(
        {
            "id": [f"s{n}" for n in range(schedules)],
            "cron": [crons[n % len(crons)] for n in range(schedules)],
        }
    )
    return what_if(fleet, DOWN, profile="server", **how)


class TestBacklog:
    def test_the_given_axes_are_the_ones_returned(self):
        what = answer(workers=1, run_time="10s")
        ax = Figure().subplots()
        assert what.queue.plot(ax=ax) is ax
        assert ax.get_ylabel() == "messages"
        assert "UTC" in ax.get_xlabel()

    def test_it_shows_what_waits_what_is_sent_and_when_it_is_empty(self):
        what = answer(workers=1, run_time="10s")
        queue = what.queue
        ax = plots.backlog(
            waiting=queue.waiting,
            busy=queue.busy,
            sent=what.ticks["sent_at"],
            outages=what.outages,
            empty_at=queue.empty_at,
        )
        told = [text.get_text() for text in ax.get_legend().get_texts()]
        assert any(f"at most {queue.waiting.max():,}" in text for text in told)
        assert any(text.startswith("empty at 2024-01-05 20:") for text in told)
        assert "server down" in told
        assert sum(bar.get_height() for bar in ax.containers[0]) == what.counters["dispatched"]
        assert ax.child_axes[0].get_ylabel() == "busy\nworkers"

    def test_no_message_says_so(self):
        queue = answer(0, workers=1, run_time="10s").queue
        empty = queue.waiting.iloc[:0]
        assert plots.backlog(waiting=empty).texts[0].get_text() == "no message was sent"
        assert plots.backlog().texts[0].get_text() == "no message was sent"

    def test_instants_without_a_zone_are_refused(self):
        naive = pd.Series([1], index=pd.DatetimeIndex(["2024-01-01"]))
        with pytest.raises(FrameError, match="waiting has no tz-aware"):
            plots.backlog(waiting=naive)


class TestLevels:
    def test_the_last_to_be_level_come_first(self):
        what = answer()
        ax = plots.levels(what.drain, up=what.down[1], ax=Figure().subplots())
        assert [label.get_text() for label in ax.get_yticklabels()] == ["s0", "s2", "s1"]
        assert [bar.get_width() for bar in ax.patches] == [122, 122, 2]
        assert "122 late, after 2 min 2 s" in [text.get_text() for text in ax.texts]

    def test_one_that_is_never_level_is_hatched_and_on_top(self):
        what = answer(2, ("* * * * *", "* * * * * *"))
        ax = plots.levels(what.drain, up=what.down[1])
        assert ax.get_yticklabels()[0].get_text() == "s1"
        assert "not level yet" in ax.texts[0].get_text()
        assert {bar.get_hatch() for bar in ax.patches} == {None, "////"}

    def test_at_most_thirty_are_named_and_the_others_counted(self):
        ax = plots.levels(answer(100).drain)
        assert len(ax.get_yticklabels()) == 30
        assert ax.texts[-1].get_text().startswith("and 70 more schedules with")

    def test_no_late_tick_says_so_and_a_missing_column_is_named(self):
        assert plots.levels(answer(0).drain).texts[0].get_text() == "no tick was late"
        with pytest.raises(FrameError, match="'level_at'"):
            plots.levels(answer().drain.drop(columns="level_at"))
        with pytest.raises(ValueError, match="max_lanes"):
            plots.levels(answer().drain, max_lanes=0)

    @pytest.mark.parametrize("length", ["30ms", "1s", "10min", "1D", "200D", "366D", "25000D"])
    def test_the_axis_has_a_few_durations_however_long_it_is(self, length):
        back = pd.Timestamp("2000-01-01", tz="UTC")
        drain = pd.DataFrame(
            {"schedule_id": ["a"], "level_at": [back + pd.Timedelta(length)], "late_ticks": [1]}
        )
        for width, least in ((3, 2), (6.4, 3), (11, 3)):
            figure = Figure(figsize=(width, 3))
            ax = plots.levels(drain, up=back, ax=figure.subplots())
            figure.canvas.draw()
            low, high = ax.get_xlim()
            shown = [text for text in ax.get_xticklabels() if low <= text.get_position()[0] <= high]
            assert least <= len({text.get_text() for text in shown}) == len(shown) <= 8
            boxes = [text.get_window_extent() for text in shown]
            assert all(one.x1 < other.x0 for one, other in pairwise(boxes))

    def test_a_name_is_drawn_as_text(self):
        fleet = pd.DataFrame({"id": ["$x^2$\u202e"], "cron": ["* * * * *"]})
        ax = plots.levels(what_if(fleet, DOWN, profile="server").drain, ax=Figure().subplots())
        ax.figure.canvas.draw()
        (label,) = ax.get_yticklabels()
        assert not label.get_parse_math()
        assert "\u202e" not in label.get_text()
