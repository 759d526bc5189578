"""Whatever a fleet is read from, as one table of cells with the place of each row.

Bytes become text here, and text becomes cells; what a cell means is the business of
`fleet`. Every failure is one `FleetError` that names the source and the line.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import IO, cast

import pandas as pd

from resonate_lab.errors import FleetError
from resonate_lab.whatif import crontab_file, manifests

__all__ = [
    "CRON_NAMES",
    "FORMATS",
    "MAX_BYTES",
    "Source",
    "Table",
    "name_key",
    "read_table",
    "table_of",
    "unreadable",
    "with_index",
]

Source = str | os.PathLike[str] | IO[str] | IO[bytes] | pd.DataFrame

MAX_BYTES = 256 * 1024 * 1024
"""Largest file that is read at once; about five million rows."""

CRON_NAMES = (
    *("cron", "expr", "expression", "cronexpression", "schedule"),
    *("scheduleexpression", "scheduleinterval", "timetablesummary"),
)
"""What the column of the expressions may be called, best first; see `name_key`."""

FORMATS = ("csv", "crontab", "json", "parquet", "system-crontab", "yaml")
_SUFFIXES = {
    ".crontab": "crontab",
    ".cron": "crontab",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
}
# The longer marks first: UTF-32's little-endian mark begins with UTF-16's.
_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_HEAD = 65_536
"""Characters in which the first line of a crontab is looked for, behind its comments."""

_COMPRESSED = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")
"""What gzip, zip, bzip2, xz and zstd files begin with."""


@dataclass(slots=True)
class Table:
    """What a reader found: cells by column, and where each row stands."""

    name: str  # of the source, for messages
    unit: str  # what a place is called: line, row, record
    places: Sequence[int]
    columns: dict[str, list[object]]

    def where(self, row: int) -> str:
        """Return where a row stands, in words."""
        return f"{self.unit} {self.places[row]} of {self.name}"


def read_table(source: Source, format: str | None, encoding: str | None) -> Table:
    """Return the cells of a source; see `fleet.read_fleet` for what it may be."""
    if format is not None and format not in FORMATS:
        raise FleetError(f"format {format!r} is none of {', '.join(FORMATS)}")
    if isinstance(source, pd.DataFrame):
        return _from_frame(source, "the frame")
    path, content = _content(source)
    name = repr(PurePath(path).name) if path else "the file object"
    kind = format or _guess(path, content)
    if kind == "parquet":
        return _from_parquet(name, content)
    text = content if isinstance(content, str) else _decode(name, content, encoding)
    if not text.strip():
        raise FleetError(f"{name} is empty, but a fleet needs at least one schedule")
    if kind == "csv" and format is None and crontab_file.is_crontab(text[:_HEAD]):
        kind = "crontab"
    if kind in ("crontab", "system-crontab"):
        system = kind == "system-crontab" or (format is None and crontab_file.is_system(path, text))
        return Table(name, "line", *crontab_file.entries(name, text, system=system))
    if kind == "yaml":
        return Table(name, "line", *manifests.from_yaml(name, text))
    return {"csv": _from_csv, "json": _from_json}[kind](name, text)


def name_key(head: str) -> str:
    """Return a column's name as it is compared: no case, blank, hyphen or underscore."""
    return re.sub(r"[\s_-]+", "", head).casefold()


# ---- from a source to bytes, from bytes to text


def _content(source: object) -> tuple[str, str | bytes]:
    """Return the source's path, "" for none, and all that it holds."""
    if isinstance(source, str | os.PathLike):
        path = os.fspath(cast("str | os.PathLike[str]", source))
        if "\n" in path:
            raise FleetError(
                f"{path[:40]!r} holds a line break, so it is no path: wrap the text in io.StringIO"
            )
        with open(path, "rb") as file:
            content: str | bytes = file.read(MAX_BYTES + 1)
    elif hasattr(source, "read"):
        label = getattr(source, "name", None)
        path = label if isinstance(label, str) else ""
        content = source.read(MAX_BYTES + 1)
        if not isinstance(content, str | bytes):
            raise TypeError(
                f"read() of {path or 'the file object'} gave {type(content).__name__}, not str or "
                "bytes"
            )
    else:
        raise TypeError(
            "a fleet is read from a path, a file object or a DataFrame, "
            f"not from {type(source).__name__}"
        )
    if len(content) > MAX_BYTES:
        raise FleetError(
            f"{repr(PurePath(path).name) if path else 'the file object'} is larger than "
            f"{MAX_BYTES // 2**20} MiB: split it, or pass it as a DataFrame"
        )
    return path, content


def _guess(path: str, content: str | bytes) -> str:
    file = PurePath(path)
    if file.suffix.lower() in _SUFFIXES:
        return _SUFFIXES[file.suffix.lower()]
    if file.name == "crontab" or file.parent.name == "cron.d":
        return "crontab"
    start = content[:64].lstrip()
    if isinstance(start, str):
        start = start.encode("utf-8", "replace")
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith((b"---\n", b"apiVersion:")):
        return "yaml"
    return "json" if start.startswith((b"{", b"[")) else "csv"


def _decode(name: str, content: bytes, encoding: str | None) -> str:
    marked = next((e for mark, e in _BYTE_ORDER_MARKS if content.startswith(mark)), None)
    chosen = encoding or marked or "utf-8"
    try:
        text = content.decode(chosen)
    except LookupError as error:
        raise FleetError(
            f"Python knows no text encoding {chosen!r}: write one such as 'utf-8' or 'cp1252'"
        ) from error
    except UnicodeDecodeError as error:
        if content.startswith(_COMPRESSED):
            raise FleetError(f"{name} is compressed: unpack it first") from error
        line = content[: error.start].decode(chosen, "replace").count("\n") + 1
        raise FleetError(
            f"line {line} of {name} (byte {error.start:,}) holds 0x{content[error.start]:02x}, "
            f"which is not {chosen}: save the file as UTF-8, or pass encoding= (often 'cp1252')"
        ) from error
    # A second mark is text, but the first is none, whichever way it was decoded.
    return text.removeprefix("\ufeff")


# ---- the readers: text to table


def _from_csv(name: str, text: str) -> Table:
    rows = _csv_rows(name, text)
    _, header = next(rows)
    if any("\0" in cell for cell in header):
        raise FleetError(
            f"the header of {name} holds NUL characters: if it is UTF-16 without a byte-order "
            "mark, pass encoding='utf-16-le'"
        )
    heads = [cell.strip() or f"column_{number}" for number, cell in enumerate(header, 1)]
    twice = sorted({head for head in heads if heads.count(head) > 1})
    if twice:
        raise FleetError(f"the header of {name} names {twice[0]!r} twice: rename one of them")
    lines: list[int] = []
    cells: list[list[str]] = []
    for line, row in rows:
        if len(row) != len(heads):
            hint = (
                "is the file cut off?"
                if len(row) < len(heads)
                else "put quotes round an expression that holds the delimiter"
            )
            raise FleetError(
                f"line {line} of {name} has {len(row)} of the {len(heads)} cells "
                f"that the header names: {hint}"
            )
        lines.append(line)
        cells.append(row)
    if not cells:
        raise FleetError(f"{name} holds a header but no schedule")
    columns: dict[str, list[object]] = {
        head: list(column) for head, column in zip(heads, zip(*cells, strict=True), strict=True)
    }
    return Table(name, "line", lines, columns)


def _csv_rows(name: str, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (first line, cells) of each row that is not blank."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    while True:
        line = reader.line_num + 1  # the reader alone knows where a quoted cell ends
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise FleetError(f"line {line} of {name} is no CSV: {error}") from error
        if any(cell.strip() for cell in row):
            yield line, row


def _delimiter(text: str) -> str:
    """Return the delimiter with which the first line names a cron column; comma by default."""
    head = text.lstrip("\r\n").split("\n", 1)[0].rstrip("\r")
    for delimiter in ",;\t":
        if any(name_key(cell.strip('" ')) in CRON_NAMES for cell in head.split(delimiter)):
            return delimiter
    return ","


def _from_json(name: str, text: str) -> Table:
    pages = _json_pages(name, text)
    last = pages[-1]
    if isinstance(last, dict) and last.get("NextToken"):
        raise FleetError(
            f"{name} ends with a page that names a NextToken, so schedules are missing: let the "
            "aws command print all pages"
        )
    if isinstance(last, dict) and last.get("cursor"):
        raise FleetError(
            f"{name} ends with a page that names a cursor ({last['cursor']!r}), so schedules are "
            "missing: append the pages that 'resonate schedules search --cursor' prints for it"
        )
    records = [record for page in pages for record in manifests.records(name, page)]
    return table_of(name, records)


def table_of(name: str, records: Sequence[object]) -> Table:
    """Return records, as the wire has them, as a table."""
    columns: dict[str, list[object]] = {}
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise FleetError(
                f"record {number} of {name} is {type(record).__name__}, but a schedule is an object"
            )
        for key in record:
            columns.setdefault(key, [])
    if not records:
        raise FleetError(f"{name} holds no schedule")
    for key, column in columns.items():
        column.extend(cast("dict[str, object]", record).get(key) for record in records)
    return Table(name, "record", range(1, len(records) + 1), columns)


def _json_pages(name: str, text: str) -> list[object]:
    """Return the JSON values that stand one after another in the text."""
    decoder = json.JSONDecoder()
    pages: list[object] = []
    at = 0
    blank = re.compile(r"\s*")
    try:
        while (at := cast("re.Match[str]", blank.match(text, at)).end()) < len(text):
            page, at = decoder.raw_decode(text, at)
            pages.append(page)
    except json.JSONDecodeError as error:
        raise FleetError(
            f"line {error.lineno} of {name} (column {error.colno}) is no JSON: {error.msg}; "
            "is the file cut off?"
        ) from error
    except (RecursionError, ValueError) as error:
        raise FleetError(f"{name} is no JSON that Python can hold: {error}") from error
    return pages


def _from_parquet(name: str, content: str | bytes) -> Table:
    if isinstance(content, str):
        raise FleetError(f"{name} is open as text, but Parquet is binary: open it with mode 'rb'")
    try:
        frame = pd.read_parquet(io.BytesIO(content))
    except ImportError as error:
        raise FleetError(f"{name} is Parquet, which needs pyarrow: pip install pyarrow") from error
    except (ValueError, OSError) as error:
        raise unreadable(name, error) from error
    if frame.empty:
        raise FleetError(f"{name} holds no schedule")
    return _from_frame(frame, name)


def unreadable(name: str, error: Exception) -> FleetError:
    """Return the error of a file that is no Parquet, with the first sentence of pyarrow's."""
    why = " ".join(str(error).split()).removeprefix("Could not open Parquet input source ")
    why = why.removeprefix("'<Buffer>': ").split(". ")[0][:200].rstrip(".")
    return FleetError(
        f"{name} is no Parquet file that can be read ({why}): is it only half written?"
    )


def with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose index, where it has a name, is a column like the others."""
    named = [head for head in frame.index.names if head is not None and head not in frame.columns]
    return frame.reset_index(level=named) if named else frame


def _from_frame(frame: pd.DataFrame, name: str) -> Table:
    frame = with_index(frame)
    heads = [str(head) for head in frame.columns]
    if len(set(heads)) < len(heads):
        twice = next(head for head in heads if heads.count(head) > 1)
        raise FleetError(f"{name} has the column {twice!r} twice: rename one of them")
    columns = {head: frame.iloc[:, at].tolist() for at, head in enumerate(heads)}
    return Table(name, "row", range(1, len(frame) + 1), columns)
