"""The command line: ``resonate-lab COMMAND``, or ``python -m resonate_lab COMMAND``.

Exit codes: 0 done; 1 what was given cannot be used (one sentence on stderr says why);
2 the command line itself is wrong; 130 interrupted.

A command is one function under `cli`; it asks the library and prints the answer, so
what a command does can be done in a notebook with the same words.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from resonate_lab import __version__, frames
from resonate_lab._html import plain
from resonate_lab.cron import CronError
from resonate_lab.engine import Engine
from resonate_lab.errors import ResonateLabError
from resonate_lab.whatif import audit, read_fleet, what_if
from resonate_lab.whatif.audit import audit_counts, misread

if TYPE_CHECKING:
    import pandas as pd

    from resonate_lab.whatif import WhatIf

__all__ = ["cli", "main"]


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 unusable input, 2 wrong command line, 130 interrupted.",
)
@click.version_option(__version__, prog_name="resonate-lab")
def cli() -> None:
    """Explore Resonate schedules before and after they bite."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its code."""
    # A terminal that cannot show a letter of somebody's id gets its number instead.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        cli.main(arguments, prog_name="resonate-lab", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted; what is written stays", err=True)
        sys.exit(130)
    except FileNotFoundError as error:
        click.echo(f"Error: there is no file {plain(error.filename)!r}: name one", err=True)
        sys.exit(1)
    except (ResonateLabError, CronError, OSError) as error:
        click.echo(f"Error: {plain(error, 1000)}", err=True)
        sys.exit(1)


@cli.command()
@click.argument(
    "fleet", default="examples/public_fleet.csv", type=click.Path(dir_okay=False, path_type=Path)
)
@click.option("--out", default="demo-output", show_default=True, help="Folder for the files.")
@click.option("--down", default="2026-12-01T00:00Z", show_default=True, help="The server stops.")
@click.option("--up", default="2026-12-01T12:00Z", show_default=True, help="It is back.")
@click.option(
    "--promise-timeout", default="1h", show_default=True,
    help="Of schedules whose row names none.",
)  # fmt: skip
@click.option("--source", default="crontab", show_default=True, help="Reading of unmarked rows.")
def demo(fleet: Path, out: str, down: str, up: str, promise_timeout: str, source: str) -> None:
    """Audit a FLEET of schedules, then stop the server for twelve hours.

    FLEET is a CSV file with the columns id and cron (or expr), a crontab, Parquet, or the
    JSON of `resonate schedules search`. Prints tables and writes report.html, a picture
    and the frames as CSV.
    """
    # matplotlib is a second of start-up that --help should not pay.
    from resonate_lab.whatif import report

    console = Console(highlight=False)
    schedules = read_fleet(fleet)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    audited = audit(schedules, source, after=down, progress=_progress("audit"))
    frames.write_csv(audited, folder / "audit.csv")
    what = what_if(schedules, (down, up), promise_timeout=promise_timeout)
    frames.write_csv(what.summary, folder / "outage.csv")
    frames.write_csv(what.refused, folder / "refused.csv")
    picture = report.timeline_png(what)
    (folder / "timeline.png").write_bytes(picture)
    page = report.fleet_page(fleet.name, audited, what, picture)
    (folder / "report.html").write_text(page, encoding="utf-8")
    _print_audit(console, fleet.name, audited)
    _print_outage(console, what)
    console.print("written:")
    for name in ("report.html", "timeline.png", "audit.csv", "outage.csv", "refused.csv"):
        console.print(f"  {folder / name}", markup=False, soft_wrap=True)


@cli.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8001, show_default=True, type=click.IntRange(0, 65535))
@click.option("--profile", default="standard", show_default=True, help="Rules of the engine.")
@click.option(
    "--now", metavar="INSTANT",
    help="Simulate time from here on; POST /control/advance moves it. Without it, real time.",
)  # fmt: skip
@click.option(
    "--token", envvar="RESONATE_TOKEN", show_envvar=True,
    help="What clients have to show; better in the environment than on a command line.",
)  # fmt: skip
@click.option("--always-200", is_flag=True, help="Leave the status to the envelope.")
def serve(
    host: str, port: int, profile: str, now: str | None, token: str | None, always_200: bool
) -> None:
    """Serve an empty engine over HTTP, for the official SDKs of any language.

    Only this machine can connect, unless --host says otherwise.
    """
    # The server is an extra, and no other command needs it.
    from resonate_lab.clients import server

    if not (token or server.is_loopback(host)):
        click.echo(f"{plain(host)} is open to others and there is no --token", err=True)
    clock = None if now is not None else server.wall_clock
    try:
        engine = Engine(profile, now=server.wall_clock() if now is None else now)
    except ValueError as error:
        raise click.UsageError(plain(error, 1000)) from error
    kind = "simulated time" if clock is None else "real time"
    server.serve(
        engine, host, port, token=token, clock=clock, always_200=always_200,
        when_up=lambda url: click.echo(f"{url} ({plain(profile)}, {kind}); Ctrl-C ends it"),
    )  # fmt: skip


def _progress(label: str) -> Callable[[Iterable[int]], Iterable[int]]:
    """Return a wrapper that counts rows on stderr, so that stdout can be kept."""
    from tqdm.auto import tqdm

    return lambda rows: tqdm(rows, desc=label, unit=" rows", mininterval=0.3)


def _print_audit(console: Console, name: str, audited: pd.DataFrame) -> None:
    counts = audit_counts(audited)
    _print_table(
        console,
        f"{plain(name)}: do {len(audited):,} expressions mean here what their authors meant?",
        counts.rename(columns={"reading": "meant as"}),
    )
    wrong = misread(audited)
    if len(wrong):
        shown = wrong[["cron", "rows", "author_means", "resonate_does", "write_instead"]]
        _print_table(
            console,
            "Misread: the most frequent changes, each with an example",
            shown.rename(columns=lambda name: name.replace("_", " ")),
            limit=8,
        )


def _print_outage(console: Console, what: WhatIf) -> None:
    columns = ["schedule_id", "cron", "missed", "dispatched", "expired"]
    busiest = what.summary.nlargest(8, "missed")[columns]
    console.print()
    console.print(Text(what.headline() + "."))
    _print_table(
        console,
        "The busiest schedules",
        busiest.rename(columns={"schedule_id": "schedule", "dispatched": "sent"}),
        total=len(what.summary),
    )
    if len(what.refused):
        _print_table(
            console,
            "Refused by Resonate",
            what.refused[["schedule_id", "cron", "reason"]].rename(
                columns={"schedule_id": "schedule"}
            ),
            limit=4,
        )


def _print_table(
    console: Console, title: str, frame: pd.DataFrame, *, limit: int = 10, total: int | None = None
) -> None:
    shown = frame.head(limit)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    numbers = set(shown.select_dtypes("number"))
    for name in shown:
        side: Literal["left", "right"] = "right" if name in numbers else "left"
        table.add_column(Text(str(name)), justify=side, no_wrap=name in numbers, overflow="fold")
    for row in shown.itertuples(index=False):
        table.add_row(*(Text(f"{c:,}" if isinstance(c, int) else plain(c, 300)) for c in row))
    console.print()
    console.print(Text(title, style="bold"))
    console.print(table)
    more = (len(frame) if total is None else total) - len(shown)
    if more > 0:
        console.print(Text(f"and {more:,} more", style="italic"))
