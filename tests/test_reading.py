"""What an expression means, whatever its grammar, and whether two mean the same.

Ticks are walked here, by croniter and by the core, against the sets that the package
compares: the proof is tested by another road.
"""

from itertools import product

import pytest
from crontabs import CRONTABS, SERVER, chain, ms
from hypothesis import assume, example, given
from hypothesis import strategies as st

from resonate_lab.cron import CronExpression
from resonate_lab.cron.crontab import crontab_fires_ms, crontab_reading
from resonate_lab.cron.reading import (
    NEVER,
    YEARS,
    Reading,
    dialect_reading,
    number_text,
    weekday_text,
)

QUARTZ_DAYS = st.sampled_from(
    [
        *("L * ?", "LW * ?", "L-3 2,3 ?", "L-30 * ?", "L-2W 1-6 ?", "1W * ?", "15W 2 ?"),
        *("31W * ?", "? * 6L", "? 2 1L", "? * 7#5", "? 2,5 2#1", "? * MON#3", "? * FRI-MON"),
        *("28-3 * ?", "? NOV-FEB MON", "13 * ?"),
    ]
)


def range_clock(*sizes):
    """Hours, minutes and seconds from 0 on."""
    return tuple(tuple(range(size)) for size in sizes)


def clock_values(size):
    values = st.sets(st.integers(0, size - 1), min_size=1, max_size=4)
    return st.one_of(values, st.just(set(range(size)))).map(lambda v: tuple(sorted(v)))


CLOCKS = st.tuples(clock_values(24), clock_values(60), clock_values(60))


def reading_ticks(reading, after, n):
    """The first ticks of a reading, through the one method that finds any."""
    ticks = []
    while len(ticks) < n and (tick := reading.parts_from(NEVER, after)) is not None:
        ticks.append(tick)
        after = tick
    return ticks


class TestReading:
    @given(SERVER, st.integers(0, 2_000_000_000_000))
    def test_of_a_dialect_has_the_ticks_of_the_core(self, text, after):
        cron = CronExpression(text)
        theirs = [tick for tick in chain(cron, after, 20) if tick < ms("2100-01-01T00:00:00+00:00")]
        assert reading_ticks(dialect_reading(cron), after, 20)[: len(theirs)] == theirs

    @given(QUARTZ_DAYS, st.integers(0, 2_000_000_000_000))
    def test_of_quartz_has_the_ticks_of_the_core(self, days, after):
        cron = CronExpression(f"0 0 12 {days}", "quartz")
        assert reading_ticks(dialect_reading(cron), after, 30) == chain(cron, after, 30)

    @given(CRONTABS, st.integers(0, 2_000_000_000_000))
    def test_of_a_crontab_has_the_ticks_that_croniter_walks(self, text, after):
        walked = crontab_fires_ms(text, after, 20)
        assume(not walked or walked[-1] < ms("2100-01-01T00:00:00+00:00"))
        assert reading_ticks(crontab_reading(text), after, 20)[: len(walked)] == walked

    @given(SERVER, SERVER)
    def test_equality_is_that_of_the_masks_in_both_directions(self, one, other):
        a, b = (dialect_reading(CronExpression(text)) for text in (one, other))
        assert a.fires_like(a)
        assert a.fires_like(b) == b.fires_like(a) == (a.parts_from(b, -1) is None)
        assert a.parts_from(b, -1) == b.parts_from(a, -1)

    @given(SERVER, SERVER, st.integers(0, 2_000_000_000_000))
    def test_the_first_difference_is_where_the_chains_part(self, one, other, after):
        ours, theirs = CronExpression(one), CronExpression(other)
        parting = dialect_reading(ours).parts_from(dialect_reading(theirs), after)
        pairs = zip(chain(ours, after, 200), chain(theirs, after, 200), strict=False)
        walked = next((min(pair) for pair in pairs if pair[0] != pair[1]), None)
        if walked is not None and walked < ms("2100-01-01T00:00:00+00:00"):
            assert parting == walked
        if parting is not None:
            assert ours.matches_ms(parting) != theirs.matches_ms(parting)

    @given(CLOCKS, CLOCKS, st.integers(-1, 86_399))
    @example(range_clock(24, 60, 60), range_clock(24, 60, 60), 86_000)
    @example(range_clock(24, 60, 60), range_clock(24, 60, 59), 86_398)
    @example(range_clock(24, 60, 60), range_clock(24, 60, 59), 86_399)
    @example(range_clock(23, 60, 60), range_clock(24, 59, 60), 82_799)
    def test_times_of_the_day_part_where_every_second_says_so(self, one, other, after):
        days = [(1, 2), (2,)]  # 1970-01-01 is of the first alone, 1970-01-02 of both
        readings = [
            Reading("", *reversed(clock), dates, (1,), range(1, 8), (1970,))
            for clock, dates in zip((one, other), days, strict=True)
        ]
        mine, his = (
            {
                ((day - 1) * 24 + h) * 3600 + m * 60 + s
                for day in dates
                for h, m, s in product(*clock)
            }
            for clock, dates in zip((one, other), days, strict=True)
        )
        for start in (after, after + 86_400):
            lone = min((second for second in mine ^ his if second > start), default=None)
            assert readings[0].parts_from(readings[1], start * 1000) == (lone and lone * 1000)
            assert readings[1].parts_from(readings[0], start * 1000) == (lone and lone * 1000)

    def test_no_second_of_a_dense_day_is_walked(self):
        # The last second of a day on which two fire alike: a walk would look at all 86,400.
        seen = []

        class Counted(tuple):
            def __contains__(self, value):
                seen.append(value)
                return super().__contains__(value)

        clock = tuple(map(Counted, range_clock(24, 60, 60)))
        less = tuple(map(Counted, range_clock(24, 60, 59)))
        days = ((1,), (1,), range(1, 8), (1970,))
        dense, other = Reading("", *reversed(clock), *days), Reading("", *reversed(less), *days)
        assert dense.parts_from(other, 86_398_000) == 86_399_000
        assert dense.parts_from(NEVER, 86_398_000) == 86_399_000
        assert len(seen) < 400

    def test_two_that_never_fire_are_alike_whatever_their_times(self):
        one, other = CronExpression("0 0 30 2 *"), CronExpression("5 5 31 4 *")
        assert dialect_reading(one).fires_like(dialect_reading(other))
        assert dialect_reading(one).fires_like(NEVER)

    def test_a_year_list_counts_year_by_year(self):
        leap = dialect_reading(CronExpression("0 0 0 29 2 * 2024,2025,2028"))
        years = dialect_reading(CronExpression("0 0 0 29 2 * 2024,2028"))
        assert leap.fires_like(years)
        assert not leap.fires_like(dialect_reading(CronExpression("0 0 29 2 *")))
        assert list(YEARS) == list(range(1970, 2100))


class TestFieldTexts:
    @given(st.sets(st.integers(1, 7), min_size=1))
    def test_weekday_text_is_read_back_by_both_readers(self, days):
        text = weekday_text(sorted(days))
        assert set(CronExpression(f"0 0 * * {text}").days_of_week) == days
        assert set(crontab_reading(f"0 0 * * {text}").days_of_week) == days

    @given(st.sets(st.integers(0, 59), min_size=1))
    def test_number_text_is_read_back(self, values):
        text = number_text(sorted(values), range(60))
        assert set(CronExpression(f"{text} * * * *").minutes) == values

    @pytest.mark.parametrize(
        ("days", "text"),
        [
            ([1, 7], "SAT,SUN"),
            ([1, 2, 7], "SAT,SUN,MON"),
            ([1, 2, 3, 4, 5], "SUN-THU"),
            ([2, 3, 4, 5, 6, 7], "MON-SAT"),
            ([1, 3, 4, 5, 6, 7], "TUE-SAT,SUN"),
            ([1, 2, 4, 6], "SUN,MON,WED,FRI"),
            (list(range(1, 8)), "*"),
        ],
    )
    def test_weekdays_are_written_for_people(self, days, text):
        assert weekday_text(days) == text
