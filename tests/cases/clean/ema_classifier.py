"""Image classification with an averaged copy of the model that is evaluated after each epoch (timm's ModelEmaV2)."""

import copy

import torch
import torch.nn.functional as F
from torch import nn


class ModelEma(nn.Module):
    def __init__(self, model, decay=0.9):
        super().__init__()
        self.module = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for ema, value in zip(self.module.state_dict().values(), model.state_dict().values(), strict=True):
            if ema.is_floating_point():
                ema.lerp_(value, 1 - self.decay)
            else:
                ema.copy_(value)


class BasicBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        self.bn1, self.bn2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(x + self.bn2(self.conv2(y)))


def batches(count=4):
    for _ in range(count):
        yield torch.randn(8, 3, 16, 16), torch.randint(0, 10, (8,))


def validate(model):
    model.eval()
    right = total = 0
    with torch.inference_mode():
        for images, target in batches(2):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                output = model(images)
            right += (output.argmax(dim=1) == target).sum().item()
            total += target.numel()
    return right / total


model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), BasicBlock(16),
                      BasicBlock(16), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))
ema = ModelEma(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
for _ in range(2):
    model.train()
    for images, target in batches():
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(images), target, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)
    validate(model)
    validate(ema.module)
