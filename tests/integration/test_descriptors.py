"""The job's descriptors are its own: it closes them, runs out of them, or was started without the standard ones."""

import os
import subprocess

import pytest
from program import clean_environment
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
    code = GO + """
descriptors = os.listdir("/proc/self/fd")
def write_anywhere():
    for fd in %r:
        try: os.write(fd, b"x" * 4096)
        except OSError: pass
write_anywhere()
go()
write_anywhere()
assert os.listdir("/proc/self/fd") == descriptors
""" % (closed,)
    command = " ".join(["exec", '"$@"', *(f"{fd}>&-" for fd in closed)])
    done = castscope.run("sh", "-c", command, "sh", python, "-c", code)
    assert done.returncode == 0, done.stderr
    report = castscope.report()
    assert (counted(report)[0], report["run"]["complete"]) == (CASTS, True)
