"""Quotas of a collector hold for every run of a sender: for one that goes on at the next collector, and for open runs
when the file of tokens is changed. What they cost is counted, and has its sentence."""

import base64
import signal
import subprocess

import pytest
from collectors import Collector, exited, train
from program import clean_environment
from test_collector_tokens import Tokens, entry, text_of, wait_until

SMALL = {"events_per_second": 1}
SENTENCE = '1 single events a second of the sender "small"'
# 65,536 casts of site 1, all alike, as proto/event_block.h packs them.
BLOCK = base64.b64decode("BMeNg82AgASXgBAHKLUv/aAXAAQAxAAAaICABAECAAIBAYCABAACAPN/oBv9vw6K9AAAeACA"
                         "gAQLCgkIBwYFBAMCAQMA8f8EAFEH5P9A6wuuuwAAANCfn8/3/38=")


@pytest.fixture
def tokens(castscope):
    return Tokens(castscope.folder)


@pytest.fixture
def limited(castscope, tokens):
    tokens.write(entry("small", "a", "send", quotas=SMALL))
    collector = Collector(castscope, options=["--tokens", tokens.path, "--metrics=127.0.0.1:0"])
    yield collector
    collector.stop()


def change(collector, tokens, **more):
    tokens.write(entry("small", "a", "send", **more))
    collector.server.send_signal(signal.SIGHUP)
    collector.read_log_until("audit: the tokens were read again")


def end(wire, process):
    process.batch(end=exited(wire))
    process.client.goodbye(exit_code=0)
    process.client.close()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_quotas_hold_for_a_run_that_goes_on_at_the_next_collector(wire, limited, how):
    """The run's file does not say whose token began it: its relay does when it comes back."""
    process = wire.Process(wire.Client(limited.address, "run", relay="r", token="a"), pid=1)
    begin = process.begin
    train(wire, process, steps=1)
    assert not process.client.holds, "an unused quota is kept for ten seconds"
    acknowledged = process.client.acknowledged
    limited.server.send_signal(how)
    limited.server.communicate()
    limited.start()
    process.client = wire.Client(limited.address, "run", relay="r", token="a", acknowledged=acknowledged)
    process.client.sequence = process.client.acknowledged = acknowledged
    process.begin = begin
    process.numbers.clear()  # what it had defined it defines again
    train(wire, process, steps=2)
    assert process.client.holds
    end(wire, process)
    report = limited.report("run")
    assert report["totals"]["casts"] == 6 and report["run"]["complete"], report["run"]["missing"]
    assert any(SENTENCE in notice for notice in report["run"]["notices"])


def test_a_changed_quota_holds_for_open_runs(wire, limited, tokens):
    """A smaller one, a larger one, and none at all."""
    change(limited, tokens)
    process = wire.Process(wire.Client(limited.address, "run", token="a"), pid=1)
    train(wire, process, steps=2)
    assert not process.client.holds
    change(limited, tokens, quotas=SMALL)
    train(wire, process, steps=2)
    assert process.client.holds
    change(limited, tokens, quotas={"events_per_second": 1_000_000})
    train(wire, process, steps=2)
    assert not process.client.holds
    change(limited, tokens, quotas={"bytes_per_run": 50_000})
    train(wire, process, steps=1)
    assert process.client.holds
    change(limited, tokens)
    train(wire, process, steps=1)
    assert not process.client.holds
    end(wire, process)
    run = limited.report("run")["run"]
    assert any(SENTENCE in notice for notice in run["notices"])
    assert {one["incomplete_reason"] for one in run["missing"]} == {"events_missing"}
    assert any("the collector keeps 0.05 MB" in notice for notice in run["notices"])


def test_what_a_changed_quota_costs_a_running_job_is_counted(castscope, limited, tokens):
    """Its sender is told while the job runs, and what the job then drops stays counted when the quota has gone."""
    metrics = limited.read_log_until("metrics are at ").split("metrics are at ")[1].strip()
    change(limited, tokens)
    secret = castscope.folder / "secret"
    secret.touch(0o600)
    secret.write_text("a\n")
    program = castscope.program.parent / "tests" / "faults" / "replayed_job"
    with subprocess.Popen([str(castscope.program), "run", "--collector", limited.address, "--token-file", str(secret),
                           "-o", "job", "--", str(program), "progress", "15000", "3000", "0"], cwd=castscope.folder,
                          env=clean_environment(), stderr=subprocess.DEVNULL) as job:
        limited.read_log_until("sent by small")
        change(limited, tokens, quotas=SMALL)
        wait_until(lambda: "castscope_events_dropped_total 0\n" not in text_of(metrics))
        change(limited, tokens)
    assert job.returncode == 0
    report = limited.report("job")
    process, = report["processes"]
    assert report["totals"]["casts"] == 15000 and report["run"]["complete"], report["run"]["missing"]
    assert process["events_received"] + process["events_dropped"] == process["events_made"] == 15000
    assert process["events_dropped"] and any(SENTENCE in notice for notice in report["run"]["notices"])


def test_a_batch_of_a_billion_events_keeps_its_collector_at_work_for_no_time(wire, limited, tokens):
    """It has two megabytes. What else it tells is taken."""
    process = wire.Process(wire.Client(limited.address, "run", token="a"), pid=1)
    train(wire, process, steps=1)
    process.client.batch(process_key=process.key, flush=True, event_blocks=[
        wire.pb.Events(lane=2, first_event=number * 65536, event_count=65536, packed_events=BLOCK)
        for number in range(16384)])
    change(limited, tokens)  # whoever looks after all runs does not wait for it
    train(wire, process, steps=1)
    end(wire, process)
    report = limited.report("run")
    assert report["totals"]["casts"] == 4
    assert any("sent more than 1048576 events in a batch; its counts were taken" in one["sentence"]
               for one in report["run"]["missing"])
    process, = report["processes"]
    assert 1048576 < process["events_received"] < 1048576 + 100
