"""Regions that are off, or for another device: what users write, one function a case. See apart.py."""

import os
import warnings

os.environ["CUDA_VISIBLE_DEVICES"] = ""  # some of the cases are about a GPU that is not there

import torch
import torch.nn.functional as F
from apart import loss_of, main, region, rows
from torch import nn

warnings.simplefilter("ignore", UserWarning)  # what PyTorch says is for people


def c44():
    model = nn.Linear(32, 32)
    for _ in range(2):
        with torch.autocast("cuda"):  # finds: region-disabled-silently
            model(rows())


def c44_old_spelling():
    model = nn.Linear(32, 32)
    with torch.cuda.amp.autocast():  # finds: region-disabled-silently
        model(rows())


def c44_decorator():
    model = nn.Linear(32, 32)

    @torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=True)
    def forward(x):
        return model(x)

    forward(rows())  # finds: region-disabled-silently


def c44n_switched_off():
    model = nn.Linear(32, 32)
    with torch.autocast("cuda", enabled=False):
        model(rows())
    with torch.autocast("cuda", enabled=torch.cuda.is_available(), dtype=torch.float16):
        model(rows())
    with torch.autocast("cuda", torch.float32, False):
        model(rows())


def c44n_both_devices():
    model = nn.Linear(32, 32)
    with torch.autocast("cuda"), region():
        model(rows())


def c45():
    model = nn.Linear(32, 32)
    with torch.autocast("cpu", dtype=torch.float32):  # finds: region-disabled-silently
        model(rows())


def c45_object_used_later():
    model = nn.Linear(32, 32)
    context = torch.autocast("cpu", dtype=torch.float64)
    del [torch.autocast("cpu", enabled=False) for _ in range(100)][:]
    for _ in range(2):
        with context:  # finds: region-disabled-silently
            model(rows())


def c45n_switched_off():
    model = nn.Linear(32, 32)
    for dtype in (torch.float32, torch.bfloat16):
        with torch.autocast("cpu", dtype=dtype, enabled=dtype != torch.float32):
            model(rows())
    with torch.autocast("cpu", dtype=torch.float32, enabled=False, cache_enabled=False):
        model(rows())


def c45n_many_objects():
    # Objects come and go at the same addresses.
    model = nn.Linear(32, 32)
    for i in range(300):
        torch.autocast("cpu", dtype=torch.float32)
        with torch.autocast("cpu", enabled=False):
            i % 100 or model(rows())


class Wrapped(nn.Module):
    def __init__(self, device="cuda"):
        super().__init__()
        self.model, self.device = nn.Linear(32, 32), device

    def forward(self, x):
        with torch.autocast(self.device or x.device.type):
            return self.model(x)


def c46():
    class WrappedForCuda(nn.Module):
        def __init__(self, device="cuda"):
            super().__init__()
            self.model, self.device = nn.Linear(32, 32), device

        def forward(self, x):
            with torch.autocast(self.device):  # finds: region-disabled-silently
                return self.model(x)

    WrappedForCuda()(rows())


def c46n_device_of_the_input():
    Wrapped(device=None)(rows())


def c46b():
    model = nn.Linear(32, 32)
    with torch.autocast("xpu"):  # finds: region-wrong-device
        model(rows())


def c46b_products_of_a_list():
    w = torch.randn(32, 8)
    with torch.autocast("xpu"):  # finds: region-wrong-device
        torch.einsum("bi,io->bo", rows(), w)
        torch.tensordot(rows(), w, 1)


def c46b_others():
    model = nn.Linear(32, 32)
    for device in ("mps", "hpu", "mtia", "xla"):
        with torch.autocast(device, dtype=torch.bfloat16):  # finds: region-wrong-device
            F.relu(model(rows()))


def c46bn_right_device_in_it():
    model = nn.Linear(32, 32)
    with torch.autocast("xpu", dtype=torch.bfloat16), region():
        model(rows())
    with region(), torch.autocast("xpu", dtype=torch.bfloat16):
        model(rows())


def c46bn_disabled():
    model = nn.Linear(32, 32)
    with torch.autocast("xpu", enabled=False):
        model(rows())


def c46bn_nothing_to_cast():
    with torch.autocast("xpu"):
        torch.stack([rows(), rows()]).relu().softmax(-1)


def s12n_switch():
    model, amp = nn.Linear(32, 32), False
    for _ in range(3):
        with region(enabled=amp):
            loss = loss_of(model(rows()))
        loss.backward()


def s13():
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32))
    with torch.autocast("mtia"):  # finds: region-wrong-device
        loss = loss_of(model(rows()))
    loss.backward()


def s14n_census():
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32), nn.Softmax(-1))
    with region():
        model(rows())


def s08_of_another_device():
    model = nn.Linear(32, 4)
    with torch.autocast("mps", dtype=torch.float16):  # finds: region-wrong-device
        nn.functional.cross_entropy(model(rows(8)), torch.zeros(8, dtype=torch.long)).backward()


if __name__ == "__main__":
    main(globals())
