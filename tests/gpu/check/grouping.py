"""Groups the device's work by operator and by kernel, alike for torch.profiler's trace and castscope's report.

{"operators": {name: {"launches": n, "ns": n}}, "kernels": …}; copies and sets are kernels named "copy" and "set". An
operator is what the user's line or a backward node calls: the outermost one. None has the name "(none)".
"""

import bisect
import collections
import re
import statistics

NONE = "(none)"
OPERATOR = re.compile(r"\w+::[\w.]+")  # not torch::autograd::AccumulateGrad, not "autograd::engine::… : …"
WORTH_TELLING = 0.01  # of all time


def plain(name):
    """Returns the name without the overload, which torch.profiler does not report."""
    return name.removeprefix("aten::").split(".")[0]


def kind_of(kernel):
    return "copy" if kernel.startswith("Memcpy") else "set" if kernel.startswith("Memset") else kernel


class Outermost:
    """Finds the operator that a thread was in at a time."""

    def __init__(self, events):
        self.begins, self.spans = collections.defaultdict(list), collections.defaultdict(list)
        ops = [event for event in events if event.get("cat") == "cpu_op" and OPERATOR.fullmatch(event["name"])]
        for event in sorted(ops, key=lambda event: (event["ts"], -event["dur"])):
            spans = self.spans[event["tid"]]
            if spans and event["ts"] < spans[-1][0]:
                continue  # within another one
            spans.append((event["ts"] + event["dur"], plain(event["name"])))
            self.begins[event["tid"]].append(event["ts"])

    def at(self, thread, time):
        number = bisect.bisect_right(self.begins[thread], time) - 1
        if number < 0 or time >= self.spans[thread][number][0]:
            return NONE
        return self.spans[thread][number][1]


def add(rows, name, launches, ns):
    row = rows.setdefault(name, {"launches": 0, "ns": 0})
    row["launches"] += launches
    row["ns"] += ns


def of_trace(events):
    """`events` are those of the trace that torch.profiler exports. A kernel belongs to the operator during which its
    thread called CUDA. (FunctionEvent.kernels is incomplete: PyTorch 2.11 links some kernels to no operator there.)"""
    found, operators = {"operators": {}, "kernels": {}}, Outermost(events)
    calls = {event["args"]["correlation"]: event for event in events
             if event.get("cat") in ("cuda_runtime", "cuda_driver")}
    for event in events:
        if event.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset"):
            continue
        call, ns = calls.get(event["args"]["correlation"]), round(1000 * event["dur"])
        add(found["operators"], operators.at(call["tid"], call["ts"]) if call else NONE, 1, ns)
        add(found["kernels"], kind_of(event["name"]), 1, ns)
    return found


def of_report(gpu):
    """`gpu` is that part of castscope's report."""
    found = {"operators": {}, "kernels": {}}
    for row in gpu["by_operator"]:
        add(found["operators"], plain(row["operator"] or NONE), row["launches"], row["gpu_ns"])
    for row in gpu["by_kernel"]:
        add(found["kernels"], row["kernel_name"] or NONE, row["launches"], row["gpu_ns"])
    return found


def medians(rounds, what):
    """Returns each row's median over several rounds; 0 where a round lacks it."""
    names = {name for one in rounds for name in one[what]}
    nothing = {"launches": 0, "ns": 0}
    return {name: {key: statistics.median(one[what].get(name, nothing)[key] for one in rounds) for key in nothing}
            for name in names}


def differences(ours, theirs, least=WORTH_TELLING):
    """Compares two groupings by the same key: returns rows that take at least that part of the time in either,
    costliest first."""
    all_ours, all_theirs = (max(1, sum(row["ns"] for row in rows.values())) for rows in (ours, theirs))
    nothing, found = {"launches": 0, "ns": 0}, []
    for name in set(ours) | set(theirs):
        mine, other = ours.get(name, nothing), theirs.get(name, nothing)
        share = max(mine["ns"] / all_ours, other["ns"] / all_theirs)
        if share < least:
            continue
        relative = (mine["ns"] - other["ns"]) / other["ns"] if other["ns"] else 1.0
        found.append({"name": name, "share": share, "castscope_ns": mine["ns"], "profiler_ns": other["ns"],
                      "castscope_launches": mine["launches"], "profiler_launches": other["launches"],
                      "relative": relative})
    return sorted(found, key=lambda row: (-row["share"], row["name"]))


def summed_up(rows):
    """Returns the median and the worst of the relative differences, and how many rows were launched a different number
    of times."""
    off = [abs(row["relative"]) for row in rows]
    return {"rows": len(rows), "median": statistics.median(off) if off else 0.0, "worst": max(off, default=0.0),
            "launches_differ": sum(row["castscope_launches"] != row["profiler_launches"] for row in rows)}
