"""Profiles: how a server behaves, as a record of named rules.

What differs between the documents, the released server, its reference model and the
specification is a field here, and each field is read in one place of the engine. No
code asks for the name of a profile.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

__all__ = ["PROFILES", "Profile", "profile_named"]

CatchUp: TypeAlias = Literal["every tick", "one tick a run"]
Expiry: TypeAlias = Literal["processing time", "tick"]
ExpiredCreatedAt: TypeAlias = Literal["tick", "timeout"]
DueOrder: TypeAlias = Literal["next_run_at", "creation"]

_CHOICES = {
    "catch_up": get_args(CatchUp),
    "expiry": get_args(Expiry),
    "expired_created_at": get_args(ExpiredCreatedAt),
    "due_order": get_args(DueOrder),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The rules by which an engine answers.

    Attributes
    ----------
    name : str
    dialect : str
        cron dialect of the schedules
    catch_up : str
        ``every tick``: a firing creates the promises of all missed ticks, in order;
        ``one tick a run``: of the oldest one, and the schedule stays due
    expiry : str
        a fired promise is expired at creation where its deadline lies at or before the
        ``processing time`` or the ``tick``
    expired_created_at : str
        ``createdAt`` of a fired promise that is expired at creation: its ``tick`` or
        its ``timeout``
    adds_tags : bool
        fired promises get ``resonate:schedule`` and the four tags of their lineage
    schedule_needs_target : bool
        refuse a schedule whose tags lack ``resonate:target``
    schedule_id_may_have_dot : bool
    serves_search : bool
        False answers 501 to every search
    timers_time_out : bool
        timers are settled at their deadline though untargeted; targeted promises always
        are, all others wait for a touch
    id_separators : tuple of str
        what may stand between the id of an ancestor and the rest; none: no lineage tag
        is checked
    origin_may_have_dot : bool
        whether ``resonate:origin`` and ``resonate:prefix`` may
    delay_honoured : bool
        ``resonate:delay`` holds the first execute message of a created promise back
    due_order : str
        order of schedules due together: ``next_run_at`` (then id) or ``creation``
    fallback_ms : int or None
        what follows a tick without successor: another one that many ms later, or, if
        None, nothing: creating is refused, and a schedule that has run out is dormant
    retry_ms : int
        ms between two execute messages for a task that nobody acquires
    cursor_wraps : bool
        a cursor behind the last match starts the search again from the first

    Examples
    --------
    >>> PROFILES["standard"].replace(name="patient", retry_ms=60_000).retry_ms
    60000
    """

    name: str
    dialect: str
    catch_up: CatchUp
    expiry: Expiry
    expired_created_at: ExpiredCreatedAt
    adds_tags: bool
    schedule_needs_target: bool
    schedule_id_may_have_dot: bool
    serves_search: bool
    timers_time_out: bool
    id_separators: tuple[str, ...]
    origin_may_have_dot: bool
    delay_honoured: bool
    due_order: DueOrder
    fallback_ms: int | None
    retry_ms: int
    cursor_wraps: bool

    def __post_init__(self) -> None:
        """Refuse a rule that says something unknown."""
        for rule, allowed in _CHOICES.items():
            value = getattr(self, rule)
            if value not in allowed:
                raise ValueError(
                    f"rule {rule} of profile {self.name!r} is {value!r}; write one of "
                    f"{', '.join(map(repr, allowed))}"
                )
        for rule in ("retry_ms", "fallback_ms"):
            value = getattr(self, rule)
            # At zero the step would be due again at once, for ever.
            if value is not None and value < 1:
                raise ValueError(
                    f"rule {rule} of profile {self.name!r} is {value!r}; write 1 ms or more"
                )

    def replace(self, **rules: object) -> Profile:
        """Return a profile with some rules of one's own.

        Raises
        ------
        ValueError
            there is no such rule, or it cannot say that
        """
        known = [field.name for field in fields(self)]
        for rule in rules:
            if rule not in known:
                raise ValueError(
                    f"{rule!r} is no rule of a profile; write one of {', '.join(known)}"
                )
        return replace(self, **rules)  # type: ignore[arg-type]


_STANDARD = Profile(
    name="standard",
    dialect="resonate",
    catch_up="every tick",
    expiry="processing time",
    expired_created_at="tick",
    adds_tags=True,
    schedule_needs_target=True,
    schedule_id_may_have_dot=False,
    serves_search=True,
    timers_time_out=True,
    # The official clients write "root:1.2", and their roots may hold dots.
    id_separators=(":", "."),
    origin_may_have_dot=True,
    delay_honoured=True,
    due_order="next_run_at",
    fallback_ms=None,
    retry_ms=30_000,
    cursor_wraps=False,
)

#: The profiles that an engine can be asked for by name.
PROFILES = MappingProxyType({_STANDARD.name: _STANDARD})


def profile_named(profile: str | Profile) -> Profile:
    """Return the profile of that name, or the profile itself.

    Raises
    ------
    ValueError
        there is none of that name

    Examples
    --------
    >>> profile_named("standard").retry_ms
    30000
    """
    if isinstance(profile, Profile):
        return profile
    # A list would fail as a key before the sentence could be said.
    found = PROFILES.get(profile) if isinstance(profile, str) else None
    if found is None:
        raise ValueError(
            f"there is no profile {profile!r}; write one of {', '.join(map(repr, PROFILES))} "
            "or give a Profile"
        )
    return found
