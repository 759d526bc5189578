"""What every answer can do: be a page, a text for a change request, a file, a picture.

A result says its sentence, its tables and its picture, and this makes the rest of them. An
answer that is a pandas object stays one: what it adds is in `PandasAnswer`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import pandas as pd
from pandas.plotting import PlotAccessor

from resonate_lab import frames
from resonate_lab.whatif import report

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Answer", "AnswerFrame", "PandasAnswer", "Table", "counted", "refused_table"]

Target = str | os.PathLike[str] | IO[str]


class Table(NamedTuple):
    """A table of an answer, as a person reads it; where it is long, its first rows."""

    title: str
    frame: pd.DataFrame
    headings: Mapping[str, str]  # the columns to show, where there, and what stands above them
    prose: Collection[str] = ()  # those of sentences; other texts are ids and expressions
    most: str = ""  # the column whose largest come first; default: in the frame's order
    note: str = ""  # what a reader has to know


def refused_table(refused: pd.DataFrame) -> list[Table]:
    """Return the table of refused rows, or nothing where there are none."""
    headings = {"schedule_id": "schedule", "cron": "cron", "line": "line", "reason": "reason"}
    return [Table("Refused by Resonate", refused, headings, {"reason"})] if len(refused) else []


def counted(n: int, word: str) -> str:
    """Return a number with its word, which takes an s where there is not one."""
    return f"{n:,} {word}" if n == 1 else f"{n:,} {word}s"


class Answer(ABC):
    """The answer to a question, to be read, passed on and kept.

    A class of answers says its question (``_title``), its sentence (`headline`), its picture
    (`plot`), the rows that a file holds (``_main``), and what a reader sees of them
    (``_tables``).
    """

    _title: ClassVar[str]

    @abstractmethod
    def headline(self) -> str:
        """Return the answer in one sentence."""

    @abstractmethod
    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the answer, on a new figure unless Axes are given, and return its Axes."""

    @abstractmethod
    def _main(self) -> pd.DataFrame:
        """Return what `to_csv` writes, whole."""

    @abstractmethod
    def _tables(self) -> Sequence[Table]:
        """Return what a reader sees, the most important first."""

    def _figures(self) -> Sequence[tuple[str, str]]:
        """Return the few numbers that stand out on a page: (number, what it counts)."""
        return ()

    def _picture(self) -> bytes:
        """Return the picture of the page, as PNG."""
        from resonate_lab import plots  # here, since matplotlib takes a second to load

        return plots.png(self.plot)

    def to_html(self, path: Target | None = None) -> str:
        """Return the answer as one self-contained page to read or print, and write it to `path`.

        It needs nothing beside it, runs no script, fetches nothing, suits light and dark, and
        shows 40 rows of each table.
        """
        return _written(report.page(self._title, [self]), path)

    def to_markdown(self, path: Target | None = None) -> str:
        """Return the answer as GitHub's Markdown to paste, and write it to `path`.

        Tables show 15 rows and count the others. Ids, expressions and whatever else could be
        markup, a link or a mention stand as code.
        """
        return _written(report.markdown(self), path)

    def to_csv(self, path: Target | None = None, **pandas: Any) -> str | None:
        """Write all rows of the main table as CSV to `path`; without one, return the text.

        No cell is a formula to a spreadsheet, and an index without a name is left out. Further
        arguments go to `DataFrame.to_csv`; see `frames.write_csv`.
        """
        return frames.write_csv(self._main(), path, **pandas)


class PandasAnswer(Answer):
    """An answer that is a pandas object, and stays one in all that is not said here.

    `to_html`, `to_markdown` and `plot` are the answer's without arguments beside a path or
    ``ax``. They are pandas' own with any of pandas' arguments (``index=False``, ``kind="bar"``),
    as ``plot.bar()`` and its like, and where what is left of the object is no answer any more.
    """

    @abstractmethod
    def _is_whole(self) -> bool:
        """Return whether the object still has what its sentence, tables and picture need."""

    @abstractmethod
    def _draw(self, ax: Axes | None) -> Axes:
        """Draw the answer."""

    @property
    def plot(self) -> _Plot:
        """Draw the answer, on a new figure unless ``ax=`` is given; else as in pandas."""
        return _Plot(self)

    def to_html(self, path: Target | None = None, **pandas: Any) -> str:
        """Return the answer as one self-contained page, and write it to `path`."""
        if pandas or not self._is_whole():
            return cast("str", self._main().to_html(path, **pandas))
        return super().to_html(path)

    def to_markdown(self, path: Target | None = None, **pandas: Any) -> str:
        """Return the answer as GitHub's Markdown to paste, and write it to `path`."""
        if pandas or not self._is_whole():
            return cast("str", self._main().to_markdown(path, **pandas))
        return super().to_markdown(path)


class AnswerFrame(PandasAnswer, pd.DataFrame):  # type: ignore[misc]  # pandas takes more
    """A frame that is an answer, as long as it has the columns that it needs.

    Rows may go, be sorted or joined to others of their kind, columns be added.
    """

    _needs: ClassVar[Mapping[str, str]]  # column: kind of its dtype, as numpy names it

    @property
    def _constructor(self) -> Any:
        return type(self)

    def _is_whole(self) -> bool:
        dtypes = self.dtypes
        return self.columns.is_unique and all(
            name in dtypes and dtypes[name].kind == kind for name, kind in self._needs.items()
        )

    def _main(self) -> pd.DataFrame:
        return pd.DataFrame(self)


class _Plot(PlotAccessor):
    """``plot`` of a pandas object that has a picture of its own."""

    def __init__(self, answer: PandasAnswer) -> None:
        super().__init__(answer)  # type: ignore[arg-type]  # it is one of pandas
        self._answer = answer

    def __call__(self, *args: Any, ax: Axes | None = None, **kwargs: Any) -> Any:
        if args or kwargs or not self._answer._is_whole():
            return super().__call__(*args, ax=ax, **kwargs)
        return self._answer._draw(ax)


def _written(text: str, path: Target | None) -> str:
    if isinstance(path, str | os.PathLike):
        Path(path).write_text(text, encoding="utf-8")
    elif path is not None:
        path.write(text)
    return text
