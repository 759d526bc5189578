"""What an engine holds, as pandas frames with one vocabulary of columns and dtypes.

Instants are tz-aware UTC (datetime64[ms, UTC]) and NaT where they are missing, durations
timedelta64[ms], states categories in the order of a promise's life. A frame without rows
has the same columns and dtypes as one with.
"""

from resonate_lab.frames.records import (
    BIRTH_STATES,
    PROMISE_STATES,
    TASK_STATES,
    callbacks,
    dispatches,
    durations,
    instants,
    listeners,
    outbox,
    profiles,
    promises,
    schedules,
    tags,
    tasks,
    ticks,
    trace,
    unblocks,
    write_csv,
)
from resonate_lab.frames.records import TEXT as TEXT  # for frames that others make
from resonate_lab.frames.style import styled

__all__ = [
    "BIRTH_STATES",
    "PROMISE_STATES",
    "TASK_STATES",
    "callbacks",
    "dispatches",
    "durations",
    "instants",
    "listeners",
    "outbox",
    "profiles",
    "promises",
    "schedules",
    "styled",
    "tags",
    "tasks",
    "ticks",
    "trace",
    "unblocks",
    "write_csv",
]
