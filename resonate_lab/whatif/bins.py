"""The bins of a window: where they begin, how long they are, and what a window is."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from pandas.tseries.frequencies import to_offset
from pandas.tseries.offsets import BaseOffset

from resonate_lab.errors import DurationError, WindowError
from resonate_lab.instants import EPOCH_END_MS, format_duration, format_instant, instant_ms

if TYPE_CHECKING:
    from resonate_lab.instants import Instant

    Frequency = str | timedelta | np.timedelta64 | BaseOffset

__all__ = ["Bins", "bin_ms", "window_ms"]


class Bins(NamedTuple):
    """The bins of a closed window, in ms: bin i begins at ``origin + i * width``.

    Their edges are multiples of the width since the Unix epoch, whatever the window, so
    that loads of two windows can be laid beside one another.
    """

    start: int
    end: int
    width: int

    @property
    def origin(self) -> int:
        """Instant at which the first bin begins, ms."""
        return self.start // self.width * self.width

    @property
    def size(self) -> int:
        """How many bins the window reaches into."""
        return (self.end - self.origin) // self.width + 1

    def begins(self) -> pd.DatetimeIndex:
        """Return the instants at which the bins begin, UTC, with their frequency."""
        return pd.date_range(
            pd.Timestamp(self.origin, unit="ms"),
            periods=self.size,
            freq=pd.Timedelta(self.width, unit="ms"),
            tz="UTC",
            unit="ms",
            name="start",
        )


def window_ms(start: Instant, end: Instant) -> tuple[int, int]:
    """Return a closed window in ms, or raise where it is none of the calendar."""
    first, last = instant_ms(start, "start"), instant_ms(end, "end")
    if not 0 <= first <= last < EPOCH_END_MS:
        raise WindowError(
            f"the window is {format_instant(first)} to {format_instant(last)}, but it must not end "
            "before it starts, and both instants lie in the years 1970 to 2100"
        )
    return first, last


def bin_ms(freq: Frequency) -> int:
    """Return the length of a bin in ms, or raise where it is no fixed one of a second or more."""
    advice = "write a fixed length of whole ms, at least 1 s, such as '1min', '1h' or '1D'"
    given = pd.Timedelta(freq) if isinstance(freq, np.timedelta64) else freq
    if not isinstance(given, str | timedelta | BaseOffset):
        raise TypeError(f"freq is {freq!r} of type {type(freq).__name__}: {advice}")
    try:
        nanos = to_offset(given).nanos
    except ValueError as error:
        what = f"freq {str(freq)[:60]!r} is no fixed length of time"
        raise DurationError(f"{what}: {advice}") from error
    ms, finer = divmod(nanos, 1_000_000)
    if ms < 1000 or finer:
        raise DurationError(f"freq {str(freq)[:60]!r} is {nanos / 1e9:g} s: {advice}")
    if ms >= EPOCH_END_MS:
        raise DurationError(
            f"freq {str(freq)[:60]!r} is {format_duration(ms)}, longer than the calendar: {advice}"
        )
    return int(ms)
