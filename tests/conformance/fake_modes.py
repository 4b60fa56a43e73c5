"""Calls for the autocast of devices that are not here, with fake tensors: dtypes, and which casts are in the graph."""

import functools
import hashlib
import logging

import torch
from generated_calls import function_of, overload_of
from operator_modes import tried
from operator_variants import LOW, failure, flat, region, said
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode


def on_device(item, key):
    """The same tensors without values; parameters are frozen.

    A trained one is cast with a node of autograd's, even under `no_grad`; that asks for a stream of the device, which
    ends the process where there is none.
    """
    def one(tensor):
        fake = torch.empty(tensor.shape, dtype=tensor.dtype, device=key)
        return torch.nn.Parameter(fake, requires_grad=False) if isinstance(tensor, torch.nn.Parameter) else fake

    return [one(tensor) for tensor in item.tensors]


class Arrived(TorchDispatchMode):
    """Records which operators arrive below autocast, and their arguments: for an operator that cannot run here this is
    all that can be known."""

    def __init__(self):
        super().__init__()
        self.texts = set()  # autocast casts some arguments before others: their order is not of interest

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        given = flat([*arguments, *(named or {}).values()])
        words = ", ".join(str(one.dtype if isinstance(one, torch.Tensor) else one) for one in given)
        self.texts.add(f"{function}({words})".replace("torch.", ""))
        return function(*arguments, **(named or {}))


def in_region(callee, item, low, key, *, enabled=True):
    function, tensors = item.call.function(callee), on_device(item, key)
    with region(key, LOW[low], enabled=enabled), Arrived() as arrived:
        try:
            return said([function(*tensors) for _ in range(item.times)], of=lambda _: "")
        except Exception as error:  # noqa: BLE001  no kernel for fake tensors, no device to ask
            return f"{failure(error)} after {'; '.join(sorted(arrived.texts))}"


def dispatcher(item, low, key):
    return in_region(overload_of(item.call.operator), item, low, key)


def python(item, low, key):
    function = function_of(item.call.operator)
    return "not in Python" if function is None else in_region(function, item, low, key)


def outside(item, low, key):
    return in_region(overload_of(item.call.operator), item, low, key, enabled=False)


def graph_outside(item, low, key):
    return graph(item, low, key, enabled=False)


def graph(item, low, key, *, enabled=True):
    """Every operator below autocast, and what it is given."""
    with region(key, LOW[low], enabled=enabled):
        traced = make_fx(item.call.function(overload_of(item.call.operator)))(*on_device(item, key))
    return expression(traced.graph)


def expression(graph):
    """"mm(to(self_), to(mat2)) → bfloat16": the same however the graph's nodes are ordered. Long ones are shortened."""
    texts = {}

    def text(node):
        given = [*map(str, torch.fx.map_arg(node.args, texts.get)),
                 *(f"{name}={value}" for name, value in torch.fx.map_arg(node.kwargs, texts.get).items())]
        value = node.meta.get("val")
        dtype = f" → {value.dtype}" if isinstance(value, torch.Tensor) else ""
        name = node.target if isinstance(node.target, (str, torch._ops.OpOverload)) else node.target.__name__
        return name if node.op == "placeholder" else f"{name}({', '.join(given)}){dtype}"

    for node in graph.nodes:
        whole = text(node)
        texts[node] = whole if len(whole) < 400 else f"#{hashlib.sha256(whole.encode()).hexdigest()[:12]}"
    return text(next(node for node in graph.nodes if node.op == "output")).replace("torch.", "")


MODES = {"dispatcher": dispatcher, "python": python, "make_fx": graph, "outside": outside,
         "make_fx outside": graph_outside}


@functools.cache
def mode():
    logging.getLogger("torch._subclasses.fake_tensor").setLevel(logging.CRITICAL)
    return FakeTensorMode()


def made(name, item, low, key):
    with mode():
        return tried(MODES[name], item, low, key)
