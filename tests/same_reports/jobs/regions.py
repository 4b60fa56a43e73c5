"""Regions in regions, disabled ones, and functions that castscope.amp and castscope's annotations cast for."""

import torch
from torch import nn

import castscope
from castscope import amp

WIDTH = 16


@amp.half_function
def fru(value, hidden, weight, bias):
    return torch.addmm(bias, value + hidden, weight)


@amp.float_function
def norm(value):
    return value / value.pow(2).sum().sqrt()


@castscope.never_cast("rois")
def pool(features, rois):
    return features.mean(0) * rois.sum()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.eye(WIDTH)), nn.Parameter(torch.zeros(WIDTH))
        self.body, self.exact = nn.Linear(WIDTH, WIDTH), castscope.force_fp32(nn.Linear(WIDTH, WIDTH))
        self.low = nn.Linear(WIDTH, WIDTH)

    def forward(self, x, enabled):
        hidden = torch.zeros_like(x)
        for _ in range(2):
            hidden = fru(x, hidden, self.weight, self.bias)
        with torch.autocast("cpu", enabled=enabled, dtype=torch.bfloat16):
            hidden = self.body(hidden.float() if not enabled else hidden)
            with torch.autocast("cpu", enabled=False):
                hidden = hidden.float() @ self.weight
        return pool(norm(self.exact(hidden)), x)


@torch.autocast("cpu", dtype=torch.float16)
def decorated(net, x):
    return net.low(x)


torch.manual_seed(0)
torch.set_num_threads(1)
handle = amp.init()
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
generator = torch.Generator().manual_seed(1)
for number in range(4):
    x = torch.randn(8, WIDTH, generator=generator)
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(x, enabled=number % 2 == 0).float().pow(2).mean()
    with handle.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()
    optimizer.step()
    print("loss", loss.item().hex(), decorated(model, x).float().sum().item().hex(), flush=True)
with torch.autocast("cpu", dtype=torch.float16), torch.no_grad():
    print("low", model.low(x).float().sum().item().hex())
    try:  # the copy in float16 is served: the cache does not ask for the dtype
        with torch.autocast("cpu", dtype=torch.bfloat16):
            print("nested", model.low(x).float().sum().item().hex())
    except RuntimeError as error:
        print("error", error)
    torch.set_autocast_enabled("cpu", False)
    print("switched off", model.low(x).sum().item().hex())
    torch.set_autocast_enabled("cpu", True)
