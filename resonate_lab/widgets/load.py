"""The load of a fleet: drag a bound, and see which schedules would have to move."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import ipywidgets
from IPython.display import HTML
from matplotlib.figure import Figure

from resonate_lab import _html, plots
from resonate_lab.errors import ResonateLabError
from resonate_lab.instants import duration_ms, format_duration
from resonate_lab.whatif import Spread, load, read_fleet, spread
from resonate_lab.widgets.base import (
    ANSWER,
    PICTURE,
    ROWS,
    WHOLE_LABEL,
    Live,
    body,
    control,
    figures,
    picture_tag,
    png,
    problem,
    scrolled,
    sentence,
    shown,
)

if TYPE_CHECKING:
    from resonate_lab.instants import Duration, Instant
    from resonate_lab.whatif.fleet import Source
    from resonate_lab.whatif.load import Frequency

__all__ = ["FleetLoad"]

_WITHIN = ("5min", "15min", "30min", "1h", "2h")
_LOOK_EVERY = 0.1  # seconds between two looks at work under way
_AT_ONCE = 2_000  # schedules; more take longer to count than a page likes to wait


Found = TypeVar("Found")


class _Question(NamedTuple):
    number: int
    bound: int
    within: str


class _Superseded(Exception):  # noqa: N818  # no error: a later question took its place
    """The work is not wanted any more."""


class FleetLoad(Live):
    """See the load of a fleet as a heat map, drag a bound, and see what would move.

    In a notebook the search runs beside the kernel, which stays free; a bar shows how far it
    is, and a control that moves meanwhile ends it for a new one. More than 2,000 schedules are
    counted there first, and only then can the bound be dragged. Without a running event loop
    all is done at once.

    Parameters
    ----------
    fleet : DataFrame, path or file object
        anything that `read_fleet` takes
    start, end : instant
        the closed window in which the load is looked at
    freq : str, timedelta or pandas offset
        length of a bin, an hour or less; see `load`
    bound : int, optional
        most ticks a bin to begin with; default: three quarters of the peak
    within : duration
        most that a schedule may be moved

    Attributes
    ----------
    bound, within : ipywidgets.IntSlider, ipywidgets.Dropdown
        the controls
    progress : ipywidgets.FloatProgress
        how far the search is, 0 to 1
    answer, picture : ipywidgets.HTML, ipywidgets.Image
        the answer

    Raises
    ------
    FleetError
        the fleet cannot be read
    InstantError, DurationError, TypeError
        an argument is no instant or no duration
    WindowError
        see `load`

    Examples
    --------
    >>> import pandas as pd
    >>> fleet = pd.DataFrame({"id": list("abcd"), "cron": ["0 9 * * *"] * 4})
    >>> widget = FleetLoad(fleet, "2024-01-01", "2024-01-31", bound=1)
    >>> "moving 3 of 4 schedules" in widget.answer.value.lower()
    True
    >>> widget.close()
    """

    _asked = 0
    _share = 0.0
    _work: asyncio.Task[None] | None = None

    def __init__(
        self,
        fleet: Source,
        start: Instant,
        end: Instant,
        *,
        freq: Frequency = "1min",
        bound: int | None = None,
        within: Duration = "30min",
    ) -> None:
        self._window = (start, end, freq)
        self._fleet = read_fleet(fleet)
        self._bound = bound
        # Which refuses a window before anything is on a page.
        load(self._fleet.head(1), *self._window)
        most = format_duration(duration_ms(within, "within")).replace(" ", "")
        super().__init__()
        self.bound = ipywidgets.IntSlider(
            value=bound or 1,
            min=1,
            max=max(bound or 1, 1),
            description="Most ticks a bin",
            disabled=True,  # until it is known how far it reaches
            style=WHOLE_LABEL,
            layout=control("24em"),
        )
        self.within = ipywidgets.Dropdown(
            options=list(dict.fromkeys((*_WITHIN, most))),
            value=most,
            description="Moves up to",
            style=WHOLE_LABEL,
            layout=control("12em"),
        )
        self.progress = ipywidgets.FloatProgress(
            min=0, max=1, layout={"width": "100%", "visibility": "hidden"}
        )
        self.answer = ipywidgets.HTML(layout=ANSWER)
        self.picture = ipywidgets.Image(format="png", layout=PICTURE)
        views = (self.progress, self.answer, scrolled(self.picture))
        if len(self._fleet) <= _AT_ONCE or _running_loop() is None:
            self._reach(self._peak(self._asked))
        self._assemble((self.bound, self.within), views)

    def static(self) -> HTML:
        """Return the question and its answer as they stand, as HTML that needs no kernel."""
        try:
            if self.bound.disabled:
                self._reach(self._peak(self._asked))
            found = self._search(self._question())
        except ResonateLabError as error:
            return shown(problem(error))
        return shown(_words(found) + picture_tag(found.headline(), _picture(found)))

    def close(self) -> None:
        """Stop following the controls, end the search, and take the widget off the page."""
        self._asked += 1
        super().close()

    def _question(self) -> _Question:
        return _Question(self._asked, self.bound.value, self.within.value)

    def _peak(self, number: int) -> int:
        counted = load(self._fleet, *self._window, progress=self._watch(number))
        return max(int(counted.max()), 1)

    def _reach(self, peak: int) -> None:
        """Let the bound be dragged up to the peak of the load."""
        self.bound.max = max(peak, self.bound.max)
        if self._bound is None:
            self.bound.value = max(1, peak * 3 // 4)
        self.bound.disabled = False

    def _follow(self, _change: object = None) -> None:
        self._asked += 1
        loop = _running_loop()
        if loop is None:
            self._show(*self._answered(self._question()))
        elif self._work is None or self._work.done():
            self._work = loop.create_task(self._answer_beside(loop))

    async def _answer_beside(self, loop: asyncio.AbstractEventLoop) -> None:
        """Answer the latest question in a thread; ask anew while there is a later one."""
        while True:
            try:
                if self.bound.disabled:
                    self._reach(await self._beside(loop, "Counting", self._peak, self._asked))
                question = self._question()
                answer = await self._beside(loop, "Searching", self._answered, question)
            except _Superseded:
                if not self._undo:
                    return  # closed
                continue
            except ResonateLabError as error:
                question, answer = self._question(), (problem(error), b"")
            self.progress.layout.visibility = "hidden"
            self._show(*answer)
            if question.number == self._asked:
                return

    async def _beside(
        self, loop: asyncio.AbstractEventLoop, name: str, work: Callable[[Any], Found], asked: Any
    ) -> Found:
        """Return what work in a thread finds; the bar shows meanwhile how far it is."""
        self._share = 0.0
        found = loop.run_in_executor(None, work, asked)
        while not (await asyncio.wait({found}, timeout=_LOOK_EVERY))[0]:
            self.progress.description, self.progress.value = name, self._share
            self.progress.layout.visibility = "visible"
        return found.result()

    def _answered(self, question: _Question) -> tuple[str, bytes]:
        try:
            found = self._search(question)
        except ResonateLabError as error:
            return problem(error), b""
        return _words(found), _picture(found)

    def _search(self, question: _Question) -> Spread:
        start, end, freq = self._window
        watch = self._watch(question.number)
        return spread(
            self._fleet, start, end, question.bound, question.within, freq, progress=watch
        )

    def _watch(self, number: int) -> Callable[[Iterable[int]], Iterator[int]]:
        def watched(rows: Iterable[int]) -> Iterator[int]:
            whole = list(rows)
            for done, row in enumerate(whole):
                if number != self._asked:
                    raise _Superseded
                self._share = done / len(whole)
                yield row

        return watched

    def _show(self, words: str, picture: bytes) -> None:
        self.answer.value = words
        self.picture.value = picture
        self.picture.layout.display = None if picture else "none"


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _words(found: Spread) -> str:
    numbers = {
        "ticks in the busiest bin now": int(found.before.max()),
        "with the moves made": int(found.after.max()),
        f"of {len(found.before.fleet):,} schedules move": len(found.moves),
        "rows refused": len(found.refused),
    }
    names = [name.replace("_", " ") for name in found.moves.columns]
    table = _html.table(
        found.moves.head(ROWS).astype(object).to_numpy().tolist(),
        names,
        limit=ROWS,
        caption="What moves",
        total=len(found.moves),
    )
    status = f'<p role="status">{sentence(found.headline())}</p>'
    return body(status, figures(numbers), table if len(found.moves) else "")


def _picture(found: Spread) -> bytes:
    """Return the heat map with the moves made, above the curves before and after."""
    figure = Figure(figsize=(10, 7), dpi=100, layout="constrained")
    upper, lower = figure.subplots(2, height_ratios=[3, 2])
    plots.hour_by_day(found.after, show="peak", ax=upper)
    found.plot(ax=lower)
    return png(lower)
