"""Execute notebooks, and write each as it then is, as a notebook and as a page.

Usage: ``python tools/notebooks.py FOLDER NOTEBOOK ...``. A page needs no kernel and nothing from
elsewhere: the widgets, which would need both, give way to their static twins, and cells with
the tag ``hide`` show their output only.
"""

import sys
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


def main(folder: str, *names: str) -> None:
    """Execute notebooks and write them into a folder."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for path in map(Path, names):
        notebook = executed(path)
        (target / path.name).write_text(nbformat.writes(notebook), encoding="utf-8")
        html = page(notebook, path.stem)
        (target / path.with_suffix(".html").name).write_text(html, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
