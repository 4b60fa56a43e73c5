"""The mouse in the timeline: a click chooses what is seen there, a drag over the minimap a stretch."""

import pytest

pytest.importorskip("playwright")
from chromium import until
from viewer_page import HAS_CHROMIUM, browser, look, sample, window_of  # noqa: F401

pytestmark = HAS_CHROMIUM


@pytest.fixture
def shown(look, sample):
    """The page of a run, and the run."""
    viewer = sample("training")
    run = viewer.loaded("training")
    page = look(viewer.url, width=1600, height=900)
    until(page, "() => document.querySelector('.header .state').textContent.includes('finished')")
    return page, viewer, run


def test_a_drag_over_a_minimap_that_shows_all_chooses_a_stretch(shown):
    page, _, run = shown
    box = page.locator("canvas.minimap").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + box["height"] - 3)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] - 3, steps=4)
    page.mouse.up()
    until(page, "() => /[#&]t=/.test(location.hash)")
    begin, end = window_of(page)
    length = run["events_end_ns"] - run["events_begin_ns"]
    assert run["events_begin_ns"] < begin and end < run["events_end_ns"]
    assert 0.2 * length < end - begin < 0.35 * length


def test_a_click_chooses_what_is_seen_at_its_height(shown):
    """Casts up stand above casts down of the same moment."""
    page, viewer, run = shown
    up = viewer.json("runs/training/neighbour?at_ns=-1&direction=next&find=kind:up")["event"]
    air = (run["events_end_ns"] - run["events_begin_ns"]) * 0.015
    share = (up["begin_ns"] - run["events_begin_ns"] + air) / (run["events_end_ns"] - run["events_begin_ns"] + 2 * air)
    kinds = []
    for y in range(90, 130, 5):
        canvas = page.locator("canvas.lanes").bounding_box()  # a notice above it may come and go
        with page.expect_request_finished(lambda request: "/event?" in request.url) as asked:
            page.mouse.click(canvas["x"] + canvas["width"] * share, canvas["y"] + y)
        kinds.append(asked.value.response().json()["event"]["shade_kind"])
    assert {"up", "down"} <= set(kinds), kinds
    assert kinds.index("up") < kinds.index("down")


def test_the_nearest_event_that_a_search_finds(shown):
    """While a search is shown, a click asks for it first: what is dimmed may lie nearer."""
    _, viewer, run = shown
    first = viewer.json("runs/training/neighbour?at_ns=-1&direction=next&find=kind:optimizer_step")["event"]
    track = next(one for one in run["tracks"] if one["track"] == first["track"])
    place = f"runs/training/event?track={track['track']}&at_ns={first['begin_ns'] - 1}&tolerance_ns=1000000000"
    found = viewer.json(place + "&find=kind:optimizer_step")["event"]
    assert found["shade_kind"] == "optimizer_step" and found["begin_ns"] == first["begin_ns"]
    clears = viewer.json(place + "&find=kind:cache_clear")["event"]
    assert clears["shade_kind"] == "cache_clear"
    assert viewer.json(place + "&find=kind:step")["event"] is None


def test_a_click_means_what_the_search_found(shown):
    """Two casts down lie beside each other, and the search finds the other one."""
    page, viewer, run = shown
    canvas = page.locator("canvas.lanes").bounding_box()
    length = run["events_end_ns"] - run["events_begin_ns"]
    reach = 4 * length / canvas["width"]  # a click reaches five pixels
    events, at = [], -1
    while event := viewer.json(f"runs/training/neighbour?at_ns={at}&direction=next&find=kind:down&track=2")["event"]:
        events.append(event)
        at = event["begin_ns"]
    sites = {one["site"]: one for one in viewer.json("runs/training/definitions")["sites"]}
    here, other = next((a, b) for a, b in zip(events, events[1:]) if a["shade"] == b["shade"]
                       and b["begin_ns"] - a["end_ns"] < reach / 2
                       and sites[a["subject"]]["line"] != sites[b["subject"]]["line"])
    place = sites[other["subject"]]
    with page.expect_response(lambda answer: "/find?" in answer.url):
        page.get_by_role("combobox", name="Search events").fill(f"kind:down {place['file']}:{place['line']}")
    share = (here["begin_ns"] - run["events_begin_ns"] + 0.015 * length) / (1.03 * length)
    found = []
    for y in range(112, 126, 4):
        with page.expect_request_finished(lambda asked: "/event?" in asked.url and "find=" in asked.url) as asked:
            page.mouse.click(canvas["x"] + canvas["width"] * share, canvas["y"] + y)
        found.append(asked.value.response().json()["event"])
    assert any(event and event["subject"] == other["subject"] for event in found), (here, other, found)
