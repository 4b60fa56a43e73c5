"""Jobs of the campaign: replayed ones, which need no PyTorch, and real ones."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

import runs
from collector import PATIENCE_S

REPLAYED = runs.CASTSCOPE.parent / "tests" / "faults" / "replayed_job"
KNOWN = REPLAYED.with_name("known.json")
LOOP = pathlib.Path(__file__).resolve().parent / "autocast_loop.py"


class Job:
    """A command under `castscope run`, which sends to the collector. `mark` is a word of its command line that no other
    job has. `environment` has what its own differs in."""

    environment = {}

    def __init__(self, world, name, mark, command, exit_status):
        self.name, self.mark, self.exit_status = name, str(mark), exit_status
        self.program = world.chance.choice(world.relays)
        self.recorder = subprocess.Popen(
            [*world.around_jobs, str(self.program), "run", "--collector", world.address, *world.options, "-o", name,
             "--", *command],
            cwd=world.folder, env=world.environment | self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.killed = self.recorder_killed = self.damaged = False
        self.limited = self.drops = False  # a quota holds for it; it costs this job events for sure
        self.removed = False  # from the collector's folder, since it was over
        self.printed = self.said = None

    def kill_recorder(self):
        if self.recorder.poll() is None:
            self.recorder.kill()
            self.recorder_killed = True

    def wait(self, timeout_s=PATIENCE_S):
        if self.said is None:
            self.printed, self.said = self.recorder.communicate(timeout=timeout_s)
        return self.recorder.returncode

    def run_directories(self):
        return sorted(pathlib.Path(f"/dev/shm/castscope-{os.getuid()}").glob(f"run-*-*-{self.recorder.pid}"))

    def never_began(self):
        return False

    def close(self):
        if self.recorder.poll() is None:
            self.recorder.kill()
            self.recorder.communicate()
        for directory in self.run_directories():  # castscope keeps one whose segment is damaged
            shutil.rmtree(directory, ignore_errors=True)


def without_python(folder):
    """A folder with a Python that is none. castscope asks the Python of a job that is none for its PyTorch, since the
    job may be a script that starts it; for a replayed job that took more time than all else."""
    (folder / "bin").mkdir(exist_ok=True)
    for name in ("python3", "python"):
        if not (folder / "bin" / name).exists():
            (folder / "bin" / name).symlink_to("/bin/false")
    return folder / "bin"


class ReplayedJob(Job):
    def __init__(self, world, name, casts, per_second, exit_status):
        # castscope takes a process for one of the run by the agent that it has mapped: this file is in its place.
        self.progress, self.casts = world.folder / f"castscope_agent-{name}.progress", casts
        self.environment = {"PATH": f"{without_python(world.folder)}:{os.environ['PATH']}"}
        super().__init__(world, name, self.progress,
                         [*world.under_replayed, str(REPLAYED), str(self.progress), str(casts), str(per_second),
                          str(exit_status)], exit_status)

    def done(self):
        """The casts that the job has made, as it counts them itself."""
        with contextlib.suppress(FileNotFoundError, struct.error):
            return struct.unpack("<Q", self.progress.read_bytes())[0]
        return 0

    def never_began(self):
        """castscope was killed before it had started the job."""
        return self.recorder_killed and not self.progress.exists()

    def pid(self):
        children = pathlib.Path(f"/proc/{self.recorder.pid}/task/{self.recorder.pid}/children")
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for pid in children.read_text().split():
                with contextlib.suppress(OSError):
                    if os.readlink(f"/proc/{pid}/exe") == str(REPLAYED):
                        return int(pid)
        return None

    def kill(self):
        if pid := self.pid():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.killed = True

    def check_result(self):
        assert self.killed or self.recorder_killed or self.done() == self.casts, f"{self.name}: {self.done()} casts"


class RealJob(Job):
    """PyTorch, and a loop that prints its losses: they are those of the loop without castscope, bit for bit."""

    STEPS = 20

    def __init__(self, world, name, exit_status, pause_s=0):
        super().__init__(world, name, world.folder / name,
                         [sys.executable, str(LOOP), str(world.folder / name), str(self.STEPS), str(exit_status),
                          str(pause_s)], exit_status)
        self.known_print, self.casts = json.loads(KNOWN.read_text())

    def done(self):
        return self.casts

    def check_result(self):
        assert self.printed == self.known_print, (
            f"{self.name} printed {self.printed!r}, and without castscope {self.known_print!r}")


def find_known():
    """Writes down what the loop prints without castscope, and how many casts castscope counts where nothing fails."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        command = [sys.executable, str(LOOP), "mark", str(RealJob.STEPS), "0"]
        plain = runs.plain(command, pathlib.Path(folder, "plain"))
        counted = runs.under_castscope(command, pathlib.Path(folder, "counted"))
        assert plain.status == 0 and counted.report["run"]["complete"], (plain.stderr, counted.stderr)
        KNOWN.write_text(json.dumps([plain.stdout.decode(), counted.report["totals"]["casts"]]))
