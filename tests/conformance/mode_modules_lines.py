"""Lines do not tell operators apart: several on one, lines that are run often, helpers, dead and repeated code."""

import torch
from mode_modules import case
from torch import nn
from torch.nn import functional as F


@case((9, 5), (5, 5), short=True)
def several_on_a_line(x, w):
    a, b, c = torch.relu(x[1:]), torch.relu(x[2:]), torch.relu(x[3:])
    y = torch.mm(torch.tanh(torch.mm(a, w)[1:]) + b, w)[1:] * torch.tanh(torch.mm(c, w))
    return torch.mm(torch.mm(torch.mm(y[1:], w)[1:], w)[1:], w).exp() - (y[3:, :1] * 2.0).exp()


@case((9, 5), (5, 5), short=True)
def dead_on_a_line(x, w):
    """On each line one operator is needed: TorchScript drops the others."""
    _, b, _ = torch.relu(x[1:]), torch.relu(x[2:]), torch.relu(x[3:])
    y = torch.mm(b, w)
    a, _, _ = torch.tanh(y[1:]), torch.tanh(y[2:]), torch.tanh(y[3:])
    z = torch.mm(a, w)
    _, _, c = torch.exp(z[1:]), torch.exp(z[2:]), torch.exp(z[3:])
    return torch.mm(c, w)


@case((13, 6), short=True)
class DeadCode(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two, self.three = nn.Linear(6, 7), nn.Linear(7, 8), nn.Linear(8, 9)
        self.unused = nn.Linear(7, 10)

    def forward(self, x):
        x = torch.relu(self.one(x))
        y = self.unused(x)
        y = torch.relu(y[1:])
        x = torch.relu(self.two(x[2:]))
        z = torch.softmax(x, dim=-1) + 1.0
        z = torch.relu(z[1:])
        x = self.three(x[3:])
        y = torch.relu(x[1:]) * 2.0
        return torch.relu(x[2:])


@case((9, 6), alike="addmm", short=True)
class Repeated(nn.Module):
    """`layer(x)` is worked out twice; TorchScript merges both."""

    def __init__(self):
        super().__init__()
        self.layer, self.second, self.third = nn.Linear(6, 7), nn.Linear(7, 8), nn.Linear(8, 5)

    def forward(self, x):
        x = torch.relu(self.layer(x)) + F.gelu(self.layer(x))
        x = torch.relu(self.second(x))[1:] + F.gelu(self.second(x))[1:]
        y = F.gelu(self.third(x))
        return y + torch.relu(self.third(x))


@case((9, 6), (6, 6), alike="mm relu")
def repeated_over_lines(x, w):
    a = torch.relu(torch.mm(x, w))
    b = torch.relu(torch.mm(x, w))
    c = torch.mm(a[1:], w)
    d = torch.mm(b[2:], w)
    e = torch.relu(torch.mm(x, w))
    f = torch.mm(e[3:], w)
    return torch.cat([c, d, f])


def activated(x, w):
    y = torch.mm(x, w)
    return torch.relu(y)[1:]


@case((25, 5), (5, 5), short=True)
def helper_called_often(x, w):
    a = activated(x, w)
    b = activated(a, w)
    x = activated(b, w) + x[3:]
    for _ in range(4):
        x = activated(x, w)
    c = activated(x, w)
    return torch.mm(activated(c, w), activated(c[2:], w).t()[:5])


def normalised(x, eps: float = 1e-5):
    centred = x - x.mean(1, keepdim=True)
    return (centred / (centred[:, 1:].pow(2).mean(1, keepdim=True) + eps).sqrt())[1:]


def mixed(x, w):
    return normalised(torch.mm(normalised(x), w))


@case((21, 4), (4, 4))
def helpers_of_helpers(x, w):
    a = mixed(x, w)
    b = normalised(a)
    c = mixed(b, w)
    return mixed(normalised(c), w) + a[6:]


@case((21, 4), (4, 4), short=True)
def helper_whose_result_is_dropped(x, w):
    """One helper is called from different lines; the results of two calls are not used."""
    a = activated(x, w)
    b = activated(a, w)
    c = activated(a[1:], w)
    d = activated(a[3:], w)
    e = activated(c[2:], w)
    f = activated(d[4:], w)
    return torch.mm(f, w)


@case((17, 5), (5, 5))
def loop_with_drops(x, w):
    """Each time round, one product is needed and another is not: at the same line, called the same way."""
    for i in range(4):
        parts = [torch.mm(x[k:], w) for k in range(1, 3)]
        x = torch.tanh(parts[1])
    return x


@case((19, 4), (4, 4))
def loop_whose_values_are_partly_used(x, w):
    """Of the values of six turns, those with odd numbers are used."""
    total = torch.zeros(4)
    for i in range(6):
        y = torch.relu(torch.mm(x[i:], w))
        if i % 2 == 1:
            total = total + y.sum(0)
    return total


@case((19, 4), (4, 4), short=True)
def unrolled(x, w):
    """A loop that someone wrote out: equal code on lines of its own."""
    x = torch.relu(torch.mm(x, w))
    x = x[1:]
    x = torch.relu(torch.mm(x, w))
    x = x[1:]
    x = torch.relu(torch.mm(x, w))
    x = x[1:]
    x = torch.relu(torch.mm(x, w))
    y = torch.relu(torch.mm(x[1:], w))
    x = x[2:]
    x = torch.relu(torch.mm(x, w))
    x = x[1:]
    return torch.relu(torch.mm(x, w))


@case((15, 6), (6, 6))
def long_expression(x, w):
    return torch.mm(
        torch.relu(
            torch.mm(x[2:], w)
            + torch.mm(x, w)[2:])[1:],
        torch.mm(
            torch.relu(w[:, 1:].t()),
            torch.relu(w))
        .t()[:6])[1:] * torch.sigmoid(
            torch.mm(x[4:], w[:, :5])
            - x[4:, :5]).sum(1, keepdim=True)


@case((11, 6), (6, 6))
def constants_that_are_folded(x, w):
    """Constants that do not depend on the input: a compiler may compute them beforehand."""
    scale = torch.ones(6, 6) * 0.5
    bias = torch.relu(torch.arange(6.0) - 3.0)
    y = torch.mm(x, w * scale)
    z = torch.mm(y[1:], torch.mm(torch.eye(6), w))
    return z[1:] + bias + torch.mm(torch.ones(9, 6), w)
