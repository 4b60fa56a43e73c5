"""Low-rank adapters on the attention of a frozen language model with rotary embeddings (peft over Llama)."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class LoraLinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8, dropout=0.05):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_a = nn.Linear(base.in_features, rank, bias=False)
        self.lora_b = nn.Linear(rank, base.out_features, bias=False)
        nn.init.kaiming_uniform_(self.lora_a.weight, a=math.sqrt(5))
        nn.init.zeros_(self.lora_b.weight)
        self.dropout, self.scaling = nn.Dropout(dropout), alpha / rank

    def forward(self, x):
        return self.base(x) + self.lora_b(self.lora_a(self.dropout(x))) * self.scaling


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


class Attention(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj = LoraLinear(nn.Linear(dim, dim)), LoraLinear(nn.Linear(dim, dim))
        self.v_proj, self.o_proj = LoraLinear(nn.Linear(dim, dim)), nn.Linear(dim, dim).requires_grad_(False)

    def forward(self, x, cos, sin):
        b, t, c = x.shape
        q, k, v = (f(x).view(b, t, self.heads, -1).transpose(1, 2) for f in (self.q_proj, self.k_proj, self.v_proj))
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).reshape(b, t, c))


class Model(nn.Module):
    def __init__(self, vocab=64, dim=32, heads=4, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim).requires_grad_(False)
        self.layers = nn.ModuleList(Attention(dim, heads) for _ in range(layers))
        self.norms = nn.ModuleList(nn.RMSNorm(dim) for _ in range(layers)).requires_grad_(False)
        self.norm = nn.RMSNorm(dim).requires_grad_(False)
        self.head = nn.Linear(dim, vocab, bias=False).requires_grad_(False)
        width = dim // heads
        self.register_buffer("inv_freq", 1 / 10000 ** (torch.arange(0, width, 2) / width), persistent=False)

    def rotary(self, x):
        with torch.autocast(x.device.type, enabled=False):
            freqs = torch.outer(torch.arange(x.shape[1]).float(), self.inv_freq)
            emb = torch.cat((freqs, freqs), dim=-1)
            return emb.cos().to(x.dtype), emb.sin().to(x.dtype)

    def forward(self, ids):
        x = self.embed(ids)
        cos, sin = self.rotary(x)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            x = x + layer(norm(x), cos, sin)
        return self.head(self.norm(x))


model = Model()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
for _ in range(5):
    ids = torch.randint(0, 64, (2, 17))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.float().reshape(-1, 64), ids[:, 1:].reshape(-1))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
