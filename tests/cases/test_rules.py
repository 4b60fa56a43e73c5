"""Rules on real jobs: every marked line of rule_cases.py is found, and nothing else is."""

import json
import os
import pathlib
import re
import subprocess
import sys

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASTSCOPE = pathlib.Path(os.environ.get("CASTSCOPE_BUILD", ROOT / "build")) / "castscope"
CASES = pathlib.Path(__file__).with_name("rule_cases.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    done = subprocess.run([CASTSCOPE, "run", "-o", folder / "run", "--", sys.executable, CASES], check=False,
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def report(folder):
    return json.loads((folder / "run.json").read_text())


def functions():
    """The case that each line belongs to."""
    names, name = {}, ""
    for number, line in enumerate(CASES.read_text().splitlines(), 1):
        if found := re.match(r"def (\w+)", line):
            name = found[1]
        names[number] = name
    return names


def test_findings_are_those_marked(report):
    marks = re.compile(r"# finds: ([a-z-]+)")
    lines = CASES.read_text().splitlines()
    wanted = {(functions()[n], n, found[1]) for n, line in enumerate(lines, 1) if (found := marks.search(line))}
    told = {(functions()[f["location"]["line"]], f["location"]["line"], f["rule"]) for f in report["findings"]}
    assert told == wanted
    assert {f["location"]["file"] for f in report["findings"]} == {str(CASES)}


def test_a_tensor_in_a_parameters_place_is_no_frozen_weight(report):
    fixes = {functions()[f["location"]["line"]]: f["fix"] for f in report["findings"]}
    assert "frozen" in fixes["c08"]
    for case in ("c09_functional_call", "c09_functional_call_of_fresh_tensors", "c09_data"):
        assert "functional_call" in fixes[case] and "frozen" not in fixes[case]
    assert fixes["c09_weight_norm"].startswith("If it is the same weight")


def test_every_case_has_its_process(report):
    cases = {name for name in functions().values() if re.match(r"[cs]\d\d", name)}
    assert len(report["processes"]) == len(cases)
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
