"""The widgets without a page: set a control, read what the views hold."""

import re

import pandas as pd
import pytest
from widget_words import HOSTILE, tags, words

from resonate_lab.errors import DurationError, FleetError, InstantError, WindowError
from resonate_lab.whatif import load, what_if
from resonate_lab.whatif.systems import PolicyError
from resonate_lab.widgets import CronExplorer, OutageSimulator
from resonate_lab.widgets import explorer as explorer_module

START = "2024-01-01T00:00:00Z"  # a Monday
DOWN, UP = "2024-01-05 20:00Z", "2024-01-06 08:00Z"


@pytest.fixture
def explorer():
    made = CronExplorer("0 9 * * 1-5", zone="Europe/Berlin", after=START)
    yield made
    made.close()


@pytest.fixture
def fleet() -> pd.DataFrame:
    rows = [("five", "*/5 * * * *"), ("hourly", "0 * * * *"), ("bad", "0 9 * * 8")]
    return pd.DataFrame(rows, columns=["id", "cron"])


@pytest.fixture
def simulator(fleet):
    made = OutageSimulator(fleet, DOWN, UP)
    yield made
    made.close()


class TestCronExplorerAnswers:
    def test_what_the_text_means_with_ticks_in_utc_and_in_the_zone(self, explorer):
        said = words(explorer.answer.value)
        assert "At 09:00 UTC, Sunday to Thursday." in said
        assert "Mon 2024-01-01 09:00:00 Mon 2024-01-01 10:00:00 CET in 9 h" in said

    def test_how_far_the_ticks_are_apart(self, explorer):
        # Thursday to Sunday.
        assert "Sun 2024-01-07 10:00:00 CET 3 d" in words(explorer.answer.value)

    def test_what_lint_finds_and_what_to_write_instead(self, explorer):
        said = words(explorer.answer.value)
        assert "warning" in said
        assert "0 9 * * MON-FRI" in said

    def test_the_crontab_reading_beside_it_where_it_differs(self, explorer):
        said = words(explorer.answer.value)
        assert "as a crontab (UTC)" in said
        assert "3 d Fri 2024-01-05 09:00:00" in said
        explorer.text.value = "0 9 * * *"
        said = words(explorer.answer.value)
        assert "as a crontab (UTC)" not in said
        assert "In a crontab: it means the same." in said

    def test_anew_for_each_control(self, explorer):
        explorer.text.value = "0 0 9 ? * 2#1"
        assert "Refused." in words(explorer.answer.value)
        explorer.dialect.value = "quartz"
        assert "first Monday" in words(explorer.answer.value)
        explorer.zone.value = "Asia/Tokyo"
        assert "18:00:00 JST" in words(explorer.answer.value)

    def test_the_offset_of_the_zone_at_each_tick(self, explorer):
        explorer.text.value = "0 0 1 6,12 *"
        said = words(explorer.answer.value)
        assert "02:00:00 CEST" in said
        assert "01:00:00 CET" in said

    def test_in_the_zone_of_the_machine_without_one(self):
        explorer = CronExplorer("0 9 * * *", after=START)
        assert "zone of the machine" in words(explorer.answer.value)
        explorer.close()

    def test_from_the_moment_of_the_change_without_an_instant(self, monkeypatch):
        explorer = CronExplorer("0 9 * * *", zone="UTC")
        tuesday_noon = 1_704_196_800_000
        monkeypatch.setattr(explorer_module.time, "time_ns", lambda: tuesday_noon * 1_000_000)
        explorer.text.value = "0 10 * * *"
        assert "Wed 2024-01-03 10:00:00 UTC in 22 h" in words(explorer.answer.value)
        explorer.close()

    def test_that_no_tick_is_left(self, explorer):
        explorer.text.value = "0 0 30 2 *"
        assert "No tick is left." in words(explorer.answer.value)


class TestCronExplorerCalendar:
    def test_counts_the_ticks_of_each_day_of_the_year_to_come(self, explorer):
        explorer.text.value = "0 9 * * MON-FRI"
        # 2024-01-01 is a Monday, and so is the 365th day: 52 weeks of five, and one.
        assert words(explorer.year.value) == (
            "From 2024-01-01 to 2024-12-30 (UTC) 261 of 365 days have ticks, 1 each."
        )
        explorer.text.value = "0 0-9 * * SUN"
        assert "52 of 365 days have ticks, 10 each" in words(explorer.year.value)

    def test_says_the_range_where_days_differ(self, explorer):
        explorer.text.value = "0 0-23/12 1 * *"
        assert "12 of 365 days have ticks, 1 to 2 each." in words(explorer.year.value)

    def test_is_that_of_plots_calendar(self, explorer, monkeypatch):
        seen = []
        drawn = explorer_module.plots.calendar
        monkeypatch.setattr(
            explorer_module.plots,
            "calendar",
            lambda days, **how: seen.append(days) or drawn(days, **how),
        )
        explorer.text.value = "*/7 9 * * *"
        one = pd.DataFrame({"id": ["a"], "cron": ["*/7 9 * * *"]})
        expected = load(one, "2024-01-01 00:00:00.001", "2024-12-30 23:59:59", "1D")
        assert seen[0].tolist() == expected.tolist()
        assert (seen[0].index == expected.index).all()

    def test_draws_the_same_picture_for_the_same_text_whatever_stood_there_before(self, explorer):
        first = bytes(explorer.picture.value)
        assert first.startswith(b"\x89PNG")
        explorer.text.value = "0 0 1 * *"
        assert bytes(explorer.picture.value) != first
        explorer.text.value = "0 9 * * 1-5"
        assert bytes(explorer.picture.value) == first

    def test_is_hidden_where_there_is_none_and_comes_back(self, explorer):
        for text, said in (
            ("0 9 * * 8", ""),
            ("0 9 29 2 * 2028", ""),
            ("0 0 9 29 2 * 2028", "No tick falls in the year from 2024-01-01 to 2024-12-30."),
        ):
            explorer.text.value = text
            assert words(explorer.year.value) == said
            assert explorer.picture.layout.display == "none"
            assert "<img" not in explorer.static().data
        explorer.text.value = "0 9 * * *"
        assert explorer.picture.layout.display is None

    def test_ends_with_the_calendar_of_resonate(self):
        for after in ("2100-06-01", "2100-12-31T23:59:59.999Z"):
            explorer = CronExplorer("0 9 * * *", after=after)
            assert "to 2100-12-31" in words(explorer.year.value)
            explorer.close()

    def test_stands_in_the_static_twin(self, explorer):
        html = explorer.static().data
        assert explorer.year.value in html
        assert html.count("<img") == 1


class TestCronExplorerRefuses:
    def test_a_text_with_the_token_at_fault_marked(self, explorer):
        explorer.text.value = "0 9 * * 8"
        said = explorer.answer.value
        assert "outside 1-7" in words(said)
        assert re.search(r"<pre[^>]*>0 9 \* \* <mark[^>]*>8</mark></pre>", said)

    def test_a_text_and_says_what_to_write_for_what_a_crontab_means(self, explorer):
        explorer.text.value = "0 9 * * 0"
        assert "Write 0 9 * * SUN here" in words(explorer.answer.value)

    @pytest.mark.parametrize("text", ["", "   ", "* * * *", "x" * 10_000, "\ud800 * * * *", "\x00"])
    def test_any_text_with_a_sentence(self, explorer, text):
        explorer.text.value = text
        assert "Refused." in words(explorer.answer.value)
        assert len(explorer.answer.value) < 5_000

    @pytest.mark.parametrize(
        "zone", ["Mars/Base", "Europe", "../etc", "x" * 5_000, "\x00", "\ud800", "Europe/Berlin/"]
    )
    def test_a_zone_with_a_sentence_and_still_shows_utc(self, explorer, zone):
        explorer.zone.value = zone
        said = words(explorer.answer.value)
        assert "write one such as 'Europe/Berlin'" in said
        assert "Mon 2024-01-01 09:00:00 in 9 h" in said

    def test_wrong_arguments_where_they_are_given(self):
        with pytest.raises(ValueError, match=r"'cron'.*resonate, resonate-0\.9\.8, quartz"):
            CronExplorer(dialect="cron")
        with pytest.raises(InstantError, match="soon"):
            CronExplorer(after="soon")
        with pytest.raises(WindowError, match="1970-2100"):
            CronExplorer(after="2101-01-01")
        with pytest.raises(TypeError, match="text is None of type NoneType"):
            CronExplorer(None)
        with pytest.raises(TypeError, match="zone is 1 of type int"):
            CronExplorer(zone=1)


class TestOutageSimulatorAnswers:
    def test_with_the_numbers_of_what_if(self, simulator, fleet):
        counted = what_if(fleet, (DOWN, UP)).counters
        said = words(simulator.counters.value)
        assert "Server down for 12 h" in said
        assert f"{counted['missed']} missed ticks" in said
        assert f"{counted['dispatched']} execute messages at restart" in said
        assert f"{counted['expired']} promises born expired" in said
        assert "2 of 2 schedules hit 1 of 3 rows refused" in said

    def test_with_the_peaks(self, simulator):
        # All 156 at the restart; otherwise a full hour is the most: both schedules.
        said = words(simulator.counters.value)
        assert "156 most promises created in a minute 2 most ticks due in a minute" in said

    def test_with_a_picture_a_row_a_schedule_and_one_column_a_tag(self, simulator):
        said = words(simulator.tables.value)
        assert bytes(simulator.picture.value).startswith(b"\x89PNG")
        assert "five */5 * * * * 144 12 132" in said
        assert "hourly 0 * * * * 12 1 11" in said
        assert "resonate:origin resonate:parent resonate:prefix resonate:schedule" in said
        assert "five-1704485100000" in said

    def test_with_the_rows_that_are_refused_and_why(self, simulator):
        said = words(simulator.tables.value)
        assert re.search(r"bad 0 9 \* \* 8 3 .*outside 1-7", said)

    def test_anew_when_the_outage_moves(self, simulator):
        before, picture = words(simulator.counters.value), simulator.picture.value
        down, up = simulator.outage.value
        simulator.outage.value = (down, up + 3_600_000)
        after = words(simulator.counters.value)
        assert "156 missed ticks" in before
        assert "169 missed ticks" in after
        assert "to 2024-01-06 09:00:00Z" in after
        assert simulator.picture.value != picture

    def test_anew_when_the_timeout_changes(self, simulator):
        simulator.timeout.value = "13h"
        assert "0 promises born expired" in words(simulator.counters.value)

    def test_anew_under_each_policy_that_promises_something(self, simulator, fleet):
        for name in simulator.policy.options[1:]:
            simulator.policy.value = name[1]
            asked = what_if(fleet, (DOWN, UP), policy=name[1])
            said = words(simulator.counters.value)
            assert f"{asked.counters['lost']:,} ticks lost under the policy" in said
        simulator.policy.value = "Sidekiq Enterprise periodic"
        assert "lost: the policy starts none" in words(simulator.tables.value)

    def test_a_policy_beside_a_profile_that_polls_is_one_sentence(self, simulator):
        simulator.policy.value = "Kestra"
        simulator.profile.value = "server"
        assert "which profile 'server' spreads over its polls" in words(simulator.counters.value)
        simulator.policy.value = ""
        assert "missed ticks" in simulator.counters.value

    def test_anew_when_the_profile_changes(self, simulator, fleet):
        simulator.profile.value = "spec"
        counted = what_if(fleet, (DOWN, UP), profile="spec").counters
        assert (counted["expired"], counted["dispatched"]) == (0, 156)
        said = words(simulator.counters.value)
        assert "156 execute messages at restart 0 promises born expired" in said

    def test_with_the_same_lanes_while_the_outage_moves(self, simulator):
        down, up = simulator.outage.value
        simulator.outage.value = (down, down)
        assert "0 missed ticks" in words(simulator.counters.value)
        assert "a sign stands" not in simulator.tables.value  # there is none
        assert "five */5 * * * * 0 0 0" in words(simulator.tables.value)
        simulator.outage.value = (down, up)
        assert "five */5 * * * * 144 12 132" in words(simulator.tables.value)

    def test_with_a_picture_that_keeps_nothing_of_those_before_it(self, simulator):
        down, up = simulator.outage.value
        first = bytes(simulator.picture.value)
        for value in ((down, up + 3_600_000), (up, up), (down, up)):
            simulator.outage.value = value
        assert bytes(simulator.picture.value) == first

    def test_for_a_fleet_of_which_nothing_is_accepted(self):
        bad = pd.DataFrame({"id": ["bad"], "cron": ["0 9 * * 8"]})
        simulator = OutageSimulator(bad, DOWN, UP)
        assert "0 of 0 schedules hit 1 of 1 rows refused" in words(simulator.counters.value)
        simulator.close()

    def test_for_a_schedule_that_is_refused_once_the_outage_begins_later(self):
        once = pd.DataFrame({"id": ["once"], "cron": ["0 0 0 6 1 ? 2024"]})
        simulator = OutageSimulator(once, DOWN, UP)
        assert "1 missed ticks" in words(simulator.counters.value)
        simulator.outage.value = (simulator.outage.value[1],) * 2
        assert "has no tick after" in words(simulator.tables.value)
        simulator.close()

    @pytest.mark.parametrize(
        ("down", "up"),
        [
            ("1970-01-01", "1970-01-01"),
            ("2024-01-01", "2024-01-01 00:00:07"),
            (START, "2026-01-01"),
        ],
    )
    def test_for_short_and_long_outages(self, down, up):
        daily = pd.DataFrame({"id": ["daily"], "cron": ["0 0 * * *"]})
        simulator = OutageSimulator(daily, down, up)
        stops = [stop for _, stop in simulator.outage.options]
        assert stops == sorted(set(stops))
        assert 10 <= len(stops) <= 250
        assert set(simulator.outage.value) <= set(stops)
        simulator.close()


class TestOutageSimulatorRefuses:
    @pytest.mark.parametrize("timeout", ["", "soon", "-1h", "1 parsec"])
    def test_a_timeout_with_a_sentence_and_takes_the_picture_away(self, simulator, timeout):
        simulator.timeout.value = timeout
        assert "No answer." in words(simulator.counters.value)
        assert (simulator.picture.layout.display, simulator.tables.value) == ("none", "")
        assert "No answer. Promise timeout " in words(simulator.static().data)
        simulator.timeout.value = "1h"
        assert simulator.picture.layout.display is None
        assert "156 missed ticks" in words(simulator.counters.value)

    def test_an_outage_with_too_many_ticks_with_a_sentence(self):
        many = pd.DataFrame({"id": list("abcde"), "cron": ["* * * * * *"] * 5})
        simulator = OutageSimulator(many, DOWN, "2024-01-16 20:00Z")
        simulator.outage.value = (simulator.outage.options[0][1], simulator.outage.options[-1][1])
        assert "more than the 10,000,000" in words(simulator.counters.value)
        simulator.close()

    def test_wrong_arguments_where_they_are_given(self, fleet):
        with pytest.raises(WindowError, match="must not end before it starts"):
            OutageSimulator(fleet, UP, DOWN)
        with pytest.raises(InstantError, match="soon"):
            OutageSimulator(fleet, "soon", UP)
        with pytest.raises(DurationError, match="parsec"):
            OutageSimulator(fleet, DOWN, UP, promise_timeout="1 parsec")
        with pytest.raises(TypeError, match="promise_timeout is 5 of type int"):
            OutageSimulator(fleet, DOWN, UP, promise_timeout=5)
        with pytest.raises(ValueError, match="klingon"):
            OutageSimulator(fleet, DOWN, UP, profile="klingon")
        with pytest.raises(PolicyError, match="did you mean 'Kestra'"):
            OutageSimulator(fleet, DOWN, UP, policy="Kestraa")
        with pytest.raises(FleetError, match="no cron column"):
            OutageSimulator(pd.DataFrame({"id": ["a"]}), DOWN, UP)


class TestPolicyChoice:
    def test_resonates_own_catch_up_is_a_choice_that_a_page_shows(self, simulator):
        assert (simulator.policy.index, simulator.policy.label) == (0, "Resonate's catch-up")
        simulator.policy.index = 3
        assert "ticks lost under the policy" in words(simulator.counters.value)
        simulator.policy.index = 0
        assert simulator.policy.label == "Resonate's catch-up"
        assert "under the policy" not in words(simulator.counters.value)


class TestStaticTwins:
    def test_say_what_the_explorer_says(self, explorer):
        explorer.text.value = "*/40 * * * *"
        twin = explorer.static()
        assert explorer.answer.value in twin._repr_html_()
        assert "*/40 * * * * in dialect resonate" in words(twin.data)

    def test_say_what_the_simulator_says_with_the_picture_inside(self, simulator):
        html = simulator.static()._repr_html_()
        assert simulator.counters.value in html
        assert simulator.tables.value in html
        assert re.search(r'<img alt="[^"]*156 missed ticks[^"]*"[^>]* src="data:image/png;', html)

    def test_hold_no_script_and_fetch_nothing(self, explorer, simulator):
        for html in (explorer.static().data, simulator.static().data):
            assert "script" not in tags(html)
            assert not re.search(r"https?://", html)


class TestHostileText:
    @pytest.mark.parametrize("text", [HOSTILE, f"0 9 * * {HOSTILE}", "0 9 * * \u202e1", "\x1b[31m"])
    def test_of_the_explorer_is_shown_as_text(self, explorer, text):
        explorer.text.value = text
        explorer.zone.value = HOSTILE
        for html in (explorer.answer.value, explorer.static().data):
            assert "img" not in tags(html)
            assert "\u202e" not in html
            assert "\x1b" not in html

    def test_of_a_fleet_is_shown_as_text(self):
        fleet = pd.DataFrame(
            {
                "id": [HOSTILE, "\u202egnp", "x" * 10_000, "$\\frac{", "=1+1", "refused" + HOSTILE],
                "cron": ["*/5 * * * *"] * 5 + [f"0 9 * * {HOSTILE}"],
                "promise_tags": [{HOSTILE: HOSTILE}] * 6,
            }
        )
        simulator = OutageSimulator(fleet, DOWN, UP)
        html = simulator.counters.value + simulator.tables.value
        assert "img" not in tags(html)
        assert "\u202e" not in html
        assert len(html) < 60_000
        assert HOSTILE in words(html)
        assert simulator.static().data.count("<img") == 1
        simulator.close()


class TestClosing:
    def test_detaches_the_controls(self, explorer, simulator):
        said = explorer.answer.value, simulator.counters.value
        explorer.close()
        simulator.close()
        explorer.text.value, simulator.timeout.value = "0 0 * * *", "2h"
        assert (explorer.answer.value, simulator.counters.value) == said

    def test_takes_every_part_off_the_page(self, explorer, simulator):
        for widget in (explorer, simulator):
            inner = [part for child in widget.children for part in getattr(child, "children", ())]
            parts = [widget, *widget.children, *inner]
            assert len(parts) >= 5
            widget.close()
            assert [part for part in parts if part.comm is not None] == []

    def test_twice_is_as_good_as_once(self, explorer):
        explorer.close()
        explorer.close()


class TestControls:
    def test_have_labels_and_follow_while_they_change(self, explorer, simulator):
        for control in (explorer.text, explorer.zone, simulator.outage, simulator.timeout):
            assert control.description
            assert control.continuous_update
        assert explorer.dialect.description

    def test_share_a_line_only_where_there_is_room(self, explorer, simulator):
        for widget in (explorer, simulator):
            row = widget.children[0]
            assert row.layout.flex_flow == "row wrap"
            assert all(control.layout.min_width == "0" for control in row.children)
