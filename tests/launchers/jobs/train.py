"""A small training job. Each rank casts another number of times, so that ranks which are mixed up are noticed.

    train.py          ends with 0
    train.py fail     every rank ends with 7, once all have trained
"""

import os
import pathlib
import sys

if sys.flags.no_site:  # python -S does not look for installed packages, so the job does
    home = pathlib.Path(sys.executable).parent.parent / "lib"
    sys.path += map(str, home.glob("python3*/site-packages"))

import torch


def number(*names):
    return next((int(os.environ[name]) for name in names if name in os.environ), 0)


def train(rank, steps):
    torch.manual_seed(rank)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = None
    for _ in range(steps):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(torch.randn(4, 8)).float().square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item().hex()


def wait_for_others(rank):
    """A launcher ends its other ranks as soon as one fails."""
    ranks = number("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS") or 1
    pathlib.Path(f"trained-{rank}").touch()
    while not all(pathlib.Path(f"trained-{other}").exists() for other in range(ranks)):
        pass


def main():
    rank = number("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")
    print(f"rank {rank}: loss {train(rank, 2 + rank)}", flush=True)
    if "fail" in sys.argv:
        wait_for_others(rank)
        sys.exit(7)


if __name__ == "__main__":
    main()
