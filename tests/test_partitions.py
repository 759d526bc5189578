"""partitions and combined: what is said of a frame in memory is said of it in pieces."""

import re
import subprocess
import sys
import tempfile
import warnings

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from pandas.testing import assert_frame_equal
from partitioned import (
    AFTER,
    CRONS,
    DOWN,
    REFUSED,
    WINDOW,
    assert_same_answers,
    in_dask,
    in_files,
    mixed,
)

import resonate_lab as rl
from resonate_lab.errors import FleetError, FrameError, WindowError
from resonate_lab.whatif import partitions, policies
from resonate_lab.whatif.answer import Answer
from resonate_lab.whatif.combined import _Starts
from resonate_lab.whatif.partitions import MAX_ROWS, Gathered, Piece, partitions_of

TEMPLATES = [
    "",
    "{{.id}}-{{.timestamp}}",
    "all-{{.timestamp}}",
    "once",
    "{{.id}}",
    "{{.timestamp}}7",
]


@st.composite
def fleets(draw):
    """Draw a fleet and where to cut it; ids may be blank, and rarely stand there twice."""
    size = draw(st.integers(0, 14))
    column = lambda *cells: draw(st.lists(st.sampled_from(cells), min_size=size, max_size=size))  # noqa: E731
    names = [draw(st.sampled_from([f"s{n}", f"s{n}", None, "row-3"])) for n in range(size)]
    frame = pd.DataFrame({"id": names, "cron": column(*CRONS, *REFUSED)}).astype("str")
    frame["id"] = pd.Series(names, dtype="str")
    frame["dialect"] = pd.Series(column("", "quartz", "resonate-0.9.8"), dtype="str")
    if draw(st.booleans()):
        frame["promise_id"] = pd.Series(column(*TEMPLATES), dtype="str")
        frame["promise_timeout"] = pd.Series(column("1h", "1d", None), dtype="str")
    if draw(st.booleans()):
        frame["zone"] = pd.Series(column("", "UTC", "Asia/Tokyo"), dtype="str")
    if draw(st.booleans()):
        frame = frame.drop(columns="id")
    return frame, draw(st.lists(st.integers(0, size), max_size=4))


class TestLaws:
    @settings(max_examples=12)
    @given(drawn=fleets(), scheduler=st.sampled_from(["sync", "threads"]))
    def test_a_dask_frame_is_answered_as_the_frame_in_memory(self, drawn, scheduler):
        frame, cuts = drawn
        with dask.config.set(scheduler=scheduler, num_workers=2):
            self.demand(frame, in_dask(frame, cuts))

    @settings(max_examples=12)
    @given(drawn=fleets())
    def test_a_folder_is_answered_as_the_frame_in_memory(self, drawn):
        frame, cuts = drawn
        with tempfile.TemporaryDirectory() as folder:
            source = in_files(frame, cuts, folder)
            if len(frame):
                self.demand(frame, source)
            else:  # a frame may be empty, a file may not
                with pytest.raises(FleetError, match="holds no schedule"):
                    rl.load(source, *WINDOW)

    def demand(self, frame, source):
        try:
            rl.read_fleet(frame)
        except FleetError:
            for ask in (rl.load, rl.what_if, rl.audit, rl.collisions, rl.read_fleet):
                args = {rl.load: WINDOW, rl.what_if: (DOWN,), rl.collisions: (*WINDOW, "1min")}
                with pytest.raises(FleetError, match=r"'row-3' stands in .*ids must be unique"):
                    ask(source, *args.get(ask, ()))
        else:
            assert_same_answers(frame, source)

    @given(
        at=st.lists(st.integers(0, 50), max_size=12), run=st.integers(0, 20), cut=st.integers(0, 12)
    )
    def test_the_peak_of_counted_starts_is_that_of_the_starts_one_by_one(self, at, run, cut):
        counted = [
            _Starts(*np.unique(np.array(part, dtype=np.int64), return_counts=True))
            for part in (at[:cut], at[cut:])
        ]
        expected = policies._peak(np.array(at, dtype=np.int64), run)
        assert _Starts.joined(*counted).peak(run) == expected


class TestSources:
    def test_an_index_with_a_name_is_a_column(self, tmp_path):
        plain = mixed(12).assign(id=[f"s{n}" for n in range(12)])
        named = plain.set_index("id")
        (tmp_path / "folder").mkdir()
        named.to_parquet(tmp_path / "folder" / "a.parquet")
        dasked = dd.from_pandas(named, 2, sort=False)
        for source in (named, tmp_path / "folder" / "a.parquet", tmp_path / "folder", dasked):
            assert rl.audit(source)["id"].tolist() == plain["id"].tolist()
            assert int(rl.load(source, *WINDOW).sum()) == int(rl.load(plain, *WINDOW).sum())

    def test_columns_of_one_system_say_there_too_how_texts_are_meant(self, tmp_path):
        frame = pd.DataFrame({"CRON_EXPRESSION": ["0 0 9 ? * 2"] * 3})
        frame = frame.assign(TRIGGER_GROUP="g", TIME_ZONE_ID="Asia/Tokyo")
        for source in (in_dask(frame, [1]), in_files(frame, [1], tmp_path)):
            assert_frame_equal(*(rl.audit(each, after=AFTER) for each in (frame, source)))

    def test_files_stand_in_the_order_of_their_numbers(self, tmp_path):
        frame = mixed(24)
        assert_same_answers(frame, in_files(frame, range(2, 24, 2), tmp_path))
        assert len(list(tmp_path.iterdir())) == 12

    def test_files_of_subfolders_count_and_notes_of_the_writer_do_not(self, tmp_path):
        frame = mixed(6)
        (tmp_path / "a").mkdir()
        in_files(frame, [3], tmp_path / "a")
        (tmp_path / "_metadata.parquet").write_bytes(b"")
        (tmp_path / ".part.parquet").write_bytes(b"")
        (tmp_path / "_SUCCESS").write_bytes(b"")
        assert_frame_equal(rl.read_fleet(str(tmp_path)), rl.read_fleet(frame))

    # Of dask itself, where pandas is newer than it.
    @pytest.mark.filterwarnings("ignore:The inplace keyword")
    def test_what_dask_writes_is_read_with_and_without_dask(self, tmp_path):
        frame = mixed(30)
        in_dask(frame, [3, 10, 11]).to_parquet(tmp_path / "fleet", write_index=False)
        assert_same_answers(frame, tmp_path / "fleet")
        assert_same_answers(frame, dd.read_parquet(tmp_path / "fleet"))

    def test_small_row_groups_are_read_together_and_large_ones_in_slices(self, monkeypatch):
        monkeypatch.setattr(partitions, "PIECE_ROWS", 4)
        pieces = list(partitions._pieces("f", [1, 2, 3, 0, 9, 4, 1]))
        assert pieces == [
            Piece("f", (0, 1), 0, 3),
            Piece("f", (2,), 0, 3),
            Piece("f", (4,), 0, 4),
            Piece("f", (4,), 4, 4),
            Piece("f", (4,), 8, 1),
            Piece("f", (5,), 0, 4),
            Piece("f", (6,), 0, 1),
        ]

    def test_slices_of_a_row_group_are_the_whole(self, tmp_path, monkeypatch):
        monkeypatch.setattr(partitions, "PIECE_ROWS", 4)
        frame = mixed(23)
        frame.to_parquet(tmp_path / "all.parquet", row_group_size=10)
        assert len(partitions_of(tmp_path).pieces) == 7
        assert_same_answers(frame, tmp_path)

    def test_only_the_columns_that_a_question_looks_at_are_read(self, tmp_path):
        folder = in_files(mixed(6), [3], tmp_path)
        heads = partitions_of(folder, "dialect", "line").heads
        assert heads == ("name", "expr", "dialect", "Time Zone")
        assert len(partitions_of(folder).heads) == 6

    def test_all_else_has_no_partitions(self, tmp_path):
        for fleet in (mixed(3), str(tmp_path / "no such"), "*/10 * * * *", "a\0b", None, 7):
            assert partitions_of(fleet) is None

    def test_the_lines_of_a_fleet_are_kept(self):
        frame = mixed(12).assign(line=range(100, 112))
        found = rl.load(in_dask(frame, [4, 8]), *WINDOW)
        assert_frame_equal(found.refused, rl.load(frame, *WINDOW).refused)

    def test_neither_importing_nor_asking_in_memory_or_of_a_folder_loads_dask(self, tmp_path):
        in_files(mixed(6), [3], tmp_path)
        code = (
            "import sys, pandas as pd, resonate_lab as rl\n"
            "frame = pd.DataFrame({'id': ['a'], 'cron': ['0 9 * * *']})\n"
            f"for fleet in (frame, {str(tmp_path)!r}):\n"
            "    rl.load(fleet, '2024-01-01', '2024-01-02'), rl.audit(fleet)\n"
            "    rl.what_if(fleet, ('2024-01-01', '2024-01-02'))\n"
            "    rl.policies.compare(fleet, ('2024-01-01', '2024-01-02'))\n"
            "print(sorted({name.partition('.')[0] for name in sys.modules}))"
        )
        command = [sys.executable, "-P", "-c", code]
        loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        assert "'pyarrow'" in loaded
        assert "dask" not in loaded
        assert "distributed" not in loaded


class TestAnswers:
    def test_a_load_does_not_hold_its_fleet_and_says_so(self):
        found = rl.load(in_dask(mixed(6), [3]), *WINDOW)
        with pytest.raises(FrameError, match="partition by partition and does not hold the dask"):
            _ = found.fleet

    def test_a_slice_of_a_load_still_knows_who_makes_its_peaks(self):
        frame = mixed(20)
        ours, theirs = (rl.load(each, *WINDOW)[:70] for each in (frame, in_dask(frame, [9])))
        assert_frame_equal(rl.peaks(ours), rl.peaks(theirs))

    def test_ticks_are_walked_part_by_part_and_the_refusal_says_how(self):
        answer = rl.what_if(in_dask(mixed(9), [3, 6]), DOWN)
        for name in ("ticks", "promises", "tags", "drain", "fleet"):
            with pytest.raises(AttributeError, match=rf"larger than memory.*part\.{name}'"):
                getattr(answer, name)
        with pytest.raises(AttributeError, match="no attribute 'tick'"):
            _ = answer.tick
        assert len(list(answer.parts())) == 3

    def test_it_is_reported_as_the_whole_fleet_is(self):
        frame = mixed(9)
        ours, whole = rl.what_if(in_dask(frame, [3, 6]), DOWN), rl.what_if(frame, DOWN)
        assert isinstance(ours, Answer)
        assert ours.to_markdown() == whole.to_markdown()
        assert ours.to_csv() == whole.to_csv()
        tables = re.compile("<h3>.*", re.DOTALL)
        assert tables.search(ours.to_html())[0] == tables.search(whole.to_html())[0]

    @pytest.mark.parametrize("down", [DOWN, ("1970-01-01", "2100-01-01")])
    @pytest.mark.parametrize("crons", [[], ["0 0 1 * *"], ["0 * * * *", "x", "*/7 0 * * *"]])
    def test_it_draws_how_much_is_due_and_sent(self, crons, down):
        frame = pd.DataFrame({"id": [f"s{n}" for n in range(len(crons))], "cron": crons}, dtype=str)
        answer = rl.what_if(in_dask(frame, []), down)
        ax = Figure().subplots()
        assert answer.plot(ax=ax) is ax
        assert all(len(line.get_xdata()) < 10_000 for line in ax.lines)

    def test_promises_that_share_an_id_across_partitions_are_created_once(self):
        frame = pd.DataFrame({"id": list("abcd"), "cron": "0 * * * *", "promise_id": "once"})
        answer = rl.what_if(in_dask(frame, [1, 2, 3]), DOWN)
        assert answer.counters["created"] == 1
        assert answer.counters == rl.what_if(frame, DOWN).counters

    def test_what_is_shown_says_what_it_is_and_escapes(self):
        answer = rl.what_if(in_dask(mixed(9), [3]), DOWN)
        assert repr(answer).startswith("<WhatIf in partitions: ")
        assert answer._repr_html_().count("<p>") == 1

    def test_arguments_at_fault_are_refused_before_a_partition_is_read(self):
        def read():
            raise AssertionError("a partition was read")

        meta = pd.DataFrame({"id": pd.Series([], dtype="str"), "cron": pd.Series([], dtype="str")})
        fleet = dd.from_delayed([dask.delayed(read)()], meta=meta, verify_meta=False)
        for ask in (
            lambda: rl.load(fleet, "2024-01-02", "2024-01-01"),
            lambda: rl.what_if(fleet, ("2024-01-02", "2024-01-01")),
            lambda: rl.what_if(fleet, DOWN, profile="nonesuch"),
            lambda: rl.what_if(fleet, DOWN, promise_timeout="-1h"),
            lambda: policies.compare(fleet, DOWN, policies=["nonesuch"]),
            lambda: rl.audit(fleet, "nonesuch"),
            lambda: rl.audit(fleet, after="nonesuch"),
        ):
            with pytest.raises(ValueError, match=r"2024-01-02|nonesuch|promise_timeout"):
                ask()


class TestRefusals:
    def refusal(self, ask, *args, **kwargs):
        with pytest.raises((FleetError, WindowError)) as caught:
            ask(*args, **kwargs)
        message = str(caught.value)
        assert "\n" not in message
        return message

    def test_an_empty_folder(self, tmp_path):
        (tmp_path / "notes.txt").write_text("nothing")
        text = self.refusal(rl.load, tmp_path, *WINDOW)
        assert text.startswith(f"the folder {tmp_path.name!r} holds no Parquet file")

    @pytest.mark.parametrize("keep", [0, 100, -9])
    def test_a_half_written_file_is_named(self, tmp_path, keep):
        in_files(mixed(40), [10, 20], tmp_path)
        half = tmp_path / "part-1.parquet"
        half.write_bytes(half.read_bytes()[:keep])
        text = self.refusal(rl.load, tmp_path, *WINDOW)
        assert text.startswith(f"'part-1.parquet' of the folder {tmp_path.name!r} is no Parquet")

    def test_a_file_damaged_within_is_named_when_it_is_read(self, tmp_path):
        in_files(mixed(40), [10, 20], tmp_path)
        path = tmp_path / "part-1.parquet"
        content = path.read_bytes()
        path.write_bytes(content[:4] + b"\xff" * 600 + content[604:])
        text = self.refusal(rl.load, tmp_path, *WINDOW)
        assert "'part-1.parquet' of the folder" in text

    def test_files_with_other_columns(self, tmp_path):
        in_files(mixed(4), [2], tmp_path)
        mixed(4).drop(columns="dialect").to_parquet(tmp_path / "part-2.parquet")
        text = self.refusal(rl.load, tmp_path, *WINDOW)
        assert f"'part-2.parquet' of the folder {tmp_path.name!r} has the columns 'name'," in text

    def test_a_dask_partition_with_other_columns(self):
        frame = mixed(4)
        pieces = [dask.delayed(frame), dask.delayed(frame.rename(columns={"expr": "exp"}))]
        fleet = dd.from_delayed(pieces, meta=frame.iloc[:0], verify_meta=False)
        text = self.refusal(rl.what_if, fleet, DOWN)
        assert text.startswith("partition 2 of 2: it has the columns 'name', 'exp',")

    def test_no_cron_column(self, tmp_path):
        frame = mixed(4).drop(columns="expr")
        text = self.refusal(rl.load, in_dask(frame, [2]), *WINDOW)
        assert text.startswith("the dask DataFrame has no cron column, only 'name'")
        text = self.refusal(rl.load, in_files(frame, [2], tmp_path), *WINDOW)
        assert text.startswith(f"the folder {tmp_path.name!r} has no cron column")

    def test_one_column_twice(self):
        frame = mixed(4)
        frame = pd.concat([frame, frame[["expr"]]], axis=1)
        text = self.refusal(rl.load, in_dask(frame, [2]), *WINDOW)
        assert "has the column 'expr' twice" in text

    def test_an_id_in_two_partitions_is_found_with_its_rows(self, tmp_path):
        frame = mixed(12)
        frame.loc[9, "name"] = "s1"
        text = self.refusal(rl.load, in_dask(frame, [4, 8]), *WINDOW)
        assert text == (
            "the id 's1' stands in row 2 of partition 1 of 3 and row 2 of partition 3 of 3: "
            "ids must be unique"
        )
        text = self.refusal(rl.audit, in_files(frame, [4, 8], tmp_path))
        assert "row 2 of 'part-0.parquet' and row 2 of 'part-2.parquet'" in text

    def test_ids_of_one_hash_are_not_taken_for_the_same(self, monkeypatch):
        everything_alike = lambda texts: np.zeros(len(texts), dtype=np.uint64)  # noqa: E731
        monkeypatch.setattr(partitions, "hashed", everything_alike)
        frame = mixed(12)
        found = rl.load(in_dask(frame, [4, 8]), *WINDOW)
        assert found.tolist() == rl.load(frame, *WINDOW).tolist()

    def test_a_cell_at_fault_is_named_with_its_partition(self):
        frame = mixed(9)
        frame.loc[7, "promise_timeout"] = "-1h"
        text = self.refusal(rl.what_if, in_dask(frame, [3, 6]), DOWN)
        assert text.startswith("partition 3 of 3: promise_timeout of row 2 of the frame")

    def test_what_needs_all_at_once_is_refused_above_its_bound(self, tmp_path, monkeypatch):
        monkeypatch.setattr(partitions, "MAX_ROWS", 10)
        frame = mixed(12)
        for source, least in (
            (in_dask(frame, [4, 8]), "at least "),
            (in_files(frame, [4], tmp_path), ""),
        ):
            for name, ask in (("collisions", rl.collisions), ("read_fleet", rl.read_fleet)):
                args = (*WINDOW, "1min") if name == "collisions" else ()
                text = self.refusal(ask, source, *args)
                assert f"has {least}12 schedules, but {name} needs all of them at once" in text
        assert MAX_ROWS == 5_000_000


class TestCtrlC:
    """Ctrl-C comes out of the iterable of partitions, as it does out of a progress bar."""

    FRAME = mixed(20)
    CUTS = [5, 10, 15]

    def after(self, n):
        def progress(numbers):
            for number in numbers:
                if number == n:
                    raise KeyboardInterrupt
                yield number

        return progress

    @pytest.fixture(params=["dask", "folder"])
    def source(self, request, tmp_path):
        with dask.config.set(scheduler="sync"):
            if request.param == "dask":
                yield in_dask(self.FRAME.fillna({"name": "x"}).assign(name=self.names()), self.CUTS)
            else:
                yield in_files(self.FRAME.assign(name=self.names()), self.CUTS, tmp_path)

    def names(self):
        return [f"s{n}" for n in range(len(self.FRAME))]

    def first(self, rows):
        return self.FRAME.assign(name=self.names()).head(rows)

    def test_a_load_keeps_the_finished_partitions_and_says_so(self, source):
        with pytest.warns(
            UserWarning, match="interrupted: the answer is that of 2 of 4 partitions"
        ):
            found = rl.load(source, *WINDOW, progress=self.after(2))
        expected = rl.load(self.first(10), *WINDOW)
        assert found.tolist() == expected.tolist()
        assert not found.complete
        assert repr(found).endswith("interrupted: 2 of 4 partitions are counted")
        assert_frame_equal(found.refused, expected.refused)
        assert_frame_equal(rl.peaks(found), rl.peaks(expected))
        assert rl.load(self.FRAME, *WINDOW).complete

    def test_an_outage_keeps_them(self, source):
        with pytest.warns(UserWarning, match="3 of 4 partitions"):
            found = rl.what_if(source, DOWN, progress=self.after(3))
        expected = rl.what_if(self.first(15), DOWN)
        assert found.counters == expected.counters
        assert_frame_equal(found.summary, expected.summary)
        assert not found.complete
        assert "interrupted: 3 of 4 partitions" in repr(found)
        assert sum(len(part.ticks) for part in found.parts()) == len(expected.ticks)

    def test_an_audit_and_a_comparison_keep_them(self, source):
        with pytest.warns(UserWarning, match="1 of 4 partitions"):
            found = rl.audit(source, after=AFTER, progress=self.after(1))
        assert_frame_equal(found, rl.audit(self.first(5), after=AFTER))
        assert (found.attrs["complete"], found.attrs["partitions"]) == (False, "1 of 4 partitions")
        with pytest.warns(UserWarning, match="1 of 4 partitions"):
            found = policies.compare(source, DOWN, progress=self.after(1))
        assert_frame_equal(found, policies.compare(self.first(5), DOWN))
        assert found.attrs["complete"] is False

    def test_before_the_first_partition_is_done_nothing_is_counted(self, source):
        with pytest.warns(UserWarning, match="0 of 4 partitions"):
            assert rl.load(source, *WINDOW, progress=self.after(0)).sum() == 0
        with pytest.warns(UserWarning, match="0 of 4 partitions"):
            assert rl.what_if(source, DOWN, progress=self.after(0)).counters["missed"] == 0

    def test_a_second_one_is_raised(self, source, monkeypatch):
        def again(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(partitions.Partitions, "_demand_unique", again)
        with pytest.raises(KeyboardInterrupt):
            rl.load(source, *WINDOW, progress=self.after(2))

    def test_a_question_that_needs_all_partitions_is_ended(self, source, monkeypatch):
        def again(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(Piece, "frame", again)
        monkeypatch.setattr(partitions, "_on_dask", again)
        with pytest.raises(KeyboardInterrupt):
            rl.read_fleet(source)

    def test_rows_behind_a_gap_have_no_number(self):
        gathered = Gathered({0: 5, 2: 5, 3: 5}, 4)
        assert gathered.before() == {0: 0, 2: None, 3: None}
        assert not gathered.complete
        assert str(gathered) == "3 of 4 partitions"

    def test_progress_wraps_as_many_numbers_as_there_are_partitions(self, source):
        seen = []

        def progress(numbers):
            seen.append(len(numbers))
            return numbers

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rl.load(source, *WINDOW, progress=progress)
        assert seen == [4]
