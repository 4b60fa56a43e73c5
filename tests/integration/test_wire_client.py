"""A second client: a run that Python sends over the wire, and what becomes of one that lies. The client knows
castscope.proto and docs/wire.md alone (tests/clients/wire_client.py)."""

import pytest
from collectors import WAIT_S, exited, refused, train


def test_a_run_that_python_sent_has_the_numbers_that_it_sent(wire, collector):
    client = wire.Client(collector.address, "trained", run_file_name="trained", cwd="/home/user")
    assert client.welcome.protocol == 7
    assert client.welcome.castscope_version == collector.castscope("version", text=True).stdout.split()[1]
    process = wire.Process(client, pid=42)
    process.attribute("rank", "1")
    train(wire, process)
    process.batch(end=exited(wire, 3))
    client.goodbye(exit_code=3)
    client.close()
    assert client.acknowledged == client.sequence == 5
    report = collector.report("trained")
    run, totals = report["run"], report["totals"]
    assert (run["complete"], run["missing"], run["exit_status"], run["command"]) == (True, [], 3, ["client"])
    assert (totals["casts"], totals["cache_hits"], totals["bytes"], totals["cpu_ns"]) == (6, 3, 3 * (64 + 128), 6 * 500)
    assert totals["events_lost"] == 0
    sites = {site["argument"]: site for site in report["sites"]}
    assert (sites["weight"]["casts"], sites["weight"]["cache_hits"], sites["weight"]["role"]) == (3, 3, "weight")
    assert (sites["input"]["casts"], sites["input"]["why_not_cached"]) == (3, "no_requires_grad")
    assert sites["weight"]["location"] == {"file": "/home/user/train.py", "line": 12,
                                           "function": "Net.forward"}
    assert [sites["weight"][what] for what in ("operator", "module", "model")] == ["aten::linear", "fc", "Net"]
    [region] = report["regions"]
    assert (region["entered"], region["region_dtype"], region["location"]["line"]) == (3, "bfloat16", 7)
    runs = report["step_runs"]
    assert (runs[0]["first_step"], runs[-1]["last_step"], sum(one["casts"] for one in runs)) == (0, 2, 6)
    [known] = report["processes"]
    assert (known["pid"], known["rank"], known["end_kind"], known["exit_status"]) == (42, 1, "exited", 3)
    assert (known["events_made"], known["events_received"], known["events_dropped"]) == (3 * 8, 3 * 8, 0)


def test_what_was_acknowledged_is_not_doubled_and_a_returning_client_goes_on(wire, collector):
    first = wire.Client(collector.address, "returned", relay="r")
    process = wire.Process(first, pid=1)
    train(wire, process, steps=2)
    first.close()
    second = wire.Client(collector.address, "returned", relay="r", acknowledged=1)  # the second answer was lost
    assert second.receive().ack.sequence == 2
    second.sequence = second.acknowledged = 2
    process.client = second
    process.batch(end=exited(wire))
    second.goodbye()
    second.close()
    report = collector.report("returned")
    assert (report["run"]["complete"], report["totals"]["casts"], report["totals"]["cache_hits"]) == (True, 4, 2)


def test_a_client_that_lies_about_sequence_numbers_is_refused_and_the_file_says_so(wire, collector):
    client = wire.Client(collector.address, "gap", relay="r")
    process = wire.Process(client, pid=1)
    train(wire, process, steps=3)
    client.sequence = 4
    sentence = "relay r sent message 5 where message 4 was due: it was not taken, for what is acknowledged has no gaps"
    assert refused(wire, lambda: process.batch(end=exited(wire))) == ("FAILED_PRECONDITION", sentence)
    assert client.acknowledged == 3
    run = collector.report("gap")["run"]
    assert {"incomplete_reason": "batch_rejected", "process": None, "sentence": sentence} in run["missing"]
    assert not run["complete"] and sentence in run["notices"]
    assert collector.check("gap").returncode == 3


def test_a_batch_after_the_goodbye_is_refused_and_the_file_says_so(wire, collector):
    client = wire.Client(collector.address, "late", relay="r")
    process = wire.Process(client, pid=1)
    train(wire, process)
    process.batch(end=exited(wire))
    client.goodbye()
    sentence = "relay r sent batch 6 after its goodbye: it was not taken"
    assert refused(wire, process.batch) == ("FAILED_PRECONDITION", sentence)
    run = collector.report("late")["run"]
    assert run["missing"] == [{"incomplete_reason": "batch_rejected", "process": None, "sentence": sentence}]
    assert not run["complete"]


@pytest.mark.parametrize(("what", "code", "sentence"), [
    ("hello", "FAILED_PRECONDITION", "a second hello came in one stream"),
    ("nothing", "INVALID_ARGUMENT", "a message came that this protocol version does not have"),
])
def test_a_message_that_has_no_place_ends_the_stream_and_the_file_says_so(wire, collector, what, code, sentence):
    client = wire.Client(collector.address, what)
    client.send(**{"hello": wire.pb.Hello(run_id=what)} if what == "hello" else {})
    told, said = refused(wire, client.receive)
    assert told == code and said.startswith(sentence)
    missing, silence = collector.report(what)["run"]["missing"]
    assert silence["incomplete_reason"] == "run_end_not_seen"
    assert sentence in missing["sentence"] and missing["incomplete_reason"] == "batch_rejected"


@pytest.mark.parametrize(("end", "taken"), [
    ({"exit_code": -1, "signal": 9}, (137, 9)),
    ({"exit_code": -1, "signal": 65}, (None, None)),
    ({"exit_code": 256}, (None, None)),
])
def test_an_end_that_no_job_can_have_is_not_taken(wire, collector, end, taken):
    client = wire.Client(collector.address, "ended")
    process = wire.Process(client, pid=1)
    train(wire, process)
    process.batch(end=exited(wire))
    client.goodbye(**end)
    client.close()
    run = collector.report("ended")["run"]
    assert (run["exit_status"], run["signal"]) == taken
    assert [one["incomplete_reason"] for one in run["missing"]] == ([] if taken[1] else ["batch_rejected"])


def test_a_message_that_is_too_large_is_an_exhausted_resource(wire, collector):
    client = wire.Client(collector.address, "large")
    process = wire.Process(client, pid=1)
    process.attribute("command_line", "x" * (16 << 20))
    code, sentence = refused(wire, process.batch)
    assert code == "RESOURCE_EXHAUSTED" and "larger than max" in sentence


# What a process says, its sentence in the report, and the code beside it.
LIES = {
    "early": ("process client-host/7/1/0 sent a batch before it was introduced", "process_rejected"),
    "junk": ("process client-host/7/1/0 sent the role \"wieght\", which is on no list", "process_rejected"),
    "large": ("process client-host/7/1/0 sent a count of casts of 9223372036854775808, beyond 2^63 - 1",
              "part_rejected"),
    "end": ("process client-host/7/1/0 sent an end of an unknown kind", "process_rejected"),
    "status": ("process client-host/7/1/0 sent the exit status 256", "process_rejected"),
    "nameless": ("a batch without the name of its process", "batch_rejected"),
    "missing": ("of 50 events that process 7 published, 50 never arrived", "events_missing"),
}


def tell(wire, lie, process):
    pb = wire.pb
    if lie == "early":
        process.begin = None
    if lie == "junk":
        process.define("site", pb.Site(role="wieght", from_dtype="float32", to_dtype="bfloat16", device="cpu"))
    if lie == "large":
        process.define("site", pb.Site(role="weight", from_dtype="float32", to_dtype="bfloat16", device="cpu"))
        process.count(1, casts=2**63)
    if lie == "nameless":
        process.key = ""
    if lie == "missing":
        process.sent = 50
    process.batch(end=pb.ProcessEnd(end_kind=9) if lie == "end" else exited(wire, 256 if lie == "status" else 0))


def test_each_lie_of_a_process_is_a_sentence_and_the_run_is_not_complete(wire, collector):
    for lie in LIES:
        client = wire.Client(collector.address, lie)
        honest = wire.Process(client, pid=1)
        train(wire, honest)
        honest.batch(end=exited(wire))
        tell(wire, lie, wire.Process(client, pid=7))
        client.goodbye()
        client.close()
        told = lie not in ("missing", "large")  # which show in the file alone
        assert bool(client.rejections) == told, lie
    for lie, (sentence, code) in LIES.items():
        report = collector.report(lie)
        [missing] = report["run"]["missing"]
        assert missing["sentence"].startswith(sentence), lie
        known = [process["process"] for process in report["processes"] if process["pid"] == 7]
        told = known[0] if known and lie != "nameless" else None
        assert (missing["incomplete_reason"], missing["process"]) == (code, told), lie
        assert missing["sentence"] in report["run"]["notices"]
        assert report["run"]["complete"] is False
        assert report["totals"]["casts"] == 6, "what the other process said is whole"
        checked = collector.check(lie)
        assert checked.returncode == 3 and sentence[:30] in " ".join(checked.stdout.split()), checked.stdout


def test_health_is_served(wire, collector):
    with wire.grpc.insecure_channel(collector.address) as channel:
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        serving = b"\x08\x01"  # field 1: SERVING
        assert check(b"", timeout=WAIT_S) == serving
        assert check(b"\x0a\x16castscope.v1.Collector", timeout=WAIT_S) == serving


def test_a_client_that_returns_is_told_all_rejections_in_messages_that_it_can_take(wire, collector):
    """gRPC's clients take 4 MB. The keys, which the sentences repeat, are as long as they may be."""
    client = wire.Client(collector.address, "rejected", relay="r")
    keys = [f"{number:04}".ljust(4096, "k") for number in range(600)]
    for key in keys:
        client.batch(process_key=key)  # of a process that was not introduced
    client.batch(process_key=keys[0], flush=True)
    client.close()
    again = wire.Client(collector.address, "rejected", relay="r", acknowledged=client.acknowledged)
    told = 0
    while told < len(keys):
        message = again.receive()
        assert message.ByteSize() < 4 << 20
        told += len(message.ack.rejections)
    again.close()
