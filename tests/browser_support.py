"""A real JupyterLab on loopback and a real Chromium in front of it, for the browser tests.

Nothing leaves the machine: the server listens on 127.0.0.1, what would look for news or
extensions is off, and a request of the page to any other place is cut off and recorded.
Every wait is for something that can be seen; there is no sleep.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

import nbformat
import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Route

PATIENCE_MS = 60_000  # two busy cores start a kernel in a quarter of this
CHROMIUM_ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# What the console may say although all is well: nothing else is forgiven.
FORGIVEN: tuple[str, ...] = ()
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
LEGIBLE = 4.5  # the contrast that WCAG 2 asks for, level AA


def notebook(*cells: str) -> nbformat.NotebookNode:
    """Return a notebook of code cells for the kernel python3."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return made


def reader() -> dict[str, str]:
    """Return the environment of a reader, whose notebooks draw into the page."""
    return {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}


@dataclass
class Lab:
    """A JupyterLab that serves one folder."""

    folder: Path
    settings: Path
    url: str
    token: str

    def choose(self, plugin: str, **values: object) -> None:
        """Set settings of a plugin of JupyterLab, for the pages that are opened from now on."""
        path = self.settings / "@jupyterlab" / f"{plugin}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")

    def address(self, name: str) -> str:
        """Return the address of the page that shows a notebook."""
        return f"{self.url}/lab/tree/{quote(name)}?reset&token={self.token}"

    def end_kernels(self) -> None:
        """End the kernels of all pages that were opened."""
        for session in json.loads(self.ask("GET", "/api/sessions")):
            self.ask("DELETE", f"/api/sessions/{session['id']}")

    def ask(self, method: str, path: str) -> bytes:
        """Return the body of the server's answer to a request."""
        header = {"Authorization": f"token {self.token}"}
        with urlopen(Request(self.url + path, method=method, headers=header), timeout=60) as answer:
            body: bytes = answer.read()
            return body


@contextmanager
def jupyter_lab(folder: Path, home: Path) -> Iterator[Lab]:
    """Serve a folder with JupyterLab, until the block is left.

    Parameters
    ----------
    folder : Path
        what is served; kernels start there
    home : Path
        an empty folder for all that Jupyter keeps: configuration, settings, runtime
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    lab = Lab(folder, home / "settings", f"http://127.0.0.1:{port}", secrets.token_hex(16))
    lab.choose("apputils-extension/notification", checkForUpdates=False, fetchNews="false")
    places = {
        "HOME": home,
        "IPYTHONDIR": home / "ipython",
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": lab.settings,
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
    }
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={folder}",
        f"--IdentityProvider.token={lab.token}",
        "--LabApp.extension_manager=readonly",
        "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    environment = {**reader(), **{name: str(place) for name, place in places.items()}}
    log = home / "lab.log"
    with log.open("wb") as out:
        server = subprocess.Popen(command, env=environment, stdout=out, stderr=out)
        try:
            _wait_until_served(lab, server, log)
            yield lab
        finally:
            # SIGTERM lets the server end its kernels, too.
            server.terminate()
            server.wait(timeout=60)


def _wait_until_served(lab: Lab, server: subprocess.Popen[bytes], log: Path) -> None:
    """Return when the server answers; it is asked again as long as it lives and is silent."""
    while True:
        try:
            lab.ask("GET", "/api/status")
        except URLError:
            try:
                server.wait(timeout=0.1)
            except subprocess.TimeoutExpired:
                continue
            pytest.fail(f"JupyterLab did not start: {log.read_text()[-2000:]}")
        return


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Chromium without a window, until the block is left."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    if program is None:
        pytest.fail(
            "no program 'chromium' is on the PATH; the browser tests need it: install chromium"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program,
            args=list(CHROMIUM_ARGUMENTS),
        )
        yield browser
        browser.close()


class Watched:
    """A page, and what went wrong on it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(f"uncaught: {error}"))
        page.route("**/*", self._asked)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not any(known in message.text for known in FORGIVEN):
            self.complaints.append(f"{message.text} ({message.location.get('url', '')})")

    def _asked(self, route: Route) -> None:
        address = urlsplit(route.request.url)
        if address.hostname in {"127.0.0.1", None}:
            route.continue_()
        else:
            self.complaints.append(f"asked for {route.request.url}")
            route.abort()

    def run(self, lab: Lab, name: str) -> None:
        """Open a notebook, run all of its cells, and wait until the last has run."""
        page = self.page
        page.goto(lab.address(name))
        # Until a kernel is there, the menus are still being put together.
        page.get_by_text("| Idle").wait_for()
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        page.wait_for_function(
            """() => {
                const prompts = [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')];
                return prompts.every(prompt => /\\d/.test(prompt.textContent));
            }"""
        )

    def failures(self) -> list[str]:
        """Return what the cells of the notebook raised or wrote to stderr."""
        kinds = ("vnd.jupyter.error", "vnd.jupyter.stderr")
        places = ", ".join(f'[data-mime-type="application/{kind}"]' for kind in kinds)
        return self.page.locator(places).all_inner_texts()


def contrast(element: Locator) -> float:
    """Return the contrast ratio (WCAG 2) of an element's text against what is behind it."""
    foreground, background = element.evaluate(
        """element => {
            const numbers = text => text.match(/[\\d.]+/g).map(Number);
            let behind = element;
            const solid = e => { const c = numbers(getComputedStyle(e).backgroundColor);
                                 return c.length === 3 || c[3] === 1; };
            while (behind.parentElement && !solid(behind)) behind = behind.parentElement;
            return [numbers(getComputedStyle(element).color).slice(0, 3),
                    numbers(getComputedStyle(behind).backgroundColor).slice(0, 3)];
        }"""
    )
    light, dark = sorted((_luminance(foreground), _luminance(background)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(rgb: Sequence[float]) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
        for part in (value / 255 for value in rgb)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


# --- what the tests of a page share ---------------------------------------------------------

# The number above a caption; written as the page shows it.
FIGURE = """caption => {
    const places = [...document.querySelectorAll('.widget-html-content div')];
    const place = places.find(place => place.textContent === caption);
    return place ? place.previousElementSibling.textContent : null;
}"""


def figure(page: Page, caption: str) -> int:
    """Return the large number above a caption."""
    return int(page.evaluate(FIGURE, caption).replace(",", ""))


def expect(locator: Locator) -> Any:
    """Return what can be expected of an element, within the patience of all tests."""
    from playwright.sync_api import expect as expected

    expected.set_options(timeout=PATIENCE_MS)
    return expected(locator)


def see(page: Page, *words: str | re.Pattern[str]) -> None:
    """Wait until the line that says the answer holds the words."""
    for word in words:
        expect(page.get_by_role("status").first).to_contain_text(word)


def wait_for_pictures(page: Page) -> None:
    """Wait until every picture of an output is there."""
    page.wait_for_function(
        """() => [...document.querySelectorAll('.jp-OutputArea-output img')]
            .every(image => image.complete && image.naturalWidth > 0)"""
    )


def overflowing(page: Page) -> list[str]:
    """Return the outputs that are wider than the place that they have."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll('.jp-OutputArea-output')]
            .filter(output => output.scrollWidth > output.clientWidth + 1)
            .map(output => output.innerText.slice(0, 80))"""
    )
    return found


def watched(
    browser: Browser, lab: Lab, name: str, *, width: int = 1280, height: int = 1600
) -> Iterator[Watched]:
    """Open and run a notebook; after the tests of the page, nothing may have gone wrong on it."""
    context = browser.new_context(viewport={"width": width, "height": height})
    view = Watched(context.new_page())
    view.run(lab, name)
    yield view
    found = view.complaints + view.failures()
    context.close()
    lab.end_kernels()
    assert found == []


def latencies(page: Page, press: Callable[[], None], times: int) -> list[float]:
    """Return how long it took, in ms, from each key pressed to the picture that it brought.

    Both instants are taken in the page: that of the key, and that of the frame after the
    picture has loaded.
    """
    page.evaluate(
        """() => {
            window.drawn = 0;
            window.pressed = 0;
            const press = () => { window.pressed = performance.now(); };
            document.addEventListener('keydown', press, true);
            document.addEventListener('load', event => {
                if (event.target.matches('img.widget-image'))
                    requestAnimationFrame(() => { window.drawn = performance.now(); });
            }, true);
        }"""
    )
    found = []
    for _ in range(times):
        page.evaluate("window.drawn = 0")
        press()
        page.wait_for_function("window.drawn > window.pressed")
        found.append(float(page.evaluate("window.drawn - window.pressed")))
    return found
