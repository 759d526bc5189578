"""Every example in the package's docstrings, in README.md and in docs/ does what it shows."""

import doctest
import importlib
import pkgutil
import re
import sys
import textwrap
from pathlib import Path

import pytest

import resonate_lab

ROOT = Path(__file__).resolve().parents[1]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
INSIDE = pkgutil.walk_packages(resonate_lab.__path__, "resonate_lab.")
# The official SDK needs Python 3.12; conftest.py says in the header that it is left out.
OF_THE_SDK = (
    set()
    if sys.version_info >= (3, 12)
    else {"resonate_lab.clients.sdk", "docs/testing-workflows.md"}
)
APART = {"resonate_lab.__main__"} | OF_THE_SDK
MODULES = ["resonate_lab", *sorted(m.name for m in INSIDE if m.name not in APART)]
FILES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
PAGES = sorted({str(path.relative_to(ROOT)) for path in FILES} - OF_THE_SDK)
FENCED = re.compile(r"^( *)```(?:python|pycon)\n(.*?)^\1```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_do_what_they_show(name):
    assert doctest.testmod(importlib.import_module(name), optionflags=FLAGS).failed == 0


@pytest.mark.parametrize("page", PAGES)
def test_examples_on_a_page_do_what_they_show(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = [textwrap.dedent(block) for _, block in FENCED.findall(text)]
    examples = "\n".join(block for block in blocks if ">>>" in block)
    test = doctest.DocTestParser().get_doctest(examples, {}, page, page, 0)
    assert doctest.DocTestRunner(optionflags=FLAGS).run(test).failed == 0
