"""Print requirements that pyproject.toml names, one a line, for ``pip install -r``.

Usage: ``python tools/requirements.py build`` for what builds the package, or with the name of
an extra (``test``, ``lab`` ...) for what that extra adds.
"""

import sys
import tomllib
from pathlib import Path


def requirements(name: str) -> list[str]:
    """Return the requirements of the build (``"build"``) or of the extra called `name`."""
    text = (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)
    extras: dict[str, list[str]] = project["project"]["optional-dependencies"]
    known: dict[str, list[str]] = {"build": project["build-system"]["requires"], **extras}
    if name not in known:
        raise SystemExit(f"no requirements are called {name!r}; write one of {', '.join(known)}")
    return known[name]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("write one name: tools/requirements.py build, or an extra such as test")
    print(*requirements(sys.argv[1]), sep="\n")
