"""Parts `identical` and `enforced`: a job does the same with castscope as without."""

import math
from concurrent.futures import ThreadPoolExecutor

from rows import FAILED, FINE, TOLD, Row, checked

STEPS = 6


def first_difference(plain, other):
    """Describes the first difference in words; "" where both are the same."""
    if (plain.status, plain.stdout) == (other.status, other.stdout):
        return ""
    if plain.status != other.status:
        return f"exit status {other.status} instead of {plain.status}: {other.last_words()}"
    lines = zip(plain.stdout.splitlines(), other.stdout.splitlines(), strict=False)
    for number, (mine, theirs) in enumerate(lines):
        if mine != theirs:
            return f"line {number + 1}: {theirs[:40]} instead of {mine[:40]}"
    return "more or fewer lines on stdout"


def losses(outcome):
    words = [line.split() for line in outcome.stdout.splitlines()]
    return [float.fromhex(line[1]) if "0x" in line[1] else float(line[1]) for line in words if line[0] == "loss"]


def judge(workload, plain, again, observed):
    """Two plain runs show whether the workload does the same twice at all."""
    if plain.status != 0:
        return Row("identical", workload, f"ends with {plain.status} by itself: {plain.last_words()}", "", FAILED)
    if first_difference(plain, again):
        # Then only the first steps can be compared with each other: no weight was updated before them.
        firsts = [losses(one)[:1] for one in (plain, again, observed)]
        if firsts[0] == firsts[1]:
            return checked("identical", f"{workload}: two plain runs differ; first loss", firsts[2] == firsts[0],
                           f"{firsts[2]} instead of {firsts[0]}")
        fine = observed.status == 0 and len(losses(observed)) == STEPS
        return Row("identical", f"{workload}: two plain runs differ from the first loss on",
                   "ends alike" if fine else f"status {observed.status}", "the same status", FINE if fine else FAILED)
    return checked("identical", f"{workload}: losses, parameters, stdout, exit status",
                   not first_difference(plain, observed), first_difference(plain, observed))


def identical(runner, workloads):
    rows, data = [], {}
    for workload in workloads:
        command = runner.job("train", workload, "--steps", STEPS)
        name = f"identical-{workload}"
        # First one alone: it fills the caches of compiled kernels that the others use.
        plain = runner.finish(command, f"{name}-plain")
        with ThreadPoolExecutor(runner.jobs_at_once) as pool:
            again = pool.submit(runner.finish, command, f"{name}-again")
            observed = pool.submit(runner.observed, command, f"{name}-castscope")
        again, observed = again.result(), observed.result()
        row = judge(workload, plain, again, observed)
        if observed.report is None:
            row = Row("identical", workload, f"castscope wrote no report: {observed.last_words()}", "", FAILED)
        rows.append(row)
        data[workload] = {"plain": plain.stdout, "again": again.stdout, "castscope": observed.stdout,
                          "casts": observed.report and observed.report["totals"]["casts"]}
    return rows, data


def enforced(runner, workloads):
    """castscope carries out PyTorch's own lists: the run ends well, and its losses are those of a training."""
    rows, data = [], {}

    def one(workload):
        command = runner.job("train", workload, "--steps", STEPS)
        return runner.observed(command, f"enforced-{workload}", "--enforce", "torch-cuda")

    with ThreadPoolExecutor(runner.jobs_at_once) as pool:
        outcomes = list(pool.map(one, workloads))
    for workload, outcome in zip(workloads, outcomes, strict=True):
        found = losses(outcome) if outcome.status == 0 else []
        fine = len(found) == STEPS and all(math.isfinite(loss) for loss in found)
        ended = (f"losses {found[0]:.4g} … {found[-1]:.4g}" if found else
                 f"status {outcome.status}: {outcome.last_words()}")
        rows.append(Row("enforced", f"{workload} under torch-cuda", ended, "ends, finite", FINE if fine else FAILED))
        off = sum(one["rule"] == "policy-deviation" for one in (outcome.report or {}).get("findings", []))
        rows.append(Row("enforced", f"{workload}: casts other than the policy's", f"{off} findings", "", TOLD))
        data[workload] = {"losses": [str(loss) for loss in found], "stdout": outcome.stdout}
    return rows, data
