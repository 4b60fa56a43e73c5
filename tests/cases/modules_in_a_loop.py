"""Makes modules for ever; says how much memory it has a fifth of the way, and in the end, in pages."""

import pathlib
import sys

import torch
from torch import nn

torch.set_num_threads(1)
count, x = int(sys.argv[1]), torch.randn(2, 8)
for i in range(count):
    with torch.autocast("cpu", torch.bfloat16):
        nn.Linear(8, 8)(x)
    if i in (count // 5, count - 1):
        print(pathlib.Path("/proc/self/statm").read_text().split()[1])
