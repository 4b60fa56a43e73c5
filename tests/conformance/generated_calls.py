"""For every operator of autocast's lists a call that computes: small, of seeded values, the same in each process.

Which operators there are is asked of the dispatcher. Their arguments come from the schema: what has a default keeps it,
a tensor is a 4 × 4 matrix between 0.1 and 0.9. argument_tables.py says what must be otherwise.
"""

import dataclasses
import functools
import keyword
import zlib

import torch
from argument_tables import ARGUMENTS, Given

KEYS = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA", "xpu": "AutocastXPU", "mps": "AutocastMPS"}
NAMESPACES = (torch._C._VariableFunctions, torch._C._nn, torch._C._fft, torch._C._linalg)


def operators(key):
    return sorted(torch._C._dispatch_get_registrations_for_dispatch_key(KEYS[key]))


@functools.cache
def schema_of(operator):
    return torch._C._get_schema(*_parts(operator))


def overload_of(operator):
    """As `torch.ops` has it: Python's way to the dispatcher, with a stack of boxed values."""
    name, overload = _parts(operator)
    namespace, op = name.split("::")
    return getattr(getattr(getattr(torch.ops, namespace), op), overload or "default")


def function_of(operator):
    """The function with C++ arguments that users' code ends in (`torch.mm`), or None: some have none in Python."""
    op = _parts(operator)[0].split("::")[1]
    return next((getattr(place, op) for place in NAMESPACES if hasattr(place, op)), None)


def _parts(operator):
    name, _, overload = operator.partition(".")
    return name, overload


@dataclasses.dataclass
class Slot:
    """Where a tensor goes in the text of a call."""

    name: str

    def __repr__(self):
        return self.name


@dataclasses.dataclass
class Call:
    operator: str
    tensors: list  # float32 or integers, in the order of the function's parameters
    names: list
    constant: set  # places of tensors by which it cannot be differentiated
    text: str  # the arguments, in Python's and TorchScript's common form: "self_, [tensors0, tensors1], dim=0"

    def function(self, callee):
        """A Python function of the tensors alone that calls `callee`."""
        scope = {"callee": callee}
        exec(f"def call({', '.join(self.names)}):\n    return callee({self.text})", scope)  # noqa: S102
        scope["call"].__module__ = __name__  # torch.jit.trace wants to know
        return scope["call"]

    def script(self):
        """The same in TorchScript, where the operator is one node."""
        annotated = ", ".join(f"{name}: Tensor" for name in self.names)
        op = self.operator.partition(".")[0].replace("::", ".")
        unit = torch.jit.CompilationUnit(f"def call({annotated}):\n    return torch.ops.{op}({self.text})\n")
        nodes = [one for one in unit.call.graph.nodes() if one.kind() == self.operator.partition(".")[0]]
        # No node: TorchScript knows it as another name of something else (`inverse` of `linalg_inv`).
        assert all(str(one.schema()) == str(schema_of(self.operator)) for one in nodes), self.operator
        return unit.call

    def floats(self):
        return [index for index, tensor in enumerate(self.tensors) if tensor.is_floating_point()]


def call_of(operator):
    """Fresh tensors at each call."""
    name, overload = _parts(operator)
    short = name.removeprefix("aten::")
    given = ARGUMENTS.get(f"{short}.{overload}", ARGUMENTS.get(short, {}))
    call = Call(operator, [], [], set(), "")
    arguments = schema_of(operator).arguments
    unknown = given.keys() - {one.name for one in arguments}
    assert not unknown, f"{operator} has no {unknown}"
    positional, named = [], []
    said = [one for one in arguments if one.name in given or not one.has_default_value()]
    last = max((arguments.index(one) for one in said if not one.kwarg_only), default=-1)
    for index, argument in enumerate(arguments):
        if argument.kwarg_only:
            if argument in said:
                named.append(f"{argument.name}={_value(call, argument, given)!r}")
        elif index <= last:
            positional.append(repr(_value(call, argument, given)))
    call.text = ", ".join(positional + named)
    return call


def _value(call, argument, given):
    if argument.name not in given and argument.has_default_value():
        return argument.default_value
    value = given.get(argument.name, Given(4, 4))
    if isinstance(value, list) and value and isinstance(value[0], Given):
        return [_slot(call, f"{argument.name}{index}", one) for index, one in enumerate(value)]
    return _slot(call, argument.name, value) if isinstance(value, Given) else value


def _slot(call, name, given):
    generator = torch.Generator().manual_seed(zlib.crc32(f"{call.operator} {name}".encode()))
    name += "_" if name == "self" or keyword.iskeyword(name) else ""
    if given.constant:
        call.constant.add(len(call.names))
    call.names.append(name)
    call.tensors.append(given.tensor(generator))
    return Slot(name)
