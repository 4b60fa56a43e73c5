"""The job of the pictures in README.md: it trains a small transformer under autocast, with two mistakes."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        scores = q.float() @ k.float().transpose(-2, -1)
        x = x + self.out((scores / q.shape[-1] ** 0.5).softmax(-1) @ v)
        return x + self.mlp(x)


class Net(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.embed, self.head = nn.Embedding(200, width), nn.Linear(width, 200)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(2)))
        self.register_buffer("frequencies", 10000 ** -torch.arange(0, 1, 2 / width))

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1]).float()
        angles = (positions[:, None] @ self.frequencies[None]).float()
        table = torch.cat([angles.sin(), angles.cos()], -1)
        return self.head(self.blocks(self.embed(tokens) + table))


torch.manual_seed(0)
torch.set_num_threads(1)
model = Net()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(20):
    tokens = torch.randint(200, (8, 301))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
