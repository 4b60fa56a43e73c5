"""Casts that TorchScript's autocast makes and eager's does not, or the reverse, where Python never runs the line: one
function a case. See apart.py."""

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


class AddedOnAndOn(OneLinear):
    def forward(self, x):
        c = self.linear(x)
        d = c + c  # finds: script-dtype-differs
        e = d * 2 + c
        return self.linear(e)


class Written(OneLinear):
    def forward(self, x):
        c = self.linear(x)
        c += 1
        c.mul_(2.0)
        return torch.add(c, c, out=c)


class GivenFloat(OneLinear):
    def forward(self, x):
        return F.gelu(x), F.softmax(x, 1), F.layer_norm(x, (16,)), x.sum(), x + x


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
        return self.linear(x) + self.linear(x + 1).float()


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


def s30b3_what_follows_is_not_told_again():
    in_regions(AddedOnAndOn())


def s30b3n_in_place_and_out():
    with torch.no_grad():
        in_regions(Written())


def c16en_given_float32():
    in_regions(GivenFloat())


def c16e_on_a_list():
    in_regions(Activated())


def s30bn_with_autocast_off():
    in_regions(AddedWithAutocastOff())


def s30b2n_a_float32_operand():
    in_regions(AddedToFloat())


if __name__ == "__main__":
    main(globals())
