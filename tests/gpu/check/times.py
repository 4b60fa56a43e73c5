"""Part `times`: what castscope says that operators and kernels took, against torch.profiler, on the same steps.

CUPTI has one seat, so they look at processes of their own, in turns.
"""

import json

import grouping
from rows import FINE, MISSED, TOLD, Row

MOST = 0.02  # off, of operators that take at least 1 % of the time
STEPS = {"GPU": 20, "launch": 60}


def one_round(runner, workload, number, steps):
    name = f"times-{workload}-{number}"
    command = runner.job("measured", workload, "--steps", steps)
    ours = runner.must(runner.observed(command, f"{name}-castscope", "--deep", "always"), f"{name}-castscope").gpu()
    out = runner.place(f"{name}-profiler") / "profiler.json"
    theirs = runner.finish([*command, "--profiler", "--out", str(out)], f"{name}-profiler")
    runner.must(theirs, f"{name}-profiler")
    return ours, json.loads(out.read_text())


def rows_of(workload, by_operator, found, lost):
    rows = []
    for what in ("operators", "kernels"):
        if what == "operators" and not by_operator:
            continue
        sums = grouping.summed_up(found[what])
        told = f"{100 * sums['median']:.2f} %, worst {100 * sums['worst']:.2f} % of {sums['rows']}"
        rows.append(Row("times", f"{workload}: {what}, off by", told, f"≤ {100 * MOST:g} %",
                        FINE if sums["rows"] and sums["worst"] <= MOST else MISSED))
        if sums["launches_differ"]:
            rows.append(Row("times", f"{workload}: {what} launched another number of times",
                            str(sums["launches_differ"]), "0", MISSED))
        worst = max(found[what], key=lambda row: abs(row["relative"]), default=None)
        if worst and sums["worst"] > MOST:
            rows.append(Row("times", f"{workload}: the worst, {worst['name'][:60]}",
                            f"{worst['castscope_ns'] / 1e6:.3f} ms in {worst['castscope_launches']:g}; torch.profiler "
                            f"{worst['profiler_ns'] / 1e6:.3f} ms in {worst['profiler_launches']:g}"))
    if lost:
        rows.append(Row("times", f"{workload}: records lost", str(lost), "0", MISSED))
    return rows


def times(runner, workloads):
    rows, data = [], {}
    for workload, about in workloads.items():
        pairs = [one_round(runner, workload, number, STEPS[about["bound"]]) for number in range(runner.rounds)]
        ours = [grouping.of_report(gpu) for gpu, _ in pairs]
        theirs = [profiler for _, profiler in pairs]
        found = {what: grouping.differences(grouping.medians(ours, what), grouping.medians(theirs, what))
                 for what in ("operators", "kernels")}
        # How far two runs of one tool are apart: no comparison can be better than that.
        again = grouping.differences(theirs[0]["operators"], theirs[-1]["operators"])
        rows += rows_of(workload, about["by_operator"], found, sum(gpu["gpu_lost"] for gpu, _ in pairs))
        rows.append(Row("times", f"{workload}: first and last round of torch.profiler apart by",
                        f"{100 * grouping.summed_up(again)['median']:.2f} %, worst "
                        f"{100 * grouping.summed_up(again)['worst']:.2f} %", "", TOLD))
        data[workload] = found | {"castscope": ours, "profiler": theirs,
                                  "steps": [gpu["gpu_steps"] for gpu, _ in pairs],
                                  "unplaced": [gpu["gpu_unplaced"] for gpu, _ in pairs]}
    return rows, data
