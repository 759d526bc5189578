"""The site: no dead link, no public name without an entry, no page that nobody finds.

`make docs` builds it; what can be known without building is known here.
"""

import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

import resonate_lab as rl

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
LINK = re.compile(r"!?\[[^]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
MOST_BYTES = 150_000
MOST_COLUMNS = 80


def tool(path: str):
    """Return a script of the project as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and MyST make them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


class TestPages:
    @pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
    def test_every_link_leads_somewhere(self, page):
        dead = []
        for link in LINK.findall(FENCE.sub("", page.read_text("utf-8"))):
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (page.parent / parts.path) if parts.path else page
            if not target.is_file() or (parts.fragment and parts.fragment not in anchors(target)):
                dead.append(link)
        assert dead == []

    @pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: str(page.relative_to(ROOT)))
    def test_examples_fit_the_column_of_the_site(self, page):
        """What is longer is cut off there, and so was the one number that a page was about."""
        blocks = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.M)
        lines = [line.rstrip() for block in blocks for line in block.splitlines()]
        assert [line for line in lines if len(line) > MOST_COLUMNS] == []

    def test_the_menu_holds_every_page_once(self):
        source = [(DOCS / "index.md").read_text("utf-8")]
        tool("docs/conf.py").list_how_to_pages(SimpleNamespace(srcdir=DOCS), "index", source)
        menu = re.findall(r"^[\w/-]+$", source[0], re.MULTILINE)
        pages = {str(page.relative_to(DOCS).with_suffix("")) for page in DOCS.rglob("*.md")}
        assert sorted(menu) == sorted(pages - {"index"})

    def test_every_public_name_has_an_entry(self):
        text = "\n".join(page.read_text("utf-8") for page in (DOCS / "api").glob("*.md"))
        entries = set(re.findall(r"auto(?:class|function|exception|module):: (\S+)", text))
        entries |= {entry.rpartition(".")[2] for entry in entries}
        rooms = {"cron", "engine", "policies"}  # their names have entries one by one
        errors = {name for name in rl.__all__ if name.endswith("Error")}
        assert set(rl.__all__) - rooms - entries <= errors
        assert "resonate_lab.errors" in entries


class TestPictures:
    def test_the_readme_shows_three_that_the_script_draws(self):
        shown = [
            link
            for link in LINK.findall((ROOT / "README.md").read_text("utf-8"))
            if link.endswith(".png")
        ]
        drawn = [f"docs/pictures/{p.__name__}.png" for p in tool("tools/pictures.py").PICTURES]
        assert sorted(shown) == sorted(drawn)
        assert len(shown) == 3

    def test_each_is_small_and_none_is_left_over(self):
        files = sorted((DOCS / "pictures").iterdir())
        drawn = [f"{p.__name__}.png" for p in tool("tools/pictures.py").PICTURES]
        assert [path.name for path in files] == sorted(drawn)
        assert [path.name for path in files if path.stat().st_size > MOST_BYTES] == []

    def test_the_script_draws_them_into_any_folder(self, tmp_path):
        pictures = tool("tools/pictures.py")
        pictures.PICTURES = pictures.PICTURES[1:2]
        pictures.main(str(tmp_path / "new"))
        (made,) = (tmp_path / "new").iterdir()
        assert made.read_bytes().startswith(b"\x89PNG")


class TestTheCheckOfTheSite:
    """A check that cannot fail holds nothing: it refuses each kind of dead link."""

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            ('<a href="gone.html">x</a>', "gone.html, which is not there"),
            ('<a href="other.html#gone">x</a>', "no such place"),
            ('<a href="#gone">x</a>', "no such place"),
            ('<img src="gone.png">', "gone.png, which is not there"),
            ('<script src="https://example.org/x.js"></script>', "from elsewhere"),
            ('<link rel="stylesheet" href="//example.org/x.css">', "from elsewhere"),
        ],
    )
    def test_refuses(self, tmp_path, body, words):
        (tmp_path / "other.html").write_text('<p id="here">x</p>')
        (tmp_path / "index.html").write_text(body)
        (found,) = tool("tools/check_site.py").complaints(tmp_path)
        assert found.startswith("index.html ")
        assert words in found

    @pytest.mark.parametrize(
        "body",
        [
            '<a href="other.html#here">x</a>',
            '<a href="sub/">x</a>',
            '<a href="#top">x</a><a href="#a%20b">x</a><i id="a b"></i>',
            '<a href="https://example.org/gone">x</a><a href="mailto:a@example.org">x</a>',
            '<img src="data:image/png;base64,AAAA">',
        ],
    )
    def test_allows(self, tmp_path, body):
        (tmp_path / "sub").mkdir()
        (tmp_path / "other.html").write_text('<p id="here">x</p>')
        (tmp_path / "index.html").write_text(body)
        assert tool("tools/check_site.py").complaints(tmp_path) == []

    def test_a_site_without_pages_is_none(self, tmp_path):
        assert tool("tools/check_site.py").complaints(tmp_path) == [f"{tmp_path} holds no page"]
