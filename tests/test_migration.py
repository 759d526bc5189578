"""Fleets of six systems, audited: each verdict and proposal, tick by tick over eight years.

The judge is `systems`, which shares nothing with the package.
"""

import numpy as np
import pandas as pd
import pytest
import systems

from resonate_lab.cron import CronExpression
from resonate_lab.whatif import audit, read_fleet
from resonate_lab.whatif.moved import BY_SEASON

# File: rows, and how many of them mean the same, need one expression, need two, have none.
FLEETS = {
    "examples/public_fleet.csv": (785, 615, 163, 0, 7),
    "tests/data/fleets/etc/crontab": (24, 13, 7, 2, 2),
    "tests/data/fleets/cron.d/zones": (20, 3, 8, 6, 3),
    "tests/data/fleets/cronjobs.yaml": (33, 11, 11, 5, 6),
    "tests/data/fleets/eventbridge.json": (35, 0, 21, 2, 12),
    "tests/data/fleets/airflow.json": (33, 6, 13, 5, 9),
    "tests/data/fleets/quartz.csv": (28, 16, 3, 1, 8),
}


@pytest.fixture(scope="module")
def audited(root):
    return {name: audit(root / name, after="2026-12-01") for name in FLEETS}


def ticks(text):
    return CronExpression(text).between_ms(systems.START_MS + 1, systems.END_MS - 1)


def proposed_ticks(row):
    """What the proposals fire in eight years, as the reason says to use them."""
    parts = [ticks(text) for text in (row.proposed, row.proposed_second) if text]
    if BY_SEASON in row.reason:
        now = systems.offset_at(row.zone, np.array([systems.START_MS]))[0]
        first, second = (systems.offset_at(row.zone, part) == now for part in parts)
        parts = [parts[0][first], parts[1][~second]]
    return np.sort(np.concatenate(parts))


def zone_and_text(row):
    prefix, _, rest = row.cron.partition(" ")
    if prefix.startswith(("TZ=", "CRON_TZ=")):
        return prefix.partition("=")[2], rest
    return row.zone, row.cron


def is_interval(row):
    return row.reason.startswith("it fires every")


@pytest.mark.parametrize("name", FLEETS)
class TestEightYears:
    def test_every_proposal_fires_when_the_author_meant_and_at_no_other_instant(
        self, audited, name
    ):
        rows = audited[name][audited[name]["proposed"] != ""]
        rows = rows.drop_duplicates(["cron", "reading", "zone"])
        assert rows["proven"].all()
        wrong = []
        for row in rows.itertuples():
            zone, text = zone_and_text(row)
            found = proposed_ticks(row._replace(zone=zone))
            if is_interval(row):
                good = len(np.unique(np.diff(found))) == 1
            else:
                good = np.array_equal(found, systems.meant_ms(row.reading, text, zone))
            if not good:
                wrong.append((row.cron, row.zone, row.proposed, row.proposed_second))
        assert wrong == []

    def test_two_texts_that_are_active_together_never_fire_together(self, audited, name):
        for row in audited[name].itertuples():
            if row.proposed_second and BY_SEASON not in row.reason:
                assert not len(np.intersect1d(ticks(row.proposed), ticks(row.proposed_second)))

    def test_the_same_is_the_same(self, audited, name):
        same = audited[name][audited[name]["verdict"] == "same"]
        for row in same.drop_duplicates(["cron", "reading", "zone"]).itertuples():
            cron = CronExpression(row.cron)
            # A text that fires each hour or more often shows in a year all that it does.
            dense = cron.count_ms(systems.START_MS, systems.END_MS) > 70_000
            for start, end in systems.quarters()[:4] if dense else [(systems.START, systems.END)]:
                meant = systems.meant_ms(row.reading, row.cron, row.zone, start, end)
                low, high = (int(at.timestamp()) * 1000 for at in (start, end))
                assert np.array_equal(cron.between_ms(low + 1, high - 1), meant), row.cron

    def test_different_parts_at_the_instant_named(self, audited, name):
        for row in audited[name][audited[name]["verdict"] == "different"].itertuples():
            zone, text = zone_and_text(row)
            meant, ours = systems.meant_ms(row.reading, text, zone), ticks(text)
            alone = np.setxor1d(meant, ours)
            at = [pd.Timestamp(int(one), unit="ms", tz="UTC") for one in (
                alone[0], ours[ours >= alone[0]][0], meant[meant >= alone[0]][0],
            )]  # fmt: skip
            assert [row.differs_at, row.ours_at, row.theirs_at] == at, row.cron

    def test_the_counts(self, audited, name):
        rows = audited[name]
        same = rows["verdict"] == "same"
        two = rows["proposed_second"] != ""
        one = (rows["proposed"] != "") & ~two
        counts = (len(rows), *(int(some.sum()) for some in (same, one, two, ~(same | one | two))))
        print(f"{name}: {counts[0]} rows, same {counts[1]}, one {counts[2]}, two {counts[3]}")
        assert counts == FLEETS[name]

    def test_each_row_has_one_sentence(self, audited, name):
        reasons = audited[name]["reason"]
        assert (reasons != "").all()
        assert all(reason.isprintable() for reason in reasons)


def test_the_reading_is_found_without_being_told(audited):
    found = {name: set(frame["reading"]) for name, frame in audited.items()}
    assert found["tests/data/fleets/cronjobs.yaml"] == {"kubernetes"}
    assert found["tests/data/fleets/eventbridge.json"] == {"aws"}
    assert found["tests/data/fleets/airflow.json"] == {"airflow"}
    assert found["tests/data/fleets/etc/crontab"] == {"crontab"}


def test_a_frame_that_was_read_is_judged_like_its_file(root, audited):
    for name in FLEETS:
        frame = read_fleet(root / name)
        pd.testing.assert_frame_equal(audit(frame, after="2026-12-01"), audited[name])
