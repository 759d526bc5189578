"""frames: what an engine holds, with the documented columns and dtypes; safe CSV."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resonate_lab import frames
from resonate_lab.engine import Engine

T0 = 1704067200000  # 2024-01-01T00:00:00Z
VIEWS = ("ticks", "promises", "schedules", "tasks", "outbox", "trace", "dispatches")
INSTANT = "datetime64[ms, UTC]"


@pytest.fixture
def engine():
    engine = Engine(now=T0)
    tags = {"team": "a"}
    engine.schedules.create(
        "s", cron="0 * * * *", promise_timeout="90m", target="poll://any@x", promise_tags=tags
    )
    engine.promises.create("plain", timeout_at=T0 + 10**9)
    engine.outage("3h")
    return engine


def at(hour):
    return pd.Timestamp(T0 + hour * 3_600_000, unit="ms", tz="UTC")


class TestViews:
    @pytest.mark.parametrize("view", VIEWS)
    def test_an_empty_frame_has_the_dtypes_of_a_full_one(self, view, engine):
        show = getattr(frames, view)
        empty, full = show(Engine()), show(engine)
        assert len(empty) == 0 < len(full)
        assert list(empty) == list(full)
        assert empty.dtypes.to_dict() == full.dtypes.to_dict()

    @pytest.mark.parametrize("view", VIEWS)
    def test_every_documented_column_is_there_and_no_other(self, view, engine):
        show = getattr(frames, view)
        for column in show(engine):
            assert column in show.__doc__

    def test_ticks(self, engine):
        ticks = frames.ticks(engine)
        assert ticks["scheduled_at"].tolist() == [at(1), at(2), at(3)]
        assert (ticks["fired_at"] == at(3)).all()
        assert ticks["state"].tolist() == ["rejected_timedout", "pending", "pending"]
        assert ticks["dispatched"].tolist() == [False, True, True]
        assert ticks["lag"].tolist() == [pd.Timedelta(hours=h) for h in (2, 1, 0)]

    def test_ticks_keep_the_state_at_creation(self, engine):
        before = frames.ticks(engine)
        engine.advance("1h")
        after = frames.ticks(engine)
        pd.testing.assert_frame_equal(after.head(3), before)
        assert frames.promises(engine)["state"].tolist()[1:4] == [
            "rejected_timedout",
            "rejected_timedout",
            "pending",
        ]

    def test_promises(self, engine):
        promises = frames.promises(engine)
        assert promises["id"].iloc[0] == "plain"
        assert promises["schedule_id"].isna().tolist() == [True, False, False, False]
        assert promises["state"].dtype == frames.PROMISE_STATES
        assert promises["settled_at"].isna().tolist() == [True, False, True, True]
        assert str(promises["settled_at"].dtype) == INSTANT

    def test_tags_are_one_column_each_and_missing_ones_are_missing(self, engine):
        tags = frames.tags(engine)
        assert tags.index.name == "promise_id"
        assert list(tags) == sorted(tags)
        assert tags["team"].isna().tolist() == [True, False, False, False]
        assert tags["resonate:schedule"].dropna().unique().tolist() == ["s"]
        assert (tags["resonate:origin"].dropna() == tags.index[1:]).all()

    def test_no_promises_have_no_tags(self):
        tags = frames.tags(Engine())
        assert tags.shape == (0, 0)
        assert tags.index.name == "promise_id"

    def test_schedules(self, engine):
        schedules = frames.schedules(engine)
        assert schedules["next_run_at"].tolist() == [at(4)]
        assert schedules["last_run_at"].tolist() == [at(3)]
        assert schedules["promise_timeout"].tolist() == [5_400_000]

    def test_a_schedule_that_never_fired_has_no_last_run(self):
        engine = Engine(now=T0)
        engine.schedules.create("s", cron="@yearly", target="poll://any@x")
        assert frames.schedules(engine)["last_run_at"].isna().all()

    def test_tasks(self, engine):
        tasks = frames.tasks(engine)
        assert tasks["state"].tolist() == ["fulfilled", "pending", "pending"]
        assert tasks["retry_at"].isna().tolist() == [True, False, False]
        assert tasks["expires_at"].isna().all()
        assert tasks["ttl"].isna().all()
        assert str(tasks["ttl"].dtype) == "timedelta64[ms]"

    def test_the_outbox_holds_what_is_not_expired(self, engine):
        outbox = frames.outbox(engine)
        ticks = frames.ticks(engine)
        assert outbox["task_id"].tolist() == ticks["promise_id"][ticks["dispatched"]].tolist()
        assert outbox["address"].unique().tolist() == ["poll://any@x"]


class TestWhatPromisesOwe:
    VIEWS = ("unblocks", "callbacks", "listeners", "trace")

    @pytest.fixture
    def busy(self, engine):
        for id in ("told", "b", "b.1"):
            engine.promises.create(id, timeout="1h", target="poll://any@y")
        engine.promises.register_listener("told", "http://told")
        engine.promises.settle("told")
        engine.promises.register_listener("b", "http://b")
        engine.promises.register_callback("b", "b.1")
        return engine

    @pytest.mark.parametrize("view", VIEWS)
    def test_an_empty_frame_has_the_dtypes_of_a_full_one(self, view, busy):
        show = getattr(frames, view)
        empty, full = show(Engine()), show(busy)
        assert len(empty) == 0 < len(full)
        assert empty.dtypes.to_dict() == full.dtypes.to_dict()
        assert all(column in show.__doc__ for column in full)

    def test_unblock_messages(self, busy):
        (row,) = frames.unblocks(busy).itertuples(index=False)
        assert tuple(row) == ("told", "http://told", "resolved", at(3))

    def test_pairs(self, busy):
        assert frames.callbacks(busy).to_numpy().tolist() == [["b", "b.1"]]
        assert frames.listeners(busy).to_numpy().tolist() == [["b", "http://b"]]

    def test_a_trace_tells_the_ticks_of_firings_alone(self, busy):
        trace = frames.trace(busy)
        fired = trace[trace["step"] == "schedule firing"]
        assert fired["at"].tolist() == [at(3)]
        assert fired[["first", "last"]].to_numpy().tolist() == [[at(1), at(3)]]
        assert fired[["fired", "live", "expired", "existed"]].iloc[0].tolist() == [3, 2, 1, 0]
        rest = trace.drop(fired.index)
        assert rest["fired"].isna().all()
        assert rest["first"].isna().all()
        assert trace["at"].is_monotonic_increasing


class TestPieces:
    def test_missing_instants_are_nat_and_never_zero(self):
        index = frames.instants(np.array([0, 5]), np.array([True, False]))
        assert index.isna().tolist() == [True, False]
        assert index[1] == pd.Timestamp(5, unit="ms", tz="UTC")
        assert str(index.dtype) == INSTANT

    def test_missing_durations_are_nat(self):
        spans = pd.Series(frames.durations(np.array([7, 0]), np.array([False, True])))
        assert spans.isna().tolist() == [False, True]
        assert spans[0] == pd.Timedelta(milliseconds=7)


# Signs, their full-width forms, and what a spreadsheet passes over before them.
STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r", "\n")


class TestCsv:
    def written(self, frame):
        out = io.StringIO()
        frames.write_csv(frame, out)
        return list(csv.reader(io.StringIO(out.getvalue(), newline="")))

    @pytest.mark.parametrize("start", STARTS)
    def test_a_text_that_a_spreadsheet_would_compute_is_quoted(self, start):
        rows = self.written(pd.DataFrame({f"{start}head": [f"{start}1+1"]}))
        assert rows == [[f"'{start}head"], [f"'{start}1+1"]]

    @pytest.mark.parametrize("kind", ["string", "large_string", "dictionary"])
    def test_texts_of_arrow_are_texts_too(self, kind):
        pa = pytest.importorskip("pyarrow")
        types = {"dictionary": pa.dictionary(pa.int8(), pa.string())}
        dtype = pd.ArrowDtype(types.get(kind) or getattr(pa, kind)())
        frame = pd.DataFrame({"a": pd.Series(["=1", None], dtype=dtype)})
        frame["n"] = pd.Series([-1, None], dtype=pd.ArrowDtype(pa.int64()))
        assert self.written(frame) == [["a", "n"], ["'=1", "-1"], ["", ""]]

    def test_numbers_and_instants_stay_as_they_are(self):
        frame = pd.DataFrame({"n": [-1], "at": pd.DatetimeIndex(["2024-01-01"], tz="UTC")})
        assert self.written(frame)[1] == ["-1", "2024-01-01 00:00:00+00:00"]

    def test_the_frame_itself_is_left_alone(self):
        frame = pd.DataFrame({"a": ["=1"]})
        frames.write_csv(frame, io.StringIO())
        assert frame["a"].tolist() == ["=1"]

    @given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=10))
    def test_no_cell_begins_a_formula_and_each_can_be_read_back(self, texts):
        rows = self.written(pd.DataFrame({"n": range(len(texts)), "a": texts}))
        for (_, cell), text in zip(rows[1:], texts, strict=True):
            assert not cell.startswith(STARTS)
            assert cell.removeprefix("'") == text.removeprefix("'")
