"""report: one page, nothing beside it, and every text from a fleet harmless."""

import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from resonate_lab.whatif import audit, report, what_if

DOWN = ("2026-12-01", "2026-12-01 12:00")
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</style><script>alert(1)</script>",
    "' onmouseover='alert(1)",
    "\u202egnp.exe",
    "=cmd|' /C calc'!A0",
    "x" * 10_000,
    "$\\frac{",
]


class Page(HTMLParser):
    """The tags of a page, with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def page():
    crons = ["*/30 * * * *"] * len(HOSTILE)
    frame = pd.DataFrame({"id": HOSTILE, "cron": crons})
    bad = pd.DataFrame({"id": [f"bad-{n}" for n in range(len(HOSTILE))], "cron": HOSTILE})
    fleet = pd.concat([frame, bad])
    asked = what_if(fleet, DOWN)
    audited = audit(fleet, after=DOWN[0])
    return report.page("<b>fleet</b>", [audited, asked])


class TestPage:
    def test_it_stands_alone(self, page):
        for tag, attributes in Page(page).tags:
            assert tag not in ("script", "link", "iframe", "object", "embed", "form")
            assert not any(name.startswith("on") for name in attributes)
            for name in ("src", "href"):
                assert attributes.get(name, "data:").startswith("data:")
        assert "default-src 'none'" in page
        assert not re.search(r"url\(|@import", page)

    def test_hostile_texts_are_shown_and_do_nothing(self, page):
        tags = Page(page).tags
        assert [tag for tag, _ in tags].count("img") == 2
        assert [tag for tag, _ in tags].count("style") == 1
        words = "".join(Page(page).words)
        assert "<img src=x onerror=alert(1)>" in words
        assert "\u202e" not in page
        assert "x" * 5000 not in page

    def test_every_tag_that_opens_closes(self, page):
        depth = []

        class Balance(HTMLParser):
            def handle_starttag(self, tag, attributes):
                if tag not in ("meta", "img"):
                    depth.append(tag)

            def handle_endtag(self, tag):
                assert depth.pop() == tag

        Balance().feed(page)
        assert depth == []

    def test_it_serves_light_dark_and_paper(self, page):
        assert "prefers-color-scheme: dark" in page
        assert "@media print" in page
        assert '<html lang="en">' in page
        assert all(attributes.get("alt") for tag, attributes in Page(page).tags if tag == "img")

    def test_equal_questions_give_equal_pages(self):
        frame = pd.DataFrame({"id": ["a"], "cron": ["0 * * * *"]})
        assert what_if(frame, DOWN).to_html() == what_if(frame, DOWN).to_html()

    def test_numbers_have_separators_and_durations_are_words(self):
        frame = pd.DataFrame({"id": ["a"], "cron": ["*/2 * * * * *"]})
        text = what_if(frame, DOWN).to_html()
        assert "21,600" in text
        assert "11 h 59 min" in text

    def test_it_is_written_where_asked(self, tmp_path):
        path = tmp_path / "page.html"
        text = what_if(pd.DataFrame({"id": ["ä"], "cron": ["@daily"]}), DOWN).to_html(path)
        assert path.read_text(encoding="utf-8") == text

    def test_nothing_missed_and_all_refused_are_pages_too(self):
        for cron in ("0 0 1 1 *", "nonsense"):
            assert "<h1>" in what_if(pd.DataFrame({"id": ["a"], "cron": [cron]}), DOWN).to_html()


class TestShowcase:
    def test_it_takes_one_of_each_kind_busiest_first(self):
        crons = ["* * * * *"] * 40 + ["0 * * * *"] * 40 + ["0 3 * * *", "0 0 1 1 *"]
        frame = pd.DataFrame({"id": [f"s{n}" for n in range(82)], "cron": crons})
        assert report.showcase(what_if(frame, DOWN)) == ["s0", "s40", "s80"]

    def test_it_samples_evenly_where_there_are_more(self):
        frame = pd.DataFrame(
            {
                "id": [f"s{n}" for n in range(1, 60)],
                "cron": [f"0-{n} * * * *" for n in range(1, 60)],
            }
        )
        shown = report.showcase(what_if(frame, DOWN), size=10)
        assert len(shown) == 10
        assert shown[0] == "s59"
