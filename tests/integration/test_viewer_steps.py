"""Two steps side by side: the lines that cast in one of them only, and what differs in size alone."""

import re
import sqlite3

import pytest

pytest.importorskip("playwright")
from gated import have
from viewer_page import HAS_CHROMIUM, browser, look  # noqa: F401

pytestmark = HAS_CHROMIUM

# Step 3 calls the net once more, and in step 5 the batch is larger.
ONCE_MORE = """\
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(16, 16), torch.nn.Linear(16, 16)
    def forward(self, x):
        return self.down(self.up(x).relu())
net = Net()
def work(step):
    x = torch.randn(8 if step < 5 else 24, 16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = net(x)
        if step == 3:
            out = out + net(x)  # once more
    out.float().sum().backward()
for step in range(6):
    work(step)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter -= 0.01 * parameter.grad
            parameter.grad = None
"""


def compared(page, step):
    """The panel Compare with this step and the one before it."""
    panel = page.get_by_role("tabpanel")
    page.keyboard.press("/")
    page.keyboard.type(f"step {step}")
    page.keyboard.press("Enter")
    panel.get_by_role("button", name="Compare with the one before").click()
    panel.get_by_text(f"step {step} against step {step - 1}").wait_for()
    return panel


def test_what_only_one_of_two_steps_did_is_named_by_its_line(castscope, look, view, python):
    have(castscope, python, ONCE_MORE, "run", "--deep", "never")
    page = look(view("run.castscope").url)
    line = 1 + next(i for i, text in enumerate(ONCE_MORE.splitlines()) if "once more" in text and "net(x)" in text)
    panel = compared(page, 3)
    told = panel.locator(".new-lines li")
    assert told.count() == 1 and f"work train.py:{line}" in told.inner_text()
    hits, casts = (int(re.search(rf"(\d+) {what}", told.inner_text())[1]) for what in ("cache hit", "cast"))
    assert hits == 4 and casts > 0
    told.get_by_role("button").click()
    here = panel.locator(".line.here")
    here.get_by_text("out = out + net(x)").wait_for()
    # The line itself casts nothing; the gutter counts what it calls, as SQL does.
    with sqlite3.connect(castscope.folder / "run.castscope") as database:
        stacks = f"SELECT stack FROM v_stacks WHERE file LIKE '%train.py' AND line = {line}"
        total = database.execute(f"SELECT sum(casts) FROM v_sites WHERE stack IN ({stacks})").fetchone()[0]
    assert f"calls {total}" in here.inner_text()


def test_steps_that_differ_in_size_alone_differ(castscope, look, view, python):
    have(castscope, python, ONCE_MORE, "run", "--deep", "never")
    panel = compared(look(view("run.castscope").url), 5)
    assert panel.locator(".new-lines").count() == 0
    rows = panel.get_by_role("table", name="Two stretches").get_by_role("row")
    rows.nth(1).wait_for()
    sizes = [row.get_by_role("cell").nth(4).inner_text() for row in rows.all()[1:]]
    assert sizes and all(size.startswith("+") for size in sizes), sizes
