"""What a text means in a crontab, how that differs, and what to write for it.

Ticks are walked here, by croniter and by the core, against the sets that the package
compares: the proof is tested by another road.
"""

import datetime
from itertools import product

import pytest
from croniter import croniter
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from resonate_lab.cron import CronError, CronExpression
from resonate_lab.cron.crontab import (
    Comparison,
    CrontabError,
    Translation,
    compare,
    crontab_fires_ms,
    crontab_reading,
    crontab_weekdays,
    dialect_reading,
    translate,
    translate_reading,
    verdict,
)
from resonate_lab.cron.reading import NEVER, YEARS, Reading, number_text, weekday_text

NOW = 1_704_067_200_000  # 2024-01-01T00:00:00Z, a Monday
DAY = 86_400_000


def ms(text):
    return int(datetime.datetime.fromisoformat(text).timestamp() * 1000)


def chain(cron, after, n):
    ticks = []
    while len(ticks) < n and (tick := cron.next_ms(after)) is not None:
        ticks.append(tick)
        after = tick
    return ticks


def field(low, high, names=()):
    values = st.integers(low, high)
    word = values.map(str)
    pair = st.tuples(values, values).map(lambda p: f"{min(p)}-{max(p)}")
    steps = st.integers(1, high)
    items = [
        st.just("*"),
        word,
        word,
        pair,
        steps.map(lambda n: f"*/{n}"),
        st.tuples(pair, steps).map(lambda p: f"{p[0]}/{p[1]}"),
    ]
    if names:
        items.append(st.sampled_from(names))
    item = st.one_of(items)
    return st.one_of(item, st.lists(item, min_size=2, max_size=3).map(",".join))


DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTHS = ("JAN", "FEB", "SEP", "DEC")
CRONTABS = st.tuples(
    field(0, 59), field(0, 23), field(1, 31), field(1, 12, MONTHS), field(0, 7, DAYS)
).map(" ".join)
SERVER = st.tuples(
    field(0, 59), field(0, 23), field(1, 31), field(1, 12, MONTHS), field(1, 7, DAYS)
).map(" ".join)
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


class TestCrontab:
    @pytest.mark.parametrize(
        ("text", "start", "fires"),
        [
            pytest.param(
                "0 16 1,2,3 * FRI",
                "2023-05-01T00:00:00+00:00",
                ["2023-05-01", "2023-05-02", "2023-05-03", "2023-05-05", "2023-05-12"],
                id="OR: pallets-eco/croniter#41",
            ),
            pytest.param(
                "0 0 */2 * 1",
                "2024-12-31T23:59:00+00:00",
                ["2025-01-13", "2025-01-27"],
                id="AND after a star: QwenLM/qwen-code#7464",
            ),
            pytest.param(
                "0 0 * * 7",
                "2024-01-01T00:00:00+00:00",
                ["2024-01-07", "2024-01-14"],
                id="7 is Sunday: garethgeorge/backrest#1104",
            ),
            pytest.param(
                "0 0 * 2 MON#5",
                "2020-01-01T00:00:00+00:00",
                ["2044-02-29", "2072-02-29", "2112-02-29", "2140-02-29"],
                id="2100 is no leap year: cronsim project page",
            ),
        ],
    )
    def test_reads_as_the_daemons_do(self, text, start, fires):
        found = crontab_fires_ms(text, ms(start), len(fires))
        assert [tick // DAY for tick in found] == [
            ms(f"{day}T00:00:00+00:00") // DAY for day in fires
        ]

    def test_readers_by_the_letter_say_or_after_a_star_and_that_is_told(self):
        letter = croniter("0 0 */2 * 1", NOW / 1000, day_or=True)
        assert letter.get_next(float) * 1000 == ms("2024-01-03T00:00:00+00:00")
        assert crontab_reading("0 0 */2 * 1").disputed
        assert not crontab_reading("0 0 1-31/2 * 1").disputed
        assert not crontab_reading("0 0 */2 * *").disputed

    @pytest.mark.parametrize(
        ("text", "dates", "written"),
        [
            ("0 0 3,* * 3", "1 2 3 4", "0 0 3,* * *"),
            ("0 0 1,*/3 * SUN-SAT", "1 2 3 4", "0 0 * * *"),
            ("0 0 31,*/20 * 6", "1 6 13 20", ""),
            ("0 0 5 * 6,*/6", "5 6 7 13", ""),
        ],
    )
    def test_only_a_star_that_a_day_field_begins_with_joins_by_and(self, text, dates, written):
        # January 2024 began on a Monday; a daemon looks at the first character alone.
        found = crontab_fires_ms(text, NOW - 1, 4)
        assert [tick // DAY - NOW // DAY + 1 for tick in found] == [int(d) for d in dates.split()]
        assert crontab_reading(text).parts_from(NEVER, NOW - 1) == found[0]
        assert not written or translate(text, CronExpression).texts == (written,)

    def test_an_equal_range_is_its_one_value(self):
        assert crontab_reading("5-5 3-3/2 * * mon-MON").times == ((3,), (5,), (0,))
        assert crontab_reading("0 0 * * mon-MON").days_of_week == (2,)

    def test_six_fields_have_the_seconds_last_and_seven_the_year(self):
        six, seven = crontab_reading("5 * * * * 30"), crontab_reading("5 4 1 1 * 30 2027")
        assert (six.minutes, six.seconds) == ((5,), (30,))
        assert (seven.hours, seven.seconds, seven.years) == ((4,), (30,), (2027,))

    @pytest.mark.parametrize("text", ["@midnight", " @Annually ", "@hourly", "@weekly"])
    def test_reads_shorthands(self, text):
        assert crontab_reading(text).seconds == (0,)

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("", "refused by croniter"),
            ("a b c d e", "refused by croniter"),
            ("60 * * * *", "refused by croniter"),
            ("* * * *", "refused by croniter"),
            ("9" * 500 + " * * * *", "refused by croniter"),
            ("9" * 5_000 + " * * * *", "longer than 1,000"),
            ("1," * 5_000 + "1 * * * *", "longer than 1,000"),
            ("@reboot", "start of the machine"),
            ("@every 5m", "refused by croniter"),
            ("H H * * *", "at random"),
            ("r * * * *", "at random"),
            ("0 0 15W * *", "uses W"),
            ("0 0 1 * 5#2", "beside a day of month"),
            ("<script>\u202e * * * *", "refused by croniter"),
        ],
    )
    def test_refuses_in_one_printable_sentence(self, text, says):
        with pytest.raises(CrontabError, match=says) as caught:
            crontab_reading(text)
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 300
        with pytest.raises(CrontabError, match=says):
            crontab_fires_ms(text, NOW, 1)

    @given(field(0, 7, DAYS))
    def test_weekday_fields_are_read_as_croniter_reads_them(self, text):
        expected = set(crontab_reading(f"0 0 * * {text}").days_of_week)
        assert crontab_weekdays(text) == expected

    @pytest.mark.parametrize("text", ["6L", "2#4", "", "8", "x", "1-", "*-3", "L"])
    def test_other_weekday_fields_have_no_reading(self, text):
        assert crontab_weekdays(text) is None


TRANSLATIONS = {
    "0 9 * * 1-5": ["0 9 * * MON-FRI"],
    "0 0 * * 0": ["0 0 * * SUN"],
    "0 0 * * 7": ["0 0 * * SUN"],
    "0 9 * * 1,3,5": ["0 9 * * MON,WED,FRI"],
    "0 8 * * 6,0": ["0 8 * * SAT,SUN"],
    "06 22 * * 0-4": ["06 22 * * SUN-THU"],
    "0 14 * * 0,2,3,5,6": ["0 14 * * TUE,WED,FRI,SAT,SUN"],
    "0 0 * * */2": ["0 0 * * TUE,THU,SAT,SUN"],
    "0 0 * * sat-mon": ["0 0 * * SAT,SUN,MON"],
    "0 22-2 * * *": ["0 0-2,22,23 * * *"],
    "*/10 7-19 * * 1-5": ["*/10 7-19 * * MON-FRI"],
    "0 9 * * *": ["0 9 * * *"],
    "0 0 1 * 0-6": ["0 0 * * *"],
    "@midnight": ["@daily"],
    "@annually": ["@yearly"],
    "@daily": ["@daily"],
    "0 0 1 * 1": ["0 0 1 * *", "0 0 2-31 * MON"],
    "30 4 1,15 * 5": ["30 4 1,15 * *", "30 4 2-14,16-31 * FRI"],
    "0 0 */2 * 1": ["0 0 */2 * MON"],
    "0 0 * 2 MON#5": ["0 0 29-31 2 MON"],
    "0 0 * * 5#3": ["0 0 15-21 * FRI"],
    "*/5 * * * * 0": ["0 */5 * * * *"],
    "0 9 * * 1-5 */30": ["*/30 0 9 * * MON-FRI"],
    "0 0 1 1 * 0 2027": ["0 0 0 1 1 * 2027"],
    "0 9 ? * 1-5": ["0 9 ? * MON-FRI"],
}


class TestTranslate:
    @pytest.mark.parametrize("text", TRANSLATIONS)
    def test_writes(self, text):
        assert list(translate(text, CronExpression).texts) == TRANSLATIONS[text]

    @pytest.mark.parametrize("text", TRANSLATIONS)
    def test_what_it_writes_has_the_ticks_that_croniter_walks(self, text):
        theirs = crontab_fires_ms(text, NOW, 300)
        theirs = [tick for tick in theirs if tick < ms("2100-01-01T00:00:00+00:00")]
        crons = [CronExpression(each) for each in translate(text, CronExpression).texts]
        ours = [tick for cron in crons for tick in chain(cron, NOW, len(theirs))]
        assert sorted(ours)[: len(theirs)] == theirs
        assert len(set(ours)) == len(ours)

    @given(CRONTABS)
    @settings(max_examples=40)
    def test_every_plain_crontab_has_a_translation_with_its_ticks(self, text):
        found = translate(text, CronExpression)
        assert len(found.texts) in (1, 2)
        theirs = crontab_fires_ms(text, NOW, 40)
        assume(not theirs or theirs[-1] < ms("2100-01-01T00:00:00+00:00"))
        ours = [t for each in found.texts for t in chain(CronExpression(each), NOW, 40)]
        assert sorted(ours)[: len(theirs)] == theirs

    @pytest.mark.parametrize("text", ["0 0 l * *", "0 0 * * L5"])
    def test_says_why_there_is_none(self, text):
        found = translate(text, CronExpression)
        assert found.texts == ()
        assert found.text is None
        assert "'quartz' has it" in found.reason

    @pytest.mark.parametrize(
        ("text", "written"),
        [
            ("0 0 0 ? * 2#4", "0 0 0 22-28 * MON"),
            ("0 0 0 ? * WED#4 2050", "0 0 0 22-28 * WED 2050"),
            ("0 0 12 ? * L", "0 0 12 ? * SAT"),
            ("0 0 0 ? * FRI-MON", "0 0 0 ? * FRI,SAT,SUN,MON"),
            ("0 0 22-2 * * ?", "0 0 0-2,22,23 * * *"),
            ("0 0 0 1 NOV-FEB ?", "0 0 0 1 1,2,11,12 *"),
            ("0 15 10 L * ?", None),
            ("0 15 10 LW * ?", None),
            ("0 15 10 1W * ?", None),
            ("0 15 10 ? * 6L", None),
        ],
    )
    def test_writes_what_quartz_means_where_the_server_can(self, text, written):
        quartz = CronExpression(text, "quartz")
        found = translate_reading(dialect_reading(quartz), CronExpression)
        assert found.text == written
        if written is not None:
            assert chain(CronExpression(written), NOW, 50) == chain(quartz, NOW, 50)

    def test_two_expressions_are_said_to_be_two(self):
        found = translate("0 0 13 * 5", CronExpression)
        assert found.text is None
        assert "two schedules" in found.reason


class TestVerdict:
    @pytest.mark.parametrize(
        ("text", "other", "expected"),
        [
            ("0 9 * * *", "crontab", "same"),
            ("0 9 * * MON-FRI", "crontab", "same"),
            ("0 9 * * 1-7", "crontab", "same"),
            ("0 7 * * */3", "crontab", "same"),
            ("@daily", "crontab", "same"),
            ("0 0 30 2 *", "crontab", "same"),
            ("0 9 * * 1-5", "crontab", "different"),
            ("0 0 13 * FRI", "crontab", "different"),
            ("0 0 9 * * MON-FRI", "crontab", "refused-there"),
            ("0 0 9 * * 5", "crontab", "different"),
            ("******", "crontab", "refused-there"),
            ("0 0 * * 0", "crontab", "refused-here"),
            ("@midnight", "crontab", "refused-here"),
            ("0 0 * * 9", "crontab", "refused-both"),
            ("", "crontab", "refused-both"),
            ("0 0 9 ? * MON-FRI", "quartz", "same"),
            ("0 0 9 * * MON-FRI", "quartz", "refused-there"),
            ("0 0 9 L * ?", "quartz", "refused-here"),
            ("0 9 * * *", "resonate-0.9.8", "same"),
        ],
    )
    def test_is(self, text, other, expected):
        assert verdict(text, CronExpression, NOW, other=other).verdict == expected

    @given(CRONTABS)
    @settings(max_examples=40)
    def test_same_means_the_same_ticks_and_different_names_the_first(self, text):
        found = verdict(text, CronExpression, NOW)
        theirs = crontab_fires_ms(text, NOW, 40)
        assume(not theirs or theirs[-1] < ms("2100-01-01T00:00:00+00:00"))
        if found.verdict == "same":
            assert chain(CronExpression(text), NOW, len(theirs)) == theirs
        elif found.verdict == "different":
            parting = found.first_difference_ms
            here = CronExpression(text).matches_ms(parting)
            assert here != (crontab_fires_ms(text, parting - 1000, 1) == [parting])

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("0 9 * * 1-5", "Sunday to Thursday here and Monday to Friday in a crontab"),
            ("0 0 13 * FRI", "both day fields must match here"),
            ("0 0 9 * * 5", "the first field is the seconds here"),
        ],
    )
    def test_says_how_they_differ_and_when(self, text, says):
        found = verdict(text, CronExpression, NOW)
        assert says in found.reason
        assert "they part at 2024-01-" in found.reason

    def test_gives_what_to_write(self):
        assert verdict("0 0 * * 0", CronExpression, NOW).translation == Translation(
            "0 0 * * 0", ("0 0 * * SUN",), "the same instants: Sunday"
        )
        assert verdict("0 9 * * *", CronExpression, NOW).translation is None

    def test_sees_the_future_year_defect(self):
        late = ms("2026-11-30T12:00:00+00:00")
        found = verdict("0 0 9 * * MON-FRI 2027", CronExpression, late, other="resonate-0.9.8")
        assert found.verdict == "different"
        assert found.first_difference_ms == ms("2027-01-01T09:00:00+00:00")
        assert "not on 1 January" in found.reason

    def test_the_first_tick_may_agree_despite_the_defect(self):
        found = verdict("0 0 0 1 1 * 2024-2026", CronExpression, NOW, other="resonate-0.9.8")
        assert found == Comparison(
            *("0 0 0 1 1 * 2024-2026", "resonate-0.9.8", "same"),
            "the same instants: day 1 of the month",
        )

    def test_a_dispute_among_readers_is_told(self):
        found = verdict("0 0 */2 * MON", CronExpression, NOW)
        assert found.verdict == "same"
        assert "letter of POSIX" in found.reason

    @pytest.mark.parametrize("kind", ["other", "dialect"])
    def test_an_unknown_dialect_is_the_callers_mistake(self, kind):
        with pytest.raises(ValueError, match="'cronus'"):
            verdict("0 9 * * *", CronExpression, NOW, **{kind: "cronus"})

    def test_hostile_texts_are_judged_and_quoted_safely(self):
        for text in ("<b>\u202e", "0," * 5_000 + "0 * * * *", "\x1b[2J * * * *", "\ud800"):
            found = verdict(text, CronExpression, NOW)
            assert found.reason.isprintable()
            assert len(found.reason) < 600


class TestCompare:
    def test_shows_both_chains_and_the_first_difference(self):
        rows = compare(CronExpression("0 0 * * 1"), "crontab", NOW, 2)
        assert rows == [
            {
                "tick": 1,
                "ours_ms": ms("2024-01-07T00:00:00+00:00"),
                "theirs_ms": ms("2024-01-08T00:00:00+00:00"),
                "same": False,
                "first_difference": True,
            },
            {
                "tick": 2,
                "ours_ms": ms("2024-01-14T00:00:00+00:00"),
                "theirs_ms": ms("2024-01-15T00:00:00+00:00"),
                "same": False,
                "first_difference": False,
            },
        ]

    def test_adds_the_first_difference_where_it_comes_later(self):
        rows = compare(CronExpression("0 9 * * 1-5"), "crontab", NOW, 2)
        assert [row["tick"] for row in rows] == [1, 2, 5]
        assert [row["first_difference"] for row in rows] == [False, False, True]
        assert rows[2]["ours_ms"] == ms("2024-01-07T09:00:00+00:00")
        assert rows[2]["theirs_ms"] == ms("2024-01-05T09:00:00+00:00")

    def test_all_rows_are_the_same_where_the_texts_are(self):
        rows = compare(CronExpression("*/5 * * * *"), "crontab", NOW)
        assert len(rows) == 5
        assert all(row["same"] and not row["first_difference"] for row in rows)

    def test_a_chain_that_ends_is_none_from_there(self):
        ended = compare(CronExpression("0 0 0 1 1 ? 2027"), "quartz", NOW, 3)
        assert [row["same"] for row in ended] == [True]
        assert compare(CronExpression("0 0 30 2 *"), "crontab", NOW) == []

    def test_another_dialect_is_compared_too(self):
        late = ms("2026-11-30T12:00:00+00:00")
        cron = CronExpression("0 0 9 * * MON-FRI 2027")
        rows = compare(cron, "resonate-0.9.8", late, 1)
        assert rows[0]["ours_ms"] == ms("2027-01-01T09:00:00+00:00")
        assert rows[0]["theirs_ms"] == ms("2027-12-01T09:00:00+00:00")
        assert rows[0]["first_difference"] is True

    def test_refused_there_is_an_error(self):
        with pytest.raises(CrontabError):
            compare(CronExpression("0 0 9 * * MON-FRI"), "crontab", NOW)
        with pytest.raises(CronError):
            compare(CronExpression("0 0 9 * * MON-FRI"), "quartz", NOW)


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
