"""Runs a function in one mode and writes down what it computed, operator by operator."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any, Callable

import torch
from torch.utils import _pytree as pytree

from castscope.modes.arguments import Arguments, Inputs, named_tensors_in, tensors_in
from castscope.modes.errors import ModeError, mode_error
from castscope.modes.names import MODES
from castscope.modes.recorder import Recorder
from castscope.modes.stacks import ModuleNames, calls_the_user
from castscope.modes.state import AutocastState, ModuleState, RandomStates
from castscope.modes.surroundings import plain_inference, quiet
from castscope.modes.units import Unit
from castscope.modes.values import same_values

# The makers of a mode's program: `prepare(function, arguments, options, notes) -> Program`.
_MAKERS = {"eager": "castscope.modes.eager", "script": "castscope.modes.scripted", "trace": "castscope.modes.traced",
           "compile": "castscope.modes.compiled", "export": "castscope.modes.exported"}


@dataclasses.dataclass(frozen=True)
class Options:
    """Options for making modes, where PyTorch leaves a choice; named as in torch.compile and torch.export.export."""
    backend: Any = "inductor"
    fullgraph: bool = False
    strict: bool | None = None
    backward: bool = False
    modules: ModuleNames | None = None


@dataclasses.dataclass
class Program:
    """A function in a mode: `run(recorder, arguments)`; `close` undoes what preparing it left in PyTorch."""
    run: Callable[[Recorder, Arguments], Any]
    recorder: Recorder
    close: Callable[[], None] | None = None


@dataclasses.dataclass
class Recording:
    """`outputs` are copies of the tensors that came out, by their path in the result; `values` everything else in it.
    `draws` are the random generators that moved on, `changes` the parameters, buffers and inputs that were changed.
    """
    mode: str
    units: list[Unit] = dataclasses.field(default_factory=list)
    outputs: dict[str, torch.Tensor] = dataclasses.field(default_factory=dict)
    values: dict[str, Any] = dataclasses.field(default_factory=dict)
    error: ModeError | None = None
    notes: list[str] = dataclasses.field(default_factory=list)
    draws: list[str] = dataclasses.field(default_factory=list)
    changes: list[str] = dataclasses.field(default_factory=list)


def record(mode: str, function: Callable[..., Any], inputs: Any, options: Options | None = None) -> Recording:
    """Runs `function` in `mode`, in the autocast region, grad mode and default dtype of the caller.

    Changes that the function leaves behind are undone. An error that the mode raises is in the recording.
    """
    if mode not in MODES:
        raise ValueError(f"{mode!r} is not a mode: {', '.join(MODES)}")
    function = uncompiled(function)
    inputs = inputs if isinstance(inputs, Inputs) else Inputs(inputs)
    options = dataclasses.replace(options or Options(), modules=ModuleNames(function))
    recording = Recording(mode)
    random, state, autocast = RandomStates(), ModuleState(function), AutocastState()
    torch.clear_autocast_cache()
    try:
        with plain_inference(recording.notes):
            _record(recording, function, inputs, options, random, state, autocast)
    finally:
        autocast.restore()
        state.restore()
        random.restore()
        torch.clear_autocast_cache()
    return recording


def uncompiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The original of a module or function that torch.compile has compiled already: each mode makes its own of it."""
    if getattr(function, "_torchdynamo_disable", False):  # code that is kept from dynamo has the same mark
        return function
    return getattr(function, "_orig_mod", None) or getattr(function, "_torchdynamo_orig_callable", None) or function


def _record(recording: Recording, function: Callable[..., Any], inputs: Inputs, options: Options,
            random: RandomStates, state: ModuleState, autocast: AutocastState) -> None:
    maker = importlib.import_module(_MAKERS[recording.mode])
    program = None
    try:
        random.restore()
        with quiet(recording.notes):
            program = maker.prepare(function, inputs.fresh(), options, recording.notes)
        autocast.restore()
        state.restore()
        state.without_gradients()
        random.restore()
        torch.clear_autocast_cache()
        _run(recording, program, inputs.fresh(), options, state)
        recording.changes += autocast.changes()
    except (Exception, SystemExit) as error:  # when the function ends the process, the comparison must not end
        recording.error = mode_error(recording.mode, error, function)
    finally:
        if program is not None:
            recording.units = program.recorder.units
            if program.close is not None:
                program.close()


def _run(recording: Recording, program: Program, arguments: Arguments, options: Options, state: ModuleState) -> None:
    random = RandomStates()  # the code that makes the arguments may have drawn from it
    before = [(name, tensor, tensor.detach().clone()) for name, tensor in named_tensors_in(arguments)]
    with quiet(recording.notes):
        result = program.run(program.recorder, arguments)
        recording.outputs, recording.values = _flat(result)
        if options.backward:
            _backward(recording, arguments, state)
        recording.outputs = {name: tensor.detach().clone() for name, tensor in recording.outputs.items()}
    recording.draws = random.drawn_since()
    recording.changes = state.changes() + [
        name for name, tensor, value in before if not same_values(tensor, value)]
    for name in dict.fromkeys(program.recorder.higher_order):
        recording.notes.append(f"what is inside {name} is not compared")


def _flat(result: Any) -> Any:
    """Tensors by their path in the result, and everything else in it."""
    tensors, values = {}, {}
    leaves, _ = pytree.tree_flatten_with_path(result)
    for path, leaf in leaves:
        name = "".join(str(key) for key in path) or "the result"
        if isinstance(leaf, torch.Tensor):
            tensors[name] = leaf
        else:
            values[name] = leaf
    return tensors, values


def _backward(recording: Recording, arguments: Arguments, state: ModuleState) -> None:
    """Gradients of the sum of all outputs become outputs: `gradient of weight`."""
    summands = [tensor.float().sum() for tensor in recording.outputs.values()
                if tensor.requires_grad and tensor.is_floating_point()]
    if not summands:
        recording.notes.append("no output needs gradients: there is no backward to run")
        return
    torch.stack(summands).sum().backward()
    leaves = {f"gradient of input {at}": tensor for at, tensor in enumerate(tensors_in(arguments))}
    leaves.update({f"gradient of {name}": tensor for name, tensor, _, _ in state.tensors.values()})
    for name, tensor in leaves.items():
        if tensor.is_leaf and tensor.grad is not None:
            recording.outputs[name] = tensor.grad


@calls_the_user
def call(function: Callable[..., Any], arguments: Arguments) -> Any:
    """The user's code runs above this frame: a stack ends here."""
    return function(*arguments.args, **arguments.kwargs)
