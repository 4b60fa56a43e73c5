"""The CUDA build of PyTorch on the double: nothing of it is changed, and it tells what the virtual device did.

CASTSCOPE_GPU_DOUBLE names the folder that build.sh wrote, CASTSCOPE_CUDA_PYTHON a Python with a CUDA build of PyTorch
(without it, the one that runs the tests). scripts/check-cuda-build sets both.
"""

import json
import os
import pathlib
import subprocess
import sys
from collections import Counter

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILT = os.environ.get("CASTSCOPE_GPU_DOUBLE", "")
PYTHON = os.environ.get("CASTSCOPE_CUDA_PYTHON", sys.executable)


def reason_to_skip():
    if not (pathlib.Path(BUILT) / "libcublas.so.13").is_file():
        return "CASTSCOPE_GPU_DOUBLE names no folder with the whole double"
    asked = subprocess.run([PYTHON, "-c", "import torch; print(torch.version.cuda or '')"], capture_output=True,
                           text=True)
    return None if asked.stdout.strip() else f"{PYTHON} has no CUDA build of PyTorch"


@pytest.fixture(scope="module", autouse=True)
def _cuda_build():
    if reason := reason_to_skip():
        pytest.skip(reason)


@pytest.fixture
def job(tmp_path):
    """Runs a job of double_jobs.py. Returns what it printed, and the truth, one operation of the device after the
    other."""

    def run(*arguments):
        log = tmp_path / "truth.jsonl"
        ended = subprocess.run([HERE / "under", BUILT, PYTHON, HERE / "double_jobs.py", *map(str, arguments)],
                               env={**os.environ, "CASTSCOPE_NOGPU_LOG": str(log)}, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr[-4000:]
        return json.loads(ended.stdout.splitlines()[-1]), [json.loads(line) for line in log.open()]

    return run


def by_readable_name(operations):
    names = sorted({operation["name"] for operation in operations})
    readable = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True).stdout.splitlines()
    return dict(zip(names, readable, strict=True))


@pytest.mark.parametrize(("dtype", "short"), [("bfloat16", "bf16"), ("float16", "f16")])
def test_a_transformer_is_trained(job, dtype, short):
    told, truth = job("train", dtype)
    assert told["device"] == "castscope no-GPU double" and len(told["losses"]) == 3
    products = [operation for operation in truth if operation["name"].startswith("nogpu_gemm_")]
    assert {operation["name"].rsplit("_", 1)[0]
            for operation in products} == {f"nogpu_gemm_{short}_{short}_{short}_f32"}
    # Each linear layer has one product forward and two backward.
    linear = 2 * 4 + 1
    assert len(products) == 3 * 3 * linear


def test_the_profiler_tells_the_truth(job, tmp_path):
    told, truth = job("profiler", tmp_path / "trace.json")
    truth = truth[told["before"]:]
    readable = by_readable_name(truth)
    counts, times = Counter(), Counter()
    for operation in truth:
        if operation["kind"] != "kernel":
            continue
        counts[readable[operation["name"]]] += 1
        times[readable[operation["name"]]] += operation["end"] - operation["start"]
    kernels = {name: count for name, count in told["counts"].items() if not name.startswith("Mem")}
    assert kernels == dict(counts)
    assert sum(counts.values()) > 300
    copies = sum(count for name, count in told["counts"].items() if name.startswith("Memcpy"))
    assert copies == sum(operation["kind"] == "memcpy" for operation in truth) >= 6
    # The profiler converts begin and end of each kernel from a clock of its own to whole nanoseconds.
    wrong = {name: (told["times"][name], time) for name, time in times.items()
             if abs(told["times"][name] - time) > counts[name]}
    assert not wrong
    products = sum(time for name, time in times.items() if name.startswith("nogpu_gemm_"))
    assert told["rows"] > 20 and 0 < 1000 * told["mm"] <= products + sum(counts.values())


def test_kernels_of_a_replay_carry_their_node(job, tmp_path):
    told, truth = job("graph", tmp_path / "trace.json")
    assert told["captured"] == 0
    replayed = truth[told["before"]:]
    assert [[operation["graph_node"], operation["correlation"]] for operation in replayed] == told["nodes"]
    assert len(replayed) == 6 and all(operation["graph"] != 0 for operation in replayed)
    nodes = [operation["graph_node"] for operation in replayed]
    assert len(set(nodes[:3])) == 3 and nodes[:3] == nodes[3:]
    assert {operation["api"] for operation in replayed} == {"cudaGraphLaunch"}


def test_a_subscriber_is_told_of_nodes_and_their_clones(job):
    told, truth = job("graph_nodes")
    created = [node for (node,) in told["created"]]
    assert [original for _, original in told["cloned"]] == created and len(created) == 2
    assert [operation["graph_node"] for operation in truth[told["before"]:]] == [node for node, _ in told["cloned"]]


def test_graphed_callables_replay(job):
    told, truth = job("graphed_callable")
    called = truth[told["before"]:told["after"]]
    assert len({operation["graph"] for operation in called if operation["graph"] != 0}) == 2


def test_streams_wait_for_each_other(job):
    told, truth = job("streams")
    add, first, second, last = (operation for operation in truth[told["before"]:] if operation["kind"] == "kernel")
    assert len({add["stream"], first["stream"], second["stream"]}) == 3 and last["stream"] == add["stream"]
    assert first["start"] >= add["end"] and second["start"] >= add["end"] and last["start"] >= first["end"]
    assert told["elapsed"] * 1e6 >= (add["end"] - add["start"]) * 0.99
    assert told["copied"] == [0, 1, 2, 3, 4]


def test_a_compiled_step_launches_its_kernels(job):
    _, truth = job("compiled")
    compiled = [operation for operation in truth if operation["name"].startswith("triton_")]
    assert compiled and {operation["api"] for operation in compiled} <= {"cuLaunchKernel", "cuLaunchKernelEx"}
