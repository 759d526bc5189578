"""Widgets for a notebook: drag, type or press a key, and read the answer at once.

A widget holds the question, in its controls, and no answer. Whatever a control changes,
the answer is computed anew by the functions that give it without a widget. ``static()``
returns the same answer as plain HTML, for a notebook that is read without a kernel;
``close()`` lets go of everything.
"""

from resonate_lab.widgets.explorer import CronExplorer
from resonate_lab.widgets.load import FleetLoad
from resonate_lab.widgets.machine import TimeMachine
from resonate_lab.widgets.outage import OutageSimulator
from resonate_lab.widgets.tags import TagInspector
from resonate_lab.widgets.timeline import TickTimeline

__all__ = [
    "CronExplorer",
    "FleetLoad",
    "OutageSimulator",
    "TagInspector",
    "TickTimeline",
    "TimeMachine",
]
