"""Runs a program of one of the four texts under castscope: what it printed, the first screen, the report."""

import functools
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import told  # noqa: E402


@pytest.fixture(scope="module")
def run(request, tmp_path_factory):
    """run(JOB, *OPTIONS): the job of this test file's jobs, under `castscope run OPTIONS`. Each is run once."""
    jobs = HERE / request.module.JOBS
    folder = tmp_path_factory.mktemp(jobs.stem)

    @functools.cache
    def of(job, *options):
        name = folder / (job + "".join(options).replace("/", "-"))
        done = subprocess.run([told.CASTSCOPE, "run", "--force", "-o", name, *options, "--", sys.executable, jobs, job],
                              check=False, capture_output=True, text=True, timeout=300, env=told.environment(),
                              cwd=folder)
        assert done.returncode == 0, done.stderr
        return told.Run(jobs, name, done.stdout, done.stderr)

    return of
