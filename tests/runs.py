"""Runs a command plainly, under the oracle and under castscope, as tests and bench do it."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKLOADS = ROOT / "tests" / "workloads"
CASTSCOPE = pathlib.Path(os.environ.get("CASTSCOPE_BUILD", ROOT / "build")) / "castscope"
SCHEMA = ROOT / "docs" / "report.schema.json"
LIMIT_S = 1200  # so long that only a job which hangs takes it: what runs beside it may leave it little of two cores

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "conformance"))
import oracle  # noqa: E402
from reports import read_report  # noqa: E402


@dataclasses.dataclass
class Outcome:
    status: int
    stdout: bytes
    stderr: bytes
    counts: oracle.Counts | None = None
    report: dict | None = None


def clean_environment():
    """Returns this environment without what an outer castscope or oracle would add."""
    return {key: value for key, value in os.environ.items()
            if key != "LD_PRELOAD" and not key.startswith(("CASTSCOPE_", "CAST_ORACLE_"))}


def finish(command, environment, cwd):
    done = subprocess.run(command, env=environment, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=LIMIT_S, check=False)
    return Outcome(done.returncode, done.stdout, done.stderr)


def plain(command, folder):
    folder.mkdir()
    return finish(command, clean_environment(), folder)


def under_oracle(command, folder):
    folder.mkdir()
    outcome = finish(command, clean_environment() | oracle.environment(folder), folder)
    outcome.counts = oracle.read_all(folder)
    return outcome


def under_castscope(command, folder, *options):
    folder.mkdir()
    outcome = finish([str(CASTSCOPE), "run", "-o", str(folder / "run"), *options, "--", *command],
                     clean_environment(), folder)
    written = folder / "run.json"
    outcome.report = read_report(written) if written.exists() else None
    return outcome
