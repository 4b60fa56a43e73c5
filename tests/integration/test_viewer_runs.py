"""The viewer's page beyond one run: what can be taken away, the list of runs, editors, and the numbers of the steps."""

import json
import re
import subprocess

import pytest

pytest.importorskip("playwright")
from chromium import until
from gated import TRAIN, line_of
from program import BUILD, ROOT, clean_environment
from viewer_page import HAS_CHROMIUM, browser, look, tab  # noqa: F401

pytestmark = HAS_CHROMIUM
SAMPLE = BUILD / "tests" / "integration" / "sample_run"


def sample(castscope, name="run", kind="training"):
    subprocess.run([SAMPLE, kind, castscope.folder / f"{name}.castscope"], check=True)
    return f"{name}.castscope"


def record(castscope, name, *command, **environment):
    return subprocess.run([castscope.program, "run", "-o", castscope.folder / name, "--", *command], check=False,
                          env=clean_environment() | environment, capture_output=True, cwd=castscope.folder)


def dialog(page, button):
    page.get_by_role("button", name=button, exact=True).click()
    return page.get_by_role("dialog")


def test_all_reports_are_in_one_place(castscope, look, view):
    viewer = view(sample(castscope))
    page = look(viewer.url)
    panel = dialog(page, "Download")
    links = {link.inner_text(): link for link in panel.get_by_role("link").all()}
    forms = json.loads((ROOT / "docs/openapi.json").read_text())["paths"]["/runs/{run}/report"]["get"]["parameters"][1]
    offered = {link.get_attribute("href").split("format=")[1]: link.get_attribute("href") for link in links.values()}
    assert set(offered) == set(forms["schema"]["enum"])
    assert {viewer.ask(address.removeprefix("./"))[0].status for address in offered.values()} == {200}
    for name, file in (("HTML", "run.html"), ("JSON", "run.json"), ("CSV", "run.csv"), ("Perfetto", "run.pftrace"),
                       ("speedscope", "run.speedscope.json")):
        with page.expect_download() as saved:
            links[name].click()
        assert saved.value.suggested_filename == file and saved.value.path().stat().st_size > 0
    # Each says what it is good for.
    assert all(text.strip() for text in panel.locator("dd").all_inner_texts())
    with page.expect_download() as picture:
        panel.get_by_role("button", name="PNG").click()
    assert picture.value.path().read_bytes().startswith(b"\x89PNG")
    assert tab(page, "selection").get_by_role("link").count() == 0


def test_the_list_of_runs_says_how_each_ended_and_what_changed(castscope, look, view, python):
    """Three runs of one command: as it was, with more casts, and killed."""
    job = castscope.folder / "job.py"
    job.write_text("""import json, os, signal, torch
how = json.load(open(os.environ["HOW"]))
model = torch.nn.Linear(8, 8).requires_grad_(False)
x = torch.ones(2, 8)
for step in range(how["steps"]):
    with torch.autocast("cpu", torch.bfloat16):
        for _ in range(how["casts"]):
            model(x)
if how["killed"]: os.kill(os.getpid(), signal.SIGKILL)
""")
    how = castscope.folder / "how.json"
    for name, said in (("first", {"steps": 4, "casts": 1}), ("second", {"steps": 4, "casts": 2}),
                       ("third", {"steps": 4, "casts": 2, "killed": 1})):
        how.write_text(json.dumps({"killed": 0} | said))
        record(castscope, name, python, job, HOW=str(how))
    page = look(view("first.castscope", "second.castscope", "third.castscope").url)
    # In the choice of the run, too, more than the name tells them apart.
    words = page.get_by_role("combobox", name="Run").locator("option").all_inner_texts()
    assert all(re.match(r"(first|second|third) · \d+ \w+ \d\d:\d\d:\d\d · python\S* job\.py", text) for text in words)
    panel = dialog(page, "All runs")
    table = panel.get_by_role("table", name="Runs")
    table.wait_for()
    lines = table.locator("tbody > tr:not(.run-changes)").all()
    rows = {row.locator("td").first.inner_text().split()[0]: row for row in lines}
    assert list(rows) == ["third", "second", "first"]  # the newest first
    assert "killed by SIGKILL" in rows["third"].inner_text()
    assert "finished" in rows["first"].inner_text() and "finished" in rows["second"].inner_text()
    casts = {name: int(row.locator("td").nth(4).inner_text()) for name, row in rows.items()}
    told = {name: castscope.report(name)["totals"]["casts"] for name in ("first", "second")}
    assert {name: casts[name] for name in told} == told
    assert re.search("1 (info|performance)", rows["second"].inner_text()) and "none" in rows["first"].inner_text()
    rows["second"].get_by_role("button", name="What changed").click()
    changes = table.locator(".run-changes:not([hidden])")
    changes.get_by_text("Since first").wait_for()
    share = (told["second"] - told["first"]) / told["first"]
    assert f"casts per step +{share:.0%}".replace("%", " %") in changes.inner_text()
    assert "weight-cast-repeatedly" in changes.inner_text() and "new finding" in changes.inner_text()
    rows["first"].get_by_role("button", name="What changed").click()
    table.get_by_text("No earlier run of this command").wait_for()
    rows["second"].get_by_role("button", name="second").click()
    until(page, "() => location.hash.includes('run=second')")


def test_many_runs_are_listed_without_being_loaded(castscope, look, view):
    for number in range(12):
        sample(castscope, f"run{number:02}")
    viewer = view(".")
    page = look(viewer.url)
    rows = dialog(page, "All runs").locator("tbody > tr:not(.run-changes)")
    until(page, "() => document.querySelectorAll('.run-list tbody > tr:not(.run-changes)').length === 12")
    assert all("1 performance" in text or "1 warning" in text for text in rows.all_inner_texts())


def test_places_open_in_an_editor_once_one_is_chosen(castscope, look, view, recorded):
    viewer = view("run.castscope")
    page = look(viewer.url)
    root = viewer.json("runs/run")["root"]
    where = f"{root}/train.py:{line_of(TRAIN)}"
    panel = tab(page, "findings")
    panel.locator("article").first.wait_for()
    assert panel.get_by_role("link").count() == 0  # nobody has chosen an editor
    panel.get_by_role("button", name=re.compile(r"train\.py:\d+")).first.click()
    choice = page.get_by_role("combobox", name="Open places in")
    choice.select_option("vscode")
    line = page.locator(f'a[href="vscode://file{where}"]')
    line.first.wait_for()
    choice.select_option("own")
    template = page.get_by_role("textbox", name="Template of links")
    template.fill("javascript:alert('{path}')")
    page.get_by_text("begins with the name of a protocol").wait_for()
    until(page, "() => document.querySelector('a.editor-link') === null")
    template.fill("myeditor:{path}?at={line}")
    page.locator(f'a[href="myeditor:{where.replace(":", "?at=")}"]').first.wait_for()
    choice.select_option("cursor")
    tab(page, "findings").locator(f'a[href="cursor://file{where}"]').first.wait_for()
    # The browser keeps the choice for the next page.
    page.goto("about:blank")
    page.goto(viewer.url)
    tab(page, "findings").locator(f'a[href="cursor://file{where}"]').first.wait_for()


METRICS = """\
import castscope
import torch
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
x = torch.ones(4, 8)
for step in range(6):
    with torch.autocast("cpu", torch.float16):
        loss = model(x).float().square().mean() * (float("inf") if step == 3 else 1.0)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    castscope.metric("loss", loss.item())
"""


def test_the_loss_and_the_gradient_scale_are_charts(castscope, look, view, python):
    record(castscope, "run", python, "-c", METRICS)
    viewer = view("run.castscope")
    page = look(viewer.url)
    metrics = {one["metric_name"]: one for one in viewer.json("runs/run/metrics")["metrics"]}
    assert metrics == {one["metric_name"]: one for one in castscope.report()["metrics"]}
    panel = tab(page, "charts")
    panel.locator("figure").filter(has_text="gradient scale").wait_for()
    titles = [text.split("\n")[0] for text in panel.locator("figcaption").all_inner_texts()]
    assert titles[0].startswith("loss not finite 1 time, first in step 3")
    assert titles[1].startswith("gradient scale as GradScaler had it") and "Casts in a step" in titles[2]
    loss = panel.locator("figure").first.locator(".u-over")
    box = loss.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 1, box["y"] + 20)
    last = metrics["loss"]["step_values"][-1]
    until(page, "text => document.querySelector('figcaption').textContent.includes(text)", f"step {last['step']}: ")
    shown = panel.locator("figcaption").first.inner_text().split(": ")[-1]
    assert float(shown.replace(",", "")) == pytest.approx(last["metric_value"], rel=1e-3)


def test_a_run_that_told_no_numbers_has_the_other_charts_alone(castscope, look, view):
    page = look(view(sample(castscope)).url)
    panel = tab(page, "charts")
    panel.locator("figure").first.wait_for()
    assert "Casts in a step" in panel.locator("figcaption").first.inner_text()
