"""Checks what a report says about autocast regions."""

import sys

import runs

# The dtype is changed by hand inside an open region, and back.
CHANGED_INSIDE = """
import torch
first, second, x = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4), torch.ones(2, 4)
with torch.autocast("cpu", torch.bfloat16):
    first(x)
    torch.set_autocast_dtype("cpu", torch.float16)
    x.double()
    second(x)
    torch.set_autocast_dtype("cpu", torch.bfloat16)
    first(x)
"""


def test_a_dtype_changed_inside_a_region_is_seen(tmp_path):
    outcome = runs.under_castscope([sys.executable, "-c", CHANGED_INSIDE], tmp_path / "run")
    assert outcome.status == 0, outcome.stderr.decode()
    dtypes = {region["region"]: region["region_dtype"] for region in outcome.report["regions"]}
    assert dtypes == {1: "bfloat16", 2: "float16"}
    for site in outcome.report["sites"]:
        expected = "float16" if site["cause"] == "user_to" else site["to_dtype"]
        assert dtypes[site["region"]] == expected
        assert site["why_not_cached"] != "other_dtype"
    assert (outcome.report["totals"]["casts"], outcome.report["totals"]["cache_hits"]) == (7, 2)


# Line 9 on is the child's; the parent leaves the region meanwhile and clears its own cache. One thread: the child has
# none of the parent's pool.
FORKED_INSIDE = """
import os, torch
torch.set_num_threads(1)
first, second, x = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4), torch.ones(2, 4)
with torch.autocast("cpu", torch.bfloat16):
    first(x)
    child = os.fork()
    if child == 0:
        first(x)
        second(x)
        torch.clear_autocast_cache()
        first(x)
if child == 0:
    with torch.autocast("cpu", torch.bfloat16):
        first(x)
    os._exit(0)
os.waitpid(child, 0)
"""


def test_a_child_forked_inside_a_region_goes_on_in_it(tmp_path):
    outcome = runs.under_castscope([sys.executable, "-c", FORKED_INSIDE], tmp_path / "run")
    assert outcome.status == 0, outcome.stderr.decode()
    report = outcome.report
    lines = {region["region"]: region["location"]["line"] for region in report["regions"]}
    assert [(lines[region["region"]], region["region_kind"], region["enabled"], region["entered"])
            for region in report["regions"]] == [(5, "context", True, 1), (14, "context", True, 1)]
    assert {(site["location"]["line"], lines[site["region"]]) for site in report["sites"]} == {
        (6, 5), (9, 5), (10, 5), (12, 5), (15, 14)}
    child, parent = sorted(report["processes"], key=lambda process: process["casts"], reverse=True)
    assert (parent["casts"], parent["cache_hits"], child["casts"], child["cache_hits"]) == (3, 0, 1 + 3 + 3 + 3, 2)
    # The parent's two entries, and two of `second`; cleared by hand, at the end of each region.
    assert child["cache"] == {"cache_peak_entries": 4, "cache_peak_bytes": 2 * 2 * (16 + 4), "cache_clears": 3,
                              "cache_entries": 0,
                              "cache_bytes": 0}
    assert parent["cache"]["cache_peak_entries"] == 2
    assert [run["regions_entered"] for run in report["step_runs"] if run["process"] == child["process"]] == [1, 1]


# The child leaves the region before it casts. Another child, which another thread forks, was in no region.
FORKED_AND_LEFT = """
import os, threading, torch
torch.set_num_threads(1)
linear, x = torch.nn.Linear(4, 4), torch.ones(2, 4)
def fork_outside():
    child = os.fork()
    if child == 0:
        x.half()
        os._exit(0)
    os.waitpid(child, 0)
with torch.autocast("cpu", torch.bfloat16):
    linear(x)
    thread = threading.Thread(target=fork_outside)
    thread.start()
    thread.join()
    child = os.fork()
x.half()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
"""


def test_a_child_that_left_the_region_is_in_none(tmp_path):
    outcome = runs.under_castscope([sys.executable, "-c", FORKED_AND_LEFT], tmp_path / "run")
    assert outcome.status == 0, outcome.stderr.decode()
    report = outcome.report
    assert [region["location"]["line"] for region in report["regions"]] == [11]
    assert {(site["location"]["line"], site["region"], site["phase"]) for site in report["sites"]
            if site["cause"] == "user_to"} == {(8, None, "other"), (17, None, "other")}
    assert len(report["processes"]) == 3
