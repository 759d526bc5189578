"""What every test stands on: the installed package, one Hypothesis profile, no screen."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import settings
from live_server import Live

ROOT = Path(__file__).resolve().parents[1]

# `python -m pytest` puts the working folder in front, where resonate_lab/ holds the sources
# without the compiled core: it would hide the installed package.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]

# Matplotlib reads it at import, and the fresh kernels and processes of the tests inherit it.
os.environ["MPLBACKEND"] = "Agg"

settings.register_profile("fast", derandomize=True, deadline=None, max_examples=60)
settings.register_profile("deep", deadline=None, max_examples=5_000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

# The official SDK needs Python 3.12, so what is about it cannot even be collected before that.
# `pytest_report_header` says so at the top of every such run.
HAS_SDK = sys.version_info >= (3, 12)
collect_ignore = [] if HAS_SDK else ["test_sdk.py", "test_sdk_http.py"]


def pytest_report_header() -> list[str]:
    """Say what is left out, and why."""
    return [] if HAS_SDK else ["left out: tests of the official Python SDK (it needs Python 3.12)"]


MADE_HERE = {"build", "dist", "demo-output", "__pycache__"}


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the folder that holds the project."""
    return ROOT


@pytest.fixture(scope="session")
def project_files() -> list[Path]:
    """Return the files that belong to the project, tracked or about to be, ascending."""
    if (ROOT / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        files = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:  # an unpacked sdist or archive
        files = [path for path in ROOT.rglob("*") if _ours(path.relative_to(ROOT))]
    return sorted(path for path in files if path.is_file())


@pytest.fixture
def serve(monkeypatch) -> Iterator[Callable[..., Live]]:
    """Start servers that answer by a function; no pauses, no token, no proxy of this machine."""
    from resonate_lab.whatif import live

    monkeypatch.setattr(live, "_PAUSES", (0.0, 0.0))
    for name in ("RESONATE_TOKEN", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with ExitStack() as stack:
        yield lambda answer: stack.enter_context(Live(answer).running())


@pytest.fixture
def run(tmp_path, monkeypatch, capsys) -> Callable[..., tuple[int, str, str]]:
    """Run a command line in an empty folder; return its code, stdout and stderr."""
    from resonate_lab import cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RESONATE_LAB_FILE", raising=False)
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments):
        code = 0
        try:
            cli.main(arguments)
        except SystemExit as end:
            code = end.code
        out, err = capsys.readouterr()
        return code, out, err

    return call


def _ours(path: Path) -> bool:
    hidden = any(part.startswith(".") and part not in {".ci", ".gitignore"} for part in path.parts)
    made = any(part in MADE_HERE or part.endswith(".egg-info") for part in path.parts)
    return not hidden and not made and path.suffix not in {".so", ".pyc"}
