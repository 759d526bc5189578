"""One answer out of those of a fleet's partitions, question by question.

Each partition is asked by the function of that name that answers for a frame in memory. Here
is what may be added up, what is laid end to end, and the little that needs more than that.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn, cast

import numpy as np
import pandas as pd

from resonate_lab import _html
from resonate_lab.errors import FrameError
from resonate_lab.whatif import catchup, outage, policies
from resonate_lab.whatif.answer import Answer, Table
from resonate_lab.whatif.audit import Audit
from resonate_lab.whatif.audit import audit as audit_frame
from resonate_lab.whatif.bins import Bins
from resonate_lab.whatif.fleet import compile_fleet
from resonate_lab.whatif.load import Load, loaded
from resonate_lab.whatif.partitions import Gathered, Hashes, Partitions, Progress, Question, hashed
from resonate_lab.whatif.starts import Missed, start_times
from resonate_lab.whatif.systems import Policy
from resonate_lab.whatif.tally import Ints, Makers, ask, tallied

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["AskedParts", "WhatIfParts", "audit", "compare", "load", "what_if"]


# ---- load: bins are added up


class AskedParts:
    """Whose load it is, where the fleet lies in partitions: they are asked again when need be."""

    def __init__(self, parts: Partitions, dialect: str) -> None:
        self._parts, self._dialect = parts, dialect
        self._gathered: Gathered | None = None  # all, where none was counted yet
        self.refused = ask(parts.empty(), dialect).refused
        self.schedules = 0  # accepted, of the partitions that are counted

    @property
    def fleet(self) -> NoReturn:
        """No frame: the fleet may be larger than memory."""
        raise FrameError(
            f"this load was counted partition by partition and does not hold {self._parts.name}: "
            "use the fleet that you passed"
        )

    @property
    def complete(self) -> bool:
        """False where Ctrl-C came before the last partition was counted."""
        return self._gathered is None or self._gathered.complete

    def __str__(self) -> str:
        """Return which partitions it is about, in words."""
        return str(self._gathered)

    def tallied(self, bins: Bins, progress: Progress) -> Ints:
        """Return the ticks a bin, and keep which partitions are counted."""
        counts = np.zeros(bins.size, dtype=np.int64)
        refused: dict[int, pd.DataFrame] = {}

        def take(part: int, answer: tuple[Ints, pd.DataFrame]) -> None:
            counts[:] += answer[0]
            refused[part] = answer[1]

        gathered = self._parts.gather(partial(_tallied, bins, self._dialect), take, progress)
        _warn(gathered)
        self.refused = _joined_refused(self.refused, refused, self._parts, gathered)
        self.schedules = sum(gathered.rows.values()) - len(self.refused)
        self._gathered = gathered
        return counts

    def makers(self, bins: Bins, begins: Sequence[int], n: int | None = None) -> list[Makers]:
        """Return who ticks in some bins, of each the n busiest."""
        if not begins:
            return []
        question = partial(_makers, bins, begins, n, self._dialect)
        answers = dict(self._parts.again(question, self._gathered))
        in_order = [question(self._parts.empty()), *(answers[k] for k in sorted(answers))]
        return [_joined_makers(each, n) for each in zip(*in_order, strict=True)]


def load(parts: Partitions, bins: Bins, dialect: str, progress: Progress) -> Load:
    """Return the load of all partitions; see `resonate_lab.whatif.load.load`."""
    asked = AskedParts(parts, dialect)
    return loaded(asked.tallied(bins, progress), bins, asked)


def _tallied(bins: Bins, dialect: str, fleet: pd.DataFrame) -> tuple[Ints, pd.DataFrame]:
    asked = ask(fleet, dialect)
    return tallied(asked.weights(), bins), asked.refused


def _makers(
    bins: Bins, begins: Sequence[int], n: int | None, dialect: str, fleet: pd.DataFrame
) -> list[Makers]:
    return ask(fleet, dialect).makers(bins, begins, n)


def _joined_makers(each: Sequence[Makers], n: int | None) -> Makers:
    ids, crons, ticks = (np.concatenate(column) for column in list(zip(*each, strict=True))[1:])
    # They stand in the fleet's order where they tick equally often, and so they stay.
    order = np.argsort(-ticks, kind="stable")[:n]
    return Makers(sum(one.schedules for one in each), ids[order], crons[order], ticks[order])


# ---- audit: rows are laid end to end


def audit(parts: Partitions, source: str, after_ms: int, progress: Progress) -> Audit:
    """Return the audit of all partitions; see `resonate_lab.whatif.audit.audit`."""
    question = partial(_audited, source, after_ms)
    nothing = question(parts.empty())
    answers: dict[int, pd.DataFrame] = {}
    gathered = parts.gather(question, answers.__setitem__, progress)
    _warn(gathered)
    found = cast("Audit", _end_to_end(nothing, answers))
    found.attrs.update(complete=gathered.complete, partitions=str(gathered))
    return found


def _audited(source: str, after_ms: int, fleet: pd.DataFrame) -> pd.DataFrame:
    return audit_frame(fleet, source, after=after_ms)


# ---- policies.compare: numbers are added up, and starts at one instant are counted


class _Starts(NamedTuple):
    """When runs start, ascending, and how many at each instant."""

    at: Ints
    runs: Ints

    @classmethod
    def joined(cls, *several: _Starts) -> _Starts:
        at, place = np.unique(np.concatenate([one.at for one in several]), return_inverse=True)
        runs = np.zeros(len(at), dtype=np.int64)
        np.add.at(runs, place, np.concatenate([one.runs for one in several]))
        return cls(at, runs)

    def peak(self, run_ms: int) -> int:
        """Return most runs at the same time, as `policies._peak` finds it run by run."""
        begun = np.concatenate([[0], np.cumsum(self.runs)])
        over = np.searchsorted(self.at, self.at - max(run_ms, 1), side="right")
        return int((begun[1:] - begun[over]).max(initial=0))


_HOW = {
    **dict.fromkeys(("missed", "eligible", "starts", "lost"), "sum"),
    **dict.fromkeys(("min_lateness", "first_start"), "min"),
    **dict.fromkeys(("max_lateness", "last_start"), "max"),
}


def compare(
    parts: Partitions,
    down: tuple[int, int],
    run_ms: int,
    chosen: Sequence[Policy],
    progress: Progress,
) -> policies.Comparison:
    """Return the comparison over all partitions; see `resonate_lab.whatif.policies.compare`."""
    question = partial(_compared, down, run_ms, tuple(chosen))
    found, starts = question(parts.empty())
    frames: dict[int, pd.DataFrame] = {}

    def take(part: int, answer: tuple[policies.Comparison, list[_Starts]]) -> None:
        frames[part] = answer[0]
        starts[:] = [_Starts.joined(*pair) for pair in zip(starts, answer[1], strict=True)]

    gathered = parts.gather(question, take, progress)
    _warn(gathered)
    by_policy = pd.concat([found, *frames.values()]).groupby("policy", sort=False)
    for name, how in _HOW.items():
        each = by_policy[name]
        found[name] = (each.sum(min_count=1) if how == "sum" else each.agg(how)).array
    stated = found["starts"].notna()
    found.loc[stated, "peak"] = [
        one.peak(run_ms) for one, known in zip(starts, stated, strict=True) if known
    ]
    before = gathered.before()
    for part in sorted(frames):
        own = frames[part].attrs
        found.attrs["schedules"] += own["schedules"]
        found.attrs["refused"] += tuple(
            (name, _line(line, parts, before[part]), why) for name, line, why in own["refused"]
        )
    found.attrs.update(complete=gathered.complete, partitions=str(gathered))
    return found


def _compared(
    down: tuple[int, int], run_ms: int, chosen: Sequence[Policy], fleet: pd.DataFrame
) -> tuple[policies.Comparison, list[_Starts]]:
    frame = policies.compare(fleet, down, run_time=run_ms, policies=chosen)
    expressions, reasons = compile_fleet(fleet, "resonate")
    arrays, _ = catchup.missed_ticks(fleet, expressions, reasons, *down)
    rows = [row for row, why in enumerate(reasons) if not why]
    missed = Missed.of([arrays[row] for row in rows], fleet["id"].iloc[rows].tolist(), down[1])
    starts = []
    for policy in chosen:
        at = np.empty(0, dtype=np.int64)
        if policy.mode != "unstated":
            _, at = start_times(policy, missed, run_ms)
        starts.append(_Starts(*np.unique(at, return_counts=True)))
    return frame, starts


# ---- what_if: counters and minutes are added up, ticks stay where they are


class WhatIfParts(Answer):
    """What a fleet in partitions does at the restart after an outage; made by `what_if`.

    Attributes
    ----------
    outages, down, profile, policy
        as in `WhatIf`
    counters : dict
        the totals, as in `WhatIf`
    load : DataFrame
        ticks by minute, as in `WhatIf`
    refused : DataFrame
        the rows refused; ``line`` is 0 where it is a row's number and an interruption left
        an earlier partition undone
    complete : bool
        False where Ctrl-C came before the last partition
    """

    _title: ClassVar[str] = outage.WhatIf._title

    def __init__(self, parts: Partitions, asked: Mapping[str, Any], progress: Progress) -> None:
        nothing = outage.what_if(parts.empty(), **asked)
        self.down, self.outages = nothing.down, nothing.outages
        self.profile, self.policy = nothing.profile, nothing.policy
        self._parts, self._question = parts, partial(_what_if, dict(asked))
        counters, minutes = [nothing.counters], nothing.load
        refused: dict[int, pd.DataFrame] = {}
        prefixes: list[Hashes | None] = []

        def take(part: int, answer: _Answer) -> None:
            nonlocal minutes
            counters.append(answer.counters)
            minutes = pd.concat([minutes, answer.load]).groupby(level=0).sum()
            refused[part] = answer.refused
            prefixes.append(answer.prefixes)

        self._gathered = parts.gather(partial(_answer, self._question), take, progress)
        _warn(self._gathered)
        self._whole: outage.WhatIf | None = None
        if len(prefixes) > 1 and not _apart(prefixes):
            # Promises of several partitions may have one id, and the first to fire creates it.
            self._whole = self._question(parts.together("an outage", self._gathered))
            counters, minutes = [self._whole.counters], self._whole.load
        self.load: pd.DataFrame = minutes
        self.counters: dict[str, int] = {
            name: (max if name.startswith("max_") else sum)(each[name] for each in counters)
            for name in nothing.counters
        }
        self.refused = _joined_refused(nothing.refused, refused, parts, self._gathered)

    @property
    def complete(self) -> bool:
        """False where Ctrl-C came before the last partition."""
        return self._gathered.complete

    @cached_property
    def summary(self) -> pd.DataFrame:
        """One row an accepted schedule, as in `WhatIf`; the partitions are asked again."""
        nothing = self._question(self._parts.empty()).summary
        if self._whole is not None:
            return self._whole.summary
        answers = self._parts.again(partial(_summary, self._question), self._gathered)
        return _end_to_end(nothing, dict(answers))

    def parts(self) -> Iterator[outage.WhatIf]:
        """Yield the answer of one partition after another, with its ticks and promises."""
        if self._whole is not None:
            yield self._whole
            return
        for fleet in self._parts.one_by_one(self._gathered):
            yield self._question(fleet)

    def headline(self) -> str:
        """Return the answer in one sentence."""
        text: str = outage.WhatIf.headline(self)  # type: ignore[arg-type]
        return text if self.complete else f"{text} (interrupted: {self._gathered})"

    def plot(self, *, ax: Axes | None = None, **kwargs: Any) -> Axes:
        """Draw how many ticks were due when, and when their messages are sent."""
        from resonate_lab import plots  # here, since matplotlib takes a second to load

        # The ticks themselves are not held together; their minutes are.
        minutes = (self.load.index[-1] - self.load.index[0]) // _MINUTE if len(self.load) else 0
        drawn = self.load.resample((minutes // _DRAWN_BINS + 1) * _MINUTE).sum()
        curves = {"due": drawn["due"], "execute messages": drawn["dispatched"]}
        return plots.load_curve(curves, ax=ax, **kwargs)

    def _main(self) -> pd.DataFrame:
        return self.summary

    def _tables(self) -> list[Table]:
        return outage.WhatIf._tables(self)  # type: ignore[arg-type]

    def _figures(self) -> list[tuple[str, str]]:
        return outage.WhatIf._figures(self)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> NoReturn:
        if name in _OF_A_PART:
            raise AttributeError(
                f"the {name} of a fleet in partitions may be larger than memory and are not held "
                f"together: walk them with 'for part in answer.parts(): part.{name}'"
            )
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<WhatIf in partitions: {self.headline()}>"

    def _repr_html_(self) -> str:
        return f"<p>{_html.escape(self.headline(), None)}</p>"


_MINUTE, _DRAWN_BINS = pd.Timedelta(minutes=1), 1_500
_OF_A_PART = {name for name in dir(outage.WhatIf) if not name.startswith("_")} | {"fleet"}


class _Answer(NamedTuple):
    """What an outage makes of a partition, without its ticks."""

    counters: dict[str, int]
    load: pd.DataFrame
    refused: pd.DataFrame
    prefixes: Hashes | None


def what_if(parts: Partitions, asked: Mapping[str, Any], progress: Progress) -> WhatIfParts:
    """Return what the schedules of all partitions do; see `resonate_lab.whatif.what_if`."""
    return WhatIfParts(parts, asked, progress)


def _what_if(asked: Mapping[str, Any], fleet: pd.DataFrame) -> outage.WhatIf:
    return outage.what_if(fleet, **asked)


def _answer(question: Question, fleet: pd.DataFrame) -> _Answer:
    found = question(fleet)
    return _Answer(found.counters, found.load, found.refused, _prefixes(found.fleet))


def _summary(question: Question, fleet: pd.DataFrame) -> pd.DataFrame:
    return cast("pd.DataFrame", question(fleet).summary)


def _prefixes(fleet: pd.DataFrame) -> Hashes | None:
    """Return what stands before the timestamp in each schedule's promise ids, if all end in it."""
    parts = [text.split("{{.timestamp}}") for text in catchup._templates(fleet)]
    if all(len(p) == 2 and not p[1] and not p[0][-1:].isdecimal() for p in parts):
        return hashed(pd.Series([p[0] for p in parts], dtype=object))
    return None


def _apart(prefixes: Sequence[Hashes | None]) -> bool:
    """Whether no two partitions can have a promise id in common."""
    every = [hashes for hashes in prefixes if hashes is not None]
    if len(every) < len(prefixes):
        return False
    ordered = np.sort(np.concatenate(every))
    return not (ordered[1:] == ordered[:-1]).any()


# ---- what they share


def _warn(gathered: Gathered) -> None:
    if not gathered.complete:
        warnings.warn(f"interrupted: the answer is that of {gathered}", stacklevel=4)


def _end_to_end(nothing: pd.DataFrame, answers: Mapping[int, pd.DataFrame]) -> pd.DataFrame:
    """Return the frames of partitions in the fleet's order; the empty one has the dtypes."""
    frames = [answers[part] for part in sorted(answers) if len(answers[part])]
    return pd.concat(frames, ignore_index=True) if frames else nothing


def _joined_refused(
    nothing: pd.DataFrame,
    refused: Mapping[int, pd.DataFrame],
    parts: Partitions,
    gathered: Gathered,
) -> pd.DataFrame:
    before = gathered.before()
    numbered = {}
    for part, frame in refused.items():
        lines = [_line(line, parts, before[part]) for line in frame["line"].tolist()]
        numbered[part] = frame.assign(line=np.array(lines, dtype=np.int64))
    return _end_to_end(nothing, numbered)


def _line(line: int, parts: Partitions, before: int | None) -> int:
    """Return a row's line as the fleet names it, else its number among all rows, 0 if unknown."""
    if "line" in parts.heads:
        return line
    return 0 if before is None else before + line
