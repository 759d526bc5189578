"""spread: the moves keep their promise, and every new expression is the old one, later."""

import numpy as np
import pandas as pd
import pytest
from grammar import texts
from hypothesis import given, settings
from hypothesis import strategies as st

from resonate_lab.cron import CronExpression
from resonate_lab.errors import DurationError, FleetError, WindowError
from resonate_lab.whatif import load, spread

NOW = 1_704_067_200_000  # 2024-01-01T00:00:00Z, a Monday
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
YEARS = 8 * 365 * DAY


def fleet(*crons, **columns):
    return pd.DataFrame({"id": [f"s{n}" for n in range(len(crons))], "cron": crons} | columns)


def herd(size=40):
    rare = ["0 9 * * MON-FRI", "0 0 * * *", "0 0 1 * *", "*/15 * * * *", "0 */6 * * *"]
    return fleet(*(rare[n % len(rare)] for n in range(size)))


class TestSpread:
    def test_the_peak_falls_to_the_bound_and_before_and_after_are_the_loads(self):
        given = herd()
        found = spread(given, NOW, NOW + 31 * DAY - 1, bound=5)
        assert found.reached
        assert found.complete
        assert found.before.tolist() == load(given, NOW, NOW + 31 * DAY - 1).tolist()
        assert found.after.tolist() == load(found.fleet, NOW, NOW + 31 * DAY - 1).tolist()
        assert found.after.max() <= 5 < found.before.max()

    def test_each_move_is_the_old_expression_later_for_years(self):
        found = spread(herd(), NOW, NOW + 31 * DAY - 1, bound=5)
        assert len(found.moves)
        for row in found.moves.itertuples():
            old, new = CronExpression(row.cron), CronExpression(row.proposed)
            shift = row.minutes * MINUTE
            ticks = old.between_ms(NOW, NOW + YEARS)
            moved = new.between_ms(NOW + shift, NOW + YEARS + shift)
            np.testing.assert_array_equal(ticks + shift, moved)
            assert row.compared >= len(ticks)
            assert 1 <= row.minutes <= 30

    def test_a_second_run_proposes_the_same_whatever_the_order_of_the_rows(self):
        given = herd()
        first = spread(given, NOW, NOW + 31 * DAY - 1, bound=5).moves
        again = spread(given, NOW, NOW + 31 * DAY - 1, bound=5).moves
        pd.testing.assert_frame_equal(first, again)
        turned = spread(given.iloc[::-1], NOW, NOW + 31 * DAY - 1, bound=5).moves
        pd.testing.assert_frame_equal(first, turned.iloc[::-1].reset_index(drop=True))

    def test_these_are_the_moves_on_every_machine(self):
        found = spread(fleet(*["0 9 * * MON-FRI"] * 4), NOW, NOW + DAY, bound=2, within="10min")
        assert found.moves[["schedule_id", "minutes"]].values.tolist() == [["s1", 3], ["s2", 9]]

    def test_its_own_proposal_needs_no_further_move(self):
        found = spread(herd(), NOW, NOW + 31 * DAY - 1, bound=5)
        assert spread(found.fleet, NOW, NOW + 31 * DAY - 1, bound=5).moves.empty

    @settings(max_examples=25)
    @given(
        crons=st.lists(texts("resonate"), min_size=1, max_size=8),
        bound=st.integers(1, 4),
        within=st.integers(1, 90),
        freq=st.sampled_from(["1min", "7min", "1h"]),
    )
    def test_it_never_makes_the_peak_higher_and_its_account_is_true(
        self, crons, bound, within, freq
    ):
        given = fleet(*crons, *crons)
        window = NOW + 12_345, NOW + DAY + 54_321
        found = spread(given, *window, bound, f"{within}min", freq)
        assert found.after.tolist() == load(found.fleet, *window, freq).tolist()
        assert found.after.max() <= max(found.before.max(), bound)
        assert found.reached == (found.after.max() <= bound)
        assert found.moves["minutes"].between(1, within).all()

    def test_a_load_below_the_bound_needs_no_move(self):
        found = spread(herd(), NOW, NOW + DAY, bound=1000)
        assert found.moves.empty
        assert found.headline() == (
            "nothing to move: the peak is 32 ticks a bin of 1 min, and the bound 1,000"
        )

    def test_only_schedules_that_tick_in_a_peak_are_moved(self):
        given = fleet(*["0 9 * * *"] * 3, "0 10 * * *")
        found = spread(given, NOW, NOW + DAY, bound=1)
        assert len(found.moves) == 2
        assert "s3" not in set(found.moves["schedule_id"])

    def test_a_schedule_to_be_kept_is_not_moved(self):
        found = spread(fleet(*["0 9 * * *"] * 3), NOW, NOW + DAY, bound=1, keep=["s1", "s2"])
        assert found.moves["schedule_id"].tolist() == ["s0"]
        assert not found.reached

    def test_moves_at_the_edges_of_the_window_are_counted_as_they_are(self):
        given = fleet(*["59 * * * *"] * 6)
        window = NOW + 59 * MINUTE, NOW + 2 * HOUR
        found = spread(given, *window, bound=2, within="5min")
        assert found.after.tolist() == load(found.fleet, *window).tolist()

    def test_it_works_from_the_first_second_of_the_calendar(self):
        found = spread(fleet(*["0 0 * * *"] * 3), 0, 10 * MINUTE, bound=1, within="20min")
        assert found.reached
        assert found.after.tolist() == load(found.fleet, 0, 10 * MINUTE).tolist()

    def test_the_released_servers_calendar_is_proved_like_any_other(self):
        given = fleet(*["0 0 9 * * * 2030"] * 3, "@daily", "@daily")
        window = NOW, NOW + 10 * 365 * DAY
        found = spread(given, *window, 1, "2min", "1h", dialect="resonate-0.9.8")
        assert (
            found.after.tolist()
            == load(found.fleet, *window, "1h", dialect="resonate-0.9.8").tolist()
        )


class TestABoundThatCannotBeReached:
    def test_is_told_in_one_sentence_with_the_best_that_was_found(self):
        found = spread(fleet(*["* * * * *"] * 3, "0 9 * * *"), NOW, NOW + DAY, bound=2)
        assert not found.reached
        assert found.headline() == (
            "no moves of at most 30 min were found that bring the peak of 4 ticks a bin of 1 min "
            "to 2: the best is 4 (at 2024-01-01 09:00:00Z), reached by moving 0 of 4 schedules"
        )

    def test_the_best_is_better_than_nothing(self):
        found = spread(fleet(*["0 9 * * *"] * 30), NOW, NOW + DAY, bound=1, within="9min")
        assert found.after.max() == 3
        assert "the best is 3" in found.headline()


class TestInterrupted:
    def test_what_was_found_stands(self):
        def ctrl_c(rows):
            for row in rows:
                if row == 3:
                    raise KeyboardInterrupt
                yield row

        given = fleet(*["0 9 * * *"] * 20)
        found = spread(given, NOW, NOW + DAY, bound=1, progress=ctrl_c)
        assert not found.complete
        assert len(found.moves) == 3
        assert found.after.tolist() == load(found.fleet, NOW, NOW + DAY).tolist()
        assert "before the search was interrupted" in found.headline()


class TestRejects:
    @pytest.mark.parametrize("bound", [0, -5, 2.5, float("nan"), float("inf"), "3", True, None])
    def test_a_bound_that_is_no_number_of_ticks(self, bound):
        with pytest.raises((ValueError, TypeError), match=r"bound is .*whole number of ticks"):
            spread(herd(), NOW, NOW + DAY, bound)

    @pytest.mark.parametrize("within", ["0min", "30s", "90s", "-1min", "25h", "2d", "soon"])
    def test_a_span_that_is_no_whole_minutes_of_a_day(self, within):
        with pytest.raises(DurationError, match="within"):
            spread(herd(), NOW, NOW + DAY, 5, within)

    @pytest.mark.parametrize("keep", [None, 5, [1], [["s0"]]])
    def test_ids_to_keep_are_texts(self, keep):
        with pytest.raises(TypeError, match="ids are texts"):
            spread(herd(), NOW, NOW + DAY, 5, keep=keep)

    def test_a_text_to_keep_is_one_id(self):
        found = spread(fleet("0 9 * * *", "0 9 * * *"), NOW, NOW + DAY, bound=1, keep="s1")
        assert found.moves["schedule_id"].tolist() == ["s0"]

    def test_an_id_to_keep_that_there_is_not(self):
        with pytest.raises(ValueError, match="keep names 'nobody'"):
            spread(herd(), NOW, NOW + DAY, 5, keep=["nobody"])

    def test_a_window_that_leaves_the_calendar_when_moved(self):
        with pytest.raises(WindowError, match="leave the calendar"):
            spread(herd(), "2100-12-31", "2100-12-31 23:50", 5)

    def test_rows_at_fault_are_listed_and_the_others_moved(self):
        found = spread(fleet("0 9 * * *", "x", "0 9 * * *"), NOW, NOW + DAY, 1)
        assert found.refused[["schedule_id", "line"]].values.tolist() == [["s1", 2]]
        assert found.after.refused["schedule_id"].tolist() == ["s1"]
        assert found.reached

    @pytest.mark.parametrize("given", [fleet(), fleet("x")])
    def test_a_fleet_without_a_schedule_has_nothing_to_move(self, given):
        found = spread(given, NOW, NOW + DAY, 1)
        assert found.moves.empty
        assert found.reached
        assert found.moves.dtypes.tolist() == spread(herd(), NOW, NOW, 1).moves.dtypes.tolist()

    def test_duplicate_ids_are_refused(self):
        with pytest.raises(FleetError, match="unique"):
            spread(fleet("@daily", "@daily", id=["a", "a"]), NOW, NOW, 1)


class TestShown:
    def test_repr_and_html_say_it_and_escape_what_is_hostile(self):
        found = spread(fleet(*["0 9 * * *"] * 2, id=["<script>", "b"]), NOW, NOW + DAY, 1)
        assert repr(found) == f"<Spread: {found.headline()}>"
        assert "moving 1 of 2 schedules" in found.headline()
        assert "<script>" not in found._repr_html_()

    def test_it_plots_before_and_after(self):
        from matplotlib.figure import Figure

        ax = Figure().subplots()
        assert spread(herd(), NOW, NOW + DAY, 5).plot(ax=ax) is ax
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert labels == ["before: peak 32", "after: peak 5", "bound 5"]
