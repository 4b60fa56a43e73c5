"""What the commands of docs/attach.md say where nothing comes of a request: nobody records the job, it has ended, it
does not use autocast, or somebody else records it. Nothing stays behind."""

import operator
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from test_attach import castscope, started  # noqa: F401

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "attach"))
import driver
import runs


def said_by(job):
    return " ".join((job.folder / "stderr").read_text().split())


@pytest.fixture
def idle(started):
    """A job that does not use autocast."""
    def start(*options, **more):
        return started("idle", *options, script=driver.IDLE, **more)
    return start


@pytest.fixture
def gdb(tmp_path):
    """Puts a program in the place of gdb; `$job` is the process that it is to stop, `$script` what it is to do. Returns
    what to give castscope, and afterwards the run directory that castscope made for it."""
    def make(does):
        program = tmp_path / "bin" / "gdb"
        program.parent.mkdir(exist_ok=True)
        asked = (f'for script; do [ "$before" = -p ] && job=$script; before=$script; done\n'
                 f'echo "${{script%/*}}" >{tmp_path}/directory\n')
        program.write_text(f"#!/bin/sh\n{asked}{does}\n")
        program.chmod(0o755)
        return {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    make.directory = lambda: pathlib.Path((tmp_path / "directory").read_text().strip())
    return make


def test_somebody_attached_and_autocast_was_not_used(idle):
    job = idle("--armed")
    done = castscope("attach", job.pid, "--wait", 0)
    assert done.returncode == 1 and "has not used autocast since" in done.stdout
    assert job.stop() == 0
    assert "somebody attached to it, and autocast was not used after that" in said_by(job)
    assert "nobody attached" not in said_by(job)


def test_a_recorder_that_is_stopped_does_not_answer(idle):
    job = idle("--armed")
    directory = job.run_directory()
    with driver.stopped(job.process.pid):
        for command in "attach", "deep", "detach":
            done = castscope(command, job.pid, "--wait", 0)
            assert done.returncode == 3 and "nobody who records the run answers" in done.stderr, done.stderr
    driver.wait_for(lambda: driver.status(directory, job.pid).deep_asked == 3)
    assert job.stop() == 0


def asking(*words):
    return subprocess.Popen([str(runs.CASTSCOPE), *map(str, words), "--wait", "60"], env=runs.clean_environment(),
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("whom, ended", [("pid", "process {pid} has ended"), ("process.pid", "the job has ended")])
def test_the_job_ends_while_somebody_waits_for_autocast(idle, whom, ended):
    job = idle("--armed")
    directory = job.run_directory()
    command = asking("attach", operator.attrgetter(whom)(job))
    driver.wait_for(lambda: driver.status(directory, job.pid).wanted)
    assert job.stop() == 0
    assert f"{ended.format(pid=job.pid)} meanwhile" in command.communicate(timeout=300)[1]
    assert command.returncode == 3


def test_the_job_ends_while_somebody_waits_for_deep_steps(started):
    job = started("armed", "--armed")
    job.attach()
    directory = job.run_directory()
    command = asking("deep", job.pid, "--steps", 1_000_000)
    driver.wait_for(lambda: driver.status(directory, job.pid).deep_asked)
    assert job.stop() == 0
    assert f"process {job.pid} has ended meanwhile" in command.communicate(timeout=300)[1]
    assert command.returncode == 3


def test_what_a_recorded_job_does_not_take(idle):
    job = idle("--armed")
    for words in ["-o", "foo"], ["--force"], ["--stay"]:
        done = castscope("attach", job.pid, *words, "--wait", 0)
        assert done.returncode == 2, done.stderr
        where, _, what = done.stderr.partition(": leave out ")
        assert where.endswith(f"is recorded already by process {job.process.pid}, into {job.folder}/run.castscope")
        assert words[0] in what
    assert driver.status(job.run_directory(), job.pid).wanted == 0
    done = castscope("attach", job.pid, "--gdb", "--wait", 0)
    assert done.returncode == 1 and "--gdb is not needed" in done.stderr
    assert job.stop() == 0


def test_a_thread_is_not_the_process(idle):
    job = idle("--armed")
    thread = (job.folder / "stdout").read_text().split()[-1]
    for command in "attach", "detach", "deep":
        done = castscope(command, thread)
        assert done.returncode == 2, command
        assert f"{thread} is a thread of process {job.pid}: name the process" in done.stderr, command
    assert job.stop() == 0


@pytest.mark.parametrize("kills", [
    "kill -KILL $job; until grep -q 'State:.Z' /proc/$job/status; do :; done",
    "echo castscope is in the process; kill -KILL $job",
])
def test_gdb_comes_to_nothing(idle, gdb, kills):
    job = idle(plain=True)
    for does, told in (("echo nothing doing; exit 1", "gdb could not bring castscope into the process: nothing doing"),
                       (kills, "has ended before castscope was in it")):
        done = castscope("attach", job.pid, "--gdb", **gdb(does))
        assert done.returncode == 3 and told in done.stderr, done.stderr
        assert not gdb.directory().exists()
    job.stop()


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
def test_gdb_reads_no_symbols_of_pytorch(idle, gdb, tmp_path):
    """They take ten times as long as all else, and the job stands still meanwhile."""
    job = idle(plain=True)
    listed = tmp_path / "listed"
    recorder = driver.Recorder(job, "--gdb", word="wanted", environment=gdb(
        f"sed -i 's/^detach$/info sharedlibrary\\n&/' \"$script\"\n{shutil.which('gdb')} \"$@\" | tee {listed}"))
    assert job.stop() == 0
    recorder.process.communicate(timeout=300)
    libraries = [line.split() for line in listed.read_text().splitlines() if line.startswith("0x")]
    read = {pathlib.Path(line[-1]).name: line[2] == "Yes" for line in libraries}
    assert read["libc.so.6"] and not any(read[name] for name in ("libtorch_cpu.so", "libtorch_python.so")), read


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
def test_a_job_that_ends_while_it_is_watched_leaves_nothing(idle):
    job = idle(plain=True)
    recorder = driver.Recorder(job, "--gdb", word="wanted")
    directory = job.run_directory()
    assert job.stop() == 0
    said = " ".join(recorder.process.communicate(timeout=300)[1].split())
    assert recorder.process.returncode == 0
    assert "which did not enter autocast meanwhile" in said and "--deep" not in said, said
    assert not directory.exists()
