"""However a job with PyTorch ends, everything that it did until then is counted, and its end is reported."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import time

import pytest
from program import clean_environment
from work import WORK, assert_worked


@pytest.fixture(autouse=True)
def whole_end(monkeypatch):
    """Python ends as it does for users: scripts/test has it leave out its last search for garbage."""
    monkeypatch.delenv("QUICK_END", raising=False)


@pytest.mark.parametrize("ending, status", [("", 0), ("sys.exit(3)", 3), ("os._exit(4)", 4), ("raise ValueError", 1),
                                            ("sys.exit(300)", 300 & 0xff), ("os._exit(-1)", 255)])
def test_exit_status_is_reported(castscope, python, ending, status):
    done = castscope.run(python, "-c", WORK + "work(3)\n" + ending)
    report = castscope.report()
    assert done.returncode == status and report["run"]["exit_status"] == status and report["run"]["complete"] is True
    assert report["processes"][0]["exit_status"] == status
    assert_worked(report, 3)


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGSEGV"])
def test_killed_job_keeps_its_counts(castscope, python, name):
    done = castscope.run(python, "-c", WORK + f"work(3)\nimport signal\nos.kill(os.getpid(), signal.{name})")
    report = castscope.report()
    assert done.returncode == -getattr(signal, name)
    assert (report["run"]["signal"], report["run"]["complete"]) == (getattr(signal, name), False)
    (process,) = report["processes"]
    assert (process["end_kind"], process["exit_status"]) == ("vanished", 128 + getattr(signal, name))
    assert any(f"process {process['pid']} was killed by {name}" in notice for notice in report["run"]["notices"])
    assert_worked(report, 3)


def test_which_child_was_killed_is_told(castscope, python):
    """Its parent's wait status has it, which castscope reads beside the parent as long as that is possible."""
    code = WORK + ("work(1)\n"
                   "pid = os.fork()\n"
                   "if pid == 0:\n"
                   "    work(1)\n"
                   "    os.kill(os.getpid(), 9)\n"
                   "os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)\n"
                   "sys.stdin.readline()\n"  # a zombie until castscope has seen it
                   "os.waitpid(pid, 0)\n"
                   "print(pid)\n")
    job = castscope.start(python, "-c", code, stdin=subprocess.PIPE)
    wait_until_told(castscope, "vanished")
    out, _ = job.communicate(b"go on\n", timeout=300)
    report = castscope.report()
    child = next(process for process in report["processes"] if process["pid"] == int(out))
    assert (child["end_kind"], child["exit_status"]) == ("vanished", 137)
    assert report["run"]["complete"] is False
    assert any(f"process {child['pid']} was killed by SIGKILL" in notice for notice in report["run"]["notices"])


def wait_until_told(castscope, end, seconds=300):
    """Waits until the run file that is being written has a process with this end; None: with any, or none so far."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(sqlite3.OperationalError):
            with contextlib.closing(sqlite3.connect(f"file:{castscope.folder}/run.castscope?mode=ro", uri=True)) as run:
                wanted = "select count(*) from v_processes where ?1 is null or end_kind = ?1"
                if run.execute(wanted, (end,)).fetchone()[0]:
                    return
        assert time.monotonic() < deadline, f"no process is {end}"
        time.sleep(0.02)


LEFT_BEHIND = WORK + ("{before}"
                      "if os.fork() == 0:\n"
                      "    for fd in range(3): os.close(fd)\n"
                      "    {inside}\n"
                      "    open('alive', 'w').close()\n"
                      "    while not os.path.exists('end'): pass\n"
                      "    work(1)\n"
                      "    open('over', 'w').close()\n"
                      "    os._exit(0)\n"
                      "while not os.path.exists('alive'): pass\n")


@pytest.mark.parametrize("inside", ["pass", "work(1)"])
def test_a_child_left_behind_makes_the_run_incomplete(castscope, python, inside):
    """This holds whether or not the child has cast so far: it goes on, and its work is not recorded. The job's end is
    not held up."""
    done = castscope.run(python, "-c", LEFT_BEHIND.format(before="work(2)\n", inside=inside))
    report = castscope.report()
    assert done.returncode == 0 and report["run"]["complete"] is False
    assert done.stderr.count(b"a process of the job goes on") == 1
    assert any("a process of the job goes on" in notice for notice in report["run"]["notices"])
    (castscope.folder / "end").touch()  # it meets no run directory any more, and does not mind
    wait_for_file(castscope.folder / "over")


def test_a_secret_of_a_child_left_behind_is_hidden_before_its_command_is_cut(castscope, python):
    """Of the command 60 bytes are told. Half of a token would not be known as one."""
    (castscope.folder / "t.py").write_text(LEFT_BEHIND.format(before="", inside="pass"))
    token = "hf_abcdefghijklmnopqrstuvwxyz"
    path = f"{os.path.dirname(python)}:{os.environ['PATH']}"
    done = castscope.run("python", "t.py", "x" * 35, token, env=clean_environment(PATH=path))
    (castscope.folder / "end").touch()
    notice, = (one for one in castscope.report()["run"]["notices"] if "a process of the job goes on" in one)
    assert f"python t.py {'x' * 35} [redacted])" in notice and b"hf_" not in done.stderr
    wait_for_file(castscope.folder / "over")


def wait_for_file(path, seconds=300):
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} does not appear"
        time.sleep(0.01)


def test_children_that_end_with_the_job_leave_it_complete(castscope, python):
    code = WORK + ("import multiprocessing\n"
                   "work(1)\n"
                   "with multiprocessing.get_context('fork').Pool(2) as pool: pool.map(abs, range(8))\n")
    castscope.run(python, "-c", code)
    assert castscope.report()["run"]["complete"] is True


@pytest.fixture
def static_program(castscope):
    source = castscope.folder / "static.c"
    source.write_text("#include <stdio.h>\nint main(void) { puts(\"ready\"); fflush(stdout); getchar(); return 6; }\n")
    subprocess.run(["gcc", "-static", source, "-o", castscope.folder / "static"], check=True)
    return castscope.folder / "static"


def test_a_job_that_goes_on_as_a_static_program(castscope, python, static_program):
    """The program contains none of our libraries; castscope notices that the mapping is gone."""
    job = castscope.start(python, "-c", WORK + f"work(2)\nos.execv('{static_program}', ['static'])\n",
                          stdin=subprocess.PIPE)
    assert job.stdout.readline() == b"ready\n"
    wait_until_told(castscope, "replaced")
    job.communicate(b"\n", timeout=300)
    report = castscope.report()
    assert (job.returncode, report["run"]["exit_status"], report["run"]["complete"]) == (6, 6, True)
    assert report["processes"][0]["end_kind"] == "replaced"
    assert_worked(report, 2)


def test_a_job_that_goes_on_shortly_without_the_library(castscope, python):
    """The program is too short to be observed: the parent's wait status only says that it was not killed."""
    code = WORK + "work(2)\nos.execve('/bin/sh', ['sh', '-c', 'exit 5'], {})\n"
    done = castscope.run(python, "-c", code)
    report = castscope.report()
    assert (done.returncode, report["run"]["exit_status"], report["run"]["complete"]) == (5, 5, True)
    assert report["processes"][0]["end_kind"] in ("exited", "replaced")
