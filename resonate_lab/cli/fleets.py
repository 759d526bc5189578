"""Commands about many schedules: what they mean, what an outage does, where they pile up."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import resonate_lab as rl
from resonate_lab._html import plain
from resonate_lab.cli import options, show
from resonate_lab.cli.options import Given

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "audit",
    "collisions",
    "load",
    "longest_outage",
    "policies",
    "print_audit",
    "print_outage",
    "spread",
    "whatif",
]


def _policies() -> list[str]:
    return [*rl.policies.SYSTEMS, *rl.policies.VARIANTS]


def _readings() -> list[str]:
    from resonate_lab.whatif.audit import READINGS

    return list(READINGS)


_DOWN = click.option(
    "--down", required=True, type=options.PERIOD,
    help="The outage: 2026-12-01..2026-12-01T12:00Z; UTC where no zone is named.",
)  # fmt: skip
_FREQ = click.option(
    "--freq", default="1min", show_default=True, help="Length of a bin, such as 1min, 1h or 1D."
)
_PROMISE_TIMEOUT = click.option(
    "--promise-timeout", default="1h", show_default=True, help="Of schedules that name none."
)
_HTML = click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the answer as a page, too.",
)

_REFUSED = 4  # rows whose reason is told
_PATH = click.Path(dir_okay=False, path_type=Path)


@click.command(
    epilog=options.examples(
        "resonate-lab audit /etc/crontab",
        "resonate-lab audit jobs.csv --source quartz",
        "resonate schedules search --limit 1000 | resonate-lab audit - --source crontab",
        "resonate-lab audit jobs.csv --json | jq '.[] | select(.verdict != \"same\")'",
    )
)
@options.takes_fleet
@click.option(
    "--source", default="crontab", show_default=True, shell_complete=options.completed(_readings),
    help="How the authors meant them: crontab, quartz, aws, kubernetes, airflow or resonate.",
)  # fmt: skip
@click.option("--after", metavar="INSTANT", help="Compare from here on. Default: today, UTC.")
@options.as_json
def audit(fleet: Given, source: str, after: str | None, as_json: bool) -> None:
    """Compare what expressions mean here and what was meant.

    Each row is proved to fire at the instants that its author meant, or not to; then the
    expression to write instead is named.

    FLEET is a CSV file with the columns id and cron (or expr), a crontab, Parquet, the JSON
    of `resonate schedules search`, what kubectl, aws or airflow print as JSON or YAML, '-' for
    one of these on stdin, or the address of a live server, which is searched and never
    written to.
    """
    audited = rl.audit(fleet.frame, source, after=after, progress=show.progress("audit"))
    if as_json:
        show.print_json(show.rows_of(audited))
    else:
        print_audit(fleet.name, audited)


def print_audit(name: str, audited: pd.DataFrame) -> None:
    """Print an audit's counts, and its most frequent changes."""
    from resonate_lab.whatif.audit import audit_counts, misread

    show.print_table(
        f"{name}: do {len(audited):,} expressions mean here what their authors meant?",
        audit_counts(audited).rename(columns={"reading": "meant as"}),
    )
    wrong = misread(audited)
    if len(wrong):
        show.print_table(
            "Misread: the most frequent changes, each with an example",
            wrong[["cron", "rows", "author_means", "resonate_does", "write_instead"]],
            limit=8,
        )


@click.command(
    epilog=options.examples(
        "resonate-lab whatif fleet.csv --down 2026-12-04T18:00..2026-12-07T08:00",
        "resonate-lab whatif http://localhost:8001 --down 2026-12-01..2026-12-02 --html out.html",
        "resonate-lab whatif fleet.csv --down 2026-12-01..2026-12-02 --json | jq .counters",
        "resonate-lab whatif fleet.csv --down 2026-12-01..2026-12-02 --workers 8 --run-time 30s",
        "resonate-lab whatif fleet.csv --down 2026-12-01..2026-12-02 --policy 'Temporal schedule'",
    )
)
@options.takes_fleet
@click.option(
    "--down", "outages", required=True, multiple=True, type=options.PERIOD,
    help="An outage: 2026-12-01..2026-12-01T12:00Z; may be given again.",
)  # fmt: skip
@click.option(
    "--profile", default="standard", show_default=True,
    type=options.PROFILE, help="The rules of catch-up.",
)  # fmt: skip
@_PROMISE_TIMEOUT
@click.option(
    "--policy",
    metavar="NAME",
    shell_complete=options.completed(_policies),
    help="What starts the missed ticks in place of Resonate's catch-up.",
)
@click.option("--workers", type=int, help="How many take the execute messages.")
@click.option("--run-time", help="How long a worker is busy: 30s, or the name of a column.")
@click.option("--seed", default=0, show_default=True, help="Of run times that are drawn.")
@_HTML
@click.option("--ticks", type=_PATH, help="Write every missed tick as CSV, too.")
@options.as_json
def whatif(
    fleet: Given,
    outages: tuple[tuple[str, str], ...],
    profile: str,
    promise_timeout: str,
    policy: str | None,
    workers: int | None,
    run_time: str | None,
    seed: int,
    html: Path | None,
    ticks: Path | None,
    as_json: bool,
) -> None:
    """Say what an outage brings at the restart.

    Missed ticks, execute messages, promises that are born expired, and when the last of
    them comes. FLEET is as in `audit --help`.
    """
    answer = rl.what_if(
        fleet.frame, outages, profile=profile, promise_timeout=promise_timeout,
        policy=policy, workers=workers, run_time=run_time, seed=seed,
    )  # fmt: skip
    if html is not None:
        answer.to_html(html)
    if ticks is not None:
        rl.frames.write_csv(answer.ticks, ticks)
    if as_json:
        show.print_json(
            {
                "counters": answer.counters,
                "summary": show.rows_of(answer.summary),
                "refused": show.rows_of(answer.refused),
            }
        )
        return
    print_outage(answer)
    for path in (html, ticks):
        if path is not None:
            show.say(f"written: {path}")


def print_outage(answer: rl.WhatIf) -> None:
    """Print what an outage brings: a sentence, the busiest schedules, the refused rows."""
    show.say()
    show.say(answer.headline() + ".")
    if answer.queue is not None:
        show.say(answer.queue.headline() + ".")
    columns = ["schedule_id", "cron", "missed", "dispatched", "expired"]
    show.print_table(
        "The busiest schedules",
        answer.summary.nlargest(8, "missed")[columns].rename(
            columns={"schedule_id": "schedule", "dispatched": "sent"}
        ),
        total=len(answer.summary),
    )
    _print_refused(answer.refused)


@click.command(
    "longest-outage",
    epilog=options.examples(
        "resonate-lab longest-outage fleet.csv --down 2026-12-04T18:00",
        "resonate-lab longest-outage fleet.csv --down 2026-12-04T18:00 --expired 100",
        "resonate-lab longest-outage fleet.csv --expired any --messages 1000 --limit 7d",
        "resonate-lab longest-outage fleet.csv --json | jq .duration",
    ),
)
@options.takes_fleet
@click.option(
    "--down", metavar="INSTANT", help="When the server stops. Default: the present moment."
)
@click.option(
    "--expired", default="0", show_default=True, type=options.BOUND, metavar="N|any",
    help="Most promises that may be born expired.",
)  # fmt: skip
@click.option(
    "--messages", default="any", show_default=True, type=options.BOUND, metavar="N|any",
    help="Most execute messages that may be queued at the restart.",
)  # fmt: skip
@_PROMISE_TIMEOUT
@click.option("--limit", default="31d", show_default=True, help="How far to look.")
@_HTML
@options.as_json
def longest_outage(
    fleet: Given,
    down: str | None,
    expired: int | None,
    messages: int | None,
    promise_timeout: str,
    limit: str,
    html: Path | None,
    as_json: bool,
) -> None:
    """Say how long a server may be down.

    The longest outage after which no more promises than --expired are born expired and no
    more than --messages are queued, and the schedules that break this first. FLEET is as in
    `audit --help`.
    """
    import pandas as pd

    if expired is None and messages is None:
        raise click.UsageError(
            "any number may expire and be queued, so no outage is too long: write --expired N or "
            "--messages N"
        )
    longest = rl.longest_outage(
        fleet.frame, options.instant(down, "down"), expired=expired, messages=messages,
        promise_timeout=promise_timeout, limit=limit,
    )  # fmt: skip
    if html is not None:
        longest.to_html(html)
    if as_json:
        names = ("start", "up", "duration", "stopped_by", "schedule_id", "tick")
        row = pd.DataFrame({name: [getattr(longest, name)] for name in names})
        show.print_json(
            {
                **show.rows_of(row)[0],
                "schedules": show.rows_of(longest.schedules),
                "refused": show.rows_of(longest.refused),
            }
        )
        return
    show.say()
    show.say(longest.headline() + ".")
    show.print_table(
        "The schedules that break the rule first",
        longest.schedules.rename(
            columns={"schedule_id": "schedule", "breaks_at": "alone it breaks at (UTC)"}
        ),
    )
    if longest.schedules["breaks_at"].isna().any():
        show.say(f"Blank: not alone, as far as was looked ({limit}).")
    _print_refused(longest.refused)
    if html is not None:
        show.say(f"written: {html}")


@click.command(
    epilog=options.examples(
        "resonate-lab policies '*/10 * * * *' --down 2026-12-01..2026-12-01T12:00",
        "resonate-lab policies fleet.csv --down 2026-12-01..2026-12-02 --run-time 15min",
        "resonate-lab policies fleet.csv --down 2026-12-01..2026-12-02 \\",
        "    --policy Resonate --policy 'Temporal schedule'",
    )
)
@click.argument("fleet", metavar="CRON|FLEET", type=options.FLEET)
@options.takes_server
@_DOWN
@click.option("--run-time", default="1min", show_default=True, help="How long each run takes.")
@click.option(
    "--policy", "names", multiple=True, metavar="NAME", shell_complete=options.completed(_policies),
    help="One of them only; may be given again. Default: all systems.",
)  # fmt: skip
@options.as_json
def policies(
    fleet: str,
    token: str | None,
    timeout: str,
    down: tuple[str, str],
    run_time: str,
    names: tuple[str, ...],
    as_json: bool,
) -> None:
    """Compare nineteen schedulers after the same outage.

    CRON|FLEET is one expression, or a fleet as in `audit --help`.
    """
    given: Any = sys.stdin.buffer if fleet == "-" else fleet
    if options.is_address(fleet):
        given = rl.read_fleet(fleet, token=token, timeout=timeout)
    compared = rl.policies.compare(given, down, run_time=run_time, policies=names or None)
    if as_json:
        show.print_json(show.rows_of(compared))
        return
    columns = ["policy", "starts", "lost", "max_lateness", "last_start", "peak"]
    missed = int(compared["missed"].iloc[0]) if len(compared) else 0
    show.print_table(
        f"{missed:,} missed ticks, and what becomes of them",
        compared[columns].rename(columns={"last_start": "last start (UTC)"}),
        limit=None,
    )
    if compared["starts"].isna().any():
        show.say("Blank: that system does not say what it does.")
    for id, line, reason in compared.attrs["refused"][:_REFUSED]:
        show.say(f"refused: {plain(id)} (line {line}): {reason}")


@click.command(
    epilog=options.examples(
        "resonate-lab load fleet.csv",
        "resonate-lab load fleet.csv --start 2026-12-01 --end 2026-12-31 --freq 1h --peaks 20",
        "resonate-lab load fleet.csv --json | jq 'map(.ticks) | max'",
    )
)
@options.takes_fleet
@options.takes_window(days=7)
@_FREQ
@options.dialect
@click.option("--peaks", default=10, show_default=True, help="Busiest bins to show.")
@options.as_json
def load(
    fleet: Given,
    start: pd.Timestamp,
    end: str,
    freq: str,
    dialect: str,
    peaks: int,
    as_json: bool,
) -> None:
    """Count the ticks of a fleet by minute, and name the peaks.

    FLEET is as in `audit --help`; the window is closed, [start, end].
    """
    counted = rl.load(
        fleet.frame, start, end, freq, dialect=dialect, progress=show.progress("load")
    )
    if as_json:
        show.print_json(show.rows_of(counted.reset_index()))
        return
    # Who makes a peak is a list of ids, of which a narrow terminal has no room for many.
    ids = 5 if show.console().width >= 120 else 2
    found = rl.peaks(counted, peaks, ids=ids)[["at", "ticks", "schedules", "busiest"]]
    show.say()
    show.say(f"{counted.headline()}.")
    show.print_table(
        "The busiest bins",
        found.rename(columns={"at": "from (UTC)"}),
        limit=None,
        empty="no tick in this window",
    )
    _print_refused(counted.refused)


@click.command(
    epilog=options.examples(
        "resonate-lab collisions fleet.csv --run-time 10min",
        "resonate-lab collisions fleet.csv --start 2026-12-01 --run-time 90s --json",
    )
)
@options.takes_fleet
@options.takes_window(days=1)
@click.option(
    "--run-time", help="How long each run takes; a column run_time of FLEET has the last word."
)
@options.dialect
@options.as_json
def collisions(
    fleet: Given,
    start: pd.Timestamp,
    end: str,
    run_time: str | None,
    dialect: str,
    as_json: bool,
) -> None:
    """Say which schedules run at the same time.

    FLEET is as in `audit --help`; runs begin in the closed window [start, end].
    """
    met = rl.collisions(
        fleet.frame, start, end, run_time, dialect=dialect, progress=show.progress("collisions")
    )
    if as_json:
        show.print_json({"pairs": show.rows_of(met.pairs), "refused": show.rows_of(met.refused)})
        return
    show.say()
    show.say(met.headline() + ".")
    columns = ["schedule_a", "schedule_b", "collisions", "overlap", "longest"]
    show.print_table("The pairs that meet most", met.pairs[columns])
    _print_refused(met.refused)


@click.command(
    epilog=options.examples(
        "resonate-lab spread fleet.csv --bound 20",
        "resonate-lab spread fleet.csv --bound 5 --within 1h --keep payroll --csv moved.csv",
    )
)
@options.takes_fleet
@options.takes_window(days=7)
@click.option("--bound", required=True, type=int, help="Most ticks that a bin may hold.")
@click.option("--within", default="30min", show_default=True, help="Most that one may move.")
@_FREQ
@click.option("--keep", multiple=True, metavar="ID", help="Not to be moved; may be given again.")
@options.dialect
@click.option("--csv", type=_PATH, help="Write the fleet with the moves made.")
@options.as_json
def spread(
    fleet: Given,
    start: pd.Timestamp,
    end: str,
    bound: int,
    within: str,
    freq: str,
    keep: tuple[str, ...],
    dialect: str,
    csv: Path | None,
    as_json: bool,
) -> None:
    """Say which schedules to move so that no peak is too high.

    Each move is later by whole minutes, and a new expression, proved to be the old one
    shifted. FLEET is as in `audit --help`.
    """
    found = rl.spread(
        fleet.frame, start, end, bound, within, freq,
        keep=keep, dialect=dialect, progress=show.progress("spread"),
    )  # fmt: skip
    if csv is not None:
        rl.frames.write_csv(found.fleet, csv)
    if as_json:
        show.print_json(
            {
                "reached": found.reached,
                "complete": found.complete,
                "peak_before": int(found.before.max()),
                "peak_after": int(found.after.max()),
                "moves": show.rows_of(found.moves),
                "refused": show.rows_of(found.refused),
            }
        )
        return
    show.say()
    show.say(found.headline() + ".")
    columns = ["schedule_id", "cron", "minutes", "proposed"]
    show.print_table("The moves", found.moves[columns].rename(columns={"schedule_id": "schedule"}))
    if csv is not None:
        show.say(f"written: {csv}")
    _print_refused(found.refused)


def _print_refused(refused: pd.DataFrame) -> None:
    """Print why rows are refused: sentences, which a table would break into slivers."""
    if not len(refused):
        return
    show.say()
    show.say(f"Refused by Resonate: {len(refused):,}", "bold")
    for id, cron, line, reason in refused.head(_REFUSED).itertuples(index=False):
        show.say(f"{plain(id)} (line {line}): {plain(cron)}")
        show.say(reason, indent=2)
    if len(refused) > _REFUSED:
        show.say(f"and {len(refused) - _REFUSED:,} more", "italic")
