"""Jobs with RNNs on cuDNN, for the CUDA build of PyTorch on the double of a GPU: rnn_jobs.py NAME [ARGUMENT…].

Each prints one line of JSON. The double of cuDNN has what RNNs need of it.
"""

import json
import os
import sys

import ending  # noqa: F401
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

CALLS = 3


def train(kind, **options):
    """Some calls in one region, and a backward: how many weights there are, and how large."""
    rnn = getattr(nn, kind)(32, 48, num_layers=2, bidirectional=True, **options).cuda()
    x = torch.zeros(5, 4, 32, device="cuda", requires_grad=True)
    with torch.autocast("cuda", torch.float16):
        for _ in range(CALLS):
            out, _ = rnn(x)
    out.float().sum().backward()
    weights = list(rnn.parameters())
    assert all(weight.grad.dtype == torch.float32 for weight in weights)
    return {"weights": len(weights), "elements": sum(weight.numel() for weight in weights)}


def lstm():
    return train("LSTM")


def gru():
    return train("GRU")


def projected():
    return train("LSTM", proj_size=16, bias=False)


def profile(name):
    """Runs the same job under torch.profiler: returns how often the RNN's kernel copied something."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        globals()[name]()
    copies = 0
    for event in profiler.events():
        around = event.cpu_parent
        while around is not None and around.name != "aten::_cudnn_rnn":
            around = around.cpu_parent
        # A cast that has a copy of its own (_to_copy) is one of the input or of the state.
        copies += event.name == "aten::copy_" and around is not None and event.cpu_parent.name != "aten::_to_copy"
    return {"copies": copies}


def steps():
    """A training loop in a bfloat16 region."""
    rnn = nn.LSTM(32, 48).cuda()
    optimizer = torch.optim.SGD(rnn.parameters(), lr=0.1)
    x = torch.zeros(5, 4, 32, device="cuda")
    for _ in range(4):
        with torch.autocast("cuda", torch.bfloat16):
            out, _ = rnn(x)
        out.float().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return {"dtype": str(out.dtype)}


def uncast():
    """Weights that are copied unchanged, and some without values."""
    x = torch.zeros(5, 4, 32, device="cuda")
    with torch.no_grad(), torch.autocast("cuda", torch.float16):
        half = nn.LSTM(32, 48).cuda().half()
        half.flatten_parameters()
        dtypes = [half(x)[0].dtype]
        with FakeTensorMode():
            dtypes.append(nn.LSTM(32, 48, device="cuda")(torch.zeros(5, 4, 32, device="cuda"))[0].dtype)
    with torch.no_grad():
        dtypes.append(nn.LSTM(32, 48).cuda()(x)[0].dtype)
    return {"dtypes": [str(dtype) for dtype in dtypes]}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])), flush=True)
    torch.cuda.synchronize()
    # Not through the interpreter's end: autograd's threads may still give Python objects back.
    os._exit(0)
