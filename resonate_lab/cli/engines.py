"""Commands about an engine in a file: make one, let its time pass, stop its server."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

import resonate_lab as rl
from resonate_lab.cli import options, show
from resonate_lab.instants import format_duration, format_instant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from resonate_lab.protocol.records import Step

__all__ = ["engine"]

_FILE = click.argument("file", type=click.Path(dir_okay=False))
_FORCE = click.option("--force", is_flag=True, help="Replace a file that is there.")


@click.group(
    epilog=options.examples(
        "export RESONATE_LAB_FILE=engine.json",
        "resonate-lab engine new engine.json --now 2026-12-01",
        "resonate-lab schedules create nightly --cron '0 2 * * *' \\",
        "    --promise-id 'nightly-{{.timestamp}}' --promise-timeout 1h \\",
        """    --promise-tags '{"resonate:target": "poll://any@default"}'""",
        "resonate-lab engine advance engine.json 7d",
        "resonate-lab promises search",
    )
)
def engine() -> None:
    """Make an engine in a file, and let its time pass.

    The clock of an engine moves by these commands and by nothing else. One command at a
    time: two that change the same file at once leave the work of one of them.
    """


@engine.command(epilog=options.examples("resonate-lab engine new engine.json --now 2026-12-01"))
@_FILE
@click.option("--profile", default="standard", show_default=True, type=options.PROFILE)
@click.option("--now", metavar="INSTANT", help="Where its clock starts. Default: now.")
@_FORCE
@options.as_json
def new(file: str, profile: str, now: str | None, force: bool, as_json: bool) -> None:
    """Write a new engine, with nothing in it, to FILE."""
    _keep(file, force)
    made = rl.Engine(profile, now=options.instant(now, "now"))
    made.save(file)
    _show(made, as_json)


@engine.command(
    epilog=options.examples(
        "resonate-lab engine mirror http://localhost:8001 engine.json --promises",
        "resonate-lab engine outage engine.json 3d",
    )
)
@click.argument("url")
@_FILE
@click.option("--promises", is_flag=True, help="Take over promises and tasks, too.")
@click.option("--profile", default="server", show_default=True, type=options.PROFILE)
@click.option("--now", metavar="INSTANT", help="Where its clock starts. Default: now.")
@options.takes_server
@_FORCE
@options.as_json
def mirror(
    url: str,
    file: str,
    promises: bool,
    profile: str,
    now: str | None,
    token: str | None,
    timeout: str,
    force: bool,
    as_json: bool,
) -> None:
    """Copy a live server into a new engine in FILE.

    The server at URL is searched and never written to.
    """
    _keep(file, force)
    made = rl.clients.engine_from_server(
        url, promises=promises, now=now, profile=profile, token=token, timeout=timeout
    )
    made.save(file)
    _show(made, as_json)


@engine.command("show", epilog=options.examples("resonate-lab engine show engine.json --json"))
@_FILE
@options.as_json
def show_(file: str, as_json: bool) -> None:
    """Show the clock of the engine in FILE, and what it holds."""
    _show(rl.Engine.load(file), as_json)


@engine.command(epilog=options.examples("resonate-lab engine advance engine.json 7d"))
@_FILE
@click.argument("duration")
@options.as_json
def advance(file: str, duration: str, as_json: bool) -> None:
    """Let DURATION pass, such as 7d or 1h30m."""
    loaded = rl.Engine.load(file)
    before, steps = loaded.now_ms, loaded.state.steps
    loaded.advance(duration)
    loaded.save(file)
    taken = loaded.state.steps - steps
    passed = format_duration(loaded.now_ms - before)
    _show_steps(
        f"{passed} passed, it is {format_instant(loaded.now_ms)}: {taken:,} steps",
        loaded.trace[-taken:] if taken else [],
        as_json,
    )


@engine.command(epilog=options.examples("resonate-lab engine outage engine.json 3d"))
@_FILE
@click.argument("duration")
@options.as_json
def outage(file: str, duration: str, as_json: bool) -> None:
    """Stop the server for DURATION, and let it catch up."""
    loaded = rl.Engine.load(file)
    found = loaded.outage(duration)
    loaded.save(file)
    took = "" if found.drained_at is None else f" by {format_instant(found.drained_at)}"
    _show_steps(
        f"down for {format_duration(found.up_at - found.down_at)}, back at "
        f"{format_instant(found.up_at)}, {'not ' if not took else ''}caught up{took}: "
        f"{found.fired:,} ticks fired, {found.live:,} promises live, {found.expired:,} expired",
        found.steps,
        as_json,
    )


def _keep(file: str, force: bool) -> None:
    if not force and os.path.lexists(file):
        raise click.UsageError(f"{file!r} is there already: name another file, or add --force")
    folder = os.path.dirname(file)
    if folder and not os.path.isdir(folder):
        raise click.ClickException(f"there is no folder {folder!r} to write into: make it first")


def _show(made: rl.Engine, as_json: bool) -> None:
    at, state = made.peek_ms(), made.state
    facts = {
        "profile": made.profile.name,
        "now": format_instant(made.now_ms),
        "schedules": len(state.schedules),
        "promises": len(state.promises),
        "tasks": len(state.tasks),
        "messages": len(state.executes),
        "next step": None if at is None else format_instant(at),
    }
    if as_json:
        facts |= {"now": made.now_ms, "next step": at}
        show.print_json({name.replace(" ", "_"): value for name, value in facts.items()})
        return
    for name, value in facts.items():
        text = f"{value:,}" if isinstance(value, int) else value or "none"
        show.say(f"{name:<10} {text}")


def _show_steps(headline: str, steps: Sequence[Step], as_json: bool) -> None:
    """Print what happened: every step as JSON, or how often each kind of step was taken."""
    import pandas as pd

    from resonate_lab.instants import timestamp

    table = pd.DataFrame(
        [
            (timestamp(s.at), s.step, s.subject, s.effect, s.ticks.fired if s.ticks else None)
            for s in steps
        ],
        columns=["at", "step", "subject", "effect", "ticks"],
    ).astype({"ticks": "Int64"})
    if as_json:
        show.print_json({"headline": headline, "steps": show.rows_of(table)})
        return
    show.say(headline)
    if len(table):
        kinds = table.groupby(["step", "effect"], sort=False, as_index=False).agg(
            times=("at", "size"), ticks=("ticks", "sum"), last=("at", "max")
        )
        show.print_table("What happened", kinds.rename(columns={"last": "last (UTC)"}), limit=None)
