"""Layers that learn the sizes of their inputs from a forward of zeros while the model is built (speechbrain)."""

import torch
import torch.nn.functional as F
from torch import nn


class Sequential(nn.Module):
    def __init__(self, input_shape):
        super().__init__()
        self.layers, self.shape = nn.ModuleList(), input_shape

    def append(self, make):
        layer = make(self.shape)
        with torch.no_grad():
            self.shape = layer(torch.zeros(self.shape)).shape
        self.layers.append(layer)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class StatisticsPooling(nn.Module):
    def forward(self, x):
        x = x.float()
        return torch.cat([x.mean(dim=-1), x.var(dim=-1, unbiased=False).clamp(min=1e-5).sqrt()], dim=-1)


class Speaker:
    def __init__(self):
        self.model = Sequential((1, 20, 50))
        for width in (32, 32):
            self.model.append(lambda shape, width=width: nn.Conv1d(shape[1], width, 5, padding=2))
            self.model.append(lambda shape: nn.BatchNorm1d(shape[1]))
            self.model.append(lambda shape: nn.LeakyReLU())
        self.model.append(lambda shape: StatisticsPooling())
        self.model.append(lambda shape: nn.Linear(shape[1], 10))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.training_ctx = torch.autocast("cpu", dtype=torch.bfloat16)
        self.evaluation_ctx = torch.autocast("cpu", dtype=torch.bfloat16)

    def fit_batch(self, feats, speakers):
        with self.training_ctx:
            loss = F.nll_loss(F.log_softmax(self.model(feats), dim=-1), speakers)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    @torch.no_grad()
    def evaluate_batch(self, feats):
        self.model.eval()
        with self.evaluation_ctx:
            predictions = self.model(feats)
        self.model.train()
        return predictions.argmax(dim=-1)


brain = Speaker()
for _ in range(4):
    brain.fit_batch(torch.randn(4, 20, 50), torch.randint(0, 10, (4,)))
brain.evaluate_batch(torch.randn(4, 20, 50))
