"""The HTML report for everybody: on paper, on a telephone, in the dark, with colours of one's own, read aloud."""

import itertools
import re

import pytest

pytest.importorskip("playwright")
import axe
from report_pages import HAS_CHROMIUM, browser, look, unfold, window  # noqa: F401

pytestmark = HAS_CHROMIUM
A4 = {"width": round((210 - 24) / 25.4 * 96), "height": round((297 - 24) / 25.4 * 96)}  # within the margins, in pixels


# --- paper ------------------------------------------------------------------------------------------------------------


def pages_of(page):
    return len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4", prefer_css_page_size=True)))


def test_five_findings_are_five_pages_at_most(look):
    page = look("five")
    assert page.locator("article.finding").count() == 5
    assert pages_of(page) <= 5


def test_many_findings_are_a_few_pages(look):
    assert pages_of(look("many")) <= 8


def test_the_first_page_has_a_finding_and_no_card_is_broken(look):
    page = look("five", **A4, media="print")
    assert page.locator("article.finding").first.bounding_box()["y"] < A4["height"] / 2
    cards = page.evaluate("""() => [...document.querySelectorAll('article.finding')].map(
        (card) => [getComputedStyle(card).breakInside, card.getBoundingClientRect().height])""")
    assert all(how == "avoid" and height < A4["height"] for how, height in cards)


def test_paper_keeps_swatches_and_names_what_it_leaves_out(look):
    page = look("training", scheme="dark", **A4, media="print")
    adjusted = page.evaluate("""() => ['.swatch i', '.source .hit'].map(
        (which) => getComputedStyle(document.querySelector(which)).printColorAdjust)""")
    assert adjusted == ["exact", "exact"]
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible() and not page.locator("#graph").is_visible()
    assert "The graph of a step" in page.locator("p.paper").inner_text()


# --- read aloud, by keyboard ------------------------------------------------------------------------------------------


# The two schemes differ in colours alone. The report of "training" is checked in both, each other one in one of them.
@pytest.mark.parametrize(("name", "scheme"), [("training", "light"), ("training", "dark"), ("killed", "dark"),
                                              ("empty", "light"), ("many", "light"), ("bert", "dark"),
                                              ("compiled", "light")])
def test_axe_finds_nothing(look, name, scheme):
    page = look(name, scheme=scheme)
    if name == "training":  # what is seen of the others when they are folded is seen of them unfolded, too
        assert axe.violations(page) == []
    unfold(page)
    assert axe.violations(page) == []


def test_headings_go_down_by_one_and_landmarks_are_there(look):
    page = look("bert")
    levels = page.evaluate("() => [...document.querySelectorAll('h1,h2,h3,h4')].map((one) => Number(one.tagName[1]))")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    for landmark in "banner", "navigation", "main":
        assert page.get_by_role(landmark).count() == 1


def test_targets_are_24_pixels_and_links_look_like_links(look):
    page = look("training")
    targets = page.evaluate("""() => [...document.querySelectorAll('a[href], summary')].filter(
        (one) => one.checkVisibility() && !one.closest('svg')).map((one) => {
            const box = one.getBoundingClientRect();
            return [one.textContent, box.width, box.height, getComputedStyle(one).textDecorationLine];
        })""")
    assert len(targets) > 20
    assert [target for target in targets if target[1] < 24 or target[2] < 24 or target[3] != "underline"] == []


# --- colours ----------------------------------------------------------------------------------------------------------


def luminance(colour):
    def linear(part):
        part /= 255
        return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
    red, green, blue = (linear(part) for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def colour(page, selector, prop):
    told = page.evaluate("([where, prop]) => getComputedStyle(document.querySelector(where))[prop]", [selector, prop])
    return [float(part) for part in re.findall(r"[\d.]+", told)[:3]]


# Of each: what is drawn, its property, what it lies on, that one's property, the contrast that it needs.
PAIRS = [
    (".finding", "borderTopColor", "body", "backgroundColor", 3),
    (".finding", "borderLeftColor", "body", "backgroundColor", 3),
    ("thead th", "borderBottomColor", "body", "backgroundColor", 3),
    (".source .hit", "borderLeftColor", ".source .hit", "backgroundColor", 3),
    (".flame .frame", "stroke", ".flame .frame", "fill", 3),
    (".flame .name", "color", ".flame .frame", "fill", 4.5),
    ("figure .curve", "stroke", "figure", "backgroundColor", 3),
    ("figure text", "fill", "figure", "backgroundColor", 4.5),
    (".share .bar", "fill", "body", "backgroundColor", 3),
    (".graph .body", "stroke", ".graph", "backgroundColor", 3),
    (".graph .dtype", "fill", ".graph .badge", "fill", 4.5),
    (".graph .mark text", "fill", ".graph .mark rect", "fill", 4.5),
    (".graph .line", "stroke", ".graph", "backgroundColor", 3),
    (".graph .line.cast", "stroke", ".graph", "backgroundColor", 3),
    (".graph .soft", "fill", ".graph .body", "fill", 4.5),
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_lines_and_letters_stand_out(look, scheme):
    page = look("training", scheme=scheme)
    pale = []
    for drawn, prop, on, its, least in PAIRS:
        found = contrast(colour(page, drawn, prop), colour(page, on, its))
        if found < least:
            pale.append((drawn, prop, on, round(found, 2)))
    assert pale == []


def test_forced_colours_keep_swatches_and_marks(look):
    page = look("training", forced_colors="active")
    swatches = page.evaluate("""() => [...document.querySelectorAll('#graph .legend .swatch i')].slice(0, 3).map(
        (one) => getComputedStyle(one).backgroundColor)""")
    canvas = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert len(swatches) == len(set(swatches)) == 3 and canvas not in swatches
    assert colour(page, ".source .hit", "backgroundColor") != colour(page, ".source", "backgroundColor")
    assert contrast(colour(page, ".flame .name", "color"), colour(page, ".flame .frame", "fill")) >= 4.5
    assert contrast(colour(page, ".graph .name", "fill"), colour(page, ".graph .body", "fill")) >= 4.5


# --- small windows ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["training", "killed", "empty", "many", "bert", "compiled", "twice"])
def test_nothing_sticks_out_of_a_small_window(look, name):
    for width in 390, 320:
        page = look(name, width=width, height=844)
        unfold(page)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
