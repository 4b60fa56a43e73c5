"""Preference tuning against a frozen reference; probabilities of whole answers are summed in float32 (trl's DPO)."""

import copy

import torch
import torch.nn.functional as F
from torch import nn


class Policy(nn.Module):
    def __init__(self, vocab=40, width=32):
        super().__init__()
        self.embed, self.conv = nn.Embedding(vocab, width), nn.Conv1d(width, width, 4)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocab, bias=False)

    def forward(self, ids):
        x = F.pad(self.embed(ids).transpose(1, 2), (3, 0))
        return self.head(self.norm(F.gelu(self.conv(x)).transpose(1, 2)))


def log_probabilities(model, ids, answer):
    logits = model(ids[:, :-1])
    each = F.log_softmax(logits.float(), dim=-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return (each * answer[:, 1:]).sum(dim=-1)


def dpo_loss(policy, reference, beta=0.1):
    chosen, rejected = (p - r for p, r in zip(policy.chunk(2), reference.chunk(2), strict=True))
    return -F.logsigmoid(beta * (chosen - rejected)).mean(), (chosen > rejected).float().mean()


policy = Policy()
reference = copy.deepcopy(policy).requires_grad_(False).eval()
optimizer = torch.optim.RMSprop(policy.parameters(), lr=5e-4)
for _ in range(5):
    ids = torch.randint(0, 40, (8, 12))
    answer = (torch.arange(12) >= 5).expand(8, -1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        ours = log_probabilities(policy, ids, answer)
        with torch.no_grad():
            theirs = log_probabilities(reference, ids, answer)
    loss, accuracy = dpo_loss(ours, theirs)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(policy.parameters(), 10.0)
    optimizer.step()
