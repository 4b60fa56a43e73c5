"""The viewer as a page of the browser: address, history, keys, windows of all sizes, runs that ended badly."""

import re
import signal
import socket
import subprocess

import pytest

pytest.importorskip("playwright")
from chromium import until
from program import clean_environment
from report_pages import made
from reports import read_report
from viewer import of_serve
from viewer_page import HAS_CHROMIUM, browser, facts, look, opened, sample, tab, window_of  # noqa: F401

pytestmark = HAS_CHROMIUM


def in_address(page, *parts):
    until(page, "parts => parts.every(part => location.hash.includes(part))", list(parts))


def chosen_tab(page):
    return page.get_by_role("tab", selected=True).first.inner_text()


def test_back_leads_to_where_one_was(look, sample):
    page = opened(look, sample, "training")
    in_address(page, "tab=findings")
    page.get_by_role("button", name="Show in timeline").click()
    in_address(page, "finding=", "event=")
    window = window_of(page)
    tab(page, "findings").get_by_role("button", name="model.py:28").click()
    in_address(page, "source=")
    tab(page, "sites")
    in_address(page, "tab=sites")
    page.go_back()
    page.locator(".code, .nothing").first.wait_for()
    assert "source=" in page.url
    page.go_back()
    until(page, "() => !location.hash.includes('source=')")
    page.locator("article[aria-current=true]").wait_for()
    assert window_of(page) == window
    page.go_back()
    until(page, "() => !location.hash.includes('finding=')")
    page.locator("article[aria-current=true]").wait_for(state="detached")
    assert window_of(page) is None
    page.go_forward()
    in_address(page, "finding=", "event=")
    page.locator("article[aria-current=true]").wait_for()
    assert window_of(page) == window


def test_moving_makes_no_history(look, sample):
    page = opened(look, sample, "training")
    in_address(page, "tab=findings")
    before = page.evaluate("history.length")
    page.locator("canvas.lanes").hover()
    page.keyboard.press("w")
    in_address(page, "&t=")
    page.keyboard.press("c")
    in_address(page, "by=dtype")
    assert page.evaluate("history.length") == before


def test_the_look_is_kept_for_the_next_visit_and_a_link_has_its_own_colours(look, sample):
    viewer = sample("training")
    page = look(viewer.url)
    page.keyboard.press("c")
    page.keyboard.press("t")
    page.keyboard.press("t")
    in_address(page, "by=dtype")
    page.goto("about:blank")
    page.goto(viewer.url)
    in_address(page, "run=training", "by=dtype")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.goto("about:blank")
    page.goto(f"{viewer.url}#by=cause")
    in_address(page, "run=training", "by=cause")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_another_run_keeps_the_panel_and_the_colours_and_loads_once(look, castscope, sample, view):
    for kind in ("one-event", "training"):
        sample(kind).process.kill()
    page = look(view("one-event.castscope", "training.castscope").url)
    tab(page, "sites")
    page.keyboard.press("c")
    in_address(page, "tab=sites", "by=dtype")
    loads = []
    page.on("request", lambda request: loads.append(request.url) if request.is_navigation_request() else None)
    other = "training" if "one-event" in page.url else "one-event"
    with page.expect_event("load"):
        page.get_by_label("Run", exact=True).select_option(other)
    in_address(page, f"run={other}", "tab=sites", "by=dtype")
    until(page, "() => document.querySelector('.header .facts b') !== null")
    assert len(loads) == 1 and chosen_tab(page) == "Sites"
    with page.expect_event("load"):
        page.go_back()
    until(page, "() => document.querySelector('.header .facts b') !== null")
    assert f"run={other}" not in page.url and len(loads) == 2 and chosen_tab(page) == "Sites"


def test_letters_are_the_timelines_after_a_choice_was_made(look, sample):
    page = opened(look, sample, "training")
    page.get_by_label("Colour by").select_option("dtype")
    page.get_by_label("Colour by").focus()
    page.keyboard.press("w")
    in_address(page, "&t=")
    page.keyboard.press("ArrowDown")  # the choice keeps its own
    in_address(page, "by=cause")


PRESS = """([key, code]) => document.activeElement.dispatchEvent(
    new KeyboardEvent('keydown', {key, code, bubbles: true, cancelable: true}))"""


@pytest.mark.parametrize(("key", "code"), [("z", "KeyW"), ("ц", "KeyW")])
def test_keys_that_move_go_by_their_place(look, sample, key, code):
    page = opened(look, sample, "training")
    page.locator("canvas.lanes").focus()
    page.evaluate(PRESS, ["w", "KeyZ"])  # where a French keyboard has its w
    assert window_of(page) is None
    page.evaluate(PRESS, [key, code])
    in_address(page, "&t=")


@pytest.mark.parametrize(("width", "height"), [(360, 225), (720, 450), (800, 450)])
def test_small_windows_show_each_part(look, sample, width, height):
    page = opened(look, sample, "training", width=width, height=height)
    boxes = page.evaluate("""() => ['.header', '.legend', '.timeline .minimap', 'canvas.lanes', '.tabs', '.panel']
        .map((name) => document.querySelector(name).getBoundingClientRect())
        .map(({left, top, right, bottom}) => [left, top, right, bottom])""")
    for i, (left, top, right, bottom) in enumerate(boxes):
        for other in boxes[:i]:
            across = min(right, other[2]) - max(left, other[0])
            down = min(bottom, other[3]) - max(top, other[1])
            assert across <= 1 or down <= 1, (i, boxes)
    panel = boxes[-1]
    assert panel[3] - panel[1] >= 200 and page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("scrollY") == 0
    page.get_by_role("button", name="Show in timeline").click()
    in_address(page, "event=")


def test_minimap_and_ruler_by_keyboard(look, sample):
    page = opened(look, sample, "training")
    page.get_by_role("slider", name=re.compile("The whole run")).focus()
    page.keyboard.press("Shift+ArrowLeft")
    in_address(page, "&t=")
    shorter = window_of(page)
    page.keyboard.press("ArrowRight")
    until(page, "before => !location.hash.includes(before)", f"t={shorter[0]}")
    later = window_of(page)
    assert later[0] > shorter[0]
    assert later[1] - later[0] == pytest.approx(shorter[1] - shorter[0], rel=0.01)
    ruler = page.get_by_role("slider", name=re.compile("Ruler"))
    ruler.focus()
    for _ in range(4):
        page.keyboard.press("Shift+ArrowRight")
    assert "selected from" in ruler.get_attribute("aria-valuetext")
    page.keyboard.press("Enter")
    until(page, "before => !location.hash.includes(before)", f"t={later[0]}")
    nearer = window_of(page)
    assert nearer[1] - nearer[0] == pytest.approx((later[1] - later[0]) / 10, rel=0.01)


def test_a_killed_run_says_so_in_red(look, castscope, python, view):
    (castscope.folder / "train.py").write_text("import os, torch\nlayer = torch.nn.Linear(8, 8)\n"
                                               "with torch.autocast('cpu', torch.bfloat16):\n"
                                               "    layer(torch.ones(2, 8))\nos.kill(os.getpid(), 9)\n")
    castscope.run(python, "train.py")
    page = look(view("run.castscope").url)
    state = page.locator(".header .state.failed")
    state.wait_for()
    assert "killed by SIGKILL" in state.inner_text()
    red, green, blue = map(int, re.findall(r"\d+", state.evaluate("one => getComputedStyle(one).color"))[:3])
    assert red > 2 * green and red > 2 * blue
    page.get_by_role("tabpanel").get_by_text("nothing was found in what was seen of it").or_(
        page.get_by_role("article").first).first.wait_for()
    assert "nothing to complain of" not in page.get_by_role("tabpanel").inner_text()


def test_an_empty_run_does_not_praise_itself(look, view):
    page = look(view(made("empty", "run.castscope")).url)
    page.get_by_text("Nothing was cast, so there was nothing to judge.").wait_for()
    assert "step" not in page.locator(".header .facts").inner_text()


EVALUATES = """
import torch
layer = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
def forward():
    with torch.autocast("cpu", torch.bfloat16):
        return layer(torch.ones(2, 8)).float().sum()
for step in range(6):
    forward().backward()
    optimizer.step()
    if step == 2:
        layer.eval()
        with torch.no_grad():
            forward()
        layer.train()
"""


def test_steps_have_the_numbers_that_the_header_counts(look, castscope, python, view):
    (castscope.folder / "train.py").write_text(EVALUATES)
    assert castscope("run", "--deep", "always", "-o", "run", "--", python, "train.py").returncode == 0
    page = look(view("run.castscope").url)
    assert facts(page)["step"] == 6
    page.get_by_role("combobox", name="Search events").fill("step 5")
    page.keyboard.press("Enter")
    in_address(page, "event=")
    panel = tab(page, "detail")
    panel.get_by_role("heading", name="step 5").wait_for()
    page.get_by_role("combobox", name="Search events").fill("step 6")
    page.keyboard.press("Enter")
    page.get_by_text("There is no step 6 in the timeline.").wait_for()


def test_what_nobody_timed_took_no_zero_ns(look, view):
    sites = read_report(made("compiled", "run.json"))["sites"]
    untimed = [site for site in sites if site["casts"] > 0 and site["cpu_ns"] == 0]
    assert untimed
    page = look(view(made("compiled", "run.castscope")).url)
    panel = tab(page, "sites")
    panel.get_by_role("cell", name="not timed").first.wait_for()
    assert panel.get_by_role("cell", name="not timed").count() == len(untimed)
    assert not re.search(r"\b0 ns", panel.inner_text())


TWICE = """
import torch
class Block(torch.nn.Module):
    def forward(self, x):
        return x.float() * 2
blocks = torch.nn.Sequential(Block(), Block())
with torch.autocast("cpu", torch.bfloat16):
    y = torch.ones(2, 8, requires_grad=True, dtype=torch.bfloat16)
    a = blocks(y)
with torch.autocast("cpu", torch.bfloat16):
    b = blocks(y)
(a + b).sum().backward()
"""


def test_no_two_rows_read_the_same(look, castscope, python, view):
    (castscope.folder / "train.py").write_text(TWICE)
    assert castscope("run", "--deep", "always", "-o", "run", "--", python, "train.py").returncode == 0
    page = look(view("run.castscope").url)
    panel = tab(page, "sites")
    panel.get_by_role("row").nth(2).wait_for()
    rows = [row.get_by_role("cell").first.inner_text() for row in panel.get_by_role("row").all()[1:]]
    assert len(rows) >= 4 and len(set(rows)) == len(rows), rows


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


@pytest.fixture
def serve(castscope):
    """Starts `castscope serve --web` on the folder "collected", always at the same address."""
    listen, web = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    started = []

    def start():
        command = [castscope.program, "serve", "--listen", listen, "--folder", "collected", f"--web={web}"]
        process = subprocess.Popen(command, cwd=castscope.folder, env=clean_environment(), stderr=subprocess.PIPE)
        started.append(process)
        for line in process.stderr:
            if viewer := of_serve(line, castscope.folder):
                viewer.process = process
                return viewer
        raise AssertionError(process.wait())

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_after_a_restart_no_old_notice_stays(browser, castscope, recorded, serve):
    collected = castscope.folder / "collected"
    collected.mkdir()
    (castscope.folder / "run.castscope").rename(collected / "run.castscope")
    viewer = serve()
    page = browser.open(viewer.url)
    until(page, "() => document.querySelector('.header .state').textContent === 'finished'")
    viewer.process.send_signal(signal.SIGKILL)
    viewer.process.wait()
    page.get_by_text("castscope no longer answers here").wait_for()
    serve()
    page.get_by_text("castscope no longer answers here").wait_for(state="detached")
    until(page, "() => document.querySelector('.header .state').textContent === 'finished'")
    assert "Reading the run file" not in page.locator(".notice").text_content()
    page.close()
    browser.complaints.clear()  # of the connection that was refused


def test_a_collector_without_a_run_says_how_to_send_one(look, serve):
    page = look(serve().url, ready=False)
    page.get_by_text("castscope run --collector HOST:PORT").wait_for()
    assert "--live" not in page.locator(".empty").inner_text()


def test_a_wrong_token_is_answered_with_a_sentence(browser, view, recorded):
    viewer = view("run.castscope")
    page = browser.browser.new_page()
    page.goto(viewer.url[:-4] + "xxx/")
    assert page.locator("body").inner_text().startswith("castscope: the token is missing or wrong")
    page.close()
    browser.complaints.clear()  # of the status 404


def test_escape_takes_away_what_is_said(look, sample):
    page = opened(look, sample, "training")
    page.keyboard.press("]")
    page.get_by_text("Choose an event first").wait_for()
    page.keyboard.press("Escape")
    assert page.get_by_text("Choose an event first").count() == 0


def test_back_lets_go_of_a_search(look, sample):
    page = opened(look, sample, "training")
    in_address(page, "tab=findings")
    tab(page, "sites")
    in_address(page, "tab=sites")
    page.get_by_role("combobox", name="Search events").fill("kind:hit")
    in_address(page, "find=")
    page.keyboard.press("Enter")
    in_address(page, "event=")
    page.go_back()
    page.go_back()
    until(page, "() => !location.hash.includes('find=')")
    until(page, "() => document.querySelector('.search output').textContent === ''")
    assert page.get_by_role("combobox", name="Search events").input_value() == ""


def test_a_stretch_whose_events_were_not_kept_is_not_idle(look, sample):
    viewer = sample("long")
    page = look(viewer.url, width=1600, height=900)
    until(page, "() => document.querySelector('.header .state').textContent.includes('finished')")
    spans = viewer.json("runs/long")["processes"][0]["events_not_kept"]
    assert len(spans) == 1
    begin, end = spans[0]["begin_ns"], spans[0]["end_ns"]
    third = (end - begin) // 3
    page.goto("about:blank")
    page.goto(f"{viewer.url}#run=long&area={begin + third}~{end - third}&tab=selection")
    page.get_by_role("tabpanel").get_by_text("the run file keeps no single events").wait_for()
    held = viewer.json(f"runs/long/summary?window_begin_ns={begin + third}&window_end_ns={end - third}")
    assert not [kind for kind in held["by_shade_kind"] if kind["shade_kind"] in ("down", "up")]
