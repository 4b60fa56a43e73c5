"""Jobs without a fault, and what is rightly found in them all the same: test_clean.py holds rules against them,
rules_document.py counts."""

import collections
import pathlib
import sys

import runs
import sharing

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
    workload("hf_trainer"),
    workload("lightning_fit"),
    workload("ddp", launcher=TORCHRUN),
    workload("loader", "fork"),
    ("clean_jobs", [sys.executable, str(runs.ROOT / "tests/cases/clean_jobs.py")]),
])
# Workloads that share one start of PyTorch, with their arguments.
SHARING = {"bert": "", "gpt2": "", "vit": "", "resnet": "", "lstm": "", "compiled": "aot_eager step",
           "checkpointed": "", "backward_inside": "", "scaler": "", "own_operator": ""}


def can_run(name):
    """Whether the job can run here: the LSTM of some CPUs does not support bfloat16."""
    import torch
    return name != "lstm" or torch.ops.mkldnn._is_mkldnn_bf16_supported()


def found(name, folder):
    """Returns the findings in this job, observed operator by operator: {(rule, text of the line): findings}."""
    return findings_by_line(runs.under_castscope(JOBS[name], folder, "--deep", "always"))


def found_in_sharing(folder):
    """As found(), of each of the workloads that share a run."""
    names = [name for name in SHARING if can_run(name)]
    outcome, _ = sharing.under_castscope([f"{name}.py {SHARING[name]}" for name in names], folder,
                                             "--deep", "always")
    told = {name: collections.defaultdict(list) for name in names}
    for (rule, text), findings in findings_by_line(outcome).items():
        for finding in findings:
            told[pathlib.Path(finding["location"]["file"]).stem][rule, text].append(finding)
    return told


def findings_by_line(outcome):
    assert outcome.status == 0, outcome.stderr.decode()
    assert outcome.report["coverage"]["deep_operators"] > 0
    texts = {(source["file"], line["line"]): line["source_text"].strip()
             for source in outcome.report["source_files"] for line in source["source_lines"]}
    told = collections.defaultdict(list)
    for finding in outcome.report["findings"]:
        at = finding["location"]
        told[finding["rule"], texts.get((at["file"], at["line"]), "")].append(finding)
    return told


def wrong(name, told):
    return {place: findings for place, findings in told.items() if place not in RIGHT.get(name, {})}
