"""Code that uses Python's features: decorators, closures, comprehensions, properties, autograd Functions."""

import collections
import contextlib
import dataclasses
import functools

import torch
from mode_modules import case
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return torch.relu(torch.mm(x, w)) ** 2

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return torch.mm(g, w.t()), torch.mm(x.t(), g)


class SquaredInFloat(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx, x, w):
        return torch.relu(torch.mm(x, w)) ** 2

    @staticmethod
    def backward(ctx, g):
        return g, None


@case((14, 5), (5, 5), short=True)
def own_functions(x, w):
    y = torch.mm(x, w)
    y = Squared.apply(y[1:], w)
    y = torch.relu(y[1:])
    y = Squared.apply(y[1:], w) + 1.0
    z = Squared.apply(y[1:], w)
    return torch.mm(z[1:], w) + torch.relu(y[2:])


@case((11, 5), (5, 5), refused="ambient")
def own_function_in_float(x, w):
    y = torch.mm(x, w)
    y = SquaredInFloat.apply(y[1:], w)
    y = torch.mm(y[1:], w)
    return torch.relu(SquaredInFloat.apply(y[1:], w)[1:])


def activated(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return torch.relu(function(*args, **kwargs))[1:]
    return wrapper


@activated
def product(x, w):
    return torch.mm(x, w)


@activated
@activated
def product_and_sum(x, w):
    return torch.mm(x, w)[1:] + x[1:]


@case((19, 5), (5, 5), refused="script")
def decorated(x, w):
    x = product(x, w)
    x = product_and_sum(x, w)
    y = product(x, w)
    return product_and_sum(y, w)[1:] + product(y[3:], w)


@case((17, 5), (5, 5), refused="script")
def closures(x, w):
    scale = torch.sigmoid(torch.mm(x[:3], w)).mean()
    steps = [lambda t: torch.relu(torch.mm(t, w))[1:], lambda t: torch.tanh(t[1:]) * scale]

    def both(t):
        for step in steps:
            t = step(t)
        return t
    third = functools.partial(torch.mm, mat2=w)
    return third(both(both(third(both(x))[1:])[1:])[1:])


@case((15, 5), (5, 5), refused="script ambient")
def comprehensions(x, w):
    rows = [torch.mm(x[i:], w) for i in range(4)]
    tops = {i: torch.relu(row[1:]) for i, row in enumerate(rows)}
    total = sum(top.sum(0) for top in tops.values())
    best = max((row.float().norm(dim=0) for row in rows), key=lambda v: v.numel())
    return torch.stack([torch.tanh(row).mean(0) for row in tops.values()]).sum(0) + total + best


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(torch.randn(width, width)) for _ in range(3)])

    @property
    def sharpened(self):
        return torch.softmax(self.weights[0] * 2.0, dim=-1)

    def forward(self, x):
        x = torch.mm(x, self.sharpened)[1:]
        for weight in self.weights:
            x = torch.mm(torch.relu(x), weight)[1:]
        return x


@case((16, 4))
class Properties(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = Net(4), Net(3)

    def forward(self, x):
        return self.two(self.one(x)[:, 1:]) @ self.one.weights[1][1:]


@dataclasses.dataclass
class State:
    hidden: torch.Tensor
    seen: list

    def grown(self, x, w):
        hidden = torch.tanh(torch.mm(self.hidden, w))[1:] + x[-self.hidden.size(0) + 1:]
        return State(hidden, [*self.seen, hidden])


Pair = collections.namedtuple("Pair", "left right")


@case((13, 4), (4, 4), refused="script")
def records(x, w):
    state = State(x, [])
    for _ in range(4):
        state = state.grown(x, w)
    pair = Pair(torch.cat(state.seen[2:]), torch.relu(state.hidden))
    return torch.mm(pair.left, w)[-7:] * torch.sigmoid(pair.right)[-7:]


@contextlib.contextmanager
def in_float():
    with torch.autocast("cpu", enabled=False):
        yield


@case((11, 4), (4, 4), refused="script ambient")
def own_context(x, w):
    y = torch.mm(x, w)
    with in_float():
        y = torch.mm(y[1:].float(), w)
        y = torch.relu(y[1:])
    y = torch.mm(y[1:], w)
    with in_float():
        y = F.gelu(torch.mm(y[1:].float(), w))
    return torch.mm(y[1:], w)


def numbers(x, w):
    while x.size(0) > 7:
        x = torch.relu(torch.mm(x, w))[1:]
        yield x


@case((12, 4), (4, 4), refused="script")
def generator(x, w):
    total = torch.zeros(1, 4)
    for y in numbers(x, w):
        total = torch.cat([total, torch.exp(y[1:])])
    return total


class Hooked(nn.Linear):
    pass


@case((10, 4), refused="script")
class Hooks(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*[Hooked(4, 4) for _ in range(3)])
        for layer in self.layers:
            layer.register_forward_hook(lambda module, given, made: torch.tanh(made)[1:])

    def forward(self, x):
        return self.layers(x) @ self.layers[0].weight


@case((12, 5), refused="script")
class Parametrized(nn.Module):
    """Code of PyTorch computes the weights themselves."""

    def __init__(self):
        super().__init__()
        self.one = nn.utils.parametrizations.weight_norm(nn.Linear(5, 6))
        self.two = nn.utils.parametrizations.weight_norm(nn.Linear(6, 7))

    def forward(self, x):
        return torch.relu(self.two(torch.relu(self.one(x))))


@case((12, 5), (5, 5), refused="script")
def checkpointed(x, w):
    def part(t):
        return torch.relu(torch.mm(t, w))[1:]
    y = checkpoint(part, x, use_reentrant=False)
    y = part(y)
    return checkpoint(part, y, use_reentrant=False) @ w
