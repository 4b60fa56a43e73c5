"""castscope comes to a running job and goes again: what it counts is what the job did meanwhile, and nothing else
changes. The commands are those of docs/attach.md, with the number of a process that is there."""

import contextlib
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "attach"))
import driver
import runs

CYCLES = 40


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    return driver.per_kind(tmp_path_factory.mktemp("oracle"))


@pytest.fixture
def started(tmp_path):
    with contextlib.ExitStack() as jobs:
        def start(name, *options, **more):
            job = driver.Job(tmp_path / name, *options, **more)
            jobs.callback(job.end)
            return job
        yield start


def castscope(*words, **environment):
    return subprocess.run([str(runs.CASTSCOPE), *map(str, words)], capture_output=True, text=True, timeout=300,
                          env=runs.clean_environment() | environment, check=False)


def plain_losses(folder, iterations):
    job = driver.Job(folder, plain=True, training=["--iterations", str(iterations)])
    assert job.process.wait(300) == 0
    return [loss for _, _, loss in job.iterations()]


def test_what_is_counted_is_what_was_watched(started, tmp_path, kinds):
    job = started("armed", "--armed")
    for _ in range(CYCLES):
        job.attach()
        job.detach()
    assert job.stop() == 0
    assert driver.counts_of(job) == driver.expected(job, kinds)
    iterations = job.iterations()
    assert [loss for _, _, loss in iterations] == plain_losses(tmp_path / "plain", len(iterations))
    process, = job.report()["processes"]
    assert process["span_count"] == len(process["spans"]) == CYCLES
    assert process["watched_ns"] == sum(span["end_ns"] - span["begin_ns"] for span in process["spans"])


def test_commands_let_go_of_a_job_come_back_and_look_deeper(started, kinds):
    job = started("watched", "--deep", "never")
    driver.wait_for(lambda: driver.Recorder.watches(job))
    done = castscope("detach", job.process.pid)  # all processes of that castscope
    assert (done.returncode, done.stdout) == (0, f"process {job.pid} is not watched\n"), done.stderr
    done = castscope("attach", job.pid)
    assert (done.returncode, done.stdout) == (0, f"process {job.pid} is watched\n"), done.stderr
    done = castscope("deep", job.pid, "--steps", 3)
    assert done.returncode == 0, done.stderr
    first = int(re.fullmatch(rf"process {job.pid} makes deep steps from step (\d+) on: 3\n", done.stdout).group(1))
    job.detach()
    assert job.stop() == 0
    assert driver.counts_of(job) == driver.expected(job, kinds)
    process, = job.report()["processes"]
    assert process["deep_steps"] == 3 and process["spans"][1]["last_step"] >= first + 2
    assert "was watched in 2 spans" in (job.folder / "stderr").read_text()


def test_a_job_that_stays_in_one_region(started):
    job = started("armed", "--armed", training=["--one-region"])
    assert castscope("attach", job.pid).returncode == 0
    job.go_on(10)
    assert castscope("detach", job.pid).returncode == 0
    assert job.stop() == 0
    assert job.report()["totals"]["facts_by_kind"]["older_copy"] > 0


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
def test_a_job_that_was_started_without_castscope(started, kinds):
    job = started("plain", plain=True)
    done = castscope("attach", job.pid)
    assert done.returncode == 2 and "gdb stops the job" in done.stderr
    recorder = driver.Recorder(job, "--gdb", "--stay")
    for _ in range(5):
        job.detach()
        job.attach()
    assert recorder.interrupt() == 0
    done = castscope("detach", job.pid)
    assert (done.returncode, done.stdout) == (0, f"process {job.pid} is not watched\n"), done.stderr
    done = castscope("deep", job.pid)
    assert done.returncode == 3 and f"nobody records process {job.pid} any more" in done.stderr
    directory = job.run_directory()
    job.go_on(5)
    assert job.stop() == 0
    assert driver.counts_of(job) == driver.expected(job, kinds)
    assert not directory.exists()


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
def test_the_name_of_a_run_has_nothing_of_what_is_hidden(started):
    job = started("plain", plain=True)
    recorder = driver.Recorder(job, "--gdb", named=False, environment={"CASTSCOPE_REDACT": "training"})
    assert recorder.interrupt() == 0
    run_file, = job.folder.glob("*.castscope")
    assert run_file.name.startswith("_redacted_-") and b"training.py" not in run_file.read_bytes()
    assert job.stop() == 0


def test_requests_that_make_no_sense_do_nothing_and_a_job_is_armed_by_the_variable_too(started):
    done = castscope("attach", 2_000_000)
    assert done.returncode == 2 and "there is no process 2000000" in done.stderr
    job = started("armed", environment={"CASTSCOPE_ARMED": "1"})
    with pytest.raises(RuntimeError, match="is no request"):
        driver.ask(job.run_directory(), "attach all")
    with pytest.raises(RuntimeError, match="no number of steps"):
        driver.ask(job.run_directory(), f"deep {job.pid} 0")
    with pytest.raises(RuntimeError, match="no process 1 of this run"):
        driver.ask(job.run_directory(), "attach 1")
    assert job.stop() == 0
    said = " ".join((job.folder / "stderr").read_text().split())
    assert "nobody attached to it: `castscope attach PID`" in said and "--deep" not in said
