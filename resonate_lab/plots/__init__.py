"""Pictures of frames: a frame and an Axes in, the Axes out.

Nothing here knows where a frame comes from; a column that is missing is named. No
function shows a figure or touches rcParams, and none draws an artist per row: a million
ticks become one scatter a state, thinned to what the pixels can tell apart.
"""

from resonate_lab.plots.calls import call_graph
from resonate_lab.plots.lifelines import lifelines
from resonate_lab.plots.load import calendar, hour_by_day, load_curve
from resonate_lab.plots.policies import policy_bars
from resonate_lab.plots.profiles import profile_comparison
from resonate_lab.plots.states import STATE_STYLE, StateStyle
from resonate_lab.plots.timeline import catch_up_timeline, timeline_png

__all__ = [
    "STATE_STYLE",
    "StateStyle",
    "calendar",
    "call_graph",
    "catch_up_timeline",
    "hour_by_day",
    "lifelines",
    "load_curve",
    "policy_bars",
    "profile_comparison",
    "timeline_png",
]
