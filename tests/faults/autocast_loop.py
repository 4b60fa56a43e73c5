"""A job that trains a small model under autocast: autocast_loop.py MARK STEPS EXIT [PAUSE] prints the bits of each
loss. After each step it waits for PAUSE seconds."""

import sys
import time

import torch

torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data, target = torch.randn(4, 8), torch.randn(4, 1)
for _ in range(int(sys.argv[2])):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = torch.nn.functional.mse_loss(model(data), target)
    loss.backward()
    optimizer.step()
    print(loss.item().hex(), flush=True)
    time.sleep(float(sys.argv[4]) if len(sys.argv) > 4 else 0)
sys.exit(int(sys.argv[3]))
