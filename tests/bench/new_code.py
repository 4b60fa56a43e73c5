"""Trains a small network with code in each step that was never run before. Says what all steps cost together, as one
line of JSON.

new_code.py STEPS
"""

import json
import sys
import time

import torch

FUNCTION = """
def step_{number}(layer, x):
    y = layer(x)
    y = torch.tanh(y.float()) * {number}
    return y + layer(y).float().mean()
"""


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(8)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    x = torch.randn(16, 64)
    steps, begin = int(sys.argv[1]), time.thread_time()
    for number in range(1, steps + 1):
        names = {"torch": torch}
        exec(compile(FUNCTION.format(number=number), f"new_{number}.py", "exec"), names)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = names[f"step_{number}"](model[0], model(x)).float().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(json.dumps({"cpu_s": time.thread_time() - begin, "steps": steps}))


main()
