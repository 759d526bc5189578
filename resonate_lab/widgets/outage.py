"""The outage simulator: drag an outage over a fleet, and see what its restart brings."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import ipywidgets
from IPython.display import HTML

from resonate_lab import _html
from resonate_lab.errors import ResonateLabError
from resonate_lab.instants import EPOCH_END_MS, format_duration, format_instant, instant_ms
from resonate_lab.protocol.profile import PROFILES, profile_named
from resonate_lab.whatif import WhatIf, policies, read_fleet, what_if
from resonate_lab.whatif.report import showcase
from resonate_lab.whatif.systems import policy_named
from resonate_lab.widgets.base import (
    ANSWER,
    PICTURE,
    ROWS,
    WHOLE_LABEL,
    Live,
    bare_axes,
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
_TIMEOUTS = ("1m", "15m", "1h", "6h", "1d", "7d")


class OutageSimulator(Live):
    """Drag an outage over a fleet and see what its restart brings.

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
        its ``value`` is the name of the policy, None for Resonate's own catch-up
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
    A question that a control makes and `what_if` refuses is answered by its sentence.

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
        asked = what_if(
            self._fleet, (down, up), profile=rules, policy=chosen, promise_timeout=timeout
        )
        # Chosen once, so that the lanes stay where they are while the outage is dragged.
        ids = asked.fleet["id"].tolist()
        self._lanes = list(dict.fromkeys((*showcase(asked, _LANES), *ids)))[:_LANES]
        self._timeline = _Timeline(self._lanes)
        super().__init__()
        begin, end = (instant_ms(at) for at in asked.down)
        self.outage = ipywidgets.SelectionRangeSlider(
            options=[(_slot_label(at), at) for at in _slots(begin, end)],
            value=(begin, end),
            description="Server down",
            tooltip="Drag an end, or go to it with Tab and move it with the arrow keys",
            readout=False,  # too long for its place; the first line of the answer says it
            style=WHOLE_LABEL,
            layout=control("36em"),
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
            value=chosen,
            options=[(_OWN, None), *((name, name) for name in (*known, *policies.VARIANTS))],
            description="Missed runs",
            style=WHOLE_LABEL,
            layout=control("17em"),
        )
        self.counters = ipywidgets.HTML(layout=ANSWER)
        self.picture = ipywidgets.Image(format="png", layout=PICTURE)
        self.tables = ipywidgets.HTML(layout=ANSWER)
        views = (self.counters, scrolled(self.picture), self.tables)
        self._assemble((self.outage, self.timeout, self.profile, self.policy), views)

    def static(self) -> HTML:
        """Return the question and its answer as they stand, as HTML that needs no kernel."""
        try:
            asked = self._ask()
        except ResonateLabError as error:
            return shown(problem(error))
        words = f"Timeline of the outage. {asked.headline()}."
        picture = picture_tag(words, self._timeline.png(asked))
        return shown(_counters(asked) + picture + _tables(asked, self._lanes))

    def _follow(self, _change: object = None) -> None:
        try:
            asked = self._ask()
        except ResonateLabError as error:
            self.counters.value, self.tables.value = problem(error), ""
            self.picture.layout.display = "none"
            return
        self.counters.value = _counters(asked)  # first what is there first
        self.picture.value = self._timeline.png(asked)
        self.picture.layout.display = None
        self.tables.value = _tables(asked, self._lanes)

    def _ask(self) -> WhatIf:
        return what_if(
            self._fleet,
            self.outage.value,
            profile=self.profile.value,
            policy=self.policy.value,
            promise_timeout=self.timeout.value,
        )


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
    """Draws outages one after another on the same Axes."""

    def __init__(self, lanes: Sequence[str]) -> None:
        self._lanes = lanes
        self._ax = self._new_axes()

    def _new_axes(self) -> Axes:
        return bare_axes(0.8 + 0.28 * max(len(self._lanes), 2), left=0.22)

    def png(self, asked: WhatIf) -> bytes:
        """Return the picture of an outage."""
        if not asked.ticks["schedule_id"].isin(self._lanes).any():
            return png(asked.plot(ax=self._new_axes(), lanes=()))
        ax, lanes = emptied(self._ax), self._lanes
        return png(asked.plot(ax=ax, lanes=lanes, max_lanes=_LANES, words=False))


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
    return body(said, *shown_tables)
