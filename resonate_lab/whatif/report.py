"""Answers as a page, and as Markdown for a change request.

A page is one HTML file that needs nothing beside it: it holds its pictures and its style,
no script, and a policy that forbids fetching anything. Both are made of the same parts of an
`Answer`: its sentence, its picture, its tables; every text of theirs goes through `_html`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from resonate_lab import _html
from resonate_lab.instants import format_duration, format_instant, instant_ms

if TYPE_CHECKING:
    from resonate_lab.whatif.answer import Answer, Table
    from resonate_lab.whatif.outage import WhatIf

__all__ = ["markdown", "page", "showcase", "timeline_png"]

_PAGE_ROWS = 40
_MARKDOWN_ROWS = 15  # a comment on a change holds some 65,000 characters
_CODE_LENGTH = 100

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5a6575; --line: #d8dee6;
  --page: #ffffff; --card: #f5f7fa; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --soft: #a3adba;
  --line: #3a4350; --page: #14181e; --card: #1e242c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 70rem; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .4rem; border-top: 1px solid var(--line);
  padding-top: 1.2rem; }
h3 { font-size: 1rem; margin: 1.6rem 0 .2rem; }
p { max-width: 52rem; margin: .4rem 0; overflow-wrap: anywhere; }
.soft { color: var(--soft); }
.cards { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1rem 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 6px;
  padding: .6rem .9rem; min-width: 8.5rem; }
.card b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
.card span { color: var(--soft); font-size: .85rem; }
table { font-size: .9rem; font-variant-numeric: tabular-nums; }
td { max-width: 28rem; overflow-wrap: break-word; }
td:first-child, td:last-child { min-width: 9.5rem; }
img { display: block; max-width: 100%; height: auto; margin: 1rem 0; background: #fff;
  border: 1px solid var(--line); border-radius: 6px; }
@media print { body { max-width: none; padding: 0; font-size: 11px; }
  h1 { font-size: 1.5rem; } div { overflow: visible !important; }
  table { width: 100%; font-size: 9px; }
  td, td:first-child, td:last-child { min-width: 0; max-width: none; overflow-wrap: anywhere;
    white-space: normal !important; padding-right: .7em !important; }
  td[style^="white-space"] { overflow-wrap: break-word !important; }
  h2, h3, tr, img, .card { break-inside: avoid; } h2, h3 { break-after: avoid; }
  .card { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""


def page(title: str, answers: Sequence[Answer]) -> str:
    """Return answers as one self-contained HTML page."""
    heading = _html.escape(title)
    body = "\n".join(part for answer in answers for part in _sections(answer, title))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{heading}</title>\n<style>{_STYLE}</style></head>\n"
        f"<body><h1>{heading}</h1>\n{body}\n</body></html>\n"
    )


def markdown(answer: Answer) -> str:
    """Return an answer as GitHub's Markdown: its sentence and the first rows of its tables."""
    lines = [f"### {answer._title}", "", f"{_html.markdown(_sentence(answer), None)}"]
    for table in answer._tables():
        lines += ["", f"**{table.title}**", "", *_markdown_table(table)]
    return "\n".join([*lines, ""])


def timeline_png(what: WhatIf) -> bytes:
    """Return the timeline of schedules that differ, as PNG."""
    from resonate_lab import plots  # here, since matplotlib takes a second to load

    return plots.png(
        plots.catch_up_timeline, what.ticks, down=what.outages, max_lanes=24, lanes=showcase(what)
    )


def showcase(what: WhatIf, size: int = 24) -> list[str]:
    """Return the ids of schedules that differ as much as they can, busiest first.

    A fleet's busiest schedules mostly do the same. Of the schedules with equal numbers of
    missed, sent and expired one stands for all, and of those an even sample is taken.
    """
    kinds = what.summary[what.summary["missed"] > 0].drop_duplicates(
        ["missed", "dispatched", "expired"]
    )
    kinds = kinds.sort_values("missed", ascending=False, kind="stable")
    stride = max(1, len(kinds) / size)
    picked = sorted({int(at * stride) for at in range(min(size, len(kinds)))})
    return [str(kinds["schedule_id"].iloc[at]) for at in picked]


# ---- the page


def _sections(answer: Answer, title: str) -> Iterator[str]:
    if answer._title != title:
        yield f"<h2>{_html.escape(answer._title)}</h2>"
    words = _html.escape(_sentence(answer), None)
    yield f"<p>{words}</p>"
    yield _cards(answer._figures())
    data = base64.b64encode(answer._picture()).decode("ascii")
    yield f"<img alt='{words}' src='data:image/png;base64,{data}'>"
    for table in answer._tables():
        yield f"<h3>{_html.escape(table.title)}</h3>"
        if table.note:
            yield f"<p class='soft'>{_html.escape(table.note, None)}</p>"
        yield _html_table(table)


def _cards(cards: Iterable[tuple[str, str]]) -> str:
    inner = "".join(
        f"<div class='card'><b>{_html.escape(value)}</b><span>{_html.escape(words)}</span></div>"
        for value, words in cards
    )
    return f"<div class='cards'>{inner}</div>" if inner else ""


def _html_table(table: Table) -> str:
    if not len(table.frame):
        return "<p class='soft'>none</p>"
    rows = zip(*_columns(table, _PAGE_ROWS), strict=True)
    texts = ([", ".join(c) if isinstance(c, list) else c for c in row] for row in rows)
    headings = list(_headings(table).values())
    return _html.table(texts, headings, limit=_PAGE_ROWS, total=len(table.frame))


def _sentence(answer: Answer) -> str:
    said = answer.headline()
    return f"{said[:1].upper()}{said[1:]}."


# ---- Markdown


def _markdown_table(table: Table) -> Iterator[str]:
    total = len(table.frame)
    if not total:
        yield "none"
        return
    columns = _columns(table, _MARKDOWN_ROWS)
    headings = _headings(table)
    yield f"| {' | '.join(headings.values())} |"
    yield f"|{'|'.join('---:' if _is_numeric(cells) else '---' for cells in columns)}|"
    cells = [
        [_markdown_cell(cell, name in table.prose) for cell in column]
        for name, column in zip(headings, columns, strict=True)
    ]
    for row in zip(*cells, strict=True):
        yield f"| {' | '.join(row)} |"
    if total > _MARKDOWN_ROWS:
        yield ""
        yield f"and {total - _MARKDOWN_ROWS:,} more"


def _markdown_cell(cell: object, is_prose: bool) -> str:
    if isinstance(cell, list):
        return ", ".join(_html.code(each, _CODE_LENGTH) for each in cell)
    if isinstance(cell, _Own):
        return str(cell)
    if isinstance(cell, str):
        return _html.markdown(cell) if is_prose else _html.code(cell, _CODE_LENGTH)
    return "" if cell is None else f"{cell}"


def _is_numeric(cells: list[object]) -> bool:
    return all(isinstance(cell, int | float) or cell is None for cell in cells)


# ---- cells as a person reads them


def _columns(table: Table, limit: int) -> list[list[object]]:
    frame = table.frame
    if table.most:
        frame = frame.nlargest(limit, table.most)
    return [[_cell(cell) for cell in frame[name].head(limit).tolist()] for name in _headings(table)]


def _headings(table: Table) -> dict[str, str]:
    return {name: words for name, words in table.headings.items() if name in table.frame}


def _cell(cell: object) -> object:
    """Return an instant, duration or number as words; a text and a list of texts as it is."""
    if isinstance(cell, list):
        return [str(each) for each in cell]
    if isinstance(cell, pd.Timestamp):
        is_utc = cell.utcoffset() is None or not cell.utcoffset()
        text = format_instant(instant_ms(cell)) if is_utc else cell.isoformat(" ", "seconds")
        return _Own(text)
    if isinstance(cell, pd.Timedelta):
        return _Own(format_duration(int(cell / pd.Timedelta(milliseconds=1))))
    if isinstance(cell, bool):
        return _Own("yes" if cell else "no")
    if isinstance(cell, int):
        return _Count(cell)
    if cell is None or cell is pd.NaT or cell is pd.NA or cell != cell:
        return None
    return _Share(cell) if isinstance(cell, float) else cell


class _Own(str):
    """A text that we wrote ourselves, and that no markup can be in."""


class _Count(int):
    """A number that a table still sets to the right, but shows with separators."""

    def __str__(self) -> str:
        return f"{self:,}"


class _Share(float):
    """The same of a number that is not whole."""

    def __str__(self) -> str:
        return f"{self:,.1f}"
