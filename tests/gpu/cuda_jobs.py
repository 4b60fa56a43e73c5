"""Jobs for the CUDA build of PyTorch on the double of a GPU: cuda_jobs.py NAME [ARGUMENT…]. Each prints a JSON line.

The device computes nothing: all losses are 0. What is launched, and for how long it runs, is as deterministic as the
code.
"""

import json
import sys
import threading
from collections import Counter

import ending  # noqa: F401
import torch
from torch import nn
from torch.nn import functional as F

torch.backends.cudnn.enabled = False
torch.backends.cuda.enable_cudnn_sdp(False)
STEPS = 6


class Block(nn.Module):
    def __init__(self, width=64, heads=4):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(x)))


def trainer(dtype):
    torch.manual_seed(0)
    model = nn.Sequential(Block(), Block(), nn.Linear(64, 32)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda", enabled=dtype == torch.float16)

    def step():
        x = torch.randn(4, 16, 64).cuda()
        with torch.autocast("cuda", dtype):
            loss = model(x).float().square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()

    return step


def train(dtype="bfloat16", steps=STEPS):
    step = trainer(getattr(torch, dtype))
    for _ in range(int(steps)):
        step()
    torch.cuda.synchronize()
    return {"steps": int(steps)}


def outermost_operator(event):
    """The operator that Python, or a backward node, called: ranges around it are none."""
    found = None
    while event is not None:
        if event.name.startswith("aten::"):
            found = event.name
        elif event.name.startswith("autograd::engine"):
            break
        event = event.cpu_parent
    return found


def profile(steps=STEPS):
    """By outermost operator, what torch.profiler says its kernels took, in ns."""
    step = trainer(torch.bfloat16)
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        for _ in range(int(steps)):
            step()
        torch.cuda.synchronize()
    launches, ns = Counter(), Counter()
    for event in profiler.events():
        for kernel in event.kernels:
            launches[outermost_operator(event)] += 1
            ns[outermost_operator(event)] += kernel.duration * 1000
    return {"launches": launches, "ns": ns}


def profiled_midway(before=2):
    """Steps of which some are profiled by the job itself: how often each kernel ran in those."""
    step = trainer(torch.bfloat16)
    for _ in range(before):
        step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(2):
            step()
        torch.cuda.synchronize()
    for _ in range(STEPS):
        step()
    torch.cuda.synchronize()
    return {"kernels": {row.key: row.count for row in profiler.key_averages() if row.device_time_total > 0}}


def profiled_at_first():
    return profiled_midway(before=0)


def graphed(by="main"):
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64)).cuda()
    x = torch.randn(32, 64).cuda()

    def forward():
        with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
            return model(x)

    with torch.no_grad():
        for _ in range(12):  # the capture is in no deep step
            forward()
        graph = torch.cuda.CUDAGraph()

        def capture():
            with torch.no_grad(), torch.cuda.graph(graph):
                forward()

        if by == "thread":  # nothing of that thread was seen before
            thread = threading.Thread(target=capture)
            thread.start()
            thread.join()
        else:
            capture()
        for _ in range(5):
            with torch.autocast("cuda", torch.bfloat16):
                _ = x @ x.t()
                graph.replay()
    torch.cuda.synchronize()
    return {"replays": 5}


def begin_timing():
    """The first operator on the GPU in a region: kernels are timed from here on."""
    with torch.autocast("cuda", torch.bfloat16):
        _ = torch.zeros(8, 8, device="cuda") + 1


def compiled():
    """A training step of which Inductor makes the kernels."""
    model = nn.Sequential(Block(), nn.Linear(64, 32)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    called = torch.compile(model)
    begin_timing()
    for _ in range(STEPS):
        x = torch.randn(4, 16, 64).cuda()
        with torch.autocast("cuda", torch.bfloat16):
            loss = called(x).float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    return {}


def two_compiled():
    """Two regions whose backward passes run one after the other, the later one's first."""
    first, second = nn.Linear(64, 64).cuda(), nn.Linear(64, 64).cuda()
    one = torch.compile(lambda x: torch.sin(first(x)))
    other = torch.compile(lambda x: torch.cos(second(x)))
    begin_timing()
    for _ in range(STEPS):
        x = torch.zeros(32, 64, device="cuda")
        with torch.autocast("cuda", torch.bfloat16):
            loss = other(one(x)).float().sum()
        loss.backward()
    torch.cuda.synchronize()
    return {}


def devices():
    """On each of two devices: the current stream and another one, forward and backward, in turns."""
    models, streams = [], []
    for device in range(2):
        models.append(nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 64)).to(f"cuda:{device}"))
        streams.append([torch.cuda.current_stream(device), torch.cuda.Stream(device)])
    for step in range(STEPS):
        for device, model in enumerate(models):
            for at, stream in enumerate(streams[device]):
                with torch.cuda.device(device), torch.cuda.stream(stream):
                    x = torch.zeros(8 * (1 + step + at), 64, device=f"cuda:{device}")
                    with torch.autocast("cuda", torch.bfloat16):
                        loss = model(x).float().sum()
                    loss.backward()
        # A copy from one device to the other belongs to both.
        models[1].get_parameter("0.weight").data.copy_(models[0].get_parameter("0.weight").data)
    for device in range(2):
        torch.cuda.synchronize(device)
    return {}


def products():
    a, b = torch.randn(64, 64).cuda(), torch.randn(64, 60).cuda()
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast("cuda", dtype):
            _ = a @ b
    with torch.autocast("cuda", torch.bfloat16):
        out = torch.empty(64, 60).cuda()
        torch.mm(a, b, out=out)  # no autocast kernel: float32
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.mm(a, b, out=out)
    torch.cuda.synchronize()
    return {}


def mixed_settings():
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    x = torch.randn(64, 64).cuda()
    with torch.autocast("cuda", torch.bfloat16):
        _ = x @ x
    torch.cuda.synchronize()
    return {}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])), flush=True)
