"""Questions about time: what a fleet means, and what an outage does to it."""

from resonate_lab.whatif import policies
from resonate_lab.whatif.audit import audit
from resonate_lab.whatif.collisions import Collisions, collisions
from resonate_lab.whatif.fleet import read_fleet
from resonate_lab.whatif.load import Load, load, makers, peaks
from resonate_lab.whatif.longest import LongestOutage, longest_outage
from resonate_lab.whatif.outage import WhatIf, what_if
from resonate_lab.whatif.queue import LogNormal, Queue
from resonate_lab.whatif.spread import Spread, spread
from resonate_lab.whatif.zones import local_view, to_utc

__all__ = [
    "Collisions",
    "Load",
    "LogNormal",
    "LongestOutage",
    "Queue",
    "Spread",
    "WhatIf",
    "audit",
    "collisions",
    "load",
    "local_view",
    "longest_outage",
    "makers",
    "peaks",
    "policies",
    "read_fleet",
    "spread",
    "to_utc",
    "what_if",
]
