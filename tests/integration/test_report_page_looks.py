"""The HTML report to the eye: what its pictures say without colours, where long names break, what is cut off."""

import re

import pytest

pytest.importorskip("playwright")
from report_pages import HAS_CHROMIUM, browser, look, unfold, window  # noqa: F401
from test_report_page_access import A4, colour, contrast

pytestmark = HAS_CHROMIUM
WIDTHS = [390, 1024, 1280, 1440]


# --- shares and charts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("media", [{"scheme": "light"}, {"scheme": "dark"}, {"forced_colors": "active"}])
def test_how_long_a_share_is_can_be_told(look, media):
    page = look("training", **media)
    bars = page.evaluate("""() => [...document.querySelectorAll('.share')].map((cell) => {
        const [rest, bar] = cell.querySelectorAll('rect');
        return [cell.textContent.trim(), Number(bar.getAttribute('width')), getComputedStyle(rest).fill];
    })""")
    assert len(bars) > 3
    for text, width, rest in bars:
        assert rest == "none", rest  # what is not filled looks like the page
        assert width == pytest.approx(float(re.search(r"[\d.]+", text)[0]), abs=2)
    for drawn, prop in ((".share .bar", "fill"), (".share .rest", "stroke")):
        assert contrast(colour(page, drawn, prop), colour(page, "body", "backgroundColor")) >= 3


def test_forced_colours_tell_a_curve_from_the_grid(look):
    page = look("training", forced_colors="active")
    curve, grid = (page.evaluate("""(which) => {
        const style = getComputedStyle(document.querySelector(which));
        return [parseFloat(style.strokeWidth), style.strokeDasharray];
    }""", which) for which in ("svg .curve", "svg .grid"))
    assert curve[0] >= 2 * grid[0] and curve[1] == "none" and grid[1] != "none"


@pytest.mark.parametrize("media", [{"scheme": "light"}, {"scheme": "dark"}, {"forced_colors": "active"}])
def test_flames_have_the_colours_of_their_legend(look, media):
    page = look("training", **media)
    legend = dict(page.evaluate("""() => [...document.querySelectorAll('#modules .swatch')].map(
        (one) => [one.textContent, getComputedStyle(one.querySelector('i')).backgroundColor])"""))
    frames = page.evaluate("""() => [...document.querySelectorAll('.flame svg:not(.more)')].map((one) => [
        one.querySelector('title').textContent, getComputedStyle(one.querySelector('rect')).fill])""")
    assert len(set(legend.values())) == len(legend) >= 1 and len(frames) > 3
    assert all(fill == legend[tip.splitlines()[-1]] for tip, fill in frames)


@pytest.mark.parametrize("width", WIDTHS)
def test_names_in_flames_end_with_an_ellipsis_where_they_are_cut(look, width):
    names = look("bert", width=width).evaluate("""() => [...document.querySelectorAll('.flame .name')].map(
        (one) => [one.textContent, getComputedStyle(one).textOverflow])""")
    assert len(names) > 5 and all(ends == "ellipsis" and "…" not in name for name, ends in names)


# --- long names -------------------------------------------------------------------------------------------------------


NAMES = "header .command, header .wrap, .alert p, .verdict, #totals p, td:not(.number), article .head > *"
BROKEN = """(names) => [...document.querySelectorAll(names)].map((cell) => {
    const told = [], range = document.createRange();
    for (const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT); walk.nextNode();)
        for (let i = 0; i < walk.currentNode.length; ++i) {
            range.setStart(walk.currentNode, i);
            range.setEnd(walk.currentNode, i + 1);
            const box = range.getClientRects()[0];
            if (box) told.push([walk.currentNode.data[i], box.top]);
        }
    let lines = '';
    told.forEach(([letter, top], i) => {
        if (i > 0 && Math.abs(top - told[i - 1][1]) > 6) lines += '\\n';
        lines += letter;
    });
    return lines;
}).filter((lines) => lines.includes('\\n'))"""


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["long", "training"])
def test_long_places_and_names_break_between_words(look, name, width):
    page = look(name, width=width)
    unfold(page)
    broken = page.evaluate(BROKEN, NAMES)
    assert name != "long" or any("attention" in lines for lines in broken)
    for lines in broken:
        for before, after in zip(lines.splitlines(), lines.splitlines()[1:], strict=False):
            assert re.search(r"[\s/_.:-]$", before) or (before[-1].islower() and after[0].isupper()), lines
            assert not re.match(r"\d", after) or not re.search(r"\w:$", before), lines  # the line stays with its file


@pytest.mark.parametrize("name", ["training", "bert", "compiled", "long"])
def test_nothing_sticks_out_of_a_window_of_middle_width(look, name):
    for width in 768, 1024, 1200, 1280, 1440:
        page = look(name, width=width)
        unfold(page)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_columns_that_say_nothing_are_left_out(look):
    heads = look("training").locator("#processes th").all_inner_texts()
    assert "rank" not in heads and "events" in heads


# --- what is cut off --------------------------------------------------------------------------------------------------


def test_source_folds_on_a_telephone_and_shows_elsewhere_that_it_goes_on(look):
    page = look("training", width=390)
    sizes = page.evaluate("""() => [...document.querySelectorAll('.source')].map(
        (one) => [one.scrollWidth, one.clientWidth])""")
    assert sizes and all(inside <= outside for inside, outside in sizes if outside)
    attached = look("training", width=1024).evaluate("""() => ['.source', '.graph'].map(
        (which) => getComputedStyle(document.querySelector(which)).backgroundAttachment)""")
    assert all("local" in one and "scroll" in one for one in attached)


def test_paper_keeps_the_head_of_a_table_with_its_rows(look):
    page = look("many", **A4, media="print")
    assert page.evaluate("""() => {
        const section = document.querySelector('#sites');
        const style = (which) => getComputedStyle(section.querySelector(which));
        return [style('.heading').breakAfter, style('p.soft').breakAfter, style('p.soft').breakInside,
                style('thead').breakAfter, style('tbody tr').breakBefore];
    }""") == ["avoid"] * 5
    assert page.evaluate("() => getComputedStyle(document.querySelector('.flame .name')).printColorAdjust") == "exact"


def test_what_went_wrong_is_told_in_sentences(look):
    told = look("killed").locator(".alert p").all_inner_texts()
    assert len(told) > 2 and all(text[0].isupper() and text.endswith(".") for text in told)


def test_time_that_nobody_measured_is_told_once(look):
    told = look("compiled").locator("#sites p").first.inner_text()
    assert "none of them timed" in told and "not timed" not in told
