"""The site: these pages, the API from the docstrings, the executed notebooks.

`make docs` copies this folder to build/site-source, puts the executed notebooks and the pictures
beside it, and builds there with warnings as errors.
"""

import re
from pathlib import Path

import resonate_lab

project = "resonate_lab"
author = "The resonate_lab developers"
copyright = author
version = release = resonate_lab.__version__

extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_nb"]
exclude_patterns = ["**/.ipynb_checkpoints"]
default_role = "py:obj"  # a name in single backticks links to its entry, where there is one
smartquotes = False  # texts in docstrings are what a user types

html_theme = "furo"
html_title = "resonate_lab"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say it, in words and with units
numpydoc_show_class_members = False  # autodoc lists them, with their text
numpydoc_xref_param_type = False

myst_heading_anchors = 3
nb_execution_mode = "off"  # `make notebooks` has done it
nb_ipywidgets_js = {}  # the static twins need none, and nothing is to come from elsewhere

HOW_TO = "%how-to%"


def list_how_to_pages(app, docname: str, source: list[str]) -> None:
    """Put every page beside index.md that is not named there in place of `HOW_TO`."""
    if docname == "index":
        pages = sorted(path.stem for path in Path(app.srcdir).glob("*.md"))
        named = re.findall(r"^[\w/-]+$", source[0], flags=re.MULTILINE)
        rest = [page for page in pages if page not in {*named, "index"}]
        source[0] = source[0].replace(HOW_TO, "\n".join(rest))


def drop_last_blank_lines(app, docname: str, source: list[str]) -> None:
    """Take from examples the blank line that ends them for doctest, and for no reader."""
    source[0] = re.sub(r"(^```python\n.*?)\n+(^```$)", r"\1\n\2", source[0], flags=re.M | re.S)


def setup(app) -> None:
    """Register the above."""
    app.connect("source-read", list_how_to_pages)
    app.connect("source-read", drop_last_blank_lines)
