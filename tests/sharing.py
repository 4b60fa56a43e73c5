"""Small jobs that share one start of PyTorch, which takes longer than they do: forks of one process, in one run."""

import collections
import shlex
import sys

import runs

FORKS = runs.WORKLOADS / "forks.py"


def command(programs):
    """The job of all these programs; each is a path, or a path with arguments (see workloads/forks.py)."""
    return [sys.executable, str(FORKS), *map(str, programs)]


def under_castscope(programs, folder, *options):
    """Runs them in one run. Returns its outcome, and of its report what each of the programs did."""
    outcome = runs.under_castscope(command(programs), folder, *options)
    assert outcome.status == 0, outcome.stderr.decode(errors="replace")
    processes = outcome.report["processes"]  # by their begin
    assert len(processes) == len(programs), "one of the programs did nothing that castscope records"
    return outcome, [part_of(outcome.report, process, shlex.split(str(program))[0])
                     for program, process in zip(programs, processes, strict=True)]


def part_of(report, process, file):
    """What a report says of one process, which ran `file`: its sites and counts; regions and findings of that file."""
    sites = [site | row for site in report["sites"] for row in site["by_process"] if row["process"] == process["id"]]
    causes = collections.Counter()
    for site in sites:
        if site["cause"] not in ("autocast", "script"):
            causes[site["cause"]] += site["casts"]
    path = str(runs.WORKLOADS / file)
    here = {key: [row for row in report[key] if row["location"] and row["location"]["file"] == path]
            for key in ("regions", "findings")}
    return here | {"sites": sites, "steps": {"count": process["step"] + 1},
                   "totals": {key: process[key] for key in ("casts", "cache_hits", "pass_through", "traced", "bytes")} |
                             {"by_cause": dict(causes)}}

