"""Precision: rotations by position with float32 tables, of queries and keys that adapters add to. See apart.py."""

import torch
import torch.nn.functional as F
from apart import main, region
from torch import nn

HEADS, WIDTH = 2, 16


class Adapted(nn.Module):
    """A frozen linear layer and what an adapter adds to it, as in LoRA."""

    def __init__(self, dropout=0.0, scaling=2.0):
        super().__init__()
        self.base = nn.Linear(32, 32).requires_grad_(False)
        self.down, self.up = nn.Linear(32, 4, bias=False), nn.Linear(4, 32, bias=False)
        self.dropout, self.scaling = nn.Dropout(dropout), scaling

    def forward(self, x):
        result = self.base(x)
        x = x.to(self.down.weight.dtype)
        return result + self.up(self.down(self.dropout(x))) * self.scaling


class AdaptedInDirection(Adapted):
    """As in DoRA: the sum is scaled by a learned magnitude over the norm of the adapted weight."""

    def __init__(self):
        super().__init__()
        self.magnitude = nn.Parameter(self.base.weight.norm(dim=1))

    def forward(self, x):
        result = self.base(x)
        weight = self.base.weight + self.scaling * (self.up.weight @ self.down.weight).detach()
        scale = (self.magnitude / weight.norm(dim=1).detach()).view(1, 1, -1).to(result.dtype)
        plain = result - self.base.bias.to(result.dtype)
        added = self.up(self.down(x))
        return result + (scale - 1) * plain + scale * added * self.scaling


def tables(length=8):
    angles = torch.outer(torch.arange(float(length)), 1 / 10000 ** (torch.arange(WIDTH // 2) / (WIDTH // 2)))
    both = torch.cat([angles, angles], -1)[None]
    return both.cos(), both.sin()


def rotate_half(x):
    first, second = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2:]
    return torch.cat((-second, first), dim=-1)


def rotated(q, k, cos, sin):
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    q_turned = (q * cos) + (rotate_half(q) * sin)
    k_turned = (k * cos) + (rotate_half(k) * sin)
    return q_turned, k_turned


class Attention(nn.Module):
    def __init__(self, kind=Adapted, turn=rotated, **options):
        super().__init__()
        self.query, self.key, self.value = (kind(**options) for _ in range(3))
        self.out, self.turn = nn.Linear(32, 32), turn

    def forward(self, x, cos, sin):
        shape = (*x.shape[:-1], HEADS, WIDTH)
        q, k, v = (layer(x).view(shape).transpose(1, 2) for layer in (self.query, self.key, self.value))
        q, k = self.turn(q, k, cos, sin)
        scores = (q @ k.transpose(2, 3) * WIDTH ** -0.5).softmax(-1, dtype=torch.float32).to(q.dtype)
        return self.out((scores @ v).transpose(1, 2).reshape(x.shape))


def trained(attention, steps=3):
    optimizer = torch.optim.AdamW([p for p in attention.parameters() if p.requires_grad], lr=1e-3)
    for _ in range(steps):
        cos, sin = tables()
        with region():
            loss = F.mse_loss(attention(torch.randn(2, 8, 32), cos, sin).float(), torch.zeros(2, 8, 32))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def c28n_rotary_under_adapters():
    trained(Attention())


def c28n_rotary_under_adapters_with_dropout():
    trained(Attention(dropout=0.1))


def c28n_rotary_under_adapters_in_direction():
    trained(Attention(AdaptedInDirection))


def c28n_rotary_under_two_adapters():
    class Twice(Adapted):
        def __init__(self):
            super().__init__()
            self.other = nn.Sequential(nn.Linear(32, 4, bias=False), nn.Linear(4, 32, bias=False))

        def forward(self, x):
            return super().forward(x) + self.other(x) * 0.5

    trained(Attention(Twice))


def c28_rotary_of_two_values():
    def mixed(q, k, cos, sin):
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
        q_turned = (q * cos) + (rotate_half(k) * sin)  # finds: dtype-silent-upcast
        k_turned = (k * cos) + (rotate_half(k) * sin)
        return q_turned, k_turned

    trained(Attention(turn=mixed))


def c28_adapter_scaled_by_a_tensor():
    class Scaled(Adapted):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(32))

        def forward(self, x):
            result = self.base(x)
            return result + self.up(self.down(x)) * self.scale  # finds: dtype-silent-upcast

    trained(Attention(Scaled))


if __name__ == "__main__":
    main(globals())
