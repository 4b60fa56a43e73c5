"""Operators in an autocast region of a device that need not be here: their results' dtypes, by fake tensors.

other_device.py DEVICE LOWER prints one `name dtype` a line, or `name raises TEXT`.
"""

import logging
import sys

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

F = torch.nn.functional


def told(name, call):
    try:
        print(name, str(call().dtype).removeprefix("torch."))
    except RuntimeError as error:
        print(name, "raises", str(error).splitlines()[0])


def main(device, lower):
    logging.disable(logging.CRITICAL)
    with FakeTensorMode():
        x = torch.empty(4, 4, device=device)
        image, kernel = torch.empty(1, 3, 8, 8, device=device), torch.empty(3, 3, 3, 3, device=device)
        low, target = x.to(lower), torch.empty(4, dtype=torch.long, device=device)
        # As autocast.__enter__ does; that one asks first whether the device is there.
        torch.set_autocast_dtype(device, lower)
        torch.set_autocast_enabled(device, True)
        told("linear", lambda: F.linear(x, x))
        told("conv2d", lambda: F.conv2d(image, kernel))
        told("matmul", lambda: torch.matmul(x, x))
        told("bmm", lambda: torch.bmm(x.unsqueeze(0), x.unsqueeze(0)))
        told("addmm", lambda: x.addmm(x, x))
        told("log_softmax", lambda: F.log_softmax(low, -1))
        told("softmax", lambda: F.softmax(low, -1))
        told("cross_entropy", lambda: F.cross_entropy(low, target))
        told("nll_loss", lambda: F.nll_loss(low, target))
        told("exp", lambda: low.exp())
        told("layer_norm", lambda: F.layer_norm(low, (4,)))
        told("cat", lambda: torch.cat([low, x]))
        told("stack of low", lambda: torch.stack([low, low]))
        told("add", lambda: torch.add(low, x))
        told("relu of low", lambda: torch.relu(low))
        told("float64", lambda: torch.mm(x.double(), x.double()))
        told("integers", lambda: torch.mm(x.int(), x.int()))
        told("addmm_", lambda: x.clone().addmm_(x, x))
        told("out=", lambda: torch.mm(x, x, out=torch.empty(4, 4, device=device)))
        told("binary_cross_entropy", lambda: F.binary_cross_entropy(x, x))
        if device == "xpu":
            told("fft_rfft", lambda: torch.fft.rfft(x.half()).real)
        torch.set_autocast_enabled(device, False)
        told("outside", lambda: F.linear(x, x))


if __name__ == "__main__":
    main(sys.argv[1], getattr(torch, sys.argv[2]))
