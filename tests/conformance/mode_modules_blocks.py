"""One class of module many times over: lines and operators are the same, order and the path of the module are not."""

from typing import List

import torch
from mode_modules import case
from torch import nn
from torch.nn import functional as F


class Feedforward(nn.Module):
    """A row less comes out: so each block of a stack has sizes of its own."""

    def __init__(self, width: int = 6, inner: int = 8):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x):
        y = self.down(F.gelu(self.up(self.norm(x))))
        return (x + y)[1:]


@case((13, 6), short=True)
class Stacked(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*[Feedforward() for _ in range(6)])

    def forward(self, x):
        return self.blocks(x)


@case((35, 6))
class StackedDeep(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Feedforward() for _ in range(24)])
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


@case((15, 6))
class StackedShared(nn.Module):
    """Two blocks in turns, and one layer that all share."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.mix = Feedforward(), Feedforward(), nn.Linear(6, 6)

    def forward(self, x):
        for _ in range(3):
            x = self.mix(self.one(x))[1:]
            x = torch.relu(self.mix(self.two(x)))[1:]
        return x


@case((17, 6), short=True)
class CalledTwice(nn.Module):
    def __init__(self):
        super().__init__()
        self.block, self.head = Feedforward(), nn.Linear(6, 6)

    def forward(self, x):
        y = self.block(x)
        z = self.block(y[1:])
        return torch.cat([self.head(y), self.head(z)])[:, :3] + self.head(self.block(z[2:]))[:1, :3]


@case((19, 6), short=True)
class UnusedBlocks(nn.Module):
    """All blocks run at one line; what the second and fourth make is not used, and TorchScript drops it."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Feedforward() for _ in range(5)])

    def forward(self, x):
        made: List[torch.Tensor] = []
        for i, block in enumerate(self.blocks):
            made.append(block(x[2 * i:]))
        return (made[0][8:] + made[2][4:])[1:] + made[4][1:]


@case((23, 6))
class UnusedBlocksByName(nn.Module):
    """The same, each at a line of its own."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.d = Feedforward(), Feedforward(), Feedforward(), Feedforward()

    def forward(self, x):
        a = self.a(x)
        b = self.b(a[1:])
        c = self.c(a[3:])
        d = self.d(c[2:])
        return torch.relu(d)


class Valid(nn.Module):
    """Two convolutions without padding and a shortcut that is cropped."""

    def __init__(self, channels: int, wider: int):
        super().__init__()
        self.one, self.norm = nn.Conv2d(channels, wider, 3), nn.BatchNorm2d(wider)
        self.two, self.second_norm = nn.Conv2d(wider, wider, 3), nn.BatchNorm2d(wider)
        self.shortcut = nn.Conv2d(channels, wider, 1)

    def forward(self, x):
        y = F.relu(self.norm(self.one(x)))
        y = self.second_norm(self.two(y))
        return F.relu(y + self.shortcut(x[:, :, 2:-2, 2:-2]))


@case((2, 3, 27, 27), short=True)
class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
        self.stages = nn.Sequential(*[Valid(4, 4) for _ in range(4)])
        self.head = nn.Linear(4, 5)
        self.eval()

    def forward(self, x):
        x = self.stages(self.stem(x))
        return self.head(x.mean([2, 3]))


@case((3, 2, 22))
class UNet(nn.Module):
    """Down and up again, with what was left on the way."""

    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([nn.Conv1d(2 + 2 * i, 4 + 2 * i, 3) for i in range(3)])
        self.up = nn.ModuleList([nn.ConvTranspose1d(8 - 2 * i, 6 - 2 * i, 3) for i in range(3)])

    def forward(self, x):
        left: List[torch.Tensor] = []
        for layer in self.down:
            left.append(x)
            x = F.leaky_relu(layer(x), 0.1)
        for i, layer in enumerate(self.up):
            x = F.silu(layer(x))
            x = x + left[2 - i]
        return x


class Leaf(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(5, 5))

    def forward(self, x):
        return torch.tanh(torch.mm(x, self.weight))[1:]


class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.leaves = nn.ModuleList([Leaf() for _ in range(3)])
        self.last = Leaf()

    def forward(self, x):
        for leaf in self.leaves:
            x = leaf(x)
        return torch.mm(self.last(x), self.last.weight)[1:]


@case((26, 5), short=True)
class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.branches = nn.ModuleList([Branch() for _ in range(3)])
        self.by_name = nn.ModuleDict({"left": Leaf(), "right": Leaf()})

    def forward(self, x):
        for branch in self.branches:
            x = branch(x)
        return self.by_name["right"](self.by_name["left"](x[1:])[1:])


@case((12, 9), (12, 9))
class Towers(nn.Module):
    """Two towers of one class, one with narrower blocks."""

    def __init__(self):
        super().__init__()
        self.left = nn.Sequential(*[nn.Sequential(nn.Linear(9 - i, 8 - i), nn.GELU()) for i in range(4)])
        self.right = nn.Sequential(*[nn.Sequential(nn.Linear(9 - i, 8 - i), nn.GELU()) for i in range(4)])

    def forward(self, x, y):
        return torch.mm(self.left(x), self.right(y[1:]).t())


@case((14, 6))
class Experts(nn.Module):
    """All experts are asked, on what is left for each; a softmax weighs them."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(6, 4)
        self.experts = nn.ModuleList([Feedforward(6, 5) for _ in range(4)])

    def forward(self, x):
        weights = F.softmax(self.gate(x), dim=-1)
        total = torch.zeros(13, 6)
        for i, expert in enumerate(self.experts):
            total = total[1:] + (expert(x[i:]) * weights[i + 1:, i:i + 1])[1:]
        return total
