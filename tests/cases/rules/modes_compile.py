"""torch.compile, torch.export and autocast: what users write, one function a case. See apart.py."""

import os
import tempfile

# This cache belongs to this run alone: a graph that another run has compiled is not compiled here.
os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp(prefix="castscope-cases-")

import torch
import torch._functorch.config
import torch._inductor.compile_fx  # what torch.compile would import in the process of each case anew
import torch._inductor.config
from apart import main, region


def compiled(function, backend="aot_eager", **options):
    return torch.compile(function, backend=backend, **options)


def square(n=16):
    return torch.randn(n, n)


def weight():
    return torch.randn(16, 16, requires_grad=True)


def disabled_inside(x, w):
    y = x @ w
    with torch.autocast("cpu", enabled=False):
        z = torch.relu(y.float() @ w)  # finds: compile-backward-autocast
    return z.sum()


def disabled_inside_too(x, w):
    y = x @ w
    with torch.autocast("cpu", enabled=False):
        z = torch.relu(y.float() @ w)
    return z.sum()


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        g = g.float()
        return g @ w.t(), x.t() @ g  # finds: compile-backward-autocast


class ScaledToo(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        g = g.float()
        return g @ w.t(), x.t() @ g


def chain(x):
    z = (x @ x).sigmoid()
    return torch.exp(z * 3) - z  # finds: compile-skips-rounding


def chain_emulated(x):
    z = (x @ x).sigmoid()
    return torch.exp(z * 3) - z


def region_inside(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return x @ x


def no_region(x):
    return x @ x


def default_dtype(x):
    with torch.autocast("cpu"):  # finds: compile-state-unguarded
        return x @ x


def named_dtype(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return x @ x


def default_never_changed(x):
    with torch.autocast("cpu"):
        return x @ x


def conv(x, w, b):
    with torch.autocast("cpu", enabled=False):
        y = x.float() * 2
    return torch.nn.functional.conv2d(y, w, b)


def broken(x):
    y = x @ x
    torch._dynamo.graph_break()
    return y @ x


class Product(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(16, 16)

    def forward(self, x):
        return self.linear(x)


class Island(Product):
    def forward(self, x):
        with torch.autocast("cpu", enabled=False):
            return torch.mm(x, x) + self.linear(x)


class Convolved(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Conv1d(4, 4, 3)

    def forward(self, x):
        return self.layer(x)  # finds: export-dtype-differs


class ConvolvedInRegion(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Conv1d(4, 4, 3)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.layer(x)


class ExportedInFloat(Product):
    def forward(self, x):
        return self.linear(x)  # finds: export-dtype-differs


class ProductInRegion(Product):
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.linear(x)


def train(function, x, w):
    for _ in range(3):
        w.grad = None
        with region():
            loss = function(x, w).float().sum()
        loss.backward()


def c17():
    train(compiled(disabled_inside), square(), weight())


def c17n_off():
    with torch._functorch.config.patch(backward_pass_autocast="off"):
        train(compiled(disabled_inside_too), square(), weight())


def c17b_backward_in_the_region():
    function, x, w = compiled(disabled_inside_too), square(), weight()
    for _ in range(3):
        w.grad = None
        with region():
            function(x, w).float().sum().backward()  # finds: region-contains-backward


def c18():
    train(compiled(Scaled.apply), square(), weight())


def c18n_off():
    with torch._functorch.config.patch(backward_pass_autocast="off"):
        train(compiled(ScaledToo.apply), square(), weight())


def c19n_other_states_and_shapes():
    function = compiled(no_region)
    function(square())
    for dtype in (torch.bfloat16, torch.float16):
        for n in (16, 24, 32):
            with region(dtype):
                function(square(n))


def c20n_state_changes_after_compiling():
    function = compiled(no_region)
    for options in ({}, {"cache_enabled": False}, {"enabled": False}):
        with region(**options):
            function(square())


def c21n_disabled_inside_and_conv():
    function = compiled(conv)
    with region():
        function(torch.randn(1, 3, 8, 8), torch.randn(4, 3, 3, 3), torch.randn(4))


def c22():
    function = compiled(chain, "inductor")
    with region():
        function(square())


def c22n_emulated():
    with torch._inductor.config.patch(emulate_precision_casts=True), region():
        compiled(chain_emulated, "inductor")(square())


def c23n_graph_break():
    function = compiled(broken)
    with region():
        function(square())


def c26():
    compiled(region_inside, "inductor")(square())  # finds: compile-cache-bypassed


def c26n_ambient():
    function = compiled(no_region, "inductor")
    with region():
        function(square())


def x11():
    function = compiled(default_dtype)
    function(square())
    torch.set_autocast_dtype("cpu", torch.float16)
    function(square())


def x11n_named():
    function = compiled(named_dtype)
    function(square())
    torch.set_autocast_dtype("cpu", torch.float16)
    function(square())


def x11bn_never_changed():
    function = compiled(default_never_changed)
    for _ in range(3):
        function(square())


def x17b_an_island_in_float32():
    model = torch.compile(Island())
    for _ in range(3):
        with region():
            model(square())  # finds: compile-cache-bypassed


def c24():
    model, x = Product(), square()
    with region():
        program = torch.export.export(model, (x,))  # finds: export-drops-region
    program.module()(x)


def c24n_region_inside():
    model, x = ProductInRegion(), square()
    program = torch.export.export(model, (x,))
    program.module()(x)


def c24b_loaded():
    model, program = ExportedInFloat(), torch.export.export(ExportedInFloat(), (square(),)).module()
    with region():
        model(square())
    program(square())


def c24c_taken_apart():
    model = Convolved().eval()
    program = torch.export.export(model, (torch.randn(2, 4, 16),)).run_decompositions().module()
    with torch.no_grad(), region():
        for _ in range(3):
            model(torch.randn(2, 4, 16))
            program(torch.randn(2, 4, 16))


def c24cn_taken_apart_with_its_region():
    model = ConvolvedInRegion().eval()
    program = torch.export.export(model, (torch.randn(2, 4, 16),)).run_decompositions().module()
    with torch.no_grad(), region():
        model(torch.randn(2, 4, 16))
        program(torch.randn(2, 4, 16))


def c24bn_no_region():
    program = torch.export.export(Product(), (square(),))
    with region():
        program.module()(square())


if __name__ == "__main__":
    main(globals())
