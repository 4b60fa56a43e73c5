"""Part `records`: a hundred thousand tiny kernels a second, each step looked at; none may be lost."""

import json
import shutil
import subprocess

from rows import FINE, MISSED, SKIPPED, Row
from running import HERE, environment

PER_SECOND = 100_000
SECONDS = 3


def library(runner):
    """Builds storm.cu as a library; None where there is no nvcc. Its CUDA runtime is the one that PyTorch has
    loaded."""
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        return None, "no nvcc is found"
    made = runner.place("records-launches") / "storm.so"
    done = subprocess.run([nvcc, "-O2", "-arch=native", "-cudart", "shared", "-shared", "-Xcompiler", "-fPIC", "-o",
                           str(made), str(HERE / "storm.cu")], env=environment(), capture_output=True, text=True,
                          check=False)
    return (str(made), "") if done.returncode == 0 else (None, f"nvcc fails: {done.stderr.strip()[-200:]}")


def judge(kind, told, gpu):
    """`told` is the program's own account. Counts the kernels under its name, and the records that did not come or
    found no place."""
    came = sum(row["launches"] for row in gpu["by_kernel"] if told["kernel"] in (row["kernel_name"] or ""))
    pace = told["launched"] / told["seconds"]
    measured = (f"{came:,} of {told['launched']:,}, at {pace:,.0f} a second; lost {gpu['gpu_lost']:,}, of no known "
                f"operator {gpu['gpu_unplaced']:,}")
    fine = came == told["launched"] and gpu["gpu_lost"] == 0 and gpu["gpu_unplaced"] == 0
    return Row("records", f"{kind}: kernels told of", measured, "all of them", FINE if fine else MISSED)


def records(runner, _):
    rows, data = [], {}
    for kind in ("graph", "operators", "launches"):
        words = []
        if kind == "launches":
            made, why = library(runner)
            if made is None:
                rows.append(Row("records", kind, why, "", SKIPPED))
                continue
            words = [made]
        command = [runner.python, str(HERE / "storm.py"), kind, str(1 if runner.quick else SECONDS), str(PER_SECOND),
                   *words]
        outcome = runner.must(runner.observed(command, f"records-{kind}", "--deep", "always"), f"records-{kind}")
        told, gpu = json.loads(outcome.stdout.splitlines()[-1]), outcome.gpu()
        rows.append(judge(kind, told, gpu))
        keys = ("gpu_steps", "gpu_records", "gpu_lost", "gpu_unplaced", "launches", "gpu_timed_by")
        data[kind] = told | {key: gpu[key] for key in keys}
    return rows, data
