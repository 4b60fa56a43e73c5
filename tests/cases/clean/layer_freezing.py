"""Fine-tuning of the head first, and then of all layers with a smaller rate for the lower ones (fastai)."""

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True))
        self.layer = nn.Sequential(nn.Conv2d(16, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(inplace=True))
        self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(32, classes)

    def forward(self, x):
        return self.fc(self.pool(self.layer(self.stem(x))).flatten(1))


def fit(model, optimizer, steps, frozen=()):
    model.train()
    for part in frozen:
        part.eval()
    for _ in range(steps):
        x, y = torch.randn(8, 3, 16, 16), torch.randint(0, 5, (8,))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()


@torch.inference_mode()
def accuracy(model):
    model.eval()
    x, y = torch.randn(16, 3, 16, 16), torch.randint(0, 5, (16,))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return (model(x).argmax(dim=1) == y).float().mean().item()


model = Net()
backbone = (model.stem, model.layer)
for part in backbone:
    part.requires_grad_(False)
fit(model, torch.optim.AdamW(model.fc.parameters(), lr=1e-3), 3, frozen=backbone)
accuracy(model)
for part in backbone:
    part.requires_grad_(True)
fit(model, torch.optim.AdamW([{"params": model.stem.parameters(), "lr": 1e-5},
                              {"params": model.layer.parameters(), "lr": 1e-4},
                              {"params": model.fc.parameters(), "lr": 1e-3}]), 4)
accuracy(model)
