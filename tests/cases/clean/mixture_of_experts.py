"""Experts behind a router whose softmax is computed in float32, with a loss that balances them (Switch, Mixtral)."""

import torch
import torch.nn.functional as F
from torch import nn


class Experts(nn.Module):
    def __init__(self, dim=32, experts=4, k=2):
        super().__init__()
        self.gate, self.k = nn.Linear(dim, experts, bias=False), k
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(dim, 64), nn.SiLU(), nn.Linear(64, dim))
                                     for _ in range(experts))

    def route(self, x):
        with torch.autocast(x.device.type, enabled=False):
            probabilities = F.softmax(self.gate(x.float()), dim=-1)
            weights, chosen = probabilities.topk(self.k, dim=-1)
            counts = F.one_hot(chosen, len(self.experts)).float().sum(dim=1).mean(dim=0)
            balance = len(self.experts) * (counts * probabilities.mean(dim=0)).sum()
            return weights / weights.sum(dim=-1, keepdim=True), chosen, balance

    def forward(self, x):
        shape = x.shape
        x = x.reshape(-1, shape[-1])
        weights, chosen, balance = self.route(x)
        out = torch.zeros_like(x, dtype=torch.float32)
        for index, expert in enumerate(self.experts):
            rows, slot = (chosen == index).nonzero(as_tuple=True)
            if len(rows):
                out.index_add_(0, rows, expert(x[rows]).float() * weights[rows, slot, None])
        return out.view(shape), balance


class Model(nn.Module):
    def __init__(self, vocab=50, dim=32):
        super().__init__()
        self.embed, self.norm, self.moe = nn.Embedding(vocab, dim), nn.RMSNorm(dim), Experts(dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.embed(ids)
        out, balance = self.moe(self.norm(x))
        return self.head(x + out), balance


model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(5):
    ids = torch.randint(0, 50, (4, 9))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits, balance = model(ids[:, :-1])
    loss = F.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten()) + 0.01 * balance
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
