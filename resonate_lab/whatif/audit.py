"""What the expressions of a fleet mean under Resonate, beside what their authors meant.

One expression is judged by `resonate_lab.whatif.judged`; here it is asked for every row, once
for equal rows, and the answers become a frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from resonate_lab import frames
from resonate_lab.cron import CronExpression, crontab, elsewhere
from resonate_lab.errors import FleetError, WindowError
from resonate_lab.instants import EPOCH_END_MS, format_instant, instant_ms
from resonate_lab.whatif.answer import AnswerFrame, Table, counted
from resonate_lab.whatif.fleet import Source, read_fleet
from resonate_lab.whatif.judged import PLACES, Judged, judged
from resonate_lab.whatif.moved import BY_SEASON
from resonate_lab.whatif.partitions import partitions_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    "kubernetes": "kubernetes",
    "k8s": "kubernetes",
    "airflow": "airflow",
    "github": "crontab",
    "quartz": "quartz",
    "aws": "aws",
    "eventbridge": "aws",
    "resonate": "resonate",
    "resonate-0.9.8": "resonate-0.9.8",
}
READINGS = tuple(sorted(set(_READING_NAMES.values())))
"""The readings with which an expression can be compared."""


class Audit(AnswerFrame):
    """What the expressions of a fleet mean; made by `audit`, which names the columns."""

    _title: ClassVar[str] = "Do the expressions mean here what their authors meant?"
    _needs: ClassVar = {
        "id": "O",
        "cron": "O",
        "fields": "i",
        "reading": "O",
        "verdict": "O",
        "reason": "O",
        "proposed": "O",
        "proposed_second": "O",
        "findings": "O",
    }

    def headline(self) -> str:
        """Return the answer in one sentence."""
        n = self._counts()
        unclear = f", {n['unclear']:,} unclear" if n["unclear"] else ""
        return (
            f"{counted(len(self), 'expression')}: {n['same']:,} with the same meaning here, "
            f"{n['different']:,} with another, {n['refused']:,} refused{unclear}"
        )

    def _counts(self) -> dict[str, int]:
        return {name: int((self["verdict"] == name).sum()) for name in VERDICTS.categories}

    def _figures(self) -> list[tuple[str, str]]:
        n = self._counts()
        return [
            (f"{len(self):,}", "expressions"),
            (f"{n['same']:,}", "mean the same"),
            (f"{n['different']:,}", "fire at other instants"),
            (f"{n['refused']:,}", "are refused"),
        ]

    def _tables(self) -> list[Table]:
        rows = self._main().reset_index(drop=True)  # joined frames may have a label twice
        wrong = misread(rows)
        changes = {
            "cron": "for example",
            "rows": "rows",
            "author_means": "its author means",
            "resonate_does": "Resonate does",
            "write_instead": "write instead",
        }
        named = {
            "id": "schedule",
            "cron": "cron",
            "verdict": "verdict",
            "proposed": "write instead",
        }
        found = rows["findings"].str.split(", ").explode()
        codes = found[found != ""].value_counts().rename_axis("code").reset_index(name="rows")
        return [
            Table(
                "Misread, and what to write instead",
                wrong,
                changes,
                {"author_means", "resonate_does"},
                note=_CHANGES_NOTE,
            ),
            Table("The schedules to change", rows[rows["verdict"] != "same"], named, {"verdict"}),
            Table("What lint says of them", codes, {"code": "finding", "rows": "rows"}),
        ]

    def _draw(self, ax: Axes | None) -> Axes:
        from resonate_lab import plots

        return plots.audit_bars(self, ax=ax)


_CHANGES_NOTE = (
    "Resonate reads weekdays as Quartz does (1 is Sunday), joins the two day fields by AND, and "
    "evaluates in UTC. One line a change, with an example; the rows that need the same change are "
    "counted. Each proposal is proved to fire at exactly the instants that the author meant, to "
    "the end of 2099."
)


def audit(
    fleet: Source,
    source: str = "crontab",
    *,
    after: Instant | None = None,
    progress: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> Audit:
    """Return what each expression of a fleet means here, and what to write instead.

    Parameters
    ----------
    fleet : DataFrame, path or file object
        anything that `read_fleet` takes
    source : str
        how the author meant the expressions: ``"crontab"`` (also called posix),
        ``"quartz"``, ``"aws"`` (also called eventbridge), ``"kubernetes"``, ``"airflow"``
        or ``"resonate"``; a column ``dialect_guess`` or ``dialect`` of the fleet, where not
        blank, has the last word, and `read_fleet` makes one for files of a known kind
    after : instant, optional
        compare strictly after it, to the end of 2099; default: the start of this day, UTC
    progress : callable, optional
        wraps the iterable of the rows' numbers, of a fleet in partitions that of theirs, as
        `tqdm.auto.tqdm` does

    Returns
    -------
    Audit
        a DataFrame; one row a schedule, in the fleet's order:

        =============== ======== ======================================================
        id, cron        str      as in the fleet
        fields          int64    words of the text: 5 to 7, 1 for a shorthand
        reading         str      how the author meant it
        zone            str      whose times the author meant; "" is UTC
        verdict         category ``same`` instants as meant; ``different`` ones;
                                 ``refused`` by Resonate; ``unclear``, accepted here but
                                 senseless in the reading
        reason          str      one sentence
        differs_at      instant  the first at which only one of the two readings fires
        ours_at         instant  the first tick here from `differs_at` on
        theirs_at       instant  the first tick there from `differs_at` on
        proposed        str      the Resonate text that means what the author meant; ""
                                 where the verdict is same or no expression says it
        proposed_second str      a second expression, where it takes two schedules, which
                                 share no instant; the two of a zone that changes its clocks
                                 take turns, as the reason says
        proven          bool     the proposal fires at exactly the author's instants, in a
                                 zone for the next eight years, each text in its turn; of an
                                 interval, at exactly its distances
        findings        str      codes of `lint`, joined by ", "
        =============== ======== ======================================================

        Instants are datetime64[ms, UTC], NaT where there is none. Of a fleet in partitions
        ``attrs`` holds ``complete``, False where Ctrl-C came before the last one, and
        ``partitions``, such as "12 of 40 partitions".

    Raises
    ------
    FleetError
        the fleet cannot be read, or names a reading that there is not
    InstantError, TypeError
        `after` is no instant
    WindowError
        it leaves 1970-2100

    Notes
    -----
    Verdicts and proposals are proved, not sampled: the sets of instants are compared as a
    whole (see `resonate_lab.cron.comparison`). About 1 ms a distinct expression; in another
    zone some 10 ms, and half a second a zone.

    In a zone the author's instants are those at which the wall clock shows the times. What
    happens to times that a change of the clocks skips or repeats differs from system to
    system; `to_utc` has the rules.

    Examples
    --------
    >>> fleet = pd.DataFrame({"id": ["report"], "cron": ["0 9 * * 1-5"]})
    >>> audit(fleet, after="2024-01-01")[["verdict", "proposed"]].values.tolist()
    [['different', '0 9 * * MON-FRI']]
    """
    after_ms = instant_ms(pd.Timestamp.now("UTC").floor("D") if after is None else after, "after")
    if not 0 <= after_ms < EPOCH_END_MS:
        raise WindowError(
            f"after is {format_instant(after_ms)}, but it must lie in the years 1970 to 2100: "
            "write '2026-12-01', say"
        )
    parts = partitions_of(fleet, "dialect", "dialect_guess")
    if parts is not None:
        from resonate_lab.whatif import combined

        return combined.audit(parts, source, after_ms, progress)
    frame = read_fleet(fleet)
    readings = _readings(frame, source)
    texts = frame["cron"].tolist()
    zones = frame["zone"].tolist() if "zone" in frame else [""] * len(frame)
    known: dict[tuple[str, str, str], Judged] = {}
    rows = []
    for at in progress(range(len(frame))):
        key = (texts[at], readings[at], zones[at])
        if key not in known:
            known[key] = judged(*key, after_ms)
        rows.append(known[key])
    return _framed(frame, readings, zones, rows)


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
        also = " In turn with: " if BY_SEASON in row.reason else " Also: "
        return also.join(CronExpression(text).explain() for text in parts)
    if not _means_something(row):
        return f"No times that repeat {PLACES[row.reading]}."
    if row.reading == "quartz":
        return CronExpression(row.cron, "quartz").explain()
    return "No single Resonate expression says it."


def _means_something(row: Any) -> bool:
    """Return whether a text without a proposal is one at all where it comes from."""
    try:
        if row.reading in elsewhere.SYSTEMS:
            elsewhere.system_reading(row.cron, row.reading, CronExpression)
        elif row.reading == "crontab":
            crontab.crontab_reading(row.cron)
        else:
            CronExpression(row.cron, row.reading)
    except ValueError:
        return False
    return True


def _resonate_does(row: Any) -> str:
    if row.verdict == "refused":
        # What to write instead stands in the next column.
        return f"Refuses it: {row.reason.split('; ')[0]}."
    return CronExpression(row.cron).explain()


def _write_instead(row: Any) -> str:
    if not row.proposed:
        return "no single expression" if _means_something(row) else "nothing to translate"
    both = " in turn with " if BY_SEASON in row.reason else " and "
    return both.join(text for text in (row.proposed, row.proposed_second) if text)


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


def _framed(
    fleet: pd.DataFrame, readings: list[str], zones: list[str], rows: list[Judged]
) -> Audit:
    columns = dict(zip(Judged._fields, zip(*rows, strict=True), strict=True)) if rows else {}
    data: dict[str, object] = {
        "id": fleet["id"].array,
        "cron": fleet["cron"].array,
        "fields": np.array([len(text.split()) for text in fleet["cron"].tolist()], dtype=np.int64),
        "reading": pd.Series(readings, dtype=str),
        "zone": pd.Series(zones, dtype=str),
    }
    for name in Judged._fields:
        cells = columns.get(name, ())
        if name == "verdict":
            data[name] = pd.Categorical(list(cells), dtype=VERDICTS)
        elif name.endswith("_at"):
            instants = np.array(cells, dtype=np.int64)
            data[name] = frames.instants(instants, instants < 0)
        else:
            data[name] = pd.Series(list(cells), dtype=bool if name == "proven" else str)
    return Audit(data)
