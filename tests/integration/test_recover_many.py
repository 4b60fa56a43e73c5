"""castscope recover sends what waits in many files side by side, and tells of them in their order."""

import os
import subprocess
import threading

import pytest
from fake_collector import WAIT_S, in_place_of_a_collector, put_spool
from program import clean_environment
from terminals import open_terminal

SIDE_BY_SIDE = 8


@pytest.fixture
def spool(castscope):
    return castscope.folder / "spool"


def environment(spool):
    return clean_environment(CASTSCOPE_SPOOL=spool, CASTSCOPE_SPOOL_BYTES="1 MB")


def recover(castscope, spool, *files):
    return castscope("recover", *files, text=True, env=environment(spool))


def test_eight_are_sent_side_by_side_and_no_more(castscope, wire, spool):
    together, present, most, lock = threading.Barrier(SIDE_BY_SIDE), 0, 0, threading.Lock()

    def make_talk(collector):
        def talk(hello, messages, context):
            nonlocal present, most
            with lock:
                present += 1
                most = max(most, present)
            together.wait(WAIT_S)
            yield collector.welcome()
            message = next(messages)
            while not message.HasField("goodbye"):
                message = next(messages)
            with lock:
                present -= 1
            yield collector.acknowledged(1)
        return talk

    with in_place_of_a_collector(wire, make_talk) as collector:
        files = [put_spool(wire.pb, spool, f"run-{number}", collector.address) for number in range(3 * SIDE_BY_SIDE)]
        done = recover(castscope, spool, *files)
    assert done.returncode == 0, done.stderr
    assert most == SIDE_BY_SIDE and list(spool.iterdir()) == []
    assert done.stderr.count("has taken") == 3 * SIDE_BY_SIDE


def test_they_are_told_in_their_order_and_one_that_is_refused_holds_up_none(castscope, wire, spool):
    """The first is answered when all others are done, of which one is refused."""
    others_are_done = threading.Semaphore(0)

    def make_talk(collector):
        def talk(hello, messages, context):
            if hello.run_id == "refused":
                others_are_done.release()
                yield wire.pb.CollectorMessage(refusal=wire.pb.Refusal(sentence="not this one"))
                return
            if hello.run_id == "first":
                for _ in range(3):
                    assert others_are_done.acquire(timeout=WAIT_S)
            yield collector.welcome()
            for answer in collector.take_all(messages):  # the one to the goodbye
                others_are_done.release()
                yield answer
        return talk

    with in_place_of_a_collector(wire, make_talk) as collector:
        files = [put_spool(wire.pb, spool, run, collector.address) for run in ("first", "b", "refused", "a")]
        done = recover(castscope, spool, *files)
    assert done.returncode == 3
    assert [path.name for path in spool.iterdir()] == ["refused.relay.spool"]
    told = [line for line in done.stderr.splitlines() if ".spool" in line]
    assert [name for line in told for name in ("first", "b", "refused", "a") if f"/{name}.relay" in line] == [
        "first", "b", "refused", "a"], done.stderr
    assert "is still there: not this one" in told[2]


def test_each_of_many_arrives_at_a_collector_once(castscope, wire, collector, spool):
    files = [put_spool(wire.pb, spool, f"run-{number}", collector.address) for number in range(20)]
    done = recover(castscope, spool, *files)
    assert done.returncode == 0, done.stderr
    collector.stop()
    assert sorted(path.stem for path in collector.folder.glob("*.json")) == sorted(f"run-{n}" for n in range(20))
    assert all(collector.report(f"run-{n}")["run"]["complete"] for n in range(20))


def test_all_are_sent_though_nobody_reads_what_is_said(castscope, wire, collector, spool):
    files = [put_spool(wire.pb, spool, f"run-{number}", collector.address) for number in range(3 * SIDE_BY_SIDE)]
    nobody, there = os.pipe()
    os.close(nobody)
    done = subprocess.run([str(castscope.program), "recover", *map(str, files)], cwd=castscope.folder, check=False,
                          env=environment(spool), stdout=there, stderr=there, timeout=WAIT_S)
    os.close(there)
    assert done.returncode == 0 and list(spool.iterdir()) == []


def test_a_person_at_a_terminal_sees_how_far_it_is(castscope, wire, spool):
    seen = threading.Event()

    def make_talk(collector):
        def talk(hello, messages, context):
            yield collector.welcome()
            if hello.run_id == "last":
                assert seen.wait(WAIT_S)
            yield from collector.take_all(messages)
        return talk

    with in_place_of_a_collector(wire, make_talk) as collector:
        files = [put_spool(wire.pb, spool, run, collector.address) for run in ("last", "a", "b")]
        here, there = open_terminal()
        going = subprocess.Popen([str(castscope.program), "recover", *map(str, files)], cwd=castscope.folder,
                                 env=environment(spool), stderr=there)
        os.close(there)
        with open(here, "rb", buffering=0) as terminal:
            text = b""
            while b"2 of 3 done" not in text:
                text += terminal.read(4096)
            assert b"has taken" not in text, "the first of them is told first"
            seen.set()
            assert going.wait(WAIT_S) == 0


@pytest.mark.parametrize("words, sentence", [
    (["--redact", "job"], "--redact and --no-source come too late for what is written already: {} is sent as it is"),
    (["--no-source"], "--redact and --no-source come too late for what is written already: {} is sent as it is"),
    (["--redact", "("], "is not a regular expression"),
    (["-o", "x"], "-o makes a run file here, and {} goes to a collector")])
def test_what_cannot_be_done_with_a_file_of_the_spool_is_refused_before_it_is_sent(castscope, wire, spool, words,
                                                                                   sentence):
    with in_place_of_a_collector(wire, lambda collector: lambda hello, messages, context: iter(())) as collector:
        file = put_spool(wire.pb, spool, "run", collector.address)
        done = recover(castscope, spool, *words, file)
        assert done.returncode == 2 and sentence.format(file) in done.stderr, done
        assert collector.heard == [] and file.exists()
