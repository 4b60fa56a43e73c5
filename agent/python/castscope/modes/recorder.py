"""Writes down every operator that runs: a dispatch mode of PyTorch.

Such a mode stands below autocast and autograd, in whatever runs: Python, TorchScript's interpreter, an FX interpreter.
It computes nothing itself and changes nothing of what is computed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, Callable, NamedTuple, Union

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode, _pop_mode_temporarily

from castscope.modes import units
from castscope.modes.stacks import Stack
from castscope.modes.units import Unit

_COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd


class Place(NamedTuple):
    """Where an operator stands that runs now; `caster` is who makes a cast here. The rest as in Unit; "" = unknown."""
    stack: Stack
    module: str
    caster: str = ""
    node: str = ""
    beyond: str = ""


Where = Callable[[Any], Union[Place, tuple[Stack, str, str]]]
Origin = tuple[int, str, str]  # number of the unit that made a value, the dtype it was made in, who cast it since


class Recorder(TorchDispatchMode):
    """`units` grows while it is on."""

    supports_higher_order_operators = True

    def __init__(self, where: Where):
        super().__init__()
        self.where = where
        self.units: list[Unit] = []
        self.higher_order: list[str] = []
        self._origins: dict[int, tuple[Any, Origin]] = {}

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Dynamo compiles no frame while a mode is on, but for those that say this (PyTorch >= 2.9)."""
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not isinstance(func, torch._ops.OpOverload):
            self.higher_order.append(str(func))
            return func(*args, **kwargs)
        if func.namespace == "prim":  # questions: prim.device, prim.layout
            return _call(func, args, kwargs)
        if is_composite(func):  # native_batch_norm; in inference mode all, since nothing took them apart before
            with self:
                return func.decompose(*args, **kwargs)
        inputs = list(_tensors((args, {key: kwargs[key] for key in kwargs if key != "out"})))
        place = Place(*self.where(func))
        floats = _floating(inputs)
        before = [(str(tensor.dtype)[6:], tuple(tensor.shape), self._origin(tensor)) for tensor in floats]
        result = _call(func, args, kwargs)
        if is_unit(func) and inputs:
            self._add(func, before, result, place)
        else:
            self._hand_on(inputs, result, place.caster)
        return result

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """For what is not the user's: what a compiler made."""
        if _get_current_dispatch_mode() is not self:
            yield
            return
        with _pop_mode_temporarily():
            yield

    def add(self, others: Sequence[Unit]) -> None:
        """What is known to run now without passing here."""
        start = len(self.units)
        for unit in others:
            makers = tuple(maker if maker < 0 else maker + start for maker in unit.makers)
            self.units.append(dataclasses.replace(unit, makers=makers))

    def _add(self, func: Any, before: list[Any], result: Any, place: Place) -> None:
        results = list(_tensors((result,)))
        output = str(results[0].dtype)[6:] if results and results[0].is_floating_point() else None
        if before or output:
            origins = [origin for _, _, origin in before]
            self.units.append(Unit(
                units.operator_name(func._schema.name), func._schema.name, tuple(dtype for dtype, _, _ in before),
                output, place.stack, place.module, tuple(shape for _, shape, _ in before),
                tuple(dtype for _, dtype, _ in origins), tuple(maker for maker, _, _ in origins),
                next((who for _, _, who in origins if who), ""), place.node, place.beyond))
            for tensor in results:
                self._set_origin(tensor, (len(self.units) - 1, str(tensor.dtype)[6:], ""))

    def _hand_on(self, inputs: list[torch.Tensor], result: Any, caster: str) -> None:
        """A view, copy or cast is the value that it was made from, a cast by whoever makes it."""
        results = list(_tensors((result,)))
        if not inputs or not results:
            return
        source = inputs[-1] if results[0] is inputs[0] else inputs[0]  # copy_(destination, source)
        maker, dtype, who = self._origin(source)
        if results[0].dtype != source.dtype:
            who = who or caster
        for tensor in results:
            self._set_origin(tensor, (maker, dtype, who))

    def _origin(self, tensor: torch.Tensor) -> Origin:
        known = self._origins.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return known[1]
        return -1, str(tensor.dtype)[6:], ""

    def _set_origin(self, tensor: torch.Tensor, origin: Origin) -> None:
        self._origins[id(tensor)] = (weakref.ref(tensor), origin)


class Position:
    """A `where` that is told: for interpreters, which know the node that they are at."""

    def __init__(self) -> None:
        self.stack: Stack = ()
        self.module = ""

    def __call__(self, func: Any) -> tuple[Stack, str, str]:
        return self.stack, self.module, ""


@functools.cache
def is_composite(func: Any) -> bool:
    return func.has_kernel_for_dispatch_key(_COMPOSITE)


@functools.cache
def is_unit(func: Any) -> bool:
    """Not a view: an output that is an input's memory, without writing to it."""
    schema = func._schema
    view = any(output.alias_info is not None and not output.alias_info.is_write for output in schema.returns)
    return units.computes(schema.name) and not view


@functools.cache
def _tensor_slots(func: Any) -> tuple[int, ...]:
    return tuple(at for at, argument in enumerate(func._schema.arguments) if str(argument.type) == "Tensor")


def _call(func: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """Python gets numbers for tensors that were numbers once; not every operator takes them back (aten::equal, by
    which TorchScript compares constants)."""
    slots = _tensor_slots(func)
    if any(at < len(args) and isinstance(args[at], (int, float, complex)) for at in slots[:1]):
        args = [torch.scalar_tensor(value, dtype=torch.tensor(value).dtype)
                if at in slots and isinstance(value, (int, float, complex)) else value
                for at, value in enumerate(args)]
    return func(*args, **kwargs)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)


def _floating(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Those whose dtype counts. A tensor without dimensions has no say in promotion beside one with; alone it has,
    but modes differ in which of several numbers they make tensors of: the first is taken."""
    floats = [tensor for tensor in tensors if tensor.is_floating_point()]
    return [tensor for tensor in floats if tensor.dim()] or floats[:1]
