"""Calls an annotated thing with its arguments cast.

`state` is {device type: lower precision} of the device types for which autocast is on. An annotation of kind float
turns it off while the body runs. Annotated things that are called there still use the state of the region around:
the innermost annotation decides for its own arguments.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Awaitable, Generator
from typing import Any, Callable

import torch

from castscope import arrivals, policy_functions, telling
from castscope.arguments import Key, cast_arguments, castable_tensors
from castscope.signatures import Rule

State = dict[str, torch.dtype]


def _device_types() -> tuple[str, ...]:
    """The device types of which there may be tensors here: asking for others would cost more than everything else."""
    if not hasattr(torch, "accelerator"):  # before PyTorch 2.6
        return ("cpu", "cuda")
    accelerator = torch.accelerator.current_accelerator()
    xla = ("xla",) if "torch_xla" in sys.modules else ()
    return ("cpu", *((accelerator.type,) if accelerator is not None else ()), *xla)


def _lower_precision_of_policy() -> dict[str, str]:
    """The dtypes of the policy that the job runs by; they take precedence over those that a region asks for."""
    if policy_functions.goes_without_policy():
        return {}
    try:
        with open(os.environ.get("CASTSCOPE_ENFORCE") or os.devnull, encoding="utf-8") as file:
            return policy_functions.lower_precision_in(file.read())
    except (OSError, ValueError):  # the agent has said so
        return {}


_DEVICE_TYPES = _device_types()
_LOWER = {kind: getattr(torch, name) for kind, name in _lower_precision_of_policy().items()}
_any_enabled: Callable[[], bool] = getattr(torch._C, "_is_any_autocast_enabled", lambda: True)


class _Thread(threading.local):
    """State of this thread. castscope.amp sets the last two."""

    def __init__(self) -> None:
        self.suspended: Suspended | None = None
        self.weights: WeightCache | None = None
        self.report: Callable[[torch.dtype, torch.dtype, str], None] | None = None


class Suspended:
    """An annotation has turned autocast off; without the annotation, this would be the state."""

    def __init__(self, state: State, nesting: int) -> None:
        self.state = state
        self.nesting = nesting


class WeightCache:
    """Weights in lower precision, made once per iteration, for annotated functions. Autocast's cache cannot be read.

    Float32 leaves that require a gradient are kept, as in autocast. A copy that was made without a graph is
    not served where a graph is built; nor is a copy of a weight that was written since.
    """

    def __init__(self) -> None:
        self._copies: dict[tuple[int, torch.dtype, bool], tuple[torch.Tensor, int, torch.Tensor]] = {}

    def get(self, weight: torch.Tensor, to: torch.dtype) -> torch.Tensor | None:
        kept = self._copies.get((id(weight), to, torch.is_grad_enabled()))
        return kept[2] if kept is not None and kept[1] == weight._version else None

    def put(self, weight: torch.Tensor, to: torch.dtype, copy: torch.Tensor) -> None:
        if weight.dtype is torch.float32 and weight.is_leaf and weight.requires_grad and not weight._is_view():
            # Keeps the weight itself, so that its id is not given to another one.
            self._copies[id(weight), to, torch.is_grad_enabled()] = (weight, weight._version, copy)

    def clear(self) -> None:
        self._copies.clear()


thread = _Thread()


def call(rule: Rule, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls function(*args, **kwargs) as `rule` says; unchanged where autocast is off."""
    if thread.suspended is None and not _any_enabled():
        return function(*args, **kwargs)
    if torch.compiler.is_compiling():
        return _traced(rule, function, args, kwargs)
    with _scope(rule.off) as scope:
        if scope.state:
            args, kwargs = _cast(rule, scope.state, args, kwargs)
        return function(*args, **kwargs)


def generate(rule: Rule, function: Callable[..., Any], args: tuple[Any, ...],
             kwargs: dict[str, Any]) -> Generator[Any, Any, Any]:
    """For a generator function. The arguments are cast when it starts; while it is suspended, autocast is as it was."""
    with _scope(rule.off) as scope:
        if scope.state:
            args, kwargs = _cast(rule, scope.state, args, kwargs)
        inner = function(*args, **kwargs)
    return (yield from _resumed(rule, inner))


def awaitable(rule: Rule, function: Callable[..., Any], args: tuple[Any, ...],
              kwargs: dict[str, Any]) -> Awaitable[Any]:
    """For a coroutine function, likewise."""
    return _Awaitable(generate(rule, function, args, kwargs))


class _Awaitable:
    def __init__(self, steps: Generator[Any, Any, Any]) -> None:
        self._steps = steps

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._steps


def switched_off(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls function(*args, **kwargs) with autocast off; nothing is cast."""
    if torch.compiler.is_compiling():
        return _within([(kind, dtype) for kind, dtype in _state_here().items()], False, function, args, kwargs)
    with _scope(True):
        return function(*args, **kwargs)


def _resumed(rule: Rule, inner: Any) -> Generator[Any, Any, Any]:
    """Drives a generator or coroutine; each piece of its body runs in a scope of its own."""
    resume, value = inner.send, None
    while True:
        try:
            with _scope(rule.off):
                out = resume(value)
        except StopIteration as end:
            return end.value
        try:
            resume, value = inner.send, (yield out)
        except GeneratorExit:
            with _scope(rule.off):
                inner.close()
            raise
        except BaseException as error:
            resume, value = inner.throw, error


def _state_here() -> State:
    return {kind: torch.get_autocast_dtype(kind) for kind in _DEVICE_TYPES if torch.is_autocast_enabled(kind)}


def lowered(state: State) -> State:
    """The dtypes that half annotations cast to, by device type, where autocast is on there."""
    return {kind: _LOWER.get(kind, _LOWER.get("any", dtype)) for kind, dtype in state.items()} if _LOWER else state


def _cast(rule: Rule, state: State, args: tuple[Any, ...],
          kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if rule.kind == "promote":
        widest = None
        for tensor in castable_tensors(args, kwargs, rule.kept):
            if tensor.device.type in state:
                widest = tensor.dtype if widest is None else torch.promote_types(widest, tensor.dtype)
        if widest is None:
            return args, kwargs
        wanted = dict.fromkeys(state, widest)
    else:
        wanted = lowered(state) if rule.kind == "half" else dict.fromkeys(state, torch.float32)
    if not torch.compiler.is_compiling():
        arrivals.tell(rule, wanted, args, kwargs)
    return cast_arguments(args, kwargs, rule.kept, lambda tensor, key: _converted(rule, key, tensor, wanted))


def _converted(rule: Rule, key: Key, tensor: torch.Tensor, wanted: State) -> torch.Tensor:
    to = wanted.get(tensor.device.type)
    if to is None or tensor.dtype is to or (key == "out" and rule.of_pytorch):
        return tensor
    if torch.compiler.is_compiling():
        return tensor.to(to)
    weights = thread.weights if rule.kind == "half" else None
    copy = weights.get(tensor, to) if weights is not None else None
    with telling.of(rule, key, tensor, to, copy is not None, weights is not None):
        if copy is not None:
            return copy
        if thread.report is not None:
            thread.report(tensor.dtype, to, rule.name)
        copy = tensor.to(to)
    if weights is not None:
        weights.put(tensor, to, copy)
    return copy


def _scope(off: bool) -> Any:
    here = _state_here() if _any_enabled() else {}
    if thread.suspended is None and not (off and here):
        return _Unchanged(here)
    return _Scope(off, here)


class _Unchanged:
    """There is nothing to turn off or on. No region then: leaving an outermost region clears every thread's cache."""

    def __init__(self, state: State) -> None:
        self.state = state

    def __enter__(self) -> _Unchanged:
        return self

    def __exit__(self, *error: Any) -> None:
        pass


class _Scope:
    """Switches autocast off, or on again as in the region around an annotation.

    Does by hand what torch.autocast does at both ends, since that does not tell how deep it is nested. The depth
    tells whether the body has entered a region of its own since autocast was suspended; then that region counts.
    """

    def __init__(self, off: bool, here: State) -> None:
        self.off = off
        self.state = here

    def __enter__(self) -> _Scope:
        here, self._outer = self.state, thread.suspended
        nesting = torch.autocast_increment_nesting()
        if self._outer is not None and nesting == self._outer.nesting + 1:
            self.state = {**self._outer.state, **here}
        self._switched = [kind for kind in self.state if (kind in here) == self.off]
        for kind in self._switched:
            torch.set_autocast_enabled(kind, not self.off)
        thread.suspended = Suspended(self.state, nesting) if self.off and self.state else None
        return self

    def __exit__(self, *error: Any) -> None:
        thread.suspended = self._outer
        if torch.autocast_decrement_nesting() == 0:
            torch.clear_autocast_cache()
        for kind in self._switched:
            torch.set_autocast_enabled(kind, self.off)


def _traced(rule: Rule, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """call() for torch.compile and torch.export. They know torch.autocast in a `with`, and cannot read the nesting."""
    outer = thread.suspended
    here = _state_here()
    state = here if outer is None else {**outer.state, **here}
    if state:
        args, kwargs = _cast(rule, state, args, kwargs)
    if not state or (outer is None and not rule.off):
        return function(*args, **kwargs)
    thread.suspended = Suspended(state, 0) if rule.off else None
    try:
        return _within(list(state.items()), not rule.off, function, args, kwargs)
    finally:
        thread.suspended = outer


def _within(regions: list[tuple[str, torch.dtype]], enabled: bool, function: Callable[..., Any],
            args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not regions:
        return function(*args, **kwargs)
    kind, dtype = regions[0]
    with torch.autocast(kind, dtype=dtype, enabled=enabled):
        return _within(regions[1:], enabled, function, args, kwargs)
