"""The weights of cuDNN's RNN, which autocast's kernel for it converts at every call: held against torch.profiler and
against what the device did.

scripts/check-cuda-build sets CASTSCOPE_GPU_DOUBLE and CASTSCOPE_CUDA_PYTHON; skipped without them.
"""

import json
import os
import pathlib
import subprocess

import pytest
import runs
from reports import read_report

HERE = pathlib.Path(__file__).resolve().parent
DOUBLE = os.environ.get("CASTSCOPE_GPU_DOUBLE", "")
PYTHON = os.environ.get("CASTSCOPE_CUDA_PYTHON", "")
CALLS = 3

pytestmark = [
    pytest.mark.skipif(not DOUBLE or not PYTHON, reason="needs a CUDA build of PyTorch: scripts/check-cuda-build"),
    pytest.mark.skipif(not pathlib.Path(DOUBLE, "libcudnn.so.9").is_file(), reason="the double has no cuDNN"),
    pytest.mark.skipif(not runs.CASTSCOPE.is_file(), reason="castscope is not built"),
]


@pytest.fixture
def job(tmp_path):
    """Runs a job of rnn_jobs.py. Returns its output, the truth, and the report."""

    def run(*arguments, under=True, options=()):
        log = tmp_path / "truth.jsonl"
        log.unlink(missing_ok=True)
        command = [HERE / "double" / "under", DOUBLE, PYTHON, HERE / "rnn_jobs.py", *arguments]
        if under:
            command = [runs.CASTSCOPE, "run", "-o", tmp_path / "run", "--force", "--deep", "always", *options, "--",
                       *command]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=900,
                              env=runs.clean_environment() | {"CASTSCOPE_NOGPU_LOG": str(log)})
        assert done.returncode == 0, done.stderr[-4000:]
        report = read_report(tmp_path / "run.json") if under else None
        return json.loads(done.stdout.splitlines()[-1]), [json.loads(line) for line in log.open()], report

    return run


def reflattened(report):
    return [site for site in report["sites"] if site["cause"] == "reflatten"]


@pytest.mark.parametrize("name", ["lstm", "gru", "projected"])
def test_every_call_casts_all_weights(job, name):
    profiled, _, _ = job("profile", name, under=False)
    told, truth, report = job(name)
    (site,) = reflattened(report)
    assert site["casts"] == CALLS * told["weights"] == profiled["copies"]
    assert site["bytes"] == CALLS * told["elements"] * 2
    assert (site["operator"], site["role"], site["phase"]) == ("aten::_cudnn_rnn", "weight", "forward")
    assert (site["from_dtype"], site["to_dtype"], site["device"]) == ("float32", "float16", "cuda")
    # Each tensor that became float16 on the device is one cast, and is reported once.
    to_half = [operation for operation in truth if "float16_copy_kernel" in operation["name"]]
    assert sum(site["casts"] for site in report["sites"] if site["to_dtype"] == "float16") == len(to_half)
    assert site["location"]["function"] == "train" and site["module_type"] == ("GRU" if name == "gru" else "LSTM")
    assert site["gpu_ns"] > 0


def test_each_step_has_them(job):
    told, truth, report = job("steps")
    (site,) = reflattened(report)
    # The kernel knows one dtype, whatever the region's is.
    assert (told["dtype"], site["to_dtype"]) == ("torch.float16", "float16")
    kernels = [operation["name"] for operation in truth if operation["name"].startswith("nogpu_cudnn_rnn")]
    assert kernels and all(name.endswith("_f16") for name in kernels)
    (steps,) = report["step_runs"]
    (behaviour,) = report["behaviours"]
    assert (steps["first_step"], steps["last_step"], steps["incomplete"]) == (0, 3, False)
    assert {"site": site["site"], "casts": 4, "cache_hits": 0} in behaviour["sites"]


def test_float16_in_a_region_of_bfloat16_is_found_without_kernel_times(job):
    _, _, report = job("steps", options=("--gpu", "off"))
    assert report["gpus"] is None
    (finding,) = [finding for finding in report["findings"] if finding["rule"] == "rnn-computes-in-float16"]
    (site,) = reflattened(report)
    assert finding["location"] == site["location"] and finding["evidence"]["casts"] == site["casts"]


def test_what_is_copied_as_it_is_or_traced_is_no_cast(job):
    told, truth, report = job("uncast")
    assert told["dtypes"] == ["torch.float16", "torch.float16", "torch.float32"]
    assert sum(operation["name"].startswith("nogpu_cudnn_rnn_forward") for operation in truth) == 2
    assert reflattened(report) == []
