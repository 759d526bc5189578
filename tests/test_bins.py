"""The bins of a window, and what is none."""

import numpy as np
import pandas as pd
import pytest

from resonate_lab.errors import DurationError, WindowError
from resonate_lab.whatif.bins import bin_ms, window_ms

NOW = 1_704_067_200_000  # 2024-01-01T00:00:00Z, a Monday


class TestFrequency:
    @pytest.mark.parametrize("freq", [pd.Timedelta("5min"), np.timedelta64(5, "m"), "300s"])
    def test_a_frequency_may_be_a_duration(self, freq):
        assert bin_ms(freq) == 5 * 60_000

    @pytest.mark.parametrize("freq", ["MS", "W", "B", "XYZ", "999ms", "-1h", "0min", "1500us"])
    def test_a_frequency_that_is_no_fixed_second_or_more_is_refused(self, freq):
        with pytest.raises(DurationError, match=r"freq .*: write a fixed length of whole ms"):
            bin_ms(freq)

    @pytest.mark.parametrize("freq", [60, None, 1.5, ["1h"]])
    def test_a_frequency_of_another_type_is_refused(self, freq):
        with pytest.raises(TypeError, match=r"freq is .*: write a fixed length"):
            bin_ms(freq)

    def test_a_frequency_longer_than_the_calendar_is_refused(self):
        with pytest.raises(DurationError, match="longer than the calendar"):
            bin_ms("80000D")


class TestWindow:
    @pytest.mark.parametrize(
        ("start", "end"),
        [(NOW, NOW - 1), (-1, NOW), (NOW, "2101-01-01"), ("1969-12-31", "1969-12-31")],
    )
    def test_a_window_turned_round_or_outside_the_calendar_is_refused(self, start, end):
        with pytest.raises(WindowError, match=r"the window is .*1970 to 2100"):
            window_ms(start, end)
