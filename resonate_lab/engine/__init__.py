"""The machine: one state, what clients ask of it, and what it does by itself."""

from resonate_lab.engine.engine import Engine, Outage
from resonate_lab.engine.laws import Violation

__all__ = ["Engine", "Outage", "Violation"]
