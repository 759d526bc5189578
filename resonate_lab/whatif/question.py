"""What is asked about outages: when they are, and of a fleet in which nothing is left open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from resonate_lab.cron import CronExpression
from resonate_lab.errors import DurationError, WindowError
from resonate_lab.instants import EPOCH_END_MS, duration_ms, format_instant, instant_ms
from resonate_lab.protocol.profile import Profile
from resonate_lab.protocol.records import TARGET_TAG
from resonate_lab.whatif.fleet import (
    MAX_TIMEOUT_MS,
    Source,
    compile_fleet,
    read_fleet,
    refused_rows,
)
from resonate_lab.whatif.queue import LogNormal, RunTimes, checked_workers
from resonate_lab.whatif.systems import Policy, PolicyError, policy_named

if TYPE_CHECKING:
    from resonate_lab.instants import Duration, Instant

__all__ = [
    "DEFAULT_PROMISE_ID",
    "DEFAULT_TAGS",
    "Asked",
    "asked",
    "complete",
    "outage_window",
    "outage_windows",
    "policy_asked",
    "runs_asked",
]

DEFAULT_PROMISE_ID = "{{.id}}-{{.timestamp}}"
"""Promise-id template of a schedule whose fleet names none."""

DEFAULT_TAGS: Mapping[str, str] = {"resonate:target": "poll://any@default"}
"""Promise tags of a schedule whose fleet names none."""

Rows = npt.NDArray[np.intp]


class Asked(NamedTuple):
    """The schedules of a fleet that are accepted, complete, and the rows that are not."""

    fleet: pd.DataFrame
    expressions: list[CronExpression]
    refused: pd.DataFrame
    rows: Rows  # of the given fleet, for each of the accepted


def complete(fleet: Source, promise_timeout: Duration) -> pd.DataFrame:
    """Return a fleet with the template, the timeout and the tags that hold for each row."""
    return _completed(read_fleet(fleet), duration_ms(promise_timeout, "promise_timeout"))


def asked(given: pd.DataFrame, rules: Profile, start: int, faults: Sequence[str] = ()) -> Asked:
    """Return the rows of a complete fleet that a server accepts at an instant.

    Parameters
    ----------
    given : DataFrame
    rules : Profile
    start : int
        instant, ms since the Unix epoch, UTC, at which the schedules are created
    faults : sequence of str
        what else is wrong with a row, "" where nothing is; empty: nothing anywhere
    """
    expressions, reasons = compile_fleet(given, rules.dialect)
    rows = zip(
        expressions,
        reasons,
        faults or [""] * len(given),
        given["id"].tolist(),
        given["promise_tags"].tolist(),
        strict=True,
    )
    reasons = [
        why or fault or _refusal(cast("CronExpression", expression), name, tags, rules, start)
        for expression, why, fault, name, tags in rows
    ]
    accepted = np.flatnonzero([not why for why in reasons])
    return Asked(
        given.iloc[accepted].reset_index(drop=True),
        [cast("CronExpression", expressions[row]) for row in accepted],
        refused_rows(given, reasons),
        accepted,
    )


def outage_windows(
    down: tuple[Instant, Instant] | Sequence[tuple[Instant, Instant]],
) -> list[tuple[int, int]]:
    """Return the outages of one pair or of several, ascending, ms since the Unix epoch, UTC.

    Raises
    ------
    WindowError
        one ends before it starts, leaves 1970-2100, or begins before the one before is over
    InstantError, TypeError
        there is none, or one is no pair of instants
    """
    if not _are_several(down):
        return [outage_window(cast("tuple[Instant, Instant]", down))]
    outages = sorted(
        outage_window(pair, f"down[{number}]")
        for number, pair in enumerate(cast("Sequence[tuple[Instant, Instant]]", down))
    )
    for (first, up), (second, end) in pairwise(outages):
        if second < up:
            raise WindowError(
                f"the outages {format_instant(first)} to {format_instant(up)} and "
                f"{format_instant(second)} to {format_instant(end)} of down overlap: make them "
                "one, or let the second begin when the first is over"
            )
    return outages


def _shown(given: object) -> str:
    # An array or a Series writes itself on several lines.
    return " ".join(repr(given).split())[:120]


def _are_several(down: object) -> bool:
    """Return whether these are pairs, and not one pair of instants."""
    if isinstance(down, str) or not isinstance(down, Sequence) or not len(down):
        return False
    return all(isinstance(pair, Sequence) and not isinstance(pair, str) for pair in down)


def outage_window(down: tuple[Instant, Instant], name: str = "down") -> tuple[int, int]:
    """Return the start and the end of an outage, ms since the Unix epoch, UTC.

    Raises
    ------
    WindowError
        it ends before it starts, or leaves 1970-2100
    InstantError, TypeError
        it is no pair of instants
    """
    if isinstance(down, str) or not isinstance(down, Sequence) or len(down) != 2:
        raise TypeError(
            f"{name} is {_shown(down)}, but it must be the pair (start, up), such as "
            "('2026-12-01', '2026-12-01 12:00')"
        )
    start, up = instant_ms(down[0], f"{name}[0]"), instant_ms(down[1], f"{name}[1]")
    if not 0 <= start <= up < EPOCH_END_MS:
        raise WindowError(
            f"{name} is {format_instant(start)} to {format_instant(up)}, but an outage must not "
            "end before it starts, and both instants lie in the years 1970 to 2100"
        )
    return start, up


def _refusal(
    expression: CronExpression, name: str, tags: Mapping[str, str], rules: Profile, start: int
) -> str:
    """Return why the server does not create a schedule, "" where it does."""
    if "." in name and not rules.schedule_id_may_have_dot:
        return f"schedule id {name[:80]!r} holds a '.', which the server refuses: write '-' instead"
    if rules.schedule_needs_target and TARGET_TAG not in tags:
        return (
            f"promise_tags have no {TARGET_TAG}, without which the server refuses the schedule: "
            "add one such as 'poll://any@default'"
        )
    if rules.fallback_ms is None and expression.next_ms(start) is None:
        return (
            f"{expression.text!r} has no tick after {format_instant(start)}: "
            "a schedule needs one to be created"
        )
    return ""


def _completed(fleet: pd.DataFrame, timeout: int) -> pd.DataFrame:
    if not 0 <= timeout <= MAX_TIMEOUT_MS:
        raise DurationError(
            f"promise_timeout is {timeout} ms, but it must be from 0 to {MAX_TIMEOUT_MS} ms: write "
            "it as '1h'"
        )
    size = len(fleet)
    given = fleet.assign(
        promise_id=fleet["promise_id"].replace("", DEFAULT_PROMISE_ID)
        if "promise_id" in fleet
        else pd.Series([DEFAULT_PROMISE_ID] * size, dtype=str),
        promise_timeout=fleet["promise_timeout"].fillna(timeout).astype(np.int64)
        if "promise_timeout" in fleet
        else np.full(size, timeout, dtype=np.int64),
    )
    for name, default in (("promise_tags", DEFAULT_TAGS), ("promise_param", {})):
        cells = np.empty(size, dtype=object)
        own = fleet[name].tolist() if name in fleet else [None] * size
        cells[:] = [dict(default) if cell is None else cell for cell in own]
        given[name] = pd.Series(cells, index=given.index, dtype=object)
    return given


def policy_asked(
    given: Policy | str | None, rules: Profile, run_time: Duration | LogNormal | None
) -> tuple[Policy | None, int]:
    """Return the policy that was asked for, and the run time that its overlap rule goes by.

    Raises
    ------
    PolicyError
        there is none, it promises nothing, or profile or run time do not go with it
    TypeError
        it is neither a policy nor a name
    """
    if given is None:
        return None, 0
    if not isinstance(given, str | Policy):
        raise TypeError(
            f"policy is {given!r} of type {type(given).__name__}; give a Policy, or a name such as "
            "'Kubernetes CronJob'"
        )
    policy = policy_named(given) if isinstance(given, str) else given
    if policy.mode == "unstated":
        raise PolicyError(
            f"policy {policy.name!r} promises nothing about missed runs (mode 'unstated'), so "
            "nothing can be computed: choose another one"
        )
    if rules.catch_up != "every tick" or rules.poll_ms is not None:
        raise PolicyError(
            f"policy {policy.name!r} takes the place of a catch-up at the restart, which profile "
            f"{rules.name!r} spreads over its polls: choose profile 'standard'"
        )
    if policy.overlap == "parallel":
        return policy, 0
    runs, _ = RunTimes.of("1 min" if run_time is None else run_time, pd.DataFrame(index=[0]), 0)
    if runs.rows is None:
        raise PolicyError(
            f"policy {policy.name!r} has an overlap rule (overlap {policy.overlap!r}), for which "
            f"every run takes as long, but run_time is {runs.words}: give a duration"
        )
    return policy, int(runs.rows[0])


def runs_asked(
    given: pd.DataFrame,
    workers: int | None,
    run_time: Duration | LogNormal | None,
    policy: Policy | None,
    seed: int,
) -> tuple[RunTimes | None, list[str]]:
    """Return the run times of the workers, None without workers, and the rows' faults.

    Raises
    ------
    ValueError
        workers and run time do not go together
    FleetError, DurationError, TypeError
        one of them is none
    """
    if workers is None:
        if run_time is not None and policy is None:
            raise ValueError(
                f"run_time is {run_time!r}, but there are no workers to be busy so long: give "
                "workers=10, say"
            )
        return None, []
    checked_workers(workers)
    if run_time is None:
        raise ValueError(
            f"workers is {workers!r}, but not how long each is busy with a message: give "
            "run_time='30s', say"
        )
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise TypeError(f"seed is {seed!r}, but it must be an int, 0 or more")
    return RunTimes.of(run_time, given, seed)
