"""The files of a run: names, folders, files that exist already or cannot be written."""

import contextlib
import fcntl
import json
import os
import shutil
import stat
import struct
import subprocess
import termios
import threading

import pytest
from program import clean_environment
from reports import read_report
from terminals import open_terminal
from work import WORK, assert_worked


def test_leaves_both_files(castscope):
    castscope.run("true")
    assert castscope.report()["run"]["complete"] is True
    assert castscope.report()["totals"]["casts"] == 0


@pytest.mark.parametrize("wish, name", [("a.castscope", "a"), ("b.json", "b"), ("c", "c"), ("d/e", "d/e"),
                                        ("lr0.001", "lr0.001")])
def test_output_names(castscope, wish, name):
    castscope.run("true", output=wish)
    assert {str(path.relative_to(castscope.folder)) for path in castscope.folder.rglob("*.*") if path.is_file()} == \
        {f"{name}.castscope", f"{name}.json"}


def test_output_into_a_folder(castscope):
    (castscope.folder / "runs").mkdir()
    castscope.run("true", output="runs")
    names = sorted(path.suffix for path in (castscope.folder / "runs").iterdir())
    assert names == [".castscope", ".json"]


def test_default_output(castscope, python):
    (castscope.folder / "train.py").write_text("pass\n")
    castscope("run", "--", python, "train.py")
    castscope("run", "--", python, "train.py")
    assert len(list(castscope.folder.glob("train-*.castscope"))) == 2


def test_an_empty_output_name_is_refused(castscope):
    done = castscope.run("touch", "started", output="")
    assert done.returncode == 125 and done.stderr == (
        b"castscope: -o is given an empty name: name the run, or leave -o out for a default name\n")
    assert not (castscope.folder / "started").exists()


@pytest.mark.parametrize("existing", ["run.castscope", "run.json"])
def test_existing_output_is_not_overwritten(castscope, existing):
    (castscope.folder / existing).write_text("precious")
    done = castscope.run("touch", "started")
    assert done.returncode == 125 and b"--force" in done.stderr
    assert (castscope.folder / existing).read_text() == "precious"
    assert not (castscope.folder / "started").exists()


def test_force_overwrites(castscope):
    castscope.run("true")
    done = castscope("run", "--force", "-o", "run", "--", "sh", "-c", "exit 3")
    assert done.returncode == 3
    assert read_report(castscope.folder / "run.json")["run"]["command"] == ["sh", "-c", "exit 3"]


def test_unwritable_output_is_said_and_the_job_runs(castscope, tmp_path):
    spare = tmp_path / "spare"
    spare.mkdir()
    done = castscope.run("sh", "-c", "echo out; exit 3", output="/proc/nowhere/run",
                         env=clean_environment(TMPDIR=spare))
    assert (done.returncode, done.stdout) == (3, b"out\n")
    assert b"/proc/nowhere/run.castscope cannot be written" in done.stderr
    assert len(list(spare.glob("*.castscope"))) == 1


def test_no_place_for_a_run_directory(castscope, tmp_path):
    """Nothing can be recorded; the job runs all the same."""
    if os.geteuid() != 0:
        pytest.skip("needs root for a mount of its own")
    probe = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        pytest.skip("no mount namespaces here")
    script = ("mount -t tmpfs -o ro none /dev/shm && mount -t tmpfs -o ro none /tmp && "
              f"exec {castscope.program} run -o {{}} -- sh -c 'echo out; exit 3'")
    folder = "/var/tmp/castscope-test"
    os.makedirs(folder, exist_ok=True)
    done = subprocess.run(["unshare", "-m", "sh", "-c", script.format(f"{folder}/run")], cwd="/", capture_output=True,
                          env=clean_environment(TMPDIR="/tmp"), timeout=300, check=False)
    assert (done.returncode, done.stdout) == (3, b"out\n")
    assert b"runs unobserved" in done.stderr
    os.rmdir(folder)


def test_paths_with_blanks_and_colons(castscope, tmp_path):
    """LD_PRELOAD cannot name a library there; the job is observed all the same."""
    folder = tmp_path / "a folder: with all"
    folder.mkdir()
    for name in ("castscope", "libcastscope.so", "castscope-trivial"):
        shutil.copy2(castscope.program.parent / name, folder / name)
    done = subprocess.run([str(folder / "castscope"), "run", "-o", "run", "--", "sh", "-c", "echo $LD_PRELOAD; true"],
                          cwd=castscope.folder, env=clean_environment(CXX="/bin/false"), capture_output=True,
                          timeout=300, check=False)
    assert done.returncode == 0 and b"ERROR: ld.so" not in done.stderr
    assert done.stdout.decode().strip().endswith("/libcastscope.so") and " " not in done.stdout.decode().strip()


def test_two_runs_side_by_side(castscope):
    jobs = [castscope.start("sh", "-c", "read x; exit 0", output=f"run{i}", stdin=subprocess.PIPE) for i in range(3)]
    threads = [threading.Thread(target=job.communicate, args=(b"go\n",)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [job.returncode for job in jobs] == [0, 0, 0]
    assert all((castscope.folder / f"run{i}.json").exists() for i in range(3))


def test_output_files_are_ordinary(castscope):
    castscope.run("true")
    mode = (castscope.folder / "run.json").stat().st_mode
    assert stat.S_ISREG(mode) and mode & stat.S_IRUSR


def test_a_file_that_is_being_written_is_not_overwritten(castscope):
    job = castscope.start("sh", "-c", "echo ready; read line; exit 3", stdin=subprocess.PIPE)
    assert job.stdout.readline() == b"ready\n"
    done = castscope("run", "--force", "-o", "run", "--", "touch", "started")
    assert done.returncode == 125 and b"is being written by another castscope: choose another -o NAME" in done.stderr
    assert not (castscope.folder / "started").exists()
    _, err = job.communicate(b"\n", timeout=300)
    assert job.returncode == 3 and castscope.report()["run"]["exit_status"] == 3 and b"readonly" not in err


def test_runs_of_the_same_second_all_get_their_names(castscope):
    jobs = [subprocess.Popen([str(castscope.program), "run", "--", "sh", "-c", "read line; exit 3"],
                             cwd=castscope.folder, env=clean_environment(), stdin=subprocess.PIPE,
                             stderr=subprocess.PIPE) for _ in range(5)]
    said = [job.communicate(b"\n", timeout=300)[1] for job in jobs]
    assert [job.returncode for job in jobs] == [3] * 5
    assert not any(b"unrecorded" in err for err in said)
    assert len(list(castscope.folder.glob("*.castscope"))) == len(list(castscope.folder.glob("*.json"))) == 5


def test_a_full_disk_leaves_no_stub_and_the_run_goes_elsewhere(castscope, tmp_path):
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("needs root for a mount of its own")
    full, spare = tmp_path / "full", tmp_path / "spare"
    full.mkdir()
    spare.mkdir()
    script = (f"mount -t tmpfs -o size=32k none {full} && {castscope.program} run -o {full}/run -- sh -c 'exit 3'; "
              f"echo $?; ls {full}")
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, timeout=300, check=False,
                          env=clean_environment(TMPDIR=spare))
    assert done.stdout == b"3\n", done.stderr
    assert b"is recorded in" in done.stderr and len(list(spare.glob("*.castscope"))) == 1


@pytest.mark.parametrize("taking, left", [("rm -r there", "spare/*"), ("rm there/run.castscope", "there/run"),
                                          ("mv there gone", "spare/*"), ("mv there gone; mkdir there", "there/run"),
                                          ("rm there/run.castscope; echo new > there/run.castscope", "spare/*")])
def test_a_run_file_that_is_taken_away_is_written_anew(castscope, python, taking, left):
    """All of it is written again, including what a process had handed over before."""
    spare = castscope.folder / "spare"
    spare.mkdir()
    script = '"$0" -c "$1"; while ls "$CASTSCOPE_RUN"/*.lanes; do :; done >/dev/null 2>&1; ' + taking + '; "$0" -c "$1"'
    done = castscope.run("sh", "-c", script, python, WORK + "work(2)", output="there/run",
                         env=clean_environment(TMPDIR=spare))
    (report,) = castscope.folder.glob(left + ".json")
    place = "it was written again" if left == "there/run" else f"the run is in {report.parent}"
    assert f"there/run.castscope was moved or deleted while it was being written; {place}" in done.stderr.decode()
    report = json.loads(report.read_text())
    assert_worked(report, 4)
    assert report["run"]["complete"] is True and "moved or deleted" in report["run"]["notices"][0]
    (run_file,) = castscope.folder.glob(left + ".castscope")
    assert json.loads(castscope("report", run_file).stdout) == report


def test_progress_fits_into_a_narrow_terminal_that_knows_no_codes(castscope):
    terminal, theirs = open_terminal()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 30, 0, 0))
    job = subprocess.Popen([str(castscope.program), "run", "--progress", "-o", "run", "--", "cat"], stderr=theirs,
                           cwd=castscope.folder, env=clean_environment(TERM="dumb"), stdin=subprocess.PIPE)
    os.close(theirs)
    seen = b""
    while b" 0 processes" not in seen:
        seen += os.read(terminal, 1000)
    job.stdin.close()
    assert job.wait(timeout=300) == 0
    with contextlib.suppress(OSError):
        while more := os.read(terminal, 1000):
            seen += more
    os.close(terminal)
    drawn = [line for line in seen.replace(b"\n", b"\r").split(b"\r") if b"processes" in line]
    assert drawn and max(map(len, drawn)) < 30 and b"\x1b" not in seen


def test_a_name_with_a_line_end_is_shown_on_one_line(castscope):
    done = castscope.run("true", output="a\nb")
    assert (castscope.folder / "a\nb.json").exists()
    assert b"a?b.json\n" in done.stderr and b"a\nb" not in done.stderr


def test_the_report_does_not_take_the_place_of_a_policy_that_the_run_reads(castscope, python):
    policy = castscope.folder / "mine.json"
    policy.write_text('{"extends": "torch-cpu"}')
    for option in ("--enforce", "--policy"):
        done = castscope("run", "--force", "-o", "mine", option, "mine.json", "--", python, "-c", "pass")
        assert done.returncode == 125 and b"would take the place of mine.json: choose another -o NAME" in done.stderr
        assert policy.read_text() == '{"extends": "torch-cpu"}'
