"""Attention; tokens are left out from layer to layer, as models with pyramids do."""

from typing import Optional

import torch
from mode_modules import case
from torch import nn
from torch.nn import functional as F


@case((2, 2, 9, 4), (2, 2, 7, 4), (2, 2, 7, 4), short=True)
def attention_functions(q, k, v):
    y = F.scaled_dot_product_attention(q, k, v)
    z = F.scaled_dot_product_attention(y[:, :, 1:], k[:, :, 1:], v[:, :, 1:], attn_mask=torch.ones(8, 6) > 0)
    u = F.scaled_dot_product_attention(z[:, :, 2:], y[:, :, 3:], y[:, :, 3:], is_causal=True)
    scores = torch.softmax(q[:, :, 4:] @ k[:, :, 2:].transpose(2, 3) * 0.5, dim=-1)
    return u.sum() + (scores @ v[:, :, 2:]).sum()


class Attention(nn.Module):
    def __init__(self, width: int = 8, heads: int = 2):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, self.size).transpose(1, 2)

    def forward(self, x, mask: Optional[torch.Tensor] = None):
        q, k, v = self.split(self.query(x)), self.split(self.key(x[:, 1:])), self.split(self.value(x[:, 2:]))
        scores = torch.matmul(q, k[:, :, 1:].transpose(-1, -2)) / 2.0
        if mask is not None:
            scores = scores + mask
        y = torch.matmul(F.softmax(scores, dim=-1), v)
        return self.out(y.transpose(1, 2).reshape(x.size(0), x.size(1), -1)[:, 3:])


class Layer(nn.Module):
    """Four tokens less come out."""

    def __init__(self):
        super().__init__()
        self.attention = Attention()
        self.norm, self.second_norm = nn.LayerNorm(8), nn.LayerNorm(8)
        self.up, self.down = nn.Linear(8, 12), nn.Linear(12, 8)

    def forward(self, x):
        x = self.norm(x[:, 3:] + self.attention(x))
        y = self.down(F.gelu(self.up(x)))
        return self.second_norm(x[:, 1:] + y[:, 1:])


@case((2, 27, 8), short=True)
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer() for _ in range(5)])
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x[:, 0])


@case((3, 9, 8), (9, 7))
class MaskedAttention(nn.Module):
    """The mask is float32 and reaches scores in bfloat16."""

    def __init__(self):
        super().__init__()
        self.one, self.two = Attention(), Attention()

    def forward(self, x, mask):
        y = self.one(x, mask)
        return self.two(x[1:, :8], mask[:8, :6]).sum() + self.one(y).sum()


class Flash(nn.Module):
    def __init__(self):
        super().__init__()
        self.together, self.out, self.norm = nn.Linear(8, 24), nn.Linear(8, 8), nn.LayerNorm(8)

    def forward(self, x):
        q, k, v = self.together(self.norm(x)).view(x.size(0), x.size(1), 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.size(0), x.size(1), 8)
        return x[:, 1:] + self.out(y[:, 1:])


@case((2, 13, 8))
class Decoder(nn.Module):
    """Layers in two kinds in turns, and the last one again."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Flash() for _ in range(4)])
        self.between = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])

    def forward(self, x):
        for layer, linear in zip(self.layers, self.between):
            x = layer(x)
            x = F.silu(linear(x))[:, 1:]
        return self.layers[3](x)


@case((3, 11, 8), (3, 9, 8))
class Crossed(nn.Module):
    """PyTorch's own attention: its lines are not the user's."""

    def __init__(self):
        super().__init__()
        self.own = nn.MultiheadAttention(8, 2, batch_first=True)
        self.other = nn.MultiheadAttention(8, 2, batch_first=True)
        self.train()

    def forward(self, x, y):
        z, _ = self.own(x, x, x)
        u, _ = self.other(z[:, 1:], y, y, need_weights=False)
        return F.gelu(u) + z[:, 1:]


def rotated(x, angles):
    left, right = x[..., :2], x[..., 2:]
    cos, sin = angles.cos(), angles.sin()
    first = (left * cos)[:, 3:] - (right[:, 1:] * sin[1:])[:, 2:]
    return torch.cat([first, (left[:, 2:] * sin[2:])[:, 1:] + right[:, 3:] * cos[3:]], dim=-1)


@case((2, 22, 4))
class Rotary(nn.Module):
    """Tables of angles are worked out in float32, in a region that is off."""

    def __init__(self):
        super().__init__()
        self.query, self.key = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        with torch.autocast("cpu", enabled=False):
            angles = torch.arange(22.0)[:, None] * torch.pow(0.5, torch.arange(2.0))
        q = rotated(self.query(x), angles)
        k = rotated(self.key(x[:, 5:]), angles[5:])
        return torch.matmul(q, k.transpose(1, 2))
