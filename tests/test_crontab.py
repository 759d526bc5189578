"""What a text means in a crontab."""

import pytest
from croniter import croniter
from crontabs import DAY, DAYS, NOW, field, ms
from hypothesis import given

from resonate_lab.cron import CronExpression
from resonate_lab.cron.crontab import (
    CrontabError,
    crontab_fires_ms,
    crontab_reading,
    crontab_weekdays,
)
from resonate_lab.cron.reading import NEVER
from resonate_lab.cron.translation import translate


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
