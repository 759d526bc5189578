"""The tag inspector: from schedules to the promises they fired, to their tags and calls."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

import ipywidgets
from IPython.display import HTML

from resonate_lab import _html
from resonate_lab.engine import Engine
from resonate_lab.instants import format_instant
from resonate_lab.protocol.records import LINEAGE_TAGS
from resonate_lab.widgets.base import (
    ANSWER,
    WHOLE_LABEL,
    Live,
    body,
    button,
    control,
    shown,
    side_by_side,
)

__all__ = ["TagInspector"]

_MOST_READ = 100_000  # promises, the newest
_LISTED = 200
_TABLED = 100  # tags of one promise
_OFFERED = 200  # tags to choose from
_OFFERED_LENGTH = 100
_MOST_OFFERED = 1_000  # schedules to choose from; the others are found by their tag
_ANY = ""


class _Tagged(NamedTuple):
    """A promise, and its tags as one text that can be searched."""

    id: str
    schedule: str | None
    state: str
    created_at: int
    tags: dict[str, str]
    text: str


class TagInspector(Live):
    """Follow a schedule to the promises it fired, to their tags, to what they called.

    Parameters
    ----------
    engine : Engine
        what to look into; its newest 100,000 promises are read

    Attributes
    ----------
    schedule, tag, promise : ipywidgets.Dropdown, ipywidgets.Combobox, ipywidgets.Select
        the controls: whose promises; what a tag, written ``name=value``, must contain; which
        of them to show
    newer, older : ipywidgets.Button
        one up, one down in the list
    answer : ipywidgets.HTML
        how many there are, the tags of the one that is chosen, and its call graph

    Raises
    ------
    TypeError
        `engine` is no Engine

    Examples
    --------
    >>> engine = Engine(now="2024-01-01")
    >>> nightly = engine.schedules.create("nightly", cron="0 2 * * *", target="poll://any@default")
    >>> engine.advance("2d")
    >>> inspector = TagInspector(engine)
    >>> inspector.tag.value = "resonate:schedule=nightly"
    >>> "2 promises" in inspector.answer.value
    True
    >>> inspector.close()
    """

    def __init__(self, engine: Engine) -> None:
        if not isinstance(engine, Engine):
            raise TypeError(
                f"engine is {engine!r:.80} of type {type(engine).__name__}; give an Engine, such "
                "as resonate_lab.Engine(now='2024-01-01')"
            )
        self._engine = engine
        super().__init__()
        wide = {"description_width": "6.5em"}
        self.schedule = ipywidgets.Dropdown(
            options=[("all", _ANY)], description="Schedule", style=wide, layout=control("20em")
        )
        self.tag = ipywidgets.Combobox(
            description="Tag contains",
            placeholder="resonate:schedule=nightly",
            style=WHOLE_LABEL,
            layout=control("20em"),
        )
        self.promise = ipywidgets.Select(
            description="Promise", rows=8, style=wide, layout=control("100%")
        )
        # JupyterLab keeps the arrow keys of a list for itself, to go from cell to cell.
        self.newer = button("▲ Newer", "The promise above in the list")
        self.older = button("Older ▼", "The promise below in the list")
        self._heed(self.newer, self._up)
        self._heed(self.older, self._down)
        self.answer = ipywidgets.HTML(layout=ANSWER)
        self._matching: list[_Tagged] = []
        self._read()
        controls = (self.schedule, self.tag, self.promise, self.newer, self.older)
        self._assemble(controls, (self.answer,))

    def show(self) -> None:
        """Read the engine anew, after something happened in it."""
        self._read()
        self._follow()

    def static(self) -> HTML:
        """Return the question and its answer as they stand, as HTML that needs no kernel."""
        listed = [
            (row.id, row.state, format_instant(row.created_at)) for row in self._matching[:_LISTED]
        ]
        names = ("promise", "state", "created at")
        table = _html.table(listed, names, total=len(self._matching)) if listed else ""
        return shown(self._answer() + table)

    def _up(self, _button: object = None) -> None:
        self._move(-1)

    def _down(self, _button: object = None) -> None:
        self._move(1)

    def _move(self, by: int) -> None:
        if self.promise.options:
            last = len(self.promise.options) - 1
            self.promise.index = min(max(self.promise.index + by, 0), last)

    def _read(self) -> None:
        rows = islice(reversed(self._engine.state.promises.values()), _MOST_READ)
        self._promises = []
        counts: dict[str, int] = dict.fromkeys(self._engine.state.schedules, 0)
        offered: dict[str, None] = {}
        for row in rows:
            tags = row.all_tags()
            schedule = None if row.firing is None else row.firing.schedule_id
            if schedule is not None:
                counts[schedule] = counts.get(schedule, 0) + 1
            pairs = [f"{name}={value}" for name, value in tags.items()]
            if len(offered) < _OFFERED:
                offered.update(dict.fromkeys(_offered(tags)))
            found = _Tagged(row.id, schedule, row.state, row.created_at, tags, "\n".join(pairs))
            self._promises.append(found)
        chosen = self.schedule.value
        names = sorted(counts)[:_MOST_OFFERED]
        options = [(f"{_html.plain(name, 80)} ({counts[name]:,})", name) for name in names]
        self.schedule.options = [(f"all ({len(self._promises):,})", _ANY), *options]
        self.schedule.value = chosen if chosen in names else _ANY
        self.tag.options = list(offered)

    def _follow(self, _change: object = None) -> None:
        schedule, text = self.schedule.value, self.tag.value
        self._matching = [
            row
            for row in self._promises
            if text in row.text and (schedule == _ANY or schedule == row.schedule)
        ]
        options = [(_label(row), row.id) for row in self._matching[:_LISTED]]
        if self.promise.options != tuple(options):
            chosen, ids = self.promise.value, [id for _, id in options]
            self.promise.options = options
            # Which is followed in its turn, and finds the options as they are.
            self.promise.value = chosen if chosen in ids else next(iter(ids), None)
        self.answer.value = self._answer()

    def _answer(self) -> str:
        found = next((row for row in self._matching if row.id == self.promise.value), None)
        count = len(self._matching)
        total = len(self._engine.state.promises)
        of = f"{count:,} promise{'' if count == 1 else 's'} of {total:,}"
        first = f", the newest {_LISTED} are listed" if count > _LISTED else ""
        read = f" The newest {_MOST_READ:,} were read." if total > _MOST_READ else ""
        head = f'<p role="status">{of}{first}.{read}</p>'
        if found is None:
            return body(head, "<p>No promise has such a tag.</p>" if total else "")
        tags = list(found.tags.items())[:_TABLED]
        born = f"schedule {_html.escape(found.schedule, 60)}" if found.schedule else "a client"
        words = (
            f"<p><code>{_html.escape(found.id)}</code> is {_html.escape(found.state)}, created by "
            f"{born} for {format_instant(found.created_at)}.</p>"
        )
        table = _html.table(
            tags, ("tag", "value"), limit=_TABLED, caption="Its tags", total=len(found.tags)
        )
        tree = self._engine.tree(found.id)._repr_html_()
        return body(head, words, side_by_side(table, f"<strong>What it called</strong>{tree}"))


def _label(row: _Tagged) -> str:
    return f"{_html.plain(row.id, 80)}  ·  {row.state}"


def _offered(tags: dict[str, str]) -> list[str]:
    """Return the tags that many promises share, as far as they can be typed."""
    pairs = (name if name in LINEAGE_TAGS else f"{name}={value}" for name, value in tags.items())
    return [pair for pair in pairs if len(pair) <= _OFFERED_LENGTH and _html.plain(pair) == pair]
