"""The exercises: what is right passes, what is wrong gets a hint, and nobody is told the answer.

Teachers find the answers here.
"""

import json
from datetime import timedelta
from pathlib import Path

import nbformat
import pandas as pd
import pytest

import resonate_lab as rl
from resonate_lab.course import check, exercises, fingerprint

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))

# Exercise -> its answer, and the mistakes that one can foresee.
KEY = {
    "schedule-january": (23, [31, 22]),
    "schedule-three-days": ("30 6 * * MON,WED,FRI", ["30 6 * * 1,3,5", "30 18 * * MON,WED,FRI"]),
    "schedule-pending": (6, [144, 7]),
    "weekday-weekend": ("15 7 * * SAT,SUN", ["15 7 * * 6,7"]),
    "weekday-first-monday": (3, [62, 12, 53, 2]),
    "weekday-seven": ("Saturday", ["Sunday", "Monday"]),
    "weekday-second-tuesday": (
        "0 10 8-14 * TUE",
        ["0 10 1-7 * TUE", "0 10 8-14 * 2", "0 10 8-14 * *", "0 10 7-14 * TUE"],
    ),
    "outage-messages": (8, [32, 9, 7, 24]),
    "outage-backup": ("7h", ["6h", "12h"]),
    "expired-count": (7, [5, 12, 8]),
    "expired-weekend": ("55h", ["54h", "60h", "61h"]),
    "expired-created": ("2024-01-01 05:00", ["2024-01-01 12:00", "2024-01-01 08:00"]),
    "id-of-a-tick": (
        "nightly.1704160800000",
        [
            "nightly.1704160800",
            "nightly.1704074400000",
            "nightly-1704160800000",
            "nightly.{{.timestamp}}",
        ],
    ),
    "id-shared": (24, [48, 23, 2, 1]),
    "id-template": (
        "rollup-{{.id}}-{{.timestamp}}",
        [
            "rollup-{{.timestamp}}",
            "rollup-{{ .id }}-{{ .timestamp }}",
            "rollup-{{id}}-{{timestamp}}",
            "rollup-{{.id}}",
        ],
    ),
    "tags-search": ("resonate:schedule", ["resonate:target", "resonate:origin", "books"]),
    "tags-lineage": (
        ["resonate:branch", "resonate:origin", "resonate:parent", "resonate:prefix"],
        [["branch", "origin", "parent", "prefix"]],
    ),
    "tags-tree": (5, [4]),
    "deleted-hours": (20, [21, 24, 19, 22]),
    "deleted-down": (24, [20, 23, 25]),
    "deleted-state": (
        "rejected_timedout",
        ["pending", "rejected", "timedout", "rejected_canceled"],
    ),
    "profiles-poll": ("server", []),
    "profiles-day": (0, [360]),
    "profiles-tags": (["spec"], []),
    "herd-peak": (3, [2]),
    "herd-move": ("1-59/15 * * * *", ["5-59/15 * * * *", "2-59/15 * * * *", "*/15 * * * *"]),
    "herd-left": (2, [1, 3]),
    "local-kolkata": ("30 12 * * *", ["0 13 * * *", "30 23 * * *", "0 12 * * *", "0 18 * * *"]),
    "local-berlin": ("0 6 * * MON", ["0 7 * * MON", "0 10 * * MON", "0 6 * * 1", "0 6 * * *"]),
    "local-tokyo": ("0 15 * * SUN", ["0 15 * * MON", "0 15 * * 7", "0 9 * * MON"]),
    "fleet-different": (
        ["report", "invoice"],
        [["report"], ["invoice"], ["poll", "report", "invoice"]],
    ),
    "fleet-week": (1014, [1012, 870, 1013]),
    "fleet-restart": (6, [145, 7, 144]),
}

# The same answers, written otherwise.
ALSO = {
    "schedule-three-days": ["30 6 * * 2,4,6", "0 30 6 ? * fri,mon,wed", " 30 6 * * MON,WED,FRI "],
    "weekday-second-tuesday": ["0 10 14,13,8-12 * TUE", "0 10 8-14 * 3"],
    "weekday-seven": ["saturday", "SAT", " Sat "],
    "outage-backup": ["420min", "7 h", pd.Timedelta("7h"), timedelta(hours=7)],
    "expired-created": ["2024-01-01T05:00Z", 1_704_085_200_000, pd.Timestamp("2024-01-01 05:00")],
    "tags-search": ["Resonate:schedule"],
    "tags-lineage": [{"resonate:parent", "resonate:branch", "resonate:prefix", "resonate:origin"}],
    "deleted-state": ["REJECTED_TIMEDOUT"],
    "profiles-poll": ["Server"],
    "profiles-tags": [("Spec",), pd.Series(["spec"])],
    "herd-move": ["1,16,31,46 * * * *"],
    "schedule-january": [pd.Series([23])[0], 23.0, pd.Series([23.0])[0]],
}

TARGET = "poll://any@class"
DAY = "2024-01-02"


def engine(profile="standard", **schedules):
    """Return an engine with these schedules: cron texts, or what a schedule is created with."""
    made = rl.Engine(profile, now="2024-01-01")
    for id, asked in schedules.items():
        asked = {"cron": asked} if isinstance(asked, str) else asked
        made.schedules.create(id, target=TARGET, **asked)
    return made


def missed(cron, down, timeout):
    fleet = pd.DataFrame({"id": ["x"], "cron": [cron]})
    return rl.what_if(fleet, down, promise_timeout=timeout).counters


def pending():
    made = engine(s={"cron": "*/10 * * * *", "promise_timeout": "1h"})
    made.advance("1d")
    return len(made.promises.search(state="pending"))


def shared():
    template = {"cron": "0 * * * *", "promise_id": "rollup-{{.timestamp}}"}
    made = engine(eu=template, us=template)
    made.run_until(DAY)
    return len(made.promises)


def hours(is_deleted):
    made = engine(s="0 * * * *")
    made.run_until("2024-01-01 03:30")
    if is_deleted:
        made.schedules.delete("s")
        made.advance("3h30min")
        made.schedules.create("s", cron="0 * * * *", target=TARGET)
    else:
        made.outage("3h30min")
    made.run_until(DAY)
    return len(made.promises)


def shortest(cron, down):
    hours = (h for h in range(1, 99) if missed(cron, down, f"{h}h")["expired"] == 0)
    return f"{next(hours)}h"


SMALL = pd.DataFrame(
    {
        "id": ["poll", "report", "invoice"],
        "cron": ["*/10 * * * *", "0 7 * * 1-5", "0 0 1,15 * MON"],
    }
)
HERD = ["0 * * * *", "*/15 * * * *", "0 0 * * *"]


def peak(crons):
    fleet = pd.DataFrame({"id": list(map(str, range(len(crons)))), "cron": crons})
    return int(rl.load(fleet, "2024-01-01", "2024-01-01 23:59").max())


def wrong_in_a_crontab():
    audited = rl.audit(SMALL, after="2024-01-01")
    return audited.loc[audited["verdict"] != "same", "id"].tolist()


# The answers that the package itself can work out.
COMPUTED = {
    "schedule-january": lambda: len(pd.bdate_range("2024-01-01", "2024-01-31")),
    "schedule-pending": pending,
    "weekday-first-monday": lambda: sum(
        pd.Timestamp(2024, month, 1).day_name() == "Monday" for month in range(1, 13)
    ),
    "outage-messages": lambda: missed(
        "*/15 * * * *", ("2024-01-01 22:00", "2024-01-02 06:00"), "2h"
    )["dispatched"],
    "outage-backup": lambda: shortest("0 2 * * *", ("2024-01-05 20:00", "2024-01-06 08:00")),
    "expired-count": lambda: missed("*/10 * * * *", ("2024-01-01", "2024-01-01 02:00"), "45min")[
        "expired"
    ],
    "expired-weekend": lambda: shortest("0 2 * * *", ("2024-01-05 20:00", "2024-01-08 08:00")),
    "id-of-a-tick": lambda: f"nightly.{int(pd.Timestamp('2024-01-02 02:00').timestamp())}000",
    "id-shared": shared,
    "deleted-hours": lambda: hours(True),
    "deleted-down": lambda: hours(False),
    "profiles-day": lambda: (
        engine("server", s={"cron": "* * * * *", "promise_timeout": "1d"}).outage("6h").expired
    ),
    "herd-peak": lambda: peak(HERD),
    "herd-left": lambda: peak([HERD[0], KEY["herd-move"][0], HERD[2]]),
    "local-kolkata": lambda: rl.to_utc("0 18 * * *", "Asia/Kolkata", 2026)["cron"][0],
    "local-berlin": lambda: rl.to_utc("0 8 * * MON", "Europe/Berlin", 2026)["cron"][1],
    "local-tokyo": lambda: rl.to_utc("0 0 * * MON", "Asia/Tokyo", 2026)["cron"][0],
    "fleet-different": wrong_in_a_crontab,
    "fleet-week": lambda: int(rl.load(SMALL, "2024-01-01", "2024-01-07 23:59:59").sum()),
    "fleet-restart": lambda: rl.what_if(SMALL, ("2024-01-06 12:00", "2024-01-07 12:00")).counters[
        "dispatched"
    ],
}


def all_of(table):
    return [(name, answer) for name, answers in table.items() for answer in answers]


MISTAKES = [(name, mistake) for name, (_, mistakes) in KEY.items() for mistake in mistakes]


class TestRight:
    def test_every_exercise_is_in_the_key(self):
        assert list(exercises()) == list(KEY)

    @pytest.mark.parametrize("name", KEY)
    def test_the_answer_passes(self, name):
        right = KEY[name][0]
        assert check(name, right).right is True, f"write right = {fingerprint(name, right)!r}"

    @pytest.mark.parametrize(("name", "answer"), all_of(ALSO))
    def test_so_does_the_same_answer_written_otherwise(self, name, answer):
        assert check(name, answer).right is True

    @pytest.mark.parametrize("name", KEY)
    def test_whoever_is_right_is_told_why(self, name):
        words = check(name, KEY[name][0]).words
        assert words.startswith("Right. ")
        assert len(words) > 20

    @pytest.mark.parametrize("name", COMPUTED)
    def test_and_it_is_what_the_package_works_out(self, name):
        assert COMPUTED[name]() == KEY[name][0]


class TestWrong:
    @pytest.mark.parametrize(("name", "mistake"), MISTAKES)
    def test_a_foreseen_mistake_has_a_hint_of_its_own(self, name, mistake):
        verdict = check(name, mistake)
        assert verdict.right is False
        found = fingerprint(name, mistake)
        assert found in exercises()[name]["mistakes"], f"write {found} = a hint"
        assert exercises()[name]["mistakes"][found] in verdict.words

    @pytest.mark.parametrize("name", KEY)
    def test_no_hint_is_for_a_mistake_that_nobody_makes(self, name):
        foreseen = {fingerprint(name, mistake) for mistake in KEY[name][1]}
        assert set(exercises()[name].get("mistakes", {})) == foreseen

    @pytest.mark.parametrize("name", KEY)
    def test_anything_else_has_one_too(self, name):
        others = [-1, 10**30, "nonsense", "7 7 7 7 *", "17h", "2031-01-01", ["a"], 1.5, True, b"x"]
        huge = [10**5000, "x" * 100_000, ["x"] * 100_000, list(range(100_000)), float("inf")]
        for answer in others + huge:
            verdict = check(name, answer)
            assert verdict.right is False
            assert verdict.words.startswith("Not yet. ")
            assert 20 < len(verdict.words) < 400

    @pytest.mark.parametrize("answer", [..., None, "", "  "])
    def test_what_is_not_filled_in_breaks_nothing(self, answer):
        verdicts = [check(name, answer) for name in KEY]
        assert {verdict.right for verdict in verdicts} == {None}
        assert all("dots" in verdict.words for verdict in verdicts)

    def test_no_hint_gives_the_answer_away(self):
        """An answer that is a text of some length; a number may stand in a hint by chance."""
        for name, (right, _) in KEY.items():
            exercise = exercises()[name]
            hints = [exercise["hint"], *exercise.get("mistakes", {}).values()]
            if isinstance(right, str) and len(right) > 6:
                assert [hint for hint in hints if right in hint] == []

    def test_an_answer_of_the_wrong_kind_is_told_what_to_write(self):
        for answer in ("23", True, 23.5, [23]):
            words = check("schedule-january", answer).words
            assert words == "Not yet. The answer is a whole number, without quotes."
        for answer in (7, "7", "noon", "SAT,SUN", ["Saturday"]):
            words = check("weekday-seven", answer).words
            assert words == "Not yet. The answer is the English name of a weekday, in quotes."
        assert "in quotes" in check("tags-search", 7).words
        assert "square brackets" in check("tags-lineage", "resonate:origin").words
        assert 'such as "3h"' in check("outage-backup", 7).words
        assert 'such as "2024-01-01 12:00"' in check("expired-created", 1.5).words
        assert "write SUN or 1 for Sunday" in check("local-tokyo", "0 15 * * 0").words

    def test_an_unknown_exercise_is_refused_with_the_names_of_the_others(self):
        with pytest.raises(ValueError, match=r"no exercise is called 'x'; write one of schedule-"):
            check("x", 1)


class TestPage:
    def test_a_verdict_is_text_however_it_came_about(self):
        hostile = check("local-tokyo", "<img src=x onerror=alert(1)> * * * *")._repr_html_()
        assert "<img" not in hostile
        assert "&lt;img" in hostile

    def test_code_in_a_hint_looks_like_code(self):
        page = check("schedule-january", 0)._repr_html_()
        assert "<code>weekdays.count</code>" in page
        assert "`" not in page

    def test_right_wrong_and_unanswered_differ_in_words_too(self):
        shown = [repr(check("schedule-january", answer)) for answer in (23, 22, ...)]
        assert [words.split(".")[0] for words in shown[:2]] == ["Right", "Not yet"]
        assert shown[2].startswith("No answer yet")

    def test_each_exercise_is_asked_once_in_a_cell_of_its_own(self):
        cells = [cell for path in NOTEBOOKS for cell in nbformat.read(path, as_version=4).cells]
        asked = [c.source for c in cells if c.cell_type == "code" and "check(" in c.source]
        assert asked == [f"answer = ...\ncheck({json.dumps(name)}, answer)" for name in KEY]
