"""The job's descriptors are its own: it closes them, runs out of them, or was started without the standard ones."""

import os

import pytest
from work import counted

GO = """
import os, sys, threading, torch
torch.set_num_threads(1)
linear, x = torch.nn.Linear(4, 4), torch.ones(2, 4)
def go(times=1):
    with torch.autocast("cpu", torch.bfloat16):
        for _ in range(times): linear(x)
def new_sites(n):
    for i in range(n): exec(compile("\\n" * i + "go()", "sites.py", "exec"))
"""
CASTS = 3  # of one go()


def test_a_job_that_closes_all_files_keeps_its_own(castscope, python):
    code = GO + """
go()
os.closerange(3, 256)
log = open("log", "w")
print("hello", file=log, flush=True)
thread = threading.Thread(target=go)
thread.start()
thread.join()
new_sites(600)
"""
    done = castscope.run(python, "-c", code)
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    assert (castscope.folder / "log").read_text() == "hello\n"
    report = castscope.report()
    assert (counted(report)[0], report["run"]["complete"]) == (602 * CASTS, True)
    assert len(report["sites"]) >= 600 * CASTS


@pytest.mark.parametrize("closed", [(0,), (2,), (0, 1, 2)])
def test_a_job_without_standard_files_has_none_of_ours(castscope, python, closed):
    """As after `2>&-`: what it writes there goes nowhere."""
    code = GO + f"CLOSED = {closed!r}" + """
descriptors = os.listdir("/proc/self/fd")
def write_anywhere():
    for fd in CLOSED:
        try: os.write(fd, b"x" * 4096)
        except OSError: pass
write_anywhere()
go()
write_anywhere()
assert os.listdir("/proc/self/fd") == descriptors
"""
    command = " ".join(["exec", '"$@"', *(f"{fd}>&-" for fd in closed)])
    done = castscope.run("sh", "-c", command, "sh", python, "-c", code)
    assert done.returncode == 0, done.stderr
    report = castscope.report()
    assert (counted(report)[0], report["run"]["complete"]) == (CASTS, True)


RIGHTS_TAKEN = {
    "user": "os.setuid(65534)",
    "root": "os.mkdir('jail'); os.chroot('jail')",
    "descriptors": "held = take_all()",
    "limit": "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
}
OF_ROOT = ("user", "root")
SET_UP = "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))\n" + GO + """
def take_all():
    held = []
    while True:
        try: held.append(os.dup(1))
        except OSError: return held
"""


def needs_root(what):
    if what in OF_ROOT and os.geteuid() != 0:
        pytest.skip("needs root")


@pytest.mark.parametrize("what", RIGHTS_TAKEN)
def test_a_job_that_gives_up_its_rights_before_the_first_cast_is_recorded(castscope, python, what):
    needs_root(what)
    done = castscope.run(python, "-c", f"{SET_UP}{RIGHTS_TAKEN[what]}\ngo()\n")
    assert done.returncode == 0, done.stderr
    report = castscope.report()
    assert (counted(report)[0], report["run"]["complete"], report["run"]["notices"]) == (CASTS, True, [])


def test_each_child_that_cannot_be_recorded_is_told(castscope, python):
    takings = [taking for what, taking in RIGHTS_TAKEN.items() if what not in OF_ROOT or os.geteuid() == 0]
    code = f"""{SET_UP}
for taking in {takings!r}:
    child = os.fork()
    if child == 0:
        exec(taking)
        go()
        os._exit(0)
    print(child, flush=True)
    assert os.waitpid(child, 0)[1] == 0
go()
"""
    done = castscope.run(python, "-c", code)
    assert done.returncode == 0, done.stderr
    report = castscope.report()
    assert (counted(report)[0], report["run"]["complete"]) == (CASTS, False)
    children, notices = done.stdout.decode().split(), report["run"]["notices"]
    assert len(children) == len(takings) and len(notices) == 2 * len(takings)
    for child in children:
        (notice,) = (notice for notice in notices if f"/{child}-0.lanes" in notice)
        assert "this process is not recorded" in notice
        assert any(named.startswith(f"process {child} has PyTorch and could not be recorded") for named in notices)
    assert {one["incomplete_reason"] for one in report["run"]["missing"]} == {"process_unrecorded"}


def test_children_that_never_cast_are_no_loss(castscope, python):
    code = SET_UP + """
for _ in range(3):
    if os.fork() == 0:
        if os.getuid() == 0: os.setuid(65534)
        os._exit(0)
    os.wait()
go()
"""
    assert castscope.run(python, "-c", code).returncode == 0
    report = castscope.report()
    assert (counted(report)[0], report["run"]["complete"], report["run"]["notices"]) == (CASTS, True, [])
    assert len(report["processes"]) == 1


def test_a_process_that_never_casts_leaves_no_file(castscope, python):
    code = ("import glob, os, subprocess, sys\n"
            "subprocess.run([sys.executable, '-c', 'import torch'], check=True)\n"
            "print(glob.glob(os.environ['CASTSCOPE_RUN'] + '/*.lanes'))\n")
    done = castscope.run(python, "-c", code)
    assert done.stdout == b"[]\n", done
    assert castscope.report()["processes"] == []
