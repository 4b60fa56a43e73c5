"""Checks the viewer's display of a GPU's streams, for a job on the double: each kernel leads to the operator that
launched it."""

import pathlib
import subprocess
import sys

import pytest
import runs

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
from viewer import Viewer

pytest.importorskip("playwright")
import chromium

JOB = pathlib.Path(__file__).resolve().parent / "launching.py"
STEPS = 4


@pytest.fixture(scope="module")
def viewer(cupti, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    command = [runs.CASTSCOPE, "run", "-o", folder / "run", "--gpu", "on", "--deep", "always", "--",
               sys.executable, JOB, cupti, STEPS]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=runs.LIMIT_S,
                          env=runs.clean_environment())
    assert done.returncode == 0, done.stderr[-4000:]
    with subprocess.Popen([runs.CASTSCOPE, "view", "--no-browser", folder / "run.castscope"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, env=runs.clean_environment()) as process:
        yield Viewer(process.stdout.readline().decode().strip())
        process.terminate()


def kernels(viewer):
    """Returns the events of the stream, in full, with the names of their kernels."""
    run = viewer.loaded()
    named = {one["kernel"]: one["label"] for one in viewer.json("runs/run/definitions")["kernels"]}
    track = next(one["track"] for one in run["tracks"] if one["track_kind"] == "kernels")
    at, found = -1, []
    while (event := viewer.json(f"runs/run/neighbour?track={track}&at_ns={at}&direction=next")["event"]) is not None:
        at = event["begin_ns"]
        found.append(viewer.json(f"runs/run/event?track={track}&at_ns={at}")["event"])
    return [(named[one["subject"]], one) for one in found]


def test_a_kernel_was_launched_by_its_operator(viewer):
    seen = kernels(viewer)
    assert [name for name, _ in seen] == (["my_kernel"] * 3 + ["outside_kernel"]) * STEPS
    for name, kernel in seen:
        launch = kernel["launch"]
        assert launch["launched_ns"] <= kernel["begin_ns"]
        assert (launch["launched_by"] is None) == (name == "outside_kernel")
        if by := launch["launched_by"]:
            assert by["shade_kind"] == "operator"
            assert by["begin_ns"] - 1000 <= launch["launched_ns"] <= by["end_ns"] + 1000  # so well the clocks agree


@pytest.mark.skipif(chromium.PROGRAM is None, reason="there is no Chromium")
def test_the_page_leads_from_a_kernel_to_its_operator_and_back(viewer):
    name, kernel = kernels(viewer)[0]
    browser = chromium.shared()
    browser.complaints.clear()
    page = browser.open(f"{viewer.url}#event={kernel['track']}~{kernel['begin_ns']}&tab=detail")
    panel = page.get_by_role("tabpanel")
    panel.get_by_text("from its launch to its begin").wait_for()
    assert panel.locator("h2").inner_text() == name
    page.get_by_role("button", name="GPU 0 stream 7").get_by_text("casts 0 %").wait_for()
    # A click takes its time: meanwhile the page asks for news of the run.
    button = panel.get_by_role("button", name="to its operator").bounding_box()
    page.mouse.move(button["x"] + button["width"] / 2, button["y"] + button["height"] / 2)
    with page.expect_response(lambda answer: "/definitions" in answer.url):
        page.mouse.down()
    page.mouse.up()
    chromium.until(page, "() => document.querySelector('.panel h2').textContent.includes('work')")
    page.locator("canvas.lanes").focus()
    page.keyboard.press("g")
    chromium.until(page, "name => document.querySelector('.panel h2').textContent === name", name)
    page.close()
    assert browser.complaints == []
