"""What a page shows for HTML: its words and its tags."""

import re
from html import unescape

HOSTILE = "<img src=x onerror=window.hit=1>"


def words(html: str) -> str:
    """Return the text that a page shows for HTML, blanks run together."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def tags(html: str) -> set[str]:
    """Return the names of the tags that HTML holds."""
    return set(re.findall(r"<(\w+)", html))
