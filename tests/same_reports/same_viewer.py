"""The answers of `castscope view` about a run, to every question of its API (docs/openapi.json)."""

import http.client
import json
import signal
import subprocess
import time
import urllib.parse

import runs
from same_answers import LIMIT_S, Answer

TEXTS = ["linear", "bfloat16", "py", "nothing of that name"]


class Viewer:
    """A viewer that serves these runs, for the length of a `with`."""

    def __init__(self, program, names, folder):
        self.command = ["castscope", "view", "--no-browser", *names]
        self.program, self.folder = program, folder

    def __enter__(self):
        self.process = subprocess.Popen(self.command, executable=str(self.program), cwd=self.folder, text=True,
                                        env=runs.clean_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        url = urllib.parse.urlsplit(self.process.stdout.readline().strip())
        if not url.port:
            raise SystemExit(f"scripts/same-reports: {' '.join(self.command)} does not serve {self.folder}")
        self.port, self.base = url.port, url.path + "api/v2/"
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=LIMIT_S)

    def ask(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        connection.request("GET", self.base + path)
        response = connection.getresponse()
        answer = Answer(response.status, response.read())
        connection.close()
        return answer

    def loaded(self, run):
        deadline = time.monotonic() + LIMIT_S
        while (told := json.loads(self.ask(f"runs/{run}").stdout)).get("run_state") in ("loading", None):
            if "run_state" not in told:
                raise SystemExit(f"scripts/same-reports: the viewer has another API: {told.get('detail')}")
            if time.monotonic() > deadline:
                raise SystemExit(f"scripts/same-reports: {run} is not loaded by the viewer in {LIMIT_S} s")
            time.sleep(0.02)
        return told


def query(path, **parameters):
    return path + "?" + urllib.parse.urlencode(parameters)


def questions(viewer, run, other, forms):
    """Questions to a viewer that has loaded both runs. The viewer's own answers say which events exist."""
    told = viewer.loaded(run)
    viewer.loaded(other)
    base, end = f"runs/{run}", told["events_end_ns"] + 1
    yield "runs"
    yield base
    for part in ("definitions", "findings", "sites", "modules", "steps", "source", "report", "picture", "nothing"):
        yield f"{base}/{part}"
    for file in json.loads(viewer.ask(f"{base}/report").stdout)["source_files"]:
        yield query(f"{base}/source", file=file["file"])
    yield from (query(f"{base}/report", format=form) for form in forms)
    yield query(f"{base}/compare", with_run=other)
    for first, last in ((0, end), (end // 3, end // 2)):
        for columns in (100, 1000):
            yield query(f"{base}/picture", window_begin_ns=first, window_end_ns=last, columns=columns, with_counters=1)
            yield query(f"{base}/picture", window_begin_ns=first, window_end_ns=last, columns=columns, find="linear")
        yield query(f"{base}/summary", window_begin_ns=first, window_end_ns=last)
        yield query(f"{base}/summary", window_begin_ns=first, window_end_ns=last, find="linear", with_rows=0)
    yield from (query(f"{base}/find", find=text) for text in TEXTS)
    for track in told["tracks"]:
        at = -1
        for _ in range(3):
            path = query(f"{base}/neighbour", track=track["track"], at_ns=at, direction="next")
            yield path
            event = json.loads(viewer.ask(path).stdout).get("event")
            if not event:
                break
            at = event["begin_ns"]
            yield query(f"{base}/event", track=track["track"], at_ns=at)
        yield query(f"{base}/neighbour", track=track["track"], at_ns=end, direction="previous")
