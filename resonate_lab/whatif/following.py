"""Outages followed further than their catch-up: until all is sent, until the queue is empty."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from resonate_lab.cron import CronExpression
from resonate_lab.instants import EPOCH_END_MS
from resonate_lab.protocol.profile import Profile
from resonate_lab.whatif.catchup import CatchUp, Starts, caught_up, ids_differ
from resonate_lab.whatif.chains import Chain, walk
from resonate_lab.whatif.polls import Downtime
from resonate_lab.whatif.question import Asked
from resonate_lab.whatif.queue import MAX_MESSAGES, QUEUE_MS, Messages, RunTimes, Served, serve

__all__ = ["Question", "followed"]


class Question(NamedTuple):
    """Outages of a fleet, which can be followed further than their catch-up."""

    found: Asked
    down: Downtime
    rules: Profile
    starts: Starts | None

    def answer(self, until: int | None = None) -> tuple[CatchUp, dict[CronExpression, Chain], int]:
        """Return the ticks, the chains they are of, and up to when they are known.

        With `until` those are there that are fired in time from the first restart up to then.
        """
        fleet, expressions = self.found.fleet, self.found.expressions
        whole = until is not None or (len(self.down.ups) > 1 and not ids_differ(fleet))
        while True:
            chains, end = walk(expressions, self.down, self.rules, whole=whole, until=until)
            rows = [chains[expression] for expression in expressions]
            run = caught_up(fleet, rows, self.down, self.rules, self.starts)
            last = int(run.sent[run.outage >= 0].max(initial=-1))
            # A message that has to wait may be overtaken by those of ticks still to come.
            limit = int(self.down.ups[-1]) + QUEUE_MS
            if self.down.messages is None or last <= end or end >= limit:
                return run, chains, end
            until = min(limit, 2 * last - int(self.down.ups[-1]))

    def messages(self, run: CatchUp, until: int) -> Messages:
        """Return the execute messages that are sent up to an instant."""
        some = np.flatnonzero((run.sent >= 0) & (run.sent <= until))
        some = some[np.argsort(run.sent[some], kind="stable")]
        return Messages(
            run.schedule[some], run.sent[some], run.timeout[some], run.outage[some] >= 0
        )

    def followed_until(self) -> int:
        """Return the last instant up to which a queue is followed."""
        up, day = int(self.down.ups[-1]), 86_400_000
        last = min(up + day, EPOCH_END_MS - 1)
        shares = Counter(self.found.expressions)
        ticks = sum(n * e.count_ms(up, last) for e, n in shares.items()) or 1
        return up + min(QUEUE_MS, MAX_MESSAGES * day // ticks)


def followed(question: Question, run: CatchUp, end: int, runs: RunTimes, workers: int) -> Served:
    """Follow the queue until it is empty, twice as long each time."""
    up = int(question.down.ups[-1])
    late = run.outage >= 0
    work = int(runs.lengths(run.schedule[late & (run.sent >= 0)]).sum())
    last = int(run.sent[late].max(initial=end))
    until = max(end, last) + work // workers + 60_000
    limit = max(question.followed_until(), end)
    while True:
        until = min(until, limit)
        run, _, _ = question.answer(until)
        messages = question.messages(run, until)
        owes = bool((run.sent[run.outage >= 0] > until).any())
        served = serve(
            messages, runs, workers, question.down, until, owes, len(question.found.fleet)
        )
        if not served.queue.reason or until >= limit:
            return served
        until = up + 2 * (until - up)
