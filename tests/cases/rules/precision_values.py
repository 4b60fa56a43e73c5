"""Precision: values that the low-precision dtype does not hold. See apart.py."""

import math

import torch
import torch.nn.functional as F
from apart import blocks, main, region, rows
from torch import nn


def c35():
    positions, frequencies = torch.arange(65536.0, 65600.0), torch.rand(1, 16)
    with region():
        positions[:, None] @ frequencies  # finds: dtype-position-loss


def c35_from_integers():
    positions, frequencies = torch.arange(4000), torch.rand(1, 16)
    with region():
        angles = positions[:, None].float() @ frequencies  # finds: dtype-position-loss
        angles.cos()


def c35_timestamps_into_a_layer():
    layer = nn.Linear(3, 32)
    with region():
        layer(torch.randint(1_000_000, 2_000_000, (8, 3)).float())  # finds: dtype-position-loss


def c35_float16():
    positions, frequencies = torch.arange(5000.0), torch.rand(1, 16)
    with region(torch.float16):
        positions[:, None] @ frequencies  # finds: dtype-position-loss


def c35_sound():
    conv = nn.Conv1d(1, 4, 9)
    with region():
        conv(torch.randint(-32000, 32000, (2, 1, 400)).float())  # finds: dtype-position-loss


def corners(size, dtype):
    """The corners of boxes around 0, in the dtype of the features, as detectors make them."""
    ratios = torch.tensor([0.5, 1.0, 2.0], dtype=dtype)
    heights, widths = size * ratios.sqrt(), size / ratios.sqrt()
    return torch.stack([-widths, -heights, widths, heights], 1) / 2


def grid(height, width, stride):
    rows_, columns = torch.arange(height, dtype=torch.int32) * stride, torch.arange(width, dtype=torch.int32) * stride
    y, x = torch.meshgrid(rows_, columns, indexing="ij")
    return torch.stack([x.flatten(), y.flatten(), x.flatten(), y.flatten()], 1)


def c35_a_grid_of_anchors():
    features = nn.Conv2d(3, 8, 16, 16)
    with region():
        made = features(torch.rand(1, 3, 480, 640))
        shifts = grid(*made.shape[-2:], 16)
        shifts.view(-1, 1, 4) + corners(32, made.dtype).view(1, -1, 4)  # finds: dtype-position-loss


def c35_a_grid_of_anchors_in_float16():
    with region(torch.float16):
        grid(150, 200, 16) - corners(32, torch.float16)[:1]  # finds: dtype-position-loss


def c35_positions_and_a_step_in_low_precision():
    with region():
        angles = torch.arange(4000)[:, None] * torch.rand(1, 16).bfloat16()  # finds: dtype-position-loss
        angles.cos()


def rotated(positions, x, frequencies):
    """Rotary positions, as many models write them."""
    angles = positions[:, None] * frequencies
    a, b = x.chunk(2, -1)
    return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1)


def steps_with_positions(positions_for, length=768):
    layer, head, frequencies = nn.Linear(32, 32), nn.Linear(32, 32), 1 / 200 ** torch.linspace(0, 1, 16)
    for _ in range(2):
        with region():
            h = layer(torch.randn(length, 32))
            out = head(rotated(positions_for(h), h, frequencies))
        out.float().sum().backward()


def c35_counted_in_a_half():
    steps_with_positions(lambda h: torch.arange(len(h), dtype=h.dtype))  # finds: dtype-position-loss
    steps_with_positions(lambda h: torch.arange(5, 5 + len(h), dtype=h.dtype))  # finds: dtype-position-loss
    steps_with_positions(lambda h: torch.arange(9, 9 + 3 * len(h), 3, dtype=h.dtype))  # finds: dtype-position-loss
    steps_with_positions(lambda h: torch.linspace(0, 767, 768, dtype=h.dtype))  # finds: dtype-position-loss
    steps_with_positions(lambda h: torch.ones(len(h), dtype=h.dtype).cumsum(0))  # finds: dtype-position-loss


def c35_converted_to_a_half():
    steps_with_positions(lambda h: torch.arange(len(h)).to(h.dtype))  # finds: dtype-position-loss
    steps_with_positions(lambda h: torch.arange(len(h)).type_as(h))  # finds: dtype-position-loss
    steps_with_positions(lambda h: torch.arange(len(h)).bfloat16())  # finds: dtype-position-loss


def c35_converted_from_floats_to_a_half():
    steps_with_positions(lambda h: torch.arange(len(h)).float().to(h))  # finds: dtype-position-loss


def c35_counted_in_float16():
    with region(torch.float16):
        positions = torch.arange(4096, dtype=torch.float16)  # finds: dtype-position-loss
        positions[:, None].cos()


def c35n_counted_in_float32():
    steps_with_positions(lambda h: torch.arange(len(h), dtype=torch.float32))
    steps_with_positions(lambda h: torch.arange(len(h)).float())
    steps_with_positions(lambda h: torch.ones(len(h)).cumsum(0))


def c35n_counted_so_far_as_the_dtype_goes():
    steps_with_positions(lambda h: torch.arange(len(h), dtype=h.dtype), 256)
    with region():
        grid_ = torch.arange(0, 640, 16, dtype=torch.bfloat16), torch.linspace(-1, 1, 640, dtype=torch.bfloat16)
        nn.Conv2d(3, 8, 3)(torch.rand(1, 3, 9, 9)) * grid_[0].mean()
    with region(torch.float16):
        torch.arange(2048, dtype=torch.float16).cos()


def c35n_a_mean_over_so_many():
    layer, lengths = nn.Linear(32, 32), torch.tensor([413, 377])
    with region():
        h = layer(rows(2))
        h / lengths.to(h.dtype)[:, None]
        h / lengths.to(h.dtype).clamp(min=1)[:, None]


def c35n_a_grid_of_anchors_in_float32():
    features = nn.Conv2d(3, 8, 16, 16)
    with region():
        made = features(torch.rand(1, 3, 480, 640))
        shifts = grid(*made.shape[-2:], 16)
        shifts.view(-1, 1, 4) + corners(32, torch.float32).view(1, -1, 4)


def c35n_integers_that_are_no_places():
    layer, ids = nn.Linear(32, 32), torch.arange(2)
    with region():
        h = layer(rows())
        h + ids[:, None]  # small
        h[ids * 0 + 1], h.index_select(0, ids), h.gather(1, torch.arange(600).remainder(32)[None].expand(2, -1))
        h / torch.tensor([[1000], [2001]])  # a mean over so many
        h + (1 - torch.tensor([[1, 0] * 16, [1, 1] * 16])) * -10000  # a mask


def c35n_small_ids():
    positions, frequencies = torch.arange(200.0), torch.rand(1, 16)
    with region():
        positions[:, None] @ frequencies


def c35n_float32_island():
    positions, frequencies = torch.arange(65536.0, 65600.0), torch.rand(1, 16)
    with region():
        with region(enabled=False):
            angles = positions[:, None] @ frequencies
        nn.Linear(16, 16)(angles.sin())


def c35n_element_by_element():
    positions, frequencies = torch.arange(65536.0, 65600.0), torch.rand(1, 16)
    with region():
        nn.Linear(16, 16)((positions[:, None] * frequencies).sin())
        torch.einsum("i,j->ij", positions, frequencies[0]).cos()  # a product of numbers, not of matrices


def c35n_counts_of_words():
    counts = torch.zeros(8, 1000)
    counts[:, ::40] = 301.0
    with region():
        nn.Linear(1000, 16)(counts)


def c35n_token_ids_and_pixels():
    embedding, conv = nn.Embedding(50000, 8), nn.Conv2d(3, 4, 3)
    with region():
        embedding(torch.arange(49000, 49100))
        conv(torch.randint(0, 256, (2, 3, 8, 8)).float())


def c35n_numbers_that_have_no_fractions():
    layer, x = nn.Linear(64, 64), 1e12 * torch.randn(8, 64)
    with region():
        layer(torch.cdist(x, x.repeat(8, 1)))


def c35n_one_number():
    layer = nn.Linear(1, 32)
    with region():
        for _ in range(3):
            layer(torch.full((8, 1), 999.0))


def c35n_weights():
    layer = nn.Linear(8, 32)
    with torch.no_grad():
        layer.weight.random_(1000, 4000)
    with region():
        layer(torch.randn(2, 8))


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
