"""The call graph of one tick, drawn as the command line's ``tree`` draws it.

A promise names the root of its graph in ``resonate:origin`` and whoever called it in
``resonate:parent``. Clients write these tags, so they may say anything: a parent that
does not exist, a ring, a chain without end. Nothing of that is lost or followed for ever.
"""

from __future__ import annotations

import base64
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from resonate_lab._html import escape, plain
from resonate_lab.protocol.records import (
    ORIGIN_TAG,
    PENDING,
    RESOLVED,
    Value,
    is_timer,
)

if TYPE_CHECKING:
    from resonate_lab.engine.state import PromiseRow, State

__all__ = ["LINE_LIMIT", "Node", "Tree", "function_name", "tree"]

#: Lines that a tree shows, and levels; what lies beyond is counted.
LINE_LIMIT: Final = 1_000
_DEPTH_LIMIT: Final = 60
#: Characters of a parameter that are searched for the name of a function.
_PARAM_LIMIT: Final = 100_000

#: What leads to a promise that the root does not lead to.
_STRAY: Final = "┄┄┄ "
_STRAY_INDENT: Final = "    "
_PARENT_TAG: Final = "resonate:parent"
_SCOPE_TAG: Final = "resonate:scope"
_CALLS: Final = {"global": "rpc", "local": "run"}
_CIRCLES: Final = {PENDING: "🟡", RESOLVED: "🟢"}
_REJECTED: Final = "🔴"
_PRE: Final = (
    "margin:0.3em 0;line-height:1.35;overflow-x:auto;color:inherit;background:transparent;"
    "font-family:monospace"
)


class Node(NamedTuple):
    """A line of a tree.

    Attributes
    ----------
    branch : str
        box characters that lead to it; empty for the root
    id : str
    state : str or None
        None if no promise of that id is stored
    detail : str
        how it was called: ``(rpc greet)``, ``(run greet)``, ``(sleep)``, or a remark
    """

    branch: str
    id: str
    state: str | None
    detail: str

    def line(self) -> str:
        """Return the line as text."""
        circle = "" if self.state is None else _CIRCLES.get(self.state, _REJECTED)
        words = (plain(self.id, 120), circle, plain(self.detail, 120))
        return self.branch + " ".join(filter(None, words))


@dataclass(frozen=True, slots=True, repr=False)
class Tree:
    """A call graph; its text is one line a promise.

    Attributes
    ----------
    nodes : list of Node
        the root first, children by their time of creation
    more : int
        promises of the graph that are not shown
    """

    nodes: list[Node]
    more: int

    def lines(self) -> Iterator[str]:
        """Yield the lines of the text."""
        yield from (node.line() for node in self.nodes)
        if self.more:
            yield f"… and {self.more:,} more"

    def __repr__(self) -> str:
        """Return the drawing."""
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        # Colour is not the only cue: the state stands beside it in words.
        lines = (
            f"{node.branch}{escape(node.line()[len(node.branch) :], None)}"
            f' <span style="opacity:0.7">{escape(node.state or "not stored")}</span>'
            for node in self.nodes
        )
        more = [f"… and {self.more:,} more"] if self.more else []
        return f'<pre style="{_PRE}">' + "\n".join([*lines, *more]) + "</pre>"


def tree(state: State, id: str) -> Tree:
    """Return the call graph below a promise, as it is stored.

    O(number of promises) the first time, then O(size of the graph).
    """
    root = state.promises.get(id)
    if root is None:
        return Tree([Node("", id, None, "(no such promise)")], 0)
    origin = root.tag(ORIGIN_TAG) or id
    graph = {found: state.promises[found] for found in state.tagged_ids(ORIGIN_TAG, origin)}
    graph[id] = root
    children = _children(graph)
    order = sorted(graph.values(), key=lambda row: (row.created_at, row.id))
    drawing = _Drawing(children)
    drawing.add(root)
    if origin == id:
        # Whatever the root does not lead to: first where the parent is missing, then rings.
        for row in order:
            parent = row.tag(_PARENT_TAG)
            if parent not in graph:
                said = "no parent" if parent is None else f"parent {plain(parent, 80)} not stored"
                drawing.add(row, said)
        for row in order:
            drawing.add(row, "its parents form a ring")
    return Tree(drawing.nodes, drawing.more)


def _children(graph: Mapping[str, PromiseRow]) -> dict[str, list[PromiseRow]]:
    """Return the callees by their caller, in the order of creation."""
    children: dict[str, list[PromiseRow]] = defaultdict(list)
    for row in graph.values():
        children[row.tag(_PARENT_TAG) or ""].append(row)
    for callees in children.values():
        callees.sort(key=lambda row: (row.created_at, row.id))
    return children


class _Drawing:
    """Nodes in the order of their lines; every promise enters once."""

    def __init__(self, children: Mapping[str, list[PromiseRow]]) -> None:
        self.children = children
        self.nodes: list[Node] = []
        self.more = 0
        self._seen: set[str] = set()

    def add(self, top: PromiseRow, remark: str = "") -> None:
        """Add a promise and what it leads to, unless it is drawn already.

        A stack of our own, since a chain of calls may be longer than Python's.
        """
        if top.id in self._seen:
            return
        self._seen.add(top.id)
        # A promise, the indent of its line, the one of its callees', its level.
        stack = [(top, _STRAY if remark else "", _STRAY_INDENT if remark else "", 0)]
        while stack:
            row, branch, indent, level = stack.pop()
            self._show(row, branch, level, remark if row is top else "")
            callees = [c for c in self.children.get(row.id, ()) if c.id not in self._seen]
            self._seen.update(callee.id for callee in callees)
            below = level + 1
            if below > _DEPTH_LIMIT:
                stack += [(callee, "", "", below) for callee in callees]
                continue
            shapes = [(indent + "├── ", indent + "│   ")] * (len(callees) - 1)
            shapes.append((indent + "└── ", indent + "    "))
            whole = zip(callees, shapes, strict=False)
            stack += reversed([(callee, *shape, below) for callee, shape in whole])

    def _show(self, row: PromiseRow, branch: str, level: int, remark: str) -> None:
        if len(self.nodes) >= LINE_LIMIT or level > _DEPTH_LIMIT:
            self.more += 1
            return
        detail = " ".join(filter(None, (_call(row), f"({remark})" if remark else "")))
        self.nodes.append(Node(branch, row.id, row.state, detail))


def _call(row: PromiseRow) -> str:
    """Return how a promise came to be called, in the command line's words."""
    if is_timer(row.tags):
        return "(sleep)"
    verb = _CALLS.get(row.tags.get(_SCOPE_TAG, ""))
    return f"({' '.join(filter(None, (verb, function_name(row.param))))})" if verb else ""


def function_name(param: Value) -> str:
    """Return the name of the function that a parameter asks for, or an empty text.

    Clients write ``{"func": name, ...}`` as JSON in base64; anything else names none.
    """
    data = param.get("data", "")
    if not data or len(data) > _PARAM_LIMIT:
        return ""
    try:
        call = json.loads(base64.b64decode(data, validate=True))
    except (ValueError, RecursionError):
        return ""
    name = call.get("func") if isinstance(call, dict) else None
    return name if isinstance(name, str) else ""
