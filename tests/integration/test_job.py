"""`castscope run` in front of jobs without PyTorch: neither the job nor its caller notices castscope."""

import fcntl
import os
import signal
import subprocess

import pytest
from program import clean_environment
from terminals import open_terminal

# --- how it ends ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [0, 1, 3, 125, 255])
def test_exit_status_is_the_jobs(castscope, status):
    assert castscope.run("sh", "-c", f"exit {status}").returncode == status


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGSEGV", "SIGABRT", "SIGINT"])
def test_death_by_signal_is_passed_on(castscope, name):
    done = castscope.run("sh", "-c", f"kill -{name[3:]} $$")
    assert done.returncode == -getattr(signal, name)
    assert castscope.report()["run"]["exit_status"] == {"status": None, "signal": getattr(signal, name)} or \
        castscope.report()["run"]["exit_status"]


def test_no_core_of_ours(castscope):
    castscope.run("sh", "-c", "ulimit -c 0; kill -SEGV $$")
    assert not list(castscope.folder.glob("core*"))


def test_os_exit(castscope, python):
    assert castscope.run(python, "-c", "import os; os._exit(4)").returncode == 4


def test_command_not_found(castscope):
    done = castscope.run("no-such-command")
    assert done.returncode == 127 and b"castscope: no-such-command: command not found\n" in done.stderr
    assert not list(castscope.folder.glob("run.*"))


def test_command_not_executable(castscope):
    (castscope.folder / "script").write_text("echo hello")
    done = castscope.run("./script")
    assert done.returncode == 126 and b"./script cannot be started: Permission denied" in done.stderr


def test_a_command_without_a_name(castscope):
    done = castscope.run("")
    assert done.returncode == 127 and b"castscope: the command has an empty name\n" in done.stderr


@pytest.mark.parametrize("wish", [[], ["-o", "here"]])
def test_a_working_directory_that_is_gone(castscope, wish):
    """The job runs in it, and its record goes elsewhere."""
    spare = castscope.folder / "spare"
    spare.mkdir()
    done = in_a_folder_that_is_gone(castscope, *wish, TMPDIR=spare)
    assert done.returncode == 3 and b"the working directory is gone" in done.stderr
    assert len(list(spare.glob("*.json"))) == 1


def test_a_working_directory_that_is_gone_is_told_as_the_kernel_tells_it(castscope):
    assert in_a_folder_that_is_gone(castscope, "-o", castscope.folder / "run").returncode == 3
    assert castscope.report()["run"]["cwd"] == f"{castscope.folder}/gone (deleted)"


def in_a_folder_that_is_gone(castscope, *options, **variables):
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$0" run "$@" -- sh -c "exit 3"'
    return subprocess.run(["sh", "-c", script, castscope.program, *options], cwd=castscope.folder, timeout=300,
                          env=clean_environment(**variables), capture_output=True, check=False)


def test_a_castscope_inside_takes_the_job_and_the_outer_one_says_so(castscope):
    done = castscope.run(castscope.program, "run", "-o", "inner", "--", "sh", "-c", "exit 3", output="outer")
    assert done.returncode == 3
    (notice,) = castscope.report("outer")["run"]["notices"]
    assert notice.startswith("another castscope, started inside this run, records the job")
    assert notice.endswith("inner.castscope")
    assert notice.encode() in done.stderr
    assert castscope.report("outer")["run"]["complete"] is False and castscope.report("inner")["run"]["complete"]


def test_no_command(castscope):
    done = castscope("run")
    assert done.returncode == 125 and b"run needs a command" in done.stderr


def test_unknown_option(castscope):
    done = castscope("run", "--frobnicate", "--", "true")
    assert done.returncode == 125 and b"--frobnicate" in done.stderr


def test_dashes_are_optional(castscope):
    done = castscope("run", "-o", "run", "sh", "-c", "exit 5")
    assert done.returncode == 5


# --- its streams ----------------------------------------------------------------------------------------------------


def test_stdout_is_the_jobs_alone(castscope):
    done = castscope.run("printf", "a\\0b\\n")
    assert done.stdout == b"a\0b\n"


def test_stdin_reaches_the_job(castscope):
    done = castscope.run("cat", stdin=None, input=b"x" * 1_000_000)
    assert done.stdout == b"x" * 1_000_000


def test_stderr_holds_the_jobs_lines_whole(castscope):
    done = castscope.run("sh", "-c", "echo mine >&2")
    assert b"mine\n" in done.stderr


def test_closed_streams_stay_closed(castscope):
    done = castscope.run("sh", "-c", "(exec 3>&0) 2>/dev/null && exit 1; echo x 2>/dev/null && exit 2; exit 6",
                         stdin=None, stdout=None, stderr=None, capture_output=False,
                         preexec_fn=lambda: [os.close(fd) for fd in (0, 1)])
    assert done.returncode == 6


def test_job_inherits_no_file_of_ours(castscope, python):
    code = "import os; print(sorted(int(fd) for fd in os.listdir('/proc/self/fd')))"
    alone = subprocess.run([python, "-c", code], capture_output=True, stdin=subprocess.DEVNULL, check=True).stdout
    assert castscope.run(python, "-c", code).stdout == alone


def test_job_has_the_terminal(castscope, python):
    code = "import os, sys; print(sys.stdout.isatty(), os.getpgrp() == os.tcgetpgrp(0))"
    primary, secondary = open_terminal()
    environment = clean_environment()
    command = [str(castscope.program), "run", "-o", "run", "--", python, "-c", code]

    def own_terminal():
        import fcntl
        import termios
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    job = subprocess.Popen(command, stdin=secondary, stdout=secondary, stderr=subprocess.DEVNULL, env=environment,
                           cwd=castscope.folder, preexec_fn=own_terminal)
    os.close(secondary)
    assert job.wait(timeout=300) == 0
    assert os.read(primary, 1000) == b"True True\r\n"
    os.close(primary)


def test_a_reader_that_leaves_kills_the_job_and_not_the_report(castscope):
    command = f"{castscope.program} run -o run -- yes | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=castscope.folder, env=clean_environment(), capture_output=True,
                          timeout=300, check=False)
    assert (done.returncode, done.stdout) == (128 + signal.SIGPIPE, b"y\n")
    assert (castscope.folder / "run.json").exists()


def test_stderr_closed_early_harms_nobody(castscope):
    job = castscope.start("sh", "-c", "read line; exit 3", stdin=subprocess.PIPE)
    job.stderr.close()
    job.stdin.write(b"go\n")
    job.stdin.close()
    assert job.wait(timeout=300) == 3


# --- signals --------------------------------------------------------------------------------------------------------

COUNTING = """
import os, signal, sys
got = []
for name in ("SIGTERM", "SIGINT", "SIGUSR1", "SIGHUP"):
    signal.signal(getattr(signal, name), lambda number, frame: got.append(number))
print("ready", os.getpid(), flush=True)
sys.stdin.readline()
print(*got, flush=True)
"""


class Job:
    """A job that counts its signals until it is told to end."""

    def __init__(self, castscope, python, **options):
        self.process = castscope.start(python, "-c", COUNTING, stdin=subprocess.PIPE, **options)
        self.pid = int(self.process.stdout.readline().split()[1])

    def got(self):
        out, _ = self.process.communicate(b"end\n", timeout=300)
        return [signal.Signals(int(number)).name for number in out.split()]


def wait_until_forwarded(job, signals):
    """Waits until the kernel shows that none of these is pending for castscope any more; forwarding follows at once."""
    mask = sum(1 << (number - 1) for number in signals)
    for _ in range(20_000):
        with open(f"/proc/{job.process.pid}/status", encoding="ascii") as status:
            pending = next(int(line.split()[1], 16) for line in status if line.startswith("ShdPnd"))
        if not pending & mask:
            return
    raise AssertionError("castscope does not take its signals")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGUSR1", "SIGHUP"])
def test_signal_to_castscope_reaches_the_job(castscope, python, name):
    code = ("import os, signal, sys\n"
            "def handler(number, frame): os.write(1, signal.Signals(number).name.encode()); sys.exit(7)\n"
            f"signal.signal(signal.{name}, handler)\n"
            "os.write(1, b'ready\\n')\n"
            "while True: signal.pause()\n")
    job = castscope.start(python, "-c", code)
    ready = job.stdout.readline()
    job.send_signal(getattr(signal, name))
    out, said = job.communicate(timeout=300)
    assert (ready, job.returncode, out.decode()) == (b"ready\n", 7, name), said.decode()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_signal_to_the_group_reaches_the_job_once(castscope, python, name):
    job = Job(castscope, python, start_new_session=True)
    os.killpg(job.process.pid, getattr(signal, name))
    # A second signal, to castscope alone, is forwarded after the first was judged: order tells that judging is over.
    os.kill(job.process.pid, signal.SIGUSR1)
    with open(f"/proc/{job.pid}/status", encoding="ascii") as status:
        assert status
    wait_until_forwarded(job, [getattr(signal, name), signal.SIGUSR1])
    assert sorted(job.got()).count(name) == 1


def test_ctrl_c_at_the_terminal(castscope, python):
    code = ("import signal\n"
            "try:\n"
            "    print('ready', flush=True)\n"
            "    while True: signal.pause()\n"
            "except KeyboardInterrupt: print('interrupted', flush=True)\n"
            "raise SystemExit(9)\n")
    primary, secondary = open_terminal()

    def own_terminal():
        import fcntl
        import termios
        os.setsid()
        fcntl.ioctl(secondary, termios.TIOCSCTTY, 0)

    job = castscope.start(python, "-c", code, stdin=secondary, preexec_fn=own_terminal)
    job.stdout.readline()
    os.write(primary, b"\x03")
    out, _ = job.communicate(timeout=300)
    assert (job.returncode, out) == (9, b"interrupted\n")
    assert (castscope.folder / "run.json").exists()
    os.close(primary)
    os.close(secondary)


def test_ctrl_c_without_a_handler_dies_as_the_job(castscope):
    job = castscope.start("sh", "-c", "echo ready; exec sleep 1000", start_new_session=True)
    job.stdout.readline()
    os.killpg(job.pid, signal.SIGINT)
    job.communicate(timeout=300)
    assert job.returncode == -signal.SIGINT


def test_nohup_holds(castscope, python):
    code = "import signal; print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)"
    done = subprocess.run(["nohup", str(castscope.program), "run", "-o", "run", "--", python, "-c", code],
                          cwd=castscope.folder, env=clean_environment(), capture_output=True, timeout=300, check=False)
    assert done.stdout == b"True\n"


def test_signal_state_of_the_job_is_as_without_us(castscope, python):
    # Not SigQ, which counts what is queued for the user.
    code = ("kinds = ('SigBlk', 'SigIgn', 'SigCgt', 'SigPnd')\n"
            "print([line for line in open('/proc/self/status') if line.startswith(kinds)])")
    alone = subprocess.run(["env", python, "-c", code], capture_output=True, check=True).stdout
    assert castscope.run("env", python, "-c", code).stdout == alone


def test_background_process_does_not_hold_us(castscope):
    job = castscope.start("sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!; exit 3")
    left = int(job.stdout.readline())
    assert job.wait(timeout=300) == 3
    os.kill(left, signal.SIGKILL)


# --- its environment ------------------------------------------------------------------------------------------------


def test_existing_preload_is_kept(castscope):
    environment = clean_environment(LD_PRELOAD="/usr/lib/x86_64-linux-gnu/libutil.so.1")
    done = castscope.run("sh", "-c", "echo $LD_PRELOAD", env=environment)
    first, second = done.stdout.decode().strip().split(":")
    assert first == "/usr/lib/x86_64-linux-gnu/libutil.so.1" and second.endswith("libcastscope.so")


def test_off_means_off(castscope):
    done = castscope.run("sh", "-c", "echo [$LD_PRELOAD]", env=clean_environment(CASTSCOPE_OFF="1"))
    assert done.stdout == b"[]\n" and b"CASTSCOPE_OFF is set" in done.stderr


def test_package_can_be_imported(castscope, python):
    done = castscope.run(python, "-c", "import castscope, sys; castscope.step(); print(castscope.attached())")
    assert done.stdout == b"False\n"


def test_module_path_of_the_user_comes_first(castscope, python):
    (castscope.folder / "castscope.py").write_text("name = 'mine'\n")
    done = castscope.run(python, "-c", "import castscope; print(castscope.name)",
                         env=clean_environment(PYTHONPATH=str(castscope.folder)))
    assert done.stdout == b"mine\n"


SEE_PATH = "import sys; print(sys.path, 'sitecustomize' in sys.modules)"


def path_of(castscope, python, *options, env=None):
    """sys.path in the job, and as it would be without castscope."""
    alone = subprocess.run([python, *options, "-c", SEE_PATH], cwd=castscope.folder, env=env or clean_environment(),
                           capture_output=True, text=True, check=True).stdout
    observed = castscope("run", "--force", "-o", "run", "--", python, *options, "-c", SEE_PATH,
                         env=env or clean_environment()).stdout.decode()
    return observed, alone


def test_the_package_is_last_on_the_path_which_is_otherwise_unchanged(castscope, python_without_us):
    observed, alone = path_of(castscope, python_without_us)
    package = observed[observed.rindex(", '"):observed.rindex("]")]
    assert package.endswith("/agent/python'") and observed.replace(package, "") == alone


@pytest.mark.parametrize("option", ["-I", "-E"])
def test_an_isolated_python_is_left_alone(castscope, python, option):
    observed, alone = path_of(castscope, python, option)
    assert observed == alone


def test_the_sitecustomize_of_the_user_is_run(castscope, python_without_us):
    (castscope.folder / "own").mkdir()
    (castscope.folder / "own" / "sitecustomize.py").write_text("import sys; sys.path.append('/by/sitecustomize')\n")
    observed, alone = path_of(castscope, python_without_us,
                              env=clean_environment(PYTHONPATH=castscope.folder / "own"))
    assert "/by/sitecustomize'] True" in alone and observed.count("/by/sitecustomize") == 1
    assert "/agent/python', '/by/sitecustomize'] True" in observed


def test_a_sitecustomize_that_fails_fails_as_without_us(castscope, python):
    (castscope.folder / "sitecustomize.py").write_text("import no_such_module\n")
    environment = clean_environment(PYTHONPATH=castscope.folder)
    alone = subprocess.run([python, "-c", ""], env=environment, capture_output=True, text=True, check=True).stderr
    observed = castscope.run(python, "-c", "", env=environment).stderr.decode()
    assert "No module named 'no_such_module'" in alone and "No module named 'no_such_module'" in observed


def test_a_castscope_that_is_installed_comes_first(castscope, tmp_path):
    """In a virtual environment that castscope did not find: the job starts its Python in another way."""
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    (packages,) = (tmp_path / "venv" / "lib").glob("python3*/site-packages")
    (packages / "castscope.py").write_text("name = 'installed'\n")
    done = castscope.run("sh", "-c", f"{tmp_path}/venv/bin/python -c 'import castscope; print(castscope.name)'")
    assert done.stdout == b"installed\n"


def test_run_directory_is_private_and_goes_away(castscope):
    done = castscope.run("sh", "-c", "stat -c %a $CASTSCOPE_RUN; echo $CASTSCOPE_RUN")
    mode, path = done.stdout.decode().split()
    assert mode == "700" and not os.path.exists(path)


# --- nobody reads what castscope says -------------------------------------------------------------------------------


@pytest.fixture
def full_pipe():
    """The writing end of a pipe without room, whose reader reads nothing."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writer, b"x" * 4096)
    yield writer
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("options", [[], ["--progress"], ["--collector", "127.0.0.1:1"]])
def test_a_job_ends_where_nobody_reads_what_castscope_says(castscope, full_pipe, options):
    done = castscope("run", "-o", "run", *options, "--", "sh", "-c", "exit 6", stderr=full_pipe,
                     stdout=subprocess.DEVNULL, capture_output=False, timeout=300)
    assert done.returncode == 6
    assert fcntl.fcntl(full_pipe, fcntl.F_GETFL) & os.O_NONBLOCK == 0
