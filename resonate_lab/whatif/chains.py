"""The ticks of a fleet that an outage concerns: those missed in it, and those fired late.

A chain is the ticks of one expression, each the next of the one before; schedules that
share an expression share its chain. Where the server catches up at once, a chain is known
at the restart. Where it fires one tick a look, more ticks fall due meanwhile, so chains
are walked until each is level, or until the catch-up is followed no further.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from resonate_lab.cron import CronExpression
from resonate_lab.engine.internal import REPEATS_FROM, next_tick
from resonate_lab.errors import WindowError
from resonate_lab.instants import EPOCH_END_MS, timestamp
from resonate_lab.protocol.profile import Profile
from resonate_lab.whatif.polls import Downtime

__all__ = ["MAX_TICKS", "Chain", "ticks_after", "too_many", "walk"]

MAX_TICKS = 10_000_000
"""Most ticks that one question may have; some 2 GB as a frame."""

Ints = npt.NDArray[np.int64]

_NONE: Ints = np.empty(0, dtype=np.int64)


class Chain(NamedTuple):
    """The ticks of one expression, ascending, as columns; instants in ms."""

    due: Ints
    fired: Ints
    outage: Ints  # number of the outage, -1 where the tick is no part of a catch-up
    level_at: int  # when nothing is overdue any more after the last outage; -1 if not seen
    next_run: int  # the first tick after the last restart; -1 if there is none


def walk(
    expressions: Iterable[CronExpression],
    down: Downtime,
    rules: Profile,
    *,
    whole: bool = False,
    until: int | None = None,
) -> tuple[dict[CronExpression, Chain], int]:
    """Return the ticks of each expression that outages concern, and up to when.

    Parameters
    ----------
    expressions : iterable of CronExpression
        one a schedule, created when the first outage begins
    down : Downtime
    rules : Profile
    whole : bool
        give all ticks from there on, and not only those missed or late
    until : int, optional
        give those too that are fired in time up to then, ms since the Unix epoch, UTC

    Returns
    -------
    dict of CronExpression to Chain
        a tick that is part of no catch-up may be missing unless it was asked for
    int
        instant, ms since the Unix epoch, UTC, up to which all firings are known

    Raises
    ------
    WindowError
        they are more than `MAX_TICKS`
    """
    shares = Counter(expressions)
    walkers = [_Walker(e, n, down, rules, whole) for e, n in shares.items()]
    end = 0
    for outage in range(len(down.ups)):
        end = _caught_up(walkers, down, outage)
    if until is not None and until > end:
        end = until
        _extend(walkers, end)
    return {walker.expression: walker.chain(end) for walker in walkers}, end


def ticks_after(
    rules: Profile, expression: CronExpression, after: int, until: int, most: int
) -> Ints:
    """Return the ticks in (after, until], each the `next_tick` of the one before.

    They are cut off after somewhat more than `most`.
    """
    parts, found = [_NONE], 0
    # What the calendar says is told in bulk, as far as it is the calendar that says it.
    end = min(until, (REPEATS_FROM if rules.repeats_calendar else EPOCH_END_MS) - 1)
    while after < until and found <= most:
        ticks = expression.between_ms(after + 1, end, most + 1) if after < end else _NONE
        if not len(ticks) and after < end and rules.fallback_ms and _is_over(expression, after):
            last = min(end, after + (most + 1) * rules.fallback_ms)
            ticks = np.arange(after + rules.fallback_ms, last + 1, rules.fallback_ms)
        if not len(ticks):
            following = next_tick(rules, expression, after)
            if following is None or following > until:
                break
            ticks = np.array([following])
        parts.append(ticks)
        found += len(ticks)
        after = int(ticks[-1])
    return np.concatenate(parts)


def _is_over(expression: CronExpression, after: int) -> bool:
    """Return whether the calendar holds no tick any more, whatever year one starts from."""
    last = expression.prev_ms(EPOCH_END_MS)
    return last is None or last <= after


class _Walker:
    """A chain under way."""

    def __init__(
        self, expression: CronExpression, share: int, down: Downtime, rules: Profile, whole: bool
    ) -> None:
        self.expression, self.share = expression, share
        self._down, self._rules = down, rules
        self._whole = whole or not _is_memoryless(expression, down, rules)
        self._due = _NONE
        self._after = self._known_to = int(down.starts[0])
        self._level_at: int | None = self._after
        self._fired = self._outage = _NONE

    def begin(self, outage: int) -> None:
        """Leave out what is fired in time before an outage, where nothing depends on it."""
        seen = self._down.seen(outage)
        if self._level_at is not None and not self._whole and seen > self._known_to:
            self._after = self._known_to = seen

    def extend(self, until: int, most: int) -> int:
        """Walk on to an instant, and return how many ticks of schedules that is in all."""
        if until > self._known_to:
            more = ticks_after(self._rules, self.expression, self._after, until, most // self.share)
            if len(more):
                self._due = np.concatenate([self._due, more])
                self._after = int(more[-1])
            self._known_to = until
        return len(self._due) * self.share

    def fired_last(self, outage: int) -> int:
        """Return when the last tick missed in an outage fires, or the restart."""
        up = int(self._down.ups[outage])
        last = int(np.searchsorted(self._due, up, side="right")) - 1
        return max(up, int(self._firings()[last])) if last >= 0 else up

    def is_level(self, outage: int, limit: int) -> bool:
        """Look when nothing is overdue any more after an outage; say whether that is known."""
        up = int(self._down.ups[outage])
        fired = self._firings()
        last = int(np.searchsorted(self._due, up, side="right")) - 1
        self._level_at = up
        if last < 0 or fired[last] <= up:
            return True
        following = np.append(self._due[last + 1 :], self._known_to + 1)
        level = np.flatnonzero((following > fired[last:]) & (fired[last:] <= limit))
        self._level_at = int(fired[last + level[0]]) if len(level) else None
        return self._level_at is not None

    def _firings(self) -> Ints:
        """Return when the ticks known so far fire; of each it does not change any more."""
        if len(self._fired) < len(self._due):
            self._fired, self._outage = self._down.fired(self._due)
        return self._fired

    def chain(self, end: int) -> Chain:
        """Return the ticks whose firing is known: those of all looks up to an instant."""
        fired = self._firings()
        known = int(np.searchsorted(fired, end, side="right"))
        level_at = -1 if self._level_at is None else self._level_at
        after = int(np.searchsorted(self._due, self._down.ups[-1], side="right"))
        following: int | None
        if after < len(self._due):
            following = int(self._due[after])
        else:
            following = next_tick(self._rules, self.expression, self._after)
        next_run = -1 if following is None else following
        return Chain(self._due[:known], fired[:known], self._outage[:known], level_at, next_run)


def _caught_up(walkers: list[_Walker], down: Downtime, outage: int) -> int:
    """Walk on until all are level after an outage; return up to when the looks are known."""
    up = int(down.ups[outage])
    for walker in walkers:
        walker.begin(outage)
    most = _extend(walkers, up)
    limit = max([int(down.bounds[outage]), *(walker.fired_last(outage) for walker in walkers)])
    if outage + 1 < len(down.ups):
        limit = min(limit, int(down.starts[outage + 1]))
    # The first look fires what has fallen due before it, too.
    reach, step = min(up + (down.poll_ms or 0), limit), max(most, 1) * (down.poll_ms or 0)
    while True:
        _extend(walkers, reach)
        levels = [walker.is_level(outage, limit) for walker in walkers]
        if all(levels) or reach >= limit:
            return reach
        reach, step = min(limit, reach + step + step // 8), step * 2


def _extend(walkers: list[_Walker], until: int) -> int:
    """Walk on to an instant; return the most ticks that a chain has."""
    total = most = 0
    for walker in walkers:
        own = walker.extend(until, MAX_TICKS - total)
        total += own
        most = max(most, own // walker.share)
        if total > MAX_TICKS:
            raise too_many(f"at least {total:,}")
    return most


def too_many(count: str, alone: str = "") -> WindowError:
    """Return the error of a question that has too many ticks."""
    return WindowError(
        f"the outage holds {count} missed ticks, more than the {MAX_TICKS:,} that one question "
        f"may have{alone}: shorten the outage or ask for fewer schedules"
    )


def _is_memoryless(expression: CronExpression, down: Downtime, rules: Profile) -> bool:
    """Return whether the ticks after an instant do not depend on those before it."""
    # A minute's fallback keeps the phase of what it follows, and a chain of the server's
    # dialect depends on the year in which it stands. Neither is so in the years listed.
    first, last = int(down.starts[0]), int(down.bounds[-1])
    if rules.fallback_ms is None and expression.dialect != "resonate-0.9.8":
        return True
    if rules.repeats_calendar and last >= REPEATS_FROM:
        return False
    spanned = range(timestamp(first).year, timestamp(last).year + 2)
    goes_on = expression.next_ms(min(last, EPOCH_END_MS - 1)) is not None
    return goes_on and set(spanned) <= set(expression.years)
