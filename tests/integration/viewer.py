"""The viewer, for the tests that look at it: `castscope view` on a run, or a training with `run --live`."""

import contextlib
import http.client
import json
import re
import socket
import subprocess
import time
import urllib.parse

import pytest
from gated import have
from program import clean_environment
from work import WORK

ENDLESS = WORK + ("import select\nwhile not select.select([sys.stdin], [], [], 0)[0]: work(1)\n"
                  "print('done')\nsys.exit(7)\n")
PATIENCE_S = 300


class Viewer:
    """A viewer that serves at an address, as a browser sees it."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.url, self.port, self.base = url, parts.port, parts.path

    def ask(self, path="", method="GET", headers=None, base=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.request(method, (self.base if base is None else base) + path, headers=headers or {})
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response, body

    def json(self, path, status=200):
        response, body = self.ask("api/v2/" + path)
        assert response.status == status, body
        return json.loads(body)

    def until(self, path, holds):
        deadline = time.monotonic() + PATIENCE_S
        while not holds(told := self.json(path)):
            assert time.monotonic() < deadline, told
        return told

    def loaded(self, run="run"):
        return self.until(f"runs/{run}", lambda told: told["run_state"] != "loading")

    def socket(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)


@contextlib.contextmanager
def viewing(castscope):
    """Starts `castscope view`, and ends any that is left over."""
    started = []

    def start(*arguments):
        process = subprocess.Popen([castscope.program, "view", "--no-browser", *arguments], cwd=castscope.folder,
                                   env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        started.append(process)
        viewer = Viewer(process.stdout.readline().decode().strip())
        viewer.process = process
        return viewer

    try:
        yield start
    finally:
        for process in started:
            process.kill()
            process.communicate()


@pytest.fixture
def view(castscope):
    with viewing(castscope) as start:
        yield start


@pytest.fixture
def recorded(castscope, python):
    have(castscope, python)
    return castscope.report()


def of_serve(said, folder):
    """The viewer of a `castscope serve` that has said this, or None: its log does not have the token."""
    found = re.search(rb"can be watched at (\S+)/t/\S+ where \S+ is the token in (.+)", said)
    return found and Viewer(f"{found[1].decode()}/t/{(folder / found[2].decode()).read_text()}/")


def live_url(stderr):
    told = b""
    while b"can be watched at " not in told or not told.endswith(b"\n"):
        read = stderr.read1()
        assert read, told
        told += read
    return Viewer(re.search(rb"can be watched at (\S+)", told)[1].decode())
