"""A finding, and an expression under inspection."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from resonate_lab.cron.reading import dialect_reading, shown

if TYPE_CHECKING:
    from resonate_lab._fastcron import Cron

__all__ = ["DAY", "MINUTE", "MONTH", "SECOND", "WEEKDAY", "YEAR", "Case", "Finding"]

Severity = Literal["error", "warning", "info"]

#: Where the fields stand.
SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY, YEAR = range(7)


@dataclass(frozen=True)
class Finding:
    """One thing that may surprise, and what to write instead.

    Attributes
    ----------
    code : str
        stable, in kebab case
    severity : {"error", "warning", "info"}
        "error" where it cannot be meant
    message : str
        one sentence: what is so
    suggestion : str
        one sentence: what to do or to write
    replacement : str or None
        an expression of the same dialect to write instead
    same_ticks : bool or None
        True if the replacement fires at exactly the instants of the expression, False if
        it does not and is what may have been meant; None without a replacement, or where
        the text is refused and has no instants
    """

    code: str
    severity: Severity
    message: str
    suggestion: str
    replacement: str | None = None
    same_ticks: bool | None = None


class Case:
    """An expression under inspection, and the texts that it could be turned into."""

    def __init__(self, cron: Cron, now_ms: int | None, poll_ms: int) -> None:
        self.cron = cron
        self.now_ms = now_ms
        self.poll_ms = poll_ms
        self.texts = cron.field_texts
        self.never = cron.next_ms(-1) is None
        self.last_year = 2099 if cron.dialect == "quartz" else 2100
        self.ends = cron.years[-1] < 2099

    def field(self, index: int) -> str | None:
        """A field without blanks; None if it is not written."""
        text = self.texts[index]
        return None if text is None else re.sub(r"\s", "", text)

    def rewritten(self, changes: dict[int, str | None]) -> str | None:
        """The expression with single blanks and some fields exchanged, None = left out."""
        if self.cron.shorthand is not None:
            return None
        fields = [changes.get(index, self.field(index)) for index in range(7)]
        if fields[SECOND] is None and (fields[YEAR] is not None or self.cron.dialect == "quartz"):
            fields[SECOND] = "0"
        return " ".join(field for field in fields if field is not None)

    def compiles(self, text: str | None) -> Cron | None:
        """The expression of a text in the same dialect; None if it is refused."""
        if text is None:
            return None
        try:
            return type(self.cron)(text, self.cron.dialect)
        except ValueError:
            return None

    def finding(
        self,
        code: str,
        severity: Severity,
        message: str,
        advice: str,
        replacement: str | None = None,
        otherwise: str = "",
    ) -> Finding:
        """A finding; `advice` has ``{}`` where the replacement goes, `otherwise` has none."""
        instead = self.compiles(replacement)
        if instead is None:
            return Finding(code, severity, message, otherwise or advice)
        same = dialect_reading(self.cron).fires_like(dialect_reading(instead))
        said = advice.replace("{}", shown(instead.text))
        return Finding(code, severity, message, said, instead.text, same)
