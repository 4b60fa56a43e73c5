"""Starts training.py under castscope, attaches and detaches, and knows what the run must have counted."""

import collections
import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import runs  # noqa: E402

TRAINING, IDLE = HERE / "training.py", HERE / "idle.py"
WATCHES, AWAY = 1, 0
State = collections.namedtuple("State", "pid wanted state deep_asked deep_begun deep_first spans")


def wait_for(what, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.002)
    raise TimeoutError(f"{what} did not come true within {seconds} s")


@contextlib.contextmanager
def stopped(pid):
    """The process stands still meanwhile. A signal only asks for that: its threads go on until each has heard of it."""
    os.kill(pid, signal.SIGSTOP)
    try:
        wait_for(lambda: states_of_threads(pid) <= {"T", "t"})
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def states_of_threads(pid):
    stats = pathlib.Path(f"/proc/{pid}/task").glob("*/stat")
    return {stat.read_text().rpartition(")")[2].split()[0] for stat in stats}


class Job:
    """training.py, or another script with its first argument, plain or under `castscope run` with options."""

    def __init__(self, folder, *options, python=sys.executable, script=TRAINING, training=(), plain=False,
                 environment=()):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.output = folder / "iterations"
        command = [python, str(script), str(self.output), *training]
        if not plain:
            command = [str(runs.CASTSCOPE), "run", "-o", str(folder / "run"), *options, "--", *command]
        self.stderr = open(folder / "stderr", "wb")
        self.stdout = open(folder / "stdout", "wb")
        self.process = subprocess.Popen(command, cwd=folder, env=runs.clean_environment() | dict(environment),
                                        stdin=subprocess.DEVNULL, stdout=self.stdout, stderr=self.stderr)
        try:
            self.pid = int(wait_for(self.told_pid, 180))  # `import torch` on a busy machine
        except BaseException:
            self.end()
            raise

    def told_pid(self):
        if self.process.poll() is not None:
            raise RuntimeError((self.folder / "stderr").read_text())
        text = (self.folder / "stdout").read_text()
        found = re.search(r"pid (\d+)\b.*\n", text)
        return found and found.group(1)

    def run_directory(self):
        return run_directory_of(self.pid)

    def ask(self, request):
        return ask(self.run_directory(), f"{request} {self.pid}")

    def attach(self):
        directory = self.run_directory()
        ask(directory, f"attach {self.pid}")
        return wait_for(lambda: status(directory, self.pid).state == WATCHES)

    def detach(self):
        directory = self.run_directory()
        ask(directory, f"detach {self.pid}")
        return wait_for(lambda: status(directory, self.pid).state == AWAY)

    def go_on(self, iterations):
        """Waits until the job has made so many more."""
        enough = self.output.stat().st_size + iterations * len("1 1 1 0x1.0000000000000p-1 ")
        wait_for(lambda: self.output.stat().st_size > enough)

    def stop(self, seconds=300):
        pathlib.Path(f"{self.output}.stop").touch()
        return self.process.wait(seconds)

    def kill(self, number=signal.SIGKILL):
        os.kill(self.pid, number)

    def end(self):
        """The job and its castscope are gone after this, whatever became of them."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.stdout.close()
        self.stderr.close()

    def iterations(self):
        rows = (line.split() for line in self.output.read_text().splitlines())
        return [(int(row[1]), int(row[2]), row[3]) for row in rows if len(row) == 4]

    def report(self):
        return runs.read_report(self.folder / "run.json")


class Recorder:
    """`castscope attach` for a job that was started without castscope."""

    def __init__(self, job, *options, word="state", named=True, environment=()):
        """Returns when this word of the job's page is no longer 0."""
        name = ["-o", str(job.folder / "run")] if named else []
        self.process = subprocess.Popen([str(runs.CASTSCOPE), "attach", str(job.pid), *name, *options],
                                        cwd=job.folder, env=runs.clean_environment() | dict(environment),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        text=True)
        wait_for(lambda: self.process.poll() is not None or self.word_of(job, word), 180)
        if self.process.poll() is not None:
            raise RuntimeError(self.process.stderr.read())

    @staticmethod
    def word_of(job, word):
        try:
            return getattr(status(job.run_directory(), job.pid), word)
        except (FileNotFoundError, ConnectionRefusedError):
            return 0

    @staticmethod
    def watches(job):
        return Recorder.word_of(job, "state") == WATCHES

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        self.said = self.process.communicate(timeout=300)[1]
        return self.process.returncode


def run_directory_of(pid):
    base = pathlib.Path(f"/dev/shm/castscope-{os.getuid()}")
    for page in base.glob(f"*/{pid}.control"):
        return page.parent
    raise FileNotFoundError(f"no control page of process {pid} in {base}")


def ask(directory, request):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(directory / "control"))
        connection.sendall(request.encode() + b"\n")
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    if answer.startswith(b"error "):
        raise RuntimeError(answer.decode())
    return [State(*map(int, line.split())) for line in answer.decode().splitlines()]


def status(directory, pid):
    return ask(directory, f"status {pid}")[0]


def counts_of(job):
    """Casts, hits and pass-throughs that castscope recorded."""
    totals = job.report()["totals"]
    return totals["casts"], totals["cache_hits"], totals["pass_throughs"]


def expected(job, kinds):
    """What the iterations that were watched cast, as the oracle knows it."""
    watched = [kinds[kind] for kind, seen, _ in job.iterations() if seen]
    return tuple(sum(of) for of in zip(*watched)) or (0, 0, 0)


# What an iteration of each kind asks autocast for: each layer's input, weight and bias. The results of one layer are
# bfloat16, and pass through where the next one takes them.
PER_KIND = [(3, 0, 0), (5, 0, 1), (7, 0, 2)]  # casts, hits, pass-throughs


def per_kind(folder):
    """PER_KIND, if the oracle counts the same in an iteration of each."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(TRAINING), str(folder / "iterations"), "--iterations", str(len(PER_KIND))]
    outcome = runs.under_oracle(command, folder / "oracle")
    assert outcome.status == 0, outcome.stderr.decode()
    counts = (outcome.counts.casts, outcome.counts.cache_hits, outcome.counts.pass_throughs)
    assert counts == tuple(map(sum, zip(*PER_KIND))), counts
    return PER_KIND
