"""More threads at once than there are rings for, and less shared memory than they want: every count stays exact."""

import json
import os
import subprocess
import sys

import jsonschema
import pytest
import runs
from reports import casts_by_cause, read_report

TOTALS = ("casts", "cache_hits", "pass_throughs", "traced", "bytes")
CROWD = str(runs.WORKLOADS / "crowd.py")


def crowd(threads, *more):
    return [sys.executable, CROWD, str(threads), *more]


def mounts_work():
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True,
                                                check=False).returncode == 0


def with_shared_memory(size):
    if not mounts_work():
        pytest.skip("needs root for a mount of its own")
    return ["unshare", "-m", "sh", "-c", f'mount -t tmpfs -o size={size} none /dev/shm && exec "$@"', "sh"]


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    known = {}

    def of(threads):
        if threads not in known:
            known[threads] = runs.under_oracle(crowd(threads), tmp_path_factory.mktemp("truth") / "oracle")
            assert known[threads].status == 0, known[threads].stderr.decode()
        return known[threads]

    return of


def assert_exact(report, outcome, threads):
    counts = outcome.counts
    jsonschema.validate(report, json.loads(runs.SCHEMA.read_text()))
    assert {key: report["totals"][key] for key in TOTALS} == {key: getattr(counts, key) for key in TOTALS}
    # .to() of its own, ten times each; never mixed with what autocast did
    assert sum(casts_by_cause(report).values()) == 10 * threads
    assert report["run"]["exit_status"] == 0 and report["run"]["complete"] is True
    assert [process["cache"]["cache_peak_entries"] for process in report["processes"]] == [4 * threads]


def test_four_hundred_threads_at_once(truth, tmp_path):
    outcome = runs.under_castscope(crowd(400), tmp_path / "run")
    assert outcome.status == 0 and outcome.stdout == truth(400).stdout, outcome.stderr.decode()
    assert_exact(outcome.report, truth(400), 400)
    assert outcome.report["totals"]["beyond_sites"]["casts"] == 0, "each is counted at its site"


# From nothing but the counters by outcome (and threads beyond those lanes), to most of what is wanted.
@pytest.mark.parametrize("size", ["40k", "100k", "300k", "1m", "4m"])
def test_little_shared_memory(truth, tmp_path, size):
    threads = 80
    command = with_shared_memory(size) + [str(runs.CASTSCOPE), "run", "-o", str(tmp_path / "run"), "--",
                                          *crowd(threads)]
    done = subprocess.run(command, env=runs.clean_environment(), cwd=tmp_path, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=runs.LIMIT_S, check=False)
    assert done.returncode == 0 and done.stdout == truth(threads).stdout, done.stderr.decode()
    assert b"not everything reached" not in done.stderr, done.stderr.decode()
    assert_exact(read_report(tmp_path / "run.json"), truth(threads), threads)
    assert b"totals are exact" in done.stderr
    events = subprocess.run([str(runs.CASTSCOPE), "convert", "run.castscope", "--format", "jsonl"], cwd=tmp_path,
                            env=runs.clean_environment(), capture_output=True, check=True).stdout.splitlines()
    assert all(json.loads(line) for line in events)
    if size == "4m":  # rings leave room for each thread's counters
        assert read_report(tmp_path / "run.json")["totals"]["beyond_sites"]["casts"] == 0


@pytest.mark.parametrize("size", ["40k", "300k", None])
def test_a_crowd_is_recovered(truth, tmp_path, size):
    """castscope run is killed when half is done; what it leaves is made into a run file."""
    threads = 80
    driver = tmp_path / "driver.py"
    driver.write_text(f"""
import os, signal, subprocess
job = subprocess.Popen([{str(runs.CASTSCOPE)!r}, "run", "-o", "lost", "--", *{crowd(threads, "wait")!r}],
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
folder = job.stdout.readline().decode().strip()
os.kill(job.pid, signal.SIGKILL)
job.wait()
job.stdin.close()
job.stdout.read()
done = subprocess.run([{str(runs.CASTSCOPE)!r}, "recover", "-o", "run", "--force", folder])
assert done.returncode == 0, done
assert not os.path.exists(folder), "the run directory stays"
""")
    prefix = [] if size is None else with_shared_memory(size)
    done = subprocess.run([*prefix, sys.executable, str(driver)], env=runs.clean_environment(), cwd=tmp_path,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=runs.LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert_exact(read_report(tmp_path / "run.json"), truth(threads), threads)
