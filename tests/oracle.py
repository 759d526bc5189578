"""The judges: slow, plain models of the cron dialects, to hold against the compiled core.

Nothing here shares a line or an idea with the core: texts are read with regular
expressions into Python sets, and ticks are found by looking at every second of a window,
or at every day of the calendar, with `datetime` and `calendar`. Times are whole seconds
since the Unix epoch, UTC.
"""

from __future__ import annotations

import random
import re
from bisect import bisect_left
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property

DIALECTS = ("resonate", "resonate-0.9.8", "quartz")
DAY = 86_400
FIRST_YEAR, LAST_YEAR = 1970, 2100
END = int(datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC).timestamp())

BOUNDS = [(0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (1, 7), (FIRST_YEAR, LAST_YEAR)]
MONTHS = "january february march april may june july august september october november december"
WEEKDAYS = "sunday monday tuesday wednesday thursday friday saturday"
SHORT = [
    {},
    {},
    {},
    {},
    {name[:3]: i for i, name in enumerate(MONTHS.split(), 1)},
    {name[:3]: i for i, name in enumerate(WEEKDAYS.split(), 1)},
    {},
]
FULL = [
    *SHORT[:4],
    SHORT[4] | {name: i for i, name in enumerate(MONTHS.split(), 1)},
    SHORT[5] | {name: i for i, name in enumerate(WEEKDAYS.split(), 1)} | {"tues": 3, "thurs": 5},
    {},
]
SHORTHANDS = {
    "@yearly": "0 0 0 1 1 *",
    "@monthly": "0 0 0 1 * *",
    "@weekly": "0 0 0 * * SUN",
    "@daily": "0 0 0 * * *",
    "@hourly": "0 0 * * * *",
}
# Unicode's White_Space property; Python's own strip() also takes U+001C to U+001F.
SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"


class Refused(Exception):  # noqa: N818 (a verdict, not an error)
    """The dialect does not take the text."""


@dataclass(frozen=True)
class Model:
    """What a text means: the sets of its fields, and at most one Quartz day rule."""

    dialect: str
    fields: tuple[frozenset[int], ...]
    rule: str | None = None

    # -- days ---------------------------------------------------------------------------

    def days_of(self, year: int, month: int) -> list[int]:
        """Return the days of a month that the day fields allow, whatever month it is."""
        _, first, size = _month(year, month)
        if (first, size) not in self._days_by_shape:
            self._days_by_shape[first, size] = self._days_of_shape(first, size)
        return self._days_by_shape[first, size]

    @cached_property
    def _days_by_shape(self) -> dict[tuple[int, int], list[int]]:
        return {}

    def _days_of_shape(self, first: int, size: int) -> list[int]:
        """Return them, given the weekday of the first (0 = Sunday) and the month's length."""
        weekday = {day: (first + day - 1) % 7 + 1 for day in range(1, size + 1)}
        if self.rule is None:
            allowed, wanted = self.fields[3], self.fields[5]
            return [d for d in weekday if d in allowed and weekday[d] in wanted]
        if "#" in self.rule:
            named, nth = map(int, self.rule.split("#"))
            return [d for d in weekday if weekday[d] == named][nth - 1 : nth]
        if self.rule[0].isdigit() and self.rule.endswith("L"):
            return [d for d in weekday if weekday[d] == int(self.rule[:-1])][-1:]
        if self.rule.startswith("L"):
            day = size - int(self.rule.rstrip("W").partition("-")[2] or 0)
        else:
            day = int(self.rule[:-1])
        if day not in weekday:
            return []
        if not self.rule.endswith("W"):
            return [day]
        nearest = sorted(
            (d for d in weekday if weekday[d] in range(2, 7)), key=lambda d: (abs(d - day), d)
        )
        return nearest[:1]

    @cached_property
    def days(self) -> list[int]:
        """Return every day of the calendar with a tick, as days since the epoch."""
        found = []
        for year in sorted(self.fields[6]):
            for month in sorted(self.fields[4]):
                before = _month(year, month)[0] - 1
                found += [before + day for day in self.days_of(year, month)]
        return found

    @cached_property
    def times(self) -> list[int]:
        """Return every second of the day with a tick."""
        hours, minutes, seconds = (sorted(self.fields[i]) for i in (2, 1, 0))
        return [h * 3600 + m * 60 + s for h in hours for m in minutes for s in seconds]

    # -- ticks --------------------------------------------------------------------------

    def is_tick(self, t: int) -> bool:
        """Return whether second t is a tick, by the fields of its `datetime` alone."""
        at = datetime.fromtimestamp(t, UTC)
        values = (at.second, at.minute, at.hour, at.day, at.month, at.isoweekday() % 7 + 1, at.year)
        if self.rule is None:
            return all(v in field for v, field in zip(values, self.fields, strict=True))
        plain = all(values[i] in self.fields[i] for i in (0, 1, 2, 4, 6))
        return plain and at.day in self.days_of(at.year, at.month)

    def scan(self, first: int, last: int) -> list[int]:
        """Return the ticks of the closed window, by looking at each of its seconds."""
        return [t for t in range(max(first, 0), min(last, END - 1) + 1) if self.is_tick(t)]

    def count(self, first: int, last: int) -> int:
        """Return the number of ticks in the closed window, as the dialect finds the first."""
        found = self.next(max(first, 0) - 1)
        if found is None or found > last:
            return 0
        return self._before(min(last, END - 1) + 1) - self._before(found)

    def _before(self, t: int) -> int:
        whole = bisect_left(self.days, t // DAY)
        today = self.days[whole : whole + 1] == [t // DAY]
        return whole * len(self.times) + (bisect_left(self.times, t % DAY) if today else 0)

    def prev(self, t: int) -> int | None:
        """Return the last tick of the calendar strictly before second t."""
        rank = self._before(min(t, END)) if t > 0 else 0
        return self._at(rank - 1) if rank else None

    def plain_next(self, t: int) -> int | None:
        """Return the first tick of the calendar strictly after second t."""
        rank = self._before(t + 1) if t + 1 < END else len(self.days) * len(self.times)
        return self._at(rank) if rank < len(self.days) * len(self.times) else None

    def _at(self, rank: int) -> int:
        day, time = divmod(rank, len(self.times))
        return self.days[day] * DAY + self.times[time]

    def next(self, t: int) -> int | None:
        """Return the first tick strictly after second t, as the dialect finds it."""
        if self.dialect != "resonate-0.9.8" or t + 1 >= END:
            return self.plain_next(t)
        return self._next_of_released_server(t + 1)

    def _next_of_released_server(self, u: int) -> int | None:
        """Return the first tick from u on: later years are searched from u's own date on."""
        now = datetime.fromtimestamp(u, UTC)
        years = sorted(y for y in self.fields[6] if y >= now.year)
        if not years:
            return None
        day = min(now.day, monthrange(years[0], now.month)[1])
        bound = int(datetime(years[0], now.month, day, tzinfo=UTC).timestamp()) // DAY
        binds = day == now.day or now.day in self.fields[3]
        for i in range(bisect_left(self.days, bound), len(self.days)):
            found = self.days[i]
            times = self.times
            if found == bound and binds:
                times = times[bisect_left(times, u % DAY) :]
            if times:
                return found * DAY + times[0]
        return None

    def chain(self, after: int, until: int = END, limit: int | None = None) -> list[int]:
        """Return the chain of `next` from second `after` on, up to `until` or `limit` of them."""
        found: list[int] = []
        t: int | None = after
        while limit is None or len(found) < limit:
            t = self.next(t)
            if t is None or t > until:
                break
            found.append(t)
        return found


@cache
def _month(year: int, month: int) -> tuple[int, int, int]:
    """Return a month's first day since the epoch, its weekday (0 = Sunday), and its length."""
    first, size = monthrange(year, month)
    return int(datetime(year, month, 1, tzinfo=UTC).timestamp()) // DAY, (first + 1) % 7, size


# --- from text to model ------------------------------------------------------------------


def read(text: str, dialect: str = "resonate") -> Model | None:
    """Return the model of a text, or None where the dialect refuses it."""
    try:
        return _quartz(text) if dialect == "quartz" else _crate(text, dialect)
    except Refused:
        return None


def _number(digits: str) -> int:
    digits = digits.lstrip("0") or "0"
    if len(digits) > 10 or int(digits) >= 2**32:
        raise Refused
    return int(digits)


def _values(field: int, low: int, high: int, step: int, highest: int, wraps: bool) -> set[int]:
    lowest = BOUNDS[field][0]
    if step == 0 or not (lowest <= low <= highest and lowest <= high <= highest):
        raise Refused
    if low > high:
        if not wraps:
            raise Refused
        size = highest - lowest + 1
        return {(v - lowest) % size + lowest for v in range(low, high + size + 1, step)}
    return set(range(low, high + 1, step))


# One item of the crate's grammar. Atomic groups: what has been read is not given back.
_B = r"[ \t\r\n]*+"
_NUM = rf"{_B}([0-9]++){_B}"
_NAME = rf"{_B}([A-Za-z]++){_B}"
_SPECIFIERS = [
    re.compile(r"\*"),
    re.compile(r"\?"),
    re.compile(rf"{_NUM}-{_NUM}"),
    re.compile(_NUM),
    re.compile(rf"{_NAME}-{_NAME}"),
]
_STEP = re.compile(rf"/{_NUM}")
_ONE_NAME = re.compile(_NAME)
_BLANKS = re.compile(_B)


def _crate_item(text: str, at: int, field: int) -> tuple[set[int], int]:
    lowest, highest = BOUNDS[field]
    names = FULL[field]
    for kind, pattern in enumerate(_SPECIFIERS):
        if (kind == 1 and field not in (3, 5)) or (kind == 4 and not names):
            continue
        found = pattern.match(text, at)
        if not found:
            continue
        step = _STEP.match(text, found.end())
        if kind == 4:
            try:
                low, high = (names[word.lower()] for word in found.groups())
            except KeyError:
                raise Refused from None
        elif kind in (0, 1):
            low, high = lowest, highest
        else:
            low = _number(found[1])
            high = _number(found[2]) if kind == 2 else highest if step else low
        end = (step or found).end()
        return _values(field, low, high, _number(step[1]) if step else 1, highest, False), end
    found = _ONE_NAME.match(text, at)
    if not found or found[1].lower() not in names:
        raise Refused
    value = names[found[1].lower()]
    return {value}, found.end()


def _crate_field(text: str, at: int, field: int) -> tuple[frozenset[int], int]:
    values, at = _crate_item(text, at, field)
    while text[at : at + 1] == ",":
        more, at = _crate_item(text, at + 1, field)
        values |= more
    return frozenset(values), _BLANKS.match(text, at).end()


def _crate(text: str, dialect: str) -> Model:
    text = re.sub(f"^[{SPACE}]+|[{SPACE}]+$", "", text)
    if len(re.findall(f"[^{SPACE}]+", text)) == 5:
        text = "0 " + text
    text = SHORTHANDS.get(text, text)
    fields, at = [], 0
    for field in range(6):
        values, at = _crate_field(text, at, field)
        fields.append(values)
    if at < len(text):
        years, at = _crate_field(text, at, 6)
        if at < len(text):
            raise Refused
    else:
        years = frozenset(range(FIRST_YEAR, LAST_YEAR + 1))
    return Model(dialect, (*fields, years))


_QUARTZ_ITEM = re.compile(
    r"(?:(?P<star>\*)|(?P<low>[0-9]+)(?:-(?P<high>[0-9]+))?)(?:/(?P<step>[0-9]+))?"
    r"|(?P<first>[A-Z]{3})(?:-(?P<last>[A-Z]{3}))?"
)


def _quartz_field(text: str, field: int) -> frozenset[int]:
    lowest, highest = BOUNDS[field] if field < 6 else (FIRST_YEAR, LAST_YEAR - 1)
    values: set[int] = set()
    for item in text.split(","):
        found = _QUARTZ_ITEM.fullmatch(item)
        if not found:
            raise Refused
        step = found["step"] and _number(found["step"])
        if found["first"]:
            try:
                low = SHORT[field][found["first"].lower()]
                high = SHORT[field][(found["last"] or found["first"]).lower()]
            except KeyError:
                raise Refused from None
        elif found["star"]:
            low, high = lowest, highest
        else:
            low = _number(found["low"])
            high = _number(found["high"]) if found["high"] else low if step is None else highest
        if step and not found["high"] and field < 6 and step > BOUNDS[field][1]:
            raise Refused
        values |= _values(field, low, high, 1 if step is None else step, highest, field < 6)
    return frozenset(values)


def _quartz_rule(text: str, field: int) -> str | None:
    """Return the day rule that stands in a day field, in its one written form, or None."""
    if field == 3:
        found = re.fullmatch(r"L(?:-([0-9]+))?(W?)", text)
        if found:
            back = _number(found[1] or "0")
            if back > 30:
                raise Refused
            return ("L" if back == 0 else f"L-{back}") + found[2]
        found = re.fullmatch(r"([0-9]+)W", text)
        if found and not 1 <= _number(found[1]) <= 31:
            raise Refused
        return found and f"{_number(found[1])}W"
    found = re.fullmatch(r"([0-9]+|[A-Z]{3})(?:L|#([0-9]+))", text)
    if not found:
        return None
    named = SHORT[5].get(found[1].lower(), 0) if found[1].isalpha() else _number(found[1])
    if not 1 <= named <= 7 or (found[2] and not 1 <= _number(found[2]) <= 5):
        raise Refused
    return f"{named}#{_number(found[2])}" if found[2] else f"{named}L"


def _quartz(text: str) -> Model:
    text = re.sub(f"^[{SPACE}]+|[{SPACE}]+$", "", text)
    if not text.isascii():
        raise Refused
    parts = re.split("[ \t\r\n]+", text.upper())
    if len(parts) not in (6, 7) or (parts[3] == "?") == (parts[5] == "?"):
        raise Refused
    fields, rule = [], None
    for field, part in enumerate([*parts, "*"][:7]):
        everything = frozenset(range(BOUNDS[field][0], BOUNDS[field][1] + 1))
        special = _quartz_rule(part, field) if field in (3, 5) else None
        if special or (part == "?" and field in (3, 5)):
            rule = special or rule
            fields.append(everything)
        elif part == "L" and field == 5:
            fields.append(frozenset({7}))
        else:
            fields.append(_quartz_field(part, field))
    return Model("quartz", tuple(fields), rule)


# --- wrong texts by the thousand ------------------------------------------------------------

ALPHABET = [
    *"0123456789*?,-/LW# \t\n@x\x00\xa0\u3000é",
    *("MON", "sun", "Thurs", "feb", "SEPTEMBER", "sept", "FRI-MON", " , ", " - "),
    *("60", "24", "31", "00", "1970", "2099", "2100", "2101", "4294967296"),
    *("@daily", " * ", "  ", "15W", "L-3", "6#3", "*/5", "10-20/3", " ,", "- ", "\x1c", "😀"),
]


def mutations(seed: int, texts: Sequence[str], n: int) -> Iterator[str]:
    """Yield n texts, each one of `texts` after one to four random edits; same seed, same texts."""
    rng = random.Random(seed)
    for _ in range(n):
        text = rng.choice(texts)
        for _ in range(rng.randint(1, 4)):
            i, j = sorted(rng.randint(0, len(text)) for _ in range(2))
            j = min(j, i + 3)
            edit = rng.randrange(6)
            if edit == 0:
                text = text[:i] + text[j:]
            elif edit == 1:
                text = text[:i] + rng.choice(ALPHABET) + text[j:]
            elif edit == 2:
                text = text[:i] + text[i:j] + text[i:]
            elif edit == 3:
                parts = text.split(" ")
                k = rng.randrange(len(parts))
                parts[k] = rng.choice(rng.choice(texts).split(" "))
                text = " ".join(parts)
            elif edit == 4:
                text = text[:i] + rng.choice((text[i:j].upper(), text[i:j].lower())) + text[j:]
            else:
                text = text[:i] + rng.choice(ALPHABET) + text[i:]
        yield text
