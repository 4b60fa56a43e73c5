"""Jobs whose autocast on CUDA is carried out by castscope, for the double of a GPU: autocast_jobs.py NAME [ARGUMENT…].

Each prints one line of JSON. What the device computes is nothing: what it was asked for, and where, is what counts.
"""

import ctypes
import json
import os
import sys

import torch
from cuda_jobs import Block
from torch import nn

STEPS = 4


class Convolutional(nn.Module):
    """Convolutions of every number of dimensions and forwards and backwards, without cuDNN, before a transformer."""

    def __init__(self):
        super().__init__()
        self.line, self.back = nn.Conv1d(8, 16, 3, padding=1), nn.ConvTranspose1d(16, 64, 3, padding=1)
        self.plane, self.space = nn.Conv2d(4, 16, 1), nn.Conv3d(2, 4, 1)
        self.norm = nn.GroupNorm(4, 16)
        self.block = Block()

    def forward(self, x):
        batch, length, width = x.shape
        x = self.line(x.reshape(batch, 8, -1))
        x = self.norm(self.plane(x.reshape(batch, 4, 16, -1)))
        x = self.space(x.reshape(batch, 2, 8, 8, -1)).reshape(batch, 16, -1)
        x = self.back(x).reshape(batch, -1, width)
        return torch.cumsum(self.block(x), 1).softmax(-1)


def train(dtype="bfloat16"):
    model = nn.Sequential(Convolutional(), nn.Linear(64, 32)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda", enabled=dtype == "float16")
    for _ in range(STEPS):
        with torch.autocast("cuda", getattr(torch, dtype)):
            out = model(torch.zeros(4, 16, 64, device="cuda"))
            with torch.autocast("cuda", enabled=False):
                loss = out.float().square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    return {"dtype": str(out.dtype)}


def streams():
    """One region over three streams: the copy of a weight is made on the first that uses it."""
    model = nn.Sequential(Block(), nn.Linear(64, 64)).cuda()
    others = [torch.cuda.Stream(), torch.cuda.Stream(priority=-1)]
    for _ in range(STEPS):
        x = torch.zeros(4, 16, 64, device="cuda")
        with torch.autocast("cuda", torch.bfloat16):
            losses = [model(x).sum()]
            for stream in others:
                stream.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(stream):
                    losses.append(model(x).sum())
        for stream in others:
            torch.cuda.current_stream().wait_stream(stream)
        sum(losses).backward()
        model.zero_grad()
    return {}


def captured(cache):
    """A graph of a forward and a backward pass: with the cache, the copies of the weights are made within it."""
    model = nn.Sequential(Block(), nn.Linear(64, 64)).cuda()
    x = torch.zeros(4, 16, 64, device="cuda")

    def step():
        with torch.autocast("cuda", torch.bfloat16, cache_enabled=cache == "cached"):
            loss = model(x).sum() + model(x).sum()
        loss.backward()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
            model.zero_grad(set_to_none=True)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    for _ in range(3):
        graph.replay()
    step()  # the same weights are cast anew: the graph's copies are its own
    return {}


def graphed():
    """make_graphed_callables within a region, which it takes without the cache alone."""
    def called(cache_enabled):
        model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64)).cuda()
        x = torch.zeros(32, 64, device="cuda", requires_grad=True)
        with torch.autocast("cuda", torch.bfloat16, cache_enabled=cache_enabled):
            model = torch.cuda.make_graphed_callables(model, (x,))
            for _ in range(2):
                model(x).sum().backward()

    called(False)
    try:
        called(True)
    except RuntimeError as error:
        return {"error": str(error)}
    return {}


def write(tensor, value):
    """Writes the device's memory, which is the host's; the double's kernels do not."""
    assert tensor.dtype == torch.float32
    ctypes.c_float.from_address(tensor.data_ptr()).value = value


def scaled(skips):
    """GradScaler on CUDA: in some steps the gradients are not finite, and it skips those."""
    model = nn.Linear(64, 64).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    steps = 0

    def count(*_):
        nonlocal steps
        steps += 1

    optimizer.register_step_post_hook(count)
    for skipped in map(int, skips):
        with torch.autocast("cuda", torch.float16):
            loss = model(torch.zeros(8, 64, device="cuda")).float().sum()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        (found,) = scaler._per_optimizer_states[id(optimizer)]["found_inf_per_device"].values()
        write(found, float(skipped))
        write(scaler._scale, 1024.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    return {"steps": steps}


def registered():
    return {"operators": torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCUDA")}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])), flush=True)
    torch.cuda.synchronize()
    # Not through the interpreter's end: autograd's threads may still give Python objects back.
    os._exit(0)
