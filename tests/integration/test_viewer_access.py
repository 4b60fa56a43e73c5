"""The page for everybody: axe-core finds nothing, forced colours keep what means something, print has it all."""

import re

import axe
import pytest

pytest.importorskip("playwright")
from chromium import until
from viewer_page import BEHIND, HAS_CHROMIUM, browser, look, sample, tab  # noqa: F401

pytestmark = HAS_CHROMIUM
PANELS = ["findings", "sites", "modules", "charts", "selection", "list", "detail", "source", "compare", "sql"]


@pytest.fixture
def page(look, view, recorded):
    page = look(view("run.castscope").url, width=1600, height=900)
    until(page, "() => document.querySelector('.header .state').textContent.includes('finished')")
    page.get_by_role("button", name="Show in timeline").first.click()
    until(page, "() => /[#&]event=/.test(location.hash)")
    return page


def violations(page):
    """What axe finds in the light page, and by its rules about colours, in which the dark one differs, in that one."""
    found = axe.violations(page)
    page.emulate_media(color_scheme="dark")
    until(page, "() => document.documentElement.dataset.theme === 'dark'")
    dark = page.evaluate("""() => axe.run(document, {resultTypes: ['violations'],
        runOnly: {type: 'rule', values: ['color-contrast', 'link-in-text-block']}})""")["violations"]
    page.emulate_media(color_scheme="light")
    until(page, "() => document.documentElement.dataset.theme === 'light'")
    return found + dark


def test_no_panel_breaks_a_rule_of_axe(page):
    for title in PANELS:
        tab(page, title)
        page.wait_for_timeout(300)  # what the panel asks for
        assert violations(page) == [], title
    for title in ("flame by stack", "flame by module", "modules by step"):
        page.get_by_role("button", name=title).click()
        page.locator(".drawer-body canvas, .drawer-body .flame-box, .drawer-body .nothing").first.wait_for()
        assert violations(page) == [], title


def test_no_dialog_breaks_a_rule_of_axe(page):
    for name in ("Keys", "All runs", "Download"):
        page.locator(".header").get_by_role("button", name=re.compile(name)).click()
        page.get_by_role("dialog").wait_for()
        assert violations(page) == [], name
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="detached")


def test_each_control_is_large_enough(page):
    """24 px each way, as WCAG 2.2 has it; links within a text are excepted."""
    small = page.evaluate("""() => [...document.querySelectorAll('button, select, input, [role=tab], summary')]
        .filter((one) => one.offsetParent !== null && !one.matches('.link, [type=checkbox], .flame-box, .pin, .rule'))
        .map((one) => [one.outerHTML.slice(0, 90), one.getBoundingClientRect()])
        .filter(([, box]) => box.height < 24 || box.width < 24).map(([text, box]) => [text, box.width, box.height])""")
    assert small == []


def test_forced_colours_keep_what_means_something(look, sample):
    page = look(sample("training").url, width=1600, height=900)
    page.emulate_media(forced_colors="active")
    swatches = page.locator(".legend .swatch")
    swatches.first.wait_for()
    colours = page.evaluate("""() => [...document.querySelectorAll('.legend .swatch')]
        .map((one) => getComputedStyle(one).color + getComputedStyle(one).backgroundImage)""")
    assert len(set(colours)) >= 5
    tab(page, "selection")
    page.locator(".histogram i").first.wait_for()
    bar, back = page.evaluate("""() => [document.querySelector('.histogram i'), document.body]
        .map((one) => getComputedStyle(one).backgroundColor)""")
    assert bar != back
    chosen = page.get_by_role("tab", selected=True).first
    assert chosen.evaluate("one => getComputedStyle(one).outlineStyle") == "solid"


def test_print_has_the_timeline_and_all_of_the_panel(look, sample):
    page = look(sample("training").url, width=1600, height=900)
    page.get_by_role("article").first.wait_for()
    page.emulate_media(media="print")
    shown = page.evaluate("""() => ['canvas.lanes', '.legend', '.panel article', '.tools', '.tabs']
        .map((name) => document.querySelector(name).getBoundingClientRect().height > 0)""")
    assert shown == [True, True, True, False, False]
    assert page.evaluate("getComputedStyle(document.querySelector('.panel')).overflow") == "visible"


def test_what_is_said_is_read_out(look, sample):
    page = look(sample("training").url)
    status = page.locator(".toasts")
    page.keyboard.press("]")
    page.get_by_text("Choose an event first").wait_for()
    assert status.get_attribute("role") == "status"
    assert page.locator("h1").inner_text() == "castscope"
