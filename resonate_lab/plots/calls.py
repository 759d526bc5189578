"""The call graph of one tick: who called whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.axes import Axes

from resonate_lab.plots.drawing import empty, lanes_height, name_text, new_axes, require

__all__ = ["call_graph"]

_ORIGIN, _PARENT, _TIMER, _SCOPE = (
    f"resonate:{name}" for name in ("origin", "parent", "timer", "scope")
)
_MOST_LEVELS = 60
_LOOKS = {
    "pending": {"marker": "o", "markerfacecolor": "white", "markeredgecolor": "#0072B2"},
    "resolved": {"marker": "o", "markerfacecolor": "#009E73", "markeredgecolor": "#009E73"},
    "rejected": {"marker": "X", "markerfacecolor": "#D55E00", "markeredgecolor": "#D55E00"},
}
_WORDS = {"pending": "pending", "resolved": "resolved", "rejected": "rejected, canceled, timed out"}


def call_graph(
    promises: pd.DataFrame,
    tags: pd.DataFrame,
    root: str,
    *,
    ax: Axes | None = None,
    max_rows: int = 60,
    **kwargs: Any,
) -> Axes:
    """Draw what came of a promise: one row a promise, each to the right of its caller.

    Parameters
    ----------
    promises : DataFrame
        one row a promise, with the columns ``id``, ``state`` and ``created_at``, as
        `frames.promises` returns it
    tags : DataFrame
        indexed by promise id, one column a tag, as `frames.tags` returns it; those that are
        read are ``resonate:parent``, ``resonate:origin``, ``resonate:timer`` and
        ``resonate:scope``
    root : str
        id of the promise to begin with, such as that of a fired promise
    ax : Axes, optional
        default: a new figure, as high as the rows need
    max_rows : int
        promises to draw; the others are counted
    **kwargs
        passed to `Axes.plot`, for the signs of the promises

    Returns
    -------
    Axes
        the one that was given, or the new one

    Raises
    ------
    FrameError
        a column is missing
    ValueError
        `max_rows` is less than 1

    Notes
    -----
    Callers stand in ``resonate:parent``, which clients write. A promise of the graph whose
    caller is not stored, or whose callers form a ring, hangs below the root on a dotted line.
    """
    require(promises, ("id", "state", "created_at"))
    if max_rows < 1:
        raise ValueError(f"max_rows is {max_rows}, but at least one row must be drawn")
    nodes = _walked(_Graph.of(promises, tags, root))
    drawn, more = nodes[:max_rows], len(nodes) - max_rows
    if ax is None:
        ax = new_axes(lanes_height(len(drawn) + (more > 0)))
    if not nodes:
        return empty(ax, f"no promise {name_text(root)} is stored")
    _edges(ax, drawn)
    _signs(ax, drawn, kwargs)
    for row, node in enumerate(drawn):
        _write(ax, node, row)
    if more > 0:
        ax.annotate(
            f"and {more:,} more", (0.3, len(drawn)), va="center", fontsize=8, style="italic"
        )
    ax.set_ylim(len(drawn) + (more > 0) - 0.5, -0.5)
    deepest = max(node.level for node in drawn)
    ax.set_xlim(-0.2, deepest + 3)  # three levels of room for the names
    ax.set_xticks(range(deepest + 1))
    ax.set_xlabel("calls below the root", fontsize=8.5)
    ax.set_yticks([])
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, fontsize=8, frameon=False)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    return ax


class _Node(NamedTuple):
    """A promise in its place: its row is where it stands in the list."""

    id: str
    state: str
    detail: str
    level: int
    caller: int  # row of the caller; -1 for the root
    stray: bool


class _Graph(NamedTuple):
    """What is known of the promises of one origin, in the order of creation."""

    root: str
    states: Mapping[str, str]
    details: Mapping[str, str]
    callees: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, promises: pd.DataFrame, tags: pd.DataFrame, root: str) -> _Graph:
        if root not in set(promises["id"]):
            return cls(root, {}, {}, {})
        origin = _tag(tags, root, _ORIGIN) or root
        own = tags.index[tags[_ORIGIN] == origin] if _ORIGIN in tags else tags.index[:0]
        rows = promises[promises["id"].isin([*own, root])].sort_values(
            ["created_at", "id"], kind="stable"
        )
        parts = tags.reindex(index=rows["id"], columns=[_PARENT, _TIMER, _SCOPE])
        callees: dict[str, list[str]] = defaultdict(list)
        details = {}
        for id, parent, timer, scope in parts.itertuples(name=None):
            details[id] = "sleep" if timer == "true" else _CALLS.get(scope, "")
            if id != root and isinstance(parent, str) and parent != id:
                callees[parent].append(id)
        return cls(root, dict(zip(rows["id"], rows["state"], strict=True)), details, callees)


_CALLS = {"global": "rpc", "local": "run"}


def _tag(tags: pd.DataFrame, id: str, name: str) -> str | None:
    if name not in tags or id not in tags.index:
        return None
    value = tags.at[id, name]
    return value if isinstance(value, str) else None


def _walked(graph: _Graph) -> list[_Node]:
    """Return the promises as they stand below one another; each comes once."""
    nodes: list[_Node] = []
    seen: set[str] = set()
    tops = [graph.root, *(id for id in graph.states if id != graph.root)] if graph.states else []
    # What the root leads to comes first; then what it does not, of which the tops are those
    # whose caller is not stored, and last the rings.
    called = {
        id for caller in graph.callees if caller in graph.states for id in graph.callees[caller]
    }
    for top in sorted(tops, key=lambda id: (id != graph.root, id in called)):
        stack = [(top, 0 if top == graph.root else 1, -1 if top == graph.root else 0)]
        stray = top != graph.root
        while stack:
            id, level, caller = stack.pop()
            if id in seen:
                continue
            seen.add(id)
            own = stray and id == top
            nodes.append(_Node(id, str(graph.states[id]), graph.details[id], level, caller, own))
            here = len(nodes) - 1
            below = min(level + 1, _MOST_LEVELS)
            stack += [(callee, below, here) for callee in reversed(graph.callees.get(id, ()))]
    return nodes


def _edges(ax: Axes, nodes: Sequence[_Node]) -> None:
    for stray, style in ((False, "-"), (True, ":")):
        for row, node in enumerate(nodes):
            if node.caller >= 0 and node.stray == stray:
                x = nodes[node.caller].level
                ax.plot(
                    [x, x, node.level],
                    [node.caller, row, row],
                    color="#888888",
                    lw=1,
                    ls=style,
                    zorder=1,
                )


def _signs(ax: Axes, nodes: Sequence[_Node], kwargs: dict[str, Any]) -> None:
    for kind, look in _LOOKS.items():
        own = [(node.level, row) for row, node in enumerate(nodes) if _kind(node.state) == kind]
        if own:
            x, y = zip(*own, strict=True)
            whole = {"ls": "", "ms": 8, "mew": 1.5, "zorder": 2, "label": _WORDS[kind]}
            ax.plot(x, y, **{**whole, **look, **kwargs})


def _kind(state: str) -> str:
    return state if state in ("pending", "resolved") else "rejected"


def _write(ax: Axes, node: _Node, row: int) -> None:
    said = ", ".join(filter(None, (node.detail, node.state, "no caller" if node.stray else "")))
    text = ax.annotate(
        f"{name_text(node.id)}  ({said})",
        (node.level, row),
        xytext=(9, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
    )
    text.set_parse_math(False)
