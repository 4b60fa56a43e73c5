"""The double of CUPTI, built for the tests that need no CUDA build of PyTorch, and jobs that launch on it."""

import os
import pathlib
import subprocess
import sys
import sysconfig

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))


@pytest.fixture(scope="session")
def cupti(tmp_path_factory):
    """Path of the double's libcupti.so.13. Its headers come from the wheels in tests/requirements.txt."""
    given = pathlib.Path(os.environ.get("CASTSCOPE_GPU_DOUBLE", "/nowhere")) / "libcupti.so.13"
    if given.is_file():
        return given
    headers = pathlib.Path(sysconfig.get_paths()["purelib"]) / "nvidia" / "cu13" / "include"
    out = tmp_path_factory.mktemp("double")
    built = subprocess.run([HERE / "double" / "build.sh", out, headers], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr[-4000:]
    return out / "libcupti.so.13"


@pytest.fixture(scope="session")
def job_profiler(cupti, tmp_path_factory):
    """Path of a library that is a client of CUPTI, as torch.profiler is: it calls it through its own imports."""
    out = tmp_path_factory.mktemp("profiler") / "libjob_profiler.so"
    command = ["g++", "-std=c++20", "-shared", "-fPIC", "-o", out, HERE / "job_profiler.cc", cupti]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return out
