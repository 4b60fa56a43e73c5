"""FSDP on one rank: what users write, one function a case. See apart.py."""

import contextlib

import torch
import torch.distributed as dist
from apart import main, region, rows
from torch import nn

try:
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
except ImportError:  # before PyTorch 2.6
    from torch.distributed._composable.fsdp import MixedPrecisionPolicy, fully_shard


def shard(module, dtype=torch.bfloat16, **policy):
    if not dist.is_initialized():
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    mesh = dist.init_device_mesh("cpu", (1,))
    if dtype is None:
        return fully_shard(module, mesh=mesh)
    return fully_shard(module, mesh=mesh, mp_policy=MixedPrecisionPolicy(param_dtype=dtype, **policy))


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.out = nn.LayerNorm(32), nn.Linear(32, 4)

    def forward(self, x):
        return self.out(self.norm(x))


class Rotated(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(32, 4)

    def forward(self, x, table):
        return self.out(x * table.cos().to(x.dtype))


def c57():
    model = shard(nn.Sequential(nn.Linear(32, 32), nn.Linear(32, 4)))
    with region():
        for _ in range(2):
            out = model(rows())  # finds: fsdp-autocast-conflict
    out.float().sum().backward()


def c57_fp16():
    model = shard(Normed())
    with region(torch.float16), contextlib.suppress(RuntimeError):
        model(rows())  # finds: fsdp-autocast-conflict


def c57_layer_by_layer():
    model = nn.Sequential(nn.Linear(32, 32), nn.Linear(32, 4))
    for layer in model:
        shard(layer)
    shard(model)
    with region():
        model(rows())  # finds: fsdp-autocast-conflict


def c57n_float32_in_a_region():
    model = shard(nn.Sequential(nn.Linear(32, 32), nn.Linear(32, 4)), None)
    with region():
        out = model(rows())
    out.float().sum().backward()


def c57n_no_region():
    model = shard(Normed())
    model(rows()).float().sum().backward()


def c57n_loss_in_a_region():
    model = shard(Normed())
    out = model(rows())
    with region():
        loss = nn.functional.cross_entropy(out, torch.zeros(2, dtype=torch.int64))
    loss.backward()


def c58():
    model, positions = shard(Rotated()), torch.arange(1000).float()[:, None].repeat(1, 32)
    model(rows(1000), positions)  # finds: fsdp-casts-buffer


def c58_a_buffer():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("table", torch.linspace(0, 1, 32))
            self.block = shard(Rotated())

        def forward(self, x):
            return self.block(x, self.table)  # finds: fsdp-casts-buffer

    Model()(rows())


def c58n_not_cast():
    model, positions = shard(Rotated(), cast_forward_inputs=False), torch.arange(1000).float()[:, None].repeat(1, 32)
    model(rows(1000).bfloat16(), positions)


def c58n_ordinary_inputs():
    model = shard(Normed())
    for _ in range(3):
        model(rows()).float().sum().backward()


if __name__ == "__main__":
    main(globals())
