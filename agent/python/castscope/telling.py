"""Tells castscope, if the job runs under it, of each cast that an annotation makes: by which one, of which argument."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import torch

from castscope import find
from castscope.signatures import Rule

# The arguments of agent/interposed/interface.h; PyTorch's numbers of the dtypes (c10/core/ScalarType.h).
_begins = find("castscope_annotated", None, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_void_p,
               ctypes.c_int, ctypes.c_int)
_ends = find("castscope_annotated_end", None)
_NUMBERS = {torch.float16: 5, torch.float32: 6, torch.bfloat16: 15}
_SERVED, _KEEPS = 1, 2
_NOBODY: AbstractContextManager[Any] = contextlib.nullcontext()


def of(rule: Rule, key: int | str, tensor: torch.Tensor, to: torch.dtype, served: bool,
       keeps: bool) -> AbstractContextManager[Any]:
    """Used around the one conversion of `tensor`, or around serving a copy of it again.

    `keeps`: whether copies of weights are kept for the iteration.
    """
    return _NOBODY if _begins is None else _told(rule, key, tensor, to, served, keeps)


@contextlib.contextmanager
def _told(rule: Rule, key: int | str, tensor: torch.Tensor, to: torch.dtype, served: bool,
          keeps: bool) -> Iterator[None]:
    name, position = rule.argument(key)
    with torch._C.DisableTorchFunction():  # a subclass of the job's must not notice it
        address = tensor._cdata
    _begins(rule.name.encode("utf-8", "replace"), name.encode("utf-8", "replace"),  # type: ignore[misc]
            position & 0xffffffff, address, _NUMBERS[to], served * _SERVED | keeps * _KEEPS)
    try:
        yield
    finally:
        _ends()  # type: ignore[misc]
