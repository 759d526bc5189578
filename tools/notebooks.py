"""Execute notebooks, and write each as it then is, as a notebook and as a page.

Usage: ``python tools/notebooks.py FOLDER NOTEBOOK ...``. A page needs no kernel and nothing from
elsewhere: the widgets, which would need both, give way to their static twins, and cells with
the tag ``hide`` show their output only.
"""

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from traitlets.config import Config

WIDGET = "application/vnd.jupyter.widget-view+json"
SECONDS_A_CELL = 60
NOTHING_FROM_ELSEWHERE = {
    "HTMLExporter": dict.fromkeys(
        ["jquery_url", "mathjax_url", "mermaid_js_url", "require_js_url"], ""
    ),
    "TagRemovePreprocessor": {"enabled": True, "remove_input_tags": {"hide"}},
}


def executed(path: Path) -> nbformat.NotebookNode:
    """Return a notebook as a fresh kernel leaves it, without what only a kernel could show."""
    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(path.parent)}}
    quiet = ["--log-level=ERROR"]
    client = NotebookClient(
        notebook, timeout=SECONDS_A_CELL, resources=place, extra_arguments=quiet
    )
    client.execute()
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [shown for shown in cell.outputs if WIDGET not in shown.get("data", ())]
            if "hide" in cell.metadata.get("tags", ()):
                cell.metadata.tags.append("hide-input")  # the word by which the site folds it
    return notebook


def page(notebook: nbformat.NotebookNode, name: str) -> str:
    """Return an executed notebook as HTML."""
    exporter = HTMLExporter(config=Config(NOTHING_FROM_ELSEWHERE))
    text, _ = exporter.from_notebook_node(notebook, {"metadata": {"name": name}})
    return text


def write(folder: str, path: str) -> str:
    """Execute one notebook, write it into a folder, and return its name."""
    name = Path(path).stem
    notebook = executed(Path(path))
    target = Path(folder, name)
    target.with_suffix(".ipynb").write_text(nbformat.writes(notebook), encoding="utf-8")
    target.with_suffix(".html").write_text(page(notebook, name), encoding="utf-8")
    return name


def main(folder: str, *paths: str) -> None:
    """Execute notebooks, as many at a time as there are processors."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        for name in pool.map(write, repeat(folder), paths):
            print("executed", name, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
