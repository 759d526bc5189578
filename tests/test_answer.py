"""answer: every result is a page, Markdown, CSV and a picture, and frames stay frames."""

import csv
import io
import pickle
import re

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

import resonate_lab as rl
from resonate_lab import _html, frames
from resonate_lab.whatif.answer import Answer, AnswerFrame, counted

DOWN = ("2024-01-01 00:10", "2024-01-01 06:10")
DAY = ("2024-01-01", "2024-01-01 23:59:59")
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</style><script>alert(1)</script>",
    "' onmouseover='alert(1)",
    "\u202egnp.exe",
    "=cmd|' /C calc'!A0",
    "x" * 10_000,
    "$\\frac{",
    "a|b\\|c",
    "`` ` ``",
    "@everyone #1 https://x.example [a](javascript:b)",
    "- item\n\n# head",
    "+1",
    "\ttab",
]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def answers(fleet):
    """Return each kind of answer to questions about a fleet; by its name."""
    load = rl.load(fleet, *DAY)
    return {
        "outage": rl.what_if(fleet, DOWN),
        "queue": rl.what_if(fleet, DOWN, workers=2, run_time="90s").queue,
        "longest outage": rl.longest_outage(fleet, DOWN[0], limit="2d"),
        "load": load,
        "peaks": rl.peaks(load),
        "collisions": rl.collisions(fleet, *DAY, run_time="1s"),
        "spread": rl.spread(fleet, *DAY, bound=1, within="5min"),
        "policies": rl.policies.compare(fleet, DOWN),
        "audit": rl.audit(fleet, after=DAY[0]),
        "to_utc": rl.to_utc("0 9 * * MON-FRI", "Europe/Berlin", 2026),
        "local_view": rl.local_view("0 9 * * MON-FRI", "Europe/Berlin", 2026),
    }


def fleet_of(ids, crons):
    return pd.DataFrame({"id": ids, "cron": crons}, dtype=str)


FLEETS = {
    "three": fleet_of(["a", "b", "c"], ["0 9 * * 1-5", "0 * * * *", "*/5 * * * *"]),
    "one": fleet_of(["a"], ["0 9 * * *"]),
    "none": fleet_of([], []),
    "refused": fleet_of(["a", "b"], ["nonsense", "0 9 * * 0"]),
    "many": fleet_of(
        [f"s{n}" for n in range(3000)], [f"{n % 60} {n % 24} * * *" for n in range(3000)]
    ),
    "hostile": fleet_of(
        [*HOSTILE, *(f"bad-{n}" for n in range(len(HOSTILE)))],
        [*["*/30 * * * *"] * len(HOSTILE), *HOSTILE],
    ),
}
KINDS = sorted(answers(FLEETS["one"]))
FRAMES = ["audit", "local_view", "peaks", "policies", "to_utc"]


@pytest.fixture(scope="module", params=FLEETS)
def asked(request):
    return answers(FLEETS[request.param])


@pytest.fixture(scope="module")
def three():
    return answers(FLEETS["three"])


def bare(markdown):
    """Return Markdown without its code, which does nothing whatever it holds."""
    return re.sub(r"<code>(?:[^<>|`\n])*</code>|`[^`\n]*`", "", markdown)


class TestEveryAnswer:
    @pytest.mark.parametrize("kind", KINDS)
    def test_is_a_page_with_one_heading_and_one_picture(self, asked, kind):
        page = asked[kind].to_html()
        assert page.count("<h1>") == page.count("<img ") == 1
        assert "data:image/png;base64," in page

    @pytest.mark.parametrize("kind", KINDS)
    def test_is_markdown_whose_rows_have_a_cell_for_each_heading(self, asked, kind):
        text = asked[kind].to_markdown()
        assert text.startswith("### ")
        for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            assert len({line.count("|") for line in block.splitlines()}) == 1
            assert len(block.splitlines()) <= 17

    @pytest.mark.parametrize("kind", KINDS)
    def test_fits_into_a_comment_and_nothing_in_it_is_active(self, asked, kind):
        text = asked[kind].to_markdown()
        assert len(text) < 65_536
        for line in bare(text).splitlines():
            words = line.removeprefix("### ").replace("**", "").replace("|", "")
            assert not re.search(r"[<>@#&`*_\\\[\]$~]|https?:|www\.", words)

    @pytest.mark.parametrize("kind", KINDS)
    def test_is_csv_with_every_row_and_no_formula(self, asked, kind):
        text = asked[kind].to_csv()
        rows = list(csv.reader(io.StringIO(text, newline="")))
        assert len(rows) == len(asked[kind]._main()) + 1
        texts = [cell for row in rows for cell in row if not re.fullmatch(r"-?[\d.]+", cell)]
        assert not [cell for cell in texts if cell[:1] in ("=", "+", "-", "@", "\t", "\r")]

    @pytest.mark.parametrize("kind", KINDS)
    def test_draws_on_the_axes_given_and_shows_nothing(self, asked, kind, monkeypatch):
        monkeypatch.setattr(plt, "show", lambda: pytest.fail("shown"))
        figure = Figure()
        ax = figure.subplots()
        assert asked[kind].plot(ax=ax) is ax
        figure.savefig(io.BytesIO(), format="svg")

    @pytest.mark.parametrize("kind", KINDS)
    def test_says_its_sentence_on_the_page_and_in_markdown(self, three, kind):
        said = three[kind].headline()
        assert isinstance(three[kind], Answer)
        assert _html.escape(said[1:], None) in three[kind].to_html()
        assert _html.markdown(said, None)[1:] in three[kind].to_markdown()

    @pytest.mark.parametrize("kind", KINDS)
    def test_writes_what_it_returns_to_a_path_or_a_file(self, three, kind, tmp_path):
        answer = three[kind]
        for name, how in (("a.html", answer.to_html), ("a.md", answer.to_markdown)):
            path, file = tmp_path / name, io.StringIO()
            assert how(path) == path.read_text(encoding="utf-8") == how(file) == file.getvalue()
        answer.to_csv(tmp_path / "a.csv")
        assert (tmp_path / "a.csv").read_bytes().decode() == answer.to_csv()


class TestWhatAReaderSees:
    def test_numbers_have_separators_durations_and_instants_are_words(self):
        fleet = fleet_of(["a"], ["*/2 * * * * *"])
        text = rl.what_if(fleet, ("2024-01-01", "2024-01-01 12:00")).to_markdown()
        assert "| `a` | `*/2 * * * * *` | 21,600 | 1,800 | 19,800 | 0 | 11 h 59 min |" in text
        assert "| 2024-01-01 12:00:02Z |" in text

    def test_missing_numbers_leave_a_column_of_numbers_as_it_is(self, three):
        text = three["policies"].to_markdown()
        assert "|---|---:|---:|---|---|---:|---|---|" in text

    def test_rows_that_are_not_shown_are_counted(self):
        what = rl.what_if(FLEETS["many"], DOWN)
        assert "and 2,985 more" in what.to_markdown()
        assert "and 2,960 more" in what.to_html()

    def test_the_largest_rows_are_shown_and_the_file_keeps_the_order(self, three):
        shown = re.findall(r"^\| `(\w)`", three["outage"].to_markdown(), re.MULTILINE)
        assert shown == ["c", "b", "a"]
        assert pd.read_csv(io.StringIO(three["outage"].to_csv()))["schedule_id"].tolist() == [
            "a", "b", "c",
        ]  # fmt: skip

    def test_refused_rows_have_a_table_of_their_own(self):
        for kind, answer in answers(FLEETS["refused"]).items():
            if kind in ("outage", "load", "collisions", "spread", "policies"):
                assert "Refused by Resonate" in answer.to_markdown()

    def test_a_table_without_rows_says_so(self):
        assert answers(FLEETS["none"])["outage"].to_markdown().endswith("\nnone\n")

    def test_one_and_many_take_their_word(self):
        assert (counted(1, "tick"), counted(2000, "tick")) == ("1 tick", "2,000 ticks")


class TestFramesStayFrames:
    @pytest.mark.parametrize("kind", FRAMES)
    def test_they_equal_plain_ones_and_survive_copies_joins_pickle_and_parquet(self, three, kind):
        answer = three[kind]
        plain = pd.DataFrame(answer)
        assert type(plain) is pd.DataFrame
        pd.testing.assert_frame_equal(answer, plain)
        for again in (answer.copy(), pickle.loads(pickle.dumps(answer)), answer.iloc[:]):
            assert type(again) is type(answer)
            pd.testing.assert_frame_equal(again, answer)
        out = io.BytesIO()
        stored = answer.copy()
        stored.attrs.clear()  # Timestamps in attrs are no JSON, which Parquet wants
        stored.to_parquet(out)
        assert pd.read_parquet(out).columns.tolist() == answer.columns.tolist()
        assert len(pd.concat([answer, answer]).to_markdown()) > 100

    @pytest.mark.parametrize("kind", FRAMES)
    def test_some_of_the_rows_and_more_columns_are_an_answer_still(self, three, kind):
        for part in (three[kind].head(1), three[kind].iloc[:0], three[kind].assign(more=1)):
            assert isinstance(part, AnswerFrame)
            assert part.to_markdown().startswith("### ")
            assert part.to_html().startswith("<!DOCTYPE html>")

    def test_without_a_column_or_with_other_types_they_are_as_in_pandas(self, three):
        for part in (three["audit"][["id"]], three["audit"].isna(), three["audit"].set_index("id")):
            assert part.to_html() == pd.DataFrame(part).to_html()
        assert three["audit"][["fields"]].plot().get_legend() is not None

    def test_arguments_of_pandas_mean_what_they_mean_there(self, three):
        audited = three["audit"]
        plain = pd.DataFrame(audited)
        assert audited.to_html(index=False) == plain.to_html(index=False)
        assert audited.to_csv(index=False, sep=";", columns=["id", "fields"]) == (
            "id;fields\r\na;5\r\nb;5\r\nc;5\r\n"
        )
        assert audited.to_csv(columns=["id"], index=True) == ",id\r\n0,a\r\n1,b\r\n2,c\r\n"
        assert (
            audited.set_index("id").to_csv(columns=["fields"])
            == "id,fields\r\na,5\r\nb,5\r\nc,5\r\n"
        )
        assert len(audited.plot.bar(y="fields").patches) == len(audited)
        assert len(audited.plot(kind="bar", y="fields").patches) == len(audited)

    def test_a_load_stays_a_series(self, three):
        load = three["load"]
        by_hour = load.groupby(load.index.hour).mean()
        assert by_hour.plot().lines[0].get_xdata().tolist() == list(range(24))
        assert load.to_csv().startswith("start,ticks\r\n2024-01-01 00:00:00+00:00,2\r\n")
        assert load.resample("1h").sum().to_markdown().startswith("### ")
        assert (load * 2).headline().startswith("626 ticks of 3 schedules")

    def test_joined_frames_have_lost_what_was_asked_and_say_so(self, three):
        view = three["local_view"].copy()
        view.attrs.clear()
        with pytest.raises(rl.ResonateLabError, match=r"expression any more: ask local_view\(\)"):
            view.plot()
        assert view.headline().startswith("on the wall clock: 2 expressions")


class TestMarkdown:
    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("*/5 * * * *", "`*/5 * * * *`"),
            ("", ""),
            ("a|b", "<code>a&#124;b</code>"),
            ("`", "<code>&#96;</code>"),
            (" x", "<code>&#32;x</code>"),
            ("a\\", "<code>a&#92;</code>"),
            ("a\nb", "<code>a&#92;nb</code>"),
            ("<b>", "`<b>`"),
        ],
    )
    def test_code_shows_what_the_text_holds(self, text, shown):
        assert _html.code(text) == shown

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("its author's words stay", "its author's words stay"),
            ("ask @ops", "ask `@ops`"),
            ("('0 9 * * 8') fires", "(`'0 9 * * 8'`) fires"),
            ("see https://a.example/b", "see `https://a.example/b`"),
            ("at 00:05:00Z", "at 00:05:00Z"),
            ("a :tada: b", "a `:tada:` b"),
        ],
    )
    def test_sentences_keep_their_words(self, text, shown):
        assert _html.markdown(text) == shown

    @given(st.text(max_size=60))
    def test_nothing_outside_code_is_active(self, text):
        for written in (_html.code(text), _html.markdown(text)):
            assert "\n" not in written
            assert "|" not in written
            assert not re.search(r"[<>@#&`*_\\\[\]$~]|://|www\.", bare(written), re.IGNORECASE)


class TestCsv:
    def test_index_names_categories_and_headings_are_no_formulas(self):
        frame = pd.DataFrame(
            {"=h": pd.Categorical(["+1"]), "n": [-1]}, index=pd.Index(["@x"], name="-i")
        )
        assert frames.write_csv(frame) == "'-i,'=h,n\r\n'@x,'+1,-1\r\n"
