"""The short form of scripts/faults, and what its checks must not accept."""

import pathlib
import subprocess
import sys
import types

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import administration  # noqa: E402
import world  # noqa: E402

ROOT = HERE.parent.parent


def test_twenty_five_kinds_of_faults_lose_nothing_and_disturb_no_job():
    """Where there are no network namespaces, or no seccomp, it says so and leaves out what needs them."""
    done = subprocess.run([str(ROOT / "scripts" / "faults"), "--short"], capture_output=True, text=True, timeout=600,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class Running(types.SimpleNamespace):
    """A job of a world in which a quota becomes small, and the report of its run."""

    def __init__(self, ended):
        super().__init__(name="job", killed=False, recorder_killed=False, damaged=False, limited=False, drops=False,
                         program=None, said="", done=lambda: 5,
                         recorder=types.SimpleNamespace(poll=lambda: 0 if ended else None))

    def report(self, reason="events_missing", notice="the collector keeps 1 MB of a run"):
        process = {"events_received": 3, "events_dropped": 0, "events_made": 5}
        return {"run": {"complete": False, "missing": [{"incomplete_reason": reason}], "notices": [notice]},
                "totals": {"casts": 5}, "processes": [process]}


@pytest.fixture
def around():
    """A world of two jobs: one was over when the quota became small, and one goes on."""
    around = object.__new__(world.World)
    around.may_miss, around.old = False, None
    around.jobs = [Running(ended=True), Running(ended=False)]
    nothing = types.SimpleNamespace(send_signal=lambda _: None)
    around.collector = types.SimpleNamespace(server=nothing, wait_until_logged=lambda _: None)
    around.tokens = types.SimpleNamespace(entry=dict, know=lambda _: None)
    around.proxy = types.SimpleNamespace(cut=lambda: None)
    administration.limit(around, bytes_per_run=1)
    return around


def test_what_was_over_before_a_quota_may_miss_nothing(around):
    over, going_on = around.jobs
    around.check_job(going_on, going_on.report())
    with pytest.raises(AssertionError, match="events_missing"):
        around.check_job(over, over.report())


@pytest.mark.parametrize("planted", [{"reason": "part_rejected"}, {"notice": "the collector takes 1 single events"}])
def test_a_quota_may_cost_events_alone_and_says_so(around, planted):
    job = around.jobs[1]
    with pytest.raises(AssertionError):
        around.check_job(job, job.report(**planted))
