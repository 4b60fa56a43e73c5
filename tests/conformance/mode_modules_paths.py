"""The code that runs depends on the mode, or on a dtype that differs from mode to mode."""

import torch
from mode_modules import case
from mode_modules_blocks import Feedforward
from torch import nn
from torch.nn import functional as F


@case((13, 5), (5, 5), short=True)
def scripted_otherwise(x, w):
    x = torch.relu(torch.mm(x, w))[1:]
    if torch.jit.is_scripting():
        x = torch.relu(torch.mm(x[1:], w))[3:]
    else:
        x = torch.tanh(torch.mm(x, w))[2:]
        x = torch.relu(x)[2:]
    x = torch.relu(torch.mm(x, w))
    if not torch.jit.is_scripting():
        x = torch.relu(torch.mm(x, w[:, :4]) + x[:, 1:])
        x = torch.cat([x, x[:, :1]], dim=1)
    x = torch.relu(torch.mm(x[2:], w))
    return torch.mm(x[1:], w)


@case((15, 5), (5, 5), short=True)
def traced_otherwise(x, w):
    x = torch.relu(torch.mm(x, w))[1:]
    if torch.jit.is_tracing():
        x = torch.relu(torch.mm(x, w))[1:]
        x = torch.relu(torch.mm(x[2:], w))[1:]
    else:
        x = torch.relu(torch.mm(x[1:], w))
        x = torch.relu(x[1:])[2:]
    x = torch.mm(torch.relu(torch.mm(x[1:], w))[1:], w)
    return torch.relu(torch.mm(x[1:], w))


@case((17, 5), (5, 5), short=True)
def compiled_otherwise(x, w):
    for i in range(4):
        x = torch.relu(torch.mm(x, w))[1:]
        if torch.compiler.is_compiling() and i % 2:
            x = x[1:]
        else:
            x = torch.relu(torch.mm(x, w))[1:]
    return torch.mm(torch.relu(x), w)


@case((19, 6), (6, 6))
def by_dtype(x, w):
    """A trace is made in float32 and takes the other way."""
    y = torch.mm(x, w)
    if y.dtype == torch.bfloat16:
        y = torch.relu(torch.mm(y[1:], w))
    else:
        y = torch.relu(torch.mm(y[2:], w)) + 1.0
        y = torch.mm(y[1:], w)
    y = F.gelu(y[:14])
    if y.dtype == torch.bfloat16:
        y = torch.mm(y[1:], w) * torch.sigmoid(y[1:])
    y = torch.mm(y[:11], w)
    return torch.relu(y)[1:] + x[:10]


@case((21, 6), refused="script", short=True)
class SkippedBlocks(nn.Module):
    """When compiled, some of its blocks are left out: all of one class, at one line."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Feedforward() for _ in range(6)])

    def forward(self, x):
        for i, block in enumerate(self.blocks):
            if torch.compiler.is_compiling() and i in (1, 4):
                x = x[2:]
                continue
            x = block(x)[1:]
        return x


@case((27, 6))
class SkippedBlocksInScript(nn.Module):
    """The same for scripts and traces, each block behind a name."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.d = Feedforward(), Feedforward(), Feedforward(), Feedforward()
        self.more = nn.ModuleList([Feedforward() for _ in range(3)])

    def forward(self, x):
        x = self.a(x)
        if torch.jit.is_scripting() or torch.jit.is_tracing():
            x = x[1:]
        else:
            x = self.b(x)
        x = self.c(x[1:])
        for block in self.more:
            x = block(x)[1:]
        if torch.jit.is_scripting():
            return x
        return self.d(x[2:])


@case((9, 6), (9, 6))
class InTraining(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two, self.three = nn.Linear(6, 7), nn.Linear(7, 8), nn.Linear(7, 5)
        self.eval()

    def forward(self, x, y):
        x = torch.relu(self.one(x))
        if self.training:
            x = F.dropout(x, 0.5)
        y = torch.relu(self.one(y[1:]))
        if not self.training:
            y = self.two(y[1:])[:, :7]
        return self.three(x[2:] + y)


@case((14, 6), (6, 6))
def only_shapes_ask(x, w):
    """Branches on sizes: each mode takes the same branch, or that of the example."""
    while x.size(0) > 5:
        if x.size(0) % 2 == 0:
            x = torch.relu(torch.mm(x, w))[1:]
        else:
            x = torch.tanh(torch.mm(x[1:], w))[1:]
    return torch.mm(x, w)


@case((13, 6), refused="script")
class Loader(nn.Module):
    """The part that export does not need is left out there."""

    def __init__(self):
        super().__init__()
        self.embed, self.body, self.head = nn.Linear(6, 8), Feedforward(8, 9), nn.Linear(8, 4)

    def forward(self, x):
        x = self.embed(x)
        if not torch.compiler.is_exporting():
            norms = x[1:].float().norm(dim=1)
            x = x * (1.0 + norms.mean())
        x = self.body(x[2:])
        if not torch.compiler.is_exporting():
            x = self.body(x)
        return self.head(x[-8:])
