"""kill -9 of the job at a random moment: what castscope reports is what the job had done by then, to the call.

The truth comes from the job itself (known_loop.py) and from the oracle's order of outcomes within an iteration, never
from castscope. At most one call may be between its counter and its event when the process dies.
"""

import collections
import json
import os
import random
import signal
import subprocess
import sys
import time

import known_loop
import runs
from reports import read_report

FOR_EVER = 10**9


def start(folder, progress, *options, ring=None, iterations=FOR_EVER):
    environment = runs.clean_environment() | ({"CASTSCOPE_RING": str(ring)} if ring else {})
    command = [sys.executable, known_loop.__file__, str(progress), str(iterations)]
    return subprocess.Popen([str(runs.CASTSCOPE), "run", "-o", str(folder / "run"), *options, "--", *command],
                            env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def wait_for_iterations(progress, wanted, job):
    deadline = time.monotonic() + 120
    while known_loop.read(progress)[2] < wanted:
        assert job.poll() is None, job.communicate()[1].decode()
        assert time.monotonic() < deadline, "the job does not come forward"
        time.sleep(0.0005)


def kill_at_random(job, progress, chance):
    # Mostly within the first iterations, where sites are new; now and then after many.
    wait_for_iterations(progress, chance.choice([1, 1, 3, 30, 300, 3000]), job)
    time.sleep(chance.random() * 0.02)  # the random moment itself: nothing waits on it
    os.kill(known_loop.read(progress)[0], signal.SIGKILL)
    return job.communicate(timeout=300)[1].decode()


def possible_counts(pattern, done, begun):
    """Every (casts, hits, passes) that the job can have had when it was killed."""
    whole = collections.Counter(pattern)
    base = {letter: whole[letter] * done for letter in "chp"}
    reached = [tuple(base[letter] for letter in "chp")]
    if begun > done:
        for letter in pattern:
            base[letter] += 1
            reached.append(tuple(base[letter] for letter in "chp"))
    return reached


def events_of(folder):
    text = subprocess.run([str(runs.CASTSCOPE), "convert", str(folder / "run.castscope"), "--format", "jsonl"],
                          env=runs.clean_environment(), capture_output=True, check=True).stdout
    return [json.loads(line) for line in text.splitlines()]


def test_counters_are_what_the_killed_job_had_done(kill_number, iteration, tmp_path):
    progress = tmp_path / "progress"
    known_loop.create(progress)
    job = start(tmp_path, progress, "--keep", "all")
    said = kill_at_random(job, progress, random.Random(kill_number))
    assert job.returncode == -signal.SIGKILL, said

    _, begun, done = known_loop.read(progress)
    report = read_report(tmp_path / "run.json")
    totals = report["totals"]
    counted = totals["casts"], totals["cache_hits"], totals["pass_throughs"]
    assert counted in possible_counts(iteration, done, begun), (begun, done)
    assert report["run"]["complete"] is False

    lanes = [lane for process in report["processes"] for lane in process["lanes"]]
    assert all(lane["events_received"] + lane["events_dropped"] == lane["events_made"] for lane in lanes)
    assert sum(lane["events_dropped"] for lane in lanes) == totals["events_lost"]
    events = events_of(tmp_path)
    assert len(events) == sum(lane["events_received"] for lane in lanes)
    if totals["events_lost"] == 0:
        seen = sum(event["event_kind"] in ("cast", "cache_hit") and event["cause"] == "autocast" for event in events)
        assert 0 <= totals["casts"] + totals["cache_hits"] - seen <= 1


def finished_run(folder, iterations, ring, stopped):
    """A run to its end; `stopped`: castscope itself stands still while the job works, so that nothing is drained."""
    folder.mkdir()
    progress = folder / "progress"
    known_loop.create(progress)
    job = start(folder, progress, ring=ring, iterations=iterations)
    wait_for_iterations(progress, 1, job)
    if stopped:
        os.kill(job.pid, signal.SIGSTOP)
        wait_for_iterations(progress, iterations, job)
        os.kill(job.pid, signal.SIGCONT)
    said = job.communicate(timeout=300)[1].decode()
    assert job.returncode == 0, said
    return read_report(folder / "run.json")


def sum_of_lanes(report, key):
    return sum(lane[key] for process in report["processes"] for lane in process["lanes"])


def test_dropped_and_received_are_all_that_was_written(iteration, tmp_path):
    """A ring of 256 events drops; the sum is that of a run whose ring holds everything, and counters are the same."""
    roomy = finished_run(tmp_path / "roomy", 3000, 1 << 18, stopped=False)
    tight = finished_run(tmp_path / "tight", 3000, 1 << 8, stopped=True)
    assert sum_of_lanes(roomy, "events_dropped") == 0
    assert sum_of_lanes(tight, "events_dropped") > 0
    for report in (roomy, tight):
        came, dropped = sum_of_lanes(report, "events_received"), sum_of_lanes(report, "events_dropped")
        assert came + dropped == sum_of_lanes(report, "events_made")
        assert report["totals"]["casts"] == 3000 * iteration.count("c")
        assert report["totals"]["cache_hits"] == 3000 * iteration.count("h")
        assert report["totals"]["pass_throughs"] == 3000 * iteration.count("p")
    assert sum_of_lanes(tight, "events_made") == sum_of_lanes(roomy, "events_received")
