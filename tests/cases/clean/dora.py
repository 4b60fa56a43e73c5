"""Adapters whose weight has its magnitude apart from its direction (DoRA), for classification."""

import torch
import torch.nn.functional as F
from torch import nn


class DoraLinear(nn.Module):
    def __init__(self, base, rank=4, scaling=2.0):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_a = nn.Linear(base.in_features, rank, bias=False)
        self.lora_b = nn.Linear(rank, base.out_features, bias=False)
        nn.init.zeros_(self.lora_b.weight)
        self.scaling = scaling
        self.magnitude = nn.Parameter(base.weight.norm(dim=1).detach().clone())

    def weight_norm(self):
        # The norm of the adapted weight is a constant for the gradient (section 4.3 of the DoRA paper).
        with torch.no_grad(), torch.autocast("cpu", enabled=False):
            delta = self.lora_b.weight @ self.lora_a.weight
            return (self.base.weight + self.scaling * delta).norm(dim=1)

    def forward(self, x):
        scale = self.magnitude / self.weight_norm()
        adapted = F.linear(x, self.base.weight) + self.lora_b(self.lora_a(x)) * self.scaling
        return (adapted * scale + self.base.bias).to(adapted.dtype)


model = nn.Sequential(DoraLinear(nn.Linear(32, 64)), nn.GELU(), nn.LayerNorm(64), DoraLinear(nn.Linear(64, 64)),
                      nn.GELU(), nn.Linear(64, 5))
trainable = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=1e-3, weight_decay=0.0)
for _ in range(6):
    x, y = torch.randn(8, 32), torch.randint(0, 5, (8,))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(trainable, 1.0)
    optimizer.step()
