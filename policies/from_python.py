"""Writes functions.txt: in which operators the functions of PyTorch end that one calls from Python.

    python policies/from_python.py [FILE]

Autocast and policies know operators. What `torch.norm` or `Tensor.norm` calls is Python's business: it was the
operator norm once, and is linalg_vector_norm today. So each is called, with the samples that PyTorch's own tests have
for it, and PyTorch's profiler tells which operators arrive: as a function, as a method, in place, with out=. An
operator that is made of others (CompositeImplicit) is followed into those, since each of them goes by autocast, too.

So is each class of torch.nn, layers and losses, with the samples that PyTorch's tests have for those.

A line is a function and the ways that it went, each from the operator that is called first to the one that computes; of
a class, @ stands before the function of torch.nn.functional that it calls, where it calls one:

    torch.einsum einsum.default>bmm.default einsum.default>mul.Tensor
    Tensor.exp_ !exp_.default
    torch.nn.BCELoss @torch.nn.functional.binary_cross_entropy binary_cross_entropy.default

! stands before an operator that writes into an argument, which autocast leaves alone; =dtype behind one that the
function hands a dtype to without having been asked for it (torch.nn.functional.cross_entropy does so to log_softmax).
What moves or makes values and computes none (views, copies, zeros) is left out. It is asked on the CPU, in float32;
another device may take another way below a composite operator.
"""

import functools
import logging
import pathlib
import sys
import warnings

import torch
from from_dispatcher import returns_view, version, writes
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile, record_function
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db

MARK = "castscope "
MOST_SAMPLES = 16  # of one entry, evenly spaced
F = torch.nn.functional

# Values are moved or made, none is computed.
MOVES = frozenset("""
    to _to_copy clone contiguous copy_ detach detach_ lift_fresh alias fill_ zero_ zeros zeros_like ones ones_like
    empty empty_like full full_like new_zeros new_ones new_empty new_full scalar_tensor resize_ set_ item
    _local_scalar_dense is_nonzero resolve_conj resolve_neg squeeze_ unsqueeze_ transpose_ as_strided_ _unsafe_view
    _has_compatible_shallow_copy_type
    """.split())


def tensors(*shapes):
    return tuple(torch.rand(shape) for shape in shapes)


def of_two(*names):
    """The methods of two tensors alike."""
    return [(f"Tensor.{name}", getattr(torch.Tensor, name), tensors((2, 3), (2, 3))) for name in names]


def with_number(*names):
    return [(f"Tensor.{name}", getattr(torch.Tensor, name), (*tensors((2, 3)), 2.0)) for name in names]


def convolutions(module, prefix):
    """In one to three dimensions, as both torch and torch.nn.functional have them."""
    for n in (1, 2, 3):
        size, kernel = (1, 3, *[8] * n), [3] * n
        yield f"{prefix}.conv{n}d", getattr(module, f"conv{n}d"), tensors(size, (4, 3, *kernel), (4,))
        transposed = f"conv_transpose{n}d"
        yield f"{prefix}.{transposed}", getattr(module, transposed), tensors(size, (3, 4, *kernel), (4,))
    yield f"{prefix}.conv_tbc", module.conv_tbc, tensors((5, 2, 3), (3, 3, 4), (4,))


def cell(gates):
    return tensors((2, 3), (2, 4), (4 * gates, 3), (4 * gates, 4), (4 * gates,), (4 * gates,))


# Ways to call of which PyTorch's tests have no samples: (name, function, arguments).
MORE = [
    *convolutions(torch, "torch"),
    ("torch.nn.functional.conv_tbc", F.conv_tbc, tensors((5, 2, 3), (3, 3, 4), (4,))),
    ("torch.prelu", torch.prelu, tensors((2, 3), (3,))),
    ("Tensor.prelu", torch.Tensor.prelu, tensors((2, 3), (3,))),
    ("torch.bilinear", torch.bilinear, tensors((4, 3), (4, 2), (5, 3, 2), (5,))),
    ("torch.softmax", torch.softmax, (*tensors((2, 3)), -1)),
    ("torch.log_softmax", torch.log_softmax, (*tensors((2, 3)), -1)),
    ("torch.pow", torch.pow, (*tensors((2, 3)), 2.0)),
    ("torch.pow", torch.pow, (2.0, *tensors((2, 3)))),
    ("Tensor.__matmul__", torch.Tensor.__matmul__, tensors((2, 3), (3, 4))),
    *of_two("__add__", "__sub__", "__mul__", "__truediv__", "__pow__", "__eq__", "__ne__", "__ge__", "__gt__", "__le__",
            "__lt__", "__iadd__", "__isub__", "__imul__", "__itruediv__"),
    *with_number("pow", "pow_", "__pow__", "__rpow__", "__ipow__", "__rtruediv__"),
    *(("torch.nn.functional.interpolate", functools.partial(F.interpolate, size=4, mode=mode, antialias=True),
       tensors((1, 2, 8, 8))) for mode in ("bilinear", "bicubic")),
    ("torch.rnn_tanh_cell", torch.rnn_tanh_cell, cell(1)),
    ("torch.rnn_relu_cell", torch.rnn_relu_cell, cell(1)),
    ("torch.gru_cell", torch.gru_cell, cell(3)),
    ("torch.lstm_cell", torch.lstm_cell, (cell(4)[0], cell(4)[1:2] * 2, *cell(4)[2:])),
]


# Classes of which PyTorch's tests have no samples: (name, module, arguments).
MODULES = [
    ("torch.nn.CosineSimilarity", torch.nn.CosineSimilarity(), tensors((2, 3), (2, 3))),
    ("torch.nn.PairwiseDistance", torch.nn.PairwiseDistance(), tensors((2, 3), (2, 3))),
    ("torch.nn.TripletMarginLoss", torch.nn.TripletMarginLoss(), tensors((2, 3), (2, 3), (2, 3))),
    ("torch.nn.Dropout", torch.nn.Dropout(), tensors((2, 3))),
    ("torch.nn.Hardsigmoid", torch.nn.Hardsigmoid(), tensors((2, 3))),
    ("torch.nn.EmbeddingBag", torch.nn.EmbeddingBag(4, 3), (torch.zeros(2, 2, dtype=torch.long),)),
    *(("torch.nn.Upsample", torch.nn.Upsample(scale_factor=2, mode=mode), tensors((1, 2, 4, 4)))
      for mode in ("nearest", "bilinear", "bicubic")),
]


class Call:
    """One way to call a function. `out`: with out=, as what it gave without."""

    def __init__(self, name, function, arguments, named, *, out=False, in_place=False):
        self.name, self.function, self.arguments, self.named = name, function, list(arguments), dict(named)
        self.out, self.in_place = out, in_place

    def prepared(self):
        """What can be done before the profiler looks. Whatever the sample does not allow, raises."""
        if self.in_place:
            self.arguments[0] = self.arguments[0].clone()
        if self.out:
            self.named["out"] = like(self.function(*self.arguments, **self.named))

    def run(self):
        self.function(*self.arguments, **self.named)


def like(result):
    if isinstance(result, torch.Tensor):
        return torch.empty_like(result)
    return tuple(torch.empty_like(one) for one in result)


def name_of(function):
    return getattr(function, "__name__", None) or function.func.__name__  # a functools.partial


def variants(entry):
    """(name, function, how) of one that PyTorch's tests know."""
    name = entry.name
    if name.startswith("__"):
        yield f"Tensor.{name}", entry.op, {}
        return
    yield f"torch.{name}", entry.op, {}
    # PyTorch's tests leave some out that take it (sum, prod); whatever does not, raises.
    yield f"torch.{name}(out=)", entry.op, {"out": True}
    for one in (entry, *entry.aliases):
        if one is not entry:
            yield f"torch.{one.name}", one.op, {}
        if one.method_variant is not None:
            yield f"Tensor.{name_of(one.method_variant)}", one.method_variant, {}
        if one.inplace_variant is not None:
            yield f"Tensor.{name_of(one.inplace_variant)}", one.inplace_variant, {"in_place": True}


def samples(entry):
    torch.manual_seed(0)
    all_of_them = list(entry.sample_inputs("cpu", torch.float32))
    step = max(1, -(-len(all_of_them) // MOST_SAMPLES))
    return all_of_them[::step]


def calls(wanted=lambda name: "<" not in name):
    """Of all functions whose name is wanted. (PyTorch's tests have some lambdas.)"""
    for entry in op_db:
        if torch.float32 not in entry.dtypes:
            continue
        ways = [way for way in variants(entry) if wanted(way[0])]
        for sample in samples(entry) if ways else ():
            for name, function, how in ways:
                yield Call(name, function, (sample.input, *sample.args), sample.kwargs, **how)
    for name, function, arguments in MORE:
        if wanted(name):
            yield Call(name, function, arguments, {})
    yield from module_calls(wanted)


def module_calls(wanted):
    """As trained, and without gradients, where some layers are one operator."""
    for name, module, arguments in MODULES:
        if wanted(name):
            yield Call(name, module, arguments, {})
    for info in module_db:
        name = f"torch.{info.name}"
        if not wanted(name):
            continue
        torch.manual_seed(0)
        inputs = [one for training in (True, False) for one in info.module_inputs_func(
            info, device="cpu", dtype=torch.float32, requires_grad=False, training=training) if one.forward_input]
        for one in inputs[::max(1, -(-len(inputs) // MOST_SAMPLES))]:
            given = one.forward_input
            module = info.module_cls(*one.constructor_input.args, **one.constructor_input.kwargs)
            yield Call(name, module, given.args, given.kwargs)
            yield Call(name, torch.no_grad()(module.__call__), given.args, given.kwargs)


class Within:
    """Notes which functions of torch.nn.functional are called, but by each other."""

    def __init__(self):
        self.names, self.depth = set(), 0

    def noting(self, name, function):
        @functools.wraps(function)
        def noted(*arguments, **named):
            if self.depth == 0:
                self.names.add(name)
            self.depth += 1
            try:
                return function(*arguments, **named)
            finally:
                self.depth -= 1
        return noted


def function_within(call):
    """The one of torch.nn.functional that a class of torch.nn calls; None where it calls none, or several."""
    within, before = Within(), dict(vars(F))
    try:
        for name, function in before.items():
            if callable(function) and not name.startswith("_") and not isinstance(function, type):
                setattr(F, name, within.noting(name, function))
        call.run()
    except Exception:  # noqa: BLE001  a sample that the class does not take
        return None
    finally:
        for name, function in before.items():
            setattr(F, name, function)
    return f"torch.nn.functional.{within.names.pop()}" if len(within.names) == 1 else None


def recorded(all_calls):
    """(call, its events in the order of time)."""
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True,
                 experimental_config=_ExperimentalConfig(capture_overload_names=True)) as profiler:
        for number, call in enumerate(all_calls):
            try:
                call.prepared()
                with record_function(f"{MARK}{number}"):
                    call.run()
            except Exception:  # noqa: BLE001, S112  a sample that this way of calling does not take
                continue
    events = sorted(profiler.profiler.kineto_results.events(), key=lambda one: (one.start_ns(), -one.duration_ns()))
    of_call, end = None, -1
    for event in events:
        if event.name().startswith(MARK):
            of_call = all_calls[int(event.name().removeprefix(MARK))]
            end = event.start_ns() + event.duration_ns()
        elif of_call is not None and event.start_ns() < end and event.name().startswith("aten::"):
            yield of_call, event


@functools.cache
def schema(name, overload):
    return torch._C._get_schema(name, overload)


@functools.cache
def is_composite(name, overload):
    whole = f"{name}.{overload}" if overload else name
    return torch._C._dispatch_has_kernel_for_dispatch_key(whole, "CompositeImplicitAutograd")


def is_given_dtype(operator, event):
    names = [argument.name for argument in operator.arguments]
    values = event.concrete_inputs()
    return "dtype" in names and len(values) == len(names) and values[names.index("dtype")] is not None


class Ways:
    """Follows the events of one call after another down to the operators that compute."""

    def __init__(self):
        self.open = []  # (end, way to it, or None where nothing below is of interest)
        self.call = None

    def way(self, call, event):
        """The way that ends with this event; None where it goes on, or computes nothing."""
        if call is not self.call:
            self.call, self.open = call, []
        while self.open and event.start_ns() >= self.open[-1][0]:
            self.open.pop()
        above = self.open[-1][1] if self.open else ()
        way, ends = self.next(above, event, call.named.get("dtype") is None)
        self.open.append((event.start_ns() + event.duration_ns(), None if ends else way))
        return way if ends else None

    @staticmethod
    def next(above, event, unasked):
        if above is None:
            return None, True
        name, overload = event.name(), event.overload_name()
        one = schema(name, overload)
        does_write = writes(one)
        is_view = not does_write and returns_view(one)
        if name.removeprefix("aten::") in MOVES or (is_view and not is_composite(name, overload)):
            return None, True
        if is_view:  # reshape and its like: made of views
            return above, False
        given = "=dtype" if unasked and is_given_dtype(one, event) else ""
        way = (*above, f"{'!' if does_write else ''}{name.removeprefix('aten::')}.{overload or 'default'}{given}")
        if is_composite(name, overload) and not does_write:
            return way, False
        floats = {"float", "TensorList"} & set(event.dtypes())
        return (way if floats or does_write else None), True


def is_class(name):
    return name.startswith("torch.nn.") and not name.startswith("torch.nn.functional.")


def functions_within(all_calls):
    """{class: @ and the function that each of its calls goes to}"""
    within = {}
    for call in all_calls:
        if is_class(call.name):
            within.setdefault(call.name, set()).add(function_within(call))
    return {name: f"@{functions.pop()}" for name, functions in within.items()
            if len(functions) == 1 and None not in functions}


def lines():
    ways, found = Ways(), {}
    all_calls = list(calls())
    within = functions_within(all_calls)
    for call, event in recorded(all_calls):
        way = ways.way(call, event)
        if way is not None:
            found.setdefault(call.name, set()).add(">".join(way))
    for name, all_ways in list(found.items()):
        if name.endswith("(out=)") and not any(way.startswith("!") or ">!" in way for way in all_ways):
            del found[name]  # what PyTorch's tests call is not a function with out=
    return [" ".join((name, *filter(None, [within.get(name)]), *sorted(all_ways)))
            for name, all_ways in sorted(found.items())]


def main(file):
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    file.write_text("\n".join([f"PyTorch {version()}", *lines()]) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "functions.txt"))
