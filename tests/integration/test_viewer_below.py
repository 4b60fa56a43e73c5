"""What lies below the timeline: flames by stack and by module, the sandwich, modules by step."""

import re

import pytest

pytest.importorskip("playwright")
from chromium import until
from gated import have
from viewer_page import HAS_CHROMIUM, browser, look, sample, window_of  # noqa: F401

pytestmark = HAS_CHROMIUM
JOB = """
import torch
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(16, 32), torch.nn.Linear(32, 16)
    def forward(self, x):
        return x + self.down(self.up(x))
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.Sequential(Block(), Block())
    def forward(self, x):
        return self.blocks(x)
net = Net()
for step in range(4):
    with torch.autocast("cpu", torch.bfloat16):
        out = net(torch.ones(4, 16))
        if step == 2:
            out = net(out)
    out.float().sum().backward()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter -= 0.1 * parameter.grad
            parameter.grad = None
"""


@pytest.fixture
def page(look, view, castscope, python):
    have(castscope, python, JOB)
    page = look(view("run.castscope").url, width=1600, height=900)
    until(page, "() => document.querySelector('.header .state').textContent.includes('finished')")
    return page


def below(page, title):
    page.get_by_role("group", name="Below the timeline").get_by_role("button", name=title).click()


def boxes(page, label="Flame"):
    tree = page.get_by_role("tree", name=label)
    tree.get_by_role("treeitem").first.wait_for()
    return tree


def number(text):
    return int(re.search(r": ([\d,]+)", text)[1].replace(",", ""))


def test_a_flame_by_module_adds_up_to_the_reports_counts(page, castscope):
    below(page, "flame by module")
    page.get_by_label("Measure").select_option("count")
    tree = boxes(page)
    tree.get_by_role("treeitem", name=re.compile("^the whole run: [0-9,]+,")).wait_for()
    sites = castscope.report()["sites"]
    casts = {path: sum(site["casts"] for site in sites if f"{site['module']}.".startswith(f"{path}."))
             for path in ("blocks", "blocks.0", "blocks.1")}
    whole = tree.get_by_role("treeitem", name=re.compile("^the whole run"))
    assert number(whole.get_attribute("aria-label")) == sum(site["casts"] for site in sites)
    box = tree.get_by_role("treeitem", name=re.compile("^blocks:"))
    assert number(box.get_attribute("aria-label")) == casts["blocks"]
    wide = whole.bounding_box()["width"]
    assert box.bounding_box()["width"] == pytest.approx(wide * casts["blocks"] / sum(s["casts"] for s in sites), abs=3)
    box.click()
    until(page, "() => [...document.querySelectorAll('.flame-box')].some(one => one.ariaSelected === 'true' &&"
                " one.textContent === 'blocks')")
    until(page, "wide => Math.abs(document.querySelector('.flame-box[aria-selected=true]').offsetWidth - wide) < 3",
          wide)
    page.keyboard.press("ArrowDown")
    focused = page.evaluate("document.activeElement.ariaLabel")
    assert number(focused) == max(casts["blocks.0"], casts["blocks.1"])
    # What is drawn anew leaves the keyboard where it was.
    page.evaluate("document.querySelectorAll('.flame-box').forEach(one => { one.dataset.old = 'yes'; })")
    page.set_viewport_size({"width": 1500, "height": 900})
    until(page, "() => !document.querySelector('.flame-box[data-old]')")
    assert page.evaluate("document.activeElement.ariaLabel") == focused
    page.keyboard.press("Enter")
    page.get_by_role("button", name="show in the timeline").click()
    until(page, "() => /find=module%3Ablocks\\.[01]/.test(location.hash)")


def test_a_flame_by_stack_has_the_lines_of_the_job(page, castscope):
    below(page, "flame by stack")
    page.get_by_label("Measure").select_option("bytes")
    tree = boxes(page)
    tree.get_by_role("treeitem", name=re.compile(r"Block\.forward train\.py:8: .*bfloat16")).first.wait_for()
    assert tree.get_by_role("treeitem", name=re.compile("torch.nn.modules")).count() == 0
    page.get_by_label("own code only").uncheck()
    tree.get_by_role("treeitem", name=re.compile("torch.nn.modules.linear.py")).first.wait_for()


def test_the_sandwich_shows_who_calls_and_what_is_called(page):
    below(page, "flame by stack")
    page.get_by_role("button", name=re.compile("callers")).click()
    page.get_by_role("table", name="Places").get_by_text("Block.forward train.py:8", exact=True).click()
    callers, calls = boxes(page, "Called from"), boxes(page, "Calls")
    # A line's own casts are its own; the costliest line comes first, and is chosen.
    table = page.get_by_role("table", name="Places")
    rows = [row.locator("td").all_inner_texts() for row in table.locator("tbody tr").all()]
    assert not [row for row in rows if "linear weight" in row[0]] and all(row[1] for row in rows[:2])
    callers.get_by_role("treeitem", name=re.compile("Net.forward")).first.wait_for()
    calls.get_by_role("treeitem", name=re.compile("linear weight")).nth(1).wait_for()
    assert callers.get_by_role("treeitem", name=re.compile("linear weight")).count() == 0


def test_modules_by_step_tell_what_each_step_did(page, castscope):
    below(page, "modules by step")
    canvas = page.get_by_role("img", name=re.compile(r"modules by 4 steps"))
    canvas.wait_for()
    report = castscope.report()
    behaviours = {one["behaviour"]: one["sites"] for one in report["behaviours"]}
    modules = {site["site"]: site["module"] for site in report["sites"]}
    row = page.locator(".module-names div").all_inner_texts().index("blocks.0.up")
    box = canvas.bounding_box()
    for step in report["step_runs"]:
        casts = sum(site["casts"] for site in behaviours[step["behaviour"]] if modules[site["site"]] == "blocks.0.up")
        page.mouse.move(box["x"] + box["width"] * (step["first_number"] + 0.5) / 4, box["y"] + 15 * row + 7)
        page.get_by_text(re.compile(rf"blocks\.0\.up, step {step['first_number']}: {casts} casts")).wait_for()
    page.mouse.click(box["x"] + box["width"] * 2.5 / 4, box["y"] + 15 * row + 7)
    until(page, "() => /find=module%3Ablocks\\.0\\.up/.test(location.hash) && /event=/.test(location.hash)")
    page.get_by_role("tabpanel").get_by_role("heading", name="step 2").wait_for()


def test_what_is_below_is_in_the_link_and_kept(look, sample):
    viewer = sample("training")
    page = look(viewer.url, width=1600, height=900)
    below(page, "modules by step")
    until(page, "() => location.hash.includes('below=steps')")
    again = look(page.url, width=1600, height=900)
    again.get_by_role("img", name=re.compile("modules by")).wait_for()
    page.goto("about:blank")
    page.goto(viewer.url)
    page.get_by_role("img", name=re.compile("modules by")).wait_for()


def test_a_low_window_has_the_timeline_alone(look, sample):
    page = look(sample("training").url, width=1280, height=600)
    until(page, "() => document.querySelector('.drawer-bar [aria-pressed=true]')?.textContent === 'nothing'")
    assert page.locator(".drawer-body").is_hidden()
