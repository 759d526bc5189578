"""What strangers write is shown and not obeyed: in tables, in JSON, in trees, in errors."""

import csv
import json

import pytest
from live_server import engine_answers
from wire import TARGETED

import resonate_lab as rl

HOSTILE = {
    "escape": "\x1b[2J\x1b[31m",
    "link": "\x1b]8;;http://evil\x1b\\here\x1b]8;;\x1b\\",
    "title": "\x1b]0;owned\x07",
    "csi": "\x9b31m",
    "bell": "\x07\x08\x7f",
    "return": "safe\rrm -rf",
    "bidi": "\u202egnp\u2066x\u2069\u200f",
    "zero width": "a\u200bb\ufeffc\u00ad\u2060",
    "lines": "a\u2028b\u2029c\x85d\x0b\x0c",
    "tags": "\U000e0041\U000e007f",
    "markup": "[bold red]x[/] :smile: [link=http://evil]y[/link]",
    "long": "0123456789" * 1_000,
}
DOWN = ("--down", "2026-12-01..2026-12-02")
WINDOW = ("--start", "2026-12-01", "--end", "2026-12-01 06:00")


def harmless(text):
    """Return whether a terminal would draw a text and do nothing else."""
    return text.replace("\n", "").isprintable() and max(map(len, text.split("\n"))) <= 100


@pytest.fixture
def fleet(tmp_path):
    """Write a fleet whose ids are hostile, as is every second expression."""
    with open(tmp_path / "fleet.csv", "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "cron"])
        for number, text in enumerate(HOSTILE.values()):
            rows.writerow([f"ok {text}", f"{number} * * * *"])
            rows.writerow([f"bad {text}", f"0 9 * * {text}"])
    return "fleet.csv"


COMMANDS = [
    ("audit", "fleet.csv"),
    ("whatif", "fleet.csv", *DOWN),
    ("whatif", "fleet.csv", *DOWN, "--workers", "2", "--run-time", "1min"),
    ("whatif", "fleet.csv", *DOWN, "--policy", "Temporal schedule"),
    ("longest-outage", "fleet.csv", "--down", "2026-12-01"),
    ("policies", "fleet.csv", *DOWN),
    ("load", "fleet.csv", *WINDOW),
    ("collisions", "fleet.csv", *WINDOW, "--run-time", "2min"),
    ("spread", "fleet.csv", *WINDOW, "--bound", "1", "--within", "2min"),
    ("demo", "fleet.csv"),
]


class TestFleets:
    @pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
    def test_a_table_of_hostile_ids_and_expressions_is_harmless(self, run, fleet, command):
        code, out, err = run(*command)
        assert (code, err) == (0, "")
        assert harmless(out)

    @pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
    def test_their_json_has_them_whole_and_is_harmless(self, run, fleet, command):
        code, out, err = run(*command, "--json")
        assert (code, err) == (0, "")
        assert out.replace("\n", "").isprintable()
        if command[0] not in ("demo", "load", "policies"):  # which count, and name nobody
            found = json.dumps(json.loads(out), ensure_ascii=False)
            assert json.dumps(HOSTILE["link"], ensure_ascii=False)[1:-1] in found

    @pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
    def test_what_cannot_be_seen_is_written_out(self, run, tmp_path, text):
        (tmp_path / "f.json").write_text(
            json.dumps({"schedules": [{"id": text, "cron": "@hourly"}]})
        )
        code, out, _ = run("whatif", "f.json", *DOWN)
        assert code == 0
        assert harmless(out)
        shown = "".join(out.split())
        assert "\\" in shown or text.isprintable()
        if len(text) > 300:
            assert "…(9,700morecharacters)" in shown


class TestExpressions:
    @pytest.mark.parametrize("command", ["explain", "next", "to-utc", "local-view", "policies"])
    @pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
    def test_a_refused_expression_is_told_harmlessly(self, run, command, text):
        rest = {"to-utc": ("UTC", "2026"), "local-view": ("UTC", "2026"), "policies": DOWN}
        code, out, err = run(command, f"0 9 * * {text}", *rest.get(command, ()))
        assert code == 1
        assert out == ""
        assert err.replace("\n", "").isprintable()
        assert len(err) < 2_000


class TestEngines:
    @pytest.fixture
    def file(self, tmp_path, monkeypatch):
        """Save an engine whose schedules, promises, tags and values are hostile."""
        engine = rl.Engine(now="2026-12-01")
        for text in HOSTILE.values():
            id = text.replace(".", "").replace(":", "")
            tags = TARGETED | {"note": text, text: "x"}
            engine.schedules.create(
                id,
                cron="0 * * * *",
                promise_id=f"{id}/{{{{.timestamp}}}}",
                promise_timeout="1h",
                promise_tags=tags,
            )
        engine.advance("2h")
        engine.save(tmp_path / "engine.json")
        monkeypatch.setenv("RESONATE_LAB_FILE", "engine.json")
        return engine

    @pytest.mark.parametrize("word", ["schedules", "promises", "tasks"])
    def test_what_a_search_prints_is_harmless_and_whole(self, run, file, word):
        code, out, err = run(word, "search", "--limit", "1000")
        assert (code, err) == (0, "")
        assert out.replace("\n", "").isprintable()
        ids = {record["id"].partition("/")[0] for record in json.loads(out)[word]}
        assert len(ids) == len(HOSTILE)

    def test_trees_are_harmless(self, run, file):
        for promise in file.promises.search():
            code, out, err = run("tree", promise.id)
            assert (code, err) == (0, "")
            assert out.replace("\n", "").isprintable()

    @pytest.mark.parametrize("word", ["schedules", "promises", "tasks"])
    @pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
    def test_so_is_an_id_that_is_not_there(self, run, file, word, text):
        code, out, err = run(word, "get", f"none {text}")
        assert (code, out) == (1, "")
        assert err.replace("\n", "").isprintable()

    @pytest.mark.parametrize(
        "command",
        [
            ("outage", "engine.json", "1h"),
            ("advance", "engine.json", "1h"),
            ("show", "engine.json"),
        ],
    )
    @pytest.mark.parametrize("form", [(), ("--json",)])
    def test_what_happened_is_told_harmlessly(self, run, file, command, form):
        code, out, err = run("engine", *command, *form)
        assert (code, err) == (0, "")
        assert out.replace("\n", "").isprintable()

    def test_a_live_server_with_such_records_is_mirrored(self, run, file, serve):
        live = serve(engine_answers(file))
        code, out, err = run(
            "engine", "mirror", live.url, "copy.json", "--promises", "--profile", "standard"
        )
        assert (code, err) == (0, "")
        assert harmless(out)
        code, out, err = run("whatif", live.url, *DOWN)
        assert (code, err) == (0, "")
        assert harmless(out)
