"""docs/launchers.md: a job that a launcher starts is observed, with all of its ranks."""

import pathlib
import socket
import sys

import pytest
from blocks import blocks_of

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from work import eventually

PAGE = "docs/launchers.md"
# The jobs that are started here: the name of the run, and its ranks.
TRIED = {"torchrun": [0, 1], "accelerate": [None], "session": [None], "bare": [None]}
JOB = """\
import torch

with torch.autocast("cpu", dtype=torch.bfloat16):
    torch.nn.Linear(4, 4)(torch.ones(2, 4))
"""


def command_of(name):
    (block,) = [block for block in blocks_of(PAGE) if f"-o {name} " in block.text]
    return block.text


def launch(name, fresh):
    fresh.script.write_text(JOB)
    (fresh.folder / "test_train.py").write_text("def test_it():\n    import train\n")
    return fresh.run(command_of(name)), fresh.folder / f"{name}.json"


def has_localhost():
    try:
        return bool(socket.getaddrinfo("localhost", None, socket.AF_INET))
    except OSError:
        return False


@pytest.fixture(scope="module")
def launched(side_by_side):
    if not has_localhost():
        pytest.skip("torchrun waits for ever, with castscope or without: this machine has no address for localhost")
    return side_by_side(launch, "name")


@pytest.mark.parametrize("name", TRIED)
def test_a_launchers_job_is_observed(launched, name):
    done, report = launched[name]
    assert done.returncode == 0, done.stdout
    processes = [process for process in eventually(report)["processes"] if process["casts"]]
    assert sorted(process["rank"] for process in processes) == TRIED[name]
    assert {process["casts"] for process in processes} == {3}
