"""Operators that write into tensors, and numbers that become tensors."""

from typing import Dict, List, Optional, Tuple

import torch
from mode_modules import case
from torch import nn
from torch.nn import functional as F


@case((15, 5), (5, 5), short=True)
def in_place(x, w):
    y = torch.mm(x, w)
    y.relu_()
    y = y[1:].clone()
    y.mul_(0.5).add_(1.0)
    z = torch.mm(y[1:], w)
    z[1:].tanh_()
    z = z[2:].exp()
    z += x[4:]
    z = z[1:].sigmoid_()
    return torch.mm(z[1:], w).clamp_(-1.0, 1.0)


@case((12, 5), (5, 5), refused="trace ambient")
def written_by_index(x, w):
    y = torch.mm(x, w)
    out = torch.zeros(12, 5)
    out[1:4] = torch.relu(y[1:4])
    out[4:] = torch.relu(y[4:]) * 2.0
    out[:, 1:] += torch.mm(y, w[:, :4])
    out[0] = torch.tanh(y[0])
    kept = torch.mm(out[1:], w)
    return kept.index_add(0, torch.arange(3), out[:3].to(kept.dtype))


@case((21, 4), (4, 4), short=True)
def numbers_and_tensors(x, w):
    y = torch.mm(x, w) + 1
    y = 2.0 - y[1:]
    y = 3 * y[1:]
    y = 1.0 / (y[1:] * y[1:] + 1.0)
    y = torch.mm(y[1:], w) / 4
    y = -y[1:] + torch.tensor(0.5)
    y = y[1:] ** 2
    y = torch.add(y[1:], 1.5)
    y = torch.mm(y[1:], w) * 2 + 3
    return torch.mul(y[1:], 0.25) - y[1:]


@case((9, 6), (9, 6), (6, 6))
def optional(x, y: Optional[torch.Tensor], w):
    a = torch.mm(x, w)
    if y is not None:
        a = a[1:] + torch.relu(torch.mm(y[1:], w))
    a = torch.relu(a[1:])
    return torch.mm(a[1:], w)


@case((14, 6), (6, 6), short=True)
def tuples_and_dicts(x, w):
    found: Dict[str, torch.Tensor] = {}
    pairs: List[Tuple[torch.Tensor, torch.Tensor]] = []
    for i in range(3):
        y = torch.mm(x[i:], w)
        pairs.append((torch.relu(y[1:]), torch.tanh(y[1:, 1:])))
    for left, right in pairs:
        found["last"] = left[1:, 1:] * right[1:]
    return torch.mm(found["last"], w[1:])


@case((12, 8), refused="ambient", short=True)
class Normalized(nn.Module):
    """A norm by hand that keeps a running mean."""

    def __init__(self):
        super().__init__()
        self.layer, self.second = nn.Linear(8, 7), nn.Linear(7, 6)
        self.register_buffer("mean", torch.zeros(7))
        self.register_buffer("second_mean", torch.zeros(6))

    def forward(self, x):
        x = self.layer(x)
        self.mean.mul_(0.9).add_(x.float().mean(0), alpha=0.1)
        x = torch.relu((x - self.mean) / (x.float().var(0) + 1e-5).sqrt())
        x = self.second(x[1:])
        self.second_mean.mul_(0.9).add_(x.float().mean(0), alpha=0.1)
        return F.gelu(x[1:] - self.second_mean)


@case((8, 3, 6), (8, 6))
class Dense(nn.Module):
    """Everything that was made so far goes into the next layer."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(6 + 3 * i, 3) for i in range(5)])
        self.out = nn.Linear(21, 4)

    def forward(self, x, y):
        y = y + x.sum(1)
        for layer in self.layers:
            y = torch.cat([y, layer(y).relu()], dim=1)[1:]
        return self.out(y)
