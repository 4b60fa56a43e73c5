"""PyTorch's page on autocast in TorchScript: each of its programs, on the CPU and in bfloat16.

https://github.com/pytorch/pytorch/blob/main/torch/csrc/jit/JIT-AUTOCAST.md (the page shows "cuda" and float16)
"""

import torch
from jobs import main, region

ONE, TWO = torch.rand(8, 8), torch.rand(8, 8)


def product_in_region(left, right):
    with torch.autocast("cpu", dtype=torch.bfloat16):  # mark: region
        return torch.mm(left, right)  # mark: product


def product(left, right):
    return torch.mm(left, right)  # mark: called product


class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Inner(), Inner()])

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            for block in self.blocks:
                x = block(x)
        return x


def scripted_function():
    scripted = torch.jit.script(product_in_region)
    for _ in range(2):
        print(scripted(ONE, TWO).dtype)


def the_same_in_eager():
    for _ in range(2):
        print(product_in_region(ONE, TWO).dtype)


def trained(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        model(ONE).float().pow(2).mean().backward()
        optimizer.step()


def scripted_module_is_trained():
    trained(torch.jit.script(Net()))


def eager_module_is_trained():
    trained(Net())


def traced_function():
    with region(cache_enabled=False):
        traced = torch.jit.trace(product, (ONE, TWO))
        print(traced(ONE, TWO).dtype)


@torch.autocast("cpu", dtype=torch.bfloat16)
def decorated(x):  # mark: decorated helper
    return torch.mm(x, x)


def calls_decorated(x):
    return decorated(x)


def attempt(function, *arguments):
    try:
        print(torch.jit.script(function)(*arguments).dtype)
    except Exception as error:  # noqa: BLE001  what the page says it raises
        print(f"raised: {str(error).strip().splitlines()[-1]}")


def decorated_helper():
    attempt(calls_decorated, ONE)


def decorated_function():
    attempt(decorated, ONE)


class DecoratedForward(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)

    @torch.autocast("cpu", dtype=torch.bfloat16)  # mark: decorated method
    def forward(self, x):
        return self.layer(x)


def decorated_method():
    print(torch.jit.script(DecoratedForward())(ONE).dtype)


def chosen_at_run_time(left, right, use_amp: bool):
    with torch.autocast("cpu", enabled=use_amp):  # mark: chosen at run time
        return torch.mm(left, right)


def enabled_argument():
    attempt(chosen_at_run_time, ONE, TWO, True)


def named_region(left, right):
    with torch.autocast("cpu", enabled=True) as named:  # mark: named region
        left = torch.mm(left, right)
        with named:
            return torch.mm(left, right)


def region_with_a_name():
    attempt(named_region, ONE, TWO)


def sums(left, right):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        product = torch.mm(left, right)
        return product + product  # mark: sum of products


def promotion():
    scripted = torch.jit.script(sums)
    print(sums(ONE, TWO).dtype, scripted(ONE, TWO).dtype)


def total(left, right):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.mm(left, right).sum()  # mark: total


def missing_policy():
    scripted = torch.jit.script(total)
    print(total(ONE, TWO).dtype, scripted(ONE, TWO).dtype)


def with_a_disabled_part(left, right):
    with torch.autocast("cpu", enabled=False):
        return torch.mm(left, right) * 2.0  # mark: traced with autocast off


def script_calls_traced():
    global traced_part
    traced_part = torch.jit.trace(with_a_disabled_part, (ONE, TWO))

    def calls_traced(left, right):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return traced_part(left, right)

    scripted = torch.jit.script(calls_traced)
    eager = with_a_disabled_part(ONE, TWO)
    print(scripted(ONE, TWO).dtype, "equal" if torch.equal(scripted(ONE, TWO), eager) else "rounded")


def trace_calls_script():
    scripted = torch.jit.script(product)

    def calls_script(left, right):
        with region():
            return scripted(left, right)

    traced = torch.jit.trace(calls_script, (ONE, TWO), check_trace=False)  # mark: trace of a script
    print(calls_script(ONE, TWO).dtype, traced(ONE, TWO).dtype)


def switched_off(left, right):
    with torch.autocast("cpu", enabled=False):
        return torch.mm(left, right)  # mark: switched off in the script


def eager_region_around_a_disabled_script():
    scripted = torch.jit.script(switched_off)
    with region():
        for _ in range(2):
            print(scripted(ONE, TWO).dtype)


def of_another_device(left, right):
    with torch.autocast("cuda"):  # mark: of another device
        return torch.mm(left, right)


def region_is_ignored():
    print(torch.jit.script(of_another_device)(ONE, TWO).dtype)


if __name__ == "__main__":
    main(globals())
