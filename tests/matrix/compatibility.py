"""What the acceptance runs came to: kept in docs/compatibility.json, written out in docs/compatibility.md."""

import json
import pathlib
import re

import rule_reasons

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KEPT = ROOT / "docs" / "compatibility.json"
DOCUMENT = ROOT / "docs" / "compatibility.md"

CHECKS = {
    "builds": "the agent is compiled from PyTorch's headers and what g++ brings; `castscope doctor` is content",
    "loops": "six training loops (threads, checkpointing, GradScaler, nested regions and others)",
    "lines": "each cast has the line and the function that call for it, and the operator and argument",
    "script and trace": "TorchScript, scripted and traced",
    "compile: eager": "torch.compile, backend `eager`",
    "compile: aot_eager": "torch.compile, backend `aot_eager`",
    "compile: inductor": "torch.compile, backend `inductor`, on the CPU",
    "children": "a forked child, a subprocess, an exec, a spawned pool; the job ends by `os._exit`",
    "kill -9": "the job is killed after five steps",
    "deep steps": "`--deep always`: the job prints the same bits",
    "enforced": "`--enforce torch-cpu`: the job prints the same bits, where PyTorch's own cache serves no wrong copies",
}

TEXT = """\
# Compatibility

Which PyTorchs castscope is exact beside. `scripts/matrix` makes the runs and writes this page: each row is a run that
took place, and what is not here was not run. [platforms.md](platforms.md) has what else was tried.

*exact* means: without castscope, with an [independent counter](../tests/conformance/oracle/oracle.cc) and with
castscope the job printed the same bits and ended alike, and castscope's casts, cache hits, pass-throughs, traced calls
and bytes were the counter's, in each process and for each pair of dtypes.
*not run* without a number: the version was tried with a part of the checks (`scripts/matrix --check`).

{table}

{notes}## The checks

{checks}

{rules}
CUDA builds ran on the CPU of a machine without a GPU, where nothing of CUDA is installed: libraries of that name that
know no device stood in ([stub_cuda.py](../tests/matrix/stub_cuda.py)). These runs say nothing about casts on a GPU. The
[jobs](../tests/workloads) and [what compares them](../tests/matrix/acceptance.py) are the same for all.
"""


def numbers(version):
    return [int(part) for part in re.findall(r"\d+", version)]


def key(row):
    return row["torch"], row["python"], row["compiler"]


def rows():
    return json.loads(KEPT.read_text()) if KEPT.exists() else []


def keep(row):
    """In the place of an earlier run with the same versions. Checks that did not run now stay."""
    kept = {key(one): one for one in rows()}
    before = kept.get(key(row), {"checks": {}})
    kept[key(row)] = row | {"checks": before["checks"] | row["checks"]}
    ordered = sorted(kept.values(), key=lambda one: (numbers(one["torch"]), numbers(one["python"]), one["compiler"]))
    KEPT.write_text("[\n" + ",\n".join(json.dumps(one, ensure_ascii=False) for one in ordered) + "\n]\n")


def cell(result, notes):
    if result is None:
        return "not run"
    if result["exact"]:
        return "exact"
    if result["why"] not in notes:
        notes.append(result["why"])
    return f"{'not run' if result['exact'] is None else '**not exact**'} ({notes.index(result['why']) + 1})"


def document():
    notes = []
    table = ["| PyTorch | Python | g++ | glibc | " + " | ".join(CHECKS) + " |", "|---" * (len(CHECKS) + 4) + "|"]
    for row in reversed(rows()):
        cells = [cell(row["checks"].get(check), notes) for check in CHECKS]
        table.append("| " + " | ".join([row["torch"], row["python"], row["compiler"], row["glibc"], *cells]) + " |")
    said = "".join(f"{number}. {note}\n" for number, note in enumerate(notes, 1))
    return TEXT.format(table="\n".join(table), notes=said + "\n" if said else "",
                       rules=rule_reasons.document(),
                       checks="\n".join(f"- **{check}**: {what}" for check, what in CHECKS.items()))


def write():
    DOCUMENT.write_text(document())


if __name__ == "__main__":
    write()
