"""Crontabs to be read, and the chain of an expression's ticks."""

from __future__ import annotations

import datetime

from hypothesis import strategies as st

NOW = 1_704_067_200_000  # 2024-01-01T00:00:00Z, a Monday
DAY = 86_400_000


def ms(text):
    return int(datetime.datetime.fromisoformat(text).timestamp() * 1000)


def chain(cron, after, n):
    ticks = []
    while len(ticks) < n and (tick := cron.next_ms(after)) is not None:
        ticks.append(tick)
        after = tick
    return ticks


def field(low, high, names=()):
    values = st.integers(low, high)
    word = values.map(str)
    pair = st.tuples(values, values).map(lambda p: f"{min(p)}-{max(p)}")
    steps = st.integers(1, high)
    items = [
        st.just("*"),
        word,
        word,
        pair,
        steps.map(lambda n: f"*/{n}"),
        st.tuples(pair, steps).map(lambda p: f"{p[0]}/{p[1]}"),
    ]
    if names:
        items.append(st.sampled_from(names))
    item = st.one_of(items)
    return st.one_of(item, st.lists(item, min_size=2, max_size=3).map(",".join))


DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTHS = ("JAN", "FEB", "SEP", "DEC")
CRONTABS = st.tuples(
    field(0, 59), field(0, 23), field(1, 31), field(1, 12, MONTHS), field(0, 7, DAYS)
).map(" ".join)
SERVER = st.tuples(
    field(0, 59), field(0, 23), field(1, 31), field(1, 12, MONTHS), field(1, 7, DAYS)
).map(" ".join)
