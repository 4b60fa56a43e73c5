"""Calls that TorchScript's autocast refuses, and those that raise because of it: one function a case. See apart.py."""

import contextlib
from typing import List, Optional

import torch
import torch.nn.functional as F
from apart import main, region
from torch import nn


class Convolution(nn.Module):
    def __init__(self, bias=True):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, bias=bias)


class ConvolvedInRegion(Convolution):
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.conv(x)  # finds: dtype-mismatch-error


class ConvolvedWithoutBias(Convolution):
    def __init__(self):
        super().__init__(bias=False)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.conv(x)


class Convolved(Convolution):
    def forward(self, x):
        return self.conv(x)


class KeptRegion(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.region = nn.Linear(16, 16), torch.autocast("cpu", dtype=torch.bfloat16)

    def forward(self, x):
        with self.region:
            return self.linear(x)  # finds: script-unsupported-autocast


@torch.jit.script
def any_device(a, b, device: str):
    with torch.autocast(device, dtype=torch.bfloat16):  # finds: script-unsupported-autocast
        return torch.mm(a, b)


@torch.jit.script
def handed_in(a, b, region: torch.autocast):
    with region:
        return torch.mm(a, b)  # finds: script-unsupported-autocast


@torch.jit.script
def with_optional_bias(x, w, bias: Optional[torch.Tensor]):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return F.linear(x, w, bias)  # finds: dtype-mismatch-error


@torch.jit.script
def with_narrowed_bias(x, w, bias: Optional[torch.Tensor]):
    assert bias is not None
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return F.linear(x, w, bias)


@torch.jit.script
def with_listed_state(x, state: List[torch.Tensor], w):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.lstm_cell(x, state, w, w)  # finds: dtype-mismatch-error


@torch.jit.script
def with_cast_state(x, state: List[torch.Tensor], w):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.lstm_cell(x, [state[0].to(torch.bfloat16), state[1].to(torch.bfloat16)], w, w)


@torch.jit.script
def of_another_shape(x, w, bias: Optional[torch.Tensor]):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return F.linear(x, w, bias)


def square(n=16):
    return torch.randn(n, n)


def pictures():
    return torch.randn(2, 3, 8, 8)


def s26b_device():
    with contextlib.suppress(RuntimeError):
        any_device(square(), square(), "cpu")


def s27b_handed_in():
    with contextlib.suppress(RuntimeError):
        handed_in(square(), square(), torch.autocast("cpu"))


def s27c_kept_in_an_attribute():
    scripted = torch.jit.script(KeptRegion())
    with contextlib.suppress(RuntimeError):
        scripted(square())


def s28c_bias_of_a_convolution():
    scripted = torch.jit.script(ConvolvedInRegion())
    for _ in range(2):
        with contextlib.suppress(RuntimeError):
            scripted(pictures())


def s28cn_without_bias():
    torch.jit.script(ConvolvedWithoutBias())(pictures())


def s28c2n_region_around_the_call():
    scripted = torch.jit.script(Convolved())
    for _ in range(2):
        with region():
            scripted(pictures())


def s28c3n_regions_inside_and_around():
    scripted = torch.jit.script(ConvolvedWithoutBias())
    with region():
        scripted(pictures())


def s28d_optional_argument():
    with contextlib.suppress(RuntimeError):
        with_optional_bias(square(), square(), square()[0])


def s28dn_narrowed():
    with_narrowed_bias(square(), square(), square()[0])


def s28e_list_of_tensors():
    with contextlib.suppress(RuntimeError):
        with_listed_state(square(), [square(), square()], torch.randn(64, 16))


def s28en_cast_in_the_code():
    with_cast_state(square(), [square(), square()], torch.randn(64, 16))


def s28fn_an_error_of_shapes():
    with contextlib.suppress(RuntimeError):
        of_another_shape(square(), square(), torch.randn(7).bfloat16())


if __name__ == "__main__":
    main(globals())
