"""castscope recover lists what is left over, and takes what it is told to."""

import itertools
import json
import os
import re
import subprocess
import sys

import pytest
from program import clean_environment


@pytest.fixture
def leave(castscope):
    """Leaves a run over: its recorder is killed, then its job ends. Returns its run directory."""
    left = []

    def run(output="run", **environment):
        job = castscope.start("sh", "-c", "echo $CASTSCOPE_RUN; read line", output=output, stdin=subprocess.PIPE,
                              env=clean_environment(**environment))
        left.append(job.stdout.readline().decode().strip())
        while b"recording into" not in job.stderr.readline():
            pass
        job.kill()
        job.communicate(timeout=300)
        return left[-1]

    yield run
    for directory in left:
        castscope("recover", "--discard", directory)


def told(castscope, directory):
    """What the list says of the run: a line for each of its words."""
    text = castscope("recover", text=True).stdout
    lines = text[text.index(directory):].splitlines()[1:]
    of_it = itertools.takewhile(lambda line: line.startswith("  "), lines)
    return {line[2:11].strip(): line[12:] for line in of_it}


def test_without_a_name_it_lists_and_takes_nothing(castscope, leave):
    directory = leave(SLURM_JOB_ID="4711")
    of_it = told(castscope, directory)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d, less than a minute ago", of_it["began"])
    assert of_it["command"].startswith("sh -c echo $CASTSCOPE_RUN") and of_it["in"] == str(castscope.folder)
    assert of_it["job"] == "SLURM_JOB_ID=4711" and re.fullmatch(r"\d+\.\d MB", of_it["size"])
    assert of_it["written"] == "by no process any more"
    assert of_it["goes to"] == str(castscope.folder / "run.castscope")
    assert os.path.isdir(directory)


def test_the_list_says_how_to_go_on(castscope, leave):
    leave()
    done = castscope("recover", "--list", text=True)
    assert done.returncode == 0 and "`castscope recover RUN…` makes the run files" in done.stderr


def test_a_directory_that_tells_of_no_run_is_counted_and_not_listed(castscope, tmp_path):
    base = tmp_path / f"castscope-{os.getuid()}"
    directory = base / "run-1-2-3"
    directory.mkdir(mode=0o700, parents=True)
    base.chmod(0o700)
    (directory / "injected.gdb").touch()
    done = castscope("recover", text=True, env=clean_environment(TMPDIR=str(tmp_path)))
    assert str(directory) not in done.stdout
    assert re.search(r"\d+ run director(y holds|ies hold) nothing that could be recovered", done.stderr)
    castscope("recover", "--discard", directory)
    assert not directory.exists()


def test_doctor_counts_what_recover_lists(castscope, leave):
    def listed():
        return len(re.findall(r"^/.*/(?:run|bare)-[-0-9]+$", castscope("recover", text=True).stdout, re.MULTILINE))

    leave()
    before = listed()
    checks = json.loads(castscope("doctor", "--json", text=True).stdout)["checks"]
    after = listed()  # other runs of this user come and go meanwhile
    found, = (check["found"] for check in checks if check["check_name"] == "leftovers")
    counted = int(re.fullmatch(r"(\d+) runs? whose recorder is gone", found).group(1))
    assert min(before, after) <= counted <= max(before, after)


def test_a_run_is_named_by_its_directory_or_by_the_name_of_that(castscope, leave):
    first, second, third = leave("a"), leave("b"), leave("c")
    done = castscope("recover", os.path.basename(first), second, text=True)
    assert done.returncode == 0, done.stderr
    assert [(castscope.folder / f"{name}.json").exists() for name in "abc"] == [True, True, False]
    assert not os.path.exists(first) and not os.path.exists(second) and os.path.exists(third)
    assert f"recovered {castscope.folder}/a.castscope" in done.stderr


def test_a_place_that_another_file_has_is_told(castscope, leave):
    directory = leave()
    (castscope.folder / "run.castscope").write_text("mine")
    of_it = told(castscope, directory)
    assert of_it["goes to"] == ("the folder in which `castscope recover` is called, since "
                                f"{castscope.folder}/run.castscope is another file now")


def mounts_work():
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True,
                                                check=False).returncode == 0


# Loses two runs, then calls `castscope recover` with the options.
DRIVER = """
import os, pathlib, subprocess, sys
castscope, *options = sys.argv[1:]
for name in "ab":
    job = subprocess.Popen([castscope, "run", "-o", name, "--", "sh", "-c", "read line"], stdin=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    while b"recording into" not in job.stderr.readline():
        pass
    job.kill()
    job.communicate()
subprocess.run([castscope, "recover", *options], check=True)
print(len(list(pathlib.Path("/dev/shm").glob("castscope-*/run-*"))), "left")
"""


@pytest.mark.skipif(not mounts_work(), reason="needs root, for a /dev/shm of its own: all that is left over is taken")
@pytest.mark.parametrize("options, taken, left", [(["--all"], ["a", "b"], 0), (["--discard", "--all"], [], 0),
                                                  ([], [], 2)])
def test_all_that_is_left_over_is_taken_only_when_told_so(castscope, options, taken, left):
    script = 'mount -t tmpfs none /dev/shm && exec "$@"'
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", sys.executable, "-c", DRIVER, castscope.program,
                           *options], cwd=castscope.folder, env=clean_environment(), capture_output=True, text=True,
                          timeout=300, check=False)
    assert done.returncode == 0 and done.stdout.endswith(f"{left} left\n"), done
    assert [name for name in "ab" if (castscope.folder / f"{name}.json").exists()] == taken, done


@pytest.mark.parametrize("words, sentence", [
    (["--discard"], "--discard needs to be told what to delete"),
    (["--force"], "which run is to be recovered?"),
    (["--redact", "("], "missing )"),
    (["-o", "x", "--all"], "-o is the name of one run"),
    (["-o", "x", "run-1-2-3", "run-1-2-4"], "-o is the name of one run"),
    (["--all", "run-1-2-3"], "--all takes what is not named, too")])
def test_what_is_not_clear_is_asked(castscope, words, sentence):
    done = castscope("recover", *words, text=True)
    assert done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [["--redact", "line"], ["--no-source"], ["--redact", "("]])
def test_what_comes_too_late_for_texts_that_are_written_is_refused(castscope, leave, words):
    directory = leave()
    file = castscope.folder / "run.castscope"
    before = file.read_bytes()
    done = castscope("recover", *words, directory, text=True)
    assert done.returncode == 2 and os.path.isdir(directory) and file.read_bytes() == before, done
    assert ("is not a regular expression" if "(" in words else f"too late for what is written already: the run in "
            f"{directory} goes on where its recorder had begun it. `-o NAME` makes another file") in done.stderr


def test_a_pattern_that_the_job_had_comes_not_too_late(castscope, leave):
    directory = leave(CASTSCOPE_REDACT="line", CASTSCOPE_NO_SOURCE="1")
    done = castscope("recover", "--redact", "line", "--no-source", directory, text=True)
    assert "recovered" in done.stderr and not os.path.exists(directory), done


def test_another_file_of_the_rest_has_what_is_withheld_now(castscope, leave):
    directory = leave()
    done = castscope("recover", "--redact", "read line", "-o", "other", directory, text=True)
    assert f"recovered {castscope.folder}/other.castscope" in done.stderr, done
    assert "read line" not in str(castscope.report("other")["run"]["command"])
    assert "[redacted]" in str(castscope.report("other")["run"]["command"])
