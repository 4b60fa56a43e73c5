"""torch.jit.trace: made outside of the caller's autocast region, run in it.

A trace that is made in a region keeps the casts of eager autocast as operators, and cannot be made there at all of a
module whose weights need gradients, unless the cache is off: "Cannot insert a Tensor that requires grad as a constant"
(PyTorch 2.13). Regions inside of the function are traced as they are, but the trace loses those that switch
autocast off: the comparison is there to show that.
"""

from __future__ import annotations

import bisect
import itertools
import re
from typing import Any, Callable

import torch

from castscope.modes import arguments as inputs
from castscope.modes.arguments import Arguments
from castscope.modes.graph_nodes import is_made_of_others, operators, pass_is_on
from castscope.modes.recorder import Place, is_unit
from castscope.modes.recording import Options, Program
from castscope.modes.scripted import SCRIPTED, script_program
from castscope.modes.stacks import calls_the_user, traced_place, traced_stack, users
from castscope.modes.state import outside_autocast
from castscope.modes.units import Line, operator_name

# Nodes at one place are in a row if only this stands between them: views, which may have been dropped.
_IN_A_ROW = 4


def prepare(function: Callable[..., Any], arguments: Arguments, options: Options, notes: list[str]) -> Program:
    if isinstance(function, SCRIPTED):
        raise TypeError("it is TorchScript already: give the Python function or module to have it traced")
    positional = inputs.positional(function, arguments)
    with outside_autocast():
        traced = _traced(function, positional, notes)
    nodes = TracedNodes(traced)
    program = script_program(traced, nodes.where)
    inner = program.run
    program.run = lambda recorder, given: inner(recorder, Arguments(inputs.positional(function, given)))
    return program


@calls_the_user
def _traced(function: Callable[..., Any], positional: tuple[Any, ...], notes: list[str]) -> Any:
    """Traces without PyTorch's own check, which runs the function twice more and compares outputs: that is done
    here."""
    try:
        return torch.jit.trace(function, positional, check_trace=False)
    except RuntimeError as error:
        if "strict=False" not in str(error):
            raise
    notes.append("traced with strict=False: torch.jit.trace asks for it where a dict or list comes out")
    return torch.jit.trace(function, positional, check_trace=False, strict=False)


class TracedNodes:
    """Finds the node that is run from what the interpreter tells, which is only the innermost place.

    A trace is a straight line: its nodes run in their order, without those that were found dead or common. So the node
    is the next one at this place that is the operator, or that may be made of it. If several nodes of the latter kind
    follow each other (each `linear` is at the same line of PyTorch), the next one begins where the operator recurs with
    which the one before began.
    """

    def __init__(self, traced: Any):
        nodes = list(operators(_what_is_run(traced)))
        ranges = [str(node.sourceRange()) for node in nodes]
        self.stacks = [traced_stack(text) for text in ranges]
        self.modules = [_module(node.scopeName()) for node in nodes]
        self.places = [traced_place(text) for text in ranges]
        self.operators = [operator_name(node.kind()) for node in nodes]
        self.schemas = [node.schema() for node in nodes]
        self.pass_is_on = pass_is_on()
        self.made_of_others = [is_made_of_others(node.schema()) for node in nodes]
        self.positions: dict[tuple[str, int], list[int]] = {}
        for at, place in enumerate(self.places):
            self.positions.setdefault(place, []).append(at)
        self.at = -1
        self.first = ""  # the operator that the present node began with
        self.done = False  # whether its own operator has run: batch_norm makes room before

    def where(self, func: Any, frames: tuple[Line, ...]) -> Place:
        if not frames or frames[0].file == "??":  # a cast of the autocast pass, before its node
            return Place((), "")
        name = operator_name(func._schema.name)
        unit = name if is_unit(func) else ""
        at = self._next((frames[0].file, frames[0].line), name, unit)
        if at is None:
            return Place(users(frames), "")  # TorchScript code that the trace calls
        if at != self.at:
            self.at, self.first, self.done = at, "", False
        self.first = self.first or unit
        self.done = self.done or name == self.operators[at]
        beyond = "" if self.pass_is_on else "off"
        return Place(self.stacks[at], self.modules[at], node=self.schemas[at], beyond=beyond)

    def _next(self, place: tuple[str, int], name: str, unit: str) -> int | None:
        known = self.positions.get(place, [])
        after = bisect.bisect_right(known, self.at)
        following = known[after] if after < len(known) else None
        if self.at < 0 or self.places[self.at] != place:
            return self._fitting(known, after, name, following)
        if self.operators[self.at] == name and not self.done:
            return self.at
        if following is not None and self.operators[following] == name:
            return following
        if self.made_of_others[self.at]:
            again = bool(unit) and unit == self.first
            return following if again and following is not None and following - self.at <= _IN_A_ROW else self.at
        return self._fitting(known, after, name, self.at)

    def _fitting(self, known: list[int], after: int, name: str, otherwise: int | None) -> int | None:
        return next((at for at in itertools.islice(known, after, None)
                     if self.operators[at] == name or self.made_of_others[at]), otherwise)


def _what_is_run(traced: Any) -> Any:
    """A copy of the graph, without the nodes that TorchScript's executor drops before it runs it."""
    graph = traced.inlined_graph
    if torch._C._get_graph_executor_optimize():
        torch._C._jit_pass_dce(graph)
        torch._C._jit_pass_cse(graph)
    return graph


def _module(scope: str) -> str:
    """`__module.encoder/__module.encoder.layer.0` → `encoder.layer.0`."""
    return re.sub(r"^__module\.?", "", scope.split("/")[-1]) if "__module" in scope else ""
