"""The viewer's API on a finished run, and on a running training: it says the same as the report."""

import json
import os
import re
import signal
import socket
import struct
import subprocess
import time
import urllib.parse

import pytest
from gated import TRAIN
from program import clean_environment
from reports import in_words, with_whole_paths
from terminals import open_terminal
from viewer import ENDLESS, PATIENCE_S, live_url, of_serve
from work import CASTS, HITS, WORK


def ended(viewer, how=signal.SIGINT):
    viewer.process.send_signal(how)
    out, err = viewer.process.communicate(timeout=PATIENCE_S)
    return viewer.process.returncode, out, err


def test_the_browser_gets_the_address_in_a_file_that_nobody_else_reads(castscope, recorded):
    """Every user of the machine reads command lines, and whoever has the token reads the run."""
    browser = castscope.folder / "xdg-open"
    browser.write_text(f'#!/bin/sh\ncd {castscope.folder}\necho "$1" >asked\n'
                       'cp -p "${1#file://}" page.new && mv page.new page\n')
    browser.chmod(0o755)
    ours, terminal = open_terminal()
    environment = clean_environment(DISPLAY=":0", PATH=f"{castscope.folder}:{os.environ['PATH']}",
                                    XDG_RUNTIME_DIR=str(castscope.folder))
    viewer = subprocess.Popen([str(castscope.program), "view", "run.castscope"], cwd=castscope.folder, env=environment,
                              stdout=terminal, stderr=subprocess.PIPE)
    url = os.read(ours, 1000).decode().split()[0]
    page = castscope.folder / "page"
    deadline = time.monotonic() + PATIENCE_S
    while not page.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert page.stat().st_mode & 0o777 == 0o600 and f"url={url}" in page.read_text()
    asked = (castscope.folder / "asked").read_text()
    assert asked.startswith("file:///") and "/t/" not in asked
    viewer.send_signal(signal.SIGINT)
    viewer.communicate(timeout=PATIENCE_S)
    os.close(ours), os.close(terminal)
    assert not list(castscope.folder.glob("castscope-*.html"))


def test_the_numbers_are_those_of_the_report(castscope, view, recorded):
    viewer = view("run.castscope")
    run = viewer.loaded()
    totals = recorded["totals"]
    assert (run["totals"]["casts"], run["totals"]["cache_hits"]) == (totals["casts"], totals["cache_hits"])
    assert run["totals"]["pass_throughs"] == totals["pass_throughs"]
    assert run["totals"]["step_count"] == totals["step_count"]
    assert run["command"] == recorded["run"]["command"]
    assert in_words(viewer.json("runs/run/report")) == recorded

    sites = {site["site"]: site for site in viewer.json("runs/run/sites")["sites"]}
    named = {site["site"]: site for site in viewer.json("runs/run/definitions")["sites"]}
    for site in recorded["sites"]:
        told, name = sites[site["site"]], named[site["site"]]
        assert (told["casts"], told["cache_hits"], told["bytes"]) == (site["casts"], site["cache_hits"], site["bytes"])
        place = with_whole_paths(name, run["root"])
        assert (place["file"], place["line"]) == (site["location"]["file"], site["location"]["line"])
        for key in ("fingerprint", "operator", "from_dtype", "to_dtype"):
            assert name[key] == site[key]

    extra = {"first_event_ns", "track", "site_ids"}
    findings = with_whole_paths(viewer.json("runs/run/findings")["findings"], run["root"])
    assert [{k: v for k, v in one.items() if k not in extra} for one in findings] == recorded["findings"]
    assert findings and all(one["first_event_ns"] is not None and one["site_ids"] for one in findings)

    steps = [step for process in viewer.json("runs/run/steps")["processes"] for step in process["step_runs"]]
    assert sum(step["casts"] for step in steps) == sum(step["casts"] for step in recorded["step_runs"])


def test_every_kept_event_is_in_the_timeline(castscope, view, recorded):
    viewer = view("run.castscope")
    run = viewer.loaded()
    events = [json.loads(line) for line in castscope("convert", "run.castscope").stdout.splitlines()]
    sums = viewer.json(f"runs/run/summary?window_begin_ns=0&window_end_ns={run['events_end_ns'] + 1}")
    counts = {kind["shade_kind"]: kind["event_count"] for kind in sums["by_shade_kind"]}
    casts = sum(counts.get(kind, 0) for kind in ("down", "up", "same"))
    assert casts == sum(event["event_kind"] == "cast" for event in events) > 0
    assert counts.get("cache_hit", 0) == sum(event["event_kind"] == "cache_hit" for event in events)
    brief = viewer.json(f"runs/run/summary?window_begin_ns=0&window_end_ns={run['events_end_ns'] + 1}&with_rows=0")
    assert brief == {**sums, "by_subject": []}


def test_a_picture_and_the_event_in_it(view, recorded):
    viewer = view("run.castscope")
    run = viewer.loaded()
    end = run["events_end_ns"] + 1
    window = f"window_begin_ns=0&window_end_ns={end}"
    response, body = viewer.ask(f"api/v2/runs/run/picture?{window}&columns=800&with_counters=1")
    assert response.status == 200 and response.getheader("Content-Type") == "application/octet-stream"
    magic, version, _, _, columns, tracks = struct.unpack_from("<4sHHqII", body)
    assert (magic, version) == (b"CSCP", 3) and 800 <= columns <= 1602 and tracks > 0
    casts = next(track["track"] for track in run["tracks"] if track["track_kind"] == "casts")
    first = viewer.json(f"runs/run/neighbour?track={casts}&at_ns=-1&direction=next")["event"]
    event = viewer.json(f"runs/run/event?track={casts}&at_ns={first['begin_ns']}")["event"]
    assert event["in_file"] and event["shape"] and event["frames"]
    source = viewer.json("runs/run/source?" + urllib.parse.urlencode({"file": event["frames"][0]["file"]}))
    assert source["source_lines"] or source["source_state"] != "kept"


def test_source_is_that_of_the_job(view, recorded):
    viewer = view("run.castscope")
    file = viewer.json("runs/run")["root"] + "/train.py"
    source = viewer.json("runs/run/source?file=train.py")
    assert [line["source_text"] for line in source["source_lines"]] == TRAIN.rstrip("\n").split("\n")
    casts = {}
    for site in recorded["sites"]:
        line = site["location"]["line"] if site["location"]["file"] == file else None
        casts[line] = casts.get(line, 0) + site["casts"]
    casts.pop(None, None)
    assert {int(line): of["casts"] for line, of in source["casts_by_line"].items() if of["casts"]} == \
        {line: count for line, count in casts.items() if count}
    assert viewer.json("runs/run/source?file=/etc/passwd", status=404)["detail"]


def test_without_the_token_nothing_is_answered(view, recorded):
    viewer = view("run.castscope")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/t/[A-Za-z0-9_-]{22}/", viewer.url)
    for base in ("/", "/api/v2/runs", "/t/", "/t/" + "A" * 22 + "/api/v2/runs", viewer.base.upper()):
        response, body = viewer.ask(base=base)
        assert response.status == (401 if base.startswith("/api/") else 404), base
        assert b"the token is missing or wrong" in body and b"castscope printed" in body
    for host in ("example.com", f"example.com:{viewer.port}", "127.0.0.1.example.com"):
        assert viewer.ask("api/v2/runs", headers={"Host": host})[0].status == 421
    assert viewer.ask("api/v2/runs", headers={"Host": f"localhost:{viewer.port}"})[0].status == 200


def test_every_answer_is_closed_to_others(view, recorded):
    viewer = view("run.castscope")
    for path in ("", "api/v2/runs", "nothing"):
        response, _ = viewer.ask(path)
        assert "default-src 'none'; script-src 'self'" in response.getheader("Content-Security-Policy"), path
        assert response.getheader("Referrer-Policy") == "no-referrer"
        assert response.getheader("X-Content-Type-Options") == "nosniff"
        assert response.getheader("Set-Cookie") is None and response.getheader("Access-Control-Allow-Origin") is None
        assert response.getheader("Cache-Control") == "no-store"
    response, body = viewer.ask("api/v2/runs", method="HEAD")
    assert (response.status, body) == (200, b"") and int(response.getheader("Content-Length")) > 0
    assert viewer.ask("api/v2/runs", method="POST")[0].status == 405


def test_bad_requests_are_sentences(view, recorded):
    viewer = view("run.castscope")
    for path, status in (("runs/none", 404), ("runs/run/none", 404), ("runs/run/picture", 400),
                         ("runs/run/picture?window_begin_ns=0&window_end_ns=9e9&columns=5", 400), ("runs/run?x=1", 400),
                         ("runs/run/report?format=pdf", 400), ("runs/run/event?track=0&at_ns=0", 400)):
        assert viewer.json(path, status=status)["detail"], path
    response, body = viewer.ask("api/v1/runs")
    assert response.status == 404 and "api/v2/" in json.loads(body)["detail"]
    with viewer.socket() as peer:
        peer.sendall(b"what is this\r\n\r\n")
        assert peer.recv(100).startswith(b"HTTP/1.1 400")
    with viewer.socket() as peer:
        peer.sendall(b"GET / HTTP/1.1\r\nX: " + b"a" * 60_000 + b"\r\n\r\n")
        assert peer.recv(100).startswith(b"HTTP/1.1 431")


def test_half_open_connections_harm_nobody(view, recorded):
    viewer = view("run.castscope")
    silent = [viewer.socket() for _ in range(30)]
    half = [viewer.socket() for _ in range(20)]
    for peer in half:
        peer.sendall(b"GET /t/ HTTP/1.1\r\nHost:")
    assert viewer.json("runs")["runs"]
    for peer in (*silent, *half):  # let go after ten seconds
        assert peer.recv(1) == b""
        peer.close()


PATIENCE_WITH_THE_QUIET_S = 10  # http_limits.h


def answers_second_of_too_many(viewer, request):
    """Makes one connection more than there may be; the first, which was quiet longest, is closed for it. Returns
    whether the second is answered once more, and how long that took."""
    begun, held = time.monotonic(), []
    for _ in range(64 + 1):
        held.append(viewer.socket())
        held[-1].sendall(request)
        assert held[-1].recv(12) == b"HTTP/1.1 200"
    while held[0].recv(65536):
        pass
    held[1].sendall(request)
    answers = part = held[1].recv(65536)
    while part and b"HTTP/1.1 200" not in answers:  # behind the rest of its first answer
        answers += (part := held[1].recv(65536))
    for peer in held:
        peer.close()
    return bool(part), time.monotonic() - begun


def test_connections_that_ask_nothing_make_room(view, recorded):
    viewer = view("run.castscope")
    request = f"GET {viewer.base}api/v2/runs HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    answered, took_s = answers_second_of_too_many(viewer, request)
    while not answered and took_s > PATIENCE_WITH_THE_QUIET_S:  # closed for that, on a busy machine
        answered, took_s = answers_second_of_too_many(viewer, request)
    assert answered, "a connection that was quiet for less long was closed"


def test_it_ends_at_once_whoever_is_connected(view, recorded):
    viewer = view("run.castscope")
    peers = [viewer.socket() for _ in range(5)]
    peers[0].sendall(b"GET ")
    status, out, err = ended(viewer)
    assert (status, out) == (0, b"")
    assert b"Ctrl-C" in err
    for peer in peers:
        peer.close()


def test_a_deleted_run_is_still_told(castscope, view, recorded):
    viewer = view("run.castscope")
    viewer.loaded()
    (castscope.folder / "run.castscope").unlink()
    assert viewer.json("runs/run")["run_state"] == "gone"
    assert viewer.json("runs/run/sites")["totals"]["casts"] == recorded["totals"]["casts"]


def test_several_runs_and_folders(castscope, view, recorded):
    (castscope.folder / "more").mkdir()
    data = (castscope.folder / "run.castscope").read_bytes()
    for name in ("run", "other"):
        (castscope.folder / "more" / f"{name}.castscope").write_bytes(data)
    (castscope.folder / "more" / "no run.castscope").write_text("nothing")
    viewer = view("run.castscope", "more")
    runs = {run["run_name"]: run for run in viewer.json("runs")["runs"]}
    assert set(runs) == {"run", "run-2", "other", "no_run"}
    assert "not a castscope run file" in runs["no_run"]["read_error"]
    compared = viewer.json("runs/run/compare?with_run=run-2")
    assert compared["site_changes"] == []


@pytest.mark.parametrize(("content", "sentence"), [(None, b"No such file"), (b"no run", b"not a castscope run file"),
                                                   (b"", b"the file is empty")])
def test_what_is_no_run_is_refused_as_report_does(castscope, content, sentence):
    if content is not None:
        (castscope.folder / "x.castscope").write_bytes(content)
    report, seen = castscope("report", "x.castscope"), castscope("view", "--no-browser", "x.castscope")
    assert seen.returncode == report.returncode == 3
    assert seen.stderr == report.stderr and sentence in seen.stderr
    assert seen.stdout == b""


def test_a_run_file_cut_short_is_shown_as_far_as_it_goes(castscope, view, recorded):
    whole = (castscope.folder / "run.castscope").read_bytes()
    for missing in range(1, len(whole) // 4096):  # pages: until one is lost that matters, and not all with it
        (castscope.folder / "cut.castscope").write_bytes(whole[:-4096 * missing])
        report = castscope("report", "cut.castscope")
        if report.returncode == 3 and report.stdout:
            break
    assert report.returncode == 3 and report.stdout
    viewer = view("cut.castscope")
    assert "cut short" in viewer.loaded("cut")["damage"]
    status, _, err = ended(viewer)
    assert status == report.returncode == 3 and b"cut short" in err


def test_wrong_usage(castscope):
    assert castscope("view").returncode == 2
    assert castscope("view", "--port", "70000", "x").returncode == 2
    (castscope.folder / "empty").mkdir()
    done = castscope("view", "empty")
    assert done.returncode == 3 and b"no run file" in done.stderr


def test_a_training_is_seen_as_it_goes_on(castscope, python):
    command = [castscope.program, "run", "--live", "-o", "run", "--", python, "-c", ENDLESS]
    with subprocess.Popen(command, cwd=castscope.folder, env=clean_environment(), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
        viewer = live_url(job.stderr)
        first = viewer.until("runs", lambda told: told["runs"] and told["runs"][0]["event_count"])["runs"][0]
        assert first["run_state"] == "live"
        some = viewer.until("runs/run", lambda told: told["totals"]["casts"] > 0)
        viewer.until("runs/run", lambda told: told["totals"]["casts"] > some["totals"]["casts"])
        run = viewer.until("runs/run", lambda told: told["events_end_ns"] > some["events_end_ns"])
        newest = run["events_end_ns"]
        body = viewer.ask(f"api/v2/runs/run/picture?window_begin_ns=0&window_end_ns={newest}&columns=100")[1]
        flags, = struct.unpack_from("<I", body, 64)
        assert flags & 1
        casts = next(track["track"] for track in run["tracks"] if track["track_kind"] == "casts")
        event = viewer.json(f"runs/run/neighbour?track={casts}&at_ns={newest}&direction=previous")["event"]
        assert event["shade_kind"] in ("down", "cache_hit")
        names = viewer.until("runs/run/definitions", lambda told: len(told["sites"]) >= event["subject"])["sites"]
        assert names[event["subject"] - 1]["operator"] == "aten::linear"
        out, err = job.communicate(timeout=300)
    assert (job.returncode, out) == (7, b"done\n")
    assert b"castscope view " in err
    report = castscope.report()
    rounds, rest = divmod(report["totals"]["casts"], CASTS)
    assert (rest, report["totals"]["cache_hits"]) == (0, rounds * HITS) and report["run"]["complete"]
    with pytest.raises(ConnectionRefusedError):
        viewer.ask("api/v2/runs")


def test_the_job_notices_nothing_of_live(castscope, python):
    end = "print('out')\nprint('err', file=sys.stderr)\nos.kill(os.getpid(), 15)\n"
    plain = subprocess.run([python, "-c", "import os, sys\n" + end], capture_output=True, check=False)
    live = castscope("run", "--live", "-o", "run", "--", python, "-c", WORK + "work(3)\n" + end)
    ours = [line for line in live.stderr.splitlines() if not line.startswith(b"castscope: ")]
    assert (live.returncode, live.stdout) == (plain.returncode, plain.stdout)
    assert b"err" in ours
    assert castscope.report()["totals"]["casts"] == 3 * CASTS


def test_a_port_that_is_taken_costs_the_page_and_not_the_job(castscope, python):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = castscope("run", f"--live={taken.getsockname()[1]}", "-o", "run", "--", python, "-c", WORK + "work(1)")
    assert done.returncode == 0 and b"the job runs without the viewer" in done.stderr
    assert castscope.report()["totals"]["casts"] == CASTS


def test_nothing_of_the_viewer_reaches_the_job(castscope, python):
    code = "import os; print(sorted(os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd')[3:-1]))"
    assert b"socket" not in castscope("run", "--live", "-o", "run", "--", python, "-c", code).stdout


def test_serve_shows_what_it_records_and_what_it_has(castscope, python):
    (castscope.folder / "runs").mkdir()
    command = [castscope.program, "serve", "--listen", "127.0.0.1:0", "--folder", "runs", "--web"]
    with subprocess.Popen(command, cwd=castscope.folder, env=clean_environment(), stderr=subprocess.PIPE) as collector:
        told = b""
        while not (viewer := of_serve(told, castscope.folder)):
            told += collector.stderr.read1()
        assert viewer.url.split("/t/")[1].strip("/").encode() not in told
        address = re.search(rb"collecting on (\S+)", told)[1].decode()
        assert viewer.json("runs")["runs"] == []
        done = castscope("run", "-o", "net", "--collector", address, "--", python, "-c", WORK + "work(2)")
        assert done.returncode == 0
        run = viewer.until("runs/net", lambda told: told["totals"]["casts"] == 2 * CASTS)
        assert viewer.until("runs/net", lambda told: told["run_state"] == "finished")["exit_status"] == 0
        assert run["totals"]["event_count"] > 0
        collector.send_signal(signal.SIGTERM)
        collector.communicate(timeout=PATIENCE_S)
    assert collector.returncode == 0


def test_serve_refuses_an_address_that_others_reach(castscope):
    done = castscope("serve", "--listen", "127.0.0.1:0", "--web=0.0.0.0:0")
    assert done.returncode == 2 and b"ssh -L" in done.stderr


