"""A collector on a small disk, jobs that send to it through a proxy, and what must be true when all is over."""

import contextlib
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import reports  # noqa: E402
import runs  # noqa: E402
from proxy import Proxy  # noqa: E402

JOB = runs.CASTSCOPE.parent / "tests" / "faults" / "replayed_job"
PATIENCE_S = 60


class Collector:
    """`castscope serve`; as root its folder is a tmpfs of 8 MB in a mount namespace of its own."""

    def __init__(self, folder):
        self.folder = folder / "collected"
        self.folder.mkdir()
        self.on_small_disk = os.geteuid() == 0 and self.mount()
        self.port = 0
        self.log = ""
        self.start()

    def mount(self):
        return subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", self.folder], check=False,
                              capture_output=True).returncode == 0

    def start(self):
        command = [str(runs.CASTSCOPE), "serve", "--listen", f"127.0.0.1:{self.port}", "--folder", str(self.folder)]
        end = time.monotonic() + PATIENCE_S
        while True:  # the port of one that was killed may be taken for a moment
            self.server = subprocess.Popen(command, env=runs.clean_environment(), stderr=subprocess.PIPE, text=True)
            line = self.server.stderr.readline()
            if found := re.search(r"collecting on 127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                return
            self.server.communicate()
            assert time.monotonic() < end, line

    def end(self, number):
        self.server.send_signal(number)
        self.log += self.server.communicate(timeout=PATIENCE_S)[1]
        return self.server.returncode

    def fill(self):
        with contextlib.suppress(OSError), open(self.folder / "ballast", "wb", buffering=0) as ballast:
            while True:
                ballast.write(bytes(4096))

    def free(self):
        (self.folder / "ballast").unlink(missing_ok=True)

    def remount(self, how):
        subprocess.run(["mount", "-o", f"remount,{how}", self.folder], check=True, capture_output=True)

    def close(self):
        if self.server.poll() is None:
            self.end(signal.SIGKILL)
        if self.on_small_disk:
            subprocess.run(["umount", "-l", self.folder], check=False)


class Job:
    """A replayed job under `castscope run`, which sends to the collector."""

    def __init__(self, world, name, casts, per_second, exit_status):
        self.name, self.casts, self.exit_status = name, casts, exit_status
        self.progress = world.folder / f"{name}.progress"
        self.recorder = subprocess.Popen(
            [str(runs.CASTSCOPE), "run", "--collector", f"127.0.0.1:{world.proxy.port}", "-o", name, "--",
             str(JOB), str(self.progress), str(casts), str(per_second), str(exit_status)],
            cwd=world.folder, env=world.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        self.killed = self.recorder_killed = False

    def done(self):
        """The casts that the job has made, as it counts them itself."""
        with contextlib.suppress(FileNotFoundError, struct.error):
            return struct.unpack("<Q", self.progress.read_bytes())[0]
        return 0

    def pid(self):
        children = pathlib.Path(f"/proc/{self.recorder.pid}/task/{self.recorder.pid}/children")
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for pid in children.read_text().split():
                with contextlib.suppress(OSError):
                    if os.readlink(f"/proc/{pid}/exe") == str(JOB):
                        return int(pid)
        return None

    def kill(self):
        if pid := self.pid():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.killed = True

    def kill_recorder(self):
        if self.recorder.poll() is None:
            self.recorder.kill()
            self.recorder_killed = True

    def wait(self):
        self.said = self.recorder.communicate(timeout=PATIENCE_S)[1]
        return self.recorder.returncode


class World:
    def __init__(self, folder):
        self.folder = folder
        self.collector = Collector(folder)
        self.proxy = Proxy(self.collector.port)
        (folder / "shm").mkdir()
        self.environment = runs.clean_environment() | {"CASTSCOPE_SPOOL": str(folder / "spool"),
                                                       "CASTSCOPE_SPOOL_BYTES": "200 MB"}
        self.jobs = []
        self.may_miss = False  # the fault may cost a part of a run, if the report says so

    def start(self, chance):
        name = f"job-{len(self.jobs)}"
        job = Job(self, name, chance.randint(200, 3000), chance.choice([1000, 3000, 30_000]), chance.choice([0, 3]))
        self.jobs.append(job)
        return job

    def heal(self):
        """Every fault passes, and who was away comes back."""
        self.proxy.heal()
        if self.collector.on_small_disk:
            self.collector.remount("rw")
        self.collector.free()
        if self.collector.server.poll() is not None:
            self.collector.start()

    def bring_home(self):
        """What waits on disk, and what recorders that were killed had not read."""
        waiting = [str(file) for file in sorted((self.folder / "spool").glob("*.spool"))]
        for what in [*self.directories(), *waiting]:
            done = subprocess.run([str(runs.CASTSCOPE), "recover", what], cwd=self.folder, env=self.environment,
                                  capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            assert done.returncode == 0, f"recover {what} ended with {done.returncode}: {done.stderr}"

    def directories(self):
        """Run directories of jobs of this world whose recorder was killed."""
        pids = {job.recorder.pid for job in self.jobs if job.recorder_killed}
        base = pathlib.Path(f"/dev/shm/castscope-{os.getuid()}")
        return [str(path) for pid in pids for path in base.glob(f"run-*-*-{pid}")]

    def check(self):
        """Received and dropped events are all that were made, and counts the job's own, or the report says why not."""
        told = [reports.read_report(file) for file in self.collector.folder.glob("*.json")]
        for job in self.jobs:
            if job.recorder_killed and not job.progress.exists():
                continue  # castscope was killed before it had started the job
            of_job = [report for report in told if str(job.progress) in report["run"]["command"]]
            assert len(of_job) == 1, (f"{len(of_job)} reports of {job.name} in {os.listdir(self.collector.folder)}; "
                                      f"{job.said}; {self.collector.log}")
            report = of_job[0]
            if self.may_miss and not report["run"]["complete"]:
                assert report["run"]["missing"] and report["totals"]["casts"] <= job.done() + job.killed
                continue
            counted, truth = report["totals"]["casts"], job.done()
            run = report["run"]
            at_most = truth + (1 if job.killed else 0)
            assert truth <= counted <= at_most, f"{job.name}: {counted} casts for {truth}"
            for process in report["processes"]:
                made = process["events_received"] + process["events_dropped"]
                assert made == process["events_made"] or not run["complete"], f"{job.name}: {process}"
            # What a recorder that is killed has taken out of a ring that is more than half full goes with it.
            allowed = {"events_missing"} if job.recorder_killed else set()
            if not job.killed:
                assert {one["incomplete_reason"] for one in run["missing"]} <= allowed, f"{job.name}: {run['missing']}"
                assert run["complete"] == (not run["missing"]) and truth == job.casts

    def close(self):
        for job in self.jobs:
            if job.recorder.poll() is None:
                job.recorder.kill()
                job.recorder.communicate()
        self.proxy.close()
        self.collector.close()
