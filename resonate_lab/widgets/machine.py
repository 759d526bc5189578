"""The time machine: an engine step by step, forwards and back."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Mapping
from itertools import chain, compress, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import ipywidgets
from IPython.display import HTML

from resonate_lab import _html
from resonate_lab.engine import Engine
from resonate_lab.errors import ResonateLabError
from resonate_lab.instants import format_duration, format_instant
from resonate_lab.protocol.records import TARGET_TAG
from resonate_lab.widgets.base import (
    ANSWER,
    ROWS,
    WHOLE_LABEL,
    body,
    button,
    control,
    figures,
    sentence,
    shown,
    side_by_side,
)
from resonate_lab.widgets.beside import Beside, Superseded, running_loop

if TYPE_CHECKING:
    from resonate_lab.protocol.records import Step

__all__ = ["TimeMachine"]

_PACES = (("1 step a second", 1000), ("3 steps a second", 333), ("10 steps a second", 100))
_MOST_STEPS = 1_000_000  # of one play; the page counts them
_LIGHT = 2_000  # rows and overdue ticks of an engine that is moved at once; more are beside
_MOST_ROWS = 2_000_000  # in all moments that can be gone back to; a row is a pointer in each


class _Moment(NamedTuple):
    """An engine at an instant, and how many steps it had taken."""

    engine: Engine
    steps: int

    @classmethod
    def of(cls, engine: Engine) -> _Moment:
        return cls(engine, engine.state.steps)

    @property
    def rows(self) -> int:
        state = self.engine.state
        return len(state.promises) + len(state.schedules) + len(state.trace)

    def progress(self) -> tuple[str, float]:
        """Return how far the engine is while it moves; who knows which share that is?"""
        return f"Taking steps: {len(self.engine.state.promises):,} promises", 1.0


class TimeMachine(Beside):
    """Walk through an engine's time, forwards and back, and see what each step does.

    *Step* takes one step; *Next instant* lets time pass to the next instant at which
    something is due, and takes all that is due then; *Back* undoes the last of these. The
    player takes step after step; its clock runs in the page, so the kernel is free between
    two steps. In a notebook an engine of more than some 2,000 schedules, promises and missed
    ticks is moved beside the kernel, one move after another; a bar counts promises meanwhile.

    Parameters
    ----------
    engine : Engine
        where to begin; it stays as it is, the machine walks a copy

    Attributes
    ----------
    engine : Engine
        the one on show. After changing it by a request, call `show`.
    forward, onward, back : ipywidgets.Button
        one step; the next instant; back
    play, pace : ipywidgets.Play, ipywidgets.Dropdown
        the player: it steps whenever its ``value`` grows
    progress : ipywidgets.FloatProgress
        shown while a move is under way
    answer : ipywidgets.HTML
        what happened last, and what is stored

    Raises
    ------
    TypeError
        `engine` is no Engine

    Notes
    -----
    Each moment that can be gone back to is a fork of the engine. As many are kept as have
    two million rows together; the oldest make room.

    Examples
    --------
    >>> engine = Engine(now="2024-01-01")
    >>> nightly = engine.schedules.create("nightly", cron="0 2 * * *", target="poll://any@default")
    >>> machine = TimeMachine(engine)
    >>> machine.forward.click()
    >>> machine.engine.now, len(machine.engine.promises), len(engine.promises)
    (Timestamp('2024-01-01 02:00:00+0000', tz='UTC'), 1, 0)
    >>> machine.back.click()
    >>> len(machine.engine.promises)
    0
    >>> machine.close()
    """

    def __init__(self, engine: Engine) -> None:
        if not isinstance(engine, Engine):
            raise TypeError(
                f"engine is {engine!r:.80} of type {type(engine).__name__}; give an Engine, such "
                "as resonate_lab.Engine(now='2024-01-01')"
            )
        self._moments = deque([_Moment.of(engine.fork())])
        self._said = ""
        self._waiting: deque[_Move | None] = deque()
        super().__init__()
        self.forward = button("Step", "Take one step, at the instant at which it is due")
        self.onward = button("Next instant", "Go to where something is due, and take all of it")
        self.back = button("Back", "Undo the last step or jump")
        self.play = ipywidgets.Play(
            max=_MOST_STEPS,
            interval=_PACES[0][1],
            show_repeat=False,
            description="Play",
            tooltip="Play, pause",
            layout={"flex": "0 0 auto", "width": "auto"},
        )
        self.pace = ipywidgets.Dropdown(
            options=_PACES, description="Pace", style=WHOLE_LABEL, layout=control("12em")
        )
        self.pace.layout.max_width = "18em"
        self.answer = ipywidgets.HTML(layout=ANSWER)
        for pressed, act in (
            (self.forward, self._step),
            (self.onward, self._jump),
            (self.back, self._return),
            (self.play, self._played),
            (self.pace, self._paced),
        ):
            self._heed(pressed, act)
        controls = (self.back, self.forward, self.onward, self.play, self.pace)
        self._assemble(controls, (self.progress, self.answer))

    @property
    def engine(self) -> Engine:
        """The engine on show."""
        return self._moments[-1].engine

    def show(self) -> None:
        """Draw anew, after the engine on show was changed by a request."""
        self.answer.value = self._answer()

    def static(self) -> HTML:
        """Return what is on show as HTML that needs no kernel."""
        return shown(self._answer())

    def _follow(self, _change: object = None) -> None:
        self.show()

    def _step(self, _button: object = None) -> None:
        self._go(Engine.step)

    def _jump(self, _button: object = None) -> None:
        self._go(_take_instant)

    def _return(self, _button: object = None) -> None:
        self._go(None)

    def _played(self, change: Mapping[str, Any]) -> None:
        # The page's clock does not wait: what it asks for while a move waits is left out.
        if change["new"] > change["old"] and not self._waiting:
            self._step()

    def _paced(self, change: Mapping[str, Any]) -> None:
        self.play.interval = change["new"]

    def _go(self, move: _Move | None) -> None:
        """Make a move, None for back, after those that are under way."""
        loop = running_loop()
        if self._busy:
            self._waiting.append(move)
        elif move is None:
            self._undone()
        elif loop is None or _light(self.engine):
            ahead, steps = self.engine.fork(), self.engine.state.steps
            self._arrived(_Moment(ahead, steps), _refusal(move, ahead))
        else:
            self._waiting.append(move)
            self._work = loop.create_task(self._move_beside())

    async def _move_beside(self) -> None:
        """Make the moves that wait, one after another."""
        while self._waiting:
            move = self._waiting.popleft()
            if move is None:
                self._undone()
                continue
            moment = _Moment(self.engine.fork(), self.engine.state.steps)
            try:
                refusal = await self._beside(moment.progress, _refusal, move, moment.engine)
            except Superseded:
                return
            self._arrived(moment, refusal)

    def _undone(self) -> None:
        self._said = ""
        if len(self._moments) > 1:
            self._moments.pop()
        else:
            self._said = "There is no moment before this one to go back to."
        self.show()

    def _arrived(self, moment: _Moment, refusal: str) -> None:
        """Put a moved fork on show, unless there was nothing to take."""
        self._said = refusal
        if refusal:
            self.play.playing = False
        else:
            self._moments.append(moment)
            while len(self._moments) > 2 and sum(m.rows for m in self._moments) > _MOST_ROWS:
                self._moments.popleft()
        self.show()

    def _answer(self) -> str:
        now = self._moments[-1]
        before = self._moments[-2].engine if len(self._moments) > 1 else now.engine
        return _page(now, before, self._said)


_Move = Callable[[Engine], object]


def _refusal(move: _Move, engine: Engine) -> str:
    """Move an engine; return the sentence that refuses it, or nothing."""
    try:
        move(engine)
    except ResonateLabError as error:
        return sentence(str(error))
    return ""


def _light(engine: Engine) -> bool:
    """Return whether a move costs so little that the kernel can make it at once."""
    state, at = engine.state, engine.peek_ms()
    overdue = 0 if at is None else max(0, engine.now_ms - at) // 1000
    # No schedule has more than a tick a second.
    rows = len(state.schedules) + len(state.promises)
    return rows + overdue * len(state.schedules) <= _LIGHT


def _take_instant(engine: Engine) -> None:
    engine.step()
    # What the run of that instant has still to take.
    engine.run_until(engine.now_ms)


# --- what is on show ----------------------------------------------------------------------


def _page(moment: _Moment, before: Engine, said: str) -> str:
    engine = moment.engine
    state, taken = engine.state, engine.state.steps - moment.steps
    changed = _Changes(before, engine)
    # Counted in one pass: the state would make a table of them.
    tasks = [row.task for row in state.promises.values() if row.task is not None]
    messages = sum([task.queued is not None for task in tasks]) + len(state.unblocks)
    numbers = {
        "schedules": len(state.schedules),
        "promises": len(state.promises),
        "tasks": len(tasks),
        "messages in the outbox": messages,
        "steps so far": state.steps,
    }
    clock = f"{format_instant(engine.now_ms)}"
    note = f" <strong>{said}</strong>" if said else ""
    return body(
        f'<p role="status"><strong>{clock}</strong>, profile {_html.escape(engine.profile.name)}.'
        f" {_next(engine)}{note}</p>",
        figures(numbers),
        _happened(engine, taken),
        _promises(changed),
        _tasks(changed),
        side_by_side(_outbox(engine, messages), _tags(changed)),
        _schedules(changed),
    )


def _next(engine: Engine) -> str:
    at = engine.peek_ms()
    if at is None:
        return "Nothing is due any more."
    if at <= engine.now_ms:
        return "The next step is due now."
    return f"The next step is due {format_instant(at)}, in {format_duration(at - engine.now_ms)}."


def _happened(engine: Engine, taken: int) -> str:
    """Return the latest steps, newest first, those of the last move marked."""
    latest = list(islice(reversed(engine.state.trace), ROWS))
    rows = [
        (
            "new" if at < taken else "",
            format_instant(step.at),
            step.step,
            step.subject,
            _effect(step),
        )
        for at, step in enumerate(latest)
    ]
    names = ("", "at", "step", "of", "effect")
    if not rows:
        return "<p>Nothing has happened yet.</p>"
    total = min(engine.state.steps, len(engine.state.trace))
    return _html.table(rows, names, limit=ROWS, caption="What happened last", total=total)


def _effect(step: Step) -> str:
    n = step.ticks
    if n is None:
        return step.effect
    counts = {"live": n.live, "expired": n.expired, "existed": n.existed}
    told = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    return f"{step.effect}: {n.fired:,} tick{'s' if n.fired > 1 else ''} ({told})"


class _Changes:
    """What one engine has that an earlier one had not, or had in another form.

    Rows never change, so one that is the same object is the same.
    """

    def __init__(self, before: Engine, after: Engine) -> None:
        self.engine = after
        self._before = before.state
        self.promises = self._first(after.state.promises, before.state.promises)
        self.schedules = self._first(after.state.schedules, before.state.schedules)

    @staticmethod
    def _first(now: dict[str, Any], was: dict[str, Any]) -> list[tuple[str, Any]]:
        """Return the rows to show with their marks: what changed, then the newest."""
        # The look at every row stays within C; the newest come first.
        differs = map(operator.is_not, reversed(now.values()), map(was.get, reversed(now)))
        changed = dict(islice(compress(reversed(now.items()), differs), ROWS))
        marked = [("changed" if key in was else "new", row) for key, row in changed.items()]
        newest = islice(reversed(now.items()), 2 * ROWS)
        rest = [("", row) for key, row in newest if key not in changed]
        return (marked + rest)[:ROWS]


def _schedules(changes: _Changes) -> str:
    rows = [
        (mark, row.id, row.cron, _instant(row.last_run_at), _instant(row.next_run_at))
        for mark, row in changes.schedules
    ]
    names = ("", "id", "cron", "last run", "next run")
    return _table("Schedules", rows, names, len(changes.engine.state.schedules))


def _promises(changes: _Changes) -> str:
    rows = [
        (mark, row.id, row.state, *map(_instant, (row.created_at, row.timeout_at, row.settled_at)))
        for mark, row in changes.promises
    ]
    names = ("", "id", "state", "created at", "timeout at", "settled at")
    return _table("Promises", rows, names, len(changes.engine.state.promises))


def _tasks(changes: _Changes) -> str:
    rows = [
        (mark, row.id, row.task.state, row.task.version, row.task.pid or "", _deadline(row.task))
        for mark, row in changes.promises
        if row.task is not None
    ]
    names = ("", "id", "state", "version", "holder", "deadline")
    return _table("Tasks of these promises", rows, names, len(rows))


def _deadline(task: Any) -> str:
    if task.expires_at is not None:
        return f"lease ends {format_instant(task.expires_at)}"
    return "" if task.retry_at is None else f"sent again {format_instant(task.retry_at)}"


def _outbox(engine: Engine, total: int) -> str:
    state = engine.state
    executes = (
        ("execute", row.id, row.tags.get(TARGET_TAG, ""))
        for row in reversed(state.promises.values())
        if row.task is not None and row.task.queued is not None
    )
    unblocks = (("unblock", id, address) for id, address in reversed(state.unblocks))
    latest = list(islice(chain(executes, unblocks), ROWS))
    return _table("Outbox", latest, ("message", "promise", "to"), total)


def _tags(changes: _Changes) -> str:
    if not changes.promises:
        return ""
    row = changes.promises[0][1]
    tags = row.all_tags()
    caption = f"Tags of {_html.plain(row.id, 60)}"
    return _table(caption, list(tags.items())[:ROWS], ("tag", "value"), len(tags))


def _table(caption: str, rows: list[tuple[Any, ...]], names: tuple[str, ...], total: int) -> str:
    if not rows:
        return f"<p><strong>{_html.escape(caption)}</strong>: none.</p>"
    return _html.table(rows, names, limit=ROWS, caption=caption, total=total)


def _instant(ms: int | None) -> str:
    return "" if ms is None else format_instant(ms)
