"""The laws of what a record shows: the inner life of promises and tasks stays inside."""

from __future__ import annotations

from resonate_lab.engine.laws.catalogue import Cases, wire_law
from resonate_lab.engine.laws.picture import Picture


@wire_law(catalogued=False)
def well_formed_promise_record_hides_callbacks(picture: Picture) -> Cases:
    """The record of a promise does not show who awaits it."""
    return ((id, "callbacks" not in p.record().to_wire()) for id, p in picture.promises.items())


@wire_law(catalogued=False)
def well_formed_promise_record_hides_listeners(picture: Picture) -> Cases:
    """The record of a promise does not show who listens to it."""
    return ((id, "listeners" not in p.record().to_wire()) for id, p in picture.promises.items())


@wire_law(catalogued=False)
def well_formed_task_record_hides_deadlines(picture: Picture) -> Cases:
    """The record of a task does not show when its lease ends or its message goes out again."""
    for id, t in picture.tasks.items():
        yield id, t.record(id) == t._replace(expires_at=7, retry_at=7).record(id)


@wire_law(catalogued=False)
def well_formed_task_record_resumes_is_a_count(picture: Picture) -> Cases:
    """The record of a task shows how many promises resumed it, not which."""
    for id, t in picture.tasks.items():
        yield id, t.record(id).resumes == len(t.resumes)
