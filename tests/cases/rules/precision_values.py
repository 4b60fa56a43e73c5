"""Precision: values that the low-precision dtype does not hold. See apart.py."""

import math

import torch
import torch.nn.functional as F
from apart import blocks, main, region, rows
from torch import nn


def c36():
    layers = blocks(2)
    with region():
        h = layers[0](rows())
        layers[1](h.float())  # finds: cast-undoes-float


def c36_on_a_line_of_its_own():
    layers = blocks(2)
    optimizer = torch.optim.SGD(layers.parameters(), lr=0.1)
    for _ in range(4):
        with region():
            h = layers[0](rows()).to(torch.float32)
            h = h.view(2, 1, 32).transpose(1, 2).contiguous().flatten(1)
            out = layers[1](h)  # finds: cast-undoes-float
        out.float().sum().backward()
        optimizer.step()


def c36_to_the_dtype_of_a_weight():
    layers = blocks(2)
    with region():
        h = F.gelu(layers[0](rows()))
        layers[1](h.to(layers[1].weight.dtype))  # finds: cast-undoes-float


def c36n_then_float32_operators():
    layers = blocks(3)
    with region():
        h = layers[0](rows())
        layers[1](F.layer_norm(h.float(), (32,)))
        layers[2](h.float().softmax(-1))
        F.cross_entropy(layers[2](h).float(), torch.tensor([1, 2]))


def c36n_data():
    layer, images = nn.Linear(32, 32), torch.randint(0, 255, (2, 32), dtype=torch.uint8)
    with region():
        layer(images.float())
    features = rows().half().float()
    with region():
        layer(features)


def c36n_used_in_float32_too():
    layers = blocks(2)
    with region():
        h = layers[0](rows()).float()
        loss = F.mse_loss(h, rows())
        layers[1](h)
    loss.backward()


def c37():
    a, b, total = rows(32), rows(32), torch.zeros(32, 32)
    with region():
        total.addmm_(a, b)  # finds: op-inplace-or-out-skipped


def c37_out():
    a, b, out = rows(32), rows(32), torch.empty(32, 32)
    with region():
        torch.mm(a, b, out=out)  # finds: op-inplace-or-out-skipped


def c37_raises():
    layer, b, total = nn.Linear(32, 32), rows(32), torch.zeros(32, 32)
    with region():
        try:
            total.addmm_(layer(rows(32)), b)  # finds: op-inplace-or-out-skipped
        except RuntimeError:
            pass


def c37_of_other_shapes():
    b, total = rows(32), torch.zeros(32, 32)
    with region():
        try:
            total.addmm_(rows(31), b)  # finds: op-inplace-or-out-skipped
        except RuntimeError:
            pass


def c37n_out_of_place():
    a, b, total = rows(32), rows(32), torch.zeros(32, 32)
    with region():
        torch.addmm(total, a, b)
        a.add_(1.0).mul_(b)


def c37n_outside_and_disabled():
    a, b, total = rows(32), rows(32), torch.zeros(32, 32)
    total.addmm_(a, b)
    with region(enabled=False):
        total.addmm_(a, b)
    with region():
        a.bfloat16() @ b
    torch.mm(a, b, out=total)


def c52():
    queries, keys = 200 * torch.randn(64, 64), 200 * torch.randn(64, 64)
    with region(torch.float16):
        scores = queries @ keys.t()  # finds: dtype-overflow
        scores.softmax(-1)


def c52_too_large_to_cast():
    layer = nn.Linear(32, 32)
    with region(torch.float16):
        layer(1e6 * rows())  # finds: dtype-overflow


def c52_element_by_element():
    layer = nn.Linear(32, 32)
    with region(torch.float16):
        h = layer(1000 * rows())
        h * h  # finds: dtype-overflow


def steps_in_float16(model, inputs, after=lambda h: h, steps=20):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        with region(torch.float16):
            loss = after(model(inputs(step))).float().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def c52_in_training():
    def scores(h):
        return h @ h.t()  # finds: dtype-overflow

    steps_in_float16(nn.Linear(32, 32), lambda step: rows() * (3e3 if step >= 1 else 1), scores)


def c52_too_large_to_cast_from_the_first_step_on():
    def inputs(_):
        return 3e4 * torch.linspace(-4, 4, 64).view(2, 32)

    class Model(nn.Linear):
        def forward(self, x):
            return F.linear(x, self.weight, self.bias)  # finds: dtype-overflow

    steps_in_float16(Model(32, 32), inputs)


def c52n_bfloat16():
    queries, keys = 200 * torch.randn(64, 64), 200 * torch.randn(64, 64)
    with region():
        queries @ keys.t()


def c52n_a_batch_that_is_left_out():
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(6):
        x = torch.randn(4, 8)
        if step == 2:
            x[:] = math.inf
        with region(torch.float16):
            loss = model(x).float().mean()
        if not torch.isfinite(loss):
            continue
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def c52n_infinite_before():
    layer, x = nn.Linear(32, 32), rows()
    x[0, 0] = math.inf
    with region(torch.float16):
        layer(x)
    with region(torch.float16):
        layer(x.half())


def c52n_masks():
    query, key, value = blocks(3)
    x = torch.randn(2, 8, 32)
    mask = torch.zeros(8, 8)
    mask[:, 4:] = torch.finfo(torch.float32).min
    with region(torch.float16):
        q, k, v = query(x), key(x), value(x)
        scores = (q @ k.transpose(-1, -2)).masked_fill(torch.ones(8, 8).triu(1) > 0, -math.inf)
        scores.softmax(-1) @ v
        F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


if __name__ == "__main__":
    main(globals())
