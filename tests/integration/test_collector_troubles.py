"""A collector whose disk is full for a while, or that has no descriptors left: nothing is refused for good, and everything
is there afterwards, once."""

import os
import pathlib
import random
import subprocess
import time

import pytest
from collectors import Collector, define_code, exited
from program import clean_environment
from relays import Relay, work
from reports import read_report


class SmallDisk(Collector):
    """It keeps its runs on a disk of its own of this size, which this class fills and frees."""

    def __init__(self, castscope, size):
        if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0:
            pytest.skip("needs root for a mount of its own")
        self.size = size
        (castscope.folder / "collected").mkdir()
        super().__init__(castscope)

    def start(self):
        command = (f"mount -t tmpfs -o size={self.size} none collected && "
                   f"exec {self.castscope.program} serve --listen {self.address} --folder collected")
        self.server = subprocess.Popen(["unshare", "-m", "sh", "-c", command], cwd=self.castscope.folder,
                                       env=clean_environment(), stderr=subprocess.PIPE, text=True)
        assert "collecting on" in self.server.stderr.readline()
        self.disk = pathlib.Path(f"/proc/{self.server.pid}/root{self.folder}")

    def fill(self):
        with open(self.disk / "ballast", "wb", buffering=0) as ballast:
            block = 1 << 20
            while block >= 4096:
                try:
                    ballast.write(b"x" * block)
                except OSError:
                    block //= 2

    def free(self):
        (self.disk / "ballast").unlink()

    def report(self, run):
        """It goes with its collector, so it is read before that."""
        end = time.monotonic() + 60
        while not (self.disk / f"{run}.json").exists():
            assert time.monotonic() < end
        report = read_report(self.disk / f"{run}.json")
        self.stop()
        return report


@pytest.fixture
def small_disk(castscope):
    collector = SmallDisk(castscope, "3m")
    yield collector
    collector.server.kill()
    collector.server.communicate()


def test_a_run_goes_on_when_a_full_disk_has_room_again(wire, small_disk):
    """The collector takes some more into its log, and then nothing. What it took after the last acknowledgement is sent
    again."""
    chance, relay = random.Random(1), Relay(wire, small_disk, "full", "r")
    process = wire.Process(relay, pid=1)
    sites = define_code(wire, process)[:2]
    counts = [work(process, *sites, chance)]
    relay.wait()
    small_disk.fill()
    with pytest.raises(wire.Refused) as caught:
        for _ in range(2000):
            counts.append(work(process, *sites, chance))
            relay.wait()
    assert caught.value.code.name == "UNAVAILABLE" and "the disk is full" in caught.value.sentence
    small_disk.server.stderr.readline()  # "begins in"
    assert "run full cannot be kept now: " in small_disk.server.stderr.readline()
    small_disk.free()
    counts.append(work(process, *sites, chance))
    process.batch(end=exited(wire))
    relay.goodbye()
    relay.wait_through_troubles()
    relay.stream.close()
    report = small_disk.report("full")
    assert [sum(of) for of in zip(*counts)] == [report["totals"]["casts"], report["totals"]["cache_hits"]]
    assert report["run"]["complete"] and report["run"]["missing"] == [] and report["totals"]["events_lost"] == 0
