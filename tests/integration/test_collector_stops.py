"""Signals of a collector: it ends soon, whatever it is at, and what it leaves open the next one goes on with. SIGHUP
does not end it."""

import json
import pathlib
import shutil
import signal
import sys
import time

import pytest
from collectors import WAIT_S, Collector, exited, train

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "faults"))
import system_calls


def begin(wire, collector, run):
    """A run of which three messages are acknowledged, and whose relay is still there."""
    process = wire.Process(wire.Client(collector.address, run, relay="r"), pid=1)
    process.introduced = process.begin
    train(wire, process)
    return process


def come_back_and_end(wire, collector, process, run):
    process.client = wire.Client(collector.address, run, relay="r", acknowledged=3)
    process.client.sequence = process.client.acknowledged = 3
    process.begin = process.introduced
    process.numbers.clear()
    train(wire, process)
    process.batch(end=exited(wire))
    process.client.goodbye(exit_code=0)


def complete_casts(collector, run):
    report = json.loads((collector.folder / f"{run}.json").read_text())
    assert report["run"]["complete"], report["run"]["missing"]
    return report["totals"]["casts"]


def test_a_collector_does_not_wait_for_relays_that_stay(wire, collector):
    process = begin(wire, collector, "stays")
    started = time.monotonic()
    collector.stop()
    assert time.monotonic() - started < 4  # it took five seconds and more
    process.client.close()


@pytest.mark.skipif(system_calls.trouble() != "", reason=system_calls.trouble())
def test_what_cannot_be_closed_in_time_is_left_to_the_next_collector(wire, castscope):
    calls = system_calls.SystemCalls(castscope.folder / "calls")
    collector = Collector(castscope, under=calls.under)
    runs = {name: begin(wire, collector, name) for name in ("a", "b")}
    calls.come_out(sync_ms=1000 * WAIT_S)  # the disk takes nothing any more
    collector.stop()
    assert "the time to stop is over" in collector.log
    assert not list(collector.folder.glob("*.json"))
    calls.come_out()
    collector.start()
    come_back_and_end(wire, collector, runs["b"], "b")
    assert complete_casts(collector, "b") == 12
    collector.stop()


def test_a_log_that_nobody_reads_stops_no_run(wire, castscope):
    """A pipe has room for 64 kB, and each run writes some lines: the next run had to wait for a reader."""
    collector = Collector(castscope)
    runs = [f"{number:0>120}" for number in range(100)]
    for run in runs:
        process = wire.Process(wire.Client(collector.address, run, command=["x" * 200]), pid=1)
        process.batch(end=exited(wire))
        process.client.goodbye(exit_code=0)
        process.client.close()
    assert len(list(collector.folder.glob("*.json"))) == len(runs)
    assert collector.read_log_until(f"run {runs[0]} begins in")
    collector.stop()
    assert "stopping" in collector.log
    assert len(collector.log) > 65_536, "the pipe was never full"


def test_a_second_signal_ends_it_at_once(wire, collector):
    process = begin(wire, collector, "on")
    collector.server.send_signal(signal.SIGTERM)
    collector.server.send_signal(signal.SIGINT)
    collector.stop()
    assert "a second signal ends the collector at once" in collector.log
    assert not (collector.folder / "on.json").exists()
    collector.start()
    come_back_and_end(wire, collector, process, "on")
    assert complete_casts(collector, "on") == 12


@pytest.mark.parametrize("under", [(), ("nohup",)], ids=["heard", "ignored"])
def test_sighup_does_not_end_it(wire, castscope, under):
    collector = Collector(castscope, under=under)
    collector.server.send_signal(signal.SIGHUP)
    if not under:
        assert "SIGHUP came, and the collector goes on" in collector.server.stderr.readline()
    process = begin(wire, collector, "on")
    process.batch(end=exited(wire))
    process.client.goodbye(exit_code=0)
    collector.stop()
    assert "SIGHUP" not in collector.log
    assert complete_casts(collector, "on") == 6


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_sighup_does_not_end_a_collector_that_is_being_started(wire, castscope):
    """It comes at the first system call that is about the settings."""
    settings = (castscope.folder / "serve.json").resolve()
    settings.write_text("{}")
    calls = castscope.folder / "calls"
    early = ("strace", "-q", "-D", "-o", calls, "-P", settings, "-e", "inject=all:signal=HUP:when=1")
    collector = Collector(castscope, under=early, options=["--config", settings])
    assert "serve.json" in calls.read_text()
    process = begin(wire, collector, "on")
    process.batch(end=exited(wire))
    process.client.goodbye(exit_code=0)
    collector.stop()
    assert complete_casts(collector, "on") == 6


def test_a_collector_outlives_whoever_reads_its_log(wire, castscope):
    collector = Collector(castscope)
    collector.server.stderr.close()
    for run in ("one", "two"):  # each writes into the log
        process = begin(wire, collector, run)
        process.batch(end=exited(wire))
        process.client.goodbye(exit_code=0)
        process.client.close()
        assert complete_casts(collector, run) == 6
    collector.server.send_signal(signal.SIGTERM)
    assert collector.server.wait(WAIT_S) == 0
