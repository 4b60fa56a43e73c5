"""The job of the pictures in README.md: it trains a small network under autocast, with two mistakes."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 2048), nn.Linear(2048, width)

    def forward(self, x):
        h = torch.relu(self.up(self.norm(x)))
        return x + self.down(h.float())


class Net(nn.Module):
    def __init__(self, width=32):
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
