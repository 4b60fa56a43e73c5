"""The arguments that a function is called with: given in one of several ways, the same for every mode."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from typing import Any, Callable

import torch
from torch.utils import _pytree as pytree


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Positional and keyword arguments together: `castscope.modes.Arguments((x,), {"mask": mask})`."""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)


def arguments_of(inputs: Any) -> Arguments:
    """A tuple or list is positional arguments, a dict keyword arguments, a single tensor the only argument."""
    if isinstance(inputs, Arguments):
        return Arguments(tuple(inputs.args), dict(inputs.kwargs))
    if isinstance(inputs, torch.Tensor):
        return Arguments((inputs,))
    if isinstance(inputs, (tuple, list)):
        return Arguments(tuple(inputs))
    if isinstance(inputs, dict):
        return Arguments((), dict(inputs))
    raise TypeError(f"inputs are a tuple or list of positional arguments, a dict of keyword arguments, "
                    f"castscope.modes.Arguments(args, kwargs), or a function that makes one of these: "
                    f"got {type(inputs).__name__}")


class Inputs:
    """Gives each mode arguments of its own, equal to those of the others."""

    def __init__(self, inputs: Any):
        self.notes: list[str] = []
        self._make: Callable[[], Any] = inputs if _makes(inputs) else (lambda: inputs)
        self.made = _makes(inputs)
        self.first = arguments_of(self._make())
        self._copies = self._can_be_copied()

    def _can_be_copied(self) -> bool:
        try:
            _copied(self.first)
        except Exception as error:  # whatever a user's __deepcopy__ raises
            reason = f"{type(error).__name__}: {_first_line(error)}"
            self.notes.append(f"the inputs cannot be copied ({reason}): " + (
                "they were made anew for each mode" if self.made else "every mode was given the same ones"))
            return False
        return True

    def fresh(self) -> Arguments:
        if self._copies:
            return _copied(self.first)
        return arguments_of(self._make()) if self.made else self.first


def _makes(inputs: Any) -> bool:
    return callable(inputs) and not isinstance(inputs, (torch.Tensor, Arguments))


def _copied(arguments: Arguments) -> Arguments:
    """Tensors that need gradients stay leaves; a tensor that is given twice is one tensor in the copy as well."""
    memo: dict[int, Any] = {}
    for tensor in tensors_in(arguments):
        if id(tensor) not in memo:
            memo[id(tensor)] = tensor.detach().clone().requires_grad_(tensor.requires_grad)
    return Arguments(copy.deepcopy(arguments.args, memo), copy.deepcopy(arguments.kwargs, memo))


def tensors_in(value: Any) -> list[torch.Tensor]:
    if isinstance(value, Arguments):
        value = (value.args, value.kwargs)
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def named_tensors_in(arguments: Arguments) -> list[tuple[str, torch.Tensor]]:
    """The names of arguments as they are passed: "input 0", "input 1['mask']", "input scale"."""
    named = [(f"input {at}", value) for at, value in enumerate(arguments.args)]
    named += [(f"input {name}", value) for name, value in arguments.kwargs.items()]
    return [(name + pytree.keystr(path), leaf) for name, value in named
            for path, leaf in pytree.tree_flatten_with_path(value)[0] if isinstance(leaf, torch.Tensor)]


def positional(function: Callable[..., Any], arguments: Arguments) -> tuple[Any, ...]:
    """All arguments in order, for torch.jit.trace, which takes either kind but not both (2.13). Parameters after the
    last given one are left to the function's defaults: a trace takes only tensors."""
    if not arguments.kwargs:
        return arguments.args
    signature = inspect.signature(function.forward if isinstance(function, torch.nn.Module) else function)
    bound = signature.bind(*arguments.args, **arguments.kwargs)
    given = set(bound.arguments)
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(f"torch.jit.trace takes no arguments by keyword alone: {', '.join(bound.kwargs)}")
    names = [name for name, parameter in signature.parameters.items()
             if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)]
    last = max((at for at, name in enumerate(names) if name in given), default=-1)
    return bound.args[:last + 1] if len(bound.args) <= len(names) else bound.args


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0]
