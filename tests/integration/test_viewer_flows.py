"""Flows in the viewer: from a cache hit to the cast that filled it, from a cast to its operator, from down to up."""

import json
import re
import subprocess

import pytest

pytest.importorskip("playwright")
from chromium import until
from gated import have
from program import clean_environment
from viewer_page import HAS_CHROMIUM, browser, look, tab  # noqa: F401

pytestmark = HAS_CHROMIUM
JOB = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(8, 8)
    def forward(self, x):
        y = self.up(x)
        return torch._C._nn.mse_loss(y, x) + self.up(x).sum()
net = Net()
for _ in range(3):
    with torch.autocast("cpu", torch.bfloat16):
        out = net(torch.randn(4, 8))
"""


@pytest.fixture
def page(look, view, castscope, python):
    have(castscope, python, JOB, "run", "--keep", "all", "--deep", "always")
    page = look(view("run.castscope").url)
    until(page, "() => document.querySelector('.header .state').textContent.includes('finished')")
    return page


def events(castscope):
    command = [castscope.program, "report", "-f", "jsonl", "run.castscope", "-o", "-"]
    done = subprocess.run(command, cwd=castscope.folder, env=clean_environment(), capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def search(page, text):
    page.get_by_role("combobox", name="Search events").fill(text)
    until(page, "() => /\\d/.test(document.querySelector('.search output').textContent)")
    page.keyboard.press("Enter")
    until(page, "() => /[#&]event=/.test(location.hash)")
    return tab(page, "detail")


def at(page):
    """When the chosen event began, ns since the run's start."""
    return int(re.search(r"event=\d+(?:~|%7E)(\d+)", page.url)[1])


def test_a_hit_leads_to_the_cast_that_filled_the_cache_and_back(page, castscope):
    panel = search(page, "kind:hit argument:weight")
    page.wait_for_timeout(400)  # the address follows a quarter of a second behind
    told = events(castscope)
    hit = next(one for one in told if one["event_kind"] == "cache_hit" and one["time_ns"] == at(page))
    fills = [one["time_ns"] for one in told if one["event_kind"] == "cast" and one["time_ns"] < hit["time_ns"]
             and one["source_address"] == hit["source_address"] and one["was_kept"]]
    panel.get_by_text("the cache was filled by").wait_for()
    panel.locator(".flows li", has_text="the cache was filled by").get_by_role("button").click()
    panel.get_by_text("the kept copy was first given to").wait_for()
    until(page, "time => location.hash.includes(time)", str(max(fills)))
    panel.locator(".flows li", has_text="first given to").get_by_role("button").click()
    until(page, "time => location.hash.includes(time)", str(hit["time_ns"]))


def test_a_cast_leads_to_its_operator_and_what_came_in_to_its_maker(page, castscope):
    panel = search(page, "kind:up op:mse_loss")
    panel.get_by_text("taken by").wait_for()
    made = panel.locator(".flows li", has_text="what came in was made by").get_by_role("button")
    assert "linear in bfloat16" in made.inner_text()
    panel.locator(".flows li", has_text="taken by").get_by_role("button").click()
    panel.get_by_role("heading", name=re.compile("mse_loss")).wait_for()
    page.wait_for_timeout(400)
    cast = next(one for one in events(castscope) if one["event_kind"] == "cast" and "mse_loss" in one["operator"])
    operator = next(one for one in events(castscope) if one["event_kind"] == "operator" and one["time_ns"] == at(page))
    assert operator["time_ns"] <= cast["time_ns"] <= operator["time_ns"] + operator["duration_ns"]


def test_g_goes_from_down_to_up_of_one_value(page):
    panel = search(page, "kind:down argument:input op:linear")
    panel.get_by_text("taken by").wait_for()
    page.locator("canvas.lanes").focus()
    page.keyboard.press("g")  # the operator that takes the cast
    panel.get_by_role("heading", name=re.compile("linear in bfloat16")).wait_for()
    goes = panel.locator(".flows li", has_text="its result goes to").get_by_role("button")
    goes.filter(has_text="mse_loss").first.click()
    panel.get_by_role("heading", name=re.compile("mse_loss in float32")).wait_for()
    assert "linear in bfloat16" in panel.locator(".flows li", has_text="made by").first.inner_text()
