"""Functions of PyTorch, called from Python in every way, in a region and under whatever policy this runs by.

front_doors.py LOWER NAME… prints for each call a line of JSON: the function, whether it was given float32, low
precision or both (mixed), and of each operator that arrived below autocast the dtypes of its floating-point tensors and
its dtype argument; or the error. Calls that ask for a dtype themselves are left out.
"""

import json
import logging
import pathlib
import sys
import warnings

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "policies"))

from from_python import calls

MOST = 4  # calls of one function, evenly spaced


def dtype_name(dtype):
    return str(dtype).removeprefix("torch.")


class Arrived(TorchDispatchMode):
    """Records the arguments of each operator that is not made of others: autocast has decided by then."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        named = named or {}
        tensors = [one for one in tree_leaves((arguments, named)) if isinstance(one, torch.Tensor)]
        floats = sorted({dtype_name(one.dtype) for one in tensors if one.dtype.is_floating_point})
        name = str(function).removeprefix("aten.")
        if floats:
            self.seen.append([name, floats, dtype_name(named["dtype"]) if named.get("dtype") else None])
        return function(*arguments, **named)


def given(kind, call, low):
    """The call with its float32 tensors in low precision: none of them, all, or the first."""
    done = []

    def converted(tensor):
        if tensor.dtype is not torch.float32 or kind == "float32" or (kind == "mixed" and done):
            return tensor
        done.append(tensor)
        return tensor.to(low)

    arguments, named = tree_map_only(torch.Tensor, converted, (tuple(call.arguments), call.named))
    return type(call)(call.name, call.function, arguments, named, out=call.out, in_place=call.in_place)


def is_mixed(call):
    tensors = [one for one in tree_leaves((tuple(call.arguments), call.named)) if isinstance(one, torch.Tensor)]
    return len({one.dtype for one in tensors if one.dtype.is_floating_point}) > 1


def told(one, kind, low):
    line = {"function": one.name, "given": kind}
    try:
        one.prepared()
        with torch.autocast("cpu", dtype=low), Arrived() as arrived:
            one.run()
    except Exception as error:  # noqa: BLE001  banned, or dtypes that the operator does not take
        return {**line, "error": str(error).splitlines()[0] if str(error) else type(error).__name__}
    return {**line, "operators": arrived.seen}


def asked_for(name, asked):
    last = name.removesuffix("(out=)").rpartition(".")[2]
    return last in asked or (last.endswith("_") and not last.endswith("__") and last[:-1] in asked)


def main(low, asked):
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    by_name = {}
    for call in calls(lambda name: asked_for(name, asked)):
        by_name.setdefault(call.name, []).append(call)
    for of_one in by_name.values():
        plain = [call for call in of_one if call.named.get("dtype") is None]
        for call in plain[::max(1, -(-len(plain) // MOST))]:
            for kind in ("float32", "low", "mixed"):
                one = given(kind, call, low)
                if kind != "mixed" or is_mixed(one):
                    print(json.dumps(told(one, kind, low)))


if __name__ == "__main__":
    main(getattr(torch, sys.argv[1]), set(sys.argv[2:]))
