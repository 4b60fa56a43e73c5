"""A small job with PyTorch, and the report that castscope has to give of it."""

import json
import time

# A linear layer used twice in one region: its weight and bias are cast once (2 casts) and hit once each (2 hits), its
# input is cast both times (2 casts).
WORK = """
import os, sys, torch
torch.set_num_threads(1)  # OpenMP's threads do not survive fork, with castscope or without
layer = torch.nn.Linear(8, 8)
def work(times):
    for _ in range(times):
        with torch.autocast('cpu', torch.bfloat16):
            layer(torch.ones(4, 8)), layer(torch.ones(4, 8))
"""
CASTS, HITS = 4, 2


def counted(report):
    return report["totals"]["casts"], report["totals"]["cache_hits"]


def assert_worked(report, times):
    assert counted(report) == (CASTS * times, HITS * times)


def eventually(path, seconds=300):
    """Waits for the JSON in a file that another process writes, and renames into place when it is complete."""
    deadline = time.monotonic() + seconds
    while True:
        found = list(path.parent.glob(path.name))
        if found:
            return json.loads(found[0].read_text())
        assert time.monotonic() < deadline, f"{path} does not appear"
        time.sleep(0.02)
