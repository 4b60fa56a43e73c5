"""The viewer's page in a real Chromium, as people see it who watch a training or look at a finished run."""

import re
import signal
import subprocess

import pytest

pytest.importorskip("playwright")
from chromium import until
from gated import FINDS, TRAIN, line_of
from program import clean_environment
from report_pages import made
from viewer import ENDLESS, live_url
from viewer_page import HAS_CHROMIUM, browser, coloured, facts, look, tab, window_in, window_of  # noqa: F401

pytestmark = HAS_CHROMIUM


def test_a_finished_run_shows_its_numbers_and_its_finding(look, view, recorded):
    page = look(view("run.castscope").url)
    until(page, "() => document.querySelector('.header .state').textContent.includes('finished')")
    assert facts(page)["cast"] == recorded["totals"]["casts"]
    finding = recorded["findings"][0]
    panel = tab(page, "findings")
    panel.get_by_text(finding["title"]).wait_for()
    assert finding["fix"] in panel.inner_text()
    assert f"train.py:{line_of(TRAIN)}" in panel.inner_text()
    page.wait_for_timeout(200)
    assert coloured(page) > 5


def test_a_finding_leads_to_its_place_in_time_and_in_the_source(look, view, recorded):
    page = look(view("run.castscope").url)
    panel = tab(page, "findings")
    panel.get_by_role("button", name="Show in timeline").first.click()
    until(page, "() => location.hash.includes('t=')")
    begin, end = window_of(page)
    assert 0 <= end - begin < recorded["run"]["end_ns"]
    tab(page, "findings").get_by_role("button", name=re.compile(r"train\.py:\d+")).first.click()
    source = page.get_by_role("tabpanel")
    source.get_by_text(FINDS).first.wait_for()


def test_zoom_pan_and_back(look, view, recorded):
    page = look(view("run.castscope").url)
    page.locator("canvas.lanes").hover()
    page.keyboard.press("w")
    until(page, "() => location.hash.includes('t=')")
    nearer = window_of(page)
    page.keyboard.press("d")
    later = window_of(page)
    assert later[0] > nearer[0]
    assert later[1] - later[0] == pytest.approx(nearer[1] - nearer[0], rel=0.02)
    page.keyboard.press("Backspace")
    page.keyboard.press("0")
    until(page, "() => !location.hash.includes('t=')")


def test_a_link_opens_the_same_place(look, view, recorded):
    viewer = view("run.castscope")
    page = look(viewer.url)
    page.locator("canvas.lanes").hover()
    for _ in range(3):
        page.keyboard.press("w")
    page.keyboard.press("c")
    until(page, "() => location.hash.includes('t=') && location.hash.includes('by=dtype')")
    address = page.url  # on a busy machine it may still follow the last key
    other = look(address)
    until(other, "() => document.querySelector('.header .facts b') !== null")
    assert window_of(other) == window_in(address)
    assert "by=dtype" in other.url


def test_hiding_a_kind_takes_it_away(look, view, recorded):
    page = look(view("run.castscope").url)
    legend = page.get_by_role("toolbar", name=re.compile("Legend"))
    button = legend.get_by_role("button").first
    button.wait_for()
    before = coloured(page)
    for entry in legend.get_by_role("button").all():
        entry.click()
    page.wait_for_timeout(500)
    assert legend.get_by_role("button", pressed=True).count() == 0
    assert coloured(page) < before


def test_searching_counts_what_it_finds(look, view, recorded):
    page = look(view("run.castscope").url)
    page.keyboard.press("/")
    page.keyboard.type("linear")
    until(page, "() => /\\d/.test(document.querySelector('.search output').textContent)")
    count = int(page.locator(".search output").inner_text().replace(",", ""))
    linear = sum(site["casts"] + site["cache_hits"] for site in recorded["sites"] if "linear" in site["operator"])
    told = page.locator(".search output").get_attribute("title")
    assert f"{linear:,} casts and cache hits" in told
    kinds = re.findall(r"([\d,]+) [a-z]", told.partition(". ")[0])
    assert count == sum(int(kind.replace(",", "")) for kind in kinds) >= linear
    page.keyboard.press("Enter")
    panel = tab(page, "detail")
    panel.get_by_text("linear").first.wait_for()


def test_a_cast_of_a_gradient_leads_to_the_cast_in_the_forward_pass(look, view, castscope, python):
    (castscope.folder / "job.py").write_text("import torch\nlayer = torch.nn.Linear(8, 8, bias=False)\n"
                                             "with torch.autocast('cpu', torch.bfloat16):\n"
                                             "    loss = layer(torch.ones(2, 8)).sum(dtype=torch.bfloat16)\n"
                                             "loss.backward()\n")
    assert castscope.run(python, "job.py").returncode == 0
    page = look(view("run.castscope").url)
    page.keyboard.press("/")
    page.keyboard.type("ToCopyBackward0, bfloat16 to float32")
    until(page, "() => /\\d/.test(document.querySelector('.search output').textContent)")
    page.keyboard.press("Enter")
    panel = tab(page, "detail")
    panel.get_by_role("heading", name="Converts the gradient of").wait_for()
    assert "linear weight, float32 to bfloat16" in panel.locator("ol.stack").first.inner_text()
    panel.locator("ol.stack").first.get_by_role("button", name="job.py:4").click()
    tab(page, "source").get_by_text("loss = layer").first.wait_for()


def test_an_area_is_summed_up(look, view, recorded):
    page = look(view("run.castscope").url)
    box = page.locator("canvas.lanes").bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 5, box["y"] + min(box["height"], 160) - 5, steps=5)
    page.mouse.up()
    panel = tab(page, "selection")
    panel.get_by_role("table").first.wait_for()
    assert "linear" in panel.inner_text()


def test_everything_is_reached_by_keyboard(look, view, recorded):
    page = look(view("run.castscope").url)
    page.keyboard.press("?")
    page.get_by_role("dialog").get_by_text("follow the run live").wait_for()
    page.keyboard.press("Escape")
    assert page.get_by_role("dialog").count() == 0
    page.keyboard.press("l")
    page.get_by_role("tabpanel").get_by_role("row").nth(1).wait_for()


@pytest.mark.parametrize(("width", "height", "scheme"),
                         [(1440, 900, "light"), (1024, 768, "dark"), (390, 844, "light")])
def test_nothing_sticks_out_of_the_page(look, view, recorded, width, height, scheme):
    page = look(view("run.castscope").url, width=width, height=height, scheme=scheme)
    for title in ("findings", "sites", "source", "modules", "charts"):
        tab(page, title)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    lightness = sum(int(part) for part in re.findall(r"\d+", background)[:3])
    assert (lightness > 382) == (scheme == "light")


def test_a_training_is_watched(browser, look, castscope, python):
    command = [castscope.program, "run", "--live", "-o", "run", "--", python, "-c", ENDLESS]
    with subprocess.Popen(command, cwd=castscope.folder, env=clean_environment(), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
        page = look(live_url(job.stderr).url)
        until(page, "() => /live/.test(document.querySelector('.header .state').textContent)")
        until(page, "() => document.querySelector('.header .facts b').textContent !== '0'")
        first = facts(page)["cast"]
        until(page, "seen => +document.querySelector('.header .facts b').textContent.replaceAll(',', '') > seen", first)
        follow = page.get_by_role("button", name=re.compile("follow"))
        assert "following" in follow.inner_text()
        page.locator("canvas.lanes").hover()
        page.keyboard.press("a")  # whoever looks at something is left alone
        until(page, "() => /new/.test(document.querySelector('.follow').textContent)")
        page.keyboard.press("f")
        until(page, "() => /following/.test(document.querySelector('.follow').textContent)")
        page.keyboard.press("0")
        job.stdin.close()
        until(page, "() => document.querySelector('.header .state').textContent === 'failed: exit status 7'")
        out = job.stdout.read()
        job.wait(timeout=300)
        page.get_by_text("castscope no longer answers here").wait_for()
    assert (job.returncode, out) == (7, b"done\n")
    totals, seen = castscope.report()["totals"], facts(page)
    assert (seen["cast"], seen["from the cache"]) == (totals["casts"], totals["cache_hits"])
    legend = page.locator(".legend").inner_text().replace(",", "")
    downs, hits = (int(re.search(rf"{kind}\s+(\d+)", legend)[1]) for kind in ("cast down", "cache hit"))
    assert (downs, hits) == (totals["casts"], totals["cache_hits"])  # the last of them was still fetched
    page.close()
    browser.complaints.clear()  # of the connection that was refused


def test_who_is_not_answered_says_so_and_goes_on(browser, castscope, view, recorded):
    viewer = view("--port", "0", "run.castscope")
    page = browser.open(viewer.url)
    viewer.process.send_signal(signal.SIGSTOP)
    viewer.process.kill()
    viewer.process.wait()
    page.locator("canvas.lanes").hover()
    for _ in range(4):
        page.keyboard.press("w")
    page.get_by_text("castscope no longer answers here").wait_for()
    assert "finished" in page.locator(".header .state").inner_text()
    page.close()
    browser.complaints.clear()  # of the connection that was refused


def test_a_run_without_casts_says_so(look, view):
    page = look(view(made("empty", "run.castscope")).url)
    page.get_by_text("This run has no events").wait_for()
    page.get_by_text("Did the job use PyTorch, and torch.autocast?").wait_for()


def test_a_deleted_run_says_so(look, castscope, view, recorded):
    page = look(view("run.castscope").url)
    until(page, "() => document.querySelector('.header .state').textContent.includes('finished')")
    (castscope.folder / "run.castscope").unlink()
    page.get_by_text("The run file is gone").wait_for()
