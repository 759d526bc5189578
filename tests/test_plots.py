"""plots: artists asserted, never pixels; nothing shown, no rcParams touched."""

import io
import threading
from itertools import chain, pairwise

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure

from resonate_lab import plots
from resonate_lab.errors import FrameError
from resonate_lab.whatif import audit, load, to_utc, what_if

DOWN = ("2024-01-01 00:10", "2024-01-01 06:10")
TAGS = {"resonate:target": "poll://any@x"}


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def asked(count=3, **columns):
    frame = {"id": [f"s{n}" for n in range(count)], "cron": ["0 * * * *"] * count} | columns
    return what_if(pd.DataFrame(frame), DOWN, promise_timeout="2h")


def markers(ax):
    return {c.get_label(): c for c in ax.collections if isinstance(c, PathCollection)}


def texts(ax):
    return [text.get_text() for text in ax.texts]


class TestAxes:
    def test_the_given_axes_are_the_ones_returned(self):
        ax = Figure().subplots()
        assert plots.catch_up_timeline(asked().ticks, ax=ax) is ax

    def test_without_axes_a_new_figure_is_made_and_not_shown(self, monkeypatch):
        monkeypatch.setattr(plt, "show", lambda: pytest.fail("shown"))
        first = plots.catch_up_timeline(asked().ticks)
        second = plots.catch_up_timeline(asked(30).ticks)
        assert first.figure is not second.figure
        assert second.figure.get_figheight() > first.figure.get_figheight()

    def test_rc_params_stay_as_they_are(self):
        before = dict(mpl.rcParams)
        plots.catch_up_timeline(asked().ticks, ax=Figure().subplots())
        assert dict(mpl.rcParams) == before

    def test_what_if_plots_itself(self):
        ax = asked().plot(ax=Figure().subplots())
        assert len(ax.get_yticklabels()) == 3

    def test_the_time_axis_says_utc(self):
        ax = asked().plot(ax=Figure().subplots())
        assert "UTC" in ax.get_xlabel()
        assert "2024-01-01 06:10:00Z" in ax.get_xlabel()

    def test_it_can_be_drawn_in_another_zone_than_utc_and_be_the_same(self):
        ticks = asked().ticks
        local = ticks.assign(
            scheduled_at=ticks["scheduled_at"].dt.tz_convert("Asia/Kolkata"),
            fired_at=ticks["fired_at"].dt.tz_convert("Asia/Kolkata"),
        )
        one = plots.catch_up_timeline(ticks, ax=Figure().subplots())
        two = plots.catch_up_timeline(local, ax=Figure().subplots())
        for label, artist in markers(one).items():
            np.testing.assert_array_equal(artist.get_offsets(), markers(two)[label].get_offsets())


class TestArtists:
    def test_there_is_a_marker_for_each_tick_and_one_artist_for_each_state(self):
        ax = asked().plot(ax=Figure().subplots())
        counts = {label: len(artist.get_offsets()) for label, artist in markers(ax).items()}
        assert counts == {
            plots.STATE_STYLE["pending"].label: 3 * 2,
            plots.STATE_STYLE["rejected_timedout"].label: 3 * 4,
        }

    def test_states_differ_by_colour_and_by_shape(self):
        styles = plots.STATE_STYLE.values()
        assert len({style.color for style in styles}) == len(plots.STATE_STYLE)
        assert len({style.marker for style in styles}) == len(plots.STATE_STYLE)
        with pytest.raises(TypeError):
            plots.STATE_STYLE["pending"] = None

    def test_every_state_at_creation_has_its_look(self):
        columns = {
            "promise_id": ["", "", "one"],
            "promise_tags": [TAGS, {**TAGS, "resonate:timer": "true"}, TAGS],
        }
        ticks = asked(**columns).ticks
        ticks.loc[ticks.index[-1], "lost"] = True
        ax = plots.catch_up_timeline(ticks, ax=Figure().subplots())
        assert set(markers(ax)) == {style.label for style in plots.STATE_STYLE.values()}
        shown = [text.get_text() for text in ax.get_legend().get_texts()]
        assert set(shown) == set(markers(ax))

    def test_the_fan_leads_from_the_logical_time_to_the_firing(self):
        question = asked(1)
        ax = question.plot(ax=Figure().subplots())
        fans = [c for c in ax.collections if isinstance(c, LineCollection) and c.get_alpha() == 0.3]
        ends = np.array([line[:, 0] for fan in fans for line in fan.get_segments()])
        days = question.ticks[["scheduled_at", "fired_at"]].map(lambda t: t.timestamp() / 86_400)
        np.testing.assert_allclose(np.sort(ends[:, 0]), np.sort(days["scheduled_at"]))
        np.testing.assert_allclose(ends[:, 1], days["fired_at"].iloc[0])

    def test_a_lane_tells_what_is_sent_and_what_is_expired(self):
        ax = asked(1).plot(ax=Figure().subplots())
        assert "2 sent, 4 expired" in texts(ax)

    def test_further_arguments_go_to_the_markers(self):
        ax = plots.catch_up_timeline(asked().ticks, ax=Figure().subplots(), s=99, alpha=0.5)
        for artist in markers(ax).values():
            assert artist.get_sizes().tolist() == [99]
            assert artist.get_alpha() == 0.5

    def test_a_million_ticks_cost_no_more_than_their_lanes(self):
        frame = pd.DataFrame({"id": ["s"], "cron": ["* * * * * *"]})
        question = what_if(frame, (0, 1_000_000_000))
        ax = question.plot(ax=Figure().subplots())
        assert sum(len(artist.get_offsets()) for artist in markers(ax).values()) < 500
        assert "3,600 sent, 996,400 expired" in texts(ax)

    def test_three_thousand_schedules_cost_few_artists(self):
        ax = asked(3000).plot(ax=Figure().subplots())
        assert len(ax.get_children()) < 100
        assert "and 2,970 more schedules with 17,820 ticks" in texts(ax)


class TestLanes:
    def test_they_stand_in_the_order_of_the_frame_or_as_asked(self):
        ticks = asked().ticks
        names = [
            [
                label.get_text()
                for label in plots.catch_up_timeline(ticks, ax=ax, **how).get_yticklabels()
            ]
            for ax, how in (
                (Figure().subplots(), {}),
                (Figure().subplots(), {"lanes": ["s2", "s0"]}),
                (Figure().subplots(), {"max_lanes": 1}),
            )
        ]
        assert names == [["s0", "s1", "s2"], ["s2", "s0"], ["s0"]]

    def test_what_is_not_shown_is_summed_up(self):
        ax = plots.catch_up_timeline(asked().ticks, ax=Figure().subplots(), max_lanes=2)
        assert "and 1 more schedule with 6 ticks" in texts(ax)

    def test_no_lane_at_all_is_refused(self):
        with pytest.raises(ValueError, match="max_lanes"):
            plots.catch_up_timeline(asked().ticks, max_lanes=0)

    @pytest.mark.parametrize(
        "name",
        ["$x_1^2$", r"$\frac{", "a\nb", "\u202egnp", "<script>", "\x1b[31m", "y" * 10_000, "  "],
    )
    def test_hostile_ids_are_drawn_as_text(self, name):
        question = what_if(pd.DataFrame({"id": [name], "cron": ["0 * * * *"]}), DOWN)
        if not len(question.ticks):
            pytest.fail("nothing to draw")
        figure = Figure()
        ax = question.plot(ax=figure.subplots())
        figure.savefig(io.BytesIO(), format="png")
        (label,) = ax.get_yticklabels()
        assert not label.get_parse_math()
        assert label.get_text().isprintable()
        assert len(label.get_text()) <= 36


class TestEdges:
    def test_a_lane_without_a_tick_stands_empty(self):
        ax = plots.catch_up_timeline(
            asked().ticks, lanes=["another"], down=DOWN, ax=Figure().subplots()
        )
        assert [label.get_text() for label in ax.get_yticklabels()] == ["another"]
        assert not markers(ax)
        assert ax.get_legend() is None
        assert "0 sent, 0 expired" in texts(ax)

    def test_lanes_asked_for_where_nothing_was_missed_say_so(self):
        ticks = asked(cron=["0 0 1 1 *"] * 3).ticks.iloc[:0]
        ax = plots.catch_up_timeline(ticks, lanes=["s0"], ax=Figure().subplots())
        assert texts(ax) == ["no tick was missed"]

    def test_an_empty_frame_gives_axes_that_say_so(self):
        ax = plots.catch_up_timeline(asked().ticks.head(0), ax=Figure().subplots())
        assert texts(ax) == ["no tick was missed"]
        assert not ax.get_xlabel()  # it has no scale to name

    def test_a_single_tick_and_no_outage_given(self):
        figure = Figure()
        plots.catch_up_timeline(asked(1).ticks.tail(1), ax=figure.subplots())
        figure.savefig(io.BytesIO(), format="png")

    @pytest.mark.parametrize("name", ["schedule_id", "fired_at", "state"])
    def test_a_missing_column_is_named_with_those_that_there_are(self, name):
        with pytest.raises(FrameError, match=f"{name}.*promise_id"):
            plots.catch_up_timeline(asked().ticks.drop(columns=name))


class TestPng:
    def test_it_is_a_png_and_leaves_pyplot_alone(self):
        question = asked()
        png = plots.png(plots.catch_up_timeline, question.ticks, down=question.down)
        assert png.startswith(b"\x89PNG")
        assert plt.get_fignums() == []

    def test_it_can_be_drawn_in_a_thread(self):
        done = []
        thread = threading.Thread(target=lambda: done.append(plots.png(asked().plot)))
        thread.start()
        thread.join()
        assert done[0].startswith(b"\x89PNG")

    @pytest.mark.parametrize("window", [None, DOWN])
    def test_without_words_the_same_is_drawn_and_only_names_and_times_are_written(self, window):
        ticks = asked().ticks
        told, bare = (
            plots.catch_up_timeline(
                ticks, down=DOWN, window=window, ax=Figure().subplots(), words=words
            )
            for words in (True, False)
        )
        assert [len(c.get_paths()) for c in bare.collections] == [
            len(c.get_paths()) for c in told.collections
        ]
        assert (bare.get_xlim(), bare.get_ylim()) == (told.get_xlim(), told.get_ylim())
        assert [label.get_text() for label in bare.get_yticklabels()] == ["s0", "s1", "s2"]
        assert (texts(bare), bare.get_title(loc="left"), bare.get_legend()) == ([], "", None)
        assert bare.get_xlabel() == "time (UTC)"
        assert "sent" in texts(told)[0]

    def test_nothing_missed_is_a_picture_too(self):
        assert plots.png(plots.catch_up_timeline, asked().ticks.head(0)).startswith(b"\x89PNG")


def a_load(freq="1min", start="2024-01-01", end="2024-01-31 23:59:59", cron="*/20 9 * * MON-FRI"):
    fleet = pd.DataFrame({"id": ["a", "b"], "cron": [cron, "0 0 * * *"]})
    return load(fleet, start, end, freq)


LOAD_PLOTS = [plots.hour_by_day, plots.hour_by_weekday, plots.calendar, plots.load_curve]


class TestEveryPictureOfALoad:
    @pytest.mark.parametrize("plot", LOAD_PLOTS)
    def test_draws_on_the_given_axes_or_new_ones_and_shows_nothing(self, plot, monkeypatch):
        monkeypatch.setattr(plt, "show", lambda: pytest.fail("shown"))
        before = dict(mpl.rcParams)
        ax = Figure().subplots()
        assert plot(a_load(), ax=ax) is ax
        assert plot(a_load()).figure is not ax.figure
        assert dict(mpl.rcParams) == before

    @pytest.mark.parametrize("plot", LOAD_PLOTS)
    def test_says_utc_and_counts_with_separators(self, plot):
        ax = plot(a_load(cron="* * * * * *"), ax=Figure().subplots())
        assert "UTC" in ax.get_xlabel() + ax.get_ylabel()
        assert ax.get_title(loc="left").startswith("2,678,431 ticks; busiest")

    @pytest.mark.parametrize("plot", LOAD_PLOTS)
    def test_is_the_same_from_another_zone_and_from_a_plain_series(self, plot):
        one = a_load()
        two = pd.Series(one.to_numpy(), one.index.tz_convert("America/New_York"))
        first, second = (plot(each, ax=Figure().subplots()) for each in (one, two))
        assert first.get_title(loc="left") == second.get_title(loc="left")
        for mine, theirs in zip(first.lines, second.lines, strict=True):
            np.testing.assert_array_equal(mine.get_xydata(), theirs.get_xydata())

    @pytest.mark.parametrize("plot", LOAD_PLOTS)
    @pytest.mark.parametrize(
        "given",
        [
            pd.Series([1, 2]),
            pd.Series([1], pd.DatetimeIndex(["2024-01-01"])),
            pd.DataFrame({"ticks": [1]}),
        ],
    )
    def test_refuses_what_is_no_load(self, plot, given):
        with pytest.raises(FrameError, match=r"tz-aware DatetimeIndex.*make it with load\(\)"):
            plot(given)

    @pytest.mark.parametrize("plot", LOAD_PLOTS)
    def test_takes_a_load_with_gaps_and_bins_that_stand_twice(self, plot):
        whole = a_load()
        twice = pd.concat([whole[whole > 0], whole[whole > 0]])
        figure = Figure()
        plot(twice, ax=figure.subplots())
        figure.savefig(io.BytesIO(), format="png")

    @pytest.mark.parametrize("plot", LOAD_PLOTS)
    def test_draws_no_bin_one_bin_and_no_tick_at_all(self, plot):
        empty = a_load(cron="0 0 1 1 *")
        for part in (empty.head(0), empty.head(1), empty.head(500) * 0):
            figure = Figure()
            plot(part, ax=figure.subplots())
            figure.savefig(io.BytesIO(), format="png")
        assert texts(plot(empty.head(0), ax=Figure().subplots())) == ["the load has no bin"]

    @pytest.mark.parametrize("plot", LOAD_PLOTS)
    def test_names_and_frames_no_busiest_one_where_nothing_ticks(self, plot):
        ax = plot(a_load(end="2024-01-01 09:00") * 0, ax=Figure().subplots())
        assert ax.get_title(loc="left") == "0 ticks"
        assert not ax.patches


def scale(mesh):
    """Return what is written beside the colours of a heat map."""
    axis, (low, high) = mesh.colorbar.ax.yaxis, mesh.get_clim()
    return [
        axis.get_major_formatter()(at, 0) for at in axis.get_majorticklocs() if low <= at <= high
    ]


class TestHourByDay:
    def mesh(self, *args, **kwargs):
        (mesh,) = plots.hour_by_day(*args, ax=Figure().subplots(), **kwargs).collections
        return mesh.get_array()

    def test_a_cell_is_the_sum_of_its_hour(self):
        grid = self.mesh(a_load())
        assert grid.shape == (24, 31)
        assert grid[9].tolist()[:7] == [3, 3, 3, 3, 3, 0, 0]  # a Monday first
        assert grid[0].tolist() == [1] * 31
        assert grid.sum() == a_load().sum()

    def test_or_its_busiest_bin(self):
        grid = self.mesh(a_load(), show="peak")
        assert grid[9, 0] == grid[0, 0] == 1

    def test_hours_outside_the_window_are_no_zeros(self):
        grid = self.mesh(a_load(start="2024-01-01 05:30", end="2024-01-02 03:00"))
        assert grid.mask[:5, 0].all()
        assert grid.mask[4:, 1].all()
        assert grid.count() == 23

    def test_the_busiest_cells_are_framed_where_they_are_few(self):
        few = plots.hour_by_day(a_load(end="2024-01-02"), ax=Figure().subplots())
        many = plots.hour_by_day(a_load(), ax=Figure().subplots())
        assert len(few.patches) == 2
        assert not many.patches
        assert "3 (2024-01-01 09:00:00Z and 22 more)" in many.get_title(loc="left")

    def test_colours_begin_at_nothing_unless_all_hours_are_alike(self):
        def least(cron):
            ax = plots.hour_by_day(a_load(cron=cron), ax=Figure().subplots())
            return ax.collections[0].get_clim()[0]

        assert least("0 9 * * *") == 0
        assert least("* * * * *") == pytest.approx(0.9 * 61)

    @pytest.mark.parametrize("width", [4, 6.4, 11])
    def test_names_of_days_cover_one_another_in_no_width(self, width):
        figure = Figure(figsize=(width, 3))
        ax = plots.hour_by_day(a_load("1h", end="2024-02-10"), ax=figure.subplots())
        figure.canvas.draw()
        days = [text for text in ax.get_xticklabels() if "\n" in text.get_text()]
        months = [text.get_text().split("\n")[2:] for text in days]
        assert list(chain.from_iterable(months)) == ["Jan 2024", "Feb 2024"]
        boxes = [text.get_window_extent() for text in days if text.get_text().count("\n") == 1]
        assert len(boxes) > 3
        assert all(one.x1 <= other.x0 for one, other in pairwise(boxes))

    def test_bins_longer_than_an_hour_are_refused_with_what_to_do(self):
        with pytest.raises(FrameError, match=r"bins of 1 d, too long.*freq='1h'"):
            plots.hour_by_day(a_load("1D"))

    def test_an_unknown_measure_is_refused(self):
        with pytest.raises(ValueError, match="show is 'mean'"):
            plots.hour_by_day(a_load(), show="mean")


class TestHourByWeekday:
    def grid(self, given, **kwargs):
        ax = plots.hour_by_weekday(given, ax=Figure().subplots(), **kwargs)
        return ax.collections[0].get_array()

    def test_a_cell_is_the_mean_of_the_hours_of_its_weekday(self):
        # Five Mondays to Wednesdays, four of each other day; an invoice on one Monday.
        grid = self.grid(a_load(cron="0 9 8 * *"))
        assert grid.shape == (7, 24)
        assert grid[0, 9] == pytest.approx(1 / 5)
        assert grid[:, 0].tolist() == [1] * 7
        assert grid.sum() == pytest.approx(7.2)

    @pytest.mark.parametrize("freq", ["1h", "30min"])
    def test_an_hour_that_the_window_cuts_is_part_of_no_mean(self, freq):
        minutes = pd.DataFrame({"id": ["a"], "cron": ["* * * * *"]})
        whole = load(minutes, "2024-01-01 05:50", "2024-01-29", freq)
        assert set(self.grid(whole).ravel().tolist()) == {60}
        # In a shorter window there is nothing else to tell of that hour.
        alone = load(minutes, "2024-01-01 05:50", "2024-01-01 07:00", freq)
        assert self.grid(alone)[0, 5:8].tolist() == [10, 60, 1]

    def test_or_their_sum_or_the_busiest_bin(self):
        summed = self.grid(a_load(), show="sum")
        assert summed[:, 9].tolist() == [15, 15, 15, 12, 12, 0, 0]
        assert summed.sum() == a_load().sum()
        assert self.grid(a_load(), show="peak")[0, 9] == 1

    @given(st.integers(0, 2_000_000), st.integers(1, 20_000), st.sampled_from([1, 7, 30, 60]))
    def test_is_what_counting_one_by_one_gives(self, first, count, minutes):
        index = pd.date_range(
            pd.Timestamp(first * 60, unit="s", tz="UTC"), periods=count, freq=f"{minutes}min"
        )
        values = np.arange(count) % 11
        cells = np.zeros((7, 24))
        np.add.at(cells, (index.day_of_week, index.hour), values)
        grid = self.grid(pd.Series(values, index), show="sum")
        np.testing.assert_array_equal(np.ma.filled(grid, 0), cells)

    def test_hours_of_the_week_that_the_load_lacks_are_no_zeros(self):
        grid = self.grid(a_load(start="2024-01-01 05:30", end="2024-01-02 03:00"))
        assert grid.count() == 23
        assert grid.mask[2:].all()

    def test_names_the_busiest_hour_and_frames_it(self):
        ax = plots.hour_by_weekday(a_load(cron="*/20 9 * * MON"), ax=Figure().subplots())
        assert ax.get_title(loc="left").endswith(
            "busiest: Mon 09:00 with 3 ticks an hour, on average"
        )
        assert {patch.get_path().get_extents().bounds for patch in ax.patches} == {
            (8.5, -0.5, 1, 1)
        }

    def test_a_mean_of_less_than_one_has_its_colours_its_scale_and_its_number(self):
        mornings = a_load("1h", cron="0 9 8 * *").between_time("08:00", "10:00")
        ax = plots.hour_by_weekday(mornings, ax=Figure().subplots())
        (mesh,) = ax.collections
        assert mesh.norm.vmax == pytest.approx(0.2)
        assert ax.get_title(loc="left").endswith("Mon 09:00 with 0.2 ticks an hour, on average")
        assert len(set(scale(mesh))) == len(scale(mesh)) > 2

    def test_refuses_long_bins_and_an_unknown_measure(self):
        with pytest.raises(FrameError, match=r"too long for a column an hour.*freq='1h'"):
            plots.hour_by_weekday(a_load("1D"))
        with pytest.raises(ValueError, match="must be 'mean' or 'sum' or 'peak'"):
            plots.hour_by_weekday(a_load(), show="median")


class TestCalendar:
    def test_a_scale_of_one_number_writes_it_once(self):
        ax = plots.hour_by_day(a_load("1h") * 0 + 1, ax=Figure().subplots())
        (mesh,) = ax.collections
        assert scale(mesh) == ["1"]

    def test_a_cell_is_a_day_and_a_column_a_week_from_monday(self):
        ax = plots.calendar(a_load(), ax=Figure().subplots())
        grid = ax.collections[0].get_array()
        assert grid.shape == (7, 5)
        assert grid[:, 0].tolist() == [4, 4, 4, 4, 4, 1, 1]
        assert grid[3:, 4].mask.all()  # the month ends on a Wednesday
        assert [label.get_text() for label in ax.get_yticklabels()][:2] == ["Mon", "Tue"]

    def test_few_weeks_have_their_numbers_in_the_cells(self):
        shown = texts(plots.calendar(a_load(cron="* * * * * *"), ax=Figure().subplots()))
        assert {"Jan 1", "31", "86,401"} <= set(shown)
        assert not texts(plots.calendar(a_load("1D", end="2024-12-31"), ax=Figure().subplots()))

    def test_months_are_parted_by_lines(self):
        def lines(ax):
            (found,) = (c for c in ax.collections if isinstance(c, LineCollection))
            return len(found.get_segments()) / 2  # each in white, and in black above it

        assert lines(plots.calendar(a_load(), ax=Figure().subplots())) == 0
        # 1 February 2024 is a Thursday: one step across, four and three down.
        both = a_load("1D", end="2024-02-29")
        assert lines(plots.calendar(both, ax=Figure().subplots())) == 8

    def test_a_year_is_named_once(self):
        ax = plots.calendar(a_load("1D", "2023-11-05", "2024-02-20"), ax=Figure().subplots())
        named = [label.get_text() for label in ax.get_xticklabels()]
        assert named == ["Nov\n2023", "Dec", "Jan\n2024", "Feb"]

    def test_without_words_the_same_is_drawn_with_no_title_and_no_scale(self):
        told, bare = (
            plots.calendar(a_load("1D"), words=words, ax=Figure().subplots())
            for words in (True, False)
        )
        grids = [ax.collections[0].get_array() for ax in (told, bare)]
        np.testing.assert_array_equal(*grids)
        assert (bare.get_title(loc="left"), len(bare.figure.axes)) == ("", 1)
        assert len(told.figure.axes) == 2
        assert bare.get_xlabel() == told.get_xlabel()

    def test_several_years_are_bands(self):
        ax = plots.calendar(a_load("1D", "2023-07-01", "2025-03-01"), ax=Figure().subplots())
        assert [label.get_text() for label in ax.get_yticklabels()] == ["2023", "2024", "2025"]
        grid = ax.collections[0].get_array()
        assert grid.shape == (23, 53)
        assert grid.count() == 610
        months = [label.get_text() for label in ax.get_xticklabels()]
        assert sorted(months) == sorted(pd.date_range("2024", periods=12, freq="MS").strftime("%b"))

    def test_bins_longer_than_a_day_are_refused(self):
        with pytest.raises(FrameError, match=r"bins of 7 d.*freq='1D'"):
            plots.calendar(a_load("7D"))


class TestLoadCurve:
    def test_counts_are_whole_numbers_each_written_once(self):
        for found in (a_load(), a_load() * 0, a_load() * 3):
            figure = Figure()
            ax = plots.load_curve(found, bound=1, ax=figure.subplots())
            figure.canvas.draw()
            low, high = ax.get_ylim()
            shown = [tick for tick in ax.get_yticks() if low <= tick <= high]
            assert shown
            assert all(tick == round(tick) for tick in shown)

    def test_no_peak_is_lost_where_bins_share_a_point(self):
        found = a_load(cron="0 9 10 * *") * 50
        (line,) = plots.load_curve(found, ax=Figure().subplots()).lines
        assert len(line.get_xdata()) < 1000
        assert line.get_ydata().max() == 50

    def test_a_short_load_is_drawn_bin_by_bin_to_its_end(self):
        found = a_load(end="2024-01-01 00:09:59")
        (line,) = plots.load_curve(found, ax=Figure().subplots()).lines
        assert line.get_ydata().tolist() == [1, *[0] * 10]
        assert line.get_xdata()[-1] - line.get_xdata()[0] == pytest.approx(10 / 1440)

    def test_several_have_names_peaks_and_a_bound(self):
        ax = plots.load_curve(
            {"before": a_load() * 2, "after": a_load()}, bound=1500, ax=Figure().subplots()
        )
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert labels == ["before: peak 2", "after: peak 1", "bound 1,500"]
        assert "highest of each 1 h" in ax.get_ylabel()


def labels(axis):
    axis.axes.figure.canvas.draw()
    low, high = sorted(axis.get_view_interval())
    ticks = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
    return [label for at, label in ticks if low <= at <= high]


class TestAnyFigure:
    """What a picture says in a figure that somebody else has made."""

    SPANS = ("1min", "20min", "5h", "64h", "6D", "18D", "90D", "400D", "9000D", "36500D")

    def drawn(self, span, width):
        start = pd.Timestamp("2000-01-05 17:45", tz="UTC")
        at = pd.date_range(start, start + pd.Timedelta(span), periods=50)
        figure = Figure(figsize=(width, 3))
        FigureCanvasAgg(figure)
        return plots.load_curve(pd.Series(1, at), ax=figure.subplots())

    @pytest.mark.parametrize("width", [3, 4.5, 6.5, 11])
    @pytest.mark.parametrize("span", SPANS)
    def test_instants_on_the_axis_of_time_do_not_touch(self, span, width):
        boxes = [label.get_window_extent() for label in labels(self.drawn(span, width).xaxis)]
        assert boxes
        assert all(left.x1 < right.x0 for left, right in pairwise(boxes))

    @pytest.mark.parametrize("span", SPANS)
    def test_no_instant_is_a_bare_number_that_could_be_anything(self, span):
        told = [label.get_text() for label in labels(self.drawn(span, 11).xaxis)]
        assert [text for text in told if text.isdigit() and len(text) < 4] == []

    def test_larger_letters_make_fewer_instants(self):
        with mpl.rc_context({"font.size": 16}):
            boxes = [label.get_window_extent() for label in labels(self.drawn("64h", 11).xaxis)]
        assert all(left.x1 < right.x0 for left, right in pairwise(boxes))

    def test_in_a_dark_style_no_line_is_black(self):
        bins = a_load()
        promises = pd.DataFrame({"id": ["a"], "state": ["pending"]})
        for name in ("created_at", "timeout_at", "settled_at"):
            promises[name] = bins.index[:1]
        told = pd.DataFrame({"promise_id": ["a"], "at": bins.index[:1]})
        with plt.style.context("dark_background"):
            pictures = [
                plots.load_curve(dict.fromkeys("abcde", bins), bound=3, ax=plt.figure().gca()),
                plots.backlog(waiting=bins, empty_at=bins.index[9], ax=plt.figure().gca()),
                plots.lifelines(promises, dispatched=told, ax=plt.figure().gca()),
                to_utc("0 9 * * *", "Europe/Berlin", 2026).plot(ax=plt.figure().gca()),
            ]
            refused = pd.DataFrame({"reading": ["crontab"], "fields": [5], "verdict": ["refused"]})
            edge = plots.audit_bars(refused, ax=plt.figure().gca()).patches[0].get_edgecolor()
        colors = [mpl.colors.to_hex(line.get_color()) for ax in pictures for line in ax.lines]
        assert "#000000" not in colors
        assert mpl.colors.to_hex(edge) == "#ffffff"

    def test_what_is_no_picture_of_time_says_nothing_of_time_where_it_is_empty(self):
        empty = audit(pd.DataFrame({"id": [], "cron": []}, dtype=object))
        assert empty.plot(ax=Figure().subplots()).get_xlabel() == ""


class TestFewTicks:
    def test_numbers_of_ticks_are_whole_and_none_stands_twice(self):
        for most in (0, 1, 2, 3):
            bins = pd.Series(most, pd.date_range("2024", periods=30, freq="1h", tz="UTC"))
            figure = Figure()
            FigureCanvasAgg(figure)
            told = [
                text.get_text() for text in labels(plots.load_curve(bins, ax=figure.gca()).yaxis)
            ]
            assert len(set(told)) == len(told)

    @pytest.mark.parametrize("plot", [plots.hour_by_day, plots.hour_by_weekday, plots.calendar])
    @pytest.mark.parametrize("most", [0, 1, 2, 5])
    def test_a_scale_names_no_number_twice(self, plot, most):
        bins = pd.Series(most, pd.date_range("2024", periods=48, freq="1h", tz="UTC"))
        figure = Figure()
        FigureCanvasAgg(figure)
        plot(bins, ax=figure.gca())
        told = [text.get_text() for text in labels(figure.axes[1].yaxis)]
        assert told
        assert len(set(told)) == len(told)

    def test_a_rare_tick_has_a_mean_above_nothing_and_a_colour_of_its_own(self):
        figure = Figure()
        bins = a_load("1h", "2024-01-01", "2024-12-31 23:59:59", cron="0 9 1 1 *")
        bins[bins.index.hour == 0] = 0
        ax = plots.hour_by_weekday(bins, ax=figure.gca())
        assert "Mon 09:00 with 0.019 ticks an hour" in ax.get_title(loc="left")
        assert ax.collections[0].get_clim() == (0, 1 / 53)

    def test_a_single_tick_is_no_ticks(self):
        down = ("2024-01-01 00:10", "2024-01-01 01:10")
        fleet = pd.DataFrame({"id": ["a"], "cron": ["0 * * * *"]})
        title = what_if(fleet, down).plot(ax=Figure().subplots()).get_title(loc="left")
        assert "1 missed tick, 1 execute message at restart, 0 promises born" in title
