"""A collector, jobs that send to it, what is between them, and what must be true when all is over."""

import contextlib
import json
import pathlib
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import network  # noqa: E402
import reports  # noqa: E402
import runs  # noqa: E402
from certificates import Certificates  # noqa: E402
from collector import PATIENCE_S, Collector  # noqa: E402
from jobs import RealJob, ReplayedJob  # noqa: E402
from proxy import Proxy  # noqa: E402
from stream_proxy import StreamProxy  # noqa: E402
from system_calls import SystemCalls  # noqa: E402
from tokens import Tokens  # noqa: E402

# What may be missing of a run, by what was done to it.
OF_A_KILLED_RECORDER = {"events_missing"}  # what it has taken out of a ring that was more than half full goes with it
OF_A_RELAY_WITHOUT_SPOOL = {"events_missing", "run_end_not_seen"}  # of an older version, which has given up
BEYOND_A_QUOTA = {"events_missing"}
OF_DAMAGED_MEMORY = {"events_missing", "process_unrecorded", "part_rejected"}


class World:
    """`has` are words for what a fault needs of its world (faults.py). `old` is the program of another version."""

    def __init__(self, folder, chance, has=(), old=None):
        self.folder, self.chance, self.has, self.old = folder, chance, has, old
        self.relays = [old] if "old relays" in has else []
        if "new relays" in has or not self.relays:
            self.relays.append(runs.CASTSCOPE)
        self.closing = contextlib.ExitStack()
        (folder / "shm").mkdir()
        self.environment = runs.clean_environment() | {"CASTSCOPE_SPOOL": str(folder / "spool"),
                                                       "CASTSCOPE_SPOOL_BYTES": "200 MB"}
        self.jobs = []
        self.may_miss = False  # the fault may cost a part of a run, if the report says so
        self.options, self.around_jobs, self.under_replayed = [], [], []
        self.unhealed = []  # what is done when all jobs have ended, if the fault lasts until then
        self.later = []  # what is done when all has arrived
        self.network = self.certificates = self.stream_proxy = self.tokens = None
        with contextlib.ExitStack() as stack:
            self.closing = stack
            self.build()
            self.closing = stack.pop_all()

    def build(self):
        under, address = [], "127.0.0.1"
        if {"certificates", "network", "tls"} & set(self.has):
            self.certificates = Certificates(self.folder)
            self.certificates.issue(3 if "certificates" in self.has else 24 * 60 * 60)
            self.options = ["--ca", str(self.certificates.authority)]
            self.environment["CASTSCOPE_TOKEN"] = "of the campaign"
        if "network" in self.has:
            self.network = network.Network(self.chance)
            self.closing.callback(self.network.close)
            under, address = self.network.enter(network.COLLECTOR), network.COLLECTOR
            self.around_jobs = self.network.enter(network.JOBS)
        if "system calls" in self.has:
            self.calls = SystemCalls(self.folder / "collector-calls")
            self.relay_calls = SystemCalls(self.folder / "relay-calls")
            self.job_calls = SystemCalls(self.folder / "job-calls")
            under = self.calls.under
        if "clock of relays" in self.has:  # and not of jobs: the kernel lets one listen to a process and its children
            self.around_jobs = self.relay_calls.under
        if "clock of jobs" in self.has:
            self.under_replayed = self.job_calls.under
        if "1,024 descriptors" in self.has:
            under = ["prlimit", "--nofile=1024:1024"]
        size = "1g" if "1,024 descriptors" in self.has else "64m" if "crowd" in self.has else "8m"
        options = []
        if "tokens" in self.has:
            self.tokens = Tokens(self.folder)
            options = ["--tokens", str(self.tokens.file)]
        if "settings file" in self.has:
            self.settings = self.folder / "serve.json"
            self.settings.write_text(json.dumps({"folder": "collected", "retention": {"days": 1}}))
            options = ["--config", str(self.settings)]
        self.collector = Collector(self.folder, under, address, self.certificates, dict(self.environment), size,
                                   self.old if "old collector" in self.has else runs.CASTSCOPE, options)
        if self.tokens:  # the collector has the file of them
            self.environment["CASTSCOPE_TOKEN_FILE"] = str(self.tokens.sent)
        self.closing.callback(self.collector.close)
        self.proxy = Proxy(self.collector.port)
        self.closing.callback(self.proxy.close)
        self.address = f"127.0.0.1:{self.proxy.port}"
        if self.network:
            self.address = f"{network.COLLECTOR}:{self.collector.port}"
        if "messages" in self.has:
            self.stream_proxy = StreamProxy(self.address)
            self.closing.callback(self.stream_proxy.close)
            self.address = f"127.0.0.1:{self.stream_proxy.port}"

    def start(self, casts=None, per_second=None):
        chance = self.chance
        most = 1500 if "crowd" in self.has else 3000  # what many jobs do at once takes long enough
        job = ReplayedJob(self, f"job-{len(self.jobs)}", casts or chance.randint(500, most),
                          per_second or chance.choice([600, 1000, 3000, 30_000]), chance.choice([0, 3]))
        self.jobs.append(job)
        return job

    def start_real(self):
        job = RealJob(self, f"real-{len(self.jobs)}", self.chance.choice([0, 3]))
        self.jobs.append(job)
        return job

    def heal(self):
        """Every fault passes, and who was away comes back."""
        self.proxy.heal()
        if self.network:
            self.network.heal()
        if self.stream_proxy:
            self.stream_proxy.say("plain")
        if "system calls" in self.has:
            for calls in (self.calls, self.relay_calls, self.job_calls):
                calls.come_out()
        if self.collector.on_small_disk:
            self.collector.remount("rw")
        self.collector.free()
        if self.certificates and self.certificates.left_s() < 60:
            self.certificates.issue()
            assert self.collector.end(signal.SIGTERM) == 0, self.collector.log
        if self.collector.server.poll() is not None:
            self.collector.start()
        if self.tokens:
            self.tokens.heal()
            self.collector.server.send_signal(signal.SIGHUP)
            self.wait_until_let_in()

    def wait_until_let_in(self):
        """The collector reads its tokens on its own thread, and `castscope recover` tries once."""
        command = [str(runs.CASTSCOPE), "doctor", "--json", "--collector", f"127.0.0.1:{self.collector.port}"]
        end = time.monotonic() + PATIENCE_S
        while True:
            said = subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True,
                                  check=False).stdout
            if any(one["check_name"] == "collector" and one["check_state"] == "ok"
                   for one in json.loads(said)["checks"]):
                return
            assert time.monotonic() < end, f"{said}; {self.collector.log}"

    def bring_home(self):
        """What waits on disk, and what recorders that were killed had not read."""
        waiting = [str(file) for file in sorted((self.folder / "spool").glob("*.spool"))]
        if all_of_them := self.directories() + waiting:
            # A spool that was made with another token does not say that its collector may have the one of now.
            self.recover(*all_of_them, *(["--collector", self.address, *self.options] if self.tokens else []))
        for directory in self.given_up():
            self.recover(directory, "--collector", self.address)

    def recover(self, *words):
        done = subprocess.run([*self.around_jobs, str(runs.CASTSCOPE), "recover", *words], cwd=self.folder,
                              env=self.environment, capture_output=True, text=True, timeout=PATIENCE_S + len(words),
                              check=False)
        assert done.returncode == 0, (f"recover {words} ended with {done.returncode}: {done.stderr}; "
                                      f"{self.collector.log}")

    def kill_recover(self):
        for directory in self.directories():
            for _ in range(self.chance.randint(1, 3)):
                recovering = subprocess.Popen([*self.around_jobs, str(runs.CASTSCOPE), "recover", directory],
                                              cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    recovering.wait(self.chance.uniform(0, 0.2))
                recovering.kill()
                recovering.wait()

    def directories(self):
        """Run directories of jobs of this world whose recorder was killed."""
        return [str(path) for job in self.jobs if job.recorder_killed for path in job.run_directories()]

    def gave_up(self, job):
        """A relay of an older version, without a spool, did not reach a collector within seconds of the job's end."""
        return self.old and job.program == self.old and "castscope recover" in (job.said or "")

    def given_up(self):
        """What such relays left: it does not say where they sent."""
        return [str(path) for job in self.jobs if self.gave_up(job) for path in job.run_directories()]

    def check(self):
        """Received and dropped events are all that were made, and counts the job's own, or the report says why not."""
        told = [reports.read_report(file) for file in self.collector.folder.glob("*.json")]
        for job in self.jobs:
            if job.never_began():
                continue
            job.check_result()
            of_job = [report for report in told if job.mark in report["run"]["command"]]
            if job.removed:
                assert not of_job and f"/{job.name}.castscope" in self.collector.log, f"{job.name} was not removed"
                continue
            assert len(of_job) == 1, (f"{len(of_job)} reports of {job.name} in "
                                      f"{[path.name for path in self.collector.folder.iterdir()]}; {job.said}; "
                                      f"{self.collector.log}")
            self.check_job(job, of_job[0])
        if self.old:
            for file in self.collector.folder.glob("*.json"):
                self.check_file(file.with_suffix(".castscope"))

    def check_job(self, job, report):
        run, counted, truth = report["run"], report["totals"]["casts"], job.done()
        if self.may_miss and not run["complete"]:
            assert run["missing"] and counted <= truth + job.killed, f"{job.name}: {counted} casts for {truth}"
            return
        assert truth <= counted <= truth + job.killed, (
            f"{job.name}: {counted} casts for {truth}, {run['missing']}; {job.said}")
        dropped = sum(process["events_dropped"] for process in report["processes"])
        assert not job.drops or (dropped and "the collector takes " in " ".join(run["notices"])), (
            f"{job.name}, which is beyond its quota: {dropped} dropped, {run['notices']}")
        assert not (job.limited and run["missing"]) or "the collector keeps " in " ".join(run["notices"]), (
            f"{job.name}: {run['missing']}, {run['notices']}")
        for process in report["processes"]:
            made = process["events_received"] + process["events_dropped"]
            assert made == process["events_made"] or not run["complete"], f"{job.name}: {process}"
        allowed = OF_A_KILLED_RECORDER if job.recorder_killed else OF_DAMAGED_MEMORY if job.damaged else set()
        if job.limited:
            allowed = BEYOND_A_QUOTA
        if self.gave_up(job):
            allowed = OF_A_RELAY_WITHOUT_SPOOL
        if not job.killed:
            assert {one["incomplete_reason"] for one in run["missing"]} <= allowed, f"{job.name}: {run['missing']}"
            assert run["complete"] == (not run["missing"]), f"{job.name}: {run['missing']}"

    def check_file(self, file):
        """This version reads what the other one began."""
        written = json.loads(file.with_suffix(".json").read_text())
        told = subprocess.run([str(runs.CASTSCOPE), "report", str(file)], cwd=self.folder, text=True,
                              env=self.environment, capture_output=True, check=False)
        told = json.loads(told.stdout) if told.returncode == 0 else told.stderr
        if told_weakly := isinstance(told, dict) and told["run"].get("weakly_checked"):  # the other one wrote its end
            for report in (told, written):
                report.pop("format_minor")
                report["run"] = {key: value for key, value in report["run"].items()
                                 if key not in ("weakly_checked", "notices")}
        assert told == written, f"{file.name}{' of the format before' if told_weakly else ''}: {told}"
        checked = subprocess.run([str(runs.CASTSCOPE), "check", "--fail-on", "error", str(file)], cwd=self.folder,
                                 env=self.environment, capture_output=True, text=True, check=False)
        expected = 3 if written["run"]["exit_status"] or not written["run"]["complete"] else 0
        assert checked.returncode == expected, f"check ended with {checked.returncode}: {checked.stderr}"

    def close(self):
        for job in self.jobs:
            job.close()
        self.closing.close()
