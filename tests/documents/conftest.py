"""A folder in which the commands of the documents can be run: the program, a Python, a script, and a recorded run."""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import runs  # noqa: E402
from blocks import blocks_of  # noqa: E402

LIMIT_S = 300
# What the documents call their runs and reports; all are copies of one.
RUNS, REPORTS = ("train", "smoke"), ("main",)


class Workshop:
    """Runs commands where `castscope` and `python` are those under test."""

    def __init__(self, folder, programs):
        self.folder, self.programs = folder, programs
        self.script = folder / "train.py"
        self.script.write_text(next(block.text for block in blocks_of("docs/first-finding.md")
                                    if block.language == "python"))

    def _run(self, *command, with_package=False):
        path = os.pathsep.join([str(self.programs), str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
        more = {"PATH": path, "OMP_NUM_THREADS": "1"}
        if with_package:
            more["PYTHONPATH"] = str(runs.ROOT / "agent/python")
        return subprocess.run(command, cwd=self.folder, env=runs.clean_environment() | more, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S, check=False)

    def run(self, script):
        return self._run("sh", "-e", "-u", "-c", script)

    def run_python(self, *arguments):
        """Where the package castscope is installed."""
        return self._run(sys.executable, *arguments, with_package=True)


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """A folder for PATH."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "castscope").symlink_to(runs.CASTSCOPE)
    return folder


@pytest.fixture(scope="module")
def side_by_side(request, programs, tmp_path_factory):
    """Runs a function once for each value of a parameter that the tests to come have, two at a time, in folders of
    their own with train.py and nothing else; returns the results by value. Most of a job is the start of PyTorch."""
    def run(function, parameter):
        values = {test.callspec.params[parameter]: None for test in request.session.items
                  if test.path == request.path and hasattr(test, "callspec") and parameter in test.callspec.params}
        folders = [Workshop(tmp_path_factory.mktemp("fresh"), programs) for _ in values]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return dict(zip(values, pool.map(function, values, folders)))
    return run


@pytest.fixture(scope="session")
def workshop(tmp_path_factory, programs):
    """A folder with a run of train.py besides, which the first block of README.md makes, under all the names that
    documents give to theirs."""
    shop = Workshop(tmp_path_factory.mktemp("workshop"), programs)
    shop.first_block = blocks_of("README.md")[0].text
    shop.first = shop.run(shop.first_block)
    assert shop.first.returncode == 0, shop.first.stdout
    (recorded,) = shop.folder.glob("train-*.castscope")
    for name in RUNS:
        shutil.copy(recorded, shop.folder / f"{name}.castscope")
    (shop.folder / "test_train.py").write_text(next(block.text for block in blocks_of("docs/ci.md")
                                                    if "@pytest.mark" in block.text))
    for name in REPORTS:
        shutil.copy(recorded.with_suffix(".json"), shop.folder / f"{name}.json")
    return shop
