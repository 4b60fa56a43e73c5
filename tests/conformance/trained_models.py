"""Trains a small model under autocast with each optimizer, and writes a hash of all that came of it.

    trained_models.py MODEL|all|some OUTPUT.json        (some: each model, with one optimizer and number of steps)

Two runs that write the same had the same losses, gradients, parameters and buffers in each step, bit by bit. With
ONE_OTHER_WEIGHT in the environment one number of a weight begins otherwise: then all must come out otherwise.
"""

import contextlib
import functools
import hashlib
import itertools
import json
import os
import pathlib
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.checkpoint import checkpoint

STEPS, BATCH, WIDTH, CLASSES, WORDS, LENGTH, SCALE = 3, 4, 16, 5, 31, 6, 1024.0


class Classifier(nn.Module):
    """A classifier, with its inputs and its loss."""

    def batch(self, generator):
        return torch.randn(BATCH, WIDTH, generator=generator), torch.randint(0, CLASSES, (BATCH,), generator=generator)

    def loss(self, batch):
        return F.cross_entropy(self(batch[0]), batch[1])


class Mlp(Classifier):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(WIDTH, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 32), nn.ReLU(),
                                    nn.Dropout(0.1), nn.Linear(32, CLASSES))

    def forward(self, inputs):
        return self.layers(inputs)


class Images(Classifier):
    def batch(self, generator):
        return (torch.randn(BATCH, 3, 16, 16, generator=generator),
                torch.randint(0, CLASSES, (BATCH,), generator=generator))


class Convolutions(Images):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                                    nn.Conv2d(8, 8, 3, padding=1, groups=2), nn.BatchNorm2d(8), nn.PReLU(),
                                    nn.ConvTranspose2d(8, 4, 2, stride=2), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
                                    nn.Linear(16, CLASSES))

    def forward(self, inputs):
        return self.layers(inputs)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, hidden):
        heads = self.qkv(self.first(hidden)).unflatten(-1, (3, 2, WIDTH // 2)).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)
        hidden = hidden + self.out(attended)
        return hidden + self.mlp(self.second(hidden))


class Transformer(Classifier):
    def __init__(self, reentrant=None):
        super().__init__()
        self.reentrant = reentrant
        self.blocks, self.head = nn.ModuleList(Block() for _ in range(2)), nn.Linear(WIDTH, CLASSES)

    def batch(self, generator):
        return (torch.randn(BATCH, LENGTH, WIDTH, generator=generator).requires_grad_(),
                torch.randint(0, CLASSES, (BATCH,), generator=generator))

    def forward(self, hidden):
        for block in self.blocks:
            hidden = (block(hidden) if self.reentrant is None else
                      checkpoint(block, hidden, use_reentrant=self.reentrant))
        return self.head(hidden.mean(1))


class Recurrent(Classifier):
    """Uses each weight many times in one region."""

    def __init__(self):
        super().__init__()
        self.lstm, self.gru, self.head = nn.LSTMCell(WIDTH, 12), nn.GRUCell(12, 12), nn.Linear(12, CLASSES)

    def forward(self, inputs):
        hidden = cell = again = inputs.new_zeros(BATCH, 12)
        for _ in range(LENGTH):
            hidden, cell = self.lstm(inputs, (hidden, cell))
            again = self.gru(hidden.to(again.dtype), again)
        return self.head(again)


class Tied(Classifier):
    """Uses one weight in several places and layouts, and one that is computed again in each forward."""

    def __init__(self):
        super().__init__()
        self.words, self.square = nn.Embedding(WORDS, WIDTH), nn.Parameter(torch.randn(WIDTH, WIDTH) / 4)
        self.normed = nn.utils.parametrizations.weight_norm(nn.Linear(WIDTH, WIDTH))
        self.shared = nn.Linear(WIDTH, WIDTH)

    def batch(self, generator):
        return (torch.randint(0, WORDS, (BATCH, LENGTH), generator=generator),
                torch.randint(0, WORDS, (BATCH,), generator=generator))

    def forward(self, words):
        hidden = self.shared(torch.tanh(self.shared(self.words(words).mean(1))))
        hidden = self.normed(hidden @ self.square) @ self.square.t() + hidden @ self.square[:, :8] @ self.square[:8]
        return F.linear(hidden, self.words.weight)


class Huggingface(Classifier):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def batch(self, generator):
        return torch.randint(0, WORDS, (BATCH, LENGTH), generator=generator), None

    def loss(self, batch):
        return self.model(input_ids=batch[0], labels=batch[0]).loss


class HuggingfaceImages(Images):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, inputs):
        return self.model(pixel_values=inputs).logits


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    return Huggingface(GPT2LMHeadModel(GPT2Config(vocab_size=WORDS, n_positions=LENGTH, n_embd=WIDTH, n_layer=2,
                                                  n_head=2, bos_token_id=0, eos_token_id=1)))


def bert():
    from transformers import BertConfig, BertForMaskedLM

    return Huggingface(BertForMaskedLM(BertConfig(vocab_size=WORDS, hidden_size=WIDTH, num_hidden_layers=2,
                                                  num_attention_heads=2, intermediate_size=32,
                                                  max_position_embeddings=LENGTH)))


def resnet():
    from transformers import ResNetConfig, ResNetForImageClassification

    return HuggingfaceImages(ResNetForImageClassification(
        ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], num_labels=CLASSES)).to(
            memory_format=torch.channels_last))


MODELS = {"mlp": Mlp, "convolutions": Convolutions, "transformer": Transformer,
          "transformer, reentrant checkpoints": functools.partial(Transformer, reentrant=True),
          "transformer, checkpoints": functools.partial(Transformer, reentrant=False),
          "recurrent": Recurrent, "tied": Tied, "gpt2": gpt2, "bert": bert, "resnet": resnet}
OPTIMIZERS = {"SGD": lambda of: torch.optim.SGD(of, lr=0.05, momentum=0.9),
              "AdamW": lambda of: torch.optim.AdamW(of, lr=1e-2),
              "fused AdamW": lambda of: torch.optim.AdamW(of, lr=1e-2, fused=True)}
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
# name → (how many, in one region?)
MICRO_STEPS = {"1 micro-step": (1, False), "3 micro-steps": (3, False), "3 micro-steps in one region": (3, True)}


class Digest:
    def __init__(self):
        self.state = hashlib.sha256()

    def add(self, named):
        for name, tensor in named:
            data = (tensor if tensor is None else
                    tensor.detach().contiguous().flatten().view(torch.uint8).numpy().tobytes())
            self.state.update(repr((name, data)).encode())

    def model(self, model):
        self.add((name, one.grad) for name, one in model.named_parameters())
        self.add(model.named_parameters())
        self.add(model.named_buffers())


def trained(make, optimizer, micro_steps, dtype):
    torch.manual_seed(3)
    model, generator, digest = make(), torch.Generator().manual_seed(4), Digest()
    if os.environ.get("ONE_OTHER_WEIGHT"):
        with torch.no_grad():
            first = next(model.parameters())
            first[(0,) * first.dim()] += 0.01
    optimizer = OPTIMIZERS[optimizer](model.parameters())
    scaler = torch.amp.GradScaler("cpu", init_scale=SCALE, enabled=dtype is torch.float16)
    region = functools.partial(torch.autocast, "cpu", dtype=dtype)
    count, together = MICRO_STEPS[micro_steps]
    for step in range(STEPS):
        optimizer.zero_grad()
        with region() if together else contextlib.nullcontext():
            for _ in range(count):
                batch = model.batch(generator)
                with region():
                    if step == 0:  # weights that are first cast without gradients must have them afterwards
                        with torch.no_grad():
                            digest.add([("first", model.loss(batch))])
                    loss = model.loss(batch)
                scaler.scale(loss / count).backward()
                digest.add([("loss", loss), ("input", getattr(batch[0], "grad", None))])
                assert torch.isfinite(loss), "nothing to compare"
        digest.model(model)
        scaler.step(optimizer)
        scaler.update()
    model.eval()
    with torch.inference_mode(), region():
        digest.add([("evaluated", model.loss(model.batch(generator)))])
    digest.model(model)
    assert not scaler.is_enabled() or scaler.get_scale() == SCALE, "a step was skipped"
    return digest.state.hexdigest()


def main(chosen, output):
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    written = {}
    ways = list(itertools.product(OPTIMIZERS, MICRO_STEPS))
    for number, name in enumerate(MODELS if chosen in ("all", "some") else [chosen]):
        of_model = [ways[number % len(ways)]] if chosen == "some" else ways
        for (optimizer, micro_steps), dtype in itertools.product(of_model, DTYPES):
            written[f"{name}, {optimizer}, {micro_steps}, {dtype}"] = trained(
                MODELS[name], optimizer, micro_steps, DTYPES[dtype])
    output.write_text(json.dumps(written, indent=1))


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
