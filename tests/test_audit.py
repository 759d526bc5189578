"""audit: what each expression means here, checked against croniter and the ground truth."""

import gzip
import io
import json
from pathlib import Path

import pandas as pd
import pytest
from croniter import CroniterBadDateError, croniter

from resonate_lab.cron import CronError, CronExpression
from resonate_lab.errors import FleetError, WindowError
from resonate_lab.whatif import audit, read_fleet
from resonate_lab.whatif.audit import VERDICTS, audit_counts, misread

HERE = Path(__file__).parent
EXAMPLE = HERE.parent / "examples" / "public_fleet.csv"
AFTER = "2026-12-01"
AFTER_MS = 1796083200000


@pytest.fixture(scope="module")
def public():
    return audit(EXAMPLE, after=AFTER)


def one(text, source="crontab", **columns):
    frame = pd.DataFrame({"id": ["s"], "cron": [text]} | columns)
    return audit(frame, source, after=AFTER).iloc[0]


def walked(text, count, after_ms=AFTER_MS):
    walk, ticks = croniter(text, after_ms / 1000), []
    try:
        while len(ticks) < count:
            ticks.append(int(walk.get_next(float)) * 1000)
    except CroniterBadDateError:  # none within fifty years
        return ticks
    return ticks


class TestPublicFleet:
    def test_the_counts(self, public):
        counts = audit_counts(public).set_index(["reading", "fields"])
        assert counts.loc[("crontab", 5)].to_dict() == {
            "same": 552,
            "different": 137,
            "refused": 20,
            "unclear": 0,
            "rows": 709,
        }
        assert counts.loc["quartz"]["rows"].sum() == 71
        assert counts.loc["quartz"]["refused"].sum() == 11
        assert counts["rows"].sum() == 785

    def test_a_comparison_of_300_ticks_would_miss_one_of_them(self, public):
        # From Monday on, this one agrees with the crontab for four days of 78 ticks each.
        text, monday = "*/10 7-19 * * 1-5", AFTER_MS - 86_400_000
        assert public.set_index("cron").loc[text, "verdict"] == "different"
        ours = CronExpression(text).fires_ms(monday, 313).tolist()
        theirs = walked(text, 313, monday)
        assert ours[:312] == theirs[:312]
        assert ours[312] != theirs[312]

    def test_same_is_the_same_for_croniter(self, public):
        rows = public[(public["verdict"] == "same") & (public["reading"] == "crontab")]
        for text in rows["cron"].iloc[::7]:
            assert CronExpression(text).fires_ms(AFTER_MS, 60).tolist() == walked(text, 60)

    def test_every_proposal_fires_when_croniter_says_the_author_meant(self, public):
        rows = public[(public["reading"] == "crontab") & (public["proposed"] != "")]
        assert len(rows) == 157
        for text, proposed in zip(rows["cron"], rows["proposed"], strict=True):
            assert CronExpression(proposed).fires_ms(AFTER_MS, 100).tolist() == walked(text, 100)
        assert rows["proven"].all()

    def test_where_the_readings_part_only_one_of_them_fires(self, public):
        rows = public[(public["verdict"] == "different") & (public["reading"] == "crontab")]
        for row in rows.itertuples():
            at, ours = row.differs_at, CronExpression(row.cron)
            theirs = croniter.match(row.cron, at.to_pydatetime())
            assert ours.matches(at) != theirs
            assert row.ours_at == ours.next(at - pd.Timedelta(seconds=1))
            assert at in (row.ours_at, row.theirs_at)
            assert row.ours_at != row.theirs_at

    def test_refused_is_what_the_released_server_refuses(self, public):
        truth = {}
        with gzip.open(HERE / "data" / "cron_resonate.jsonl.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                truth[row["expr"]] = row["valid"]
        known = public[public["cron"].isin(truth.keys())]
        assert len(known) > 20
        refused = known["verdict"] == "refused"
        assert (~refused).tolist() == [truth[text] for text in known["cron"]]

    def test_quartz_proposals_fire_as_quartz_does(self, public):
        rows = public[(public["reading"] == "quartz") & (public["proposed"] != "")]
        assert len(rows) == 4
        for text, proposed in zip(rows["cron"], rows["proposed"], strict=True):
            quartz = CronExpression(text, "quartz").fires_ms(AFTER_MS, 50)
            assert CronExpression(proposed).fires_ms(AFTER_MS, 50).tolist() == quartz.tolist()

    def test_there_is_a_reason_for_each_row_and_never_two_sentences(self, public):
        assert (public["reason"] != "").all()
        assert not public["reason"].str.contains("\n").any()


class TestRows:
    def test_the_fleets_own_column_has_the_last_word(self):
        frame = pd.DataFrame(
            {"cron": ["0 0 0 L * ?", "0 9 * * 1"], "dialect_guess": ["Quartz", ""]}
        )
        assert audit(frame, "crontab", after=AFTER)["reading"].tolist() == ["quartz", "crontab"]

    @pytest.mark.parametrize("columns", [{}, {"dialect": ["klingon"]}])
    def test_an_unknown_reading_is_refused(self, columns):
        with pytest.raises(FleetError, match="klingon"):
            one("@daily", "klingon", **columns)

    def test_every_row_asks_for_progress(self):
        seen = []

        def watched(rows):
            for row in rows:
                seen.append(row)
                yield row

        audit(read_fleet(io.StringIO("cron\n@daily\n@daily\n")), progress=watched)
        assert seen == [0, 1]

    @pytest.mark.parametrize("after", ["1969-12-31", "2101-01-01"])
    @pytest.mark.parametrize("crons", [["@daily"], []])
    def test_the_comparison_starts_within_the_calendar(self, after, crons):
        with pytest.raises(WindowError, match=r"after is .*1970 to 2100"):
            audit(pd.DataFrame({"cron": crons}), after=after)

    def test_an_empty_fleet_has_the_same_columns(self, public):
        empty = audit(pd.DataFrame({"id": [], "cron": []}), after=AFTER)
        assert list(empty) == list(public)
        assert empty.dtypes.to_dict() == public.dtypes.to_dict()
        assert len(audit_counts(empty)) == len(misread(empty)) == 0


class TestMisread:
    def test_rows_with_the_same_change_are_one(self, public):
        found = misread(public)
        assert found["rows"].is_monotonic_decreasing
        assert found["rows"].sum() == (public["verdict"] != "same").sum()
        first = found.iloc[0]
        assert first["write_instead"].endswith("MON-FRI")
        assert "Monday to Friday" in first["author_means"]
        assert "Sunday to Thursday" in first["resonate_does"]

    def test_what_is_refused_says_so(self, public):
        refused = misread(public)["resonate_does"].str.startswith("Refuses it: ")
        assert refused.any()

    @pytest.mark.parametrize(
        ("source", "text", "means", "instead"),
        [
            ("quartz", "0 9 * * 1-5", "No times that repeat in Quartz.", "nothing to translate"),
            ("crontab", "61 9 * * 1", "No times that repeat in a crontab.", "nothing to translate"),
            ("crontab", "@reboot", "No times that repeat in a crontab.", "nothing to translate"),
            ("aws", "cron(0 9 ? * 9 *)", "No times that repeat in EventBridge.", "nothing to"),
            ("aws", "rate(7 minutes)", "No single Resonate expression", "no single expression"),
            ("quartz", "0 0 9 LW * ?", "At 09:00 UTC, on the last weekday", "no single expression"),
            ("resonate-0.9.8", "0 9 * * 8", "No times that repeat in Resonate 0.9.8.", "nothing"),
            ("kubernetes", "TZ=UTC 0 9 * * *", "At 09:00 UTC, every day.", "0 9 * * *"),
        ],
    )
    def test_what_means_nothing_where_it_comes_from_is_not_translated(
        self, source, text, means, instead
    ):
        found = misread(audit(pd.DataFrame({"cron": [text]}), source, after=AFTER)).iloc[0]
        assert found["author_means"].startswith(means)
        assert found["write_instead"].startswith(instead)

    def test_categories_are_the_documented_ones(self, public):
        assert public["verdict"].dtype == VERDICTS
        for name in VERDICTS.categories:
            assert name in audit.__doc__

    def test_every_proposal_is_accepted(self, public):
        for text in public[["proposed", "proposed_second"]].to_numpy().ravel():
            if text:
                try:
                    CronExpression(text)
                except CronError as error:
                    pytest.fail(str(error))
