"""Faults around a job with PyTorch: the job runs on, one sentence reports the fault, and nothing counted is lost."""

import concurrent.futures
import os
import pathlib
import shutil
import struct
import subprocess
import time

import pytest
from program import clean_environment
from work import CASTS, HITS, WORK, assert_worked, counted


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
    assert (report["run"]["exit_status"], report["run"]["complete"]) == (0, True)
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
    assert recovering.wait(timeout=300) == 0
    assert_worked(castscope.report(), 5)


def test_a_run_that_is_recorded_is_not_recovered(castscope, python):
    code = "import os, sys; print(os.environ['CASTSCOPE_RUN'], flush=True); sys.stdin.readline()"
    job = castscope.start(python, "-c", code, stdin=subprocess.PIPE)
    directory = job.stdout.readline().decode().strip()
    done = castscope("recover", directory)
    assert done.returncode == 3 and b"still being recorded" in done.stderr
    job.communicate(b"\n", timeout=300)


@pytest.mark.parametrize("name", ["thesis", "run-1-2-3"])
@pytest.mark.parametrize("options", [[], ["--discard"], ["-o", "x"]])
def test_a_folder_of_the_users_is_neither_recovered_nor_deleted(castscope, name, options):
    folder = castscope.folder / name
    (folder / "chapters").mkdir(parents=True, mode=0o700)
    folder.chmod(0o700)
    (folder / "thesis.tex").write_text("precious")
    done = castscope("recover", *options, folder)
    assert done.returncode == 3 and b"is not a run directory" in done.stderr and done.stderr.count(b"\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == ["chapters", "thesis.tex"]
    assert [path.name for path in castscope.folder.iterdir()] == [name]


def test_what_is_discarded_is_said_and_files_of_others_stay(castscope):
    job = castscope.start("sh", "-c", "echo $CASTSCOPE_RUN; read line", stdin=subprocess.PIPE)
    directory = pathlib.Path(job.stdout.readline().decode().strip())
    assert b"still runs" in castscope("recover", "--discard", directory).stderr
    job.kill()
    job.communicate(timeout=300)
    (directory / "thesis.tex").write_text("precious")
    assert b"it holds other files, which stay" in castscope("recover", "--discard", directory).stderr
    assert [path.name for path in directory.iterdir()] == ["thesis.tex"]
    (directory / "thesis.tex").unlink()
    assert f"deleted {directory}".encode() in castscope("recover", "--discard", directory).stderr
    assert not directory.exists()


def mounts_work():
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True,
                                                check=False).returncode == 0


@pytest.mark.parametrize("size", ["8k", "16k", "200k", "2500k"])
def test_full_shared_memory_is_a_sentence_and_a_process_without_room_makes_the_run_incomplete(castscope, python, size):
    if not mounts_work():
        pytest.skip("needs root for a mount of its own")
    script = (f'mount -t tmpfs -o size={size} none /dev/shm && exec "$@"')
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", str(castscope.program), "run", "-o", "run", "--",
                           python, "-c", WORK + "work(3)\nprint('done')"], cwd=castscope.folder, capture_output=True,
                          env=clean_environment(), timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, b"done\n"), done.stderr
    report = castscope.report()
    if counted(report) != (CASTS * 3, HITS * 3):  # a small ring may have found room
        assert b"/dev/shm" in done.stderr, done.stderr
    if size in ("8k", "16k"):
        assert report["run"]["complete"] is False
        assert b"autocast was never asked" not in done.stderr and b"no casts were recorded" in done.stderr


@pytest.fixture
def lonely(castscope, tmp_path):
    """The program alone, as if copied to another machine: nothing is beside it or in the cache."""
    folder = tmp_path / "lonely"
    folder.mkdir()
    shutil.copy2(castscope.program, folder / "castscope")

    def run(*command, output="run", **variables):
        return subprocess.run([str(folder / "castscope"), "run", "--force", "-o", output, "--", *command], cwd=tmp_path,
                              env=clean_environment(XDG_CACHE_HOME=tmp_path / "cache", **variables),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=500, check=False)
    return run


def test_without_an_agent_the_job_runs_and_it_is_said_once(castscope, python, lonely):
    code = WORK + "work(1)\nimport subprocess\nsubprocess.run([sys.executable, '-c', 'import torch'])\nsys.exit(3)\n"
    done = lonely(python, "-c", code, CXX="/bin/false")
    assert done.returncode == 3
    lines = done.stderr.splitlines()
    said = [line for line in lines if line.startswith(b"castscope: there is no agent for the PyTorch")]
    assert len(said) == 1  # and the summary at the end says it as a reason
    assert counted(castscope.report()) == (0, 0)
    assert any("there is no agent" in notice for notice in castscope.report()["run"]["notices"])
    assert b"cannot be built: the compiler fails (it does not say why), with the messages in" in done.stderr
    again = lonely(python, "-c", "", CXX="/bin/false").stderr
    assert b"building the agent" not in again and b"`castscope doctor --build` tries again" in again


def test_without_any_compiler_the_job_runs(castscope, python, lonely):
    folder = castscope.folder / "nothing"
    folder.mkdir()
    done = lonely(python, "-c", WORK + "work(1)\nprint('done')", PATH=folder)
    assert (done.returncode, done.stdout) == (0, b"done\n")
    assert b"no C++ compiler is found: install g++ (or set CXX)" in done.stderr and b"building" not in done.stderr


def compiler_that(folder, does):
    """A compiler of the test's own."""
    program = folder / "compiler"
    program.write_text(f"#!/bin/sh\n{does}\n")
    program.chmod(0o755)
    return program


def test_a_build_that_failed_is_tried_again_when_something_has_changed(castscope, python, lonely, tmp_path):
    compiler = compiler_that(tmp_path, "echo 'casting.cc:35: error: no good' >&2; exit 1")
    assert b"cannot be built: the compiler fails (error: no good)" in lonely(python, "-c", "", CXX=compiler).stderr
    assert b"building the agent" not in lonely(python, "-c", "", CXX=compiler).stderr
    compiler = compiler_that(tmp_path, "echo 'x.h: fatal error: still no good' >&2; exit 1")
    assert b"(fatal error: still no good)" in lonely(python, "-c", "", CXX=compiler).stderr


def test_what_an_interrupted_build_left_is_cleared_away(castscope, python, lonely, tmp_path):
    lonely(python, "-c", "", CXX="/bin/false")
    folder = next((tmp_path / "cache").glob("castscope/*"))
    (folder / "unproved-1" / "objects").mkdir(parents=True)
    for log in folder.glob("*.log"):
        log.unlink()
    lonely(python, "-c", "", CXX="/bin/false")
    assert not list(folder.glob("unproved-*"))


def test_a_build_without_room_on_the_disk_is_tried_again(castscope, python, lonely, tmp_path):
    compiler = compiler_that(tmp_path, "echo 'cannot write x.o: No space left on device' >&2; exit 1")
    for _ in range(2):
        done = lonely(python, "-c", "import torch; print('done')", CXX=compiler)
        assert (done.returncode, done.stdout) == (0, b"done\n")
        assert b"building the agent" in done.stderr and b"cannot be built: there is no room for it in" in done.stderr


def compilers():
    """The compilers have the build's names (cmake/Compiler.cmake) and use its cache, which would otherwise be looked
    for below XDG_CACHE_HOME: code that it has compiled is not compiled again."""
    if not shutil.which("ccache"):
        return {}
    folder = subprocess.run(["ccache", "--get-config", "cache_dir"], capture_output=True, text=True, check=True).stdout
    return {"CXX": "ccache c++", "CC": "ccache cc", "CCACHE_DIR": folder.strip()}


def test_the_program_alone_builds_what_it_needs_once(castscope, python, lonely):
    """Also where two first runs begin at once."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = [pool.submit(lonely, python, "-c", WORK + f"work({n})", output=f"run-{n}", **compilers())
                for n in (2, 4)]
        firsts = [run.result() for run in runs]
    assert all(first.returncode == 0 for first in firsts), firsts
    assert b"".join(first.stderr for first in firsts).count(b"building the agent for PyTorch") == 1, firsts
    for n in (2, 4):
        assert_worked(castscope.report(f"run-{n}"), n)
    second = lonely(python, "-c", WORK + "work(3)", CXX="/bin/false", CC="/bin/false")
    assert b"building" not in second.stderr
    assert_worked(castscope.report(), 3)


def test_unwritable_cache_falls_back(castscope, python, tmp_path):
    """Without a home to build in, castscope uses the folder for temporary files."""
    shutil.copy2(castscope.program, tmp_path / "castscope")
    spare = tmp_path / "spare"
    spare.mkdir()
    environment = clean_environment(XDG_CACHE_HOME="/proc/nowhere", HOME="/proc/nowhere", TMPDIR=spare,
                                    CXX="/bin/false")
    done = subprocess.run([str(tmp_path / "castscope"), "run", "-o", "run", "--", "true"], cwd=tmp_path,
                          env=environment, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0
    assert list(spare.glob("castscope-*/cache/*/libcastscope.so"))


def test_script_with_a_long_interpreter_line(castscope, python):
    """The file is as pip writes `torchrun`: the Python is found through the script."""
    script = castscope.folder / "tool"
    script.write_text(f"#!{python}\n" + WORK + "work(2)\n")
    script.chmod(0o755)
    assert castscope.run("./tool").returncode == 0
    assert_worked(castscope.report(), 2)


def test_nothing_is_left_in_shared_memory(castscope, python):
    code = WORK + "work(2)\nprint(os.environ['CASTSCOPE_RUN'])"
    done = castscope.run(python, "-c", code)
    assert not pathlib.Path(done.stdout.decode().strip()).exists()


def test_a_record_that_is_lost_is_not_recovered_as_a_run_without_casts(castscope, python):
    """The process had ended, and its whole record had gone to a file that no longer exists."""
    job = castscope.start("sh", "-c", "echo $CASTSCOPE_RUN; \"$0\" -c \"$1\"; echo over; read line", python,
                          WORK + "work(2)", stdin=subprocess.PIPE)
    directory = job.stdout.readline().decode().strip()
    assert job.stdout.readline() == b"over\n"
    wait_until(lambda: not list(pathlib.Path(directory).glob("*.lanes")))
    job.kill()
    job.communicate(timeout=300)
    (castscope.folder / "run.castscope").unlink()
    done = castscope("recover", directory)
    assert done.returncode == 3 and b"nothing that the recorder of this run had seen is left" in done.stderr
    report = castscope.report()
    assert report["run"]["complete"] is False
    assert any("nothing that the recorder of this run had seen is left" in notice
               for notice in report["run"]["notices"])


def left_by_a_dead_recorder(castscope, python, last="pass"):
    """The run directory of a job that goes on when castscope is killed, and ends before anybody recovers it."""
    code = WORK + (f"work(2)\nprint(os.environ['CASTSCOPE_RUN'], flush=True)\nsys.stdin.readline()\nwork(3)\n{last}\n")
    job = castscope.start(python, "-c", code, stdin=subprocess.PIPE)
    directory = pathlib.Path(job.stdout.readline().decode().strip())
    job.kill()
    job.wait()
    job.communicate(b"\n", timeout=300)
    return directory


def of_another_format(segment):
    whole = bytearray(segment.read_bytes())
    whole[8:12] = (99).to_bytes(4, "little")
    segment.write_bytes(whole)


def test_what_cannot_be_read_is_neither_deleted_nor_recovered_as_nothing(castscope, python):
    directory = left_by_a_dead_recorder(castscope, python)
    [segment] = directory.glob("*.lanes")
    was = segment.read_bytes()
    of_another_format(segment)
    for output in (["-o", "rescued"], []):  # the second goes on with the run file that was begun
        done = castscope("recover", *output, directory)
        assert done.returncode == 3 and b"it has format version 99" in done.stderr, done.stderr
        assert f"stays in {directory}: the castscope that recorded it".encode() in done.stderr
        assert segment.exists() and not list(castscope.folder.glob("rescued*"))
    segment.write_bytes(was)
    assert castscope("recover", directory).returncode == 0
    assert_worked(castscope.report(), 5)
    assert not directory.exists()


def damage_an_event_and_a_definition(segment):
    """Gives the newest event, and the first definition, a kind that there is not (agent/lanes/format.h)."""
    whole = bytearray(segment.read_bytes())
    lane, definitions = struct.unpack_from("<QQ", whole, 40)
    capacity, ring = struct.unpack_from("<IQ", whole, lane + 20)
    head, = struct.unpack_from("<Q", whole, lane + 64)
    whole[ring + (head - 1) % capacity * 64 + 60] = 200
    whole[definitions + 64 + 8] = 200
    segment.write_bytes(whole)


def test_damage_in_a_record_costs_what_is_damaged_and_no_count(castscope, python):
    directory = left_by_a_dead_recorder(castscope, python)
    [segment] = directory.glob("*.lanes")
    damage_an_event_and_a_definition(segment)
    done = castscope("recover", "-o", "rescued", directory)
    assert b"is damaged: " in done.stderr, done.stderr
    report = castscope.report("rescued")
    assert counted(report) == (CASTS * 5, HITS * 5)
    assert report["run"]["complete"] is False
    assert {one["incomplete_reason"] for one in report["run"]["missing"]} >= {"events_missing", "part_rejected",
                                                                              "process_unrecorded"}
    castscope("recover", "--discard", directory)


def test_of_what_can_be_read_in_part_the_rest_stays(castscope, python):
    directory = left_by_a_dead_recorder(castscope, python)
    [segment] = directory.glob("*.lanes")
    other = segment.with_name(segment.name.replace("-0.", "-1."))
    other.write_bytes(segment.read_bytes())
    of_another_format(other)
    done = castscope("recover", "-o", "rescued", directory)
    assert done.returncode == 3 and b"recovered " in done.stderr and f"stays in {directory}".encode() in done.stderr
    assert other.exists() and not segment.exists()
    report = castscope.report("rescued")
    assert report["run"]["complete"] is False
    assert any("it has format version 99" in notice for notice in report["run"]["notices"])
    castscope("recover", "--discard", directory)


def wait_until(condition, seconds=300):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_job_without_the_library_is_told(castscope, python):
    done = castscope.run("env", "-i", python, "-c", WORK + "work(1)")
    assert done.returncode == 0 and b"no process with PyTorch was seen" in done.stderr
    assert b"autocast was never asked" not in done.stderr
    assert any("no process with PyTorch was seen" in notice for notice in castscope.report()["run"]["notices"])
