"""Records jobs with a program: the run file, and the shared-memory segments of the job's processes.

`castscope run` takes segments away when the run file has everything. Here the job runs a second time with the preload
library alone and a run directory that nobody reads: the segments stay, and hold what fits into the rings.
"""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess

import runs
from reports import read_report
from same_answers import LIMIT_S, Answer, ask
from same_contents import events_of, tables_of, text

RUN_DIRECTORY = "run-1-1-1"  # what a run directory's name looks like
STEADY = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
TIMES = re.compile(rb" (ns|took) \d+")  # in what lanes_dump prints


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    castscope: pathlib.Path
    lanes_dump: pathlib.Path


def finished(done, what):
    if done.returncode != 0:
        raise SystemExit(f"scripts/same-reports: {what} ended with {done.returncode}:\n"
                         f"{done.stderr[-4000:].decode(errors='replace')}")
    return done


def record(program, job, folder):
    """Leaves run.castscope and run.json in the folder; gives what the job itself printed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [str(program.castscope), "run", "-o", "run", *job.options, "--", *job.command()]
    done = subprocess.run(command, cwd=folder, env=runs.clean_environment() | STEADY, stdin=subprocess.DEVNULL,
                          capture_output=True, check=False, timeout=LIMIT_S)
    finished(done, f"{job.name}, recorded by {program.name},")
    return Answer(0, done.stdout)


def events_in(folder):
    """Returns (events in the run file, events that a full ring dropped)."""
    with sqlite3.connect(f"file:{folder}/run.castscope?mode=ro", uri=True) as database:
        (kept,) = database.execute("SELECT sum(event_count) FROM event_blocks").fetchone()
    return kept or 0, read_report(folder / "run.json")["totals"]["events_lost"]


def keep_segments(program, job, folder):
    shutil.rmtree(folder, ignore_errors=True)
    directory = folder / RUN_DIRECTORY
    directory.mkdir(parents=True)
    directory.chmod(0o700)
    asked = [str(program.castscope), "env", "--plain", *job.environment_options(), "--", job.command()[0]]
    told = finished(subprocess.run(asked, cwd=folder, env=runs.clean_environment(), capture_output=True, check=False),
                    "castscope env")
    variables = dict(line.split("=", 1) for line in told.stdout.decode().splitlines())
    variables |= {"CASTSCOPE_RUN": str(directory)} | STEADY
    begin = directory.stat().st_mtime_ns
    done = subprocess.run(job.command(), cwd=folder, env=runs.clean_environment() | variables, capture_output=True,
                          stdin=subprocess.DEVNULL, check=False, timeout=LIMIT_S)
    finished(done, f"{job.name} beside {program.name}'s agent")
    record = {"command": job.command(), "cwd": str(folder), "stem": "run", "begin_realtime_ns": begin, "pid": 1,
              "pid_ticks": 1, "keep_all": True}
    (directory / "run.json").write_text(json.dumps(record))
    if not segments_in(folder):
        raise SystemExit(f"scripts/same-reports: {job.name} left no segment in {directory}")


def segments_in(folder):
    """Returns the segments by the numbers of their processes."""
    found = (folder / RUN_DIRECTORY).glob("*.lanes")
    return sorted(found, key=lambda path: [int(number) for number in path.stem.split("-")])


def dumped(program, path):
    """Returns a segment in the form of lanes_dump, without times: a reader compares its own clock with the
    segment's."""
    answer = ask(program.lanes_dump, [path], path.parent)
    answer.stdout = TIMES.sub(rb" \1", answer.stdout)
    return answer


def recover(program, kept, folder):
    """Returns the answer of `castscope recover` on a copy of kept segments; the contents of the run file are among its
    parts."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    subprocess.run(["cp", "-a", "--sparse=always", str(kept / RUN_DIRECTORY), str(folder / RUN_DIRECTORY)], check=True)
    done = subprocess.run(["castscope", "recover", "-o", "run", RUN_DIRECTORY], executable=str(program.castscope),
                          cwd=folder, env=runs.clean_environment(), capture_output=True, check=False, timeout=LIMIT_S)
    answer = Answer(done.returncode, done.stdout, done.stderr, {"left": text(sorted(os.listdir(folder)))})
    if (folder / "run.castscope").is_file():
        answer.files |= tables_of(folder / "run.castscope") | events_of(program, folder / "run.castscope")
    if (folder / "run.json").is_file():
        answer.files["report"] = (folder / "run.json").read_bytes()
    return answer
