"""`CronExpression`: the compiled core with numpy arrays, pandas instants and words.

The methods that end in ``_ms`` are the core's, or fill an array through it; the others
are their friendly twins: they take what `pandas.Timestamp` takes and answer in UTC.
"""

import operator
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from resonate_lab import _html
from resonate_lab._fastcron import DIALECTS, Cron, CronError
from resonate_lab.errors import InstantError, WindowError
from resonate_lab.instants import (
    EPOCH_END_MS,
    datetime_index,
    format_instant,
    instant_ms,
    timestamp,
)

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from resonate_lab.cron.lint.finding import Finding
    from resonate_lab.instants import Instant

__all__ = ["DIALECTS", "MAX_TICKS", "CronError", "CronExpression"]

#: Most ticks that one array may hold: 100,000,000 int64 are 800 MB.
MAX_TICKS = 100_000_000

# Up to this many the array is laid out before it is known whether so many ticks are
# left: cheaper than counting them first.
_UNCOUNTED = 4096

_SHOWN = "%a %Y-%m-%d %H:%M:%S"

# An array of a dozen ticks is asked for in well under a microsecond, of which finding numpy's
# function by name, or the dtype of a type that it is handed, would be a tenth each.
_EMPTY, _INT64 = np.empty, np.dtype(np.int64)


class CronExpression(Cron):
    """A compiled cron expression; immutable, hashable, picklable, safe between threads.

    Parameters
    ----------
    text : str
        the expression, 5, 6 or 7 fields or a shorthand, as its dialect has them
    dialect : {"resonate", "resonate-0.9.8", "quartz"}
        the grammar and its rules; "resonate" is the documented format, "resonate-0.9.8"
        the released server bug for bug, "quartz" Quartz 2.3.2

    Raises
    ------
    CronError
        the dialect refuses the text; ``.field``, ``.token`` and ``.position`` say where
    TypeError
        text is no str
    ValueError
        the dialect is unknown

    Notes
    -----
    Two are equal where text and dialect are. Instants that are int are ms since the Unix
    epoch, UTC, from -1 to 4133980800000 (2101-01-01), others raise ValueError, and other
    types TypeError; the friendly twins raise InstantError for what is no instant of these
    years. Ticks are whole seconds.

    In dialect "resonate-0.9.8" a chain that starts in a year that is not listed begins
    late (the server's future-year defect): `next_ms`, `fires_ms`, `between_ms` and
    `count_ms` do as the server does, `prev_ms` and `matches_ms` look at the calendar alone.

    Examples
    --------
    >>> nine = CronExpression("0 9 * * MON-FRI")
    >>> nine.next("2024-01-05 09:00")
    Timestamp('2024-01-08 09:00:00+0000', tz='UTC')
    >>> nine.count("2024-01-01", "2024-12-31")
    261
    """

    __slots__ = ()

    # -- arrays ---------------------------------------------------------------------------

    def fires_ms(self, after_ms: int, limit: int) -> "npt.NDArray[np.int64]":
        """Return the first ticks strictly after an instant, at most `limit`.

        Parameters
        ----------
        after_ms : int
            instant, ms since the Unix epoch, UTC
        limit : int
            most ticks to return, 0 or more

        Returns
        -------
        int64 ndarray of shape (n,), strictly increasing
            ms since the Unix epoch, UTC; n < limit where the expression ends

        Raises
        ------
        WindowError
            limit is negative, or more than `MAX_TICKS` ticks would be returned

        Examples
        --------
        >>> CronExpression("0 0 29 2 *").fires_ms(1704067200000, 2)
        array([1709164800000, 1835395200000])
        """
        if type(limit) is not int or not 0 <= limit <= _UNCOUNTED:
            limit = _bounded(self, min(_limit(limit), self.remaining_ms(after_ms)))
        out = _EMPTY(limit, _INT64)
        n = self.fill_ms(after_ms, out)
        return out if n == limit else out[:n].copy()

    def between_ms(
        self, start_ms: int, end_ms: int, limit: int | None = None
    ) -> "npt.NDArray[np.int64]":
        """Return the ticks in the closed window [start_ms, end_ms].

        Parameters
        ----------
        start_ms, end_ms : int
            instants, ms since the Unix epoch, UTC
        limit : int, optional
            most ticks to return, the earliest; without it all of them

        Returns
        -------
        int64 ndarray of shape (n,), strictly increasing
            ms since the Unix epoch, UTC

        Raises
        ------
        WindowError
            the window would return more than `MAX_TICKS` ticks (the message has their
            number), or limit is negative
        ValueError
            end_ms lies before start_ms

        Examples
        --------
        >>> CronExpression("@daily").between_ms(1704067200000, 1704153600000)
        array([1704067200000, 1704153600000])
        """
        n = self.count_ms(start_ms, end_ms)
        if limit is not None:
            n = min(n, _limit(limit))
        out = _EMPTY(_bounded(self, n), _INT64)
        self.fill_ms(max(start_ms, 0) - 1, out)  # nothing ticks before 0
        return out

    # -- friendly twins -------------------------------------------------------------------

    def next(self, after: "Instant") -> "pd.Timestamp | None":
        """Return the first tick strictly after an instant, or None when there is none.

        Parameters
        ----------
        after : int, str, datetime or pandas.Timestamp
            instant; an int is ms since the Unix epoch, a naive one is UTC

        Returns
        -------
        pandas.Timestamp or None
            tz-aware, UTC

        Examples
        --------
        >>> CronExpression("0 9 * * *").next("2024-01-01T10:00+01:00")
        Timestamp('2024-01-02 09:00:00+0000', tz='UTC')
        """
        found = self.next_ms(_calendar_ms(after, "after"))
        return None if found is None else timestamp(found)

    def prev(self, before: "Instant") -> "pd.Timestamp | None":
        """Return the last tick strictly before an instant, or None when there is none.

        Parameters
        ----------
        before : int, str, datetime or pandas.Timestamp
            instant; an int is ms since the Unix epoch, a naive one is UTC

        Returns
        -------
        pandas.Timestamp or None
            tz-aware, UTC

        Examples
        --------
        >>> CronExpression("0 0 29 * *").prev("2024-03-02")
        Timestamp('2024-02-29 00:00:00+0000', tz='UTC')
        """
        found = self.prev_ms(_calendar_ms(before, "before"))
        return None if found is None else timestamp(found)

    def fires(self, n: int, after: "Instant") -> "pd.DatetimeIndex":
        """Return the first n ticks strictly after an instant.

        Parameters
        ----------
        n : int
            most ticks to return, 0 or more
        after : int, str, datetime or pandas.Timestamp
            instant; an int is ms since the Unix epoch, a naive one is UTC

        Returns
        -------
        pandas.DatetimeIndex
            tz-aware, UTC, strictly increasing; shorter than n where the expression ends

        Raises
        ------
        WindowError
            n is negative, or more than `MAX_TICKS` ticks would be returned

        Examples
        --------
        >>> CronExpression("0 0 29 2 *").fires(2, "2024-01-01").strftime("%Y-%m-%d").tolist()
        ['2024-02-29', '2028-02-29']
        """
        return datetime_index(self.fires_ms(_calendar_ms(after, "after"), n))

    def between(
        self, start: "Instant", end: "Instant", limit: int | None = None
    ) -> "pd.DatetimeIndex":
        """Return the ticks in the closed window [start, end].

        Parameters
        ----------
        start, end : int, str, datetime or pandas.Timestamp
            instants; an int is ms since the Unix epoch, a naive one is UTC
        limit : int, optional
            most ticks to return, the earliest; without it all of them

        Returns
        -------
        pandas.DatetimeIndex
            tz-aware, UTC, strictly increasing

        Raises
        ------
        WindowError
            the window would return more than `MAX_TICKS` ticks, limit is negative, or end
            lies before start

        Examples
        --------
        >>> len(CronExpression("*/5 * * * *").between("2024-01-01", "2024-01-02"))
        289
        """
        return datetime_index(self.between_ms(*_window_ms(start, end), limit))

    def count(self, start: "Instant", end: "Instant") -> int:
        """Return the number of ticks in the closed window [start, end].

        Parameters
        ----------
        start, end : int, str, datetime or pandas.Timestamp
            instants; an int is ms since the Unix epoch, a naive one is UTC

        Returns
        -------
        int

        Raises
        ------
        WindowError
            end lies before start

        Examples
        --------
        >>> CronExpression("* * * * * *").count("1970-01-01", "2100-12-31 23:59:59")
        4133980800
        """
        return self.count_ms(*_window_ms(start, end))

    def matches(self, at: "Instant") -> bool:
        """Return whether an instant is a tick.

        Parameters
        ----------
        at : int, str, datetime or pandas.Timestamp
            instant; an int is ms since the Unix epoch, a naive one is UTC

        Returns
        -------
        bool

        Examples
        --------
        >>> CronExpression("0 9 * * 1-5").matches("2024-01-07 09:00")  # 1 is Sunday here
        True
        """
        return self.matches_ms(_calendar_ms(at, "at"))

    # -- words ----------------------------------------------------------------------------

    def explain(self) -> str:
        """Return in English when the expression fires.

        Examples
        --------
        >>> "Sunday to Thursday" in CronExpression("0 9 * * 1-5").explain()
        True
        """
        from resonate_lab.cron.explain import explain

        return explain(self)

    def lint(self, now: "Instant | None" = None) -> "list[Finding]":
        """Return what may surprise the author of the expression.

        Parameters
        ----------
        now : int, str, datetime or pandas.Timestamp, optional
            the instant that the findings about years are judged at

        Returns
        -------
        list of Finding
            each with ``code``, ``severity``, ``message`` and ``suggestion``

        Examples
        --------
        >>> [finding.code for finding in CronExpression("0 9 * * 1-5").lint()]
        ['numeric-weekday']
        """
        from resonate_lab.cron.lint import lint

        return lint(self, None if now is None else instant_ms(now, "now"))

    def compare(
        self, other: str = "crontab", after: "Instant | None" = None, n: int = 5
    ) -> "pd.DataFrame":
        """Return the ticks of the expression beside those that its text has elsewhere.

        Parameters
        ----------
        other : str
            "crontab", read by croniter, or a dialect
        after : int, str, datetime or pandas.Timestamp, optional
            instant that the ticks lie strictly after; without it the present one
        n : int
            ticks to show

        Returns
        -------
        pandas.DataFrame
            n rows, and one more where the first difference lies beyond them, in order of
            ``tick`` (int64, from 1); ``ours`` and ``theirs`` (datetime64[ms, UTC], NaT
            where there is none), ``same`` and ``first_difference`` (bool). ``attrs`` holds
            ``verdict`` ("same" or "different", proved up to the end of 2099), ``reason``
            and ``instead``, a tuple of the texts that mean here what this one means there

        Raises
        ------
        ValueError
            the text means nothing there, or `other` is unknown

        Examples
        --------
        >>> frame = CronExpression("0 9 * * 1-5").compare(after="2024-01-01")
        >>> frame.attrs["verdict"], frame.attrs["instead"]
        ('different', ('0 9 * * MON-FRI',))
        """
        import pandas as pd

        from resonate_lab.cron import comparison

        after_ms = time.time_ns() // 1_000_000 if after is None else instant_ms(after, "after")
        rows = comparison.compare(self, other, after_ms, n)
        found = comparison.verdict(
            self.text, type(self), after_ms, other=other, dialect=self.dialect
        )
        frame = pd.DataFrame(
            {
                "tick": pd.Series([row["tick"] for row in rows], dtype="int64"),
                **{
                    side: pd.to_datetime(
                        pd.Series([row[f"{side}_ms"] for row in rows], dtype="Int64"),
                        unit="ms",
                        utc=True,
                    ).astype("datetime64[ms, UTC]")
                    for side in ("ours", "theirs")
                },
                "same": pd.Series([row["same"] for row in rows], dtype=bool),
                "first_difference": pd.Series(
                    [row["first_difference"] for row in rows], dtype=bool
                ),
            }
        )
        instead = found.translation.texts if found.translation is not None else ()
        frame.attrs.update(verdict=found.verdict, reason=found.reason, instead=instead)
        return frame

    def _repr_html_(self) -> str:
        now_ms = time.time_ns() // 1_000_000
        rows = [
            (
                f"{datetime.fromtimestamp(tick // 1000, UTC):{_SHOWN}}",
                # The zone of a notebook's reader is that of the machine its kernel runs on;
                # asked tick by tick, since its offset changes through the year.
                f"{datetime.fromtimestamp(tick // 1000).astimezone():{_SHOWN} %Z}",
            )
            for tick in self.fires_ms(now_ms, 5).tolist()
        ]
        findings = [(f.severity, f.code, f.message, f.suggestion or "") for f in self.lint(now_ms)]
        parts = [
            f"<code>{_html.escape(self.text)}</code> <small>{_html.escape(self.dialect)}</small>",
            f"<div>{_html.escape(self.explain(), 400)}</div>",
            _html.table(rows, ("next ticks, UTC", "in your zone"))
            if rows
            else "<div>no tick is left</div>",
        ]
        if findings:
            parts.append(_html.table(findings, ("severity", "code", "finding", "write instead")))
        return f"<div>{''.join(parts)}</div>"


def _calendar_ms(value: "Instant", name: str) -> int:
    ms = instant_ms(value, name)
    if not -1 <= ms <= EPOCH_END_MS:
        raise InstantError(
            f"{name} {format_instant(ms)} is outside the calendar; "
            "give an instant from 1970 to 2100"
        )
    return ms


def _window_ms(start: "Instant", end: "Instant") -> tuple[int, int]:
    start_ms, end_ms = _calendar_ms(start, "start"), _calendar_ms(end, "end")
    if end_ms < start_ms:
        raise WindowError(
            f"end {format_instant(end_ms)} lies before start {format_instant(start_ms)}; "
            "give the earlier instant first"
        )
    return start_ms, end_ms


def _limit(value: int) -> int:
    try:
        if isinstance(value, bool | np.bool_):  # operator.index takes them, numpy 1's too
            raise TypeError
        limit = operator.index(value)
    except TypeError:
        raise TypeError(
            f"limit is {value!r} of type {type(value).__name__}; "
            "give an int, the most ticks to return"
        ) from None
    if limit < 0:
        raise WindowError(f"limit {limit} is negative; give 0 or more, the most ticks to return")
    return limit


def _bounded(cron: Cron, n: int) -> int:
    if n > MAX_TICKS:
        raise WindowError(
            f"{cron.text!r} would return {n:,} ticks and one array holds at most {MAX_TICKS:,}; "
            "give a shorter window or a limit, or use count_ms"
        )
    return n
