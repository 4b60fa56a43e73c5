"""A forecast of quantiles whose head and loss are float32, outside of the region (pytorch-forecasting)."""

import torch
from torch import nn

QUANTILES = torch.tensor([0.1, 0.5, 0.9])


class Forecaster(nn.Module):
    def __init__(self, width=32, horizon=6):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, width, 5, padding=4, dilation=2), nn.ReLU(),
                                  nn.Conv1d(width, width, 5, padding=4, dilation=2), nn.ReLU())
        self.head, self.horizon = nn.Linear(width, horizon * len(QUANTILES)), horizon

    def forward(self, series):
        scale = series.abs().mean(dim=-1, keepdim=True).clamp(min=1e-3)
        with torch.autocast(series.device.type, dtype=torch.bfloat16):
            hidden = self.conv((series / scale)[:, None])[..., -1]
        return self.head(hidden.float()).view(-1, self.horizon, len(QUANTILES)) * scale[..., None]


def pinball(predicted, target):
    error = target[..., None] - predicted
    return torch.maximum(QUANTILES * error, (QUANTILES - 1) * error).mean()


model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
for _ in range(2):
    for _ in range(3):
        series = torch.randn(8, 54).cumsum(dim=-1)
        loss = pinball(model(series[:, :48]), series[:, 48:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        series = torch.randn(8, 54).cumsum(dim=-1)
        plateau.step(pinball(model(series[:, :48]), series[:, 48:]))
