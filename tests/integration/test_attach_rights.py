"""castscope starts the Python of the process that it is attached to: so it comes into no process of another user, and
into none that may do less than itself. What these processes pretend to be their Python is a program that leaves a file
when somebody starts it."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

PRETENDER = r"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int count, char** words) {
  if (count > 2) {  /* castscope's questions */
    close(open("FOLDER/was-started", O_CREAT | O_WRONLY, 0666));
    puts("True");
    return 0;
  }
  if (count > 1) prctl(PR_SET_DUMPABLE, 0);  /* /proc shows root as its owner then */
  void* at = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, open("FOLDER/libtorch_cpu.so", O_RDONLY), 0);
  puts(at == MAP_FAILED ? "failed" : "ready");
  fflush(stdout);
  for (;;) pause();
}
"""
OTHER_USER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
FEWER_RIGHTS = ["setpriv", "--bounding-set=-sys_admin"]



def cannot_be_others():
    return (os.geteuid() != 0 or shutil.which("cc") is None or
            subprocess.run([*FEWER_RIGHTS, "true"], capture_output=True, check=False).returncode != 0)


pytestmark = pytest.mark.skipif(cannot_be_others(), reason="needs root, who can be other users, and a compiler")


@pytest.fixture
def pretender():
    """The folder of the program, which every user may read and write."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o777)
        (folder / "libtorch_cpu.so").touch()
        (folder / "python3.c").write_text(PRETENDER.replace("FOLDER", name))
        subprocess.run(["cc", "-o", folder / "python3", folder / "python3.c"], check=True)
        yield folder


@contextlib.contextmanager
def running(folder, *by, words=()):
    process = subprocess.Popen([*by, folder / "python3", *words], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        yield process.pid
    finally:
        process.kill()
        process.communicate()


def attach_to(castscope, pid):
    done = castscope("attach", pid, "-o", "attached")
    return done.returncode, done.stderr.decode()


def test_root_starts_a_program_of_its_own_alone(castscope, pretender):
    with running(pretender) as pid:
        attach_to(castscope, pid)
    assert (pretender / "was-started").exists()


@pytest.mark.parametrize("words", [(), ("hidden",)], ids=["plain", "not dumpable"])
def test_root_starts_no_program_of_another_user(castscope, pretender, words):
    with running(pretender, *OTHER_USER, words=words) as pid:
        status, said = attach_to(castscope, pid)
    assert status == 3 and f"process {pid} belongs to user 65534: run castscope as that user" in said, said
    assert not (pretender / "was-started").exists()


def test_root_starts_no_program_of_root_that_has_fewer_rights(castscope, pretender):
    with running(pretender, *FEWER_RIGHTS) as pid:
        status, said = attach_to(castscope, pid)
    assert status == 3 and f"process {pid} may do less than castscope" in said, said
    assert not (pretender / "was-started").exists()


def test_no_module_of_the_working_folder_is_run(castscope, python):
    for module in ("importlib", "contextlib", "types", "warnings"):
        (castscope.folder / f"{module}.py").write_text("open('was-run', 'w')\n")
    castscope("doctor", "--", python)
    assert not (castscope.folder / "was-run").exists()
