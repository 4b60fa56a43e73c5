"""A bare LD_PRELOAD, and collectors elsewhere."""

import os
import signal
import socket
import subprocess
import time

import pytest
from program import CAN_MOUNT, clean_environment
from work import WORK, assert_worked, eventually


def test_bare_preload_leaves_a_run_file(castscope, python):
    done = castscope.bare(python, "-c", WORK + "work(3)", env={"CASTSCOPE_OUT": str(castscope.folder / "bare")})
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    report = eventually(castscope.folder / "bare.json")
    assert_worked(report, 3)
    assert (report["run"]["exit_status"], report["run"]["complete"]) == (0, True)


def test_bare_preload_with_a_default_name_and_a_relay_that_is_not_the_jobs_child(castscope, python):
    code = ("import signal\n"
            "signal.signal(signal.SIGCHLD, lambda *_: print('SIGCHLD'))\n" + WORK + "work(1)\n"
            "try: print(os.wait())\n"
            "except ChildProcessError: print('no children')\n")
    (castscope.folder / "train.py").write_text(code)
    done = castscope.bare(python, "train.py")
    assert done.stdout == b"no children\n"
    assert_worked(eventually(castscope.folder / "train-*.json"), 1)


@pytest.mark.parametrize("bare", [True, False])
def test_variables_that_nobody_understands_are_named(castscope, python, bare):
    wrong = {"CASTSCOPE_DEEP": "banana", "CASTSCOPE_GPU": "-3"}
    job = (python, "-c", WORK + "work(1)")
    done = (castscope.bare(*job, env=wrong | {"CASTSCOPE_OUT": str(castscope.folder / "run")}) if bare else
            castscope.run(*job, env=clean_environment(**wrong)))
    assert (done.returncode, done.stdout) == (0, b"")
    assert [line for line in done.stderr.decode().splitlines() if "it is ignored" in line] == [
        "castscope: CASTSCOPE_DEEP is `banana`, which is not always, never or N for each Nth step: it is ignored",
        "castscope: CASTSCOPE_GPU is `-3`, which is not auto, on, events or off: it is ignored"]
    assert_worked(eventually(castscope.folder / "run.json"), 1)


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
    done = castscope.bare(python, "-c", code, env={"CASTSCOPE_OUT": str(castscope.folder / "bare")}, timeout=300)
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
    server.communicate(timeout=300)
    assert server.returncode == 0


def test_bare_preload_to_a_collector_which_is_told_how_the_job_ended(castscope, python, collector):
    address, folder = collector
    done = castscope.bare(python, "-c", WORK + "work(3)\nsys.exit(3)", env={"CASTSCOPE_COLLECTOR": address})
    assert (done.returncode, done.stderr) == (3, b"")
    report = eventually(folder / "*.json")
    assert_worked(report, 3)
    assert report["run"]["exit_status"] == 3


@pytest.fixture
def nobody():
    """An address on which nobody listens, and nobody will: the port is taken."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def test_a_missing_collector_is_said_while_the_job_runs(castscope, nobody):
    job = subprocess.Popen([str(castscope.program), "run", "--collector", nobody, "--", "cat"], cwd=castscope.folder,
                           env=clean_environment(), stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert f"the run does not reach the collector at {nobody}".encode() in job.stderr.readline()
    job.communicate(timeout=300)
    assert job.returncode == 0


def test_nothing_to_send_waits_for_no_collector(castscope, nobody):
    begin = time.monotonic()
    done = castscope("run", "--collector", nobody, "--", "sh", "-c", "echo $CASTSCOPE_RUN")
    assert time.monotonic() - begin < 8  # whatever else a busy machine does
    assert f"the collector at {nobody} did not receive this run".encode() in done.stderr
    assert not os.path.exists(done.stdout.decode().strip())


def end_of_waiting(castscope, python, address):
    """Seconds from the end of the job to that of castscope."""
    job = subprocess.Popen([str(castscope.program), "run", "--collector", address, "--", python, "-c",
                            WORK + "work(1)\nprint(os.environ['CASTSCOPE_RUN'], flush=True)\nos._exit(0)"],
                           cwd=castscope.folder, env=clean_environment(), stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    directory = job.stdout.readline().decode().strip()
    begin = time.monotonic()
    _, err = job.communicate(timeout=300)
    seconds = time.monotonic() - begin
    assert job.returncode == 0 and f"`castscope recover {directory}` goes on with what is left".encode() in err
    castscope("recover", "--discard", directory)
    return seconds


def test_a_collector_that_never_answers_is_not_waited_for_long(castscope, python, nobody):
    assert end_of_waiting(castscope, python, nobody) < 7  # two seconds, and what a busy machine adds; ten otherwise


def test_a_collector_that_does_not_speak_is_not_waited_for_long(castscope, python):
    """This is like a collector that is stopped: the kernel accepts the connection for it."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        assert end_of_waiting(castscope, python, f"127.0.0.1:{mute.getsockname()[1]}") < 7


def test_a_bare_run_whose_collector_is_not_there_is_found_where_others_are(castscope, python, nobody):
    castscope.bare(python, "-c", WORK + "work(3)",
                   env={"CASTSCOPE_COLLECTOR": nobody, "CASTSCOPE_OUT": str(castscope.folder / "bare")})
    report = eventually(castscope.folder / "bare.json")
    assert_worked(report, 3)
    assert any(f"the collector at {nobody} did not take this run" in notice for notice in report["run"]["notices"])
    assert (report["run"]["complete"], report["run"]["missing"]) == (True, [])  # the collector has no part of it


def test_a_run_directory_that_never_was_is_said(castscope, python):
    done = castscope.bare(python, "-c", WORK + "work(1)", env={"CASTSCOPE_RUN": "/nonexistent/x"})
    assert done.returncode == 0 and done.stderr.count(b"CASTSCOPE_RUN names /nonexistent/x, which is not there") == 1


def test_run_to_a_collector(castscope, python, collector):
    address, folder = collector
    done = castscope("run", "--collector", address, "-o", "named", "--", python, "-c", WORK + "work(3)\nsys.exit(2)")
    assert done.returncode == 2 and address.encode() in done.stderr
    report = eventually(folder / "named.json")
    assert_worked(report, 3)
    assert report["run"]["exit_status"] == 2
    assert not list(castscope.folder.glob("*.castscope"))


@pytest.mark.skipif(not CAN_MOUNT, reason="needs root, for a /dev/shm of its own with the folder of another user")
@pytest.mark.parametrize("squatted", [["/dev/shm"], ["/dev/shm", "$TMPDIR"]], ids=["shared memory", "TMPDIR, too"])
def test_who_makes_the_folder_of_run_directories_first_keeps_nobody_from_being_recorded(castscope, python, squatted):
    (castscope.folder / "temporary").mkdir()
    folders = " ".join(f"{base}/castscope-0" for base in squatted)
    script = (f'mount -t tmpfs none /dev/shm && mkdir {folders} && chown 65534 {folders} && '
              'LD_PRELOAD="$PRELOAD" exec "$@"')
    done = castscope.bare("unshare", "-m", "sh", "-c", script, "sh", python, "-c", WORK + "work(3)",
                          env={"LD_PRELOAD": "", "PRELOAD": str(castscope.preload),
                               "TMPDIR": str(castscope.folder / "temporary"),
                               "CASTSCOPE_OUT": str(castscope.folder / "bare")})
    assert (done.returncode, done.stderr) == (0, b"")
    report = eventually(castscope.folder / "bare.json")
    assert_worked(report, 3)
    assert report["run"]["complete"]
