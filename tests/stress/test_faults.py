"""Faults around a run: bad run files, a collector that is missing or dies, a full disk. In each the job does what it
would have done alone, and castscope says in one sentence what happened."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time

import known_loop
import pytest
import runs

ITERATIONS = 200


@pytest.fixture(autouse=True)
def folder_for_what_finds_no_other_place(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def loop(progress, iterations=ITERATIONS):
    known_loop.create(progress)
    return [sys.executable, known_loop.__file__, str(progress), str(iterations)]


def castscope(*arguments, cwd=None, prefix=()):
    return subprocess.run([*prefix, str(runs.CASTSCOPE), *map(str, arguments)], env=runs.clean_environment(), cwd=cwd,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="backslashreplace",
                          timeout=300,
                          check=False)


def assert_sentence(done, *words):
    """It failed, by its own decision, with a sentence that has these words; nothing on standard output, and nothing on
    the terminal that a person cannot read, whatever a damaged file holds."""
    assert done.returncode > 0, done
    assert done.stdout == ""
    for word in words:
        assert str(word) in done.stderr, done.stderr
    assert done.stderr.removesuffix("\n").isprintable() and "\\x" not in done.stderr, repr(done.stderr)


# --- run files ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def good_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good")
    done = castscope("run", "-o", folder / "run", "--", *loop(folder / "progress"))
    assert done.returncode == 0, done.stderr
    return folder / "run.castscope"


def test_the_report_of_a_file_is_the_one_of_the_run(good_file):
    done = castscope("report", good_file)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads(good_file.with_suffix(".json").read_text())


@pytest.mark.parametrize("part", [0.0, 0.0001, 0.01, 0.3, 0.6, 0.9])
def test_a_truncated_file_is_a_sentence(good_file, tmp_path, part):
    cut = tmp_path / "cut.castscope"
    data = good_file.read_bytes()
    cut.write_bytes(data[:int(len(data) * part)])
    done = castscope("report", cut)
    if done.stdout == "":
        assert_sentence(done, "cut.castscope")
        return
    # Where the tables were whole, the report has what can be read of the rest.
    assert done.returncode == 3 and "cut.castscope" in done.stderr
    assert "cut short" in json.loads(done.stdout)["run"]["damage"]


def foreign_text(path):
    path.write_text("loss 0.1\n" * 1000)


def foreign_database(path):
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("create table sites (a, b)")
        database.commit()


def foreign_folder(path):
    path.mkdir()


def no_file(_path):
    pass


@pytest.mark.parametrize("make", [foreign_text, foreign_database, foreign_folder, no_file])
@pytest.mark.parametrize("command", ["report", "convert"])
def test_a_foreign_file_is_a_sentence(make, command, tmp_path):
    path = tmp_path / "foreign.castscope"
    make(path)
    assert_sentence(castscope(command, path), "foreign.castscope")


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_file_is_a_report_or_a_sentence(good_file, tmp_path, seed):
    import random
    chance = random.Random(seed)
    data = bytearray(good_file.read_bytes())
    for _ in range(chance.choice([1, 20, 400])):
        data[chance.randrange(100, len(data))] = chance.randrange(256)
    damaged = tmp_path / "damaged.castscope"
    damaged.write_bytes(data)
    done = castscope("report", damaged)
    if done.stdout == "":
        assert_sentence(done, "damaged.castscope")
        return
    told = json.loads(done.stdout)  # of what can be read
    assert done.returncode == (3 if told["run"]["damage"] else 0), done
    assert (done.returncode == 3) == ("damaged.castscope" in done.stderr), done


# --- the collector --------------------------------------------------------------------------------------------------


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def assert_job_is_untouched(outcome, progress, iterations=ITERATIONS):
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout == ""
    assert known_loop.read(progress)[2] == iterations


def test_without_its_collector_the_job_runs_and_it_is_said(tmp_path):
    port = free_port()
    done = castscope("run", "-o", tmp_path / "run", "--collector", f"127.0.0.1:{port}", "--",
                     *loop(tmp_path / "progress"))
    assert_job_is_untouched(done, tmp_path / "progress")
    assert f"127.0.0.1:{port}" in done.stderr


class Collector:
    def __init__(self, port, folder):
        self.port, self.folder = port, folder
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            [str(runs.CASTSCOPE), "serve", "--listen", f"127.0.0.1:{self.port}", "--folder", str(self.folder)],
            env=runs.clean_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 300
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            assert self.process.poll() is None and time.monotonic() < deadline, "the collector does not listen"
            time.sleep(0.01)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=300)


def wait_for(job, progress, iterations):
    deadline = time.monotonic() + 120
    while known_loop.read(progress)[2] < iterations:
        assert job.poll() is None and time.monotonic() < deadline, "the job does not come forward"
        time.sleep(0.001)


def start_with_collector(tmp_path, collector, iterations):
    progress = tmp_path / "progress"
    command = loop(progress, iterations)
    job = subprocess.Popen([str(runs.CASTSCOPE), "run", "--collector", f"127.0.0.1:{collector.port}", "--", *command],
                           env=runs.clean_environment(), cwd=tmp_path, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return job, progress


def test_a_collector_that_dies_and_comes_back_loses_and_doubles_nothing(iteration, tmp_path):
    folder = tmp_path / "collected"
    folder.mkdir()
    collector = Collector(free_port(), folder)
    collector.start()
    iterations = 20_000
    job, progress = start_with_collector(tmp_path, collector, iterations)
    wait_for(job, progress, iterations // 10)
    collector.kill()
    wait_for(job, progress, iterations // 2)
    collector.start()
    said = job.communicate(timeout=300)[1]
    assert job.returncode == 0, said
    assert known_loop.read(progress)[2] == iterations
    assert collector.stop() == 0
    (file,) = folder.glob("*.castscope")
    totals = json.loads(castscope("report", file).stdout)["totals"]
    assert totals["casts"] == iterations * iteration.count("c")
    assert totals["cache_hits"] == iterations * iteration.count("h")
    assert totals["pass_throughs"] == iterations * iteration.count("p")


def test_a_collector_that_dies_for_good_leaves_the_job_alone(tmp_path):
    folder = tmp_path / "collected"
    folder.mkdir()
    collector = Collector(free_port(), folder)
    collector.start()
    iterations = 5_000
    job, progress = start_with_collector(tmp_path, collector, iterations)
    wait_for(job, progress, iterations // 10)
    collector.kill()
    out, said = job.communicate(timeout=300)
    assert (job.returncode, out) == (0, ""), said
    assert known_loop.read(progress)[2] == iterations
    assert f"127.0.0.1:{collector.port}" in said


# --- the disk -------------------------------------------------------------------------------------------------------

# A small file system of its own, mounted for one command only.
MOUNT = 'mount -t tmpfs -o size="$1" none "$2" && shift 2 && exec "$@"'


def can_mount():
    probe = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /mnt"]
    return bool(shutil.which("unshare")) and subprocess.run(probe, capture_output=True, check=False).returncode == 0


def test_a_full_disk_stops_the_account_and_not_the_job(tmp_path):
    if not can_mount():
        pytest.skip("mounting a small file system needs root")
    small, progress = tmp_path / "small", tmp_path / "progress"
    small.mkdir()
    done = castscope("run", "-o", small / "run", "--keep", "all", "--", *loop(progress, 30_000), cwd=tmp_path,
                     prefix=["unshare", "-m", "sh", "-c", MOUNT, "sh", "256k", str(small)])
    assert_job_is_untouched(done, progress, 30_000)
    assert "run.castscope" in done.stderr and "full" in done.stderr, done.stderr


def test_a_full_device_for_the_report_is_said():
    if not pathlib.Path("/dev/full").exists() or not os.access("/dev/full", os.W_OK):
        pytest.skip("there is no /dev/full here")
    done = castscope("run", "-o", "/dev/full", "--", "true")
    assert done.returncode == 0 and "/dev/full" in done.stderr
