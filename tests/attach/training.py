"""A training loop that tells each iteration's loss, bit for bit, and whether castscope watched it.

training.py OUTPUT [--iterations N] [--pause MS]. It runs until N iterations are done, or the file OUTPUT.stop appears.
Each line of OUTPUT is "ITERATION KIND WATCHED LOSS": KIND says which of three programs ran, so that the number of casts
differs from one iteration to the next; WATCHED is what castscope says in the midst of the iteration's region.
"""

import argparse
import contextlib
import ctypes
import os
import pathlib
import time

import torch

KINDS = 3


class Watched:
    """Whether castscope watches this process; it may come while the process runs."""

    def __init__(self):
        self.ask = None

    def __call__(self):
        if self.ask is None:
            self.ask = self.find()
        return 0 if self.ask is None else int(self.ask())

    @staticmethod
    def find():
        for line in open("/proc/self/maps", encoding="utf-8"):
            if "libcastscope.so" in line:
                return ctypes.CDLL(line.split(maxsplit=5)[5].strip()).castscope_attached
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("output")
    parser.add_argument("--iterations", type=int, default=1 << 30)
    parser.add_argument("--pause", type=float, default=0)
    parser.add_argument("--one-region", action="store_true", help="stay in one region for ever")
    given = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers = torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in range(KINDS))
    optimizer = torch.optim.SGD(layers.parameters(), lr=0.01)
    watched = Watched()
    stop = pathlib.Path(given.output + ".stop")
    around = torch.autocast("cpu", dtype=torch.bfloat16) if given.one_region else contextlib.nullcontext()
    with open(given.output, "w", encoding="utf-8", buffering=1) as out, around:
        print(f"pid {os.getpid()}", flush=True)
        for iteration in range(given.iterations):
            kind = iteration % KINDS
            x = torch.full((4, 8), (iteration % 17) / 17)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                seen = watched()
                for layer in layers[:kind + 1]:
                    x = layer(x)
            loss = x.float().pow(2).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            out.write(f"{iteration} {kind} {seen} {loss.item().hex()}\n")
            if given.pause:
                time.sleep(given.pause / 1000)
            if iteration % 8 == 0 and stop.exists():
                break


if __name__ == "__main__":
    main()
