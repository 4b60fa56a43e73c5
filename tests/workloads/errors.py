"""Errors of PyTorch, native and Python's, that a job catches: what it sees of them must be what it sees without us."""

import os
import traceback

import torch
import workload

workload.start()
layer, head = torch.nn.Linear(8, 8), torch.nn.Linear(8, 2)
x = torch.ones(4, 8)


def seen(action, *arguments):
    try:
        action(*arguments)
    except Exception as error:  # noqa: BLE001 - whatever comes is printed
        where = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        print(type(error).__name__, type(error).__mro__[1].__name__, error.args, str(error), repr(error), where)
        return error
    return None


class Own(RuntimeError):
    """A class of the job's."""


def own(text):
    raise Own(text, 3)


for _ in range(5):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        h = layer(x)
    seen(head, h)  # native, five times; once more in the child, which has no recording
    seen(torch.nn.functional.interpolate, x, None, None)  # Python, from PyTorch
    seen(own, "of the job's own")

for n in range(3000):  # control flow, a new text each time
    try:
        torch.nn.functional.interpolate(x[None], n, 2.0 + n)
    except ValueError:
        pass
for n in range(3000):
    try:
        torch.zeros(n, 2) @ torch.zeros(3 + n, 4)
    except RuntimeError:
        pass
seen(RuntimeError("with", "two").__reduce__)
print(RuntimeError(), RuntimeError("a", "b"), ValueError(b"bytes"), TypeError(1), RuntimeError("\ud800").args)
seen(RuntimeError, "no", "keywords")
seen(lambda: RuntimeError(keyword=1))

child = os.fork()
if child == 0:
    error = seen(head, h)
    os._exit(0 if error is not None else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
workload.finish(layer, head)
