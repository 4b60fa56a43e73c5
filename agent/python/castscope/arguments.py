"""Casts the tensors among the arguments of a call, also inside tuples, lists and dicts.

An argument with nothing to cast is passed on as the very same object; one with something to cast is replaced by a
copy, so that the caller's list is never changed. Data classes and other objects are passed on as they are.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from typing import Any, Callable, Union

import torch

from castscope.signatures import Kept

# Not float64, as with autocast; nor the 8-bit types, whose numbers mean nothing without a scale.
CASTABLE = (torch.float32, torch.float16, torch.bfloat16)

Key = Union[int, str]  # position or name of the argument
Convert = Callable[[torch.Tensor, Key], torch.Tensor]


def cast_arguments(args: tuple[Any, ...], kwargs: dict[str, Any], kept: Kept,
                   convert: Convert) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns all arguments; each tensor of a castable dtype is replaced by the result of `convert`, unless it is kept.

    `convert` is called from one place, however deep a tensor lies: a report tells casts apart by the frames they have.
    """
    done: dict[Key, Any] = {}
    given: list[tuple[Key, Any]] = [*enumerate(args), *kwargs.items()]
    for key, value in given:
        is_kept = kept.keyword(key) if isinstance(key, str) else kept.position(key)
        before = [] if is_kept else list(_tensors(value))
        done[key] = _replaced(value, iter([convert(tensor, key) for tensor in before])) if before else value
    return tuple([done[i] for i in range(len(args))]), {name: done[name] for name in kwargs}


def castable_tensors(args: tuple[Any, ...], kwargs: dict[str, Any], kept: Kept) -> list[torch.Tensor]:
    """All tensors that `cast_arguments` hands to `convert`."""
    found: list[torch.Tensor] = []
    for i, value in enumerate(args):
        if not kept.position(i):
            found.extend(_tensors(value))
    for name, value in kwargs.items():
        if not kept.keyword(name):
            found.extend(_tensors(value))
    return found


def all_tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors of an argument, of any dtype, also inside tuples, lists and dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif _is_container(value):
        for item in value.values() if isinstance(value, dict) else value:
            yield from all_tensors(item)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        if value.dtype in CASTABLE:
            yield value
    elif _is_container(value):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _tensors(item)


def _replaced(value: Any, tensors: Iterator[torch.Tensor]) -> Any:
    """The value with these tensors in place of those that `_tensors` finds in it, in turn."""
    if isinstance(value, torch.Tensor):
        return next(tensors) if value.dtype in CASTABLE else value
    if not _is_container(value):
        return value
    before = list(value.values() if isinstance(value, dict) else value)
    after = [_replaced(item, tensors) for item in before]
    if all(new is old for new, old in zip(after, before)):
        return value
    return _remade(value, after)


def _is_container(value: Any) -> bool:
    return isinstance(value, (tuple, list, dict)) and not dataclasses.is_dataclass(value)


def _remade(value: Any, items: list[Any]) -> Any:
    """A container like `value`, with these items in place of its own."""
    if type(value) is list:
        return items
    if isinstance(value, tuple):
        return _remade_tuple(value, items)
    new = copy.copy(value)
    if isinstance(value, dict):
        new.update(zip(value, items))
    else:
        new[:] = items
    return new


def _remade_tuple(value: tuple[Any, ...], items: list[Any]) -> tuple[Any, ...]:
    if type(value) is tuple:
        return tuple(items)
    if hasattr(value, "n_sequence_fields"):  # torch.return_types.max and its like have a tuple's constructor
        return type(value)(items)
    new = tuple.__new__(type(value), items)  # a named tuple's own constructor takes the items one by one
    vars(new).update(vars(value)) if hasattr(value, "__dict__") else None
    return new
