"""scaler-missing where no gradient is sampled: every marked line of unsampled_gradients.py is found, and nothing else.
"""

import pathlib
import sys

import pytest
import runs
from marked_cases import CASE, functions, marked, reported

JOBS = pathlib.Path(__file__).with_name("unsampled_gradients.py")
RULE = "scaler-missing"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    outcome = runs.under_castscope([sys.executable, str(JOBS)], tmp_path_factory.mktemp("unsampled") / "run", "--deep",
                                   "never")
    assert outcome.status == 0, outcome.stderr.decode()
    return outcome.report


def test_what_is_marked_is_found(report):
    """The weights of a loss of two forward passes are cast twice, which another rule tells."""
    assert sorted(one for one in reported(report, JOBS) if one[2] == RULE) == sorted(marked(JOBS))


def test_it_says_that_nothing_was_measured(report):
    findings = [finding for finding in report["findings"] if finding["rule"] == RULE]
    assert findings
    for finding in findings:
        assert finding["severity"] == "warning"
        assert finding["title"].endswith("how many gradients vanish was not measured")


def test_every_job_was_run(report):
    assert report["run"]["complete"]
    assert len(report["processes"]) >= len([name for name in set(functions(JOBS).values()) if CASE.match(name)])
