"""What an engine holds, as frames; their vocabulary is told in the package."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from resonate_lab.instants import datetime_index
from resonate_lab.protocol import PROFILES, Profile, records
from resonate_lab.protocol.texts import delay_of

if TYPE_CHECKING:
    from resonate_lab.engine import Engine
    from resonate_lab.engine.state import PromiseRow

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
    "tags",
    "tasks",
    "ticks",
    "trace",
    "unblocks",
    "write_csv",
]

PROMISE_STATES = pd.CategoricalDtype(list(records.PROMISE_STATES))
"""All states of a promise, in the order of the protocol."""

BIRTH_STATES = pd.CategoricalDtype(["pending", "resolved", "rejected_timedout"])
"""The states in which a schedule can create a promise."""

TASK_STATES = pd.CategoricalDtype(list(records.TASK_STATES))
"""All states of a task, in the order of its life."""

TEXT = pd.Series([""], dtype=str).dtype
"""Dtype of text columns: str since pandas 3, object before; both keep what is missing."""

_Ints = npt.NDArray[np.int64]
_Bools = npt.NDArray[np.bool_]

_MISSING = -(2**63)  # what numpy stores for NaT


def ticks(engine: Engine) -> pd.DataFrame:
    """Return the ticks that created a promise, in the order of firing.

    Returns
    -------
    DataFrame
        One row a promise that a schedule fired; the first columns of `WhatIf.ticks`:

        ============ ========= =======================================================
        schedule_id  str
        scheduled_at instant   logical time of the tick
        fired_at     instant   when the engine got to it
        lag          timedelta ``fired_at - scheduled_at``
        promise_id   str
        timeout_at   instant
        state        category  at creation: pending, resolved or rejected_timedout
        dispatched   bool      an execute message was queued at creation
        ============ ========= =======================================================

    Notes
    -----
    What became of a promise since stands in `promises`. A tick whose promise id was taken
    left nothing behind and has no row.
    """
    rules, rows = engine.profile, [row for row in engine.state.promises.values() if row.firing]
    fired = _ms(row.firing.at for row in rows if row.firing)
    scheduled = _ms(_tick_of(engine, row) for row in rows)
    timeout = _ms(row.timeout_at for row in rows)
    born_late = timeout <= (fired if rules.expiry == "processing time" else scheduled)
    timer = np.array([records.is_timer(row.tags) for row in rows], dtype=bool)
    target = np.array([records.TARGET_TAG in row.tags for row in rows], dtype=bool)
    if rules.fired_delay_honoured:
        delay = np.array([delay_of(row.tags) or 0 for row in rows], dtype=np.int64)
        target &= delay <= scheduled
    states = np.where(born_late, np.where(timer, 1, 2), 0)
    return pd.DataFrame(
        {
            "schedule_id": _texts([row.firing.schedule_id for row in rows if row.firing]),
            "scheduled_at": datetime_index(scheduled),
            "fired_at": datetime_index(fired),
            "lag": (fired - scheduled).view("timedelta64[ms]"),
            "promise_id": _texts([row.id for row in rows]),
            "timeout_at": datetime_index(timeout),
            "state": pd.Categorical.from_codes(states, dtype=BIRTH_STATES),
            "dispatched": ~born_late & target,
        }
    )


def promises(engine: Engine) -> pd.DataFrame:
    """Return the promises as they are stored now, in the order of creation.

    Returns
    -------
    DataFrame
        One row a promise:

        =========== ======== ========================================================
        id          str
        schedule_id str      of the schedule that fired it; NaN for a client's promise
        state       category
        created_at  instant
        timeout_at  instant
        settled_at  instant  NaT while pending
        param       object   dict, ``headers`` and ``data`` where not empty
        value       object   the same of the result
        =========== ======== ========================================================

        Its tags are a frame of their own, see `tags`.
    """
    rows = list(engine.state.promises.values())
    return pd.DataFrame(
        {
            "id": _texts([row.id for row in rows]),
            "schedule_id": _texts([row.firing and row.firing.schedule_id for row in rows]),
            "state": pd.Categorical([row.state for row in rows], dtype=PROMISE_STATES),
            "created_at": datetime_index(_ms(row.created_at for row in rows)),
            "timeout_at": datetime_index(_ms(row.timeout_at for row in rows)),
            "settled_at": _instants_or_none(row.settled_at for row in rows),
            "param": _objects([row.param for row in rows]),
            "value": _objects([row.value for row in rows]),
        }
    )


def tags(engine: Engine) -> pd.DataFrame:
    """Return the tags of the promises: one row a promise, one column a tag.

    Returns
    -------
    DataFrame
        the index is the promise id, in the order of creation; the columns, all str, stand
        in the order of the tags' names; NaN where a promise lacks the tag
    """
    own = {row.id: row.all_tags() for row in engine.state.promises.values()}
    names = sorted({name for each in own.values() for name in each})
    columns = {name: _texts([each.get(name) for each in own.values()]).array for name in names}
    return pd.DataFrame(columns, index=pd.Index(_texts(list(own)), name="promise_id"))


def schedules(engine: Engine) -> pd.DataFrame:
    """Return the schedules, in the order of creation; the frame is a fleet for `what_if`.

    Returns
    -------
    DataFrame
        One row a schedule:

        =============== ======= =======================================================
        id, cron        str
        promise_id      str     template
        promise_timeout int64   ms
        promise_tags    object  dict of str to str
        promise_param   object  dict
        created_at      instant
        next_run_at     instant NaT once it has no further tick
        last_run_at     instant NaT before the first firing
        =============== ======= =======================================================
    """
    rows = list(engine.state.schedules.values())
    return pd.DataFrame(
        {
            "id": _texts([row.id for row in rows]),
            "cron": _texts([row.cron for row in rows]),
            "promise_id": _texts([row.promise_id for row in rows]),
            "promise_timeout": _ms(row.promise_timeout for row in rows),
            "promise_tags": _objects([dict(row.promise_tags) for row in rows]),
            "promise_param": _objects([row.promise_param for row in rows]),
            "created_at": datetime_index(_ms(row.created_at for row in rows)),
            "next_run_at": _instants_or_none(row.next_run_at for row in rows),
            "last_run_at": _instants_or_none(row.last_run_at for row in rows),
        }
    )


def tasks(engine: Engine) -> pd.DataFrame:
    """Return the tasks, in the order of creation.

    Returns
    -------
    DataFrame
        One row a task:

        ========== ========= ==========================================================
        id         str       of the task and of its promise
        state      category
        version    int64     how often it was acquired
        resumes    int64     awaited promises that settled since
        pid        str       holder of the lease, NaN without one
        ttl        timedelta length of the lease, NaT without one
        expires_at instant   end of the lease, NaT without one
        retry_at   instant   next dispatch while pending, NaT otherwise
        ========== ========= ==========================================================
    """
    ids, rows = list(engine.state.tasks), list(engine.state.tasks.values())
    ttl = _ms(-1 if row.ttl is None else row.ttl for row in rows)
    return pd.DataFrame(
        {
            "id": _texts(ids),
            "state": pd.Categorical([row.state for row in rows], dtype=TASK_STATES),
            "version": _ms(row.version for row in rows),
            "resumes": _ms(len(row.resumes) for row in rows),
            "pid": _texts([row.pid for row in rows]),
            "ttl": durations(ttl, ttl < 0),
            "expires_at": _instants_or_none(row.expires_at for row in rows),
            "retry_at": _instants_or_none(row.retry_at for row in rows),
        }
    )


def outbox(engine: Engine) -> pd.DataFrame:
    """Return the execute messages that wait to be delivered, in the order of queueing.

    Returns
    -------
    DataFrame
        one row a message: ``task_id`` (str), ``version`` (int64), ``address`` (str)
    """
    ids, rows = list(engine.state.executes), list(engine.state.executes.values())
    return pd.DataFrame(
        {
            "task_id": _texts(ids),
            "version": _ms(row.version for row in rows),
            "address": _texts([row.address for row in rows]),
        }
    )


def dispatches(engine: Engine) -> pd.DataFrame:
    """Return when workers were told of a task, by time, as far as the trace remembers.

    Returns
    -------
    DataFrame
        one row an execute message that was queued: ``promise_id`` (str), ``at`` (instant).
        Repeats that were summed up, since nobody took them, have none.
    """
    fired = ticks(engine)
    told = fired.loc[fired["dispatched"], ["promise_id", "fired_at"]]
    steps = [step for step in engine.trace if _queues(engine, step)]
    ids = _texts([*told["promise_id"], *(step.subject for step in steps)])
    at = datetime_index(_ms(step.at for step in steps))
    rows = pd.DataFrame({"promise_id": ids, "at": pd.DatetimeIndex(told["fired_at"]).append(at)})
    return rows.sort_values("at", kind="stable", ignore_index=True)


def _queues(engine: Engine, step: records.Step) -> bool:
    if step.step != "promise.create":
        return step.effect == "dispatched"
    row = engine.state.promises.get(step.subject)
    delayed = row is not None and records.DELAY_TAG in row.tags
    return row is not None and row.task is not None and not delayed and step.effect == "pending"


def unblocks(engine: Engine) -> pd.DataFrame:
    """Return the unblock messages that wait to be delivered, in the order of queueing.

    Returns
    -------
    DataFrame
        one row a message: ``promise_id`` (str), ``address`` (str), ``state`` (category) in
        which the promise settled, ``settled_at`` (instant)
    """
    sent, rows = list(engine.state.unblocks), list(engine.state.unblocks.values())
    return pd.DataFrame(
        {
            "promise_id": _texts([id for id, _ in sent]),
            "address": _texts([address for _, address in sent]),
            "state": pd.Categorical([row.state for row in rows], dtype=PROMISE_STATES),
            "settled_at": _instants_or_none(row.settled_at for row in rows),
        }
    )


def callbacks(engine: Engine) -> pd.DataFrame:
    """Return who waits for whom: the tasks that pending promises will wake.

    Returns
    -------
    DataFrame
        one row a pair, by awaited and awaiter: ``awaited``, ``awaiter`` (str)
    """
    return _pairs(engine.state.callbacks, "awaited", "awaiter")


def listeners(engine: Engine) -> pd.DataFrame:
    """Return the addresses that pending promises will tell.

    Returns
    -------
    DataFrame
        one row a pair, by promise and address: ``promise_id``, ``address`` (str)
    """
    return _pairs(engine.state.listeners, "promise_id", "address")


def _pairs(table: Mapping[str, Iterable[str]], one: str, other: str) -> pd.DataFrame:
    pairs = [(id, each) for id, others in sorted(table.items()) for each in sorted(others)]
    return pd.DataFrame({one: _texts([a for a, _ in pairs]), other: _texts([b for _, b in pairs])})


def trace(engine: Engine) -> pd.DataFrame:
    """Return what happened in an engine, oldest first, as far back as it remembers.

    Returns
    -------
    DataFrame
        One row a step:

        ============================== ======= ========================================
        at                             instant
        step                           str     see `protocol.records.Step`
        subject                        str     id of the record; empty for the engine
        effect                         str     what became of it
        first, last                    instant ticks of a firing; NaT otherwise
        fired, live, expired, existed  Int64   how many; NA for what is no firing
        ============================== ======= ========================================
    """
    steps = engine.trace
    ticks = [step.ticks for step in steps]
    counts = {
        name: pd.array([None if n is None else getattr(n, name) for n in ticks], dtype="Int64")
        for name in ("fired", "live", "expired", "existed")
    }
    return pd.DataFrame(
        {
            "at": datetime_index(_ms(step.at for step in steps)),
            "step": _texts([step.step for step in steps]),
            "subject": _texts([step.subject for step in steps]),
            "effect": _texts([step.effect for step in steps]),
            "first": _instants_or_none(n and n.first for n in ticks),
            "last": _instants_or_none(n and n.last for n in ticks),
            **counts,
        }
    )


def profiles(*more: Profile) -> pd.DataFrame:
    """Return what the profiles say, rule by rule, side by side.

    Parameters
    ----------
    *more : Profile
        profiles of one's own, after the four

    Returns
    -------
    DataFrame
        one row a rule, the index is its name (``rule``); one column a profile, named as it
        is, and ``meaning``, all str

    Examples
    --------
    >>> profiles().loc["catch_up", ["standard", "server"]].tolist()
    ['every tick', 'one tick a run']
    """
    rules = Profile.rules()
    columns = {
        profile.name: _texts([profile.says(rule) for rule in rules]).array
        for profile in (*PROFILES.values(), *more)
    }
    columns["meaning"] = _texts(list(rules.values())).array
    return pd.DataFrame(columns, index=pd.Index(_texts(list(rules)), name="rule"))


def instants(ms: _Ints, missing: _Bools) -> pd.DatetimeIndex:
    """Return instants (ms since the Unix epoch, UTC) as UTC, NaT where `missing`."""
    return datetime_index(np.where(missing, _MISSING, ms))


def durations(ms: _Ints, missing: _Bools) -> npt.NDArray[np.timedelta64]:
    """Return durations (ms) as timedelta64[ms], NaT where `missing`."""
    return np.where(missing, _MISSING, ms).view("timedelta64[ms]")


def write_csv(
    frame: pd.DataFrame, target: str | os.PathLike[str] | IO[str] | None = None, **pandas: Any
) -> str | None:
    """Write a frame as CSV (UTF-8) in which no cell is a formula to a spreadsheet.

    Parameters
    ----------
    frame : DataFrame
        its index is written where it has a name
    target : path or text file object, optional
        default: the text is returned
    **pandas
        passed to `DataFrame.to_csv`, such as ``index=True`` or ``sep=";"``

    Returns
    -------
    str or None
        the text, where there is no target

    Notes
    -----
    A text, also a heading, that begins with ``=``, ``+``, ``-``, ``@``, their full-width
    forms, a tab or a line break gets a single quote in front, so that a spreadsheet shows
    it instead of computing it. Numbers and instants stay as they are.

    Examples
    --------
    >>> import sys
    >>> write_csv(pd.DataFrame({"id": ["=1+1"], "n": [-1]}), sys.stdout)
    id,n
    '=1+1,-1
    """
    # A plain frame: that of an answer writes itself by this function.
    safe = pd.DataFrame(frame).rename(columns=_no_formula)
    for at, dtype in enumerate(frame.dtypes):
        if _holds_texts(dtype):
            cells = [_no_formula(cell) for cell in frame.iloc[:, at].tolist()]
            safe.isetitem(at, _objects(cells).array)
    index = frame.index
    kinds = index.dtypes if isinstance(index, pd.MultiIndex) else [index.dtype]
    if any(map(_holds_texts, kinds)):
        safe = safe.rename(index=_no_formula)
    safe = safe.rename_axis(index=_no_formula)
    named = any(name is not None for name in index.names)
    # With RFC 4180's line ends csv quotes a lone carriage return on every Python, too.
    return safe.to_csv(target, **{"index": named, "lineterminator": "\r\n", **pandas})


# Some spreadsheets take the full-width forms for the signs, and pass over a line break.
_BEGIN_FORMULAS = (*"=+-@\t\r\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def _holds_texts(dtype: Any) -> bool:
    return (
        pd.api.types.is_object_dtype(dtype)
        or isinstance(dtype, pd.StringDtype)
        or (isinstance(dtype, pd.ArrowDtype) and dtype.kind in "OU")
        or (isinstance(dtype, pd.CategoricalDtype) and _holds_texts(dtype.categories.dtype))
    )


def _no_formula(cell: Any) -> Any:
    if isinstance(cell, str) and cell.startswith(_BEGIN_FORMULAS):
        return f"'{cell}"
    return cell


def _tick_of(engine: Engine, row: PromiseRow) -> int:
    """Return the logical time of the tick that created a promise."""
    if engine.profile.expired_created_at == "tick" or row.created_at < row.timeout_at:
        return row.created_at
    # There the record of a promise born expired names its deadline twice.
    schedule = engine.state.schedules.get(row.firing.schedule_id) if row.firing else None
    return row.timeout_at - (schedule.promise_timeout if schedule else 0)


def _texts(cells: Sequence[str | None]) -> pd.Series:
    return pd.Series(list(cells), dtype=TEXT)


def _ms(values: Iterable[int]) -> _Ints:
    return np.fromiter(values, dtype=np.int64)


def _instants_or_none(values: Iterable[int | None]) -> pd.DatetimeIndex:
    return datetime_index(_ms(_MISSING if value is None else value for value in values))


def _objects(cells: Sequence[Any]) -> pd.Series:
    # A list of dicts would be spread over columns by some of pandas' constructors.
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    return pd.Series(column, dtype=object)
