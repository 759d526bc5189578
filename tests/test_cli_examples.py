"""The examples of every --help, run as they are printed."""

import io
import json
import re
import shlex
import shutil
import sys

import click
import pytest
from live_server import engine_answers
from wire import TARGETED

import resonate_lab as rl
from resonate_lab.cli import cli
from resonate_lab.clients import server as http_server

FLEET = """\
id,cron,promise_timeout
payroll,0 9 * * 1-5,3h
hourly,0 * * * *,
tens,*/10 * * * *,
"""
CRONTAB = "17 * * * * root run-parts /etc/cron.hourly\n0 9 * * 1-5 root report\n"
URL = "http://localhost:8001"


def examples(group=cli, words=()):
    """Yield the words of every command, and each line of its examples."""
    text = (group.epilog or "").partition("Examples:\n")[2].partition("\n\b\n")[0]
    lines = re.sub(r"^  ", "", text, flags=re.MULTILINE)
    for line in re.split(r"\n(?=\S)", lines):
        if line:
            yield words, line
    if isinstance(group, click.Group):
        for name, command in group.commands.items():
            yield from examples(command, (*words, name))


EXAMPLES = list(examples())
# The examples of the group `engine` are one session, see below.
ALONE = [(words, line) for words, line in EXAMPLES if words != ("engine",)]


def a_server():
    """Return an engine with the schedule of the documents, whose first promise has come."""
    engine = rl.Engine(now="2026-12-01")
    engine.schedules.create(
        "nightly-rollup", cron="0 2 * * *", promise_id="nightly-{{.timestamp}}",
        promise_timeout="1h", promise_tags=TARGETED,
    )  # fmt: skip
    engine.advance("2h")
    return engine


# What is in the engine when an example begins, in the words of the command line.
_TAGS = f"--tags {shlex.quote(json.dumps(TARGETED))}"
_HELD = "tasks create order-7 --pid me --ttl 1m --timeout 1h " + _TAGS
_HELD_A = _HELD.replace("order-7", "a")
_PENDING = "promises create order-7 --timeout 1h " + _TAGS
BEFORE = {
    "promises resolve": ["promises create order-7 --timeout 1h"],
    "promises reject": ["promises create order-7 --timeout 1h"],
    "promises cancel": ["promises create order-7 --timeout 1h"],
    "promises register-callback": [_HELD_A, "promises create a.1 --timeout 1h"],
    "promises register-listener": ["promises create a --timeout 1h"],
    "tasks claim": [_PENDING],
    "tasks fence": [_HELD, "promises create b --timeout 1h"],
    "tasks heartbeat": [_HELD],
    "tasks suspend": [_HELD_A, "promises create a.1 --timeout 1h"],
    "tasks complete": [_HELD_A],
    "tasks release": [_HELD],
    "tasks halt": [_PENDING],
    "tasks continue": [_PENDING, "tasks halt order-7"],
}


@pytest.fixture
def shell(run, root, tmp_path, monkeypatch, serve):
    """Run a line as a shell does, in a folder with the files that the examples name."""
    for name in ("fleet.csv", "jobs.csv"):
        (tmp_path / name).write_text(FLEET)
    (tmp_path / "crontab").write_text(CRONTAB)
    (tmp_path / "examples").mkdir()
    shutil.copy(root / "examples" / "public_fleet.csv", tmp_path / "examples")
    a_server().save(tmp_path / "engine.json")
    monkeypatch.setenv("RESONATE_LAB_FILE", "engine.json")
    monkeypatch.setattr(http_server, "serve", lambda *_, when_up, **__: when_up(URL))
    live = serve(engine_answers(a_server()))

    def call(line):
        first, *rest = line.replace("\\\n", " ").split(" | ")
        if first.startswith("export "):
            monkeypatch.setenv(*shlex.split(first)[1].split("="))
            return ""
        if first.startswith("resonate "):
            page = a_server().send({"kind": "schedule.search", "head": _HEAD, "data": {}})["data"]
            stdin = io.TextIOWrapper(io.BytesIO(json.dumps(page).encode()))
            monkeypatch.setattr(sys, "stdin", stdin)
            first, *rest = rest
        first = first.replace(URL, live.url).replace("/etc/crontab", "crontab")
        code, out, err = run(*shlex.split(first)[1:])
        assert code == 0, err
        assert out
        if rest and rest[0].startswith("jq"):
            json.loads(out)
        return out

    return call


_HEAD = {"corrId": "1", "version": "2026-04-01"}


@pytest.mark.parametrize(("words", "line"), ALONE, ids=[line for _, line in ALONE])
def test_an_example_works_as_it_is_printed(shell, tmp_path, words, line):
    for command in BEFORE.get(" ".join(words), []):
        shell(f"resonate-lab {command}")
    if line.startswith(("resonate-lab engine new", "resonate-lab engine mirror")):
        (tmp_path / "engine.json").unlink()
    shell(line)


def test_the_examples_of_engine_are_one_session(shell, tmp_path):
    (tmp_path / "engine.json").unlink()
    *_, found = [shell(line) for words, line in EXAMPLES if words == ("engine",)]
    assert [promise["id"] for promise in json.loads(found)["promises"]] == [
        f"nightly-{1_796_090_400_000 + day * 86_400_000}" for day in range(7)
    ]


def test_every_command_that_is_no_group_has_an_example_of_itself():
    def leaves(group, words=()):
        for name, command in group.commands.items():
            if isinstance(command, click.Group):
                yield from leaves(command, (*words, name))
            else:
                yield (*words, name)

    shown = {words for words, line in EXAMPLES if f"resonate-lab {' '.join(words)}" in line}
    assert set(leaves(cli)) - shown == set()
