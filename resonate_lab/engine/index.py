"""Orders over the promises, built when first asked for and kept up from then on.

Promises come and never go, and their tags never change: what a list holds stays right,
and only what came since has to be put in.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import TypeAlias

from resonate_lab.engine.rows import Firing, PromiseRow
from resonate_lab.protocol.records import LINEAGE_TAGS, SCHEDULE_TAG

__all__ = ["Index", "merge"]

# Tags, firing, and the promises that have both in common: one id, or many.
_Alike: TypeAlias = tuple[Mapping[str, str], Firing | None, str | list[str]]

_tags_and_firing = attrgetter("tags", "firing")


def merge(ids: list[str], new: list[str]) -> None:
    """Put new ids into a sorted list.

    The order of code points, which Python compares by, is that of the bytes of UTF-8.
    """
    new.sort()
    if not ids or (new and ids[-1] < new[0]):
        ids += new
    elif len(new) < 32:
        for id in new:
            insort(ids, id)
    else:
        ids += new
        ids.sort()


class Index:
    """The ids of the promises in byte order: all of them, or those with a tag.

    Parameters
    ----------
    promises : mapping of str to PromiseRow
    created : sequence of str
        the ids in the order of creation; it only grows
    """

    def __init__(self, promises: Mapping[str, PromiseRow], created: Sequence[str]) -> None:
        self._promises = promises
        self._created = created
        self._all: list[str] = []
        self._alike: list[_Alike] = []
        self._grouped = 0
        self._tags: dict[str, _Tag] = {}

    def clear(self) -> None:
        """Forget everything, to be built anew."""
        self._all.clear()
        self._alike.clear()
        self._grouped = 0
        self._tags.clear()

    def ids(self) -> list[str]:
        """Return all ids in byte order. O(n log n) at first, then O(what is new)."""
        if len(self._all) < len(self._created):
            merge(self._all, list(self._created[len(self._all) :]))
        return self._all

    def tagged(self, name: str, text: str) -> list[str]:
        """Return the ids of the promises with a tag, in byte order.

        O(n) the first time that tags are asked for; then O(what is new), and for a name not
        asked for before O(sets of tags there are): those of a firing are one.
        """
        self._group()
        tag = self._tags.setdefault(name, _Tag(name))
        tag.add(self._alike)
        found = tag.ids.get(text, [])
        if name in LINEAGE_TAGS:
            # A fired promise names itself here; that is not worth a list for each of them.
            row = self._promises.get(text)
            if row is not None and row.firing is not None and row.firing.adds_tags:
                at = bisect_left(found, text)
                found = [*found[:at], text, *found[at:]]
        return found

    def _group(self) -> None:
        """Put together what is new and comes from one firing: it shares its tags."""
        new = [self._promises[id] for id in self._created[self._grouped :]]
        self._grouped += len(new)
        for (tags, firing), rows in groupby(new, key=_tags_and_firing):
            ids = [row.id for row in rows]
            self._alike.append((tags, firing, ids if len(ids) > 1 else ids[0]))


class _Tag:
    """The ids by the text of one tag."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen = 0
        self.ids: dict[str, list[str]] = {}

    def add(self, alike: list[_Alike]) -> None:
        """Take in the groups that came since the last time."""
        new: dict[str, list[str]] = {}
        for tags, firing, ids in alike[self.seen :]:
            text = tags.get(self.name)
            if firing is not None and firing.adds_tags:
                if self.name in LINEAGE_TAGS:
                    continue
                if self.name == SCHEDULE_TAG:
                    text = firing.schedule_id
            if text is not None:
                new.setdefault(text, []).extend([ids] if isinstance(ids, str) else ids)
        self.seen = len(alike)
        for text, ids in new.items():
            merge(self.ids.setdefault(text, []), ids)
