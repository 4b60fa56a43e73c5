"""Findings in the viewer: the list of them, their marks over the timeline, and the ways from one to the other."""

import re

import pytest

pytest.importorskip("playwright")
from chromium import until
from program import Castscope
from viewer import viewing
from viewer_page import HAS_CHROMIUM, browser, look, make_sample, sample, tab, window_of  # noqa: F401

pytestmark = HAS_CHROMIUM
NODES = "document.querySelectorAll('*').length"


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """Where a run with ten thousand findings can be looked at. It takes a second to be read, so all look there."""
    castscope = Castscope(tmp_path_factory.mktemp("crowded"))
    with viewing(castscope) as view:
        yield view(make_sample("many-findings", castscope.folder)).url


def cards(page):
    return page.get_by_role("tabpanel").get_by_role("article")


def opened(look, url):
    page = look(url)
    cards(page).or_(page.locator(".rule-group")).first.wait_for()
    return page


def test_only_what_is_seen_of_ten_thousand_findings_is_built(look, crowded):
    page = look(crowded, ready=False)
    group = page.get_by_role("button", name=re.compile("weight-cast-repeatedly ×9,999"))
    group.click()
    cards(page).first.wait_for()
    assert cards(page).count() < 40
    assert page.evaluate(NODES) < 1500
    assert cards(page).first.get_attribute("aria-setsize") == "9999"
    page.evaluate("document.querySelector('.panel').scrollTop = 1e9")
    cards(page).get_by_text("part9999.weight").wait_for()
    assert cards(page).count() < 40
    group = page.get_by_label("Filter findings")
    group.fill("part777.weight")
    cards(page).get_by_text("part777.weight").wait_for()
    assert cards(page).count() == 1


def test_to_the_timeline_and_back_nothing_loses_its_place(look, crowded):
    page = opened(look, crowded)
    page.get_by_role("button", name=re.compile("weight-cast-repeatedly")).click()
    page.evaluate("document.querySelector('.panel').scrollTop = 200000")
    until(page, "() => +document.querySelector('.panel article')?.ariaPosInSet > 1000")
    card = cards(page).nth(5)
    title = card.get_by_role("heading").inner_text()
    cards(page).filter(has_text=title).get_by_role("button", name=title).click()
    button = cards(page).filter(has_text=title).get_by_role("button", name="Show in timeline")
    button.click()
    until(page, "() => /[#&]finding=/.test(location.hash) && /[#&]event=/.test(location.hash)")
    scrolled = page.evaluate("document.querySelector('.panel').scrollTop")
    assert 190_000 < scrolled < 210_000
    assert page.evaluate("document.activeElement.textContent") == "Show in timeline"
    assert page.locator("article[aria-current=true]").get_by_role("heading").inner_text() == title
    tab(page, "sites")
    tab(page, "findings")
    assert page.evaluate("document.querySelector('.panel').scrollTop") == scrolled
    assert page.locator("article[aria-current=true]").get_by_role("heading").inner_text() == title


def mark(page):
    """Where the mark of the only finding is, in px of the page."""
    begin, end = page.evaluate("""async () => {
        const run = (await (await fetch('api/v2/runs')).json()).runs[0].run_name;
        const of = await (await fetch(`api/v2/runs/${run}`)).json();
        return [of.events_begin_ns, of.events_end_ns];
    }""")
    first = page.evaluate("""async () => {
        const run = (await (await fetch('api/v2/runs')).json()).runs[0].run_name;
        return (await (await fetch(`api/v2/runs/${run}/findings`)).json()).findings[0].first_event_ns;
    }""")
    air = (end - begin) * 0.015  # kAir of time_window.ts
    return (first - begin + air) / (end - begin + 2 * air)


def test_marks_of_findings_answer_to_the_mouse(look, sample):
    page = opened(look, sample("training").url)
    tab(page, "sites")
    lanes, minimap = page.locator("canvas.lanes").bounding_box(), page.locator("canvas.minimap").bounding_box()
    x = lanes["x"] + mark(page) * lanes["width"]
    page.mouse.move(x, minimap["y"] + 4)
    page.locator(".tip").get_by_text("teacher.weight is cast again").wait_for()
    page.mouse.click(x, minimap["y"] + 4)
    page.locator("article[aria-current=true]").get_by_text("teacher.weight is cast again").wait_for()
    page.keyboard.press("Escape")
    page.locator("article[aria-current=true]").wait_for(state="detached")
    tab(page, "sites")
    rows = page.locator(".gutter-row.lane").first.bounding_box()
    for y in range(int(rows["y"]), int(rows["y"] + rows["height"]), 3):
        page.mouse.move(x, y)
        if page.locator("canvas.lanes.over-mark").count():
            break
    page.locator(".tip").get_by_text("weight-cast-repeatedly").wait_for()
    page.mouse.down()
    page.mouse.up()
    page.locator("article[aria-current=true]").get_by_text("teacher.weight is cast again").wait_for()


def test_marks_that_would_cover_each_other_become_one(look, crowded):
    page = opened(look, crowded)
    minimap = page.locator("canvas.minimap").bounding_box()
    for x in range(50, 100, 4):
        page.mouse.move(minimap["x"] + x, minimap["y"] + 4)
        if page.locator("canvas.minimap.over-mark").count():
            break
    page.locator(".tip").get_by_text(re.compile(r"and [\d,]+ findings more")).wait_for()


def test_an_event_says_which_finding_it_is_part_of(look, sample):
    page = opened(look, sample("training").url)
    page.get_by_role("button", name="Show in timeline").click()
    until(page, "() => /[#&]event=/.test(location.hash)")
    panel = tab(page, "detail")
    panel.get_by_text("part of finding").wait_for()
    panel.get_by_role("button", name=re.compile("teacher.weight is cast again")).click()
    page.locator("article[aria-current=true]").wait_for()


def test_from_one_finding_to_the_next_by_key(look, crowded):
    page = opened(look, crowded)
    page.locator("canvas.lanes").focus()
    titles = []
    for key in "jjjk":
        page.keyboard.press(key)
        until(page, "before => document.querySelector('article[aria-current=true] h3')?.textContent !== before",
              titles[-1] if titles else "")
        titles.append(page.locator("article[aria-current=true] h3").inner_text())
    assert len(set(titles[:3])) == 3 and titles[3] == titles[1]


def test_all_events_of_the_chosen_finding_are_marked_and_n_goes_from_one_to_the_next(look, sample):
    page = opened(look, sample("training").url)
    page.get_by_role("button", name="Show in timeline").click()
    until(page, "() => /[#&]event=/.test(location.hash)")
    seen = [page.url]
    page.locator("canvas.lanes").focus()
    for _ in range(3):
        page.keyboard.press("n")
        until(page, "before => !before.includes(location.href) && /[#&]event=/.test(location.hash)", seen)
        seen.append(page.url)
    assert all("tab=findings" in url for url in seen)
    panel = tab(page, "detail")
    panel.get_by_role("heading", name=re.compile("linear weight")).first.wait_for()
    panel.get_by_text("part of finding").wait_for()


def test_what_is_done_is_kept_and_can_be_hidden(look, sample):
    viewer = sample("training")
    page = look(viewer.url)
    cards(page).get_by_label(re.compile("^Done: ")).check()
    page.get_by_text("1 finding, 1 done").wait_for()
    page.reload()
    cards(page).get_by_label(re.compile("^Done: ")).wait_for()
    assert cards(page).get_by_label(re.compile("^Done: ")).is_checked()
    page.get_by_label("hide done").check()
    page.get_by_text("No finding fits.").wait_for()


def test_a_card_shows_the_code_and_why_it_matters(look, view, recorded):
    page = look(view("run.castscope").url)
    card = cards(page).first
    card.locator(".excerpt .here").wait_for()
    line = int(recorded["findings"][0]["location"]["line"])
    assert card.locator(".excerpt .here .line-number").text_content() == str(line)
    card.get_by_text("why it matters").click()
    card.locator("details[open] p").first.wait_for()
    assert len(card.locator("details[open]").inner_text()) > 100
