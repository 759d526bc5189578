"""The command line: what it prints and writes, and with which code it ends."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from resonate_lab import __version__, cli

EXAMPLE = Path(__file__).parents[1] / "examples" / "public_fleet.csv"
FILES = {"report.html", "timeline.png", "audit.csv", "outage.csv", "refused.csv"}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command in an empty folder; return its code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments):
        code = 0
        try:
            cli.main(arguments)
        except SystemExit as end:
            code = end.code
        out, err = capsys.readouterr()
        return code, out, err

    return call


class TestDemo:
    def test_it_prints_the_tables_and_writes_the_files(self, run, tmp_path):
        code, out, err = run("demo", str(EXAMPLE))
        assert code == 0
        assert {path.name for path in (tmp_path / "demo-output").iterdir()} == FILES
        assert "552         137        20" in out
        assert "126,859 missed ticks" in " ".join(out.split())
        assert "*/10 7-19 * * MON-FRI" in out
        assert "785/785" in err
        for name in FILES:
            assert str(Path("demo-output") / name) in out

    def test_two_runs_are_equal(self, run, tmp_path):
        fleet = tmp_path / "fleet.csv"
        fleet.write_text("id,cron\na,*/10 * * * *\nb,0 9 * * 1-5\n")
        outputs = []
        for folder in ("one", "two"):
            _, out, _ = run("demo", "fleet.csv", "--out", folder)
            outputs.append(out.replace(folder, ""))
        assert outputs[0] == outputs[1]
        for name in FILES:
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()

    def test_the_outage_and_the_timeout_may_be_chosen(self, run, tmp_path):
        (tmp_path / "f.csv").write_text("id,cron\na,0 * * * *\n")
        _, out, _ = run(
            "demo", "f.csv", "--down", "2024-01-01", "--up", "2024-01-01 03:00",
            "--promise-timeout", "2h",
        )  # fmt: skip
        assert "3 missed ticks, 2 execute messages at restart, 1 promise born expired" in " ".join(
            out.split()
        )

    @pytest.mark.parametrize("width", ["40", "80", "120"])
    def test_no_line_is_wider_than_the_terminal(self, run, tmp_path, monkeypatch, width):
        monkeypatch.setenv("COLUMNS", width)
        (tmp_path / "f.csv").write_text(f"id,cron\n{'long-' * 30},0 9 * * 1-5\nb,0 0 * * 0\n")
        _, out, _ = run("demo", "f.csv")
        assert max(map(len, out.splitlines())) <= int(width)

    def test_hostile_texts_reach_neither_terminal_nor_spreadsheet(self, run, tmp_path):
        (tmp_path / "f.csv").write_text(
            "id,cron\n=cmd()|x,0 * * * *\n\x1b[31mred,0 * * * *\n[bold]x[/bold],*/5 * * * *\n",
            encoding="utf-8",
        )
        code, out, _ = run("demo", "f.csv")
        assert code == 0
        assert "\x1b" not in out
        assert "[bold]x[/bold]" in out
        assert "'=cmd()|x" in (tmp_path / "demo-output" / "outage.csv").read_text(encoding="utf-8")

    def test_no_colour_is_printed_where_none_is_wanted(self, tmp_path):
        (tmp_path / "f.csv").write_text("cron\n0 9 * * 1-5\n")
        env = os.environ | {"NO_COLOR": "1", "FORCE_COLOR": "", "PYTHONSAFEPATH": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "resonate_lab", "demo", "f.csv"],
            cwd=tmp_path, env=env, capture_output=True, text=True, check=True, encoding="utf-8",
        )  # fmt: skip
        assert "\x1b[3" not in done.stdout
        assert "MON-FRI" in done.stdout

    def test_a_terminal_without_the_letters_gets_their_numbers(self, tmp_path):
        (tmp_path / "f.csv").write_text("id,cron\nnächtlich,0 9 * * 1-5\n", encoding="utf-8")
        env = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONSAFEPATH": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "resonate_lab", "demo", "f.csv", "--up", "2026-12-02T10:00Z"],
            cwd=tmp_path, env=env, capture_output=True, text=True, check=True, encoding="ascii",
        )  # fmt: skip
        assert r"n\xe4chtlich" in done.stdout

    def test_the_files_can_be_read_back(self, run, tmp_path):
        run("demo", str(EXAMPLE))
        audited = pd.read_csv(tmp_path / "demo-output" / "audit.csv")
        assert len(audited) == 785
        assert (audited["verdict"] == "different").sum() == 137


class TestRefused:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", "empty"),
            ("id,when\na,b\n", "no cron column"),
            ("id,cron\na,@daily\na,@daily\n", "unique"),
        ],
    )
    def test_a_fleet_that_is_none_ends_with_1_and_a_sentence(self, run, tmp_path, text, words):
        (tmp_path / "f.csv").write_text(text)
        code, out, err = run("demo", "f.csv")
        assert code == 1
        assert out == ""
        assert err.startswith("Error: ")
        assert words in err
        assert err.count("\n") == 1
        assert not (tmp_path / "demo-output").exists()

    def test_a_file_that_is_not_there(self, run):
        code, _, err = run("demo", "none.csv")
        assert code == 1
        assert err == "Error: there is no file 'none.csv': name one\n"

    @pytest.mark.parametrize(
        "options", [("--down", "soon"), ("--up", "2020-01-01"), ("--promise-timeout", "long")]
    )
    def test_an_option_that_makes_no_sense(self, run, tmp_path, options):
        (tmp_path / "f.csv").write_text("cron\n@daily\n")
        code, _, err = run("demo", "f.csv", *options)
        assert code == 1
        assert err.splitlines()[-1].startswith("Error: ")

    @pytest.mark.parametrize("arguments", [("fly",), ("demo", "--fast"), ("demo", "a", "b")])
    def test_a_wrong_command_line_ends_with_2(self, run, arguments):
        assert run(*arguments)[0] == 2

    def test_an_interrupt_ends_with_130_and_keeps_what_is_written(self, run, tmp_path, monkeypatch):
        (tmp_path / "f.csv").write_text("cron\n@daily\n")

        def interrupted(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(cli, "what_if", interrupted)
        code, _, err = run("demo", "f.csv")
        assert code == 130
        assert "interrupted" in err
        assert (tmp_path / "demo-output" / "audit.csv").exists()


class TestHelp:
    def test_version_and_help(self, run):
        assert __version__ in run("--version")[1]
        assert "demo" in run("--help")[1]
        assert "FLEET" in run("demo", "-h")[1]

    def test_no_command_shows_the_commands(self, run):
        code, out, err = run()
        assert code in (0, 2)
        assert "demo" in out + err
