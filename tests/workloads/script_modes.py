"""A model run by TorchScript: script_modes.py MODEL HOW [TALLY].

HOW: script, trace, loaded, loaded-trace, frozen. With TALLY the conversions made for TorchScript's casts are counted by
torch.profiler, which sees operators and nothing of castscope, and the count is written there.
"""

import json
import sys
import tempfile
import warnings

import torch
import workload

warnings.simplefilter("ignore")
workload.start()


class Block(torch.nn.Module):
    """Of a ResNet, in plain PyTorch."""

    def __init__(self, channels):
        super().__init__()
        self.first = torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm2d(channels)
        self.second = torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False)

    def forward(self, x):
        y = torch.relu(self.norm(self.first(x)))
        return torch.relu(x + self.second(y))


class ResNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 16, 3, padding=1)
        self.blocks = torch.nn.ModuleList([Block(16) for _ in range(3)])
        self.head = torch.nn.Linear(16, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean([2, 3])).softmax(-1)


def bert():
    from transformers import BertConfig, BertModel
    config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                        intermediate_size=64, attn_implementation="eager", return_dict=False)
    return BertModel(config).eval(), torch.randint(0, 100, (2, 8))


def resnet():
    return ResNet(), torch.randn(2, 3, 16, 16)


def made(model, inputs, how):
    result = torch.jit.script(model) if how in ("script", "loaded", "frozen") else torch.jit.trace(model, inputs)
    if how.startswith("loaded"):
        with tempfile.NamedTemporaryFile(suffix=".pt") as file:
            result.save(file.name)
            result = torch.jit.load(file.name)
    return torch.jit.freeze(result.eval()) if how == "frozen" else result


def run(model, inputs, trains):
    for _ in range(4):
        with workload.bf16():
            result = model(inputs)
            loss = (result[0] if isinstance(result, tuple) else result).float().square().mean()
        if trains:
            loss.backward()
        workload.say_loss(loss)


def conversions(events):
    """Of tensors, for TorchScript's casts: a conversion whose caller, or its caller, is one."""
    count = 0
    for event in events:
        parent = event.cpu_parent
        while event.name == "aten::_to_copy" and parent is not None:
            if parent.name.startswith("aten::_autocast_to_"):
                count += 1
                break
            parent = parent.cpu_parent
    return count


def main(name, how, tally=None):
    model, inputs = {"bert": bert, "resnet": resnet}[name]()
    trains = how != "frozen"
    model = made(model, inputs, how)
    if tally is None:
        run(model, inputs, trains)
        return
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        run(model, inputs, trains)
    with open(tally, "w", encoding="utf-8") as file:
        json.dump(conversions(profile.events()), file)


main(*sys.argv[1:])
