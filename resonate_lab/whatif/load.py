"""The load of a fleet: how many ticks fall into each minute, and who makes the peaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
import pandas as pd

from resonate_lab.errors import FrameError, WindowError
from resonate_lab.instants import datetime_index, format_duration, format_instant, instant_ms
from resonate_lab.whatif.answer import AnswerFrame, PandasAnswer, Table, counted, refused_table
from resonate_lab.whatif.bins import Bins, bin_ms, window_ms
from resonate_lab.whatif.fleet import Source
from resonate_lab.whatif.partitions import Progress, partitions_of
from resonate_lab.whatif.tally import Asked, Ints, ask, tallied

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas.tseries.offsets import BaseOffset

    from resonate_lab.instants import Instant
    from resonate_lab.whatif.bins import Frequency
    from resonate_lab.whatif.combined import AskedParts

__all__ = ["MAX_BINS", "Load", "Peaks", "load", "loaded", "makers", "peaks"]

MAX_BINS = 10_000_000
"""Most bins that one load may have: 80 MB, and as much again for their instants."""

_PEAKS_SHOWN = 10
_COLUMNS = ("dialect", "line")  # beside id and cron, what a load looks at


class Load(PandasAnswer, pd.Series):  # type: ignore[misc]  # pandas takes more
    """Ticks per bin, int64, on a UTC DatetimeIndex of the bins' beginnings; made by `load`.

    A Series that also knows whose load it is, which `peaks` and `makers` ask, and keeps that
    through slices and arithmetic.
    """

    _title: ClassVar[str] = "How many ticks are there, and when?"

    _metadata = ["_name", "_asked", "_bins"]  # what pandas carries along; the first is its own
    _asked: Asked | AskedParts | None = None
    _bins: Bins | None = None

    @property
    def _constructor(self) -> type[Load]:
        return Load

    @property
    def fleet(self) -> pd.DataFrame:
        """The schedules that were counted, in the fleet's order."""
        return self._answered().fleet

    @property
    def refused(self) -> pd.DataFrame:
        """The other rows: ``schedule_id``, ``cron``, ``line`` and ``reason``."""
        return self._answered().refused

    @property
    def complete(self) -> bool:
        """False where Ctrl-C came before the last partition of the fleet was counted."""
        return self._asked is None or self._asked.complete

    def __repr__(self) -> str:
        text = super().__repr__()
        if self._asked is None:
            return text
        refused = len(self._asked.refused)
        text += f"\nrows refused: {refused:,}, see .refused" if refused else ""
        return text if self.complete else f"{text}\ninterrupted: {self._asked} are counted"

    def _is_whole(self) -> bool:
        # The mean by hour of the day, for instance, is on no instants any more.
        index = self.index
        if not isinstance(index, pd.DatetimeIndex) or index.tz is None:
            return False
        if index.freq is None and self._bins is None:
            return False
        return self.dtype.kind in "iuf" and _one_length(index.freq)

    def headline(self) -> str:
        """Return the answer in one sentence."""
        if not len(self):
            return "a load without a bin"
        begins, values, width = _begins(self), self.to_numpy(), _width(self)
        whose = "" if self._asked is None else f" of {counted(self._asked.schedules, 'schedule')}"
        bins = _cut(self._bins, begins, width)
        span = f"from {format_instant(bins.start)} to {format_instant(bins.end)}"
        top, mean = int(values.argmax()), float(values.mean())
        few = ".1f" if mean >= 0.05 else ".2g"  # a rare tick is more than none
        return (
            f"{counted(values.sum(), 'tick')}{whose} {span}: {mean:,{few}} in a mean bin of "
            f"{format_duration(width)}, {values[top]:,} in the busiest "
            f"(at {format_instant(int(begins[top]))})"
        )

    def _main(self) -> pd.DataFrame:
        return self.to_frame()

    def _tables(self) -> list[Table]:
        try:
            busiest = peaks(self, _PEAKS_SHOWN)._tables()
        except FrameError:  # nobody knows any more who ticks in these bins
            frame = self.nlargest(_PEAKS_SHOWN).rename_axis("at").reset_index(name="ticks")
            return [Table("The busiest bins", frame, {"at": "bin", "ticks": "ticks"})]
        return [*busiest, *refused_table(self.refused)]

    def _draw(self, ax: Axes | None) -> Axes:
        from resonate_lab import plots

        return plots.load_curve(self, ax=ax)

    def _answered(self) -> Asked | AskedParts:
        if self._asked is None:
            raise FrameError(
                "this load does not know its fleet any more: ask load() again, or pass fleet="
            )
        return self._asked


class Peaks(AnswerFrame):
    """The busiest bins of a load; made by `peaks`, which names the columns."""

    _title: ClassVar[str] = "When is the fleet busiest, and who makes it so?"
    _needs: ClassVar = {"at": "M", "ticks": "i", "schedules": "i", "busiest": "O"}

    def headline(self) -> str:
        """Return the answer in one sentence."""
        if not len(self):
            return "no bin of the load has a tick"
        top = self.iloc[int(self["ticks"].to_numpy().argmax())]
        return (
            f"the busiest of {len(self):,} bins begins {format_instant(instant_ms(top['at']))}: "
            f"{counted(top['ticks'], 'tick')} of {counted(top['schedules'], 'schedule')}"
        )

    def _tables(self) -> list[Table]:
        headings = {
            "at": "bin",
            "ticks": "ticks",
            "times_mean": "times the mean",
            "schedules": "schedules",
            "busiest": "the busiest of them",
        }
        return [Table("The busiest bins", self._main(), headings)]

    def _draw(self, ax: Axes | None) -> Axes:
        from resonate_lab import plots

        return plots.peak_bars(self, ax=ax)


def load(
    fleet: Source,
    start: Instant,
    end: Instant,
    freq: Frequency = "1min",
    *,
    dialect: str = "resonate",
    progress: Progress = iter,
) -> Load:
    """Return how many ticks of a fleet fall into each bin of a window.

    Parameters
    ----------
    fleet : DataFrame, path or file object
        anything that `read_fleet` takes
    start, end : instant
        the closed window [start, end]
    freq : str, timedelta or pandas offset
        length of a bin: a fixed one of whole ms, at least a second, such as ``"1min"``,
        ``"7min"``, ``"1h"`` or ``"1D"``
    dialect : str
        of the rows that name none
    progress : callable, optional
        wraps the iterable of the distinct expressions' numbers, of a fleet in partitions
        that of theirs, as `tqdm.auto.tqdm` does

    Returns
    -------
    Load
        a Series named "ticks", int64, one row a bin, those without a tick too; the index
        holds the bins' beginnings, multiples of `freq` since the Unix epoch,
        datetime64[ms, UTC]. The first and the last bin hold what the window has of them.
        Rows that are refused stand in its ``refused``, the others are counted. Where Ctrl-C
        came before the last partition of a fleet, its ``complete`` is False.

    Raises
    ------
    FleetError
        the fleet cannot be read
    InstantError, DurationError, TypeError
        an argument is no instant, or `freq` no fixed length of a second or more
    WindowError
        `end` is before `start`, the window leaves 1970-2100, or it has more than `MAX_BINS`
        bins

    Notes
    -----
    O(distinct expressions x their busiest units): where bins are whole minutes, hours or
    days, all ticks of one are a single addition.

    Examples
    --------
    >>> fleet = pd.DataFrame({"id": ["a", "b"], "cron": ["0 * * * *", "*/20 * * * *"]})
    >>> load(fleet, "2024-01-01", "2024-01-01 02:00", freq="30min").tolist()
    [3, 1, 3, 1, 2]
    """
    bins = Bins(*window_ms(start, end), bin_ms(freq))
    if bins.size > MAX_BINS:
        raise WindowError(
            f"{format_instant(bins.start)} to {format_instant(bins.end)} has {bins.size:,} bins of "
            f"{format_duration(bins.width)}, more than the {MAX_BINS:,} that one load may have: "
            "shorten the window or write a longer freq"
        )
    parts = partitions_of(fleet, *_COLUMNS)
    if parts is not None:
        from resonate_lab.whatif import combined

        return combined.load(parts, bins, dialect, progress)
    asked = ask(fleet, dialect)
    return loaded(tallied(asked.weights(), bins, progress), bins, asked)


def peaks(load: pd.Series, n: int = 10, *, ids: int = 5, fleet: Source | None = None) -> Peaks:
    """Return the busiest bins of a load, and who makes them.

    Parameters
    ----------
    load : Series
        what `load` returned, or a part of it
    n : int
        bins to return, those of equal load by their instant
    ids : int
        schedules to name of each
    fleet : optional
        whose load it is, where the Series does not know

    Returns
    -------
    Peaks
        a DataFrame; one row a bin that has a tick, the busiest first:

        ========== ======= =========================================================
        at         instant beginning of the bin, UTC
        ticks      int64
        times_mean float64 how many times the mean of the load
        schedules  int64   how many of the fleet tick in it
        busiest    object  list of the ids with the most ticks in it, at most `ids`,
                           those of equal count in the fleet's order
        ========== ======= =========================================================

    Raises
    ------
    FrameError
        the Series is no load, or does not know its fleet
    ValueError
        `n` or `ids` is negative

    See Also
    --------
    makers : every schedule of one bin

    Examples
    --------
    >>> fleet = pd.DataFrame({"id": ["a", "b"], "cron": ["0 * * * *", "*/20 * * * *"]})
    >>> peaks(load(fleet, "2024-01-01", "2024-01-02"), 1)[["ticks", "busiest"]].values.tolist()
    [[2, ['a', 'b']]]
    """
    for name, value in (("n", n), ("ids", ids)):
        if value < 0:
            raise ValueError(f"{name} is {value}, but must be 0 or more")
    bins = _bins_of(load)
    asked = _whose(load, fleet)
    values = load.to_numpy()
    # The n-th largest first, so that a long load need not be sorted as a whole.
    enough = np.partition(values, -n)[-n] if 0 < n < len(values) else 0
    rows = np.flatnonzero((values >= enough) & (values > 0)) if n else np.empty(0, dtype=np.intp)
    rows = rows[np.argsort(-values[rows], kind="stable")][:n]
    begins = _begins(load)[rows]
    made = asked.makers(bins, begins.tolist(), ids)
    busiest = np.empty(len(rows), dtype=object)
    busiest[:] = [each.ids.tolist() for each in made]
    return Peaks(
        {
            "at": datetime_index(begins),
            "ticks": values[rows].astype(np.int64),
            "times_mean": values[rows] / (values.mean() if len(values) else 1),
            "schedules": np.array([each.schedules for each in made], dtype=np.int64),
            "busiest": busiest,
        }
    )


def makers(load: pd.Series, at: Instant, *, fleet: Source | None = None) -> pd.DataFrame:
    """Return every schedule that ticks in the bin of a load that holds an instant.

    Returns
    -------
    DataFrame
        One row a schedule, the busiest first, then in the fleet's order: ``id`` and
        ``cron`` (str), ``ticks`` (int64)

    Raises
    ------
    FrameError
        the Series is no load, or does not know its fleet
    WindowError
        the instant lies outside the load's window

    Examples
    --------
    >>> fleet = pd.DataFrame({"id": ["a", "b"], "cron": ["0 * * * *", "*/20 * * * *"]})
    >>> makers(load(fleet, "2024-01-01", "2024-01-02"), "2024-01-01 07:20")["id"].tolist()
    ['b']
    """
    bins = _bins_of(load)
    asked = _whose(load, fleet)
    ms = instant_ms(at, "at")
    # Bins of a resampled load need not begin at multiples of their length since the epoch.
    begin = ms - (ms - int(_begins(load)[0] if len(load) else 0)) % bins.width
    if not begin <= bins.end or not bins.start < begin + bins.width:
        raise WindowError(
            f"at is {format_instant(ms)}, outside the load, which goes from "
            f"{format_instant(bins.start)} to {format_instant(bins.end)}"
        )
    (made,) = asked.makers(bins, [begin])
    return pd.DataFrame(
        {
            "id": pd.Series(made.ids, dtype=str),
            "cron": pd.Series(made.crons, dtype=str),
            "ticks": made.ticks,
        }
    )


def loaded(counts: Ints, bins: Bins, asked: Asked | AskedParts) -> Load:
    """Return the counts of bins as a load that knows whose it is."""
    found = Load(counts, index=bins.begins(), name="ticks")
    found._asked, found._bins = asked, bins
    return found


def _bins_of(load: pd.Series) -> Bins:
    """Return the bins of a load; those of a resampled load by its index."""
    if not isinstance(load.index, pd.DatetimeIndex) or load.index.tz is None:
        raise FrameError(
            f"a load is a Series on a UTC DatetimeIndex, not on {type(load.index).__name__}: "
            "make it with load()"
        )
    bins, width = load._bins if isinstance(load, Load) else None, _width(load)
    if bins is not None and (load.index.freq is None or not len(load)):
        return bins  # some of them
    begins = _begins(load)
    if bins is not None and (width % bins.width or (begins[0] - bins.origin) % bins.width):
        raise FrameError(
            f"bins of {format_duration(width)} cut through those of {format_duration(bins.width)} "
            "that were counted, so nobody knows who ticks in them: ask load() for such bins"
        )
    # A resampled load has other bins of the same window.
    return bins if bins is not None and width == bins.width else _cut(bins, begins, width)


def _width(load: pd.Series) -> int:
    """Return the length of a load's bins in ms, or raise where they have no one length."""
    freq = cast("pd.DatetimeIndex", load.index).freq
    bins = load._bins if isinstance(load, Load) else None
    if freq is None and bins is None:
        raise FrameError("the load's index has no freq, so its bins have no length: use load()")
    if freq is not None and not _one_length(freq):
        raise FrameError(
            f"bins of {freq.freqstr!r} differ in length: resample the load to a fixed one such as "
            "'7D', or leave it to pandas, as pd.Series(ticks)"
        )
    return abs(freq.nanos) // 1_000_000 if freq is not None else cast("Bins", bins).width


def _one_length(freq: BaseOffset | None) -> bool:
    """Return whether all bins of a frequency are as long, which months are not."""
    try:
        return freq is None or bool(freq.nanos)
    except ValueError:
        return False


def _cut(bins: Bins | None, begins: Ints, width: int) -> Bins:
    """Return bins that begin at these instants, with what the window has of them."""
    low, high = (int(begins.min()), int(begins.max()) + width - 1) if len(begins) else (0, 0)
    return (
        Bins(max(low, bins.start), min(high, bins.end), width) if bins else Bins(low, high, width)
    )


def _whose(load: pd.Series, fleet: Source | None) -> Asked | AskedParts:
    if fleet is not None:
        parts = partitions_of(fleet, *_COLUMNS)
        if parts is not None:
            from resonate_lab.whatif import combined

            return combined.AskedParts(parts, "resonate")
        return ask(fleet, "resonate")
    if not isinstance(load, Load):
        raise FrameError("the Series does not know whose load it is: pass fleet=")
    return load._answered()


def _begins(load: pd.Series) -> Ints:
    index = pd.DatetimeIndex(load.index).tz_convert("UTC").tz_localize(None)
    return index.to_numpy(dtype="datetime64[ms]").astype(np.int64)
