"""The orders over the promises: byte order, tags, and what comes later."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire import HOUR, MINUTE, SECOND, TARGETED, Client, T

from resonate_lab.engine.index import Index, merge
from resonate_lab.engine.rows import Firing, PromiseRow


def row(id, tags=None, firing=None):
    return PromiseRow(id, "pending", {}, {}, tags or {}, 9, 0, None, firing)


class TestMerge:
    @given(st.lists(st.lists(st.text(max_size=3), max_size=40), max_size=4))
    def test_what_is_merged_is_sorted(self, portions):
        ids = []
        for portion in portions:
            merge(ids, list(portion))
        assert ids == sorted(id for portion in portions for id in portion)


class TestTags:
    NAMES = ("resonate:schedule", "resonate:origin", "resonate:branch", "a", "resonate:target")
    ROWS = st.lists(
        st.tuples(
            st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["", "p1", "s", "x"])),
            st.sampled_from(
                [None, Firing("s", 1, True), Firing("x", 2, True), Firing("s", 1, False)]
            ),
        ),
        max_size=9,
    )

    @given(rows=ROWS, asked_early=st.sampled_from(NAMES), later=ROWS)
    def test_it_finds_what_a_scan_finds(self, rows, asked_early, later):
        promises, created = {}, []
        index = Index(promises, created)

        def add(rows):
            for tags, firing in rows:
                # Not in the order of their ids.
                id = f"p{7 * len(created) % 10}{len(created)}"
                promises[id] = row(id, tags, firing)
                created.append(id)

        add(rows)
        index.tagged(asked_early, "s")
        add(later)
        for name in self.NAMES:
            for text in ("", "s", "x", *created[:3]):
                found = [id for id in created if promises[id].tag(name) == text]
                assert index.tagged(name, text) == sorted(found)
        assert index.ids() == sorted(created)

    def test_ids_are_in_the_order_of_the_bytes_of_utf8(self):
        ids = ["é", "z", "Z", "\U0001f600", "\ue000", "a", "a.b", "a\0", ""]
        promises = {id: row(id) for id in ids}
        assert Index(promises, ids).ids() == sorted(ids, key=lambda id: id.encode())

    def test_forgotten_it_is_built_anew(self):
        promises, created = {"a": row("a", {"k": "v"})}, ["a"]
        index = Index(promises, created)
        assert index.ids() == index.tagged("k", "v") == ["a"]
        promises.clear(), created.clear(), index.clear()
        assert index.ids() == index.tagged("k", "v") == []


@pytest.fixture(scope="module")
def client():
    client = Client()
    client.schedule("many", "* * * * * *")
    client.schedule("few", "0 * * * *", promiseTags={**TARGETED, "kind": "rare"})
    client.tick(T + HOUR)
    return client


class TestSearchesByTag:
    def search(self, client, **data):
        return [p["id"] for p in client.ok("promise.search", **data)["promises"]]

    @pytest.mark.parametrize(
        ("tags", "ids"),
        [
            ({"resonate:schedule": "few"}, [f"few-{T + HOUR}"]),
            ({"kind": "rare"}, [f"few-{T + HOUR}"]),
            ({"kind": "rare", "resonate:schedule": "many"}, []),
            ({"resonate:origin": f"few-{T + HOUR}"}, [f"few-{T + HOUR}"]),
            ({"resonate:schedule": "none"}, []),
            ({"no such tag": ""}, []),
        ],
    )
    def test_they_find_the_few_among_the_many(self, client, tags, ids):
        assert self.search(client, tags=tags) == ids

    def test_pages_go_on_behind_the_cursor(self, client):
        tags = {"resonate:schedule": "many"}
        first = client.ok("promise.search", tags=tags, limit=1000)
        ids = [p["id"] for p in first["promises"]]
        assert ids == [f"many-{T + n * SECOND}" for n in range(1, 1001)]
        assert self.search(client, tags=tags, limit=1, cursor=first["cursor"]) == [
            f"many-{T + 1001 * SECOND}"
        ]

    def test_only_candidates_are_looked_at(self, client, monkeypatch):
        self.search(client, tags={"kind": "rare"})
        looked_at = []
        real = PromiseRow.tag
        monkeypatch.setattr(
            PromiseRow, "tag", lambda row, name: looked_at.append(row.id) or real(row, name)
        )
        self.search(client, tags={"kind": "rare"})
        self.search(client, tags={"resonate:schedule": "few", "resonate:target": "x"})
        assert set(looked_at) == {f"few-{T + HOUR}"}

    def test_what_was_created_since_is_found(self, client):
        client.ok("promise.create", id="late", timeoutAt=T + 9 * HOUR, tags={"kind": "rare"})
        assert self.search(client, tags={"kind": "rare"}) == [f"few-{T + HOUR}", "late"]
        client.tick(T + HOUR + MINUTE)
        assert len(self.search(client, tags={"resonate:schedule": "many"}, limit=1000)) == 1000
