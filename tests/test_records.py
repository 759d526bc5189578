"""Records: to the wire and back, and how they look."""

import json
import re
from dataclasses import FrozenInstanceError

import pytest

from resonate_lab.protocol import Promise, Schedule, Step, Task, Ticks
from resonate_lab.protocol.records import Records, wire_name

T = 1704067200000  # 2024-01-01T00:00:00Z

PROMISE = Promise("p", "pending", {"headers": {"h": "1"}}, {}, {"a": "b"}, T + 1000, T)
SCHEDULE = Schedule("s", "@daily", "{{.id}}", 1000, {}, {"a": "b"}, T, T + 1)


class TestWire:
    @pytest.mark.parametrize(
        "record",
        [
            PROMISE,
            Promise("p", "resolved", {}, {"data": "x"}, {}, T, T, T),
            Task("t", "acquired", 1, 0, 5, "w"),
            Task("t", "pending", 0, 2),
            SCHEDULE,
            Schedule("s", "@daily", "{{.id}}", 1000, {}, {}, T, None, T),
        ],
    )
    def test_a_record_survives_the_wire(self, record):
        wire = json.loads(json.dumps(record.to_wire()))
        assert type(record).from_wire(wire) == record

    def test_names_on_the_wire_are_camel_case(self):
        assert set(SCHEDULE.to_wire()) == {
            "id", "cron", "promiseId", "promiseTimeout", "promiseParam", "promiseTags",
            "createdAt", "nextRunAt",
        }  # fmt: skip
        assert wire_name("rejected") == "rejected"

    def test_what_is_absent_is_left_out_and_never_null(self):
        assert "settledAt" not in PROMISE.to_wire()
        assert {"ttl", "pid"}.isdisjoint(Task("t", "pending", 0, 0).to_wire())

    def test_a_dormant_schedule_has_no_next_run_on_the_wire(self):
        assert "nextRunAt" not in Schedule("s", "c", "p", 1, {}, {}, T, None, T).to_wire()

    def test_empty_values_are_empty_objects(self):
        wire = PROMISE.to_wire()
        assert wire["value"] == {}
        assert wire["param"] == {"headers": {"h": "1"}}

    def test_the_wire_shares_nothing_with_the_record(self):
        wire = PROMISE.to_wire()
        wire["tags"]["a"] = "changed"
        wire["param"]["headers"]["h"] = "changed"
        assert PROMISE.tags == {"a": "b"}
        assert PROMISE.param == {"headers": {"h": "1"}}

    def test_a_record_cannot_be_changed(self):
        with pytest.raises(FrozenInstanceError):
            PROMISE.state = "resolved"


class TestLooks:
    def test_repr_writes_instants_and_durations_out(self):
        assert "timeout_at=2024-01-01 00:00:01Z" in repr(PROMISE)
        assert "promise_timeout=1 s" in repr(SCHEDULE)
        assert "settled_at" not in repr(PROMISE)

    def test_repr_of_instants_beyond_the_calendar_does_not_raise(self):
        assert "9223372036854775807 ms" in repr(Promise("p", "pending", {}, {}, {}, 2**63 - 1, T))

    def test_hostile_ids_are_shown_and_not_obeyed(self):
        record = Promise("<script>\x1b[31m\u202e", "pending", {}, {}, {}, T, T)
        html = record._repr_html_()
        assert "<script>" not in html
        assert "&lt;script&gt;" in html
        assert "\x1b" not in repr(record) + html
        assert "\u202e" not in repr(record) + html

    def test_a_page_has_a_line_for_each_tag_and_counts_what_it_leaves_out(self):
        tags = {f"tag-{n}": "v" * 1_000 if n == 1 else f"value {n}" for n in range(30)}
        html = Promise("p", "pending", {}, {}, tags, T, T)._repr_html_()
        cells = re.findall(r"<td[^>]*>([^<]*)</td>", html)
        assert cells[8:10] == ["tags", "tag-0: value 0"]
        assert cells[11].endswith("(800 more characters)")
        assert cells[30:34] == ["", "tag-11: value 11", "", "and 18 more"]
        assert "2024-01-01 00:00:00Z" in cells[35]

    def test_records_show_ten_and_count_the_rest(self):
        html = Records([PROMISE] * 12)._repr_html_()
        assert html.count("<tr>") == 1 + 10 + 1
        assert "and 2 more" in html
        assert "nothing found" in Records()._repr_html_()

    def test_a_step_reads_as_a_line_of_a_log(self):
        step = Step(T, "schedule firing", "s", "fired", Ticks(T, T + 1000, 1234, 1000, 200, 34))
        assert repr(step) == (
            "2024-01-01 00:00:00Z schedule firing 's': fired, 1,234 ticks from 2024-01-01 00:00:00Z"
            " to 2024-01-01 00:00:01Z (200 live, 1,000 expired, 34 existed)"
        )
