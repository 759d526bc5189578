"""plots of audits, peaks, clocks and runs: artists asserted, never pixels."""

import io
from itertools import pairwise

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import resonate_lab as rl
from resonate_lab import plots
from resonate_lab.errors import FrameError

HOSTILE = ["$x_1^2$", r"$\frac{", "a\nb", "\u202egnp", "<script>", "\x1b[31m", "y" * 10_000, " "]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def fleet(*crons, ids=None):
    return pd.DataFrame({"id": ids or [f"s{n}" for n in range(len(crons))], "cron": crons})


def texts(ax):
    return [text.get_text() for text in ax.texts]


def drawn(plot, *args, **kwargs):
    figure = Figure()
    ax = plot(*args, ax=figure.subplots(), **kwargs)
    figure.savefig(io.BytesIO(), format="png")
    return ax


AUDIT = rl.audit(fleet("0 9 * * 1-5", "0 9 * * *", "0 9 * * 0", "@daily"), after="2024-01-01")
PEAKS = rl.peaks(rl.load(fleet("0 * * * *", "0 9 * * *"), "2024-01-01", "2024-01-02"), 40)
PLAN = rl.to_utc("0 9 * * *", "Europe/Berlin", 2026)
RUNS = rl.collisions(fleet("0 * * * *", "30 * * * *"), "2024-01-01", "2024-01-02", "45min").running
FIRES = pd.date_range("2026-01-01 08:00", periods=365, tz="UTC")
CALLS = {
    "audit_bars": (AUDIT,),
    "peak_bars": (PEAKS,),
    "clock_times": (FIRES, PLAN),
    "running_curve": (RUNS,),
}


@pytest.mark.parametrize("name", CALLS)
class TestEveryPicture:
    def test_draws_on_the_given_axes_or_new_ones_and_shows_nothing(self, name, monkeypatch):
        monkeypatch.setattr(plt, "show", lambda: pytest.fail("shown"))
        before = dict(mpl.rcParams)
        plot, ax = getattr(plots, name), Figure().subplots()
        assert plot(*CALLS[name], ax=ax) is ax
        assert plot(*CALLS[name]).figure is not ax.figure
        assert dict(mpl.rcParams) == before

    def test_names_its_axes_with_units(self, name):
        ax = drawn(getattr(plots, name), *CALLS[name])
        said = ax.get_xlabel() + ax.get_ylabel()
        assert "UTC" in said or "share of the expressions" in said

    def test_nothing_to_draw_is_said(self, name):
        given = [each[:0] for each in CALLS[name]]
        assert len(texts(drawn(getattr(plots, name), *given))) == 1


def painted(ax):
    """Return the colours of all lines and edges of a picture."""
    yield from (line.get_color() for line in ax.lines)
    for patch in ax.patches:
        yield patch.get_facecolor() if patch.get_facecolor()[3] else patch.get_edgecolor()


QUEUE = rl.what_if(
    fleet("* * * * *").assign(promise_tags=[{"resonate:target": "poll://any@x"}]),
    ("2024-01-01", "2024-01-02"), workers=1, run_time="1s",
).queue  # fmt: skip
ENGINE = rl.Engine(now="2024-01-01")
ENGINE.schedules.create("a", cron="0 * * * *", target="poll://any@x")
ENGINE.advance("1h")
FOUR = {name: pd.Series([1, 2], pd.date_range("2024", periods=2, tz="UTC")) for name in "abcde"}
WITH_INK = {
    "audit": AUDIT.plot,
    "to_utc": PLAN.plot,
    "queue": QUEUE.plot,
    "load_curve": lambda ax: plots.load_curve(FOUR, bound=1, ax=ax),
    "lifelines": lambda ax: plots.lifelines(
        rl.frames.promises(ENGINE), dispatched=rl.frames.dispatches(ENGINE), ax=ax
    ),
}


class TestDarkStyle:
    @pytest.mark.parametrize("name", WITH_INK)
    def test_nothing_is_drawn_in_the_colour_of_the_paper(self, name):
        with plt.style.context("dark_background"):
            ax = WITH_INK[name](ax=Figure().subplots())
        paper = ax.figure.get_facecolor()
        assert paper == mpl.colors.to_rgba("black")
        colours = [mpl.colors.to_rgba(colour) for colour in painted(ax)]
        assert colours
        assert paper not in colours


class TestTimeAxis:
    @pytest.mark.parametrize("span", ["1min", "1D", "365D", "36500D"])
    def test_a_narrow_axis_has_fewer_instants_and_none_covers_another(self, span):
        running = pd.Series([1, 2], pd.DatetimeIndex(["1990-01-01"], tz="UTC").append(
            pd.DatetimeIndex(["1990-01-01"], tz="UTC") + pd.Timedelta(span)
        ))  # fmt: skip
        for width in (2.2, 4, 11):
            figure = Figure(figsize=(width, 2))
            ax = plots.running_curve(running, ax=figure.subplots())
            figure.canvas.draw()
            boxes = [text.get_window_extent() for text in ax.get_xticklabels() if text.get_text()]
            assert boxes
            assert all(one.x1 <= other.x0 for one, other in pairwise(boxes))


class TestNames:
    def test_one_from_right_to_left_leaves_the_sentence_around_it_as_it_is(self):
        arabic = "\u062a\u0642\u0631\u064a\u0631"
        found = rl.peaks(rl.load(fleet("0 9 * * *", ids=[arabic]), "2024-01-01", "2024-01-02"))
        assert texts(drawn(plots.peak_bars, found))[0] == f"1: \u200e{arabic}\u200e"


class TestAuditBars:
    def test_a_single_expression_means_what_it_means(self):
        one = rl.audit(fleet("0 9 * * *"), after="2024-01-01")
        title = one.plot(ax=Figure().subplots()).get_title(loc="left")
        assert title == "1 of 1 expression means here what the author meant"

    def test_a_bar_is_all_rows_of_its_reading_and_form(self):
        ax = drawn(plots.audit_bars, AUDIT)
        names = [label.get_text() for label in ax.get_yticklabels()]
        assert names == ["crontab, shorthand", "crontab, 5 fields"]
        assert texts(ax) == ["1 same", "1 same, 1 different, 1 refused"]
        ends = {round(bar.get_x() + bar.get_width(), 6) for bar in ax.patches if bar.get_y() > 0.5}
        assert ends == {round(1 / 3, 6), round(2 / 3, 6), 1}

    def test_verdicts_are_told_apart_without_colour(self):
        found = AUDIT.assign(verdict=["same", "different", "refused", "unclear"], fields=5)
        bars = drawn(plots.audit_bars, found).patches
        looks = {(bar.get_hatch(), bar.get_facecolor()[3], bar.get_linestyle()) for bar in bars}
        assert len(looks) == 4

    def test_a_missing_column_is_named(self):
        with pytest.raises(FrameError, match="no column 'verdict'"):
            plots.audit_bars(AUDIT[["reading", "fields"]])


class TestPeakBars:
    def test_a_bar_has_its_number_and_its_makers_and_the_rest_is_counted(self):
        ax = drawn(plots.peak_bars, PEAKS, max_bars=3)
        assert texts(ax)[0] == "2: s0, s1"
        assert texts(ax)[-1] == "and 22 more of 1 to 1 ticks"
        assert [bar.get_width() for bar in ax.patches] == [2, 1, 1]

    def test_no_bar_at_all_is_refused(self):
        with pytest.raises(ValueError, match="max_bars is 0"):
            plots.peak_bars(PEAKS, max_bars=0)

    @pytest.mark.parametrize("name", HOSTILE)
    def test_hostile_ids_are_drawn_as_text(self, name):
        load = rl.load(fleet("0 9 * * *", ids=[name]), "2024-01-01", "2024-01-02")
        (text,) = drawn(plots.peak_bars, rl.peaks(load)).texts
        assert not text.get_parse_math()
        assert text.get_text().isprintable()
        assert len(text.get_text()) < 60


class TestClockTimes:
    def test_points_stand_at_the_time_of_the_zone_and_lines_at_the_changes(self):
        ax = PLAN.plot(ax=Figure().subplots())
        points, *changes = ax.lines
        assert sorted(set(points.get_ydata())) == [7, 8]
        assert len(points.get_ydata()) == 365
        assert len(changes) == 2
        assert texts(ax) == ["UTC+01:00 (CET)", "UTC+02:00 (CEST)", "UTC+01:00 (CET)"]
        assert ax.get_ylabel() == "time of the day\n(UTC)"

    def test_a_view_is_drawn_on_the_clock_of_its_zone(self):
        ax = rl.local_view("0 9 * * *", "Europe/Berlin", 2026).plot(ax=Figure().subplots())
        assert sorted(set(ax.lines[0].get_ydata())) == [10, 11]
        assert ax.get_ylabel() == "time of the day\n(Europe/Berlin)"

    def test_every_second_of_a_year_is_few_points(self):
        ax = rl.to_utc("* * * * * *", "Asia/Tokyo", 2026).plot(ax=Figure().subplots())
        assert len(ax.lines[0].get_xdata()) == 365 * 144

    def test_instants_without_a_zone_are_refused(self):
        with pytest.raises(FrameError, match="no time zone"):
            plots.clock_times(FIRES.tz_localize(None), PLAN)


class TestRunningCurve:
    def test_few_changes_are_drawn_each(self):
        ax = drawn(plots.running_curve, RUNS)
        top = ax.collections[0].get_paths()[0].vertices[:, 1]
        assert top.max() == RUNS.max() == 2
        assert ax.get_title(loc="left").startswith("at most 2 runs at once (2024-01-01 00:30:00Z")

    def test_of_many_no_peak_and_no_gap_is_lost(self):
        at = pd.date_range("2024-01-01", periods=100_000, freq="1min", tz="UTC")
        level = np.full(len(at), 5)
        level[70_001], level[30_001], level[-1] = 9, 0, 0
        most, fewest = drawn(plots.running_curve, pd.Series(level, at)).collections
        heights = [area.get_paths()[0].vertices[:, 1] for area in (most, fewest)]
        assert heights[0].max() == 9
        inner = fewest.get_paths()[0].vertices
        assert len(inner) < 4000
        assert (heights[1] == 5).sum() > 1000

    def test_a_series_on_no_instants_is_refused(self):
        with pytest.raises(FrameError, match="RangeIndex, but must be on a tz-aware"):
            plots.running_curve(pd.Series([1]))
