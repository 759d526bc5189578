"""Commands about one expression: what it says, when it fires, and what it is elsewhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

import resonate_lab as rl
from resonate_lab.cli import options, show

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["explain", "local_view", "next_", "to_utc"]

_AFTER = click.option("--after", metavar="INSTANT", help="Default: the present moment.")
_IN_ZONE = click.option(
    "--zone", type=options.ZONE, help="Show the ticks in this zone, too, such as Europe/Berlin."
)


@click.command(
    epilog=options.examples(
        "resonate-lab explain '0 9 * * 1-5'",
        "resonate-lab explain '@daily' --zone America/New_York",
        "resonate-lab explain '0 0 9 ? * 2#1' --dialect quartz --json",
    )
)
@click.argument("cron")
@options.dialect
@_AFTER
@_IN_ZONE
@click.option("-n", "count", default=5, show_default=True, help="Ticks to show.")
@options.as_json
def explain(
    cron: str, dialect: str, after: str | None, zone: str | None, count: int, as_json: bool
) -> None:
    """Say in words when an expression fires, and what surprises.

    CRON is 5, 6 or 7 fields, or a shorthand such as @daily; quote it for the shell.
    """
    expression = rl.CronExpression(cron, dialect=dialect)
    now = options.instant(after, "after")
    findings = expression.lint(now)
    ticks = _ticks(expression, now, count, zone)
    if as_json:
        found = [
            {
                "code": finding.code,
                "severity": finding.severity,
                "message": finding.message,
                "suggestion": finding.suggestion,
                "replacement": finding.replacement,
                "same_ticks": finding.same_ticks,
            }
            for finding in findings
        ]
        show.print_json(
            {
                "cron": expression.text,
                "dialect": expression.dialect,
                "explanation": expression.explain(),
                "findings": found,
                "next": show.rows_of(ticks),
            }
        )
        return
    show.say(expression.text, "bold")
    show.say(expression.explain())
    for finding in findings:
        show.say()
        lead = f"{finding.severity}: "
        show.say(finding.message, _STYLES[finding.severity], lead=lead)
        show.say(finding.suggestion, indent=2)
    show.print_table("Next ticks", ticks, limit=None, empty="no tick is left")


_ROWS = 40  # of a year; a zone changes its clocks twice in most
_STYLES = {"error": "red", "warning": "yellow", "info": "cyan"}


@click.command(
    "next",
    epilog=options.examples(
        "resonate-lab next '0 9 * * MON-FRI' -n 3",
        "resonate-lab next '0 0 29 2 *' --after 2026-01-01 | head -1",
    ),
)
@click.argument("cron")
@options.dialect
@_AFTER
@_IN_ZONE
@click.option("-n", "count", default=5, show_default=True, help="Ticks to show.")
@options.as_json
def next_(
    cron: str, dialect: str, after: str | None, zone: str | None, count: int, as_json: bool
) -> None:
    """List the next ticks of an expression.

    On a terminal a table; in a pipe one instant a line, ISO 8601 in UTC or in --zone.
    """
    ticks = _ticks(
        rl.CronExpression(cron, dialect=dialect), options.instant(after, "after"), count, zone
    )
    if as_json:
        show.print_json(show.rows_of(ticks))
    elif sys.stdout.isatty():
        show.print_table(f"Ticks of {cron}", ticks, limit=None, empty="no tick is left")
    else:
        for at in ticks[zone or "UTC"]:
            click.echo(at.isoformat().replace("+00:00", "Z"))


@click.command(
    "to-utc",
    epilog=options.examples(
        "resonate-lab to-utc '0 9 * * MON-FRI' America/New_York 2026",
        "resonate-lab to-utc '30 2 * * *' Europe/Berlin 2026 --rule shift --json",
    ),
)
@click.argument("cron")
@click.argument("zone", type=options.ZONE)
@click.argument("year", type=int)
@click.option(
    "--rule", default="debian", show_default=True, type=click.Choice(["debian", "naive", "shift"]),
    help="What happens where the clocks change.",
)  # fmt: skip
@options.as_json
def to_utc(cron: str, zone: str, year: int, rule: str, as_json: bool) -> None:
    """Say what to write in UTC for a time of a wall clock.

    CRON is what the wall clock of ZONE shows. Resonate evaluates in UTC only, so it takes
    another expression after each change of the clocks.
    """
    plan = rl.to_utc(cron, zone, year, rule)  # type: ignore[arg-type]
    if as_json:
        show.print_json(show.rows_of(plan))
        return
    columns = ["from_at", "offset", "cron", "ticks", "lost", "doubled", "moved"]
    _print_year(f"{cron} on the wall clock of {zone} in {year}", plan, columns)


@click.command(
    "local-view",
    epilog=options.examples("resonate-lab local-view '0 9 * * MON-FRI' Europe/Berlin 2026"),
)
@click.argument("cron")
@click.argument("zone", type=options.ZONE)
@click.argument("year", type=int)
@options.as_json
def local_view(cron: str, zone: str, year: int, as_json: bool) -> None:
    """Say what a wall clock shows when an expression fires.

    CRON is evaluated in UTC, as the server does; the rows go through YEAR in ZONE.
    """
    view = rl.local_view(cron, zone, year)
    if as_json:
        show.print_json(show.rows_of(view))
        return
    columns = ["from_at", "offset", "times", "wall", "ticks"]
    _print_year(f"{cron}, evaluated in UTC, as {zone} sees it in {year}", view, columns)


def _print_year(title: str, frame: pd.DataFrame, columns: list[str]) -> None:
    """Print the rows of a year, and their notes, which are sentences, below them."""
    shown = show.brief(frame, columns).rename(columns={"from_at": "from (UTC)"})
    show.print_table(title, shown, limit=_ROWS)
    noted = frame[frame["note"] != ""].head(_ROWS)
    for at, note in zip(noted["from_at"], noted["note"], strict=True):
        show.say(f"{at:%Y-%m-%d %H:%M}: {note}")


def _ticks(
    expression: rl.CronExpression, after: pd.Timestamp, count: int, zone: str | None
) -> pd.DataFrame:
    """Return the next ticks, in UTC and in another zone, with their weekdays."""
    import pandas as pd

    from resonate_lab.cron.offsets import zone_named

    found = expression.fires(count, after)
    days = list(found.strftime("%a"))
    ticks = pd.DataFrame({"UTC": found, "day": pd.Series(days, dtype=str)})
    if zone is not None and zone != "UTC":
        local = found.tz_convert(zone_named(zone))
        ticks[zone] = local
        ticks["local day"] = pd.Series(list(local.strftime("%a %Z")), dtype=str)
    return ticks
