"""Jobs that the rules about GPUs find something in, for the CUDA build of PyTorch on the double of a GPU:
rule_jobs.py NAME [fixed].

Each is written twice: as it is found, with a mark `# finds: RULE, …` at the lines that rules must point at, and, where
it is called with `fixed`, with the fix that they advise. Then nothing is found.
"""

import sys

import ending  # noqa: F401
import torch
from torch import nn

torch.backends.cuda.enable_cudnn_sdp(False)
BF16 = torch.bfloat16


def rows(*sizes, **options):
    return torch.zeros(*sizes, device="cuda", **options)


def region(dtype=BF16, **options):
    return torch.autocast("cuda", dtype, **options)


def train(model, loss_of, steps=8):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        loss_of().backward()
        optimizer.step()
        optimizer.zero_grad()


def serving(fixed):
    """A frozen model whose weights are cast for each row."""
    model = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(8)]).cuda().requires_grad_(False)
    if fixed:
        model.to(BF16)
    row = rows(1, 1024, dtype=BF16)
    for _ in range(40):
        with region(enabled=not fixed):
            model(row)  # finds: gpu-casts-dominate, cast-dominates-time


def similarities(fixed):
    """A product into a tensor that is there already."""
    keys, queries, scores = rows(512, 256), rows(512, 256), rows(512, 512)
    for _ in range(8):
        with region():
            if fixed:
                scores = queries @ keys.t()
            else:
                torch.mm(queries, keys.t(), out=scores)  # finds: matmul-full-precision, op-inplace-or-out-skipped


def vocabulary(fixed):
    """A vocabulary that is not a multiple of 8."""
    head = nn.Linear(256, 5008 if fixed else 5003).cuda()

    def loss():
        with region():
            return head(rows(512, 256)).float().sum()  # finds: tensor-cores-unused

    train(head, loss)


def packed_weights(fixed):
    """Weights that begin anywhere in a buffer of many."""
    begin = 8 if fixed else 3
    weight = rows(begin + 512 * 512, dtype=BF16)[begin:].view(512, 512)
    for _ in range(8):
        with region():
            rows(512, 512, dtype=BF16) @ weight  # finds: tensor-cores-unused


def policy_network(fixed):
    """A network that is asked at each step of a game: its layers are so small that launching is all."""
    model = nn.Sequential(*[nn.Linear(64, 64) for _ in range(100)]).cuda()
    if fixed:
        model.to(BF16)
    state = rows(8, 64, dtype=BF16)
    for _ in range(8):
        with torch.no_grad(), region(enabled=not fixed):
            model(state)  # finds: launch-bound-casts, gpu-casts-dominate


def decoder(fixed):
    """cuDNN's RNN, called for each token."""
    rnn, state = nn.LSTM(256, 256).cuda().eval(), None
    if fixed:
        rnn.half()
    token = rows(1, 8, 256, dtype=torch.float16)
    with torch.no_grad(), region(torch.float16, enabled=not fixed):
        for _ in range(16):
            _, state = rnn(token, state)  # finds: rnn-recasts-weights


def tagger(fixed):
    """cuDNN's RNN in a region of bfloat16."""
    rnn, out = nn.LSTM(64, 64).cuda(), nn.Linear(64, 16).cuda()

    def loss():
        with region():
            x = rows(5, 8, 64)
            if fixed:
                with region(enabled=False):
                    hidden, _ = rnn(x.float())
            else:
                hidden, _ = rnn(x)  # finds: rnn-computes-in-float16
            return out(hidden).float().sum()  # finds: dtype-double-cast

    train(nn.ModuleList([rnn, out]), loss)


def distances(fixed):
    """Products of what a region gave, after it."""
    torch.set_float32_matmul_precision("high" if fixed else "highest")
    model = nn.Linear(256, 512).cuda()

    def loss():
        with region():
            out = model(rows(512, 256))
        out = out.float()
        return (out @ out.t()).sum()  # finds: tf32-unlike-setting

    train(model, loss)


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2:] == ["fixed"])
    torch.cuda.synchronize()
