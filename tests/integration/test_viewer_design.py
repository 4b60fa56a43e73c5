"""How the viewer's panels are laid out: one row of tabs, heads of tables, colours of code, badges, folded frames."""

import re

import pytest

pytest.importorskip("playwright")
from chromium import until
from gated import TRAIN, have, line_of
from viewer_page import HAS_CHROMIUM, browser, look, opened, sample, tab  # noqa: F401

pytestmark = HAS_CHROMIUM


def test_the_tabs_are_one_row(look, sample):
    page = opened(look, sample, "training")
    for width in 1440, 1600, 1920:
        page.set_viewport_size({"width": width, "height": 900})
        tops = page.evaluate("""() => [...document.querySelectorAll('[aria-label=Panels] [role=tab]')]
            .map((one) => one.getBoundingClientRect().top)""")
        assert len(tops) == 8 and len(set(tops)) == 1, width


def test_no_fact_of_the_run_is_cut(look, sample):
    page = opened(look, sample, "training")
    for width in 390, 1024, 1600, 1920:
        page.set_viewport_size({"width": width, "height": 800})
        seen = page.evaluate("""() => [...document.querySelectorAll('.header .facts span')].map((one) => {
            const {left, right, top, bottom} = one.getBoundingClientRect();
            return document.elementFromPoint(right - 2, (top + bottom) / 2)?.closest('span') === one && left >= 0;
        })""")
        assert len(seen) >= 4 and all(seen), width


def test_what_is_below_leaves_the_timeline_its_room_in_a_narrow_window(look, sample):
    page = opened(look, sample, "training", width=1600, height=800)
    page.set_viewport_size({"width": 390, "height": 800})  # where nothing was chosen, nothing is below
    until(page, "() => document.querySelector('.drawer-body').hidden")
    page.get_by_role("group", name="Below the timeline").get_by_role("button", name="flame by stack").click()
    page.get_by_role("treeitem").first.wait_for()
    assert page.evaluate("() => document.querySelector('canvas.lanes').getBoundingClientRect().height") > 150


def test_list_and_source_stand_behind_selection_and_detail(look, sample):
    page = opened(look, sample, "training")
    views = page.get_by_role("tablist", name="Views of this panel")
    assert views.is_hidden()
    page.keyboard.press("l")
    assert views.get_by_role("tab", selected=True).inner_text() == "List"
    views.get_by_role("tab", name="List").press("ArrowLeft")
    until(page, "() => document.activeElement.textContent === 'Selection'")
    page.get_by_role("tab", name="Sites").click()
    page.get_by_role("tablist", name="Panels").get_by_role("tab", name="Selection").click()
    assert views.get_by_role("tab", selected=True).inner_text() == "Selection"
    page.keyboard.press("l")
    page.get_by_role("tablist", name="Panels").get_by_role("tab", name="Selection").click()
    assert views.get_by_role("tab", selected=True).inner_text() == "Selection"  # the tab's first panel


def test_times_count_from_the_first_event(look, sample):
    page = opened(look, sample, "one-event")
    page.keyboard.press("w")
    panel = tab(page, "list")
    panel.get_by_role("row").nth(1).wait_for()
    assert panel.get_by_role("row").nth(1).get_by_role("cell").first.inner_text().startswith("0.000 ")


def test_tables_have_heads(look, sample):
    page = opened(look, sample, "training")
    table = tab(page, "selection").get_by_role("table", name="By kind")
    table.wait_for()
    heads = table.get_by_role("columnheader").all_inner_texts()
    assert heads == ["kind", "events", "time", "of its length", "bytes"]


NESTED = """
import torch
net = torch.nn.Sequential(torch.nn.Linear(8, 8), *(torch.nn.Linear(8, 8) for _ in range(5)))
for _ in range(2):
    with torch.autocast("cpu", torch.bfloat16):
        net(torch.ones(2, 8))
gate = torch.nn.Sequential(torch.nn.Linear(8, 8))
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.gate = net, torch.nn.Linear(8, 8)
    def forward(self, x):
        x = self.net(x)
        with torch.autocast("cpu", enabled=False):
            return self.gate(x.float())
whole = Net()
with torch.autocast("cpu", torch.bfloat16):
    whole(torch.ones(2, 8))
"""


@pytest.fixture
def nested(look, view, castscope, python):
    have(castscope, python, NESTED, "run", "--deep", "always")
    page = look(view("run.castscope").url, width=1600, height=900)
    until(page, "() => document.querySelector('.header .state').textContent.includes('finished')")
    return page


def test_a_module_that_is_not_like_the_others_is_named_with_its_reason(nested):
    panel = tab(nested, "modules")
    odd = panel.locator(".odd")
    odd.wait_for()
    assert odd.inner_text() == ("Net gate computes in float32, in autocast cpu off train.py:14; "
                                "6 others of its type (Linear) in bfloat16.")
    assert nested.get_by_role("tab", name="Modules").inner_text().endswith("1")
    odd.get_by_role("button", name="Net gate").click()
    line = panel.locator(".module-operators li").first
    line.wait_for()
    assert re.search(r"linear in float32 train\.py:15 in autocast cpu off, train\.py:14", line.inner_text())
    until(nested, "() => /module%3Agate/.test(location.hash)")
    line.get_by_role("button", name="train.py:14").click()
    nested.get_by_role("table", name="train.py").locator(".here", has_text="enabled=False").wait_for()


def test_the_findings_lead_to_modules_that_are_not_like_the_others(nested):
    panel = tab(nested, "findings")
    panel.get_by_role("button", name="1 module computes in another precision than the others of its type").click()
    nested.get_by_role("tabpanel").get_by_text("computes in float32, in autocast cpu off").wait_for()


def test_frames_of_packages_are_folded(nested):
    page = nested
    page.get_by_role("combobox", name="Search events").fill("kind:cast")
    page.keyboard.press("Enter")
    until(page, "() => /[#&]event=/.test(location.hash)")
    panel = tab(page, "detail")
    assert panel.locator("dd", has_text="autocast cpu bfloat16").get_by_role("button", name="train.py:5").is_visible()
    folded = panel.get_by_text(re.compile(r"^\d+ frames of torch$")).first
    folded.wait_for()
    own = panel.get_by_role("button", name=re.compile(r"train\.py:\d+"))
    assert own.first.is_visible()
    assert not panel.get_by_role("button", name=re.compile("torch.nn.modules.module")).first.is_visible()
    folded.click()
    panel.get_by_role("button", name=re.compile("torch.nn.modules")).first.wait_for()


def test_code_has_colours_and_badges_that_lead_to_findings(look, view, recorded):
    page = look(view("run.castscope").url)
    page.get_by_role("tabpanel").get_by_role("button", name=re.compile(r"train\.py:\d+")).first.click()
    code = page.get_by_role("table", name="train.py")
    code.locator(".here").wait_for()
    assert code.locator(".here .line-number").text_content() == str(line_of(TRAIN))
    colours = code.evaluate("""(table) => [...new Set([...table.querySelectorAll('code span')]
        .map((one) => one.className + getComputedStyle(one).color))]""")
    assert len({colour.partition("rgb")[2] for colour in colours}) >= 3
    code.locator(".here").get_by_role("button", name=re.compile("^finding: ")).click()
    page.locator("article[aria-current=true]").wait_for()


def test_lines_are_as_high_as_each_other(look, view, recorded):
    page = look(view("run.castscope").url, width=2400, height=900)  # so wide that no line goes on below
    page.get_by_role("tabpanel").get_by_role("button", name=re.compile(r"train\.py:\d+")).first.click()
    page.locator(".code .here").wait_for()
    heights = page.evaluate("[...document.querySelectorAll('.code .line')].map((one) => one.offsetHeight)")
    assert len(set(heights[1:])) == 1


STOPS = """
import os, torch
layer = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for step in range(6):
    with torch.autocast("cpu", torch.bfloat16):
        for _ in range(5):
            loss = layer(torch.ones(2, 8)).float().sum()
            if step == 5:
                os._exit(3)
    loss.backward()
    optimizer.step()
"""


def test_a_last_step_that_did_not_end_is_in_no_chart(look, castscope, python, view):
    (castscope.folder / "train.py").write_text(STOPS)
    assert castscope.run(python, "train.py").returncode == 3
    rows = castscope.report()["step_runs"]
    assert (rows[0]["first_step"], rows[0]["last_step"], rows[1]["first_step"]) == (0, 4, 5)
    page = look(view("run.castscope").url)
    panel = tab(page, "charts")
    panel.get_by_text("Casts in a step").wait_for()
    box = panel.locator("figure", has_text="Casts in a step").locator(".u-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + 20)
    panel.get_by_text(re.compile(r"^ step 4: ")).first.wait_for()


def test_two_runs_are_compared_per_step_with_what_they_computed_in(look, castscope, python, view):
    job = ("import sys, torch\nlayer = torch.nn.Linear(8, 8)\nfor _ in range(int(sys.argv[1])):\n"
           "    with torch.autocast('cpu', torch.bfloat16, enabled=len(sys.argv) > 2):\n"
           "        layer(torch.ones(2, 8))\n")
    (castscope.folder / "train.py").write_text(job)
    for name, more in (("plain", ("4",)), ("cast", ("6", "on"))):
        assert castscope("run", "--deep", "always", "-o", name, "--", python, "train.py", *more).returncode == 0
    page = look(view("plain.castscope", "cast.castscope").url + "#run=plain&tab=compare&with=cast")
    totals = page.get_by_role("table", name="Totals")
    totals.wait_for()
    after = castscope.report("cast")
    casts = totals.get_by_role("row", name=re.compile("^casts")).get_by_role("cell").all_inner_texts()
    steps = after["totals"]["step_count"]
    assert casts[1:3] == ["0", str(after["totals"]["casts"])]
    assert float(casts[4]) == pytest.approx(after["totals"]["casts"] / steps, abs=0.01)
    row = page.get_by_role("table", name="Operators in another precision").get_by_role("row", name=re.compile("linear"))
    assert row.get_by_role("cell").all_inner_texts()[1:] == ["float32", "bfloat16"]


def test_a_step_tells_what_it_did_and_how_it_differs_from_the_one_before(nested, castscope):
    page = nested
    page.get_by_role("combobox", name="Search events").fill("step 2")
    page.keyboard.press("Enter")
    until(page, "() => /[#&]event=/.test(location.hash)")
    did = tab(page, "detail").get_by_role("region", name="What the step did")
    did.get_by_text(re.compile(r"\d+ casts?, .*in step 1")).wait_for()
    did.get_by_role("button", name="Compare with the one before").click()
    panel = page.get_by_role("tabpanel", name="Compare")
    panel.get_by_role("heading", name="step 2 against step 1").wait_for()
    differences = [int(row.get_by_role("cell").nth(3).inner_text().replace("+", "").replace("\u2212", "-"))
                   for row in panel.locator("tbody tr").all()]
    assert differences == sorted(differences, reverse=True) and 0 not in differences
