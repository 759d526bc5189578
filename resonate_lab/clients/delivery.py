"""Who gets which message: workers in groups, and the addresses that mean them.

``poll://uni@g/p`` means process p of group g and nobody else. ``poll://any@g`` means any
member of g, and ``poll://any@g/p`` means p if it is connected, else any member. A message
leaves the engine when a member that it may go to has room for it; until then it waits
there, so who connects late, reads slowly or comes back loses nothing. Who runs for long can have
what is for processes that do not come back forgotten (`Post.forget_absent`). Other schemes are not
served: their messages stay in the engine's outbox.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from resonate_lab.engine import Engine

__all__ = ["Member", "Post"]

_POLL: Final = re.compile(r"poll://(uni|any)@([^/@\s]+)(?:/(\S+))?")


@dataclass(eq=False, slots=True)
class Member:
    """A process that listens: its place among the others, and how to wake it.

    Attributes
    ----------
    group, pid : str
    wake : callable
        called when something waits for it that nobody else was woken for; it is then to
        call `Post.take` until that returns nothing
    most_tasks : int
        how many tasks it works on at once; more of them wait with it
    is_connected : bool
    """

    group: str
    pid: str
    wake: Callable[[], None]
    most_tasks: int
    is_connected: bool = True


@dataclass(eq=False, slots=True)
class _Group:
    """The members of a group, and the addresses that hold messages for it, in order."""

    members: dict[str, Member] = field(default_factory=dict)
    idle: dict[str, None] = field(default_factory=dict)
    shared: dict[str, None] = field(default_factory=dict)
    own: dict[str, str] = field(default_factory=dict)
    preferred: dict[str, str] = field(default_factory=dict)

    def addresses(self, pid: str) -> Iterator[str]:
        """Yield the addresses of which a member may take."""
        if pid in self.own:
            yield self.own[pid]
        if pid in self.preferred:
            yield self.preferred[pid]
        yield from list(self.shared)
        # Those that mean somebody first who is not there.
        yield from [
            address for other, address in self.preferred.items() if other not in self.members
        ]

    def drop(self, address: str) -> None:
        """Note that an address holds nothing any more."""
        self.shared.pop(address, None)
        _, _, pid = _parts(address)
        for table in (self.own, self.preferred):
            if table.get(pid) == address:
                del table[pid]


class Post:
    """The delivery of an engine's messages.

    An engine has one at a time: who makes a new one gets all that waits.

    Parameters
    ----------
    engine : Engine
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._groups: dict[str, _Group] = {}
        self._absent: set[str] = set()
        engine.state.outbox.close()

    def join(
        self, group: str, pid: str, wake: Callable[[], None], most_tasks: int = 1_000_000
    ) -> Member:
        """Let a process listen; one of the same name that listened until now is cut off."""
        self.call()
        if group in self._groups and pid in self._groups[group].members:
            self.leave(self._groups[group].members[pid])
        self._absent.discard(f"poll://uni@{group}/{pid}")
        here = self._groups.setdefault(group, _Group())
        member = here.members[pid] = Member(group, pid, wake, most_tasks)
        member.wake()
        return member

    def leave(self, member: Member) -> None:
        """Let a process listen no more; what waited for any member waits for the others."""
        if member.is_connected:
            here = self._groups[member.group]
            member.is_connected = False
            del here.members[member.pid]
            here.idle.pop(member.pid, None)
            member.wake()
            # It may have been woken and not have come to it.
            self._wake_one(here)
            self._forget_if_empty(member.group)

    def forget_absent(self) -> None:
        """Drop what waits for single processes that have been away since this was last called.

        Many processes never come back, for each has a name of its own. One that does asks for
        the promises it waits for, and a task's message comes again when its retry is due.
        """
        absent = {
            address: group
            for group, here in self._groups.items()
            for pid, address in here.own.items()
            if pid not in here.members
        }
        for address in self._absent & absent.keys():
            self.engine.take_messages(address)
            group = absent.pop(address)
            self._groups[group].drop(address)
            self._forget_if_empty(group)
        self._absent = set(absent)

    def _forget_if_empty(self, group: str) -> None:
        here = self._groups[group]
        if not (here.members or here.shared or here.own or here.preferred):
            # Names of groups are free, so nobody shall fill the memory with them.
            del self._groups[group]

    def call(self) -> None:
        """Look what is new in the outbox, and wake whom it is for."""
        for address in self.engine.state.outbox.news():
            kind, group, pid = _parts(address)
            if not group:
                continue
            here = self._groups.setdefault(group, _Group())
            if kind == "uni":
                here.own[pid] = address
                self._wake(here, pid)
            elif pid:
                here.preferred[pid] = address
                if pid in here.members:
                    self._wake(here, pid)
                else:
                    self._wake_one(here)
            else:
                here.shared[address] = None
                self._wake_one(here)

    def take(self, member: Member, most: int) -> list[dict[str, object]]:
        """Take up to `most` messages for a member, oldest first; none means it may rest."""
        if not member.is_connected:
            return []
        here = self._groups[member.group]
        taken: list[dict[str, object]] = []
        for address in here.addresses(member.pid):
            wanted = most - len(taken)
            if wanted == 0:
                break
            taken += self.engine.take_messages(address, wanted)
            if not self.engine.state.outbox.waits(address):
                here.drop(address)
        if not taken:
            here.idle[member.pid] = None
        elif here.shared or here.preferred:
            self._wake_one(here)
        return taken

    def is_listening(self, pid: str) -> bool:
        """Return whether a process of that name listens in any group."""
        return any(pid in here.members for here in self._groups.values())

    def __len__(self) -> int:
        """Return how many listen."""
        return sum(len(here.members) for here in self._groups.values())

    def _wake(self, here: _Group, pid: str) -> None:
        if pid in here.idle:
            del here.idle[pid]
            here.members[pid].wake()

    def _wake_one(self, here: _Group) -> None:
        """Wake the one that has rested longest; those at work come back by themselves."""
        if here.idle:
            self._wake(here, next(iter(here.idle)))


def _parts(address: str) -> tuple[str, str, str]:
    """Return kind, group and process of an address; all empty if it is not served."""
    found = _POLL.fullmatch(address)
    if found is None or (found[1] == "uni" and not found[3]):
        return "", "", ""
    return found[1], found[2], found[3] or ""
