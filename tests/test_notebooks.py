"""Every notebook runs from top to bottom in a fresh kernel, and keeps the rules of the house."""

import ast
import re
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
# File name -> what a reader may have: a crontab, a job that nothing befalls, none that is accepted.
OTHER_FLEETS = {
    "crontab": "*/5 * * * * poll\n0 9 * * 1-5 report\n0 0 * * 0 backup\n",
    "rare,.csv": "id,cron,owner\nleap,0 0 29 2 *,me\n",
    "refused,.csv": "id,cron\na,0 0 30 2 *\nb,61 * * * *\n",
}
MOST_LINES = 12
MOST_LINES_OF_A_FUNCTION = 5
SECONDS_A_CELL = 60  # a whole notebook is to take no more; a cell that hangs ends here


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem, scope="module")
def path(request) -> Path:
    return request.param


@pytest.fixture(scope="module")
def notebook(path):
    return nbformat.read(path, as_version=4)


@pytest.fixture(scope="module")
def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def tree(cell) -> ast.Module:
    return ast.parse(cell.source)


def test_there_is_at_least_one():
    assert NOTEBOOKS


class TestCourse:
    def test_is_numbered_without_a_gap(self):
        numbers = [int(path.name[:2]) for path in NOTEBOOKS]
        assert numbers == list(range(1, len(NOTEBOOKS) + 1))

    @pytest.mark.parametrize("form", OTHER_FLEETS)
    def test_the_last_takes_a_file_of_the_readers_and_its_accounts_balance(
        self, form, tmp_path, monkeypatch
    ):
        """Without a kernel: the cells one after the other, on other fleets than the example."""
        path = tmp_path / form
        path.write_text(OTHER_FLEETS[form], encoding="utf-8")
        monkeypatch.chdir(FOLDER)
        names: dict[str, object] = {}
        for cell in nbformat.read(NOTEBOOKS[-1], as_version=4).cells:
            if cell.cell_type == "code":
                source = re.sub(
                    r'^FILE = "[^"]*"', f"FILE = {str(path)!r}", cell.source, flags=re.M
                )
                exec(compile(source, cell.id, "exec"), names)
        plt.close("all")
        assert names["FILE"] == str(path)
        assert len(names["fleet"]) == len(OTHER_FLEETS[form].splitlines()) - ("," in form)


class TestForm:
    def test_is_valid_with_ids_and_the_kernel_of_the_environment(self, notebook):
        nbformat.validate(notebook)
        assert notebook.nbformat_minor >= 5
        assert notebook.metadata.kernelspec.name == "python3"

    def test_its_title_is_a_question_and_its_name_the_same_in_short(self, path, notebook):
        first = notebook.cells[0]
        title = first.source.splitlines()[0]
        assert first.cell_type == "markdown"
        assert re.fullmatch(r"# [A-Z].*\?", title)
        slug = "_".join(re.findall(r"[a-z0-9]+", title.lower()))
        assert re.fullmatch(rf"\d\d_{slug}", path.stem)

    def test_is_stored_without_outputs_and_counts(self, code):
        assert [cell.id for cell in code if cell.outputs or cell.execution_count] == []

    def test_its_first_code_cell_sets_up_and_is_hidden_and_no_other_imports(self, code):
        importing = [
            cell.id
            for cell in code
            if any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(tree(cell)))
        ]
        assert importing == [code[0].id]
        assert code[0].metadata.tags == ["hide"]
        assert re.search(r"[12]\d{3}-\d\d-\d\dT\d\d:\d\d", code[0].source), "no fixed instant"

    def test_no_cell_is_long_and_no_function_is(self, code):
        assert [cell.id for cell in code if len(cell.source.splitlines()) > MOST_LINES] == []
        functions = [
            node
            for cell in code
            for node in ast.walk(tree(cell))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        ]
        long = [f.name for f in functions if f.end_lineno - f.lineno >= MOST_LINES_OF_A_FUNCTION]
        assert long == []

    def test_installs_nothing_downloads_nothing_and_stays_in_the_clone(self, code):
        source = "\n".join(cell.source for cell in code)
        assert not re.search(r"^\s*[!%]", source, re.MULTILINE)
        assert not re.search(r"https?://|\bpip\b|['\"](/|~)", source)
        places = re.findall(r"['\"](\.\./[^'\"]*)", source)
        assert all(place.startswith("../examples/") for place in places)
        assert all((FOLDER / place).is_file() for place in places)

    def test_reads_no_clock(self, code):
        source = "\n".join(cell.source for cell in code)
        assert not re.search(r"\bnow\(\)|\btoday\(|\btime\(\)|\bdatetime\b", source)

    def test_words_stand_before_every_picture_and_every_widget(self, notebook):
        cells = notebook.cells
        bare = [
            cell.id
            for before, cell in pairwise(cells)
            if cell.cell_type == "code"
            and re.search(r"\.plot\(|plots\.|widgets\.", cell.source)
            and before.cell_type != "markdown"
        ]
        assert bare == []

    def test_each_widget_is_followed_by_its_static_twin(self, code):
        for cell, after in zip(code, [*code[1:], None], strict=True):
            made = re.search(r"(\w+) = rl\.widgets\.", cell.source)
            assert not made or after.source == f"{made[1]}.static()"

    def test_its_last_cell_asserts_the_answer(self, notebook, code):
        assert notebook.cells[-1] is code[-1]
        assert any(isinstance(node, ast.Assert) for node in tree(code[-1]).body)


@pytest.fixture(scope="module")
def executed(notebook):
    """Return the notebook as a fresh kernel leaves it."""
    with pytest.MonkeyPatch.context() as patch:
        # The kernel is to draw into the page, as it does for a reader.
        patch.delenv("MPLBACKEND", raising=False)
        client = NotebookClient(
            nbformat.from_dict(notebook),
            extra_arguments=["--log-level=ERROR"],
            timeout=SECONDS_A_CELL,
            kernel_name="python3",
            resources={"metadata": {"path": str(FOLDER)}},
        )
        return client.execute()


def outputs(notebook, kind):
    code = (cell for cell in notebook.cells if cell.cell_type == "code")
    return [output for cell in code for output in cell.outputs if output.output_type == kind]


class TestExecution:
    def test_runs_from_top_to_bottom_without_a_complaint(self, executed):
        assert all(cell.execution_count for cell in executed.cells if cell.cell_type == "code")
        streams = outputs(executed, "stream")
        assert [stream.text for stream in streams if stream.name == "stderr"] == []

    def test_shows_nothing_that_hangs_on_the_day(self, executed):
        """An expression shows itself with its next ticks from the present on."""
        shown = outputs(executed, "execute_result")
        assert [data for data in shown if "in your zone" in data.data.get("text/html", "")] == []

    def test_shows_a_picture(self, executed):
        assert any("image/png" in shown.data for shown in outputs(executed, "display_data"))

    def test_shows_without_a_kernel_what_its_widgets_show(self, executed):
        results = [shown.data for shown in outputs(executed, "execute_result")]
        widgets = [data for data in results if "application/vnd.jupyter.widget-view+json" in data]
        twins = [data for data in results if 'role="status"' in data.get("text/html", "")]
        assert len(widgets) == len(twins)
