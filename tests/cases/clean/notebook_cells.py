"""Cells that are executed one after another in one namespace, one of them twice (a notebook)."""

import linecache
import types

CELLS = ["""\
import torch
import torch.nn.functional as F
from torch import nn
""", """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.fc = nn.Linear(8 * 14 * 14, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        return F.log_softmax(self.fc(x.flatten(1)), dim=1)

model = Net()
optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
""", """\
def train(batches):
    model.train()
    for _ in range(batches):
        data, target = torch.rand(8, 1, 28, 28), torch.randint(0, 10, (8,))
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
    return loss.item()

def test():
    model.eval()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        return model(torch.rand(8, 1, 28, 28)).argmax(dim=1)
""", """\
train(3), test()
"""]

shell = types.ModuleType("__main__")
for count, index in enumerate([0, 1, 2, 3, 3], 1):
    name = f"<ipython-input-{count}-clean>"
    linecache.cache[name] = (len(CELLS[index]), None, CELLS[index].splitlines(True), name)
    exec(compile(CELLS[index], name, "exec"), shell.__dict__)
