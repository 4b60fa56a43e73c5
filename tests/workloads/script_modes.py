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
from plain_models import bert, resnet

warnings.simplefilter("ignore")
workload.start()


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
    """Counts conversions of tensors for TorchScript's casts, which call the conversion directly or through another."""
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
