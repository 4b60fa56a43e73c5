"""Lines whose operators are known: each says what a deep step must see of it, for one of its STEPS runs.

    # OPERATOR(DTYPE ROLE, …) in COMPUTED gives RESULT
"""

import threading

import torch
from workload import bf16, finish, say_loss, start

STEPS = 3


class Scaled(torch.autograd.Function):
    """Without custom_fwd and custom_bwd: its backward knows nothing of the region that its forward ran in."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w  # matmul(float32 input, float32 weight) in bfloat16 gives bfloat16

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        up = grad.float()  # to.dtype(bfloat16 gradient) in float32 gives float32
        by = torch.mm(up, w)  # mm(float32 gradient, float32 weight) in float32 gives float32
        return by, torch.mm(x, up)  # mm(float32 gradient, float32 gradient) in float32 gives float32


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = torch.nn.Linear(8, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 8)
        self.gain = torch.nn.Parameter(torch.ones(8, 8))
        self.register_buffer("shift", torch.full((8,), 0.5))

    def forward(self, x):
        y = self.first(x)
        r = x + y  # add.Tensor(float32 input, bfloat16 activation) in float32 gives float32
        n = self.norm(r)
        f = n.float()
        h = self.last(f)
        b = h + self.shift  # add.Tensor(bfloat16 activation, float32 buffer) in float32 gives float32
        v = b.view(4, 2, 8).flatten(1).detach().contiguous()
        e = v.exp()  # exp(float32 activation) in float32 gives float32
        k = e.bfloat16()  # to.dtype(float32 activation) in bfloat16 gives bfloat16
        c = torch.cat([h, f])  # cat(bfloat16 activation, float32 activation) in float32 gives float32
        return c.sum() + k.sum() + Scaled.apply(x, self.gain).sum()


def elsewhere(x):
    """A thread that the region does not reach."""
    w = x * 2.0  # mul.Tensor(float32 input, number) in float32 gives float32
    x @ w  # matmul(float32 input, float32 activation) in float32 gives float32


def positions(first):
    p = torch.arange(first, first + 64)
    p = p.float()  # to.dtype(int64 input) in float32 gives float32
    return torch.outer(p, torch.ones(8))  # outer(float32 activation, float32 activation) in float32 gives float32


def setup():
    start()
    model = Net()
    return model, torch.optim.SGD(model.parameters(), lr=0.01), torch.randn(8, 8), torch.ones(8, 8)


def main(model, optimizer, x, ones):
    for _ in range(STEPS):
        optimizer.zero_grad()
        with bf16():
            loss = model(x)
            far = positions(70_000)
            far @ ones  # matmul(float32 activation, float32 input) in bfloat16 gives bfloat16
            ones.clone().addmm_(x, ones)  # addmm_(float32 input, float32 input, float32 input) in float32 gives float32
            thread = threading.Thread(target=elsewhere, args=(ones,))
            thread.start()
            thread.join()
        loss.backward()
        optimizer.step()
        say_loss(loss)


if __name__ == "__main__":
    given = setup()
    main(*given)
    finish(given[0])
