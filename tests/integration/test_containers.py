"""`castscope env --docker`: what it prints is given to a container, made of mounts and a process namespace here. It has
no more of this machine than Python and the system's libraries, and ends when its first process does."""

import os
import pathlib
import shlex
import subprocess
import sys

import pytest
from program import CAN_MOUNT, clean_environment
from reports import read_report
from work import WORK, assert_worked

pytestmark = pytest.mark.skipif(not CAN_MOUNT, reason="only root can mount, and not everywhere")

SYSTEM = ["/usr/bin", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/bin", "/sbin", "/lib", "/lib64", "/etc",
          "/dev/null", "/dev/urandom"]


def mount(here, there, root, read_only=False):
    """Shell: mounts a folder or a file; a link is copied."""
    target = f"{root}{there}"
    if os.path.islink(here):
        return f"cp -P {here} {target}\n"
    make = f"mkdir -p {target}" if os.path.isdir(here) else f"mkdir -p {os.path.dirname(target)} && : > {target}"
    only = f"mount -o remount,ro,bind {target}\n" if read_only else ""
    return f"{make}\nmount --bind {here} {target}\n{only}"


def contained(folder, words, command):
    """Runs a command with the mounts and variables of `docker run`'s options; returns its exit status, and stderr."""
    root = folder / "root"
    root.mkdir()
    script = f"set -e\nmount -t tmpfs none {root}\nmkdir -p {root}/proc {root}/tmp {root}/dev/shm\n"
    pythons = {sys.prefix, sys.base_prefix}
    for path in [*SYSTEM, *sorted(pythons)]:
        if os.path.exists(path) and not any(path.startswith(f"{other}/") for other in SYSTEM):
            script += mount(path, path, root)
    variables = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root"}
    for word in words:
        name, _, value = word.partition("=")
        if name == "--volume":
            here, there, *options = value.split(":")
            assert options in ([], ["ro"])
            script += mount(here, there, root, read_only=bool(options))
        else:
            assert name == "--env"
            variables.update([value.split("=", 1)])
    script += f"mount -t proc none {root}/proc\n"
    inside = ["env", "-i", *(f"{name}={value}" for name, value in variables.items()), *command]
    script += f"exec chroot {root} {shlex.join(inside)}\n"
    return subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script], cwd=folder,
                          env=clean_environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=300, check=False)


@pytest.fixture
def options(castscope):
    def printed(*arguments):
        done = castscope("env", "--docker", *arguments, "--", sys.executable, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()
    return printed


def test_a_job_in_a_container_is_observed(castscope, options):
    """The job is the container's first process: nothing outlives it. The run file is there all the same."""
    (castscope.folder / "runs").mkdir()
    job = [sys.executable, "-c", WORK + "work(3); sys.exit(4)"]
    done = contained(castscope.folder, options("-o", "runs/one"), job)
    assert done.returncode == 4, done.stderr
    report = read_report(castscope.folder / "runs/one.json")
    assert_worked(report, 3)
    assert (report["run"]["exit_status"], report["run"]["complete"]) == (4, True)


def test_what_is_missing_is_said(castscope):
    done = castscope("env", "--docker", "-o", "nowhere/one", "--", sys.executable, text=True)
    assert done.returncode == 2 and done.stdout == ""
    assert f"{pathlib.Path(castscope.folder)}/nowhere: there is no such folder" in done.stderr


def test_forms_exclude_each_other(castscope):
    done = castscope("env", "--docker", "--ray", text=True)
    assert done.returncode == 2 and "--docker" in done.stderr
