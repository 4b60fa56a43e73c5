"""TorchScript and autocast: what users write, one function a case. See apart.py."""

import contextlib
import functools
import warnings

import torch
import torch.nn.functional as F
from apart import main, region
from torch import nn

warnings.simplefilter("ignore")


class Normed(nn.Module):
    """The names of its lines are what the findings stand at: each case has a class of its own."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(16, 16), nn.LayerNorm(16)

    def forward(self, x):
        y = self.norm(self.linear(x))  # finds: script-dtype-differs
        return y + y


class Traced(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x):
        return F.gelu(self.linear(x))  # finds: script-dtype-differs


class Alone(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x):
        return self.linear(x)


class Added(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x):
        c = self.linear(x)
        return c + c  # finds: script-dtype-differs


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x):
        return self.linear(x)  # finds: script-recasts-weights


class Concatenated(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x):
        c = self.linear(x)
        return torch.cat([c, c])


class Once(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x):
        return self.linear(x)


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


def square(n=16):
    return torch.randn(n, n)


def plain_product(a, b):
    return torch.mm(a, b)


@torch.jit.script
def scripted_disable(a, b):
    with torch.autocast("cpu", enabled=False):
        return torch.mm(a, b)  # finds: script-ignores-disable


@torch.jit.script
def scripted_disable_later(a, b):
    with torch.autocast("cpu", enabled=False):
        c = a + b
        return torch.mm(c, b)  # finds: script-ignores-disable


@torch.jit.script
def disabled_helper(a, b):
    with torch.autocast("cpu", enabled=False):
        return torch.mm(a, b)


@torch.jit.script
def both_in_script(a, b):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return disabled_helper(a, b) + torch.mm(a, b)


@torch.jit.script
def keeps_first(a, b):
    return torch.mm(a, b)  # finds: script-keeps-first-dtype


@torch.jit.script
def keeps_one(a, b):
    return torch.mm(a, b)


@torch.jit.script
def own_dtype(a, b):
    with torch.autocast("cpu", dtype=torch.float16):
        return torch.mm(a, b)


@torch.jit.script
def any_dtype(a, b, dtype: torch.dtype):
    with torch.autocast("cpu", dtype=dtype):  # finds: script-ignores-dtype
        return torch.mm(a, b)


@torch.jit.script
def default_dtype(a, b):
    with torch.autocast("cpu"):
        return torch.mm(a, b)


@torch.jit.script
def use_amp(a, b, use: bool):
    with torch.autocast("cpu", enabled=use):  # finds: script-unsupported-autocast
        return torch.mm(a, b)


@torch.jit.script
def named(a, b):
    with torch.autocast("cpu") as first:  # finds: script-unsupported-autocast
        c = torch.mm(a, b)
        with first:
            return torch.mm(c, b)


@torch.jit.script
def other_device(a, b):
    with torch.autocast("xpu", dtype=torch.float16):  # finds: script-unsupported-autocast
        return torch.mm(a, b)


@torch.jit.script
def loss_in_region(p, y):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return F.binary_cross_entropy(p, y)  # finds: script-unsupported-autocast


@torch.jit.script
def with_form(a, b):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.mm(a, b)


def s24():
    with region():
        scripted_disable(square(), square())


def s24b_first_call_outside_any_region():
    scripted_disable_later(square(), square())
    for _ in range(3):
        with region():
            scripted_disable_later(square(), square())


def s24n_both_regions_in_the_script():
    both_in_script(square(), square())


def s24cn_called_outside():
    with region():
        plain_product(square(), square())
    disabled_helper(square(), square())


def x08():
    for dtype in (torch.bfloat16, torch.float16):
        with region(dtype):
            keeps_first(square(), square())


def x08n_one_dtype():
    for _ in range(3):
        with region():
            keeps_one(square(), square())


def x08bn_own_dtype_in_another_region():
    own_dtype(square(), square())


def x09():
    any_dtype(square(), square(), torch.float16)


def x09n_no_dtype_given():
    default_dtype(square(), square())


def s26():
    with contextlib.suppress(RuntimeError):
        use_amp(square(), square(), True)


def s27():
    with contextlib.suppress(RuntimeError):
        named(square(), square())


def s28():
    with contextlib.suppress(RuntimeError):
        other_device(square(), square())


def s28b_banned_operator():
    with contextlib.suppress(RuntimeError):
        loss_in_region(torch.rand(4, 4), torch.rand(4, 4))


def s25():
    @torch.autocast("cpu", dtype=torch.bfloat16)
    def decorated(a, b):
        return torch.mm(a, b)

    with contextlib.suppress(RuntimeError):
        torch.jit.script(decorated)  # finds: script-unsupported-autocast


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


def s29n_with_form():
    for _ in range(3):
        with_form(square(), square())


def c16():
    net, x = Normed(), square()
    scripted = torch.jit.script(net)
    for _ in range(3):
        with region():
            net(x)
            scripted(x)


def c16b_traced():
    net, x = Traced(), square()
    traced = torch.jit.trace(net, x)
    for _ in range(3):
        with region():
            net(x)
            traced(x)


def c16n_linear_alone():
    net, x = Alone(), square()
    scripted = torch.jit.script(net)
    for _ in range(3):
        with region():
            net(x)
            scripted(x)


def s30():
    net, x = Added(), square()
    scripted = torch.jit.script(net)
    for _ in range(3):
        with region():
            net(x)
            scripted(x)


def s30n_cat():
    net, x = Concatenated(), square()
    scripted = torch.jit.script(net)
    for _ in range(3):
        with region():
            net(x)
            scripted(x)


def x10():
    scripted, x = torch.jit.script(Twice()), square()
    with region():
        scripted(scripted(x))


def x10n_once_a_region():
    scripted, x = torch.jit.script(Once()), square()
    for _ in range(4):
        with region():
            scripted(x)


if __name__ == "__main__":
    main(globals())
