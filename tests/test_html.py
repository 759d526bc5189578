"""What strangers write is shown as it is, and never acted on."""

import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resonate_lab import _html
from resonate_lab._html import escape, plain, table

HOSTILE = [
    "<script>alert(1)</script>",
    "\" onmouseover='x' \"",
    "&lt;already&gt;",
    "\x1b[2J\x1b]0;title\x07",
    "\u202egnp.exe",
    "a\u200bb\u2060c\ufeff",
    "\ud800",
    "x" * 10_000,
    "line\nbreak\r\ttab\x00\x7f\x9b",
]


class Reader(HTMLParser):
    """Collects tags, attributes and text as a browser would see them."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.texts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.append(data)


def read(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader


class TestPlain:
    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            pytest.param("0 9 * * MON", "0 9 * * MON", id="ordinary text is untouched"),
            pytest.param("größe 時間 🙂", "größe 時間 🙂", id="other scripts are untouched"),
            pytest.param("\x1b[31m", "\\x1b[31m", id="ANSI"),
            pytest.param("a\nb\tc\rd", "a\\nb\\tc\\rd", id="line breaks"),
            pytest.param("\u202eabc", "\\u202eabc", id="right-to-left override"),
            pytest.param("\u2066x\u2069", "\\u2066x\\u2069", id="bidi isolates"),
            pytest.param("a\u200bb", "a\\u200bb", id="zero width"),
            pytest.param("0\u00a09", "0\\xa09", id="a blank that is none"),
            pytest.param("\u3164\u2800", "\\u3164\\u2800", id="letters that draw nothing"),
            pytest.param("a\ufe0f", "a\\ufe0f", id="variation selector"),
            pytest.param("\U000e0041", "\\U000e0041", id="tag letter"),
            pytest.param("\ud800", "\\ud800", id="lone surrogate"),
            pytest.param("\x85\u2028", "\\x85\\u2028", id="other line ends"),
        ],
    )
    def test_shows_what_cannot_be_seen(self, text, shown):
        assert plain(text) == shown

    @given(st.text(st.characters(), max_size=300))
    def test_is_one_printable_line_that_can_be_encoded(self, text):
        shown = plain(text, None)
        assert shown.isprintable()
        shown.encode("utf-8")
        assert not any(unicodedata.category(c) in {"Cc", "Cf", "Cs"} for c in shown)

    @pytest.mark.parametrize(
        ("length", "limit", "shown"),
        [
            (3, 3, "xxx"),
            (4, 3, "xxx… (1 more character)"),
            (10_003, 3, "xxx… (10,000 more characters)"),
            (4, None, "xxxx"),
            (4, 0, "… (4 more characters)"),
        ],
    )
    def test_counts_what_was_cut(self, length, limit, shown):
        assert plain("x" * length, limit) == shown

    def test_takes_any_object(self):
        assert [plain(value) for value in (None, 3, True)] == ["None", "3", "True"]


class TestEscape:
    @pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
    def test_is_text_and_never_markup(self, text):
        reader = read(f"<p>{escape(text)}</p>")
        assert reader.tags == ["p"]
        assert "".join(reader.texts) == plain(text)

    @pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
    def test_is_safe_in_an_attribute(self, text):
        reader = read(f'<p title="{escape(text)}">')
        assert reader.attributes == [("title", plain(text))]

    @given(st.text(st.characters()))
    def test_is_safe_for_every_text(self, text):
        reader = read(f'<p title="{escape(text)}">{escape(text)}</p>')
        assert (reader.tags, reader.attributes) == (["p"], [("title", plain(text))])
        assert "".join(reader.texts) == plain(text)


class TestTable:
    def test_shows_the_cells_in_order(self):
        reader = read(table([["a", 1], ["b", 2]], ["name", "count"]))
        assert [text for text in reader.texts if text.strip()] == [
            *("name", "count"),
            *("a", "1"),
            *("b", "2"),
        ]

    @pytest.mark.parametrize(
        ("count", "limit", "more"),
        [(10, 10, None), (11, 10, "and 1 more"), (5_000, 10, "and 4,990 more"), (3, 0, "and 3 m")],
    )
    def test_says_how_many_more_there_are(self, count, limit, more):
        html = table(([n] for n in range(count)), ["n"], limit=limit)
        assert html.count("<tr><td style") == min(count, limit)
        assert ("and " in html) == (more is not None)
        assert more is None or more in html

    def test_takes_the_total_from_the_caller(self):
        assert "and 999,999 more" in table([[1]], ["n"], total=1_000_000)

    def test_an_empty_table_still_has_its_headings(self):
        reader = read(table([], ["name"]))
        assert reader.tags == ["div", "table", "thead", "tr", "th", "tbody"]

    def test_hostile_cells_headings_and_captions_stay_text(self):
        hostile = "</td><script>x</script>\u202e"
        reader = read(table([[hostile]], [hostile], caption=hostile))
        assert "script" not in reader.tags
        assert reader.texts.count(plain(hostile)) == 3

    def test_a_short_cell_is_not_broken_and_a_long_one_may_be(self):
        short, long = table([["0 9 * * 8", "x " * 40]], ["cron", "why"]).split("<td")[1:]
        assert "nowrap" in short
        assert "nowrap" not in long

    def test_numbers_stand_to_the_right_and_words_to_the_left(self):
        html = table([["x", 1, True]], ["word", "number", "flag"])
        assert [side.split('"')[0] for side in html.split("text-align:")[1:]] == [
            *("left", "right", "left"),
            *("left", "right", "left"),
        ]

    def test_a_long_cell_is_cut_and_counted(self):
        assert "(9,600 more characters)" in table([["x" * 10_000]], ["n"])

    def test_none_is_an_empty_cell(self):
        assert "None" not in table([[None]], ["n"])

    def test_suits_light_and_dark_themes_and_needs_no_script(self):
        html = table([["a", 1]], ["b", "c"], caption="d", total=4)
        reader = read(html)
        names = {name for name, _ in reader.attributes}
        assert names <= {"style", "scope", "colspan"}
        styles = ";".join(value for name, value in reader.attributes if name == "style")
        assert "background:transparent" in styles
        assert styles.count("color:inherit") == styles.count("color:")
        assert "#" not in styles

    def test_equal_input_gives_equal_output(self):
        assert table([[1]], ["n"]) == table([[1]], ["n"])

    @pytest.mark.parametrize("row", [[], [1, 2]])
    def test_refuses_a_row_of_another_length(self, row):
        with pytest.raises(ValueError, match=r"row 1 .* 1 columns \(n\)"):
            table([[1], row], ["n"])


def test_the_public_names_are_these():
    assert _html.__all__ == ["code", "escape", "markdown", "plain", "table"]
