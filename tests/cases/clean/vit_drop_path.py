"""A vision transformer with stochastic depth, layer scale and mixup (timm)."""

import torch
import torch.nn.functional as F
from torch import nn


def drop_path(x, prob, training):
    if prob == 0.0 or not training:
        return x
    keep = 1 - prob
    mask = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(keep)
    return x * mask.div_(keep)


class Block(nn.Module):
    def __init__(self, dim=32, heads=4, drop=0.0):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.gamma1, self.gamma2 = (nn.Parameter(torch.full((dim,), 1e-2)) for _ in range(2))
        self.heads, self.drop = heads, drop

    def attention(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        return self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, c))

    def forward(self, x):
        x = x + drop_path(self.gamma1 * self.attention(self.norm1(x)), self.drop, self.training)
        return x + drop_path(self.gamma2 * self.mlp(self.norm2(x)), self.drop, self.training)


class ViT(nn.Module):
    def __init__(self, dim=32, depth=3, classes=10):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, 8, stride=8)
        self.cls_token, self.pos_embed = nn.Parameter(torch.zeros(1, 1, dim)), nn.Parameter(torch.zeros(1, 17, dim))
        self.blocks = nn.Sequential(*(Block(dim, drop=0.1 * i) for i in range(depth)))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], dim=1) + self.pos_embed
        return self.head(self.norm(self.blocks(x))[:, 0])


model = ViT()
decay = [p for p in model.parameters() if p.ndim > 1]
plain = [p for p in model.parameters() if p.ndim <= 1]
optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.05}, {"params": plain, "weight_decay": 0.0}],
                              lr=1e-3)
for _ in range(5):
    x, y = torch.randn(8, 3, 32, 32), F.one_hot(torch.randint(0, 10, (8,)), 10).float()
    mix = 0.7
    x, y = mix * x + (1 - mix) * x.flip(0), mix * y + (1 - mix) * y.flip(0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = model(x)
        loss = torch.sum(-y * F.log_softmax(output, dim=-1), dim=-1).mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
model.eval()
with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
    model(torch.randn(8, 3, 32, 32)).topk(5)
