"""A collector that is killed and started again, and two collectors with one folder: nothing that was acknowledged is
lost or counted twice."""

import functools
import json
import socket
import subprocess
import time

import pytest
from collectors import WAIT_S, Collector, certificate_for_loopback, define_code, exited, refused, train
from program import clean_environment


def restarted(wire, collector, run):
    """A process three steps of which were acknowledged before the collector was killed and started again."""
    client = wire.Client(collector.address, run, relay="r")
    process = wire.Process(client, pid=1)
    begin = process.begin
    train(wire, process)
    client.close()
    collector.kill_and_start_again()
    process.begin = begin
    return process


def come_back(wire, collector, process, run, **hello):
    """The relay of a process opens a stream again: three messages were acknowledged to it."""
    client = process.client = wire.Client(collector.address, run, relay="r", acknowledged=3, **hello)
    client.sequence = client.acknowledged = 3


@pytest.mark.parametrize("tls", [False, True])
def test_a_relay_finds_its_collector_again_by_itself(castscope, tls):
    """gRPC looks at idle connections by a timer, each five seconds. It is switched off here: jobs may end sooner."""
    certificate_for_loopback(castscope.folder)
    collector = Collector(castscope, under=["env", "CASTSCOPE_TOKEN=of the test"], address="127.0.0.1:0",
                          options=["--cert", "cert.pem", "--key", "key.pem"] if tls else [])
    through = ["--ca", "cert.pem"] if tls else []
    job = castscope.program.parent / "tests/faults/replayed_job"
    environment = clean_environment(CASTSCOPE_TOKEN="of the test", GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS="0")
    command = [castscope.program, "run", "--collector", collector.address, *through, "-o", "back", "--", job,
               "progress", "1000000", "1000", "0"]
    with subprocess.Popen(command, cwd=castscope.folder, env=environment,
                          stderr=subprocess.DEVNULL) as recorder:
        try:
            wait_for_casts(castscope, collector, 1)
            collector.server.kill()
            collector.server.communicate(timeout=WAIT_S)
            with socket.create_server(("127.0.0.1", int(collector.address.split(":")[1]))) as closed:
                for _ in range(2):  # the relay tries, and finds nobody
                    closed.accept()[0].close()
            collector.start()
            wait_for_casts(castscope, collector, 1 + wait_for_casts(castscope, collector, 1))
        finally:
            recorder.terminate()
            recorder.wait(timeout=WAIT_S)
    assert collector.report("back")["totals"]["casts"] > 1


def wait_for_casts(castscope, collector, at_least):
    file, end, casts = collector.folder / "back.castscope", time.monotonic() + WAIT_S, 0
    while casts < at_least:
        assert time.monotonic() < end, f"{casts} casts of {at_least}"
        told = castscope("report", file) if file.exists() else None
        casts = json.loads(told.stdout)["totals"]["casts"] if told and told.returncode == 0 else 0
    return casts


@pytest.mark.parametrize("tells_again", [True, False])
def test_a_collector_that_was_killed_goes_on_and_counts_nothing_twice(wire, collector, tells_again):
    process = restarted(wire, collector, "killed")
    client = process.client = wire.Client(collector.address, "killed", relay="r", acknowledged=3)
    client.sequence = client.acknowledged = client.receive().ack.sequence
    assert client.sequence == 3
    if tells_again:
        process.numbers.clear()
        define_code(wire, process)
    process.batch(end=exited(wire))
    client.goodbye()
    client.close()
    report = collector.report("killed")
    sentence = (f"process {process.key} sent counters of number 2, which it did not define again after the collector "
                "was started again; the rest of it is ignored")
    assert [one["sentence"] for one in report["run"]["missing"]] == ([] if tells_again else [sentence])
    assert (report["totals"]["casts"], report["totals"]["cache_hits"]) == (6, 3)
    assert report["totals"]["beyond_sites"]["casts"] == 0


def test_a_run_goes_on_in_an_older_copy_of_its_file(wire, collector):
    """A backup that was put back, or a disk that lost what came last in a power cut: counts are told anew, and are
    exact; single events are missing, and the report says so."""
    process = restarted(wire, collector, "restored")
    copy = {file: file.read_bytes() for file in collector.folder.glob("restored.castscope*")}
    come_back(wire, collector, process, "restored")
    process.numbers.clear()
    train(wire, process)
    process.client.close()
    collector.server.kill()
    collector.server.communicate()
    for file in collector.folder.glob("restored.castscope*"):
        file.unlink()
    for file, content in copy.items():
        file.write_bytes(content)
    collector.start()

    client = process.client = wire.Client(collector.address, "restored", relay="r", acknowledged=6)
    client.sequence = client.acknowledged = client.receive().ack.sequence
    assert client.sequence == 6
    process.begin = wire.pb.ProcessBegin(host="client-host", pid=1, parent_pid=1, start_ticks=1)
    process.numbers.clear()
    define_code(wire, process)
    process.batch(end=exited(wire))
    client.goodbye(exit_code=0)
    client.close()
    report = collector.report("restored")
    assert (report["totals"]["casts"], report["totals"]["cache_hits"]) == (12, 6)
    sentences = [one["sentence"] for one in report["run"]["missing"]]
    assert sentences[0] == ("messages 4 to 6 of relay r were acknowledged, and this file has lost them, or is an older "
                            "copy: single events that they told are not in it")
    assert not report["run"]["complete"] and len(sentences) == 2, sentences


def test_a_run_that_had_ended_is_the_same_after_the_collector_was_killed(wire, collector):
    process = wire.Process(wire.Client(collector.address, "over", relay="r"), pid=1)
    train(wire, process)
    process.batch(end=exited(wire))
    process.client.goodbye(exit_code=3, notices=["it was warm"])
    process.client.close()
    file = collector.folder / "over.json"
    before = file.read_bytes()
    collector.kill_and_start_again()
    client = wire.Client(collector.address, "over", relay="r", acknowledged=4)
    assert client.receive().ack.sequence == 5, "the goodbye's acknowledgement was lost"
    client.sequence = 4
    client.goodbye(exit_code=3, notices=["it was warm"])
    client.close()
    assert wire.Client(collector.address, "over", relay="r", acknowledged=5).receive().ack.sequence == 5
    report = collector.report("over")
    assert (report["run"]["complete"], report["run"]["exit_status"]) == (True, 3)
    assert "it was warm" in report["run"]["notices"]
    assert file.read_bytes() == before


def test_another_run_under_the_same_names_is_refused(wire, collector):
    for restart in (False, True):
        first = wire.Process(wire.Client(collector.address, "twice", relay="r"), pid=1)
        if not restart:
            train(wire, first)
            first.batch(end=exited(wire))
            first.client.goodbye()
        first.client.close()
        if restart:
            collector.kill_and_start_again()
        client = wire.Client(collector.address, "twice", relay="r")
        assert client.receive().ack.sequence == 5
        second = wire.Process(client, pid=2)
        code, sentence = refused(wire, second.batch)
        assert code == "FAILED_PRECONDITION"
        assert sentence == (f"relay r introduces process {second.key} in message 1, and message 5 was acknowledged to "
                            "it before: it was not taken; a new run needs a new run_id")
    report = collector.report("twice")
    assert (report["run"]["complete"], report["totals"]["casts"], len(report["processes"])) == (True, 6, 1)


@pytest.mark.parametrize("restart", [False, True])
def test_a_run_belongs_to_who_began_it(wire, collector, restart):
    client = wire.Client(collector.address, "mine", relay="r", run_key="k" * 32)
    process = wire.Process(client, pid=1)
    train(wire, process)
    process.batch(end=exited(wire))
    client.goodbye()
    client.close()
    file = collector.folder / "mine.castscope"
    before = file.read_bytes()
    if restart:
        collector.kill_and_start_again()
    for relay in ("r", "another"):
        for key in ({}, {"run_key": "x" * 32}):
            stranger = functools.partial(wire.Client, collector.address, "mine", relay=relay, **key)
            code, sentence = refused(wire, stranger)
            assert code == "PERMISSION_DENIED" and "was begun by another sender" in sentence
    assert file.read_bytes() == before
    code, sentence = refused(wire, lambda: wire.Client(collector.address, "short", run_key="x" * 15))
    assert code == "INVALID_ARGUMENT" and sentence == "the run's key has 15 bytes, not 16 to 128"


def test_a_process_stays_who_it_is_after_the_collector_was_killed(wire, collector):
    process = restarted(wire, collector, "who")
    come_back(wire, collector, process, "who")
    process.begin.start_ticks = 2
    process.numbers.clear()
    train(wire, process)
    process.client.goodbye()
    assert "two processes cannot have one key" in process.client.rejections[process.key]
    report = collector.report("who")
    assert (report["run"]["complete"], report["totals"]["casts"]) == (False, 6)


def test_a_stay_during_which_the_collector_was_killed_is_evidence_in_two_parts(wire, collector):
    process = restarted(wire, collector, "parts")
    come_back(wire, collector, process, "parts")
    process.numbers.clear()
    train(wire, process)
    process.batch(end=exited(wire))
    process.client.goodbye()
    report = collector.report("parts")
    assert (report["run"]["complete"], report["totals"]["casts"]) == (True, 12)
    judged = {rule["rule"]: rule for rule in report["coverage"]["rules"]}
    assert judged["cache-grows"]["judged"] == "partly"
    assert "started again while the job ran" in judged["cache-grows"]["because"]


def test_a_folder_has_one_collector(wire, collector, castscope):
    """A second one says whose it is; when the first has gone, however that ended, the next one goes on."""
    client = wire.Client(collector.address, "shared", relay="a")
    process = wire.Process(client, pid=1)
    train(wire, process)
    second = castscope("serve", "--listen", f"unix:{castscope.folder}/other", "--folder", "collected", text=True)
    assert second.returncode == 2
    assert f"another collector's already (process {collector.server.pid})" in " ".join(second.stderr.split())
    process.batch(end=exited(wire))
    client.goodbye()
    collector.kill_and_start_again()
    assert collector.report("shared")["totals"]["casts"] == 6


def test_a_run_is_found_by_its_id_whatever_its_file_is_called(wire, collector):
    process = restarted(wire, collector, "run")
    collector.stop()
    for suffix in ("castscope", "json"):
        (collector.folder / f"run.{suffix}").rename(collector.folder / f"renamed.{suffix}")
    collector.start()
    come_back(wire, collector, process, "run", run_file_name="wished")
    process.batch(end=exited(wire))
    process.client.goodbye()
    assert sorted(file.name for file in collector.folder.iterdir() if not file.name.startswith(".")) == [
        "renamed.castscope", "renamed.json"]
    assert collector.report("renamed")["totals"]["casts"] == 6


def test_a_run_that_had_ended_goes_on_with_another_relay(wire, collector, castscope):
    process = wire.Process(wire.Client(collector.address, "more", relay="a"), pid=1)
    train(wire, process)
    process.batch(end=exited(wire))
    process.client.goodbye()
    report = collector.folder / "more.json"
    assert json.loads(report.read_text())["run"]["complete"]
    collector.kill_and_start_again()
    other = wire.Process(wire.Client(collector.address, "more", relay="b"), pid=2)
    train(wire, other)
    other.client.close()
    collector.server.kill()
    assert not report.exists()
    told = json.loads(castscope("report", "collected/more.castscope", text=True).stdout)
    assert [one["sentence"] for one in told["run"]["missing"]] == [
        "the end of the run was not seen: it still goes on, or its collector was killed (`castscope serve`, started "
        "again on this folder, closes it)"]
    collector.kill_and_start_again()
    run = collector.report("more")["run"]
    assert [one["incomplete_reason"] for one in run["missing"]] == ["process_still_ran", "run_end_not_seen"]


def test_a_collector_that_is_started_again_closes_what_it_had_left_open(wire, collector):
    wire.Process(wire.Client(collector.address, "none", relay="r"), pid=1).batch()
    over = wire.Process(wire.Client(collector.address, "over", relay="r"), pid=1)
    train(wire, over)
    over.batch(end=exited(wire))
    over.client.goodbye(exit_code=3)
    report = collector.folder / "over.json"
    before = report.read_text()
    report.unlink()  # as if it had been killed before it was written
    collector.kill_and_start_again()
    collector.stop()
    assert report.read_text() == before
    assert [one["sentence"] for one in collector.report("none")["run"]["missing"]] == [
        "process 1 still ran when its record was closed: what it did after that is not in it",
        "relay r did not say goodbye: what came after the last message is not known"]


def test_what_of_the_end_was_not_seen_is_said(wire, collector):
    process = wire.Process(wire.Client(collector.address, "left", relay="r"), pid=1)
    process.batch(end=exited(wire))
    process.client.goodbye(still_running=2)
    quiet = wire.Process(wire.Client(collector.address, "quiet", relay="r"), pid=1)
    quiet.batch(end=exited(wire))
    quiet.client.close()
    said = {run: [one["sentence"] for one in collector.report(run)["run"]["missing"]] for run in ("left", "quiet")}
    assert said == {
        "left": ["2 processes of the job still ran when the relay said goodbye: what was done after that is not in the "
                 "file"],
        "quiet": ["relay r did not say goodbye: what came after the last message is not known"]}


def test_somebody_elses_file_in_the_place_of_a_report_stays(wire, collector):
    process = wire.Process(wire.Client(collector.address, "package", relay="a"), pid=1)
    train(wire, process)
    theirs = collector.folder / "package.json"
    theirs.write_text('{"name": "theirs"}')
    process.batch(end=exited(wire))
    process.client.goodbye()
    other = wire.Process(wire.Client(collector.address, "package", relay="b"), pid=2)
    train(wire, other)
    other.batch(end=exited(wire))
    other.client.goodbye()
    collector.stop()
    assert theirs.read_text() == '{"name": "theirs"}'
    assert "package.json is no report of this run: it stays" in collector.log


def test_a_relay_that_nothing_came_of_is_waited_for_by_the_next_collector_too(wire, collector):
    wire.Client(collector.address, "silent", relay="b")
    process = restarted(wire, collector, "silent")
    come_back(wire, collector, process, "silent")
    process.numbers.clear()
    define_code(wire, process)
    process.batch(end=exited(wire))
    process.client.goodbye()
    report = collector.report("silent")
    assert [one["sentence"] for one in report["run"]["missing"]] == [
        "relay b did not say goodbye: what came after the last message is not known"]


def test_a_run_that_goes_on_has_no_end_as_soon_as_something_came(wire, collector, castscope):
    process = wire.Process(wire.Client(collector.address, "on", relay="a"), pid=1)
    process.batch(end=exited(wire))
    process.client.goodbye()
    client = wire.Client(collector.address, "on", relay="b")
    wire.Process(client, pid=2).batch(flush=False)
    client.send(ask=wire.pb.Ask())
    client.receive()
    assert not (collector.folder / "on.json").exists()
    told = json.loads(castscope("report", "collected/on.castscope", text=True).stdout)
    assert "run_not_ended" in [one["incomplete_reason"] for one in told["run"]["missing"]]
