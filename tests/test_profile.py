"""Profiles: frozen records of rules."""

from dataclasses import FrozenInstanceError, fields

import pytest

from resonate_lab import Engine
from resonate_lab.protocol import PROFILES, Profile
from resonate_lab.protocol.profile import profile_named

STANDARD = PROFILES["standard"]


class TestStandard:
    """The rows of the design's table that the kinds served can show."""

    @pytest.mark.parametrize(
        ("rule", "value"),
        [
            ("dialect", "resonate"),
            ("catch_up", "every tick"),
            ("expiry", "processing time"),
            ("expired_created_at", "tick"),
            ("adds_tags", True),
            ("schedule_needs_target", True),
            ("schedule_id_may_have_dot", False),
            ("serves_search", True),
            ("timers_time_out", True),
            ("delay_honoured", True),
            ("due_order", "next_run_at"),
            ("fallback_ms", None),
            ("retry_ms", 30_000),
        ],
    )
    def test_standard_says_what_the_documents_promise(self, rule, value):
        assert getattr(STANDARD, rule) == value

    def test_a_profile_cannot_be_changed(self):
        with pytest.raises(FrozenInstanceError):
            STANDARD.retry_ms = 1

    def test_the_profiles_cannot_be_changed(self):
        with pytest.raises(TypeError):
            PROFILES["mine"] = STANDARD


class TestReplace:
    def test_replace_changes_that_rule_alone(self):
        mine = STANDARD.replace(retry_ms=1)
        changed = [
            f.name for f in fields(Profile) if getattr(mine, f.name) != getattr(STANDARD, f.name)
        ]
        assert changed == ["retry_ms"]

    def test_an_unknown_rule_is_named_with_those_there_are(self):
        with pytest.raises(ValueError, match=r"'speed' is no rule.*catch_up.*retry_ms"):
            STANDARD.replace(speed=1)

    def test_an_unknown_choice_is_named_with_those_there_are(self):
        with pytest.raises(
            ValueError, match=r"catch_up.*'some ticks'.*'every tick', 'one tick a run'"
        ):
            STANDARD.replace(catch_up="some ticks")

    @pytest.mark.parametrize("rule", ["retry_ms", "fallback_ms"])
    def test_an_interval_of_nothing_is_refused(self, rule):
        with pytest.raises(ValueError, match=rf"{rule}.*is 0; write 1 ms or more"):
            STANDARD.replace(**{rule: 0})


class TestByName:
    def test_an_engine_takes_a_name_or_a_profile(self):
        assert Engine("standard").profile is STANDARD
        mine = STANDARD.replace(name="mine")
        assert Engine(mine).profile is mine

    @pytest.mark.parametrize("name", ["fast", "", None, 5, ["standard"]])
    def test_an_unknown_name_is_told_those_allowed(self, name):
        with pytest.raises(ValueError, match=r"there is no profile .*'standard'"):
            profile_named(name)
