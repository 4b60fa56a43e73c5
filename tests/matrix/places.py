"""A training loop in which each line that casts says how often it does, in all three steps together."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "workloads"))
import torch
import workload

workload.start()
first, second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 4)
optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
for rows, labels in workload.small_batches(3, width=8, classes=4):
    optimizer.zero_grad()
    with workload.bf16():
        hidden = first(rows)  # casts: 9
        hidden = hidden + first(rows)  # casts: 3
        product = rows @ rows.t()  # casts: 6
        output = second(hidden)  # casts: 6
        loss = torch.nn.functional.cross_entropy(output, labels)  # casts: 3
    (loss + product.float().mean()).backward()
    optimizer.step()
    workload.say_loss(loss)
workload.finish(first, second)
