"""Everything that one mode could leave to the next: random states, parameters, buffers, attributes, gradients, and
autocast's state.

Each mode begins with what compare() found, and finds it again at the end.
"""

from __future__ import annotations

import contextlib
import functools
import random
import sys
import types
from collections.abc import Iterator
from typing import Any, Callable

import torch

from castscope.modes.values import same_values

_DEVICES = ("cpu", "cuda", "xpu", "mps", "hpu", "mtia", "maia", "privateuseone")


class RandomStates:
    """The states of Python, NumPy if it is there, and PyTorch on the CPU and on each CUDA device that is in use."""

    def __init__(self) -> None:
        self.python = random.getstate()
        numpy = sys.modules.get("numpy.random")
        self.numpy = numpy.get_state() if numpy else None
        self.cpu = torch.get_rng_state()
        self.cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []

    def restore(self) -> None:
        random.setstate(self.python)
        if self.numpy is not None:
            sys.modules["numpy.random"].set_state(self.numpy)
        torch.set_rng_state(self.cpu)
        if self.cuda:
            torch.cuda.set_rng_state_all(self.cuda)

    def drawn_since(self) -> list[str]:
        """The generators that have moved on."""
        found = []
        if random.getstate() != self.python:
            found.append("Python's random")
        if self.numpy is not None and not _same_numpy(self.numpy, sys.modules["numpy.random"].get_state()):
            found.append("numpy.random")
        if not torch.equal(torch.get_rng_state(), self.cpu):
            found.append("torch's generator")
        if self.cuda and not all(map(torch.equal, torch.cuda.get_rng_state_all(), self.cuda)):
            found.append("CUDA's generator")
        return found


def _same_numpy(left: Any, right: Any) -> bool:
    return left[0] == right[0] and (left[1] == right[1]).all() and left[2:] == right[2:]


class ModuleState:
    """The values of all modules and tensors that a function reaches; `changes()` names those that have changed."""

    def __init__(self, function: Callable[..., Any]):
        self.modules: list[tuple[str, torch.nn.Module, dict[str, Any]]] = []
        self.tensors: dict[int, tuple[str, torch.Tensor, torch.Tensor, Any]] = {}
        for name, root in reached(function):
            if isinstance(root, torch.Tensor):
                self._keep(name, root)
                continue
            for path, module in root.named_modules():
                label = ".".join(part for part in (name, path) if part)
                self.modules.append((label, module, {key: _shallow(value) for key, value in vars(module).items()}))
                for key, tensor in _tensors_of(module):
                    self._keep(f"{label}.{key}" if label else key, tensor)

    def _keep(self, name: str, tensor: torch.Tensor) -> None:
        if id(tensor) not in self.tensors:
            self.tensors[id(tensor)] = (name, tensor, tensor.detach().clone(), tensor.grad if tensor.is_leaf else None)

    def changes(self) -> list[str]:
        found = [name for name, tensor, value, _ in self.tensors.values() if not same_values(tensor, value)]
        for label, module, before in self.modules:
            for key, value in before.items():
                now: Any = vars(module).get(key)
                if isinstance(value, (bool, int, float, str, type(None))) and type(now) is type(value) and now != value:
                    found.append(f"{label}.{key}" if label else key)
                elif key == "_buffers":
                    found += [f"{label}.{name}" if label else name for name, buffer in value.items()
                              if now.get(name) is not buffer]
        return list(dict.fromkeys(found))

    def restore(self) -> None:
        for _, module, before in self.modules:
            for key in [key for key in vars(module) if key not in before]:
                del vars(module)[key]
            for key, value in before.items():
                _put_back(vars(module), key, value)
        with torch.no_grad():
            for _, tensor, value, gradient in self.tensors.values():
                if not same_values(tensor, value):
                    tensor.detach().copy_(value)
                if tensor.is_leaf and tensor.grad is not gradient:
                    tensor.grad = gradient

    def without_gradients(self) -> None:
        for _, tensor, _, _ in self.tensors.values():
            if tensor.is_leaf and tensor.grad is not None:
                tensor.grad = None


def reached(function: Any) -> Iterator[tuple[str, Any]]:
    """The modules and tensors that a function can reach: itself, its object, its closure, its defaults, and the
    globals that it names."""
    if isinstance(function, torch.nn.Module):
        yield "", function
        return
    while isinstance(function, functools.partial):
        yield from (("argument", value) for value in (*function.args, *function.keywords.values()) if _keeps(value))
        function = function.func
    if isinstance(function, types.MethodType):
        if _keeps(function.__self__):
            yield "self", function.__self__
        function = function.__func__
    if not isinstance(function, types.FunctionType):
        return
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        with contextlib.suppress(ValueError):  # not filled yet
            if _keeps(cell.cell_contents):
                yield name, cell.cell_contents
    for name in function.__code__.co_names:
        if _keeps(function.__globals__.get(name)):
            yield name, function.__globals__[name]
    yield from (("default", value) for value in function.__defaults__ or () if _keeps(value))


def _keeps(value: Any) -> bool:
    return isinstance(value, (torch.nn.Module, torch.Tensor)) and not isinstance(value, torch.jit.ScriptModule)


def _tensors_of(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    yield from module.named_parameters(recurse=False)
    yield from module.named_buffers(recurse=False)
    yield from ((key, value) for key, value in vars(module).items() if isinstance(value, torch.Tensor))


def _shallow(value: Any) -> Any:
    return value.copy() if type(value) in (dict, list, set) else value


def _put_back(attributes: dict[str, Any], key: str, value: Any) -> None:
    """The user's own dict stays the same object."""
    now: Any = attributes.get(key)
    if type(value) in (dict, list, set) and type(now) is type(value):
        if not _same_items(now, value):
            now.clear()
            now.extend(value) if isinstance(now, list) else now.update(value)
    elif now is not value:
        attributes[key] = value


def _same_items(left: Any, right: Any) -> bool:
    """Compares by identity: their own comparison is the user's code, and that of tensors gives tensors."""
    if isinstance(left, set):
        return {id(item) for item in left} == {id(item) for item in right}
    left, right = (list(side.items()) if isinstance(side, dict) else list(enumerate(side)) for side in (left, right))
    return len(left) == len(right) and all(a[0] == b[0] and a[1] is b[1] for a, b in zip(left, right))


class AutocastState:
    """Of all devices. A region that is entered twice (`with region: with region:`) leaves autocast on in PyTorch 2.13.
    """

    def __init__(self) -> None:
        self.before = _autocast_states()
        self.cache, self.nesting = torch.is_autocast_cache_enabled(), _autocast_nesting()

    def changes(self) -> list[str]:
        now = _autocast_states()
        found = [f"autocast's state of {device}" for device, state in self.before.items() if now.get(device) != state]
        return found + (["autocast's cache setting"] if torch.is_autocast_cache_enabled() != self.cache else [])

    def restore(self) -> None:
        now = _autocast_states()
        for device, (enabled, dtype) in self.before.items():
            if now.get(device) != (enabled, dtype):
                torch.set_autocast_enabled(device, enabled)
                torch.set_autocast_dtype(device, dtype)
        torch.set_autocast_cache_enabled(self.cache)
        for _ in range(_autocast_nesting() - self.nesting):
            torch.autocast_decrement_nesting()
        for _ in range(self.nesting - _autocast_nesting()):
            torch.autocast_increment_nesting()


def _autocast_states() -> dict[str, tuple[bool, torch.dtype]]:
    found = {}
    for device in _DEVICES:
        with contextlib.suppress(RuntimeError, TypeError):
            found[device] = (torch.is_autocast_enabled(device), torch.get_autocast_dtype(device))
    return found


def _autocast_nesting() -> int:
    """PyTorch tells the nesting only when it changes it."""
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting()


def ambient_autocast() -> dict[str, str]:
    """The device types whose autocast is on here, each with its dtype."""
    found = {}
    for device in _DEVICES:
        with contextlib.suppress(RuntimeError, TypeError):
            if torch.is_autocast_enabled(device):
                found[device] = str(torch.get_autocast_dtype(device))[6:]
    return found


@contextlib.contextmanager
def outside_autocast() -> Iterator[None]:
    """Runs as if there were no region around."""
    with contextlib.ExitStack() as regions:
        for device in ambient_autocast():
            regions.enter_context(torch.autocast(device, enabled=False))
        yield
