"""The widgets about engines and loads, in the notebook page: keys, mouse and eyes.

Needs Chromium; run by ``make test-browser``. It prints how long the page takes from a key to
the picture that follows; no test hangs on it.
"""

import statistics
from collections.abc import Iterator

import nbformat
import pandas as pd
import pytest
from browser_support import (
    LEGIBLE,
    THEMES,
    Lab,
    chromium,
    contrast,
    expect,
    figure,
    jupyter_lab,
    latencies,
    notebook,
    overflowing,
    see,
    wait_for_pictures,
    watched,
)
from widget_words import HOSTILE

from resonate_lab.whatif import spread

pytestmark = pytest.mark.browser

ENGINE = """
import pandas as pd
import resonate_lab as rl
engine = rl.Engine(now="2024-01-01")
for name, team in (("hourly", "red"), ("nightly", "blue")):
    cron = "0 * * * *" if name == "hourly" else "0 1 * * *"
    engine.schedules.create(name, cron=cron, promise_timeout="30min",
                            target="poll://any@default", promise_tags={"team": team})
"""
MACHINE = f"{ENGINE}\nrl.widgets.TimeMachine(engine)"
TAGS = f"""{ENGINE}
later = engine.fork()
later.run_until("2024-01-01 05:10")
root = later.promises.search({{"resonate:schedule": "nightly"}})[0].id
for child in ("a", "b"):
    lineage = {{"resonate:origin": root, "resonate:parent": root}}
    later.promises.create(f"{{root}}.{{child}}", timeout="1d", tags=lineage)
rl.widgets.TagInspector(later)
"""
FLEET = {"id": [f"s{n}" for n in range(40)], "cron": ["0 9 * * *"] * 30 + ["*/30 * * * *"] * 10}
WINDOW = ("2024-01-01", "2024-01-15")
LOAD = f"""
import pandas as pd
import resonate_lab as rl
rl.widgets.FleetLoad(pd.DataFrame({FLEET!r}), *{WINDOW!r}, bound=30)
"""
TIMELINE = """
import pandas as pd
import resonate_lab as rl
fleet = pd.DataFrame({"id": [f"job-{n}" for n in range(12)], "cron": ["* * * * * *"] * 12})
outage = rl.what_if(fleet, down=("2024-01-01", "2024-01-01 23:09"), promise_timeout="6h")
rl.widgets.TickTimeline(outage.ticks, outage.down)
"""
OUTAGE = """
import pandas as pd
import resonate_lab as rl
crons = ["*/7 * * * *", "0 * * * *", "*/5 * * * *", "30 6 * * *"] * 25
fleet = pd.DataFrame({"id": [f"job-{n}" for n in range(100)], "cron": crons})
rl.widgets.OutageSimulator(fleet, "2024-01-01", "2024-01-01 19:00")
"""
NASTY = f"""
import pandas as pd
import resonate_lab as rl
ids = [{HOSTILE!r}, "\\u202egnp.exe", "x" * 10_000, "$\\\\frac{{", "=1+1"]
engine = rl.Engine(now="2024-01-01")
for id in ids:
    engine.promises.create(id, timeout="1h", target="poll://any@default", tags={{id: id}})
machine = rl.widgets.TimeMachine(engine)
machine
"""
NASTY_MORE = [
    "inspector = rl.widgets.TagInspector(engine); inspector",
    "fleet = pd.DataFrame({'id': ids, 'cron': ['0 9 * * *'] * len(ids)})\n"
    "rl.widgets.FleetLoad(fleet, '2024-01-01', '2024-01-03', bound=1)",
    "outage = rl.what_if(fleet, down=('2024-01-01', '2024-01-03'))\n"
    "rl.widgets.TickTimeline(outage.ticks, outage.down)",
    "machine.static()",
    "inspector.static()",
    "rl.frames.styled(rl.frames.promises(engine))",
    "engine",
    "engine.promises.search()",
    "engine.promises.get(ids[0])",
    "outage",
]
PAGES = {
    "machine.ipynb": [MACHINE],
    "tags.ipynb": [TAGS],
    "load.ipynb": [LOAD],
    "timeline.ipynb": [TIMELINE],
    "outage.ipynb": [OUTAGE],
    "nasty.ipynb": [NASTY, *NASTY_MORE],
    "all.ipynb": [MACHINE, TAGS, LOAD],
    "views.ipynb": [
        "import resonate_lab as rl\n" + TAGS.replace("rl.widgets.TagInspector(later)", "later"),
        "later.schedules.get('hourly')",
        "rl.frames.styled(rl.frames.promises(later))",
        "rl.frames.styled(rl.frames.tasks(later))",
        "rl.CronExpression('0 9 * * 1-5')",
        "later.tree(root)",
        "rl.what_if(rl.frames.schedules(later), down=('2024-01-01', '2024-01-02'))",
    ],
}


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def lab(tmp_path_factory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("pages")
    for name, cells in PAGES.items():
        nbformat.write(notebook(*cells), folder / name)
    with jupyter_lab(folder, tmp_path_factory.mktemp("home")) as served:
        yield served


class TestTimeMachine:
    @pytest.fixture(scope="class")
    @staticmethod
    def page(browser, lab):
        for view in watched(browser, lab, "machine.ipynb"):
            yield view.page

    def press(self, page, name):
        page.locator(".widget-button", has_text=name).press("Enter")

    def test_steps_jumps_and_goes_back_by_keyboard(self, page):
        see(page, "2024-01-01 00:00:00Z")
        self.press(page, "Step")
        see(page, "2024-01-01 01:00:00Z", "due now")
        expect(page.get_by_role("cell", name="hourly-1704070800000").first).to_be_visible()
        self.press(page, "Back")
        see(page, "2024-01-01 00:00:00Z")
        self.press(page, "Next instant")
        see(page, "2024-01-01 01:00:00Z", "due 2024-01-01 01:00:30Z")
        assert figure(page, "promises") == 2
        self.press(page, "Back")
        self.press(page, "Back")
        see(page, "no moment before this one")
        assert figure(page, "promises") == 0

    def test_plays_and_pauses(self, page):
        begun = figure(page, "steps so far")
        page.locator(".widget-dropdown select").select_option("10 steps a second")
        play = page.locator(".jupyter-button:has(.fa-play)")
        play.press("Enter")
        page.wait_for_function(
            """least => [...document.querySelectorAll('.widget-html-content div')]
                .some(place => place.textContent === 'steps so far'
                    && Number(place.previousElementSibling.textContent) >= least)""",
            arg=begun + 5,
        )
        page.locator(".jupyter-button:has(.fa-pause)").press("Enter")
        expect(play).to_be_visible()
        see(page, "2024-01-01 01:")
        assert figure(page, "promises") == 2


class TestTagInspector:
    @pytest.fixture(scope="class")
    @staticmethod
    def page(browser, lab):
        for view in watched(browser, lab, "tags.ipynb"):
            yield view.page

    def test_a_tag_that_is_typed_filters(self, page):
        see(page, "8 promises of 8.")
        tag = page.get_by_label("Tag contains")
        tag.fill("team=red")
        see(page, "5 promises of 8.")
        tag.fill("team=blue")
        see(page, "1 promise of 8.")
        expect(page.get_by_role("cell", name="nightly", exact=True).first).to_be_visible()
        tag.fill("")
        see(page, "8 promises of 8.")

    def test_a_schedule_leads_to_its_promise_and_to_what_it_called(self, page):
        page.get_by_label("Schedule").select_option("nightly (1)")
        see(page, "1 promise of 8.")
        expect(page.locator(".widget-html-content pre")).to_contain_text("└── nightly-17")
        expect(page.locator(".widget-html-content pre")).to_contain_text(".b")
        page.get_by_label("Schedule").select_option("all (8)")
        see(page, "8 promises of 8.")  # which comes last: the list is whole by then

    def test_keys_go_through_the_promises(self, page):
        shown = page.locator(".widget-html-content code").first
        listed = page.get_by_label("Promise", exact=True)
        listed.press("End")
        expect(shown).to_have_text("hourly-1704070800000")
        page.locator(".widget-button", has_text="Newer").press("Enter")
        expect(shown).to_have_text("nightly-1704070800000")
        page.locator(".widget-button", has_text="Older").press("Space")
        expect(shown).to_have_text("hourly-1704070800000")


class TestFleetLoad:
    def test_the_bound_is_dragged_and_the_moves_follow(self, browser, lab):
        for view in watched(browser, lab, "load.ipynb"):
            page = view.page
            first = spread(pd.DataFrame(FLEET), *WINDOW, 30)
            see(page, "from 40 to 30 ticks")
            assert figure(page, "of 40 schedules move") == len(first.moves)
            slider = page.get_by_role("slider")
            slider.focus()
            for _ in range(5):
                slider.press("ArrowLeft")
            second = spread(pd.DataFrame(FLEET), *WINDOW, 25)
            see(page, f"to {int(second.after.max())} ticks")
            page.wait_for_function(
                """number => [...document.querySelectorAll('.widget-html-content div')]
                    .some(place => place.textContent === 'of 40 schedules move'
                        && place.previousElementSibling.textContent === number)""",
                arg=str(len(second.moves)),
            )
            expect(page.locator("img.widget-image")).to_be_visible()


class TestLatency:
    """Printed, and not asserted: what the machine does besides is no fault of the page."""

    def test_a_million_ticks_pan_and_zoom(self, browser, lab, capsys):
        for view in watched(browser, lab, "timeline.ipynb"):
            page = view.page
            see(page, "1,000,080 ticks of 1,000,080")
            zoom, place = page.get_by_role("slider").all()
            figures = {}
            for name, slider, key in (
                ("zoom", zoom, "ArrowRight"),
                ("pan", place, "ArrowRight"),
                ("pan back", place, "ArrowLeft"),
            ):
                slider.focus()
                times = 5 if name == "zoom" else 12
                figures[name] = latencies(page, lambda s=slider, k=key: s.press(k), times)
            expect(page.get_by_role("status")).not_to_contain_text("1,000,080 ticks of")
            self.tell(capsys, "1,000,000 ticks", figures)

    def test_an_outage_of_a_hundred_schedules_is_dragged(self, browser, lab, capsys):
        for view in watched(browser, lab, "outage.ipynb"):
            page = view.page
            ticks = figure(page, "missed ticks")
            assert 9_000 < ticks < 11_000
            end = page.get_by_role("slider").all()[1]
            end.focus()
            taken = latencies(page, lambda end=end: end.press("ArrowRight"), 15)
            assert figure(page, "missed ticks") > ticks
            self.tell(capsys, f"100 schedules, {ticks:,} ticks", {"outage": taken})

    def tell(self, capsys, what, figures):
        with capsys.disabled():
            for name, taken in figures.items():
                print(
                    f"\n{what}: {name}: median {statistics.median(taken):.0f} ms, "
                    f"least {min(taken):.0f} ms, most {max(taken):.0f} ms",
                    end="",
                )


class TestStrangers:
    def test_are_shown_as_text_everywhere_and_run_no_script(self, browser, lab, tmp_path):
        for view in watched(browser, lab, "nasty.ipynb", height=9000):
            page = view.page
            page.locator(".widget-button", has_text="Next instant").press("Enter")
            see(page, "2024-01-01 00:00:30Z")
            wait_for_pictures(page)
            page.screenshot(path=tmp_path / "nasty.png")
            shown = page.get_by_role("cell", name=HOSTILE, exact=True)
            assert shown.count() >= 6
            sources = [
                picture.get_attribute("src")[:5]
                for picture in page.locator(".jp-OutputArea-output img").all()
            ]
            assert sources == ["blob:", "blob:"]
            assert page.evaluate("window.hit") is None
            assert "\u202e" not in page.locator(".jp-Notebook").inner_text()
            assert overflowing(page) == []


class TestLooks:
    @pytest.mark.parametrize("theme", THEMES)
    @pytest.mark.parametrize("name", ["all", "views"])
    def test_is_legible(self, browser, lab, theme, name, tmp_path):
        lab.choose("apputils-extension/themes", theme=THEMES[theme])
        for view in watched(browser, lab, f"{name}.ipynb", height=3600):
            page = view.page
            expect(page.locator("body")).to_have_attribute("data-jp-theme-name", THEMES[theme])
            if name == "all":
                page.locator(".widget-button", has_text="Next instant").press("Enter")
                see(page, "2024-01-01 01:00:00Z")
                page.locator("img.widget-image").wait_for()
            wait_for_pictures(page)
            page.screenshot(path=tmp_path / f"{name}_{theme}.png")
            parts = page.locator(".jp-OutputArea-output :is(p, td, th, caption, strong, code, pre)")
            assert parts.count() > 50
            assert [part.inner_text() for part in parts.all() if contrast(part) < LEGIBLE] == []
            assert overflowing(page) == []
        lab.choose("apputils-extension/themes", theme=THEMES["light"])
