"""Hypothesis strategies: texts that the dialects take, and instants where calendars turn."""

from __future__ import annotations

from datetime import UTC, datetime

import oracle
from hypothesis import strategies as st
from oracle import BOUNDS, DAY, END, FULL, SHORT

END_MS = END * 1000

_blank = st.sampled_from([""] * 12 + [" ", "\t", "  "])
_between = st.sampled_from([" "] * 16 + ["  ", "\t", "\r\n", ""])
_zeros = st.sampled_from(["", "", "", "", "0", "00"])
_around = st.sampled_from(["", "", "", " ", "\t", "\u3000", "\xa0 "])


def _bounds(field: int, dialect: str) -> tuple[int, int]:
    low, high = BOUNDS[field]
    return (low, high - 1) if dialect == "quartz" and field == 6 else (low, high)


@st.composite
def _item(draw: st.DrawFn, field: int, dialect: str) -> str:
    low, high = _bounds(field, dialect)
    quartz = dialect == "quartz"
    blank = st.just("") if quartz else _blank
    names = sorted(SHORT[field] if quartz else FULL[field])

    def padded(text: str) -> str:
        return draw(blank) + text + draw(blank)

    kinds = ["*", "a", "a-b", "a/n", "*/n", "a-b/n"] + (["N", "N", "N-N"] if names else [])
    kind = draw(st.sampled_from(kinds))
    if kind == "*" and not quartz and field in (3, 5):
        return draw(st.sampled_from("*?"))
    values = draw(st.lists(st.integers(low, high), min_size=2, max_size=2))
    if not quartz or field == 6:
        values.sort()
    if kind[0] == "N":
        words = [draw(st.sampled_from([n for n in names if FULL[field][n] == v])) for v in values]
        spelled = [draw(st.sampled_from([word, word.upper(), word.title()])) for word in words]
    else:
        spelled = [draw(_zeros) + str(value) for value in values]
    text = "*" if kind[0] == "*" else padded(spelled[0])
    if "-" in kind:
        text += "-" + padded(spelled[1])
    if "/" in kind:
        most = min(high, 59) if quartz else high + 40
        text += "/" + padded(draw(_zeros) + str(draw(st.integers(1, most))))
    return text


@st.composite
def _field(draw: st.DrawFn, field: int, dialect: str) -> str:
    if draw(st.integers(0, 9)) < 4:
        return "*"
    return ",".join(draw(st.lists(_item(field, dialect), min_size=1, max_size=3)))


@st.composite
def _day_rule(draw: st.DrawFn, field: int) -> str:
    if field == 3:
        rule = draw(
            st.one_of(
                st.sampled_from(["L", "LW", "lw"]),
                st.integers(0, 30).map("L-{}".format),
                st.integers(0, 30).map("L-{}W".format),
                st.integers(1, 31).map("{}W".format),
            )
        )
        return str(rule)
    day = draw(st.one_of(st.integers(1, 7).map(str), st.sampled_from(sorted(SHORT[5]))))
    return draw(
        st.one_of(st.sampled_from(["L", f"{day}L"]), st.integers(1, 5).map(f"{day}#{{}}".format))
    )


@st.composite
def _any_text(draw: st.DrawFn, dialect: str) -> str:
    if dialect == "quartz":
        parts = [draw(_field(i, dialect)) for i in range(6)]
        other = draw(st.sampled_from([3, 5]))
        parts[8 - other] = "?"
        if draw(st.integers(0, 2)) == 0:
            parts[other] = draw(_day_rule(other))
        if draw(st.booleans()):
            parts.append(draw(_field(6, dialect)))
        return " ".join(parts)
    if draw(st.integers(0, 20)) == 0:
        return draw(_around) + draw(st.sampled_from(sorted(oracle.SHORTHANDS))) + draw(_around)
    first, last = draw(st.sampled_from([(1, 6), (1, 6), (0, 6), (0, 6), (0, 7), (0, 7)]))
    text = draw(_field(first, dialect))
    for field in range(first + 1, last):
        text += draw(_between) + draw(_field(field, dialect))
    return draw(_around) + text + draw(_around)


def texts(dialect: str) -> st.SearchStrategy[str]:
    """Return texts that the dialect takes, by its grammar and the judge's word."""
    return _any_text(dialect).filter(lambda text: oracle.read(text, dialect) is not None)


@st.composite
def _turns(draw: st.DrawFn) -> int:
    """Draw an instant at most a few days from the first of a month."""
    year, month = draw(st.integers(1970, 2100)), draw(st.sampled_from([1, 1, 2, 3, 3, 7, 12]))
    first = int(datetime(year, month, 1, tzinfo=UTC).timestamp()) * 1000
    days = draw(st.sampled_from([-3, -2, -1, 0, 0, 0, 1]))
    at = (
        first + days * DAY * 1000 + draw(st.sampled_from([-1000, -999, -1, 0, 1, 1000, 43_200_000]))
    )
    return min(max(at, -1), END_MS)


instants = st.one_of(
    st.integers(-1, END_MS), _turns(), st.sampled_from([-1, 0, 1, 999, 1000, END_MS - 1, END_MS])
)
