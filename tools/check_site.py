"""Refuse a built site with a dead link, or with anything that is loaded from elsewhere.

Usage: ``python tools/check_site.py FOLDER``. Needs no network: links that lead out of the site
are only counted.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Attributes by which a page loads something by itself; an <a> waits for the reader.
LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src")}


class Page(HTMLParser):
    """What a page links to, what it loads, and the anchors that it offers."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.anchors = {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element's anchor and where it leads."""
        for name, value in attrs:
            if value and name in {"id", "name"}:
                self.anchors.add(value)
            elif value and (tag, name) in LOADS:
                self.loads.add(value)
            elif value and (tag, name) == ("a", "href"):
                self.links.add(value)


def leads_out(link: str) -> bool:
    """Return whether a link has a scheme or a host, as far as a browser is concerned."""
    parts = urlsplit(link)
    return bool(parts.netloc) or parts.scheme not in {"", "data"}


def complaints(folder: Path) -> list[str]:
    """Return what is wrong with a site, one sentence each; an empty list if nothing is."""
    pages = {path.resolve(): Page(path) for path in sorted(folder.rglob("*.html"))}
    found = [] if pages else [f"{folder} holds no page"]
    for path, page in pages.items():
        where = path.relative_to(folder.resolve())
        found += [f"{where} loads {link} from elsewhere" for link in page.loads if leads_out(link)]
        for link in sorted(link for link in page.links | page.loads if not leads_out(link)):
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if parts.scheme == "data":
                continue
            if not target.exists():
                found.append(f"{where} links to {link}, which is not there")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{where} links to {link}, and that page has no such place")
    return found


def main(folder: str) -> None:
    """Print what is wrong, and end with status 1 if anything is."""
    found = complaints(Path(folder))
    pages = len(list(Path(folder).rglob("*.html")))
    if found:
        print(*found, sep="\n")
        raise SystemExit(f"{len(found)} dead links or foreign loads in {pages} pages")
    print(f"{pages} pages, no dead link")


if __name__ == "__main__":
    main(*sys.argv[1:])
