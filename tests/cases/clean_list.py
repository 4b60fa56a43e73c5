"""Jobs without a fault, and what is rightly found in them all the same: test_clean.py holds rules against them,
rules_document.py counts."""

import collections
import sys

import runs

# --standalone asks for "localhost" by name, which a bare system cannot resolve.
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--nnodes", "1", "--nproc-per-node", "2", "--rdzv-backend",
            "c10d", "--rdzv-endpoint", "127.0.0.1:0", "--rdzv-id", "clean", "--local-addr", "127.0.0.1")

# Workload → {(rule, text of the line): why it is right}
RIGHT = {
    "checkpointed": {("region-contains-backward", "loss.backward()"): "every second step calls it in the region"},
    "backward_inside": {
        ("region-contains-backward", "loss.backward()"): "that is what this workload does",
        ("region-contains-backward", "(gradient,) = torch.autograd.grad(values.float().square().sum(), batch[0], "
                                     "create_graph=True)"): "autocast casts in that backward pass, too",
    },
}


def workload(name, *arguments, launcher=(sys.executable,)):
    return name, [*launcher, str(runs.WORKLOADS / f"{name}.py"), *arguments]


JOBS = dict([
    workload("bert"),
    workload("gpt2"),
    workload("vit"),
    workload("resnet"),
    workload("lstm"),
    workload("hf_trainer"),
    workload("lightning_fit"),
    workload("compiled", "aot_eager", "step"),
    workload("checkpointed"),
    workload("backward_inside"),
    workload("scaler"),
    workload("ddp", launcher=TORCHRUN),
    workload("loader", "fork"),
    workload("own_operator"),
    ("clean_jobs", [sys.executable, str(runs.ROOT / "tests/cases/clean_jobs.py")]),
])


def can_run(name):
    """Whether the job can run here: the LSTM of some CPUs does not support bfloat16."""
    import torch
    return name != "lstm" or torch.ops.mkldnn._is_mkldnn_bf16_supported()


def found(name, folder):
    """Returns the findings in this job, observed operator by operator: {(rule, text of the line): findings}."""
    outcome = runs.under_castscope(JOBS[name], folder, "--deep", "always")
    assert outcome.status == 0, outcome.stderr.decode()
    assert outcome.report["totals"]["deep"]["operators"] > 0
    texts = {(source["file"], line["line"]): line["text"].strip()
             for source in outcome.report["source"] for line in source["lines"]}
    told = collections.defaultdict(list)
    for finding in outcome.report["findings"]:
        at = finding["location"]
        told[finding["rule"], texts.get((at["file"], at["line"]), "")].append(finding)
    return told


def wrong(name, told):
    return {place: findings for place, findings in told.items() if place not in RIGHT.get(name, {})}
