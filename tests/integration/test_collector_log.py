"""What senders say in a collector's log: it fills no disk, and looks like nothing but what it is."""

import json

import pytest
from collectors import Collector, refused

FORGED = 'x, sent by training-big: begins in a file", from "y\u202egnp.exe\u2028\u200b\x1b[2J\n2026 [info] all is well'


def test_a_refusal_does_not_quote_megabytes(wire, collector):
    told = refused(wire, lambda: wire.Client(collector.address, "run", castscope_version="y" * (15 << 20),
                                             lowest_protocol=99, highest_protocol=99))
    assert told == ("INVALID_ARGUMENT", "the hello has more than a megabyte")
    _, sentence = refused(wire, lambda: wire.Client(collector.address, "run", castscope_version="y" * 900_000,
                                                    lowest_protocol=99, highest_protocol=99))
    assert "… (899900 more bytes)" in sentence and len(sentence) < 500
    wire.Client(collector.address, "long", host="z" * 900_000, cwd="z" * 50_000, command=["z" * 50_000]).close()
    collector.stop()
    assert "run long begins in " in collector.log and len(collector.log) < 5000


def test_a_run_that_lacks_much_does_not_fill_the_log(wire, collector):
    client = wire.Client(collector.address, "run")
    for pid in range(1, 31):
        wire.Process(client, pid=pid).batch()
    client.goodbye()
    client.close()
    assert len(collector.report("run")["run"]["missing"]) == 30
    assert collector.log.count(" is not complete: ") == 10
    assert "run run is not complete for 20 more reasons, which its report tells" in collector.log


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_sender_writes_no_sentence_of_the_collector(wire, castscope, form):
    collector = Collector(castscope, options=["--log-format", form])
    wire.Client(collector.address, "run", host=FORGED, cwd=FORGED, command=[FORGED]).close()
    line = collector.read_log_until("run run begins in ").rstrip("\n")
    collector.stop()
    message = json.loads(line)["message"] if form == "json" else line
    harmless = 'x, sent by training-big: begins in a file\\", from \\"y???gnp.exe???????[2J?2026 [info] all is well'
    assert message.endswith(f': "{harmless}", in "{harmless}", from "{harmless}"')
    assert not {"\u202e", "\u2028", "\u200b", "\x1b"} & set(line)
