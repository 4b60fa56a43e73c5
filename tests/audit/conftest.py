"""Runs each of the jobs once under castscope, two at a time."""

import concurrent.futures
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "documents")]
from audit_jobs import JOBS, record  # noqa: E402


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """The path of each job's report, train.json."""
    folder = tmp_path_factory.mktemp("audit")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return dict(zip(JOBS, pool.map(lambda name: record(name, folder / name), JOBS)))
