"""The HTML report as its readers see it: what is on the first screen, what is where, in which words, and how much."""

import re

import pytest

pytest.importorskip("playwright")
from report_pages import HAS_CHROMIUM, browser, look, made, unfold, visible_text, window  # noqa: F401

pytestmark = HAS_CHROMIUM
UNITS = {"µs": 1e3, "ms": 1e6, "s": 1e9, "bytes": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "%": 1}
IDENTIFIERS = ["user_to", "dtype_argument", "custom_cast", "not_autocast", "no_requires_grad", "not_leaf",
               "other_dtype", "not_fp32", "cache_disabled", "inference_mode", "cuda_graph", "not_seen", "vanished"]
WRITTEN = ["training", "twice", "compiled", "killed", "bert"]


def bottom(page, selector):
    return page.evaluate("(where) => document.querySelector(where).getBoundingClientRect().bottom", selector)


def quantity(text):
    """The number that a cell stands for, for its order among others."""
    found = re.fullmatch(r"<?([\d,.]+)(?: (\S+))?", text)
    return float(found[1].replace(",", "")) * UNITS.get(found[2], 1) if found else 0


def tables(page):
    """Of each table: the heads, which of them is sorted, and the texts of the rows."""
    return page.evaluate("""() => [...document.querySelectorAll('table:not(.evidence)')].map((table) => {
        const heads = [...table.querySelectorAll('thead th')];
        return {
            caption: table.caption.textContent,
            numbers: heads.map((head) => head.classList.contains('number')),
            sorted: heads.findIndex((head) => head.getAttribute('aria-sort') === 'descending'),
            rows: [...table.querySelectorAll('tbody tr')].map(
                (row) => [...row.cells].map((cell) => cell.textContent.trim())),
        };
    })""")


# --- how the run ended ------------------------------------------------------------------------------------------------


def test_an_empty_run_does_not_praise_itself(look):
    text = visible_text(look("empty"))
    assert "Not observed" in text and "Autocast was never asked to cast anything" in text
    for praise in ("nothing wrong", "nothing to complain", "1 step", "steps", "0 µs", "0 bytes", "not timed"):
        assert praise not in text


def test_a_killed_run_says_so_in_red_at_the_top(look):
    page = look("killed")
    colours = page.evaluate("""() => Object.fromEntries([...document.querySelectorAll('header .end')].map(
        (one) => [one.textContent, getComputedStyle(one).color.match(/\\d+/g).map(Number)]))""")
    assert list(colours) == ["killed by SIGKILL", "incomplete"]
    red, green, blue = colours["killed by SIGKILL"]
    assert red > 2 * green and red > 2 * blue
    assert max(colours["incomplete"]) > 2 * min(colours["incomplete"])  # no grey
    assert bottom(page, "main .alert.bad") < 300


def test_a_run_that_was_cut_short_does_not_call_itself_clean(look):
    page = look("killed")
    for told in page.locator(".verdict").inner_text(), page.locator("#findings").inner_text():
        if "findings" in told.lower() and not page.locator("article.finding").count():
            assert "cut short" in told or "SIGKILL" in told


def test_time_that_nobody_measured_is_not_timed(look):
    page = look("compiled")
    unfold(page)
    text = visible_text(page)
    assert "not timed" in text and not re.search(r"\b0 (ns|µs|ms|s)\b", text)
    (sites,) = [table for table in tables(page) if "no cast was timed" in table["caption"]]
    assert all("not timed" in row for row in sites["rows"])


# --- the first screen, contents ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["training", "killed", "many"])
def test_verdict_and_totals_are_on_the_first_screen(look, name):
    page = look(name)
    assert bottom(page, ".verdict") < 300 and bottom(page, ".cards") < 600
    assert re.search(r"Casts take [\d.<]+ % of the step", page.locator(".verdict").inner_text())
    assert len(set(page.evaluate("""() => [...document.querySelectorAll('.cards div')].map(
        (tile) => Math.round(tile.getBoundingClientRect().height))"""))) == 1


def test_the_contents_lead_to_every_section(look):
    page = look("training")
    links = page.evaluate("() => [...document.querySelectorAll('nav a')].map((link) => link.hash.slice(1))")
    sections = page.evaluate("() => [...document.querySelectorAll('main section')].map((section) => section.id)")
    assert [link for link in links if not link.startswith("finding-")] == sections
    assert links.count("finding-1") == 1
    for link in links:
        page.evaluate("(id) => document.querySelector(`nav a[href='#${id}']`).click()", link)
        assert page.url.endswith("#" + link)
        assert page.evaluate("(id) => document.getElementById(id).getBoundingClientRect().top", link) < 900
    page.locator("#sites a.anchor").click()
    assert page.url.endswith("#sites")


# --- findings ---------------------------------------------------------------------------------------------------------


def test_the_fix_stands_below_the_first_excerpt(look):
    page = look("training")
    order = page.evaluate("""() => [...document.querySelectorAll('article')].map((card) => [...card.children].map(
        (one) => one.matches('pre') ? 'source' : one.tagName === 'DETAILS' ? 'folded' :
            one.textContent.startsWith('Fix:') ? 'fix' : 'other'))""")
    assert order
    for card in order:
        assert card.index("fix") == card.index("source") + 1 and card.count("source") == 1
        assert "folded" not in card[:card.index("fix")]
    further = page.locator("article.finding details", has=page.locator("summary", has_text="further place"))
    assert further.count() and all(one.get_attribute("open") is None for one in further.all())


def test_excerpts_that_touch_are_one(look):
    page = look("training")
    unfold(page)
    blocks = page.evaluate("""() => [...document.querySelectorAll('article.finding')].map((card) => {
        const blocks = [...card.querySelectorAll('pre')];
        return blocks.map((block) => [...block.querySelectorAll('i')].map((line) => Number(line.textContent)));
    })""")
    for card in blocks:
        spans = sorted((lines[0], lines[-1]) for lines in card)
        assert all(before[1] + 1 < after[0] for before, after in zip(spans, spans[1:], strict=False))
    assert page.evaluate("""() => [...document.querySelectorAll('pre')].some(
        (block) => block.querySelectorAll('.hit').length === 2)""")


def test_words_stand_where_programs_have_identifiers(look):
    for name in WRITTEN:
        page = look(name)
        unfold(page)
        text = visible_text(page)
        assert [word for word in IDENTIFIERS if word in text] == [], name
        assert all("`" not in one for one in page.locator("article p").all_inner_texts())


# --- tables and pictures ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WRITTEN)
def test_no_two_rows_read_alike(look, name):
    page = look(name)
    unfold(page)
    for table in tables(page):
        rows = [tuple(re.sub(r"[\d.,]+ (casts?|[µm]?s|[kMG]?B|bytes)\b", "", cell) for cell, is_number
                      in zip(row, table["numbers"], strict=True) if not is_number) for row in table["rows"]]
        if table["caption"].startswith("In the order of their first calls."):
            continue  # the operators of the graph are numbered
        assert len(rows) == len(set(rows)), [row for row in rows if rows.count(row) > 1]


def test_the_same_line_that_backward_runs_is_told_apart_by_what_was_cast(look):
    page = look("twice")
    (sites,) = [table for table in tables(page) if table["caption"].startswith("The costliest first, by CPU time")]
    told = [row[2] for row in sites["rows"] if "ToCopyBackward0" in row[2]]
    assert len(told) > 1 and all(re.search(r"gradient of .*, job\.py:\d+$", text) for text in told)
    regions = page.locator("#regions tbody").inner_text()
    assert regions.count("called at") == 2


def test_tables_are_sorted_by_what_they_say(look):
    for name in ("training", "bert", "compiled"):
        page = look(name)
        checked = 0
        for table in tables(page):
            assert table["caption"]
            if table["sorted"] < 0:
                continue
            told = [quantity(row[table["sorted"]]) for row in table["rows"]]
            assert told == sorted(told, reverse=True), table["caption"]
            checked += len(told) > 2
        assert checked > 1


def frames(page):
    """Of each frame of the flame view: level, begin and width in %, and the first word of its tip."""
    return page.evaluate("""() => [...document.querySelectorAll('svg.flame svg')].map((frame) => [
        Number(frame.getAttribute('y')) / 24, parseFloat(frame.getAttribute('x')),
        parseFloat(frame.getAttribute('width')), frame.querySelector('title').textContent.split(/\\s/)[0]])""")


def test_the_flame_view_has_modules_within_those_that_they_are_part_of(look):
    page = look("bert")
    assert page.locator("script").count() == 0
    drawn = frames(page)
    names = {name for _, _, _, name in drawn}
    assert {"layer.2", "encoder", "BertForMaskedLM"} <= names
    assert drawn[0] == [0, 0, 100, "all"]
    for level, begin, width, _ in drawn[1:]:
        assert any(above == level - 1 and left <= begin + 0.01 and begin + width <= left + wide + 0.01
                   for above, left, wide, _ in drawn)
    assert re.match(r"Casts by module, by CPU time", page.locator("svg.flame").get_attribute("aria-label"))
    visible = page.evaluate("""() => [...document.querySelectorAll('svg.flame .name')].map((one) => one.textContent)""")
    assert {"encoder", "layer.0", "attention"} <= set(visible)


def test_where_nothing_was_timed_the_flame_view_counts(look):
    page = look("compiled")
    assert "number of casts" in page.locator("#modules").inner_text()
    widths = {name: width for _, _, width, name in frames(page)}
    assert widths["all"] == 100 and any(name.startswith("job.py:") for name in widths)


def test_the_cache_is_a_picture(look):
    page = look("training")
    assert page.locator("#cache svg[role=img]").get_attribute("aria-label").startswith("Cache bytes per step")
    assert page.locator("#cache svg path.curve").get_attribute("d").startswith("M")


# --- how much ---------------------------------------------------------------------------------------------------------


def test_a_run_with_many_sites_and_findings_stays_a_page(look):
    page = look("many")
    assert page.evaluate("() => document.documentElement.scrollHeight") < 10_000
    assert made("many").stat().st_size < 1_000_000
    assert page.evaluate("() => document.querySelectorAll('*').length") < 12_000
    findings, sites = page.locator("#findings").inner_text(), page.locator("#sites").inner_text()
    assert re.search(r"cast-undoes-float × [45],\d{3}", findings)
    for told in findings, sites:
        assert re.search(r"[\d,]{5,} more are in the JSON report\.", told)
    assert "Rows 16 to 100 of" in sites
