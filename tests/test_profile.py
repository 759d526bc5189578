"""Profiles: what the four say, what may be changed, what is refused."""

from dataclasses import FrozenInstanceError, fields

import pytest

from resonate_lab import Engine, frames
from resonate_lab.protocol import PROFILES, Profile
from resonate_lab.protocol.profile import profile_named

STANDARD, SERVER = PROFILES["standard"], PROFILES["server"]
REFERENCE, SPEC = PROFILES["reference"], PROFILES["spec"]

# The design's table, row by row: rule, then what standard, server, reference and spec say.
TABLE = {
    "catch_up": ("every tick", "one tick a run", "every tick", "every tick"),
    "poll_ms": (None, 1000, None, None),
    "expiry": ("processing time", "processing time", "tick", "tick"),
    "expired_created_at": ("tick", "tick", "tick", "timeout"),
    "adds_tags": (True, True, True, False),
    "schedule_needs_target": (True, True, True, False),
    "schedule_id_may_have_dot": (False, False, False, True),
    "serves_search": (True, True, True, False),
    "timers_time_out": (True, False, False, True),
    "id_separators": ((":", "."), (".",), (".",), ()),
    "heartbeat_of_one_origin": (False, True, True, False),
    "dialect": ("resonate", "resonate-0.9.8", "resonate-0.9.8", "resonate"),
    "delay_honoured": (True, False, True, True),
    "due_order": ("next_run_at", "next_run_at", "creation", "next_run_at"),
    "fallback_ms": (None, 60_000, 60_000, None),
    "retry_ms": (30_000, 30_000, 30_000, 5_000),
}

# What was measured between the released server and its own model, by number, as rules.
SERVER_VS_REFERENCE = {
    "catch_up",  # 1
    "expiry",  # 2
    "delay_honoured",  # 3
    "cursor_wraps",  # 4
    "preloads_fulfilled",  # 5
    "due_order",  # 6
    "fence_order",  # 7
    "overdue_awaiter",  # 8
    "late_callback",  # 9
    "empty_branch_matches",  # 10
    "poll_ms",  # its own loop, which the model has not
    "debug_stops_polls",
}


def differing(one, other):
    rules = (field.name for field in fields(Profile))
    return {rule for rule in rules if getattr(one, rule) != getattr(other, rule)} - {"name"}


class TestTheFour:
    @pytest.mark.parametrize("rule", TABLE)
    def test_they_say_what_the_table_says(self, rule):
        assert tuple(getattr(p, rule) for p in (STANDARD, SERVER, REFERENCE, SPEC)) == TABLE[rule]

    def test_they_are_found_by_name(self):
        assert list(PROFILES) == ["standard", "server", "reference", "spec"]
        assert all(profile_named(name) is PROFILES[name] for name in PROFILES)

    def test_the_server_differs_from_its_model_where_it_was_seen_to(self):
        assert differing(SERVER, REFERENCE) == SERVER_VS_REFERENCE

    def test_where_the_table_is_silent_standard_does_as_the_reference(self):
        assert differing(STANDARD, REFERENCE) - TABLE.keys() == {
            "repeats_calendar",  # a part of the dialect
            "origin_may_have_dot",  # a part of the ids that the official clients write
            "cursor_wraps",  # a search that starts again behind its last page is no promise
        }

    def test_a_profile_cannot_be_changed(self):
        with pytest.raises(FrozenInstanceError):
            STANDARD.retry_ms = 1

    def test_the_profiles_cannot_be_changed(self):
        with pytest.raises(TypeError):
            PROFILES["mine"] = STANDARD


class TestReplace:
    def test_replace_changes_that_rule_alone(self):
        assert differing(STANDARD.replace(retry_ms=1), STANDARD) == {"retry_ms"}

    def test_an_unknown_rule_is_named_with_those_there_are(self):
        with pytest.raises(ValueError, match=r"'speed' is no rule.*catch_up.*retry_ms"):
            STANDARD.replace(speed=1)

    def test_an_unknown_choice_is_named_with_those_there_are(self):
        with pytest.raises(
            ValueError, match=r"catch_up.*'some ticks'.*'every tick', 'one tick a run'"
        ):
            STANDARD.replace(catch_up="some ticks")

    @pytest.mark.parametrize(
        ("rule", "value"),
        [("adds_tags", 1), ("adds_tags", "yes"), ("dialect", "posix"), ("expiry", ["tick"])],
    )
    def test_a_word_that_a_rule_does_not_know_is_refused(self, rule, value):
        with pytest.raises(ValueError, match=rf"rule {rule} of profile 'standard' is .*; write"):
            STANDARD.replace(**{rule: value})

    @pytest.mark.parametrize("rule", ["retry_ms", "fallback_ms", "poll_ms"])
    @pytest.mark.parametrize("value", [0, -1, 1.5, True, "1s"])
    def test_an_interval_of_nothing_is_refused(self, rule, value):
        with pytest.raises(ValueError, match=rf"{rule}.*is {value!r}; write 1 ms or more"):
            STANDARD.replace(**{rule: value})

    def test_only_a_retry_must_be(self):
        assert STANDARD.replace(fallback_ms=None, poll_ms=None) == STANDARD
        with pytest.raises(ValueError, match="retry_ms"):
            STANDARD.replace(retry_ms=None)

    @pytest.mark.parametrize("marks", [":", [":"], ("",), (1,), None])
    def test_separators_are_texts(self, marks):
        with pytest.raises(ValueError, match=r"id_separators.*write a tuple of texts"):
            STANDARD.replace(id_separators=marks)


class TestWords:
    def test_every_rule_has_a_meaning(self):
        assert list(Profile.rules()) == [field.name for field in fields(Profile)][1:]
        assert all(Profile.rules().values())

    @pytest.mark.parametrize(
        ("rule", "word"),
        [
            ("catch_up", "one tick a run"),
            ("adds_tags", "yes"),
            ("cursor_wraps", "no"),
            ("fallback_ms", "1 min"),
            ("id_separators", "."),
        ],
    )
    def test_a_rule_is_said_in_words(self, rule, word):
        assert SERVER.says(rule) == word

    def test_what_is_none_is_said(self):
        assert STANDARD.says("poll_ms") == SPEC.says("id_separators") == "none"

    def test_an_engine_explains_its_profile(self):
        told = Engine("server").explain_profile().splitlines()
        assert told[0] == "profile server"
        assert [line.split()[0] for line in told[1:]] == list(Profile.rules())
        assert "promises that one firing of a schedule creates" in told[2]

    def test_a_frame_puts_them_side_by_side(self):
        mine = SERVER.replace(name="mine", poll_ms=250)
        frame = frames.profiles(mine)
        assert list(frame.columns) == [*PROFILES, "mine", "meaning"]
        assert list(frame.index) == list(Profile.rules())
        assert frame.loc["poll_ms", list(PROFILES)].tolist() == ["none", "1 s", "none", "none"]
        assert frame.loc["poll_ms", "mine"] == "250 ms"


class TestByName:
    def test_an_engine_takes_a_name_or_a_profile(self):
        assert Engine("standard").profile is STANDARD
        mine = STANDARD.replace(name="mine")
        assert Engine(mine).profile is mine

    @pytest.mark.parametrize("name", ["fast", "", None, 5, ["standard"]])
    def test_an_unknown_name_is_told_those_allowed(self, name):
        with pytest.raises(ValueError, match=r"there is no profile .*'standard'.*'spec'"):
            profile_named(name)
