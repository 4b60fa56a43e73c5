"""Parts `profiler` and `seat`: other readers of the driver's records find what they would find without castscope."""

import json
import shutil

import grouping
from rows import FAILED, FINE, MISSED, SKIPPED, TOLD, Row, checked
from running import JobFailed

STEPS = 10
NOISE = 0.02  # of a kernel's time, beyond what two plain runs are apart


def profiled(runner, workload, name, castscope):
    out = runner.place(name) / "profiler.json"
    command = runner.job("profiled", workload, "--steps", STEPS, "--out", str(out))
    outcome = runner.observed(command, name, "--deep", "always") if castscope else runner.finish(command, name)
    runner.must(outcome, name)
    return json.loads(out.read_text())["kernels"], outcome


def counts(kernels):
    return {name: row["launches"] for name, row in kernels.items()}


def told_of_seat(workload, gpu):
    """Whether the report has the span in which the job's profiler had the records, with its end."""
    spans = gpu["gpu_seats"]
    words = ", ".join(sorted({span["held_by"] for span in spans})) or "none"
    if not spans:
        return Row("profiler", f"{workload}: span in the report", words, "one", FAILED)
    ended = all(span["end_ns"] is not None for span in spans)
    return Row("profiler", f"{workload}: span in the report",
               f"{len(spans)} ({words})" + ("" if ended else ", not ended"),
               "one", FINE)


def profiler(runner, workloads):
    rows, data = [], {}
    for workload in workloads:
        name = f"profiler-{workload}"
        plain, _ = profiled(runner, workload, f"{name}-plain", False)
        observed, outcome = profiled(runner, workload, f"{name}-castscope", True)
        again, _ = profiled(runner, workload, f"{name}-again", False)
        wrong = [key for key in set(plain) | set(observed) if counts(plain).get(key) != counts(observed).get(key)]
        if counts(plain) != counts(again):
            rows.append(Row("profiler", f"{workload}: kernels differ between two plain runs", "", "", TOLD))
        else:
            rows.append(checked("profiler", f"{workload}: kernels and how often", not wrong,
                                f"{len(wrong)} differ: {wrong[:2]}",
                                right=f"{len(plain)} kernels, the same"))
        noise = grouping.summed_up(grouping.differences(again, plain))["worst"]
        apart = grouping.summed_up(grouping.differences(observed, plain))["worst"]
        rows.append(Row("profiler", f"{workload}: a kernel's time, at most off by", f"{100 * apart:.1f} %",
                        f"≤ {100 * (noise + NOISE):.1f} % (plain: {100 * noise:.1f} %)",
                        FINE if apart <= noise + NOISE else MISSED))
        gpu = outcome.gpu()
        rows.append(told_of_seat(workload, gpu))
        data[workload] = {"plain": plain, "castscope": observed, "again": again, "seats": gpu["gpu_seats"],
                          "steps": gpu["gpu_steps"]}
    return rows, data


def seat(runner, workloads):
    """Nsight Systems around castscope has the seat from the start: castscope says so, and the job runs on."""
    nsys = shutil.which("nsys")
    if nsys is None:
        return [Row("seat", "castscope under Nsight Systems", "nsys is not there", "", SKIPPED)], {}
    workload = next(iter(workloads), None)
    if workload is None:
        raise JobFailed("no workload is chosen")
    name = f"seat-{workload}"
    command = runner.under_castscope(runner.job("train", workload), name, "--deep", "always")
    outcome = runner.finish([nsys, "profile", "-t", "cuda", "--force-overwrite", "true", "-o",
                             str(runner.place(name) / "nsys"), *command], name)
    gpu = runner.must(outcome, name).gpu()
    refused = [how for how in gpu["gpu_timed_by"] if how.startswith("none")]
    refused += [span["held_by"] for span in gpu["gpu_seats"]]
    rows = [checked("seat", f"{workload} under Nsight Systems: the report says who has the seat", bool(refused),
                    f"timed by {gpu['timed_by']}", target="said", right="; ".join(refused)[:100])]
    return rows, {"timed_by": gpu["gpu_timed_by"], "seats": gpu["gpu_seats"]}
