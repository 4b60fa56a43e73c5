"""Programs by chance, which nobody has looked at: helpers, loops, equal operators on a line, and much dead code.

As in the modules, each operator drops a row of its input, so that shapes tell what belongs together.
"""

import importlib.util
import pathlib
import random
import sys

import torch
from mode_modules import Case

OPERATORS = ("torch.relu({}[1:])", "torch.tanh({}[1:])", "torch.mm({}[1:], w)", "torch.sigmoid({}[1:])",
             "torch.exp({}[1:] * 0.1)")


def program(seed):
    """The text of a function `f(x, w)`, where x has 60 rows."""
    choose = random.Random(seed)

    def operator(value):
        return choose.choice(OPERATORS).format(value)

    lines = ["import torch"]
    for helper in ("g", "h"):
        lines += ["", "", f"def {helper}(x, w):", f"    y = {operator('x')}", f"    return {operator('y')}"]
    lines += ["", "", "def f(x, w):"]
    for _ in range(choose.randint(6, 10)):
        lines += ["    " + line for line in _statement(choose, operator)]
    return "\n".join([*lines, "    return x", ""])


def _statement(choose, operator):
    kind = choose.choice(("call", "line", "loop", "loop", "plain", "plain"))
    if kind == "call":
        yield f"x = {choose.choice('gh')}(x, w)"
    elif kind == "line":
        yield f"a, b, c = {operator('x')}, {operator('x[1:]')}, {operator('x[2:]')}"
        yield f"x = {choose.choice('abc')}"
    elif kind == "loop":
        yield f"for _ in range({choose.randint(2, 4)}):"
        yield f"    y = {operator('x')}"
        yield f"    x = {operator(choose.choice('xy'))}"
        if choose.random() < 0.5:
            yield f"    z = {choose.choice('gh')}(y, w)"
    else:
        yield f"x = {operator('x')}"
    if choose.random() < 0.25:
        yield f"z = {operator('x')}"


def programs(count, folder):
    """Cases of programs that are written into `folder`: TorchScript reads the source."""
    for seed in range(count):
        path = pathlib.Path(folder) / f"mode_program_{seed}.py"
        path.write_text(program(seed))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module  # torch.compile imports the modules of what it compiles
        spec.loader.exec_module(module)
        yield Case(path.stem, lambda module=module: module.f, lambda: (torch.randn(60, 5), torch.randn(5, 5)))
