"""The engine beside the real thing: recorded answers, replayed request by request.

``reference*`` were answered by the released server's in-memory model, ``sqlite*`` by its
request handlers over SQLite. Each line is a trace: requests from an empty state on, with
the answer to each. Lists whose order means nothing are compared as sets, and what the
released parser says after a colon about malformed data is its own.
"""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from resonate_lab import Engine
from resonate_lab.protocol import PROFILES

FOLDER = Path(__file__).parent / "data" / "traces"

# File, profile, and how many steps it has: a replay that skips some would be no proof.
FILES = {
    "reference": ("reference", 24_000),
    "reference_schedules": ("reference", 12_000),
    "reference_far_future": ("reference", 1_600),
    "sqlite": ("server", 18_000),
    "sqlite_schedules": ("server", 12_000),
}

KINDS_OF_PROMISES_AND_TASKS = [
    *("promise." + verb for verb in ("get", "create", "settle", "search")),
    *("promise.register_" + what for what in ("callback", "listener")),
    *("task." + verb for verb in ("get", "create", "acquire", "release", "fulfill", "suspend")),
    *("task." + verb for verb in ("fence", "heartbeat", "halt", "continue", "search")),
]

UNORDERED = {
    "promises",
    "promiseTimeouts",
    "callbacks",
    "listeners",
    "tasks",
    "taskTimeouts",
    "messages",
}


def traces(name):
    with gzip.open(FOLDER / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def comparable(data, is_snap):
    """Return the data of an answer with the parser's words cut off and sets sorted."""
    if isinstance(data, str):
        head, colon, _ = data.partition(": ")
        return head if colon and head in ("Invalid request", "Invalid action data") else data
    if isinstance(data, dict):
        return {
            key: sorted(value, key=by_text)
            if key == "preload" or (is_snap and key in UNORDERED)
            else value
            for key, value in data.items()
        }
    return data


def by_text(value):
    return json.dumps(value, sort_keys=True)


def outcome(response, is_snap):
    return response["head"]["status"], comparable(response["data"], is_snap)


def replay(name, profile):
    """Return the steps compared by kind and status, and the first difference of each trace."""
    compared, differences = Counter(), []
    for trace in traces(name):
        engine = Engine(profile)
        for number, step in enumerate(trace["steps"]):
            request, expected = step["req"], step["res"]
            kind = request.get("kind")
            got = engine.send(request)
            compared[kind, expected["head"]["status"]] += 1
            is_snap = kind == "debug.snap"
            if outcome(got, is_snap) != outcome(expected, is_snap):
                differences.append((trace["id"], number, request, expected, got))
                break
    return compared, differences


@pytest.fixture(scope="module", params=FILES)
def replayed(request):
    profile, steps = FILES[request.param]
    compared, differences = replay(request.param, profile)
    return request.param, steps, compared, differences


class TestReplay:
    def test_no_step_differs(self, replayed):
        name, steps, compared, differences = replayed
        assert not differences, f"{name}: {len(differences)} traces, the first: {differences[0]}"
        assert compared.total() == steps

    def test_the_kinds_and_statuses_that_the_proof_covers(self, replayed):
        name, _, compared, _ = replayed
        print(f"{name}: {summary(compared)}")  # `pytest -rP` shows it
        covered = {kind for kind, status in compared if status == 200}
        assert {"schedule.create", "schedule.delete", "debug.tick", "debug.snap"} <= covered
        if name in ("reference", "sqlite"):
            assert covered >= set(KINDS_OF_PROMISES_AND_TASKS)
            assert {status for _, status in compared} == {200, 300, 400, 404, 409, 422}

    def test_envelopes_and_heads_are_echoed(self):
        engine = Engine("reference")
        for step in next(traces("reference"))["steps"]:
            got, expected = engine.send(step["req"]), step["res"]
            assert got["kind"] == expected["kind"]
            assert got["head"] == expected["head"]


class TestTheProofItself:
    """A replay that cannot fail proves nothing: with one rule otherwise, each of them fails."""

    @pytest.mark.parametrize(
        ("name", "rule", "value"),
        [
            ("reference", "catch_up", "one tick a run"),
            ("reference", "dialect", "resonate"),
            ("reference", "fallback_ms", None),
            ("reference", "adds_tags", False),
            ("reference", "timers_time_out", True),
            ("reference", "overdue", "shown as settled"),
            ("reference", "claims_see_deadline", False),
            ("reference", "origin_may_have_dot", True),
            ("reference", "retry_ms", 5_000),
            ("reference_far_future", "repeats_calendar", False),
            ("sqlite", "expiry", "tick"),
            ("sqlite", "delay_honoured", True),
            ("sqlite", "cursor_wraps", True),
            ("sqlite", "preloads_fulfilled", True),
            ("sqlite", "due_order", "creation"),
            ("sqlite", "fence_order", "task first"),
            ("sqlite", "overdue_awaiter", "skipped"),
            ("sqlite", "late_callback", "wakes"),
        ],
    )
    def test_it_notices_a_rule_that_says_otherwise(self, name, rule, value):
        profile = PROFILES[FILES[name][0]].replace(**{rule: value})
        assert any(differs(trace, profile) for trace in traces(name))


def differs(trace, profile):
    engine = Engine(profile)
    for step in trace["steps"]:
        is_snap = step["req"].get("kind") == "debug.snap"
        if outcome(engine.send(step["req"]), is_snap) != outcome(step["res"], is_snap):
            return True
    return False


def summary(compared):
    """Return the counts in one line: kind, and how often with which status."""
    kinds = {}
    for (kind, status), count in sorted(compared.items()):
        kinds.setdefault(kind, []).append(f"{status}: {count}")
    told = ", ".join(f"{kind} ({', '.join(counts)})" for kind, counts in kinds.items())
    return f"{compared.total():,} steps: {told}"
