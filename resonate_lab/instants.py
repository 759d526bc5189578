"""Instants and durations: what a person writes, to int milliseconds and back.

The core and the engine speak ``int``, ms since the Unix epoch, UTC. This is the one
gate between that and what people and pandas write. pandas is imported inside the
functions that need it, so that floors 0 to 2 load without it.
"""

import operator
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

from resonate_lab.errors import DurationError, InstantError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Instant: TypeAlias = int | str | date | datetime | np.datetime64 | pd.Timestamp
    Duration: TypeAlias = int | str | timedelta | np.timedelta64 | pd.Timedelta

__all__ = [
    "EPOCH_END_MS",
    "datetime_index",
    "duration_ms",
    "format_duration",
    "format_instant",
    "instant_ms",
    "timestamp",
]

#: 2101-01-01T00:00:00Z in ms since the Unix epoch: the calendar of the cron core ends before it.
EPOCH_END_MS = 4_133_980_800_000

_UNIT_MS = {"w": 604_800_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
_UNIT_NAMES = {
    **dict.fromkeys(("w", "week", "weeks"), "w"),
    **dict.fromkeys(("d", "day", "days"), "d"),
    **dict.fromkeys(("h", "hr", "hour", "hours"), "h"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "m"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("ms", "milli", "millis", "millisecond", "milliseconds"), "ms"),
}
_DURATION_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)


def instant_ms(value: "Instant", name: str = "instant") -> int:
    """Return an instant as ms since the Unix epoch, UTC.

    Parameters
    ----------
    value : int, str, date, datetime, numpy.datetime64 or pandas.Timestamp
        an int is ms since the Unix epoch, UTC; all else is read as pandas.Timestamp
        reads it, and is UTC where it names no zone
    name : str
        what the value is, for the error's text

    Returns
    -------
    int
        ms since the Unix epoch, UTC; what is finer than a millisecond is cut off

    Raises
    ------
    InstantError
        the text is no instant, or the instant is missing (NaT) or out of range
    TypeError
        the type is none of the above; a bool or a float is refused

    Examples
    --------
    >>> instant_ms("2024-01-01"), instant_ms("2024-01-01T01:00+01:00"), instant_ms(1704067200000)
    (1704067200000, 1704067200000, 1704067200000)
    """
    if isinstance(value, int) and not isinstance(value, bool):
        if not -(2**63) <= value < 2**63:
            raise InstantError(
                f"{name} {_short(value)} does not fit 64 bits; give ms since the Unix epoch, UTC"
            )
        return value
    if type(value) is datetime:
        moment = value if value.utcoffset() is not None else value.replace(tzinfo=UTC)
        return (moment - _EPOCH) // _MS
    if not isinstance(value, str | date) and type(value).__name__ != "datetime64":
        number = _as_int(value)
        if number is not None:
            return instant_ms(number, name)
        raise TypeError(
            f"{name} is {_short(value)} of type {type(value).__name__}; give an int (ms since the "
            "Unix epoch, UTC), a text such as '2026-12-01 09:00', a datetime or a pandas.Timestamp"
        )
    import pandas as pd

    try:
        stamp = pd.Timestamp(value)
        if pd.isna(stamp):
            raise ValueError("not a time")
        stamp = stamp.tz_localize("UTC") if stamp.tz is None else stamp.tz_convert("UTC")
        return int((stamp.to_pydatetime(warn=False) - _EPOCH) // _MS)
    except (ValueError, OverflowError) as err:
        raise InstantError(
            f"{name} {_short(value)} is no instant of the years 1-9999; write it as "
            "'2026-12-01 09:00' (UTC) or with its zone"
        ) from err


def duration_ms(value: "Duration", name: str = "duration") -> int:
    """Return a duration in ms.

    Parameters
    ----------
    value : int, str, timedelta, numpy.timedelta64 or pandas.Timedelta
        an int is ms; a text is one or more of number and unit: ``"1h"``, ``"3d"``,
        ``"1h30m"``, ``"12 h 30 min"``, ``"250ms"``
    name : str
        what the value is, for the error's text

    Returns
    -------
    int
        ms; what is finer is cut off

    Raises
    ------
    DurationError
        the text is no duration, or the duration is missing (NaT) or does not fit 64 bits
    TypeError
        the type is none of the above; a bool or a float is refused

    Examples
    --------
    >>> duration_ms("1h30m"), duration_ms("3d"), duration_ms(timedelta(seconds=2)), duration_ms(250)
    (5400000, 259200000, 2000, 250)
    """
    if isinstance(value, str):
        ms = _parse_duration(value, name)
    elif isinstance(value, timedelta):
        ms = value // _MS
    elif type(value).__name__ == "timedelta64":
        ms = int(value.astype("timedelta64[ms]").astype("int64"))  # type: ignore[union-attr]
        if ms == -(2**63):  # how numpy stores NaT
            raise DurationError(f"{name} is missing (NaT); give a duration such as '1h'")
    else:
        number = _as_int(value)
        if number is None:
            raise TypeError(
                f"{name} is {_short(value)} of type {type(value).__name__}; give an int (ms), "
                "a text such as '1h' or '30 min', or a timedelta"
            )
        ms = number
    if not -(2**63) <= ms < 2**63:
        raise DurationError(
            f"{name} {_short(value)} does not fit 64 bits of ms; give a shorter one"
        )
    return ms


def _parse_duration(text: str, name: str) -> int:
    total, at = Decimal(0), 0  # a float would make 1000 ms of 1.001 s
    body = text.strip()
    sign = -1 if body.startswith("-") else 1
    body = body.removeprefix("-")
    while at < len(body):
        part = _DURATION_PART.match(body, at)
        unit = _UNIT_NAMES.get(part[2].lower()) if part else None
        if part is None or unit is None:
            at = -1
            break
        total += Decimal(part[1]) * _UNIT_MS[unit]
        at = part.end()
    if at <= 0 or total > 2**63:
        raise DurationError(
            f"{name} {_short(text)} is no duration; write numbers with units w, d, h, m, s or ms, "
            "such as '90s' or '1h30m'"
        )
    return sign * int(total)


def timestamp(ms: int) -> "pd.Timestamp":
    """Return an instant (ms since the Unix epoch, UTC) as a tz-aware UTC Timestamp.

    Examples
    --------
    >>> timestamp(1704067200000)
    Timestamp('2024-01-01 00:00:00+0000', tz='UTC')
    """
    import pandas as pd

    return pd.Timestamp(ms, unit="ms", tz="UTC")


def datetime_index(ms: "npt.NDArray[np.int64]", name: str | None = None) -> "pd.DatetimeIndex":
    """Return instants (int64 ndarray, ms since the Unix epoch, UTC) as a UTC DatetimeIndex.

    Returns
    -------
    pandas.DatetimeIndex
        dtype datetime64[ms, UTC], of the same length and order
    """
    import pandas as pd

    return pd.DatetimeIndex(ms.view("datetime64[ms]"), name=name).tz_localize("UTC")


def format_instant(ms: int) -> str:
    """Return an instant (ms since the Unix epoch, UTC) as text; ms only where not zero.

    Examples
    --------
    >>> format_instant(1704067200000), format_instant(1704067200250)
    ('2024-01-01 00:00:00Z', '2024-01-01 00:00:00.250Z')
    """
    try:
        moment = _EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return f"{ms} ms"
    text = moment.isoformat(" ")[:19]
    rest = ms % 1000
    return f"{text}.{rest:03d}Z" if rest else f"{text}Z"


def format_duration(ms: int) -> str:
    """Return a duration (ms) in its two largest units that are not zero.

    Examples
    --------
    >>> format_duration(43_500_000), format_duration(30_000), format_duration(250)
    ('12 h 5 min', '30 s', '250 ms')
    >>> format_duration(273_600_000), format_duration(-90_000), format_duration(0)
    ('3 d 4 h', '-1 min 30 s', '0 s')
    """
    if ms < 0:
        return f"-{format_duration(-ms)}"
    parts = []
    for unit in ("d", "h", "min", "s", "ms"):
        n, ms = divmod(ms, _UNIT_MS[_UNIT_NAMES[unit]])
        if n:
            parts.append(f"{n:,} {unit}")
    return " ".join(parts[:2]) or "0 s"


def _as_int(value: object) -> int | None:
    """Return an integer of another library as int; None for a bool and for all else."""
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _short(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 200:
        return f"of {value.bit_length():,} bits"  # Python refuses to write out 4300 digits
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:50]}..."
