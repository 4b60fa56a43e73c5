"""Precision: what is cast for nothing, and what it takes. See apart.py."""

import torch
import torch.nn.functional as F
from apart import blocks, main, region, rows
from torch import nn

torch.set_num_threads(1)  # shares of time: threads that wait for one another on a busy machine are not part of the work


# ---- what annotations bring up


def c36_by_an_annotation():
    import castscope
    layer, head = nn.Linear(32, 32), nn.Linear(32, 32)
    flat = castscope.float_function(lambda x: x.view(-1, 32))
    for _ in range(3):
        with region():
            head(flat(layer(rows())))  # finds: cast-undoes-float


def c36n_an_annotation_that_computes_in_float32():
    import castscope
    layer, head = nn.Linear(32, 32), nn.Linear(32, 32)
    normed = castscope.float_function(lambda x: x / x.norm())
    for _ in range(3):
        with region():
            head(normed(layer(rows())))


# ---- regions and models in low precision


def c32():
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32)).half()
    with region(torch.float16):  # finds: region-redundant
        model(rows().half())


def c32_in_training():
    model = nn.Sequential(nn.Linear(32, 32), nn.LayerNorm(32), nn.Linear(32, 32)).bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        with region():  # finds: region-redundant
            loss = model(rows().bfloat16()).float().sum()
        loss.backward()
        optimizer.step()


def c32n_one_float32_weight():
    model = nn.Sequential(nn.Linear(32, 32).half(), nn.ReLU(), nn.Linear(32, 32))
    with region(torch.float16):
        model(rows().half())


def c32n_float32_input():
    model = nn.Linear(32, 32).bfloat16()
    with region():
        model(rows())


def c32n_a_loss_in_float32():
    model, target = nn.Linear(32, 32).bfloat16(), rows().bfloat16()
    with region():
        loss = F.mse_loss(model(rows().bfloat16()), target)
    loss.backward()


def c32n_products_of_a_nested_region():
    layers, x = blocks(2), rows()
    with region():
        q, k = layers[0](x), layers[1](x)
        with region():
            q @ k.t()


def c33():
    model = nn.Linear(32, 32).half()
    for _ in range(3):
        with region():
            model(rows())  # finds: dtype-double-cast


def c33_bfloat16_model_in_a_float16_region():
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU()).bfloat16()
    with region(torch.float16):
        model(rows())  # finds: dtype-double-cast


def c33_several_times_in_one_region():
    model = nn.Linear(32, 32).half()
    with region():
        for _ in range(3):
            model(rows())  # finds: dtype-double-cast


def c33_value_on_the_way():
    layers = blocks(2)
    with region():
        h = layers[0](rows()).relu()
        layers[1](h.half())  # finds: dtype-double-cast


def c33n_same_dtype():
    model = nn.Linear(32, 32).bfloat16()
    for _ in range(3):
        with region():
            model(rows())


def c33n_float16_data():
    model, data = nn.Linear(32, 32), rows().half()
    for _ in range(3):
        with region():
            model(data)


# ---- casts and time


# The weights are large: on a busy machine an operator that lasts long loses the smaller part of its time to others.


def c34():
    model, x = nn.Linear(4096, 4096).requires_grad_(False), torch.randn(1, 4096)
    for _ in range(20):
        with region():
            model(x)  # finds: cast-dominates-time


def c34_inference():
    model, x = nn.Linear(4096, 4096), torch.randn(1, 4096)
    with torch.no_grad():
        for _ in range(20):
            with region():
                model(x)  # finds: cast-dominates-time


def c34n_large_batch():
    model, x = nn.Linear(2048, 2048).requires_grad_(False), torch.randn(4096, 2048)
    for _ in range(4):
        with region():
            model(x)


def c34n_cached():
    model, x = nn.Linear(2048, 2048), torch.randn(1, 2048)
    with region():
        for _ in range(20):
            model(x)


def c34n_small_weights():
    model, x = nn.Linear(32, 32).requires_grad_(False), torch.randn(1, 32)
    for _ in range(20):
        with region():
            model(x)


def c34n_validation():
    model, x = nn.Linear(2048, 2048), torch.randn(1, 2048)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        with region():
            loss = model(x).sum()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        for _ in range(10):
            with region():
                model(x)


def c34n_training():
    model = nn.Linear(2048, 2048)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        with region():
            loss = model(torch.randn(1, 2048)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main(globals())
