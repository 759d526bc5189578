"""Answers as pages: one HTML file that needs nothing beside it.

It stands with the questions because it is their answers' other face: it takes the frames
of `audit` and `outage` and draws them with `plots`. A page holds its pictures and its
style, no script, and a policy that forbids fetching anything; every text from a fleet
goes through `_html`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import TYPE_CHECKING

import pandas as pd

from resonate_lab import _html, plots
from resonate_lab.instants import format_duration, format_instant, instant_ms
from resonate_lab.whatif.audit import VERDICTS, audit_counts, misread

if TYPE_CHECKING:
    from resonate_lab.whatif.outage import WhatIf

__all__ = ["fleet_page", "outage_page", "showcase", "timeline_png"]

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5a6575; --line: #d8dee6;
  --page: #ffffff; --card: #f5f7fa; --same: #2b8a6e; --different: #D55E00;
  --refused: #7b3294; --unclear: #767676; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --soft: #a3adba;
  --line: #3a4350; --page: #14181e; --card: #1e242c; --same: #4db892; --different: #f0813a;
  --refused: #b57fd0; --unclear: #9a9a9a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 70rem; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .4rem; border-top: 1px solid var(--line);
  padding-top: 1.2rem; }
p { max-width: 52rem; margin: .4rem 0; overflow-wrap: anywhere; }
.soft { color: var(--soft); }
.cards { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1rem 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 6px;
  padding: .6rem .9rem; min-width: 8.5rem; }
.card b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
.card span { color: var(--soft); font-size: .85rem; }
.bar { display: flex; height: 1.5rem; border-radius: 4px; overflow: hidden; margin: .2rem 0 .1rem;
  border: 1px solid var(--line); }
.bar i { display: block; height: 100%; }
.same { background: var(--same); }
.different { background: repeating-linear-gradient(45deg, var(--different) 0 6px,
  color-mix(in srgb, var(--different) 70%, white) 6px 9px); }
.refused { background: repeating-linear-gradient(90deg, var(--refused) 0 4px,
  color-mix(in srgb, var(--refused) 65%, white) 4px 6px); }
.unclear { background: var(--unclear); }
.legend { display: inline-block; width: .9rem; height: .9rem; border-radius: 2px;
  vertical-align: -.1rem; margin: 0 .3rem 0 .9rem; }
table { font-size: .9rem; font-variant-numeric: tabular-nums; }
td { max-width: 28rem; overflow-wrap: break-word; }
td:first-child, td:last-child { min-width: 9.5rem; }
img { display: block; max-width: 100%; height: auto; margin: 1rem 0; background: #fff;
  border: 1px solid var(--line); border-radius: 6px; }
@media print { body { max-width: none; padding: 0; font-size: 11px; }
  h2, tr, img, .card, .bar { break-inside: avoid; } h2 { break-after: avoid; }
  .bar i, .card { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""


def fleet_page(name: str, audited: pd.DataFrame, what: WhatIf, picture: bytes) -> str:
    """Return the page on a fleet: what its expressions mean, and what an outage brings.

    Parameters
    ----------
    name : str
        of the fleet, for the heading
    audited : DataFrame
        what `audit` answered for the fleet
    what : WhatIf
        what `what_if` answered for it
    picture : bytes
        its timeline as PNG, see `timeline_png`
    """
    lead = (
        f"<p class='soft'>{len(audited):,} schedules. Resonate reads weekdays as Quartz does "
        "(1 is Sunday), joins the two day fields by AND, and evaluates in UTC.</p>"
    )
    return _page(
        f"What {name} does under Resonate",
        [lead, *_audit_sections(audited), *_outage_sections(what, picture)],
    )


def outage_page(what: WhatIf) -> str:
    """Return the page on an outage."""
    picture = timeline_png(what)
    return _page("What the outage brings at restart", _outage_sections(what, picture))


def timeline_png(what: WhatIf) -> bytes:
    """Return the timeline of schedules that differ, as a PNG."""
    return plots.timeline_png(what.ticks, down=what.down, lanes=showcase(what))


def showcase(what: WhatIf, size: int = 24) -> list[str]:
    """Return the ids of schedules that differ as much as they can, busiest first.

    A fleet's busiest schedules mostly do the same. Of the schedules with equal numbers of
    missed, sent and expired one stands for all, and of those an even sample is taken.
    """
    kinds = what.summary[what.summary["missed"] > 0].drop_duplicates(
        ["missed", "dispatched", "expired"]
    )
    kinds = kinds.sort_values("missed", ascending=False, kind="stable")
    stride = max(1, len(kinds) / size)
    picked = sorted({int(at * stride) for at in range(min(size, len(kinds)))})
    return [str(kinds["schedule_id"].iloc[at]) for at in picked]


# ---- sections


def _audit_sections(audited: pd.DataFrame) -> list[str]:
    counts = audit_counts(audited)
    totals = counts.sum(numeric_only=True)
    parts = [
        "<h2>Do the expressions mean here what their authors meant?</h2>",
        _cards(
            (f"{totals['rows']:,}", "expressions"),
            (f"{totals['same']:,}", "mean the same"),
            (f"{totals['different']:,}", "fire at other instants"),
            (f"{totals['refused']:,}", "are refused"),
        ),
        _bars(counts),
    ]
    wrong = misread(audited)
    if len(wrong):
        parts += [
            "<h2>Misread, and what to write instead</h2>",
            "<p class='soft'>One line a change, with an example; the rows that need the same "
            "change are counted. Each proposal is proved to fire at exactly the instants that "
            "the author meant, to the end of 2099.</p>",
            _frame_table(
                wrong,
                {
                    "cron": "for example",
                    "rows": "rows",
                    "author_means": "its author means",
                    "resonate_does": "Resonate does",
                    "write_instead": "write instead",
                },
                limit=40,
            ),
        ]
    found = audited["findings"].str.split(", ").explode()
    codes = found[found != ""].value_counts().rename_axis("code").reset_index(name="rows")
    if len(codes):
        parts += [
            "<h2>What lint says of them</h2>",
            "<p class='soft'>The rows and their findings are in audit.csv; "
            "CronExpression(text).lint() says each in a sentence.</p>",
            _frame_table(codes, {"code": "finding", "rows": "rows"}, limit=30),
        ]
    return parts


def _outage_sections(what: WhatIf, picture: bytes) -> list[str]:
    start, up = (instant_ms(at) for at in what.down)
    n = what.counters
    busiest = what.summary.nlargest(15, "missed")
    parts = [
        f"<h2>The server is down for {format_duration(up - start)}: what happens at restart?</h2>",
        f"<p>Down from {format_instant(start)} to {format_instant(up)}. Every tick missed in "
        "between is caught up at restart, in order, and its timeout counts from its own logical "
        "time: where that has passed already, the promise is born settled and no worker hears "
        "of it.</p>",
        _cards(
            (f"{n['schedules']:,}", "schedules accepted"),
            (f"{n['missed']:,}", "missed ticks"),
            (f"{n['dispatched']:,}", "execute messages at once"),
            (f"{n['expired']:,}", "promises born expired"),
            (f"{n['idle']:,}", "schedules without a miss"),
            (format_duration(n["max_lag_ms"]), "longest lag"),
        ),
    ]
    parts += [
        _image(picture, what.headline()),
        "<h2>The busiest schedules</h2>",
        _frame_table(
            busiest,
            {
                "schedule_id": "schedule",
                "cron": "cron",
                "missed": "missed",
                "dispatched": "sent",
                "expired": "expired",
                "existing": "existed",
                "max_lag": "longest lag",
                "next_run_at": "next tick",
            },
            limit=15,
            total=len(what.summary),
        ),
    ]
    if len(what.refused):
        parts += [
            "<h2>Refused by Resonate</h2>",
            _frame_table(
                what.refused,
                {"line": "line", "schedule_id": "schedule", "cron": "cron", "reason": "reason"},
                limit=60,
            ),
        ]
    return parts


# ---- components


def _page(title: str, sections: Iterable[str]) -> str:
    heading = _html.escape(title)
    body = "\n".join(sections)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{heading}</title>\n<style>{_STYLE}</style></head>\n"
        f"<body><h1>{heading}</h1>\n{body}\n</body></html>\n"
    )


def _cards(*cards: tuple[str, str]) -> str:
    inner = "".join(
        f"<div class='card'><b>{_html.escape(value)}</b><span>{_html.escape(words)}</span></div>"
        for value, words in cards
    )
    return f"<div class='cards'>{inner}</div>"


def _bars(counts: pd.DataFrame) -> str:
    verdicts = list(VERDICTS.categories)
    parts = []
    for row in counts.to_dict("records"):
        cells = "".join(
            f"<i class='{name}' style='width:{100 * row[name] / row['rows']:.2f}%' "
            f"title='{name}: {row[name]:,}'></i>"
            for name in verdicts
            if row[name]
        )
        said = "".join(
            f"<i class='legend {name}'></i>{row[name]:,} {name}" for name in verdicts if row[name]
        )
        parts.append(
            f"<p><b>meant as {_html.escape(row['reading'])}, {_form(row['fields'])}</b> "
            f"<span class='soft'>{row['rows']:,} rows {said}</span></p>"
            f"<div class='bar'>{cells}</div>"
        )
    return "".join(parts)


def _form(fields: int) -> str:
    return "shorthand" if fields == 1 else f"{fields} fields"


def _image(png: bytes, words: str) -> str:
    data = base64.b64encode(png).decode("ascii")
    return f"<img alt='{_html.escape(words, None)}' src='data:image/png;base64,{data}'>"


def _frame_table(
    frame: pd.DataFrame, headings: dict[str, str], *, limit: int, total: int | None = None
) -> str:
    shown = frame.head(limit)
    columns = [_cells(shown[name]) for name in headings]
    rows = zip(*columns, strict=True)
    return _html.table(
        rows, list(headings.values()), limit=limit, total=len(frame) if total is None else total
    )


def _cells(column: pd.Series) -> list[object]:
    """Return a column's cells as a person reads them: instants, durations, numbers, texts."""
    cells: list[object] = []
    for cell in column.tolist():
        if cell is pd.NaT:
            cells.append(None)
        elif isinstance(cell, pd.Timestamp):
            cells.append(format_instant(instant_ms(cell)))
        elif isinstance(cell, pd.Timedelta):
            cells.append(format_duration(int(cell / pd.Timedelta(milliseconds=1))))
        elif isinstance(cell, int):
            cells.append(_Count(cell))
        else:
            cells.append(cell)
    return cells


class _Count(int):
    """A number that a table still sets to the right, but shows with separators."""

    def __str__(self) -> str:
        return f"{self:,}"
