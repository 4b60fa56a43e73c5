"""The viewer's page with runs of all sizes, made up so that they are the same each time, and how it looks.

Expected pictures are in tests/golden/viewer; CASTSCOPE_UPDATE_GOLDEN=1 makes them anew: look at them before they are
committed.
"""

import base64
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

import pytest

pytest.importorskip("playwright")
from chromium import PATIENCE_S, until
from program import clean_environment
from viewer import ENDLESS, of_serve
from viewer_page import HAS_CHROMIUM, browser, coloured, facts, look, opened, sample, tab, window_of  # noqa: F401

pytestmark = HAS_CHROMIUM
GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden" / "viewer"
SIZES = [(1600, 900), (1024, 768), (390, 844)]


def test_a_run_of_one_event(look, sample):
    page = opened(look, sample, "one-event")
    assert facts(page)["cast"] == 1
    page.wait_for_timeout(300)
    box = page.locator("canvas.lanes").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 50)
    tab(page, "detail").get_by_text("linear").first.wait_for()


def test_a_run_of_a_week(look, sample):
    page = opened(look, sample, "week")
    assert "6 d 23 h" in page.locator(".header .facts").inner_text()
    page.get_by_role("combobox", name="Search events").fill("step 200")
    page.keyboard.press("Enter")
    until(page, "() => /t=\\d+/.test(location.hash)")
    tab(page, "detail").get_by_text("200").first.wait_for()
    assert coloured(page) > 3


def test_512_lanes(look, sample):
    page = opened(look, sample, "many-lanes")
    names = page.get_by_role("group", name="Lanes")
    names.get_by_text("lane 1", exact=True).wait_for()
    page.get_by_placeholder("filter lanes").fill("lane 512")
    names.get_by_text("lane 512", exact=True).wait_for()
    assert names.get_by_text("lane 1", exact=True).count() == 0


def rows(page):
    return page.locator(".gutter-row .name").all_inner_texts()


def test_lanes_are_put_in_order(look, sample):
    page = opened(look, sample, "training")
    before = rows(page)
    assert [name[2:8] for name in before if "rank" in name] == ["rank 0", "rank 1"]
    page.locator(".gutter-row.process .name").nth(1).focus()
    page.keyboard.press("Alt+ArrowUp")
    until(page, "() => document.querySelector('.gutter-row .name').textContent.includes('rank 1')")
    until(page, "() => document.activeElement.textContent.includes('rank 1')")
    second = page.locator(".gutter-row.lane .name").nth(1).bounding_box()
    first = page.locator(".gutter-row.lane .name").nth(0).bounding_box()
    page.mouse.move(second["x"] + 30, second["y"] + second["height"] / 2)
    page.mouse.down()
    page.mouse.move(first["x"] + 30, first["y"] + 5, steps=6)
    page.mouse.up()
    after = rows(page)
    assert after[1:3] == ["lane 2", "lane 1"] and sorted(after) == sorted(before)
    until(page, r"() => /order=[^&]*p\d+\./.test(location.hash)")  # with the lane, which was moved last
    assert rows(look(page.url)) == after


def test_what_is_hidden_is_passed_over(look, sample):
    page = opened(look, sample, "training")
    page.get_by_role("toolbar", name=re.compile("Legend")).get_by_role("button", name=re.compile("cast down")).click()
    page.get_by_role("combobox", name="Search events").fill("attend")
    page.keyboard.press("Enter")
    panel = tab(page, "detail")
    panel.get_by_text("linear in bfloat16").wait_for()  # its cast comes before


def test_an_area_of_one_lane_by_keyboard(look, sample):
    page = opened(look, sample, "training")
    page.locator(".gutter-row.lane .name").nth(1).focus()
    page.keyboard.press("e")
    panel = tab(page, "selection")
    panel.get_by_role("table").first.wait_for()
    assert "attend" in panel.inner_text() and "teacher" not in panel.inner_text()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def test_a_collector_is_started_again(browser, castscope, python):
    listen, web = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"

    def collector():
        command = [castscope.program, "serve", "--listen", listen, "--folder", "collected", f"--web={web}"]
        process = subprocess.Popen(command, cwd=castscope.folder, env=clean_environment(), stderr=subprocess.PIPE)
        for line in process.stderr:
            if viewer := of_serve(line, castscope.folder):
                return process, viewer

    serving, viewer = collector()
    command = [castscope.program, "run", "-o", "job", "--collector", listen, "--", python, "-c", ENDLESS]
    job = subprocess.Popen(command, cwd=castscope.folder, env=clean_environment(), stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        viewer.until("runs", lambda told: any(run["event_count"] > 0 for run in told["runs"]))
        page = browser.open(viewer.url)
        before = facts(page)["cast"]
        serving.send_signal(signal.SIGKILL)
        serving.communicate()
        page.get_by_text("No answer since").wait_for()
        serving, again = collector()
        assert again.url == viewer.url
        until(page, "seen => +document.querySelector('.header .facts b').textContent.replaceAll(',', '') > seen",
              before)
        page.get_by_text("No answer since").wait_for(state="hidden")
        page.close()
        job.communicate(timeout=300)
    finally:
        job.kill()
        serving.kill()
        serving.communicate()
        browser.complaints.clear()  # of the connection that was refused


# Two pictures, each cell of 8 x 8 pixels compared: what shapes of letters differ by is lost in it, what moves is not.
DIFFERENT_CELLS = """async ([shown, expected]) => {
    const cells = async (text) => {
        const image = await createImageBitmap(await (await fetch('data:image/png;base64,' + text)).blob());
        const canvas = new OffscreenCanvas(Math.ceil(image.width / 8), Math.ceil(image.height / 8));
        const context = canvas.getContext('2d');
        context.imageSmoothingQuality = 'high';
        context.drawImage(image, 0, 0, canvas.width, canvas.height);
        return [image.width, image.height, context.getImageData(0, 0, canvas.width, canvas.height).data];
    };
    const [a, b] = [await cells(shown), await cells(expected)];
    if (a[0] !== b[0] || a[1] !== b[1]) return 1;
    let different = 0;
    for (let i = 0; i < a[2].length; i += 4)
        if ([0, 1, 2].some((part) => Math.abs(a[2][i + part] - b[2][i + part]) > 40)) different += 1;
    return different / (a[2].length / 4);
}"""


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_page_looks_as_expected(browser, look, sample, tmp_path, width, height):
    page = opened(look, sample, "training", width=width, height=height)
    page.get_by_text("teacher.weight is cast again").first.wait_for()
    until(page, "() => /\\d/.test(document.querySelector('.legend').textContent)")
    blank = browser.browser.new_page()
    for scheme in "light", "dark":
        page.emulate_media(color_scheme=scheme)
        file = GOLDEN / f"training-{width}-{scheme}.png"
        if os.environ.get("CASTSCOPE_UPDATE_GOLDEN"):
            page.wait_for_timeout(3000)
            GOLDEN.mkdir(exist_ok=True)
            file.write_bytes(page.screenshot())
        expected = base64.b64encode(file.read_bytes()).decode()
        until_s = time.monotonic() + PATIENCE_S  # what the page asked for may still be on its way
        while True:
            shown = page.screenshot()
            different = blank.evaluate(DIFFERENT_CELLS, [base64.b64encode(shown).decode(), expected])
            if different < 0.003 or time.monotonic() > until_s:
                break
        (tmp_path / file.name).write_bytes(shown)
        assert different < 0.003, f"{different:.1%} of {tmp_path / file.name} differs from {file}"
    blank.close()


def test_a_link_to_a_selection_shows_what_is_in_it(look, sample):
    page = opened(look, sample, "training")
    page.keyboard.press("e")
    tab(page, "selection").get_by_role("table").first.wait_for()
    until(page, "() => location.hash.includes('area=')")
    panel = tab(look(page.url), "selection")
    panel.get_by_role("table").nth(1).wait_for()
    assert "attend" in panel.inner_text() and "autocast cpu bfloat16" in panel.inner_text()
    assert not re.search(r"autocast on\s*·\s*blocks", panel.inner_text())  # a region is of no module


def test_what_is_hidden_counts_no_more_in_the_selection(look, sample):
    page = opened(look, sample, "training")
    page.keyboard.press("e")
    panel = tab(page, "selection")
    panel.get_by_role("table", name="By kind").get_by_text("cast up").wait_for()
    page.get_by_role("toolbar", name=re.compile("Legend")).get_by_role("button", name=re.compile("cast up")).click()
    panel.get_by_role("table", name="By kind").get_by_text("cast up").wait_for(state="detached")


def test_a_file_that_cannot_be_read_leaves_the_others(look, castscope, sample, browser):
    viewer = sample("one-event")
    viewer.process.kill()
    (castscope.folder / "zzz.castscope").write_bytes(b"no run file")
    process = subprocess.Popen([castscope.program, "view", "--no-browser", "."], cwd=castscope.folder,
                               env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        url = process.stdout.readline().decode().strip()
        page = look(url)
        assert facts(page)["cast"] == 1
        bad = look(f"{url}#run=zzz", ready=False)
        bad.get_by_text("This run cannot be read").wait_for()
        assert "one-event" in bad.get_by_label("Run", exact=True).inner_text()
        bad.close()
        page.close()
    finally:
        process.kill()
        process.communicate()
        browser.complaints.clear()  # of the answer that the file cannot be read


def test_how_a_table_is_looked_at_is_in_the_link(look, sample):
    page = opened(look, sample, "training")
    panel = tab(page, "sites")
    panel.get_by_label("Group by").select_option("module")
    panel.get_by_role("button", name="bytes").click()
    panel.get_by_label("Filter Sites").fill("attend")
    until(page, "() => /table=/.test(location.hash)")
    again = tab(look(page.url), "sites")
    again.get_by_role("columnheader", name=re.compile("bytes ↓")).wait_for()
    assert again.get_by_label("Filter Sites").input_value() == "attend"
    assert again.inner_text() == panel.inner_text()


def test_a_search_tells_what_is_hidden(look, sample):
    page = opened(look, sample, "training")
    legend = page.get_by_role("toolbar", name=re.compile("Legend"))
    page.get_by_role("combobox", name="Search events").fill("optimizer")
    until(page, "() => document.querySelector('.search output').textContent === '24'")
    legend.get_by_role("button", name=re.compile("optimizer")).click()
    until(page, "() => document.querySelector('.search output').textContent === 'none'")


def test_enter_finds_and_n_goes_on(look, sample):
    page = opened(look, sample, "training")
    search = page.get_by_role("combobox", name="Search events")
    search.fill("bf16")
    until(page, "() => /\\d/.test(document.querySelector('.search output').textContent)")
    page.keyboard.press("Enter")
    until(page, "() => /event=/.test(location.hash)")
    first = page.url
    page.keyboard.press("n")
    until(page, "before => location.href !== before && /event=/.test(location.hash)", first)
    assert search.input_value() == "bf16"


def test_a_link_to_a_run_that_is_not_there_says_so(look, sample):
    page = look(f"{sample('training').url}#run=yesterday&t=5~9&find=nothing&tab=sites")
    page.get_by_text("There is no run “yesterday” here. This is “training”").wait_for()
    assert window_of(page) is None
    page.get_by_role("button", name="Dismiss").click()
    page.get_by_text("There is no run").wait_for(state="hidden")


def test_a_link_to_a_comparison_shows_it(look, castscope, sample, view):
    for kind in ("one-event", "training"):
        sample(kind).process.kill()
    page = look(view("one-event.castscope", "training.castscope").url)
    page.get_by_label("Run", exact=True).select_option("training")
    panel = tab(page, "compare")
    page.get_by_label("Compare with").select_option("one-event")
    panel.get_by_text("different numbers of steps").wait_for()
    until(page, "() => /with=one-event/.test(location.hash)")
    again = look(page.url)
    tab(again, "compare").get_by_text("different numbers of steps").wait_for()
    assert again.get_by_label("Compare with").input_value() == "one-event"


BOTH = re.compile("First .* Second ")


def test_a_link_to_two_stretches_shows_both(look, sample):
    page = opened(look, sample, "training")
    page.keyboard.press("e")
    panel = tab(page, "selection")
    panel.get_by_role("button", name="Compare with another stretch").click()
    page.locator(".gutter-row.lane .name").nth(1).focus()
    page.keyboard.press("e")
    tab(page, "compare").get_by_text(BOTH).wait_for()
    until(page, "() => /first=/.test(location.hash) && /area=/.test(location.hash)")
    tab(look(page.url), "compare").get_by_text(BOTH).wait_for()


def test_a_step_that_is_not_there(look, sample):
    page = opened(look, sample, "training")
    for text, said in (("step 0", "There is no step 0"), ("step 77", "There is no step 77")):
        page.get_by_role("combobox", name="Search events").fill(text)
        page.keyboard.press("Enter")
        page.get_by_text(said).wait_for()
