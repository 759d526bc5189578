"""The call graph of a tick: drawn as the command line draws it, and proof against its authors."""

import base64
import json

import pytest
from history import START, TARGET, TIMER

from resonate_lab import Engine
from resonate_lab.engine import tree as drawing

# What the official clients write on the promises that a workflow creates.
RPC = TARGET | {"resonate:scope": "global"}
RUN = {"resonate:scope": "local"}


def call(func):
    return {"data": base64.b64encode(json.dumps({"func": func, "args": []}).encode()).decode()}


@pytest.fixture
def engine():
    return Engine("spec", START)


def create(engine, id, parent=None, tags=None, origin="r", param=None):
    lineage = {"resonate:origin": origin} | ({"resonate:parent": parent} if parent else {})
    tags = lineage | (tags or {})
    return engine.promises.create(id, timeout="1h", tags=tags, param=param)


def lines(engine, id):
    return repr(engine.tree(id)).splitlines()


class TestDrawing:
    def test_a_tick_shows_what_came_of_it(self):
        engine = Engine(now=START)
        engine.schedules.create(
            "s", cron="0 * * * *", promise_id="r", promise_timeout="1d", target="poll://any@g"
        )
        engine.advance("1h")
        create(engine, "r:1", "r", RPC, param=call("charge"))
        engine.advance(1)
        create(engine, "r:2", "r", RUN, param=call("notify"))
        create(engine, "r:1.1", "r:1", RPC | TIMER)
        engine.promises.settle("r:2", "resolved")
        engine.promises.settle("r:1", "rejected")
        assert lines(engine, "r") == [
            "r 🟡",
            "├── r:1 🔴 (rpc charge)",
            "│   └── r:1.1 🟡 (sleep)",
            "└── r:2 🟢 (run notify)",
        ]

    def test_children_stand_by_their_creation_and_then_by_id(self, engine):
        create(engine, "r", "r")
        engine.promises.create("r:z", timeout="1h", tags={
            "resonate:origin": "r", "resonate:parent": "r"})  # fmt: skip
        create(engine, "r:y", "r")
        engine.advance(1)
        create(engine, "r:a", "r")
        assert [node.id for node in engine.tree("r").nodes] == ["r", "r:y", "r:z", "r:a"]

    def test_any_promise_is_the_root_of_what_is_below_it(self, engine):
        for id, parent in [("r", "r"), ("r:1", "r"), ("r:1.1", "r:1"), ("r:2", "r")]:
            create(engine, id, parent)
        assert lines(engine, "r:1") == ["r:1 🟡", "└── r:1.1 🟡"]

    def test_an_unknown_id_shows_itself(self, engine):
        assert lines(engine, "nobody") == ["nobody (no such promise)"]

    def test_other_graphs_are_left_out(self, engine):
        create(engine, "r", "r")
        create(engine, "s:1", "r", origin="s")
        assert lines(engine, "r") == ["r 🟡"]

    @pytest.mark.parametrize(
        "data",
        [
            "",
            "not base64!",
            base64.b64encode(b"not json").decode(),
            base64.b64encode(b"[" * 90_000).decode(),
            base64.b64encode(b'{"func": 7}').decode(),
            base64.b64encode(b'["func"]').decode(),
            base64.b64encode(b"\xff\xfe").decode(),
            "A" * 1_000_000,
        ],
    )
    def test_a_parameter_that_names_no_function_is_no_matter(self, engine, data):
        create(engine, "r", "r", RPC, param={"data": data})
        assert lines(engine, "r") == ["r 🟡 (rpc)"]


class TestHostile:
    def test_a_missing_parent_is_told_and_the_stray_shown(self, engine):
        create(engine, "r", "r")
        create(engine, "r:1", "r:gone")
        create(engine, "r:1.1", "r:1")
        create(engine, "r:2")
        assert lines(engine, "r") == [
            "r 🟡",
            "┄┄┄ r:1 🟡 (parent r:gone not stored)",
            "    └── r:1.1 🟡",
            "┄┄┄ r:2 🟡 (no parent)",
        ]

    def test_a_ring_is_drawn_once(self, engine):
        create(engine, "r", "r")
        for id, parent in [("r:a", "r:b"), ("r:b", "r:a"), ("r:self", "r:self")]:
            create(engine, id, parent)
        assert lines(engine, "r") == [
            "r 🟡",
            "┄┄┄ r:a 🟡 (its parents form a ring)",
            "    └── r:b 🟡",
            "┄┄┄ r:self 🟡 (its parents form a ring)",
        ]

    def test_a_root_in_a_ring_is_still_the_root(self, engine):
        create(engine, "r", "r:1")
        create(engine, "r:1", "r")
        assert lines(engine, "r") == ["r 🟡", "└── r:1 🟡"]

    def test_a_chain_without_end_is_cut_and_counted(self, engine):
        create(engine, "r", "r")
        for number in range(5_000):
            create(engine, f"r:{number}", f"r:{number - 1}" if number else "r")
        tree = engine.tree("r")
        assert len(tree.nodes) + tree.more == 5_001
        assert max(map(len, lines(engine, "r"))) < 300
        assert lines(engine, "r")[-1] == f"… and {tree.more:,} more"

    def test_a_wide_graph_is_cut_and_counted(self, engine, monkeypatch):
        monkeypatch.setattr(drawing, "LINE_LIMIT", 3)
        for number in range(10):
            create(engine, f"r:{number}", "r")
        create(engine, "r", "r")
        assert lines(engine, "r")[-1] == "… and 8 more"

    def test_ids_and_functions_cannot_speak_to_a_terminal_or_a_page(self, engine):
        create(engine, "r", "r")
        create(engine, "r:\x1b[2J<script>\u202e", "r", RPC, param=call("<img onerror=x>\n"))
        create(engine, "r:2", "<b>\x07")
        text, page = repr(engine.tree("r")), engine.tree("r")._repr_html_()
        assert not any(mark in text for mark in "\x1b\x07\u202e")
        assert len(text.splitlines()) == 3
        assert not any(mark in page for mark in ("\x1b", "<script", "<img", "<b>", "\u202e"))
        assert "&lt;script&gt;" in page

    def test_a_page_says_the_state_in_words(self, engine):
        create(engine, "r", "r")
        assert ">pending</span>" in engine.tree("r")._repr_html_()
        assert ">not stored</span>" in engine.tree("nobody")._repr_html_()
