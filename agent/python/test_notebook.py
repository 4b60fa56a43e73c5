"""What %%castscope tells of a cell, from reports that are made up; tests/launchers has real kernels."""

import castscope.notebook as notebook
import pytest
from castscope.report_places import sites_in_lines

CELL = "In [3]"


def site(number, stack, casts=1, cause="autocast", **more):
    place = {} if stack is None else {"stack_index": stack}
    dtypes = {"from_dtype": "float32", "to_dtype": "bfloat16"}
    return {"site": number, "casts": casts, "cause": cause} | dtypes | place | more


REPORT = {
    "root": "/work",
    "frames": [{"file": "model.py", "line": 7, "function": "forward"}, {"file": CELL, "line": 2, "function": None},
               {"file": "In [2]", "line": 1, "function": None}],
    "stacks": [{"frame_index": 0, "frame_indexes": [0, 1]}, {"frame_index": 0, "frame_indexes": [0, 2]}],
    "call_sites": [],
    "sites": [site(0, 0, casts=2), site(1, 1, casts=9), site(2, None, casts=2, forward_site=0),
              site(3, 0, casts=5, cause="user_to")],
    "findings": [],
}


def finding(file, line, rule="cache-grows", related=()):
    return {"rule": rule, "severity": "warning", "title": "It grows", "fix": "Empty it.", "related": list(related),
            "location": {"file": file, "line": line, "function": None}}


def findings(*of_report):
    report = REPORT | {"findings": list(of_report)}
    return notebook._findings_in_words(report, notebook.sites_of(report, CELL), CELL)


def test_what_the_cell_called_is_the_cells_and_its_backward_too():
    assert [one["site"] for one in notebook.sites_of(REPORT, CELL)] == [0, 2]


def test_casts_without_a_place_in_the_cell_are_counted():
    lines = sites_in_lines(REPORT, notebook.sites_of(REPORT, CELL), 7, 10, notebook._CELLS_CODE)
    assert lines[-1].split(None, 1) == ["3", "not called by the cell's own code: in another thread, or in backward"]


def test_many_places_are_added_up():
    sites = [site(number, 0) for number in range(12)]
    assert sites_in_lines(REPORT, sites, 12, 10, "the cell")[-1].split(None, 1) == ["2", "at 2 more places"]


def test_findings_are_those_of_the_cell_and_of_what_it_called():
    elsewhere = finding("other.py", 1)
    assert findings(elsewhere) == ["  no findings"]
    assert findings(elsewhere, finding(CELL, 9)) == ["  warning cache-grows In [3]:9: It grows\n      Empty it."]
    assert len(findings(finding("model.py", 7), finding("model.py", 8))) == 1
    assert len(findings(finding("other.py", 1, related=[{"file": "model.py", "line": 7, "function": None}]))) == 1


def test_a_report_is_whole_when_its_counts_and_events_are_there():
    lane = {"events_received": 3, "events_dropped": 1, "events_made": 4}
    process = {"casts": 5, "cache_hits": 1, "pass_throughs": 0, "lanes": [lane]}
    counts = {"casts": 5, "cache_hits": 1, "pass_throughs": 0}
    assert notebook._has_all([process], counts)
    assert not notebook._has_all([process], counts | {"casts": 6})
    assert not notebook._has_all([process | {"lanes": [lane | {"events_made": 5}]}], counts)
    assert not notebook._has_all([], counts)


def test_a_kernel_that_is_not_watched_says_so():
    assert notebook.told(None, {}, CELL) == notebook.NOT_WATCHED


def test_the_magic_takes_no_arguments():
    with pytest.raises(ValueError, match="takes no arguments, and was given 'loud'"):
        notebook.castscope_cell(None, " loud", "1")
