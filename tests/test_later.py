"""An expression some minutes later: its ticks are the old ones, shifted."""

import numpy as np
import pytest
from grammar import texts
from hypothesis import given, settings
from hypothesis import strategies as st

from resonate_lab.cron import CronExpression
from resonate_lab.whatif.later import proved, shifted

NOW = 1_704_067_200_000  # 2024-01-01T00:00:00Z, a Monday
MINUTE, DAY = 60_000, 86_400_000
YEARS = 8 * 365 * DAY


class TestShifted:
    @pytest.mark.parametrize(
        ("text", "minutes", "expected"),
        [
            ("0 9 * * MON-FRI", 7, "7 9 * * MON-FRI"),
            ("55 9 * * MON-FRI", 7, "2 10 * * MON-FRI"),
            ("55 23 * * *", 10, "5 0 * * *"),
            ("55 23 * * MON-FRI", 10, None),
            ("55 23 1 * *", 10, None),
            ("*/15 * * * *", 4, "4-49/15 * * * *"),
            ("*/15 9 * * *", 14, "14-59/15 9 * * *"),
            ("*/15 9 * * *", 15, None),
            ("0,55 * * * *", 10, "5,10 * * * *"),
            ("0,55 * * * MON", 10, None),
            ("* * * * *", 1, "* * * * *"),
            ("30 0 9 * * *", 5, "30 5 9 * * *"),
            ("0 0 9 * * * 2030", 5, "0 5 9 * * * 2030"),
            ("@hourly", 5, "5 * * * *"),
            ("@daily", 90, "30 1 * * *"),
            ("@weekly", 5, "5 0 * * SUN"),
            ("@monthly", 5, "5 0 1 * *"),
            ("@yearly", 5, "5 0 1 1 *"),
            ("0 9 * * *", 1440, "0 9 * * *"),
            (",5 ** * * *", 1, "0,5 * * * * *"),
            ("******", 1, "* * * * * *"),
            ("0 0 9 * * MON2030", 5, "0 5 9 * * MON 2030"),
            ("0 0 9 * * MON - FRI", 5, "0 5 9 * * MON - FRI"),
            ("0 9 * * 1-5", 0, "0 9 * * 1-5"),
        ],
    )
    def test_known_texts(self, text, minutes, expected):
        assert shifted(CronExpression(text), minutes) == expected

    @pytest.mark.parametrize("dialect", ["resonate", "quartz"])
    @settings(max_examples=150)
    @given(data=st.data(), minutes=st.integers(0, 1440))
    def test_its_ticks_are_the_old_ones_later(self, dialect, data, minutes):
        old = CronExpression(data.draw(texts(dialect)), dialect)
        text = shifted(old, minutes)
        if text is None:
            return
        new, shift = CronExpression(text, dialect), minutes * MINUTE
        ticks = old.between_ms(NOW, NOW + 3 * DAY)
        np.testing.assert_array_equal(
            ticks + shift, new.between_ms(NOW + shift, NOW + 3 * DAY + shift)
        )
        assert new.count_ms(NOW + shift, NOW + YEARS + shift) == old.count_ms(NOW, NOW + YEARS)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [("0 55 9 ? * 6L", "0 0 10 ? * 6L"), ("0 55 9 L-3W * ? 2030", "0 0 10 L-3W * ? 2030")],
    )
    def test_quartz_keeps_its_day_rules(self, text, expected):
        assert shifted(CronExpression(text, "quartz"), 5) == expected

    @settings(max_examples=60)
    @given(hour=st.integers(0, 23), minute=st.integers(0, 59), minutes=st.integers(0, 1440))
    def test_a_single_time_of_day_can_always_move_within_its_day(self, hour, minute, minutes):
        text = shifted(CronExpression(f"{minute} {hour} * * MON"), minutes)
        assert (text is not None) == (hour * 60 + minute + minutes < 1440)


class TestProved:
    def test_tells_in_how_many_ticks_and_refuses_any_that_differs(self):
        daily, later = CronExpression("0 9 * * *"), CronExpression("5 9 * * *")
        assert proved(daily, later, 5, NOW) == 8 * 365 + 2  # 2024 and 2028 are leap years
        assert proved(daily, later, 4, NOW) == -1
        # They part on 29 February 2028, after four years of equal ticks.
        early = CronExpression("0 5 9 1-28,30,31 2 * 2025-2028")
        assert proved(CronExpression("0 0 9 * 2 * 2025-2028"), early, 5, NOW) == -1
