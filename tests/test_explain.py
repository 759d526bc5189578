"""The words say what the expression does, in every dialect, and stay short."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resonate_lab.cron import CronExpression
from resonate_lab.cron import explain as module
from resonate_lab.cron.explain import explain, joined, listed, weekday_words

CLAIMS = {
    # times of the day
    "* * * * *": "Every minute.",
    "*/1 * * * *": "Every minute.",
    "*/5 * * * *": "Every 5 minutes.",
    "0/15 * * * *": "Every 15 minutes.",
    "2-59/5 * * * *": "Every 5 minutes, starting at minute 2.",
    "20,50 * * * *": "Every 30 minutes, starting at minute 20.",
    "0 * * * *": "Every hour at minute 0.",
    "15 * * * *": "Every hour at minute 15.",
    "*/90 * * * *": "Every hour at minute 0.",
    "*/40 * * * *": "At minutes 0 and 40 past every hour.",
    "*/7 * * * *": "At minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 past every hour.",
    "2/17 * * * *": "At minutes 2, 19, 36 and 53 past every hour.",
    "1-57/2 * * * *": "At every 2nd minute from 1 to 57 past every hour.",
    "0 9 * * *": "At 09:00 UTC, every day.",
    "0 9,17 * * *": "At 09:00 and 17:00 UTC, every day.",
    "0 */6 * * *": "At 00:00, 06:00, 12:00 and 18:00 UTC, every day.",
    "3 */9 * * *": "At 00:03, 09:03 and 18:03 UTC, every day.",
    "0 */2 * * *": "Every 2 hours from 00:00 to 22:00 UTC, every day.",
    "0 */5 * * *": "Every 5 hours from 00:00 to 20:00 UTC, every day.",
    "11 1-23/2 * * *": "Every 2 hours from 01:11 to 23:11 UTC, every day.",
    "0 9-17 * * *": "Every hour from 09:00 to 17:00 UTC, every day.",
    "*/15 9-17 * * *": "Every 15 minutes from 09:00 to 17:45 UTC, every day.",
    "* 1 * * *": "Every minute from 01:00 to 01:59 UTC, every day.",
    "*/5 7-9,17 * * *": (
        "Every 5 minutes from 07:00 to 09:55 and from 17:00 to 17:55 UTC, every day."
    ),
    "*/5 1,4,9,13,18 * * *": "Every 5 minutes during hours 1, 4, 9, 13 and 18 UTC, every day.",
    "*/5 */2 * * *": "Every 5 minutes during every 2nd hour from 0 to 22 UTC, every day.",
    "21,42 0-4 * * *": "At minutes 21 and 42 past hours 0 to 4 UTC, every day.",
    # seconds
    "* * * * * *": "Every second.",
    "******": "Every second.",
    "*/10 * * * * *": "Every 10 seconds.",
    "5/10 * * * * *": "Every 10 seconds, starting at second 5.",
    "30 * * * * *": "At second 30 of every minute.",
    "*/40 * * * * *": "At seconds 0 and 40 of every minute.",
    "30 0 9 * * *": "At 09:00:30 UTC, every day.",
    "*/10 * 9-17 * * *": "Every 10 seconds from 09:00:00 to 17:59:50 UTC, every day.",
    "*/7 * 9 * * *": (
        "At seconds 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every minute of hour 9 UTC, every day."
    ),
    "15 */3 * * * *": "At second 15 of every 3rd minute from 0 to 57 past every hour.",
    "5/10 */20 * * * *": (
        "Every 10 seconds (from second 5) of minutes 0, 20 and 40 past every hour."
    ),
    # days
    "0 9 * * 1-5": "At 09:00 UTC, Sunday to Thursday.",
    "0 9 * * MON-FRI": "At 09:00 UTC, Monday to Friday.",
    "0 9 * * FRI,SAT,SUN": "At 09:00 UTC, Friday to Sunday.",
    "0 0 * * SAT,SUN": "At 00:00 UTC, on Saturday and Sunday.",
    "0 0 * * 7": "At 00:00 UTC, on Saturday.",
    "0 0 * * */3": "At 00:00 UTC, on Wednesday, Saturday and Sunday.",
    "*/5 * * * MON": "Every 5 minutes, on Monday (UTC).",
    "0 0 1 * *": "At 00:00 UTC, on day 1 of the month.",
    "0 0 1,15 * *": "At 00:00 UTC, on days 1 and 15 of the month.",
    "0 0 */2 * *": "At 00:00 UTC, on every 2nd day from 1 to 31 of the month.",
    "30 3 13 * FRI": ("At 03:30 UTC, on day 13 of the month AND on Friday (both must match)."),
    "0 0 1-7 * MON": ("At 00:00 UTC, on days 1 to 7 of the month AND on Monday (both must match)."),
    # months and years
    "0 0 1 2,5,8,11 *": "At 00:00 UTC, on day 1 of February, May, August and November.",
    "0 0 * 6-9 *": "At 00:00 UTC, every day from June to September.",
    "0 0 * 1,6,7 *": "At 00:00 UTC, every day in January, June and July.",
    "* * 15 6 *": "Every minute, on day 15 of June (UTC).",
    "0 12 * 3 WED": "At 12:00 UTC, on Wednesday in March.",
    "0 0 9 * * MON-FRI 2027": "At 09:00 UTC, Monday to Friday in 2027.",
    "0 0 0 1 1 * 2027,2029": "At 00:00 UTC, on day 1 of January in 2027 and 2029.",
    "0 0 0 * * * 2030-2040": "At 00:00 UTC, every day from 2030 to 2040.",
    # shorthands
    "@hourly": "Every hour at minute 0.",
    "@daily": "At 00:00 UTC, every day.",
    "@weekly": "At 00:00 UTC, on Sunday.",
    "@monthly": "At 00:00 UTC, on day 1 of the month.",
    "@yearly": "At 00:00 UTC, on day 1 of January.",
    # never
    "0 0 30 2 *": (
        "Never fires: at 00:00 UTC, on day 30 of February; 1970 to 2100 has no such date."
    ),
}
QUARTZ_CLAIMS = {
    "0 0 12 ? * 2-6": "At 12:00 UTC, Monday to Friday.",
    "0 0 12 ? * FRI-MON": "At 12:00 UTC, Friday to Monday.",
    "0 0 22-2 * * ?": "At 00:00, 01:00, 02:00, 22:00 and 23:00 UTC, every day.",
    "0 0 12 L * ?": "At 12:00 UTC, on the last day of the month.",
    "0 0 12 L-3 * ?": "At 12:00 UTC, on the day 3 days before the last day of the month.",
    "0 0 12 L-1 2 ?": "At 12:00 UTC, on the day 1 day before the last day of February.",
    "0 0 12 LW * ?": "At 12:00 UTC, on the last weekday (Monday to Friday) of the month.",
    "0 0 12 15W 1,6 ?": (
        "At 12:00 UTC, on the weekday (Monday to Friday) nearest to day 15 of January and June."
    ),
    "0 0 12 L-3W * ?": (
        "At 12:00 UTC, on the weekday (Monday to Friday) nearest to the day 3 days before the "
        "last day of the month."
    ),
    "0 0 12 ? * 6L": "At 12:00 UTC, on the last Friday of the month.",
    "0 0 12 ? * 6#3": "At 12:00 UTC, on the third Friday of the month.",
    "0 0 12 ? * L": "At 12:00 UTC, on Saturday.",
    "0 0 12 * * ? 1970-2099": "At 12:00 UTC, every day.",
    "0 0 0 30 2 ?": (
        "Never fires: at 00:00 UTC, on day 30 of February; 1970 to 2099 has no such date."
    ),
}


def field(low, high):
    values = st.integers(low, high)
    pair = st.tuples(values, values).map(lambda p: f"{min(p)}-{max(p)}")
    step = st.integers(1, high + 5)
    item = st.one_of(
        st.just("*"),
        values.map(str),
        pair,
        step.map(lambda n: f"*/{n}"),
        st.tuples(values, step).map(lambda p: f"{p[0]}/{p[1]}"),
    )
    return st.one_of(item, st.lists(item, min_size=1, max_size=40).map(",".join))


TEXTS = st.tuples(
    field(0, 59), field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(1, 7)
).map(" ".join) | st.tuples(
    field(0, 59),
    field(0, 59),
    field(0, 23),
    field(1, 31),
    field(1, 12),
    field(1, 7),
    field(1970, 2099),
).map(" ".join)


class TestClaims:
    @pytest.mark.parametrize("text", CLAIMS)
    def test_says_exactly(self, text):
        assert explain(CronExpression(text)) == CLAIMS[text]

    @pytest.mark.parametrize("text", QUARTZ_CLAIMS)
    def test_says_exactly_in_quartz(self, text):
        assert explain(CronExpression(text, "quartz")) == QUARTZ_CLAIMS[text]

    @pytest.mark.parametrize("text", CLAIMS)
    def test_the_released_server_is_said_alike(self, text):
        assert explain(CronExpression(text, "resonate-0.9.8")) == CLAIMS[text]

    def test_other_spellings_have_the_same_words(self):
        spellings = ["0 9 * * MON-FRI", " 00 09 * * monday-Friday ", "0 0 9 * * 2,3,4,5,6"]
        assert len({explain(CronExpression(text)) for text in spellings}) == 1


class TestLaws:
    @given(TEXTS)
    def test_is_one_bounded_sentence(self, text):
        said = explain(CronExpression(text))
        assert said.endswith(".")
        assert said.isprintable()
        assert len(said) <= 900

    @given(field(1, 7))
    def test_names_exactly_the_weekdays(self, text):
        cron = CronExpression(f"0 0 * * {text}")
        said = explain(cron)
        names = list(module.WEEKDAY_NAMES)
        found = {name for name in names if name in said}
        if match := re.search(r"(\w+day) to (\w+day)", said):
            start, end = names.index(match[1]), names.index(match[2])
            found = {names[(start + k) % 7] for k in range((end - start) % 7 + 1)}
        assert found == ({names[d - 1] for d in cron.days_of_week} if found else set())
        assert found or len(cron.days_of_week) == 7

    @given(field(0, 59))
    def test_every_n_minutes_is_said_of_even_gaps_alone(self, text):
        cron = CronExpression(f"{text} * * * *")
        ticks = cron.between_ms(0, 86_400_000)
        gaps = {int(b - a) // 60_000 for a, b in pairwise(ticks)}
        match = re.match(r"Every (?:(\d+) minutes|minute|hour)", explain(cron))
        assert (match is not None) == (len(gaps) == 1)
        if match and match[1]:
            assert gaps == {int(match[1])}

    @given(field(1, 12))
    def test_names_a_month_only_if_it_is_allowed(self, text):
        cron = CronExpression(f"0 0 1 {text} *")
        said = explain(cron)
        if " to " not in said and len(cron.months) < 12:
            expected = {module.MONTH_NAMES[m - 1] for m in cron.months}
            assert {name for name in module.MONTH_NAMES if name in said} == expected

    def test_a_list_of_everything_and_more_stays_short(self):
        odd = ",".join(str(n) for n in range(1, 60, 3)) + ",2,7,33,50"
        years = ",".join(str(y) for y in range(1970, 2101) if y % 3)
        said = explain(CronExpression(f"{odd} {odd} 1,4,9,10,20 3,7,8,20 2,5,7 2,4,7 {years}"))
        assert len(said) <= 900
        assert " more" in said

    def test_ten_thousand_characters_stay_short(self):
        assert len(explain(CronExpression(f"{'0,5,' * 2_500}9 * * * *"))) < 200


class TestPieces:
    @pytest.mark.parametrize(
        ("values", "said"),
        [((5,), "5"), ((5, 6), "5 and 6"), ((1, 2, 3), "1 to 3"), ((1, 2, 3, 9), "1 to 3 and 9")],
    )
    def test_values_are_listed_by_runs(self, values, said):
        assert listed(values) == said

    def test_a_long_list_counts_the_rest(self):
        assert listed(range(0, 60, 2)) == "0, 2, 4, 6, 8, 10, 12, 14, 16, 18 and 20 more"

    @pytest.mark.parametrize(
        ("weekdays", "said"),
        [
            ((1,), "Sunday"),
            ((1, 7), "Saturday and Sunday"),
            ((1, 6, 7), "Friday to Sunday"),
            ((1, 3, 4, 5, 6, 7), "Tuesday to Sunday"),
            ((2, 4, 6), "Monday, Wednesday and Friday"),
        ],
    )
    def test_weekdays_are_said_from_monday(self, weekdays, said):
        assert weekday_words(weekdays) == said

    def test_pieces_are_joined_as_in_english(self):
        assert [joined(p) for p in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
            *("", "a", "a and b", "a, b and c")
        ]
