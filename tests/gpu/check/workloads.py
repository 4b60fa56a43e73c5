"""Training loops that a GPU is checked with: each function makes a model, its data and a step, all on the device.

A step gives back its loss as a tensor on the device, so that whoever runs it decides when to wait. Each workload has
two sizes: `full`, which keeps an H100 busy for some ten milliseconds a step (but for those that are bound by launches),
and `small`, which says the same in little time.
"""

import dataclasses
import typing

import torch
import torch.nn.functional as F
from torch import nn


@dataclasses.dataclass
class Made:
    model: nn.Module
    step: typing.Callable[[], torch.Tensor]


@dataclasses.dataclass
class Workload:
    make: typing.Callable[..., Made]
    full: dict
    small: dict
    needs: tuple = ()  # modules that the PyTorch at hand may lack
    bound: str = "GPU"  # or "launch": the device waits for the CPU
    # torch.use_deterministic_algorithms makes roi_align compile itself and take ten times the memory.
    can_be_deterministic: bool = True
    # Kernels of a replay are its operators' for castscope, and nobody's for torch.profiler.
    by_operator: bool = True
    warm_up: int = 10


def training(model, loss_of, dtype, device, optimizer=None, cache=True):
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-4)
    scaler = torch.amp.GradScaler(device, enabled=dtype == torch.float16)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype, cache_enabled=cache):
            loss = loss_of(model)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    return Made(model, step)


def resnet50(device, batch, side):
    from torchvision.models import resnet50 as network

    model = network(weights=None).to(device, memory_format=torch.channels_last)
    images = torch.randn(batch, 3, side, side, device=device).contiguous(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (batch,), device=device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    return training(model, lambda net: F.cross_entropy(net(images), labels), torch.bfloat16, device, optimizer)


def boxes(device, n, side):
    corner = torch.rand(n, 2, device=device) * side * 0.5
    return torch.cat([corner, corner + side * (0.1 + 0.3 * torch.rand(n, 2, device=device))], 1)


def faster_rcnn(device, batch, side):
    from torchvision.models.detection import fasterrcnn_resnet50_fpn

    model = fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=21, min_size=side, max_size=side)
    model.to(device).train()
    images = [torch.rand(3, side, side, device=device) for _ in range(batch)]
    targets = [{"boxes": boxes(device, 8, side), "labels": torch.randint(1, 21, (8,), device=device)} for _ in images]
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    return training(model, lambda net: sum(net(images, targets).values()), torch.float16, device, optimizer)


def gpt(dtype):
    def make(device, layers, width, batch, length):
        from transformers import GPT2Config, GPT2LMHeadModel

        config = GPT2Config(vocab_size=8192, n_positions=length, n_layer=layers, n_embd=width, n_head=width // 64,
                            resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False)
        model = GPT2LMHeadModel(config).to(device)
        words = torch.randint(0, 8192, (batch, length), device=device)
        return training(model, lambda net: net(words, labels=words).loss, dtype, device)

    return make


class Tagger(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.embed = nn.Embedding(1000, width)
        self.lstm = nn.LSTM(width, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, 32)

    def forward(self, words):
        return self.head(self.lstm(self.embed(words))[0])


def lstm(device, width, hidden, batch, length):
    model = Tagger(width, hidden).to(device)
    words = torch.randint(0, 1000, (batch, length), device=device)
    tags = torch.randint(0, 32, (batch * length,), device=device)
    return training(model, lambda net: F.cross_entropy(net(words).flatten(0, 1), tags), torch.float16, device)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inward, self.outward = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.inward(self.before(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, length, width)
        x = x + self.outward(seen)
        return x + self.narrow(F.gelu(self.wide(self.between(x))))


def compiled(device, width, layers, batch, length):
    blocks = [Block(width, width // 64) for _ in range(layers)]
    model = nn.Sequential(nn.Embedding(1000, width), *blocks, nn.LayerNorm(width), nn.Linear(width, 1000)).to(device)
    words = torch.randint(0, 1000, (batch, length), device=device)
    run = torch.compile(lambda: F.cross_entropy(model(words).flatten(0, 1), words.flatten()))
    return training(model, lambda _: run(), torch.bfloat16, device)


def perceptron(width, layers):
    return nn.Sequential(*[layer for _ in range(layers) for layer in (nn.Linear(width, width), nn.ReLU())])


def mlp(device, width, layers, batch):
    model = perceptron(width, layers).to(device)
    x, y = torch.randn(batch, width, device=device), torch.randn(batch, width, device=device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    return training(model, lambda net: F.mse_loss(net(x), y), torch.bfloat16, device, optimizer)


def graphed(device, width, layers, batch):
    """Forward and backward are replays. A graph must not hold copies that autocast's cache frees when a region ends."""
    model = perceptron(width, layers).to(device)
    x = torch.randn(batch, width, device=device, requires_grad=True)
    y = torch.randn(batch, width, device=device)
    with torch.autocast(device, torch.bfloat16, cache_enabled=False):
        replayed = torch.cuda.make_graphed_callables(model, (x.detach().requires_grad_(),))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    return training(model, lambda _: F.mse_loss(replayed(x).float(), y), torch.bfloat16, device, optimizer, cache=False)


GPT = {"full": {"layers": 12, "width": 768, "batch": 8, "length": 512},
       "small": {"layers": 2, "width": 128, "batch": 2, "length": 64}, "needs": ("transformers",)}
TINY = {"full": {"width": 64, "layers": 16, "batch": 32}, "small": {"width": 64, "layers": 4, "batch": 32},
        "bound": "launch"}

WORKLOADS = {
    "resnet50": Workload(resnet50, {"batch": 64, "side": 224}, {"batch": 4, "side": 64}, needs=("torchvision",)),
    "faster-rcnn": Workload(faster_rcnn, {"batch": 4, "side": 512}, {"batch": 1, "side": 128}, needs=("torchvision",),
                            can_be_deterministic=False, bound="launch"),
    "gpt-bf16": Workload(gpt(torch.bfloat16), **GPT),
    "gpt-fp16": Workload(gpt(torch.float16), **GPT),
    "lstm": Workload(lstm, {"width": 512, "hidden": 1024, "batch": 64, "length": 128},
                     {"width": 64, "hidden": 64, "batch": 4, "length": 8}),
    "compiled": Workload(compiled, {"width": 512, "layers": 4, "batch": 32, "length": 256},
                         {"width": 64, "layers": 1, "batch": 2, "length": 16}, needs=("triton",)),
    "mlp": Workload(mlp, **TINY, warm_up=200),
    "graphed": Workload(graphed, **TINY, warm_up=200, by_operator=False),
}
