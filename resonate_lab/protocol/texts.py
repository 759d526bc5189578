"""Texts with a meaning: addresses, delays, ancestry of ids, templates of promise ids."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from resonate_lab.protocol.records import DELAY_TAG
from resonate_lab.protocol.shapes import I64_MAX

__all__ = [
    "ID_LIMIT",
    "delay_of",
    "descends",
    "expanded_length",
    "is_address",
    "origin_of",
    "template_parts",
]

#: Characters of a promise id that a schedule may make.
ID_LIMIT: Final = 2**22

_ID_MARK = "{{.id}}"
_TICK_MARK = "{{.timestamp}}"

_DELAY = re.compile(r"\+?0*([0-9]{1,19})|-0+", re.ASCII)
_POLL = re.compile(r"(?:uni|any)@[^/@\s]+(?:/\S+)?")
_PROJECT = re.compile(r"[^/\s]+/\S+")
_HOST = re.compile(r"[^/?#\s]\S*")
_ANY = re.compile(r"\S*")
_ROUTED = {"http": _HOST, "https": _HOST, "bash": _ANY, "poll": _POLL, "gcps": _PROJECT}


def delay_of(tags: Mapping[str, str]) -> int | None:
    """Return the instant before which no execute message may leave, or None.

    Examples
    --------
    >>> delay_of({"resonate:delay": "1704067200000"}), delay_of({"resonate:delay": "1.5"})
    (1704067200000, None)
    """
    found = _DELAY.fullmatch(tags.get(DELAY_TAG, ""))
    delay = int(found[1] or 0) if found else None
    return delay if delay is not None and delay <= I64_MAX else None


def template_parts(template: str, schedule_id: str) -> list[str]:
    """Return what stands around the tick in the promise ids of a schedule.

    The id is filled in first, so one that holds ``{{.timestamp}}`` is itself expanded;
    nothing else is.

    Examples
    --------
    >>> "1783978446000".join(template_parts("report.{{.id}}.{{.timestamp}}", "nightly"))
    'report.nightly.1783978446000'
    """
    return template.replace(_ID_MARK, schedule_id).split(_TICK_MARK)


def expanded_length(template: str, schedule_id: str) -> int:
    """Return about how long the promise ids get, without making one."""
    return len(template) + template.count(_ID_MARK) * len(schedule_id)


def descends(id: str, ancestor: str, separators: tuple[str, ...]) -> bool:
    """Return whether an id is that of an ancestor or stands below it.

    Examples
    --------
    >>> descends("a:1", "a", (":", ".")), descends("ab", "a", (":", "."))
    (True, False)
    """
    return id == ancestor or id.startswith(tuple(ancestor + mark for mark in separators))


def origin_of(id: str, separators: tuple[str, ...]) -> str:
    """Return the id of the root of a call graph: what stands before the first separator.

    Examples
    --------
    >>> origin_of("report:1.2", (":", ".")), origin_of("report", (":", "."))
    ('report', 'report')
    """
    return min((id.partition(mark)[0] for mark in separators), key=len, default="")


def is_address(text: str, routed: bool = True) -> bool:
    """Return whether messages can be sent to an address.

    Parameters
    ----------
    text : str
    routed : bool
        ask what the server's transports take; otherwise what the specification calls
        deliverable: HTTP, or a poll address with a group

    Examples
    --------
    >>> is_address("poll://any@default"), is_address("poll://default"), is_address("worker")
    (True, False, False)
    """
    if not routed:
        return text.startswith(("http://", "https://")) or (
            text.startswith("poll://") and "@" in text
        )
    scheme, found, rest = text.partition("://")
    pattern = _ROUTED.get(scheme.lower())
    return bool(found and pattern and pattern.fullmatch(rest))
