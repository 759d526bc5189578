"""Whether a text means the same elsewhere, and where the two part."""

import pytest
from crontabs import CRONTABS, NOW, chain, ms
from hypothesis import assume, given, settings

from resonate_lab.cron import CronError, CronExpression
from resonate_lab.cron.comparison import Comparison, compare, verdict
from resonate_lab.cron.crontab import CrontabError, crontab_fires_ms
from resonate_lab.cron.translation import Translation


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
