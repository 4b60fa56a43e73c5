"""torch.jit.trace and autocast: what users write, one function a case. See apart.py."""

import contextlib
import io
import warnings

import torch
from apart import main, region
from torch import nn

warnings.simplefilter("ignore")


class DisabledHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 16))

    def forward(self, x):
        with torch.autocast("cpu", enabled=False):
            return self.layers(x.float())  # finds: trace-drops-disable


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = DisabledHead()

    def forward(self, x):
        return self.head(x)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(16, 16)

    def forward(self, x):
        return self.inner(x)  # finds: trace-caches-weight


def square(n=16):
    return torch.randn(n, n)


def plain_product(a, b):
    return torch.mm(a, b)


def helper_with_disable(a, b):
    with torch.autocast("cpu", enabled=False):
        return torch.mm(a, b) * 2.0  # finds: trace-drops-disable


def helper_of_script(a, b):
    with torch.autocast("cpu", enabled=False):
        return torch.mm(a, b) * 2.0  # finds: trace-drops-disable


def saved_with_disable(a, b):
    with torch.autocast("cpu", torch.bfloat16), torch.autocast("cpu", None, False):
        return torch.mm(a, b) * 2.0  # finds: trace-drops-disable


@torch.autocast(device_type="cpu", enabled=False)
def saved_and_decorated(a, b):
    return plain_sum(a, b) * 2.0


def plain_sum(a, b):
    return torch.mm(a, a) + torch.mm(b, b)  # finds: trace-drops-disable


def saved_and_on(a, b):
    with torch.autocast("cpu", enabled=False):
        a = a + b
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return torch.mm(a, b) * 2.0


def saved_for_another_device(a, b):
    with torch.autocast("cuda", enabled=False):
        return torch.mm(a, b) * 2.0


def own_region(a, b):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.mm(a, b)


def control_of_disable(a, b):
    with torch.autocast("cpu", enabled=False):
        return torch.mm(a, b) * 2.0


def control_of_disable_scripted(a, b):
    with torch.autocast("cpu", enabled=False):
        return torch.mm(a, b) * 2.0


def helper_calls_script(a, b):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return disabled_nowhere(a, b)


@torch.jit.script
def disabled_nowhere(a, b):
    return torch.mm(a, b)


def helper_without_region(a, b):
    return disabled_nowhere(a, b)


def baked_product(a, b):
    return torch.mm(a, b)  # finds: trace-bakes-dtype


def baked_product_of_one_kind(a, b):
    return torch.mm(a, b)


def c14():
    traced = torch.jit.trace(helper_with_disable, (square(), square()))
    with region():
        traced(square(), square())


def s32():
    traced = torch.jit.trace(helper_of_script, (square(), square()))

    @torch.jit.script
    def calls(a, b):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return traced(a, b)

    for _ in range(3):
        calls(square(), square())


def loaded(traced):
    file = io.BytesIO()
    torch.jit.save(traced, file)
    file.seek(0)
    return torch.jit.load(file)


def c14b_saved_and_loaded():
    for helper in (saved_with_disable, saved_and_decorated):
        traced = loaded(torch.jit.trace(helper, (square(), square())))
        for _ in range(3):
            with region():
                traced(square(), square())


def c14bn_saved_where_autocast_is_on_or_off_for_another_device():
    for helper in (saved_and_on, saved_for_another_device):
        with torch.autocast("cpu", enabled=False):
            traced = loaded(torch.jit.trace(helper, (square(), square())))
        with region():
            traced(square(), square())


def c14c_around_a_module():
    traced = torch.jit.trace(Body(), square())
    with region():
        traced(square())


def c14cn_another_devices_region():
    traced = torch.jit.trace(saved_for_another_device, (square(), square()))
    with region():
        traced(square(), square())


def s34cn_in_its_own_region():
    traced = torch.jit.trace(own_region, (square(), square()))
    traced(square(), square())


def c14n_called_outside_any_region():
    traced = torch.jit.trace(control_of_disable, (square(), square()))
    traced(square(), square())


def c14dn_called_where_autocast_is_off():
    traced = torch.jit.trace(control_of_disable, (square(), square()))
    for _ in range(3):
        with region(), region(enabled=False):
            traced(square(), square())


def c14en_the_rest_is_traced_alone():
    body, head = nn.Linear(16, 16), nn.Linear(16, 16)
    traced = torch.jit.trace(body, square())
    for _ in range(3):
        with region():
            h = traced(square())
            with region(enabled=False):
                head(h.float())


def s32n_scripted_instead():
    scripted = torch.jit.script(control_of_disable_scripted)

    @torch.jit.script
    def calls(a, b):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return scripted(a, b)

    for _ in range(3):
        calls(square(), square())


def s33():
    traced = torch.jit.trace(helper_calls_script, (square(), square()), check_trace=False)  # finds: trace-drops-region
    traced(square(), square())


def s33n_region_outside_the_trace():
    traced = torch.jit.trace(helper_without_region, (square(), square()), check_trace=False)
    with region():
        traced(square(), square())


def s34():
    with region(cache_enabled=False):
        traced = torch.jit.trace(baked_product, (square(), square()))
    traced(square(), square())


def s34n_run_in_the_same_kind_of_region():
    with region(cache_enabled=False):
        traced = torch.jit.trace(baked_product_of_one_kind, (square(), square()))
    with region():
        traced(square(), square())


def s34bn_traced_outside():
    traced = torch.jit.trace(plain_product, (square(), square()))
    traced(square(), square())
    with region():
        traced(square(), square())


def c13():
    layer, x = Layer(), square()
    with region(), contextlib.suppress(RuntimeError):
        layer(x)
        torch.jit.trace(layer, x)


def c13n_cache_off():
    layer, x = nn.Linear(16, 16), square()
    with region(cache_enabled=False):
        torch.jit.trace(layer, x, check_trace=False)


def c13bn_what_a_trace_and_its_check_cast_again():
    """Each of the runs that torch.jit.trace makes casts the weights, with the cache off as it must be."""
    model, x = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16)), square()
    with region(cache_enabled=False):
        torch.jit.trace(model, x)


def c13b2n_traced_outside_and_run_in_a_region():
    model, x = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16)), square()
    traced = torch.jit.trace(model, x)
    for _ in range(3):
        with region():
            traced(x)


def c13b3n_traced_and_run_in_regions_without_cache():
    model, x = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16)), square()
    with region(cache_enabled=False):
        traced = torch.jit.trace(model, x)
    for _ in range(3):
        with region():
            traced(x)


if __name__ == "__main__":
    main(globals())
