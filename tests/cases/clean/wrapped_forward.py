"""A model whose forward was wrapped in autocast, with results brought back to float32 (accelerate's prepare)."""

import functools

import torch
import torch.nn.functional as F
from torch import nn


class Accelerator:
    def __init__(self, accumulation=2):
        self.accumulation, self.count = accumulation, 0

    def prepare(self, model, optimizer):
        plain = model.forward

        @functools.wraps(plain)
        def forward(*args, **kwargs):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                outputs = plain(*args, **kwargs)
            return {key: value.float() if value.is_floating_point() else value for key, value in outputs.items()}

        model.forward = forward
        return model, optimizer

    def backward(self, loss):
        (loss / self.accumulation).backward()

    def sync(self):
        self.count += 1
        return self.count % self.accumulation == 0


class Tagger(nn.Module):
    def __init__(self, vocab=50, width=32, tags=7):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.mix = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Dropout(0.1))
        self.out = nn.Linear(width, tags)

    def forward(self, ids, labels=None):
        logits = self.out(self.mix(self.embed(ids)))
        outputs = {"logits": logits}
        if labels is not None:
            outputs["loss"] = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return outputs


accelerator = Accelerator()
model = Tagger()
model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-3))
for _ in range(2):
    model.train()
    for _ in range(4):
        ids, labels = torch.randint(0, 50, (4, 9)), torch.randint(0, 7, (4, 9))
        accelerator.backward(model(ids, labels)["loss"])
        if accelerator.sync():
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    model.eval()
    with torch.no_grad():
        model(ids)["logits"].argmax(dim=-1)
