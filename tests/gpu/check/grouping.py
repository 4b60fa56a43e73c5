"""What the device did, by operator and by kernel, from torch.profiler's events and from castscope's report, alike.

{"operators": {name: {"launches": n, "ns": n}}, "kernels": …}; copies and sets are kernels named "copy" and "set". An
operator is what the user's line or a backward node calls: the outermost one. None has the name "(none)".
"""

import re
import statistics

NONE = "(none)"
OPERATOR = re.compile(r"\w+::[\w.]+")  # not torch::autograd::AccumulateGrad, not "autograd::engine::… : …"
WORTH_TELLING = 0.01  # of all time


def plain(name):
    return name.removeprefix("aten::")


def kind_of(kernel):
    return "copy" if kernel.startswith("Memcpy") else "set" if kernel.startswith("Memset") else kernel


def outermost(event):
    found = NONE
    while event is not None:
        if OPERATOR.fullmatch(event.name):
            found = plain(event.name)
        event = event.cpu_parent
    return found


def add(rows, name, launches, ns):
    row = rows.setdefault(name, {"launches": 0, "ns": 0})
    row["launches"] += launches
    row["ns"] += ns


def of_profiler(events):
    """`events`: FunctionEvents. A span that the user or an optimizer named stands on the device's side, too: no kernel."""
    found = {"operators": {}, "kernels": {}}
    for event in events:
        for kernel in event.kernels:
            if kernel.name == event.name:
                continue
            ns = round(1000 * kernel.duration)
            add(found["operators"], outermost(event), 1, ns)
            add(found["kernels"], kind_of(kernel.name), 1, ns)
    return found


def of_report(gpu):
    """`gpu`: of castscope's report."""
    found = {"operators": {}, "kernels": {}}
    for row in gpu["by_operator"]:
        add(found["operators"], plain(row["operator"] or NONE), row["launches"], row["ns"])
    for row in gpu["by_kernel"]:
        add(found["kernels"], row["kernel"] or NONE, row["launches"], row["ns"])
    return found


def medians(rounds, what):
    """Of several rounds, each row's median; 0 where a round lacks it."""
    names = {name for one in rounds for name in one[what]}
    nothing = {"launches": 0, "ns": 0}
    return {name: {key: statistics.median(one[what].get(name, nothing)[key] for one in rounds) for key in nothing}
            for name in names}


def differences(ours, theirs, least=WORTH_TELLING):
    """Of two groupings by the same: rows that take at least that part of the time by either, costliest first."""
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
    """Median and worst of the relative differences, and how many rows were launched a different number of times."""
    off = [abs(row["relative"]) for row in rows]
    return {"rows": len(rows), "median": statistics.median(off) if off else 0.0, "worst": max(off, default=0.0),
            "launches_differ": sum(row["castscope_launches"] != row["profiler_launches"] for row in rows)}
