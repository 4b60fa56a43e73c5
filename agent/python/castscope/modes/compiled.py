"""torch.compile: the graphs that dynamo captures, in the order in which they ran, and what ran between them.

Dynamo compiles nothing while a dispatch mode is on, except for modes that leave alone what is compiled. So the
operators of a graph are listed when it is compiled, by interpreting it on tensors without data below the recorder,
under the autocast state that the backend is called in: that is what the compiler traces, too. Each run of the graph
then adds its list. What runs in Python between graphs is recorded as in eager.
"""

from __future__ import annotations

import contextlib
import inspect
import types
from collections.abc import Iterator, Sequence
from typing import Any, Callable

import torch

from castscope.modes.arguments import Arguments
from castscope.modes.interpreting import Announcing
from castscope.modes.recorder import Position, Recorder
from castscope.modes.recording import Options, Program, call
from castscope.modes.stacks import Stack, caller, python_stack
from castscope.modes.units import Unit


def prepare(function: Callable[..., Any], arguments: Arguments, options: Options, notes: list[str]) -> Program:
    def where(func: Any) -> tuple[Stack, str, str]:
        stack, module = python_stack(caller(), options.modules)
        return stack, module, ""

    recorder = Recorder(where)
    backend = _Backend(recorder, options.backend, notes)
    compiled = torch.compile(_entrance(function), backend=backend,  # type: ignore[call-overload]
                             fullgraph=options.fullgraph, **_apart())
    seen = _code_seen()

    def run(recorder: Recorder, given: Arguments) -> Any:
        with _recording(recorder, notes):
            result = call(compiled, given)
        if not backend.graphs:
            notes.append("nothing was compiled: all of it ran in Python")
        return result
    return Program(run, recorder, close=lambda: _forget(seen))


class _Backend:
    """The backend that torch.compile calls with each graph."""

    def __init__(self, recorder: Recorder, backend: Any, notes: list[str]):
        self.recorder, self.notes, self.graphs = recorder, notes, 0
        from torch._dynamo.backends.registry import lookup_backend
        self.compile = lookup_backend(backend)

    def __call__(self, graph: torch.fx.GraphModule, examples: list[Any], **options: Any) -> Callable[..., Any]:
        self.graphs += 1
        try:
            units = graph_units(graph, examples)
        except Exception as error:  # the graph may still compile: only its contents are not known
            units = []
            self.notes.append("the operators of a compiled graph could not be listed "
                              f"({type(error).__name__}: {(str(error).splitlines() or [''])[0]})")
        run = self.compile(graph, examples, **options)

        def run_and_note(*arguments: Any) -> Any:
            self.recorder.add(units)
            with self.recorder.away():
                return run(*arguments)
        return run_and_note


def graph_units(graph: torch.fx.GraphModule, examples: Sequence[Any]) -> list[Unit]:
    """Runs the graph on tensors without data, in a mode of their own: dynamo's must not learn of shapes that are asked
    for here."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv
    fake = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    position = Position()
    recorder = Recorder(position)
    with contextlib.ExitStack() as states:
        states.enter_context(torch.random.fork_rng(devices=[]))
        states.enter_context(fake)
        inputs = [_without_data(example) for example in examples]
        states.enter_context(recorder)
        Announcing(graph, position).run(*inputs)
    return recorder.units


def _without_data(example: Any) -> Any:
    if isinstance(example, torch.Tensor):
        sizes, strides = ([_number(value) for value in values] for values in (example.shape, example.stride()))
        return torch.empty_strided(sizes, strides, dtype=example.dtype, device=example.device,
                                   requires_grad=example.requires_grad)
    return _number(example)


def _number(value: Any) -> Any:
    """The value that a symbolic number stands for, without a guard on it."""
    return value.node.hint if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)) else value


def _entrance(function: Callable[..., Any]) -> Callable[..., Any]:
    """Dynamo keeps compiled code by code object: a code object of our own adds nothing to the user's."""
    def entrance(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)
    return types.FunctionType(entrance.__code__.replace(), entrance.__globals__, entrance.__name__, None,
                              entrance.__closure__)


def _apart() -> dict[str, bool]:
    """Functions that graph breaks split off are still the user's code: compiling them here must not
    count towards the limit of recompilations (8) of what the user has compiled. PyTorch 2.13 can keep it apart; 2.9
    could not."""
    return {"isolate_recompiles": True} if "isolate_recompiles" in inspect.signature(torch.compile).parameters else {}


@contextlib.contextmanager
def _recording(recorder: Recorder, notes: list[str]) -> Iterator[None]:
    if not hasattr(torch.utils._python_dispatch.TorchDispatchMode, "ignore_compile_internals"):
        notes.append("what runs in Python between compiled graphs is not recorded with this PyTorch")
        yield
        return
    with recorder:
        yield


def _code_seen() -> list[Any]:
    """The code objects that dynamo has met so far."""
    from torch._dynamo import convert_frame
    return [reference() for reference in list(convert_frame.input_codes.seen)]


def _forget(seen: list[Any]) -> None:
    """Takes back the code that was compiled here for functions that graph breaks split; the user's compiled code
    stays."""
    from torch._C._dynamo.eval_frame import reset_code
    known = {id(code) for code in seen}
    for code in _code_seen():
        if code is not None and id(code) not in known:
            reset_code(code)
