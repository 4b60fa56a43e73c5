"""Signals and limits: the job gets those that castscope was started with, and those that are sent to it."""

import os
import pty
import resource
import select
import signal
import subprocess

import pytest
from program import clean_environment
from work import WORK


def test_an_ignored_sigchld_hides_no_status(castscope):
    """cron and some supervisors ignore it; the job has it ignored as it would without castscope."""
    command = [str(castscope.program), "run", "--force", "-o", "run", "--", "env", "sh", "-c"]
    ignoring = {"cwd": castscope.folder, "env": clean_environment(), "check": False, "timeout": 60,
                "preexec_fn": lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)}
    assert subprocess.run([*command, "exit 7"], **ignoring).returncode == 7
    assert subprocess.run([*command, "kill -9 $$"], **ignoring).returncode == -9
    done = subprocess.run([*command[:-2], "grep", "SigIgn", "/proc/self/status"], capture_output=True, **ignoring)
    assert int(done.stdout.split()[1], 16) & 1 << (signal.SIGCHLD - 1)


# Not print(): a signal that comes while it still holds the buffer, after the line has gone out, could print nothing.
HANDLING = ("import os, signal, sys\n"
            "def handler(number, frame): os.write(1, b'%d\\n' % number); sys.exit(7)\n"
            "for number in signal.valid_signals() - {9, 19, 17}: signal.signal(number, handler)\n"
            "os.write(1, b'ready\\n')\n"
            "while True: signal.pause()\n")
UNUSUAL = [signal.SIGRTMIN + 3, signal.SIGXCPU, signal.SIGXFSZ, signal.SIGIO, signal.SIGPROF, signal.SIGVTALRM,
           signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGPIPE, signal.SIGURG, signal.SIGCONT,
           signal.SIGABRT, signal.SIGSEGV]


def has_defaults():
    """Python ignores these two, and so would the job."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


@pytest.mark.parametrize("send, number", [(os.kill, int(number)) for number in UNUSUAL] +
                         [(os.killpg, int(number)) for number in (signal.SIGXCPU, signal.SIGRTMIN + 3, signal.SIGTSTP)])
def test_every_signal_reaches_the_job_once(castscope, python, send, number):
    job = castscope.start(python, "-c", HANDLING, preexec_fn=has_defaults, start_new_session=send is os.killpg)
    job.stdout.readline()
    send(job.pid, number)
    out, said = job.communicate(timeout=300)
    assert (job.returncode, out) == (7, b"%d\n" % number), said.decode()


def test_a_signal_to_the_group_is_not_forwarded_however_busy_the_machine_is(castscope, python):
    """castscope learns it from a child of its own, which may have to wait for its turn."""
    code = ("import os, signal\n"
            "signal.signal(signal.SIGUSR1, lambda *_: os.write(1, b'got\\n'))\n"
            "signal.signal(signal.SIGUSR2, lambda *_: exit(7))\n"
            "os.write(1, b'ready\\n')\n"
            "while True: signal.pause()\n")
    job = castscope.start(python, "-c", code, start_new_session=True, stderr=None)
    assert job.stdout.readline() == b"ready\n"
    witness = next(pid for pid in children_of(job.pid) if name_of(pid) == "castscope-sig")
    os.kill(witness, signal.SIGSTOP)
    os.killpg(job.pid, signal.SIGUSR1)
    assert job.stdout.readline() == b"got\n"
    assert select.select([job.stdout], [], [], 0.5)[0] == []
    os.kill(witness, signal.SIGCONT)
    os.kill(job.pid, signal.SIGUSR2)
    assert job.stdout.read() == b"" and job.wait(timeout=300) == 7


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return [int(child) for child in children.read().split()]


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii") as name:
        return name.read().strip()


def test_a_job_that_is_told_to_stop_stops_and_goes_on(castscope):
    """The signal goes through castscope, which stops too, since a shell that waits for it has to see that."""
    job = castscope.start("sh", "-c", "echo ready; read line; exit 6", stdin=subprocess.PIPE, process_group=0)
    assert job.stdout.readline() == b"ready\n"
    os.kill(job.pid, signal.SIGTSTP)
    _, status = os.waitpid(job.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status) and os.WSTOPSIG(status) == signal.SIGTSTP
    os.kill(job.pid, signal.SIGCONT)
    job.communicate(b"\n", timeout=300)
    assert job.returncode == 6


def test_a_lost_terminal_reaches_the_job_of_a_session_leader(castscope):
    """The kernel hangs up on the leader of the session only: `ssh -t host castscope run …`."""
    try:
        pid, terminal = pty.fork()
    except OSError as error:
        pytest.skip(f"no pseudo-terminals here: {error}")
    if pid == 0:
        os.chdir(castscope.folder)
        os.execve(castscope.program, [str(castscope.program), "run", "-o", "run", "--", "sh", "-c",
                                      "echo ready; exec sleep 1000"], clean_environment())
    seen = b""
    while b"ready" not in seen:
        seen += os.read(terminal, 1000)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGHUP
    assert castscope.report()["run"]["signal"] == signal.SIGHUP


def limited(castscope, what, limit, *command, user=None):
    def limit_it():
        resource.setrlimit(what, (limit, limit))
        has_defaults()
        if user:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
    return castscope.run(*command, preexec_fn=limit_it, env=clean_environment(HOME=castscope.folder))


def test_a_limit_on_file_sizes_is_said_and_the_job_runs(castscope):
    done = limited(castscope, resource.RLIMIT_FSIZE, 50_000, "sh", "-c", "grep SigIgn /proc/self/status; exit 3")
    assert done.returncode == 3 and b"run.castscope" in done.stderr and b"unrecorded" in done.stderr
    assert b"limit on file sizes" in done.stderr and b"check the disk" not in done.stderr
    assert int(done.stdout.split()[1], 16) & 1 << (signal.SIGXFSZ - 1) == 0
    assert not list(castscope.folder.glob("run*"))


def test_a_limit_on_memory_is_said_and_the_job_runs(castscope):
    done = limited(castscope, resource.RLIMIT_AS, 100_000_000, "sh", "-c", "echo out; exit 3")
    assert (done.returncode, done.stdout) == (3, b"out\n")
    assert b"the job runs unobserved" in done.stderr and b"terminate" not in done.stderr


@pytest.mark.parametrize("files", [6, 8, 12, 16])
def test_a_limit_on_open_files_is_said_and_the_job_runs(castscope, files):
    done = limited(castscope, resource.RLIMIT_NOFILE, files, "sh", "-c", "echo out; exit 3")
    assert (done.returncode, done.stdout) == (3, b"out\n")
    assert b"(ulimit -n) allows fewer; the job runs unobserved" in done.stderr and b"RAW" not in done.stderr


@pytest.mark.parametrize("processes", [1, 2, 6, 12])
def test_a_limit_on_processes_is_said_and_the_job_runs(castscope, processes):
    if os.geteuid() != 0:
        pytest.skip("needs root, for a user who has no other process")
    if subprocess.run(["setpriv", "--reuid", "54321", "test", "-x", castscope.program], check=False).returncode != 0:
        pytest.skip("the program lies where another user cannot reach it")
    for folder in (castscope.folder, *castscope.folder.parents[:2]):
        folder.chmod(0o755)
    castscope.folder.chmod(0o777)
    done = limited(castscope, resource.RLIMIT_NPROC, processes, "/bin/sh", "-c", "echo out; exit 3", user=54321)
    assert (done.returncode, done.stdout) == (3, b"out\n"), done.stderr
    assert b"the job runs unobserved" in done.stderr and b"terminate" not in done.stderr


def test_a_limit_on_file_sizes_does_not_kill_a_job_that_casts(castscope, python):
    """Its segment has no room then. Python ignores SIGXFSZ, other programs do not."""
    code = "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n" + WORK + "work(2)\nprint('done')\n"
    done = limited(castscope, resource.RLIMIT_FSIZE, 20_000, python, "-c", code)
    assert (done.returncode, done.stdout) == (0, b"done\n"), done.stderr
