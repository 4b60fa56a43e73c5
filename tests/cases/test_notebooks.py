"""In a notebook a place is the number of a cell and a line in it."""

import json
import sys

import runs


def test_places_are_named_by_the_numbers_of_cells(tmp_path):
    outcome = runs.under_castscope([sys.executable, str(runs.WORKLOADS / "notebook.py")], tmp_path / "run")
    assert outcome.status == 0, outcome.stderr.decode()
    report = json.loads((tmp_path / "run" / "run.json").read_text())
    (finding,) = [one for one in report["findings"] if one["rule"] == "dtype-silent-upcast"]
    assert (finding["location"]["file"], finding["location"]["line"]) == ("In [2]", 3)
    assert "In [2]:3" in " ".join(outcome.stderr.decode().split())
    lines = {(frame["file"], frame["line"]) for frame in report["frames"]}
    assert {("In [2]", 3), ("In [2]", 4), ("In [3]", 2), ("In [4]", 2)} <= lines
