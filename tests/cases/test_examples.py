"""The example that `castscope explain` shows for a rule: it runs unchanged on a CPU, the rule finds it, and it prints
the dtypes that its comments name."""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from reports import read_report

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASTSCOPE = pathlib.Path(os.environ.get("CASTSCOPE_BUILD", ROOT / "build")) / "castscope"

# Rules whose examples find nothing here, with the reason; each example says so in its first line.
CANNOT = {
    "cache-lost-grad": "PyTorch 2.13 caches no copy without a graph for those who need one",
    **dict.fromkeys(["gpu-casts-dominate", "launch-bound-casts", "matmul-full-precision", "rnn-computes-in-float16",
                     "rnn-recasts-weights", "tensor-cores-unused", "tf32-unlike-setting"],
                    "it is about what a GPU did"),
    "export-check-fails": "it is found in the program's file",
    "op-banned": "a CPU refuses nothing",
    "thread-wrong-dtype": "PyTorch 2.13 hands the dtype to all threads of autograd",
}

RUN_EACH = """\
import os, runpy, sys, torch, torch._dynamo  # the latter: optimizers import it when they are made
torch.set_num_threads(1)
for path in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        os.dup2(os.open(path + ".out", os.O_WRONLY | os.O_CREAT), 1)
        try:
            runpy.run_path(path, run_name="__main__")
        finally:  # an error is what some are about
            sys.stdout.flush()
            os._exit(0)
    os.waitpid(child, 0)
"""


def explained():
    rules = subprocess.run([CASTSCOPE, "rules", "-f", "json"], check=True, capture_output=True, text=True)
    for rule in json.loads(rules.stdout)["rules"]:
        yield rule["rule"], rule["example"]


EXAMPLES = dict(explained())


# Examples that need a run of their own, with these options: they depend on the deep steps of all processes, or on a
# policy.
ALONE = {"dtype-ping-pong": [], "policy-deviation": ["--policy", "fp32-everything"]}


def findings_of(rules, folder, options=()):
    """Returns the findings in the example of each of these rules, from a single run."""
    folder.mkdir()
    driver = folder / "run_each.py"
    driver.write_text(RUN_EACH)
    files = []
    for rule in rules:
        files.append(folder / f"{rule}.py")
        files[-1].write_text(EXAMPLES[rule] + "\n")
    done = subprocess.run([CASTSCOPE, "run", *options, "-o", folder / "run", "--", sys.executable, driver, *files],
                          check=False,
                          capture_output=True, text=True, timeout=600, cwd=folder)
    assert done.returncode == 0, done.stderr
    found = collections.defaultdict(set)
    for finding in read_report(folder / "run.json")["findings"]:
        found[pathlib.Path(finding["location"]["file"]).stem].add(finding["rule"])
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("examples")


@pytest.fixture(scope="module")
def found(folder):
    found = findings_of([rule for rule in EXAMPLES if rule not in ALONE], folder / "together")
    for rule, options in ALONE.items():
        found |= findings_of([rule], folder / rule, options)
    return found


@pytest.mark.parametrize("rule", EXAMPLES)
def test_the_rule_is_found_in_its_example(rule, found):
    if rule in CANNOT:
        assert EXAMPLES[rule].startswith("# "), "says first thing that it cannot"
        assert rule not in found[rule], "it can"
    else:
        assert rule in found[rule]


DTYPE = re.compile(r"\b(?:b?float16|float32|float64)\b")


def commented(example):
    """Returns the dtypes that the comments beside its prints name, before anything that they say about other code."""
    comments = re.findall(r"^ *print\(.*\)  # ([^;\n]*)", example, re.MULTILINE)
    return [dtype for comment in comments for dtype in DTYPE.findall(comment)]


@pytest.mark.parametrize("rule", [rule for rule in EXAMPLES if rule not in CANNOT and commented(EXAMPLES[rule])])
def test_it_prints_the_dtypes_that_its_comments_name(rule, found, folder):
    [printed] = folder.glob(f"*/{rule}.py.out")
    assert DTYPE.findall(printed.read_text()) == commented(EXAMPLES[rule])


def test_the_list_of_those_that_cannot_names_rules():
    assert set(CANNOT) <= set(EXAMPLES)
