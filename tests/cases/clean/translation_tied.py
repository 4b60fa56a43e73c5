"""Translation with one matrix for both embeddings and the output, label smoothing, and greedy decoding (fairseq)."""

import math

import torch
import torch.nn.functional as F
from torch import nn

PAD, BOS = 0, 1


class Translator(nn.Module):
    def __init__(self, vocab=60, dim=32):
        super().__init__()
        self.embed, self.scale = nn.Embedding(vocab, dim, padding_idx=PAD), math.sqrt(dim)
        nn.init.normal_(self.embed.weight, std=dim ** -0.5)
        self.transformer = nn.Transformer(dim, 4, 1, 1, 64, dropout=0.1, batch_first=True)
        self.project = nn.Linear(dim, vocab, bias=False)
        self.project.weight = self.embed.weight
        position = torch.arange(32)[:, None] * torch.exp(torch.arange(0, dim, 2) * (-math.log(1e4) / dim))
        self.register_buffer("positions", torch.stack([position.sin(), position.cos()], dim=-1).flatten(1))

    def embedded(self, ids):
        return self.embed(ids) * self.scale + self.positions[:ids.shape[1]]

    def forward(self, source, target):
        padding = source == PAD
        causal = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
        x = self.transformer(self.embedded(source), self.embedded(target), tgt_mask=causal,
                             src_key_padding_mask=padding, memory_key_padding_mask=padding)
        return self.project(x)


model = Translator()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9)
warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) ** -0.5, (step + 1) * 4 ** -1.5))
for _ in range(4):
    source, target = torch.randint(2, 60, (4, 10)), torch.randint(2, 60, (4, 9))
    source[:, 8:] = PAD
    target[:, 0] = BOS
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(source, target[:, :-1])
        loss = F.cross_entropy(logits.transpose(1, 2), target[:, 1:], ignore_index=PAD, label_smoothing=0.1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    warmup.step()
model.eval()
torch.backends.mha.set_fastpath_enabled(False)  # it knows nothing of autocast
with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
    target = torch.full((4, 1), BOS)
    for _ in range(4):
        target = torch.cat([target, model(source, target)[:, -1:].argmax(dim=-1)], dim=1)
