"""Lifelines, call graph, profile comparison, windows: artists asserted, never pixels."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from widget_words import HOSTILE

from resonate_lab import frames, plots
from resonate_lab.engine import Engine
from resonate_lab.errors import FrameError
from resonate_lab.whatif import what_if

START = "2024-01-01T00:00:00Z"
TARGET = "poll://any@x"


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def axes():
    return Figure().subplots()


def said(ax):
    return [text.get_text() for text in ax.texts]


def points(ax):
    """Return the artists of `Axes.plot` that have a name: x and y of each."""
    return {line.get_label(): line.get_data() for line in ax.lines if line.get_label()[0] != "_"}


class TestLifelines:
    @pytest.fixture
    def engine(self):
        engine = Engine(now=START)
        for id in ("kept", "late", "open"):
            engine.promises.create(id, timeout="1h", target=TARGET)
        engine.advance("20s")
        engine.promises.settle("kept")
        engine.advance("2h")
        engine.promises.create("open", timeout="1h")
        engine.promises.create("newest$x$", timeout="1h", target=TARGET)
        return engine

    def test_a_life_goes_from_creation_to_its_end(self, engine):
        ax = plots.lifelines(frames.promises(engine), now=engine.now, ax=axes())
        found = points(ax)
        day = plt.matplotlib.dates.date2num(np.datetime64("2024-01-01"))
        np.testing.assert_allclose((found["resolved"][0] - day) * 86_400, [20])
        np.testing.assert_allclose((found["timed out"][0] - day) * 86_400, [3600, 3600])
        np.testing.assert_allclose((found["still pending"][0] - day) * 86_400, [7220])
        assert len(found["created"][0]) == len(found["deadline"][0]) == 4

    def test_dispatches_stand_in_the_row_of_their_promise(self, engine):
        told = frames.dispatches(engine)
        ax = plots.lifelines(frames.promises(engine), dispatched=told, ax=axes())
        rows = points(ax)["dispatched"][1]
        counts = told["promise_id"].value_counts()
        for row, id in enumerate(frames.promises(engine)["id"]):
            assert (np.round(rows + 0.25) == row).sum() == counts.get(id, 0)

    def test_more_promises_than_rows_are_counted(self, engine):
        ax = plots.lifelines(frames.promises(engine), max_rows=1, ax=axes())
        assert [label.get_text() for label in ax.get_yticklabels()] == ["kept", "and 3 more"]

    def test_nothing_says_so_and_what_is_wrong_is_refused(self, engine):
        assert "no promise" in said(plots.lifelines(frames.promises(Engine()), ax=axes()))[0]
        with pytest.raises(FrameError, match="'settled_at'"):
            plots.lifelines(frames.promises(engine).drop(columns="settled_at"))
        with pytest.raises(ValueError, match="max_rows is 0"):
            plots.lifelines(frames.promises(engine), max_rows=0)


class TestCallGraph:
    def graph(self, engine, root="root", **kwargs):
        return plots.call_graph(
            frames.promises(engine), frames.tags(engine), root, ax=axes(), **kwargs
        )

    def engine(self, **parents):
        engine = Engine("spec", now=START)
        for id, parent in parents.items():
            tags = {"resonate:origin": "root", "resonate:parent": parent}
            engine.promises.create(id, timeout="1h", tags=tags)
        return engine

    def test_callees_stand_below_their_caller_and_one_level_on(self):
        engine = self.engine(root="root", a="root", aa="a", b="root")
        ax = self.graph(engine)
        assert [text.partition("  ")[0] for text in said(ax)] == ["root", "a", "aa", "b"]
        assert points(ax)["pending"][0].tolist() == [0, 1, 2, 1]

    def test_a_ring_and_a_missing_caller_are_shown_once_and_end(self):
        engine = self.engine(root="root", x="y", y="x", lost="gone")
        drawn = said(self.graph(engine))
        assert [text.partition("  ")[0] for text in drawn] == ["root", "lost", "x", "y"]
        assert [("no caller" in text) for text in drawn] == [False, True, True, False]

    def test_a_chain_longer_than_pythons_stack_ends(self):
        chain = {"root": "root", "n0": "root", **{f"n{i}": f"n{i - 1}" for i in range(1, 1500)}}
        ax = self.graph(self.engine(**chain), max_rows=10)
        assert said(ax)[-1] == "and 1,491 more"

    def test_states_have_signs_and_words(self):
        engine = self.engine(root="root", a="root")
        engine.promises.settle("a")
        ax = self.graph(engine)
        assert set(points(ax)) == {"pending", "resolved"}
        assert "(resolved)" in said(ax)[1]

    def test_an_unknown_root_and_an_engine_without_tags(self):
        assert "no promise gone is stored" in said(self.graph(self.engine(), root="gone"))
        self.graph(self.engine(), root="$\\frac{$").figure.canvas.draw()
        engine = Engine(now=START)
        engine.promises.create("alone", timeout="1h")
        assert said(self.graph(engine, root="alone")) == ["alone  (pending)"]

    def test_hostile_ids_are_drawn_as_text(self):
        engine = self.engine(**{"root": "root", "$\\frac{": "root", "\u202e" + HOSTILE: "root"})
        ax = self.graph(engine)
        ax.figure.canvas.draw()
        assert not any("\u202e" in text for text in said(ax))


class TestProfileComparison:
    def outage(self, profile):
        engine = Engine(profile, now=START)
        engine.schedules.create("r", cron="* * * * *", promise_timeout="1h", target=TARGET)
        engine.outage("12h")
        return frames.ticks(engine)

    def test_tells_the_story_of_the_page_about_profiles(self):
        four = {name: self.outage(name) for name in ("standard", "server", "reference", "spec")}
        ax = plots.profile_comparison(four, up="2024-01-01 12:00", ax=axes())
        assert said(ax) == [
            "60 messages, 660 too late\nfirst in time at once, last at once",
            "61 messages, 671 too late\nfirst in time after 11 min 12 s, last after 12 min 12 s",
            "720 messages, 660 too late\nfirst in time at once, last at once",
            "720 messages, 660 too late\nfirst in time at once, last at once",
        ]
        widths = {
            bars.get_label(): [bar.get_width() for bar in bars.patches] for bars in ax.containers
        }
        assert widths == {
            "in time, a worker is told": [60, 61, 60, 60],
            "too late, a worker is told in vain": [660, 660],
            "too late, no worker is told": [660, 671],
        }

    def test_without_ticks_says_so_and_names_a_missing_column(self):
        ticks = self.outage("standard")
        assert "no tick" in said(plots.profile_comparison({"x": ticks.head(0)}, ax=axes()))[0]
        with pytest.raises(FrameError, match="'dispatched'"):
            plots.profile_comparison({"x": ticks.drop(columns="dispatched")})


class TestWindow:
    DOWN = ("2024-01-01", "2024-01-02")

    def ticks(self, cron, ids=("a", "b")):
        frame = pd.DataFrame({"id": list(ids), "cron": [cron] * len(ids)})
        return what_if(frame, self.DOWN, promise_timeout="6h").ticks

    def test_few_ticks_are_drawn_one_by_one_and_no_other(self):
        window = ("2024-01-01 17:00", "2024-01-01 19:00")
        ax = plots.catch_up_timeline(self.ticks("0 * * * *"), window=window, ax=axes())
        marks = [c for c in ax.collections if isinstance(c, PathCollection)]
        assert sum(len(c.get_offsets()) for c in marks) == 6
        assert said(ax) == ["1 sent, 2 expired"] * 2
        assert ax.get_title(loc="left").startswith("6 ticks due in these 2 h, 2 of them sent")

    def test_many_ticks_become_one_image_whatever_their_number(self):
        ticks = self.ticks("* * * * * *")
        ax = plots.catch_up_timeline(ticks, window=self.DOWN, ax=axes())
        assert len(ax.images) == 1
        assert len(ax.get_children()) < 60
        sent = int(ticks["dispatched"].sum()) // 2
        assert said(ax) == [f"{sent:,} sent, {86_400 - sent:,} expired"] * 2

    def test_every_tick_has_its_pixel(self):
        ticks = self.ticks("* * * * * *", ids=("a",))
        ax = plots.catch_up_timeline(ticks, window=self.DOWN, ax=axes())
        alpha = ax.images[0].get_array()[..., 3]
        assert (alpha.max(axis=0) > 0).all()
        # Above the strip of those in time, below it that of those too late.
        assert alpha[1, -1] > 0 == alpha[1, 0]
        assert alpha[5, 0] > 0 == alpha[5, -1]

    def test_order_and_dtype_of_the_frame_make_no_difference(self):
        ticks = self.ticks("* * * * * *")
        other = ticks.sort_values("scheduled_at").assign(
            schedule_id=lambda frame: frame["schedule_id"].astype("category"),
            state=lambda frame: frame["state"].astype(object),
        )
        window = ("2024-01-01 10:00", "2024-01-01 20:00")
        one, two = (
            plots.catch_up_timeline(frame, window=window, lanes=["a", "b"], ax=axes())
            for frame in (ticks, other)
        )
        np.testing.assert_array_equal(one.images[0].get_array(), two.images[0].get_array())
        assert said(one) == said(two)
