"""Schedules as other systems print them: Kubernetes, EventBridge and Airflow.

A record of theirs becomes a flat one with the columns of a fleet. YAML is read event by
event into plain dicts, lists and texts: nothing in it is executed or converted, an alias is
one more reference to what it names, and depth and number are bounded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from resonate_lab.errors import FleetError

__all__ = ["from_yaml", "records"]

_DEEPEST = 200  # a manifest has some twenty levels
_MOST_ALIASES = 10_000
_LISTS = ("List", "CronJobList")
_QUOTES = "put quotes round a schedule that begins with '*'"

_Node = dict[object, object] | list[object]


def records(name: str, page: object) -> Iterator[object]:
    """Yield the schedules of a JSON value, those of known systems as flat records.

    Raises
    ------
    FleetError
        the page lists schedules without their expressions
    """
    if isinstance(page, list):
        for item in page:
            yield from records(name, item) if isinstance(item, list) else _listed(name, item)
    else:
        yield from _listed(name, page)


def _listed(name: str, page: object) -> Iterator[object]:
    if not isinstance(page, dict):
        yield page
        return
    if page.get("kind") in _LISTS and isinstance(page.get("items"), list):
        yield from (_cronjob(item) for item in page["items"] if _is_cronjob(item))
        return
    for key in ("schedules", "Schedules", "Rules", "dags"):
        if isinstance(page.get(key), list):
            for item in page[key]:
                yield _flat(name, item)
            return
    wrapped = page.get("schedule")
    yield wrapped if isinstance(wrapped, dict) else _flat(name, page)


def _flat(name: str, record: object) -> object:
    if not isinstance(record, dict):
        return record
    if _is_cronjob(record):
        return _cronjob(record)
    if "Arn" in record and "Name" in record:
        return _eventbridge(name, record)
    if "dag_id" in record:
        return {key: _airflow_cell(cell) for key, cell in record.items()}
    return record


def _is_cronjob(record: object) -> bool:
    return isinstance(record, dict) and record.get("kind") == "CronJob"


def _cronjob(record: dict[str, Any]) -> dict[str, object]:
    metadata, spec = (record.get(key) for key in ("metadata", "spec"))
    metadata = metadata if isinstance(metadata, dict) else {}
    spec = spec if isinstance(spec, dict) else {}
    named = [metadata.get("namespace"), metadata.get("name") or metadata.get("generateName")]
    return {
        "id": "/".join(str(part) for part in named if part),
        "cron": spec.get("schedule"),
        "zone": spec.get("timeZone"),
        "suspend": str(spec.get("suspend") or "false").lower() == "true",
        "dialect_guess": "kubernetes",
    }


def _eventbridge(name: str, record: dict[str, Any]) -> dict[str, object]:
    if "ScheduleExpression" not in record and "Target" in record:
        raise FleetError(
            f"{name} is what 'aws scheduler list-schedules' prints, which leaves the expressions "
            f"out: print each one with 'aws scheduler get-schedule --name {record['Name']!s:.80}'"
        )
    group = record.get("GroupName")
    label = record["Name"] if group in (None, "default") else f"{group}/{record['Name']}"
    return {
        "id": label,
        "cron": record.get("ScheduleExpression"),
        "zone": record.get("ScheduleExpressionTimezone"),
        "state": record.get("State"),
        "dialect_guess": "aws",
    }


def _airflow_cell(cell: object) -> object:
    """A cell of Airflow's API: {"__type": "CronExpression", "value": "0 0 * * *"}."""
    if not isinstance(cell, dict):
        return cell
    if cell.get("__type") == "TimeDelta":
        parts = {unit: cell.get(unit, 0) for unit in ("days", "seconds")}
        if all(type(part) is int and 0 <= part < 10**8 for part in parts.values()):
            return str(timedelta(**parts))
    return cell["value"] if "value" in cell else json.dumps(cell)


# --- YAML --------------------------------------------------------------------------------------


def from_yaml(name: str, text: str) -> tuple[list[int], dict[str, list[object]]]:
    """Return the CronJobs of a stream of Kubernetes manifests, by line and column.

    Parameters
    ----------
    name : str
        of the source, for messages
    text : str
        one document or several; what is no CronJob and no list is passed over

    Returns
    -------
    list of int
        the line at which each CronJob begins, from 1
    dict of str to list
        ``id``, ``cron``, ``zone``, ``suspend`` and ``dialect_guess``

    Raises
    ------
    FleetError
        the text is no YAML, is nested or aliased beyond measure, or holds no CronJob
    """
    lines: list[int] = []
    found: list[dict[str, object]] = []
    starts: dict[int, int] = {}
    for document in _documents(name, text, starts):
        listed = isinstance(document, dict) and document.get("kind") in _LISTS
        items = document.get("items") if isinstance(document, dict) and listed else [document]
        for item in items if isinstance(items, list) else []:
            if isinstance(item, dict) and _is_cronjob(item):
                lines.append(starts[id(item)])
                found.append(_cronjob(item))
    if not found:
        raise FleetError(f"{name} holds no manifest of kind CronJob")
    return lines, {head: [record[head] for record in found] for head in found[0]}


def _documents(name: str, text: str, starts: dict[int, int]) -> list[object]:
    """Return the documents of a YAML stream; `starts` gets the line of each mapping."""
    import yaml

    tree = _Tree(name, starts)
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            line = event.start_mark.line + 1 if event.start_mark else 0
            if isinstance(event, yaml.AliasEvent):
                tree.alias(event.anchor or "", line)
            elif isinstance(event, yaml.ScalarEvent):
                plain = event.implicit[0] and event.value in ("", "~", "null")
                tree.add(None if plain else event.value, event.anchor, line)
            elif isinstance(event, yaml.CollectionStartEvent):
                mapping = isinstance(event, yaml.MappingStartEvent)
                tree.open({} if mapping else [], event.anchor, line)
            elif isinstance(event, yaml.CollectionEndEvent):
                tree.close()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1} of {name}" if mark is not None else name
        problem = " ".join(str(getattr(error, "problem", None) or error).split())[:200]
        star = getattr(error, "context", None) == "while scanning an alias"
        hint = _QUOTES if star else "is the file cut off, or a template that is not rendered yet?"
        raise FleetError(f"{where} is no YAML: {problem}; {hint}") from error
    return tree.documents


class _Tree:
    """Documents under construction: nodes are put where the innermost open one expects them."""

    def __init__(self, name: str, starts: dict[int, int]) -> None:
        self.name = name
        self.documents: list[object] = []
        self._starts = starts
        self._anchors: dict[str, object] = {}
        self._aliases = 0
        # Each with the key that waits for its value, if one does.
        self._open: list[tuple[_Node, list[object]]] = []

    def add(self, node: object, anchor: str | None, line: int) -> None:
        if anchor:
            self._anchors[anchor] = node
        if not self._open:
            self.documents.append(node)
            return
        parent, key = self._open[-1]
        if isinstance(parent, list):
            parent.append(node)
        elif key:
            parent[key.pop()] = node
        elif isinstance(node, dict | list):
            raise FleetError(
                f"line {line} of {self.name} has a mapping or a list for a name, which no manifest "
                "has: is it a template that is not rendered yet?"
            )
        else:
            key.append(node)

    def open(self, node: _Node, anchor: str | None, line: int) -> None:
        self.add(node, anchor, line)
        self._starts[id(node)] = line
        self._open.append((node, []))
        if len(self._open) > _DEEPEST:
            raise FleetError(
                f"line {line} of {self.name} is nested more than {_DEEPEST} deep, which no "
                "manifest is"
            )

    def close(self) -> None:
        self._open.pop()

    def alias(self, anchor: str, line: int) -> None:
        self._aliases += 1
        if self._aliases > _MOST_ALIASES:
            raise FleetError(f"{self.name} holds more than {_MOST_ALIASES:,} aliases: split it")
        if anchor not in self._anchors:
            raise FleetError(
                f"line {line} of {self.name} refers to '*{anchor[:40]}', which nothing before it "
                f"names: {_QUOTES}"
            )
        self.add(self._anchors[anchor], None, line)
