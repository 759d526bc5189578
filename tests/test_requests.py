"""Requests: the front door, the shapes, the rules, and their words."""

import pytest

from resonate_lab.errors import ProtocolError
from resonate_lab.protocol import PROFILES
from resonate_lab.protocol.requests import REQUESTS, read_action, read_envelope, read_request
from resonate_lab.protocol.texts import (
    ID_LIMIT,
    delay_of,
    descends,
    expanded_length,
    is_address,
    origin_of,
    template_parts,
)

STANDARD = PROFILES["standard"]
DOTS = STANDARD.replace(id_separators=(".",), origin_may_have_dot=False)
SPEC = PROFILES["spec"]
HEAD = {"corrId": "1", "version": "2026-04-01"}
SCHEDULE = {
    "id": "s",
    "cron": "* * * * *",
    "promiseId": "{{.id}}",
    "promiseTimeout": 0,
    "promiseTags": {"resonate:target": "poll://any@g"},
}
PROMISE = {"id": "p", "timeoutAt": 10}


def read(kind, data, profile=STANDARD, **head):
    envelope = read_envelope({"kind": kind, "head": {**HEAD, **head}, "data": data})
    return read_request(envelope, profile)


def refusal(kind, data, profile=STANDARD, **head):
    with pytest.raises(ProtocolError) as caught:
        read(kind, data, profile, **head)
    return caught.value.status, caught.value.message


def message(kind, data, profile=STANDARD):
    status, text = refusal(kind, data, profile)
    assert status == 400
    return text


class TestFrontDoor:
    @pytest.mark.parametrize(
        "envelope",
        [
            None,
            [],
            "x",
            5,
            {},
            {"kind": "debug.snap"},
            {"kind": 5, "head": HEAD, "data": {}},
            {"kind": "debug.snap", "head": [], "data": {}},
            {"kind": "debug.snap", "head": {"version": "2026-04-01"}, "data": {}},
            {"kind": "debug.snap", "head": {**HEAD, "corrId": 1}, "data": {}},
            {"kind": "debug.snap", "head": {**HEAD, "auth": 1}, "data": {}},
            {"kind": "debug.snap", "head": {**HEAD, "resonate:debug_time": 1.0}, "data": {}},
            {"kind": "debug.snap", "head": {**HEAD, "resonate:debug_time": 2**63}, "data": {}},
            {"kind": "debug.snap", "head": {**HEAD, "resonate:debug_time": True}, "data": {}},
        ],
    )
    def test_what_is_no_envelope_is_refused(self, envelope):
        with pytest.raises(ProtocolError, match=r"400: Invalid request envelope: "):
            read_envelope(envelope)

    def test_unknown_members_of_head_and_data_are_ignored(self):
        assert read("promise.get", {"id": "p", "more": object()}, more=[]).id == "p"

    def test_the_checks_come_in_the_servers_order(self):
        wrong = {"version": "1"}
        assert refusal("", [], **wrong)[1].startswith("Missing or invalid 'kind' field — must be a")
        assert refusal("x", [], **wrong)[1] == "Invalid 'data' field — must be an object"
        assert refusal("x", {}, **wrong)[1] == (
            "Unsupported protocol version '1', supported versions: [\"2026-04-01\"]"
        )
        assert refusal("x", {}) == (400, "Unknown operation: x")

    def test_these_are_the_kinds_of_the_protocol(self):
        words = {kind.partition(".")[0] for kind in REQUESTS}
        assert words == {"promise", "task", "schedule", "debug"}
        assert len(REQUESTS) == 26


class TestShapes:
    @pytest.mark.parametrize(
        ("data", "text"),
        [
            ({}, "missing field `id`"),
            ({"id": None}, "invalid type: null, expected a string"),
            ({"id": 5}, "invalid type: integer `5`, expected a string"),
            ({"id": 1.5}, "invalid type: floating point `1.5`, expected a string"),
            ({"id": True}, "invalid type: boolean `true`, expected a string"),
            ({"id": []}, "invalid type: sequence, expected a string"),
            ({"id": {}}, "invalid type: map, expected a string"),
            ({"id": b"x"}, "invalid type: bytes object, expected a string"),
            ({"id": 10**5000}, "invalid type: integer beyond 64 bits, expected a string"),
        ],
    )
    def test_a_text_must_be_one(self, data, text):
        assert message("promise.get", data) == f"Invalid request: {text}"

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ("x", 'invalid type: string "x", expected i64'),
            (1.0, "invalid type: floating point `1.0`, expected i64"),
            (True, "invalid type: boolean `true`, expected i64"),
            (2**63, f"invalid value: integer `{2**63}`, expected i64"),
            (-(2**63) - 1, f"invalid value: integer `{-(2**63) - 1}`, expected i64"),
            (float("nan"), "invalid type: floating point `nan`, expected i64"),
        ],
    )
    def test_an_integer_must_be_one_of_64_bits(self, value, text):
        assert (
            message("promise.create", {"id": "p", "timeoutAt": value}) == f"Invalid request: {text}"
        )

    @pytest.mark.parametrize(
        ("value", "kept"),
        [
            ({}, {}),
            ({"headers": None, "data": None}, {}),
            ({"headers": {}}, {"headers": {}}),
            ({"data": "", "more": 1}, {"data": ""}),
            ([{"h": "1"}, "d"], {"headers": {"h": "1"}, "data": "d"}),
        ],
    )
    def test_a_value_keeps_what_is_not_null(self, value, kept):
        assert read("promise.create", {**PROMISE, "param": value}).param == kept

    @pytest.mark.parametrize(
        "value", [None, 5, "x", [], [1, 2, 3], {"headers": 5}, {"headers": {"a": 1}}, {"data": 1}]
    )
    def test_a_value_of_another_shape_is_refused(self, value):
        assert message("promise.create", {**PROMISE, "param": value}).startswith(
            "Invalid request: "
        )

    @pytest.mark.parametrize("tags", [None, [], {"a": 1}, {1: "a"}, {"a": None}])
    def test_tags_are_texts(self, tags):
        assert message("promise.create", {**PROMISE, "tags": tags}).startswith("Invalid request: ")

    @pytest.mark.parametrize(
        ("state", "text"),
        [
            ("x", "unknown variant `x`, expected one of `pending`, `acquired`, `suspended`"),
            (5, "invalid type: integer `5`, expected string or map"),
            ({}, "invalid value: map, expected map with a single key"),
            ({"pending": 1}, "invalid type: integer `1`, expected unit"),
        ],
    )
    def test_a_state_is_one_of_its_names(self, state, text):
        assert message("task.search", {"state": state}).startswith(f"Invalid request: {text}")

    def test_in_searches_null_is_absent(self):
        nulls = {"state": None, "tags": None, "limit": None, "cursor": None}
        assert read("promise.search", nulls) == read("promise.search", {})

    def test_the_first_wrong_member_as_written_wins_over_a_missing_one(self):
        assert "expected i64" in message("promise.create", {"timeoutAt": "x", "id": 5})
        assert "expected a string" in message("promise.create", {"id": 5, "timeoutAt": "x"})
        assert "missing field `cron`" in message(
            "schedule.create", {"promiseTimeout": 1, "id": "s"}
        )

    def test_a_request_keeps_no_dict_of_the_client(self):
        tags = {"a": "b"}
        request = read("promise.create", {**PROMISE, "tags": tags})
        tags["a"] = "changed"
        assert request.tags == {"a": "b"}


class TestRules:
    @pytest.mark.parametrize(
        ("kind", "data", "text"),
        [
            ("promise.get", {"id": ""}, "Promise ID is required"),
            ("task.get", {"id": ""}, "Task ID is required"),
            ("schedule.get", {"id": ""}, "Schedule ID is required"),
            ("schedule.delete", {"id": ""}, "Schedule ID is required"),
            (
                "promise.create",
                {"id": "p", "timeoutAt": -1},
                "TimeoutAt must be a non-negative integer",
            ),
            ("promise.search", {"limit": 0}, "Limit must be a positive integer"),
            ("task.search", {"limit": -5}, "Limit must be a positive integer"),
            ("schedule.search", {"limit": 1001}, "Invalid 'limit' — must be between 1 and 1000"),
            ("schedule.create", {**SCHEDULE, "id": ""}, "Schedule ID is required"),
            ("schedule.create", {**SCHEDULE, "cron": ""}, "Cron expression is required"),
            ("schedule.create", {**SCHEDULE, "promiseId": ""}, "Promise ID template is required"),
            (
                "schedule.create",
                {**SCHEDULE, "promiseTimeout": -1},
                "Promise timeout must be a non-negative integer",
            ),
            ("schedule.create", {**SCHEDULE, "id": "a.b"}, "Schedule ID must not contain '.'"),
            (
                "schedule.create",
                {**SCHEDULE, "promiseTags": {}},
                "promiseTags must include a resonate:target tag",
            ),
            ("debug.tick", {}, "Missing or invalid 'time' field"),
            ("debug.tick", {"time": "5"}, "Missing or invalid 'time' field"),
            ("debug.tick", {"time": 5.0}, "Missing or invalid 'time' field"),
            ("debug.tick", {"time": 2**63}, "Missing or invalid 'time' field"),
        ],
    )
    def test_a_broken_rule_is_told_in_the_servers_words(self, kind, data, text):
        assert message(kind, data) == text

    def test_two_broken_rules_are_both_told(self):
        assert message("promise.create", {"id": "", "timeoutAt": -1}) == (
            "Promise ID is required; TimeoutAt must be a non-negative integer"
        )

    def test_a_tick_must_be_at_the_time_of_the_head(self):
        assert refusal("debug.tick", {"time": 5}, **{"resonate:debug_time": 6}) == (
            400,
            "resonate:debug_time must equal data.time",
        )
        assert read("debug.tick", {"time": 5}, **{"resonate:debug_time": 5}).at == 5

    def test_the_rules_of_the_profile_are_read(self):
        assert (
            read("schedule.create", {**SCHEDULE, "id": "a.b", "promiseTags": {}}, SPEC).id == "a.b"
        )

    def test_a_template_that_grows_beyond_reason_is_refused(self):
        data = {**SCHEDULE, "id": "s" * 5000, "promiseId": "{{.id}}" * 1000}
        assert "expands to 5,007,000 characters" in message("schedule.create", data)
        assert read("schedule.create", {**SCHEDULE, "id": "s" * 1_000_000}).id


class TestTagsOfAPromise:
    def create(self, id="a.b", profile=DOTS, **tags):
        tags = {f"resonate:{name}": text for name, text in tags.items()}
        return {"id": id, "timeoutAt": 10, "tags": tags}, profile

    @pytest.mark.parametrize(
        ("tags", "text"),
        [
            ({"id": "a\0"}, "Promise ID must not contain null bytes"),
            ({"origin": "a.b"}, "resonate:origin must not contain '.'"),
            ({"origin": "x"}, "Promise ID must be prefixed by resonate:origin"),
            ({"branch": "a.bc"}, "Promise ID must be prefixed by resonate:branch"),
            ({"parent": "ab"}, "Promise ID must be prefixed by resonate:parent"),
            ({"prefix": "a.b"}, "resonate:prefix must not contain '.'"),
            ({"delay": "x"}, "resonate:delay must be a non-negative integer"),
            ({"delay": "10"}, "resonate:delay must be less than timeoutAt"),
            ({"delay": "9"}, "resonate:delay requires a resonate:target tag"),
            ({"target": "x"}, "Invalid resonate:target address"),
            ({"delay": "9", "target": "x"}, "Invalid resonate:target address"),
            (
                {"origin": "a.b", "branch": "x", "delay": "x"},
                "resonate:origin must not contain '.'",
            ),
        ],
    )
    def test_the_first_fault_is_told(self, tags, text):
        data, profile = self.create(**tags)
        assert message("promise.create", data, profile) == text

    def test_an_id_descends_from_itself_and_from_its_prefix(self):
        data, profile = self.create(origin="a", branch="a.b", parent="a")
        assert read("promise.create", data, profile).id == "a.b"

    def test_standard_takes_the_ids_of_the_official_clients(self):
        root = "report.nightly.1783978446000"
        data, _ = self.create(
            id=f"{root}:1.2", origin=root, branch=f"{root}:1", parent=root, prefix=root
        )
        assert read("promise.create", data).id.endswith(":1.2")

    def test_standard_still_wants_an_ancestor(self):
        data, _ = self.create(id="a:1", origin="b")
        assert message("promise.create", data) == "Promise ID must be prefixed by resonate:origin"

    def test_without_separators_lineage_is_not_checked(self):
        data, _ = self.create(origin="x", branch="y")
        assert read("promise.create", data, SPEC).id == "a.b"


class TestWords:
    @pytest.mark.parametrize(
        ("text", "delay"),
        [
            ("0", 0),
            ("+5", 5),
            ("007", 7),
            ("-0", 0),
            (str(2**63 - 1), 2**63 - 1),
            (str(2**63), None),
            ("9" * 5000, None),
            ("", None),
            (" 5", None),
            ("-1", None),
            ("1.5", None),
            ("٣", None),
        ],
    )
    def test_a_delay_is_a_number_of_64_bits(self, text, delay):
        assert delay_of({"resonate:delay": text}) == delay

    @pytest.mark.parametrize(
        "text",
        [
            "poll://any@default",
            "poll://uni@g/w1",
            "http://worker:9999",
            "https://worker.example/cb",
            "bash://",
            "bash://docker/alpine",
            "gcps://proj/topic",
        ],
    )
    def test_these_are_addresses(self, text):
        assert is_address(text)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "worker",
            "poll://g",
            "poll://bad@g",
            "poll://any@",
            "gcps://proj",
            "ftp://x/y",
            "http://",
        ],
    )
    def test_these_are_none(self, text):
        assert not is_address(text)

    def test_only_two_marks_are_filled_in(self):
        parts = template_parts("{{.id}}/{{ .id }}/{{.other}}/{{.timestamp}}/{{.timestamp}}", "s")
        assert "5".join(parts) == "s/{{ .id }}/{{.other}}/5/5"

    def test_an_id_that_holds_the_tick_is_itself_expanded(self):
        assert "5".join(template_parts("{{.id}}", "x{{.timestamp}}")) == "x5"

    def test_the_length_is_known_without_expanding(self):
        assert expanded_length("{{.id}}" * 600_000, "s" * 1_000_000) > ID_LIMIT


def action(kind="promise.create", head=None, **data):
    return {"kind": kind, "head": head, "data": data}


CREATE = {"id": "p", "timeoutAt": 10, "tags": {"resonate:target": "poll://any@g"}}
SETTLE = {"id": "t", "state": "resolved"}
WAIT = {"awaited": "a.1", "awaiter": "a"}
HELD = {"id": "a", "version": 1}


class TestStructsWithin:
    """The actions of the task kinds: requests within requests."""

    @pytest.mark.parametrize(
        ("kind", "data", "text"),
        [
            ("task.create", {"pid": "w", "ttl": 1}, "missing field `action`"),
            ("task.create", {"pid": "w", "ttl": 1, "action": 5}, "expected struct TaskCreate"),
            (
                "task.create",
                {"pid": "w", "ttl": 1, "action": {"kind": "x"}},
                "missing field `head`",
            ),
            ("task.create", {"pid": "w", "ttl": 1, "action": []}, "invalid length 0"),
            ("task.fulfill", {**HELD, "action": {"head": None, "data": SETTLE}}, "`kind`"),
            ("task.fulfill", {**HELD, "action": action(id="a", state="pending")}, "`pending`"),
            ("task.suspend", {**HELD, "actions": "x"}, "expected a sequence"),
            ("task.suspend", {**HELD, "actions": [action(awaited="x")]}, "missing field `awaiter`"),
            ("task.fence", {**HELD, "action": {"kind": "promise.settle"}}, "missing field `data`"),
            ("task.heartbeat", {"pid": "w", "tasks": [{"id": "a"}]}, "missing field `version`"),
        ],
    )
    def test_a_wrong_shape_is_told_however_deep(self, kind, data, text):
        told = message(kind, data)
        assert told.startswith("Invalid request: ")
        assert text in told

    @pytest.mark.parametrize(
        ("kind", "data", "text"),
        [
            (
                "task.create",
                {"pid": "", "ttl": 1, "action": action(**CREATE)},
                "Process ID is required",
            ),
            (
                "task.create",
                {"pid": "w", "ttl": 0, "action": action(**CREATE)},
                "TTL must be a positive integer",
            ),
            (
                "task.create",
                {"pid": "w", "ttl": 1, "action": action(**{**CREATE, "id": ""})},
                "Promise ID is required",
            ),
            ("task.acquire", {"id": "", "version": 0, "pid": "w", "ttl": 1}, "Task ID is required"),
            (
                "task.acquire",
                {"id": "a", "version": -1, "pid": "w", "ttl": 1},
                "Version must be a non-negative integer",
            ),
            ("task.suspend", {**HELD, "actions": []}, "Actions array cannot be empty"),
            ("task.heartbeat", {"pid": "w", "tasks": []}, "Tasks array must not be empty"),
            (
                "task.heartbeat",
                {"pid": "w", "tasks": [{"id": "", "version": 0}]},
                "Task ID is required",
            ),
            (
                "promise.register_callback",
                {"awaited": "", "awaiter": "a"},
                "Awaited promise ID is required",
            ),
            (
                "promise.register_callback",
                {"awaited": "a", "awaiter": ""},
                "Awaiter promise ID is required",
            ),
            ("promise.register_listener", {"awaited": "a", "address": ""}, "Address is required"),
        ],
    )
    def test_a_broken_rule_is_told_however_deep(self, kind, data, text):
        assert message(kind, data) == text

    @pytest.mark.parametrize(
        ("kind", "data", "text"),
        [
            (
                "task.create",
                {"pid": "w", "ttl": 1, "action": action(id="p", timeoutAt=1)},
                "Action must have a resonate:target tag",
            ),
            (
                "task.create",
                {
                    "pid": "w",
                    "ttl": 1,
                    "action": action(
                        **{**CREATE, "tags": {**CREATE["tags"], "resonate:delay": "1"}}
                    ),
                },
                "Action must not have a resonate:delay tag",
            ),
            (
                "task.create",
                {
                    "pid": "w",
                    "ttl": 1,
                    "action": action(**{**CREATE, "tags": {"resonate:target": "x"}}),
                },
                "Invalid resonate:target address",
            ),
            (
                "task.fulfill",
                {**HELD, "action": action(**SETTLE)},
                "Action ID must match the task ID",
            ),
            (
                "task.fence",
                {**HELD, "action": action(id="a")},
                "Action ID must not equal the task ID",
            ),
            (
                "task.suspend",
                {**HELD, "actions": [action(awaited="a", awaiter="a")]},
                "Awaited and awaiter must be different promises",
            ),
            (
                "task.suspend",
                {**HELD, "actions": [action(awaited="b", awaiter="a")]},
                "Awaiter and awaited must belong to the same origin",
            ),
            (
                "task.suspend",
                {**HELD, "actions": [action(awaited="a.1", awaiter="a.2")]},
                "All action awaiter IDs must match the task ID",
            ),
            (
                "promise.register_listener",
                {"awaited": "a", "address": "x"},
                "Invalid listener address",
            ),
        ],
    )
    def test_what_is_wrong_across_members_is_told(self, kind, data, text):
        assert message(kind, data) == text

    def test_an_array_is_a_struct_by_position(self):
        request = read("task.suspend", {**HELD, "actions": [["k", None, ["a.1", "a"]]]})
        assert request.awaited == ("a.1",)
        refs = read("task.heartbeat", {"pid": "w", "tasks": [["a", 1], ["b", 2]]}).tasks
        assert [(ref.id, ref.version) for ref in refs] == [("a", 1), ("b", 2)]
        assert "invalid length 3" in message("task.heartbeat", {"pid": "w", "tasks": [["a", 1, 2]]})

    def test_nobody_looks_at_kind_and_head_of_an_action(self):
        data = {**HELD, "action": {"kind": "?", "head": [], "data": {**SETTLE, "id": "a"}}}
        assert read("task.fulfill", data).action.data.state == "resolved"

    def test_a_settlement_is_one_that_a_client_may_make(self):
        for state in ("resolved", "rejected", "rejected_canceled"):
            assert read("promise.settle", {"id": "a", "state": state}).state == state
        assert "unknown variant `rejected_timedout`" in message(
            "promise.settle", {"id": "a", "state": "rejected_timedout"}
        )


class TestFencedActions:
    def fenced(self, kind, data, profile=STANDARD):
        fence = read("task.fence", {**HELD, "action": {"kind": kind, "data": data}}, profile)
        return read_action(fence.action, profile)

    def told(self, kind, data):
        with pytest.raises(ProtocolError) as caught:
            self.fenced(kind, data)
        return caught.value.message

    def test_it_is_read_late_and_as_the_request_it_is(self):
        assert self.fenced("promise.create", CREATE).timeout_at == 10
        assert self.fenced("promise.settle", {"id": "x", "state": "rejected"}).state == "rejected"

    @pytest.mark.parametrize(
        ("kind", "data", "text"),
        [
            ("promise.get", CREATE, "Invalid fence action kind"),
            ("promise.create", None, "Invalid action data: invalid type: null"),
            ("promise.create", {"id": "x"}, "Invalid action data: missing field `timeoutAt`"),
            ("promise.settle", {"id": "x", "state": 5}, "Invalid action data: invalid type"),
            ("promise.create", {"id": "", "timeoutAt": 1}, "Promise ID is required"),
            ("promise.create", {"id": "x", "timeoutAt": -1}, "TimeoutAt must be"),
            (
                "promise.create",
                {**CREATE, "tags": {"resonate:target": "x"}},
                "Invalid resonate:target",
            ),
        ],
    )
    def test_what_is_wrong_with_it_is_told(self, kind, data, text):
        assert self.told(kind, data).startswith(text)

    @pytest.mark.parametrize("data", [None, [], "x", {"id": 5}, {}])
    def test_the_promise_it_names_is_known_as_far_as_it_can_be(self, data):
        fence = read("task.fence", {**HELD, "action": {"kind": "promise.create", "data": data}})
        assert fence.promise_id is None


class TestOrigins:
    def test_an_origin_is_what_stands_before_the_first_separator(self):
        assert origin_of("a.b:c", (":", ".")) == origin_of("a:b.c", (":", ".")) == "a"
        assert origin_of("a:b.c", (".",)) == "a:b"
        assert origin_of("a", (".",)) == "a"
        assert origin_of("a", ()) == origin_of("b", ()) == ""

    def test_only_what_stands_below_descends(self):
        assert descends("a.b", "a", (".",))
        assert not descends("a:b", "a", (".",))
        assert not descends("b", "a", (".",))

    def test_a_heartbeat_over_several_origins_is_for_some_profiles(self):
        data = {"pid": "w", "tasks": [{"id": "a", "version": 1}, {"id": "b", "version": 1}]}
        for name, accepts in (("standard", True), ("spec", True), ("server", False)):
            profile = PROFILES[name]
            if accepts:
                read("task.heartbeat", data, profile)
            else:
                text = "All tasks must belong to the same origin"
                assert message("task.heartbeat", data, profile) == text

    def test_the_specification_knows_no_origins_and_takes_what_it_calls_deliverable(self):
        read("promise.register_callback", {"awaited": "x", "awaiter": "y"}, SPEC)
        read("promise.register_listener", {"awaited": "x", "address": "poll://@"}, SPEC)
        assert message("promise.register_listener", {"awaited": "x", "address": "bash://x"}, SPEC)
        read("promise.create", {**CREATE, "tags": {"resonate:target": "anything"}}, SPEC)
