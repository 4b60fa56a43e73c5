"""FSDP (fully_shard) over gloo with a policy of bfloat16: one rank (`sharded.py`), or two by torchrun."""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

STEPS = 3


def main():
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if ranks == 1:
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    else:
        dist.init_process_group("gloo")
    torch.manual_seed(0)
    mesh = dist.init_device_mesh("cpu", (ranks,))
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8))
    for module in (model[0], model[2], model):
        fully_shard(module, mesh=mesh, mp_policy=policy)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(STEPS):
        loss = model(torch.randn(4, 32)).float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print("loss", loss.item().hex(), flush=True)
    # As in ddp.py: a gloo group that is torn down may hang.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
