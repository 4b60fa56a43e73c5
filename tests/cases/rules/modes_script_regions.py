"""Regions of scripts that do what they say, and such as do nothing. See apart.py."""

import io

import torch
from apart import main, region, trained
from torch import nn


def square(scale=1.0):
    return torch.randn(32, 32) * scale


@torch.jit.script
def for_cuda(a, b):
    with torch.autocast("cuda", dtype=torch.float16):  # finds: region-wrong-device
        return torch.mm(a, b)


@torch.jit.script
def for_the_cpu(a, b):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.mm(a, b)


@torch.jit.ignore
def in_python(a: torch.Tensor) -> torch.Tensor:
    return torch.mm(a, a)


@torch.jit.ignore
def in_python_with_a_region(a: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.mm(a, a)


@torch.jit.ignore
def says(text: str) -> None:
    assert text


@torch.jit.script
def around_python(a):
    with torch.autocast("cpu", dtype=torch.bfloat16):  # finds: script-stops-at-python
        return in_python(a)


@torch.jit.script
def around_python_with_a_region(a):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        says("what is called as Python and computes nothing")
        return in_python_with_a_region(a), torch.mm(a, a)


class AroundAMethod(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(32, 32)

    @torch.jit.ignore
    def head(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.linear(x, torch.ones(4, 32))

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):  # finds: script-stops-at-python
            x = self.linear(x)
            return self.head(x.float())


@torch.jit.script
def prepared_while_off(a, b):
    with torch.autocast("cpu", dtype=torch.bfloat16):  # finds: region-disabled-silently
        return torch.mm(a, b)


@torch.jit.script
def prepared_while_on(a, b):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.mm(a, b)


@torch.jit.script
def too_large(a, b):
    with torch.autocast("cpu", dtype=torch.float16):
        return torch.mm(a, b)  # finds: dtype-overflow


@torch.jit.script
def large_enough(a, b):
    with torch.autocast("cpu", dtype=torch.float16):
        return torch.mm(a, b)


@torch.jit.script
def nested_disable(a, b):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        c = torch.mm(a, b)
        with torch.autocast("cpu", enabled=False):
            return torch.mm(c.float(), b)  # finds: script-ignores-disable


@torch.jit.script
def nested_disable_followed(a, b):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        c = torch.mm(a, b)
        with torch.autocast("cpu", enabled=False):
            return torch.mm(c.float(), b)


class UsedTwice(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(32, 32)

    def forward(self, x):
        return self.linear(self.linear(x))


class UsedOnce(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(32, 32)

    def forward(self, x):
        return self.linear(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(32, 32) for _ in range(3))

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            for block in self.blocks:
                x = block(x)
        return x


def s24e_both_in_the_script_and_one_around():
    for _ in range(3):
        with region():
            nested_disable(square(), square())


def s24en_both_in_the_script():
    for _ in range(3):
        nested_disable_followed(square(), square())


def s24fn_autocast_off_around_the_call():
    for _ in range(3):
        with region(), region(enabled=False):
            nested_disable_followed(square(), square())


def x08cn_loaded_once_for_each_dtype():
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(UsedOnce()), file)
    scripts = {}
    for dtype in (torch.bfloat16, torch.float16):
        file.seek(0)
        scripts[dtype] = torch.jit.load(file)
    for _ in range(3):
        for dtype, scripted in scripts.items():
            with region(dtype):
                scripted(square())


def x10n_frozen():
    """Its constants are cast while the graph is optimized, one for each use, and not when it runs."""
    scripted = torch.jit.freeze(torch.jit.script(UsedTwice().eval()))
    with torch.no_grad(), region():
        for _ in range(4):
            scripted(square())


def c46d_region_for_another_device_in_a_script():
    for_cuda(square(), square())


def c46dn_region_for_the_right_device():
    for _ in range(3):
        for_the_cpu(square(), square())


def x30_ignored_function():
    around_python(square())


def x30b_ignored_method():
    scripted = torch.jit.script(AroundAMethod())
    for _ in range(3):
        scripted(square())


def x30n_the_python_function_has_a_region():
    around_python_with_a_region(square())


def x31_autocast_of_torchscript_is_off():
    torch._C._jit_set_autocast_mode(False)
    prepared_while_off(square(), square())


def x31n_autocast_of_torchscript_is_on_again():
    torch._C._jit_set_autocast_mode(False)
    torch._C._jit_set_autocast_mode(True)
    prepared_while_on(square(), square())


def c71_overflow_in_a_scripted_region():
    too_large(square().fill_(100.0), square().fill_(100.0))


def c71n_no_overflow_in_a_scripted_region():
    large_enough(square(), square())


def x32n_a_scripted_model_is_trained():
    model, optimizer = trained(Net())
    model = torch.jit.script(model)
    for _ in range(4):
        optimizer.zero_grad()
        loss = model(square()).float().pow(2).mean()
        loss.backward()
        optimizer.step()


main(globals())
