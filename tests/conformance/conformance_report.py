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

Under `castscope run --enforce` with the policies that say what PyTorch does anyway, everything must be as without
castscope. Written by [scripts/conformance](../scripts/conformance), with torch {torch}: every operator on the
dispatcher's four autocast lists is called without castscope, under `--enforce policies/torch-KEY.json`, and with
`--all-kernels` too.

- ✓: the same dtypes and, on the CPU, the same bits of results and gradients, both ways. Where an operator complains of
  some of the arguments, it must complain the same.
- – [N]: it cannot be called so at all, and says so the same; the reason stands below the table.
- –: there is no such function in Python.
- (break): compiled code leaves its graph to call it.

The columns *of float32* and *of bfloat16* are the results' dtypes in a bfloat16 region, of arguments in these.

| mode | how it is called |
|---|---|
| dispatcher | through `torch.ops`, with boxed arguments, in bfloat16 and float16 regions |
| python | through the function that users' code ends in (`torch.mm`), with C++ arguments |
| inference, disabled | under `inference_mode`; in a region that is off inside one that is on |
| script, trace | three times, as the executor optimizes; traced in a region and called outside, and the reverse |
| vmap, forward AD | floating-point arguments batched; with tangents |
| checkpoint | both kinds, with backward outside the region |
| aot_eager, inductor | many operators in one graph; the region in the graph, or around it and a compiled backward |
| make_fx | fake tensors; what the traced graph computes must be the same expression |

On the CPU arguments are all float32, mixed (the first or the last in lower precision), all lower, float64, with
gradients, and parameters used twice in one region. For a device that is not here there are neither values nor
gradients: a node of autograd asks for a stream of the device. An operator that cannot be computed with fake tensors is
held by the casts that it was given before it complained.
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
        told = "Each operator is called in some way that autocast changes." if not blind else (
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
