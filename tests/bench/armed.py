"""What a step costs while castscope waits in the job: before anybody attached, and after a detach.

Instructions of the training thread are counted by callgrind, which tells a difference of some thousandths for sure; the
time of the same step stands beside it with its interval.
"""

import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import measure
import native
import runs
from intervals import median_interval

WARM_UP, STEPS, COUNTS = 10, 20, 2
WAYS = {"nothing": None, "armed": ("--armed",), "detached": ("--deep", "never")}
DETACH = {"CASTSCOPE_BENCH_DETACH": "1"}


def environment_of(way):
    return measure.STEADY_HEAP | {"PYTHONHASHSEED": "0"} | (DETACH if way == "detached" else {})


def instructions_once(way):
    library = native.library(measure.HERE / "instructions.cc")
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", "--separate-threads=yes", "--instr-atstart=no",
                   f"--callgrind-out-file={folder}/counted", sys.executable, str(measure.HERE / "instructions.py"),
                   str(library), "step", str(WARM_UP), str(STEPS)]
        if WAYS[way] is not None:
            command = [str(runs.CASTSCOPE), "run", "--force", *WAYS[way], "-o", f"{folder}/run", "--", *command]
        done = subprocess.run(command, env=runs.clean_environment() | environment_of(way), cwd=folder, check=False,
                              capture_output=True, text=True)
        totals = [int(line.split()[1]) for file in pathlib.Path(folder).glob("counted*")
                  for line in file.read_text(errors="replace").splitlines() if line.startswith("totals:")]
        if done.returncode != 0 or max(totals, default=0) == 0:
            raise SystemExit(f"bench: {' '.join(command)} ended with {done.returncode}:\n{done.stderr[-4000:]}")
    return max(totals) / STEPS  # of the thread that executes by far the most


def ms_once(way):
    command = [sys.executable, str(measure.HERE / "steps.py"), "tiny", "nothing", str(measure.STEPS["tiny"]),
               str(measure.WARM_UP["tiny"])]
    result, _ = measure.run(command, castscope=WAYS[way] is not None, options=WAYS[way] or (),
                            environment=environment_of(way))
    return statistics.median(result["cpu_ns"]) / 1e6


def armed(rounds):
    if shutil.which("valgrind") is None:
        raise SystemExit("bench: instructions are counted by valgrind: install it (Debian: valgrind)")
    counted = {way: [] for way in WAYS}
    for number in range(COUNTS):
        for way in WAYS:
            measure.say(f"armed: instructions, {way}, process {number + 1} of {COUNTS}")
            counted[way].append(instructions_once(way))
    times = {way: [] for way in WAYS}
    for number in range(3 * rounds):
        measure.say(f"armed: time, round {number + 1} of {3 * rounds}")
        for way in list(WAYS)[::1 if number % 2 else -1]:
            times[way].append(ms_once(way))
    found = {}
    for way in ("armed", "detached"):
        ratios = [mine / other for mine, other in zip(times[way], times["nothing"])]
        low, high = median_interval(ratios)
        found[way] = {"instructions": min(counted[way]), "plain": min(counted["nothing"]),
                      "ratio": min(counted[way]) / min(counted["nothing"]),
                      "spread": max(counted[way]) - min(counted[way]),
                      "time_ratio": statistics.median(ratios), "ratio_low": low, "ratio_high": high,
                      "pairs": len(ratios)}
    return found
