"""What all widgets share: controls above, an answer below that follows them.

Every text that comes from outside passes `_html` on its way to the page.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence

import ipywidgets
import pandas as pd
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from resonate_lab import _html, plots
from resonate_lab.errors import ResonateLabError
from resonate_lab.plots.states import state_codes
from resonate_lab.widgets.canvas import Canvas

__all__ = [
    "ANSWER",
    "PICTURE",
    "ROWS",
    "WHOLE_LABEL",
    "Live",
    "bare_axes",
    "bare_slider",
    "body",
    "button",
    "control",
    "emptied",
    "figures",
    "picture_tag",
    "png",
    "problem",
    "scrolled",
    "sentence",
    "shown",
    "side_by_side",
    "state_signs",
    "text_of",
]

ROWS = 8  # of a table

# Controls stand side by side while there is room, and below one another on a narrow screen.
_ROW = {"display": "flex", "flex_flow": "row wrap", "width": "100%"}
ANSWER = {"width": "100%", "min_width": "0"}
# On a narrow screen a picture is scrolled, since its letters would be lost if it shrank further.
# It has no place before there is one: a page shows an image without bytes as a broken one.
PICTURE = {"width": "100%", "min_width": "560px", "max_width": "1000px", "flex": "0 0 auto"}
PICTURE |= {"display": "none"}
_SIGNS = {"o": "&#9679;", "x": "&times;", "s": "&#9633;", "|": "|", "1": "Y"}
WHOLE_LABEL = {"description_width": "initial"}


def control(basis: str) -> dict[str, str]:
    """Return the layout of a control that is about so wide."""
    return {"flex": f"1 1 {basis}", "width": "auto", "min_width": "0"}


def bare_slider(basis: str) -> dict[str, str]:
    """Return the layout of a slider without a number beside it: its knob stands out at the end."""
    return control(basis) | {"margin": "2px 1em 2px 2px"}


def button(name: str, tooltip: str) -> ipywidgets.Button:
    """Return a button with a name, and with words that say what it does."""
    layout = {"width": "auto", "min_width": "0", "flex": "0 0 auto"}
    return ipywidgets.Button(description=name, tooltip=tooltip, layout=layout)


def shown(html: str) -> HTML:
    """Return HTML as what a notebook displays."""
    return HTML(html)  # type: ignore[no-untyped-call]


def text_of(value: object, name: str, example: str) -> str:
    """Return an argument that must be a text; raise TypeError."""
    if not isinstance(value, str):
        raise TypeError(
            f"{name} is {value!r} of type {type(value).__name__}; give a text such as {example!r}"
        )
    return value


class Live(ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """Controls, and below them an answer that follows their values."""

    _undo: tuple[Callable[[], object], ...] = ()
    _closed = False

    def _assemble(
        self, controls: Sequence[ipywidgets.Widget], views: Sequence[ipywidgets.Widget]
    ) -> None:
        """Lay out controls and views; every value of a control is followed."""
        self.children = (ipywidgets.HBox(controls, layout=_ROW), *views)
        for control in controls:
            if not isinstance(control, ipywidgets.Button):
                self._heed(control, self._follow)
        self._follow()

    def _heed(self, control: ipywidgets.Widget, act: Callable[..., None]) -> None:
        """Call `act` when a control changes or is pressed, until the widget is closed."""
        if isinstance(control, ipywidgets.Button):
            control.on_click(act)
            self._undo += (lambda: control.on_click(act, remove=True),)
        else:
            control.observe(act, "value")
            self._undo += (lambda: control.unobserve(act, "value"),)

    def _follow(self, _change: object = None) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        # A terminal would be told the layout of every control.
        return f"<{type(self).__name__}: for a notebook page; .static() is its answer as HTML>"

    def close(self) -> None:
        """Stop following the controls, and take the widget with all its parts off the page."""
        self._closed = True
        undo, self._undo = self._undo, ()
        for detach in undo:
            detach()
        for part in _parts_of(self):
            part.close()
        super().close()


def _parts_of(widget: ipywidgets.Widget) -> Iterator[ipywidgets.Widget]:
    for child in getattr(widget, "children", ()):
        yield from _parts_of(child)
        yield child


# --- pieces of an answer ------------------------------------------------------------------


def body(*parts: str) -> str:
    """Return an answer that is as wide as its place, whatever is in it."""
    # Without the width, the widest table would widen its surroundings instead of scrolling.
    return f'<div style="width:0;min-width:100%;line-height:1.5">{"".join(parts)}</div>'


def side_by_side(*parts: str) -> str:
    """Return parts that stand beside one another where there is room."""
    cells = (f'<div style="flex:1 1 30em;min-width:0">{part}</div>' for part in parts if part)
    return f'<div style="display:flex;flex-wrap:wrap;gap:0.4em 2em">{"".join(cells)}</div>'


def figures(numbers: dict[str, int]) -> str:
    """Return numbers in large figures, each above its name."""
    cells = (
        f'<div><div style="font-size:150%;font-weight:600">{number:,}</div><div>{name}</div></div>'
        for name, number in numbers.items()
    )
    return f'<div style="display:flex;flex-wrap:wrap;gap:0.6em 2em">{"".join(cells)}</div>'


def sentence(text: str) -> str:
    """Return a message of the package as a sentence, safe to show.

    One that begins with the name of an argument begins with the name of its control.
    """
    first, blank, rest = text.partition(" ")
    if first.isidentifier():
        first = first.replace("_", " ")
    return f"{_html.escape(first[:1].upper() + first[1:] + blank + rest, 800)}."


def problem(error: ResonateLabError) -> str:
    """Return the answer to a question that is refused."""
    return body(f'<p role="status"><strong>No answer.</strong> {sentence(str(error))}</p>')


# --- pictures -----------------------------------------------------------------------------


def scrolled(picture: ipywidgets.Image) -> ipywidgets.Box:
    """Return a place for a picture, which scrolls where it is too narrow."""
    return ipywidgets.Box((picture,), layout={"width": "100%", "overflow": "auto hidden"})


def bare_axes(height: float, left: float, below: float = 0.5) -> Axes:
    """Return the Axes of a figure, with a share at its left and inches below for names.

    No word of it moves with what is drawn, so no word is measured to place another.
    """
    figure = Figure(figsize=(10, height), dpi=100)
    Canvas(figure)
    ax = figure.add_axes((left, below / height, 0.975 - left, 1 - (below + 0.1) / height))
    ax.set_title("", y=1)
    ax.xaxis.set_label_coords(0.5, 0.22 / height, transform=figure.transFigure)
    ax.yaxis.set_label_coords(0, 0.5)
    return ax


def emptied(ax: Axes) -> Axes:
    """Return an Axes without what was drawn on it, but with its axes' ticks.

    New axes with their ticks would take a quarter of the time that a picture takes.
    """
    for old in (*ax.collections, *ax.lines, *ax.patches, *ax.images, *ax.texts):
        old.remove()
    return ax


def state_signs(ticks: pd.DataFrame) -> str:
    """Return the signs of the states that a picture of ticks has, with their words."""
    found = {list(plots.STATE_STYLE)[code] for code in pd.unique(state_codes(ticks))}
    return "".join(
        f'<span style="color:{style.color};font-weight:700">{_SIGNS[style.marker]}</span> '
        f"{style.label}; "
        for state, style in plots.STATE_STYLE.items()
        if state in found
    )


def png(ax: Axes) -> bytes:
    """Return the figure of an Axes as PNG; one of `bare_axes` keeps its words for the next."""
    figure = ax.figure
    assert isinstance(figure, Figure)  # and no part of one
    canvas = figure.canvas
    return (canvas if isinstance(canvas, Canvas) else Canvas(figure)).png()


def picture_tag(words: str, image: bytes) -> str:
    """Return a picture as HTML that holds it, with words for those who do not see it."""
    style = "width:100%;min-width:560px;max-width:1000px"
    source = f"data:image/png;base64,{b64encode(image).decode()}"
    alt = _html.escape(words, 400)
    return body(
        f'<div style="overflow-x:auto"><img alt="{alt}" style="{style}" src="{source}"></div>'
    )
