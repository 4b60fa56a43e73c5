"""Tokens of a collector: each has a name and may do certain things, and they are replaced while it runs."""

import hashlib
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request

import pytest
from collectors import WAIT_S, Collector, exited, refused, train
from program import clean_environment


def entry(name, secret, *may, **more):
    return {"name": name, "sha256": hashlib.sha256(secret.encode()).hexdigest(), "may": may, **more}


class Tokens:
    def __init__(self, folder):
        self.path = folder / "tokens.json"

    def write(self, *entries):
        """As a secret store does it: under another name, then renamed."""
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps({"tokens": entries}))
        new.chmod(0o600)
        new.rename(self.path)


@pytest.fixture
def tokens(castscope):
    return Tokens(castscope.folder)


@pytest.fixture
def guarded(castscope, tokens):
    tokens.write(entry("training", "to send", "send"), entry("night-training", "to send at night", "send"),
                 entry("boards", "to see", "see"), entry("keeper", "to do all", "administer"))
    collector = Collector(castscope, options=["--tokens", tokens.path, "--web=127.0.0.1:0", "--metrics=127.0.0.1:0"])
    yield collector
    collector.stop()


def whole_run(wire, address, run, token):
    process = wire.Process(wire.Client(address, run, token=token), pid=1)
    train(wire, process)
    process.batch(end=exited(wire))
    process.client.goodbye(exit_code=0)
    process.client.close()


def test_what_one_sender_says_to_have_waiting_hides_nothing_of_another(wire, guarded):
    metrics = guarded.read_log_until("metrics are at ").split("metrics are at ")[1].strip()
    clients = [wire.Client(guarded.address, run, token=token, waiting_bytes=waiting)
               for run, token, waiting in (("a", "to send", 5000), ("b", "to send", 6000), ("c", "to do all", 1 << 63))]
    for client in clients:  # an answer comes after the stream was counted
        client.send(ask=wire.pb.Ask())
        client.receive()
    with urllib.request.urlopen(metrics, timeout=WAIT_S) as answer:
        told = dict(line.split(" ") for line in answer.read().decode().splitlines() if "backlog_bytes{" in line)
    assert set(told) == {f'castscope_backlog_bytes{{sender="{name}"}}' for name in ("training", "keeper")}
    # Less the bytes of the questions.
    assert 10_900 < int(told['castscope_backlog_bytes{sender="training"}']) < 11_000
    for client in clients:
        client.close()


def test_each_token_may_do_what_its_entry_says(wire, guarded):
    page = guarded.read_log_until("runs can be watched at ").split("runs can be watched at ")[1].split("/t/")[0]
    whole_run(wire, guarded.address, "one", "to send")
    whole_run(wire, guarded.address, "two", "to do all")
    code, sentence = refused(wire, lambda: wire.Client(guarded.address, "three", token="to see"))
    assert (code, sentence) == ("PERMISSION_DENIED", "this token (boards) may not send")
    assert refused(wire, lambda: wire.Client(guarded.address, "three", token="to"))[0] == "UNAUTHENTICATED"
    for token, status in (("to see", 200), ("to do all", 200), ("to send", 401), ("to", 401)):
        assert asked(f"{page}/api/v2/runs", token) == status, token
    guarded.stop()
    assert "run one, sent by training, begins in " in guarded.log
    assert "audit: a token of boards, which may not send, came from" in guarded.log
    assert "audit: a wrong token came from unix" in guarded.log
    assert "audit: a token of training, which may not see, came from the page" in guarded.log
    assert not [one.name for one in guarded.folder.iterdir() if one.name.startswith("three")]


def text_of(url):
    with urllib.request.urlopen(url, timeout=WAIT_S) as answer:
        return answer.read().decode()


def wait_until(condition):
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def asked(url, token):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.parametrize("signalled", [True, False])
def test_tokens_are_replaced_without_a_restart(wire, guarded, tokens, signalled):
    """At once with SIGHUP, and within ten seconds without. The stream of a token that was taken out ends."""
    old = wire.Process(wire.Client(guarded.address, "old", token="to send"), pid=1)
    train(wire, old)
    tokens.write(entry("training", "newer", "send"))
    if signalled:
        guarded.server.send_signal(signal.SIGHUP)
    guarded.read_log_until("audit: the tokens were read again")
    assert refused(wire, lambda: train(wire, old))[0] in ("UNAUTHENTICATED", "CANCELLED")
    assert refused(wire, lambda: wire.Client(guarded.address, "old", token="to send"))[0] == "UNAUTHENTICATED"
    whole_run(wire, guarded.address, "new", "newer")


def test_a_stream_that_sends_nothing_ends_with_its_token(wire, guarded, tokens):
    idle = wire.Process(wire.Client(guarded.address, "idle", token="to send"), pid=1)
    train(wire, idle)
    tokens.write(entry("others", "newer", "send"))
    guarded.server.send_signal(signal.SIGHUP)
    with pytest.raises(wire.Refused):
        idle.client.receive()


def test_a_run_without_a_key_belongs_to_a_token(wire, guarded, tokens):
    name = "night-training"
    mine = wire.Process(wire.Client(guarded.address, "mine", relay="a", token="to send at night"), pid=1)
    train(wire, mine)
    for key in ("", name + "  ", f"sender {name}", f"sender {hashlib.sha256(name.encode()).hexdigest()}"):
        code, sentence = refused(wire, lambda key=key: wire.Client(guarded.address, "mine", relay="a",
                                                                   token="to do all", run_key=key).receive())
        assert code == "PERMISSION_DENIED" and "begun by another sender" in sentence, key
    mine.batch(end=exited(wire))
    mine.client.goodbye(exit_code=0)
    mine.client.close()


@pytest.mark.parametrize("secret", ["tök\u00e9n", "a\x07b", "abc\0def", "x" * 2000])
def test_a_token_that_cannot_be_sent_is_refused_before_the_job(castscope, secret):
    path = castscope.folder / "bad"
    path.write_text(secret)
    path.chmod(0o600)
    done = castscope("run", "--collector", "127.0.0.1:1", "--token-file", path, "--", "echo", "it ran", text=True)
    assert done.returncode == 125 and "is no token" in " ".join(done.stderr.split()) and done.stdout == ""


def test_refusals_do_not_fill_the_log(wire, guarded):
    for _ in range(100):
        refused(wire, lambda: wire.Client(guarded.address, "none"))
        refused(wire, lambda: wire.Client(guarded.address, "../odd", token="to send"))
    guarded.stop()
    assert guarded.log.count("a relay was refused") <= 60 and "further refusals are counted" in guarded.log
    assert 1 <= guarded.log.count("audit: no token came from") <= 4


def test_a_file_of_tokens_that_is_wrong_changes_nothing(wire, guarded, tokens):
    tokens.path.write_text('{"tokens": [{"name": "training"}]}')
    guarded.server.send_signal(signal.SIGHUP)
    line = guarded.read_log_until("the tokens before it stay in use")
    assert f'{tokens.path}:1:13: a token needs its "sha256"' in line
    whole_run(wire, guarded.address, "one", "to send")


def start_waiting_job(castscope, guarded):
    """A job that the collector has begun to take, the file of its token, and where the collector's metrics are."""
    secret = castscope.folder / "secret"
    secret.write_text("to send\n")
    secret.chmod(0o600)
    job = subprocess.Popen([str(castscope.program), "run", "--collector", guarded.address, "--token-file", str(secret),
                            "--", "sh", "-c", "read line"], cwd=castscope.folder, env=clean_environment(),
                           stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    metrics = guarded.read_log_until("metrics are at ").split("metrics are at ")[1].split("/metrics")[0]
    guarded.read_log_until("sent by training")
    return job, secret, metrics


def test_a_running_job_sends_the_token_that_its_file_has_now(castscope, guarded, tokens):
    """The token is replaced while the job runs: first it is refused, then its file has the new one."""
    job, secret, metrics = start_waiting_job(castscope, guarded)
    tokens.write(entry("training", "newer", "send"))
    guarded.server.send_signal(signal.SIGHUP)
    guarded.read_log_until("audit: a wrong token came from")
    secret.write_text("newer\n")
    wait_until(lambda: "castscope_open_streams 1" in text_of(f"{metrics}/metrics"))
    assert job.communicate("\n", timeout=WAIT_S)[0] is None and job.returncode == 0
    report, = guarded.folder.glob("*.json")
    assert json.loads(report.read_text())["run"]["exit_status"] == 0, "its end came home"


@pytest.fixture
def replayed(castscope, guarded):
    """A job of three seconds without PyTorch, which the collector has begun to take."""
    secret = castscope.folder / "secret"
    secret.write_text("to send\n")
    secret.chmod(0o600)
    environment = clean_environment() | {"CASTSCOPE_SPOOL": str(castscope.folder / "spool"),
                                         "CASTSCOPE_SPOOL_BYTES": "1 MB", "CASTSCOPE_TOKEN_FILE": str(secret)}
    program = castscope.program.parent / "tests" / "faults" / "replayed_job"
    job = subprocess.Popen([str(castscope.program), "run", "--collector", guarded.address, "-o", "job", "--",
                            str(program), "progress", "900", "300", "0"], cwd=castscope.folder, env=environment,
                           stderr=subprocess.PIPE, text=True)
    guarded.read_log_until("sent by training")
    yield job, environment
    job.kill()
    job.communicate()


def test_what_a_job_does_without_its_token_waits_for_it(castscope, replayed, guarded, tokens):
    """The token is taken out while the job runs, and put back after its end: nothing of the run is missing."""
    job, environment = replayed
    tokens.write(entry("others", "newer", "send"))
    guarded.server.send_signal(signal.SIGHUP)
    guarded.read_log_until("audit: a wrong token came from")
    said = job.communicate(timeout=WAIT_S)[1]
    assert job.returncode == 0 and "`castscope recover` sends it" in " ".join(said.split())
    tokens.write(entry("training", "to send", "send"))
    guarded.server.send_signal(signal.SIGHUP)
    guarded.read_log_until("audit: the tokens were read again")
    spool, = (castscope.folder / "spool").glob("*.spool")
    done = castscope("recover", spool, env=environment, text=True)
    assert done.returncode == 0, done.stderr
    report = guarded.report("job")
    assert report["totals"]["casts"] == 900 and report["run"]["complete"], report["run"]["missing"]


def test_a_token_that_is_put_back_lets_running_jobs_in_again(castscope, guarded, tokens):
    job, _, metrics = start_waiting_job(castscope, guarded)
    tokens.write(entry("training", "to send", "see"))
    guarded.server.send_signal(signal.SIGHUP)
    guarded.read_log_until("audit: a token of training, which may not send, came from")
    tokens.write(entry("training", "to send", "send"))
    guarded.server.send_signal(signal.SIGHUP)
    wait_until(lambda: "castscope_open_streams 1" in text_of(f"{metrics}/metrics"))
    assert job.communicate("\n", timeout=WAIT_S)[0] is None and job.returncode == 0


def test_castscope_token_makes_what_the_collector_takes(castscope, wire, tokens):
    """The secret goes into a file that nobody else reads, and only its digest into the collector's."""
    made = castscope("token", "training", "--until", "2099-12-31", text=True)
    assert made.returncode == 0 and "training.token" in made.stderr
    secret = castscope.folder / "training.token"
    assert secret.stat().st_mode & 0o777 == 0o600
    token = secret.read_text().strip()
    assert len(token) == 22 and token not in made.stdout + made.stderr
    tokens.write(json.loads(made.stdout))
    collector = Collector(castscope, options=["--tokens", tokens.path])
    whole_run(wire, collector.address, "run", token)
    assert collector.report("run")["run"]["complete"]
    again = castscope("token", "training", text=True)
    assert again.returncode == 2 and "a token is never overwritten" in " ".join(again.stderr.split())
    assert secret.read_text().strip() == token
    assert os.listdir(castscope.folder).count("training.token") == 1


def test_quotas_of_a_token_cost_events_and_no_count(wire, castscope, tokens):
    """Of a sender beyond its quota no events are wanted, and its report says why; others are not touched."""
    tokens.write(entry("small", "a", "send", quotas={"events_per_second": 1}), entry("other", "b", "send"))
    collector = Collector(castscope, options=["--tokens", tokens.path])
    processes = {token: wire.Process(wire.Client(collector.address, token, token=token), pid=1) for token in "ab"}
    for process in processes.values():
        train(wire, process, steps=10)
        train(wire, process, steps=1)
    assert processes["a"].client.holds and not processes["b"].client.holds
    for process in processes.values():
        process.batch(end=exited(wire))
        process.client.goodbye(exit_code=0)
    report = collector.report("a")
    assert report["totals"]["casts"] == 22 and report["run"]["complete"]
    assert any('1 single events a second of the sender "small"' in notice for notice in report["run"]["notices"])
    assert not collector.report("b")["run"]["notices"]
