"""What a collector and a relay of an older version left to this one.

upgrade/format-19.tar.xz holds a collector's folder with an open run in a file of format 19, and what the run's relay
said before and after that collector was killed. It was made by `upgrade/record.py CASTSCOPE REPLAYED_JOB
upgrade/format-19.tar.xz` with the castscope of commit 41683754.
"""

import json
import pathlib
import queue
import shutil
import struct

import grpc
import pytest
from collectors import Collector
from reports import read_report

ARCHIVE = pathlib.Path(__file__).resolve().parent / "upgrade" / "format-19.tar.xz"
METHOD = "/castscope.v1.Collector/Stream"


class Left:
    def __init__(self, folder):
        shutil.unpack_archive(ARCHIVE, folder)
        self.truth = json.loads((folder / "truth.json").read_text())
        self.first, self.second = (list(messages_of((folder / part).read_bytes())) for part in ("first", "second"))


def messages_of(stream):
    while stream:
        [size] = struct.unpack_from("<I", stream)
        yield stream[4:4 + size]
        stream = stream[4 + size:]


@pytest.fixture
def left(castscope):
    """The folder `collected` is as the killed collector left it."""
    return Left(castscope.folder)


@pytest.fixture
def emptied(castscope, left):
    for file in (castscope.folder / "collected").iterdir():
        file.unlink()
    return left


def say(wire, collector, messages, until):
    """Says these bytes as one stream, and waits until the collector has acknowledged as many."""
    outgoing = queue.SimpleQueue()
    for message in messages:
        outgoing.put(message)
    with grpc.insecure_channel(collector.address) as channel:
        for answer in channel.stream_stream(METHOD)(iter(outgoing.get, None)):
            message = wire.pb.CollectorMessage.FromString(answer)
            assert not message.HasField("refusal"), message.refusal
            if message.ack.sequence >= until:
                outgoing.put(None)


def last_sequence(wire, stream):
    last = wire.pb.RelayMessage.FromString(stream[-1])
    return getattr(last, last.WhichOneof("message")).sequence


def check_whole(collector, left):
    collector.stop()
    report = read_report(collector.folder / "job.json")
    assert report["totals"]["casts"] == left.truth["casts"]
    assert (report["run"]["complete"], report["run"]["missing"]) == (True, [])
    assert report["run"]["exit_status"] == left.truth["exit_status"]
    assert not report["run"]["weakly_checked"]
    [process] = report["processes"]
    assert process["events_received"] + process["events_dropped"] == process["events_made"] == left.truth["casts"]


def test_an_open_run_of_the_version_before_goes_on(wire, castscope, left):
    collector = Collector(castscope)
    say(wire, collector, left.second, last_sequence(wire, left.second))
    check_whole(collector, left)


def test_it_goes_on_for_a_relay_with_a_key_of_which_that_collector_knew_nothing(wire, castscope, left):
    hello = wire.pb.RelayMessage.FromString(left.second[0])
    hello.hello.run_key = "0123456789abcdef"
    collector = Collector(castscope)
    say(wire, collector, [hello.SerializeToString(), *left.second[1:]], last_sequence(wire, left.second))
    check_whole(collector, left)


def test_what_is_not_sent_any_more_is_concluded_with_what_was_acknowledged(castscope, left):
    collector = Collector(castscope)
    report = collector.report("job")
    assert 0 < report["totals"]["casts"] == left.truth["left"] < left.truth["casts"]
    reasons = {one["incomplete_reason"] for one in report["run"]["missing"]}
    assert not report["run"]["complete"] and reasons == {"process_still_ran", "run_end_not_seen"}


def test_what_a_relay_of_the_version_before_says_is_understood(wire, castscope, emptied):
    collector = Collector(castscope)
    acknowledged = wire.pb.RelayMessage.FromString(emptied.second[0]).hello.acknowledged
    assert acknowledged > 0
    say(wire, collector, emptied.first, acknowledged)
    say(wire, collector, emptied.second, last_sequence(wire, emptied.second))
    check_whole(collector, emptied)
