"""frames.styled: what a reader sees of each kind of column, and that no text is obeyed."""

import pandas as pd
import pytest
from widget_words import HOSTILE, tags, words

from resonate_lab import frames
from resonate_lab.engine import Engine

VIEWS = (
    *("callbacks", "dispatches", "listeners", "outbox", "promises", "schedules"),
    *("tags", "tasks", "ticks", "trace", "unblocks"),
)


@pytest.fixture
def engine():
    made = Engine(now="2024-01-01")
    made.schedules.create(
        "hourly", cron="0 * * * *", promise_timeout="90min", target="poll://any@x"
    )
    made.outage("3h")
    return made


def html(frame, **kwargs):
    return frames.styled(frame, **kwargs).to_html()


class TestColumns:
    def test_instants_durations_states_and_truths_are_written_out(self, engine):
        said = words(html(frames.ticks(engine)))
        assert "2024-01-01 01:00:00Z 2024-01-01 03:00:00Z 2 h" in said
        assert "× rejected_timedout no" in said
        assert "○ pending yes" in said

    def test_what_is_missing_is_empty(self, engine):
        said = words(html(frames.promises(engine)))
        assert not {"NaT", "nan", "None", "NaN"} & set(said.split())

    def test_numbers_are_grouped_and_stand_to_the_right(self):
        page = html(pd.DataFrame({"text": ["x"], "n": [1234567], "f": [0.5]}))
        assert "1,234,567" in page
        assert "0.500" in page
        assert ".col1" in page
        assert ".col0" not in page.partition("</style>")[0]  # the text may break, and stays left

    def test_an_index_without_a_name_is_left_out_and_another_stays(self, engine):
        assert "row_heading" not in html(frames.promises(engine))
        assert "row_heading" in html(frames.tags(engine))

    def test_more_rows_than_asked_for_are_told(self, engine):
        assert "the first 2 of 3 rows" in html(frames.ticks(engine), rows=2)
        assert "rows" not in html(frames.ticks(engine), rows=3)
        with pytest.raises(ValueError, match="rows is 0"):
            frames.styled(frames.ticks(engine), rows=0)

    @pytest.mark.parametrize("view", VIEWS)
    def test_every_view_can_be_shown_empty_and_full(self, view, engine):
        for shown in (Engine(), engine):
            assert html(getattr(frames, view)(shown)).count("<table") == 1

    def test_equal_frames_give_equal_pages(self, engine):
        assert html(frames.tasks(engine)) == html(frames.tasks(engine))


class TestStrangers:
    def test_texts_headings_and_indexes_are_shown_and_not_obeyed(self):
        frame = pd.DataFrame(
            {HOSTILE: [HOSTILE, "\u202egnp", "x" * 10_000]}, index=[HOSTILE, "a", "b"]
        )
        page = html(frame)
        assert "img" not in tags(page)
        assert "\u202e" not in page
        assert len(page) < 5_000
        assert words(page).count(HOSTILE) == 3

    def test_a_category_and_a_dict_of_strangers(self):
        frame = pd.DataFrame({"c": pd.Categorical([HOSTILE]), "d": [{HOSTILE: [HOSTILE]}]})
        assert "img" not in tags(html(frame))
