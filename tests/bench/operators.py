"""Measures one operator call in an autocast region, in ns of the thread's CPU time, as one line of JSON.

It takes the best of many batches, so that the time is that of the call, not that of the machine's other work.
"""

import json
import time

import torch

BATCH, BATCHES = 2000, 15


def ns(call):
    best = float("inf")
    for _ in range(BATCHES):
        begin = time.thread_time_ns()
        for _ in range(BATCH):
            call()
        best = min(best, (time.thread_time_ns() - begin) / BATCH)
    return best


def main():
    torch.set_num_threads(1)
    layer, low, full = torch.nn.Linear(8, 8), torch.randn(4, 8).bfloat16(), torch.randn(4, 8)
    weight, bias, linear = layer.weight, layer.bias, torch._C._nn.linear
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for _ in range(25_000):  # past the operators that castscope records to learn from
            torch.mm(low, weight)
        print(json.dumps({
            "linear": ns(lambda: linear(low, weight, bias)),  # two hits, one pass-through
            "mm": ns(lambda: torch.mm(low, weight)),          # one and one
            "cat": ns(lambda: torch.cat([low, low])),         # two pass-throughs of a list
            "cast": ns(lambda: torch.mm(full, weight)),       # a cast and a hit
        }))


if __name__ == "__main__":
    main()
