"""torch.export: captured in the caller's autocast region, and run outside of it, like a program that was saved.

The program keeps the regions inside of the function, but not those around it.
"""

from __future__ import annotations

import contextlib
import functools
import io
from typing import Any, Callable

import torch
from torch.utils import _pytree as pytree

from castscope.modes.arguments import Arguments
from castscope.modes.interpreting import Announcing
from castscope.modes.recorder import Position, Recorder
from castscope.modes.recording import Options, Program
from castscope.modes.stacks import calls_the_user
from castscope.modes.state import outside_autocast


def prepare(function: Callable[..., Any], arguments: Arguments, options: Options, notes: list[str]) -> Program:
    module = function if isinstance(function, torch.nn.Module) else _Wrapped(function)
    graph = _export(module, arguments, options).module()
    position = Position()

    def run(recorder: Recorder, given: Arguments) -> Any:
        with outside_autocast(), recorder:
            return _interpret(graph, position, given)
    return Program(run, Recorder(position))


class _Wrapped(torch.nn.Module):
    """torch.export takes modules. The modules that the function uses become submodules of this one, so weights do,
    too."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        from castscope.modes.state import reached
        for at, (_, value) in enumerate(reached(function)):
            if isinstance(value, torch.nn.Module):
                self.add_module(f"used_{at}", value)
        self._function = function
        functools.update_wrapper(self, function, assigned=("__doc__",), updated=())

    @calls_the_user
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)


@calls_the_user
def _export(module: torch.nn.Module, arguments: Arguments, options: Options) -> Any:
    choices: dict[str, Any] = {} if options.strict is None else {"strict": options.strict}
    with contextlib.redirect_stdout(io.StringIO()):  # on an error it prints the graph so far (PyTorch 2.13)
        return torch.export.export(module, arguments.args, arguments.kwargs or None, **choices)


@calls_the_user
def _interpret(graph: torch.fx.GraphModule, position: Position, given: Arguments) -> Any:
    """The program's own forward takes arguments apart and checks them; the graph takes leaves."""
    return Announcing(graph, position).run(*pytree.tree_leaves((given.args, given.kwargs)))
