"""TorchScript: scripted and traced modules in regions, and a region of the script's own."""

import warnings

import torch
import workload

warnings.simplefilter("ignore")
workload.start()
model = workload.small_net()
scripted = torch.jit.script(model)
(inputs, labels), *_ = workload.small_batches(1)
traced = torch.jit.trace(model, inputs)


class Region(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(32, 32)

    def forward(self, value):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            value = self.linear(value) @ value
        return value


inner = torch.jit.script(Region())
square = torch.randn(32, 32, generator=torch.Generator().manual_seed(1))
for _ in range(4):
    with workload.bf16():
        workload.say_loss(workload.cross_entropy(scripted, (inputs, labels)))
        workload.say_loss(workload.cross_entropy(traced, (inputs, labels)))
        workload.say_loss(inner(square).float().sum())
    workload.say_loss(inner(square).float().sum())
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
workload.train(scripted, workload.small_batches(3), workload.cross_entropy, optimizer)
workload.finish(model, inner)
