"""Wall clocks and UTC as tables: what to write for a local time, and what UTC looks like there.

How an expression is moved stands in `resonate_lab.cron.localtime`. Each answer is proved
before it is given: its ticks are laid beside those of the wall clock, the whole year.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from resonate_lab.cron import CronExpression
from resonate_lab.cron.localtime import (
    RULES,
    Piece,
    Rule,
    goes_by_the_clock,
    local_pieces,
    utc_pieces,
)
from resonate_lab.cron.offsets import Stretch, offset_text, stretches, zone_named
from resonate_lab.errors import FrameError
from resonate_lab.frames import TEXT
from resonate_lab.instants import datetime_index, instant_ms
from resonate_lab.whatif.answer import AnswerFrame, Table, counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["local_view", "to_utc"]

Ints = npt.NDArray[np.int64]

_CHUNK_MS = 32 * 86_400_000  # of a year of seconds only so much is laid out at a time
_DRAWN_MS = 600_000  # ticks of a picture are that far apart
_TIMES_SHOWN = 4
_DEBIAN_LIMIT_MS = 3 * 3_600_000


class UtcPlan(AnswerFrame):
    """What to write in UTC for a wall clock; made by `to_utc`, which names the columns."""

    _title: ClassVar[str] = "What to write in UTC for a time of the wall clock?"
    _needs: ClassVar = {"from_at": "M", "until_at": "M", "offset": "O", "cron": "O", "ticks": "i"}

    def headline(self) -> str:
        """Return the answer in one sentence."""
        changes = [
            (name, int(self[name].sum())) for name in ("lost", "doubled", "moved") if name in self
        ]
        told = ", ".join(f"{count:,} {name}" for name, count in changes if count)
        texts = self["cron"].replace("", pd.NA).nunique()
        return (
            f"{_asked(self)}: {counted(texts, 'expression')} in UTC, "
            f"{counted(int(self['ticks'].sum()), 'tick')}"
            + (f"; where the clock changes {told}" if told else "")
        )

    def _tables(self) -> list[Table]:
        headings = {
            "from_at": "from",
            "until_at": "until",
            "offset": "wall clock",
            "cron": "write in UTC",
            "ticks": "ticks",
            "lost": "lost",
            "doubled": "doubled",
            "moved": "moved",
            "note": "note",
        }
        return [Table("Through the year", self._main(), headings, {"offset", "note"})]

    def _draw(self, ax: Axes | None) -> Axes:
        from resonate_lab import plots

        texts = zip(self["cron"], self["from_at"], self["until_at"], strict=True)
        fires = [
            _drawn(CronExpression(text), instant_ms(start), instant_ms(end))
            for text, start, end in texts
            if text
        ]
        at = np.concatenate([np.empty(0, dtype=np.int64), *fires])
        return plots.clock_times(datetime_index(at), self, ax=ax)


class LocalView(AnswerFrame):
    """What UTC looks like on a wall clock; made by `local_view`, which names the columns."""

    _title: ClassVar[str] = "At which times of the wall clock does it fire?"
    _needs: ClassVar = {"from_at": "M", "until_at": "M", "offset": "O", "wall": "O", "ticks": "i"}

    def headline(self) -> str:
        """Return the answer in one sentence."""
        walls = self["wall"].replace("", pd.NA).nunique()
        return (
            f"{_asked(self)}: {counted(walls, 'expression')} of the wall clock, "
            f"{counted(int(self['ticks'].sum()), 'tick')}"
        )

    def _tables(self) -> list[Table]:
        headings = {
            "from_at": "from",
            "until_at": "until",
            "offset": "wall clock",
            "times": "times of the day",
            "wall": "as an expression",
            "ticks": "ticks",
            "first": "first",
            "last": "last",
            "note": "note",
        }
        prose = {"offset", "times", "note"}
        return [Table("Through the year", self._main(), headings, prose)]

    def _draw(self, ax: Axes | None) -> Axes:
        from resonate_lab import plots

        if not {"expr", "zone"} <= set(self.attrs):
            raise FrameError("this frame does not know its expression any more: ask local_view()")
        at = np.empty(0, dtype=np.int64)
        if len(self):
            window = instant_ms(self["from_at"].min()), instant_ms(self["until_at"].max())
            at = _drawn(CronExpression(self.attrs["expr"]), *window)
        zone = zone_named(self.attrs["zone"])
        return plots.clock_times(datetime_index(at).tz_convert(zone), self, ax=ax)


def _asked(view: AnswerFrame) -> str:
    """Return what was asked, as far as the frame still knows."""
    if not {"expr", "zone", "year"} <= set(view.attrs):
        return "on the wall clock"
    return f"{view.attrs['expr']!r} and the clock of {view.attrs['zone']} in {view.attrs['year']}"


def _drawn(cron: CronExpression, start: int, end: int) -> Ints:
    """Return ticks in [start, end), of those that a picture could not tell apart the first."""
    found = [np.empty(0, dtype=np.int64)]
    for first, last in _chunks(start, end):
        ticks = cron.between_ms(first, last - 1)
        found.append(ticks[np.flatnonzero(np.diff(ticks // _DRAWN_MS, prepend=-1))])
    return np.concatenate(found)


def to_utc(expr: str | CronExpression, zone: str, year: int, rule: Rule = "debian") -> UtcPlan:
    """Return the UTC expressions that fire when a wall clock shows given times.

    Parameters
    ----------
    expr : str or CronExpression
        the times of the wall clock; a text is read in dialect ``resonate``
    zone : str
        name in the zone database, such as "America/New_York"
    year : int
        of the wall clock, 1971 to 2099
    rule : {"debian", "naive", "shift"}
        what happens at a change of the clocks. A time that does not exist fires right
        after the change (debian), is lost (naive), or fires later by the length of the
        change (shift). A time that comes twice fires the first time (debian, shift) or
        both times (naive). Debian's rule is for changes below three hours and for fixed
        times; where minutes or hours begin with ``*`` it is the naive one.

    Returns
    -------
    UtcPlan
        a DataFrame; one row an expression and the time in which it is to be active, in order of
        ``from_at``; expressions that are active together never fire at the same instant.

        ======== ============ =========================================================
        from_at  instant      when to switch to it (datetime64[ms, UTC]), inclusive
        until_at instant      when to switch it off, exclusive
        offset   str          of the wall clock, such as "UTC-05:00 (EST)"
        cron     str          dialect ``resonate``, evaluated in UTC; "" where nothing fires
        ticks    int64        of the expression in that time
        lost     int64        wall-clock ticks of the change at ``from_at`` that never fire;
                              where one row spans changes, of these changes
        doubled  int64        the same, those that fire twice
        moved    int64        the same, those that fire at another time than they say
        note     str          the change, and why it takes several expressions
        ======== ============ =========================================================

        ``attrs`` holds ``expr``, ``zone``, ``year`` and ``rule``.

    Raises
    ------
    CronError
        the dialect refuses the text
    ZoneError
        the zone is unknown (the message has a close name), or the year lies outside
    ValueError
        the rule is unknown

    Notes
    -----
    Of several wall-clock ticks that a change moves to one instant one fires, since a
    schedule fires once at an instant; the others count as lost. Ticks are those of the
    calendar; the late start of ``resonate-0.9.8`` in a future year is left out.

    Examples
    --------
    >>> plan = to_utc("0 9 * * MON-FRI", "America/New_York", 2026)
    >>> plan["cron"].tolist()
    ['0 14 * * MON-FRI', '0 13 * * MON-FRI', '0 14 * * MON-FRI']
    >>> plan["from_at"].dt.strftime("%Y-%m-%d %H:%M").tolist()
    ['2026-01-01 05:00', '2026-03-08 07:00', '2026-11-01 06:00']
    """
    if rule not in RULES:
        near = get_close_matches(str(rule), RULES, 1, 0.5)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"rule {rule!r} is none of {', '.join(map(repr, RULES))}{meant}")
    cron = _compiled(expr)
    pieces = utc_pieces(cron, CronExpression, zone, year, rule)
    _prove_utc(cron, pieces, stretches(zone, year), rule)
    rows = [(piece, text, number) for piece in pieces for number, text in _numbered(piece)]
    first = [number == 0 for _, _, number in rows]
    frame = UtcPlan(
        {
            **_when(rows),
            "cron": pd.Series([text for _, text, _ in rows], dtype=TEXT),
            "ticks": _int64(
                CronExpression(text).count_ms(piece.start_ms, piece.end_ms - 1) if text else 0
                for piece, text, _ in rows
            ),
            **{
                name: _int64(
                    getattr(piece, name) if leads else 0
                    for (piece, _, _), leads in zip(rows, first, strict=True)
                )
                for name in ("lost", "doubled", "moved")
            },
            "note": pd.Series(["; ".join(piece.notes) for piece, _, _ in rows], dtype=TEXT),
        }
    )
    frame.attrs.update(expr=cron.text, zone=zone, year=year, rule=rule)
    return frame


def local_view(expr: str | CronExpression, zone: str, year: int) -> LocalView:
    """Return at which wall-clock times a UTC expression fires through a year.

    Parameters
    ----------
    expr : str or CronExpression
        evaluated in UTC, as the server does; a text is read in dialect ``resonate``
    zone : str
        name in the zone database, such as "Europe/Berlin"
    year : int
        of the wall clock, 1971 to 2099

    Returns
    -------
    LocalView
        a DataFrame; one row a time between two changes and an expression, in order of ``from_at``.

        =========== ============== ====================================================
        from_at     instant        datetime64[ms, UTC], inclusive
        until_at    instant        exclusive
        offset      str            of the wall clock, such as "UTC+01:00 (CET)"
        wall        str            expression that says what the wall clock shows; ""
                                   where nothing fires
        times       str            its times of the day, the first four written out
        ticks       int64          in that time
        first, last local instant  first and last tick (datetime64[ms, zone]), NaT without
        note        str            why it takes several expressions
        =========== ============== ====================================================

        ``attrs`` holds ``expr``, ``zone`` and ``year``.

    Raises
    ------
    CronError
        the dialect refuses the text
    ZoneError
        the zone is unknown (the message has a close name), or the year lies outside

    Examples
    --------
    >>> local_view("0 9 * * MON-FRI", "Europe/Berlin", 2026)["times"].tolist()
    ['10:00', '11:00', '10:00']
    """
    cron = _compiled(expr)
    pieces = local_pieces(cron, CronExpression, zone, year)
    shown = [(piece, _local_ticks(piece)) for piece in pieces]
    _prove_local(cron, shown)
    rows = [(piece, text, number) for piece in pieces for number, text in _numbered(piece)]
    frame = pd.DataFrame(
        {
            **_when(rows),
            "wall": pd.Series([text for _, text, _ in rows], dtype=TEXT),
            "times": pd.Series([_times(text) for _, text, _ in rows], dtype=TEXT),
        }
    )
    ends = [_ends(piece, text) for piece, text, _ in rows]
    frame["ticks"] = _int64(count for count, _, _ in ends)
    for place, name in ((1, "first"), (2, "last")):
        values = pd.Series([end[place] for end in ends], dtype="Int64")
        stamps = pd.to_datetime(values, unit="ms", utc=True).astype("datetime64[ms, UTC]")
        frame[name] = stamps.dt.tz_convert(zone_named(zone))
    frame["note"] = pd.Series(["; ".join(piece.notes) for piece, _, _ in rows], dtype=TEXT)
    view = LocalView(frame)
    view.attrs.update(expr=cron.text, zone=zone, year=year)
    return view


def _compiled(expr: str | CronExpression) -> CronExpression:
    """The expression as a set of times: the released server's late starts are no times."""
    if not isinstance(expr, str | CronExpression):
        raise TypeError(
            f"expr is {expr!r} of type {type(expr).__name__}; give a text such as "
            "'0 9 * * MON-FRI' or a CronExpression"
        )
    if isinstance(expr, str):
        return CronExpression(expr)
    return CronExpression(expr.text) if expr.dialect == "resonate-0.9.8" else expr


def _numbered(piece: Piece) -> Iterator[tuple[int, str]]:
    return enumerate(piece.texts or ("",))


def _when(rows: Sequence[tuple[Piece, str, int]]) -> dict[str, object]:
    return {
        "from_at": datetime_index(np.array([p.start_ms for p, _, _ in rows], dtype=np.int64)),
        "until_at": datetime_index(np.array([p.end_ms for p, _, _ in rows], dtype=np.int64)),
        "offset": pd.Series([offset_text(p.stretches) for p, _, _ in rows], dtype=TEXT),
    }


def _int64(values: Iterator[int]) -> pd.Series:
    return pd.Series(list(values), dtype="int64")


def _times(text: str) -> str:
    """The times of the day of an expression, the first few of them."""
    if not text:
        return ""
    cron = CronExpression(text)
    total = len(cron.hours) * len(cron.minutes) * len(cron.seconds)
    clock = (
        f"{hour:02}:{minute:02}" + ("" if cron.seconds == (0,) else f":{second:02}")
        for hour in cron.hours
        for minute in cron.minutes
        for second in cron.seconds
    )
    shown = ", ".join(text for text, _ in zip(clock, range(_TIMES_SHOWN), strict=False))
    return shown if total <= _TIMES_SHOWN else f"{shown} and {total - _TIMES_SHOWN:,} more"


# --- ticks of a piece that shows wall-clock times ---------------------------------------------


def _ends(piece: Piece, text: str) -> tuple[int, int | None, int | None]:
    """How often one expression of a piece fires, and the first and last instant."""
    count, first, last = 0, None, None
    if not text:
        return count, first, last
    cron = CronExpression(text)
    for part in piece.stretches:
        on = part.offset * 1000
        start, end = part.start_ms + on, part.end_ms + on - 1
        here = cron.count_ms(start, end)
        if here:
            early, late = cron.next_ms(start - 1), cron.prev_ms(end + 1)
            first = early - on if first is None and early is not None else first
            last = late - on if late is not None else last
        count += here
    return count, first, last


def _local_ticks(piece: Piece) -> Iterator[tuple[int, int, Ints]]:
    """Windows [start, end) of a piece and the instants at which its wall clock shows a tick."""
    crons = [CronExpression(text) for text in piece.texts]
    for part in piece.stretches:
        on = part.offset * 1000
        for start, end in _chunks(part.start_ms, part.end_ms):
            yield start, end, _union(crons, start + on, end + on) - on


# --- the proof ---------------------------------------------------------------------------------


def _chunks(start: int, end: int) -> Iterator[tuple[int, int]]:
    for first in range(start, end, _CHUNK_MS):
        yield first, min(first + _CHUNK_MS, end)


def _union(crons: Sequence[CronExpression], start: int, end: int) -> Ints:
    """The ticks in [start, end) of expressions, ascending; a common one is there twice."""
    return _sorted([cron.between_ms(start, end - 1) for cron in crons] if start < end else [])


def _sorted(ticks: Sequence[Ints]) -> Ints:
    found = [some for some in ticks if len(some)]
    if len(found) > 1:
        # Each is ascending, and the stable sort is quick on such runs.
        return np.sort(np.concatenate(found), kind="stable")
    return found[0] if found else np.empty(0, dtype=np.int64)


def _without(some: Ints, others: Ints) -> Ints:
    """Those of some ascending ticks that are not among others."""
    place = np.minimum(np.searchsorted(others, some), len(others) - 1)
    return some[others[place] != some] if len(others) else some


def _prove_local(
    cron: CronExpression, shown: Sequence[tuple[Piece, Iterator[tuple[int, int, Ints]]]]
) -> None:
    for piece, ticks in shown:
        for start, end, found in ticks:
            assert np.array_equal(found, cron.between_ms(start, end - 1)), (cron, piece)


def _prove_utc(
    cron: CronExpression, pieces: Sequence[Piece], parts: Sequence[Stretch], rule: Rule
) -> None:
    """Hold the ticks of a plan against those of the wall clock, walked stretch by stretch."""
    compiled = [(piece, [CronExpression(text) for text in piece.texts]) for piece in pieces]
    for number, part in enumerate(parts):
        before = parts[number - 1] if number else None
        moved, skipped = _at_change(cron, before, part, rule)
        for start, end in _chunks(part.start_ms, part.end_ms):
            on = part.offset * 1000
            wall = cron.between_ms(start + on, end + on - 1) - on
            wall = wall[wall >= part.start_ms + skipped]
            here = moved[(moved >= start) & (moved < end)]
            expected = _sorted([wall, _without(here, wall)])
            found = [
                _union(crons, max(start, piece.start_ms), min(end, piece.end_ms))
                for piece, crons in compiled
                if piece.start_ms < end and start < piece.end_ms
            ]
            assert np.array_equal(_sorted(found), expected), (cron, part, rule)


def _at_change(
    cron: CronExpression, before: Stretch | None, after: Stretch, rule: Rule
) -> tuple[Ints, int]:
    """Instants of the ticks that a change moves, and the ms after it that are passed over."""
    none = np.empty(0, dtype=np.int64)
    if before is None or rule == "naive":
        return none, 0
    size = (after.offset - before.offset) * 1000
    if rule == "debian" and (goes_by_the_clock(cron) or abs(size) >= _DEBIAN_LIMIT_MS):
        return none, 0
    if size < 0:
        return none, -size
    gap = after.start_ms + before.offset * 1000
    missing = cron.between_ms(gap, gap + size - 1)
    if rule == "shift":
        return missing - before.offset * 1000, 0
    return np.full(min(1, len(missing)), after.start_ms, dtype=np.int64), 0
