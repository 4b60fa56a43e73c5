"""Links: what was chosen stands in the address, and a link that asks for what this run does not have says so."""

import pytest

pytest.importorskip("playwright")
from chromium import until
from gated import have
from viewer_page import HAS_CHROMIUM, browser, look, opened, sample, tab, window_of  # noqa: F401

pytestmark = HAS_CHROMIUM
JOB = """
import torch
net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 8))
for step in range(3):
    with torch.autocast("cpu", torch.bfloat16):
        out = net(torch.ones(4, 8))
    out.float().sum().backward()
"""


@pytest.fixture
def trained(view, castscope, python):
    have(castscope, python, JOB, "run", "--deep", "always")
    return view("run.castscope")


def ready(page):
    until(page, "() => document.querySelector('.header .state').textContent.includes('finished')")
    return page


def below(page, title):
    page.get_by_role("group", name="Below the timeline").get_by_role("button", name=title).click()


def labels(page):
    page.get_by_role("treeitem").first.wait_for()
    return [box.get_attribute("aria-label") for box in page.get_by_role("treeitem").all()]


def test_a_link_to_what_the_run_does_not_have_says_so(look, trained):
    link = trained.url + "#run=run"
    lost = ready(look(link + "&finding=0123456789abcdef"))
    lost.get_by_text("The finding that the link names is not in this run.").wait_for()
    lost.keyboard.press("Escape")
    lost.get_by_text("The finding that the link names").wait_for(state="detached")
    ready(look(link + "&event=99~5")).get_by_text("The event of this link is not in this run").wait_for()
    page = ready(look(link + "&t=900000000000000~900000000000100"))
    page.get_by_text("The stretch of time that the link names lies outside of this run.").wait_for()
    assert window_of(page) is None


def test_the_choices_of_a_flame_are_a_part_of_the_address(look, trained):
    page = ready(look(trained.url))
    below(page, "flame by module")
    page.get_by_label("What is counted").select_option("operators")
    page.get_by_label("Measure").select_option("count")
    page.get_by_label("own code only").uncheck()
    page.get_by_role("treeitem", name="Sequential").click()
    until(page, "() => decodeURIComponent(location.hash).includes('flame=operators~count~all')")
    until(page, "() => location.hash.includes('zoom=model')")
    shown = labels(page)
    assert any(label.startswith("Sequential: ") for label in shown), shown
    other = ready(look(page.url))
    until(other, "() => [...document.querySelectorAll('.flame-box')].some(one => one.ariaSelected === 'true' &&"
                 " one.ariaLabel.startsWith('Sequential: '))")
    assert labels(other) == shown
    assert other.get_by_label("Measure").input_value() == "count"
    assert not other.get_by_label("own code only").is_checked()
    # Another view has other boxes.
    below(other, "flame by stack")
    until(other, "() => !location.hash.includes('zoom=')")


def test_the_list_of_findings_is_a_part_of_the_address(look, sample):
    page = opened(look, sample, "training")
    panel = tab(page, "findings")
    panel.get_by_label("Order of the findings").select_option("place")
    panel.get_by_role("searchbox", name="Filter findings").fill("nothing has this")
    panel.get_by_label("hide done").check()
    panel.get_by_text("No finding fits.").wait_for()
    until(page, "() => location.hash.includes('list=')")
    panel = ready(look(page.url)).get_by_role("tabpanel")
    panel.get_by_text("No finding fits.").wait_for()
    assert panel.get_by_label("Order of the findings").input_value() == "place"
    assert panel.get_by_role("searchbox", name="Filter findings").input_value() == "nothing has this"
    assert panel.get_by_label("hide done").is_checked()


def test_a_query_goes_along_to_another_run_and_back(look, castscope, sample, view):
    for kind in ("one-event", "training"):
        sample(kind).process.kill()
    page = look(view("one-event.castscope", "training.castscope").url)
    panel = tab(page, "SQL")
    panel.get_by_role("textbox", name="SQL").fill("SELECT 1 AS one")
    until(page, "() => location.hash.includes('sql=')")
    other = "training" if "one-event" in page.url else "one-event"
    with page.expect_event("load"):
        page.get_by_label("Run", exact=True).select_option(other)
    assert page.get_by_role("textbox", name="SQL").input_value() == "SELECT 1 AS one"
    tab(page, "sites")
    until(page, "() => location.hash.includes('tab=sites')")
    tab(page, "SQL").get_by_role("textbox", name="SQL").fill("SELECT 2")
    until(page, "() => location.hash.includes('SELECT+2')")
    page.go_back()
    page.go_back()
    until(page, "() => document.querySelector('textarea.sql').value === 'SELECT 1 AS one'")


def test_what_is_hidden_is_not_in_the_flame(look, trained):
    page = ready(look(trained.url))
    below(page, "flame by stack")
    page.get_by_label("Measure").select_option("count")
    until(page, r"() => /^the whole run [\d,]+ \(100 %\)/.test(document.querySelector('.flame-says').textContent)")
    everything = page.locator(".flame-says").inner_text()
    page.get_by_role("combobox", name="Search events").fill("kind:down role:weight")
    page.route("**/summary?*find=*", lambda route: None)
    with page.expect_request(lambda one: "/summary?" in one.url and "find=" in one.url and "with_rows" not in one.url):
        page.get_by_role("button", name="only").click()
    page.emulate_media(color_scheme="dark")
    until(page, "() => document.documentElement.dataset.theme === 'dark'")
    assert page.locator(".flame-says").inner_text() == everything, "drawn anew, it is still the whole run"
    page.unroute("**/summary?*find=*")
    until(page, "() => document.querySelector('.flame-says').textContent.includes('only what is found')")
    found = trained.json("runs/run/find?find=kind:down+role:weight")["event_count"]
    assert found > 0 and f"only what is found {found} (100 %)" in page.locator(".flame-says").inner_text()
    page.get_by_role("combobox", name="Search events").fill("kind:region")
    page.get_by_text("The search finds nothing of what is counted here").wait_for()
    page.get_by_role("button", name="only").click()
    until(page, "text => document.querySelector('.flame-says').innerText === text", everything)
