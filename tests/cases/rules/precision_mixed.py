"""Precision: operators that are given several dtypes. See apart.py."""

import torch
from apart import blocks, main, region, rows
from torch import nn


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
