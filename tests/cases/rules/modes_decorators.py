"""TorchScript and decorators: what users write, one function a case. See apart.py."""

import contextlib
import functools
import warnings

import torch
from apart import main, region
from torch import nn

warnings.simplefilter("ignore")


def square(n=16):
    return torch.randn(n, n)


class Decorated(nn.Module):
    @torch.autocast("cpu", dtype=torch.bfloat16)  # finds: script-drops-decorator
    def forward(self, x):
        return torch.mm(x, x)


class HelperDecorated(nn.Module):
    @torch.no_grad()
    @torch.autocast("cpu", enabled=False)  # finds: script-drops-decorator
    def part(self, x):
        return x @ x

    def forward(self, x):
        return self.part(x) + x


def in_bfloat16(method):
    @functools.wraps(method)
    def within_a_region(*args):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return method(*args)

    return within_a_region


class OwnDecorator(nn.Module):
    @in_bfloat16  # finds: script-drops-decorator
    def forward(self, x):
        return torch.mm(x, x)


def checked(method):
    @functools.wraps(method)
    def checks(self, x):
        assert x.dim() == 2
        return method(self, x)

    return checks


class WithForm(nn.Module):
    @checked
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return torch.mm(x, x)


def s25():
    @torch.autocast("cpu", dtype=torch.bfloat16)  # finds: script-unsupported-autocast
    def decorated(a, b):
        return torch.mm(a, b)

    with contextlib.suppress(RuntimeError):
        torch.jit.script(decorated)


def s25b_of_a_method():
    scripted = torch.jit.script(Decorated())
    for _ in range(3):
        scripted(square())


def s25c_below_another_decorator():
    torch.jit.script(HelperDecorated())(square())


def s25d_a_decorator_of_ones_own():
    torch.jit.script(OwnDecorator())(square())


def s25bn_with_form_below_a_decorator_without_region():
    torch.jit.script(WithForm())(square())


class HelperWithForm(nn.Module):
    def part(self, x):
        with torch.autocast("cpu", enabled=False):
            return x @ x

    def forward(self, x):
        return self.part(x) + x


def s25cn_off_within_the_method_and_around_the_call():
    scripted = torch.jit.script(HelperWithForm())
    for _ in range(3):
        with region(), region(enabled=False):
            scripted(square())


if __name__ == "__main__":
    main(globals())
