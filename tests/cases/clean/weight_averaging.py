"""Stochastic weight averaging, with the batch norms' statistics computed anew at the end (torch.optim.swa_utils)."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn

model = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 64), nn.BatchNorm1d(64),
                      nn.ReLU(), nn.Linear(64, 3))
averaged = AveragedModel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
swa_scheduler = SWALR(optimizer, swa_lr=0.05, anneal_epochs=1)
loader = [(torch.randn(16, 20), torch.randint(0, 3, (16,))) for _ in range(3)]
for epoch in range(4):
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    if epoch >= 2:
        averaged.update_parameters(model)
        swa_scheduler.step()
    else:
        cosine.step()
with torch.autocast("cpu", dtype=torch.bfloat16):
    update_bn(loader, averaged)
averaged.eval()
with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
    averaged(torch.randn(16, 20)).softmax(dim=-1)
