"""docs/reports.md shows what to_markdown writes, to the letter.

``python tests/test_reports_page.py`` prints it, for the page.
"""

from pathlib import Path

import pandas as pd

from resonate_lab import audit

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reports.md"


def example():
    crons = ["0 9 * * 1-5", "*/5 * * * *", "0 6 * * 0"]
    fleet = pd.DataFrame({"id": ["report", "sync", "weekly"], "cron": crons})
    return audit(fleet, after="2026-12-01").to_markdown()


def test_the_markdown_on_the_page_is_what_is_written():
    text = PAGE.read_text(encoding="utf-8")
    shown = text.split("<!-- to_markdown -->\n")[1].split("<!-- end -->")[0]
    assert shown == f"\n{example()}\n"


if __name__ == "__main__":
    print(example())
