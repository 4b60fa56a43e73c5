"""Precision: a float32 operand makes a low-precision stream float32. See apart.py."""

import math

import torch
import torch.nn.functional as F
from apart import blocks, main, region, rows
from torch import nn


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


def c28_one_table_for_queries_and_keys():
    query, key, score = blocks(3)
    table = torch.linspace(0, 1, 32).cos()
    with region():
        q, k = query(rows()), key(rows())
        q = q * table  # finds: dtype-silent-upcast
        k = k * table
        score(q), score(k)


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
    patches, token = nn.Conv2d(3, 32, 4, 4), nn.Parameter(torch.zeros(1, 1, 32))
    place = nn.Parameter(torch.randn(1, 5, 32))
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


if __name__ == "__main__":
    main(globals())
