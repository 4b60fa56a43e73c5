"""Loops whose turns depend on values: they break graphs in compile, cannot be exported, and a trace has one path."""

from typing import List

import torch
from mode_modules import case
from torch import nn
from torch.nn import functional as F


@case((18, 4), (4, 4), refused="export", short=True)
def until_small(x, w):
    x = x / x.abs().max()
    while bool((x.abs() > 0.05).any()):
        x = torch.tanh(torch.mm(x, w * 0.1))[1:]
    return torch.mm(x, w)


@case(lambda: (torch.full((19, 4), 2.0), torch.eye(4)), refused="export", short=True)
def halved(x, w):
    """2, 1, ½ … : exact in any precision."""
    steps = 0
    while bool((x > 0.05).any()):
        x = torch.mm(x, w)[1:] * 0.5
        steps += 1
    return torch.relu(torch.mm(x, w)) + steps


@case(lambda: (torch.arange(24.0).reshape(12, 2), torch.eye(2)), refused="export")
def early_end(x, w):
    total = torch.zeros(2)
    for i in range(8):
        x = torch.mm(x, w)[1:]
        if bool((x[:, 0] > 9.0).all()):
            break
        if bool((x[:, 1:] > 6.0).all()):
            continue
        total = total + torch.relu(x[1:]).sum(0)
    return torch.mm(x, w).sum(0) + total


@case(lambda: ([torch.randn(7 + 2 * i, 5) for i in range(5)], torch.randn(5, 5)), short=True)
def over_a_list(parts: List[torch.Tensor], w):
    found: List[torch.Tensor] = []
    for part in parts:
        y = torch.relu(torch.mm(part, w))
        found.append(torch.mm(y[1:], w))
    total = found[0]
    for y in found[1:]:
        total = total[:-1] + torch.tanh(y)[:total.size(0) - 1]
    return total


@case(lambda: ([torch.full((9 + i, 4), float(i - 2)) for i in range(6)], torch.eye(4)), refused="export", short=True)
def chosen_of_a_list(parts: List[torch.Tensor], w):
    """Which of them are computed with depends on their values."""
    total = torch.zeros(1, 4)
    for part in parts:
        if bool((part > 0).all()):
            total = torch.cat([total, torch.softmax(torch.mm(part, w), dim=-1)])
        else:
            total = torch.cat([torch.relu(torch.mm(part[:, :3], w[:3])), total])
    return total


@case(lambda: (torch.tensor([[3.0, 1.0], [-1.0, 2.0], [2.0, 2.0], [-3.0, 1.0], [1.0, 1.0]]), torch.eye(2)))
def rows_that_are_positive(x, w):
    """How many rows there are is known when it runs."""
    rows = x[x.sum(1) > 0]
    y = torch.mm(rows, w)
    wide = torch.cat([y, y[1:], rows.to(y.dtype)])
    return torch.relu(torch.mm(wide, w)).sum(0)


@case(lambda: (torch.randn(16, 4), torch.tensor([1.0, 1.0, -1.0, 1.0, -1.0, 1.0])), refused="export")
class Halting(nn.Module):
    """Which of the blocks run is in a tensor."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(4, 4) for _ in range(6)])

    def forward(self, x, wanted):
        for i, block in enumerate(self.blocks):
            if bool((wanted[i:] > 0)[0]):
                x = torch.relu(block(x))
            x = x[1:]
        return torch.mm(x, x.t())


@case((4, 4), (22, 4), refused="ambient")
def power_iteration(matrix, v):
    """A fixed number of turns, of which each needs the one before."""
    for _ in range(5):
        v = torch.mm(v, matrix)[1:]
        v = v / v.float().pow(2).sum(dim=1, keepdim=True).sqrt()
        v = v[1:]
    return torch.mm(v, torch.mm(matrix, v[:4].t())).diagonal()


@case((18, 5), (5, 5), refused="export")
def with_numbers_from_tensors(x, w):
    """A number that is read from a tensor ends a graph."""
    y = torch.mm(x, w)
    scale = float(y.abs().max().item())
    y = torch.relu(y[1:] / scale)
    y = torch.mm(y[1:], w)
    count = int((y > -1e9).sum().item()) // y.size(1)
    for i in range(count - 13):
        y = torch.tanh(torch.mm(y[1:], w))[1:]
    return y


def descend(x, w, depth: int):
    y = torch.relu(torch.mm(x, w))
    if depth == 0:
        return y
    return torch.cat([descend(y[1:], w, depth - 1), descend(y[4 * depth:], w, depth - 1) * 0.5])


@case((23, 4), (4, 4), refused="script")
def recursion(x, w):
    return descend(x, w, 2)


@case((17, 4), (4, 4), refused="export")
class KeepsCount(nn.Module):
    """The state of the module decides how often its line is run."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(9))
        self.layer = nn.Linear(4, 4)

    def forward(self, x, w):
        for i in range(5):
            self.calls[i:].add_(1.0)
            x = torch.relu(self.layer(x))[1:]
            if bool((self.calls[i:] % 2 == 0).all()):
                x = torch.mm(x, w)[1:]
        return F.gelu(x)
