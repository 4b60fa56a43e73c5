"""Runs a program of one of the four texts under castscope: what it printed, the first screen, the report."""

import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import told  # noqa: E402


@pytest.fixture
def run(request, tmp_path):
    """run(JOB, *OPTIONS): the job of this test file's jobs, under `castscope run OPTIONS`."""
    jobs = HERE / request.module.JOBS

    def of(job, *options):
        name = tmp_path / (job + "".join(options).replace("/", "-"))
        done = subprocess.run([told.CASTSCOPE, "run", "--force", "-o", name, *options, "--", sys.executable, jobs, job],
                              check=False, capture_output=True, text=True, timeout=300, env=told.environment(),
                              cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return told.Run(jobs, name, done.stdout, done.stderr)

    return of
