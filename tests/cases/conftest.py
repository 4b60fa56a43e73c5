"""Runs small programs under castscope; gives their reports."""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
from reports import read_report  # noqa: E402
from sharing import pytest_configure, ran, ran_in_this_file, report  # noqa: E402, F401

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASTSCOPE = pathlib.Path(os.environ.get("CASTSCOPE_BUILD", ROOT / "build")) / "castscope"


@pytest.fixture
def run(tmp_path):
    """Runs a program in a run of its own."""
    def of(program, **environment):
        script = tmp_path / "job.py"
        script.write_text("import torch\n" + textwrap.dedent(program))
        done = subprocess.run([CASTSCOPE, "run", "-o", tmp_path / "run", "--", sys.executable, script], check=False,
                              capture_output=True, text=True, timeout=300, env=os.environ | environment)
        assert done.returncode == 0, done.stderr
        return read_report(tmp_path / "run.json")
    return of
