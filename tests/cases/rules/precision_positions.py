"""Precision: whole numbers (positions, times, sound) in a dtype that cannot tell them apart. See apart.py."""

import torch
from apart import main, region, rows
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


def c35_the_largest_is_exact():
    steps_with_positions(lambda h: torch.arange(1, len(h) + 1).to(h.dtype), 1024)  # finds: dtype-position-loss
    steps_with_positions(lambda h: torch.arange(len(h), dtype=h.dtype), 513)  # finds: dtype-position-loss


def c35_differences_and_numbers_of_which_the_largest_is_exact():
    with region():
        (torch.arange(512)[None] - torch.arange(512)[:, None]).bfloat16().cos()  # finds: dtype-position-loss
        nn.Linear(64, 16)(torch.arange(1.0, 1025.0).view(16, 64))  # finds: dtype-position-loss


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


def c35_positions_that_are_compared():
    with region():
        positions = torch.arange(600, dtype=torch.bfloat16)  # finds: dtype-position-loss
        torch.where(positions[:, None] >= positions[None], 0.0, -torch.inf)


def c35_positions_that_are_scaled():
    with region():
        angles = torch.arange(700).to(torch.bfloat16) * 0.5  # finds: dtype-position-loss
        angles.cos()


def c35n_a_mean_over_so_many():
    layer, lengths = nn.Linear(32, 32), torch.tensor([413, 377])
    with region():
        h = layer(rows(2))
        h / lengths.to(h.dtype)[:, None]
        h / lengths.to(h.dtype).clamp(min=1)[:, None]
        h / (lengths.float().to(h.dtype)[:, None] + 1e-6)
        h * lengths.to(h.dtype)[:, None].rsqrt()
        h[lengths.to(h.dtype) > 400]


def c35n_samples_that_are_normalised():
    conv, layer = nn.Conv1d(1, 4, 9), nn.Linear(8, 32)
    with region():
        conv(torch.randint(-32000, 32000, (2, 1, 400)).bfloat16() / 32768)
        layer(torch.randint(0, 1000, (2, 8)).float().bfloat16() * 1e-3)


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


if __name__ == "__main__":
    main(globals())
