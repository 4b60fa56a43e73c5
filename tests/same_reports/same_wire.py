"""Runs that go over the network: each program's `castscope run --collector` to the other's `castscope serve`."""

import re
import shutil
import signal
import subprocess

import runs
from same_answers import LIMIT_S, Answer, compare_recordings, say
from same_contents import contents_of
from same_recording import STEADY, finished


class Collector:
    """A `castscope serve`, for the length of a `with`."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def __enter__(self):
        command = ["castscope", "serve", "--listen", "127.0.0.1:0", "--keep", "all", "--folder", "."]
        self.process = subprocess.Popen(command, executable=str(self.program.castscope), cwd=self.folder, text=True,
                                        env=runs.clean_environment(), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        told = self.process.stderr.readline()
        found = re.search(r"127\.0\.0\.1:\d+", told)
        if not found:
            raise SystemExit(f"scripts/same-reports: {self.program.name}'s castscope serve says: {told}")
        self.address = found[0]
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=LIMIT_S)


def collected(job, sender, receiver, reader, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with Collector(receiver, folder) as collector:
        command = ["castscope", "run", "--collector", collector.address, "-o", "run", *job.environment_options(), "--",
                   *job.command()]
        done = subprocess.run(command, executable=str(sender.castscope), cwd=folder, check=False, capture_output=True,
                              env=runs.clean_environment() | STEADY, stdin=subprocess.DEVNULL, timeout=LIMIT_S)
    finished(done, f"{job.name}, sent by {sender.name} to {receiver.name},")
    found = list(folder.glob("*.castscope"))
    if len(found) != 1:
        raise SystemExit(f"scripts/same-reports: {receiver.name}'s collector has {len(found)} runs in {folder}")
    return Answer(0, done.stdout, b"", contents_of(reader, found[0]))


def compare_wire(job, other, this, folder, result):
    say(f"{job.name}: over the network, from each program to the other")
    was = collected(job, other, other, other, folder / "other-other")
    again = lambda: [collected(job, other, other, other, folder / f"again-{n}") for n in range(3)]  # noqa: E731
    for sender, receiver in ((other, this), (this, other)):
        to = folder / f"to-{receiver.name.replace(' ', '-')}"
        now = (collected(job, sender, receiver, other, to) for _ in range(3))  # asked at once
        compared = compare_recordings(was, now, again)
        result.add(job.name, f"run of {sender.name}, collected by {receiver.name}", *compared)
