"""What keeps castscope from a job, found by `castscope doctor` before the job starts: each trouble with what to do."""

import json
import re
import shutil
import subprocess

import pytest
from collectors import certificate_for_loopback
from program import CAN_MOUNT, clean_environment
from test_collector_access import guarded, token_file  # noqa: F401
from test_preload import seal
from work import WORK

WITH_MOUNTS = pytest.mark.skipif(not CAN_MOUNT, reason="file systems cannot be mounted here")


def examined(program, *words, before=(), **variables):
    """The checks by their names; of several of one name the last."""
    done = subprocess.run([*map(str, before), str(program), "doctor", "--json", *map(str, words)], capture_output=True,
                          timeout=300, check=False, env=clean_environment(**variables))
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


def spool_of(castscope, folder, most="1 MB", **variables):
    return examined(castscope.program, CASTSCOPE_SPOOL=folder, CASTSCOPE_SPOOL_BYTES=most, **variables)["spool"]


def test_what_waits_in_the_spool(castscope, python, tmp_path):
    spool = tmp_path / "state" / "spool"
    check = spool_of(castscope, spool)
    assert (check["check_state"], check["found"]) == ("ok", f"{spool}: 0.0 MB of 1.0 MB") and not spool.exists()
    done = castscope("run", "--collector", f"unix:{tmp_path}/nobody", "--", python, "-c", WORK + "work(1)",
                     env=clean_environment(CASTSCOPE_SPOOL=spool, CASTSCOPE_SPOOL_BYTES="1 MB"))
    assert done.returncode == 0, done.stderr
    check = spool_of(castscope, spool)
    assert check["check_state"] == "warning" and "castscope recover --all" in check["fix"]
    assert check["found"].startswith(f"1 run waits for a collector in {spool}: 0.0")
    one, = spool.iterdir()
    (spool / one.name.replace(".", "2.", 1)).write_bytes(one.read_bytes()[:20])
    check = spool_of(castscope, spool)
    assert check["found"].startswith(
        f"1 run waits for a collector, and 1 damaged file says no more where to go in {spool}: 0.0")
    check = spool_of(castscope, spool, most="100")
    assert check["check_state"] == "warning" and f"{spool} is full" in check["found"]


def test_a_spool_that_takes_nothing(castscope, tmp_path):
    (tmp_path / "file").touch()
    check = spool_of(castscope, tmp_path / "file" / "spool")
    assert check["check_state"] == "warning" and check["found"] == f"{tmp_path}/file is not a folder"
    check = spool_of(castscope, tmp_path, most="lots")
    assert check["check_state"] == "warning" and '"lots", which is no amount of bytes' in check["found"]
    assert spool_of(castscope, tmp_path, most="0")["found"] == "none: CASTSCOPE_SPOOL_BYTES is 0"


@WITH_MOUNTS
@pytest.mark.parametrize(("options", "sentence"), [("ro", "cannot be written: Read-only file system"),
                                                   ("size=1m", "and the disk has 1.0 MB left")])
def test_a_spool_on_a_disk_that_takes_nothing(castscope, tmp_path, options, sentence):
    mount = ("unshare", "-m", "sh", "-c", f'mount -t tmpfs -o {options} tmpfs {tmp_path} && exec "$@"', "sh")
    check = examined(castscope.program, before=mount, CASTSCOPE_SPOOL=tmp_path / "spool",
                     CASTSCOPE_SPOOL_BYTES="1 GB")["spool"]
    assert check["check_state"] == "warning" and sentence in check["found"] and check["fix"]


def collector_of(castscope, *words, **variables):
    return examined(castscope.program, *words, **variables).get("collector")


def test_a_collector_that_takes_everybody(castscope, collector):
    check = collector_of(castscope, "--collector", collector.address)
    assert (check["check_state"], check["found"]) == (
        "ok", f"the collector at {collector.address} answers and lets in who gives no token")
    assert collector_of(castscope, CASTSCOPE_COLLECTOR=collector.address)["check_state"] == "ok"
    assert collector_of(castscope) is None
    collector.stop()
    assert [one.name for one in collector.folder.iterdir()] == [".castscope-serve.lock"] and "run" not in collector.log


def test_a_collector_with_a_token(castscope, guarded, token_file):
    right = collector_of(castscope, "--collector", guarded.address, "--token-file", str(token_file))
    assert right["check_state"] == "ok" and right["found"].endswith("lets in who gives this token")
    by_variable = collector_of(castscope, "--collector", guarded.address, CASTSCOPE_TOKEN_FILE=token_file)
    assert by_variable["check_state"] == "ok"
    for words, sentence in (([], "was given none"), (["--token", "wrong"], "does not know the token")):
        check = collector_of(castscope, "--collector", guarded.address, *words)
        assert check["check_state"] == "problem" and sentence in check["found"]
        assert "--token-file" in check["fix"]
    guarded.stop()
    assert [one.name for one in guarded.folder.iterdir()] == [".castscope-serve.lock"]


def test_a_collector_that_is_not_there(castscope, tmp_path):
    check = collector_of(castscope, "--collector", f"unix:{tmp_path}/nobody")
    assert check["check_state"] == "problem" and "does not answer: " in check["found"]
    assert "castscope serve" in check["fix"]
    check = collector_of(castscope, "--collector", "nonsense")
    assert check["check_state"] == "problem" and '"nonsense" is not a collector\'s address' in check["found"]


def test_a_collector_whose_authority_is_not_known(castscope, tmp_path):
    """With the certificate itself as its authority, the collector is known."""
    certificate_for_loopback(tmp_path)
    command = [str(castscope.program), "serve", "--listen", "127.0.0.1:0", "--cert", "cert.pem", "--key", "key.pem"]
    with subprocess.Popen(command, cwd=tmp_path, env=clean_environment(), stderr=subprocess.PIPE, text=True) as server:
        try:
            address = re.search(r"collecting on (\S+?),? ", server.stderr.readline() + " ")[1]
            known = collector_of(castscope, "--collector", address, "--ca", str(tmp_path / "cert.pem"))
            assert known["check_state"] == "ok" and "answers by TLS" in known["found"], known
            unknown = collector_of(castscope, "--collector", address, "--tls")
            assert unknown["check_state"] == "problem" and "no authority that this system knows" in unknown["found"]
            in_clear = collector_of(castscope, "--collector", address)
            assert in_clear["check_state"] == "problem" and "the collector speaks TLS there" in in_clear["found"]
        finally:
            server.terminate()
