"""What a schedule means to the system it comes from, by brute force: the judge of the audit.

Independent of the package: fields are read here by their own few lines (Quartz's by
`oracle`), days are asked of `datetime` one by one, zones of pandas.
"""

import re
from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import pairwise

import numpy as np
import oracle
import pandas as pd

START = datetime(2026, 12, 1, tzinfo=UTC)
END = datetime(2034, 12, 1, tzinfo=UTC)  # eight years
START_MS, END_MS = (int(at.timestamp()) * 1000 for at in (START, END))
DAY = 86_400_000

NAMES = {name: n for n, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])}
MONTHS = {
    name: n
    for n, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1
    )
}
WORDS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@quarterly": "0 0 1 1,4,7,10 *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


def _field(text, low, high, names=()):
    found = set()
    for item in text.lower().split(","):
        body, _, step = item.partition("/")
        first, dash, last = body.partition("-")
        value = [int(dict(names).get(word, word)) for word in (first, last) if word not in "*?"]
        if first in ("*", "?"):
            values = range(low, high + 1)
        elif dash and value[0] > value[1]:
            values = [*range(value[0], high + 1), *range(low, value[1] + 1)]
        elif dash:
            values = range(value[0], value[1] + 1)
        else:
            values = range(value[0], (high if step else value[0]) + 1)
        found |= set(values[:: int(step or 1)])
    return found


def _day_test(system, dates_text, weekdays_text):
    weekday_text, _, nth = weekdays_text.partition("#")
    dates = _field(dates_text, 1, 31)
    weekdays = {day % 7 for day in _field(weekday_text, 0, 7, NAMES.items())}
    texts = (dates_text, weekdays_text)
    if system == "crontab":
        either = not any(text.startswith("*") for text in texts)
    elif system == "kubernetes":
        either = not any(re.match(r"[*?](/1)?(,|$)", text) for text in texts)
    else:
        either = not any(text in ("*", "?") for text in texts)

    def hit(day):
        by_date, by_week = day.day in dates, day.isoweekday() % 7 in weekdays
        if nth:
            by_week = by_week and (day.day - 1) // 7 + 1 == int(nth)
        return by_date or by_week if either else by_date and by_week

    return hit


def wall_ticks(system, text, start, end):
    """The ms, as a wall clock would count them, at which a text fires; two days to spare."""
    first, last = (start - timedelta(2)).date(), (end + timedelta(2)).date()
    days = [first + timedelta(n) for n in range((last - first).days)]
    if system in ("quartz", "aws"):
        inner = text.removeprefix("cron(").removesuffix(")").replace("2199", "2099")
        model = oracle.read(f"0 {inner}" if system == "aws" else inner, "quartz")
        chosen = [d for d in days if _in_model(model, d)]
        times = model.times
    else:
        words = WORDS.get(text.strip("\"'"), text).split()
        seconds = _field(words[5], 0, 59) if len(words) > 5 else {0}
        minutes, hours = _field(words[0], 0, 59), _field(words[1], 0, 23)
        months, hit = _field(words[3], 1, 12, MONTHS.items()), _day_test(system, words[2], words[4])
        chosen = [d for d in days if d.month in months and hit(d)]
        times = sorted(h * 3600 + m * 60 + s for h in hours for m in minutes for s in seconds)
    starts = np.array([(d - date(1970, 1, 1)).days * DAY for d in chosen], dtype=np.int64)
    return (starts[:, None] + np.array(times, dtype=np.int64) * 1000).ravel()


def _in_model(model, day):
    in_month = day.year in model.fields[6] and day.month in model.fields[4]
    return in_month and day.day in model.days_of(day.year, day.month)


@cache
def _offsets(zone):
    """The offset of each quarter of an hour of the eight years and a few days, in ms."""
    quarters = pd.date_range(START - timedelta(3), END + timedelta(3), freq="15min")
    local = quarters.tz_convert(zone or "UTC").tz_localize(None)
    offsets = (local - quarters.tz_localize(None)) // pd.Timedelta("1ms")
    return int(quarters[0].timestamp()) * 1000, offsets.to_numpy(dtype=np.int64)


def offset_at(zone, ticks):
    first, offsets = _offsets(zone)
    return offsets[(ticks - first) // 900_000]


def quarters():
    """Windows of three months: a text that fires often is judged in such pieces."""
    return list(pairwise(pd.date_range(START, END, freq="3MS").to_pydatetime()))


def meant_ms(system, text, zone, start=START, end=END):
    """The instants of (start, end) at which the author's clock shows the times."""
    wall = wall_ticks(system, text, start, end)
    found = []
    for offset in np.unique(_offsets(zone)[1]):
        ticks = wall - offset
        found.append(ticks[offset_at(zone, ticks) == offset])
    ticks = np.sort(np.concatenate(found))
    low, high = (int(at.timestamp()) * 1000 for at in (start, end))
    return ticks[(ticks > low) & (ticks < high)]
