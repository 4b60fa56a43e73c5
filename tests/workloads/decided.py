"""Prints the dtypes that operators gave under an enforced policy, as the job sees it: one `name dtype` a line."""

import sys

import torch


class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.norm = torch.nn.Linear(8, 8), torch.nn.LayerNorm(8)

    def forward(self, x):
        return self.norm(self.fc(x))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head, self.other = torch.nn.Linear(8, 8), Head(), Head()

    def forward(self, x):
        y = self.body(x)
        told("body", y)
        told("head.fc", self.head.fc(y))
        told("head", self.head(y))
        told("other", self.other(x))
        return y


def told(name, result):
    print(name, str(result.dtype).removeprefix("torch."))


def raised(name, call):
    try:
        told(name, call())
    except RuntimeError as error:
        print(name, "raises", error)


def main(device_dtype):
    torch.manual_seed(0)
    torch.library.define("mine::scale", "(Tensor x, Tensor rois) -> Tensor")
    torch.library.impl("mine::scale", "CompositeExplicitAutograd")(lambda x, rois: told("rois", rois) or x * 2)
    torch.library.define("mine::twice", "(Tensor[] xs, Tensor? y=None, *, float by=2.0) -> Tensor")
    torch.library.impl("mine::twice", "CompositeExplicitAutograd")(
        lambda xs, y=None, *, by=2.0: (told("y", y) if y is not None else None) or xs[-1] * by)
    x = torch.randn(4, 8)
    half = x.to(device_dtype)
    net = Net()
    with torch.autocast("cpu", dtype=device_dtype):
        net(x)
        told("softmax", torch.softmax(half, -1))
        told("softmax given", torch.softmax(half, -1, dtype=torch.float64))
        told("add", half + x)
        told("norm", torch.ops.aten.norm.Scalar(half, 2))
        told("cumsum", torch.cumsum(half, 0))
        told("cat", torch.cat([half, x]))
        told("roll", torch.roll(x, 1))
        told("double", torch.mm(x.double(), x.double().t()))
        told("out", torch.mm(x, x.t(), out=torch.empty(4, 4)))
        told("in place", x.clone().addmm_(x, torch.eye(8)))
        raised("bmm", lambda: torch.bmm(x[None], x.t()[None]))
        told("scale", torch.ops.mine.scale(x, x))
        told("twice", torch.ops.mine.twice([x, x], by=3.0))
        told("twice with y", torch.ops.mine.twice([x, x], x))
        with torch.autocast("cpu", enabled=False):
            told("off", torch.nn.functional.linear(x, net.body.weight))
        with torch.autocast("cpu", dtype=torch.float16):
            raised("nested", lambda: torch.nn.functional.linear(x, net.body.weight))
        told("back", torch.nn.functional.linear(x, net.body.weight))
    told("outside", torch.nn.functional.linear(x, net.body.weight))


if __name__ == "__main__":
    main(getattr(torch, sys.argv[1] if len(sys.argv) > 1 else "bfloat16"))
