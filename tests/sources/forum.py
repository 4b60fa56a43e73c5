"""A thread of PyTorch's forum on autocast around a whole training loop: its programs and its questions.

https://discuss.pytorch.org/t/can-autocast-context-manager-be-used-around-all-of-training-loop/136771
"""

import torch
import torch.nn.functional as F
from jobs import main, region
from torch import nn

import castscope

BATCHES = [(torch.randn(4, 10), torch.randn(4, 10)) for _ in range(4)]


def small_model():
    return nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 10))


def one_epoch(model, optimizer):
    for x, y in BATCHES:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()  # mark: backward inside
        optimizer.step()


def region_around_the_epoch():
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with region():  # mark: region around the epoch
        one_epoch(model, optimizer)


def region_around_forward_and_loss():
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in BATCHES:
        optimizer.zero_grad()
        with region():
            loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()


def result_is_used_outside():
    first, second = nn.Linear(10, 10), nn.Linear(10, 10)
    with region():
        x = first(BATCHES[0][0])
    try:
        second(x)  # mark: used outside
    except RuntimeError as error:
        print(error)


def result_is_cast_back():
    first, second = nn.Linear(10, 10), nn.Linear(10, 10)
    with region():
        x = first(BATCHES[0][0])
    print(second(x.float().float()).dtype)  # mark: cast back; the second .float() does nothing


def inference_in_one_region():
    model = small_model().eval()
    with torch.no_grad(), region():
        for x, _ in BATCHES:
            model(x)


def many_models_in_one_region():
    with region():  # mark: grows
        for _ in range(100):
            nn.Linear(512, 512)(torch.randn(1, 512))


def layers_and_softmax():
    def hook(module, given, result):
        print(type(module).__name__, [x.dtype for x in given], result.dtype)

    layers = [nn.Linear(10, 10), nn.Linear(10, 10), nn.Softmax(dim=1)]
    for layer in layers:
        layer.register_forward_hook(hook)
    x = torch.randn(1, 10)
    with region():
        for layer in layers:
            x = layer(x)


class Pooling(nn.Module):
    """Stands for a module of somebody else's: an average over the rows that each box names."""

    def forward(self, x, rois):
        scores = torch.mm(x, x.t())
        return torch.mm(scores, rois)


class Keeps(Pooling):
    def forward(self, x, rois):
        return super().forward(x.float(), rois).type_as(x)


class SwitchesOff(Pooling):
    def forward(self, x, rois):
        with torch.autocast("cpu", enabled=False):
            return super().forward(x.float(), rois)


class Detector(nn.Module):
    def __init__(self, pooling):
        super().__init__()
        self.layer, self.pooling = nn.Linear(10, 10), pooling

    def forward(self, x, rois):
        return self.pooling(self.layer(x), rois)


def detected(model):
    for x, _ in BATCHES:
        with region():
            loss = model(x, torch.full((4, 4), 301.7)).float().sum()
        loss.backward()


def boxes_are_cast():
    detected(Detector(Keeps()))


def pooling_switches_autocast_off():
    detected(Detector(SwitchesOff()))


def pooling_is_forced_to_float32():
    detected(Detector(castscope.force_fp32(Pooling())))


def boxes_are_never_cast():
    detected(Detector(castscope.never_cast("rois")(Pooling())))


def backward_inside_the_region():
    model = Detector(SwitchesOff())
    for x, _ in BATCHES:
        with region():
            model(x, torch.ones(4, 4)).sum().backward()  # mark: backward of the model's own loop


def traced_within_a_region():
    layer, x = nn.Conv2d(3, 4, 3), torch.randn(1, 3, 8, 8)
    try:
        with region():
            torch.jit.trace(layer, x)  # mark: traced with the cache
    except RuntimeError as error:
        print(error)


def traced_without_the_cache():
    layer, x = nn.Conv2d(3, 4, 3), torch.randn(1, 3, 8, 8)
    with region(cache_enabled=False):
        traced = torch.jit.trace(layer, x)
    for _ in range(3):
        with region():
            print(traced(x).dtype)
    print("to(" in traced.code or "_to(" in traced.code or "torch.to" in traced.code)


class WithRegion(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        with region(cache_enabled=False):
            return self.layer(x)


def traced_with_the_region_inside():
    x = torch.randn(1, 3, 8, 8)
    print(torch.jit.trace(WithRegion(), x)(x).dtype)


def first_operator_keeps_float32():
    model = nn.Sequential(nn.LayerNorm(10), nn.ReLU(), nn.Linear(10, 10))
    with region():
        print(model(BATCHES[0][0]).dtype)


if __name__ == "__main__":
    main(globals())
