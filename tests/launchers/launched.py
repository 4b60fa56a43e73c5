"""Starts a recipe under castscope, and the same job under the oracle, which counts its casts without castscope."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from recipes import COUNTED_BY, JOBS, ROOT

sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/conformance")]
import counted  # noqa: E402
import oracle  # noqa: E402
import runs  # noqa: E402
from reports import read_report  # noqa: E402

LIMIT_S = 300
# The environment that scripts/launchers makes; "" = only what all tests need is there.
INSTALLED = os.environ.get("CASTSCOPE_LAUNCHERS", "")
# Does of castscope what is left of it where the job runs without.
STAND_IN = """\
#!/bin/sh
command=$1; shift
if [ "$command" = run ]; then
  while [ "$1" != -- ]; do shift; done
  shift; exec "$@"
fi
"""


@dataclasses.dataclass
class Outcome:
    status: int
    lines: list
    stderr: str
    counts: oracle.Counts | None = None
    reports: list = dataclasses.field(default_factory=list)


class Workshop:
    """A folder for each run, with the jobs in it, and programs on PATH."""

    def __init__(self, folder):
        self.folder = folder
        self.counted = {}
        self._programs("castscope", None)
        self._programs("stand-in", STAND_IN)

    def _programs(self, name, text):
        (self.folder / name).mkdir()
        program = self.folder / name / "castscope"
        if text is None:
            program.symlink_to(runs.CASTSCOPE)
        else:
            program.write_text(text)
            program.chmod(0o755)

    def path(self, castscope="castscope"):
        python = pathlib.Path(INSTALLED) / "bin" if INSTALLED else pathlib.Path(sys.executable).parent
        return os.pathsep.join([str(self.folder / castscope), str(python), os.environ["PATH"]])

    def fresh(self, name):
        folder = self.folder / name
        shutil.copytree(JOBS, folder, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "test_train.py").write_text("def test_it():\n    import train\n    train.main()\n")
        (folder / "runs").mkdir()
        return folder

    def shell(self, script, folder, castscope, variables, limit_s=LIMIT_S):
        """OMP_NUM_THREADS, as torchrun says that it sets it; Open MPI refuses to run as root otherwise."""
        environment = runs.clean_environment() | {
            "PATH": self.path(castscope), "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "RAY_AUTH_MODE": "disabled",
            "RAY_USAGE_STATS_ENABLED": "0"} | variables
        done = subprocess.run(["sh", "-u", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=limit_s, check=False)
        return Outcome(done.returncode, sorted(done.stdout.splitlines()), done.stderr)

    def count(self, recipe, variables=None):
        """The job without castscope. Jobs that several recipes share are counted once."""
        key = recipe.counted_by or recipe.name
        if key not in self.counted:
            folder = self.fresh(f"counted-{key}")
            outcome = self.shell(COUNTED_BY.get(key) or recipe.command, folder, "stand-in",
                                 (variables or {}) | oracle.environment(folder))
            outcome.counts = oracle.read_all(folder)
            self.counted[key] = outcome
        return self.counted[key]

    def trace(self, recipe, variables=None, name="traced"):
        return self.trace_in(recipe, self.fresh(f"{name}-{recipe.name}"), variables)

    def trace_in(self, recipe, folder, variables=None):
        outcome = self.shell(recipe.command, folder, "castscope", variables or {})
        outcome.reports = reports_in(folder, recipe.runs, outcome)
        return outcome


def reports_in(folder, number, outcome, seconds=30):
    """The reports of a folder; that of a bare run comes a moment after the job's end."""
    deadline = time.monotonic() + seconds
    while len(found := sorted(folder.rglob("*.castscope"))) < number or not all(
            path.with_suffix(".json").exists() for path in found):
        assert time.monotonic() < deadline, f"{len(found)} of {number} runs: {outcome.stderr[-3000:]}"
        time.sleep(0.02)
    assert len(found) == number, found
    return [read_report(path.with_suffix(".json")) for path in found]


def reports_now(folder):
    return [read_report(path.with_suffix(".json")) for path in sorted(folder.rglob("*.castscope"))
            if path.with_suffix(".json").exists()]


def together(reports):
    """Several reports as one, for the sums."""
    merged = {key: [row for report in reports for row in report[key]]
              for key in ("sites", "processes", "pass_through_places")}
    merged["totals"] = {key: sum(report["totals"][key] for report in reports) for key in counted.TOTALS}
    merged["cache"] = {"cache_clears": sum(report["cache"]["cache_clears"] for report in reports)}
    return merged


def must_be_exact(recipe, alone, traced):
    assert alone.status == recipe.status, f"without castscope: {alone.stderr[-3000:]}"
    assert traced.status == recipe.status, traced.stderr[-3000:]
    assert alone.counts.casts > 0 and alone.counts.processes > 0, "the oracle counted nothing"
    if recipe.prints:
        assert traced.lines == alone.lines
    report = together(traced.reports)
    counts = alone.counts
    if not recipe.by_process:
        counts = dataclasses.replace(counts, each=[])
        report = report | {"processes": []}
    counted.assert_totals(report, counts)
    counted.assert_sites(report, alone.counts)
    for one in traced.reports:
        assert one["run"]["complete"] is True or not recipe.complete, json.dumps(one["run"], indent=1)
    must_have_ranks(recipe, report)


def must_have_ranks(recipe, report):
    """Rank 1 casts more often than rank 0."""
    casting = [process for process in report["processes"] if process["casts"]]
    if recipe.ranks:
        assert sorted((process["rank"] for process in casting), key=str) == sorted(recipe.ranks, key=str)
    if recipe.ranks == (0, 1):
        rank_0, rank_1 = sorted(casting, key=lambda process: process["rank"])
        assert rank_0["casts"] < rank_1["casts"]
