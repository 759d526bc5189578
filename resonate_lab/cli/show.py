"""How answers are printed: tables for people, JSON for programs, and no escape of a stranger.

On a terminal a table takes its width; in a pipe it takes what it needs, so that each row is
a line for grep. Colours come only on a terminal, and never where NO_COLOR is set.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from resonate_lab._html import plain
from resonate_lab.instants import format_duration

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Refusal",
    "brief",
    "complain",
    "console",
    "json_text",
    "print_json",
    "print_table",
    "progress",
    "rows_of",
    "say",
    "wrapped",
]

_GAP = 2  # blanks between two columns
_SENTENCE = 24  # columns that a text wants which is broken into lines
_PIPE_WIDTH = 10_000  # columns; a table takes no more than it needs


def console() -> Console:
    """Return the console of stdout; made anew, since stdout may be another by now."""
    width = None if sys.stdout.isatty() or os.environ.get("COLUMNS") else _PIPE_WIDTH
    return Console(highlight=False, width=width)


def say(text: str = "", style: str = "", indent: int = 0, lead: str = "") -> None:
    """Print a sentence, wrapped at blanks; where it has a `lead`, that alone has the style.

    A colour that is good on black is hard to read on white, so no sentence has one.
    """
    out = console()
    for line in wrapped(plain(lead + text, None), out.width - indent):
        words = Text(" " * indent + line, style="" if lead else style)
        words.stylize(style, indent, indent + len(lead))
        out.print(words)
        style = "" if lead else style


def complain(sentence: str) -> None:
    """Print a sentence to stderr; on a terminal it is wrapped, elsewhere it is one line."""
    lines = [sentence]
    if sys.stderr.isatty():
        lines = wrapped(sentence, Console(stderr=True).width)
    click.echo("\n".join(lines), err=True)


class Refusal(click.ClickException):
    """What an engine answers when it says no; shown as JSON, as the real command line does."""

    def __init__(self, answer: object) -> None:
        super().__init__(answer if isinstance(answer, str) else json.dumps(answer))
        self._answer = answer

    def format_message(self) -> str:
        """Return the answer as JSON."""
        return json_text(self._answer)


# Where a text may be broken, best first: between words, though not in a quoted expression, which
# people copy; between all words; behind a mark in an id; anywhere.
_PIECES = [
    re.compile(pattern)
    for pattern in (
        r"(?:(?<!\w)'[^']*'|\S)+\s*|\s+",
        r"\S+\s*|\s+",
        r"[^-/.:_,@]*[-/.:_,@]+\s*|[^-/.:_,@]+",
        r".",
    )
]


def wrapped(text: str, width: int, hang: int = 0) -> list[str]:
    """Return text in lines of some columns, the lines after the first one indented by `hang`.

    Nothing of it is lost but blanks at the ends of lines. A quoted expression and an id are kept
    whole where a line can hold them.
    """
    lines = [""]

    def put(piece: str, level: int) -> None:
        shown = cell_len(piece.rstrip())
        if cell_len(lines[-1]) + shown <= width:
            lines[-1] += piece
        elif hang + shown <= width or level + 1 == len(_PIECES):
            lines.append(" " * hang + piece)
        else:
            for part in _PIECES[level + 1].findall(piece):
                put(part, level + 1)

    for piece in _PIECES[0].findall(text):
        put(piece, 0)
    return [line.rstrip() for line in lines]


class _Cell(NamedTuple):
    """A text in a table, broken as `wrapped` breaks it."""

    text: str

    def __rich_measure__(self, _: Console, options: ConsoleOptions) -> Measurement:
        size = cell_len(self.text)
        return Measurement(min(size, _SENTENCE), size).clamp(max_width=options.max_width)

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[Text]:
        for line in wrapped(self.text, options.max_width):
            yield Text(line, justify=options.justify)


def print_table(
    title: str,
    frame: pd.DataFrame,
    *,
    limit: int | None = 10,
    total: int | None = None,
    empty: str = "",
) -> None:
    """Print the first rows of a frame, and how many more there are.

    Parameters
    ----------
    title : str
    frame : DataFrame
        instants are shown in their zone, durations in words, missing cells blank
    limit : int or None
        rows to show; None shows all
    total : int, optional
        how many rows there are, where `frame` holds only the first of them
    empty : str
        what to say in place of a table without rows
    """
    shown = frame if limit is None else frame.head(limit)
    out = console()
    out.print()
    out.print(Text(plain(title, None), style="bold"))
    if not len(frame):
        out.print(Text(empty or "none"))
        return
    heads = [_heading(str(name)) for name in shown]
    columns = [_texts(shown[name]) for name in shown]
    numbers = [_is_number(shown[name]) for name in shown]
    whole = _whole(heads, columns, numbers, out.width)
    rows = list(zip(*columns, strict=True))
    if whole is None:
        _print_stacked(out, heads, rows)
    else:
        table = Table(
            box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold",
            show_edge=False,
        )  # fmt: skip
        for head, number, kept in zip(heads, numbers, whole, strict=True):
            side: Literal["left", "right"] = "right" if number else "left"
            table.add_column(Text(head), justify=side, no_wrap=kept, overflow="fold")
        for row in rows:
            table.add_row(*map(_Cell, row))
        out.print(table)
    more = (len(frame) if total is None else total) - len(shown)
    if more > 0:
        out.print(Text(f"and {more:,} more", style="italic"))


def _heading(name: str) -> str:
    """Return the name of a column in words; the name of a zone stays as it is."""
    return name.replace("_", " ") if name.isidentifier() else plain(name)


def _is_number(column: pd.Series) -> bool:
    return column.dtype.kind in "iufm" or str(column.dtype) == "Int64"


def _whole(
    heads: Sequence[str], columns: Sequence[Sequence[str]], numbers: Sequence[bool], width: int
) -> list[bool] | None:
    """Return which columns are not to be broken into lines; None where a table has no room.

    Numbers are read as one word. So are expressions and instants, which people copy: the
    narrowest first, as long as the other columns keep room for their sentences.
    """
    sizes = [
        max(map(cell_len, (head, *cells))) + _GAP
        for head, cells in zip(heads, columns, strict=True)
    ]
    room = width + _GAP - sum(s for s, number in zip(sizes, numbers, strict=True) if number)
    whole = list(numbers)
    texts = sorted((size, at) for at, size in enumerate(sizes) if not numbers[at])
    least = _SENTENCE + _GAP
    wanted = sum(min(size, least) for size, _ in texts)
    for size, at in texts:
        wanted -= min(size, least)
        whole[at] = size <= least or room - size >= wanted
        room -= size if whole[at] else least
    return whole if room >= 0 else None


def _print_stacked(out: Console, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows one below the other, a line for each cell that says something."""
    widest = max(map(cell_len, heads)) + _GAP
    room = out.width - widest >= _SENTENCE
    for row in rows:
        out.print()
        style = "bold"  # of the first cell, by which the row is known
        for head, cell in zip(heads, row, strict=True):
            if not cell:
                continue
            label = head + " " * (widest - cell_len(head) if room else _GAP)
            for line in wrapped(label + cell, out.width, hang=widest if room else _GAP):
                out.print(Text(line, style=style))
            style = ""


def _texts(column: pd.Series) -> list[str]:
    import pandas as pd

    if column.dtype.kind == "M":
        stamps = column.dropna()
        exact = bool(len(stamps)) and bool((stamps.dt.second != 0).any())
        form = "%Y-%m-%d %H:%M:%S" if exact else "%Y-%m-%d %H:%M"
        return list(column.dt.strftime(form).fillna(""))
    if column.dtype.kind == "m":
        return ["" if pd.isna(d) else format_duration(d // pd.Timedelta(1, "ms")) for d in column]
    return [_text(cell) for cell in column.tolist()]


def _text(cell: object) -> str:
    import pandas as pd

    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        return "" if cell != cell else f"{cell:,.1f}"
    if isinstance(cell, list):
        return plain(", ".join(map(str, cell)), 300)
    return "" if cell is None or cell is pd.NA else plain(cell, 300)


# --- JSON ------------------------------------------------------------------------------------


def json_text(value: object) -> str:
    """Return JSON, keys in alphabetical order, that is safe to show in a terminal.

    Letters are written as they are where the output can hold them; what cannot be seen is
    escaped, which to a reader of JSON is the same.
    """
    letters = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=not letters, allow_nan=False)
    return re.sub(r"[^\x00-\x7e]", _escaped, text)


def _escaped(letter: re.Match[str]) -> str:
    seen = plain(letter[0]) == letter[0]
    return letter[0] if seen else json.dumps(letter[0])[1:-1].replace("\x7f", "\\u007f")


def print_json(value: object) -> None:
    """Print a value as JSON; a frame as a list of objects, see `rows_of`."""
    click.echo(json_text(value))


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as JSON has them: one object a row.

    Instants are ISO 8601 texts, in UTC where the column is; durations ms; missing cells null.
    """
    columns = {str(name): _values(frame[name]) for name in frame}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _values(column: pd.Series) -> list[Any]:
    import pandas as pd

    if column.dtype.kind == "M":
        return [None if pd.isna(at) else at.isoformat().replace("+00:00", "Z") for at in column]
    if column.dtype.kind == "m":
        return [None if pd.isna(d) else d // pd.Timedelta(1, "ms") for d in column]
    cells = column.tolist()
    return [None if not isinstance(c, list | dict) and pd.isna(c) else c for c in cells]


def progress(label: str) -> Callable[[Iterable[int]], Iterable[int]]:
    """Return a wrapper that counts rows on stderr, if that is a terminal."""
    from tqdm.auto import tqdm

    def counted(rows: Iterable[int]) -> Iterable[int]:
        bar: Iterable[int] = tqdm(
            rows, desc=label, unit=" rows", mininterval=0.3, disable=None, leave=False
        )
        return bar

    return counted


def brief(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return some columns of a frame, those without anything to say left out."""
    return frame[[name for name in columns if not _silent(frame[name])]]


def _silent(column: pd.Series) -> bool:
    return bool(len(column)) and column.isin(["", 0]).all().item()
