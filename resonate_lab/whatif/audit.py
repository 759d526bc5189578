"""What the expressions of a fleet mean under Resonate, beside what their authors meant.

The comparison itself is `resonate_lab.cron.comparison`, the grammars of other systems are
`resonate_lab.cron.elsewhere`, other zones are `resonate_lab.whatif.moved`; here they are
asked for every row, once for equal rows, and the answers become a frame.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from resonate_lab import frames
from resonate_lab.cron import CronError, CronExpression, comparison, crontab, elsewhere, lint
from resonate_lab.cron.localtime import ZoneError, zone_named
from resonate_lab.cron.reading import NEVER
from resonate_lab.errors import FleetError, WindowError
from resonate_lab.instants import EPOCH_END_MS, format_duration, format_instant, instant_ms
from resonate_lab.whatif.answer import AnswerFrame, Table, counted
from resonate_lab.whatif.fleet import Source, is_utc, read_fleet
from resonate_lab.whatif.moved import BY_SEASON, moved, part_ms
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
    known: dict[tuple[str, str, str], _Row] = {}
    rows = []
    for at in progress(range(len(frame))):
        key = (texts[at], readings[at], zones[at])
        if key not in known:
            known[key] = _judged(*key, after_ms)
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
        return f"No times that repeat {_IN[row.reading]}."
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


_IN = {
    "crontab": "in a crontab",
    "aws": "in EventBridge",
    "kubernetes": "in Kubernetes",
    "airflow": "in Airflow",
    "quartz": "in Quartz",
    "resonate": "in Resonate",
    "resonate-0.9.8": "in Resonate 0.9.8",
}
_VERDICT_OF = {
    "same": "same",
    "different": "different",
    "refused-here": "refused",
    "refused-both": "refused",
    "refused-there": "unclear",
}


def _judged(text: str, reading: str, zone: str, after_ms: int) -> _Row:
    if not text.strip() and reading not in elsewhere.SYSTEMS:
        return _Row("refused", "the cron cell is blank: write an expression")
    inline = _INLINE_ZONE.match(text) if reading == "kubernetes" else None
    if inline:
        if zone:
            return _Row("refused", f"{inline[1]}= in the schedule and timeZone exclude each other")
        zone, text = inline[2], text[inline.end() :]
    row = _compared(text, reading, zone, after_ms)
    if inline:
        texts = (text,) if row.verdict == "same" else (row.proposed, row.proposed_second)
        reason = (
            f"a Resonate expression names no zone; {row.reason.split('; they part')[0]}; "
            f"{inline[1]}= in a schedule is refused by Kubernetes since 1.29, timeZone is not"
        )
        row = _with_proposal(_Row("refused", reason), tuple(filter(None, texts)))
    codes = ", ".join(dict.fromkeys(_codes(text, after_ms)))
    return row._replace(findings=codes)


_INLINE_ZONE = re.compile(r"(CRON_TZ|TZ)=(\S*)\s+")


def _codes(text: str, after_ms: int) -> Iterable[str]:
    try:
        return [finding.code for finding in lint.lint(CronExpression(text), after_ms)]
    except CronError as error:
        return [finding.code for finding in lint.lint_refused(error)]


def _compared(text: str, reading: str, zone: str, after_ms: int) -> _Row:
    if reading in elsewhere.SYSTEMS:
        try:
            there = elsewhere.system_reading(text, reading, CronExpression)
        except elsewhere.ElsewhereError as error:
            # Whether the server takes the text is no news: it never meant times.
            return _Row("unclear" if _accepted(text) else "refused", str(error))
        if isinstance(there, elsewhere.Interval):
            return _interval(text, there)
        found = comparison.against(
            text, CronExpression, after_ms, there, _IN[reading], seconds_last=reading == "airflow"
        )
    else:
        found = comparison.verdict(text, CronExpression, after_ms, other=reading)
        there = None
    texts = found.translation.texts if found.translation else ()
    row = _with_proposal(_Row(_VERDICT_OF[found.verdict], found.reason), texts)
    if found.translation and not texts:
        row = row._replace(reason=f"{found.reason}; {found.translation.reason}")
    if found.verdict == "refused-both" and reading == "crontab" and _NO_TIME.search(text):
        row = row._replace(reason=_crontab_refusal(text))
    if reading == "aws" and (row.verdict == "different" or text.strip().startswith("cron(")):
        row = row._replace(reason=_AWS_FIELDS if texts else f"{_AWS_FIELDS}; {_reason(found)}")
    if not is_utc(zone):
        return _in_zone(
            text, row, texts or ((text,) if row.verdict == "same" else ()), zone, after_ms
        )
    if found.first_difference_ms is None:
        return row
    before = found.first_difference_ms - 1000
    if reading == "crontab":
        theirs = next(iter(crontab.crontab_fires_ms(text, before, 1)), None)
    elif there is not None:
        theirs = there.parts_from(NEVER, before)
    else:
        theirs = CronExpression(text, reading).next_ms(before)
    return row._replace(
        differs_at=found.first_difference_ms,
        ours_at=_or_none(CronExpression(text).next_ms(before)),
        theirs_at=_or_none(theirs),
    )


_AWS_FIELDS = (
    "EventBridge's six fields begin with the minute and end with the year, the server's begin "
    "with the second"
)


def _reason(found: comparison.Comparison) -> str:
    return found.translation.reason if found.translation else found.reason


_NO_TIME = re.compile(r"^\s*@reboot|~", re.IGNORECASE)


def _crontab_refusal(text: str) -> str:
    """Why a crontab's text means no instants, where that is the better reason."""
    try:
        crontab.crontab_reading(text)
    except crontab.CrontabError as error:
        return str(error)
    raise AssertionError(f"{text!r} was refused before")


def _accepted(text: str) -> bool:
    try:
        CronExpression(text)
    except CronError:
        return False
    return True


def _interval(text: str, interval: elsewhere.Interval) -> _Row:
    """Judge a text that counts from the moment it was made: no clock says when that was."""
    texts = elsewhere.interval_texts(interval.seconds)
    length = format_duration(interval.seconds * 1000)
    if texts:
        reason = (
            f"it fires every {length}, counted from {interval.begins}; what is proposed has the "
            "same distances, counted from midnight UTC"
        )
    else:
        reason = (
            f"it fires every {length}, counted from {interval.begins}, and no one or two "
            "expressions keep that distance from day to day"
        )
    return _with_proposal(_Row("refused", reason), texts)


def _in_zone(text: str, row: _Row, local: tuple[str, ...], zone: str, after_ms: int) -> _Row:
    """Judge a row whose times are those of another clock than UTC's."""
    try:
        zone_named(zone)
    except ZoneError as error:
        return _Row("refused", str(error))
    if not local:
        # What no expression says for a clock at UTC, none says for another.
        return row
    wall = [CronExpression(one) for one in local]
    ours = CronExpression(text) if row.verdict != "refused" else None
    found = moved(wall, ours, zone, after_ms)
    if found.plain:
        return _Row("same", found.reason)
    first = "" if row.verdict == "same" else f"{row.reason.split('; they part')[0]}; "
    verdict = "refused" if ours is None else "different"
    row = _with_proposal(_Row(verdict, first + found.reason), found.texts)
    if ours is None:
        return row
    differs, ours_at, theirs_at = part_ms(wall, ours, zone, after_ms)
    return row._replace(differs_at=differs, ours_at=ours_at, theirs_at=theirs_at)


def _with_proposal(row: _Row, texts: tuple[str, ...]) -> _Row:
    first, second = (*texts, "", "")[:2]
    return row._replace(proposed=first, proposed_second=second, proven=bool(texts))


def _or_none(ms: int | None) -> int:
    return -1 if ms is None else ms


def _framed(fleet: pd.DataFrame, readings: list[str], zones: list[str], rows: list[_Row]) -> Audit:
    columns = dict(zip(_Row._fields, zip(*rows, strict=True), strict=True)) if rows else {}
    data: dict[str, object] = {
        "id": fleet["id"].array,
        "cron": fleet["cron"].array,
        "fields": np.array([len(text.split()) for text in fleet["cron"].tolist()], dtype=np.int64),
        "reading": pd.Series(readings, dtype=str),
        "zone": pd.Series(zones, dtype=str),
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
    return Audit(data)
