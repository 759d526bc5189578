"""Frames as a notebook shows them best: instants, durations and states in words."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import pandas as pd
from pandas.io.formats.style import Styler

from resonate_lab import _html
from resonate_lab.instants import format_duration, format_instant, instant_ms

__all__ = ["styled"]

# A colour and a sign for each state; the word stands beside them.
_SIGNS = {
    "pending": ("#0072B2", "○"),
    "acquired": ("#0072B2", "▶"),
    "suspended": ("#767676", "‖"),
    "halted": ("#767676", "■"),
    "fulfilled": ("#009E73", "●"),
    "resolved": ("#009E73", "●"),
    "rejected": ("#D55E00", "×"),
    "rejected_canceled": ("#D55E00", "–"),
    "rejected_timedout": ("#D55E00", "×"),
}
_RULE = "1px solid var(--jp-border-color1, rgba(128,128,128,0.5))"
# A wide table scrolls in its place, and widens nothing around it.
_SCROLLED = [("display", "block"), ("overflow-x", "auto"), ("max-width", "100%")]
_LEFT = [("text-align", "left"), ("vertical-align", "top")]
_RIGHT = [("text-align", "right"), ("font-variant-numeric", "tabular-nums")]


def styled(frame: pd.DataFrame, *, rows: int = 50) -> Styler:
    """Return a frame dressed for a notebook: instants, durations and states as people read them.

    Parameters
    ----------
    frame : DataFrame
        any; such as those of `frames` or of `WhatIf`
    rows : int
        rows to show, the first; the caption tells how many there are

    Returns
    -------
    pandas.io.formats.style.Styler
        instants end in Z, durations are written ``1 h 30 min``, states have a sign, numbers
        stand to the right, what is missing is empty. Texts are shown as they are, never
        obeyed; those that are longer than 200 characters are cut, and the cut is counted.

    Raises
    ------
    ValueError
        `rows` is less than 1

    Examples
    --------
    >>> lag = pd.to_timedelta([5_400_000], unit="ms")
    >>> "1 h 30 min" in styled(pd.DataFrame({"lag": lag})).to_html()
    True
    """
    if rows < 1:
        raise ValueError(f"rows is {rows}, but at least one row must be shown")
    shown = frame.head(rows)
    # A Styler wants unique labels; the index of a frame of records says nothing.
    plain = isinstance(frame.index, pd.RangeIndex) or not shown.index.is_unique
    # Styles hang on the columns alone, so frames with the same columns may share their name.
    kinds = [_kind(dtype) for dtype in frame.dtypes]
    name = blake2b(repr([*map(str, frame.columns), kinds]).encode(), digest_size=6).hexdigest()
    style = Styler(shown.reset_index(drop=True) if plain else shown, uuid=name, cell_ids=False)
    for at, kind in enumerate(kinds):
        style = style.format(_WRITERS[kind], subset=pd.IndexSlice[:, [frame.columns[at]]])
    style = style.format_index(_html.escape, axis=1).format_index(_html.escape, axis=0)
    if plain:
        style = style.hide(axis=0)
    if len(frame) > rows:
        style = style.set_caption(f"the first {rows:,} of {len(frame):,} rows")
    right = [f".col{at}" for at, kind in enumerate(kinds) if kind in ("number", "timedelta")]
    whole = [f"td.col{at}" for at, kind in enumerate(kinds) if kind != "text"]
    looks: list[Any] = [
        {"selector": "", "props": _SCROLLED},
        {"selector": "th, td", "props": _LEFT},
        {"selector": "thead th", "props": [("border-bottom", _RULE)]},
        {"selector": "caption", "props": [("text-align", "left"), ("caption-side", "bottom")]},
        *({"selector": place, "props": _RIGHT} for place in right),
        *({"selector": place, "props": [("white-space", "nowrap")]} for place in whole),
    ]
    return style.set_table_styles(looks)


def _kind(dtype: Any) -> str:
    if isinstance(dtype, pd.DatetimeTZDtype):
        return "instant"
    if isinstance(dtype, pd.CategoricalDtype):
        return "state"
    if pd.api.types.is_timedelta64_dtype(dtype):
        return "timedelta"
    if pd.api.types.is_bool_dtype(dtype):
        return "bool"
    return "number" if pd.api.types.is_numeric_dtype(dtype) else "text"


def _unless_missing(write: Callable[..., str]) -> Callable[[Any], str]:
    def written(value: Any) -> str:
        # Of a dict or a list isna() tells no single truth.
        missing: bool = value is None or (pd.api.types.is_scalar(value) and pd.isna(value))
        return "" if missing else write(value)

    return written


def _state(value: object) -> str:
    text = _html.escape(value)
    if value not in _SIGNS:
        return text
    color, sign = _SIGNS[str(value)]
    return f'<span style="color:{color}" aria-hidden="true">{sign}</span> {text}'


def _text(value: object) -> str:
    text = _html.escape(value)
    return f'<span style="display:inline-block;{_html.breaking(text)}">{text}</span>'


def _number(value: float) -> str:
    return f"{value:,}" if float(value).is_integer() else f"{value:,.3f}"


_WRITERS = {
    "instant": _unless_missing(lambda value: format_instant(instant_ms(value))),
    "timedelta": _unless_missing(
        lambda value: format_duration(pd.Timedelta(value) // pd.Timedelta(milliseconds=1))
    ),
    "state": _unless_missing(_state),
    "bool": _unless_missing(lambda value: "yes" if value else "no"),
    "number": _unless_missing(_number),
    "text": _unless_missing(_text),
}
