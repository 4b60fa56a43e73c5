"""Each promise of docs/reliability.md names tests, and they exist."""

import functools
import re
import subprocess

import pytest
from blocks import ROOT

PAGE = ROOT / "docs" / "reliability.md"


def promised():
    """The rows of its tables that have the columns `promise` and `test`."""
    rows, of_promises = [], False
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| promise"):
            of_promises = cells == ["promise", "test"]
        elif of_promises and line.startswith("| "):
            rows.append((cells[0][:60], re.findall(r"`([^`]+)`", cells[1])))
        elif not line.startswith("|"):
            of_promises = False
    assert len(rows) > 20
    return rows


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
