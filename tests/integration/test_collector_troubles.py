"""A collector whose disk is full for a while, or that has no descriptors left: nothing is refused for good, and
everything is there afterwards, once."""

import os
import pathlib
import queue
import random
import socket
import subprocess
import threading
import time

import grpc
import pytest
from collectors import Collector, define_code, exited, train
from relays import Relay, work
from reports import read_report


class SmallDisk(Collector):
    """It keeps its runs on a disk of its own of this size, which this class fills and frees."""

    def __init__(self, castscope, size):
        if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0:
            pytest.skip("needs root for a mount of its own")
        (castscope.folder / "collected").mkdir()
        script = f'mount -t tmpfs -o size={size},mode=700 none collected && exec "$0" "$@"'
        super().__init__(castscope, under=["unshare", "-m", "sh", "-c", script])
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
        end = time.monotonic() + 300
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
    assert caught.value.code.name == "UNAVAILABLE" and "the disk is full; free some space" in caught.value.sentence
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


@pytest.fixture
def poor(castscope):
    """A collector that may have 128 files open."""
    collector = Collector(castscope, under=["prlimit", "--nofile=128:128"])
    yield collector
    collector.stop()


def test_runs_beyond_the_descriptors_wait_for_others_to_end(wire, poor):
    relays = []
    with pytest.raises(wire.Refused) as caught:
        for number in range(40):
            relays.append(Relay(wire, poor, f"run-{number}", "r"))
            relays[-1].stream.send(ask=wire.pb.Ask())
            relays[-1].stream.receive()
    assert caught.value.code.name == "UNAVAILABLE" and "may have 128 files open" in caught.value.sentence
    assert len(relays) > 4
    for relay in relays:
        process = wire.Process(relay, pid=1)
        define_code(wire, process)
        process.batch(end=exited(wire))
        relay.goodbye()
        relay.wait()
    late = Relay(wire, poor, "late", "r")
    late.goodbye()
    late.wait_through_troubles()
    for relay in [*relays, late]:
        relay.stream.close()
    poor.stop()
    reports = [read_report(poor.folder / f"run-{number}.json") for number in range(len(relays))]
    assert all(report["run"]["complete"] for report in reports)


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_a_link_in_the_place_of_a_log_is_not_followed(wire, collector, suffix):
    """The collector says so, removes it, and the relay's next try succeeds."""
    precious, link = collector.folder / "precious", collector.folder / f"run.castscope{suffix}"
    precious.write_text("somebody's")
    link.symlink_to("precious")
    with pytest.raises(wire.Refused) as caught:
        Relay(wire, collector, "run", "r")
    assert caught.value.code.name == "UNAVAILABLE"
    assert f"run.castscope{suffix} is a link, and is not followed" in caught.value.sentence
    relay = Relay(wire, collector, "run", "r")
    process = wire.Process(relay, pid=1)
    train(wire, process)
    process.batch(end=exited(wire))
    relay.goodbye()
    relay.wait()
    relay.stream.close()
    report = collector.report("run")
    assert report["totals"]["casts"] == 6 and report["run"]["complete"]
    assert precious.read_text() == "somebody's" and not link.exists()


def test_a_run_that_goes_on_is_not_looked_for_behind_a_link(wire, collector):
    relay = Relay(wire, collector, "run", "r")
    define_code(wire, process := wire.Process(relay, pid=1))
    process.batch(flush=True)
    relay.wait()
    collector.server.kill()
    collector.server.communicate()
    log, precious = collector.folder / "run.castscope-wal", collector.folder / "precious"
    precious.write_text("somebody's")
    log.unlink(missing_ok=True)
    log.symlink_to("precious")
    collector.start()
    warning = collector.read_log_until("a run that goes on is not looked for in it")
    assert "run.castscope-wal is a link, and is not followed" in warning
    collector.stop()
    assert precious.read_text() == "somebody's"
    relay.stream.channel.close()


def test_idle_connections_do_not_stop_the_collector(wire, poor):
    idle = []
    for _ in range(200):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(1)
        connection.connect(poor.address.removeprefix("unix:"))
        idle.append(connection)
    used = len(os.listdir(f"/proc/{poor.server.pid}/fd"))
    assert used < 128, "connections beyond the limit wait in the system's queue"
    for connection in idle:
        connection.close()
    relay = Relay(wire, poor, "after", "r")
    relay.goodbye()
    relay.wait()
    relay.stream.close()


def test_peers_that_say_nothing_hold_a_bounded_number_of_threads(wire, collector):
    done, never, channels = queue.SimpleQueue(), threading.Event(), []
    for number in range(300):
        if number % 100 == 0:  # what one connection carries
            channels.append(grpc.insecure_channel(collector.address, [("grpc.use_local_subchannel_pool", 1)]))
        call = wire.castscope_pb2_grpc.CollectorStub(channels[-1]).Stream(iter(never.wait, True))
        call.add_done_callback(done.put)
    for _ in range(300 - 256):
        assert done.get(timeout=300).code().name == "UNAVAILABLE"
    assert len(os.listdir(f"/proc/{collector.server.pid}/task")) < 256 + 44
    for channel in channels:
        channel.close()
    never.set()
