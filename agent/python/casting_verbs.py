"""Verbs for the tests of annotations and of castscope.amp."""

import torch
from castscope import amp, casting

FLOAT, HALF, LOW, DOUBLE = torch.float32, torch.float16, torch.bfloat16, torch.float64


def region(dtype=LOW, enabled=True):
    return torch.autocast("cpu", dtype=dtype, enabled=enabled)


def autocast_on():
    return torch.is_autocast_enabled("cpu")


def ones(dtype=FLOAT, *shape):
    return torch.ones(*(shape or (2, 2)), dtype=dtype)


def of(*dtypes):
    return [ones(dtype) for dtype in dtypes]


def amp_started():
    """For a fixture: amp.init(), which leaves nothing behind after the test."""
    yield amp.init
    amp.init(enabled=False)
    assert not autocast_on() and casting.thread.weights is None and casting.thread.report is None
