"""Errors are looked at where they are made, and not touched: errors.py says what the job sees of them."""

import sqlite3
import sys

import pytest
import runs

SOURCE = runs.WORKLOADS / "errors.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("errors")


@pytest.fixture(scope="module")
def recorded(folder):
    outcome = runs.under_castscope([sys.executable, str(SOURCE)], folder / "castscope")
    assert outcome.status == 0, outcome.stderr.decode()
    return outcome


@pytest.fixture(scope="module")
def facts(folder, recorded):
    database = sqlite3.connect(folder / "castscope" / "run.castscope")
    database.row_factory = sqlite3.Row
    return [dict(row) for row in database.execute("SELECT * FROM v_facts WHERE fact_kind = 'error'")]


def line_of(text):
    found = [number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if text in line]
    assert len(found) == 1, f"{text!r} stands on lines {found}"
    return found[0]


def test_the_job_sees_the_same(folder, recorded):
    plain = runs.plain([sys.executable, str(SOURCE)], folder / "plain")
    assert plain.status == 0, plain.stderr.decode()
    assert recorded.stdout == plain.stdout


def test_errors_are_counted(facts):
    called = [fact for fact in facts if fact["line"] == line_of("action(*arguments)")]
    native = [fact for fact in called if "same dtype" in fact["fact_text"]]
    assert sum(fact["times"] for fact in native) == 5  # the child asks autocast for nothing, and so has no recording
    python = [fact for fact in called if "size or scale_factor" in fact["fact_text"]]
    assert sum(fact["times"] for fact in python) == 5
    assert not [fact for fact in facts if "of the job's own" in fact["fact_text"]]


def test_control_flow_leaves_few_facts(facts):
    for text in ("torch.nn.functional.interpolate(x[None], n", "torch.zeros(n, 2) @"):
        assert 1 <= len([fact for fact in facts if fact["line"] == line_of(text)]) <= 8
