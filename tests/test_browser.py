"""The notebook page as a person meets it: JupyterLab and Chromium, keys, mouse and eyes.

Needs Chromium; run by ``make test-browser``. Pictures of the pages, in light and dark and on a
narrow screen, are kept in pytest's folder for this run (``--basetemp`` chooses another).
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

import nbformat
import pandas as pd
import pytest
from browser_support import (
    FIGURE,
    LEGIBLE,
    THEMES,
    Lab,
    chromium,
    contrast,
    expect,
    figure,
    jupyter_lab,
    notebook,
    overflowing,
    reader,
    see,
    wait_for_pictures,
    watched,
)

from resonate_lab.whatif import what_if

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=window.hit=1>"
HOSTILE_FIELD = "<img/src='x'/onerror='window.hit=1'>"  # without a blank it is one field
DOWN, UP = "2024-01-05 20:00Z", "2024-01-06 08:00Z"
FLEET = {"id": ["five", "hourly", "bad"], "cron": ["*/5 * * * *", "0 * * * *", "0 9 * * 8"]}
LONG = "x" * 10_000
NASTY = {
    "id": [HOSTILE, "\u202egnp.exe", LONG, "$\\frac{", "=1+1", f"refused{HOSTILE}"],
    "cron": ["*/5 * * * *"] * 5 + [f"0 9 * * {HOSTILE}"],
    "promise_tags": [{HOSTILE: HOSTILE, "resonate:target": "poll://any@default"}] * 6,
}
EXPLORER = """
import resonate_lab as rl
rl.widgets.CronExplorer("0 9 * * 1-5", zone="Europe/Berlin", after="2024-01-01")
"""
SIMULATOR = """
import pandas as pd
import resonate_lab as rl
fleet = pd.DataFrame({fleet!r})
simulator = rl.widgets.OutageSimulator(fleet, {down!r}, {up!r})
simulator
"""
SIMULATOR_PAGE = SIMULATOR.format(fleet=FLEET, down=DOWN, up=UP)
PAGES = {
    "explorer.ipynb": [EXPLORER],
    "simulator.ipynb": [SIMULATOR_PAGE],
    "both.ipynb": [EXPLORER, SIMULATOR_PAGE],
    "nasty.ipynb": [
        SIMULATOR.format(fleet=NASTY, down=DOWN, up=UP),
        "simulator.static()",
        f"explorer = rl.widgets.CronExplorer({HOSTILE!r}, zone={HOSTILE!r}); explorer",
        "explorer.static()",
    ],
}


FIGURE_IS = f"([caption, number]) => ({FIGURE})(caption) === number"


def frame():
    return pd.DataFrame(FLEET)


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def lab(root, tmp_path_factory) -> Iterator[Lab]:
    """Serve the pages above and a copy of the notebooks, beside the examples that they read."""
    clone = tmp_path_factory.mktemp("clone")
    for name in ("notebooks", "examples"):
        shutil.copytree(root / name, clone / name)
    for name, cells in PAGES.items():
        nbformat.write(notebook(*cells), clone / "notebooks" / name)
    with jupyter_lab(clone / "notebooks", tmp_path_factory.mktemp("home")) as served:
        yield served


class TestCronExplorer:
    @pytest.fixture(scope="class")
    @staticmethod
    def page(browser, lab):
        for view in watched(browser, lab, "explorer.ipynb"):
            yield view.page

    @pytest.fixture
    def text(self, page):
        """Return the field for the text, with the text of the beginning in it."""
        field = page.get_by_label("Cron text")
        field.fill("0 9 * * 1-5")
        see(page, "Sunday to Thursday")
        return field

    def test_typing_changes_the_meaning_letter_by_letter(self, page, text):
        text.press("End")
        text.press("Backspace")
        see(page, "Refused.", "token '1-'")
        text.press("Backspace")
        see(page, "At 09:00 UTC, on Sunday.")
        text.press_sequentially("-6")
        see(page, "At 09:00 UTC, Sunday to Friday.")

    def test_the_ticks_the_findings_and_the_crontab_reading_follow(self, page, text):
        text.fill("30 18 1 6 *")
        expect(page.get_by_role("cell", name="2024-06-01 20:30:00 CEST")).to_be_visible()
        text.fill("*/40 * * * *")
        expect(page.get_by_role("cell", name="40", exact=False).first).to_be_visible()
        text.fill("0 9 * * 1")
        expect(page.get_by_role("columnheader", name="as a crontab")).to_be_visible()

    def test_the_keyboard_goes_from_control_to_control(self, page, text):
        text.fill("0 0 9 ? * 2#1")
        see(page, "Refused.")
        text.press("Tab")
        dialect = page.get_by_label("Dialect")
        expect(dialect).to_be_focused()
        dialect.press("q")
        see(page, "first Monday")
        dialect.press("Tab")
        expect(page.get_by_label("Time zone")).to_be_focused()
        dialect.select_option("resonate")

    def test_a_zone_that_is_typed_has_its_column(self, page, text):
        zone = page.get_by_label("Time zone")
        zone.fill("Asia/Tokyo")
        expect(page.get_by_role("columnheader", name="Asia/Tokyo")).to_be_visible()
        zone.fill("Mars/Base")
        expect(page.get_by_text("time zone 'Mars/Base'", exact=False)).to_be_visible()
        zone.fill("Europe/Berlin")
        expect(page.get_by_role("columnheader", name="Europe/Berlin")).to_be_visible()

    def test_a_refused_text_has_its_fault_marked(self, page, text):
        text.fill("0 9 * * 8")
        see(page, "Refused.", "outside 1-7")
        expect(page.locator("mark")).to_have_text("8")

    @pytest.mark.parametrize(
        ("hostile", "marked"),
        [(HOSTILE, "<img"), (f"0 9 * * {HOSTILE_FIELD}", HOSTILE_FIELD), (f"*/5 {LONG}", "xxxxx")],
    )
    def test_a_hostile_text_is_shown_and_not_obeyed(self, page, text, hostile, marked):
        text.fill(hostile)
        see(page, "Refused.")
        expect(page.locator("mark")).to_contain_text(marked)
        assert page.locator(".widget-html-content img").count() == 0
        assert page.evaluate("window.hit") is None
        assert overflowing(page) == []


class TestOutageSimulator:
    @pytest.fixture(scope="class")
    @staticmethod
    def page(browser, lab):
        for view in watched(browser, lab, "simulator.ipynb"):
            yield view.page

    @pytest.fixture
    def ends(self, page):
        """Return the two ends of the outage, where they were at the beginning."""
        lower, upper = page.get_by_role("slider").all()
        return lower, upper

    def test_shows_the_figures_of_what_if(self, page):
        n = what_if(frame(), (DOWN, UP)).counters
        assert figure(page, "missed ticks") == n["missed"]
        assert figure(page, "execute messages at restart") == n["dispatched"]
        assert figure(page, "promises born expired") == n["expired"]
        expect(page.get_by_role("cell", name="five-1704485100000").first).to_be_visible()

    def test_arrow_keys_move_the_end_and_the_figures_and_the_picture_follow(self, page, ends):
        picture = page.locator("img.widget-image")
        before = picture.get_attribute("src")
        ends[1].focus()
        ends[1].press("ArrowRight")
        see(page, "to 2024-01-06 08:15:00Z")
        later = what_if(frame(), (DOWN, "2024-01-06 08:15Z")).counters
        assert figure(page, "missed ticks") == later["missed"] > 156
        expect(picture).not_to_have_attribute("src", before)
        ends[1].press("ArrowLeft")
        see(page, "to 2024-01-06 08:00:00Z")

    def test_another_timeout_and_one_that_is_none(self, page):
        timeout = page.get_by_label("Promise timeout")
        timeout.fill("13h")
        expect(page.get_by_text("born resolved")).to_have_count(0)
        page.wait_for_function(FIGURE_IS, arg=["promises born expired", "0"])
        timeout.fill("13 parsecs")
        see(page, "No answer.", "13 parsecs")
        expect(page.locator("img.widget-image")).to_be_hidden()
        timeout.fill("1h")
        see(page, "Server down for 12 h")
        expect(page.locator("img.widget-image")).to_be_visible()

    def test_the_mouse_drags_the_beginning(self, page, ends):
        # The last test of the page: it leaves the end where the mouse let it go.
        place, whole = ends[0].bounding_box(), page.locator(".noUi-base").bounding_box()
        middle = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
        page.mouse.move(*middle)
        page.mouse.down()
        page.mouse.move(middle[0] - whole["width"] / 8, middle[1], steps=4)
        page.mouse.up()
        see(page, re.compile(r"Server down for 1[78] h.*from 2024-01-05 1[34]:"))
        assert figure(page, "missed ticks") > 200


class TestHostileFleet:
    def test_is_shown_as_text_in_widgets_and_twins_and_runs_no_script(self, browser, lab):
        for view in watched(browser, lab, "nasty.ipynb", height=3200):
            page = view.page
            shown = page.get_by_role("cell", name=HOSTILE, exact=True)
            expect(shown.first).to_be_attached()
            assert shown.count() >= 4
            pictures = page.locator(".jp-OutputArea-output img")
            # The explorer's own picture, of a calendar, is hidden beside a text that is refused.
            seen = [picture for picture in pictures.all() if picture.is_visible()]
            sources = [picture.get_attribute("src")[:5] for picture in seen]
            assert sorted(sources) == ["blob:", "data:"]
            assert page.evaluate("window.hit") is None
            assert "\u202e" not in page.locator(".jp-Notebook").inner_text()
            assert overflowing(page) == []


class TestLooks:
    @pytest.mark.parametrize("theme", THEMES)
    def test_is_legible(self, browser, lab, theme, tmp_path):
        lab.choose("apputils-extension/themes", theme=THEMES[theme])
        for view in watched(browser, lab, "both.ipynb", height=2400):
            page = view.page
            expect(page.locator("body")).to_have_attribute("data-jp-theme-name", THEMES[theme])
            wait_for_pictures(page)
            page.screenshot(path=tmp_path / f"{theme}.png")
            page.get_by_label("Cron text").fill("0 9 * * 8")
            see(page, "Refused.")
            parts = page.locator(".widget-html-content :is(p, td, th, caption, mark, strong, div)")
            faint = [part.inner_text() for part in parts.all() if contrast(part) < LEGIBLE]
            assert parts.count() > 50
            assert faint == []
        lab.choose("apputils-extension/themes", theme=THEMES["light"])

    def test_fits_a_narrow_screen(self, browser, lab, tmp_path):
        for view in watched(browser, lab, "both.ipynb", width=480, height=2400):
            page = view.page
            page.keyboard.press("Control+b")  # puts the file browser away
            page.locator("#jp-left-stack").wait_for(state="hidden")
            wait_for_pictures(page)
            page.screenshot(path=tmp_path / "narrow.png")
            controls = [page.get_by_label(name) for name in ("Cron text", "Dialect", "Time zone")]
            boxes = [control.bounding_box() for control in controls]
            assert boxes[0]["y"] < boxes[1]["y"] < boxes[2]["y"], "not below one another"
            assert min(box["width"] for box in boxes) > 120
            assert overflowing(page) == []


# Notebook -> what its page says where nothing runs, its widgets' twins included.
EXPORTED = {
    "02_which_days_are_1_5": [
        "At 09:00 UTC, Sunday to Thursday.",
        "In a crontab:",
        "1-5 is Sunday, Monday, Tuesday, Wednesday, Thursday",
    ],
    "03_what_happens_after_an_outage": [
        "126,657 missed ticks, 9,638 execute messages at restart, 117,019 promises",
        "350 of 472 schedules that missed a tick send nothing at all",
        "Server down for 12 h, from 2024-01-05 20:00:00Z to 2024-01-06 08:00:00Z.",
        "Rows refused",
        "Of 126657 promises, 9638 reach a worker.",
    ],
}


class TestNotebooks:
    def test_run_in_the_page_without_a_complaint(self, browser, lab, tmp_path):
        # Those with widgets; all others run without a page in test_notebooks.py.
        for name in EXPORTED:
            for view in watched(browser, lab, f"{name}.ipynb", height=9000):
                assert view.failures() == []
                wait_for_pictures(view.page)
                view.page.screenshot(path=tmp_path / f"{name}.png")

    @pytest.mark.parametrize("name", EXPORTED)
    def test_exported_show_every_answer_without_kernel_script_and_network(
        self, browser, lab, tmp_path, name
    ):
        export = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", f"{name}.ipynb"]
        where = ["--output-dir", str(tmp_path)]
        subprocess.run([*export, *where], cwd=lab.folder, env=reader(), check=True)
        context = browser.new_context(java_script_enabled=False, offline=True)
        page = context.new_page()
        page.goto((tmp_path / f"{name}.html").as_uri())
        page.screenshot(path=tmp_path / f"{name}.png", full_page=True)
        said = page.locator("body").inner_text()
        assert [answer for answer in EXPORTED[name] if answer not in said] == []
        assert page.locator("img").count() >= 1
        context.close()
