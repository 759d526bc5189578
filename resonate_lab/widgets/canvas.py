"""A canvas for pictures that are drawn again and again: each word is drawn once."""

# matplotlib gives no types to what draws.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from PIL import Image

__all__ = ["Canvas"]

_MOST_WORDS = 1_000
_MARGIN = 2  # pixels around a word, for what its letters reach beyond their box
_COLORS = 256  # of a picture that leaves; its few inks in their shades are no more


class Canvas(FigureCanvasAgg):
    """A canvas of one figure that keeps the words it drew.

    A letter costs matplotlib a fifth of a millisecond, and nearly all words of a picture
    stand in the one before it.
    """

    _kept: _Renderer | None = None

    def get_renderer(self) -> RendererAgg:
        """Return the renderer, the same for as long as the figure keeps its size."""
        figure = self.figure
        assert isinstance(figure, Figure)  # and no part of one
        width, height, dpi = *figure.bbox.size, figure.dpi
        kept = self._kept
        if kept is None or (kept.width, kept.height, kept.dpi) != (width, height, dpi):
            kept = self._kept = _Renderer(width, height, dpi)
        self.renderer = kept
        return kept

    def png(self) -> bytes:
        """Return the figure as PNG in colours that are shared, a quarter of the bytes."""
        self.draw()
        # On its white paper, without alpha: that alone halves the time of the rest.
        whole = Image.fromarray(np.asarray(self.buffer_rgba())[:, :, :3])
        few = whole.quantize(_COLORS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        out = BytesIO()
        few.save(out, "png", compress_level=1)
        return out.getvalue()


class _Renderer(RendererAgg):
    """Draws a word as the picture of it that was made before."""

    def __init__(self, width: float, height: float, dpi: float) -> None:
        super().__init__(width, height, dpi)
        self._words: dict[tuple[object, ...], tuple[npt.NDArray[np.uint8], float]] = {}

    def draw_text(
        self, gc: Any, x: float, y: float, s: str, prop: Any, angle: float, *rest: Any, **more: Any
    ) -> None:
        """Draw a word: level and without mathematics from what is kept, others afresh."""
        if angle or (rest and rest[0]) or more.get("ismath"):
            super().draw_text(gc, x, y, s, prop, angle, *rest, **more)
            return
        # Fonts are equal where their hashes are: that is how matplotlib compares them.
        key = (s, hash(prop), gc.get_rgb(), gc.get_alpha())
        if key not in self._words:
            if len(self._words) >= _MOST_WORDS:
                self._words.clear()
            self._words[key] = self._drawn(gc, s, prop)
        word, below = self._words[key]
        # An image stands by its lower left corner, counted from below; a word by its line.
        self.draw_image(gc, round(x) - _MARGIN, round(self.height - y - below), word)

    def _drawn(self, gc: Any, s: str, prop: Any) -> tuple[npt.NDArray[np.uint8], float]:
        """Return the picture of a word, and how far it reaches below its line."""
        width, height, descent = self.get_text_width_height_descent(s, prop, ismath=False)
        wide, high = int(width) + 2 * _MARGIN + 1, int(height) + 2 * _MARGIN + 1
        paper = RendererAgg(wide, high, self.dpi)
        ink = paper.new_gc()
        ink.set_foreground(gc.get_rgb())
        ink.set_alpha(gc.get_alpha())
        below = int(descent) + 1 + _MARGIN
        paper.draw_text(ink, _MARGIN, high - below, s, prop, 0)
        # Images are drawn from below.
        return np.asarray(paper.buffer_rgba())[::-1].copy(), below
