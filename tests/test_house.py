"""The house: who may import whom, what loads when, and what may lie in the repository.

The plan and its reasons stand in docs/design.md, "The house".
"""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = "resonate_lab"

# Every module and its floor. Arrows point down: a module imports from lower floors, and from its
# own room (the folder it stands in). A new file needs a row here before it may exist.
FLOORS = {
    "errors": 0,
    "instants": 0,
    "_html": 0,
    "_fastcron": 0,
    "cron": 1,
    "cron.expression": 1,
    "cron.reading": 1,
    "cron.explain": 1,
    "cron.mend": 1,
    "cron.lint": 1,
    "cron.lint.finding": 1,
    "cron.lint.days": 1,
    "cron.lint.years": 1,
    "cron.lint.steps": 1,
    "cron.lint.writing": 1,
    "cron.crontab": 1,
    "cron.translation": 1,
    "cron.comparison": 1,
    "cron.elsewhere": 1,
    "cron.offsets": 1,
    "cron.moving": 1,
    "cron.localtime": 1,
    "protocol": 1,
    "protocol.records": 1,
    "protocol.shapes": 1,
    "protocol.texts": 1,
    "protocol.requests": 1,
    "protocol.profile": 1,
    "engine": 2,
    "engine.rows": 2,
    "engine.agenda": 2,
    "engine.index": 2,
    "engine.outbox": 2,
    "engine.state": 2,
    "engine.settlement": 2,
    "engine.internal": 2,
    "engine.runs": 2,
    "engine.replies": 2,
    "engine.promises": 2,
    "engine.tasks": 2,
    "engine.searches": 2,
    "engine.external": 2,
    "engine.face": 2,
    "engine.laws": 2,
    "engine.laws.picture": 2,
    "engine.laws.catalogue": 2,
    "engine.laws.promise": 2,
    "engine.laws.task": 2,
    "engine.laws.schedule": 2,
    "engine.laws.obligations": 2,
    "engine.laws.outbox": 2,
    "engine.laws.wire": 2,
    "engine.saved": 2,
    "engine.saved.file": 2,
    "engine.saved.content": 2,
    "engine.saved.columns": 2,
    "engine.tree": 2,
    "engine.engine": 2,
    "course": 2,
    "frames": 3,
    "frames.records": 3,
    "frames.style": 3,
    "whatif": 4,
    "whatif.outage": 4,
    "whatif.catchup": 4,
    "whatif.chains": 4,
    "whatif.polls": 4,
    "whatif.question": 4,
    "whatif.following": 4,
    "whatif.starts": 4,
    "whatif.queue": 4,
    "whatif.longest": 4,
    "whatif.fleet": 4,
    "whatif.sources": 4,
    "whatif.crontab_file": 4,
    "whatif.manifests": 4,
    "whatif.moved": 4,
    "whatif.live": 4,
    "whatif.audit": 4,
    "whatif.judged": 4,
    "whatif.answer": 4,
    "whatif.report": 4,
    "whatif.zones": 4,
    "whatif.systems": 4,
    "whatif.policies": 4,
    "whatif.bins": 4,
    "whatif.tally": 4,
    "whatif.load": 4,
    "whatif.collisions": 4,
    "whatif.later": 4,
    "whatif.placement": 4,
    "whatif.spread": 4,
    "whatif.partitions": 4,
    "whatif.combined": 4,
    "plots": 4,
    "plots.drawing": 4,
    "plots.timeline": 4,
    "plots.policies": 4,
    "plots.bins": 4,
    "plots.heat": 4,
    "plots.load": 4,
    "plots.audit": 4,
    "plots.collisions": 4,
    "plots.peaks": 4,
    "plots.zones": 4,
    "plots.backlog": 4,
    "plots.endurance": 4,
    "plots.lifelines": 4,
    "plots.calls": 4,
    "plots.profiles": 4,
    "plots.states": 4,
    "plots.strips": 4,
    "widgets": 5,
    "widgets.base": 5,
    "widgets.beside": 5,
    "widgets.canvas": 5,
    "widgets.explorer": 5,
    "widgets.outage": 5,
    "widgets.machine": 5,
    "widgets.tags": 5,
    "widgets.load": 5,
    "widgets.timeline": 5,
    "clients": 5,
    "clients.importer": 5,
    "clients.admission": 5,
    "clients.delivery": 5,
    "clients.driver": 5,
    "clients.sdk": 5,
    "clients.http": 5,
    "clients.server": 5,
    "clients.fixture": 5,
    "cli": 6,
    "cli.program": 6,
    "cli.options": 6,
    "cli.show": 6,
    "cli.cron": 6,
    "cli.fleets": 6,
    "cli.engines": 6,
    "cli.records": 6,
    "cli.demo": 6,
    "cli.serve": 6,
    "__main__": 6,
    "": 6,  # resonate_lab/__init__.py, the door: it shows what stands behind it
}

# Arrows between rooms of one floor.
SIDEWAYS = {("instants", "errors"), ("whatif", "plots")}

# Rooms that may import less than what lies below them.
ONLY = {
    "_html": set(),
    "plots": {"errors", "instants", "_html"},
}

# The compiled core has one importer.
SOLE_IMPORTERS = {"_fastcron": {"cron.expression"}}

# What is not of the standard library: who may import it. "lazy" is inside a function only, so
# that the rooms below stay light; "top" is anywhere in the file. A room stands for its files.
THIRD_PARTY = {
    "numpy": {
        "cron.expression": "top",
        "frames": "top",
        "whatif": "top",
        "plots": "top",
        "widgets.canvas": "top",
    },
    "pandas": {
        "cli": "lazy",
        "instants": "lazy",
        "cron.expression": "lazy",
        "frames": "top",
        "whatif": "top",
        "plots": "top",
        "widgets": "top",
    },
    "matplotlib": {"plots": "top", "widgets": "top"},
    "PIL": {"widgets.canvas": "top"},
    "ipywidgets": {"widgets": "top"},
    "IPython": {"widgets": "top"},
    "croniter": {"cron.crontab": "top"},
    "pyarrow": {"whatif": "lazy"},
    "yaml": {"whatif.manifests": "lazy"},
    "dask": {"whatif.partitions": "lazy"},
    "distributed": {"whatif.partitions": "lazy"},
    "tqdm": {"whatif": "top", "cli": "top"},
    "httpx": {"whatif": "lazy"},
    "anyio": {"whatif": "lazy"},
    "rich": {"cli": "top"},
    "click": {"cli": "top"},
    "resonate": {"clients.sdk": "top"},
    "starlette": {"clients.http": "top"},
    "uvicorn": {"clients.server": "top"},
    "pytest": {"clients.fixture": "top"},
}

HEAVY = {
    *("numpy", "pandas", "matplotlib", "ipywidgets", "IPython", "croniter", "tqdm", "rich"),
    *("dask", "distributed", "pyarrow", "httpx", "anyio"),
    *("resonate", "starlette", "uvicorn", "pytest", "asyncio"),
}


@dataclass(frozen=True)
class Import:
    """One import that happens when the program runs (not for type checkers alone)."""

    line: int
    target: str  # a module of the package ("" for the package itself), or a top-level name
    ours: bool
    lazy: bool


def room(module: str) -> str:
    return module.partition(".")[0]


def runtime_imports(source: str, module: str, is_folder: bool) -> Iterator[Import]:
    """Yield the imports of a file of the package, those under TYPE_CHECKING left out."""

    def walk(nodes: Iterable[ast.AST], lazy: bool) -> Iterator[Import]:
        for node in nodes:
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                yield from walk(node.orelse, lazy)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    yield found(node.lineno, alias.name, lazy)
            elif isinstance(node, ast.ImportFrom):
                base = absolute(node)
                for alias in node.names:
                    inner = f"{base}.{alias.name}"
                    is_module = inner.removeprefix(f"{PACKAGE}.") in FLOORS
                    yield found(node.lineno, inner if is_module else base, lazy)
            else:
                inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                yield from walk(ast.iter_child_nodes(node), lazy or inside)

    def absolute(node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        here = [PACKAGE, *module.split(".")] if module else [PACKAGE]
        parts = here[: len(here) - node.level + is_folder]
        return ".".join([*parts, *([node.module] if node.module else [])])

    def found(line: int, name: str, lazy: bool) -> Import:
        if room(name) == PACKAGE:
            return Import(line, name.removeprefix(PACKAGE).removeprefix("."), True, lazy)
        return Import(line, room(name), False, lazy)

    yield from walk(ast.parse(source).body, lazy=False)


def objection(module: str, imported: Import) -> str | None:
    """Return why the house does not allow the import, or None."""
    if not imported.ours:
        return _objection_to_library(module, imported)
    target = imported.target
    if target not in FLOORS:
        return f"{target} has no floor"
    if target in SOLE_IMPORTERS and module not in SOLE_IMPORTERS[target]:
        return f"only {', '.join(SOLE_IMPORTERS[target])} imports {target}"
    only = ONLY.get(room(module))
    if only is not None and room(target) != room(module) and target not in only:
        return f"{module} may import {', '.join(sorted(only)) or 'nothing of the package'}"
    if target == "" and FLOORS[module] < FLOORS[""]:
        return "the package itself is the door, and a room does not go out through it"
    if room(module) == room(target) or (room(module), room(target)) in SIDEWAYS:
        return None
    if FLOORS[target] >= FLOORS[module] and FLOORS[module] < FLOORS[""]:
        return f"{target} (floor {FLOORS[target]}) is not below floor {FLOORS[module]}"
    return None


def _objection_to_library(module: str, imported: Import) -> str | None:
    name = imported.target
    if name in sys.stdlib_module_names:
        return None
    if name not in THIRD_PARTY:
        return f"{name} is neither of the standard library nor in the table of libraries"
    allowed = THIRD_PARTY[name]
    when = allowed.get(module) or allowed.get(room(module))
    if when is None:
        return f"{name} is for {', '.join(allowed)} only"
    if when == "lazy" and not imported.lazy:
        return f"{name} is imported here inside a function only"
    return None


def module_name(path: Path, folder: Path) -> str:
    parts = path.relative_to(folder).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.fixture(scope="module")
def sources(root: Path) -> dict[str, Path]:
    folder = root / PACKAGE
    return {module_name(path, folder): path for path in sorted(folder.rglob("*.py"))}


def imports_of(module: str, path: Path) -> list[Import]:
    source = path.read_text(encoding="utf-8")
    return list(runtime_imports(source, module, path.name == "__init__.py"))


class TestArrows:
    def test_every_file_has_a_floor_and_every_row_a_file(self, sources):
        files = set(sources) | {"_fastcron"}
        assert sorted(files - set(FLOORS)) == [], "files without a row"
        assert sorted(set(FLOORS) - files) == [], "rows without a file"

    def test_every_import_points_down_and_every_library_is_where_it_may_be(self, sources):
        wrong = [
            f"{path.name}:{imported.line} imports {imported.target or PACKAGE}: {reason}"
            for module, path in sources.items()
            for imported in imports_of(module, path)
            if module in FLOORS and (reason := objection(module, imported))
        ]
        assert not wrong, "\n".join(dict.fromkeys(wrong))

    def test_no_circle_of_imports_at_load_time(self, sources):
        arrows = {
            module: {i.target for i in imports_of(module, path) if i.ours and not i.lazy}
            for module, path in sources.items()
        }
        while leaves := {module for module, targets in arrows.items() if not targets & set(arrows)}:
            arrows = {m: targets for m, targets in arrows.items() if m not in leaves}
        assert arrows == {}

    def test_every_library_of_the_table_is_declared_and_used(self, root, sources):
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        extras = [line for lines in project["optional-dependencies"].values() for line in lines]
        lines = project["dependencies"] + extras
        declared = {re.match(r"[\w-]+", line).group() for line in lines}
        declared |= {"yaml"} if "pyyaml" in declared else set()
        used = {i.target for m, path in sources.items() for i in imports_of(m, path) if not i.ours}
        libraries = used - set(sys.stdlib_module_names)
        known_as = {"IPython": "ipywidgets", "PIL": "matplotlib", "resonate": "resonate-sdk"}
        # or brought by it
        assert {known_as.get(name, name) for name in libraries} <= declared
        assert set(THIRD_PARTY) <= libraries


class TestTheLawItself:
    """A check that cannot fail holds nothing: each rule refuses what breaks it."""

    @pytest.mark.parametrize(
        ("module", "source", "token"),
        [
            ("instants", "import pandas", "inside a function"),
            ("cron.expression", "import pandas as pd", "inside a function"),
            ("cron.lint", "def f():\n    import numpy", "cron.expression"),
            ("engine.state", "def f():\n    import pandas as pd", "instants"),
            ("whatif.outage", "from matplotlib import pyplot", "plots, widgets only"),
            ("plots", "from resonate_lab.engine import Engine", "_html"),
            ("plots", "from . import frames", "_html"),
            ("cron.lint", "from resonate_lab._fastcron import Cron", "cron.expression"),
            ("cron.lint", "from .._fastcron import Cron", "cron.expression"),
            ("protocol.records", "from resonate_lab.cron import CronError", "not below"),
            ("engine.engine", "def f():\n    from ..whatif import audit", "not below"),
            ("engine.engine", "from resonate_lab import what_if", "door"),
            ("engine.engine", "import resonate_lab.nowhere", "no floor"),
            ("frames", "import scipy", "neither"),
            ("_html", "from resonate_lab import errors", "nothing of the package"),
            ("cron.lint", "try:\n    import ipywidgets\nfinally: ...", "widgets"),
        ],
    )
    def test_refuses(self, module, source, token):
        (imported,) = runtime_imports(source, module, is_folder=False)
        assert token in objection(module, imported)

    @pytest.mark.parametrize(
        ("module", "source"),
        [
            ("instants", "def f():\n    import pandas"),
            ("cron.expression", "from resonate_lab._fastcron import Cron"),
            ("cron.expression", "from . import lint"),
            ("engine.engine", "from ..cron import CronExpression"),
            ("whatif.outage", "from resonate_lab import frames, plots"),
            ("cli", "from resonate_lab import what_if"),
        ],
    )
    def test_allows(self, module, source):
        for imported in runtime_imports(source, module, is_folder=False):
            assert objection(module, imported) is None

    def test_imports_for_type_checkers_are_free_and_their_else_branch_is_not(self):
        source = "if TYPE_CHECKING:\n    import pandas\nelse:\n    import numpy"
        assert [i.target for i in runtime_imports(source, "cron.lint", False)] == ["numpy"]

    def test_a_folder_counts_its_dots_from_itself(self):
        (imported,) = runtime_imports("from .lint import lint", "cron", is_folder=True)
        assert imported.target == "cron.lint"


class TestWhatLoads:
    def test_importing_the_package_loads_no_heavy_library(self):
        code = "import json, sys, resonate_lab; print(json.dumps(sorted(sys.modules)))"
        command = [sys.executable, "-P", "-c", code]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        loaded = {room(name) for name in json.loads(done.stdout)}
        assert loaded & HEAVY == set()
        assert PACKAGE in loaded

    def test_the_tests_see_the_package_with_its_compiled_core(self, root):
        import resonate_lab
        from resonate_lab import _fastcron

        folder = Path(resonate_lab.__file__).resolve().parent
        installed = "site-packages" in folder.parts
        editable = folder == root / PACKAGE
        assert installed or editable
        assert Path(_fastcron.__file__).resolve().parent == folder
        assert Path(_fastcron.__file__).suffix in {".so", ".pyd"}


class TestRepository:
    LARGEST = 3_000_000
    BINARY = {".gz", ".png", ".parquet"}
    # Spelled in pieces, so that this file passes its own check.
    MACHINE_PATH = re.compile(
        r"(?<![\w.~-])/(root|work|tmp|home|Users)/[\w.]" r"|[.]library" r"|[.]/sha" "red"
    )

    def test_no_file_is_larger_than_three_megabytes(self, project_files):
        assert [p for p in project_files if p.stat().st_size > self.LARGEST] == []

    def test_no_text_names_a_folder_of_one_machine(self, project_files):
        found = [
            f"{path.name}:{number}: {match.group()}"
            for path in project_files
            if path.suffix not in self.BINARY
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
            if (match := self.MACHINE_PATH.search(line))
        ]
        assert found == []

    # What the targets of the Makefile install before they run the files of a folder.
    @pytest.mark.parametrize(
        ("folder", "extras"),
        [("benchmarks", ["bench"]), ("tests", ["test", "browser"]), ("tools", ["docs"])],
    )
    def test_every_library_that_a_folder_imports_is_installed_for_it(self, root, folder, extras):
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        lines = list(project["dependencies"])
        for extra in extras:
            lines += project["optional-dependencies"][extra]
        declared = {re.match(r"[\w-]+", line).group().replace("-", "_") for line in lines}
        files = sorted((root / folder).rglob("*.py"))
        assert files
        used = {i.target for path in files for i in imports_of(path.stem, path) if not i.ours}
        local = {path.stem for path in files} | {"conftest"}
        called = {"resonate": "resonate_sdk", "yaml": "pyyaml"}
        called |= {"PIL": "matplotlib", "traitlets": "ipywidgets"}  # brought by them
        libraries = {called.get(name, name) for name in used - set(sys.stdlib_module_names) - local}
        assert sorted(libraries - declared) == []

    def test_notebooks_are_stored_without_outputs_or_counts(self, project_files):
        left = [
            f"{path.name}: cell {number}"
            for path in project_files
            if path.suffix == ".ipynb"
            for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"])
            if cell["cell_type"] == "code" and (cell["outputs"] or cell["execution_count"])
        ]
        assert left == []
