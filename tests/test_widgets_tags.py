"""The tag inspector without a page: set a control, read what it lists and shows."""

import pytest
from widget_words import HOSTILE, tags, words

from resonate_lab.engine import Engine
from resonate_lab.widgets import TagInspector

START = "2024-01-01T00:00:00Z"
TARGET = "poll://any@default"


@pytest.fixture
def engine():
    made = Engine(now=START)
    for name, team in (("nightly", "red"), ("early", "blue")):
        made.schedules.create(
            name, cron="0 2 * * *", target=TARGET, promise_tags={"team": team}, promise_timeout="7d"
        )
    made.advance("2d")
    return made


@pytest.fixture
def inspector(engine):
    made = TagInspector(engine)
    yield made
    made.close()


def said(inspector) -> str:
    return words(inspector.answer.value)


def listed(inspector) -> list[str]:
    return [id for _, id in inspector.promise.options]


class TestFinding:
    def test_all_promises_are_listed_newest_first(self, inspector, engine):
        assert listed(inspector) == list(reversed(list(engine.state.promises)))
        assert "4 promises of 4." in said(inspector)

    def test_a_schedule_narrows_it_to_the_promises_that_it_fired(self, inspector, engine):
        assert [label for label, _ in inspector.schedule.options] == [
            "all (4)",
            "early (2)",
            "nightly (2)",
        ]
        inspector.schedule.value = "early"
        ids = {row.id for row in engine.promises.search({"resonate:schedule": "early"})}
        assert set(listed(inspector)) == ids

    def test_a_tag_narrows_it_letter_by_letter(self, inspector):
        for text, count in (
            ("te", 4),
            ("team=", 4),
            ("team=re", 2),
            ("team=red", 2),
            ("team=x", 0),
        ):
            inspector.tag.value = text
            assert len(listed(inspector)) == count
        assert "No promise has such a tag." in said(inspector)

    def test_tags_that_promises_share_are_offered(self, inspector):
        assert {"team=red", "team=blue", "resonate:schedule=early", "resonate:origin"} <= set(
            inspector.tag.options
        )

    def test_a_promise_that_still_matches_stays_chosen(self, inspector):
        chosen = listed(inspector)[2]
        inspector.promise.value = chosen
        inspector.tag.value = "resonate"
        assert inspector.promise.value == chosen

    def test_an_engine_without_promises_has_an_answer(self):
        inspector = TagInspector(Engine(now=START))
        assert "0 promises of 0." in said(inspector)
        inspector.close()


class TestShowing:
    def test_the_buttons_go_down_and_up_the_list_and_not_past_its_ends(self, inspector):
        seen = []
        for press in (inspector.newer, *[inspector.older] * 5, inspector.newer):
            press.click()
            seen.append(listed(inspector).index(inspector.promise.value))
        assert seen == [0, 1, 2, 3, 3, 3, 2]
        inspector.tag.value = "no such tag"
        inspector.older.click()
        assert inspector.promise.value is None

    def test_the_tags_of_the_promise_that_is_chosen(self, inspector, engine):
        for id in listed(inspector):
            inspector.promise.value = id
            for name, value in engine.promises.get(id).tags.items():
                assert f"{name} {value}" in said(inspector)

    def test_what_came_of_a_tick_as_a_tree(self, inspector, engine):
        root = listed(inspector)[0]
        for child, parent in ((f"{root}.a", root), (f"{root}.a.b", f"{root}.a")):
            lineage = {"resonate:origin": root, "resonate:parent": parent}
            engine.promises.create(child, timeout="1d", tags=lineage)
        inspector.show()
        inspector.promise.value = root
        assert f"└── {root}.a 🟡 pending └── {root}.a.b 🟡 pending" in said(inspector)

    def test_what_happened_since_when_it_is_asked_to(self, inspector, engine):
        engine.advance("1d")
        inspector.show()
        assert "6 promises of 6." in said(inspector)

    def test_a_static_twin_with_the_list(self, inspector):
        html = inspector.static().data
        assert inspector.answer.value in html
        assert all(id in words(html) for id in listed(inspector))
        assert "script" not in tags(html)


class TestStrangers:
    def test_hostile_ids_and_tags_are_shown_as_text(self):
        engine = Engine(now=START)
        names = (HOSTILE, "\u202egnp", "x" * 1000, "=1+1")
        for id in names:
            engine.promises.create(id, timeout="1h", tags={HOSTILE: id})
        inspector = TagInspector(engine)
        for id in names:
            inspector.promise.value = id
            html = inspector.answer.value + inspector.static().data
            assert "img" not in tags(html)
            assert "\u202e" not in html
            assert len(html) < 30_000
        labels = [label for label, _ in inspector.promise.options]
        assert max(map(len, labels)) < 130
        assert not any("\u202e" in label for label in labels)
        inspector.close()

    def test_what_is_no_engine_is_refused(self):
        with pytest.raises(TypeError, match="engine is None of type NoneType; give an Engine"):
            TagInspector(None)


class TestClosing:
    def test_detaches_the_controls_and_takes_every_part_off_the_page(self, inspector):
        before, parts = inspector.answer.value, [inspector, *inspector.children[0].children]
        inspector.close()
        inspector.tag.value = "team=red"
        assert inspector.answer.value == before
        assert [part for part in parts if part.comm is not None] == []
