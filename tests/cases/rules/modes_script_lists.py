"""What TorchScript's autocast casts otherwise than eager's, where Python never runs the line: one function a case. See
apart.py."""

import torch
import torch.nn.functional as F
from apart import main, region
from torch import nn


class OneLinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)


class Added(OneLinear):
    def forward(self, x):
        c = self.linear(x)
        return c + c  # finds: script-dtype-differs


class AddedTwo(OneLinear):
    def forward(self, x):
        return self.linear(x) + self.linear(x + 1)  # finds: script-dtype-differs


class Activated(OneLinear):
    def forward(self, x):
        return F.gelu(self.linear(x))  # finds: script-dtype-differs


class AddedWithAutocastOff(OneLinear):
    def forward(self, x):
        c = self.linear(x)
        with torch.autocast("cpu", enabled=False):
            return c + c


class AddedToFloat(OneLinear):
    def forward(self, x):
        return self.linear(x) + x


def square(n=16):
    return torch.randn(n, n)


def in_regions(net):
    scripted, x = torch.jit.script(net), square()
    for _ in range(3):
        with region():
            scripted(x)


def s30b():
    in_regions(Added())


def s30b2_two_values():
    in_regions(AddedTwo())


def c16e_on_a_list():
    in_regions(Activated())


def s30bn_with_autocast_off():
    in_regions(AddedWithAutocastOff())


def s30b2n_a_float32_operand():
    in_regions(AddedToFloat())


if __name__ == "__main__":
    main(globals())
