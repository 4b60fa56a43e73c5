"""Detection with anchors and boxes in float32 throughout (torchvision's detection references)."""

import torch
import torch.nn.functional as F
from torch import nn

STRIDE, SIZES = 8, (16.0, 32.0, 64.0)


def anchors(height, width):
    ys, xs = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    centers = (torch.stack((xs, ys, xs, ys), dim=-1).float() + 0.5) * STRIDE
    cells = torch.tensor([[-s, -s, s, s] for s in SIZES]) / 2
    return (centers[:, :, None] + cells).reshape(-1, 4)


def iou(a, b):
    low, high = torch.maximum(a[:, None, :2], b[None, :, :2]), torch.minimum(a[:, None, 2:], b[None, :, 2:])
    inter = (high - low).clamp(min=0).prod(dim=-1)
    area_a, area_b = ((x[:, 2:] - x[:, :2]).prod(dim=-1) for x in (a, b))
    return inter / (area_a[:, None] + area_b[None] - inter)


def encode(boxes, at):
    size = at[:, 2:] - at[:, :2]
    offset = (boxes[:, :2] + boxes[:, 2:] - at[:, :2] - at[:, 2:]) / 2 / size
    return torch.cat([offset, ((boxes[:, 2:] - boxes[:, :2]) / size).log()], dim=-1)


class Detector(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, width, 4, stride=4), nn.ReLU(),
                                      nn.Conv2d(width, width, 2, stride=2), nn.ReLU())
        self.cls, self.box = (nn.Conv2d(width, len(SIZES) * n, 3, padding=1) for n in (1, 4))

    def forward(self, images):
        x = self.backbone(images)
        scores = self.cls(x).permute(0, 2, 3, 1).flatten(1)
        deltas = self.box(x).permute(0, 2, 3, 1).reshape(len(images), -1, 4)
        return scores.float(), deltas.float(), x.shape[-2:]


def losses(scores, deltas, at, targets):
    total = 0
    for score, delta, boxes in zip(scores, deltas, targets, strict=True):
        best, index = iou(at, boxes).max(dim=1)
        positive = best > 0.3
        total = total + F.binary_cross_entropy_with_logits(score, positive.float())
        if positive.any():
            total = total + F.smooth_l1_loss(delta[positive], encode(boxes[index], at)[positive])
    return total


model = Detector()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for _ in range(4):
    images = torch.rand(2, 3, 64, 96)
    low = torch.rand(2, 3, 2) * 40
    targets = torch.cat([low, low + 8 + torch.rand(2, 3, 2) * 16], dim=-1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores, deltas, size = model(images)
    loss = losses(scores, deltas, anchors(*size), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
with torch.inference_mode():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores, deltas, size = model(torch.rand(1, 3, 64, 96))
    at = anchors(*size)
    centers = (at[:, :2] + at[:, 2:]) / 2 + deltas[0, :, :2] * (at[:, 2:] - at[:, :2])
    centers[scores[0].sigmoid().topk(5).indices]
