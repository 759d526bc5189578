"""An engine behind HTTP, for the official SDKs of any language."""

from __future__ import annotations

import json

import click

import resonate_lab as rl
from resonate_lab._html import plain
from resonate_lab.cli import options

__all__ = ["serve"]


@click.command(
    epilog=options.examples(
        "resonate-lab serve",
        "resonate-lab serve --now 2026-12-01 --port 8002",
    )
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8001, show_default=True, type=click.IntRange(0, 65535))
@click.option("--profile", default="standard", show_default=True, type=options.PROFILE)
@click.option(
    "--now", metavar="INSTANT",
    help="Simulate time from here on; POST /control/advance moves it. Without it, real time.",
)  # fmt: skip
@click.option(
    "--token", envvar="RESONATE_TOKEN", show_envvar=True,
    help="What clients have to show; better in the environment than on a command line.",
)  # fmt: skip
@click.option("--always-200", is_flag=True, help="Leave the status to the envelope.")
@options.as_json
def serve(
    host: str,
    port: int,
    profile: str,
    now: str | None,
    token: str | None,
    always_200: bool,
    as_json: bool,
) -> None:
    """Serve an empty engine over HTTP.

    Only this machine can connect, unless --host says otherwise. With --json the line that
    tells the address is a JSON object.
    """
    # The server is an extra, and no other command needs it.
    from resonate_lab.clients import admission, server

    if token is None and not admission.is_loopback(host):
        click.echo(f"{plain(host)} is open to others and there is no --token", err=True)
    clock = None if now is not None else server.wall_clock
    engine = rl.Engine(profile, now=server.wall_clock() if now is None else now)
    kind = "simulated time" if clock is None else "real time"

    def told(url: str) -> None:
        text = f"{url} ({profile}, {kind}); Ctrl-C ends it"
        facts = {"url": url, "profile": profile, "simulated": clock is None}
        click.echo(json.dumps(facts) if as_json else text)

    server.serve(engine, host, port, token=token, clock=clock, always_200=always_200, when_up=told)
