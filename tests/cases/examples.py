"""The example of each rule and the fixed one: the same program, changed as the words of the rule's fix say. Both are
run under castscope, and what was found in them, and came of them, is kept."""

import collections
import functools
import itertools
import json
import os
import subprocess
import sys

import runs
from reports import read_report

# Rules whose examples find nothing in a run here, with the reason; each example says so in its first line. They have no
# fixed example, apart from the one that is judged by a file.
CANNOT = {
    "cache-lost-grad": "PyTorch 2.13 caches no copy without a graph for those who need one",
    **dict.fromkeys(["gpu-casts-dominate", "launch-bound-casts", "matmul-full-precision", "rnn-computes-in-float16",
                     "rnn-recasts-weights", "tensor-cores-unused", "tf32-unlike-setting"],
                    "it is about what a GPU did"),
    "export-check-fails": "it is found in the program's file",
    "thread-wrong-dtype": "PyTorch 2.13 hands the dtype to all threads of autograd",
}
IN_FILE = "export-check-fails"

# Examples that need a run of their own, with these options: they depend on the deep steps of all processes, or on a
# policy.
ALONE = {"dtype-ping-pong": [], "policy-deviation": ["--policy", "fp32-everything"],
         "op-banned": ["--enforce", "apex-o1-any"]}

# Rules that compare times: they may find nothing on a machine that is busy with other work, and are asked again.
WEIGH_TIMES = ["cast-dominates-time"]
TRIES = 3

# Rules whose fix gives up precision: the words of it that say so.
TRADED = {
    "autograd-fn-undecorated": "Backward then computes in bfloat16, too.",
    "autograd-fn-wrong-dtype": "so that backward runs under the autocast state of its forward, in bfloat16.",
    "checkpoint-recompute-differs": "The gradients are then computed in that dtype.",
    "compile-dtype-differs": "the code then computes in the dtype of the region around its call.",
    "compile-skips-rounding": "it then rounds as often as eager code, and is as far from float32.",
    "export-drops-region": "The program then computes in low precision.",
    "export-dtype-differs": "The program then computes in low precision.",
    "op-inplace-or-out-skipped": "which autocast runs in bfloat16",
    "phase-dtype-drift": "in the same kind of region as training (with torch.autocast(\"cpu\", dtype=torch.bfloat16))",
    "region-disabled-silently": "To compute in low precision, pass dtype=torch.bfloat16",
    "region-empty": "The work is then done in the region's dtype.",
    "region-wrong-device": "The operators then compute in low precision.",
    "script-drops-decorator": "which then computes in the region's dtype.",
    "script-stops-at-python": "It then computes in the region's dtype.",
    "thread-lost-region": "The function then computes in the region's dtype.",
    "trace-drops-region": "The trace then computes in the region's dtype.",
}

# Fixed examples that cannot come to their end here: what they end with, and why. The error of the example is gone.
STOPS = {"cache-in-cudagraph": ("dummy base class CUDAGraph", "what is captured after the fix needs a GPU")}


@functools.cache
def rules():
    """Returns what `castscope rules` says of each rule, by name."""
    listed = subprocess.run([runs.CASTSCOPE, "rules", "-f", "json"], check=True, capture_output=True, text=True)
    return {rule["rule"]: rule for rule in json.loads(listed.stdout)["rules"]}


def programs():
    """Returns all programs by (kind, rule), where the kind is "example" or "fixed_example"."""
    return {(kind, name): rule[kind] for name, rule in rules().items() for kind in ("example", "fixed_example")
            if rule[kind] is not None}


def fix_is_tried(name):
    """Returns in a few words whether the rule's fix is tried by a run."""
    if rules()[name]["fixed_example"] is None:
        return f"no: {CANNOT[name]}"
    if name in STOPS:
        return f"in part: {STOPS[name][1]}"
    return "yes, it trades precision" if name in TRADED else "yes"


class Findings:
    """What was found in all these programs, each of which ran in a folder of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.findings = collections.defaultdict(list)  # by (kind, rule)
        for kind, rule in programs():
            job = self.of(kind, rule) / "job.py"
            job.parent.mkdir(parents=True)
            job.write_text(programs()[kind, rule] + "\n")
        # Code that was compiled before would not be compiled, and seen, again.
        self.environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(folder / "compiled")}
        self.run("together", [key for key in programs() if key[1] not in ALONE], [])
        for rule, options in ALONE.items():
            self.run(f"{rule}-alone", [key for key in programs() if key[1] == rule], options)
        for rule, again in itertools.product(WEIGH_TIMES, range(TRIES)):
            if rule not in self.rules_in("example", rule):
                self.run(f"{rule}-{again}", [("example", rule)], [])

    def of(self, kind, rule):
        return self.folder / kind / rule

    def finish(self, command):
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600, cwd=self.folder,
                              env=self.environment)
        assert done.returncode == 0, done.stderr
        return done

    def run(self, name, keys, options):
        self.finish([runs.CASTSCOPE, "run", *options, "-o", self.folder / name, "--", sys.executable,
                     runs.ROOT / "tests/cases/run_examples.py", *(self.of(*key) for key in keys)])
        folders = {str(self.of(*key) / "job.py"): key for key in keys}
        for finding in read_report(self.folder / f"{name}.json")["findings"]:
            self.findings[folders[os.path.join(self.folder, finding["location"]["file"])]].append(finding)

    def rules_in(self, kind, rule):
        return {finding["rule"] for finding in self.findings[kind, rule]}

    def end_of(self, kind, rule):
        """Returns its exit status and the last line that it wrote to stderr."""
        folder = self.of(kind, rule)
        lines = (folder / "job.err").read_text().strip().splitlines()
        return (folder / "job.status").read_text(), lines[-1] if lines else ""

    def fix(self, rule):
        """Returns the words of the fix of the rule's finding in its example."""
        return next(finding["fix"] for finding in self.findings["example", rule] if finding["rule"] == rule)


class Outcome(Findings):
    """And how far from float32 the results of each example were before and after its fix."""

    def __init__(self, folder):
        super().__init__(folder)
        fixed = [rule for kind, rule in programs() if kind == "fixed_example"]
        self.finish([sys.executable, runs.ROOT / "tests/cases/example_errors.py", folder, *fixed])
        self.errors = json.loads((folder / "errors.json").read_text())
