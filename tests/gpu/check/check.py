"""The driver behind scripts/gpu-check: runs the parts, keeps what they find, prints a table last.

A call ends within --seconds: what did not fit is named, and is for another call with --only. What earlier calls found
stays in the folder, and in the table.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import cost
import memory
import others
import records
import rows
import sameness
import times
from rows import FAILED, FINE, MISSED, SKIPPED, TOLD, Row
from running import HERE, ROOT, JobFailed, OutOfTime, Runner, say

# Each: what it takes of the workloads where none are named (None: all), and the function.
PARTS = {
    "identical": (None, sameness.identical),
    "enforced": (None, sameness.enforced),
    "times": (None, times.times),
    "cost": (["resnet50", "gpt-bf16", "lstm", "mlp", "graphed"], cost.cost),
    "memory": (["mlp"], memory.memory),
    "records": ([], records.records),
    "profiler": (["gpt-bf16", "mlp"], others.profiler),
    "seat": (["mlp"], others.seat),
}
QUICK = ["gpt-bf16", "lstm", "mlp"]


def program_given(path):
    """Returns the castscope that is checked: one that was built elsewhere, or here."""
    candidates = [path] if path else [ROOT / "dist" / "castscope", ROOT / "build" / "castscope"]
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return pathlib.Path(candidate).resolve()
    raise SystemExit("gpu-check: there is no castscope at " + " or ".join(map(str, candidates)))


def python_given(path):
    """Returns a Python whose PyTorch can be checked."""
    found = path and shutil.which(path)
    if not found:
        raise SystemExit(f"gpu-check: there is no Python at {path}: name one with --python")
    finds_torch = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    if subprocess.run([found, "-c", finds_torch]).returncode != 0:
        raise SystemExit(f"gpu-check: {found} has no PyTorch: name one that has with --python")
    return os.path.abspath(found)


def several(known):
    def parse(text):
        names = text.split(",")
        for name in names:
            if known and name not in known:
                raise argparse.ArgumentTypeError(f"there is no {name}; there are {', '.join(known)}")
        return names

    return parse


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/gpu-check", description=__doc__)
    names = ["build", "facts", *PARTS]
    parser.add_argument("--only", type=several(names), default=names, metavar="A,B", help="parts: " + ", ".join(names))
    parser.add_argument("--workloads", type=several(None), metavar="A,B", help="workloads of these parts")
    parser.add_argument("--quick", action="store_true", help=f"{', '.join(QUICK)} alone, and fewer rounds")
    parser.add_argument("--small", action="store_true", help="the workloads in their small sizes")
    parser.add_argument("--rounds", type=int, help="how often each comparison is made: otherwise 5, with --quick 2")
    parser.add_argument("--seconds", type=float, default=570, help="how long this call may take")
    parser.add_argument("--jobs", type=int, default=max(1, min(3, (os.cpu_count() or 1) // 4)),
                        help="jobs at once, where no time is taken")
    parser.add_argument("--castscope", metavar="PATH", help="otherwise dist/castscope or build/castscope")
    parser.add_argument("--python", default=shutil.which("python3"), help="the Python whose PyTorch is checked")
    parser.add_argument("--no-cudnn", action="store_true",
                        help="leave cuDNN alone: its double has RNNs and nothing else")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("gpu-check"), help="folder of the results")
    given = parser.parse_args()
    given.castscope, given.out = program_given(given.castscope), given.out.resolve()
    given.python = python_given(given.python)
    return given


def build(runner):
    """Builds with castscope's own recipe, this machine's compiler and this machine's PyTorch."""
    made = runner.finish([runner.castscope, "doctor", "--build", "--", runner.python], "build", longest=runner.left())
    said = re.search(r"the agent was built in .*", made.stderr)
    # The doctor's complaint about a preload library that is not in force yet is only a warning: its status says so.
    fine = made.status == 0
    told = (said.group() if said else "was there") if fine else made.last_words() or made.stdout[-300:]
    lines = [Row("build", "agent for this PyTorch", f"{told} ({made.seconds:.0f} s in all)", "",
                 FINE if fine else FAILED)]
    for line in made.stdout.splitlines():
        if found := re.match(r"(\w+)\s+(warning|problem)\s+(.*)", line):
            lines.append(Row("build", f"castscope doctor: {found[1]}", found[3], "",
                             FAILED if found[2] == "problem" else TOLD))
    return lines, {"stdout": made.stdout, "stderr": made.stderr, "seconds": made.seconds}


def facts(runner):
    outcome = runner.must(runner.finish([runner.python, str(HERE / "facts.py")], "facts"), "facts")
    found = json.loads(outcome.stdout.splitlines()[-1])
    query = ["nvidia-smi", "--query-gpu=name,driver_version,clocks.max.sm,power.limit,mig.mode.current",
             "--format=csv,noheader"]
    told = runner.finish(query, "nvidia-smi").stdout.strip() if shutil.which("nvidia-smi") else "there is no nvidia-smi"
    version = runner.finish([runner.castscope, "--version"], "version").stdout.strip()
    found |= {"nvidia_smi": told, "castscope": version}
    lines = [("castscope", version), ("nvidia-smi", told), ("devices", "; ".join(found["devices"]) or "none"),
             ("versions", ", ".join(f"{name} {found[name]}" for name in ("python", "torch", "cuda", "cudnn", "cupti",
                                                                        "torchvision", "transformers", "triton")))]
    return [Row("facts", *line) for line in lines], found


def chosen(given, part, known):
    """The workloads of a part that this machine can run, and rows that say which it cannot."""
    default, _ = PARTS[part]
    names = given.workloads or (list(known) if default is None else default)
    if given.quick and not given.workloads:
        names = [name for name in names if name in QUICK] or names[:1]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"gpu-check: there is no workload {unknown[0]}; there are {', '.join(known)}")
    skipped = [Row(part, name, f"{', '.join(known[name]['lacks'])} is not there", "", SKIPPED)
               for name in names if known[name]["lacks"]]
    return {name: known[name] for name in names if not known[name]["lacks"]}, skipped


def attempt(part, what, work):
    try:
        return work()
    except JobFailed as failure:
        return [Row(part, what, str(failure), "", FAILED)], {}
    except OutOfTime:
        return [Row(part, what, f"no time was left: --only {part}", "", SKIPPED)], {}


def run_part(runner, given, part, known):
    """One workload at a time, so that what was found stays when another one fails or the time is over."""
    workloads, lines = chosen(given, part, known)
    data, alone = {}, part in ("records", "seat")
    for chunk in [workloads] if alone else [{name: about} for name, about in workloads.items()]:
        more, found = attempt(part, "" if alone else next(iter(chunk)), lambda: PARTS[part][1](runner, chunk))  # noqa: B023
        lines += more
        data |= found
    return lines, data


def keep(given, results, part, lines, data):
    results[part] = {"rows": [vars(line) for line in lines], "data": data, "quick": given.quick, "small": given.small}
    (given.out / "results.json").write_text(json.dumps(results, indent=1))


def table_of(results):
    order = ["build", "facts", *PARTS]
    return rows.table([Row(**line) for part in order if part in results for line in results[part]["rows"]])


def main():
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    runner, kept = Runner(given), given.out / "results.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    try:
        lines, found = facts(runner)  # the other parts need to know, too
    except JobFailed as failure:
        raise SystemExit(f"gpu-check: {failure}") from None
    keep(given, results, "facts", lines, found)
    if "build" in given.only:
        keep(given, results, "build", *attempt("build", "", lambda: build(runner)))
    if not found["devices"] and set(given.only) & set(PARTS):
        print(table_of(results))
        raise SystemExit("gpu-check: PyTorch sees no GPU here")
    for part in [name for name in PARTS if name in given.only]:
        begin = time.monotonic()
        keep(given, results, part, *run_part(runner, given, part, found["workloads"]))
        say(f"gpu-check: {part} took {time.monotonic() - begin:.0f} s, {runner.left():.0f} s are left")
    text = table_of(results)
    (given.out / "table.md").write_text(text + "\n")
    print(text)
    of_this_call = [line for part in given.only for line in results[part]["rows"]]
    sys.exit(any(line["verdict"] in (FAILED, MISSED) for line in of_this_call))


if __name__ == "__main__":
    main()
