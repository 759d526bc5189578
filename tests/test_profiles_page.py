"""docs/profiles.md says what the engine does: its tables are computed here, to the letter.

``python tests/test_profiles_page.py`` prints them, for the page.
"""

from pathlib import Path

import pytest

from resonate_lab import Engine
from resonate_lab.instants import format_duration
from resonate_lab.protocol import PROFILES, Profile

PAGE = Path(__file__).resolve().parents[1] / "docs" / "profiles.md"


def lived(profile):
    """Return an engine after the outage of the page, and the outage."""
    engine = Engine(profile, now="2024-01-01")
    engine.schedules.create(
        "report", cron="* * * * *", promise_timeout="1h", target="poll://any@default"
    )
    return engine, engine.outage("12h")


def found(engine):
    """Return how many promises a search by the schedule's tag finds, or that there is none."""
    data = {"tags": {"resonate:schedule": "report"}, "limit": 1000}
    head = {"corrId": "1", "version": "2026-04-01"}
    answer = engine.send({"kind": "promise.search", "head": head, "data": data})
    is_served = answer["head"]["status"] == 200
    return f"{len(answer['data']['promises']):,}" if is_served else "refused, 501"


def after(ms):
    return "at once" if ms == 0 else format_duration(ms)


def outage_column(profile):
    """Return what the outage brought, in words: cell by name of the row."""
    engine, outage = lived(profile)
    firings = [step for step in outage.steps if step.ticks]
    first_live = next(step for step in firings if step.ticks.live)
    rows = list(engine.state.promises.values())
    told = [engine.state.promises[id] for id in engine.state.executes]
    too_late = sum(row.state != "pending" for row in told)
    pending = sum(row.state == "pending" for row in rows)
    return {
        "ticks made up for": f"{outage.fired:,}",
        "ticks made up for in one firing": f"{firings[0].ticks.fired:,}",
        "created settled, too late": f"{outage.expired:,}",
        "created pending": f"{outage.live:,}",
        "of these still pending in the end": f"{pending:,}",
        "execute messages": f"{len(told):,}",
        "of these about promises settled already": f"{too_late:,}",
        "first promise that a worker can keep": after(first_live.at - outage.up_at),
        "nothing overdue any more": after(outage.drained_at - outage.up_at),
        "tags of a promise, the target included": f"{len(rows[0].all_tags())}",
        "search by `resonate:schedule` finds": found(engine),
        "a message nobody takes comes again after": format_duration(engine.profile.retry_ms),
    }


def outage_table():
    columns = {profile: outage_column(profile) for profile in PROFILES}
    yield f"| | {' | '.join(f'`{profile}`' for profile in columns)} |"
    yield "|---|" + "---|" * len(columns)
    for name in columns["standard"]:
        yield f"| {name} | {' | '.join(column[name] for column in columns.values())} |"


def rules_table():
    standard = PROFILES["standard"]
    yield f"| rule | what it is about | {' | '.join(f'`{profile}`' for profile in PROFILES)} |"
    yield "|---|---|" + "---|" * len(PROFILES)
    for rule, meaning in Profile.rules().items():
        cells = [
            profile.says(rule)
            if getattr(profile, rule) == getattr(standard, rule)
            else f"**{profile.says(rule)}**"
            for profile in PROFILES.values()
        ]
        yield f"| `{rule}` | {meaning} | {' | '.join(cells)} |"


@pytest.mark.parametrize("table", [outage_table, rules_table])
def test_the_table_on_the_page_is_what_the_engine_does(table):
    lines = list(table())
    text = PAGE.read_text(encoding="utf-8").splitlines()
    start = text.index(lines[0])
    assert text[start : start + len(lines) + 1] == [*lines, *text[start + len(lines) :][:1]]
    assert not "".join(text[start + len(lines) :][:1]).startswith("|")


class TestTheStoryUnderTheTable:
    """The sentences below the first table, each for itself."""

    def test_standard_has_done_all_before_the_first_answer(self):
        _, outage = lived("standard")
        assert (outage.drained_at, outage.expired, outage.live) == (outage.up_at, 660, 60)

    def test_server_has_nothing_for_workers_for_eleven_minutes(self):
        _, outage = lived("server")
        firings = [step for step in outage.steps if step.ticks]
        assert {step.ticks.fired for step in firings} == {1}
        assert firings == sorted(firings, key=lambda step: step.ticks.first)
        live = next(step for step in firings if step.ticks.live)
        assert 11 <= (live.at - outage.up_at) / 60_000 < 12

    @pytest.mark.parametrize("profile", ["reference", "spec"])
    def test_the_others_tell_workers_of_what_is_settled(self, profile):
        engine, outage = lived(profile)
        assert outage.live == len(engine.state.executes) == 720


if __name__ == "__main__":
    for lines in (outage_table, rules_table):
        print("\n".join(lines()), end="\n\n")
