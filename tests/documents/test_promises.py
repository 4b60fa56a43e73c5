"""Each promise of docs/reliability.md names tests, and they exist."""

import functools
import re
import subprocess

import pytest
from blocks import ROOT

PAGE = ROOT / "docs" / "reliability.md"


def promised():
    rows = [line.split("|") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [(row[1].strip()[:60], re.findall(r"`([^`]+)`", row[2])) for row in rows if row[2].strip() != "test"]


@functools.cache
def sources():
    listed = subprocess.run(["git", "ls-files", "*_test.cc", "test_*.py", "*/test_*.py"], cwd=ROOT, capture_output=True,
                            text=True, check=True).stdout.split()
    return {name: (ROOT / name).read_text() for name in listed}


def exists(test):
    suite, _, name = test.partition(".")
    if test.endswith(".py"):
        return any(path.endswith(f"/{test}") for path in sources())
    of_python = rf"^def {test}\("
    of_suite = rf"^TEST(_F|_P)?\({suite}, {name or '[A-Za-z0-9]+'}\)"
    return any(re.search(of_python, text, re.M) or re.search(of_suite, text, re.M) for text in sources().values())


@pytest.mark.parametrize("promise, tests", promised())
def test_a_promise_has_its_tests(promise, tests):
    assert tests, promise
    assert [test for test in tests if not exists(test)] == []
