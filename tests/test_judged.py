"""The verdict on one expression."""

import pytest

from resonate_lab.cron import CronError, CronExpression
from resonate_lab.whatif.judged import judged

AFTER_MS = 1796083200000  # 2026-12-01T00:00:00Z, a Tuesday


def one(text, reading="crontab"):
    return judged(text, reading, "", AFTER_MS)._asdict()


class TestRows:
    def test_weekday_numbers_are_moved(self):
        row = one("0 9 * * 1-5")
        assert row["verdict"] == "different"
        assert row["proposed"] == "0 9 * * MON-FRI"
        assert row["proven"]
        assert row["differs_at"] == AFTER_MS + 81 * 3_600_000  # the Friday, 09:00
        assert "numeric-weekday" in row["findings"]

    def test_either_day_field_takes_two_schedules(self):
        row = one("0 0 1 * 1")
        assert (row["proposed"], row["proposed_second"]) == ("0 0 1 * *", "0 0 2-31 * MON")

    def test_what_no_expression_says_is_said(self):
        row = one("0 15 10 L * ?", "quartz")
        assert row["verdict"] == "refused"
        assert row["proposed"] == ""
        assert not row["proven"]

    def test_accepted_here_and_senseless_there_is_unclear(self):
        row = one("0 0 0 * * *", "quartz")
        assert row["verdict"] == "unclear"

    def test_six_fields_of_eventbridge_begin_with_the_minute(self):
        refused = one("05 20 ? * 4 *", "aws")
        assert (refused["verdict"], refused["proposed"]) == ("refused", "0 05 20 ? * WED")
        different = one("cron(0 12 * * ? *)".removeprefix("cron(").removesuffix(")"), "aws")
        assert different["verdict"] == "refused"
        wrong = one("0 10 ? * L *", "aws")
        assert wrong["proposed"] == "0 0 10 ? * SAT"
        assert one("rate(5 minutes)", "aws")["verdict"] in ("unclear", "refused")

    def test_blank_and_hostile_texts_are_refused_in_a_sentence(self):
        for text in ("", " ", "\0", "\u202e", "x" * 100_000, "=1+1", "* * * *"):
            row = one(text)
            assert row["verdict"] == "refused"
            assert 0 < len(row["reason"]) < 1000


class TestZonesInKubernetesSchedules:
    @pytest.mark.parametrize(
        ("text", "proposed"),
        [
            ("TZ=UTC 0 9 * * *", ("0 9 * * *", "")),
            ("CRON_TZ=UTC 0 9 * * 1-5", ("0 9 * * MON-FRI", "")),
            ("CRON_TZ=Asia/Tokyo 0 9 * * *", ("0 0 * * *", "")),
            ("TZ=Europe/Berlin 0 9 * * *", ("0 8 * * *", "0 7 * * *")),
            ("TZ=UTC 0 9 * * 9", ("", "")),
            ("TZ=Nowhere/Else 0 9 * * *", ("", "")),
        ],
    )
    def test_are_refused_as_written_and_the_times_kept(self, text, proposed):
        row = one(text, "kubernetes")
        with pytest.raises(CronError):
            CronExpression(text)
        assert row["verdict"] == "refused"
        assert (row["proposed"], row["proposed_second"]) == proposed
        assert row["proven"] == (proposed != ("", ""))
        assert row["reason"].startswith("a Resonate expression names no zone; ")
        assert (row["differs_at"], row["ours_at"], row["theirs_at"]) == (-1, -1, -1)
