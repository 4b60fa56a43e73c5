"""torch.jit.script: compiled anew, even if parts of the function have been scripted before in this process."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator
from typing import Any, Callable

import torch

from castscope.modes.arguments import Arguments
from castscope.modes.graph_nodes import GraphNodes, pass_is_on
from castscope.modes.recorder import Place, Recorder
from castscope.modes.recording import Options, Program, call
from castscope.modes.refused import refused_line
from castscope.modes.stacks import Stack, caller, is_called_by_script, python_stack, script_frames, users

# torch.jit.script, trace and their modules: a function given as one of these is compiled already.
SCRIPTED = (torch.jit.ScriptModule, torch.jit.ScriptFunction)


def prepare(function: Callable[..., Any], arguments: Arguments, options: Options, notes: list[str]) -> Program:
    if isinstance(function, SCRIPTED):
        notes.append("it came as TorchScript and was run as it is")
        program: Any = function
    else:
        with _nothing_known():
            program = torch.jit.script(_fresh(function))
    nodes = GraphNodes(program)
    ambient = torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")
    beyond = "off" if not pass_is_on() else "" if nodes.enters_autocast or ambient else "no region"
    return script_program(
        program, lambda func, frames: Place(users(frames), "", node=nodes.schema_at(frames, func), beyond=beyond))


def script_program(program: Any, where_of: Callable[[Any, Stack], Place]) -> Program:
    """A program for TorchScript's interpreter. Python code that a script calls stands inside it."""
    def where(func: Any) -> Place:
        frames = script_frames()
        frame = caller()
        place = where_of(func, frames)
        if is_called_by_script(frame):
            inner, _ = python_stack(frame)
            return Place(inner + place.stack, place.module, beyond="python")
        # Casts of the autocast pass have no place of their own (torch/csrc/jit/passes/autocast.cpp).
        return place._replace(caster="script" if frames and frames[0].file == "??" else "")

    def run(recorder: Recorder, given: Arguments) -> Any:
        with recorder:
            try:
                return call(program, given)
            except RuntimeError as error:
                with contextlib.suppress(AttributeError):  # a program without a graph
                    error.castscope_line = refused_line(program, error)  # type: ignore[attr-defined]
                raise
    return Program(run, Recorder(where))


def _fresh(function: Callable[..., Any]) -> Callable[..., Any]:
    """PyTorch keeps the compiled form of a function object, and in that the dtypes of the first region that it was
    called in (PyTorch 2.13): another object with the same code is compiled again."""
    if not isinstance(function, types.FunctionType):
        return function
    twin = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__,
                              function.__closure__)
    twin.__dict__.update(function.__dict__)
    twin.__annotations__ = function.__annotations__
    twin.__kwdefaults__ = function.__kwdefaults__
    twin.__module__, twin.__qualname__, twin.__doc__ = function.__module__, function.__qualname__, function.__doc__
    return twin


@contextlib.contextmanager
def _nothing_known() -> Iterator[None]:
    """The same for modules: methods are compiled once for all modules of a class with attributes of the same types."""
    from torch.jit import _recursive
    known = _recursive.concrete_type_store
    _recursive.concrete_type_store = type(known)()
    try:
        yield
    finally:
        _recursive.concrete_type_store = known
