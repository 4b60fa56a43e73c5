"""What a collector finds in its folder when it starts, and what may happen to the folder while it runs."""

import concurrent.futures
import contextlib
import ctypes
import os
import select
import shutil
import sqlite3
import struct

import pytest
from collectors import WAIT_S, Collector, asked, exited, readiness, refused, train
from reports import read_report

READING = (503, "not ready: the runs of the folder are still being read\n")


class Watch:
    """The names of files of a folder that something happens to."""

    OPEN, CLOSE_WRITE = 0x20, 0x8

    def __init__(self, folder, mask):
        libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert libc.inotify_add_watch(self.descriptor, bytes(folder), mask) > 0

    def names(self, wait_s=0.0):
        """Those since the last call; waits so long for the first one."""
        if not select.select([self.descriptor], [], [], wait_s)[0]:
            return []
        read, names = os.read(self.descriptor, 1 << 16), []
        while read:
            length = struct.unpack("iIII", read[:16])[3]
            names.append(read[16:16 + length].rstrip(b"\0").decode())
            read = read[16 + length:]
        return names


@pytest.fixture
def monitored(castscope):
    collector = Collector(castscope, options=["--metrics=127.0.0.1:0"])
    yield collector
    collector.stop()


def monitor_of(collector):
    return collector.read_log_until("metrics are at ").split("metrics are at ")[1].split("/metrics")[0]


def begin(wire, collector, run, **hello):
    process = wire.Process(wire.Client(collector.address, run, **hello), pid=1)
    train(wire, process)
    process.batch(flush=True)
    return process


def end(wire, process):
    process.batch(end=exited(wire))
    process.client.goodbye(exit_code=0)
    process.client.close()


def kill(collector):
    collector.server.kill()
    collector.server.communicate(timeout=WAIT_S)


def test_a_collector_opens_no_finished_run_when_it_starts(wire, monitored):
    names = {f"run{number}.castscope" for number in range(3)}
    for name in names:
        end(wire, begin(wire, monitored, name.removesuffix(".castscope")))
    index = monitored.folder / ".castscope-serve.index"
    watch = Watch(monitored.folder, Watch.CLOSE_WRITE | 0x2)  # IN_MODIFY: a line was added
    while not index.exists() or not all(name in index.read_text() for name in names):
        assert watch.names(WAIT_S), "nothing was written into the index"
    assert index.stat().st_mode & 0o777 == 0o600
    for damage in (None, lambda: index.write_bytes(index.read_bytes()[:-20])):
        kill(monitored)
        if damage is not None:
            damage()
        opened = Watch(monitored.folder, Watch.OPEN)
        monitored.start()
        assert readiness(monitor_of(monitored)) == (200, "ok\n")
        assert len(names & set(opened.names())) == (0 if damage is None else 1)


def test_a_relay_that_comes_while_the_folder_is_read_waits(wire, monitored):
    """Somebody holds a lock on a run file, so that reading it takes a while."""
    end(wire, begin(wire, monitored, "whole", run_key="the first sender's key"))
    process = begin(wire, monitored, "open", relay="r")
    sequence = process.client.sequence
    process.client.close()
    kill(monitored)
    locked = shutil.copy(monitored.folder / "whole.castscope", monitored.folder / "locked.castscope")
    with contextlib.closing(sqlite3.connect(locked, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        monitored.start()
        monitor = monitor_of(monitored)
        assert asked(monitor + "/readyz") == READING
        with concurrent.futures.ThreadPoolExecutor() as pool:
            stranger = pool.submit(refused, wire, lambda: wire.Client(monitored.address, "whole", run_key="k" * 16))
            back = pool.submit(wire.Client, monitored.address, "open", relay="r", acknowledged=sequence)
            assert asked(monitor + "/readyz") == READING and not stranger.done() and not back.done()
            holder.execute("ROLLBACK")
            assert "was begun by another sender" in stranger.result(WAIT_S)[1]
            client = process.client = back.result(WAIT_S)
    client.sequence = client.acknowledged = sequence
    end(wire, process)
    assert readiness(monitor) == (200, "ok\n")
    assert monitored.report("open")["totals"]["casts"] == 6
    assert sorted(path.name for path in monitored.folder.glob("*.castscope")) == [
        "locked.castscope", "open.castscope", "whole.castscope"]


def test_empty_files_of_a_killed_collector_are_removed(collector):
    kill(collector)
    for name, mode in (("stub", 0o600), ("shared", 0o644), ("text", 0o600)):
        (collector.folder / f"{name}.castscope").touch(mode)
        (collector.folder / f"{name}.castscope").chmod(mode)
    (collector.folder / "text.castscope").write_text("a note")
    collector.start()
    collector.read_log_until("stub.castscope was removed: a collector was killed when it made it, and no run is in it")
    collector.read_log_until("shared.castscope: the file is empty")
    assert sorted(path.name for path in collector.folder.glob("*.castscope")) == ["shared.castscope", "text.castscope"]


def test_a_run_whose_log_was_removed_is_concluded(wire, collector):
    process = begin(wire, collector, "run")
    process.client.close()
    kill(collector)
    (collector.folder / "run.castscope-wal").unlink()
    collector.start()
    collector.read_log_until("run.castscope and .json written")
    collector.stop()
    run = read_report(collector.folder / "run.json")["run"]
    assert not run["complete"] and run["missing"] and run["end"]


def test_a_folder_that_is_removed_costs_no_run_that_is_open(wire, monitored):
    monitor = monitor_of(monitored)
    assert readiness(monitor) == (200, "ok\n")
    process = begin(wire, monitored, "run")
    shutil.rmtree(monitored.folder)
    status, why = readiness(monitor)
    assert status == 503 and "the folder of the runs is gone" in why
    monitored.read_log_until("those that are open are written again when they end; no run begins now")
    monitored.read_log_until("was moved or deleted while the run goes on")
    assert refused(wire, lambda: begin(wire, monitored, "other"))[0] == "UNAVAILABLE"
    monitored.folder.mkdir()
    monitored.read_log_until("the collector goes on in this one")
    assert readiness(monitor) == (200, "ok\n") or "the last run that was to begin could not" in readiness(monitor)[1]
    end(wire, begin(wire, monitored, "other"))
    end(wire, process)
    report = monitored.report("run")
    assert report["totals"]["casts"] == 6 and report["run"]["complete"]
    assert read_report(monitored.folder / "other.json")["totals"]["casts"] == 6
