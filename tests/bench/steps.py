"""Trains a transformer for some steps and says what each cost, as one line of JSON.

steps.py SIZE OBSERVER STEPS WARM_UP [MODE]
  SIZE      tiny: cast-heavy, some milliseconds a step; mid: some hundred milliseconds
  OBSERVER  nothing (also what runs under castscope), profiler, profiler-stacks, dispatch-mode
  MODE      eager (where it is left out), script, trace, compile: how the transformer is run
"""

import contextlib
import json
import resource
import sys
import time

import let_go

before = time.perf_counter()
import torch  # noqa: E402

import_s = time.perf_counter() - before

SIZES = {  # width, heads, feed-forward, layers, batch, length
    "tiny": (64, 4, 128, 2, 8, 16),
    "mid": (256, 8, 1024, 4, 8, 96),
}


class Block(torch.nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, inner), torch.nn.Linear(inner, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = [part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).chunk(3, -1)]
        mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))


class Net(torch.nn.Module):
    def __init__(self, width, heads, inner, layers, vocabulary=256):
        super().__init__()
        self.embed = torch.nn.Embedding(vocabulary, width)
        self.blocks = torch.nn.ModuleList(Block(width, heads, inner) for _ in range(layers))
        self.head = torch.nn.Linear(width, vocabulary)

    def forward(self, words):
        x = self.embed(words)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def nop_dispatch_mode():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Nothing(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            return function(*args, **(kwargs or {}))

    return Nothing()


def observer(name):
    if name == "nothing":
        return contextlib.nullcontext()
    if name == "dispatch-mode":
        return nop_dispatch_mode()
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                  with_stack=name == "profiler-stacks")


def as_mode(model, words, mode):
    if mode == "trace":
        with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
            return torch.jit.trace(model, words)
    return {"eager": lambda net: net, "script": torch.jit.script, "compile": torch.compile}[mode](model)


def training_step(size, mode="eager"):
    """A function that makes one step."""
    width, heads, inner, layers, batch, length = SIZES[size]
    model = Net(width, heads, inner, layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    words = torch.randint(0, 256, (batch, length))
    model = as_mode(model, words, mode)

    def step():
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(words)
            loss = torch.nn.functional.cross_entropy(logits.view(-1, 256), words.view(-1))
        loss.backward()
        optimizer.step()

    return step


def main(size, observed_by, steps, warm_up, mode="eager"):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    step = training_step(size, mode)
    for _ in range(warm_up):
        step()
    let_go.let_go_if_asked(step)
    cpu, wall = [], []
    with observer(observed_by):
        for _ in range(2 if observed_by != "nothing" else 0):  # what the observer does once
            step()
        for _ in range(steps):
            wall0, cpu0 = time.perf_counter_ns(), time.thread_time_ns()
            step()
            cpu.append(time.thread_time_ns() - cpu0)
            wall.append(time.perf_counter_ns() - wall0)
        rss_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"import_s": import_s, "peak_rss_mb": rss_kb / 1024, "cpu_ns": cpu, "wall_ns": wall}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), *sys.argv[5:])
