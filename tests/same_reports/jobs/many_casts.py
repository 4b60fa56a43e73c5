"""Ten million events: two casts and a hit in each call of baddbmm, a thousand steps of 3,333 calls."""

import time

import torch

STEPS, CALLS = 1000, 3333

torch.set_num_threads(1)
weight = torch.ones(1, 1, 1, requires_grad=True)
one, other = torch.ones(1, 1, 1), torch.ones(1, 1, 1)
optimizer = torch.optim.SGD([weight], lr=0.0)
weight.grad = torch.zeros_like(weight)
for _ in range(STEPS):
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        for _ in range(CALLS):
            torch.baddbmm(weight, one, other)
    optimizer.step()
    # A step fills a third of the ring. On a busy machine its reader gets the core meanwhile, and nothing is dropped.
    time.sleep(0.002)
print("weight", weight.item())
