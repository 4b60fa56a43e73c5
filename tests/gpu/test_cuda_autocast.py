"""castscope in autocast's place on CUDA, on the double of a GPU: with PyTorch's own lists as the policy, a job has its
device do what it does without castscope, in the same order. And GradScaler on CUDA, which nobody but the job may ask.

scripts/check-cuda-build sets CASTSCOPE_GPU_DOUBLE and CASTSCOPE_CUDA_PYTHON; skipped without them.
"""

import json
import os
import pathlib
import sqlite3
import subprocess

import pytest
import runs
from reports import read_report

HERE = pathlib.Path(__file__).resolve().parent
POLICY = runs.ROOT / "policies" / "torch-cuda.json"
DOUBLE = os.environ.get("CASTSCOPE_GPU_DOUBLE", "")
PYTHON = os.environ.get("CASTSCOPE_CUDA_PYTHON", "")
WAYS = [("--enforce", POLICY), ("--enforce", POLICY, "--all-kernels")]

pytestmark = [
    pytest.mark.skipif(not DOUBLE or not PYTHON, reason="needs a CUDA build of PyTorch: scripts/check-cuda-build"),
    pytest.mark.skipif(not runs.CASTSCOPE.is_file(), reason="castscope is not built"),
]


@pytest.fixture
def job(tmp_path):
    """Runs a job, without castscope if there are no options. Returns its output, what the devices did, and the
    report."""

    def run(*arguments, options=None, jobs="autocast_jobs.py"):
        log = tmp_path / "truth.jsonl"
        log.unlink(missing_ok=True)
        command = [HERE / "double" / "under", DOUBLE, PYTHON, HERE / jobs, *arguments]
        if options is not None:
            command = [runs.CASTSCOPE, "run", "-o", tmp_path / "run", "--force", *options, "--", *command]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=900,
                              env=runs.clean_environment() | {"CASTSCOPE_NOGPU_LOG": str(log)})
        assert done.returncode == 0, done.stderr[-4000:]
        report = None if options is None else read_report(tmp_path / "run.json")
        truth = [json.loads(line) for line in log.open()] if log.exists() else []
        return json.loads(done.stdout.splitlines()[-1]), truth, report

    return run


def as_launched(truth):
    """Returns the part that is the same in each run, stream by stream, in order."""
    by_stream = {}
    for row in truth:
        what = (row["kind"], row["name"], row["bytes"], row["api"], row["graph_node"] != 0)
        by_stream.setdefault((row["device"], row["stream"]), []).append(what)
    return by_stream


def rules_found(report):
    return {finding["rule"] for finding in report["findings"]}


@pytest.mark.parametrize("arguments", [
    ("train", "bfloat16"), ("train", "float16"), ("streams",), ("captured", "cached"), ("captured", "uncached"),
    ("graphed",),
], ids=" ".join)
def test_the_device_is_asked_for_the_same(job, arguments):
    told, truth, _ = job(*arguments)
    plain = as_launched(truth)
    assert sum("bfloat16_copy" in row["name"] or "float16_copy" in row["name"] for row in truth) > 0
    for options in WAYS:
        same, truth, report = job(*arguments, options=options)
        assert same == told, options
        assert as_launched(truth) == plain, options
        assert "policy-deviation" not in rules_found(report), options


@pytest.mark.parametrize("name", ["lstm", "steps"])
def test_rnns_on_cudnn_are_asked_for_the_same(job, name):
    told, truth, _ = job(name, jobs="rnn_jobs.py")
    plain = as_launched(truth)
    for options in WAYS:
        same, truth, _ = job(name, options=options, jobs="rnn_jobs.py")
        assert (same, as_launched(truth)) == (told, plain), options


def test_another_policy_launches_something_else(job, tmp_path):
    policy = tmp_path / "linear-in-float32.json"
    policy.write_text(json.dumps({"extends": "torch-cuda", "operators": {"fp32": ["linear"]}}))
    _, truth, _ = job("train", "bfloat16", options=("--enforce", policy))
    products = {row["name"].split("_")[2] for row in truth if row["name"].startswith("nogpu_gemm_")}
    assert "f32" in products


def test_make_graphed_callables_refuses_the_cache(job):
    told, _, report = job("graphed", options=())
    assert "cache_enabled=False" in told["error"]
    assert "cache-in-cudagraph" in rules_found(report)


def test_the_policy_has_what_this_build_casts(job):
    told, _, _ = job("registered")
    policy = json.loads(POLICY.read_text())["operators"]
    named = {name.split(".")[0] for operators in policy.values() for name in operators}
    convolutions = {"conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
                    "convolution", "_convolution", "cudnn_convolution", "cudnn_convolution_transpose"}
    assert convolutions <= {name.split(".")[0] for name in policy["lower_precision_fp"]}
    # cuDNN's RNN has a kernel of its own, which flattens the weights as it casts them: this is on no list.
    assert {name.split("::")[1].split(".")[0] for name in told["operators"]} - named == {"_cudnn_rnn"}


def scaler_use(tmp_path):
    with sqlite3.connect(tmp_path / "run.castscope") as run:
        return run.execute("SELECT updates, unscales, most_skips_in_a_row FROM scaler_use").fetchone()


def test_skipped_steps_of_a_cuda_scaler_are_told(job, tmp_path):
    told, _, report = job("scaled", "0110100", options=())
    assert told["steps"] == 4
    assert scaler_use(tmp_path) == (7, 7, 2)
    assert "scaler-collapse" not in rules_found(report)


def test_a_collapse_is_found_though_nobody_reads_the_scale(job):
    _, _, report = job("scaled", "1" * 20, options=())
    assert "scaler-collapse" in rules_found(report)
