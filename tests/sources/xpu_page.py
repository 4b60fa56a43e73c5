"""Intel's page on autocast for XPU. No XPU is here: its tensors are FakeTensors, on which the real policies of XPU run,
or the device's name is "cpu".

https://github.com/intel/intel-extension-for-pytorch (its page "Auto Mixed Precision (AMP) on GPU")
"""

import torch
from jobs import main
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

class Convolved(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)

    def forward(self, x):
        return self.conv(x)


def frozen():
    model = Convolved().eval()
    return model.requires_grad_(False), torch.rand(2, 3, 16, 16)


def default_precision():
    model, x = frozen()
    print(model(x).dtype)


def imperative():
    model, x = frozen()
    with torch.autocast("cpu", dtype=torch.float16):
        print(model(x).dtype)


def region_without_a_dtype():
    with FakeTensorMode():
        x, weight = torch.empty(2, 3, 16, 16, device="xpu"), torch.empty(8, 3, 3, 3, device="xpu")
        with torch.autocast("xpu"):
            print(nn.functional.conv2d(x, weight).dtype)


def traced_and_frozen():
    model, x = frozen()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        model = torch.jit.freeze(torch.jit.trace(model, x))
        print(model(x).dtype)


def trained():
    model, criterion = Convolved(), nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for _ in range(4):
        optimizer.zero_grad()
        images, labels = torch.rand(2, 3, 16, 16), torch.rand(2, 8, 8, 8)
        with torch.autocast("cpu"):
            loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()


def eligibility():
    double, whole = torch.ones(4, 4, dtype=torch.float64), torch.ones(4, 4, dtype=torch.int64)
    a, b, c = torch.ones(4, 4), torch.ones(4, 4), torch.ones(4, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        print(torch.mm(double, double).dtype, torch.mm(whole, whole).dtype)  # mark: not eligible
        print(a.addmm(b, c).dtype)  # mark: out of place
        print(a.clone().addmm_(b, c).dtype)  # mark: in place
        print(torch.addmm(a, b, c, out=torch.empty(4, 4)).dtype)  # mark: out


def namespaces():
    x, layer = torch.ones(4, 4), nn.Linear(4, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        print(layer(x).dtype, nn.functional.linear(x, layer.weight).dtype, torch.matmul(x, x).dtype, x.matmul(x).dtype,
              (x @ x).dtype)


def unlisted_operators():
    x = torch.ones(4, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        print(torch.relu(x).dtype, torch.relu(torch.mm(x, x)).dtype)


def promotion():
    low, full = torch.ones(4, 4).bfloat16(), torch.ones(4, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        print(torch.cat([low, low]).dtype, torch.cat([low, full]).dtype, torch.stack([low, full]).dtype)
        print((low + full).dtype)
    print((low + full).dtype)


if __name__ == "__main__":
    main(globals())
