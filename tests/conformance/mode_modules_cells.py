"""Recurrent cells by hand: sequences are sorted by length, so that fewer of them are alive at each step."""

from typing import List

import torch
from mode_modules import case
from torch import nn
from torch.nn import functional as F


@case((6, 11, 4), short=True)
class Rnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(4, 5), nn.Linear(5, 5)

    def forward(self, x):
        h = torch.zeros(11, 5)
        for t in range(x.size(0)):
            h = torch.tanh(self.inner(x[t, t:]) + self.outer(h))[1:]
        return h


@case((5, 18, 4), short=True)
class Gru(nn.Module):
    def __init__(self):
        super().__init__()
        self.reset, self.update, self.new = nn.Linear(9, 5), nn.Linear(9, 6), nn.Linear(8, 7)

    def forward(self, x):
        h = torch.zeros(18, 5)
        for t in range(5):
            both = torch.cat([x[t, 3 * t:], h], dim=1)
            r = torch.sigmoid(self.reset(both))
            z = torch.sigmoid(self.update(both))[:, :5]
            n = torch.tanh(self.new(torch.cat([x[t, 3 * t:, :3], r * h], dim=1)))[:, :5]
            h = ((1.0 - z[1:]) * n[1:])[2:] + (z[2:] * h[2:])[1:]
        return h


class Lstm(nn.Module):
    """The four gates in one product; each is activated on rows of its own."""

    def __init__(self):
        super().__init__()
        self.gates = nn.Linear(9, 20)

    def step(self, x, h, c):
        i, f, g, o = self.gates(torch.cat([x, h], dim=1)).chunk(4, dim=1)
        c = torch.sigmoid(f) * c
        c = c[1:] + torch.sigmoid(i[1:]) * torch.tanh(g[1:])
        h = torch.sigmoid(o[2:]) * torch.tanh(c[1:])
        return h[1:], c[2:]


@case((4, 23, 4), short=True)
class LstmLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Lstm(), Lstm()
        self.between = nn.Linear(5, 4)

    def forward(self, x):
        h, c = torch.zeros(23, 5), torch.zeros(23, 5)
        seen: List[torch.Tensor] = []
        for t in range(4):
            h, c = self.first.step(x[t, 3 * t:], h, c)
            seen.append(h)
        h, c = torch.zeros(10, 5), torch.zeros(10, 5)
        for y in seen[:2]:
            h, c = self.second.step(self.between(y)[-h.size(0):], h, c)
        return h


@case((16, 6), short=True)
class Highway(nn.Module):
    """Layers of one class in a list, with gates."""

    def __init__(self):
        super().__init__()
        self.gates = nn.ModuleList([nn.Linear(6, 6) for _ in range(5)])
        self.layers = nn.ModuleList([nn.Linear(6, 6) for _ in range(5)])

    def forward(self, x):
        for gate, layer in zip(self.gates, self.layers):
            g = torch.sigmoid(gate(x))
            y = F.relu(layer(x[1:]))
            x = (g[1:] * y)[1:] + ((1.0 - g) * x)[2:]
        return x


@case((14, 6), (5, 5), (6, 5))
def state_space(x, a, b):
    """A scan from both ends."""
    h = torch.zeros(14, 5)
    ahead: List[torch.Tensor] = []
    for t in range(4):
        h = (torch.mm(h, a) + torch.mm(x[t:], b))[1:]
        ahead.append(torch.tanh(h))
    h = torch.zeros(10, 5)
    for t in range(3):
        h = (torch.mm(h, a) + torch.mm(ahead[t][:10 - t, :4], b[:4]))[1:]
    return h
