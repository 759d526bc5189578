"""Draw the pictures of README.md and of the site's first page.

Usage: ``python tools/pictures.py FOLDER``. They stand in the repository since README.md is read
where nothing is built; `make pictures` draws them anew.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes

import resonate_lab as rl

FLEET = Path(__file__).resolve().parents[1] / "examples" / "public_fleet.csv"
DOWN = ("2024-01-05T20:00Z", "2024-01-06T08:00Z")
WEEKS = ("2024-01-01T00:00Z", "2024-01-28T23:59:59Z")
#: No tick of it falls on the restart, so that all of them are late.
EVERY_20_MINUTES = "5-59/20 * * * *"


def outage() -> Axes:
    """Draw what a night's outage brings: a lane each for schedules of different kinds."""
    night = rl.what_if(FLEET, down=DOWN)
    kinds = night.summary.drop_duplicates(["missed", "dispatched", "expired"])
    few = kinds[kinds["missed"].between(1, 150)].nlargest(8, "missed")
    return night.plot(lanes=few["schedule_id"], max_lanes=8)


def herd() -> Axes:
    """Draw when the same schedules tick: the busiest minute of each hour."""
    return rl.plots.hour_by_day(rl.load(FLEET, *WEEKS), show="peak")


def policies() -> Axes:
    """Draw what other schedulers start after the same outage."""
    return rl.plots.policy_bars(rl.policies.compare(EVERY_20_MINUTES, DOWN, run_time="1h"))


PICTURES: tuple[Callable[[], Axes], ...] = (outage, herd, policies)


def main(folder: str) -> None:
    """Draw each picture into a file of its name."""
    matplotlib.use("Agg")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        figure = picture().figure
        # No date and no version in the file: the same picture is the same bytes.
        metadata = {"Software": None}
        path = target / f"{picture.__name__}.png"
        figure.savefig(path, dpi=100, bbox_inches="tight", metadata=metadata)


if __name__ == "__main__":
    main(*sys.argv[1:])
