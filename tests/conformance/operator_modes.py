"""In which ways a generated call is made on the CPU. Each tells the results, and gradients where they are wanted."""

import functools

import torch
from generated_calls import function_of, overload_of
from operator_variants import LOW, failure, flat, gradients, ramp, region, said
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint

KEY = "cpu"


def in_region(function, item, low):
    with region(KEY, LOW[low]):
        results = [function(*item.tensors) for _ in range(item.times)]
    return said(results, gradients(results, item.inputs()))


def tried(way, *arguments):
    try:
        return way(*arguments)
    except Exception as error:  # noqa: BLE001  whatever an operator says of arguments that it does not take
        return failure(error)


def dispatcher(item, low):
    """Calls through `torch.ops`, which calls the autocast kernel with boxed arguments, as TorchScript does."""
    return in_region(item.call.function(overload_of(item.call.operator)), item, low)


def python(item, low):
    """Calls through the function `torch.mm`, which calls the kernel with C++ arguments."""
    function = function_of(item.call.operator)
    return "not in Python" if function is None else in_region(item.call.function(function), item, low)


def inference(item, low):
    with torch.inference_mode():
        return in_region(item.call.function(overload_of(item.call.operator)), item, low)


def outside(item, low):
    """No region at all. If another mode differs from this one, autocast has caused it."""
    results = item.call.function(overload_of(item.call.operator))(*item.tensors)
    return said(results, gradients(results, item.inputs()))


def disabled(item, low):
    with region(KEY, LOW[low]), torch.autocast(KEY, enabled=False):
        return outside(item, low)


def script(item, low):
    """Runs three times: the executor profiles, then optimizes."""
    scripted = item.call.script()
    with region(KEY, LOW[low]):
        runs = [scripted(*item.tensors) for _ in range(3)]
    return " | ".join(said(results, gradients(results, item.inputs())) for results in runs)


def trace(item, low):
    """Traced in a region and called outside; traced outside and called in one, where it can be."""
    function = item.call.function(overload_of(item.call.operator))
    plain = tuple(tensor.detach() for tensor in item.tensors)

    def inside():
        with region(KEY, LOW[low], cache_enabled=False):
            traced = torch.jit.trace(function, plain, check_trace=False)
        results = traced(*item.tensors)
        return said(results, gradients(results, item.inputs()))

    def before():
        return in_region(torch.jit.trace(function, plain, check_trace=False), item, low)

    return f"{tried(inside)} | {tried(before)}"


def vmap(item, low):
    batched = [torch.stack([tensor, tensor]) if tensor.is_floating_point() else tensor for tensor in item.tensors]
    axes = tuple(0 if tensor.is_floating_point() else None for tensor in item.tensors)
    function = item.call.function(overload_of(item.call.operator))
    with region(KEY, LOW[low]):
        return said(torch.vmap(function, axes)(*batched))


def forward_gradients(item, low):
    function = item.call.function(overload_of(item.call.operator))
    with forward_ad.dual_level(), region(KEY, LOW[low]):
        duals = [forward_ad.make_dual(tensor, ramp(tensor)) if tensor.is_floating_point() else tensor
                 for tensor in item.tensors]
        results = [one for one in flat(function(*duals)) if isinstance(one, torch.Tensor)]
        return said([tuple(forward_ad.unpack_dual(one)) for one in results])


def checkpointed(item, low):
    """Both kinds. What backward computes again is computed in a region of its own."""
    function = item.call.function(overload_of(item.call.operator))
    return " | ".join(in_region(functools.partial(checkpoint, function, use_reentrant=reentrant), item, low)
                      for reentrant in (True, False))


MODES = {"dispatcher": dispatcher, "python": python, "inference": inference, "outside": outside, "disabled": disabled,
         "script": script, "trace": trace, "vmap": vmap, "forward AD": forward_gradients, "checkpoint": checkpointed}


def made(mode, item, low):
    return tried(MODES[mode], item, low)


def compiled(backend, items, low, *, inside):
    """The results of each item; many share a graph, since compiling takes long. inside: the region stands in the graph.

    Where not all can be compiled together halves are tried, down to the item that cannot.
    """
    if not items:
        return []
    torch._dynamo.reset()
    try:
        return _compiled(backend, items, low, inside=inside, fullgraph=True)
    except Exception:  # noqa: BLE001  as above
        if len(items) > 1:
            half = len(items) // 2
            return [result for part in (items[:half], items[half:])
                    for result in compiled(backend, part, low, inside=inside)]
    torch._dynamo.reset()
    try:  # some are never in a graph: compiled code leaves it to call them
        return [one + " (graph break)" for one in _compiled(backend, items, low, inside=inside, fullgraph=False)]
    except Exception as error:  # noqa: BLE001  as above
        return [failure(error)]


def _compiled(backend, items, low, *, inside, fullgraph):
    functions = [item.call.function(overload_of(item.call.operator)) for item in items]

    def ambient(tensors):
        return [function(*given) for function, given in zip(functions, tensors, strict=True)]

    def with_region(tensors):
        with torch.autocast(KEY, LOW[low]):
            return [function(*given) for function, given in zip(functions, tensors, strict=True)]

    run = torch.compile(with_region if inside else ambient, backend=backend, fullgraph=fullgraph)
    tensors = [item.tensors for item in items]
    if inside:
        results = run(tensors)
    else:
        with region(KEY, LOW[low]):
            results = run(tensors)
    # One call for all, since the graph has one backward.
    inputs = [one for item in items for one in item.inputs()]
    found = iter(gradients(results, inputs) or [None] * len(inputs))
    return [said(result, [next(found) for _ in item.inputs()] or None)
            for item, result in zip(items, results, strict=True)]
