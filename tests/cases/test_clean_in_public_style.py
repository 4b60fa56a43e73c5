"""Thirty jobs without a fault in the style of public training programs: castscope, run as a person first runs it, has
no warning for them, and finds only what clean_verdicts.json lists, each finding judged by a person: is it true, and is
it of use?"""

import json
import pathlib

import pytest
import sharing
from clean_list import findings_by_line

JOBS = sorted((pathlib.Path(__file__).parent / "clean").glob("*.py"))
VERDICTS = json.loads(pathlib.Path(__file__).with_name("clean_verdicts.json").read_text())


def judged(kind):
    return {(row["job"], row["rule"], row["line"]) for row in VERDICTS[kind]}


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    """{(job, rule, text of the line): findings}"""
    outcome, parts = sharing.under_castscope(JOBS, tmp_path_factory.mktemp("clean") / "run")
    assert all(part is not None for part in parts), "each of the jobs casts"
    return {(pathlib.Path(finding["location"]["file"]).stem, rule, text): told
            for (rule, text), told in findings_by_line(outcome).items() for finding in told}


def test_there_are_thirty():
    assert len(JOBS) == 30


def test_no_warning_and_no_error(findings):
    assert not {place: told for place, told in findings.items()
                if any(finding["severity"] in ("warning", "error") for finding in told)}


def test_each_finding_was_judged(findings):
    assert not {place: told for place, told in findings.items() if place not in judged("findings")}


def test_no_finding_is_false_and_few_are_trivial():
    verdicts = [row["verdict"] for row in VERDICTS["findings"]]
    assert set(verdicts) <= {"true and useful", "true but trivial"}
    assert verdicts.count("true but trivial") <= len(verdicts) / 5
