"""The outage simulator: drag an outage over a fleet, and see what its restart brings."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import ipywidgets
from IPython.display import HTML

from resonate_lab import _html
from resonate_lab.errors import ResonateLabError
from resonate_lab.instants import EPOCH_END_MS, format_duration, format_instant, instant_ms
from resonate_lab.protocol.profile import PROFILES, profile_named
from resonate_lab.whatif import WhatIf, policies, read_fleet, what_if
from resonate_lab.whatif.fleet import compile_fleet
from resonate_lab.whatif.report import showcase
from resonate_lab.whatif.systems import policy_named
from resonate_lab.widgets.base import (
    ANSWER,
    PICTURE,
    ROWS,
    WHOLE_LABEL,
    bare_axes,
    bare_slider,
    body,
    control,
    emptied,
    figures,
    picture_tag,
    png,
    problem,
    scrolled,
    shown,
    state_signs,
    text_of,
)
from resonate_lab.widgets.beside import Answering, running_loop

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from resonate_lab.instants import Instant
    from resonate_lab.whatif.fleet import Source

__all__ = ["OutageSimulator"]

_LANES = 8
_SLOTS = 240  # stops of the outage slider, about one to three pixels each
_DAY_MS = 86_400_000
_STEPS_MS = [1000 * s for s in (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 7200, 21_600, 86_400)]
_OWN = "Resonate's catch-up"
_LIGHT_SCHEDULES, _LIGHT_TICKS = 200, 20_000  # answered at once; more are beside the kernel
_MADE_AT_ONCE = 2_000  # schedules whose first answer is awaited by the cell that makes the widget
_TIMEOUTS = ("1m", "15m", "1h", "6h", "1d", "7d")


class _Question(NamedTuple):
    """What the controls ask."""

    down: tuple[int, int]
    profile: str
    policy: str | None
    promise_timeout: str


class _Shown(NamedTuple):
    """An answer as it stands on the page."""

    counters: str
    tables: str = ""
    picture: bytes = b""
    headline: str = ""


class OutageSimulator(Answering):
    """Drag an outage over a fleet and see what its restart brings.

    In a notebook an outage of more than 200 schedules or 20,000 ticks is computed beside the
    kernel, which stays free; a bar shows how far it is, and of the places that a slider goes
    through meanwhile the last one counts.

    Parameters
    ----------
    fleet : DataFrame, path or file object
        anything that `read_fleet` takes
    down, up : int, str, datetime or pandas.Timestamp
        instants: when the server stops and when it is back; the slider reaches further
    promise_timeout : str
        a duration such as ``"1h"``, for the schedules whose fleet names none
    profile : {"standard", "server", "reference", "spec"}
        the rules of catch-up
    policy : str, optional
        what starts the missed ticks instead: a name of `policies.SYSTEMS` or
        `policies.VARIANTS`; default: Resonate's own catch-up

    Attributes
    ----------
    outage : ipywidgets.SelectionRangeSlider
        its ``value`` is the pair (down, up), ms since the Unix epoch, UTC
    timeout : ipywidgets.Combobox
        its ``value`` is the promise timeout as text
    profile : ipywidgets.Dropdown
        its ``value`` is the name of the profile
    policy : ipywidgets.Dropdown
        its ``value`` is the name of the policy, "" for Resonate's own catch-up
    progress : ipywidgets.FloatProgress
        how far the answer is, 0 to 1
    counters, picture, tables : ipywidgets.HTML, ipywidgets.Image, ipywidgets.HTML
        the answer

    Raises
    ------
    FleetError
        the fleet cannot be read
    InstantError, DurationError, TypeError
        an argument is no instant, no duration or no text
    WindowError
        `up` is before `down`, the outage leaves 1970-2100, or it holds too many ticks
    ValueError
        the profile is none of those
    PolicyError
        the policy is unknown or promises nothing, or the profile polls beside it

    Notes
    -----
    A question that a control makes and `what_if` refuses is answered by its sentence; in a
    notebook that is also said so of more than 2,000 schedules that miss too many ticks.

    Examples
    --------
    >>> import pandas as pd
    >>> fleet = pd.DataFrame({"id": ["report"], "cron": ["*/10 * * * *"]})
    >>> simulator = OutageSimulator(fleet, "2024-03-01 00:05", "2024-03-01 02:00")
    >>> "missed ticks" in simulator.counters.value
    True
    >>> simulator.close()
    """

    def __init__(
        self,
        fleet: Source,
        down: Instant,
        up: Instant,
        *,
        promise_timeout: str = "1h",
        profile: str = "standard",
        policy: str | None = None,
    ) -> None:
        rules = profile_named(profile).name
        chosen = None if policy is None else policy_named(policy).name
        self._fleet = read_fleet(fleet)
        timeout = text_of(promise_timeout, "promise_timeout", "1h")
        # What it refuses is refused before anything is on a page.
        whole = len(self._fleet) <= _MADE_AT_ONCE or running_loop() is None
        rows = self._fleet if whole else self._fleet.head(1)
        asked = what_if(rows, (down, up), profile=rules, policy=chosen, promise_timeout=timeout)
        self._timeline = _Timeline(asked) if whole else None
        # To count ticks by. Where another profile reads a text otherwise it is about as many.
        expressions, _ = compile_fleet(
            self._fleet.head(_LIGHT_SCHEDULES + 1), asked.profile.dialect
        )
        self._expressions = [one for one in expressions if one is not None]
        super().__init__()
        begin, end = (instant_ms(at) for at in asked.down)
        self.outage = ipywidgets.SelectionRangeSlider(
            options=[(_slot_label(at), at) for at in _slots(begin, end)],
            value=(begin, end),
            description="Server down",
            tooltip="Drag an end, or go to it with Tab and move it with the arrow keys",
            readout=False,  # too long for its place; the first line of the answer says it
            style=WHOLE_LABEL,
            layout=bare_slider("36em"),
        )
        self.timeout = ipywidgets.Combobox(
            value=timeout,
            options=_TIMEOUTS,
            description="Promise timeout",
            style=WHOLE_LABEL,
            layout=control("14em"),
        )
        self.profile = ipywidgets.Dropdown(
            value=rules,
            options=list(PROFILES),
            description="Profile",
            style=WHOLE_LABEL,
            layout=control("11em"),
        )
        known = [name for name, one in policies.SYSTEMS.items() if one.mode != "unstated"]
        self.policy = ipywidgets.Dropdown(
            value=chosen or "",  # a value of None would be no choice, and shown as none
            options=[(_OWN, ""), *((name, name) for name in (*known, *policies.VARIANTS))],
            description="Missed runs",
            style=WHOLE_LABEL,
            layout=control("20em"),
        )
        self.counters = ipywidgets.HTML(layout=ANSWER)
        self.picture = ipywidgets.Image(format="png", layout=PICTURE)
        self.tables = ipywidgets.HTML(layout=ANSWER)
        views = (self.progress, self.counters, scrolled(self.picture), self.tables)
        self._assemble((self.outage, self.timeout, self.profile, self.policy), views)

    def static(self) -> HTML:
        """Return the question and its answer as they stand, as HTML that needs no kernel."""
        answer = self._answered(self._question())
        words = f"Timeline of the outage. {answer.headline}."
        picture = picture_tag(words, answer.picture) if answer.picture else ""
        return shown(answer.counters + picture + answer.tables)

    def _light(self) -> bool:
        if len(self._fleet) > _LIGHT_SCHEDULES:
            return False
        down, up = self.outage.value
        counts = (one.count_ms(down + 1, up) for one in self._expressions if down < up)
        return sum(counts) <= _LIGHT_TICKS

    def _question(self) -> _Question:
        return _Question(
            self.outage.value, self.profile.value, self.policy.value or None, self.timeout.value
        )

    def _answered(self, question: _Question) -> _Shown:
        try:
            asked = what_if(self._fleet, **question._asdict())
        except ResonateLabError as error:
            return _Shown(problem(error))
        self._share = 0.5
        if self._timeline is None:
            self._timeline = _Timeline(asked)
        counters, tables = _counters(asked), _tables(asked, self._timeline.lanes)
        self._share = 0.75
        return _Shown(counters, tables, self._timeline.png(asked), asked.headline())

    def _show(self, answer: _Shown) -> None:
        self.counters.value, self.tables.value = answer.counters, answer.tables
        self.picture.value = answer.picture
        self.picture.layout.display = None if answer.picture else "none"


def _slots(down: int, up: int) -> list[int]:
    """Return the instants at which an outage may begin and end: a grid, and the given two."""
    reach = max(up - down, 3_600_000)
    low, high = max(0, down - reach), min(EPOCH_END_MS - 1, up + 2 * reach)
    coarse = -(-(high - low) // (_SLOTS * _DAY_MS)) * _DAY_MS
    step = next((step for step in _STEPS_MS if (high - low) // step <= _SLOTS), coarse)
    return sorted({down, up, *range(-(-low // step) * step, high + 1, step)})


def _slot_label(ms: int) -> str:
    moment = datetime.fromtimestamp(ms // 1000, UTC)
    return f"{moment:%a %Y-%m-%d %H:%M}{f':{moment:%S}' if moment.second else ''}Z"


def _counters(asked: WhatIf) -> str:
    n, load = asked.counters, asked.load
    numbers = {
        "missed ticks": n["missed"],
        "execute messages at restart": n["dispatched"],
        "promises born expired": n["expired"],
        "most promises created in a minute": load["created"].max() if len(load) else 0,
        "most ticks due in a minute": load["due"].max() if len(load) else 0,
        **({"ticks lost under the policy": n["lost"]} if asked.policy else {}),
        f"of {n['schedules']:,} schedules hit": n["schedules"] - n["idle"],
        f"of {n['schedules'] + n['refused']:,} rows refused": n["refused"],
    }
    start, up = (instant_ms(at) for at in asked.down)
    return body(
        f'<p role="status">Server down for {format_duration(up - start)}, from '
        f"{format_instant(start)} to {format_instant(up)}.</p>",
        figures(numbers),
    )


class _Timeline:
    """Draws outages one after another on the same Axes, in the lanes of the first."""

    def __init__(self, first: WhatIf) -> None:
        # Chosen once, so that the lanes stay where they are while the outage is dragged.
        ids = first.fleet["id"].tolist()
        self.lanes = list(dict.fromkeys((*showcase(first, _LANES), *ids)))[:_LANES]
        self._ax = self._new_axes()
        # A static twin may be asked for while the thread draws.
        self._drawing = Lock()

    def _new_axes(self) -> Axes:
        return bare_axes(0.8 + 0.28 * max(len(self.lanes), 2), left=0.22)

    def png(self, asked: WhatIf) -> bytes:
        """Return the picture of an outage."""
        if not asked.ticks["schedule_id"].isin(self.lanes).any():
            return png(asked.plot(ax=self._new_axes(), lanes=()))
        with self._drawing:
            ax = emptied(self._ax)
            return png(asked.plot(ax=ax, lanes=self.lanes, max_lanes=_LANES, words=False))


def _of_lanes(asked: WhatIf, lanes: Sequence[str]) -> pd.DataFrame:
    """Return the summary of the schedules of the picture, in its order."""
    columns = ["cron", "missed", "dispatched", "expired"]
    summary = asked.summary.set_index("schedule_id")[columns]
    # The outage decides whether an expression that runs out is accepted.
    return summary.loc[[name for name in lanes if name in summary.index]].reset_index()


def _tables(asked: WhatIf, lanes: Sequence[str]) -> str:
    """Return the schedules of the picture, the first tags, and the rows that are refused."""
    tags = asked.tags.head(ROWS)
    tags = tags.astype(object).where(tags.notna(), None).reset_index()
    refused = asked.refused.head(ROWS)
    tables = (
        ("Schedules in the picture", _of_lanes(asked, lanes), len(asked.fleet)),
        ("First promises fired, one column a tag", tags, len(asked.tags)),
        ("Rows refused, which Resonate would not create", refused, len(asked.refused)),
    )
    shown_tables = (
        _html.table(
            frame.astype(object).to_numpy().tolist(),
            [str(name).replace("_", " ") for name in frame.columns],
            limit=len(frame),
            caption=caption,
            total=total,
        )
        for caption, frame, total in tables
        if total
    )
    signs = state_signs(asked.ticks)
    said = f"<p>{signs}a sign stands at a tick's logical time, a line leads to its firing.</p>"
    return body(said if signs else "", *shown_tables)
