"""Operators on autocast's lists: what users write, one function a case. See apart.py."""

import torch
import torch.nn.functional as F
from apart import main, region, rows
from torch import nn


def c30():
    layer = nn.Linear(32, 32)
    with region():
        h = layer(rows())
        F.mse_loss(h, h.detach())  # finds: op-fp32-by-policy
        torch.cdist(h, h)
        torch.fft.fft(h)


def c30_one_operator():
    layer = nn.Linear(32, 32)
    for _ in range(3):
        with region():
            h = layer(rows(4))
            distance = torch.cdist(h, h)  # finds: op-fp32-by-policy
        distance.sum().backward()


def c30_other_devices():
    layer = nn.Linear(32, 32)
    with region():
        h = layer(rows())
        h.norm()  # finds: policy-device-differs
        h.sum()
        h.softmax(-1)
        h.exp()
        h.pow(2)
        F.layer_norm(h, (32,))
        F.rms_norm(h, (32,))
        h.cumsum(0)


def c30n_keep_low_precision():
    layer, norm = nn.Linear(32, 32), nn.BatchNorm1d(32)
    with region():
        h = F.gelu(layer(rows(4)))
        norm(h).mean()


def c30n_the_loss_of_training():
    model = nn.Sequential(nn.Linear(32, 32), nn.LayerNorm(32), nn.Linear(32, 5))
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        with region():
            loss = F.mse_loss(model(rows()), torch.randn(2, 5))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad(), region():
        F.cross_entropy(model(rows()), torch.tensor([1, 2]))


def c30n_given_float():
    layer = nn.Linear(32, 32)
    with region():
        h = layer(rows()).float()
        torch.cdist(h, h)
        torch.fft.fft(rows())


def s14n_layers():
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32), nn.Softmax(-1))
    with region():
        model(rows())


def s21n_unlisted_operators():
    layer = nn.Linear(32, 32)
    with region():
        F.relu(layer(rows())).exp()


def s40():
    @torch.library.custom_op("castscope_cases::scaled", mutates_args=())
    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    scaled.register_autocast("cpu", torch.float32)
    layer = nn.Linear(32, 32)
    with region():
        scaled(layer(rows()))
        scaled(rows().double())


def s40_float_function():
    class Scaled(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            return grad * 2

    layer = nn.Linear(32, 32)
    with region():
        y = Scaled.apply(layer(rows()))
    y.sum().backward()


def roi_sum(name):
    @torch.library.custom_op(f"castscope_cases::{name}", mutates_args=())
    def pool(image: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
        return image.sum() + boxes.float().sum(1)

    return pool


BOXES = [[10.3, 20.7, 301.7, 513.9], [100.2, 64.1, 411.3, 598.6]]


def s42():
    pool, boxes = roi_sum("s42"), torch.tensor(BOXES)
    with region():
        scaled = boxes @ torch.eye(4)  # finds: policy-protected-arg-cast
        pool(torch.randn(3, 8, 8), scaled)  # finds: op-not-listed


def s42_converted_back():
    pool, boxes = roi_sum("s42_converted_back"), torch.tensor(BOXES)
    layer = nn.Linear(4, 4, bias=False)
    with region():
        moved = layer(boxes)  # finds: policy-protected-arg-cast
    pool(torch.randn(3, 8, 8), moved.float())


def s42n_given_as_they_are():
    pool, boxes = roi_sum("s42n_given_as_they_are"), torch.tensor(BOXES)
    layer = nn.Linear(4, 4)
    with region():
        layer(boxes)
        pool(torch.randn(3, 8, 8), boxes * 0.5)


def s42n_normalised():
    pool, boxes = roi_sum("s42n_normalised"), torch.tensor(BOXES) / 1000
    with region():
        pool(torch.randn(3, 8, 8), (boxes @ torch.eye(4)).float())


def s42n_predicted_offsets():
    pool, boxes = roi_sum("s42n_predicted_offsets"), torch.tensor(BOXES)
    head = nn.Linear(32, 4)
    with region():
        pool(torch.randn(3, 8, 8), boxes + head(rows()))


def s44n_shared_operators():
    layer = nn.Linear(32, 32)
    with region():
        h = layer(rows())
        h @ h.t()
        torch.cat([h, h])
        F.scaled_dot_product_attention(h[None], h[None], h[None])


def s45():
    with torch.autocast("xpu"):  # finds: policy-default-dtype
        pass
    layer = nn.Linear(32, 32)
    with region():
        layer(rows())


def s45_default_set_anew():
    layer = nn.Linear(32, 32)
    for dtype in (torch.bfloat16, torch.float16):
        torch.set_autocast_dtype("cpu", dtype)
        with torch.autocast("cpu"):  # finds: policy-default-dtype
            layer(rows())


def s45n_dtype_given():
    with torch.autocast("xpu", dtype=torch.bfloat16):
        pass
    layer = nn.Linear(32, 32)
    with region():
        layer(rows())


def s45n_default_of_the_cpu():
    layer = nn.Linear(32, 32)
    for _ in range(2):
        with torch.autocast("cpu"):
            layer(rows())


if __name__ == "__main__":
    main(globals())
