"""The tag inspector: from schedules to the promises they fired, to their tags and calls."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import ipywidgets
from IPython.display import HTML

from resonate_lab import _html
from resonate_lab.engine import Engine
from resonate_lab.instants import format_instant
from resonate_lab.protocol.records import LINEAGE_TAGS
from resonate_lab.widgets.base import (
    ANSWER,
    WHOLE_LABEL,
    body,
    button,
    control,
    shown,
    side_by_side,
)
from resonate_lab.widgets.beside import Beside, Superseded, running_loop

if TYPE_CHECKING:
    from resonate_lab.engine.rows import PromiseRow

__all__ = ["TagInspector"]

_MOST_READ = 100_000  # promises, the newest
_READ_AT_ONCE = 5_000  # promises; the tags of more are read beside the kernel
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


class _Read(NamedTuple):
    """What was read of an engine's promises, the newest first."""

    promises: list[_Tagged]
    counts: dict[str, int]  # promises by schedule
    offered: list[str]  # tags to choose from


class TagInspector(Beside):
    """Follow a schedule to the promises it fired, to their tags, to what they called.

    In a notebook the tags of more than 5,000 promises are read beside the kernel, which stays
    free; a bar shows how far that is, and what was read before stands meanwhile.

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
    progress : ipywidgets.FloatProgress
        how far reading is, 0 to 1
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

    _unread: list[PromiseRow] | None = None

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
        self._promises: list[_Tagged] = []
        controls = (self.schedule, self.tag, self.promise, self.newer, self.older)
        self._read_anew()
        self._assemble(controls, (self.progress, self.answer))

    def show(self) -> None:
        """Read the engine anew, after something happened in it."""
        self._read_anew()
        self._follow()

    def _read_anew(self) -> None:
        # Rows never change, so those of now can be read at leisure.
        rows = list(islice(reversed(self._engine.state.promises.values()), _MOST_READ))
        loop = running_loop()
        if self._busy:
            self._unread = rows
        elif loop is None or len(rows) <= _READ_AT_ONCE:
            self._offer(self._read(rows))
        else:
            self._unread = rows
            self._work = loop.create_task(self._read_beside())

    async def _read_beside(self) -> None:
        """Read what is unread, and anew if there is more by then."""
        while (rows := self._unread) is not None:
            self._unread = None
            try:
                found = await self._beside(self._look, self._read, rows)
            except Superseded:
                return
            self._offer(found)
            self._follow()

    def _look(self) -> tuple[str, float]:
        return "Reading tags", self._share

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

    def _read(self, rows: Sequence[PromiseRow]) -> _Read:
        promises, counts, offered = [], dict[str, int](), dict[str, None]()
        for at, row in enumerate(rows):
            tags = row.all_tags()
            schedule = None if row.firing is None else row.firing.schedule_id
            if schedule is not None:
                counts[schedule] = counts.get(schedule, 0) + 1
            pairs = [f"{name}={value}" for name, value in tags.items()]
            if len(offered) < _OFFERED:
                offered.update(dict.fromkeys(_offered(tags)))
            found = _Tagged(row.id, schedule, row.state, row.created_at, tags, "\n".join(pairs))
            promises.append(found)
            self._share = at / len(rows)
        return _Read(promises, counts, list(offered))

    def _offer(self, read: _Read) -> None:
        """Let the controls choose among what was read."""
        self._promises = read.promises
        counts = dict.fromkeys(self._engine.state.schedules, 0) | read.counts
        names = sorted(counts)[:_MOST_OFFERED]
        options = [(f"{_html.plain(name, 80)} ({counts[name]:,})", name) for name in names]
        chosen = self.schedule.value
        self.schedule.options = [(f"all ({len(self._promises):,})", _ANY), *options]
        self.schedule.value = chosen if chosen in names else _ANY
        self.tag.options = read.offered

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
        if total and not self._promises:
            return body('<p role="status">The tags of the promises are being read.</p>')
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
