"""The command line: what it prints and writes, and with which code it ends."""

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import click
import pandas as pd
import pytest

import resonate_lab as rl
from resonate_lab import __version__
from resonate_lab.cli import cli

EXAMPLE = Path(__file__).parents[1] / "examples" / "public_fleet.csv"
FILES = {"report.html", "timeline.png", "audit.csv", "outage.csv", "refused.csv"}


class TestDemo:
    def test_it_prints_the_tables_and_writes_the_files(self, run, tmp_path):
        code, out, err = run("demo", str(EXAMPLE))
        assert code == 0
        assert {path.name for path in (tmp_path / "demo-output").iterdir()} == FILES
        assert "552        137       20" in out
        assert "126,859 missed ticks" in " ".join(out.split())
        assert "*/10 7-19 * * MON-FRI" in out
        assert err == ""
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

    def test_as_json_it_is_the_counts_and_the_files(self, run, tmp_path):
        (tmp_path / "f.csv").write_text("id,cron\na,0 9 * * 1-5\nb,@daily\n")
        code, out, _ = run("demo", "f.csv", "--json")
        found = json.loads(out)
        assert code == 0
        assert (found["audit"]["different"], found["audit"]["same"]) == (1, 1)
        assert found["outage"]["schedules"] == 2
        assert {Path(name).name for name in found["written"]} == FILES

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

        monkeypatch.setattr(rl, "what_if", interrupted)
        code, _, err = run("demo", "f.csv")
        assert code == 130
        assert "interrupted" in err
        assert (tmp_path / "demo-output" / "audit.csv").exists()


SECRET = "s3cr3t"


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            (("next", "0 9 * * 8"), 1),
            (("audit", "none.csv"), 1),
            (("engine", "show", "none.json"), 1),
            (("whatif", "f.csv", "--down", "soon"), 2),
            (("next",), 2),
            (("next", "@daily", "--fast"), 2),
            (("fly",), 2),
            (("schedules", "search"), 2),
        ],
    )
    def test_with_json_an_error_is_a_document_on_stdout_and_a_sentence_on_stderr(
        self, run, arguments, code
    ):
        found, out, err = run(*arguments, "--json")
        told = json.loads(out)
        assert found == told["exit_code"] == code
        assert err.splitlines()[-1] == f"Error: {told['error']}"
        assert run(*arguments)[1] == ""

    def test_an_interrupt_prints_no_second_document(self, run, monkeypatch):
        def interrupted(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(rl, "CronExpression", interrupted)
        assert run("next", "@daily", "--json")[:2] == (130, "")

    def test_an_interrupt_while_the_program_loads_ends_with_130_and_no_traceback(self, tmp_path):
        (tmp_path / "click.py").write_text("raise KeyboardInterrupt\n")
        env = os.environ | {"PYTHONPATH": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-m", "resonate_lab", "next", "@daily"],
            cwd=tmp_path, env=env, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (130, "")
        assert done.stderr == "interrupted; what is written stays\n"

    def test_serve_ends_with_130_and_one_document_when_it_is_interrupted(self, tmp_path):
        command = [sys.executable, "-P", "-m", "resonate_lab", "serve", "--port", "0", "--json"]
        with subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            facts = json.loads(process.stdout.readline())
            process.send_signal(signal.SIGINT)
            out, err = process.communicate()
        assert process.returncode == 130
        assert facts["url"].startswith("http://127.0.0.1:")
        assert (out, err.strip()) == ("", "interrupted; what is written stays")

    def test_an_extra_that_is_not_installed_is_told_with_the_way_to_get_it(self, run, monkeypatch):
        monkeypatch.setitem(sys.modules, "uvicorn", None)
        monkeypatch.delitem(sys.modules, "resonate_lab.clients.server", raising=False)
        monkeypatch.delattr("resonate_lab.clients.server", raising=False)
        code, out, err = run("serve")
        assert (code, out) == (1, "")
        assert err == "Error: the server is not installed: pip install 'resonate-lab[http]'\n"

    def test_behind_two_dashes_json_is_a_word(self, run):
        assert run("next", "--", "--json")[:2] == (1, "")

    @pytest.mark.parametrize(
        "url",
        [
            f"http://{SECRET}@h",
            f"http://u:{SECRET}@h/p",
            f"HTTPS://h:1/?token={SECRET}",
            f"http://h/#{SECRET}",
            f"htp://u:{SECRET}@h",
            f"ws://h/?{SECRET}",
        ],
    )
    @pytest.mark.parametrize(
        "command",
        [
            ("audit",),
            ("demo",),
            ("policies", "--down", "2026-12-01..2026-12-02"),
            ("next", "@daily"),
            ("engine", "mirror", "--promises", "e.json"),
            ("engine", "show"),
            ("load", "--format", "csv"),
            ("next", "--zone"),
            ("next", "@daily", "--after"),
            ("whatif", "--down"),
        ],
    )
    def test_a_secret_in_an_address_is_printed_nowhere(self, run, command, url):
        code, out, err = run(*command, url, "--json")
        assert code in (1, 2)
        assert SECRET not in out + err

    def test_a_target_is_no_secret(self, run, tmp_path):
        run("engine", "new", "e.json")
        _, _, err = run("tasks", "get", "poll://any@default", "poll://any@g", "--file", "e.json")
        assert "poll://any@g" in err


def every_command(group=cli, words=()):
    """Yield the words and the command of every command, groups included."""
    yield words, group
    if isinstance(group, click.Group):
        for name, command in group.commands.items():
            yield from every_command(command, (*words, name))


COMMANDS = dict(every_command())
LEAVES = {words for words, command in COMMANDS.items() if not isinstance(command, click.Group)}
# What the real command line offers, and the flags that it has there.
REAL = {
    ("schedules", "get"): set(),
    ("schedules", "create"): {
        "--cron", "--promise-id", "--promise-timeout", "--promise-param", "--promise-tags"
    },
    ("schedules", "delete"): set(),
    ("schedules", "search"): {"--tags", "--limit", "--cursor"},
    ("promises", "get"): set(),
    ("promises", "create"): {"--timeout", "--param", "--tags"},
    ("promises", "resolve"): {"--value"},
    ("promises", "reject"): {"--value"},
    ("promises", "cancel"): {"--value"},
    ("promises", "search"): {"--state", "--tags", "--limit", "--cursor"},
    ("promises", "register-callback"): set(),
    ("promises", "register-listener"): set(),
    ("tasks", "get"): set(),
    ("tasks", "create"): {"--pid", "--ttl", "--timeout", "--param", "--tags"},
    ("tasks", "claim"): {"--pid", "--version", "--ttl"},
    ("tasks", "fence"): {"--version", "--action"},
    ("tasks", "heartbeat"): {"--pid", "--tasks"},
    ("tasks", "suspend"): {"--version", "--actions"},
    ("tasks", "complete"): {"--version", "--action"},
    ("tasks", "release"): {"--version"},
    ("tasks", "halt"): set(),
    ("tasks", "continue"): set(),
    ("tasks", "search"): {"--state", "--limit", "--cursor"},
    ("tree",): set(),
}  # fmt: skip


class TestHelp:
    def test_version_and_help(self, run):
        assert __version__ in run("--version")[1]
        assert "demo" in run("--help")[1]
        assert "FLEET" in run("demo", "-h")[1]

    def test_no_command_shows_the_commands(self, run):
        code, out, err = run()
        assert code in (0, 2)
        assert "demo" in out + err

    @pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
    @pytest.mark.parametrize("width", ["80", "200"])
    def test_every_command_has_a_help_that_fits_and_an_example(
        self, run, monkeypatch, words, width
    ):
        monkeypatch.setenv("COLUMNS", width)
        code, out, err = run(*words, "--help")
        assert (code, err) == (0, "")
        assert out.startswith(f"Usage: {' '.join(('resonate-lab', *words))}")
        assert "..." not in out.partition("Commands:")[2]  # no summary is cut off
        prose = out.partition("Examples:")[0]
        assert max(map(len, prose.splitlines())) <= int(width)
        if words in LEAVES:
            assert f"    {' '.join(('resonate-lab', *words))}" in out

    def test_the_summaries_of_all_commands_are_whole_at_eighty_columns(self, run, monkeypatch):
        monkeypatch.setenv("COLUMNS", "80")
        _, out, _ = run("--help")
        assert "..." not in out.partition("One expression")[2].partition("Examples")[0]
        assert max(map(len, out.splitlines())) <= 80
        assert "Exit codes: 0 done" in out

    def test_json_is_everywhere(self):
        for words in LEAVES:
            assert any("--json" in param.opts for param in COMMANDS[words].params), words

    @pytest.mark.parametrize("words", REAL, ids=" ".join)
    def test_the_flags_of_the_real_command_line_are_here(self, words):
        options = {opt for param in COMMANDS[words].params for opt in param.opts}
        ours = {"--file", "--json"}
        assert {opt for opt in options if opt.startswith("--")} - ours == REAL[words]

    def test_help_loads_neither_numpy_nor_pandas(self):
        code = (
            "import sys; from resonate_lab.cli import main; main(['--help'])\n"
            "print([name for name in ('numpy', 'pandas') if name in sys.modules])"
        )
        command = [sys.executable, "-P", "-c", code]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        assert done.stdout.splitlines()[-1] == "[]"


class TestCompletion:
    def complete(self, *words):
        env = os.environ | {
            "PYTHONSAFEPATH": "1",
            "_RESONATE_LAB_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(("resonate-lab", *words)),
            "COMP_CWORD": str(len(words)),
        }
        command = [sys.executable, "-m", "resonate_lab"]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        return {line.partition(",")[2] for line in done.stdout.splitlines()}

    def test_commands_options_choices_and_zones(self):
        assert self.complete("l") == {"local-view", "load", "longest-outage"}
        assert self.complete("engine", "") >= {"new", "advance", "outage", "mirror", "show"}
        assert self.complete("next", "--d") == {"--dialect"}
        assert self.complete("next", "--dialect", "q") == {"quartz"}
        assert "Europe/Berlin" in self.complete("next", "--zone", "Europe/")

    def test_policies_readings_and_bounds(self):
        assert "Temporal schedule" in self.complete("whatif", "f.csv", "--policy", "Temp")
        assert self.complete("audit", "--source", "k") == {"kubernetes"}
        assert self.complete("longest-outage", "f.csv", "--expired", "") == {"any"}

    @pytest.mark.parametrize("command", ["audit", "whatif", "policies", "longest-outage"])
    def test_a_fleet_is_completed_as_a_file(self, command):
        env = os.environ | {
            "PYTHONSAFEPATH": "1",
            "_RESONATE_LAB_COMPLETE": "bash_complete",
            "COMP_WORDS": f"resonate-lab {command} fl",
            "COMP_CWORD": "2",
        }
        done = subprocess.run(
            [sys.executable, "-m", "resonate_lab"],
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "file,fl\n"

    def test_bash_takes_its_script_and_completes(self, tmp_path):
        program = tmp_path / "resonate-lab"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m resonate_lab "$@"\n')
        program.chmod(0o755)
        script = (
            'eval "$(_RESONATE_LAB_COMPLETE=bash_source resonate-lab)"\n'
            "complete -p resonate-lab\n"
            "COMP_WORDS=(resonate-lab next --dialect r) COMP_CWORD=3\n"
            "_resonate_lab_completion resonate-lab r --dialect\n"
            'echo "${COMPREPLY[@]}"\n'
        )
        done = subprocess.run(
            ["bash", "--norc", "-c", script], capture_output=True, text=True, check=True,
            env=os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        )  # fmt: skip
        assert done.stdout.splitlines() == [
            "complete -o nosort -F _resonate_lab_completion resonate-lab",
            "resonate resonate-0.9.8",
        ]
        assert done.stderr == ""

    @pytest.mark.parametrize("shell", ["zsh", "fish"])
    def test_other_shells_have_a_script(self, shell):
        env = os.environ | {"PYTHONSAFEPATH": "1", "_RESONATE_LAB_COMPLETE": f"{shell}_source"}
        done = subprocess.run(
            [sys.executable, "-c", "from resonate_lab.__main__ import main; main()"],
            env=env, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert f"_RESONATE_LAB_COMPLETE={shell}_complete" in done.stdout


def in_terminal(*arguments, folder, **env):
    """Run a command in a terminal of 80 columns; return its code and what it shows."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    without = ("COLUMNS", "NO_COLOR", "FORCE_COLOR")
    bare = {name: text for name, text in os.environ.items() if name not in without}
    command = [sys.executable, "-P", "-m", "resonate_lab", *arguments]
    process = subprocess.Popen(
        command, stdin=side, stdout=side, stderr=side, cwd=folder,
        env=bare | {"TERM": "xterm-256color"} | env,
    )  # fmt: skip
    os.close(side)
    shown = b""
    with contextlib.suppress(OSError):  # how Linux says that the other side is closed
        while chunk := os.read(main, 65536):
            shown += chunk
    os.close(main)
    return process.wait(), shown.decode()


class TestTerminal:
    def test_a_table_takes_the_width_of_the_terminal_and_colours(self, tmp_path):
        code, shown = in_terminal("explain", "0 9 * * 1-5", folder=tmp_path)
        assert code == 0
        assert "\x1b[33mwarning: \x1b[0m" in shown  # that word is yellow, and no sentence is
        lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()
        assert max(map(len, lines)) <= 80

    def test_no_color_is_kept(self, tmp_path):
        code, shown = in_terminal("explain", "0 9 * * 1-5", folder=tmp_path, NO_COLOR="1")
        assert code == 0
        assert "\x1b[33m" not in shown

    def test_progress_is_shown_there_and_taken_away(self, tmp_path):
        (tmp_path / "f.csv").write_text("cron\n@daily\n@hourly\n")
        code, shown = in_terminal("audit", "f.csv", folder=tmp_path)
        assert code == 0
        assert "2/2" in shown or "0/2" in shown

    @pytest.mark.parametrize("command", [("next", "@daily"), ("explain", "@daily")])
    def test_json_has_no_escapes_even_there(self, tmp_path, command):
        _, shown = in_terminal(*command, "--json", folder=tmp_path)
        assert "\x1b" not in shown
        json.loads(shown)

    def test_an_error_is_wrapped_between_words(self, tmp_path):
        code, shown = in_terminal("explain", "0 9 * * 8", folder=tmp_path)
        assert code == 1
        assert shown.splitlines() == [
            "Error: day-of-week token '8' (position 8 of '0 9 * * 8') is outside 1-7 (1=SUN)",
            "or SUN-SAT; write a value in that range",
        ]


class TestPipes:
    @pytest.mark.parametrize("form", [(), ("--json",)])
    @pytest.mark.parametrize(
        "command",
        [("next", "@daily"), ("explain", "@daily"), ("fly",), ("serve", "--port", "0")],
    )
    def test_a_disk_that_is_full_is_an_error_and_no_traceback(self, command, form):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [sys.executable, "-P", "-m", "resonate_lab", *command, *form],
                stdout=full, stderr=subprocess.PIPE, text=True, check=False,
            )  # fmt: skip
        assert done.returncode == (2 if command == ("fly",) else 1)
        assert done.stderr.splitlines()[-1].startswith("Error: ")
        assert "Traceback" not in done.stderr
        assert "Exception" not in done.stderr

    @pytest.mark.parametrize("streams", [">&-", "2>&-", ">&- 2>&-"])
    @pytest.mark.parametrize(("cron", "code"), [("@daily", 0), ("0 9 * * 8", 1)])
    def test_a_stream_that_is_closed_is_none_to_write_to(self, streams, cron, code):
        script = f'"$0" -P -m resonate_lab explain "$1" --json {streams}'
        done = subprocess.run(
            ["bash", "-c", script, sys.executable, cron],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code
        assert "Traceback" not in done.stderr

    def test_a_stdin_that_is_closed_holds_nothing(self):
        script = '"$0" -P -m resonate_lab audit - <&-'
        done = subprocess.run(
            ["bash", "-c", script, sys.executable], capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert done.stderr.endswith("is empty, but a fleet needs at least one schedule\n")
        assert "Traceback" not in done.stderr

    def test_a_row_is_a_line_whatever_its_length(self, tmp_path):
        id = "x" * 300
        (tmp_path / "f.csv").write_text(f"id,cron\n{id},0 9 * * 1-5\n")
        env = {n: t for n, t in os.environ.items() if n != "COLUMNS"} | {"PYTHONSAFEPATH": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "resonate_lab", "whatif", "f.csv",
             "--down", "2026-12-01..2026-12-05"],
            cwd=tmp_path, env=env, capture_output=True, text=True, check=True,
        )  # fmt: skip
        (line,) = [line for line in done.stdout.splitlines() if id in line]
        assert "0 9 * * 1-5" in line

    @pytest.mark.parametrize("n", ["1", "100000"])
    @pytest.mark.parametrize("form", ["--json", "--dialect=resonate"])
    def test_a_reader_that_goes_away_ends_it_quietly(self, n, form):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            [sys.executable, "-P", "-m", "resonate_lab", "next", "* * * * *", "-n", n, form],
            stdout=writing, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
        os.close(writing)
        assert (done.returncode, done.stderr) == (1, "")

    def test_json_of_hostile_letters_is_json_in_any_encoding(self, tmp_path):
        (tmp_path / "f.csv").write_text(
            "id,cron\nnächtlich \x1b[31m \u202e 😀 \x7f,@daily\n", encoding="utf-8"
        )
        answers = []
        for encoding in ("utf-8", "ascii", "latin-1"):
            done = subprocess.run(
                [sys.executable, "-P", "-m", "resonate_lab", "audit", "f.csv", "--json"],
                cwd=tmp_path, env=os.environ | {"PYTHONIOENCODING": encoding},
                capture_output=True, check=True,
            )  # fmt: skip
            shown = done.stdout.decode(encoding)
            assert not set(shown) & {"\x1b", "\u202e", "\x7f", "\x9b"}
            answers.append(json.loads(shown))
        assert answers[0] == answers[1] == answers[2]
        assert answers[0][0]["id"] == "nächtlich \x1b[31m \u202e 😀 \x7f"


class TestHostileArguments:
    @pytest.mark.parametrize(
        "arguments",
        [
            ("\x1b[31m",),
            ("next", "\x1b[31m"),
            ("next", "@daily", "--\x1b[31m"),
            ("next", "@daily", "--dialect", "\x1b[31m"),
            ("next", "@daily", "--zone", "\x1b[31m"),
            ("next", "@daily", "-n", "\x1b[31m"),
            ("audit", "\x1b[31m"),
            ("audit", "a\x00b"),
            ("audit", "x" * 5000),
            ("audit", "."),
            ("engine", "show", "\x1b[31m"),
            ("engine", "new", "none/\x1b[31m"),
            ("engine", "new", "e.json", "--now", "\x1b[31m"),
            ("whatif", "f.csv", "--down", "\x1b[31m..x"),
            ("schedules", "get", "\x1b[31m"),
            ("promises", "create", "p", "--timeout", "\x1b[31m", "--file", "e"),
            ("promises", "create", "p", "--timeout", "1h", "--param", "{\x1b[31m", "--file", "e"),
        ],
    )
    def test_each_ends_with_a_sentence_and_no_escape(self, run, arguments):
        code, out, err = run(*arguments)
        assert code in (1, 2)
        assert out == ""
        assert "\x1b" not in err
        assert "Traceback" not in err
        assert err.splitlines()[-1].startswith("Error: ")
