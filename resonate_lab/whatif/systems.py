"""What a scheduler does about missed runs: a few parameters, and nineteen systems in them.

One dataclass for all, a user's own policies included. The parameters are applied in the
order in which they stand there.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, cast, get_args

from resonate_lab.errors import DurationError, ResonateLabError
from resonate_lab.instants import duration_ms

if TYPE_CHECKING:
    from resonate_lab.instants import Duration

__all__ = ["SYSTEMS", "VARIANTS", "Policy", "PolicyError", "policy_named"]

Mode = Literal["all", "latest", "earliest", "none", "unstated"]
CapRule = Literal["stop", "keep latest", "keep earliest"]
Overlap = Literal["parallel", "skip", "buffer one", "buffer all"]
SpreadBy = Literal["hash", "jitter"]


class PolicyError(ResonateLabError, ValueError):
    """Parameters of a policy contradict one another, or a name stands for no policy."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A rule for the ticks that a scheduler missed, applied to each schedule by itself.

    Durations are given as what `instants.duration_ms` takes, and kept in ms.

    Parameters
    ----------
    name : str
        what the rows of a comparison are called
    threshold : duration
        if the first missed tick is no later than this, nothing counts as missed: all ticks
        run as normal, and only `overlap` and `spread` apply; 0: there is no such rule
    window : duration, optional
        the latest that a missed tick may be to run at all; None: any
    cap : int, optional
        how many of the ticks within the window may run; None: any number
    cap_rule : {"stop", "keep latest", "keep earliest"}
        what happens if there are more: none runs, or the last or the first of them
    mode : {"all", "latest", "earliest", "none", "unstated"}
        which of those that are left run; "unstated" where a system promises nothing
    overlap : {"parallel", "skip", "buffer one", "buffer all"}
        what becomes of a run whose schedule has its runs under way: it starts all the same;
        it is dropped; one waits and the others are dropped; all wait
    at_once : int
        runs of one schedule under way at which `overlap` takes effect
    spread : duration
        starts are put off by up to so much
    spread_by : {"hash", "jitter"}
        by how much: the same for each run of a schedule, from its id; or another for each
        run, from the id and the tick. Neither is drawn, so a second run says the same.
    default : str
        the settings that the system comes with, in its own words
    source : str
        link to where that is said
    note : str
        what the parameters leave out

    Raises
    ------
    PolicyError
        parameters contradict one another, or a value is none that there is
    DurationError, TypeError
        a duration is none

    Examples
    --------
    >>> Policy(name="ours", mode="latest", window="10 min").window
    600000
    """

    name: str
    threshold: Duration = 0
    window: Duration | None = None
    cap: int | None = None
    cap_rule: CapRule | None = None
    mode: Mode = "all"
    overlap: Overlap = "parallel"
    at_once: int = 1
    spread: Duration = 0
    spread_by: SpreadBy = "hash"
    default: str = ""
    source: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise PolicyError(f"policy name is {self.name!r}; give a text such as 'ours'")
        for field, allowed in _CHOICES.items():
            self._check_choice(field, allowed)
        for field in ("threshold", "window", "spread"):
            given = getattr(self, field)
            if given is not None:
                object.__setattr__(self, field, self._checked_duration(field, given))
        for field in ("cap", "at_once"):
            object.__setattr__(self, field, self._checked_count(field, getattr(self, field)))
        self._check_together()

    @property
    def threshold_ms(self) -> int:
        """The threshold in ms."""
        return cast("int", self.threshold)

    @property
    def window_ms(self) -> int | None:
        """The window in ms; None where there is none."""
        return cast("int | None", self.window)

    @property
    def spread_ms(self) -> int:
        """The spread in ms."""
        return cast("int", self.spread)

    def _check_choice(self, field: str, allowed: tuple[str, ...]) -> None:
        value = getattr(self, field)
        if value in allowed or (field == "cap_rule" and value is None):
            return
        near = get_close_matches(str(value), allowed, 1, 0.5)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        raise PolicyError(
            f"{field} of policy {self.name!r} is {value!r}, but it must be one of "
            f"{', '.join(map(repr, allowed))}{meant}"
        )

    def _checked_duration(self, field: str, given: Duration) -> int:
        ms = duration_ms(given, f"{field} of policy {self.name!r}")
        if ms < 0:
            raise DurationError(
                f"{field} of policy {self.name!r} is {given!r}, but it must not be negative: "
                "write it as '60s'"
            )
        return ms

    def _checked_count(self, field: str, value: object) -> int | None:
        if value is None and field == "cap":
            return None
        try:
            count = 0 if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            count = 0
        if count < 1:
            instead = "; to start nothing, write mode='none'" if field == "cap" else ""
            raise PolicyError(
                f"{field} of policy {self.name!r} is {value!r}, but it must be an int of 1 or "
                f"more{instead}"
            )
        return count

    def _check_together(self) -> None:
        for wrong, sentence in (
            (
                self.mode in ("none", "unstated") and (self.window is not None or self.cap),
                f"mode {self.mode!r} starts no missed tick, so window and cap have nothing to "
                "bound: leave them out or choose mode 'all'",
            ),
            (
                self.mode == "unstated" and (self.threshold or self.spread or self._overlaps),
                "mode 'unstated' computes nothing: leave out threshold, overlap and spread",
            ),
            (
                (self.cap is None) != (self.cap_rule is None),
                f"cap {self.cap!r} and cap_rule {self.cap_rule!r} go together: give both, such as "
                "cap=100, cap_rule='stop', or neither",
            ),
            (
                self.cap_rule == "keep latest" and self.mode == "earliest",
                "cap_rule 'keep latest' drops the tick that mode 'earliest' starts: write "
                "cap_rule='stop' or leave the cap out",
            ),
            (
                self.cap_rule == "keep earliest" and self.mode == "latest",
                "cap_rule 'keep earliest' drops the tick that mode 'latest' starts: write "
                "cap_rule='stop' or leave the cap out",
            ),
            (
                self.window_ms is not None and self.window_ms < self.threshold_ms,
                f"window {self.window} ms is below threshold {self.threshold} ms, so a tick would "
                "be too late to run and too early to be missed: make the window larger",
            ),
            (
                self.at_once != 1 and not self._overlaps,
                f"at_once {self.at_once} bounds nothing where overlap is 'parallel': write "
                "overlap='buffer all', or leave at_once out",
            ),
            (
                self.spread_by == "jitter" and not self.spread,
                "spread_by 'jitter' needs a spread: write one such as spread='5 min'",
            ),
        ):
            if wrong:
                raise PolicyError(f"policy {self.name!r}: {sentence}")

    @property
    def _overlaps(self) -> bool:
        return self.overlap != "parallel"


_CHOICES: dict[str, tuple[str, ...]] = {
    "mode": get_args(Mode),
    "cap_rule": get_args(CapRule),
    "overlap": get_args(Overlap),
    "spread_by": get_args(SpreadBy),
}

_K8S = "https://github.com/kubernetes/kubernetes/blob/master/pkg/controller/cronjob/utils.go"
_QUARTZ = "https://github.com/quartz-scheduler/quartz"
_TEMPORAL = "https://github.com/temporalio/temporal/blob/main/service/worker/scheduler/workflow.go"
_AIRFLOW = "https://github.com/apache/airflow/issues/19126"
_APSCHEDULER = "https://apscheduler.readthedocs.io/en/latest/modules/job.html"
_HANGFIRE = "https://github.com/HangfireIO/Hangfire/releases/tag/v1.8.1"
_KESTRA = "https://kestra.io/docs/concepts/backfill"
_DAGSTER = (
    "https://github.com/dagster-io/dagster/blob/master/python_modules/dagster/dagster/_core/"
    "scheduler/scheduler.py"
)
_GO_CRON = "https://github.com/netresearch/go-cron/pull/303"


def _named(*policies: Policy) -> Mapping[str, Policy]:
    return MappingProxyType({policy.name: policy for policy in policies})


SYSTEMS = _named(
    Policy(
        name="Resonate",
        default="nothing to set",
        source="https://github.com/resonatehq/resonate-specification",
        note="every missed tick, in order, with its logical time; a promise that has timed out by "
        "then is created settled, and starts no work",
    ),
    Policy(
        name="Vixie cron, Debian cron",
        mode="none",
        default="nothing to set",
        source="https://github.com/kubernetes/kubernetes/issues/121594",
        note="jumps of the clock below 3 h are handled apart, for summer time",
    ),
    Policy(
        name="anacron",
        mode="latest",
        default="RANDOM_DELAY 0, START_HOURS_RANGE unset; period in days and delay in minutes "
        "set with each job",
        source="https://man7.org/linux/man-pages/man5/anacrontab.5.html",
        note="one run a job if its period of whole days has passed, put off by the job's delay; "
        "nothing that day if the range of hours is missed",
    ),
    Policy(
        name="systemd timer",
        mode="none",
        default="Persistent=false, RandomizedDelaySec=0, AccuracySec=1min, FixedRandomDelay=false",
        source="https://blog.lakyme.com/posts/systemd-timers-persistent/",
        note="Persistent=true: one at once, for OnCalendar",
    ),
    Policy(
        name="Kubernetes CronJob",
        mode="latest",
        default="startingDeadlineSeconds unset, concurrencyPolicy Allow, suspend false",
        source=_K8S,
        note="controller v2; above 100 missed it only reports TooManyMissedTimes, and starts",
    ),
    Policy(
        name="Quartz cron trigger",
        threshold="60s",
        mode="latest",
        default="misfireThreshold 60,000 ms (JDBC store), SMART_POLICY = FIRE_ONCE_NOW",
        source=_QUARTZ,
        note="the one run carries the time of the restart; the RAM store's threshold is 5,000 ms",
    ),
    Policy(
        name="Airflow",
        mode="latest",
        default="catchup False since 3.0 (True in 2), max_active_runs 16",
        source="https://mail-archive.com/commits@airflow.apache.org/msg524724.html",
        note="the latest interval only",
    ),
    Policy(
        name="Temporal schedule",
        window="365d",
        overlap="skip",
        default="catchup_window 365 days (60 s before server 1.20.3), overlap Skip, buffer 1,000",
        source=_TEMPORAL,
        note="all within the window are eligible, then the overlap rule; the least window is 10 s",
    ),
    Policy(
        name="APScheduler 3",
        window="1s",
        mode="latest",
        overlap="skip",
        default="misfire_grace_time 1 s, coalesce True, max_instances 1",
        source=_APSCHEDULER,
        note="coalesced to the last tick, which is dropped if later than the grace time",
    ),
    Policy(
        name="APScheduler 4",
        mode="latest",
        default="coalesce latest, misfire_grace_time none",
        source="https://deepwiki.com/agronholm/apscheduler/2.3-lifecycle-of-a-scheduled-job",
        note="the default of the grace time is to be read again in a release",
    ),
    Policy(
        name="sidekiq-cron",
        window="60s",
        default="reschedule_grace_period 60 s, cron_poll_interval 30 s",
        source="https://rubydoc.info/gems/sidekiq-cron/2.0.1/Sidekiq/Cron/Configuration",
    ),
    Policy(
        name="Sidekiq Enterprise periodic",
        mode="none",
        default="nothing to set",
        source="https://github.com/sidekiq/sidekiq/issues/2814",
        note="a backfill is refused by design",
    ),
    Policy(
        name="Hangfire",
        mode="latest",
        default="MisfireHandlingMode Relaxed",
        source=_HANGFIRE,
    ),
    Policy(
        name="Kestra",
        default="recoverMissedSchedules ALL",
        source=_KESTRA,
    ),
    Policy(
        name="Dagster",
        mode="latest",
        default="max_catchup_runs 5 (partitioned schedules), max_tick_retries 0",
        source=_DAGSTER,
        note="never from before the schedule was switched on",
    ),
    Policy(
        name="Prefect",
        default="min_runs 3, max_runs 100, up to 100 days ahead, loop_seconds 60",
        source="https://github.com/PrefectHQ/prefect/discussions/5005",
        note="the workers are down and not the scheduler: the runs exist in advance, and all late "
        "ones start when a worker returns",
    ),
    Policy(
        name="go-cron (netresearch)",
        mode="none",
        default="MissedSkip",
        source=_GO_CRON,
    ),
    Policy(
        name="EventBridge Scheduler",
        mode="unstated",
        default="MaximumEventAgeInSeconds 86,400, MaximumRetryAttempts 185",
        source="https://docs.aws.amazon.com/scheduler/latest/APIReference/API_RetryPolicy.html",
        note="its settings are about targets that fail, not about a scheduler that is down",
    ),
    Policy(
        name="GitHub Actions",
        mode="unstated",
        default="nothing to set; 5 minutes at least, UTC",
        source="https://crontap.com/blog/github-actions-cron-drift-problem",
        note="best effort: late at the full hour, and runs may be dropped",
    ),
)
"""The systems of the comparison by name, each as it comes."""

VARIANTS = _named(
    Policy(
        name="systemd timer, Persistent",
        mode="latest",
        default="Persistent=true",
        source="https://blog.lakyme.com/posts/systemd-timers-persistent/",
    ),
    Policy(
        name="Kubernetes CronJob, old controller",
        cap=100,
        cap_rule="stop",
        mode="latest",
        default="startingDeadlineSeconds unset",
        source=_K8S,
        note="above 100 missed since the last run, or within the deadline: none, and an error",
    ),
    Policy(
        name="Kubernetes CronJob, deadline 200 s",
        window="200s",
        cap=100,
        cap_rule="stop",
        mode="latest",
        default="startingDeadlineSeconds: 200",
        source="https://github.com/kubernetes/website/pull/11512",
    ),
    Policy(
        name="Quartz cron trigger, RAM store",
        threshold="5s",
        mode="latest",
        default="misfireThreshold 5,000 ms, SMART_POLICY",
        source=_QUARTZ,
    ),
    Policy(
        name="Quartz cron trigger, DO_NOTHING",
        threshold="60s",
        mode="none",
        default="MISFIRE_INSTRUCTION_DO_NOTHING",
        source=_QUARTZ,
    ),
    Policy(
        name="Quartz cron trigger, IGNORE_MISFIRE_POLICY",
        default="MISFIRE_INSTRUCTION_IGNORE_MISFIRE_POLICY",
        source=_QUARTZ,
        note="all in a row, as fast as the threads allow",
    ),
    Policy(
        name="Airflow 2",
        overlap="buffer all",
        at_once=16,
        default="catchup True, max_active_runs 16",
        source=_AIRFLOW,
    ),
    Policy(
        name="Temporal schedule, BufferOne",
        window="365d",
        overlap="buffer one",
        default="overlap BufferOne",
        source=_TEMPORAL,
    ),
    Policy(
        name="Temporal schedule, BufferAll",
        window="365d",
        cap=1000,
        cap_rule="keep earliest",
        overlap="buffer all",
        default="overlap BufferAll, buffer 1,000",
        source=_TEMPORAL,
    ),
    Policy(
        name="Temporal schedule, AllowAll",
        window="365d",
        cap=1000,
        cap_rule="keep earliest",
        default="overlap AllowAll, buffer 1,000",
        source=_TEMPORAL,
    ),
    Policy(
        name="APScheduler 3, any lateness",
        mode="latest",
        overlap="skip",
        default="misfire_grace_time None, coalesce True, max_instances 1",
        source=_APSCHEDULER,
    ),
    Policy(
        name="Hangfire, Strict",
        default="MisfireHandlingMode Strict (1.8)",
        source=_HANGFIRE,
    ),
    Policy(
        name="Hangfire, Ignorable",
        mode="none",
        default="MisfireHandlingMode Ignorable (1.8.1)",
        source=_HANGFIRE,
    ),
    Policy(
        name="Kestra, LAST",
        mode="latest",
        default="recoverMissedSchedules LAST",
        source=_KESTRA,
    ),
    Policy(
        name="Kestra, NONE",
        mode="none",
        default="recoverMissedSchedules NONE",
        source=_KESTRA,
    ),
    Policy(
        name="Dagster, partitioned",
        cap=5,
        cap_rule="keep latest",
        default="max_catchup_runs 5",
        source=_DAGSTER,
    ),
    Policy(
        name="go-cron (netresearch), RunOnce",
        mode="latest",
        default="MissedRunOnce",
        source=_GO_CRON,
    ),
    Policy(
        name="go-cron (netresearch), RunAll",
        cap=100,
        cap_rule="keep earliest",
        default="MissedRunAll, at most 100",
        source=_GO_CRON,
        note="which 100 of more the announcement leaves open; taken for the first",
    ),
)
"""Other settings of the same systems, by name."""


def policy_named(name: str) -> Policy:
    """Return the policy of that name.

    Raises
    ------
    PolicyError
        it is none of `SYSTEMS` and `VARIANTS`; the message has a close one
    """
    known: Mapping[str, Policy] = {**SYSTEMS, **VARIANTS}
    if name in known:
        return known[name]
    lower = {known_name.lower(): known_name for known_name in known}
    begins = [lower[other] for other in lower if name and other.startswith(name.lower())]
    near = begins or [lower[n] for n in get_close_matches(name.lower(), lower, 1, 0.5)]
    meant = f"did you mean {near[0]!r}?" if near else f"they are {', '.join(map(repr, SYSTEMS))}"
    raise PolicyError(f"policy {name[:60]!r} is none of SYSTEMS and VARIANTS; {meant}")
