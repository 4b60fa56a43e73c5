"""TorchScript and autocast: what users write, one function a case. See apart.py."""

import contextlib
import warnings

import torch
import torch.nn.functional as F
from apart import main, region
from torch import nn

warnings.simplefilter("ignore")


class OneLinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)


class Normed(nn.Module):
    """The names of its lines are what the findings stand at: each case has a class of its own."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(16, 16), nn.LayerNorm(16)

    def forward(self, x):
        y = self.norm(self.linear(x))  # finds: script-dtype-differs
        return y + y


class Traced(OneLinear):
    def forward(self, x):
        return F.gelu(self.linear(x))  # finds: script-dtype-differs


class Scaled(nn.Module):
    def forward(self, x, k: int):
        return torch.relu(x) * k  # finds: script-dtype-differs


class Alone(OneLinear):
    def forward(self, x):
        return self.linear(x)


class Added(OneLinear):
    def forward(self, x):
        c = self.linear(x)
        return c + c  # finds: script-dtype-differs


class Twice(OneLinear):
    def forward(self, x):
        return self.linear(x)  # finds: script-recasts-weights


class Concatenated(OneLinear):
    def forward(self, x):
        c = self.linear(x)
        return torch.cat([c, c])


class Once(OneLinear):
    def forward(self, x):
        return self.linear(x)


class DisabledAroundModule(OneLinear):
    def forward(self, x):
        with torch.autocast("cpu", enabled=False):
            return self.linear(x)  # finds: script-ignores-disable


class HalfAroundModule(OneLinear):
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.float16):  # finds: script-ignores-dtype
            return self.linear(x)


class HalfFrozen(OneLinear):
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.float16):  # finds: script-ignores-dtype
            return self.linear(x)


class OwnRegion(OneLinear):
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.linear(x)


class ScriptedLater(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(16, 16), nn.LayerNorm(16)

    def forward(self, x):
        return self.norm(self.linear(x))  # finds: script-dtype-differs


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


def s24d_disabled_around_a_module():
    scripted = torch.jit.script(DisabledAroundModule())
    for _ in range(3):
        with region():
            scripted(square())


def s24dn_of_the_same_dtype():
    scripted = torch.jit.script(OwnRegion())
    for _ in range(3):
        with region():
            scripted(square())


def x09b_around_a_module():
    scripted = torch.jit.script(HalfAroundModule())
    with region():
        scripted(square())


def x09c_frozen():
    torch.jit.freeze(torch.jit.script(HalfFrozen().eval()))(square())


def x09cn_frozen_with_the_default():
    torch.jit.freeze(torch.jit.script(OwnRegion().eval()))(square())


def c15n_each_call_is_a_region():
    scripted = torch.jit.script(OwnRegion())
    for _ in range(4):
        scripted(square())


def c16c_scripted_after_a_while():
    net = ScriptedLater()
    for _ in range(8):
        with region():
            net(square())
    scripted = torch.jit.script(net)
    for _ in range(4):
        with region():
            scripted(square())


def c16d_inputs_of_several_dtypes():
    scripted = torch.jit.script(Scaled())
    with region():
        for dtype in (torch.float32, torch.bfloat16, torch.float32):
            x = torch.ones(16, 16, dtype=dtype)
            Scaled()(x, 3)
            scripted(x, 3)


def c16cn_both_in_a_region_and_outside():
    net = Alone()
    scripted, traced = torch.jit.script(net), torch.jit.trace(net, square())
    for ways in (net, scripted, traced):
        with region():
            ways(square())
    for ways in (net, scripted, traced):
        ways(square())


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
