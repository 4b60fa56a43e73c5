"""A teacher that is the student's average, centered outputs and views of two sizes (DINO)."""

import copy

import torch
import torch.nn.functional as F
from torch import nn


class Network(nn.Module):
    def __init__(self, width=32, prototypes=24):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, width, 4, stride=4), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                                  nn.Linear(width, width))
        self.last = nn.Linear(width, prototypes, bias=False)

    def forward(self, crops):
        return torch.cat([self.last(F.normalize(self.body(crop), dim=-1)) for crop in crops])


class DinoLoss(nn.Module):
    def __init__(self, prototypes=24):
        super().__init__()
        self.register_buffer("center", torch.zeros(1, prototypes))

    def forward(self, student, teacher):
        student = (student.float() / 0.1).chunk(4)
        targets = F.softmax((teacher.float() - self.center) / 0.04, dim=-1).detach().chunk(2)
        terms = [-(t * F.log_softmax(s, dim=-1)).sum(dim=-1).mean()
                 for i, t in enumerate(targets) for j, s in enumerate(student) if i != j]
        self.update_center(teacher.float())
        return sum(terms) / len(terms)

    @torch.no_grad()
    def update_center(self, teacher):
        self.center.mul_(0.9).add_(teacher.mean(dim=0, keepdim=True), alpha=0.1)


student = Network()
teacher = copy.deepcopy(student).requires_grad_(False)
criterion = DinoLoss()
optimizer = torch.optim.AdamW(student.parameters(), lr=5e-4)
for _ in range(5):
    large, small = [torch.rand(4, 3, 32, 32) for _ in range(2)], [torch.rand(4, 3, 16, 16) for _ in range(2)]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with torch.no_grad():
            targets = teacher(large)
        outputs = student(large + small)
    loss = criterion(outputs, targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
            slow.mul_(0.99).add_(fast, alpha=0.01)
