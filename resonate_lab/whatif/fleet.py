"""A fleet: many schedules as one frame, read from the files that people have.

Whatever the source, the result is the same frame, so `audit`, `what_if` and a reader's
own pandas code see one shape. A file is taken whole or not at all: what makes it
unreadable (no cron column, a cut-off line, one id twice) is one `FleetError` that names
the line. An expression that does not parse is no such case. It stays in the frame, and
the functions that evaluate expressions list it with its reason and compute the others.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd

from resonate_lab.cron import CronError, CronExpression
from resonate_lab.errors import DurationError, FleetError
from resonate_lab.instants import EPOCH_END_MS, duration_ms
from resonate_lab.whatif.live import LiveServer, is_url
from resonate_lab.whatif.sources import (
    CRON_NAMES,
    MAX_BYTES,
    Source,
    Table,
    name_key,
    read_table,
    table_of,
)

if TYPE_CHECKING:
    from resonate_lab.instants import Duration

__all__ = [
    "MAX_BYTES",
    "MAX_TIMEOUT_MS",
    "Source",
    "compile_fleet",
    "is_utc",
    "read_fleet",
    "refused_rows",
]

MAX_TIMEOUT_MS = 2**63 - 1 - EPOCH_END_MS
"""Longest promise timeout: with any supported tick it still makes an int64 instant."""

# One row a column of the fleet frame: its name, and the names it goes by elsewhere, best
# first. Names are compared without case, blanks, hyphens and underscores, which covers
# the wire's promiseId as well.
_ALIASES: dict[str, tuple[str, ...]] = {
    "id": ("id", "scheduleid", "name", "dagid"),
    "cron": CRON_NAMES,
    "promise_id": ("promiseid",),
    "promise_timeout": ("promisetimeout",),
    "promise_tags": ("promisetags",),
    "promise_param": ("promiseparam",),
    "dialect": ("dialect",),
    "zone": (
        *("zone", "timezone", "tz", "crontz", "crontimezone"),
        *("scheduleexpressiontimezone", "timezoneid"),
    ),
    "source": ("source",),
}

# Columns that one system alone has, and so tell how the expressions are meant.
_SYSTEM_OF = {
    "scheduleexpression": "aws",
    "scheduleexpressiontimezone": "aws",
    "dagid": "airflow",
    "timetablesummary": "airflow",
    "triggergroup": "quartz",
}


def read_fleet(
    source: Source,
    *,
    format: str | None = None,
    encoding: str | None = None,
    token: str | None = None,
    timeout: Duration = "10s",
) -> pd.DataFrame:
    """Return the schedules of a file, a frame or a live server as a fleet frame.

    Parameters
    ----------
    source : path, file object, DataFrame or address
        CSV (comma, semicolon or tab), a crontab, the JSON that ``resonate schedules
        search`` prints (several pages may follow one another), Kubernetes manifests with
        CronJobs (YAML, or the JSON of ``kubectl get cronjobs -o json``), the JSON of ``aws
        events list-rules``, ``aws scheduler get-schedule`` and of Airflow's list of DAGs,
        Parquet (needs pyarrow), or a DataFrame. The cron column may also be called
        ``expr``, ``expression``, ``cron_expression``, ``schedule``,
        ``schedule_expression``, ``schedule_interval`` or ``timetable_summary``. A folder of
        Parquet files and a dask DataFrame are read as a whole here, up to five million rows;
        `load`, `audit`, `what_if` and `policies.compare` take them partition by partition.
        The address of a live server, such as ``"http://localhost:8001"`` (needs httpx), is
        asked for all of its schedules by ``schedule.search`` and for nothing else.
    format : {"csv", "crontab", "json", "parquet", "system-crontab", "yaml"}, optional
        default: by the file's name, else by its first bytes or lines, else CSV. A crontab
        is a system's, with a user before the command, if it is ``etc/crontab``, lies in a folder
        ``cron.d``, or has the usual comment that names the columns.
    encoding : str, optional
        default: by the byte-order mark (UTF-8, UTF-16, UTF-32), else UTF-8
    token : str, optional
        for a live server; default: the environment variable ``RESONATE_TOKEN``
    timeout : duration
        longest that a page of a live server may take; three attempts are made

    Returns
    -------
    DataFrame
        One row a schedule, in the order of the source, with a RangeIndex:

        =============== ====== ====================================================
        id              str    unique; ``row-12`` where the source names none
        cron            str    as written; "" where the cell is blank
        promise_id      str    template; "" where blank
        promise_timeout Int64  ms, not negative; NA where blank
        promise_tags    object dict of str to str, or None where blank
        promise_param   object dict, or None where blank
        dialect         str    "" where blank
        zone            str    of the times; "" where blank, which is UTC
        source          str    "" where blank
        dialect_guess   str    of files that show it: ``kubernetes``, ``aws``, ``airflow``,
                               ``quartz``, ``crontab``
        line            int64  first line of the row, for CSV, crontab and YAML
        =============== ====== ====================================================

        Only ``id`` and ``cron`` are always there. Other columns follow as they are.

    Raises
    ------
    FleetError
        the source is empty, has no cron column, is not text in its encoding, is cut off,
        is larger than `MAX_BYTES`, or a cell other than the expression is at fault;
        nothing is returned then
    ServerError
        the live server cannot be reached, refuses, is too slow, or answers something else
        than the protocol has
    OSError
        the file cannot be opened

    Notes
    -----
    Cells that a spreadsheet would take for formulas are text here. A DataFrame may be
    empty; a file may not. A line ``CRON_TZ=`` of a crontab holds for the lines after it;
    ``TZ=`` does not, as the daemons give that to the commands only.

    Examples
    --------
    >>> import io
    >>> read_fleet(io.StringIO("name,expr\\nnightly,0 2 * * *\\n"))[["id", "cron"]].values.tolist()
    [['nightly', '0 2 * * *']]
    """
    from resonate_lab.whatif.partitions import needed  # it stands on this file

    if is_url(source):
        server = LiveServer(cast("str", source), token, timeout)
        return _tidy(table_of(server.name, list(server.records("schedule"))))
    return _tidy(read_table(needed(source, "read_fleet"), format, encoding))


def compile_fleet(
    fleet: pd.DataFrame, dialect: str
) -> tuple[list[CronExpression | None], list[str]]:
    """Return each row's expression, and the reason where there is none.

    Parameters
    ----------
    fleet : DataFrame
        a fleet frame; its ``dialect`` column, where not blank, has the last word
    dialect : str
        how to read the other rows: ``"resonate"``, ``"resonate-0.9.8"`` or ``"quartz"``

    Returns
    -------
    list of CronExpression or None
        one a row; equal texts share one object
    list of str
        one a row; "" where there is an expression
    """
    known: dict[tuple[str, str], tuple[CronExpression | None, str]] = {}

    def in_utc(text: str, chosen: str, zone: str) -> tuple[CronExpression | None, str]:
        if not is_utc(zone):
            return None, (
                f"the times are those of zone {zone[:60]!r}, and Resonate evaluates in UTC only: "
                "audit the fleet for what to write instead"
            )
        if (text, chosen) not in known:
            known[text, chosen] = compiled(text, chosen)
        return known[text, chosen]

    def compiled(text: str, chosen: str) -> tuple[CronExpression | None, str]:
        if not text.strip():
            return None, "the cron cell is blank: write an expression such as '0 9 * * MON-FRI'"
        try:
            return CronExpression(text, dialect=chosen), ""
        except CronError as error:
            return None, str(error)
        except ValueError:
            return None, (
                f"dialect {chosen!r} is none that Resonate evaluates "
                "(resonate, resonate-0.9.8, quartz): leave the cell blank or audit the fleet first"
            )

    texts = fleet["cron"].tolist()
    dialects = fleet["dialect"].tolist() if "dialect" in fleet else [""] * len(texts)
    zones = fleet["zone"].tolist() if "zone" in fleet else [""] * len(texts)
    results = [
        in_utc(text, own or dialect, zone)
        for text, own, zone in zip(texts, dialects, zones, strict=True)
    ]
    return [expression for expression, _ in results], [reason for _, reason in results]


def is_utc(zone: str) -> bool:
    """Return whether a zone's cell is blank or names UTC."""
    return zone.strip().upper() in ("", "UTC", "ETC/UTC", "GMT", "Z")


def refused_rows(fleet: pd.DataFrame, reasons: Sequence[str]) -> pd.DataFrame:
    """Return the rows of a fleet that have a reason to be refused.

    Returns
    -------
    DataFrame
        one row each, in the fleet's order: ``schedule_id``, ``cron`` (str), ``line``
        (int64; of the file, else the row's number from 1) and ``reason`` (str)
    """
    at_fault = np.flatnonzero([bool(why) for why in reasons])
    lines = fleet["line"] if "line" in fleet else pd.Series(np.arange(1, len(fleet) + 1))
    return pd.DataFrame(
        {
            "schedule_id": fleet["id"].iloc[at_fault].array,
            "cron": fleet["cron"].iloc[at_fault].array,
            "line": lines.iloc[at_fault].to_numpy(),
            "reason": pd.Series([why for why in reasons if why], dtype=str),
        }
    )


def _tidy(table: Table) -> pd.DataFrame:
    roles = _roles(table)
    texts = {role: table.columns[head] for role, head in roles.items()}
    data: dict[str, pd.Series] = {"id": _ids(table, texts.get("id"))}
    for role, column in texts.items():
        if role != "id":
            data[role] = _CELLS[role](table, column)
    for head, column in table.columns.items():
        if head not in roles.values():
            data[head] = pd.Series(column)
    if "dialect" not in data and "dialect_guess" not in data:
        keys = {name_key(head) for head in table.columns}
        system = next((name for key, name in _SYSTEM_OF.items() if key in keys), None)
        if system is not None:
            data["dialect_guess"] = pd.Series([system] * len(table.places), dtype=str)
    if table.unit == "line" and "line" not in data:
        data["line"] = pd.Series(table.places, dtype=np.int64)
    order = [name for name in _ALIASES if name in data]
    order += [name for name in data if name not in _ALIASES]
    return pd.DataFrame({name: data[name] for name in order})


def _roles(table: Table) -> dict[str, str]:
    """Return which of the table's columns plays each known role."""
    by_key: dict[str, str] = {}
    for head in table.columns:
        by_key.setdefault(name_key(head), head)
    roles = {}
    for role, aliases in _ALIASES.items():
        found = next((by_key[alias] for alias in aliases if alias in by_key), None)
        if found is not None:
            roles[role] = found
    if "cron" not in roles:
        present = ", ".join(map(repr, list(table.columns)[:12])) or "none"
        raise FleetError(
            f"{table.name} has no cron column, only {present}: name the column of the expressions "
            "'cron' (or 'expr', 'expression', 'schedule')"
        )
    return roles


def _ids(table: Table, column: list[object] | None) -> pd.Series:
    if column is None:
        return pd.Series([f"row-{n}" for n in range(1, len(table.places) + 1)], dtype=str)
    ids: list[str] = []
    for row, cell in enumerate(column):
        if _blank(cell):
            ids.append(f"row-{row + 1}")
        elif isinstance(cell, float) and cell.is_integer():
            # A column of integers with one blank cell reaches us as floats.
            ids.append(str(int(cell)))
        elif isinstance(cell, int | np.integer) and not isinstance(cell, bool):
            ids.append(str(cell))
        else:
            ids.append(_text(table, row, "id", cell))
    if len(set(ids)) < len(ids):
        raise FleetError(_repeated(table, ids))
    return _series(table, "id", ids)


def _repeated(table: Table, ids: list[str]) -> str:
    places: dict[str, list[int]] = defaultdict(list)
    for row, name in enumerate(ids):
        places[name].append(table.places[row])
    twice = [(name, where) for name, where in places.items() if len(where) > 1]
    name, where = twice[0]
    listed = ", ".join(map(str, where[:5])) + (f" and {len(where) - 5} more" if where[5:] else "")
    others = f" (and {len(twice) - 1} more ids are repeated)" if twice[1:] else ""
    return (
        f"the id {name[:80]!r} stands in {table.unit}s {listed} of {table.name}{others}: "
        "ids must be unique"
    )


def _series(table: Table, name: str, cells: list[str]) -> pd.Series:
    try:
        "".join(cells).encode()
    except UnicodeEncodeError as error:
        row = next(row for row, cell in enumerate(cells) if not _encodable(cell))
        raise FleetError(
            f"the {name} {cells[row][:80]!r} in {table.where(row)} holds half a surrogate pair, "
            "which no text file can store"
        ) from error
    return pd.Series(cells, dtype=str)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _blank(cell: object) -> bool:
    if isinstance(cell, str):
        return not cell.strip()
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return True
    # NaN and numpy's NaT alone differ from themselves.
    return isinstance(cell, float | Decimal | np.generic) and bool(cell != cell)


def _text(table: Table, row: int, name: str, cell: object) -> str:
    if isinstance(cell, str):
        return cell
    raise FleetError(
        f"{name} of {table.where(row)} is {cell!r} ({type(cell).__name__}), but it must be text"
    )


def _text_column(name: str) -> Callable[[Table, list[object]], pd.Series]:
    def column(table: Table, cells: list[object]) -> pd.Series:
        texts = ["" if _blank(c) else _text(table, row, name, c) for row, c in enumerate(cells)]
        return _series(table, name, texts)

    return column


def _timeouts(table: Table, cells: list[object]) -> pd.Series:
    known: dict[object, int] = {}
    values: list[int | None] = []
    for row, cell in enumerate(cells):
        if _blank(cell):
            values.append(None)
            continue
        try:
            if cell not in known:
                known[cell] = _timeout(cell)
        except (DurationError, TypeError) as error:
            raise FleetError(f"promise_timeout of {table.where(row)}: {error}") from error
        values.append(known[cell])
    return pd.Series(pd.array(values, dtype="Int64"))


def _timeout(cell: object) -> int:
    if isinstance(cell, str) and re.fullmatch(r"\s*\d+\s*", cell, re.ASCII):
        value = int(cell) if len(cell) < 30 else MAX_TIMEOUT_MS + 1
    elif isinstance(cell, float) and cell.is_integer():
        # A column of integers with one blank cell reaches us as floats.
        value = int(cell)
    else:
        value = duration_ms(cast("Duration", cell), "promise_timeout")
    if not 0 <= value <= MAX_TIMEOUT_MS:
        raise DurationError(
            f"promise_timeout {str(cell)[:40]!r} is not from 0 to {MAX_TIMEOUT_MS} ms: "
            "write it as '1h' or in ms"
        )
    return value


def _objects(name: str, *, texts_only: bool) -> Callable[[Table, list[object]], pd.Series]:
    """Return a reader of cells that hold JSON objects, as dicts or as text."""

    def column(table: Table, cells: list[object]) -> pd.Series:
        known: dict[str, object] = {}
        values = np.empty(len(cells), dtype=object)
        for row, cell in enumerate(cells):
            value: object = None if _blank(cell) else cell
            if texts_only and table.unit == "row":
                value = _texts_by_text(value)
            if isinstance(value, str):
                if value not in known:
                    known[value] = _json_cell(value)
                value = known[value]
            if value is not None and not _is_object(value, texts_only):
                wanted = "texts by text, such as {'resonate:target': 'poll://any@default'}"
                raise FleetError(
                    f"{name} of {table.where(row)} is {str(cell)[:80]!r}, but it must be a JSON "
                    f"object" + (f" of {wanted}" if texts_only else "")
                )
            values[row] = value
        return pd.Series(values, dtype=object)

    return column


def _texts_by_text(cell: object) -> object:
    """Return a cell that went through Arrow as the dict that it was."""
    # A struct has the keys of all rows, None where a row lacks one; a map is a list of pairs.
    if isinstance(cell, dict):
        return {key: part for key, part in cell.items() if part is not None}
    is_map = isinstance(cell, list | np.ndarray) and all(
        isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in cell
    )
    return dict(cast("list[tuple[str, object]]", cell)) if is_map else cell


def _json_cell(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text  # no object, so the caller's check words the error


def _is_object(value: object, texts_only: bool) -> bool:
    if not isinstance(value, dict):
        return False
    return not texts_only or all(isinstance(part, str) for pair in value.items() for part in pair)


def _zones(table: Table, cells: list[object]) -> pd.Series:
    names = _text_column("zone")(table, cells).tolist()
    # Airflow's API prints the object: Timezone('UTC').
    bare = [re.sub(r"^Timezone\('(.*)'\)$", r"\1", name.strip()) for name in names]
    return pd.Series(bare, dtype=str)


_CELLS: dict[str, Callable[[Table, list[object]], pd.Series]] = {
    "cron": _text_column("cron"),
    "promise_id": _text_column("promise_id"),
    "promise_timeout": _timeouts,
    "promise_tags": _objects("promise_tags", texts_only=True),
    "promise_param": _objects("promise_param", texts_only=False),
    "dialect": _text_column("dialect"),
    "zone": _zones,
    "source": _text_column("source"),
}
