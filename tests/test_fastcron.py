"""The compiled core against judges that share nothing with it, and against bad input."""

import array
import ast
import copy
import inspect
import pickle
import re
import sys
from datetime import UTC, datetime
from itertools import pairwise

import fuzz_fastcron
import oracle
import pytest
from grammar import END_MS, instants, texts
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import DIALECTS

from resonate_lab import _fastcron
from resonate_lab._fastcron import Cron, CronError

SECOND, DAY = 1000, 86_400_000
NOW = 1_704_067_200_000  # 2024-01-01T00:00:00Z
NAMES = ("seconds", "minutes", "hours", "days_of_month", "months", "days_of_week", "years")
# The profile `deep` draws more examples; the seeded runs grow with it.
SCALE = max(1, settings().max_examples // 60)

each_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def ms(text):
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def iso(at):
    return (
        None if at is None else datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    )


def sets_of(cron):
    return tuple(frozenset(getattr(cron, name)) for name in NAMES)


def chain(cron, after, until=END_MS, limit=10_000):
    found, at = [], after
    while len(found) < limit and (at := cron.next_ms(at)) is not None and at <= until:
        found.append(at)
    return found


def filled(cron, after, room):
    out = array.array("q", bytes(8 * room))
    return out[: cron.fill_ms(after, out)].tolist()


def refused(text, dialect="resonate"):
    with pytest.raises(CronError) as caught:
        Cron(text, dialect)
    return caught.value


class TestParse:
    @pytest.mark.parametrize(
        ("text", "dialect", "name", "values"),
        [
            ("*/20 * * * *", "resonate", "minutes", (0, 20, 40)),
            ("50/4 * * * *", "resonate", "minutes", (50, 54, 58)),
            ("1-9/4,3,3 * * * *", "resonate", "minutes", (1, 3, 5, 9)),
            ("*/90 * * * *", "resonate", "minutes", (0,)),
            ("0 9 * * *", "resonate", "seconds", (0,)),
            ("0 9 * * 1-5", "resonate", "days_of_week", (1, 2, 3, 4, 5)),
            ("0 9 * * Tues,THURSDAY,sat", "resonate", "days_of_week", (3, 5, 7)),
            ("0 9 * mar-MAY *", "resonate", "months", (3, 4, 5)),
            ("0 9 ? * ?", "resonate", "days_of_month", tuple(range(1, 32))),
            ("0 0 0 1 1 * 2099-2100", "resonate", "years", (2099, 2100)),
            ("0 0 0 1 1 ? */50", "quartz", "years", (1970, 2020, 2070)),
            ("0 0 22-2 1 * ?", "quartz", "hours", (0, 1, 2, 22, 23)),
            ("0 0 0 28-3/2 * ?", "quartz", "days_of_month", (1, 3, 28, 30)),
            ("0 0 0 ? * FRI-MON", "quartz", "days_of_week", (1, 2, 6, 7)),
            ("0 0 0 ? * L", "quartz", "days_of_week", (7,)),
            ("0 0 0 L * ?", "quartz", "days_of_month", tuple(range(1, 32))),
            ("@weekly", "resonate", "days_of_week", (1,)),
        ],
    )
    def test_a_field_holds_the_values_that_its_text_lists(self, text, dialect, name, values):
        assert getattr(Cron(text, dialect), name) == values

    @pytest.mark.parametrize(
        ("field", "rule"),
        [
            ("L", "L"),
            ("l-0", "L"),
            ("L-3", "L-3"),
            ("LW", "LW"),
            ("L-03w", "L-3W"),
            ("015W", "15W"),
            ("15", None),
        ],
    )
    def test_day_of_month_rules_have_one_written_form(self, field, rule):
        assert Cron(f"0 0 0 {field} * ?", "quartz").day_rule == rule

    @pytest.mark.parametrize(
        ("field", "rule"),
        [("6L", "6L"), ("friL", "6L"), ("2#1", "2#1"), ("MON#01", "2#1"), ("L", None)],
    )
    def test_weekday_rules_have_one_written_form(self, field, rule):
        assert Cron(f"0 0 0 ? * {field}", "quartz").day_rule == rule

    @pytest.mark.parametrize(
        ("text", "dialect", "expected"),
        [
            ("0 9 * * 1-5", "resonate", (None, "0", "9", "*", "*", "1-5", None)),
            ("  7 0 9 * * MON - FRI ", "resonate", ("7", "0", "9", "*", "*", "MON - FRI", None)),
            ("0 0 0 * * MON2030", "resonate", ("0", "0", "0", "*", "*", "MON", "2030")),
            ("*****/5*", "resonate", ("*", "*", "*", "*", "*/5", "*", None)),
            ("\u3000*/5 * * * *", "resonate", (None, "*/5", "*", "*", "*", "*", None)),
            ("\xa00 9 * * * * \t", "resonate", ("0", "9", "*", "*", "*", "*", None)),
            (",5 ** * * *", "resonate", (",5", "*", "*", "*", "*", "*", None)),
            ("0 0 12 ? * 6#3 2030", "quartz", ("0", "0", "12", "?", "*", "6#3", "2030")),
            (" @daily", "resonate", (None,) * 7),
        ],
    )
    def test_field_texts_are_the_source_cut_up(self, text, dialect, expected):
        assert Cron(text, dialect).field_texts == expected

    @pytest.mark.parametrize("name", sorted(_fastcron.SHORTHANDS))
    @pytest.mark.parametrize("around", [("", ""), (" ", "\n"), ("\xa0", " "), ("\u3000", "\u2003")])
    def test_shorthands_equal_their_longhand_whatever_blank_stands_around(self, name, around):
        cron = Cron(name.join(around))
        assert sets_of(cron) == sets_of(Cron(_fastcron.SHORTHANDS[name]))
        assert cron.shorthand == name
        assert Cron(_fastcron.SHORTHANDS[name]).shorthand is None

    def test_a_list_of_ten_thousand_items_and_a_text_of_a_megabyte_are_read(self):
        assert Cron(",".join(["7"] * 10_000) + " * * * *").minutes == (7,)
        assert Cron("7" + " " * 1_000_000 + "* * * *").minutes == (7,)
        assert Cron("0" * 1_000_000 + "7 * * * *").minutes == (7,)


class TestAgainstTheJudge:
    """The parser, on generated and on damaged texts."""

    @each_dialect
    @given(data=st.data())
    def test_generated_texts_mean_the_same(self, dialect, data):
        text = data.draw(texts(dialect))
        cron, model = Cron(text, dialect), oracle.read(text, dialect)
        assert (sets_of(cron), cron.day_rule) == (model.fields, model.rule)

    @each_dialect
    def test_damaged_texts_are_taken_or_refused_alike_and_mean_the_same(self, dialect):
        wrong, taken = [], 0
        for text in oracle.mutations(20_241, SEED_TEXTS[dialect], 20_000 * SCALE):
            model = oracle.read(text, dialect)
            try:
                cron = Cron(text, dialect)
            except CronError:
                cron = None
            taken += cron is not None
            if (cron is None) != (model is None) or (
                cron is not None and (sets_of(cron), cron.day_rule) != (model.fields, model.rule)
            ):
                wrong.append(text)
        assert wrong == []
        assert 2_000 * SCALE < taken < 15_000 * SCALE  # both verdicts are well tried

    @each_dialect
    def test_every_refusal_is_one_sentence_that_points_at_its_token(self, dialect):
        for text in oracle.mutations(7, SEED_TEXTS[dialect], 5_000 * SCALE):
            try:
                Cron(text, dialect)
            except CronError as error:
                check_refusal(error, text, dialect)


CRATE_TEXTS = [
    *("0 9 * * 1-5", "*/5 * * * *", "0 0 29 2 *", "30 3 13 * FRI", "*/15 9-17 * * MON-FRI"),
    *("@daily", "@hourly", "0 0 0 1 1 * 2027,2029", "******", "0 0 0 * * MON2030"),
    *("0 9 * * MON - FRI", "1 ,2 * * * * *", ",5 ** * * *", "\t0  0 0 1 * ?  ", "5*7 * * * *"),
    "0 30 9 1-7,15-21/2 JAN,march-May ? 2030-2040/2",
    "50/4 10-20/3 */90 ? * Tues,thursday 1970-2100",
    *("0 0 12 L * ?", "0 0 * * 0", "0 22-2 * * *"),
]
QUARTZ_TEXTS = [
    *("0 0 9 ? * MON-FRI", "0 0/5 14,18 * * ?", "0 15 10 L * ?", "0 15 10 L-3W * ? 2030-2040"),
    *("0 15 10 15W * ?", "0 15 10 ? * 6L", "0 15 10 ? * 6#3", "0 0 12 ? * FRI-MON", "0 0 0 LW 2 ?"),
    *("0 0 22-2/2 28-3 NOV-FEB ?", "*/59 */59 */23 ? */12 */7", "0 15 10 ? * monL 2022"),
    *("0 0 0 ? * L", "1 2 3 4 5 ? 1970,2099", "10-5/7 59-0 0 1/31 12 ?"),
]
SEED_TEXTS = {"resonate": CRATE_TEXTS, "resonate-0.9.8": CRATE_TEXTS, "quartz": QUARTZ_TEXTS}


class TestFamousInstants:
    @pytest.mark.parametrize(
        ("text", "dialect", "after", "expected"),
        [
            pytest.param(
                "0 0 29 2 *",
                "resonate",
                "2096-02-29",
                "None",
                id="2100 is no leap year (Gregorian)",
            ),
            pytest.param(
                "0 0 29 2 *", "resonate", "1999-12-31", "2000-02-29 00:00:00", id="2000 is one"
            ),
            pytest.param(
                "0 0 28 2 *",
                "resonate",
                "2100-01-01",
                "2100-02-28 00:00:00",
                id="the last February",
            ),
            pytest.param(
                "59 59 23 31 12 * 2100",
                "resonate",
                "2100-12-31",
                "2100-12-31 23:59:59",
                id="last tick",
            ),
            pytest.param(
                "0 0 1 1 *", "resonate", "2023-12-31 23:59:59", "2024-01-01 00:00:00", id="new year"
            ),
            pytest.param(
                "30 3 13 * FRI",
                "resonate",
                "2024-01-01",
                "2024-09-13 03:30:00",
                id="Friday the 13th",
            ),
            pytest.param(
                "0 0 31 * *",
                "resonate",
                "2024-03-31",
                "2024-05-31 00:00:00",
                id="April has 30 days",
            ),
            pytest.param(
                "0 0 30 2 *", "resonate", "1970-01-01", "None", id="30 February never comes"
            ),
            pytest.param(
                "0 0 9 ? * 6#3",
                "quartz",
                "2024-01-01",
                "2024-01-19 09:00:00",
                id="6#3, Quartz manual",
            ),
            pytest.param(
                "0 0 9 ? * 2#5", "quartz", "2024-02-01", "2024-04-29 09:00:00", id="a fifth Monday"
            ),
            pytest.param(
                "0 0 9 ? * 6L",
                "quartz",
                "2024-02-01",
                "2024-02-23 09:00:00",
                id="6L, Quartz manual",
            ),
            pytest.param(
                "0 0 9 LW * ?",
                "quartz",
                "2024-03-01",
                "2024-03-29 09:00:00",
                id="LW, Quartz manual",
            ),
            pytest.param(
                "0 0 9 1W * ?", "quartz", "2024-06-01", "2024-06-03 09:00:00", id="1W on a Saturday"
            ),
            pytest.param(
                "0 0 9 31W * ?", "quartz", "2024-03-01", "2024-03-29 09:00:00", id="31W on a Sunday"
            ),
            pytest.param(
                "0 0 9 L-30 * ?",
                "quartz",
                "2024-02-01",
                "2024-03-01 09:00:00",
                id="L-30 needs 31 days",
            ),
            pytest.param(
                "0 0 0 1 1 * 2027,2029",
                "resonate-0.9.8",
                "2026-11-30 00:53:20",
                "2029-01-01 00:00:00",
                id="the released server misses the first of 2027",
            ),
            pytest.param(
                "*/10 * * * * * 2028",
                "resonate-0.9.8",
                "2026-11-30 00:53:20",
                "2028-11-30 00:53:30",
                id="the released server begins at its own date",
            ),
            pytest.param(
                "0 0 0 1 1 * 2030",
                "resonate-0.9.8",
                "2026-11-30",
                "None",
                id="and then has no tick",
            ),
            pytest.param(
                "0 0 0 1 1 * 2030",
                "resonate",
                "2026-11-30",
                "2030-01-01 00:00:00",
                id="ours has it",
            ),
            pytest.param(
                "0 0 6 28 2 * 2025",
                "resonate-0.9.8",
                "2024-02-29 12:00:00",
                "2025-02-28 06:00:00",
                id="29 February in a common year: the hour does not bind",
            ),
            pytest.param(
                "0 0 6 28-29 2 * 2025",
                "resonate-0.9.8",
                "2024-02-29 12:00:00",
                "None",
                id="but it binds where the 29th is listed",
            ),
        ],
    )
    def test_next_is_the_known_instant(self, text, dialect, after, expected):
        assert str(iso(Cron(text, dialect).next_ms(ms(after)))) == expected


class TestEdges:
    """Both ends of the calendar, and instants between two seconds."""

    def test_the_first_second_is_found_from_minus_one_only(self):
        cron = Cron("* * * * * *")
        assert cron.next_ms(-1) == 0
        assert cron.next_ms(0) == SECOND
        assert cron.prev_ms(1) == 0
        assert cron.prev_ms(0) is None
        assert cron.prev_ms(-1) is None

    def test_the_last_second_is_found_from_beyond_the_end_only(self):
        cron = Cron("* * * * * *")
        assert cron.next_ms(END_MS - SECOND - 1) == END_MS - SECOND
        assert cron.next_ms(END_MS - SECOND) is None
        assert cron.next_ms(END_MS) is None
        assert cron.prev_ms(END_MS) == END_MS - SECOND

    @pytest.mark.parametrize(
        ("after", "expected"), [(-1, 0), (999, 1000), (1000, 2000), (1001, 2000), (1999, 2000)]
    )
    def test_next_rounds_a_broken_second_down_and_stays_strict(self, after, expected):
        assert Cron("* * * * * *").next_ms(after) == expected

    @pytest.mark.parametrize(("before", "expected"), [(1, 0), (999, 0), (1000, 0), (1001, 1000)])
    def test_prev_of_a_broken_second_is_its_own_beginning(self, before, expected):
        assert Cron("* * * * * *").prev_ms(before) == expected

    @pytest.mark.parametrize("at", [-1, 1, 999, 1001, END_MS, END_MS - 1])
    def test_no_instant_beside_a_whole_second_of_the_calendar_matches(self, at):
        assert not Cron("* * * * * *").matches_ms(at)

    @pytest.mark.parametrize("at", [0, 1000, END_MS - 1000])
    def test_whole_seconds_match(self, at):
        assert Cron("* * * * * *").matches_ms(at)

    @pytest.mark.parametrize(
        ("start", "end", "n"),
        [
            (-1, -1, 0),
            (-1, 0, 1),
            (0, 0, 1),
            (1, 999, 0),
            (0, 999, 1),
            (1, 1000, 1),
            (NOW, NOW, 1),
            (NOW, NOW + 1000, 2),
            (END_MS - 1000, END_MS, 1),
            (END_MS, END_MS, 0),
            (-1, END_MS, 4_133_980_800),
        ],
    )
    def test_windows_are_closed_at_both_ends(self, start, end, n):
        assert Cron("* * * * * *").count_ms(start, end) == n

    def test_every_day_of_the_calendar_is_found_in_order(self):
        days = filled(Cron("0 0 * * *"), -1, 60_000)
        assert days == list(range(0, END_MS, DAY))

    @each_dialect
    def test_quartz_ends_a_year_earlier(self, dialect):
        text = "0 0 0 1 1 ?"
        last = Cron(text, dialect).prev_ms(END_MS)
        assert iso(last) == ("2099" if dialect == "quartz" else "2100") + "-01-01 00:00:00"

    @pytest.mark.parametrize(
        ("text", "dialect"),
        [
            ("0 0 30 2 *", "resonate"),
            ("0 0 31 4,6,9,11 *", "resonate"),
            ("0 0 0 30 2 ?", "quartz"),
            ("0 0 0 31W 2,4 ?", "quartz"),
            ("0 0 0 L-30 2,4 ?", "quartz"),
            ("0 0 0 29 2 * 2023,2100", "resonate"),
            ("0 0 0 29 2 SUN 2024", "resonate-0.9.8"),
        ],
    )
    def test_an_impossible_date_has_no_tick_from_anywhere(self, text, dialect):
        cron = Cron(text, dialect)
        for at in (-1, 0, NOW, END_MS - 1, END_MS):
            assert cron.next_ms(at) is None
            assert cron.prev_ms(at) is None
            assert cron.remaining_ms(at) == 0
            assert filled(cron, at, 3) == []
        assert cron.count_ms(-1, END_MS) == 0

    def test_a_list_of_past_years_is_taken_and_has_run_out(self):
        cron = Cron("0 0 0 1 1 * 1999,2001")
        assert cron.next_ms(NOW) is None
        assert iso(cron.prev_ms(NOW)) == "2001-01-01 00:00:00"


class TestLaws:
    """What holds for any text and any instant, in all three dialects."""

    @each_dialect
    @given(data=st.data(), at=instants)
    def test_next_is_strictly_after_and_what_the_judge_finds(self, dialect, data, at):
        text = data.draw(texts(dialect))
        found = Cron(text, dialect).next_ms(at)
        expected = oracle.read(text, dialect).next(at // 1000)
        assert found == (None if expected is None else expected * 1000)
        assert found is None or (found > at and found % 1000 == 0)

    @each_dialect
    @given(data=st.data(), at=instants)
    def test_prev_is_strictly_before_and_what_the_judge_finds(self, dialect, data, at):
        text = data.draw(texts(dialect))
        found = Cron(text, dialect).prev_ms(at)
        expected = oracle.read(text, dialect).prev(-(-at // 1000))
        assert found == (None if expected is None else expected * 1000)
        assert found is None or found < at

    @each_dialect
    @given(data=st.data(), at=instants)
    def test_next_and_prev_are_inverse_on_ticks(self, dialect, data, at):
        # On ticks it holds for the released server too: a tick's year is listed, and the
        # second after the last of a year is where a search from 1 January begins anyway.
        cron = Cron(data.draw(texts(dialect)), dialect)
        tick = cron.prev_ms(at)
        if tick is None:
            tick = cron.next_ms(at)
        if tick is None:
            return
        later, earlier = cron.next_ms(tick), cron.prev_ms(tick)
        assert later is None or cron.prev_ms(later) == tick
        assert earlier is None or cron.next_ms(earlier) == tick

    @each_dialect
    @given(data=st.data(), at=instants)
    def test_no_tick_lies_between_an_instant_and_its_neighbours(self, dialect, data, at):
        cron = Cron(data.draw(texts(dialect)), dialect)
        before, after = cron.prev_ms(at), cron.next_ms(at)
        if before is not None:
            assert cron.count_ms(before, max(at - 1, before)) in (
                1,
                2 if dialect == DIALECTS[1] else 1,
            )
            assert cron.matches_ms(before)
        if after is not None:
            assert cron.count_ms(at + 1, after) == 1
            assert cron.matches_ms(after)
            if dialect != "resonate-0.9.8":
                # The released server may pass over ticks of the calendar here.
                assert cron.prev_ms(after) == (at if cron.matches_ms(at) else before)

    @each_dialect
    @given(data=st.data(), at=instants, seconds=st.integers(0, 3000))
    def test_a_short_window_holds_what_a_look_at_every_second_finds(
        self, dialect, data, at, seconds
    ):
        text = data.draw(texts(dialect))
        cron, model = Cron(text, dialect), oracle.read(text, dialect)
        near = data.draw(st.sampled_from([cron.next_ms(at), cron.prev_ms(at), at]))
        at = at if near is None else near - data.draw(st.integers(0, seconds * 1000))
        start, end = max(at, -1), min(at + seconds * 1000, END_MS)
        end = max(start, end)
        expected = [t * 1000 for t in model.scan(-(-start // 1000), end // 1000)]
        matching = [
            t
            for t in range(max(0, -(-start // 1000)) * 1000, min(end + 1, END_MS), 1000)
            if cron.matches_ms(t)
        ]
        assert matching == expected
        if dialect == "resonate-0.9.8":
            expected = [t * 1000 for t in model.chain(-(-start // 1000) - 1, end // 1000)]
        assert chain(cron, start - 1 if start > -1 else -1, end) == expected
        assert cron.count_ms(start, end) == len(expected)

    @each_dialect
    @given(data=st.data(), start=instants, end=instants)
    def test_a_long_window_counts_what_a_look_at_every_day_finds(self, dialect, data, start, end):
        text = data.draw(texts(dialect))
        start, end = sorted((start, end))
        cron, model = Cron(text, dialect), oracle.read(text, dialect)
        assert cron.count_ms(start, end) == model.count(-(-start // 1000), end // 1000)
        assert cron.remaining_ms(start) == model.count(start // 1000 + 1, oracle.END)

    @each_dialect
    @given(data=st.data(), start=instants, end=instants, middle=instants)
    def test_counts_of_neighbouring_windows_add_up(self, dialect, data, start, end, middle):
        start, middle, end = sorted((start, middle, end))
        cron = Cron(data.draw(texts(dialect)), dialect)
        if middle == end:
            return
        first = cron.count_ms(start, middle)
        if dialect == "resonate-0.9.8" and not first:
            return  # the second window's search may begin elsewhere than the whole one's
        assert first + cron.count_ms(middle + 1, end) == cron.count_ms(start, end)

    @each_dialect
    @given(data=st.data(), after=instants, room=st.integers(0, 400))
    def test_the_bulk_fill_is_the_chain_of_next(self, dialect, data, after, room):
        cron = Cron(data.draw(texts(dialect)), dialect)
        assert filled(cron, after, room) == chain(cron, after, limit=room)

    @each_dialect
    @settings(max_examples=20 * SCALE)
    @given(data=st.data(), after=instants)
    def test_a_bulk_fill_over_many_days_is_made_of_the_judges_days(self, dialect, data, after):
        text = data.draw(texts(dialect))
        model, room = oracle.read(text, dialect), 5_000
        found = filled(Cron(text, dialect), after, room)
        first = model.next(after // 1000)
        expected = []
        if first is not None:
            for day in model.days:
                if day >= first // oracle.DAY and len(expected) < room:
                    expected += [day * oracle.DAY + time for time in model.times]
            expected = [t * 1000 for t in expected if t >= first][:room]
        assert found == expected

    @each_dialect
    @given(data=st.data(), after=instants, room=st.integers(0, 50))
    def test_the_fill_writes_nothing_beyond_what_it_says(self, dialect, data, after, room):
        cron = Cron(data.draw(texts(dialect)), dialect)
        out = array.array("q", [-7] * (room + 8))
        n = cron.fill_ms(after, memoryview(out)[:room])
        assert n <= room
        assert out[n:].tolist() == [-7] * (room + 8 - n)

    @given(data=st.data(), after=instants)
    def test_the_released_server_differs_only_before_its_first_listed_year(self, data, after):
        text = data.draw(texts("resonate"))
        ours, theirs = Cron(text), Cron(text, "resonate-0.9.8")
        year = datetime.fromtimestamp((after + 1000) // 1000, UTC).year
        if year in ours.years or not ours.years or year > ours.years[-1]:
            assert theirs.next_ms(after) == ours.next_ms(after)
        elif (found := theirs.next_ms(after)) is not None:
            assert found >= ours.next_ms(after)
        assert theirs.prev_ms(after) == ours.prev_ms(after)


# --- refusals -------------------------------------------------------------------------------

QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")


def proposals(message):
    """Return the texts that a refusal says to write, or gives as an example."""
    found = []
    for lead in ("; write ", "such as ", "as in "):
        rest = message.rpartition(lead)[2] if lead in message else ""
        quoted = QUOTED.match(rest)
        if quoted and ast.literal_eval(quoted[0]) not in ("*", "?"):
            found.append(ast.literal_eval(quoted[0]))
    return found


def check_refusal(error, text, dialect):
    """Assert what every refusal keeps, whatever the text."""
    message = str(error)
    assert error.expression == text
    assert message.isprintable(), message
    assert len(message) < 500, message
    assert message.count("; ") <= 1 + repr(text).count("; "), message
    if error.token is None:
        assert error.position is None
    else:
        assert error.token
        assert text[error.position : error.position + len(error.token)] == error.token
        if error.field is not None:
            assert f"(position {error.position} of " in message
            assert message.startswith(f"{error.field} token ")
    for instead in proposals(message):
        if " " in instead or instead.startswith("@") or instead == "".join(text.split()):
            assert oracle.read(instead, dialect) is not None, message
        else:
            parts = ["0", "0", "0", "*", "*", "*", "*"]
            parts[_fastcron.FIELDS.index(error.field)] = instead
            if dialect == "quartz":
                parts[3 if error.field == "day-of-week" else 5] = "?"
            assert oracle.read(" ".join(parts), dialect) is not None, message


REFUSALS = [
    # trouble, text, dialect, field, token, position, what the message must hold
    ("EMPTY", "", "resonate", None, None, None, ["is empty", "'0 9 * * MON-FRI'"]),
    ("EMPTY", " \t", "quartz", None, None, None, ["is empty", "'0 0 9 ? * MON-FRI'"]),
    ("TOO_FEW", "* * * *", "resonate", None, None, None, ["4 fields", "5 fields, or 6 or 7"]),
    ("TOO_FEW", "0 9 * * *", "quartz", None, None, None, ["5 fields", "6 or 7 fields"]),
    ("TOO_FEW", "1, 2 * * * *", "resonate", "seconds", "1,", 0, ["after its ','", "'1,2 * * * *'"]),
    ("TOO_FEW", "-5 * * * *", "resonate", "minutes", "-5", 0, ["before its '-'", "0-59"]),
    ("TOO_FEW", "/5 * * * *", "resonate", "minutes", "/5", 0, ["before its '/'", "0-59"]),
    ("TOO_MANY", "* * * * * * 2030 x", "resonate", "year", "x", 17, ["last of 7 fields"]),
    ("TOO_MANY", "0 0 9 ? * MON * x", "quartz", None, None, None, ["8 fields", "6 or 7"]),
    ("TOO_MANY", "0 0 9 * * * 2030/2/3", "resonate", "year", "2030/2/3", 12, ["1970-2100"]),
    ("UNREADABLE", "+1 * * * *", "resonate", "minutes", "+1", 0, ["cannot be read", "0-59", "*/n"]),
    ("UNREADABLE", "1.5 * * * *", "resonate", "minutes", "1.5", 0, ["cannot be read", "0-59"]),
    ("UNREADABLE", "1-2-3 * * * *", "resonate", "minutes", "1-2-3", 0, ["cannot be read", "0-59"]),
    ("UNREADABLE", "*/ * * * *", "resonate", "minutes", "*/", 0, ["after its '/'", "0-59"]),
    ("UNREADABLE", "1- * * * *", "resonate", "minutes", "1-", 0, ["after its '-'", "0-59"]),
    (
        "UNREADABLE",
        "* /5 * * * *",
        "resonate",
        "minutes",
        "/5",
        2,
        ["before its '/'", "'*/5 * * * *'"],
    ),
    (
        "UNREADABLE",
        "0 9 * * MON,,FRI",
        "resonate",
        "day-of-week",
        "MON,,FRI",
        8,
        ["beside the ','"],
    ),
    (
        "UNREADABLE",
        "0 9 * * MON-5",
        "resonate",
        "day-of-week",
        "MON-5",
        8,
        ["name to a number", "1-7"],
    ),
    ("UNREADABLE", "? * * * *", "resonate", "minutes", "?", 0, ["two day fields", "0-59"]),
    ("UNREADABLE", "０ 9 * * *", "resonate", "minutes", "０", 0, ["printable ASCII", "0-59"]),
    ("UNREADABLE", "0 9 * * MON–FRI", "resonate", "day-of-week", "MON–FRI", 8, ["'–'", "SUN-SAT"]),
    ("UNREADABLE", "* * * *\xa0*", "resonate", "month", "*\xa0*", 6, ["'\\xa0'", "'* * * * *'"]),
    ("UNREADABLE", "0 9 * * *\x00", "resonate", "day-of-week", "*\x00", 8, ["'\\x00'", "SUN-SAT"]),
    (
        "UNREADABLE",
        "0 9 * * 1-5 # x",
        "resonate",
        "day-of-week",
        "#",
        12,
        ["comment", "leave it out"],
    ),
    (
        "UNREADABLE",
        "0 0 9 * * 6#3",
        "resonate",
        "day-of-week",
        "6#3",
        10,
        ["dialect 'quartz'", "1-7"],
    ),
    ("UNREADABLE", "0 0 9 L- * ?", "quartz", "day-of-month", "L-", 6, ["L-n", "1-31"]),
    ("UNREADABLE", "0 0 9 L,15 * ?", "quartz", "day-of-month", "L", 6, ["each alone", "1-31"]),
    ("UNREADABLE", "0 0 9 ?,1 * MON", "quartz", "day-of-month", "?", 6, ["each alone", "1-31"]),
    ("UNREADABLE", "0 0 9 ? * 6L,2", "quartz", "day-of-week", "6L", 10, ["nL and n#k", "SUN-SAT"]),
    ("UNREADABLE", "0 0 9 ? * MON , WED", "quartz", "year", ",", 14, ["'0 0 9 ? * MON,WED'"]),
    ("UNREADABLE", "/5 0 9 ? * MON", "quartz", "seconds", "/5", 0, ["before its '/'", "0-59"]),
    ("OUTSIDE", "60 * * * *", "resonate", "minutes", "60", 0, ["is outside 0-59"]),
    ("OUTSIDE", "* 24 * * *", "resonate", "hours", "24", 2, ["0-23", "0 for midnight"]),
    ("OUTSIDE", "* * 0 * *", "resonate", "day-of-month", "0", 4, ["1-31"]),
    (
        "OUTSIDE",
        "0 0 1 1-13 *",
        "resonate",
        "month",
        "1-13",
        6,
        ["reaches outside 1-12 or JAN-DEC"],
    ),
    (
        "OUTSIDE",
        "0 9 * * 0",
        "resonate",
        "day-of-week",
        "0",
        8,
        ["1-7 (1=SUN)", "SUN or 1 for Sunday"],
    ),
    (
        "OUTSIDE",
        "0 0 12 ? * 8",
        "quartz",
        "day-of-week",
        "8",
        11,
        ["outside 1-7 (1=SUN) or SUN-SAT"],
    ),
    ("OUTSIDE", "0 0 0 1 1 * 2101", "resonate", "year", "2101", 12, ["1970-2100"]),
    ("OUTSIDE", "0 0 0 1 1 ? 2100", "quartz", "year", "2100", 12, ["1970-2099"]),
    ("OUTSIDE", "99999999999999999999 * * * *", "resonate", "minutes", "9" * 20, 0, ["0-59"]),
    ("OUTSIDE", "1, 70 * * * * *", "resonate", "seconds", "70", 3, ["0-59"]),
    ("OUTSIDE", "-70 * * * *", "resonate", "minutes", "-70", 0, ["before its '-'", "0-59"]),
    ("OUTSIDE", "0 0 1 1 * 2030", "resonate", "day-of-week", "2030", 10, ["'0 0 0 1 1 * 2030'"]),
    ("OUTSIDE", "0 0 9 0W * ?", "quartz", "day-of-month", "0W", 6, ["outside 1-31"]),
    ("OUTSIDE", "0 0 9 L-31 * ?", "quartz", "day-of-month", "L-31", 6, ["0-30", "'L-3'"]),
    ("OUTSIDE", "0 0 9 ? * 6#0", "quartz", "day-of-week", "6#0", 10, ["1-5", "'MON#1'"]),
    ("OUTSIDE", "0 0 9 ? * 8#1", "quartz", "day-of-week", "8#1", 10, ["1-7", "'MON#1'"]),
    ("OUTSIDE", "0 0 9 ? * 15W", "quartz", "day-of-week", "15W", 10, ["nL and n#k", "1-7"]),
    ("DESCENDS", "0 22-2 * * *", "resonate", "hours", "22-2", 2, ["0-23", "'22-23,0-2'"]),
    ("DESCENDS", "0 0 * * sat-sun", "resonate", "day-of-week", "sat-sun", 8, ["'SAT,SUN'"]),
    ("DESCENDS", "0 0 1 NOV-JAN *", "resonate", "month", "NOV-JAN", 6, ["'11-12,1'"]),
    ("DESCENDS", "0 22-3/2 * * *", "resonate", "hours", "22-3/2", 2, ["'22,0,2'"]),
    ("DESCENDS", "0 0 0 1 1 * 2030-2026", "resonate", "year", "2030-2026", 12, ["'2026-2030'"]),
    ("DESCENDS", "0 0 0 1 1 ? 2030-2026/2", "quartz", "year", "2030-2026/2", 12, ["'2026-2030/2'"]),
    ("DESCENDS", "0 0 22 - 2 * * *", "resonate", "hours", "22 - 2", 4, ["'22-23,0-2'"]),
    ("STEP_ZERO", "*/0 * * * *", "resonate", "minutes", "*/0", 0, ["step 0", "0-59", "write 1"]),
    ("STEP_ZERO", "0 0 0 1/0 * ?", "quartz", "day-of-month", "1/0", 6, ["step 0", "1-31"]),
    (
        "STEP_LARGE",
        "*/4294967296 * * * *",
        "resonate",
        "minutes",
        "*/4294967296",
        0,
        ["4294967295"],
    ),
    ("STEP_LARGE", "0 0/120 9 ? * MON", "quartz", "minutes", "0/120", 2, ["above 59", "0-59"]),
    ("NO_NAMES", "0 H * * *", "resonate", "hours", "H", 2, ["field of numbers", "0-23"]),
    ("NO_NAMES", "TZ=UTC 0 9 * * *", "resonate", "seconds", "TZ=UTC", 0, ["UTC", "leave it out"]),
    ("NO_NAMES", "0 0 12 L * ?", "resonate", "day-of-month", "L", 7, ["dialect 'quartz'", "1-31"]),
    ("UNKNOWN_NAME", "0 9 * SEPT *", "resonate", "month", "SEPT", 6, ["1-12 or JAN-DEC", "full"]),
    ("UNKNOWN_NAME", "0 0 12 ? * MONDAY", "quartz", "day-of-week", "MONDAY", 11, ["1-7 (1=SUN)"]),
    (
        "UNKNOWN_NAME",
        "0 9 * * MON - FRI",
        "resonate",
        "day-of-week",
        "-",
        12,
        ["'0 9 * * MON-FRI'"],
    ),
    ("UNKNOWN_NAME", "0 9 * * FRI 2030", "resonate", "month", "FRI", 8, ["'0 0 9 * * FRI 2030'"]),
    ("NAME_STEP", "0 9 * * MON/2", "resonate", "day-of-week", "MON/2", 8, ["step", "1-7"]),
    ("NAME_STEP", "0 0 9 ? * MON-FRI/2", "quartz", "day-of-week", "MON-FRI/2", 10, ["step", "1-7"]),
    ("SHORTHAND", "@midnight", "resonate", None, "@midnight", 0, ["@daily", "write '@daily'"]),
    ("SHORTHAND", " @Hourly", "resonate", None, "@Hourly", 1, ["lower case", "write '@hourly'"]),
    ("SHORTHAND", "@every 5m", "resonate", None, "@every 5m", 0, ["5 fields, or 6 or 7"]),
    ("SHORTHAND", "@weekly", "quartz", None, "@weekly", 0, ["has none", "'0 0 0 ? * SUN'"]),
    (
        "NOT_TEXT",
        "\ud800 * * * *",
        "resonate",
        None,
        None,
        None,
        ["surrogate", "'\\ud800 * * * *'"],
    ),
    ("NO_MARK", "0 0 9 1 * MON", "quartz", "day-of-week", "MON", 10, ["exactly one", "'?'"]),
    ("NO_MARK", "* * * * * *", "quartz", "day-of-week", "*", 10, ["write '* * * * * ?'"]),
    ("TWO_MARKS", "0 0 9 ? * ?", "quartz", "day-of-week", "?", 10, ["write '0 0 9 ? * *'"]),
]


class TestRejects:
    @pytest.mark.parametrize(
        ("trouble", "text", "dialect", "field", "token", "position", "holds"),
        REFUSALS,
        ids=[f"{case[0]}-{case[1]!a}" for case in REFUSALS],
    )
    def test_a_refusal_names_field_token_position_and_range(
        self, trouble, text, dialect, field, token, position, holds
    ):
        error = refused(text, dialect)
        assert (error.field, error.token, error.position) == (field, token, position)
        for part in holds:
            assert part in str(error)
        if trouble != "NOT_TEXT":
            check_refusal(error, text, dialect)

    def test_every_trouble_of_the_reader_is_tried(self, root):
        source = (root / "_fastcron.pyx").read_text(encoding="utf-8")
        block = re.search(r"cdef enum Trouble:\n((?:    .*\n)+)", source)[1]
        named = {line.split()[0] for line in block.splitlines()}
        assert named - {"FINE"} == {case[0] for case in REFUSALS}

    @pytest.mark.parametrize("field", range(7))
    @pytest.mark.parametrize("step", [1, 2, 7])
    def test_a_descending_range_is_answered_with_the_values_that_it_meant(self, field, step):
        low, high = oracle.BOUNDS[field]
        for a, b in [
            (high, low),
            (low + 1, low),
            (high, high - 1),
            ((low + high) // 2 + 1, low + 1),
        ]:
            parts = ["0", "0", "0", "*", "*", "*", "*"]
            parts[field] = f"{a}-{b}" + (f"/{step}" if step > 1 else "")
            (instead,) = proposals(str(refused(" ".join(parts))))
            meant = oracle._values(field, *((b, a) if field == 6 else (a, b)), step, high, True)
            parts[field] = instead
            assert getattr(Cron(" ".join(parts)), NAMES[field]) == tuple(sorted(meant))

    @pytest.mark.parametrize(
        "text",
        [
            *("x" * 1_000_000, "* " * 500_000, ", " * 400_000, "- " * 300_000 + "x"),
            *("@" + "y" * 1_000_000, "\x00" * 100_000, "é" * 500_000),
            "1,*/0" + ",2" * 10_000 + " * * * *",
        ],
        ids=lambda text: f"{text[:6]!a}",
    )
    @each_dialect
    def test_a_megabyte_of_nonsense_gets_a_short_answer(self, text, dialect):
        error = refused(text, dialect)
        assert len(str(error)) < 400
        assert error.expression == text

    @pytest.mark.parametrize("value", [None, 5, 1.5, True, b"* * * * *", ["*"] * 5, float("nan")])
    def test_what_is_no_text_is_a_type_error(self, value):
        with pytest.raises(TypeError, match=r"a cron expression is .* of type \w+; give a str"):
            Cron(value)

    @pytest.mark.parametrize("dialect", ["unix", "", "Quartz", None, 3, b"quartz", ["quartz"]])
    def test_an_unknown_dialect_is_answered_with_the_known_ones(self, dialect):
        kind = ValueError if isinstance(dialect, str) else TypeError
        with pytest.raises(kind, match=r"'resonate', 'resonate-0\.9\.8', 'quartz'"):
            Cron("* * * * *", dialect)

    def test_no_text_at_all_is_a_type_error(self):
        with pytest.raises(TypeError):
            Cron()
        with pytest.raises(TypeError):
            Cron.__new__(Cron)
        with pytest.raises(TypeError):
            object.__new__(Cron)


INSTANT_METHODS = ["next_ms", "prev_ms", "matches_ms", "remaining_ms"]


class TestInstants:
    @pytest.mark.parametrize("name", INSTANT_METHODS)
    @pytest.mark.parametrize(
        "value", [None, True, 1.0, float("nan"), "0", b"0", datetime(2024, 1, 1), [1], 1j]
    )
    def test_what_is_no_int_is_a_type_error(self, name, value):
        with pytest.raises(TypeError, match=r"_ms is .* of type \w+; give an int, ms since"):
            getattr(Cron("* * * * *"), name)(value)

    @pytest.mark.parametrize("name", INSTANT_METHODS)
    @pytest.mark.parametrize(
        "value",
        [-2, END_MS + 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 10**5000],
        ids=["-2", "end+1", "max", "max+1", "min", "min-1", "2**64", "10**5000"],
    )
    def test_what_lies_outside_the_calendar_is_refused_with_its_bounds(self, name, value):
        with pytest.raises(
            ValueError, match=rf"outside the calendar; .* to {END_MS} \(2101-01-01\)"
        ):
            getattr(Cron("* * * * *"), name)(value)

    def test_integers_of_numpy_are_taken_and_its_bools_and_floats_are_not(self):
        np = pytest.importorskip("numpy")
        cron = Cron("* * * * *")
        for kind in (np.int64, np.uint64, np.int32, np.int8):
            assert cron.next_ms(kind(5)) == 60_000
        for value in (np.True_, np.float64(5), np.datetime64(5, "ms"), np.timedelta64(5, "ms")):
            with pytest.raises(TypeError, match="give an int"):
                cron.next_ms(value)

    def test_a_window_turned_round_is_refused(self):
        with pytest.raises(ValueError, match="end_ms 4 lies before start_ms 5"):
            Cron("* * * * *").count_ms(5, 4)
        for window in [(None, 5), (5, None), (True, 5), (5, 1.5)]:
            with pytest.raises(TypeError, match="give an int"):
                Cron("* * * * *").count_ms(*window)


class TestFillBuffers:
    @pytest.mark.parametrize(
        "out",
        [
            None,
            [0, 0],
            b"12345678",
            bytearray(16),
            array.array("d", [0.0, 0.0]),
            array.array("Q", [0, 0]),
            array.array("i", [0, 0, 0, 0]),
            memoryview(array.array("q", [0] * 4))[::2],
            memoryview(array.array("q", [0] * 4)).toreadonly(),
            memoryview(bytearray(17))[1:].cast("q"),
        ],
        # Each process must collect the same names, and a memoryview's repr is its address.
        ids=lambda out: type(out).__name__ if isinstance(out, memoryview) else repr(out),
    )
    def test_what_is_no_writable_buffer_of_int64_is_refused_and_untouched(self, out):
        before = bytes(out) if isinstance(out, memoryview) else copy.copy(out)
        with pytest.raises(
            TypeError, match=r"out is a .*; give a writable contiguous buffer of int64"
        ):
            Cron("* * * * *").fill_ms(0, out)
        assert (bytes(out) if isinstance(out, memoryview) else out) == before

    def test_big_endian_and_datetime_arrays_are_refused(self):
        np = pytest.importorskip("numpy")
        for out in (np.zeros(2, ">i8"), np.zeros(2, "M8[ms]"), np.zeros(2), np.zeros(2, object)):
            with pytest.raises(TypeError, match="give a writable contiguous buffer of int64"):
                Cron("* * * * *").fill_ms(0, out)

    def test_a_wrong_instant_leaves_the_buffer_alone(self):
        out = array.array("q", [7, 7])
        with pytest.raises(ValueError, match="outside the calendar"):
            Cron("* * * * *").fill_ms(-2, out)
        assert out.tolist() == [7, 7]

    def test_an_empty_buffer_is_filled_with_nothing(self):
        assert Cron("* * * * *").fill_ms(0, array.array("q")) == 0


def tallied(cron, start, end, origin, width, weight=1):
    out = array.array("q", bytes(8 * ((end - origin) // width + 1)))
    n = cron.tally_ms(start, end, out, origin, width, weight)
    return n, out.tolist()


class TestTally:
    """The bins of `tally_ms`, held against the ticks one by one."""

    # Edges on days, hours, minutes, seconds, between seconds, and widths that divide nothing.
    WIDTHS = (
        *(DAY, 7 * DAY, 3_600_000, 5_400_000, 60_000, 420_000, 1000, 7000, 90_000),
        *(1500, 999, 86_399_000),
    )

    @each_dialect
    @settings(max_examples=100 * SCALE)
    @given(
        data=st.data(),
        at=instants,
        width=st.sampled_from(WIDTHS),
        back=st.sampled_from([0, 0, 1, 999, 1000, 60_000, 3_599_000, DAY]),
        aligned=st.booleans(),
        weight=st.sampled_from([0, 1, 3, 2**31 - 1]),
    )
    def test_each_bin_holds_its_ticks(self, dialect, data, at, width, back, aligned, weight):
        cron = Cron(data.draw(texts(dialect)), dialect)
        near = cron.next_ms(at)
        start = max(at if near is None else near - data.draw(st.integers(0, 2 * DAY)), -1)
        days = data.draw(st.sampled_from([0.01, 0.6, 1, 3, 40]))
        bins = data.draw(st.integers(0, 3000))
        end = min(start + int(days * DAY), start + bins * width, END_MS)
        if cron.count_ms(start, end) > 50_000:  # enough to count by hand
            end = min(start + DAY // 2, end)
        origin = max(start - back, -1)
        if aligned and start >= 0:
            origin = start // width * width
        out = array.array("q", bytes(8 * cron.count_ms(start, end)))
        ticks = out[: cron.fill_ms(start - 1 if start > -1 else -1, out)]
        expected = [0] * ((end - origin) // width + 1)
        for tick in ticks:
            expected[(tick - origin) // width] += weight
        assert tallied(cron, start, end, origin, width, weight) == (len(ticks), expected)

    @pytest.mark.parametrize("width", WIDTHS)
    def test_every_second_fills_every_bin(self, width):
        start, end = NOW + 1, NOW + 2 * DAY + 43_210_999
        n, bins = tallied(Cron("* * * * * *"), start, end, NOW, width)
        assert sum(bins) == n == 2 * 86_400 + 43_210
        edges = [NOW + i * width for i in range(len(bins) + 1)]
        expected = [-(-high // 1000) - -(-low // 1000) for low, high in pairwise(edges)]
        assert bins[1:-1] == expected[1:-1]

    def test_tallies_of_several_expressions_add_up_in_one_buffer(self):
        out = array.array("q", [0] * 24)
        for text, weight in (("0 * * * *", 2), ("*/15 9 * * *", 10)):
            Cron(text).tally_ms(NOW, NOW + DAY - 1, out, NOW, 3_600_000, weight)
        assert out.tolist() == [2] * 9 + [42] + [2] * 14

    @each_dialect
    @given(data=st.data(), start=instants)
    def test_bins_beyond_the_window_stay_as_they_are(self, dialect, data, start):
        cron = Cron(data.draw(texts(dialect)), dialect)
        end = min(start + 10 * 60_000, END_MS)
        origin = max(start - 2 * 60_000, -1)
        out = array.array("q", [-7] * 16)
        n = cron.tally_ms(start, end, out, origin, 60_000)
        first, last = (start - origin) // 60_000, (end - origin) // 60_000
        assert out[:first].tolist() == [-7] * first
        assert out[last + 1 :].tolist() == [-7] * (15 - last)
        assert sum(out) == n - 7 * 16

    def test_a_window_before_the_first_second_has_no_tick(self):
        assert tallied(Cron("* * * * * *"), -1, -1, -1, 1000) == (0, [0])

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"end_ms": NOW - 1}, "before start_ms"),
            ({"origin_ms": NOW + 1}, "origin_ms .* after start_ms"),
            ({"out": array.array("q", [0] * 59)}, "out has 59 items.* 60 bins"),
            ({"width_ms": 0}, "width_ms is 0; give an int from 1 to"),
            ({"width_ms": 2**70}, "width_ms is of 71 bits"),
            ({"weight": -1}, "weight is -1; give an int from 0 to 2147483647"),
            ({"weight": 2**31}, "weight is 2147483648"),
            ({"start_ms": -2}, "start_ms -2 is outside the calendar"),
        ],
    )
    def test_what_cannot_be_is_refused_and_the_buffer_untouched(self, change, message):
        out = change.get("out", array.array("q", [0] * 60))
        given = {
            "start_ms": NOW,
            "end_ms": NOW + 3_599_999,
            "out": out,
            "origin_ms": NOW,
            "width_ms": 60_000,
        } | change
        with pytest.raises(ValueError, match=message):
            Cron("* * * * *").tally_ms(**given)
        assert not any(out)

    @pytest.mark.parametrize("name", ["start_ms", "end_ms", "origin_ms", "width_ms", "weight"])
    @pytest.mark.parametrize("value", [None, True, 1.0, "1"], ids=repr)
    def test_what_is_no_int_is_a_type_error(self, name, value):
        given = {"start_ms": 0, "end_ms": 999, "origin_ms": 0, "width_ms": 1000, "weight": 1}
        given[name] = value
        with pytest.raises(TypeError, match=f"{name} is .*; give an int"):
            Cron("* * * * *").tally_ms(out=array.array("q", [0]), **given)

    @pytest.mark.parametrize("out", [None, bytearray(16), array.array("i", [0] * 8)], ids=repr)
    def test_what_is_no_buffer_of_int64_is_refused(self, out):
        with pytest.raises(TypeError, match="give a writable contiguous buffer of int64"):
            Cron("* * * * *").tally_ms(0, 999, out, 0, 1000)


class TestObject:
    @given(data=st.data(), dialect=st.sampled_from(DIALECTS))
    def test_copies_are_equal_and_hash_alike(self, data, dialect):
        cron = Cron(data.draw(texts(dialect)), dialect)
        copies = [pickle.loads(pickle.dumps(cron, i)) for i in range(pickle.HIGHEST_PROTOCOL + 1)]
        for twin in [*copies, copy.copy(cron), copy.deepcopy(cron), eval(repr(cron))]:
            assert twin == cron
            assert hash(twin) == hash(cron)
            assert (twin.text, twin.dialect, sets_of(twin)) == (
                cron.text,
                cron.dialect,
                sets_of(cron),
            )

    def test_equality_is_that_of_text_and_dialect(self):
        nine = Cron("0 9 * * *")
        assert nine != Cron("0  9 * * *")
        assert nine != Cron("0 9 * * *", "resonate-0.9.8")
        assert nine != "0 9 * * *"
        assert nine is not None
        assert len({nine, Cron("0 9 * * *"), Cron("0 9 * * *", dialect="resonate")}) == 1
        with pytest.raises(TypeError):
            assert nine < nine

    def test_repr_names_the_dialect_only_where_it_is_not_the_default(self):
        assert repr(Cron("* * * * *")) == "Cron('* * * * *')"
        assert repr(Cron("* * * * * ?", "quartz")) == "Cron('* * * * * ?', dialect='quartz')"

    def test_nothing_of_it_can_be_changed(self):
        cron = Cron("0 9 * * *")
        names = [name for name in dir(Cron) if not name.startswith("_")]
        assert {"text", "dialect", *NAMES} <= set(names)
        for name in [*names, "other"]:
            with pytest.raises(AttributeError):
                setattr(cron, name, 1)
            with pytest.raises(AttributeError):
                delattr(cron, name)
        cron.__init__("0 10 * * *")
        assert (cron.text, cron.hours) == ("0 9 * * *", (9,))
        with pytest.raises(TypeError):
            Cron.text = "x"

    def test_a_str_subclass_is_kept_as_a_plain_str(self):
        class Text(str):
            __slots__ = ()

        cron = Cron(Text("0 9 * * *"), Text("resonate"))
        assert type(cron.text) is str
        assert type(cron.dialect) is str
        assert cron == Cron("0 9 * * *")

    def test_a_subclass_keeps_its_type_through_pickle_and_copy(self):
        twin = pickle.loads(pickle.dumps(Named("0 9 * * *")))
        assert type(twin) is Named
        assert type(copy.copy(twin)) is Named
        assert repr(twin) == "Named('0 9 * * *')"
        assert twin == Cron("0 9 * * *")

    def test_the_error_survives_pickle_and_copy(self):
        error = refused("0 9 * * 8")
        for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert str(twin) == str(error)
            assert vars(twin) == vars(error)
            assert vars(twin) == {
                "expression": "0 9 * * 8",
                "field": "day-of-week",
                "token": "8",
                "position": 8,
            }

    def test_a_compiled_expression_takes_less_than_a_kilobyte(self):
        # 100,000 of them in at most 100 MB: the object, its text, and the malloc around both.
        crons = [Cron(f"{i % 60} {i % 24} * * {1 + i % 7}") for i in range(1000)]
        assert Cron.__basicsize__ <= 400
        assert max(sys.getsizeof(cron) + sys.getsizeof(cron.text) for cron in crons) + 32 < 1_000


class Named(Cron):
    """At module level, so that pickle finds it."""


class TestFace:
    def test_the_namespace_is_what_the_stub_declares(self, root):
        assert {name for name in vars(_fastcron) if not name.startswith("_")} == {
            "Cron",
            "CronError",
            "DIALECTS",
            "END_MS",
            "FIELDS",
            "SHORTHANDS",
        }
        assert END_MS == _fastcron.END_MS == 4_133_980_800_000
        assert DIALECTS == _fastcron.DIALECTS

    def test_the_stub_has_the_members_and_parameters_of_the_core(self, root):
        stub = ast.parse((root / "resonate_lab" / "_fastcron.pyi").read_text(encoding="utf-8"))
        (face,) = [n for n in stub.body if isinstance(n, ast.ClassDef) and n.name == "Cron"]
        declared = {n.name: n for n in face.body if isinstance(n, ast.FunctionDef)}
        public = {name for name in vars(Cron) if not name.startswith("_")}
        assert public == {name for name in declared if not name.startswith("_")}
        for name in public:
            member, node = vars(Cron)[name], declared[name]
            if any(getattr(d, "id", "") == "property" for d in node.decorator_list):
                assert not callable(member)
                continue
            embedded = inspect.getdoc(member).splitlines()[0]
            parameters = re.findall(r"(?<!=)\b\w+(?=[,)=:])", embedded.partition("(")[2])
            assert parameters == [a.arg for a in node.args.args], embedded

    def test_every_public_member_says_what_it_returns(self):
        for name in vars(Cron):
            if not name.startswith("_") and name not in ("text", "dialect"):
                assert inspect.getdoc(vars(Cron)[name]), name


def test_the_fuzz_run_of_make_sanitize_is_clean(capsys):
    assert fuzz_fastcron.main(texts=1_000, seed=3) == 0
    assert "0 verdicts unlike the judge's, 0 laws broken" in capsys.readouterr().out
