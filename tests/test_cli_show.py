"""How answers are printed: nothing is lost at any width, and JSON is JSON."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from resonate_lab.cli import show

MOMENTS = pd.to_datetime(["2026-12-01 09:00", None], utc=True)


def printed(capsys, monkeypatch, width, frame, **options):
    monkeypatch.setenv("COLUMNS", str(width))
    show.print_table("Title", frame, **options)
    return capsys.readouterr().out


LEAVES = st.none() | st.booleans() | st.integers() | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


class TestTables:
    @pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
    def test_no_letter_is_cut_off_at_any_width(self, capsys, monkeypatch, width):
        frame = pd.DataFrame(
            {
                "name": ["ABCDEFGH" * 6],
                "n": [1_234_567],
                "reason": ["IJKLMNOPQ " * 6],
                "lag": pd.to_timedelta([43_200_000 + 300_000], unit="ms"),
            }
        )
        out = printed(capsys, monkeypatch, width, frame)
        assert max(map(len, out.splitlines())) <= width
        assert sorted(filter(str.isupper, out.partition("Title")[2])) == sorted(
            "ABCDEFGHIJKLMNOPQ" * 6
        )
        assert sorted(re.sub(r"[^0-9]", "", out)) == sorted("1234567" + "125")

    @pytest.mark.parametrize("width", [60, 80, 200])
    def test_numbers_stay_whole_where_there_is_room(self, capsys, monkeypatch, width):
        frame = pd.DataFrame({"id": ["x" * 300], "missed": [1_234_567], "sent": [89_012]})
        out = printed(capsys, monkeypatch, width, frame)
        assert "1,234,567" in out
        assert "89,012" in out

    @pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
    def test_an_expression_stays_whole_at_any_width(self, capsys, monkeypatch, width):
        cron, other = "*/10 7-19 * * MON-FRI", "0 */10 7-19 * * SUN-THU"
        frame = pd.DataFrame(
            {
                "cron": [cron],
                "rows": [47],
                "author_means": ["word " * 40],
                "does": ["word " * 40],
                "write_instead": [other],
            }
        )
        out = printed(capsys, monkeypatch, width, frame)
        assert cron in out
        assert other in out

    @pytest.mark.parametrize("width", [40, 60, 80])
    def test_where_a_table_has_no_room_rows_are_stacked_with_the_names_of_columns(
        self, capsys, monkeypatch, width
    ):
        frame = pd.DataFrame(
            {"cron": ["0 9 * * 1", "@daily"], "a": ["w " * 50, ""], "b": ["w " * 50, "short"]}
            | {"c": ["w " * 50, "also"]}
        )
        lines = printed(capsys, monkeypatch, width, frame).splitlines()
        assert "cron  0 9 * * 1" in lines
        assert lines[lines.index("cron  @daily") :] == ["cron  @daily", "b     short", "c     also"]

    def test_short_texts_are_a_table_where_it_has_room(self, capsys, monkeypatch):
        names = ["UTC", "day", "America/New_York", "local_day"]
        row = ["2026-12-01 00:00", "Tue", "2026-11-30 19:00", "Mon EST"]
        frame = pd.DataFrame([row], columns=names)
        for width, lines in ((80, 3), (50, 3), (49, 5)):
            out = printed(capsys, monkeypatch, width, frame)
            assert len(out.partition("Title\n")[2].splitlines()) == lines

    def test_an_id_is_broken_behind_its_marks(self, capsys, monkeypatch):
        frame = pd.DataFrame({"schedule": ["alfresco-community-repo/alfresco-global-1"], "n": [1]})
        lines = printed(capsys, monkeypatch, 40, frame).splitlines()
        assert [line.split()[0] for line in lines[-2:]] == [
            "alfresco-community-repo/alfresco-",
            "global-1",
        ]

    def test_numbers_stand_below_each_other_at_the_right(self, capsys, monkeypatch):
        frame = pd.DataFrame({"id": ["a", "b"], "n": [7, 1_234_567]})
        lines = printed(capsys, monkeypatch, 80, frame).splitlines()
        assert lines[-2:] == ["a           7", "b   1,234,567"]

    def test_the_name_of_a_zone_is_no_name_of_a_column(self, capsys, monkeypatch):
        frame = pd.DataFrame({"America/New_York": ["x"], "local_day": ["y"]})
        assert "America/New_York  local day" in printed(capsys, monkeypatch, 80, frame)

    def test_missing_cells_are_blank_and_lists_are_joined(self, capsys, monkeypatch):
        frame = pd.DataFrame(
            {
                "at": MOMENTS,
                "lag": pd.to_timedelta([60_000, None], unit="ms"),
                "n": pd.array([1, None], dtype="Int64"),
                "x": [0.5, np.nan],
                "ids": [["a", "b"], []],
                "yes": [True, False],
                "none": [None, "z"],
            }
        )
        first, second = printed(capsys, monkeypatch, 120, frame).splitlines()[-2:]
        assert first.split() == ["2026-12-01", "09:00", "1", "min", "1", "0.5", "a,", "b", "yes"]
        assert second.split() == ["no", "z"]

    def test_what_is_left_out_is_counted(self, capsys, monkeypatch):
        frame = pd.DataFrame({"n": range(30)})
        assert "and 20 more" in printed(capsys, monkeypatch, 80, frame)
        assert "and 95 more" in printed(capsys, monkeypatch, 80, frame, limit=5, total=100)
        assert "more" not in printed(capsys, monkeypatch, 80, frame, limit=None)

    def test_an_empty_frame_says_so(self, capsys, monkeypatch):
        frame = pd.DataFrame({"n": []})
        assert "nothing here" in printed(capsys, monkeypatch, 80, frame, empty="nothing here")

    def test_markup_and_escapes_are_text(self, capsys, monkeypatch):
        frame = pd.DataFrame({"id": ["[bold]x[/bold]", "\x1b[31m\u202e", ":smile:"]})
        out = printed(capsys, monkeypatch, 80, frame)
        assert "[bold]x[/bold]" in out
        assert ":smile:" in out
        assert "\\x1b[31m\\u202e" in out
        assert "\x1b" not in out


class TestWrapped:
    def test_a_quoted_expression_and_an_instant_are_not_broken(self):
        text = "which stands only in the two day fields; write '0 05 20 ? * 4 *' (or '0 9 * * 1')"
        assert show.wrapped(text, 62) == [
            "which stands only in the two day fields; write",
            "'0 05 20 ? * 4 *' (or '0 9 * * 1')",
        ]

    def test_an_apostrophe_quotes_nothing(self):
        assert show.wrapped("its author's word and another's", 12) == [
            "its author's",
            "word and",
            "another's",
        ]

    def test_lines_after_the_first_hang(self):
        assert show.wrapped("label  one two three", 12, hang=7) == [
            "label  one",
            "       two",
            "       three",
        ]

    def test_a_wide_letter_takes_two_columns(self):
        assert show.wrapped("\u6f22" * 5, 4) == ["\u6f22" * 2, "\u6f22" * 2, "\u6f22"]

    @given(st.text(st.sampled_from("ab-/.'  \u6f22"), max_size=60), st.integers(2, 30))
    def test_no_letter_is_lost_and_no_line_is_too_long(self, text, width):
        lines = show.wrapped(text, width)
        assert max(map(cell_len, lines)) <= width
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")


class TestJson:
    @given(VALUES)
    def test_any_value_comes_back_and_holds_nothing_unseen(self, value):
        text = show.json_text(value)
        assert json.loads(text) == value
        assert text.replace("\n", "").isprintable()

    def test_not_a_number_is_refused_rather_than_written(self):
        with pytest.raises(ValueError, match="JSON"):
            show.json_text(float("nan"))

    def test_rows_of_a_frame(self):
        frame = pd.DataFrame(
            {
                "at": MOMENTS,
                "local": MOMENTS.tz_convert("Europe/Berlin"),
                "lag": pd.to_timedelta([1500, None], unit="ms"),
                "n": pd.array([1, None], dtype="Int64"),
                "kind": pd.Categorical(["a", None]),
                "ids": [["a"], []],
                "tags": [{"k": "v"}, None],
            }
        )
        assert show.rows_of(frame) == [
            {
                "at": "2026-12-01T09:00:00Z",
                "local": "2026-12-01T10:00:00+01:00",
                "lag": 1500,
                "n": 1,
                "kind": "a",
                "ids": ["a"],
                "tags": {"k": "v"},
            },
            {
                "at": None,
                "local": None,
                "lag": None,
                "n": None,
                "kind": None,
                "ids": [],
                "tags": None,
            },
        ]
