"""Processes of a job that do not reach the run directory by its name: with another /dev/shm, with process numbers of
their own, as another user. They are recorded all the same, or the run says that they are missing."""

import shlex
import subprocess
import sys
import time

import pytest
from program import CAN_MOUNT, clean_environment
from reports import read_report
from work import CASTS, WORK, assert_worked

pytestmark = pytest.mark.skipif(not CAN_MOUNT, reason="only root can mount, and not everywhere")

JOB = [sys.executable, "-c", WORK + "work(3)\nprint('cast', 3)"]
OTHER_SHM = ["sh", "-c", 'mount -t tmpfs none /dev/shm && exec "$@"', "sh"]


def reports(folder, count):
    """Waits for those of so many runs."""
    deadline = time.monotonic() + 300
    while len(found := list(folder.glob("*.json"))) < count:
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return [read_report(path) for path in found]


def test_a_process_with_another_dev_shm_is_recorded(castscope):
    done = castscope.run("unshare", "--mount", *OTHER_SHM, *JOB, text=True)
    assert done.stdout == "cast 3\n", done.stderr
    report = castscope.report()
    assert_worked(report, 3)
    assert (report["run"]["complete"], report["run"]["missing"]) == (True, [])


def test_who_is_not_recorded_is_missed_at_the_collector_with_what_to_do(castscope, collector):
    other_numbers = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", *OTHER_SHM, *JOB]
    other_user = ["setpriv", "--reuid=65534", "--clear-groups", *JOB]
    done = castscope("run", "--collector", collector.address, "-o", "run", "--", "sh", "-c",
                     f"{shlex.join(other_numbers)}; {shlex.join(other_user)}", text=True)
    assert done.stdout == "cast 3\ncast 3\n", done.stderr
    run = collector.report("run")["run"]
    assert run["complete"] is False
    assert [one["incomplete_reason"] for one in run["missing"]] == ["process_unrecorded"] * 2
    outside, user = [one["sentence"] for one in run["missing"]]
    assert "has other file systems" in outside and "start castscope in there" in outside
    assert "runs as user 65534" in user and "start castscope as this user" in user
    assert outside in done.stderr and user in done.stderr
    check = collector.check("run")
    assert check.returncode == 3 and outside in " ".join(check.stdout.split())


def test_another_user_who_does_not_know_the_jobs_secret_spoils_no_run(castscope):
    """He knows the run directory, and says that he has PyTorch and is not recorded."""
    stranger = ["env", "-u", "CASTSCOPE_SECRET", "setpriv", "--reuid=65534", "--clear-groups", *JOB]
    done = castscope.run("sh", "-c", f"{shlex.join(JOB)}; {shlex.join(stranger)}", text=True)
    assert done.stdout == "cast 3\ncast 3\n", done.stderr
    run = castscope.report()["run"]
    assert (run["complete"], run["missing"]) == (True, []), done.stderr


def test_a_bare_job_has_a_secret_too(castscope, collector):
    other_user = ["setpriv", "--reuid=65534", "--clear-groups"]
    stranger = ["env", "-u", "CASTSCOPE_SECRET", *other_user, *JOB]
    code = WORK + f"work(2)\nimport subprocess\nfor job in {[[*other_user, *JOB], stranger]!r}: subprocess.run(job)\n"
    done = castscope.bare(sys.executable, "-c", code, text=True, env={"CASTSCOPE_COLLECTOR": collector.address})
    assert (done.returncode, done.stdout) == (0, "cast 3\ncast 3\n"), done.stderr
    (run,) = [report["run"] for report in reports(collector.folder, 1)]
    (missing,) = run["missing"]
    assert "process" in missing["sentence"] and "more)" not in missing["sentence"], missing
    assert "runs as user 65534" in missing["sentence"]


def test_a_bare_job_in_two_places_has_two_runs_at_the_collector(castscope, collector):
    """The first does not say that it is whole."""
    inner = ["unshare", "--mount", *OTHER_SHM, *JOB]
    code = WORK + f"work(2)\nimport subprocess\nsubprocess.run({inner!r}, check=True)\n"
    done = castscope.bare(sys.executable, "-c", code, text=True,
                          env={"CASTSCOPE_COLLECTOR": collector.address})
    assert (done.returncode, done.stdout, done.stderr) == (0, "cast 3\n", "")
    runs = sorted(reports(collector.folder, 2), key=lambda report: report["totals"]["casts"])
    assert [run["totals"]["casts"] for run in runs] == [CASTS * 2, CASTS * 3]
    assert [run["run"]["complete"] for run in runs] == [False, True]
    (missing,) = runs[0]["run"]["missing"]
    assert "is recorded as a run of its own, and is missing from this one" in missing["sentence"]


def test_a_bare_process_without_room_is_missed_at_the_collector(castscope, collector):
    """Its own sentence finds no room either."""
    tiny = 'mount -t tmpfs -o size=8k none /dev/shm && LD_PRELOAD="$PRELOAD" exec "$@"'
    done = subprocess.run(["unshare", "--mount", "sh", "-c", tiny, "sh", *JOB], cwd=castscope.folder, text=True,
                          env=clean_environment(PRELOAD=castscope.preload, CASTSCOPE_COLLECTOR=collector.address),
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False)
    assert done.stdout == "cast 3\n" and done.stderr.count("this process is not recorded") == 1, done.stderr
    (report,) = reports(collector.folder, 1)
    assert report["run"]["complete"] is False and report["totals"]["casts"] == 0
    assert [one["incomplete_reason"] for one in report["run"]["missing"]] == ["process_unrecorded"]
    (run_file,) = collector.folder.glob("*.castscope")
    assert castscope("check", run_file).returncode == 3
