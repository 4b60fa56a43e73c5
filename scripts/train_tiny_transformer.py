"""Trains a tiny transformer on a copying task under bfloat16 autocast, on the CPU; knows nothing of castscope.

It holds three habits that castscope has something to say about: weights that are cast once per region and then served
from the cache, a frozen embedding that is cast anew each time it is used, and an activation that autocast casts back
and forth between bfloat16 and float32.
"""

import argparse

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class TinyTransformer(nn.Module):
    def __init__(self, tokens: int = 64, width: int = 64, heads: int = 4, blocks: int = 2, length: int = 32):
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.position = nn.Parameter(torch.zeros(length, width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(blocks))
        self.norm = nn.LayerNorm(width)
        # Frozen, and used twice per step: autocast caches only what is trained.
        self.features = nn.Linear(width, width, bias=False).requires_grad_(False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens) + self.position
        x = x + self.features(x)
        for block in self.blocks:
            x = block(x)
        x = self.norm(self.features(x))
        return x @ self.embedding.weight.t()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    torch.manual_seed(0)
    model = TinyTransformer()
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=3e-3)
    for step in range(options.steps):
        tokens = torch.randint(0, 64, (16, 32))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(tokens)
            loss = nn.functional.cross_entropy(logits.reshape(-1, 64), tokens.roll(1, dims=1).reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0 or step == options.steps - 1:
            print(f"step {step:3d}  loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
