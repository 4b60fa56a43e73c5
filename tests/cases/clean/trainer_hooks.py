"""A trainer with hooks that owns precision, and a module that knows nothing of it (Lightning)."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitAutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 4))
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 64))

    def step(self, batch):
        x, _ = batch
        return F.mse_loss(self.decoder(self.encoder(x)), x)

    def training_step(self, batch):
        return self.step(batch)

    def validation_step(self, batch):
        return self.step(batch)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class Trainer:
    def __init__(self, max_epochs, dtype=torch.bfloat16):
        self.max_epochs, self.dtype = max_epochs, dtype
        self.logged = []

    def precision(self):
        return torch.autocast("cpu", dtype=self.dtype)

    def validate(self, module, loader, limit=None):
        module.eval()
        with torch.no_grad():
            for i, batch in enumerate(loader):
                if i == limit:
                    break
                with self.precision():
                    self.logged.append(module.validation_step(batch).item())
        module.train()

    def fit(self, module, train, val):
        optimizer = module.configure_optimizers()
        self.validate(module, val, limit=2)
        for _ in range(self.max_epochs):
            for batch in train:
                def closure(batch=batch):
                    with self.precision():
                        loss = module.training_step(batch)
                    optimizer.zero_grad()
                    loss.backward()
                    return loss
                optimizer.step(closure)
            self.validate(module, val)


data = TensorDataset(torch.rand(48, 64), torch.zeros(48))
Trainer(max_epochs=2).fit(LitAutoEncoder(), DataLoader(data, batch_size=16, shuffle=True), DataLoader(data, 16))
