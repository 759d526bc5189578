"""Profiles: how a server behaves, as a record of named rules.

What differs between the documents, the released server, its reference model and the
specification is a field here, and each field is read in one place of the engine. No
code asks for the name of a profile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Annotated, Final, Literal, TypeAlias, get_args, get_type_hints

from resonate_lab.instants import format_duration

__all__ = ["PROFILES", "Profile", "profile_named"]

Dialect: TypeAlias = Literal["resonate", "resonate-0.9.8", "quartz"]
CatchUp: TypeAlias = Literal["every tick", "one tick a run"]
Moment: TypeAlias = Literal["processing time", "tick"]
ExpiredCreatedAt: TypeAlias = Literal["tick", "timeout"]
DueOrder: TypeAlias = Literal["next_run_at", "creation"]
Addresses: TypeAlias = Literal["routed", "deliverable"]
Overdue: TypeAlias = Literal["settled", "shown as settled"]
OverdueAwaiter: TypeAlias = Literal["skipped", "woken", "woken unless it settles too"]
LateCallback: TypeAlias = Literal["nothing", "wakes", "wakes with a resume"]
FenceOrder: TypeAlias = Literal["task first", "action first"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The rules by which an engine answers; `explain` says what each one means.

    The fields are its name and the rules, each with its meaning beside it. A rule is a word
    out of a few, a yes or no, a duration in ms, or None where there is nothing of the kind.

    Examples
    --------
    >>> PROFILES["standard"].replace(name="patient", retry_ms=60_000).retry_ms
    60000
    >>> print(PROFILES["server"].explain("catch_up", "poll_ms"))
    profile server
    catch_up  one tick a run  promises that one firing of a schedule creates
    poll_ms   1 s             how often it looks for what is due; none: at once when it is due
    """

    name: str

    # schedules
    dialect: Annotated[Dialect, "cron dialect of the schedules"]
    catch_up: Annotated[CatchUp, "promises that one firing of a schedule creates"]
    due_order: Annotated[DueOrder, "order of schedules due together: by next run and id, or by age"]
    fallback_ms: Annotated[
        int | None,
        "what follows a tick without successor: another one that much later; none: creating such "
        "a schedule is refused, and one that has run out is dormant",
    ]
    repeats_calendar: Annotated[
        bool, "after 2099 the calendar is that of an earlier year with the same weekdays"
    ]
    schedule_needs_target: Annotated[bool, "a schedule whose tags lack resonate:target is refused"]
    schedule_id_may_have_dot: Annotated[bool, "a schedule's id may hold a dot"]

    # promises that a schedule fires
    expiry: Annotated[Moment, "what the deadline is compared with to find it expired at creation"]
    expired_created_at: Annotated[ExpiredCreatedAt, "createdAt of one that is expired at creation"]
    adds_tags: Annotated[bool, "it gets resonate:schedule and the four tags of its lineage"]
    fired_delay_honoured: Annotated[bool, "resonate:delay in a schedule's tags holds messages back"]
    fired_retry_from: Annotated[Moment, "what the first retry is counted from"]

    # promises that a client creates
    id_separators: Annotated[
        tuple[str, ...],
        "what stands between an ancestor's id and the rest; none: lineage is not checked",
    ]
    origin_may_have_dot: Annotated[
        bool, "the tags resonate:origin and resonate:prefix may hold a dot"
    ]
    checks_target: Annotated[bool, "a resonate:target that no transport takes is refused"]
    checks_delay: Annotated[bool, "a resonate:delay that makes no sense is refused"]
    delay_honoured: Annotated[bool, "resonate:delay holds the first message of a promise back"]

    # deadlines
    timers_time_out: Annotated[
        bool, "untargeted timers settle at their deadline, as targeted promises do, without a touch"
    ]
    overdue: Annotated[Overdue, "what a request does to the overdue promises that it names"]
    claims_see_deadline: Annotated[
        bool, "task.create, task.halt and task.continue take an overdue promise as settled"
    ]
    heartbeat_sees_deadline: Annotated[bool, "a task whose promise is overdue keeps no lease alive"]
    overdue_awaiter: Annotated[
        OverdueAwaiter,
        "what a settlement does to a task that waited for it and whose own promise is overdue",
    ]

    # callbacks, listeners, fences
    late_callback: Annotated[
        LateCallback, "what a callback on a settled promise does to a suspended task"
    ]
    addresses: Annotated[
        Addresses,
        "listener addresses: those that a transport of the server takes, or all that the "
        "specification calls deliverable",
    ]
    fence_order: Annotated[FenceOrder, "what task.fence checks first"]
    heartbeat_of_one_origin: Annotated[bool, "a heartbeat for tasks of several origins is refused"]

    # time
    retry_ms: Annotated[int, "between two execute messages for a task that nobody acquires"]
    poll_ms: Annotated[
        int | None, "how often it looks for what is due; none: at once when it is due"
    ]
    debug_stops_polls: Annotated[bool, "debug.start stops its own loop, debug.stop starts it again"]

    # answers
    serves_search: Annotated[bool, "searches are served; otherwise they answer 501"]
    cursor_wraps: Annotated[bool, "a cursor behind the last match starts the search again"]
    preloads_fulfilled: Annotated[bool, "task.create answers a fulfilled task with its preload"]
    empty_branch_matches: Annotated[bool, "promises with an empty branch tag preload each other"]

    def __post_init__(self) -> None:
        """Refuse a rule that says something unknown."""
        for rule, allowed in _CHOICES.items():
            value = getattr(self, rule)
            # By type as well: 1 equals True, and is no yes.
            if not any(type(value) is type(word) and value == word for word in allowed):
                raise ValueError(
                    f"rule {rule} of profile {self.name!r} is {value!r}; write one of "
                    f"{', '.join(map(repr, allowed))}"
                )
        for rule, may_be_none in (("retry_ms", False), ("fallback_ms", True), ("poll_ms", True)):
            value = getattr(self, rule)
            # At zero the step would be due again at once, for ever.
            whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
            if not whole and not (value is None and may_be_none):
                raise ValueError(
                    f"rule {rule} of profile {self.name!r} is {value!r}; write 1 ms or more"
                )
        marks = self.id_separators
        if not isinstance(marks, tuple) or not all(isinstance(m, str) and m for m in marks):
            raise ValueError(
                f"rule id_separators of profile {self.name!r} is {marks!r}; write a tuple of "
                "texts, none of them empty, or ()"
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

    @classmethod
    def rules(cls) -> dict[str, str]:
        """Return what each rule means, by its name."""
        hints = get_type_hints(cls, include_extras=True)
        return {item.name: hints[item.name].__metadata__[0] for item in fields(cls)[1:]}

    def says(self, rule: str) -> str:
        """Return what a rule says, in words.

        Examples
        --------
        >>> PROFILES["server"].says("retry_ms"), PROFILES["server"].says("adds_tags")
        ('30 s', 'yes')
        """
        value = getattr(self, rule)
        if value is None or value == ():
            return "none"
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, int):
            return format_duration(value)
        return " ".join(value) if isinstance(value, tuple) else str(value)

    def explain(self, *rules: str) -> str:
        """Return the rules as text, one a line: name, what it says, what it means.

        Parameters
        ----------
        *rules : str
            the ones to tell; all if none are named
        """
        meanings = self.rules()
        rows = [(rule, self.says(rule), meanings[rule]) for rule in rules or meanings]
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        lines = (f"{rule:{widths[0]}}  {word:{widths[1]}}  {told}" for rule, word, told in rows)
        return "\n".join([f"profile {self.name}", *lines])


def _choices() -> Iterator[tuple[str, tuple[object, ...]]]:
    for rule, hint in get_type_hints(Profile).items():
        if hint is bool:
            yield rule, (True, False)
        elif (allowed := get_args(hint)) and all(isinstance(word, str) for word in allowed):
            yield rule, allowed


_CHOICES: Final = dict(_choices())

_REFERENCE = Profile(
    name="reference",
    dialect="resonate-0.9.8",
    catch_up="every tick",
    due_order="creation",
    fallback_ms=60_000,
    repeats_calendar=True,
    schedule_needs_target=True,
    schedule_id_may_have_dot=False,
    expiry="tick",
    expired_created_at="tick",
    adds_tags=True,
    fired_delay_honoured=False,
    fired_retry_from="processing time",
    id_separators=(".",),
    origin_may_have_dot=False,
    checks_target=True,
    checks_delay=True,
    delay_honoured=True,
    timers_time_out=False,
    overdue="settled",
    claims_see_deadline=True,
    heartbeat_sees_deadline=False,
    overdue_awaiter="skipped",
    late_callback="wakes",
    addresses="routed",
    fence_order="task first",
    heartbeat_of_one_origin=True,
    retry_ms=30_000,
    poll_ms=None,
    debug_stops_polls=False,
    serves_search=True,
    cursor_wraps=True,
    preloads_fulfilled=True,
    empty_branch_matches=False,
)

_SERVER = _REFERENCE.replace(
    name="server",
    catch_up="one tick a run",
    due_order="next_run_at",
    expiry="processing time",
    delay_honoured=False,
    overdue_awaiter="woken unless it settles too",
    late_callback="wakes with a resume",
    fence_order="action first",
    poll_ms=1000,
    debug_stops_polls=True,
    cursor_wraps=False,
    preloads_fulfilled=False,
    empty_branch_matches=True,
)

_STANDARD = _REFERENCE.replace(
    name="standard",
    dialect="resonate",
    due_order="next_run_at",
    fallback_ms=None,
    repeats_calendar=False,
    expiry="processing time",
    # The official clients write "root:1.2", and their roots may hold dots.
    id_separators=(":", "."),
    origin_may_have_dot=True,
    timers_time_out=True,
    heartbeat_of_one_origin=False,
    cursor_wraps=False,
)

_SPEC = _STANDARD.replace(
    name="spec",
    schedule_needs_target=False,
    schedule_id_may_have_dot=True,
    expiry="tick",
    expired_created_at="timeout",
    adds_tags=False,
    fired_delay_honoured=True,
    fired_retry_from="tick",
    id_separators=(),
    checks_target=False,
    checks_delay=False,
    overdue="shown as settled",
    claims_see_deadline=False,
    heartbeat_sees_deadline=True,
    overdue_awaiter="woken",
    late_callback="nothing",
    addresses="deliverable",
    retry_ms=5_000,
    serves_search=False,
)

#: The profiles that an engine can be asked for by name.
PROFILES = MappingProxyType(
    {profile.name: profile for profile in (_STANDARD, _SERVER, _REFERENCE, _SPEC)}
)


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
