"""What is shipped: an sdist that builds anywhere, and a wheel that needs no source tree."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

NO_TREE = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def run(*command: object, cwd: Path) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=NO_TREE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(kind: str, source: Path, into: Path) -> Path:
    """Build without isolation: the build tools are of this environment, nothing is fetched."""
    run(sys.executable, "-m", "build", "--no-isolation", kind, "--outdir", into, source, cwd=into)
    (made,) = into.iterdir()
    return made


@pytest.fixture(scope="module")
def sdist(root: Path, project_files: list[Path], tmp_path_factory) -> Path:
    """Return the sdist of a clean copy of the project, as a clone would hold it."""
    copy = tmp_path_factory.mktemp("clone")
    for path in project_files:
        place = copy / path.relative_to(root)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, place)
    return build("--sdist", copy, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def unpacked(sdist: Path, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    run("tar", "xzf", sdist, cwd=folder)  # tarfile's safe filter is younger than Python 3.11
    (top,) = folder.iterdir()
    return top


@pytest.fixture(scope="module")
def wheel(unpacked: Path, tmp_path_factory) -> Path:
    """Return the wheel built from the unpacked sdist, with nothing else at hand."""
    return build("--wheel", unpacked, tmp_path_factory.mktemp("wheel"))


class TestSdist:
    def test_holds_every_file_of_the_project_but_those_of_the_repository_host(
        self, unpacked, root, project_files
    ):
        ours = {str(path.relative_to(root)) for path in project_files}
        shipped = {str(p.relative_to(unpacked)) for p in unpacked.rglob("*") if p.is_file()}
        assert {name for name in ours - shipped if not name.startswith(".")} == set()

    def test_holds_the_core_as_source_and_nothing_that_was_made_from_it(self, unpacked):
        assert (unpacked / "_fastcron.pyx").is_file()
        made = {".c", ".so", ".pyd", ".pyc", ".o"}
        assert [path for path in unpacked.rglob("*") if path.suffix in made] == []


class TestWheel:
    def test_holds_each_module_the_stub_the_marker_and_one_compiled_core(self, wheel, root):
        names = zipfile.ZipFile(wheel).namelist()
        modules = {str(path.relative_to(root)) for path in (root / "resonate_lab").rglob("*.py")}
        assert {name for name in names if name.endswith(".py")} == modules
        beside = {"py.typed", "_fastcron.pyi", "exercises.toml"}
        assert {f"resonate_lab/{name}" for name in beside} <= set(names)
        (core,) = (name for name in names if name.endswith((".so", ".pyd")))
        assert core.startswith("resonate_lab/_fastcron.")

    def test_holds_no_sources_of_the_core_and_nothing_beside_the_package(self, wheel):
        names = zipfile.ZipFile(wheel).namelist()
        assert [name for name in names if name.endswith((".pyx", ".c"))] == []
        tops = {name.split("/")[0] for name in names}
        assert {top for top in tops if not top.endswith(".dist-info")} == {"resonate_lab"}

    def test_carries_the_licence_and_the_command(self, wheel):
        archive = zipfile.ZipFile(wheel)
        (info,) = {n.split("/")[0] for n in archive.namelist() if ".dist-info/" in n}
        metadata = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
        assert metadata["License-Expression"] == "Apache-2.0"
        assert f"{info}/licenses/LICENSE" in archive.namelist()
        assert "resonate-lab = resonate_lab" in archive.read(f"{info}/entry_points.txt").decode()

    def test_imports_and_evaluates_from_an_empty_folder(self, wheel, tmp_path):
        venv.create(tmp_path / "fresh", with_pip=False)
        python = tmp_path / "fresh" / "bin" / "python"
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
        run(*pip, "install", "--no-index", "--no-deps", wheel, cwd=tmp_path)
        # Its dependencies are this environment's. A folder added so comes last on the path and
        # runs no .pth of its own, so neither kind of installation here can stand in for the wheel.
        (site_packages,) = (tmp_path / "fresh" / "lib").glob("python*/site-packages")
        (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
        empty = tmp_path / "empty"
        empty.mkdir()
        # Monday 2024-01-01 00:00 UTC; 1-5 is Sunday to Thursday, so Monday 09:00 is the next.
        code = (
            "import resonate_lab as rl;"
            "print(rl.CronExpression('0 9 * * 1-5').next_ms(1704067200000), rl.__file__)"
        )
        tick, place = run(python, "-c", code, cwd=empty).split(maxsplit=1)
        assert int(tick) == 1704067200000 + 9 * 3_600_000
        assert Path(place.strip()).is_relative_to(tmp_path / "fresh")
