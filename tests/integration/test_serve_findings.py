"""The collector's log: what `castscope serve` finds in a real job that sends to it over the network, while it runs."""

import queue
import re
import signal
import socket
import subprocess
import threading

import pytest
from program import clean_environment

WAIT_S = 300
# A frozen weight is cast for each call, region after region; then the job goes on until it is told to end.
JOB = """
import sys, torch
layer = torch.nn.Linear(8, 8).requires_grad_(False)
for _ in range(20):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for _ in range(5):
            layer(torch.randn(2, 8))
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def collector(castscope):
    """A `castscope serve`: its address, and the lines of its log as they come."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    server = subprocess.Popen([str(castscope.program), "serve", "--listen", address, "--folder", "collected"],
                              cwd=castscope.folder, env=clean_environment(), stderr=subprocess.PIPE, text=True)
    assert address in server.stderr.readline()
    lines = queue.Queue()
    threading.Thread(target=lambda: [lines.put(line) for line in server.stderr], daemon=True).start()
    yield address, lines
    server.send_signal(signal.SIGTERM)
    assert server.wait(timeout=WAIT_S) == 0


def until(lines, wanted):
    """Reads lines of the log up to the first one that contains this."""
    seen = []
    while not seen or wanted not in seen[-1]:
        seen.append(lines.get(timeout=WAIT_S))
    return seen


def test_a_finding_is_logged_while_the_job_runs_and_once(castscope, python, collector):
    address, lines = collector
    (castscope.folder / "job.py").write_text(JOB)
    job = subprocess.Popen([str(castscope.program), "run", "--collector", address, "--", python, "job.py"],
                           cwd=castscope.folder, env=clean_environment(), stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert job.stdout.readline() == "ready\n"
    live = until(lines, "weight-cast-repeatedly")
    begun = next(line for line in live if " begins in " in line)
    run = re.search(r'run (\S+) begins in .*, from "(\S+)"$', begun.rstrip())
    told = live[-1]
    assert re.search(rf"run {re.escape(run[1])}: performance weight-cast-repeatedly at job\.py:7, "
                     rf"process \d+ on {re.escape(run[2])}: ", told), told
    assert job.poll() is None
    _, err = job.communicate("\n", timeout=WAIT_S)
    assert job.returncode == 0, err
    rest = until(lines, ".json written")
    assert not [line for line in rest if "weight-cast-repeatedly" in line and "grown" not in line]
