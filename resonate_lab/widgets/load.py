"""The load of a fleet: drag a bound, and see which schedules would have to move."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

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
from resonate_lab.widgets.beside import Answering, Superseded, running_loop

if TYPE_CHECKING:
    from resonate_lab.instants import Duration, Instant
    from resonate_lab.whatif.bins import Frequency
    from resonate_lab.whatif.fleet import Source

__all__ = ["FleetLoad"]

_WITHIN = ("5min", "15min", "30min", "1h", "2h")
_AT_ONCE = 2_000  # schedules; more take longer to count than a page likes to wait


class _Question(NamedTuple):
    number: int
    bound: int
    within: str


class FleetLoad(Answering):
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

    _doing = "Searching"

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
        self.answer = ipywidgets.HTML(layout=ANSWER)
        self.picture = ipywidgets.Image(format="png", layout=PICTURE)
        views = (self.progress, self.answer, scrolled(self.picture))
        if len(self._fleet) <= _AT_ONCE or running_loop() is None:
            self._reach(self._peak())
        self._assemble((self.bound, self.within), views)

    def static(self) -> HTML:
        """Return the question and its answer as they stand, as HTML that needs no kernel."""
        try:
            if self.bound.disabled:
                self._reach(self._peak())
            found = self._search(self._question())
        except ResonateLabError as error:
            return shown(problem(error))
        return shown(_words(found) + picture_tag(found.headline(), _picture(found)))

    def _question(self) -> _Question:
        return _Question(self._asked, self.bound.value, self.within.value)

    def _peak(self) -> int:
        counted = load(self._fleet, *self._window, progress=self._watch(None))
        return max(int(counted.max()), 1)

    def _reach(self, peak: int) -> None:
        """Let the bound be dragged up to the peak of the load."""
        self.bound.max = max(peak, self.bound.max)
        if self._bound is None:
            self.bound.value = max(1, peak * 3 // 4)
        self.bound.disabled = False

    def _light(self) -> bool:
        return False  # a search may be long in any fleet

    async def _answer_beside(self) -> None:
        """Count first how far the bound reaches, where that is not known."""
        if self.bound.disabled:
            try:
                peak = await self._beside(lambda: ("Counting", self._share), self._peak)
            except Superseded:
                return
            except ResonateLabError as error:
                self._show((problem(error), b""))
                return
            self._reach(peak)
        await super()._answer_beside()

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

    def _watch(self, number: int | None) -> Callable[[Iterable[int]], Iterator[int]]:
        """Return what counts the rows of work for a question, or for whichever is asked."""

        def watched(rows: Iterable[int]) -> Iterator[int]:
            whole = list(rows)
            for done, row in enumerate(whole):
                if self._closed or number not in (None, self._asked):
                    raise Superseded
                self._share = done / len(whole)
                yield row

        return watched

    def _show(self, answer: tuple[str, bytes]) -> None:
        self.answer.value, self.picture.value = answer
        self.picture.layout.display = None if answer[1] else "none"


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
