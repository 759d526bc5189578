"""The laws: named properties of every state, of every step, and of what records show.

The names are those of the specification's catalogue; `LAWS` holds its 95 and the few that
stand beside it. The files go by subject: one promise, one task, one schedule, and several
records together. `docs/design.md` says why a law is a function and what the marks mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Final, NamedTuple

from resonate_lab._html import table
from resonate_lab.engine.internal import collector_paused
from resonate_lab.engine.laws import obligations, outbox, promise, schedule, task, wire
from resonate_lab.engine.laws.catalogue import KEEPERS, Kind, Law
from resonate_lab.engine.laws.picture import DELIVERY, RUN, Move, Picture

if TYPE_CHECKING:
    from resonate_lab.engine.state import State

__all__ = [
    "DELIVERY",
    "KEEPERS",
    "LAWS",
    "RUN",
    "Law",
    "Move",
    "Picture",
    "Violation",
    "Violations",
    "step_violations",
    "violations",
]


def _laws_of(*modules: ModuleType) -> dict[str, Law]:
    found = (item for module in modules for item in vars(module).values())
    return {item.name: item for item in found if isinstance(item, Law)}


#: All laws by name.
LAWS: Final[Mapping[str, Law]] = _laws_of(promise, task, schedule, obligations, outbox, wire)


class Violation(NamedTuple):
    """A law that is broken, and the id of a record that breaks it."""

    law: str
    subject: str


class Violations(list[Violation]):
    """Broken laws; empty if all is well."""

    def _repr_html_(self) -> str:
        if not self:
            return table([], ["no law is broken"])
        rows = ((*item, LAWS[item.law].statement) for item in self)
        return table(rows, ["law", "subject", "statement"], total=len(self))


def violations(now: int, state: State | Picture) -> Violations:
    """Return the laws of the state that are broken at `now`, ms since the Unix epoch, UTC.

    Cost: O(number of records), some microseconds each.

    Examples
    --------
    >>> from resonate_lab import Engine
    >>> engine = Engine(now="2024-01-01")
    >>> violations(engine.now_ms, engine.state)
    []
    """
    picture = state if isinstance(state, Picture) else Picture.with_agenda(state)
    return _broken("state", Move(now, picture, picture))


def step_violations(now: int, before: Picture, after: Picture) -> Violations:
    """Return the laws of the step that are broken between two pictures.

    `after.step` says what led from the one to the other, since some profiles make an
    exception for some steps.
    """
    return _broken("transition", Move(now, before, after))


def _broken(kind: Kind, move: Move) -> Violations:
    rules = move.after.rules
    judged = (law for law in LAWS.values() if law.kind == kind and law.keeps(rules))
    with collector_paused():
        return Violations(Violation(law.name, id) for law in judged for id in law.broken(move))
