"""Runs the jobs of gpu-check, plainly and under castscope, within the time that is left; keeps their files."""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
LONGEST_JOB_S = 300


class OutOfTime(Exception):
    """Time is up: the remaining parts need another call."""


class JobFailed(Exception):
    """A job failed that a part cannot do without."""


@dataclasses.dataclass
class Outcome:
    status: int
    stdout: str
    stderr: str
    seconds: float
    report: dict | None = None

    def gpu(self):
        """The report's section on GPUs."""
        if self.report is None:
            raise JobFailed("castscope wrote no report")
        if self.report["gpus"] is None:
            raise JobFailed("castscope's report says nothing of a GPU: " + self.last_words())
        return self.report["gpus"]

    def last_words(self):
        return " / ".join(self.stderr.strip().splitlines()[-3:])[-300:]


def say(text):
    print(text, file=sys.stderr, flush=True)


def environment(**more):
    """Returns this environment without what an outer castscope would add. LD_PRELOAD stays: it holds the double of the
    GPU stack."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("CASTSCOPE_") or "NOGPU" in key}
    scratch = pathlib.Path(tempfile.gettempdir()) / f"castscope-gpu-check-{os.getuid()}"
    return kept | {
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",  # without it cuBLAS may add up in another order each time
        "HF_HUB_OFFLINE": "1",
        "TORCHINDUCTOR_CACHE_DIR": str(scratch),
        "TORCHINDUCTOR_DETERMINISTIC": "1",  # kernels are not chosen by measuring, which differs from run to run
    } | more


def run_group(command, limit, **options):
    """Status, stdout, stderr. Past the limit it ends with all that it started: a compiler, or the job."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", start_new_session=True, **options) as process:
        try:
            stdout, stderr = process.communicate(timeout=limit)
            return process.returncode, stdout, stderr
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise


class Runner:
    def __init__(self, given):
        self.castscope, self.python = str(given.castscope), given.python
        self.folder = given.out / "jobs"
        self.small, self.no_cudnn, self.quick = given.small, given.no_cudnn, given.quick
        self.end = time.monotonic() + given.seconds
        self.jobs_at_once = given.jobs
        self.rounds = given.rounds or (2 if given.quick else 5)

    def left(self):
        return self.end - time.monotonic()

    def job(self, what, workload, *options):
        """The command line of a job of job.py."""
        sizes = ["--small"] if self.small else []
        cudnn = ["--no-cudnn"] if self.no_cudnn else []
        return [self.python, str(HERE / "job.py"), what, workload, *sizes, *cudnn, *map(str, options)]

    def under_castscope(self, command, name, *options):
        """The command line that runs another one under castscope; its report is that of this name."""
        return [self.castscope, "run", "--force", "-o", str(self.place(name) / "run"), *options, "--", *command]

    def place(self, name):
        """A folder of a job's own; the names are unique within a call."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def report_of(self, name):
        written = self.place(name) / "run.json"
        return json.loads(written.read_text()) if written.exists() else None

    def finish(self, command, name, longest=LONGEST_JOB_S, **variables):
        """Runs it to its end. What it says on stderr is kept."""
        limit = min(longest, self.left())
        if limit < 5:
            raise OutOfTime
        folder, begin = self.place(name), time.monotonic()
        (folder / "run.json").unlink(missing_ok=True)
        say(f"gpu-check: {name}")
        try:
            status, stdout, stderr = run_group(command, limit, env=environment(**variables), cwd=folder)
        except subprocess.TimeoutExpired as late:
            if limit < longest:
                raise OutOfTime from None
            raise JobFailed(f"{name} did not end within {late.timeout:.0f} s") from None
        (folder / "stderr.txt").write_text(stderr)
        return Outcome(status, stdout, stderr, time.monotonic() - begin, self.report_of(name))

    def observed(self, command, name, *options, **variables):
        return self.finish(self.under_castscope(command, name, *options), name, **variables)

    def must(self, outcome, name):
        if outcome.status != 0:
            raise JobFailed(f"{name} ended with {outcome.status}: {outcome.last_words()}")
        return outcome
