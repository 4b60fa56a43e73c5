"""Runs the examples of rules one after another, each in a fork of this process and in its own folder.

    run_examples.py FOLDER...

In each folder it runs job.py and writes job.out and job.err, what that printed, job.status, its exit status, and
job.results, the numbers that it came to (see results_of).
"""

import os
import pathlib
import runpy
import sys
import traceback

import torch
import torch._dynamo  # optimizers import it when they are made


def numbers(name, value):
    """Yields (name, tensor) for each result in the value."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        value = getattr(value, "full_tensor", lambda: value)()  # FSDP's are in parts
        yield name, value.detach()
        if value.is_leaf and value.grad is not None:
            yield f"{name}.grad", value.grad
    elif isinstance(value, torch.nn.Module):
        for inner, parameter in value.named_parameters():
            if parameter.requires_grad:  # others are no results: a fix may convert them
                yield from numbers(f"{name}.{inner}", parameter)
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            yield from numbers(f"{name}[{index}]", inner)


def results_of(names):
    """Returns what a program came to: the floating-point tensors in its variables, the weights that it trains, and the
    gradients of both."""
    return {name: tensor.clone() for variable, value in names.items() for name, tensor in numbers(variable, value)}


def run(folder, stem):
    os.chdir(folder)
    for descriptor, ending in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{stem}.{ending}", os.O_WRONLY | os.O_CREAT), descriptor)
    torch.save(results_of(runpy.run_path(str(folder / "job.py"), run_name="__main__")), f"{stem}.results")


def run_each(folders, stem="job"):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    for folder in map(pathlib.Path, folders):
        child = os.fork()
        if child == 0:
            try:
                run(folder, stem)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            sys.stdout.flush()
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        (folder / f"{stem}.status").write_text(str(status))


if __name__ == "__main__":
    run_each(sys.argv[1:])
