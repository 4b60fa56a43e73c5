"""Rules on real jobs: every marked line of rules/*.py is found, and nothing else is."""

import json
import os
import pathlib
import subprocess
import sys

import jsonschema
import pytest
from marked_cases import CASE, CONTROL, functions, marked, reported

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASTSCOPE = pathlib.Path(os.environ.get("CASTSCOPE_BUILD", ROOT / "build")) / "castscope"
WEIGH_TIMES = ("cast-dominates-time",)
CASES = sorted(path for path in pathlib.Path(__file__).with_name("rules").glob("*.py") if path.stem != "apart")


@pytest.fixture(scope="module", params=CASES, ids=lambda path: path.stem)
def cases(request):
    """A file of cases."""
    return request.param


@pytest.fixture(scope="module")
def folder(cases, tmp_path_factory):
    folder = tmp_path_factory.mktemp(cases.stem)
    done = subprocess.run([CASTSCOPE, "run", "-o", folder / "run", "--", sys.executable, cases], check=False,
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def report(folder):
    return json.loads((folder / "run.json").read_text())


def rerun_alone(cases, case, folder):
    """Returns the findings of one case by itself: rules that compare times may find nothing on a machine that is busy
    with other work."""
    output = folder / case
    subprocess.run([CASTSCOPE, "run", "-o", output, "--", sys.executable, cases, case], check=True,
                   capture_output=True, timeout=600)
    return list(reported(json.loads(output.with_suffix(".json").read_text()), cases))


def test_findings_are_those_marked(report, cases, folder):
    found, expected = sorted(reported(report, cases)), sorted(marked(cases))  # lists: each is found once
    for case, line, rule in set(expected) - set(found):
        if rule in WEIGH_TIMES and (case, line, rule) in rerun_alone(cases, case, folder):
            found.append((case, line, rule))
    assert sorted(found) == expected


def test_controls_are_marked_nowhere(cases):
    assert not [mark for mark in marked(cases) if CONTROL.match(mark[0])]


def test_every_case_has_its_process(report, cases):
    names = {name for name in functions(cases).values() if CASE.match(name)}
    assert names and len(report["processes"]) >= len(names)
    assert report["run"]["complete"]


def test_the_report_is_valid(report):
    jsonschema.validate(report, json.loads((ROOT / "docs/report.schema.json").read_text()))


def test_report_and_file_say_the_same(folder, report):
    again = subprocess.run([CASTSCOPE, "report", folder / "run.castscope"], check=True, capture_output=True, timeout=60)
    assert json.loads(again.stdout) == report


def test_the_file_answers_the_shell(folder, report):
    sqlite3 = pytest.importorskip("sqlite3")
    database = sqlite3.connect(f"file:{folder / 'run.castscope'}?mode=ro", uri=True)
    totals = database.execute("SELECT casts, cache_hits, pass_through FROM v_totals").fetchone()
    assert totals == tuple(report["totals"][key] for key in ("casts", "cache_hits", "pass_through"))
    found = database.execute("SELECT rule, line FROM v_findings").fetchall()
    assert found == [(f["rule"], f["location"]["line"]) for f in report["findings"]]
    views = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'view'")]
    assert len(views) > 10
    for view in views:
        database.execute(f"SELECT * FROM {view}").fetchall()


def test_a_tensor_in_a_parameters_place_is_no_frozen_weight(report, cases):
    if cases.stem != "cache":
        pytest.skip("not in this file")
    case = functions(cases)
    fixes = {case[f["location"]["line"]]: f["fix"] for f in report["findings"]}
    assert "frozen" in fixes["c08"]
    for name in ("c09_functional_call", "c09_functional_call_of_fresh_tensors", "c09_data"):
        assert "functional_call" in fixes[name] and "frozen" not in fixes[name]
    assert fixes["c09_weight_norm"].startswith("If it is the same weight")
