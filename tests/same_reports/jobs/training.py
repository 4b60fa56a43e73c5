"""Training in bfloat16: weights that the cache serves, frozen ones that it does not keep, steps, a second thread."""

import threading

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(50, 32)
        self.frozen = torch.nn.Linear(32, 32).requires_grad_(False)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(32, 32) for _ in range(3))
        self.norm = torch.nn.LayerNorm(32)
        self.head = torch.nn.Linear(32, 5)

    def forward(self, ids):
        x = self.words(ids)
        x = self.frozen(self.frozen(x))
        for layer in self.layers:
            x = x + torch.nn.functional.gelu(layer(x))
            x = layer(x)
        x = torch.softmax(x @ x.transpose(1, 2), -1) @ x
        return self.head(self.norm(x)).mean(1)


def train(net, steps):
    optimizer = torch.optim.AdamW((p for p in net.parameters() if p.requires_grad), lr=1e-3)
    generator = torch.Generator().manual_seed(7)
    for _ in range(steps):
        ids = torch.randint(0, 50, (4, 6), generator=generator)
        labels = torch.randint(0, 5, (4,), generator=generator)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(net(ids), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        print("loss", loss.item().hex(), flush=True)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        print("kept low", net(ids.cpu()).to(torch.float64).sum().item().hex())


torch.manual_seed(0)
torch.set_num_threads(1)
train(Net(), 6)
worker = threading.Thread(target=train, args=(Net(), 2), name="worker")
worker.start()
worker.join()
