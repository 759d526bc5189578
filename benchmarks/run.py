"""Run the benchmarks, print their table, write one results file.

``python benchmarks/run.py [--scale] [--http] [FILE]`` writes ``benchmarks/results.json`` unless
told another file; ``--scale`` adds five million schedules on a cluster, ``--http`` the server
under load and 10,000 streams, which takes minutes each. Exit code 1 if a target is missed.
"""

import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import bench_cron
import bench_engine
import bench_http
import bench_load
import bench_outage
import bench_scale
import bench_widgets
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent

#: Columns of others beside our own, and where a row's details have them.
RIVALS = {f"{peer}\nns": f"{peer}_ns" for peer in ("croniter", "cronsim", "croniter-rs")}
HELD = {
    "first use\nms": "first_ms",
    "making\nms": "made_ms",
    "heap gc\nms": "collection_ms",
    "worst\ncontrol": "control",
}
MODEL = {"reference model\ns, as given": "reference_s"}


def main() -> int:
    """Measure, print, write; return the exit code."""
    if hasattr(os, "sched_setaffinity"):
        # One core for all: ours and the rivals' alike.
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    console = Console(width=None if sys.stdout.isatty() else 120)
    with console.status("measuring") if sys.stdout.isatty() else Console(quiet=True).status(""):
        cron, load = list(bench_cron.rows()), list(bench_load.rows())
        outage, engine = list(bench_outage.rows()), list(bench_engine.rows())
        widgets = list(bench_widgets.rows())
        scale = list(bench_scale.rows()) if "--scale" in sys.argv else []
        http = list(bench_http.rows()) if "--http" in sys.argv else []
    machine = machine_facts()
    rows = cron + load + outage + engine + widgets + scale + http
    title = "the cron core and its peers, one run, one core (medians; ratios of the fastest rounds)"
    console.print(table(title, cron, RIVALS))
    console.print(table("the load of a fleet (medians)", load, {}))
    console.print(table("an outage of a fleet (medians)", outage, {}))
    console.print(table("the engine at scale, one process each (medians, CPU time)", engine, MODEL))
    title = "longest time for which a widget holds the kernel, 1,000 schedules (medians, CPU time)"
    console.print(table(title, widgets, HELD))
    if scale:
        console.print(table("beyond one process (once, wall clock)", scale, {}))
    if http:
        console.print(table("over HTTP, server and client one process each (once)", http, {}))
    console.print("reference model: quoted from those who observed it, not measured here")
    console.print(", ".join(f"{k} {v}" for k, v in machine.items()), highlight=False)
    files = [word for word in sys.argv[1:] if word not in ("--scale", "--http")]
    target = Path(files[0]) if files else HERE / "results.json"
    target.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
    console.print(f"wrote {target}", highlight=False)
    missed = [row["what"] for row in rows if not row["reached"]]
    if missed:
        console.print(f"targets missed: {', '.join(missed)}", style="bold red", highlight=False)
    return bool(missed)


def table(title: str, rows: list[bench_cron.Row], others: dict[str, str]) -> Table:
    """Return the rows as a table for the terminal, with columns for the figures of others."""
    out = Table(title=title, box=SIMPLE)
    out.add_column("what", no_wrap=True)
    out.add_column("ours", justify="right")
    out.add_column("unit")
    out.add_column("target", justify="right")
    out.add_column("")
    for name in others:
        out.add_column(name, justify="right")
    for row in rows:
        details = row.get("details", {})
        figures = [details.get(key, "") for key in others.values()]
        shown = [figure["median"] if isinstance(figure, dict) else figure for figure in figures]
        peers = [figure if isinstance(figure, str) else f"{figure:,.0f}" for figure in shown]
        value = f"{row['value']:,.{2 if row['value'] < 10 else 0}f}"
        verdict = "ok" if row["reached"] else "MISSED"
        out.add_row(row["what"], value, row["unit"], row["target"], verdict, *peers)
    return out


def machine_facts() -> dict[str, str]:
    """Return what the figures depend on."""
    cpu = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next(
            (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), cpu
        )
    revision = subprocess.run(
        ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    names = ("cython", "numpy", "croniter", "cronsim", "croniter-rs")
    return {
        "cpu": cpu,
        "python": platform.python_version(),
        **{name: version(name) for name in names},
        "revision": revision or "unknown",
    }


if __name__ == "__main__":
    sys.exit(main())
