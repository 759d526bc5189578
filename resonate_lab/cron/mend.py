"""A refused text, mended: which habits of other tools it shows, and the text that says it.

=================== ====================================================================
code                what was written
=================== ====================================================================
empty               nothing
unsupported-        ``@midnight``, ``@annually``, ``@reboot``, ``@every``, ``@Daily``
shorthand
field-count         not 5, 6 or 7 fields (quartz: 6 or 7)
inner-blank         ``MON - FRI``, ``1, 2``
weekday-zero        0 for Sunday, as in a crontab
descending-range    ``22-2``, ``SAT-MON``
quartz-only         ``L``, ``W``, ``#`` in a dialect of the server
question-mark-place ``?`` outside the day fields; in quartz not in exactly one of them
bad-step            step 0, a step without a base, in quartz a step above its range
name-step           ``MON/2``
mixed-range         ``MON-5``
unknown-name        ``sept``, ``thur``; in quartz ``monday``
hashed              Jenkins' ``H``, which spreads by a hash
out-of-range        a number outside its field
unreadable          anything else
=================== ====================================================================
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from resonate_lab.cron.crontab import CrontabError, crontab_weekdays
from resonate_lab.cron.reading import (
    MONTHS,
    WEEKDAYS,
    Make,
    dialect_reading,
    field_value,
    number_text,
    weekday_text,
)
from resonate_lab.cron.translation import translate, translate_reading

if TYPE_CHECKING:
    from resonate_lab._fastcron import CronError

__all__ = ["FIELD_NAMES", "mend"]

FIELD_NAMES = (
    *("seconds", "minutes", "hours", "day-of-month", "month", "day-of-week"),
    "year",
)

_LOWEST = (0, 0, 0, 1, 1, 1, 1970)
_HIGHEST = (59, 59, 23, 31, 12, 7, 2100)
_DAY, _MONTH, _WEEKDAY, _YEAR = 3, 4, 5, 6
_LONGHAND = {
    "@yearly": "0 0 0 1 1 ?",
    "@monthly": "0 0 0 1 * ?",
    "@weekly": "0 0 0 ? * SUN",
    "@daily": "0 0 0 * * ?",
    "@hourly": "0 0 * * * ?",
}
_SYNONYMS = {"@annually": "@yearly", "@midnight": "@daily"}
_SERVER_NAMES = re.compile(
    r"sun(day)?|mon(day)?|tue(s|sday)?|wed(nesday)?|thu(rs|rsday)?|fri(day)?|sat(urday)?"
    r"|jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sep(tember)?"
    r"|oct(ober)?|nov(ember)?|dec(ember)?",
    re.IGNORECASE,
)

_ITEM = re.compile(r"([*?]|[a-z]+|\d+)?(?:-([a-z]+|\d+))?(?:/(\d+))?", re.ASCII | re.IGNORECASE)

# A blank beside a dash or a comma, or behind a slash; not the one before a sign: "* -1".
_INNER_BLANK = re.compile(r"(?<=\w)\s*([-,/])\s+(?=[\w*?])|(?<=\w)\s+([-,])(?=\w)", re.ASCII)

_Cause = tuple[str, str]

# What each cause is called when it is not the one that the core stumbled over, and what a
# person who wrote it should know.
_MESSAGES = {
    "inner-blank": "blanks inside a field end the field",
    "weekday-zero": "weekday 0 is outside 1-7 (1=SUN)",
    "descending-range": "a range must ascend",
    "quartz-only": "L, W and # are Quartz's",
    "question-mark-place": "'?' stands in the wrong place",
    "bad-step": "a step follows a base and is within its range",
    "name-step": "a name takes no step",
    "mixed-range": "a range has two names or two numbers",
    "unknown-name": "a name is none of this field",
    "field-count": "the number of fields is wrong",
}
_ADVICE = {
    "empty": "write 5, 6 or 7 fields such as '0 9 * * MON-FRI'",
    "unsupported-shorthand": "the server has @yearly, @monthly, @weekly, @daily and @hourly, "
    "Quartz none, and no cron text means the start of a machine or a span of time",
    "field-count": "the fields are minutes, hours, day of month, month and day of week, with "
    "seconds in front and a year behind where they are wanted",
    "inner-blank": "blanks stand between fields only",
    "weekday-zero": "names mean the same everywhere, numbers count from 1 = Sunday here",
    "descending-range": "a range across the end of its field is written as a list",
    "quartz-only": "dialect 'quartz' reads L, W and #, the server does not",
    "question-mark-place": "'?' stands for a day field that does not matter",
    "bad-step": "a step is written */n, a/n or a-b/n",
    "name-step": "list the names, or put the step after a number",
    "mixed-range": "write both ends of a range as names",
    "unknown-name": "names have three letters, SUN-SAT and JAN-DEC",
    "hashed": "write the number that is to stand for H",
    "out-of-range": "seconds and minutes are 0-59, hours 0-23, days 1-31, months 1-12, weekdays "
    "1-7 (1=SUN), years 1970-2100",
    "unreadable": "a field is *, a value, a-b, a step */n, a/n or a-b/n, or a list of these",
}


def mend(error: CronError, make: Make | None, dialect: str) -> tuple[list[_Cause], str | None, str]:
    """Return the causes of a refusal, the mended text, and advice.

    Parameters
    ----------
    error : CronError
        the refusal
    make : callable (text, dialect) -> Cron, optional
        compiles the mended text; without it none is returned
    dialect : str
        the dialect that refused

    Returns
    -------
    causes : list of (code, message)
        at least one
    replacement : str or None
        a text that `dialect` accepts
    advice : str
        one clause
    """
    text = error.expression
    codes, mended = _mended(text, dialect)
    if not codes:
        codes = [_unmended(error)]
    replacement = _accepted(mended, make, dialect)
    if replacement is None and make is not None and "quartz-only" in codes:
        replacement = _accepted(_translated(text, make), make, dialect)
    causes = [(code, f"{_MESSAGES.get(code, code)}; {_ADVICE[code]}") for code in codes]
    return causes, replacement, _ADVICE[codes[0]]


def _accepted(text: str | None, make: Make | None, dialect: str) -> str | None:
    if text is None or make is None:
        return None
    try:
        return make(text, dialect).text
    except ValueError:
        return None


def _translated(text: str, make: Make) -> str | None:
    """What the text means in Quartz, or with five fields to croniter, in the server's words."""
    try:
        if len(text.split()) == 5:
            return translate(text, make).text
        return translate_reading(dialect_reading(make(text, "quartz")), make).text
    except (CrontabError, ValueError):
        return None


def _unmended(error: CronError) -> str:
    token = error.token or ""
    if re.fullmatch(r"h(\(.*\))?(/\d+)?", token, re.IGNORECASE):
        return "hashed"
    if re.fullmatch(r"[\d,/*-]+", token):
        return "out-of-range"
    return "field-count" if error.token is None else "unreadable"


def _mended(text: str, dialect: str) -> tuple[list[str], str | None]:
    """The codes found in a text, in order, and the text without what they name."""
    stripped = text.strip()
    if not stripped:
        return ["empty"], None
    if stripped.startswith("@"):
        name = _SYNONYMS.get(stripped.lower(), stripped.lower())
        if name not in _LONGHAND:
            return ["unsupported-shorthand"], None
        return ["unsupported-shorthand"], _LONGHAND[name] if dialect == "quartz" else name
    codes: list[str] = []
    joined = _INNER_BLANK.sub(r"\1\2", stripped)
    fields = joined.split()
    if len(fields) not in (5, 6, 7):
        fields = stripped.split()
    elif joined != stripped:
        codes.append("inner-blank")
    if len(fields) not in (5, 6, 7):
        return ["field-count"], None
    if dialect == "quartz" and len(fields) == 5:
        codes.append("field-count")
        numeric = crontab_weekdays(fields[4])
        if numeric is not None and re.search(r"\d", fields[4]):
            fields[4] = weekday_text(sorted(numeric))
        fields.insert(0, "0")
    first = 1 if len(fields) == 5 else 0
    for number, field in enumerate(fields):
        fields[number] = _mended_field(field, number + first, dialect, codes)
    if dialect == "quartz":
        _place_question_mark(fields, codes)
    return list(dict.fromkeys(codes)), " ".join(fields)


def _mended_field(text: str, index: int, dialect: str, codes: list[str]) -> str:
    day_field = index in (_DAY, _WEEKDAY)
    if "?" in text and not day_field:
        codes.append("question-mark-place")
        text = text.replace("?", "*")
    if day_field and re.search(r"(^|[\d,-])L|\dW|LW|#|[A-Z]L$", text, re.IGNORECASE):
        if dialect != "quartz" and not _SERVER_NAMES.fullmatch(text):
            codes.append("quartz-only")
        return text
    if index == _WEEKDAY and re.search(r"(?<![\d/])0+(?!\d)", text):
        # Who writes 0 for Sunday counts as a crontab does in the whole field.
        days = crontab_weekdays(text)
        if days is not None:
            codes.append("weekday-zero")
            return weekday_text(sorted(days))
    return ",".join(_mended_item(item, index, dialect, codes) for item in text.split(","))


def _mended_item(item: str, index: int, dialect: str, codes: list[str]) -> str:
    match = _ITEM.fullmatch(item)
    if match is None or not item:
        return item
    base, end, step = match.groups()
    if base is None and end is None:
        codes.append("bad-step")
        base = "*"
    if base is None:
        return item
    base = _known_name(base, index, dialect, codes)
    end = end and _known_name(end, index, dialect, codes)
    if step is not None and not step.strip("0"):
        codes.append("bad-step")
        step = None
    low = _LOWEST[index] if base in "*?" else field_value(base, index)
    high = field_value(end, index) if end else _HIGHEST[index]
    size = field_value(step or "1", 0)
    if low is None or high is None or size is None:
        return item
    if min(low, high) < _LOWEST[index] or max(low, high) > _HIGHEST[index]:
        return item
    named = [word.isalpha() for word in (base, end) if word]
    wraps = bool(end) and low > high
    if end and named[0] != named[1]:
        codes.append("mixed-range")
    elif step and any(named) and (not end or dialect == "quartz"):
        codes.append("name-step")
    elif wraps and (dialect != "quartz" or index == _YEAR):
        codes.append("descending-range")
    elif step and not end and dialect == "quartz" and size > _HIGHEST[index]:
        codes.append("bad-step")
        return str(low)
    else:
        return f"{base}{'-' + end if end else ''}{'/' + step if step else ''}"
    return _written_out(low, high, size, index)


def _written_out(low: int, high: int, step: int, index: int) -> str:
    """A range, which may go on across the end of its field, without one that descends."""
    lowest, highest = _LOWEST[index], _HIGHEST[index]
    if index == _YEAR:
        low, high = sorted((low, high))  # years do not come round
    size = highest - lowest + 1
    last = high + size if high < low else high
    values = sorted((value - lowest) % size + lowest for value in range(low, last + 1, step))
    if index == _WEEKDAY:
        return weekday_text(values)
    if step > 1 or high >= low:
        return number_text(values, range(lowest, highest + 1))
    upper = f"{low}-{highest}" if low < highest else str(low)
    lower = f"{lowest}-{high}" if high > lowest else str(high)
    return f"{upper},{lower}"


def _known_name(word: str, index: int, dialect: str, codes: list[str]) -> str:
    """A name as the dialect spells it, told by its first three letters."""
    if not word.isalpha() or index not in (_MONTH, _WEEKDAY):
        return word
    value = field_value(word, index)
    if value is None or (len(word) == 3 if dialect == "quartz" else _SERVER_NAMES.fullmatch(word)):
        return word
    codes.append("unknown-name")
    return (MONTHS if index == _MONTH else WEEKDAYS)[value - 1]


def _place_question_mark(fields: list[str], codes: list[str]) -> None:
    """Put Quartz's ``?`` into the day field that does not matter, where one does not."""
    marks = [index for index in (_DAY, _WEEKDAY) if fields[index] == "?"]
    free = [index for index in (_WEEKDAY, _DAY) if fields[index] == "*"]
    if len(marks) == 1:
        return
    codes.append("question-mark-place")
    if len(marks) == 2:
        fields[_DAY] = "*"
    elif free:
        fields[free[0]] = "?"
