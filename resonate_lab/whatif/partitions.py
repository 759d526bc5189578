"""A fleet in partitions: a dask DataFrame, or a folder of Parquet files larger than memory.

A question is put to one partition at a time, by the function that answers it for a frame in
memory, on whatever scheduler the user has. What makes one answer of many stands in
`combined`. Ids are compared across partitions by their hashes, eight bytes a schedule.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from resonate_lab.errors import FleetError, WindowError
from resonate_lab.whatif import fleet as fleets
from resonate_lab.whatif.sources import Table, name_key, unreadable, with_index

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["MAX_ROWS", "PIECE_ROWS", "Gathered", "Partitions", "hashed", "needed", "partitions_of"]

PIECE_ROWS = 250_000
"""Most rows of a Parquet file that are looked at at once."""

MAX_ROWS = 5_000_000
"""Most schedules that a question takes which needs all of them at once."""

Hashes = npt.NDArray[np.uint64]
Question = Callable[[pd.DataFrame], Any]
Progress = Callable[[Iterable[int]], Iterable[int]]


class Piece(NamedTuple):
    """Some rows of a Parquet file."""

    path: str
    groups: tuple[int, ...]  # the row groups in which they lie
    skip: int  # rows of the first of these that come before
    rows: int

    def frame(self, heads: Sequence[str]) -> pd.DataFrame:
        """Read these columns of the rows."""
        import pyarrow.parquet as pq

        try:
            with pq.ParquetFile(self.path) as file:
                table = file.read_row_groups(list(self.groups), columns=list(heads))
        except (ValueError, OSError) as error:
            raise _unreadable(self.path, error) from error
        rows: pd.DataFrame = table.slice(self.skip, self.rows).to_pandas()
        return rows


class _Done(NamedTuple):
    """What came back from a partition."""

    rows: int
    ids: Hashes | None  # None where blank ids wait for the number of rows before them
    answer: Any


class Gathered(NamedTuple):
    """Which partitions are finished, by number, and how many rows each has."""

    rows: Mapping[int, int]
    partitions: int

    @property
    def complete(self) -> bool:
        """False where Ctrl-C came before the last partition."""
        return len(self.rows) == self.partitions

    def __str__(self) -> str:
        """Return how many there are, in words."""
        return f"{len(self.rows):,} of {self.partitions:,} partitions"

    def before(self) -> dict[int, int | None]:
        """Return the rows before each finished one; None behind one that Ctrl-C left undone."""
        found: dict[int, int | None] = {}
        total: int | None = 0
        for part in range(self.partitions):
            if part in self.rows:
                found[part] = total
            size = self.rows.get(part)
            total = None if total is None or size is None else total + size
        return found


@dataclass(frozen=True, eq=False)
class Partitions:
    """The partitions of a fleet, none of them read yet.

    Attributes
    ----------
    name : str
        of the fleet, for messages
    heads : tuple of str
        the columns that are read
    named : str or None
        that of them which holds the ids
    pieces : sequence
        rows of files, or delayed frames of dask
    places : sequence of str
        what each is called in messages
    sizes : tuple of int, or None
        rows of each, where that is known before they are read
    """

    name: str
    heads: tuple[str, ...]
    named: str | None
    pieces: Sequence[Any]
    places: Sequence[str]
    sizes: tuple[int, ...] | None

    def empty(self) -> pd.DataFrame:
        """Return a fleet of these columns without a schedule."""
        columns = {head: pd.Series([], dtype=object) for head in self.heads}
        return fleets.read_fleet(pd.DataFrame(columns))

    def gather(
        self, question: Question, take: Callable[[int, Any], None], progress: Progress = iter
    ) -> Gathered:
        """Put a question to each partition, and hand over each answer with its number.

        Ctrl-C ends it, and what was handed over stands; a second one is raised.

        Raises
        ------
        FleetError
            a partition is no fleet, or an id stands in two of them
        """
        rows: dict[int, int] = {}
        ids: dict[int, Hashes] = {}
        try:
            with closing(self._answers(question)) as answers:
                for _ in progress(range(len(self.pieces))):
                    part, done = next(answers)
                    take(part, done.answer)
                    rows[part], ids[part] = done.rows, cast("Hashes", done.ids)
        except KeyboardInterrupt:
            pass  # Gathered.complete tells
        found = Gathered(rows, len(self.pieces))
        self._demand_unique(ids, found)
        return found

    def again(self, question: Question, known: Gathered | None) -> Iterator[tuple[int, Any]]:
        """Put another question to the partitions, or to those that were finished.

        Yields each one's number and answer, as they come; Ctrl-C is raised.
        """
        with closing(self._answers(question, known)) as answers:
            for part, done in answers:
                yield part, done.answer

    def together(self, asker: str, known: Gathered | None = None) -> pd.DataFrame:
        """Return the fleet as one frame, for a question that cannot do with less."""
        self._demand_room(sum(self.sizes or ()), asker)
        frames: dict[int, pd.DataFrame] = {}
        rows = 0
        for part, frame in self.again(_itself, known):
            frames[part] = frame
            rows += len(frame)
            self._demand_room(rows, asker)
        ordered = [frames[part] for part in sorted(frames)]
        return pd.concat(ordered, ignore_index=True) if ordered else self.empty()

    def one_by_one(self, gathered: Gathered) -> Iterator[pd.DataFrame]:
        """Read the finished partitions one after another, as fleets."""
        for part, before in gathered.before().items():
            yield self._read(part, before)

    def _read(self, part: int, before: int | None) -> pd.DataFrame:
        piece = self.pieces[part]
        frame = piece if isinstance(piece, Piece) else piece.compute()
        # Behind an undone partition rows are numbered from its end.
        fleet = _fleet(frame, self.heads, self.named, self.places[part], before or 0)
        assert fleet is not None
        return fleet

    def _answers(
        self, question: Question, known: Gathered | None = None
    ) -> Generator[tuple[int, _Done]]:
        """Yield each partition's number with what came back from it, as they are finished."""
        # dask does not know how many rows come before a partition. Where an id is blank, and
        # so named by its row, the question has to wait until all are counted.
        if known is None and self.sizes is not None:
            known = Gathered(dict(enumerate(self.sizes)), len(self.pieces))
        which = range(len(self.pieces)) if known is None else sorted(known.rows)
        before = {0: 0} if known is None else known.before()
        rows: dict[int, int] = {}
        waiting = []
        for part, done in self._computed(which, before, question):
            rows[part] = done.rows
            if done.ids is None:
                waiting.append(part)
            else:
                yield part, done
        counted = Gathered(rows, len(self.pieces)).before()
        yield from self._computed(sorted(waiting), counted, question)

    def _computed(
        self, which: Sequence[int], before: Mapping[int, int | None], question: Question
    ) -> Generator[tuple[int, _Done]]:
        calls = [
            (self.pieces[k], self.heads, self.named, self.places[k], before.get(k), question)
            for k in which
        ]
        client = _client()
        if client is not None:
            done = _on_cluster(client, calls)
        elif all(isinstance(self.pieces[k], Piece) for k in which):
            done = ((at, _asked(*call)) for at, call in enumerate(calls))
        else:
            done = _on_dask(calls)
        with closing(done):
            for at, answer in done:
                yield which[at], answer

    def _demand_room(self, rows: int, asker: str) -> None:
        if rows > MAX_ROWS:
            least = "" if self.sizes is not None else "at least "
            raise FleetError(
                f"{self.name} has {least}{rows:,} schedules, but {asker} needs all of them at once "
                f"and takes {MAX_ROWS:,} at most: ask for fewer, such as those of one team"
            )

    def _demand_unique(self, ids: Mapping[int, Hashes], gathered: Gathered) -> None:
        parts = sorted(ids)
        every = np.concatenate([np.empty(0, dtype=np.uint64), *(ids[part] for part in parts)])
        ordered = np.sort(every)
        twice = ordered[1:][ordered[1:] == ordered[:-1]]
        if not len(twice):
            return
        before = gathered.before()
        ends = np.cumsum([len(ids[part]) for part in parts])
        for row in np.flatnonzero(np.isin(every, twice)):
            # Two texts may share a hash, so the texts have the last word.
            places: dict[str, list[str]] = {}
            for other in np.flatnonzero(every == every[row]):
                part = parts[int(np.searchsorted(ends, other, side="right"))]
                within = int(other - ends[parts.index(part)]) + len(ids[part])
                name = self._read(part, before[part])["id"].iloc[within]
                where = places.setdefault(name, [])
                where.append(f"row {within + 1:,} of {self.places[part]}")
                if len(where) > 1:
                    raise FleetError(
                        f"the id {name[:80]!r} stands in {' and '.join(where)}: ids must be unique"
                    )


def partitions_of(fleet: object, *columns: str) -> Partitions | None:
    """Return the partitions of a fleet that lies in some, or None.

    Parameters
    ----------
    fleet : object
        a dask DataFrame or the path of a folder of Parquet files; all else has none
    *columns : str
        those of a fleet frame that will be looked at, beside id and cron; none: all

    Raises
    ------
    FleetError
        the folder holds no Parquet file, or one that cannot be read; there is no cron column
    """
    # Whoever has a dask DataFrame has imported dask.
    dask_frames = sys.modules.get("dask.dataframe")
    if dask_frames is not None and isinstance(fleet, dask_frames.DataFrame):
        return _of_dask(fleet, columns)
    if isinstance(fleet, str | os.PathLike) and os.path.isdir(fleet):
        return _of_folder(Path(fleet), columns)
    return None


def needed(fleet: Any, asker: str, *columns: str) -> Any:
    """Return a fleet in partitions as one frame of the columns, and any other as it is."""
    parts = partitions_of(fleet, *columns)
    return fleet if parts is None else parts.together(asker)


def hashed(texts: pd.Series) -> Hashes:
    """Return 64 bits for each text, the same in every process."""
    return pd.util.hash_array(texts.to_numpy(dtype=object), categorize=False)


# ---- what there is


def _of_dask(frame: Any, columns: Sequence[str]) -> Partitions:
    name = "the dask DataFrame"
    if frame.index.name is not None and frame.index.name not in frame.columns:
        frame = frame.reset_index()
    heads, named = _heads([str(head) for head in frame.columns], columns, name)
    own = [head for head in frame.columns if str(head) in heads]
    pieces = frame[own].to_delayed()
    places = [f"partition {k:,} of {len(pieces):,}" for k in range(1, len(pieces) + 1)]
    return Partitions(name, heads, named, pieces, places, None)


def _of_folder(folder: Path, columns: Sequence[str]) -> Partitions:
    import pyarrow.parquet as pq

    name = f"the folder {folder.name or str(folder)!r}"
    paths = sorted(
        (path for pattern in ("*.parquet", "*.pq") for path in folder.rglob(pattern)),
        key=lambda path: [
            int(word) if word.isdecimal() else word
            for word in re.split(r"(\d+)", str(path.relative_to(folder)))
        ],
    )
    # Names that begin so are notes of whoever wrote the files.
    paths = [path for path in paths if path.is_file() and path.name[0] not in "._"]
    if not paths:
        raise FleetError(
            f"{name} holds no Parquet file, but a fleet in a folder is one or more files *.parquet"
        )
    first: list[str] = []
    pieces: list[Piece] = []
    places = []
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                empty = with_index(file.schema_arrow.empty_table().to_pandas())
                own = [str(head) for head in empty.columns]
                groups = [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)]
        except (ValueError, OSError) as error:
            raise _unreadable(str(path), error) from error
        first = first or own
        if sorted(own) != sorted(first):
            raise FleetError(_other_columns(f"{path.name!r} of {name}", own, first))
        before = 0
        for piece in _pieces(str(path.resolve()), groups):
            pieces.append(piece)
            places.append(repr(path.name) + (f" from row {before + 1:,} on" if before else ""))
            before += piece.rows
    if not pieces:
        raise FleetError(f"{name} holds no schedule")
    heads, named = _heads(first, columns, name)
    return Partitions(name, heads, named, pieces, places, tuple(piece.rows for piece in pieces))


def _pieces(path: str, groups: Sequence[int]) -> Iterator[Piece]:
    """Yield a file's rows: small row groups together, large ones in slices."""
    held: list[int] = []
    rows = 0
    for group, size in enumerate(groups):
        if held and rows + size > PIECE_ROWS:
            yield Piece(path, tuple(held), 0, rows)
            held, rows = [], 0
        if size > PIECE_ROWS:
            for skip in range(0, size, PIECE_ROWS):
                yield Piece(path, (group,), skip, min(PIECE_ROWS, size - skip))
        elif size:
            held.append(group)
            rows += size
    if held:
        yield Piece(path, tuple(held), 0, rows)


def _heads(own: list[str], columns: Sequence[str], name: str) -> tuple[tuple[str, ...], str | None]:
    """Return which columns are read, and which of them holds the ids."""
    if len(set(own)) < len(own):
        twice = next(head for head in own if own.count(head) > 1)
        raise FleetError(f"{name} has the column {twice!r} twice: rename one of them")
    roles = fleets._roles(Table(name, "row", (), {head: [] for head in own}))
    if columns:
        # Whatever is asked, a zone or the columns of one system change what the texts mean.
        wanted = {roles.get(column, column) for column in ("id", "cron", "zone", *columns)}
        own = [head for head in own if head in wanted or name_key(head) in fleets._SYSTEM_OF]
    return tuple(own), roles.get("id")


def _other_columns(place: str, own: Sequence[str], first: Sequence[str]) -> str:
    listed = [", ".join(map(repr, heads[:12])) or "none" for heads in (own, first)]
    return (
        f"{place} has the columns {listed[0]}, but the first partition has {listed[1]}: "
        "write them all with the same columns"
    )


def _unreadable(path: str, error: Exception) -> FleetError:
    file = PurePath(path)
    return unreadable(f"{file.name!r} of the folder {file.parent.name!r}", error)


# ---- one partition, wherever it is computed


def _asked(
    piece: Piece | pd.DataFrame,
    heads: tuple[str, ...],
    named: str | None,
    place: str,
    before: int | None,
    question: Question,
) -> _Done:
    """Put the question to one partition."""
    frame = piece.frame(heads) if isinstance(piece, Piece) else piece
    try:
        fleet = _fleet(frame, heads, named, place, before)
        if fleet is None:
            return _Done(len(frame), None, None)
        return _Done(len(fleet), hashed(fleet["id"]), question(fleet))
    except (FleetError, WindowError) as error:
        raise type(error)(f"{place}: {error}") from error


def _fleet(
    frame: pd.DataFrame | Piece,
    heads: tuple[str, ...],
    named: str | None,
    place: str,
    before: int | None,
) -> pd.DataFrame | None:
    """Return a partition as a fleet frame; None where its rows must be numbered and cannot be."""
    frame = with_index(frame.frame(heads) if isinstance(frame, Piece) else frame)
    own = [str(head) for head in frame.columns]
    if sorted(own) != sorted(heads):
        raise FleetError(_other_columns("it", own, heads))
    if before != 0:
        cells = frame[named].tolist() if named is not None else [None] * len(frame)
        blank = [row for row, cell in enumerate(cells) if fleets._blank(cell)]
        if blank and before is None:
            return None
        for row in blank:
            cells[row] = f"row-{(before or 0) + row + 1}"
        if blank:
            column = pd.Series(cells, index=frame.index, dtype=object)
            frame = frame.assign(**{named or "id": column})
    return fleets.read_fleet(frame)


def _itself(fleet: pd.DataFrame) -> pd.DataFrame:
    return fleet


# ---- who computes


def _client() -> Client | None:
    """Return the client of a distributed cluster, where the user has one at work."""
    if "distributed" not in sys.modules:
        return None
    from dask.base import get_scheduler
    from distributed import Client

    # dask.config.set(scheduler=...) has the last word, as everywhere in dask.
    owner = getattr(get_scheduler(), "__self__", None)
    return owner if isinstance(owner, Client) else None


def _on_cluster(client: Client, calls: Sequence[tuple[Any, ...]]) -> Generator[tuple[int, _Done]]:
    from dask import delayed
    from distributed import as_completed

    task = delayed(_asked)
    futures = client.compute([task(*call) for call in calls])
    waiting = {future: at for at, future in enumerate(futures)}
    del futures  # an answer that was taken is held by nobody
    try:
        for future in as_completed(list(waiting)):
            at = waiting.pop(future)
            yield at, future.result()
    finally:
        client.cancel(list(waiting))


def _on_dask(calls: Sequence[tuple[Any, ...]]) -> Generator[tuple[int, _Done]]:
    import dask
    from dask.local import get_sync
    from dask.system import CPU_COUNT

    # As many at once as the scheduler computes at once, so that Ctrl-C loses no more.
    alone = dask.base.get_scheduler() is get_sync
    size = 1 if alone else dask.config.get("num_workers", None) or CPU_COUNT
    task = dask.delayed(_asked)
    for low in range(0, len(calls), size):
        done = dask.compute(*(task(*call) for call in calls[low : low + size]))
        yield from enumerate(done, low)
