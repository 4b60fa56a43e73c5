"""How long events took, in the viewer's page: against counts of SQL and of the events themselves; steps side by side;
marks and measures in the address."""

import json
import math
import re
import sqlite3
import urllib.parse

import pytest

pytest.importorskip("playwright")
from chromium import until
from gated import have
from viewer_page import HAS_CHROMIUM, browser, look, sample, tab, window_of  # noqa: F401

pytestmark = HAS_CHROMIUM

JOB = """\
import torch
torch.set_num_threads(1)
block = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.LayerNorm(64), torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(block.parameters(), lr=0.01)
for step in range(6):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = 0
        for _ in range(1 + step % 2):
            loss = loss + block(torch.randn(8, 64)).float().sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.fixture
def viewer(castscope, python, view):
    have(castscope, python, JOB, "run", "--keep", "all", "--deep", "always")
    return view("run.castscope")


def events_of(castscope, kind, run="run"):
    told = castscope("report", "-f", "jsonl", f"{run}.castscope")
    lines = [json.loads(line) for line in told.stdout.decode().splitlines()]
    return [line for line in lines if line["event_kind"] == kind]


def rows_of(castscope, sql, run="run"):
    with sqlite3.connect(castscope.folder / f"{run}.castscope") as database:
        return database.execute(sql).fetchall()


def ranked(durations, percent):
    return sorted(durations)[math.ceil(len(durations) * percent / 100) - 1]


def whole(viewer, run="run"):
    run = viewer.loaded(run)
    return f"window_begin_ns={run['events_begin_ns']}&window_end_ns={run['events_end_ns'] + 1}"


def duration_text(ns):
    """As the page writes it: three figures."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.{0 if ns / size >= 100 else 1 if ns / size >= 10 else 2}f} {unit}"
    return f"{ns} ns"


def facts_in(panel):
    names = panel.locator(".durations dt").all_inner_texts()
    return dict(zip(names, panel.locator(".durations dd").all_inner_texts(), strict=True))


def test_durations_are_those_of_the_events_and_the_counters(castscope, look, viewer):
    casts = events_of(castscope, "cast")
    count, bytes_, counted_ns = rows_of(castscope, "SELECT sum(casts), sum(bytes), sum(cpu_ns) FROM v_sites")[0]
    durations = [event["duration_ns"] for event in casts]
    ns = sum(durations)
    assert (len(casts), sum(event["bytes"] for event in casts)) == (count, bytes_)
    assert ns == pytest.approx(counted_ns, rel=1e-3)  # each is rounded by itself
    told = viewer.json(f"runs/run/durations?{whole(viewer)}")
    assert (told["event_count"], told["single_events"], told["exact"]) == (count, count, True)
    assert (told["event_bytes"], told["events_ns"], told["not_kept_ns"]) == (bytes_, ns, 0)
    assert (told["shortest_ns"], told["longest_ns"]) == (min(durations), max(durations))
    assert (told["median_ns"], told["p95_ns"]) == (ranked(durations, 50), ranked(durations, 95))
    for bar in told["duration_bars"]:
        assert bar["event_count"] == sum(bar["least_ns"] <= one < bar["below_ns"] for one in durations)
    # Of each site by itself.
    for site, casts_of_site, ns_of_site in rows_of(castscope, "SELECT site, casts, cpu_ns FROM v_sites"):
        told = viewer.json(f"runs/run/durations?{whole(viewer)}&subject={site}")
        of_site = [event["duration_ns"] for event in casts if event["site"] == site]
        assert (told["event_count"], told["events_ns"]) == (casts_of_site, sum(of_site))
        assert told["events_ns"] == pytest.approx(ns_of_site, rel=1e-3)
        assert told["median_ns"] == ranked(of_site, 50)
    # The page shows the same.
    page = look(viewer.url)
    panel = tab(page, "selection")
    panel.locator(".durations dd").first.wait_for()
    shown = facts_in(panel)
    assert shown["count"] == f"{count:,}"
    assert (shown["median"], shown["longest"]) == tuple(
        duration_text(ns) for ns in (ranked(durations, 50), max(durations)))
    assert re.fullmatch(r"(<1|[\d.]+) % of \d+ steps", shown["of the steps"])
    bars = panel.get_by_role("img", name=re.compile("Histogram of durations"))
    assert sum(map(int, re.findall(r": (\d+)(?:;|$)", bars.get_attribute("aria-label")))) == count


def test_durations_of_the_selected_area_and_of_the_chosen_site(castscope, look, viewer):
    run = viewer.loaded()
    steps = next(track["track"] for track in run["tracks"] if track["track_kind"] == "steps")
    step = viewer.json(f"runs/run/neighbour?at_ns=-1&direction=next&track={steps}&subject=3")["event"]
    casts = next(track["track"] for track in run["tracks"] if track["track_kind"] == "casts")
    first = viewer.json(f"runs/run/neighbour?at_ns={step['begin_ns']}&direction=next&track={casts}")["event"]
    page = look(viewer.url + f"#run=run&tab=selection&area={step['begin_ns']}~{step['end_ns']}")
    panel = page.get_by_role("tabpanel")
    within = [event for event in events_of(castscope, "cast")
              if step["begin_ns"] <= event["time_ns"] < step["end_ns"]]
    until(page, "count => document.querySelector('.durations dd')?.textContent === count", str(len(within)))
    assert facts_in(panel)["of the steps"].endswith("of 1 step")
    choice = panel.get_by_role("combobox", name="How long these took")
    choice.select_option("operators")
    operators = [event for event in events_of(castscope, "operator")
                 if event["time_ns"] + event["duration_ns"] > step["begin_ns"] and event["time_ns"] < step["end_ns"]]
    until(page, "count => document.querySelector('.durations dd')?.textContent === count", str(len(operators)))
    assert facts_in(panel)["longest"] == duration_text(max(event["duration_ns"] for event in operators))
    # A chosen event tells of all of its site.
    page = look(viewer.url + f"#run=run&tab=detail&event={casts}~{first['begin_ns']}")
    count = rows_of(castscope, f"SELECT casts FROM v_sites WHERE site = {first['subject']}")[0][0]
    panel = page.get_by_role("tabpanel")
    panel.get_by_text("How long all of this site took, in the whole run").wait_for()
    until(page, "count => document.querySelector('.durations dd')?.textContent === count", str(count))


def test_what_was_not_kept_is_said(castscope, look, sample):
    viewer = sample("long")
    told = viewer.json(f"runs/long/durations?{whole(viewer, 'long')}")
    count = rows_of(castscope, "SELECT sum(casts) FROM v_sites", "long")[0][0]
    assert count == 400_000 and told["event_count"] == len(events_of(castscope, "cast", "long")) < count
    assert events_of(castscope, "gap", "long") and told["not_kept_ns"] > 0
    page = look(viewer.url)
    tab(page, "selection").get_by_text("the run file keeps no events: there were more").wait_for()


def test_steps_are_compared_by_key(look, viewer):
    run = viewer.loaded()
    steps = next(track["track"] for track in run["tracks"] if track["track_kind"] == "steps")
    begins = [viewer.json(f"runs/run/neighbour?at_ns=-1&direction=next&track={steps}&subject={n}")["event"]
              for n in (1, 2, 3, 4)]
    page = look(viewer.url + f"#run=run&event={steps}~{begins[1]['begin_ns']}&tab=detail")
    page.get_by_role("tabpanel").get_by_role("heading").first.wait_for()
    page.locator("canvas.lanes").focus()
    page.keyboard.press(">")
    panel = page.get_by_role("tabpanel", name="Compare")
    panel.get_by_text(re.compile("step 3 against step 2")).wait_for()
    panel.get_by_label(re.compile("also the")).check()
    # Step 3 has the block twice, step 2 once: each row is the difference of two counts of the API.
    both = [viewer.json(f"runs/run/summary?window_begin_ns={one['begin_ns']}&window_end_ns={one['end_ns']}")
            for one in begins[1:3]]
    due = {}
    for at, summary in enumerate(both):
        for row in summary["by_subject"]:
            key = (row["track_kind"], row["subject"], row["shade_kind"])
            due.setdefault(key, [0, 0])[at] = row["event_count"]
    shown = [tuple(row.locator("td").all_inner_texts()[1:3]) for row in panel.locator("tbody tr").all()]
    assert sorted(shown) == sorted((str(a), str(b)) for a, b in due.values())
    assert panel.locator("thead th").all_inner_texts()[1:3] == ["step 2", "step 3"]
    until(page, "() => location.hash.includes('first=')")
    page.locator("canvas.lanes").focus()
    page.keyboard.press(">")  # goes on by one
    panel.get_by_text(re.compile("step 4 against step 3")).wait_for()
    page.keyboard.press("<")
    page.keyboard.press("<")
    panel.get_by_text(re.compile("step 2 against step 1")).wait_for()
    # A link shows the same two steps.
    until(page, "begin => location.hash.includes(`first=${begin}`)", begins[0]["begin_ns"])
    other = look(page.url)
    other.get_by_role("tabpanel").get_by_text(re.compile("step 2 against step 1")).wait_for()


def fragment(page):
    return urllib.parse.parse_qs(urllib.parse.urlsplit(page.url).fragment)


def test_marks_have_names_and_stay_in_the_address(look, viewer):
    page = look(viewer.url)
    lanes = page.locator("canvas.lanes")
    box = lanes.bounding_box()
    for share in (0.3, 0.6):
        page.mouse.move(box["x"] + box["width"] * share, box["y"] + 40)
        page.keyboard.press("M")
    until(page, "() => (location.hash.match(/mark=/g) || []).length === 2")
    panel = tab(page, "selection")
    names = panel.get_by_role("textbox", name=re.compile("Name of the mark"))
    assert [one.input_value() for one in names.all()] == ["1", "2"]
    names.first.fill("the slow one")
    until(page, "() => location.hash.includes('slow')")
    at, name = fragment(page)["mark"][0].split("|")
    assert name == "the slow one"
    # Near by, a click on its flag in the ruler leads there.
    page.locator("canvas.lanes").focus()
    for _ in range(3):
        page.keyboard.press("w")
    until(page, "() => location.hash.includes('t=')")
    page.keyboard.press("0")
    until(page, "() => !location.hash.includes('t=')")
    ruler = page.locator("canvas.ruler").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.3 + 3, ruler["y"] + ruler["height"] - 6)
    panel.locator(".marks button.link").last.click()
    until(page, "() => location.hash.includes('t=')")
    second = int(fragment(page)["mark"][1].split("|")[0])
    begin, end = window_of(page)
    assert (begin + end) / 2 == pytest.approx(second, abs=(end - begin) * 0.01)
    # Another page has them too; there one is taken away.
    other = look(page.url)
    panel = tab(other, "selection")
    names = panel.get_by_role("textbox", name=re.compile("Name of the mark"))
    assert [one.input_value() for one in names.all()] == ["the slow one", "2"]
    panel.get_by_role("button", name="Remove the mark 2").click()
    until(other, "() => (location.hash.match(/mark=/g) || []).length === 1")
    assert fragment(other)["mark"] == [f"{at}|the slow one"]


def test_a_click_on_a_flag_leads_to_its_mark(look, viewer):
    run = viewer.loaded()
    length = run["events_end_ns"] - run["events_begin_ns"]
    window = (run["events_begin_ns"] + length // 4, run["events_begin_ns"] + length // 2)
    mark = window[0] + (window[1] - window[0]) // 4
    page = look(viewer.url + f"#run=run&t={window[0]}~{window[1]}&mark={mark}|here")
    ruler = page.locator("canvas.ruler").bounding_box()
    page.mouse.click(ruler["x"] + ruler["width"] / 4 + 4, ruler["y"] + ruler["height"] - 6)
    until(page, "begin => !location.hash.includes(`t=${begin}`)", window[0])
    begin, end = window_of(page)
    assert (begin + end) / 2 == pytest.approx(mark, abs=(end - begin) * 0.01)
    assert end - begin == pytest.approx(window[1] - window[0], rel=0.01)


def test_a_measure_stays_in_the_address(look, viewer):
    page = look(viewer.url)
    box = page.locator("canvas.lanes").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 40)
    page.keyboard.press("m")
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 40)
    page.mouse.down()
    page.mouse.up()
    until(page, "() => location.hash.includes('measure=')")
    begin, end = map(int, fragment(page)["measure"][0].split("~"))
    assert begin < end
    other = look(page.url)
    until(other, "() => location.hash.includes('measure=')")
    assert fragment(other)["measure"] == fragment(page)["measure"]
    other.locator("canvas.lanes").focus()
    other.keyboard.press("Escape")
    until(other, "() => !location.hash.includes('measure=')")
