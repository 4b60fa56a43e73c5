"""Shared by all workloads: a fixed start, and an end that can be compared bit by bit.

A workload prints its losses in hexadecimal and a hash of its final parameters. Two runs that print the same text
computed the same bits.
"""

import gc
import hashlib
import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch


def start(seed=0):
    gc.freeze()  # else each process takes half a second at its end to look through what PyTorch has imported
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)


def bf16(**options):
    return torch.autocast("cpu", dtype=torch.bfloat16, **options)


def say_loss(loss):
    print("loss", float(loss).hex(), flush=True)


def digest(*modules):
    state = hashlib.sha256()
    for module in modules:
        for name, tensor in sorted(module.state_dict().items()):
            state.update(name.encode())
            state.update(tensor.detach().flatten().clone().view(torch.uint8).numpy().tobytes())
    return state.hexdigest()


def finish(*modules):
    print("sha256", digest(*modules), flush=True)


def train(model, batches, loss_of, optimizer=None, **region):
    """The loop that most people write: zero, region, loss, backward, step."""
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.train()
    for batch in batches:
        optimizer.zero_grad()
        with bf16(**region):
            loss = loss_of(model, batch)
        loss.backward()
        optimizer.step()
        say_loss(loss)


def token_batches(steps, vocabulary=99, batch=3, length=12):
    generator = torch.Generator().manual_seed(7)
    for _ in range(steps):
        yield torch.randint(0, vocabulary, (batch, length), generator=generator)


def image_batches(steps, size=32, batch=3):
    generator = torch.Generator().manual_seed(7)
    for _ in range(steps):
        yield (torch.randn(batch, 3, size, size, generator=generator),
               torch.randint(0, 5, (batch,), generator=generator))


def small_net(width=32, depth=3, classes=5):
    layers = []
    for _ in range(depth):
        layers += [torch.nn.Linear(width, width), torch.nn.LayerNorm(width), torch.nn.GELU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(width, classes))


def small_batches(steps, width=32, batch=8, classes=5, seed=7):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        yield (torch.randn(batch, width, generator=generator),
               torch.randint(0, classes, (batch,), generator=generator))


def cross_entropy(model, batch):
    inputs, labels = batch
    return torch.nn.functional.cross_entropy(model(inputs), labels)
