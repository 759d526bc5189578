"""The main job at a stroke: audit a fleet, stop its server, write a report."""

from __future__ import annotations

from pathlib import Path

import click

import resonate_lab as rl
from resonate_lab.cli import options, show
from resonate_lab.cli.fleets import print_audit, print_outage

__all__ = ["demo"]


@click.command(
    epilog=options.examples(
        "resonate-lab demo",
        "resonate-lab demo jobs.csv --down 2026-12-04T18:00 --up 2026-12-07T08:00 --out weekend",
    )
)
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
@options.as_json
def demo(
    fleet: Path, out: str, down: str, up: str, promise_timeout: str, source: str, as_json: bool
) -> None:
    """Audit a fleet, then stop its server for twelve hours.

    FLEET is a CSV file with the columns id and cron (or expr), a crontab, Parquet, or the
    JSON of `resonate schedules search`; without it examples/public_fleet.csv, which is in the
    project's folder. Prints tables and writes report.html, a picture and the frames as CSV.
    """
    # matplotlib is a second of start-up that --help should not pay.
    from resonate_lab.whatif import report

    schedules = rl.read_fleet(fleet)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    audited = rl.audit(schedules, source, after=down, progress=show.progress("audit"))
    audited.to_csv(folder / "audit.csv")
    answer = rl.what_if(schedules, (down, up), promise_timeout=promise_timeout)
    answer.to_csv(folder / "outage.csv")
    rl.frames.write_csv(answer.refused, folder / "refused.csv")
    (folder / "timeline.png").write_bytes(report.timeline_png(answer))
    page = report.page(f"What {fleet.name} does under Resonate", [audited, answer])
    (folder / "report.html").write_text(page, encoding="utf-8")
    names = ("report.html", "timeline.png", "audit.csv", "outage.csv", "refused.csv")
    written = [str(folder / name) for name in names]
    if as_json:
        verdicts = audited["verdict"].value_counts().to_dict()
        show.print_json({"audit": verdicts, "outage": answer.counters, "written": written})
        return
    print_audit(fleet.name, audited)
    print_outage(answer)
    show.say()
    show.say("written:")
    for path in written:
        click.echo(f"  {path}")
