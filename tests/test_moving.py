"""An expression moved by seconds fires at its ticks and so many seconds, and at no others."""

from datetime import UTC, date, datetime

import numpy as np
from crontabs import SERVER
from hypothesis import example, given, settings
from hypothesis import strategies as st

from resonate_lab.cron import CronExpression
from resonate_lab.cron.moving import moved_texts, rectangles

CLOCK = st.tuples(st.integers(0, 23), st.integers(0, 59))


class TestMovedTexts:
    @settings(max_examples=40)
    @given(SERVER, st.integers(-14 * 60, 14 * 60).map(lambda minutes: minutes * 60), st.booleans())
    @example("0 22 31 * *", 19_800, True)
    @example("30 0 29 2 *", -3_600, False)
    def test_their_ticks_are_the_old_ones_moved_and_none_comes_twice(self, text, by, leap):
        year = 2028 if leap else 2026
        days = range(*(date(y, 1, 1).toordinal() - 719_163 for y in (year, year + 1)))
        start, end = (int(datetime(y, 1, 1, tzinfo=UTC).timestamp()) for y in (year, year + 1))
        old, window = CronExpression(text), ((start + by) * 1000, (end + by) * 1000)
        texts = moved_texts(
            old, CronExpression, by, window, lambda on: range(days.start + on, days.stop + on)
        )
        parts = [CronExpression(each).between_ms(window[0], window[1] - 1) for each in texts]
        ticks = np.sort(np.concatenate(parts)) if parts else np.array([], dtype=np.int64)
        expected = old.between_ms(start * 1000, end * 1000 - 1) + by * 1000
        np.testing.assert_array_equal(ticks, expected)


class TestRectangles:
    @given(st.sets(CLOCK, max_size=40))
    def test_hold_each_time_of_the_day_once(self, clock):
        times = [(h, m) for hours, minutes in rectangles(clock) for h in hours for m in minutes]
        assert sorted(times) == sorted(clock)
