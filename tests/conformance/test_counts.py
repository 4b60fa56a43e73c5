"""Real training loops, three times each: alone, under the oracle, under castscope.

What castscope reports must be what the oracle counted, to the last call, and neither may change a bit of what the
job computes, prints and returns. The three run side by side: each computes on one thread.
"""

import concurrent.futures
import json
import sys

import jsonschema
import length
import pytest
import runs
import torch
from counted import assert_run, assert_sites, assert_totals

PYTHON = [sys.executable]
# --standalone asks for "localhost" by name, which a bare system cannot resolve.
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "1", "--nproc-per-node", "2", "--rdzv-backend",
            "c10d", "--rdzv-endpoint", "127.0.0.1:0", "--rdzv-id", "workload", "--local-addr", "127.0.0.1"]


def workload(name, *arguments, launcher=PYTHON, status=0):
    command = [*launcher, str(runs.WORKLOADS / name), *arguments]
    label = "-".join([name.removesuffix(".py"), *(arguments if name != "forks.py" else []),
                      *(["torchrun"] if launcher is TORCHRUN else [])])
    return pytest.param(command, status, id=label)


# They share one start of PyTorch. Each is a process of its own there, and counted by itself.
SHARING = ["bert.py", "gpt2.py", "vit.py", "resnet.py", "own_operator.py", "checkpointed.py", "scaler.py", "threads.py",
           "crowd.py 64", "coming_and_going.py", "backward_inside.py", "inference.py", "nested.py", "scripted.py",
           "operator_lists.py", *(["lstm.py"] if torch.ops.mkldnn._is_mkldnn_bf16_supported() else [])]
WORKLOADS = [
    workload("forks.py", "--import", "transformers.models.bert.modeling_bert", *SHARING),
    workload("hf_trainer.py"),
    workload("lightning_fit.py"),
    workload("compiled.py", "aot_eager", "step"),
    workload("compiled.py", "inductor", "model"),
    workload("ddp.py", launcher=TORCHRUN),
    workload("loader.py", "fork", "spawn"),
    workload("processes.py", status=9),
    workload("failing.py", status=1),
]
if length.WHOLE:
    WORKLOADS.append(workload("ddp.py", "spawn"))


@pytest.mark.parametrize(("command", "status"), WORKLOADS)
def test_counts_and_results_are_exact(command, status, generated_code, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(generated_code))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        alone = pool.submit(runs.plain, command, tmp_path / "alone")
        counted = pool.submit(runs.under_oracle, command, tmp_path / "oracle")
        traced = pool.submit(runs.under_castscope, command, tmp_path / "castscope")
        alone, counted, traced = alone.result(), counted.result(), traced.result()

    said = traced.stderr.decode(errors="replace")
    assert alone.status == status, alone.stderr.decode(errors="replace")
    assert counted.status == status and counted.stdout == alone.stdout
    assert traced.status == status, said
    assert traced.stdout == alone.stdout
    assert traced.report is not None, said

    assert counted.counts.casts > 0
    assert_totals(traced.report, counted.counts)
    assert_sites(traced.report, counted.counts)
    assert_run(traced.report, status)
    jsonschema.validate(traced.report, json.loads(runs.SCHEMA.read_text()))
