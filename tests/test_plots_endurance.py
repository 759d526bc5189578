"""plots.endurance: how long each schedule alone bears an outage."""

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.figure import Figure

import resonate_lab as rl
from resonate_lab import plots
from resonate_lab.errors import FrameError

START = "2024-03-01 00:05"


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def longest(size=3, **rule):
    crons = ["*/10 * * * *", "0 * * * *", "0 0 30 2 *"] * size
    ids = [f"s{n}" for n in range(len(crons))]
    return rl.longest_outage(pd.DataFrame({"id": ids, "cron": crons}), START, **rule)


def texts(ax):
    return [text.get_text() for text in ax.texts]


class TestEndurance:
    def test_a_bar_ends_where_the_schedule_alone_breaks_the_rule(self):
        asked = longest(1, promise_timeout="1h")
        ax = asked.plot(ax=Figure().subplots())
        ends = [bar.get_width() * 1000 for bar in ax.patches]
        begin = pd.Timestamp(START, tz="UTC")
        breaks = asked.schedules["breaks_at"].dropna()
        assert ends == [(at - begin) / pd.Timedelta("1ms") for at in breaks]

    def test_the_line_stands_at_what_all_together_bear(self):
        asked = longest(1, messages=1, expired=None)
        (line,) = asked.plot(ax=Figure().subplots()).lines
        assert set(line.get_xdata()) == {asked.duration / pd.Timedelta("1s")}

    def test_the_given_axes_come_back_and_nothing_is_shown(self, monkeypatch):
        monkeypatch.setattr(plt, "show", lambda: pytest.fail("shown"))
        ax = Figure().subplots()
        assert longest().plot(ax=ax) is ax
        assert longest().plot().figure is not longest().plot().figure

    def test_more_schedules_than_lanes_are_counted(self):
        ax = longest(40).plot(ax=Figure().subplots(), max_lanes=5)
        assert len(ax.patches) == 5
        assert any("and 75 more" in text for text in texts(ax))

    def test_where_no_schedule_breaks_it_a_sentence_says_so(self):
        asked = longest(1, expired=10**6)
        assert texts(asked.plot(ax=Figure().subplots())) == ["no schedule alone breaks the rule"]

    def test_a_missing_column_is_named(self):
        with pytest.raises(FrameError, match="'breaks_at'"):
            plots.endurance(pd.DataFrame({"schedule_id": ["a"]}), start=0, up=1)
