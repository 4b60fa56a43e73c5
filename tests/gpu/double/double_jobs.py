"""Jobs for the double: test_double.py runs each in a process of its own, and it prints its result as a line of JSON."""

import ctypes
import json
import os
import sys
from collections import Counter

import torch
import torch.nn.functional as F
from torch import nn
from torch.profiler import ProfilerActivity, profile

# cuDNN's double has RNNs alone.
torch.backends.cudnn.enabled = False
torch.backends.cuda.enable_cudnn_sdp(False)


class Block(nn.Module):
    def __init__(self, width=64, heads=4):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inward, self.outward = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.inward(self.before(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, length, width)
        x = x + self.outward(seen)
        return x + self.narrow(F.gelu(self.wide(self.between(x))))


class Training:
    def __init__(self, dtype):
        self.dtype = dtype
        self.model = nn.Sequential(nn.Embedding(128, 64), Block(), Block(), nn.LayerNorm(64), nn.Linear(64, 128)).cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.scaler = torch.amp.GradScaler("cuda", enabled=dtype == torch.float16)

    def step(self):
        tokens = torch.randint(0, 128, (4, 32)).cuda()
        self.optimizer.zero_grad()
        with torch.autocast("cuda", self.dtype):
            loss = F.cross_entropy(self.model(tokens).flatten(0, 1), tokens.flatten())
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item()


def train(dtype):
    training = Training(getattr(torch, dtype))
    return {"losses": [training.step() for _ in range(3)], "device": torch.cuda.get_device_name()}


def operations():
    """Returns how many operations the virtual devices have done so far: the log has those that follow."""
    torch.cuda.synchronize()
    return ctypes.CDLL("libcupti.so.13").nogpu_operations()


def profiled(work, trace):
    """Returns the work's device operations by name, from torch.profiler: how many, how many nanoseconds."""
    before = operations()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        work()
        torch.cuda.synchronize()
    seen.export_chrome_trace(trace)
    with open(trace) as file:
        events = json.load(file)["traceEvents"]
    on_device = [event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    times, counts = Counter(), Counter()
    for event in on_device:
        times[event["name"]] += round(1000 * event["dur"])
        counts[event["name"]] += 1
    return {"before": before, "times": times, "counts": counts, "events": on_device, "seen": seen}


def profiler(trace):
    training = Training(torch.bfloat16)
    training.step()
    told = profiled(lambda: [training.step() for _ in range(3)], trace)
    rows = {row.key: row.self_device_time_total for row in told.pop("seen").key_averages()}
    del told["events"]
    return {**told, "mm": rows["aten::mm"], "rows": len(rows)}


def graph(trace):
    layers = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).cuda()
    x = torch.zeros(8, 64, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        layers(x)
    captured = torch.cuda.CUDAGraph()
    before = operations()
    with torch.cuda.graph(captured):
        layers(x)
    captures = operations() - before
    told = profiled(lambda: [captured.replay() for _ in range(2)], trace)
    nodes = [[event["args"]["graph node id"], event["args"]["correlation"]] for event in told["events"]]
    return {"before": told["before"], "nodes": nodes, "captured": captures}


def graph_nodes():
    """Returns what a subscriber learns about nodes: those that are made by capturing, and their clones by
    instantiating."""
    cupti, subscriber = ctypes.CDLL("libcupti.so.13"), ctypes.c_void_p()
    resource_domain, created, cloned = 3, 13, 20
    told = {created: [], cloned: []}

    def node_id(pointer):
        value = ctypes.c_uint64()
        assert cupti.cuptiGetGraphNodeId(ctypes.c_void_p(pointer), ctypes.byref(value)) == 0
        return value.value

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.POINTER(ctypes.c_void_p))
    def callback(_user, _domain, cbid, data):
        # CUpti_ResourceData: context, stream, descriptor; CUpti_GraphData: graph, its original, node, its original.
        graph_data = ctypes.cast(data[2], ctypes.POINTER(ctypes.c_void_p))
        ids = [node_id(graph_data[2])] if cbid == created else [node_id(graph_data[2]), node_id(graph_data[3])]
        told[cbid].append(ids)

    layers = nn.Sequential(nn.Linear(64, 64), nn.ReLU()).cuda()
    x = torch.zeros(8, 64, device="cuda")
    layers(x)
    assert cupti.cuptiSubscribe(ctypes.byref(subscriber), callback, None) == 0
    for cbid in told:
        assert cupti.cuptiEnableCallback(1, subscriber, resource_domain, cbid) == 0
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        layers(x)
    before = operations()
    captured.replay()
    return {"before": before, "created": told[created], "cloned": told[cloned]}


def graphed_callable():
    layer = nn.Linear(16, 16).cuda()
    example = torch.randn(4, 16).cuda().requires_grad_()
    called = torch.cuda.make_graphed_callables(layer, (example,))
    before = operations()
    called(torch.randn(4, 16).cuda().requires_grad_()).sum().backward()
    return {"before": before, "after": operations()}


def streams():
    side, urgent = torch.cuda.Stream(), torch.cuda.Stream(priority=-1)
    x = torch.zeros(1 << 20, device="cuda")
    before = operations()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    x.add_(1)
    end.record()
    for stream in (side, urgent):
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            torch.relu(x)
    torch.cuda.current_stream().wait_stream(side)
    torch.sigmoid(x)
    torch.cuda.synchronize()
    return {"before": before, "elapsed": start.elapsed_time(end), "copied": torch.arange(5).cuda().cpu().tolist()}


def compiled():
    step = torch.compile(lambda x: (torch.sin(x) * 2 + x).to(torch.bfloat16).sum())
    step(torch.zeros(1000, device="cuda"))
    torch.cuda.synchronize()
    return {}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])), flush=True)
    # Not through the interpreter's end: autograd's threads may still give Python objects back, which ends the process
    # with an error now and then, on any device.
    os._exit(0)
