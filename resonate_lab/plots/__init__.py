"""Pictures of frames: a frame and an Axes in, the Axes out.

Nothing here knows where a frame comes from; a column that is missing is named. No
function shows a figure or touches rcParams, and none draws an artist per row: a million
ticks become one scatter a state, thinned to what the pixels can tell apart.
"""

from resonate_lab.plots.audit import audit_bars
from resonate_lab.plots.backlog import backlog, levels
from resonate_lab.plots.calls import call_graph
from resonate_lab.plots.collisions import running_curve
from resonate_lab.plots.drawing import png
from resonate_lab.plots.endurance import endurance
from resonate_lab.plots.heat import calendar, hour_by_day, hour_by_weekday
from resonate_lab.plots.lifelines import lifelines
from resonate_lab.plots.load import load_curve
from resonate_lab.plots.peaks import peak_bars
from resonate_lab.plots.policies import policy_bars
from resonate_lab.plots.profiles import profile_comparison
from resonate_lab.plots.states import STATE_STYLE, StateStyle
from resonate_lab.plots.timeline import catch_up_timeline
from resonate_lab.plots.zones import clock_times

__all__ = [
    "STATE_STYLE",
    "StateStyle",
    "audit_bars",
    "backlog",
    "calendar",
    "call_graph",
    "catch_up_timeline",
    "clock_times",
    "endurance",
    "hour_by_day",
    "hour_by_weekday",
    "levels",
    "lifelines",
    "load_curve",
    "peak_bars",
    "png",
    "policy_bars",
    "profile_comparison",
    "running_curve",
]
