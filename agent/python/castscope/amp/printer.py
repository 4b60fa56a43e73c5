"""Prints each cast that autocast or an annotation makes, with its source line; for init(verbose=True).

    Float->BFloat16 (linear) train.py:12

A dispatch mode sees every conversion, but not who asked for it. A function mode knows which of PyTorch's functions is
being called, and whether autocast was on: a conversion inside one that does not itself convert is autocast's. So
conversions that a PyTorch function written in Python makes on purpose under autocast are printed, too; conversions in a
backward pass are not.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

_NAMES = {torch.float32: "Float", torch.float16: "Half", torch.bfloat16: "BFloat16", torch.float64: "Double"}
_ON_PURPOSE = frozenset({"to", "float", "half", "bfloat16", "double", "type", "type_as", "_to_copy", "tensor",
                         "as_tensor", "asarray", "backward", "grad"})
_NOT_THE_USERS = tuple(os.path.dirname(os.path.abspath(file)) + os.sep
                       for file in (torch.__file__, os.path.dirname(__file__), contextlib.__file__))


class CastPrinter:
    """From enter() to leave() the casts of this thread are printed on stdout."""

    def __init__(self, device_type: str) -> None:
        self._calls = _Calls(device_type)
        self._casts = _Casts(self._calls)

    def enter(self) -> None:
        self._calls.__enter__()
        self._casts.__enter__()

    def leave(self) -> None:
        self._casts.__exit__(None, None, None)
        self._calls.__exit__(None, None, None)

    @staticmethod
    def report(before: torch.dtype, after: torch.dtype, name: str) -> None:
        """Prints one cast, in the function of this name."""
        print(f"{_NAMES.get(before, before)}->{_NAMES.get(after, after)} ({name}) {_place()}", flush=True)


class _Calls(TorchFunctionMode):
    """Knows which PyTorch function is being called, if its conversions are autocast's."""

    def __init__(self, device_type: str) -> None:
        super().__init__()
        self._device_type = device_type
        self._calls: list[str | None] = []

    def casting(self) -> str | None:
        return self._calls[-1] if self._calls else None

    def __torch_function__(self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(function, "__name__", str(function))
        on_purpose = name in _ON_PURPOSE or kwargs.get("dtype") is not None
        casts = not on_purpose and torch.is_autocast_enabled(self._device_type)
        self._calls.append(name if casts else None)
        try:
            return function(*args, **kwargs)
        finally:
            self._calls.pop()


class _Casts(TorchDispatchMode):
    def __init__(self, calls: _Calls) -> None:
        super().__init__()
        self._calls = calls

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if function is torch.ops.aten._to_copy.default:
            before, after, name = args[0].dtype, result.dtype, self._calls.casting()
            if name is not None and before is not after and before.is_floating_point and after.is_floating_point:
                CastPrinter.report(before, after, name)
        return result


def _place() -> str:
    """FILE:LINE of the user's innermost frame."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not os.path.abspath(file).startswith(_NOT_THE_USERS) and not file.startswith("<frozen"):
            return f"{os.path.relpath(file) if os.path.isabs(file) and _is_below_here(file) else file}:{frame.f_lineno}"
        frame = frame.f_back
    return "?"


def _is_below_here(file: str) -> bool:
    return file.startswith(os.getcwd() + os.sep)
