"""Checkpoints: what users write, one function a case. See apart.py."""

import torch
import torch.nn.functional as F
from apart import in_threads, main, region, rows
from torch import nn
from torch.utils.checkpoint import checkpoint


def backward_of(function, *inputs, **options):
    with region(**options):
        y = function(*inputs)
    y.float().sum().backward()


def c51():
    block = nn.Sequential(nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 32))
    for reentrant in (False, True):
        backward_of(lambda x, kind=reentrant: checkpoint(block, x, use_reentrant=kind), rows().requires_grad_())
    with region():
        y = checkpoint(block, rows().requires_grad_(), use_reentrant=False)
    with region(torch.float16):
        y.float().sum().backward()  # finds: region-contains-backward


class Checkpoint(torch.autograd.Function):
    """As it stands in many repositories."""

    @staticmethod
    def forward(ctx, run, x):
        ctx.run = run
        ctx.save_for_backward(x)
        with torch.no_grad():
            return run(x)

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.run(x)
        torch.autograd.backward(y, grad.to(y.dtype))
        return None, x.grad


def c51b_function():
    first, second = nn.Linear(32, 32), nn.Linear(32, 32)

    def block(x):
        h = first(x)  # finds: checkpoint-recompute-differs
        return second(F.gelu(h))

    for _ in range(3):
        backward_of(lambda x: Checkpoint.apply(block, x), rows().requires_grad_())


def c51b_module():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)

        def forward(self, x):
            h = self.up(x)  # finds: checkpoint-recompute-differs
            return x + self.down(F.gelu(h))

    block = Block()
    backward_of(lambda x: Checkpoint.apply(block, x), rows().requires_grad_())


def c51b_module_of_pytorch():
    class Recompute(torch.autograd.Function):
        @staticmethod
        def forward(ctx, run, x):
            ctx.run = run
            ctx.save_for_backward(x)
            return run(x)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                x = x.detach().requires_grad_()
                y = ctx.run(x)  # finds: checkpoint-recompute-differs
                (into_x,) = torch.autograd.grad(y, x, grad.to(y.dtype))
            return None, into_x

    layer = nn.Sequential(nn.Linear(32, 32), nn.GELU())
    backward_of(lambda x: Recompute.apply(layer, x), rows().requires_grad_())


def c51b_saved_tensor_hooks():
    layer = nn.Linear(32, 32)

    def hidden(x):
        return layer(x)  # finds: checkpoint-recompute-differs

    x = rows().requires_grad_()

    def unpack(_):
        with torch.enable_grad():
            return hidden(x).bfloat16()

    with region():
        h = hidden(x)
        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: None, unpack):
            y = h.sigmoid()
    y.float().sum().backward()


def c51bn_region_entered_again():
    class Recompute(torch.autograd.Function):
        @staticmethod
        def forward(ctx, run, x):
            ctx.run = run
            ctx.on, ctx.dtype = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
            ctx.save_for_backward(x)
            with torch.no_grad():
                return run(x)

        @staticmethod
        def backward(ctx, grad):
            x = ctx.saved_tensors[0].detach().requires_grad_()
            with torch.enable_grad(), torch.autocast("cpu", enabled=ctx.on, dtype=ctx.dtype):
                y = ctx.run(x)
            torch.autograd.backward(y, grad)
            return None, x.grad

    layer = nn.Linear(32, 32)
    for dtype in (torch.bfloat16, torch.float16):
        backward_of(lambda x: Recompute.apply(layer, x), rows().requires_grad_(), dtype=dtype)


def c51bn_without_a_region():
    with region():
        nn.Linear(32, 8)(rows())
    layer = nn.Linear(32, 32)
    Checkpoint.apply(layer, rows().requires_grad_()).sum().backward()


def c51bn_checkpoints_in_threads():
    block = nn.Sequential(nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 32))

    def work():
        backward_of(lambda x: checkpoint(block, x, use_reentrant=False), rows().requires_grad_(), cache_enabled=False)

    in_threads(work, 2)


def c51bn_gradient_penalty():
    layer = nn.Linear(32, 32)
    x = rows().requires_grad_()
    with region():
        y = layer(x).float().sum()
    (into_x,) = torch.autograd.grad(y, x, create_graph=True)
    into_x.square().sum().backward()


if __name__ == "__main__":
    main(globals())
