"""What keeps castscope from a job, found by `castscope doctor` before the job starts: each trouble with what to do."""

import json
import shutil
import subprocess

import pytest
from program import CAN_MOUNT, clean_environment
from test_preload import seal

WITH_MOUNTS = pytest.mark.skipif(not CAN_MOUNT, reason="file systems cannot be mounted here")


def examined(program, *words, before=(), **variables):
    """The checks by their names; of several of one name the last."""
    done = subprocess.run([*map(str, before), str(program), "doctor", "--json", *map(str, words)], capture_output=True,
                          timeout=100, check=False, env=clean_environment(**variables))
    assert done.returncode in (0, 1), done.stderr
    checks = {check["check_name"]: check for check in json.loads(done.stdout)["checks"]}
    assert done.returncode == (1 if any(check["check_state"] == "problem" for check in checks.values()) else 0)
    return checks


@pytest.fixture
def alone(castscope, tmp_path):
    (tmp_path / "alone").mkdir()
    return shutil.copy2(castscope.program, tmp_path / "alone" / "castscope")


def test_a_launcher_that_drops_the_environment(castscope, python):
    check = examined(castscope.program, "--", "sudo", "-u", "me", python, "train.py")["command"]
    assert (check["check_state"], check["found"]) == (
        "problem", "sudo drops LD_PRELOAD, as every program that changes the user does")
    assert "castscope run --" in check["fix"]
    assert "command" not in examined(castscope.program, "--", python)


def test_a_library_that_is_not_in_the_container(castscope, python):
    check = examined(castscope.program, "--", python, LD_PRELOAD="/nowhere/libcastscope.so")["environment"]
    assert check["check_state"] == "problem" and "which is not here" in check["found"] and "mount" in check["fix"]


def test_a_glibc_that_is_too_old(castscope, python, alone, tmp_path):
    library = castscope.preload.read_bytes()
    alone.write_bytes(alone.read_bytes().replace(library, library.replace(b"GLIBC_2.17\0", b"GLIBC_9.17\0")))
    check = examined(alone, "--", python, XDG_CACHE_HOME=tmp_path / "cache")["preload"]
    assert check["check_state"] == "problem" and "GLIBC_9.17" in check["found"]
    assert check["fix"] == "castscope needs glibc 2.17 or newer: use a newer system or container"


def test_a_libstdcxx_that_is_older_than_the_agents(castscope, python, alone, tmp_path):
    examined(alone, "--", python, XDG_CACHE_HOME=tmp_path / "cache")
    agent = next((castscope.program.parent / "agents").glob("castscope_agent-*.so"))
    content = agent.read_bytes()[:-24]  # without its seal
    assert content.count(b"\0GLIBCXX_3.4.21\0") == 1
    newer = next((tmp_path / "cache").glob("castscope/*")) / agent.name
    newer.write_bytes(content.replace(b"\0GLIBCXX_3.4.21\0", b"\0GLIBCXX_9.4.21\0"))
    seal(newer)
    check = examined(alone, "--", python, XDG_CACHE_HOME=tmp_path / "cache")["attaching"]
    assert check["check_state"] == "problem" and "GLIBCXX_9.4.21" in check["found"]
    assert check["fix"].startswith("this Python brings an older libstdc++")


@WITH_MOUNTS
@pytest.mark.parametrize(("size", "sentence"), [
    ("16m", "a process may take up to 48 MB"), ("64m", "not enough for two")])
def test_a_small_shared_memory(castscope, python, size, sentence):
    mount = ("unshare", "-m", "sh", "-c", f'mount -t tmpfs -o size={size} tmpfs /dev/shm && exec "$@"', "sh")
    check = examined(castscope.program, "--", python, before=mount)["memory"]
    assert check["check_state"] == "warning" and sentence in check["found"] and "--shm-size" in check["fix"]


@WITH_MOUNTS
def test_no_shared_memory(castscope, python):
    mount = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs -o ro tmpfs /dev/shm && exec "$@"', "sh")
    checks = examined(castscope.program, "--", python, before=mount)
    assert checks["memory"]["check_state"] == "warning" and "cannot be written" in checks["memory"]["found"]
    assert checks["attaching"]["check_state"] == "ok"  # it goes without


FILTER = """
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char** words) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  if (count < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 9;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return 9;
  execv(words[1], words + 1);
  return 8;
}
"""


def test_a_filter_of_system_calls(castscope, python, tmp_path):
    (tmp_path / "filter.c").write_text(FILTER)
    subprocess.run(["gcc", "filter.c", "-o", "filter"], cwd=tmp_path, check=True)
    checks = examined(castscope.program, "--", python, before=[tmp_path / "filter"])
    assert checks["seccomp"]["check_state"] == "warning" and "memfd_create fails" in checks["seccomp"]["found"]
    assert checks["seccomp"]["found"].startswith("a filter of system calls is on") and checks["seccomp"]["fix"]
    assert examined(castscope.program, "--", python)["seccomp"]["check_state"] == "ok"
