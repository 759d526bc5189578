"""read_fleet: every source gives the same frame, and bad ones one sentence."""

import io
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resonate_lab.errors import FleetError
from resonate_lab.whatif import read_fleet, sources
from resonate_lab.whatif.fleet import MAX_TIMEOUT_MS, compile_fleet

EXAMPLE = Path(__file__).parents[1] / "examples" / "public_fleet.csv"
SCHEDULE = {
    "id": "nightly",
    "cron": "0 2 * * *",
    "promiseId": "{{.id}}-{{.timestamp}}",
    "promiseTimeout": 3_600_000,
    "promiseParam": {"data": "e30="},
    "promiseTags": {"resonate:target": "poll://any@default"},
    "createdAt": 0,
    "nextRunAt": 7_200_000,
}


def csv(text, **kwargs):
    return read_fleet(io.StringIO(text), **kwargs)


def refusal(source, **kwargs):
    with pytest.raises(FleetError) as caught:
        read_fleet(source, **kwargs)
    message = str(caught.value)
    assert "\n" not in message
    return message


class TestCsv:
    def test_the_example_keeps_every_row_and_its_source(self):
        fleet = read_fleet(EXAMPLE)
        assert len(fleet) == 785
        assert fleet["id"].is_unique
        assert fleet["source"].str.contains(":").all()
        assert fleet["dialect_guess"].value_counts().to_dict() == {
            "posix": 712,
            "quartz": 71,
            "aws": 2,
        }

    def test_columns_come_in_the_documented_order_and_others_follow(self):
        fleet = csv("team,promise_timeout,expr,id\na,1h,* * * * *,s\n")
        assert list(fleet) == ["id", "cron", "promise_timeout", "team", "line"]

    @pytest.mark.parametrize("head", ["cron", "expr", "Expression", "SCHEDULE", "cron_expression"])
    def test_the_cron_column_goes_by_several_names(self, head):
        assert csv(f"{head}\n@daily\n")["cron"].tolist() == ["@daily"]

    def test_cron_wins_over_its_aliases_and_the_alias_stays(self):
        fleet = csv("expr,cron\nold,@daily\n")
        assert fleet["cron"].tolist() == ["@daily"]
        assert fleet["expr"].tolist() == ["old"]

    def test_wire_names_are_understood(self):
        fleet = csv('cron,promiseId,promiseTags\n@daily,x,"{""a"": ""b""}"\n')
        assert fleet["promise_id"].tolist() == ["x"]
        assert fleet["promise_tags"].tolist() == [{"a": "b"}]

    def test_missing_ids_are_made_from_the_row(self):
        assert csv("cron\n@daily\n@hourly\n")["id"].tolist() == ["row-1", "row-2"]
        assert csv("id,cron\na,@daily\n,@hourly\n")["id"].tolist() == ["a", "row-2"]

    def test_lines_count_quoted_breaks_and_blank_lines(self):
        fleet = csv('note,cron\n"one\ntwo",@daily\n\nx,@hourly\n')
        assert fleet["line"].tolist() == [2, 5]

    @pytest.mark.parametrize("delimiter", [",", ";", "\t"])
    def test_the_delimiter_is_seen_in_the_header(self, delimiter):
        text = delimiter.join(["id", "cron"]) + "\n" + delimiter.join(["a", '"0,30 * * * *"'])
        assert csv(text)["cron"].tolist() == ["0,30 * * * *"]

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
    def test_byte_order_marks_are_followed(self, encoding):
        source = io.BytesIO("id,cron\nnächtlich,@daily\n".encode(encoding))
        assert read_fleet(source)["id"].tolist() == ["nächtlich"]

    def test_an_encoding_may_be_named(self):
        source = io.BytesIO("id,cron\nnächtlich,@daily\n".encode("cp1252"))
        assert read_fleet(source, encoding="cp1252")["id"].tolist() == ["nächtlich"]

    def test_formulas_stay_text(self):
        cells = ["=1+1", "+1", "-1", "@SUM(A1)"]
        fleet = csv("id,cron\n" + "".join(f"{cell},@daily\n" for cell in cells))
        assert fleet["id"].tolist() == cells

    def test_an_expression_at_fault_stays_for_others_to_refuse(self):
        fleet = csv("id,cron\na,nonsense\nb,\nc,\0\n")
        assert fleet["cron"].tolist() == ["nonsense", "", "\0"]

    def test_two_hundred_thousand_rows_are_read_whole(self):
        text = "id,cron\n" + "".join(f"s{n},{n % 60} {n % 24} * * *\n" for n in range(200_000))
        fleet = csv(text)
        assert len(fleet) == 200_000
        assert fleet["cron"].iloc[-1] == "19 7 * * *"


class TestCsvRefused:
    def test_no_cron_column_names_those_that_there_are(self):
        assert "'when', 'what'" in refusal(io.StringIO("when,what\n1,2\n"))

    def test_an_empty_file_and_a_lone_header(self):
        assert "empty" in refusal(io.StringIO(""))
        assert "empty" in refusal(io.BytesIO(b"\xef\xbb\xbf \n"))
        assert "no schedule" in refusal(io.StringIO("id,cron\n"))

    def test_a_cut_off_line_is_named(self):
        message = refusal(io.StringIO("id,cron,team\na,@daily,x\nb,@dai"))
        assert "line 3" in message
        assert "2 of the 3 cells" in message

    def test_an_unquoted_comma_is_named(self):
        message = refusal(io.StringIO("id,cron\na,0,30 * * * *\n"))
        assert "line 2" in message
        assert "quotes" in message

    def test_an_open_quote_is_named(self):
        assert "line 2" in refusal(io.StringIO('id,cron\na,"@daily\n'))

    def test_a_cell_beyond_all_measure_is_named(self):
        assert "line 2" in refusal(io.StringIO("id,cron\na," + "x" * 200_000))

    def test_undecodable_bytes_name_line_and_byte(self):
        message = refusal(io.BytesIO(b"id,cron\nk\xe4se,@daily\n"))
        assert "line 2" in message
        assert "0xe4" in message
        assert "cp1252" in message

    def test_utf_16_without_a_mark_is_recognised(self):
        assert "utf-16-le" in refusal(io.BytesIO("id,cron\na,@daily\n".encode("utf-16-le")))

    @pytest.mark.parametrize("name", ["klingon", "hex"])
    def test_an_unknown_encoding(self, name):
        assert repr(name) in refusal(io.BytesIO(b"cron\n@daily\n"), encoding=name)

    def test_repeated_ids_name_their_lines_and_how_many_more(self):
        text = "id,cron\na,@daily\nb,@daily\na,@hourly\nb,@hourly\n"
        message = refusal(io.StringIO(text))
        assert "'a' stands in lines 2, 4" in message
        assert "1 more" in message

    def test_a_made_id_may_not_meet_a_given_one(self):
        assert "'row-2'" in refusal(io.StringIO("id,cron\nrow-2,@daily\n,@daily\n"))

    def test_a_heading_twice(self):
        assert "'cron' twice" in refusal(io.StringIO("cron,cron\n@daily,@daily\n"))

    @pytest.mark.parametrize(
        "cell", ["soon", "-1", "-1h", "1.5", "9" * 40, str(MAX_TIMEOUT_MS + 1)]
    )
    def test_a_timeout_that_is_none_names_its_line(self, cell):
        message = refusal(io.StringIO(f"cron,promise_timeout\n@daily,1h\n@daily,{cell}\n"))
        assert "line 3" in message

    @pytest.mark.parametrize("cell", ["x", "[1]", '"{""a"": 1}"', "[" * 50_000])
    def test_tags_that_are_no_object_of_texts_name_their_line(self, cell):
        assert "line 2" in refusal(io.StringIO(f"cron;promise_tags\n@daily;{cell}\n"))

    def test_more_than_may_be_held_is_refused(self, monkeypatch):
        monkeypatch.setattr(sources, "MAX_BYTES", 10)
        assert "larger" in refusal(io.StringIO("id,cron\na,@daily\n"))


class TestOtherSources:
    def test_a_page_of_schedules_search(self):
        fleet = read_fleet(io.StringIO(json.dumps({"schedules": [SCHEDULE]})))
        assert fleet["id"].tolist() == ["nightly"]
        assert fleet["promise_timeout"].tolist() == [3_600_000]
        assert fleet["promise_tags"].tolist() == [SCHEDULE["promiseTags"]]
        assert fleet["promise_param"].tolist() == [SCHEDULE["promiseParam"]]

    def test_pages_one_after_another_and_a_single_record(self):
        pages = [
            {"schedules": [SCHEDULE], "cursor": "nightly"},
            {"schedule": SCHEDULE | {"id": "two"}},
            [SCHEDULE | {"id": "three"}],
        ]
        text = "\n".join(json.dumps(page, indent=2) for page in pages)
        assert read_fleet(io.StringIO(text))["id"].tolist() == ["nightly", "two", "three"]

    def test_a_last_page_with_a_cursor_is_not_the_whole_fleet(self):
        page = {"schedules": [SCHEDULE], "cursor": "nightly"}
        assert "cursor" in refusal(io.StringIO(json.dumps(page)))

    @pytest.mark.parametrize("text", ['{"schedules": [', "[1]", "[]", "[" * 100_000, '{"a": 1}'])
    def test_json_that_is_no_fleet(self, text):
        refusal(io.StringIO(text))

    def test_half_a_surrogate_pair_is_refused(self):
        assert "surrogate" in refusal(io.StringIO('[{"id": "\\ud800", "cron": "@daily"}]'))

    def test_a_crontab(self, tmp_path):
        path = tmp_path / "jobs.crontab"
        path.write_text(
            "# nightly\nSHELL=/bin/sh\nCRON_TZ=UTC\n\n0 2 * * * backup --all\n@daily sweep\n"
        )
        fleet = read_fleet(path)
        assert fleet["id"].tolist() == ["line-5", "line-6"]
        assert fleet["cron"].tolist() == ["0 2 * * *", "@daily"]
        assert fleet["command"].tolist() == ["backup --all", "sweep"]

    def test_a_zone_line_holds_for_the_lines_after_it(self):
        text = "0 1 * * * a\nCRON_TZ=America/New_York\n0 2 * * * b\nTZ=Asia/Tokyo\n0 3 * * * c\n"
        fleet = read_fleet(io.StringIO(text), format="crontab")
        assert fleet["zone"].tolist() == ["", "America/New_York", "America/New_York"]
        expressions, reasons = compile_fleet(fleet, "resonate")
        assert [one is None for one in expressions] == [False, True, True]
        assert "UTC only" in reasons[1]

    @pytest.mark.parametrize("text", ["0 2 * * *\n", "@daily\n", "# nothing\n"])
    def test_a_crontab_line_without_a_command(self, text):
        refusal(io.StringIO(text), format="crontab")

    def test_parquet_gives_back_what_was_written(self, tmp_path):
        pytest.importorskip("pyarrow")
        path = tmp_path / "fleet.parquet"
        frame = csv("id,cron,promise_timeout\na,@daily,1h\nb,@hourly,\n")
        frame.to_parquet(path)
        pd.testing.assert_frame_equal(read_fleet(path), frame)

    @pytest.mark.parametrize("as_map", [False, True])
    def test_tags_come_back_from_parquet_as_they_were(self, tmp_path, as_map):
        # As structs each row has the keys of all rows, as maps it is a list of pairs.
        pa = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        tags = [
            {"resonate:target": "poll://any@a", "team": "ops"},
            {"resonate:timer": "true"},
            None,
        ]
        kind = pa.map_(pa.string(), pa.string()) if as_map else None
        table = pa.table(
            {
                "id": ["a", "b", "c"],
                "cron": ["@daily"] * 3,
                "promise_tags": pa.array([each and list(each.items()) for each in tags], kind)
                if as_map
                else pa.array(tags),
            }
        )
        parquet.write_table(table, tmp_path / "fleet.parquet")
        for source in (tmp_path / "fleet.parquet", tmp_path):
            assert read_fleet(source)["promise_tags"].tolist() == tags

    def test_a_tag_that_is_null_on_the_wire_is_refused(self):
        record = {"id": "a", "cron": "@daily", "promiseTags": {"team": None}}
        assert "record 1" in refusal(io.StringIO(json.dumps([record])))

    @pytest.mark.parametrize("size", [0, 8, 400])
    def test_a_damaged_parquet_file_in_one_sentence(self, tmp_path, size):
        pytest.importorskip("pyarrow")
        path = tmp_path / "fleet.parquet"
        csv("id,cron\na,@daily\n").to_parquet(path)
        path.write_bytes(path.read_bytes()[:size])
        for source in (path, tmp_path):
            said = refusal(source)
            assert said.endswith("is it only half written?")
            assert ". " not in said.replace("fleet.parquet", "")

    @pytest.mark.parametrize("start", [b"\x1f\x8b\x08", b"PK\x03\x04\xff", b"\x28\xb5\x2f\xfd"])
    def test_a_compressed_file_says_so(self, start):
        assert "unpack it" in refusal(io.BytesIO(start + b"\xff"))

    def test_text_in_place_of_a_path(self):
        assert "StringIO" in refusal("cron\n@daily\n")

    def test_an_unknown_format(self):
        assert "'xml'" in refusal(io.StringIO("x"), format="xml")

    @pytest.mark.parametrize("source", [None, 5, ["@daily"], b"cron\n@daily"])
    def test_what_is_no_source_is_a_type_error(self, source):
        with pytest.raises(TypeError, match="DataFrame"):
            read_fleet(source)

    def test_a_file_that_is_not_there(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            read_fleet(tmp_path / "none.csv")


class TestFrames:
    def test_an_index_with_a_name_is_a_column_unless_there_is_one(self):
        frame = pd.DataFrame({"id": ["a"], "cron": ["@daily"]})
        assert read_fleet(frame.set_index("id"))["id"].tolist() == ["a"]
        assert read_fleet(frame.set_index(["cron", "id"]))["cron"].tolist() == ["@daily"]
        assert read_fleet(frame.set_index("id", drop=False))["id"].tolist() == ["a"]

    @pytest.mark.parametrize("head", ["Time Zone", "tz", "cron_timezone", "TIME_ZONE_ID"])
    def test_a_zone_goes_by_the_names_that_systems_give_it(self, head):
        fleet = read_fleet(pd.DataFrame({"id": ["a"], "cron": ["@daily"], head: ["Asia/Tokyo"]}))
        assert fleet["zone"].tolist() == ["Asia/Tokyo"]

    def test_a_frame_is_copied_and_numbered_anew(self):
        frame = pd.DataFrame({"cron": ["@daily", "@hourly"]}, index=[7, 3])
        fleet = read_fleet(frame)
        assert list(fleet.index) == [0, 1]
        assert list(frame) == ["cron"]

    def test_reading_twice_changes_nothing(self):
        frame = pd.DataFrame(
            {
                "id": [1, 2],
                "expr": ["@daily", None],
                "promise_timeout": [1.0, np.nan],
                "promise_tags": [{"a": "b"}, None],
                "team": ["x", None],
            }
        )
        once = read_fleet(frame)
        pd.testing.assert_frame_equal(read_fleet(once), once)
        assert once["id"].tolist() == ["1", "2"]
        assert once["cron"].tolist() == ["@daily", ""]
        assert once["promise_timeout"].dtype == "Int64"

    def test_an_empty_frame_is_an_empty_fleet(self):
        fleet = read_fleet(pd.DataFrame({"id": [], "cron": []}))
        assert len(fleet) == 0
        assert list(fleet) == ["id", "cron"]

    def test_cells_that_are_no_text_are_named(self):
        assert "row 2" in refusal(pd.DataFrame({"cron": ["@daily", 5]}))
        assert "row 1" in refusal(pd.DataFrame({"id": [1.5], "cron": ["@daily"]}))
        assert "row 1" in refusal(pd.DataFrame({"cron": ["@daily"], "promise_timeout": [True]}))

    @given(
        st.lists(
            st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=20, unique=True
        )
    )
    def test_csv_gives_back_any_text(self, texts):
        kept = [text for text in texts if text.strip()]
        frame = pd.DataFrame({"id": [f"s{n}" for n in range(len(kept))], "cron": kept})
        if not kept:
            return
        out = io.StringIO()
        frame.to_csv(out, index=False, quoting=1)
        assert csv(out.getvalue())["cron"].tolist() == kept

    @given(st.text(max_size=60))
    def test_any_text_is_read_or_refused_in_one_sentence(self, text):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                rows = len(csv(text))
            except FleetError as error:
                said = str(error)
                rows = 0
        assert rows > 0 or said.count("\n") == 0

    @pytest.mark.parametrize(
        "missing",
        [
            None,
            pd.NA,
            pd.NaT,
            float("nan"),
            np.datetime64("NaT", "ms"),
            np.timedelta64("NaT", "ms"),
        ],
        ids=repr,
    )
    def test_a_missing_cell_is_a_blank_one_in_any_column(self, missing):
        cells = np.array([missing, None], dtype=object)
        columns = ("promise_id", "promise_timeout", "promise_tags", "promise_param", "dialect")
        frame = pd.DataFrame({"id": cells, "cron": ["@daily"] * 2} | dict.fromkeys(columns, cells))
        fleet = read_fleet(frame)
        assert fleet["id"].tolist() == ["row-1", "row-2"]
        assert fleet["promise_timeout"].isna().all()
        assert fleet["promise_tags"].tolist() == [None, None]
        assert fleet["dialect"].tolist() == ["", ""]

    def test_timeouts_may_be_a_column_of_durations_with_gaps(self):
        frame = pd.DataFrame({"cron": ["@daily"] * 2})
        frame["promise_timeout"] = pd.to_timedelta(["1h", None])
        assert read_fleet(frame)["promise_timeout"].fillna(-1).tolist() == [3_600_000, -1]

    def test_ids_that_are_numbers_stay_whole_beside_a_blank_one(self):
        frame = pd.DataFrame({"id": [1, None, 3], "cron": ["@daily"] * 3})
        assert frame["id"].dtype == float
        assert read_fleet(frame)["id"].tolist() == ["1", "row-2", "3"]
        assert "1.5" in refusal(frame.assign(id=[1.5, 2, 3]))


class TestCompile:
    def test_equal_texts_share_one_expression(self):
        fleet = csv("cron\n@daily\n@daily\nx\n")
        expressions, reasons = compile_fleet(fleet, "resonate")
        assert expressions[0] is expressions[1]
        assert expressions[2] is None
        assert [bool(reason) for reason in reasons] == [False, False, True]

    def test_the_dialect_column_has_the_last_word(self):
        fleet = csv("cron,dialect\n0 0 0 L * ?,quartz\n0 0 0 L * ?,\n0 0 * * *,posix\n")
        expressions, reasons = compile_fleet(fleet, "resonate")
        assert expressions[0].dialect == "quartz"
        assert "'quartz'" in reasons[1]
        assert "'posix'" in reasons[2]

    def test_a_blank_cell_says_so(self):
        assert "blank" in compile_fleet(csv("id,cron\na,\n"), "resonate")[1][0]
