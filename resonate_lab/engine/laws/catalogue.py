"""What a law is, and how one is written.

A law is a function under one of the decorators below. Its name is the law's name, the
first line of its docstring the statement, and of each record it says

- None: the law's "if" part is not true of it, so there is nothing to say
- True or False: it is, and the law holds or is broken

so one function tells that a law is broken, and also that it has been put to the test. The
marks tell who keeps it, in the order of `KEEPERS`:

- Y: as the specification's catalogue states it
- R: as restated here; the note says why
- D: because requests are refused that the specification's own model does not check
- N: not; it is left out, and the note says why

A restated law asks the profile for a rule, never for its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from resonate_lab.engine.laws.picture import Move, Picture
from resonate_lab.engine.rows import PromiseRow, ScheduleRow, TaskRow
from resonate_lab.protocol.profile import Profile

__all__ = [
    "KEEPERS",
    "Cases",
    "Claim",
    "Law",
    "promise_after",
    "promise_before",
    "promise_law",
    "schedule_law",
    "state_law",
    "step_law",
    "task_after",
    "task_before",
    "task_law",
    "wire_law",
]

#: The profiles in the order of a law's marks.
KEEPERS: Final = ("spec", "standard", "server", "reference")

#: None where a law has nothing to say, else whether it holds.
Claim: TypeAlias = bool | None
#: The ids of the records to which a law speaks, and whether it holds there.
Cases: TypeAlias = Iterator[tuple[str, bool]]
Kind: TypeAlias = Literal["state", "transition", "wire"]


@dataclass(frozen=True, slots=True, repr=False)
class Law:
    """A named property of every state, of every step, or of what a record shows.

    Attributes
    ----------
    name : str
        word for word that of the specification's catalogue
    kind : str
        ``state``, ``transition`` or ``wire``
    statement : str
    marks : tuple of str
        who keeps it, in the order of `KEEPERS`: Y, R, D or N
    note : str
        what a mark other than Y means here
    catalogued : bool
        whether it is one of the catalogue's 95
    keeps : callable
        whether the rules of a profile keep it
    cases : callable
        the records to which it speaks in a move, and whether it holds there
    """

    name: str
    kind: Kind
    statement: str
    marks: tuple[str, ...]
    note: str
    catalogued: bool
    keeps: Callable[[Profile], bool]
    cases: Callable[[Move], Cases]

    def broken(self, move: Move) -> Iterator[str]:
        """Yield the ids of the records that break it."""
        return (subject for subject, holds in self.cases(move) if not holds)

    def row(self) -> dict[str, str]:
        """Return the law as a row of a table, with a column for each profile."""
        marks = dict(zip(KEEPERS, self.marks, strict=True))
        return {"name": self.name, "kind": self.kind, "statement": self.statement} | marks

    def __repr__(self) -> str:
        """Return kind, name and statement."""
        return f"<{self.kind} law {self.name}: {self.statement}>"


F = TypeVar("F", bound=Callable[..., object])


class _Family(Generic[F]):
    """The decorator of laws that are written alike.

    Parameters
    ----------
    kind : str
    spread : callable
        applies a function to all records of a move
    """

    def __init__(self, kind: Kind, spread: Callable[[F, Move], Cases]) -> None:
        self.kind: Kind = kind
        self.spread = spread

    def __call__(
        self,
        marks: str = "Y Y Y Y",
        note: str = "",
        *,
        keeps: Callable[[Profile], bool] | None = None,
        catalogued: bool = True,
    ) -> Callable[[F], Law]:
        """Return the decorator; by default a law is kept unless all marks are N."""
        by = tuple(marks.split())
        kept = any(mark != "N" for mark in by)

        def decorate(function: F) -> Law:
            statement = (function.__doc__ or "").partition("\n")[0]
            return Law(
                function.__name__,
                self.kind,
                statement,
                by,
                note,
                catalogued,
                keeps or (lambda rules: kept),
                lambda move: self.spread(function, move),
            )

        return decorate


def _of_promises(law: Callable[[int, PromiseRow], Claim], move: Move) -> Cases:
    for id, row in move.after.promises.items():
        if (claim := law(move.now, row)) is not None:
            yield id, claim


def _of_tasks(law: Callable[[TaskRow], Claim], move: Move) -> Cases:
    last: TaskRow | None = None
    claim: Claim = None
    for id, task in move.after.tasks.items():
        # Tasks in like condition share their row, and stand together.
        if task is not last:
            last, claim = task, law(task)
        if claim is not None:
            yield id, claim


def _of_schedules(law: Callable[[ScheduleRow], Claim], move: Move) -> Cases:
    for id, row in move.after.schedules.items():
        if (claim := law(row)) is not None:
            yield id, claim


def _of_promises_before(
    law: Callable[[Move, PromiseRow, PromiseRow | None], Claim], move: Move
) -> Cases:
    for id, row in move.before.promises.items():
        if (claim := law(move, row, move.after.promises.get(id))) is not None:
            yield id, claim


def _of_promises_after(
    law: Callable[[Move, PromiseRow | None, PromiseRow], Claim], move: Move
) -> Cases:
    for id, row in move.after.promises.items():
        if (claim := law(move, move.before.promises.get(id), row)) is not None:
            yield id, claim


def _of_tasks_before(
    law: Callable[[Move, str, TaskRow, TaskRow | None], Claim], move: Move
) -> Cases:
    for id, task in move.before.tasks.items():
        if (claim := law(move, id, task, move.after.tasks.get(id))) is not None:
            yield id, claim


def _of_tasks_after(
    law: Callable[[Move, str, TaskRow | None, TaskRow], Claim], move: Move
) -> Cases:
    for id, task in move.after.tasks.items():
        if (claim := law(move, id, move.before.tasks.get(id), task)) is not None:
            yield id, claim


#: ``law(now, promise)``
promise_law = _Family("state", _of_promises)
#: ``law(task)``
task_law = _Family("state", _of_tasks)
#: ``law(schedule)``
schedule_law = _Family("state", _of_schedules)
#: ``law(now, picture)`` yields cases
state_law = _Family[Callable[[int, Picture], Cases]](
    "state", lambda law, move: law(move.now, move.after)
)
#: ``law(move, promise, promise_or_none)``, of each promise there was
promise_before = _Family("transition", _of_promises_before)
#: ``law(move, promise_or_none, promise)``, of each promise there is
promise_after = _Family("transition", _of_promises_after)
#: ``law(move, id, task, task_or_none)``, of each task there was
task_before = _Family("transition", _of_tasks_before)
#: ``law(move, id, task_or_none, task)``, of each task there is
task_after = _Family("transition", _of_tasks_after)
#: ``law(move)`` yields cases
step_law = _Family[Callable[[Move], Cases]]("transition", lambda law, move: law(move))
#: ``law(picture)`` yields cases
wire_law = _Family[Callable[[Picture], Cases]]("wire", lambda law, move: law(move.after))
