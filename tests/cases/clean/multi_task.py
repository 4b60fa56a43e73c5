"""Segmentation and depth from one body, weighted by learned uncertainties, with losses in float32."""

import torch
import torch.nn.functional as F
from torch import nn


class MultiTask(nn.Module):
    def __init__(self, width=16, classes=4):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.GroupNorm(4, width), nn.SiLU(),
                                  nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(4, width), nn.SiLU())
        self.segment, self.depth = nn.Conv2d(width, classes, 1), nn.Conv2d(width, 1, 1)
        self.log_variance = nn.Parameter(torch.zeros(2))

    def forward(self, images):
        features = self.body(images)
        with torch.autocast(images.device.type, enabled=False):
            depth = F.softplus(self.depth(features.float()))
        return self.segment(features), depth

    def weighted(self, losses):
        precision = torch.exp(-self.log_variance)
        return (precision * torch.stack(losses) + self.log_variance).sum()


def depth_loss(predicted, target):
    """Scale-invariant error of logarithms."""
    difference = predicted.clamp(min=1e-3).log() - target.log()
    return (difference.square().mean() - 0.5 * difference.mean().square()).sqrt()


model = MultiTask()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(6):
    images, masks = torch.rand(2, 3, 16, 16), torch.randint(0, 4, (2, 16, 16))
    truth = torch.rand(2, 1, 16, 16) * 9 + 1
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits, depth = model(images)
    loss = model.weighted([F.cross_entropy(logits.float(), masks), depth_loss(depth, truth)])
    loss.backward()
    if step % 2:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
