"""Jobs with PyTorch: what is counted arrives, in every way of starting and ending, and the job notices nothing."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import time

import pytest
from program import clean_environment

# A linear layer used twice in one region: its weight and bias are cast once (2 casts) and hit once each (2 hits), its
# input is cast both times (2 casts).
WORK = """
import os, sys, torch
torch.set_num_threads(1)  # OpenMP's threads do not survive fork, with castscope or without
layer = torch.nn.Linear(8, 8)
def work(times):
    for _ in range(times):
        with torch.autocast('cpu', torch.bfloat16):
            layer(torch.ones(4, 8)), layer(torch.ones(4, 8))
"""
CASTS, HITS = 4, 2


def counted(report):
    return report["totals"]["casts"], report["totals"]["cache_hits"]


def assert_worked(report, times):
    assert counted(report) == (CASTS * times, HITS * times)


def eventually(path, seconds=60):
    """The JSON in a file that somebody else writes, renamed into place when it is whole."""
    deadline = time.monotonic() + seconds
    while True:
        found = list(path.parent.glob(path.name))
        if found:
            return json.loads(found[0].read_text())
        assert time.monotonic() < deadline, f"{path} does not appear"
        time.sleep(0.02)


# --- endings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending, status", [("", 0), ("sys.exit(3)", 3), ("os._exit(4)", 4), ("raise ValueError", 1),
                                            ("sys.exit(300)", 300 & 0xff), ("os._exit(-1)", 255)])
def test_exit_status_is_reported(castscope, python, ending, status):
    done = castscope.run(python, "-c", WORK + "work(3)\n" + ending)
    report = castscope.report()
    assert done.returncode == status and report["run"]["exit"] == status and report["run"]["complete"] is True
    assert report["processes"][0]["exit"] == status
    assert_worked(report, 3)


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGSEGV"])
def test_killed_job_keeps_its_counts(castscope, python, name):
    done = castscope.run(python, "-c", WORK + f"work(3)\nimport signal\nos.kill(os.getpid(), signal.{name})")
    report = castscope.report()
    assert done.returncode == -getattr(signal, name)
    assert (report["run"]["signal"], report["run"]["complete"]) == (getattr(signal, name), False)
    (process,) = report["processes"]
    assert (process["end"], process["exit"]) == ("vanished", 128 + getattr(signal, name))
    assert any(f"process {process['pid']} was killed by {name}" in notice for notice in report["run"]["notices"])
    assert_worked(report, 3)


def test_which_child_was_killed_is_told(castscope, python):
    """By its parent's wait status, which castscope reads beside the parent as long as it can be read."""
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
    out, _ = job.communicate(b"go on\n", timeout=60)
    report = castscope.report()
    child = next(process for process in report["processes"] if process["pid"] == int(out))
    assert (child["end"], child["exit"]) == ("vanished", 137)
    assert report["run"]["complete"] is False
    assert any(f"process {child['pid']} was killed by SIGKILL" in notice for notice in report["run"]["notices"])


def wait_until_told(castscope, end, seconds=60):
    """Until the run file that is being written has a process with this end."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(sqlite3.OperationalError):
            with contextlib.closing(sqlite3.connect(f"file:{castscope.folder}/run.castscope?mode=ro", uri=True)) as run:
                if run.execute("select count(*) from v_processes where end = ?", (end,)).fetchone()[0]:
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
    """Whether it has cast so far or not: it goes on, and what it does is not recorded. The job's end is not held up."""
    done = castscope.run(python, "-c", LEFT_BEHIND.format(before="work(2)\n", inside=inside))
    report = castscope.report()
    assert done.returncode == 0 and report["run"]["complete"] is False
    assert done.stderr.count(b"a process of the job goes on") == 1
    assert any("a process of the job goes on" in notice for notice in report["run"]["notices"])
    (castscope.folder / "end").touch()  # it meets no run directory any more, and does not mind
    wait_for_file(castscope.folder / "over")


def wait_for_file(path, seconds=60):
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
    """No library of ours is in it; the mapping that is gone tells."""
    job = castscope.start(python, "-c", WORK + f"work(2)\nos.execv('{static_program}', ['static'])\n",
                          stdin=subprocess.PIPE)
    assert job.stdout.readline() == b"ready\n"
    wait_until_told(castscope, "replaced")
    job.communicate(b"\n", timeout=60)
    report = castscope.report()
    assert (job.returncode, report["run"]["exit"], report["run"]["complete"]) == (6, 6, True)
    assert report["processes"][0]["end"] == "replaced"
    assert_worked(report, 2)


def test_a_job_that_goes_on_shortly_without_the_library(castscope, python):
    """Too short to be looked at: it was not killed, that much its parent knows."""
    code = WORK + "work(2)\nos.execve('/bin/sh', ['sh', '-c', 'exit 5'], {})\n"
    done = castscope.run(python, "-c", code)
    report = castscope.report()
    assert (done.returncode, report["run"]["exit"], report["run"]["complete"]) == (5, 5, True)
    assert report["processes"][0]["end"] in ("exited", "replaced")


# --- process trees --------------------------------------------------------------------------------------------------


def test_forked_child_counts_for_itself(castscope, python):
    code = WORK + "work(2)\npid = os.fork()\nwork(3)\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0)\n"
    assert castscope.run(python, "-c", code).returncode == 0
    assert_worked(castscope.report(), 8)
    assert len(castscope.report()["processes"]) == 2


def test_spawned_processes_are_one_run(castscope, python):
    code = WORK + ("work(1)\nimport subprocess\n"
                   "if len(sys.argv) == 1:\n"
                   "    script = open(os.environ['SCRIPT']).read()\n"
                   "    subprocess.run([sys.executable, '-c', script, 'child'], check=True)\n")
    script = castscope.folder / "script"
    script.write_text(code)
    assert castscope.run(python, "-c", code, env=clean_environment(SCRIPT=script)).returncode == 0
    assert_worked(castscope.report(), 2)


def test_shell_script_of_two_trainings(castscope, python):
    (castscope.folder / "train.py").write_text(WORK + "work(2)\n")
    castscope.run("bash", "-c", f"{python} train.py; {python} train.py")
    assert_worked(castscope.report(), 4)


def test_process_that_replaces_itself(castscope, python):
    code = WORK + "work(2)\nif len(sys.argv) == 1: os.execv(sys.executable, [sys.executable, '-c', open('s').read(), 'x'])\n"
    (castscope.folder / "s").write_text(code)
    castscope.run(python, "-c", code)
    report = castscope.report()
    assert_worked(report, 4)
    assert report["run"]["complete"] is True


def test_waiting_for_children_sees_only_its_own(castscope, python):
    code = WORK + ("work(1)\n"
                   "try: print(os.wait())\n"
                   "except ChildProcessError: print('no children')\n")
    assert castscope.run(python, "-c", code).stdout == b"no children\n"


# --- the package ----------------------------------------------------------------------------------------------------


def test_step_by_hand(castscope, python):
    code = WORK + ("import castscope\n"
                   "print(castscope.attached())\n"
                   "for _ in range(5):\n"
                   "    work(2)\n"
                   "    castscope.step()\n")
    done = castscope.run(python, "-c", code)
    assert done.stdout == b"True\n"
    assert_worked(castscope.report(), 10)


# --- a bare LD_PRELOAD ----------------------------------------------------------------------------------------------


def test_bare_preload_leaves_a_run_file(castscope, python):
    done = castscope.bare(python, "-c", WORK + "work(3)", env={"CASTSCOPE_OUT": str(castscope.folder / "bare")})
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    report = eventually(castscope.folder / "bare.json")
    assert_worked(report, 3)
    assert (report["run"]["exit"], report["run"]["complete"]) == (0, True)


def test_bare_preload_with_a_default_name(castscope, python):
    (castscope.folder / "train.py").write_text(WORK + "work(1)\n")
    castscope.bare(python, "train.py")
    assert_worked(eventually(castscope.folder / "train-*.json"), 1)


def test_bare_relay_is_not_the_jobs_child(castscope, python):
    code = ("import signal\n"
            "signal.signal(signal.SIGCHLD, lambda *_: print('SIGCHLD'))\n" + WORK + "work(1)\n"
            "try: print(os.wait())\n"
            "except ChildProcessError: print('no children')\n")
    done = castscope.bare(python, "-c", code, env={"CASTSCOPE_OUT": str(castscope.folder / "bare")})
    assert done.stdout == b"no children\n"
    eventually(castscope.folder / "bare.json")


def test_bare_relay_holds_no_pipe_of_the_job(castscope, python):
    """The reader sees the end of file when the job ends, though the relay goes on: a grandchild sleeps."""
    code = WORK + ("work(1)\n"
                   "if os.fork() == 0:\n"
                   "    for fd in range(3): os.close(fd)\n"
                   "    work(1)\n"
                   "    open('alive', 'w').close()\n"
                   "    while not os.path.exists('end'): pass\n"
                   "    os._exit(0)\n"
                   "while not os.path.exists('alive'): pass\n"
                   "print('done')\n")
    done = castscope.bare(python, "-c", code, env={"CASTSCOPE_OUT": str(castscope.folder / "bare")}, timeout=60)
    assert done.stdout == b"done\n"
    assert not (castscope.folder / "bare.json").exists()
    (castscope.folder / "end").touch()
    assert_worked(eventually(castscope.folder / "bare.json"), 2)


def test_bare_run_of_a_killed_job(castscope, python):
    done = castscope.bare(python, "-c", WORK + "work(3)\nos.kill(os.getpid(), 9)",
                          env={"CASTSCOPE_OUT": str(castscope.folder / "bare")})
    assert done.returncode == -9
    report = eventually(castscope.folder / "bare.json")
    assert_worked(report, 3)
    assert report["run"]["complete"] is False


@pytest.fixture
def collector(castscope):
    """A `castscope serve` on a free port: (address, folder)."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    folder = castscope.folder / "collected"
    server = subprocess.Popen([str(castscope.program), "serve", "--listen", address, "--folder", str(folder)],
                              env=clean_environment(), stderr=subprocess.PIPE, text=True)
    assert address in server.stderr.readline()
    yield address, folder
    server.send_signal(signal.SIGTERM)
    server.communicate(timeout=30)
    assert server.returncode == 0


def test_bare_preload_to_a_collector(castscope, python, collector):
    address, folder = collector
    done = castscope.bare(python, "-c", WORK + "work(3)", env={"CASTSCOPE_COLLECTOR": address})
    assert (done.returncode, done.stderr) == (0, b"")
    assert_worked(eventually(folder / "*.json"), 3)


@pytest.fixture
def nobody():
    """An address on which nobody listens, and nobody will: the port is taken."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def test_a_missing_collector_is_said_while_the_job_runs(castscope, nobody):
    job = subprocess.Popen([str(castscope.program), "run", "--collector", nobody, "--", "cat"], cwd=castscope.folder,
                           env=clean_environment(), stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert f"the collector at {nobody} cannot be reached".encode() in job.stderr.readline()
    job.communicate(timeout=60)
    assert job.returncode == 0


def test_nothing_to_send_waits_for_no_collector(castscope, nobody):
    begin = time.monotonic()
    done = castscope("run", "--collector", nobody, "--", "sh", "-c", "echo $CASTSCOPE_RUN")
    assert time.monotonic() - begin < 8  # a run with something to send waits ten seconds
    assert f"the collector at {nobody} has no account of this run".encode() in done.stderr
    assert not os.path.exists(done.stdout.decode().strip())


def test_run_to_a_collector(castscope, python, collector):
    address, folder = collector
    done = castscope("run", "--collector", address, "-o", "named", "--", python, "-c", WORK + "work(3)\nsys.exit(2)")
    assert done.returncode == 2 and address.encode() in done.stderr
    report = eventually(folder / "named.json")
    assert_worked(report, 3)
    assert report["run"]["exit"] == 2
    assert not list(castscope.folder.glob("*.castscope"))


# --- faults ---------------------------------------------------------------------------------------------------------


def test_recovered_after_castscope_itself_was_killed(castscope, python):
    code = WORK + ("work(2)\nprint(os.environ['CASTSCOPE_RUN'], flush=True)\nsys.stdin.readline()\nwork(3)\n"
                   "print('end', flush=True)\n")
    job = castscope.start(python, "-c", code, stdin=subprocess.PIPE)
    directory = job.stdout.readline().decode().strip()
    job.kill()
    job.wait()
    job.stdin.write(b"go on\n")
    job.stdin.close()
    assert job.stdout.read() == b"end\n"  # to the end of the pipe: the job is over
    assert b"recovered" in castscope("recover", directory).stderr
    report = castscope.report()
    assert_worked(report, 5)
    assert (report["run"]["exit"], report["run"]["complete"]) == (0, True)
    assert not os.path.exists(directory)


def test_recover_goes_on_with_a_living_job(castscope, python):
    code = WORK + "work(2)\nprint(os.environ['CASTSCOPE_RUN'], flush=True)\nsys.stdin.readline()\nwork(3)\n"
    job = castscope.start(python, "-c", code, stdin=subprocess.PIPE)
    directory = job.stdout.readline().decode().strip()
    job.kill()
    job.wait()
    recovering = subprocess.Popen([str(castscope.program), "recover", directory], cwd=castscope.folder,
                                  env=clean_environment(), stderr=subprocess.PIPE)
    assert b"still runs" in recovering.stderr.readline()
    job.stdin.write(b"go on\n")
    job.stdin.close()
    assert recovering.wait(timeout=60) == 0
    assert_worked(castscope.report(), 5)


def test_a_run_that_is_recorded_is_not_recovered(castscope, python):
    code = "import os, sys; print(os.environ['CASTSCOPE_RUN'], flush=True); sys.stdin.readline()"
    job = castscope.start(python, "-c", code, stdin=subprocess.PIPE)
    directory = job.stdout.readline().decode().strip()
    done = castscope("recover", directory)
    assert done.returncode == 125 and b"still being recorded" in done.stderr
    job.communicate(b"\n", timeout=60)


def mounts_work():
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("size", ["16k", "200k", "2500k"])
def test_full_shared_memory_is_a_sentence(castscope, python, size):
    if not mounts_work():
        pytest.skip("needs root for a mount of its own")
    script = (f'mount -t tmpfs -o size={size} none /dev/shm && exec "$@"')
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", str(castscope.program), "run", "-o", "run", "--",
                           python, "-c", WORK + "work(3)\nprint('done')"], cwd=castscope.folder, capture_output=True,
                          env=clean_environment(), timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, b"done\n"), done.stderr
    if counted(castscope.report()) != (CASTS * 3, HITS * 3):  # a small ring may have found room
        assert b"/dev/shm" in done.stderr, done.stderr


@pytest.fixture
def lonely(castscope, tmp_path):
    """The program alone, as it was copied to another machine: nothing beside it, nothing in the cache."""
    folder = tmp_path / "lonely"
    folder.mkdir()
    shutil.copy2(castscope.program, folder / "castscope")

    def run(*command, **variables):
        return subprocess.run([str(folder / "castscope"), "run", "--force", "-o", "run", "--", *command], cwd=tmp_path,
                              env=clean_environment(XDG_CACHE_HOME=tmp_path / "cache", **variables),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=500, check=False)
    return run


def test_without_an_agent_the_job_runs_and_it_is_said_once(castscope, python, lonely):
    code = WORK + "work(1)\nimport subprocess\nsubprocess.run([sys.executable, '-c', 'import torch'])\nsys.exit(3)\n"
    done = lonely(python, "-c", code, CXX="/bin/false")
    assert done.returncode == 3
    assert done.stderr.count(b"there is no agent for the PyTorch in") == 1
    assert counted(castscope.report()) == (0, 0)
    assert any("there is no agent" in notice for notice in castscope.report()["run"]["notices"])
    assert b"cannot be built: the compiler fails, with the messages in" in done.stderr
    assert b"cannot be built: the compiler failed before" in lonely(python, "-c", "", CXX="/bin/false").stderr


def test_without_any_compiler_the_job_runs(castscope, python, lonely):
    done = lonely(python, "-c", WORK + "work(1)\nprint('done')", CXX="/bin/false", CC="/bin/false")
    assert (done.returncode, done.stdout) == (0, b"done\n")
    assert b"the job runs unobserved" in done.stderr


def test_the_program_alone_builds_what_it_needs_once(castscope, python, lonely):
    ccache = {"CXX": "ccache g++", "CC": "ccache gcc"} if shutil.which("ccache") else {}
    first = lonely(python, "-c", WORK + "work(2)", **ccache)
    assert first.returncode == 0 and first.stderr.count(b"building the agent for PyTorch") == 1, first.stderr
    assert_worked(castscope.report(), 2)
    second = lonely(python, "-c", WORK + "work(3)", CXX="/bin/false", CC="/bin/false")
    assert b"building" not in second.stderr
    assert_worked(castscope.report(), 3)


def test_unwritable_cache_falls_back(castscope, python, tmp_path):
    """No home to build into: the folder for temporary files will do."""
    shutil.copy2(castscope.program, tmp_path / "castscope")
    spare = tmp_path / "spare"
    spare.mkdir()
    environment = clean_environment(XDG_CACHE_HOME="/proc/nowhere", HOME="/proc/nowhere", TMPDIR=spare,
                                    CXX="/bin/false")
    done = subprocess.run([str(tmp_path / "castscope"), "run", "-o", "run", "--", "true"], cwd=tmp_path,
                          env=environment, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0
    assert list(spare.glob("castscope-*/cache/*/libcastscope.so"))


def test_script_with_a_long_interpreter_line(castscope, python):
    """As pip writes `torchrun`: the Python is found through the script."""
    script = castscope.folder / "tool"
    script.write_text(f"#!{python}\n" + WORK + "work(2)\n")
    script.chmod(0o755)
    assert castscope.run("./tool").returncode == 0
    assert_worked(castscope.report(), 2)


def test_nothing_is_left_in_shared_memory(castscope, python):
    code = WORK + "work(2)\nprint(os.environ['CASTSCOPE_RUN'])"
    done = castscope.run(python, "-c", code)
    assert not pathlib.Path(done.stdout.decode().strip()).exists()
