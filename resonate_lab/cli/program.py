"""The program: its commands in their order, and how each way of ending becomes a code.

Exit codes: 0 done; 1 what was given cannot be used, or the engine says no (one sentence on
stderr says why; none where the reader of the output went away); 2 the command line itself is
wrong; 130 interrupted. With ``--json`` the sentence is on stdout, too, as a JSON object.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

import resonate_lab as rl
from resonate_lab._html import plain
from resonate_lab.cli import show
from resonate_lab.cli.cron import explain, local_view, next_, to_utc
from resonate_lab.cli.demo import demo
from resonate_lab.cli.engines import engine
from resonate_lab.cli.fleets import (
    audit,
    collisions,
    load,
    longest_outage,
    policies,
    spread,
    whatif,
)
from resonate_lab.cli.records import promises, schedules, tasks, tree
from resonate_lab.cli.serve import serve

__all__ = ["cli", "main"]

#: The commands as `--help` shows them. Another one is an import above and a name here.
_SECTIONS: Final[Mapping[str, Sequence[click.Command]]] = {
    "One expression": (explain, next_, to_utc, local_view),
    "A fleet (a file, '-' or the address of a live server)": (
        audit,
        whatif,
        longest_outage,
        policies,
        load,
        collisions,
        spread,
    ),
    "An engine in a file": (engine, schedules, promises, tasks, tree),
    "An engine for your own programs": (serve,),
    "To see it all": (demo,),
}
#: The real command line knows these groups by their singular, too.
_ALIASES: Final = {"schedule": schedules, "promise": promises, "task": tasks}


_INTERRUPTED: Final = 130

#: What ends a command with a sentence, besides click's own. ValueError is how the library
#: refuses an argument, ImportError how it names an extra; each has a sentence of its own.
_ENDINGS: Final = (
    click.Abort,
    KeyboardInterrupt,
    ImportError,
    OSError,
    rl.ResonateLabError,
    ValueError,
)

#: Where an address may hold a secret: before the host, and behind the path. `poll://any@group`
#: holds none.
_SECRETS: Final = (
    re.compile(r"(https?:/+)[^\s/?#'\"]*(@)", re.IGNORECASE),
    re.compile(r"(\w+:/+)[^\s/?#'\":]*:[^\s/?#'\"]*(@)"),
    re.compile(r"(\w+:/+[^\s?#'\"]*[?#])[^\s'\"]+()"),
)

#: How click answers a group without a command: with its help. Before 8.2 it was no error.
_NO_ARGUMENTS: Final[Any] = getattr(click.exceptions, "NoArgsIsHelpError", ())


class _Program(click.Group):
    """The group of all commands, shown by subject."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _ALIASES.get(cmd_name) or super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)  # in the order of the sections

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, self.commands))
        for title, commands in _SECTIONS.items():
            with formatter.section(title):
                room = formatter.width - widest - 6
                formatter.write_dl(
                    [(f"{c.name or '':{widest}}", c.get_short_help_str(room)) for c in commands]
                )


@click.group(
    cls=_Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=(
        "\b\nExamples:\n"
        "  resonate-lab explain '0 9 * * 1-5'\n"
        "  resonate-lab audit /etc/crontab --json | jq '.[] | .proposed'\n"
        "  resonate-lab whatif http://localhost:8001 --down 2026-12-01..2026-12-02\n"
        "\b\n"
        "COMMAND --help has examples of each.\n"
        "Exit codes: 0 done, 1 unusable input or a refusal, 2 wrong command line,\n"
        "130 interrupted."
    ),
)
@click.version_option(rl.__version__, prog_name="resonate-lab")
def cli() -> None:
    """Explore Resonate schedules before and after they bite."""


for _commands in _SECTIONS.values():
    for _command in _commands:
        cli.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its code."""
    # Python has None in place of a stream that was closed, as `>&-` does.
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    # A terminal that cannot show a letter of somebody's id gets its number instead.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        cli.main(given, prog_name="resonate-lab", standalone_mode=False)
    except _NO_ARGUMENTS as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.ClickException, *_ENDINGS) as error:
        _end(error, as_json="--json" in given[: (*given, "--").index("--")])


def _end(error: BaseException, *, as_json: bool) -> None:
    """Say why there is no answer, and exit; with ``--json`` stdout has a document even then.

    An interrupted command may have printed one already, as `serve` does.
    """
    code, words = _ending(error)
    if isinstance(error, show.Refusal):
        click.echo(f"Error: {error.format_message()}", err=True)
    else:
        if isinstance(error, click.UsageError) and error.ctx is not None:
            click.echo(error.ctx.get_usage(), err=True)
            click.echo(f"Try '{error.ctx.command_path} --help' for help.\n", err=True)
        show.complain(words if code == _INTERRUPTED else f"Error: {words}")
    if as_json and code != _INTERRUPTED:
        with contextlib.suppress(OSError):  # that stdout cannot be written to may be the error
            show.print_json({"error": words, "exit_code": code})
    sys.exit(code)


def _ending(error: BaseException) -> tuple[int, str]:
    """Return the exit code and the sentence of what ends a command."""
    if isinstance(error, show.Refusal):
        return 1, error.message
    if isinstance(error, click.ClickException):
        return error.exit_code, _safe(error.format_message())
    if isinstance(error, click.Abort | KeyboardInterrupt):
        return _INTERRUPTED, "interrupted; what is written stays"
    if isinstance(error, FileNotFoundError):
        return 1, f"there is no file {_safe(error.filename)!r}: name one"
    if isinstance(error, OSError):
        named = f"{_safe(error.filename)!r} cannot be used: " if error.filename else ""
        return 1, named + _safe(error.strerror or error)
    return 1, _safe(error)


def _safe(text: object) -> str:
    """Return text that a terminal may show, without what an address in it may hold in secret."""
    shown = plain(text, 1000)
    for secret in _SECRETS:
        shown = secret.sub(r"\1***\2", shown)
    return shown
