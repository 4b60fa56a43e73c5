"""Rules on real jobs: every marked line of rules/*.py is found, and nothing else is."""

import functools
import json
import os
import pathlib
import subprocess
import sys

import jsonschema
import pytest
import runs
import sharing
from marked_cases import CASE, CONTROL, functions, marked, reported
from reports import in_words, read_report

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASTSCOPE = pathlib.Path(os.environ.get("CASTSCOPE_BUILD", ROOT / "build")) / "castscope"
WEIGH_TIMES = ("cast-dominates-time",)
CASES = sorted(path for path in pathlib.Path(__file__).with_name("rules").glob("*.py") if path.stem != "apart")
# modes_compile sets variables of the environment, so it runs by itself. All other files share one run.
ALONE = [path for path in CASES if path.stem == "modes_compile"]


class Recording:
    """A run of files of cases."""

    def __init__(self, folder, files):
        self.folder = folder
        outcome = runs.under_castscope(sharing.command(files, "--pids", folder.with_suffix(".pids")), folder)
        assert outcome.status == 0, outcome.stderr.decode()
        self.report = outcome.report
        self.pids = dict(zip(files, json.loads(folder.with_suffix(".pids").read_text()), strict=True))


@pytest.fixture(scope="module")
def recording_of(tmp_path_factory):
    @functools.cache
    def of(files):
        return Recording(tmp_path_factory.mktemp("cases") / "run", files)
    return lambda cases: of((cases,) if cases in ALONE else tuple(path for path in CASES if path not in ALONE))


@pytest.fixture(scope="module", params=CASES, ids=lambda path: path.stem)
def cases(request):
    """A file of cases."""
    return request.param


def findings_in(cases, recording):
    return [finding for finding in recording.report["findings"] if finding["location"]["file"] == str(cases)]


@pytest.fixture(scope="module", params=[CASES[0], *ALONE], ids=["shared", *(path.stem for path in ALONE)])
def recording(request, recording_of):
    return recording_of(request.param)


def rerun_alone(cases, case, folder):
    """Returns the findings of one case by itself: rules that compare times may find nothing on a machine that is busy
    with other work."""
    output = folder / case
    subprocess.run([CASTSCOPE, "run", "-o", output, "--", sys.executable, cases, case], check=True,
                   capture_output=True, timeout=600)
    return list(reported(read_report(output.with_suffix(".json")), cases))


def test_findings_are_those_marked(recording_of, cases, tmp_path):
    report = {"findings": findings_in(cases, recording_of(cases))}
    found, expected = sorted(reported(report, cases)), sorted(marked(cases))  # lists: each is found once
    for case, line, rule in set(expected) - set(found):
        if rule in WEIGH_TIMES and (case, line, rule) in rerun_alone(cases, case, tmp_path):
            found.append((case, line, rule))
    assert sorted(found) == expected


def test_controls_are_marked_nowhere(cases):
    assert not [mark for mark in marked(cases) if CONTROL.match(mark[0])]


def test_every_case_has_its_process(recording_of, cases):
    recording = recording_of(cases)
    names = {name for name in functions(cases).values() if CASE.match(name)}
    processes = [process for process in recording.report["processes"]
                 if process["parent_pid"] == recording.pids[cases]]
    assert names and len(processes) >= len(names)


def test_no_finding_is_elsewhere(recording):
    assert {finding["location"]["file"] for finding in recording.report["findings"]} <= set(map(str, recording.pids))
    assert recording.report["run"]["complete"]


def test_the_report_is_valid(recording):
    jsonschema.validate(recording.report, json.loads((ROOT / "docs/report.schema.json").read_text()))


def test_report_and_file_say_the_same(recording):
    again = subprocess.run([CASTSCOPE, "report", recording.folder / "run.castscope"], check=True, capture_output=True,
                           timeout=300)
    assert in_words(json.loads(again.stdout)) == recording.report


def test_the_file_answers_the_shell(recording):
    sqlite3 = pytest.importorskip("sqlite3")
    database = sqlite3.connect(f"file:{recording.folder / 'run.castscope'}?mode=ro", uri=True)
    totals = database.execute("SELECT casts, cache_hits, pass_throughs FROM v_totals").fetchone()
    assert totals == tuple(recording.report["totals"][key] for key in ("casts", "cache_hits", "pass_throughs"))
    found = database.execute("SELECT rule, line FROM v_findings").fetchall()
    assert found == [(f["rule"], f["location"]["line"]) for f in recording.report["findings"]]
    views = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'view'")]
    assert len(views) > 10
    for view in views:
        database.execute(f"SELECT * FROM {view}").fetchall()


def test_a_tensor_in_a_parameters_place_is_no_frozen_weight(recording_of):
    (cases,) = (path for path in CASES if path.stem == "cache")
    case = functions(cases)
    fixes = {case[f["location"]["line"]]: f["fix"] for f in findings_in(cases, recording_of(cases))}
    assert "frozen" in fixes["c08"]
    for name in ("c09_functional_call", "c09_functional_call_of_fresh_tensors", "c09_data"):
        assert "functional_call" in fixes[name] and "frozen" not in fixes[name]
    assert fixes["c09_weight_norm"].startswith("If it is the same weight")
