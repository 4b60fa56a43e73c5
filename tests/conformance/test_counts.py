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

PYTHON = [sys.executable]
# --standalone asks for "localhost" by name, which a bare system cannot resolve.
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "1", "--nproc-per-node", "2", "--rdzv-backend",
            "c10d", "--rdzv-endpoint", "127.0.0.1:0", "--rdzv-id", "workload", "--local-addr", "127.0.0.1"]
DTYPES = {5: "float16", 6: "float32", 7: "float64", 15: "bfloat16"}


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
    workload("loader.py", "fork"),
    workload("loader.py", "spawn"),
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


TOTALS = ("casts", "cache_hits", "pass_throughs", "traced", "bytes")


def by_graphs(report, key, process=None):
    """Returns what TorchScript's casts add to the totals: they are in its graphs, and the oracle counts cached_cast."""
    return sum(use[key] for site in report["sites"] if site["cause"] == "script" and key in site
               for use in site["by_process"] if process in (None, use["process"]))


def assert_totals(report, counts):
    totals = {key: report["totals"][key] - by_graphs(report, key) for key in TOTALS}
    assert totals == {key: getattr(counts, key) for key in TOTALS}
    assert report["cache"]["cache_clears"] == counts.clears
    by_process = sorted(tuple(process[key] - by_graphs(report, key, process["process"]) for key in TOTALS)
                        for process in report["processes"])
    assert [row for row in by_process if any(row)] == sorted(tuple(getattr(each, key) for key in TOTALS)
                                                             for each in counts.each if each.calls())


def assert_sites(report, counts):
    sites = [site for site in report["sites"] if site["cause"] == "autocast"]
    for key in ("casts", "cache_hits", "bytes"):
        assert sum(site[key] for site in sites) == report["totals"][key] - by_graphs(report, key), key
    assert sum(row["pass_throughs"] for row in report["pass_through_places"]) == report["totals"]["pass_throughs"]
    pairs = {}
    for site in sites:
        pair = pairs.setdefault((site["from_dtype"], site["to_dtype"]), [0, 0, 0])
        for index, key in enumerate(("casts", "cache_hits", "bytes")):
            pair[index] += site[key]
    assert pairs == {(DTYPES[a], DTYPES[b]): values for (a, b), values in counts.pairs.items()}
    assert all(site["location"]["file"] for site in sites if site["casts"] or site["cache_hits"])


def assert_run(report, status):
    assert report["run"]["complete"] is True
    assert report["run"]["exit_status"] == status
    for process in report["processes"]:
        for lane in process["lanes"]:
            assert lane["events_received"] + lane["events_dropped"] == lane["events_made"]
