"""Rules about GPUs on real jobs: each marked line of rule_jobs.py is found, and nothing else; with the fix, nothing is.

On the CUDA build of PyTorch and the double of a GPU. scripts/check-cuda-build sets CASTSCOPE_GPU_DOUBLE and
CASTSCOPE_CUDA_PYTHON; skipped without them.
"""

import os
import pathlib
import subprocess
import sys

import pytest
import runs

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cases"))
from marked_cases import functions, marked, reported  # noqa: E402
from reports import read_report  # noqa: E402

JOBS = HERE / "rule_jobs.py"
DOUBLE = os.environ.get("CASTSCOPE_GPU_DOUBLE", "")
PYTHON = os.environ.get("CASTSCOPE_CUDA_PYTHON", "")
NAMES = sorted({name for name, _, _ in marked(JOBS)})
needs_gpu = pytest.mark.skipif(not DOUBLE or not PYTHON,
                               reason="needs a CUDA build of PyTorch: scripts/check-cuda-build")


@pytest.fixture
def found(tmp_path):
    """Returns (job, line, rule) for castscope's findings in a job."""

    def run(name, *fixed):
        command = [runs.CASTSCOPE, "run", "-o", tmp_path / "run", "--force", "--deep", "always", "--",
                   HERE / "double" / "under", DOUBLE, PYTHON, JOBS, name, *fixed]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=900,
                              env=runs.clean_environment())
        assert done.returncode == 0, done.stderr[-4000:]
        report = read_report(tmp_path / "run.json")
        assert report["gpus"]["gpu_lost"] == 0
        return sorted(reported(report, JOBS))

    return run


@needs_gpu
@pytest.mark.parametrize("name", NAMES)
def test_what_is_marked_is_found(found, name):
    assert found(name) == sorted(mark for mark in marked(JOBS) if mark[0] == name)


@needs_gpu
@pytest.mark.parametrize("name", NAMES)
def test_the_fix_leaves_nothing_to_find(found, name):
    assert found(name, "fixed") == []


def test_each_rule_about_gpus_has_a_job():
    rules = {path.stem.replace("_", "-") for path in (runs.ROOT / "server/rules/gpu").glob("*.cc")
             if f"RULE({path.stem})" in (runs.ROOT / "server/rules/list.h").read_text()}
    assert rules and rules <= {rule for _, _, rule in marked(JOBS)}
    assert set(NAMES) <= set(functions(JOBS).values())
