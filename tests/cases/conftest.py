"""Runs small programs under castscope; gives their reports."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASTSCOPE = pathlib.Path(os.environ.get("CASTSCOPE_BUILD", ROOT / "build")) / "castscope"


def pytest_configure(config):
    config.addinivalue_line("markers", "job(code): the program that `report` is about; {name} is a parameter's value")


def write(script, program):
    script.write_text("import torch\n" + textwrap.dedent(program))


@pytest.fixture
def run(tmp_path):
    """Runs a program in a run of its own."""
    def of(program, **environment):
        script = tmp_path / "job.py"
        write(script, program)
        done = subprocess.run([CASTSCOPE, "run", "-o", tmp_path / "run", "--", sys.executable, script], check=False,
                              capture_output=True, text=True, timeout=300, env=os.environ | environment)
        assert done.returncode == 0, done.stderr
        return json.loads((tmp_path / "run.json").read_text())
    return of


def program_of(test):
    """The program in a test's mark; None where it has none."""
    mark = test.get_closest_marker("job")
    if mark is None:
        return None
    (program,) = mark.args
    for name, value in (test.callspec.params if hasattr(test, "callspec") else {}).items():
        program = program.replace(f"{{{name}}}", str(value))
    return program


@pytest.fixture(scope="module")
def reports(request, tmp_path_factory):
    """The reports of all programs in the marks of a file's tests, from one run; each is a process of its own in it."""
    import sharing

    folder, scripts = tmp_path_factory.mktemp("jobs"), {}
    for test in request.session.items:
        if test.path == request.path and (program := program_of(test)) is not None:
            script = folder / str(len(scripts)) / "job.py"
            script.parent.mkdir()
            write(script, program)
            scripts[test.nodeid] = script
    _, parts = sharing.under_castscope(scripts.values(), folder / "run")
    return dict(zip(scripts, parts, strict=True))


@pytest.fixture
def report(request, reports):
    """What castscope reports of the program in the test's mark (sharing.part_of)."""
    return reports[request.node.nodeid]
