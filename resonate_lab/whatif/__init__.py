"""Questions about time: what a fleet means, and what an outage does to it."""

from resonate_lab.whatif.audit import audit
from resonate_lab.whatif.fleet import read_fleet
from resonate_lab.whatif.outage import WhatIf, what_if

__all__ = ["WhatIf", "audit", "read_fleet", "what_if"]
