"""Gradient checkpointing, both kinds, with backward outside the region and in it; with "outside", only outside."""

import sys

import torch
import workload
from torch.utils.checkpoint import checkpoint

workload.start()
blocks = torch.nn.ModuleList(workload.small_net(classes=32) for _ in range(3))
head = torch.nn.Linear(32, 5)
model = torch.nn.ModuleList([blocks, head])
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def forward(inputs, reentrant):
    for block in blocks:
        inputs = checkpoint(block, inputs, use_reentrant=reentrant)
    return head(inputs)


for reentrant in (False, True):
    for inside in (False,) if sys.argv[1:] == ["outside"] else (False, True):
        for inputs, labels in workload.small_batches(3):
            inputs.requires_grad_()
            optimizer.zero_grad()
            with workload.bf16():
                loss = torch.nn.functional.cross_entropy(forward(inputs, reentrant), labels)
                if inside:
                    loss.backward()
            if not inside:
                loss.backward()
            optimizer.step()
            workload.say_loss(loss)
workload.finish(model)
