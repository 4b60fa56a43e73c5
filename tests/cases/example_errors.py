"""Measures how far the results of the examples of rules, and of the fixed examples, are from those in float32.

    example_errors.py FOLDER RULE...

run_examples.py has run the programs in FOLDER/example/RULE and FOLDER/fixed_example/RULE. FOLDER/errors.json gets, by
rule and result, the error of the example and that of the fixed one. What is in float32 is the fixed example once more:
with autocast off, float32 in place of each low dtype, and all as Python code.
"""

import json
import os
import pathlib
import sys

os.environ |= {"PYTORCH_JIT": "0", "TORCHDYNAMO_DISABLE": "1"}  # they are read when PyTorch is imported

import torch
import torch.distributed.fsdp
import torch.utils._pytree as pytree
from run_examples import run_each
from torch.overrides import TorchFunctionMode

LOW = (torch.bfloat16, torch.float16)


class InFloat32(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function in (torch.Tensor.bfloat16, torch.Tensor.half):
            function = torch.Tensor.float
        args, kwargs = pytree.tree_map_only(torch.dtype, lambda dtype: torch.float32 if dtype in LOW else dtype,
                                            (args, kwargs or {}))
        return function(*args, **kwargs)


class Exported:
    """Stands for an exported program: its module is the Python code."""

    def __init__(self, module, *_, **__):
        self.module = lambda: module


def compute_in_float32():
    switch = torch.set_autocast_enabled
    torch.set_autocast_enabled = lambda device, _: switch(device, False)  # torch.autocast calls it
    saved = {}
    for package in (torch.jit, torch.export):
        package.save = lambda program, path: saved.update({path: program})
        package.load = saved.get
    torch.export.export = Exported
    torch.jit.freeze = lambda module: module
    policy = torch.distributed.fsdp.MixedPrecisionPolicy
    torch.distributed.fsdp.MixedPrecisionPolicy = lambda **_: policy()
    InFloat32().__enter__()


def error(result, reference):
    """Returns the root mean square of the differences, as a share of that of the numbers; infinite for what is not
    finite."""
    result, reference = result.double(), reference.double()
    if result.shape != reference.shape or not result.isfinite().all():
        return float("inf")
    return ((result - reference).norm() / reference.norm().clamp(min=1e-30)).item()


def errors(example, fixed):
    """Returns (error of the example, error of the fixed one) by result. The example may have raised before it had one:
    its error is null then."""
    before = torch.load(example / "job.results")
    after, exact = torch.load(fixed / "job.results"), torch.load(fixed / "float32.results")
    return {name: (error(before[name], exact[name]) if name in before else None, error(after[name], exact[name]))
            for name in after if name in exact}


def main(folder, *rules):
    examples, fixed = pathlib.Path(folder, "example"), pathlib.Path(folder, "fixed_example")
    if os.fork() == 0:
        compute_in_float32()
        run_each([fixed / rule for rule in rules], "float32")
        os._exit(0)
    os.wait()
    ended = [rule for rule in rules if (fixed / rule / "job.results").exists()]
    found = {rule: errors(examples / rule, fixed / rule) for rule in ended}
    pathlib.Path(folder, "errors.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
