"""A compiled model, trained and evaluated."""

import torch
import torch.nn.functional as F
from torch import nn


class Mlp(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.head = nn.Linear(width, 5)

    def forward(self, x):
        x = x + self.down(F.silu(self.up(self.norm(x))))
        return self.head(x)


model = Mlp()
compiled = torch.compile(model, backend="aot_eager")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
for _ in range(5):
    x, y = torch.randn(16, 32), torch.randint(0, 5, (16,))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.cross_entropy(compiled(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
model.eval()
with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
    compiled(torch.randn(16, 32)).argmax(-1)
