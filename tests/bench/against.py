"""Measures what a change costs on the observed thread: this tree against another commit, for scripts/bench --against.

The commit is built in a work tree of its own below build/against; processes of both take turns. Calls of cached_cast
are compared by the least time of all processes and, like the tiny step, by instructions, which valgrind's callgrind
counts in the training thread; the step by its CPU time too, the ring by the events that go through it in a second, the
collector by its CPU time and bytes, the end of a large run by its seconds and memory.
"""

import dataclasses
import functools
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import commits
import ending
import measure
import native
import runs
from intervals import median_interval


@dataclasses.dataclass
class Counted:
    """What callgrind counts, by the kind's name in instructions.py. None of it is looked at operator by operator."""
    what: str
    warm_up: int
    count: int
    times: int = 1  # what is counted of each: calls.cc calls in seven batches


COUNTED = {"step": Counted("tiny step", 10, 20), "hit": Counted("a cache hit, Python depth 3", 2_000, 3_000, times=7),
           "pass": Counted("a pass-through, Python depth 3", 2_000, 3_000, times=7)}
COUNTS = 2  # processes of each that callgrind counts: their spread is what of a difference is chance


@dataclasses.dataclass
class Limit:
    what: str
    unit: str
    most: float  # more than the other commit


CALLS = {"hit_5": "a cache hit, Python depth 5", "hit_20": "a cache hit, Python depth 20",
         "hit_50": "a cache hit, Python depth 50", "pass_5": "a pass-through, Python depth 5",
         "pass_20": "a pass-through, Python depth 20", "cast_20": "a cast, Python depth 20"}
MOST_NS = {"hit": 1.0, "pass": 0.3}
MOST_INSTRUCTIONS = 0.005
LEAST_RING = 0.97


def turns(number, programs):
    """Returns the programs by name, in an order that changes from round to round."""
    return list(programs.items())[::1 if number % 2 else -1]


def calls(programs, processes):
    """Returns the ns of one call of cached_cast by program: the least of all processes. No process waits for a calm
    machine."""
    command = [sys.executable, str(measure.HERE / "calls.py"), "1"]
    least = {name: {} for name in programs}
    for number in range(processes):
        measure.say(f"calls: process {number + 1} of {processes}")
        for name, program in turns(number, programs):
            for key, ns in measure.run(command, castscope=program)[0].items():
                least[name][key] = min(ns, least[name].get(key, math.inf))
    return least


def instructions_once(program, kind):
    """Returns the instructions that the training thread executes in one step or call."""
    counted = COUNTED[kind]
    library = native.library(measure.HERE / "instructions.cc")
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", "--separate-threads=yes", "--instr-atstart=no",
                   f"--callgrind-out-file={folder}/counted", sys.executable, str(measure.HERE / "instructions.py"),
                   str(library), kind, str(counted.warm_up), str(counted.count)]
        command = [str(program), "run", "--force", "--deep", "never", "-o", f"{folder}/run", "--", *command]
        environment = runs.clean_environment() | measure.STEADY_HEAP | {"PYTHONHASHSEED": "0"}
        done = subprocess.run(command, env=environment, cwd=folder, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"scripts/bench: {' '.join(command)} ended with {done.returncode}:\n{done.stderr[-4000:]}")
        # One file a thread; the training thread executes by far the most while instructions.cc has counting on.
        totals = [int(line.split()[1]) for file in pathlib.Path(folder).glob("counted*")
                  for line in file.read_text(errors="replace").splitlines() if line.startswith("totals:")]
    if max(totals, default=0) == 0:
        raise SystemExit(f"scripts/bench: callgrind counted nothing:\n{done.stderr[-4000:]}")
    return max(totals) / (counted.count * counted.times)


def instructions(programs):
    """Returns for each kind and program the counts of some processes, in instructions a step or call."""
    if shutil.which("valgrind") is None:
        raise SystemExit("scripts/bench: instructions are counted by valgrind: install it (Debian: valgrind)")
    return {kind: in_pairs(f"instructions, {kind}", functools.partial(instructions_once, kind=kind))(programs, COUNTS)
            for kind in COUNTED}


def in_pairs(section, once):
    """Returns a section that calls once(program) for each program by turns: one result for each process, and those of a
    pair ran one after the other."""
    def measured(programs, pairs):
        found = {name: [] for name in programs}
        for number in range(pairs):
            measure.say(f"{section}: pair {number + 1} of {pairs}")
            for name, program in turns(number, programs):
                found[name].append(once(program))
        return found
    return measured


def step_once(program):
    """Returns the CPU ms of the tiny step."""
    return measure.steps_once("tiny", "castscope", program=program)["cpu_ms"]


def call_rows(least):
    for key, what in CALLS.items():
        more = least["this"][key] - least["other"][key]
        most = MOST_NS.get(key.split("_")[0])
        yield (what, f"{least['other'][key]:.1f} ns", f"{least['this'][key]:.1f} ns", f"{more:+.2f} ns",
               f"≤ +{most:g} ns" if most else "", "" if not most else "met" if more <= most else "**missed**")


def instruction_row(kind, counted):
    this, other = (statistics.mean(counted[name]) for name in ("this", "other"))
    more = this / other - 1
    spread = max((max(values) - min(values)) / other for values in counted.values())
    return (f"{COUNTED[kind].what}, instructions of the training thread", f"{other:,.0f}", f"{this:,.0f}",
            f"{more:+.3%} (processes of one commit differ by {spread:.3%})", f"≤ +{MOST_INSTRUCTIONS:.1%}",
            "met" if more <= MOST_INSTRUCTIONS else "**missed**")


def pair_row(what, found, unit, least=None):
    """The row of figures of which those of a pair were measured one after the other."""
    ratios = [this / other for this, other in zip(found["this"], found["other"])]
    low, high = median_interval(ratios)
    middle = statistics.median(ratios)
    return (f"{what}, median of {len(ratios)} pairs", f"{statistics.median(found['other']):.3f} {unit}",
            f"{statistics.median(found['this']):.3f} {unit}", f"{middle:.4f} (95 %: {low:.4f}–{high:.4f})",
            f"≥ {least}" if least else "", "" if not least else "met" if middle >= least else "**missed**")


def end_rows(found):
    for key, what in (("s", "seconds from the job's end to castscope's"), ("mb", "most memory of castscope's own")):
        each = {name: [one[key] for one in all_of] for name, all_of in found.items()}
        yield pair_row(f"a run of ten million events: {what}", each, {"s": "s", "mb": "MB"}[key])


def ring_row(rates):
    millions = {name: [rate / 1e6 for rate in each] for name, each in rates.items()}
    return pair_row("ring, one writer, nothing lost", millions, "M events/s", LEAST_RING)


def collector_once(program, steps=2000):
    """What a collector needs: its CPU, the bytes of its file, and those that a real training sends it."""
    return measure.pipeline_once(program) | {"wire": measure.sent_to_collector(steps, program) / steps}


def collector_rows(found):
    for key, what, unit in (("rate", "a collector: events a second of its CPU time", "M events/s"),
                            ("rest", "a collector: its file", "bytes an event"),
                            ("wire", "a training's step on the wire", "bytes")):
        yield pair_row(what, {name: [one[key] for one in each] for name, each in found.items()}, unit)


def table(found):
    rows = list(call_rows(found["calls"])) if "calls" in found else []
    rows += [instruction_row(kind, counted) for kind, counted in found.get("instructions", {}).items()]
    if "step" in found:
        rows.append(pair_row("tiny step, CPU time of the training thread", found["step"], "ms"))
    if "ring" in found:
        rows.append(ring_row(found["ring"]))
    if "collector" in found:
        rows += collector_rows(found["collector"])
    if "end" in found:
        rows += end_rows(found["end"])
    head = ["| what | that commit | this tree | difference | limit | |", "| --- | --- | --- | --- | --- | --- |"]
    return "\n".join(head + ["| " + " | ".join(row) + " |" for row in rows])


SECTIONS = ("calls", "instructions", "step", "ring", "collector", "end")


def compare(name, sections, rounds):
    """Prints the table; the figures themselves go into build/against/COMMIT.json."""
    commit = commits.commit_of(name)
    programs = {"other": commits.build(commit), "this": runs.CASTSCOPE}
    measured = {"calls": calls, "step": in_pairs("step", step_once), "ring": in_pairs("ring", measure.ring_once),
                "collector": in_pairs("collector", collector_once),
                "end": in_pairs("end", ending.once)}
    found = {}
    for section in sections:
        found[section] = instructions(programs) if section == "instructions" else measured[section](programs, rounds)
        # Whoever ends it after an hour keeps the sections that were done.
        (commits.FOLDER / f"{commit[:12]}.json").write_text(json.dumps(found, indent=1))
    print(f"This tree against {commit[:12]}, {rounds} processes of each in turns, {os.cpu_count()} cores.\n")
    print(table(found))
