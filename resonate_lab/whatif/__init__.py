"""Questions about time: what a fleet means, and what an outage does to it."""

from resonate_lab.whatif.audit import audit
from resonate_lab.whatif.fleet import read_fleet
from resonate_lab.whatif.outage import WhatIf, what_if
from resonate_lab.whatif.zones import local_view, to_utc

__all__ = ["WhatIf", "audit", "local_view", "read_fleet", "to_utc", "what_if"]
