"""What to write for the server, walked by croniter and by the core."""

import pytest
from crontabs import CRONTABS, NOW, chain, ms
from hypothesis import assume, given, settings

from resonate_lab.cron import CronExpression
from resonate_lab.cron.crontab import crontab_fires_ms
from resonate_lab.cron.reading import dialect_reading
from resonate_lab.cron.translation import translate, translate_reading

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
