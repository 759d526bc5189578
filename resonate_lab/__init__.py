"""resonate_lab: explore Resonate schedules before and after they bite.

The names below load on first use, so that ``import resonate_lab`` brings in neither
numpy nor pandas, matplotlib or ipywidgets.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from resonate_lab import clients, cron, engine, frames, plots, widgets
    from resonate_lab.cron import CronError, CronExpression
    from resonate_lab.engine import Engine
    from resonate_lab.errors import ProtocolError, ResonateLabError
    from resonate_lab.whatif import policies
    from resonate_lab.whatif.audit import audit
    from resonate_lab.whatif.collisions import collisions
    from resonate_lab.whatif.fleet import read_fleet
    from resonate_lab.whatif.load import load, peaks
    from resonate_lab.whatif.outage import WhatIf, what_if
    from resonate_lab.whatif.spread import spread
    from resonate_lab.whatif.zones import local_view, to_utc

__version__ = "0.1.0"

_HOME = {
    "CronError": "resonate_lab.cron",
    "CronExpression": "resonate_lab.cron",
    "Engine": "resonate_lab.engine",
    "ProtocolError": "resonate_lab.errors",
    "ResonateLabError": "resonate_lab.errors",
    "WhatIf": "resonate_lab.whatif",
    "audit": "resonate_lab.whatif",
    "collisions": "resonate_lab.whatif",
    "load": "resonate_lab.whatif",
    "local_view": "resonate_lab.whatif",
    "peaks": "resonate_lab.whatif",
    "policies": "resonate_lab.whatif",
    "read_fleet": "resonate_lab.whatif",
    "spread": "resonate_lab.whatif",
    "to_utc": "resonate_lab.whatif",
    "what_if": "resonate_lab.whatif",
}
_MODULES = ("clients", "cron", "engine", "frames", "plots", "widgets")

__all__ = [
    "CronError",
    "CronExpression",
    "Engine",
    "ProtocolError",
    "ResonateLabError",
    "WhatIf",
    "audit",
    "clients",
    "collisions",
    "cron",
    "engine",
    "frames",
    "load",
    "local_view",
    "peaks",
    "plots",
    "policies",
    "read_fleet",
    "spread",
    "to_utc",
    "what_if",
    "widgets",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"resonate_lab.{name}")
    else:
        raise AttributeError(
            f"module 'resonate_lab' has no attribute {name!r}; it has {', '.join(__all__)}"
        )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
