"""Prints what differs between stock and enforced runs of every_operator.py, and writes the table: docs/conformance.md.

    conformance_report.py FOLDER [--markdown FILE]

FOLDER has KEY.stock.json, KEY.enforce.json and KEY.all-kernels.json of one key or more. Exits with 1 on any difference.
"""

import argparse
import json
import pathlib
import re
import sys

from compare_operators import calls_of, differences, unmoved

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEYS = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA", "xpu": "AutocastXPU", "mps": "AutocastMPS"}
WAYS = ("enforce", "all-kernels")
HIDDEN = ("outside", "make_fx outside")  # there to be compared with, no mode of their own
NOT_DONE = re.compile(r"^(\w*(?:Error|Exception|Failed|Unsupported)): (.*)")
INTRODUCTION = """# Conformance

`castscope run --enforce` with a policy that says what PyTorch does anyway must change nothing. This page shows that for
every operator on the autocast lists of four dispatch keys. It is written by
[scripts/conformance](../scripts/conformance), here with torch {torch}. Each operator is called without castscope, then
under `--enforce policies/torch-KEY.json`, and then with [`--all-kernels`](policies.md#enforced) as well. The results of
the second and of the third calls are compared with those of the first.

- ✓: both times the results have the same dtypes and, on the CPU, results and gradients have the same bits. Where the
  operator raises an error for some of the arguments, it raises the same error under castscope.
- – [N]: the operator cannot be called in this way. It raises the same error with castscope and without; note N below
  the table has the error.
- –: Python has no such function.
- (break): compiled code leaves its graph to call the operator.

The columns *of float32* and *of bfloat16* have the dtypes of the results in a bfloat16 region, for float32 and for
bfloat16 arguments.

| mode | how the operator is called |
|---|---|
| dispatcher | through `torch.ops`, with boxed arguments, in bfloat16 and float16 regions |
| python | through the function that users' code ends in (`torch.mm`), with C++ arguments |
| inference | under `inference_mode` |
| disabled | in a region that is off, inside one that is on |
| script | three times in a script, since TorchScript's executor profiles first and then optimizes |
| trace | traced in a region and called outside of it; traced outside and called in a region |
| vmap | with the floating-point arguments batched |
| forward AD | with tangents |
| checkpoint | in both kinds of checkpoint, with backward outside the region |
| aot_eager, inductor | many operators in one graph; a region in it, or one around it and a compiled backward |
| make_fx | traced on fake tensors; what the traced graph computes must be the same expression |

On the CPU each operator is called with arguments that are all float32, mixed (the first or the last one in lower
precision), all in lower precision, and float64; with arguments that require gradients; and with parameters that are
used twice in one region.

A device that this machine lacks is tested on fake tensors, which have no values. It is tested without gradients: a node
of autograd asks for a stream of the device. Where an operator cannot be computed on fake tensors, the casts that
autocast made before the operator raised its error are compared instead.
"""


def policies(key):
    """How the shipped policy names an operator, as docs/policies.md has it → its cast policy."""
    lists = json.loads((ROOT / "policies" / f"torch-{key}.json").read_text())["operators"]
    return {name: kind for kind, names in lists.items() for name in names}


def policy_of(operator, named):
    name, _, overload = operator.removeprefix("aten::").partition(".")
    return named.get(f"{name}.{overload or 'default'}") or named.get(name, "")


def dtypes(text):
    """Returns the dtypes of the results alone, each once."""
    if NOT_DONE.match(text):
        return "—"
    found = re.findall(r"\b(bfloat16|float\d+|complex\d+|u?int\d+|bool)\b", text.partition(";")[0])
    return " ".join(dict.fromkeys(found)) or "—"


def result_dtypes(modes):
    """Returns the results' dtypes for float32 arguments, and for arguments in bfloat16."""
    return [dtypes(modes["dispatcher"][variant]) for variant in ("float32, bf16", "all low, bf16")]


class Notes:
    def __init__(self):
        self.numbers = {}

    def number(self, reason):
        return self.numbers.setdefault(reason, len(self.numbers) + 1)

    def lines(self):
        return [f"{number}. {reason}" for reason, number in self.numbers.items()]


def cell(variants, differing, notes):
    """✓ where each variant said the same. An error that stock raises too counts as the same; if nothing else happened,
    the cell says why."""
    if differing:
        return "differs: " + ", ".join(sorted({one.way for one in differing}))
    texts = list(variants.values())
    failures = [NOT_DONE.match(text) for text in texts]
    if all(failures):
        return f"– [{notes.number(brief(failures[0]))}]"
    if all(text == "not in Python" for text in texts):
        return "–"
    return "✓ (break)" if all(text.endswith("(graph break)") or NOT_DONE.match(text) for text in texts) else "✓"


def brief(failure):
    """Returns the first sentence of an error, without what was recorded before it."""
    sentence = re.split(r" after |(?<=\w)\. ", failure[2])[0]
    return f"{failure[1]}: {sentence.rstrip('.').replace('|', '/')[:160]}"


def table(key, operators, found, heading):
    named, notes = policies(key), Notes()
    modes = [mode for mode in next(iter(operators.values())) if mode not in HIDDEN]
    rows = [f"| operator | policy | of float32 | of bfloat16 | {' | '.join(modes)} |", "|---" * (len(modes) + 4) + "|"]
    for operator, results in operators.items():
        by_mode = {mode: [one for one in found if (one.key, one.operator, one.mode) == (key, operator, mode)]
                   for mode in modes}
        cells = [cell(results.get(mode, {}), by_mode[mode], notes) if mode in results else "" for mode in modes]
        told = [operator.removeprefix("aten::"), policy_of(operator, named), *result_dtypes(results), *cells]
        rows.append(f"| {' | '.join(told)} |")
    above = [f"## {KEYS[key]}: {len(operators)} operators", "", heading, ""]
    return "\n".join([*above, *rows, "", *notes.lines()]).rstrip() + "\n"


def document(stock, found):
    parts = []
    for key, content in stock.items():
        operators = content["keys"][key]
        differing = len({(one.operator, one.mode, one.variant) for one in found if one.key == key})
        blind = unmoved(operators)
        told = "Each operator is called in some way in which autocast changes what comes of it." if not blind else (
            f"{len(blind)} calls would not show whether autocast is there: {', '.join(blind)}.")
        parts.append(table(key, operators, found,
                           f"{calls_of(operators)} calls, {differing} of them different. {told}"))
    return "\n".join([INTRODUCTION.format(torch=next(iter(stock.values()))["torch"]), *parts])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--markdown", type=pathlib.Path)
    options = parser.parse_args()

    def read(key, way):
        return json.loads((options.folder / f"{key}.{way}.json").read_text())

    stock = {key: read(key, "stock") for key in KEYS if (options.folder / f"{key}.stock.json").exists()}
    found = [one for key in stock for way in WAYS for one in differences(stock[key], read(key, way), way)]
    for one in found:
        print(one)
    if options.markdown:
        options.markdown.write_text(document(stock, found))
    calls = sum(calls_of(content["keys"][key]) for key, content in stock.items())
    print(f"{len(found)} differences in {calls} calls, each made {len(WAYS)} ways")
    return 1 if found or not calls else 0


if __name__ == "__main__":
    sys.exit(main())
