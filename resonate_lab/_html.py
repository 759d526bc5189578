"""Hostile text made safe to show: in HTML, in Markdown, in a terminal, in a notebook's table.

Ids, tags and cron texts come from strangers. Three things are done to each of them and
nowhere else: what cannot be seen (control, bidirectional and zero-width characters, odd
blanks) is written out as ``\\u202e``, what is too long is cut and the cut is counted,
and what HTML or Markdown would read as markup is quoted. The tables inherit their colours, so they
suit light and dark themes; there are no scripts and no ids, so equal input gives equal
output.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from html import escape as _quote
from itertools import islice

__all__ = ["code", "escape", "markdown", "plain", "table"]

# Categories that draw nothing, move the cursor, reorder their neighbours or cannot be
# encoded: control, format (bidi, zero width, tags), surrogate, private, unassigned,
# line and paragraph separators, and every blank but the ordinary one.
_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})

# Letters and marks that are drawn as nothing although their category says otherwise:
# fillers, the grapheme joiner, variation selectors, the empty Braille cell.
_UNSEEN_LETTERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
_CELL_LIMIT = 400  # characters: a finding of lint is shown whole
_SHORT_NAMES = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}

# What Markdown, or GitHub on top of it, would make something of: markup, HTML, a cell's end,
# a mention that tells somebody, a reference, a link, mathematics, an emoji.
_ACTIVE = re.compile(r"[@#<>&|\\`*_\[\]~$^]|://|www\.|:[a-z+-]", re.IGNORECASE)
_NEVER_IN_CODE = re.compile(r"[`|\\]|^ | $")  # ends it, ends its cell, or is trimmed
_NO_LETTER = re.compile(r"[^\w ]|_|^ | $")
# A quoted text is one piece; an apostrophe within a word quotes nothing.
_PIECE = re.compile(r"""(?<!\w)'[^']*'|(?<!\w)"[^"]*"|[^\s'"(]+(?:'\w+)*|\S""")

_WRAP = "overflow-x:auto;max-width:100%"
_TABLE = "border-collapse:collapse;color:inherit;background:transparent;margin:0.3em 0"
_CAPTION = "text-align:left;font-weight:600;padding:0.2em 0;color:inherit"
# A grey of half strength is legible on white and on black alike.
_RULE = "1px solid rgba(128,128,128,0.5)"
_HEAD = f"padding:0.2em 0.8em 0.2em 0;border-bottom:{_RULE};font-weight:600;text-align:"
_CELL = "padding:0.2em 0.8em 0.2em 0;vertical-align:top;text-align:"
_WHOLE = 32
_MORE = "padding:0.2em 0;opacity:0.75;font-style:italic;text-align:left"


def plain(text: object, limit: int | None = 200) -> str:
    r"""Return text that shows on one line exactly what it holds, for a terminal.

    Parameters
    ----------
    text : object
        anything; ``str(text)`` is shown
    limit : int or None
        characters of the text to keep; the number of those cut is told. None keeps all.

    Returns
    -------
    str
        printable characters and ordinary blanks only, so no ANSI sequence survives

    Examples
    --------
    >>> plain("a\x1b[31mb")
    'a\\x1b[31mb'
    >>> plain("x" * 1000, limit=5)
    'xxxxx… (995 more characters)'
    """
    whole = str(text)
    kept = whole if limit is None else whole[:limit]
    if not (kept.isascii() and kept.isprintable()):
        kept = "".join(map(_visible, kept))
    cut = 0 if limit is None else max(0, len(whole) - limit)
    if not cut:
        return kept
    return f"{kept}… ({cut:,} more character{'s' if cut > 1 else ''})"


def escape(text: object, limit: int | None = 200) -> str:
    r"""Return text as HTML that shows exactly what it holds, as content or attribute.

    Parameters
    ----------
    text : object
        anything; ``str(text)`` is shown
    limit : int or None
        characters of the text to keep; the number of those cut is told. None keeps all.

    Examples
    --------
    >>> escape("<b onclick='x'>\u202egnp.exe")
    '&lt;b onclick=&#x27;x&#x27;&gt;\\u202egnp.exe'
    """
    return _quote(plain(text, limit), quote=True)


def code(text: object, limit: int | None = 200) -> str:
    r"""Return text as Markdown code: GitHub shows what it holds, links and tells nobody.

    Parameters
    ----------
    text : object
        anything; ``str(text)`` is shown
    limit : int or None
        characters of the text to keep; the number of those cut is told. None keeps all.

    Returns
    -------
    str
        one line that is safe in a cell of a table, too; "" for an empty text

    Examples
    --------
    >>> print(code("*/5 * * * *"), code("a|`b`"))
    `*/5 * * * *` <code>a&#124;&#96;b&#96;</code>
    """
    shown = plain(text, limit)
    if not _NEVER_IN_CODE.search(shown):
        return f"`{shown}`" if shown else ""
    # No number of backticks keeps a | in its cell; HTML's own code with each sign by number does.
    return f"<code>{_NO_LETTER.sub(lambda sign: f'&#{ord(sign[0])};', shown)}</code>"


def markdown(text: object, limit: int | None = 400) -> str:
    """Return a sentence as Markdown: its words as they are, what is more than words as code.

    Parameters
    ----------
    text : object
        anything; ``str(text)`` is shown
    limit : int or None
        characters of the text to keep; the number of those cut is told. None keeps all.

    Returns
    -------
    str
        one line that is safe in a cell of a table, too

    Examples
    --------
    >>> print(markdown("day-of-week is '8': ask @ops, who know"))
    day-of-week is '8': ask `@ops,` who know
    >>> print(markdown("'0 9 * * 8' has no tick"))
    `'0 9 * * 8'` has no tick
    """
    return _PIECE.sub(
        lambda piece: code(piece[0], None) if _ACTIVE.search(piece[0]) else piece[0],
        plain(text, limit),
    )


def table(
    rows: Iterable[Sequence[object]],
    columns: Sequence[str],
    *,
    limit: int = 10,
    caption: str | None = None,
    total: int | None = None,
) -> str:
    """Return an HTML table of the first rows, and how many more there are.

    Parameters
    ----------
    rows : iterable of sequences
        one sequence a row, one cell a column; None shows as an empty cell, numbers stand
        to the right, whole ones with thousands separators, a text is cut after 400 characters
    columns : sequence of str
        the headings
    limit : int
        rows to show
    caption : str, optional
        a line above the table
    total : int, optional
        the number of rows there are, where `rows` holds only the first of them

    Raises
    ------
    ValueError
        a row has not one cell for each column

    Examples
    --------
    >>> "and 2 more" in table([[1], [2], [3]], ["n"], limit=1)
    True
    """
    supply = iter(rows)
    shown = [_checked(row, columns, number) for number, row in enumerate(islice(supply, limit))]
    if total is None:
        total = len(shown) + sum(1 for _ in supply)
    right = [_is_numeric([row[column] for row in shown]) for column in range(len(columns))]
    sides = ["right" if numeric else "left" for numeric in right]
    lines = [f'<div style="{_WRAP}"><table style="{_TABLE}">']
    if caption is not None:
        lines.append(f'<caption style="{_CAPTION}">{escape(caption)}</caption>')
    heads = (
        f'<th scope="col" style="{_HEAD}{side}">{escape(name)}</th>'
        for name, side in zip(columns, sides, strict=True)
    )
    lines.append(f"<thead><tr>{''.join(heads)}</tr></thead><tbody>")
    for row in shown:
        cells = (_cell(cell, side) for cell, side in zip(row, sides, strict=True))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    if total > len(shown):
        more = f"and {total - len(shown):,} more"
        lines.append(f'<tr><td colspan="{len(columns)}" style="{_MORE}">{more}</td></tr>')
    lines.append("</tbody></table></div>")
    return "\n".join(lines)


def _cell(content: object, side: str) -> str:
    if isinstance(content, int) and not isinstance(content, bool):
        content = f"{content:,}"
    text = "" if content is None else escape(content, _CELL_LIMIT)
    return f'<td style="{breaking(text)}{_CELL}{side}">{text}</td>'


def breaking(text: str) -> str:
    """Return the style that says where the text of a cell, as HTML, may break.

    Ids, cron texts and instants are read as one word: the table scrolls before they break. A
    longer one may break anywhere, or a stranger's id would push the other columns out.
    """
    return (
        "white-space:nowrap;" if len(text) <= _WHOLE else "overflow-wrap:anywhere;min-width:12em;"
    )


def _visible(character: str) -> str:
    if character == " ":
        return character
    if unicodedata.category(character) in _UNSEEN_CATEGORIES or _UNSEEN_LETTERS.match(character):
        return _SHORT_NAMES.get(character) or _code(ord(character))
    return character


def _code(point: int) -> str:
    if point < 0x100:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def _checked(row: Sequence[object], columns: Sequence[str], number: int) -> Sequence[object]:
    if len(row) != len(columns):
        raise ValueError(
            f"row {number} of the table has {len(row)} cells, but there are {len(columns)} "
            f"columns ({', '.join(columns)}): give one cell for each column"
        )
    return row


def _is_numeric(cells: list[object]) -> bool:
    # bool is an int in Python, but reads as a word.
    told = [cell for cell in cells if cell is not None]
    numbers = [isinstance(cell, int | float) and not isinstance(cell, bool) for cell in told]
    return bool(numbers) and all(numbers)
