"""Precision: what is computed in which dtype, what is cast for nothing. See apart.py."""

import math

import torch
import torch.nn.functional as F
from apart import main, region, rows
from torch import nn


def blocks(n=3):
    return nn.ModuleList(nn.Linear(32, 32) for _ in range(n))


# ---- a float32 operand makes a low-precision stream float32


def c28():
    weight, bias, head = nn.Parameter(torch.randn(32, 32)), nn.Parameter(torch.randn(32)), nn.Linear(32, 32)
    with region():
        h = rows() @ weight + bias  # finds: dtype-silent-upcast
        head(torch.relu(h))


def c28_and_nothing_more():
    weight, bias = nn.Parameter(torch.randn(32, 32)), nn.Parameter(torch.randn(32))
    with region():
        rows() @ weight + bias  # finds: dtype-silent-upcast


def c28_in_training():
    weight, bias = nn.Parameter(torch.randn(32, 32)), nn.Parameter(torch.randn(32))
    optimizer = torch.optim.SGD([weight, bias], lr=0.1)
    for _ in range(4):
        with region():
            h = rows() @ weight
            h = h + bias  # finds: dtype-silent-upcast
            loss = F.gelu(h).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def c28_in_a_module():
    class Projection(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.bias = nn.Parameter(torch.randn(32, 32)), nn.Parameter(torch.randn(32))

        def forward(self, x):
            return x @ self.weight + self.bias  # finds: dtype-silent-upcast

    model = nn.Sequential(Projection(), nn.ReLU(), Projection())
    with region():
        model(rows())


def c28_float_mask_of_hidden_states():
    layers, mask = blocks(2), torch.ones(2, 1)
    with region():
        h = layers[0](rows()) * mask  # finds: dtype-silent-upcast
        layers[1](F.dropout(h, 0.1))


def c28_noise():
    encoder, decoder = nn.Linear(32, 32), nn.Linear(32, 32)
    with region():
        mean = encoder(rows())
        z = mean + torch.randn(2, 32)  # finds: dtype-silent-upcast
        decoder(z)


def c28n_linear():
    layers = blocks(2)
    with region():
        layers[1](torch.relu(layers[0](rows())))


def c28n_numbers_and_0_dim():
    layers, scale = blocks(2), nn.Parameter(torch.ones([]))
    with region():
        layers[1]((layers[0](rows()) * scale + 1.0) / math.sqrt(32))


def c28n_losses():
    model, target = nn.Linear(32, 32), rows()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        with region():
            out = model(rows())
            loss = F.mse_loss(out, target) + (out - target).abs().mean() + (out - target).pow(2).mean()
            loss = loss + F.huber_loss(out, target) + F.binary_cross_entropy_with_logits(out, torch.ones(2, 32))
            loss = loss + F.cross_entropy(out.float(), torch.tensor([1, 2]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def c28n_loss_outside():
    model, target = nn.Linear(32, 32), rows()
    for _ in range(4):
        with region():
            out = model(rows())
        loss = ((out - target) ** 2).mean() + F.mse_loss(out.float(), target)
        loss.backward()


def c28n_weighted_and_masked_losses():
    model, weights = nn.Linear(32, 8), torch.rand(2)
    with region():
        logits = model(rows())
        each = F.cross_entropy(logits.float(), torch.tensor([1, 2]), reduction="none")
        loss = (each * weights).sum() / weights.sum()
        probabilities = logits.softmax(-1)
        dice = 1 - (probabilities * torch.rand(2, 8)).sum() / (probabilities + torch.rand(2, 8)).sum()
    (loss + dice).backward()


def c28n_attention_with_a_float32_mask():
    query, key, value = blocks(3)
    mask = torch.zeros(2, 8, 8)
    mask[:, :, 4:] = torch.finfo(torch.float32).min
    x = torch.randn(2, 8, 32)
    with region():
        q, k, v = query(x), key(x), value(x)
        scores = q @ k.transpose(-1, -2) / math.sqrt(32) + mask
        scores.softmax(-1) @ v
        F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def c28n_rotary_embedding():
    query, key, value = blocks(3)
    angles = torch.outer(torch.arange(8.0), 1 / 10000 ** (torch.arange(16) / 16))
    cos, sin = torch.cat([angles, angles], -1).cos(), torch.cat([angles, angles], -1).sin()

    def rotated(x):
        return torch.cat([-x[..., 16:], x[..., :16]], -1)

    x = torch.randn(2, 8, 32)
    with region():
        q, k, v = query(x), key(x), value(x)
        q = q * cos + rotated(q) * sin
        k = k * cos + rotated(k) * sin
        F.scaled_dot_product_attention(q, k, v)


def c28n_metrics():
    model, target = nn.Linear(32, 32), rows()
    with torch.no_grad(), region():
        out = model(rows())
        correct = (out.argmax(-1) == target.argmax(-1)).float().mean()
        error = (out - target).abs().mean()
    assert correct >= 0 and error >= 0


def c29():
    x = rows()
    with region():
        for block in blocks():
            x = x + block(x)  # finds: dtype-silent-upcast


def c29_cat():
    layer, head = nn.Linear(32, 32), nn.Linear(64, 32)
    x = rows()
    with region():
        both = torch.cat([layer(x), x], -1)  # finds: dtype-silent-upcast
        head(torch.relu(both))


def c29_where():
    layers, x = blocks(2), rows()
    with region():
        h = torch.where(x > 0, layers[0](x), x)  # finds: dtype-silent-upcast
        layers[1](h)


def c29_two_lines_one_stream():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(32, 32), nn.Linear(32, 32)

        def forward(self, x):
            x = x + self.first(x)  # finds: dtype-silent-upcast
            return x + self.second(torch.relu(x))  # float32 because of the line above

    model = nn.Sequential(Block(), Block())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        with region():
            loss = model(rows()).sum()
        loss.backward()
        optimizer.step()


def c29n_residual_in_low_precision():
    stem, layers = nn.Linear(32, 32), blocks()
    with region():
        x = stem(rows())
        for block in layers:
            x = x + block(x)


def c29n_brought_to_low_precision():
    x = rows()
    with region():
        x = x.bfloat16()
        for block in blocks():
            x = x + block(x)


def c29n_norms_on_the_way():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(32), nn.LayerNorm(32)
            self.first, self.second = nn.Linear(32, 32), nn.Linear(32, 32)

        def forward(self, x):
            x = x + self.first(self.norm1(x))
            return self.norm2(x + self.second(torch.relu(x * 0.5).detach().to(torch.bfloat16)))

    model = nn.Sequential(nn.Embedding(9, 32), Block(), Block(), nn.LayerNorm(32), nn.Linear(32, 9))
    with region():
        model(torch.tensor([[1, 2, 3]]))


def c29n_norms_by_hand():
    layers, x = blocks(), rows()
    with region():
        for block in layers:
            scaled = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
            x = x + block(scaled)
        for block in layers:
            centred = (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-6).sqrt()
            x = x + block(centred)


def c29n_transformer():
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    model = nn.Sequential(nn.Embedding(9, 32), nn.TransformerEncoder(layer, 2), nn.Linear(32, 9))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        with region():
            loss = F.cross_entropy(model(torch.tensor([[1, 2, 3]])).flatten(0, 1), torch.tensor([1, 2, 3]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def c29n_vision_transformer():
    patches, token, place = nn.Conv2d(3, 32, 4, 4), nn.Parameter(torch.zeros(1, 1, 32)), nn.Parameter(torch.randn(1, 5, 32))
    layer, norm = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True), nn.LayerNorm(32)
    head = nn.Linear(32, 9)
    with region():
        x = patches(torch.randn(2, 3, 8, 8)).flatten(2).transpose(1, 2)
        x = torch.cat([token.expand(2, -1, -1), x], 1) + place
        head(norm(layer(x))[:, 0])


def c29n_summed_up_in_float32():
    layers, head, x = blocks(), nn.Linear(32, 32), rows()
    with region():
        total = torch.zeros(2, 32)
        for block in layers:
            total += block(x)
        head(total)


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


def c34():
    model, x = nn.Linear(2048, 2048).requires_grad_(False), torch.randn(1, 2048)
    for _ in range(20):
        with region():
            model(x)  # finds: cast-dominates-time


def c34_inference():
    model, x = nn.Linear(2048, 2048), torch.randn(1, 2048)
    with torch.no_grad():
        for _ in range(20):
            with region():
                model(x)  # finds: cast-dominates-time


def c34n_large_batch():
    model, x = nn.Linear(2048, 2048).requires_grad_(False), torch.randn(512, 2048)
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


# ---- values


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


def c52n_bfloat16():
    queries, keys = 200 * torch.randn(64, 64), 200 * torch.randn(64, 64)
    with region():
        queries @ keys.t()


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


# ---- what is as it should be


def s14():
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32), nn.Softmax(-1))
    with region():
        model(rows())


def s16():
    class ForceFloat32(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            with region(enabled=False):
                return self.inner(x.float())

    model = nn.Sequential(nn.Linear(32, 32), ForceFloat32(nn.Linear(32, 32)), nn.Linear(32, 32))
    with region():
        model(rows())


def s19():
    with region():
        torch.randn(4, 4, dtype=torch.float64) @ torch.randn(4, 4, dtype=torch.float64)
        torch.arange(4) @ torch.arange(4)
        torch.randn(4, 4, dtype=torch.complex64) @ torch.randn(4, 4, dtype=torch.complex64)


def s20():
    model = nn.Sequential(nn.LayerNorm(32), nn.ReLU(), nn.Linear(32, 32))
    with region():
        model(rows())


def s21():
    layer = nn.Linear(32, 32)
    with region():
        torch.relu(layer(rows())).exp()


def s22_stack():
    layers, x = blocks(2), rows()
    with region():
        both = torch.stack([layers[0](x), x])  # finds: dtype-silent-upcast
        layers[1](both)


def s22_add():
    layers, x = blocks(2), rows()
    with region():
        h = layers[0](x) + x  # finds: dtype-silent-upcast
        layers[1](h.relu())


def s22n_all_low():
    layers, x = blocks(3), rows()
    with region():
        layers[2](torch.cat([layers[0](x), layers[1](x)]) + torch.stack([layers[0](x), layers[1](x)]).flatten(0, 1))


def s22n_ends_in_a_loss():
    layer, x = nn.Linear(32, 32), rows()
    with region():
        loss = torch.stack([layer(x), x]).sum()
    loss.backward()


def s23_gru_cell():
    cell = nn.GRUCell(32, 32)
    with region():
        cell(rows())  # finds: dtype-silent-upcast


def s23_lstm_cell():
    cell, head = nn.LSTMCell(32, 32), nn.Linear(32, 32)
    with region():
        h, _ = cell(rows())  # finds: dtype-silent-upcast
        head(h)


def s23_gru():
    gru, head = nn.GRU(32, 32, batch_first=True), nn.Linear(32, 32)
    with region():
        out, _ = gru(torch.randn(2, 4, 32))  # finds: dtype-silent-upcast
        head(out)


def s23n_state_given():
    cell, gru = nn.GRUCell(32, 32), nn.GRU(32, 32)
    with region():
        h = cell(rows(), torch.zeros(2, 32, dtype=torch.bfloat16))
        gru(torch.randn(4, 2, 32), torch.zeros(1, 2, 32, dtype=torch.bfloat16))
        nn.Linear(32, 32)(h)


def s23n_rnn_cell():
    cell = nn.RNNCell(32, 32)
    with region():
        cell(rows())


if __name__ == "__main__":
    main(globals())
