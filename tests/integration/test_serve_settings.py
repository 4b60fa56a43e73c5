"""`castscope serve --config`, its metrics and its health, its log for programs, and what it removes."""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import time

import jsonschema
import pytest
from collectors import Collector, asked, exited, readiness, refused, train
from program import CAN_MOUNT, ROOT, clean_environment
from prometheus_client.parser import text_string_to_metric_families
from reports import read_report


def serve(castscope, *words):
    done = castscope("serve", *words, text=True)
    return done.returncode, " ".join(done.stderr.split()), done.stdout


def whole_run(wire, collector, name, token=None):
    process = wire.Process(wire.Client(collector.address, name, token=token), pid=1)
    train(wire, process)
    process.batch(end=exited(wire))
    process.client.goodbye(exit_code=0)
    process.client.close()


def test_settings_are_checked_with_their_place_and_nothing_is_made(castscope):
    config = castscope.folder / "serve.json"
    config.write_text('{\n  // for the cluster\n  "listen": "127.0.0.1:0",\n  "folder": "runs"\n}')
    code, err, out = serve(castscope, "--config", "serve.json", "--check-config")
    assert (code, err) == (0, "") and "127.0.0.1:0, into runs" in out
    assert not (castscope.folder / "runs").exists()
    for text, told in (('{"folder": "runs",\n "kep": "all"}', 'serve.json:2:2: there is no setting "kep" here'),
                       ('{"listen": "0.0.0.0:7390"}', "will not listen on 0.0.0.0:7390"),
                       ('{"tokens": "none.json"}', "none.json: the file of tokens cannot be read"),
                       ('{"tls": {"certificate": "c.pem", "key": "k.pem"}}', "cannot read the certificate c.pem"),
                       ('{"folder": "serve.json"}', "serve.json is not a folder")):
        config.write_text(text)
        code, err, _ = serve(castscope, "--config", "serve.json", "--check-config")
        assert code == 2 and told in err, err


WITH_WHICH_NO_COLLECTOR_STARTS = {
    '"web": "0.0.0.0:7391"': "the viewer cannot listen on 0.0.0.0:7391: others could reach it there",
    '"web": "127.0.0.1:page"': "the viewer cannot listen on 127.0.0.1:page: its port is not a number",
    '"metrics": "0.0.0.0:7392"': "the page of metrics cannot listen on 0.0.0.0:7392: others could reach it",
    '"metrics": "127.0.0.1:17390"': '127.0.0.1:17390 is the address of "listen", too: give another port',
    '"web": "127.0.0.1:7391", "metrics": "localhost:7391"': 'localhost:7391 is the address of "web", too',
    '"web": "127.0.0.1:7391 "': "the viewer cannot listen on 127.0.0.1:7391 : its port is not a number",
    '"tokens": "none.json"': "none.json: the file of tokens cannot be read",
    '"token_file": "none"': "none",
    '"folder": "serve.json"': "serve.json is not a folder",
    '"folder": "serve.json/runs"': "serve.json/runs cannot be made: ",
    '"folder": "/proc/nope"': "/proc/nope cannot be made: nobody can make a folder in /proc",
    '"folder": "ru\\u0000ns"': "this has a NUL in it, which no path and no address can have",
}


@pytest.mark.parametrize("more", [("--check-config",), ()], ids=["checked", "started"])
@pytest.mark.parametrize("settings", WITH_WHICH_NO_COLLECTOR_STARTS)
def test_what_no_collector_starts_with_is_told_with_its_place_and_nothing_is_made(castscope, settings, more):
    folder = "" if '"folder"' in settings else ' "folder": "runs",'
    (castscope.folder / "serve.json").write_text(f'{{"listen": "localhost:17390",{folder}\n {settings}}}')
    code, err, _ = serve(castscope, "--config", "serve.json", *more)
    place = 2 + settings.rfind(', "') + (2 if ', "' in settings else 0)
    assert code == 2 and f"serve.json:2:{max(place, 2)}: {WITH_WHICH_NO_COLLECTOR_STARTS[settings]}" in err, err
    assert "collecting on" not in err
    assert [path.name for path in castscope.folder.iterdir() if path.name in ("runs", "ru")] == []


def test_a_socket_may_lie_in_the_folder_that_the_collector_makes(castscope):
    settings = ("--listen", "unix:new/socket", "--folder", "new")
    assert serve(castscope, *settings, "--check-config")[0] == 0
    assert not (castscope.folder / "new").exists()


def test_the_command_line_goes_before_the_file(castscope):
    (castscope.folder / "serve.json").write_text('{"listen": "127.0.0.1:0", "folder": "runs", "fsync": "checkpoint"}')
    code, _, out = serve(castscope, "--config", "serve.json", "--folder", "others", "--check-config")
    assert code == 0 and "into others" in out
    code, err, _ = serve(castscope, "--config", "serve.json", "--folder", "serve.json/x", "--check-config")
    assert code == 2 and "serve.json:1" not in err, "what the command line says stands in no file"


def test_what_the_schema_takes_the_collector_takes(castscope):
    schema = json.loads((ROOT / "docs" / "serve.schema.json").read_text())
    everything = {"listen": "127.0.0.1:0", "folder": "runs", "web": "127.0.0.1:0", "metrics": "127.0.0.1:0",
                  "keep": "all", "fsync": "checkpoint", "log_format": "json",
                  "retention": {"days": 1, "bytes": "2 GiB"},
                  "quotas": {"events_per_second": 1000, "bytes_per_run": 1 << 30, "open_runs": 5}}
    jsonschema.validate(everything, schema)
    assert set(schema["properties"]) - set(everything) == {"$schema", "tls", "tokens", "token_file"}
    (castscope.folder / "serve.json").write_text(json.dumps(everything))
    assert serve(castscope, "--config", "serve.json", "--check-config")[0] == 0


@pytest.fixture
def monitored(castscope):
    collector = Collector(castscope, options=["--metrics=127.0.0.1:0"])
    collector.monitor = collector.read_log_until("metrics are at ").split("metrics are at ")[1].split("/metrics")[0]
    yield collector
    collector.stop()


def metrics_of(collector):
    text = asked(collector.monitor + "/metrics")[1]
    if shutil.which("promtool"):
        subprocess.run(["promtool", "check", "metrics"], input=text, text=True, check=True, capture_output=True)
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {sample.name: sample.value for sample in samples if not sample.labels}, samples


def test_metrics_count_runs_events_findings_and_the_collectors_own_cost(wire, monitored):
    process = wire.Process(wire.Client(monitored.address, "open", waiting_bytes=5_000_000), pid=1)
    train(wire, process)
    whole_run(wire, monitored, "whole")
    values, samples = metrics_of(monitored)
    assert values["castscope_runs_begun_total"] == 2 and values["castscope_runs_finished_total"] == 1
    assert (values["castscope_open_runs"], values["castscope_open_streams"]) == (1, 1)
    assert values["castscope_events_received_total"] > 30
    assert 4_900_000 < values["castscope_backlog_bytes"] < 5_000_000
    assert values["castscope_messages_total"] >= 4
    assert values["process_cpu_seconds_total"] > 0 and values["process_resident_memory_bytes"] > 1e6
    findings = read_report(monitored.folder / "whole.json")["findings"]
    counted = sum(sample.value for sample in samples if sample.name == "castscope_findings_total")
    assert counted == len(findings)
    process.batch(end=exited(wire))
    process.client.goodbye(exit_code=0)
    process.client.close()


def test_it_is_healthy_while_it_runs_and_ready_while_it_can_take_runs(monitored):
    assert asked(monitored.monitor + "/healthz") == (200, "ok\n")
    assert readiness(monitored.monitor) == (200, "ok\n")
    assert asked(monitored.monitor + "/api/v2/runs")[0] == 404
    if os.geteuid() != 0:
        monitored.folder.chmod(0o500)
        assert asked(monitored.monitor + "/readyz") == (503, "not ready: the folder of the runs cannot be written\n")
        monitored.folder.chmod(0o700)


@pytest.mark.skipif(not CAN_MOUNT, reason="only root can mount, and not everywhere")
@pytest.mark.parametrize("left", [0, 1], ids=["for the file", "for its log"])
def test_it_is_not_ready_while_there_are_no_inodes_for_a_run(wire, castscope, left):
    (castscope.folder / "collected").mkdir()
    script = 'mount -t tmpfs -o size=64m,nr_inodes=7,mode=700 none collected && exec "$0" "$@"'
    collector = Collector(castscope, under=("unshare", "-m", "sh", "-c", script), options=["--metrics=127.0.0.1:0"])
    monitor = collector.read_log_until("metrics are at ").split("metrics are at ")[1].split("/metrics")[0]
    disk = pathlib.Path(f"/proc/{collector.server.pid}/root{collector.folder}")
    for number in range(20):
        with contextlib.suppress(OSError):
            (disk / f"ballast{number}").touch()
    for number in range(left):
        (disk / f"ballast{number}").unlink()
    assert readiness(monitor) == (200, "ok\n"), "no run has been to begin"
    code, sentence = refused(wire, lambda: whole_run(wire, collector, "run"))
    assert code == "UNAVAILABLE" and "run.castscope: the disk has no inodes left for another file" in sentence
    status, why = asked(monitor + "/readyz")
    assert status == 503 and "not ready: the last run that was to begin could not: " in why and "no inodes left" in why
    for ballast in disk.glob("ballast*"):
        ballast.unlink()
    whole_run(wire, collector, "run")
    assert asked(monitor + "/readyz") == (200, "ok\n")
    collector.stop()


def test_the_log_for_programs_is_json(wire, castscope):
    collector = Collector(castscope, options=["--log-format", "json"])
    whole_run(wire, collector, "run")
    collector.stop()
    lines = [json.loads(line) for line in collector.log.splitlines()]
    assert all({"time", "level", "message"} <= set(line) for line in lines)
    begun = [line for line in lines if "begins in" in line["message"]]
    assert [(line["run"], line["level"]) for line in begun] == [("run", "info")]


def test_runs_that_are_older_than_they_are_kept_are_removed(wire, castscope):
    collector = Collector(castscope)
    for name in ("old", "young"):
        whole_run(wire, collector, name)
    collector.stop()
    database = sqlite3.connect(collector.folder / "old.castscope")
    with database:
        database.execute("UPDATE run SET value = value - 8 * 86400 * 1000000000 WHERE key = 'end_epoch_ns'")
    database.close()
    week_ago = time.time() - 8 * 86400
    os.utime(collector.folder / "old.castscope", (week_ago, week_ago))
    collector.options = ["--keep-days", "7"]
    collector.start()
    collector.server.send_signal(signal.SIGHUP)  # it looks after its runs at once, and every ten seconds without
    assert "run old was removed" in collector.read_log_until("was removed")
    collector.stop()
    assert sorted(path.name for path in collector.folder.glob("*[!k]")) == ["young.castscope", "young.json"]


def age(file, hours):
    """Its run ended so many hours earlier."""
    with contextlib.closing(sqlite3.connect(file)) as database, database:
        database.execute(f"UPDATE run SET value = value - {hours} * 3600 * 1000000000 WHERE key = 'end_epoch_ns'")
    then = time.time() - hours * 3600
    os.utime(file, (then, then))


def test_one_senders_flood_removes_no_run_of_another(wire, castscope):
    senders = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("careful", "flooding")}
    tokens = castscope.folder / "tokens.json"
    tokens.touch(0o600)
    tokens.write_text(json.dumps({"tokens": [{"name": name, "sha256": digest, "may": ["send"]}
                                             for name, digest in senders.items()]}))
    collector = Collector(castscope, options=["--tokens", tokens])
    runs = {"precious": "careful", "fill1": "flooding", "fill2": "flooding", "fill3": "flooding", "fill4": "flooding"}
    for name, sender in runs.items():
        whole_run(wire, collector, name, token=sender)
    collector.stop()
    for place, name in enumerate(runs):
        age(collector.folder / f"{name}.castscope", hours=len(runs) - place)
    (collector.folder / "fill1.json").write_text('{"my own": "notes"}')
    size = sum(path.stat().st_size for path in collector.folder.glob("fill4.*"))
    collector.options += ["--keep-bytes", 3 * size + 20_000]  # reports differ by some bytes
    collector.start()
    collector.server.send_signal(signal.SIGHUP)
    assert "run fill1 was removed" in collector.read_log_until("was removed")
    assert "run fill2 was removed" in collector.read_log_until("was removed")
    collector.stop()
    assert {path.stem for path in collector.folder.glob("*.castscope")} == {"precious", "fill3", "fill4"}
    assert (collector.folder / "fill1.json").exists(), "it was nobody's report"


def test_a_backup_of_an_open_run_is_a_run_file(wire, castscope):
    """docs/serve.md says how: by SQLite's own backup, while the collector writes."""
    collector = Collector(castscope)
    process = wire.Process(wire.Client(collector.address, "run"), pid=1)
    train(wire, process)
    with contextlib.closing(sqlite3.connect(collector.folder / "run.castscope")) as source:
        with contextlib.closing(sqlite3.connect(castscope.folder / "b.castscope")) as copy:
            source.backup(copy)
    process.batch(end=exited(wire))
    process.client.goodbye(exit_code=0)
    assert collector.report("run")["totals"]["casts"] == 6
    done = castscope("report", "b.castscope", "--format", "json", text=True, env=clean_environment())
    backed_up = json.loads(done.stdout)
    assert backed_up["totals"]["casts"] == 6 and not backed_up["run"]["complete"]
