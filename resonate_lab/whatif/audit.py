"""What the expressions of a fleet mean under Resonate, beside what their authors meant.

The comparison itself is `resonate_lab.cron.crontab`; here it is asked for every row, once
for equal rows, and the answers become a frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from resonate_lab import frames
from resonate_lab.cron import CronError, CronExpression, crontab, lint
from resonate_lab.cron.reading import dialect_reading
from resonate_lab.errors import FleetError
from resonate_lab.instants import instant_ms
from resonate_lab.whatif.fleet import Source, read_fleet
from resonate_lab.whatif.partitions import partitions_of

if TYPE_CHECKING:
    from resonate_lab.instants import Instant

__all__ = ["READINGS", "VERDICTS", "audit", "audit_counts", "misread"]

VERDICTS = pd.CategoricalDtype(["same", "different", "refused", "unclear"])
"""What `audit` says of a row."""

# What people call the dialects that their expressions are written in.
_READING_NAMES = {
    "crontab": "crontab",
    "posix": "crontab",
    "unix": "crontab",
    "vixie": "crontab",
    "kubernetes": "crontab",
    "airflow": "crontab",
    "github": "crontab",
    "quartz": "quartz",
    "aws": "aws",
    "eventbridge": "aws",
    "resonate": "resonate",
    "resonate-0.9.8": "resonate-0.9.8",
}
READINGS = tuple(sorted(set(_READING_NAMES.values())))
"""The readings with which an expression can be compared."""


class _Row(NamedTuple):
    """What the audit says of one expression; instants in ms, -1 for none."""

    verdict: str
    reason: str
    differs_at: int = -1
    ours_at: int = -1
    theirs_at: int = -1
    proposed: str = ""
    proposed_second: str = ""
    proven: bool = False
    findings: str = ""


def audit(
    fleet: Source,
    source: str = "crontab",
    *,
    after: Instant | None = None,
    progress: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> pd.DataFrame:
    """Return what each expression of a fleet means here, and what to write instead.

    Parameters
    ----------
    fleet : DataFrame, path or file object
        anything that `read_fleet` takes
    source : str
        how the author meant the expressions: ``"crontab"`` (also called posix),
        ``"quartz"``, ``"aws"`` or ``"resonate"``; a column ``dialect_guess`` or
        ``dialect`` of the fleet, where not blank, has the last word
    after : instant, optional
        compare strictly after it, to the end of 2099; default: the start of this day, UTC
    progress : callable, optional
        wraps the iterable of the rows' numbers, of a fleet in partitions that of theirs, as
        `tqdm.auto.tqdm` does

    Returns
    -------
    DataFrame
        One row a schedule, in the fleet's order:

        =============== ======== ======================================================
        id, cron        str      as in the fleet
        fields          int64    words of the text: 5 to 7, 1 for a shorthand
        reading         str      how the author meant it
        verdict         category ``same`` instants as meant; ``different`` ones;
                                 ``refused`` by Resonate; ``unclear``, accepted here but
                                 senseless in the reading
        reason          str      one sentence
        differs_at      instant  the first at which only one of the two readings fires
        ours_at         instant  the first tick here from `differs_at` on
        theirs_at       instant  the first tick there from `differs_at` on
        proposed        str      the Resonate text that means what the author meant; ""
                                 where the verdict is same or no expression says it
        proposed_second str      a second expression, where it takes two schedules
        proven          bool     the proposal fires at exactly the author's instants
        findings        str      codes of `lint`, joined by ", "
        =============== ======== ======================================================

        Instants are datetime64[ms, UTC], NaT where there is none. Of a fleet in partitions
        ``attrs`` holds ``complete``, False where Ctrl-C came before the last one, and
        ``partitions``, such as "12 of 40 partitions".

    Raises
    ------
    FleetError
        the fleet cannot be read, or names a reading that there is not

    Notes
    -----
    Verdicts and proposals are proved, not sampled: the sets of instants are compared as a
    whole (see `resonate_lab.cron.crontab`). About 1 ms a distinct expression.

    Examples
    --------
    >>> fleet = pd.DataFrame({"id": ["report"], "cron": ["0 9 * * 1-5"]})
    >>> audit(fleet, after="2024-01-01")[["verdict", "proposed"]].values.tolist()
    [['different', '0 9 * * MON-FRI']]
    """
    after_ms = instant_ms(pd.Timestamp.now("UTC").floor("D") if after is None else after, "after")
    parts = partitions_of(fleet, "dialect", "dialect_guess")
    if parts is not None:
        from resonate_lab.whatif import combined

        return combined.audit(parts, source, after_ms, progress)
    frame = read_fleet(fleet)
    readings = _readings(frame, source)
    texts = frame["cron"].tolist()
    known: dict[tuple[str, str], _Row] = {}
    rows = []
    for at in progress(range(len(frame))):
        key = (texts[at], readings[at])
        if key not in known:
            known[key] = _judged(*key, after_ms)
        rows.append(known[key])
    return _framed(frame, readings, rows)


def audit_counts(audited: pd.DataFrame) -> pd.DataFrame:
    """Return how many rows of an audit have which verdict, by reading and form.

    Returns
    -------
    DataFrame
        columns ``reading``, ``fields``, by which it is sorted, one int64 column a verdict,
        and ``rows``
    """
    keys = ["reading", "fields"]
    counts = audited[keys].assign(rows=np.int64(1))
    for verdict in VERDICTS.categories:
        counts[verdict] = (audited["verdict"] == verdict).to_numpy(dtype=np.int64)
    return counts.groupby(keys, as_index=False)[[*VERDICTS.categories, "rows"]].sum()


def misread(audited: pd.DataFrame) -> pd.DataFrame:
    """Return what an audit found wrong, in words: one row a change, with an example.

    Returns
    -------
    DataFrame
        Rows of the audit that need the same change in the same field (``1-5`` to
        ``MON-FRI``) are one row here, the most frequent first: ``cron`` and ``reading`` of
        the first of them, ``rows`` (int64, how many there are), and in English
        ``author_means``, ``resonate_does`` and ``write_instead`` of that one
    """
    wrong = audited[audited["verdict"] != "same"]
    changes = pd.Series([_change(row) for row in wrong.itertuples()], index=wrong.index, dtype=str)
    rows = changes.map(changes.value_counts())
    order = rows.sort_values(ascending=False, kind="stable").index
    first = wrong.loc[order][~changes.loc[order].duplicated()]
    return pd.DataFrame(
        {
            "cron": first["cron"].array,
            "reading": first["reading"].array,
            "rows": rows.loc[first.index].to_numpy(dtype=np.int64),
            "author_means": _texts(map(_author_means, first.itertuples())),
            "resonate_does": _texts(map(_resonate_does, first.itertuples())),
            "write_instead": _texts(map(_write_instead, first.itertuples())),
        }
    )


def _change(row: Any) -> str:
    """Return what a row and others like it have in common: the field to be changed."""
    old, new = row.cron.split(), row.proposed.split()
    changed = [at for at, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]]
    if row.proposed_second or len(old) != len(new) or len(changed) != 1:
        return f"{row.cron} -> {row.proposed}"
    return f"{row.verdict} {changed[0]} {old[changed[0]]} -> {new[changed[0]]}"


def _texts(cells: Iterable[str]) -> pd.Series:
    return pd.Series(list(cells), dtype=str)


def _author_means(row: Any) -> str:
    # A proposal is proved to mean what the author meant, so its words are the author's.
    parts = [text for text in (row.proposed, row.proposed_second) if text]
    if parts:
        return " Also: ".join(CronExpression(text).explain() for text in parts)
    if row.reading == "quartz":
        try:
            return CronExpression(row.cron, "quartz").explain()
        except CronError:
            return "Nothing: Quartz refuses it too."
    return "No single Resonate expression says it."


def _resonate_does(row: Any) -> str:
    if row.verdict == "refused":
        # What to write instead stands in the next column.
        return f"Refuses it: {row.reason.split('; ')[0]}."
    return CronExpression(row.cron).explain()


def _write_instead(row: Any) -> str:
    if not row.proposed:
        return "no single expression"
    return " and ".join(text for text in (row.proposed, row.proposed_second) if text)


def _readings(fleet: pd.DataFrame, source: str) -> list[str]:
    column = next((name for name in ("dialect_guess", "dialect") if name in fleet), None)
    given = fleet[column].tolist() if column else [""] * len(fleet)
    readings = []
    for at, cell in enumerate(given):
        name = cell.strip().lower() if isinstance(cell, str) else ""
        reading = _READING_NAMES.get(name or source)
        if reading is None:
            where = f"{column} of row {at + 1}" if name else "source"
            raise FleetError(
                f"{where} is {name or source!r}, but expressions are read as one of "
                f"{', '.join(_READING_NAMES)}"
            )
        readings.append(reading)
    if not readings and source not in _READING_NAMES:
        raise FleetError(f"source is {source!r}, but must be one of {', '.join(_READING_NAMES)}")
    return readings


def _judged(text: str, reading: str, after_ms: int) -> _Row:
    if not text.strip():
        return _Row("refused", "the cron cell is blank: write an expression")
    row = _judged_as_aws(text, after_ms) if reading == "aws" else _compared(text, reading, after_ms)
    return row._replace(findings=", ".join(dict.fromkeys(_codes(text, after_ms))))


def _codes(text: str, after_ms: int) -> Iterable[str]:
    try:
        return [finding.code for finding in lint.lint(CronExpression(text), after_ms)]
    except CronError as error:
        return [finding.code for finding in lint.lint_refused(error)]


def _compared(text: str, reading: str, after_ms: int) -> _Row:
    found = crontab.verdict(text, CronExpression, after_ms, other=reading)
    verdict = {
        "same": "same",
        "different": "different",
        "refused-here": "refused",
        "refused-both": "refused",
        "refused-there": "unclear",
    }[found.verdict]
    texts = found.translation.texts if found.translation else ()
    row = _with_proposal(_Row(verdict, found.reason), texts)
    if found.translation and not texts:
        row = row._replace(reason=f"{found.reason}; {found.translation.reason}")
    if found.first_difference_ms is None:
        return row
    before = found.first_difference_ms - 1000
    if reading == "crontab":
        theirs = next(iter(crontab.crontab_fires_ms(text, before, 1)), None)
    else:
        theirs = CronExpression(text, reading).next_ms(before)
    return row._replace(
        differs_at=found.first_difference_ms,
        ours_at=_or_none(CronExpression(text).next_ms(before)),
        theirs_at=_or_none(theirs),
    )


def _judged_as_aws(text: str, after_ms: int) -> _Row:
    """Judge an EventBridge expression: Quartz's grammar without seconds, with a year."""
    inner = text.strip().removeprefix("cron(").removesuffix(")")
    try:
        theirs = CronExpression(f"0 {inner}", "quartz")
    except CronError as error:
        return _Row("unclear", f"as EventBridge reads it, with seconds 0 in front: {error}")
    meant = dialect_reading(theirs)
    texts = crontab.translate_reading(meant, CronExpression).texts
    try:
        ours = CronExpression(text)
    except CronError as error:
        return _with_proposal(_Row("refused", str(error)), texts)
    differs = dialect_reading(ours).parts_from(meant, after_ms)
    if differs is None:
        return _Row("same", "the same instants")
    row = _Row(
        "different",
        "EventBridge's six fields begin with the minute and end with the year, the server's "
        "begin with the second",
        differs,
        _or_none(ours.next_ms(differs - 1)),
        _or_none(theirs.next_ms(differs - 1)),
    )
    return _with_proposal(row, texts)


def _with_proposal(row: _Row, texts: tuple[str, ...]) -> _Row:
    first, second = (*texts, "", "")[:2]
    return row._replace(proposed=first, proposed_second=second, proven=bool(texts))


def _or_none(ms: int | None) -> int:
    return -1 if ms is None else ms


def _framed(fleet: pd.DataFrame, readings: list[str], rows: list[_Row]) -> pd.DataFrame:
    columns = dict(zip(_Row._fields, zip(*rows, strict=True), strict=True)) if rows else {}
    data: dict[str, object] = {
        "id": fleet["id"].array,
        "cron": fleet["cron"].array,
        "fields": np.array([len(text.split()) for text in fleet["cron"].tolist()], dtype=np.int64),
        "reading": pd.Series(readings, dtype=str),
    }
    for name in _Row._fields:
        cells = columns.get(name, ())
        if name == "verdict":
            data[name] = pd.Categorical(list(cells), dtype=VERDICTS)
        elif name.endswith("_at"):
            instants = np.array(cells, dtype=np.int64)
            data[name] = frames.instants(instants, instants < 0)
        else:
            data[name] = pd.Series(list(cells), dtype=bool if name == "proven" else str)
    return pd.DataFrame(data)
