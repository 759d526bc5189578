"""Every row that the real evaluators produced, replayed: validity, the bulk fill, the chain.

``cron_resonate.jsonl.gz`` comes from the crate that the released server is built on,
``cron_quartz.jsonl.gz`` from Quartz 2.3.2, ``cases.jsonl`` from public bug reports.
"""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import oracle
import pytest

from resonate_lab.cron import CronError, CronExpression

DATA = Path(__file__).parent / "data"
DIALECTS = {"resonate": "resonate-0.9.8", "quartz": "quartz"}


def rows_of(name: str) -> list[dict]:
    with gzip.open(DATA / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def crate_rows():
    return rows_of("cron_resonate.jsonl.gz")


@pytest.fixture(scope="module")
def quartz_rows():
    return rows_of("cron_quartz.jsonl.gz")


def compiled(text, dialect):
    try:
        return CronExpression(text, dialect)
    except CronError:
        return None


def differences(rows, dialect):
    """Return the rows that come out differently, and how many fires were compared."""
    wrong, fires = [], 0
    for row in rows:
        cron = compiled(row["expr"], dialect)
        if (cron is not None) != row["valid"]:
            wrong.append(row["expr"])
            continue
        for after, expected in zip(row.get("after", ()), row.get("fires", ()), strict=True):
            expected = [second * 1000 for second in expected]
            chain, at = [], after * 1000
            while len(chain) < row["limit"] and (at := cron.next_ms(at)) is not None:
                chain.append(at)
            if chain != expected or cron.fires_ms(after * 1000, row["limit"]).tolist() != expected:
                wrong.append((row["expr"], after))
            fires += len(expected)
    return wrong, fires


def test_every_row_of_the_released_server_comes_out_the_same(crate_rows):
    assert len(crate_rows) == 21_000
    assert sum(row["valid"] for row in crate_rows) == 16_370
    assert differences(crate_rows, "resonate-0.9.8") == ([], 154_383)


def test_every_row_of_quartz_comes_out_the_same(quartz_rows):
    assert len(quartz_rows) == 7_105
    assert sum(row["valid"] for row in quartz_rows) == 4_131
    assert differences(quartz_rows, "quartz") == ([], 39_481)


class TestWhatTheDefaultDialectShares:
    """`resonate` is the released server with the right calendar, and nothing else."""

    def test_it_takes_and_refuses_the_same_texts(self, crate_rows):
        assert all(
            (compiled(row["expr"], "resonate") is not None) == row["valid"] for row in crate_rows
        )

    def test_each_difference_is_the_year_rule_and_right_by_brute_force(self, crate_rows):
        same_rows, different_rows, different_starts = 0, 0, 0
        for row in crate_rows:
            if not row["valid"]:
                continue
            cron = CronExpression(row["expr"])
            parted = []
            for after, fires in zip(row["after"], row["fires"], strict=True):
                found = (cron.fires_ms(after * 1000, row["limit"]) // 1000).tolist()
                if found != fires:
                    parted.append(after)
                    model = oracle.read(row["expr"], "resonate")
                    # The defect strikes where the year of the first second is not listed.
                    assert datetime.fromtimestamp(after + 1, UTC).year not in model.fields[6]
                    assert cron.field_texts[6] not in (None, "*")
                    assert found == model.chain(after, limit=row["limit"])
            different_starts += len(parted)
            different_rows += bool(parted)
            same_rows += not parted
        assert (same_rows, different_rows, different_starts) == (14_539, 1_831, 2_979)


class TestPublicReports:
    @staticmethod
    def cases(dialect):
        lines = (DATA / "cases.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines if line.strip()]
        return [row for row in rows if row["dialect"] == dialect and "expr" in row["input"]]

    @pytest.mark.parametrize(("dialect", "count"), [("resonate", 31), ("quartz", 17)])
    def test_every_case_comes_out_as_it_was_checked(self, dialect, count):
        cases, wrong = self.cases(dialect), []
        for case in cases:
            given, expected = case["input"], case["expected"]
            cron = compiled(given["expr"], DIALECTS[dialect])
            if (cron is not None) != expected["valid"]:
                wrong.append(case["id"])
            elif cron is not None and "start" in given:
                fires = cron.fires(given["n"], given["start"])
                if fires.strftime("%Y-%m-%dT%H:%M:%SZ").tolist() != expected["fires"]:
                    wrong.append(case["id"])
        assert len(cases) == count
        assert wrong == []

    def test_the_search_backwards_of_case_r50_finds_the_leap_day(self):
        (case,) = [case for case in self.cases("resonate") if "prev(" in case["why"]]
        cron = CronExpression(case["input"]["expr"], "resonate-0.9.8")
        assert case["id"] == "R50"
        for part in case["why"].split("prev(")[1:]:
            before, _, found = part.partition(") = ")
            assert cron.prev(before).isoformat() == found[:20].replace("Z", "+00:00")
