"""The canvas that keeps its words: what it draws is what matplotlib draws."""

import io

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from resonate_lab.widgets import canvas as canvas_module
from resonate_lab.widgets.canvas import Canvas


def drawn(canvas) -> np.ndarray:
    canvas.draw()
    return np.array(canvas.buffer_rgba())


def pixels(kind, text, **look) -> np.ndarray:
    figure = Figure(figsize=(3, 1), dpi=100)
    figure.text(0.4, 0.4, text, **look)
    return drawn(kind(figure))


def box(picture) -> np.ndarray:
    """Return where ink begins and ends: rows, then columns."""
    rows, columns = np.nonzero((picture[:, :, :3] < 200).any(axis=2))
    return np.array([rows.min(), rows.max(), columns.min(), columns.max()])


LOOKS = [
    {},
    {"fontsize": 7},
    {"ha": "center", "va": "top"},
    {"color": "#D55E00", "alpha": 0.7},
    {"rotation": 20},
    {"fontweight": "bold"},
]


class TestWords:
    @pytest.mark.parametrize("text", ["Ägypten", "12:00", "$x^2$", "two\nlines", "$5", "…", "月曜"])
    @pytest.mark.filterwarnings("ignore:Glyph")
    @pytest.mark.parametrize("look", LOOKS)
    def test_stand_where_matplotlib_puts_them_in_the_same_ink(self, text, look):
        ours, theirs = pixels(Canvas, text, **look), pixels(FigureCanvasAgg, text, **look)
        assert np.abs(box(ours) - box(theirs)).max() <= 1
        # Letters stand on whole pixels, so their edges differ, but hardly the ink in all.
        spent = [(255 - picture[:, :, :3].astype(int)).sum() for picture in (ours, theirs)]
        assert spent[0] == pytest.approx(spent[1], rel=0.1)

    def test_are_the_same_when_drawn_again(self):
        figure = Figure(figsize=(3, 1))
        figure.subplots().set_title("again")
        canvas = Canvas(figure)
        np.testing.assert_array_equal(drawn(canvas), drawn(canvas))

    def test_follow_a_change_of_text_colour_size_and_figure(self):
        figure = Figure(figsize=(3, 1), dpi=100)
        word, canvas = figure.text(0.2, 0.4, "one"), Canvas(figure)
        seen = [drawn(canvas)]
        for change in (
            lambda: word.set_text("two"),
            lambda: word.set_color("red"),
            lambda: word.set_fontsize(20),
            lambda: word.set_alpha(0.5),
        ):
            change()
            seen.append(drawn(canvas))
        assert len({picture.tobytes() for picture in seen}) == 5
        figure.set_size_inches(4, 2)
        assert drawn(canvas).shape == (200, 400, 4)

    def test_are_forgotten_where_they_are_too_many(self, monkeypatch):
        monkeypatch.setattr(canvas_module, "_MOST_WORDS", 3)
        figure = Figure(figsize=(3, 1), dpi=100)
        word, canvas = figure.text(0.4, 0.4, ""), Canvas(figure)
        for number in range(10):
            word.set_text(f"word {number}")
            canvas.draw()
        assert len(canvas.get_renderer()._words) <= 3
        np.testing.assert_array_equal(drawn(canvas), pixels(Canvas, "word 9"))


def test_a_picture_leaves_in_few_colours_that_are_close_to_all():
    figure = Figure(figsize=(3, 2), dpi=100)
    ax = figure.subplots()
    ax.imshow(np.linspace(0, 1, 60).reshape(6, 10), cmap="Blues")
    canvas = Canvas(figure)
    left = Image.open(io.BytesIO(canvas.png()))
    assert (left.format, left.mode, left.size) == ("PNG", "P", (300, 200))
    gap = np.abs(np.asarray(left.convert("RGB")).astype(int) - drawn(canvas)[:, :, :3])
    assert np.percentile(gap, 99) <= 16
