"""Finds where a script uses autocast in a way that TorchScript refuses when it is called: its error names no place.

The pass (torch/csrc/jit/passes/autocast.cpp, parseAutocast) takes objects that are made where they are entered, with
`_enabled` and `device` as constants, and entered without `as`.
"""

from __future__ import annotations

from typing import Any

from castscope.modes.errors import line_in_text
from castscope.modes.units import Line

_MUST_BE_CONSTANT = ("_enabled", "device")


def refused_line(program: Any, error: BaseException) -> Line | None:
    """The line in a script that raised `error` when it was called; None if that is not about autocast, or not known."""
    if "autocast" not in str(error).lower():
        return None
    graph = program.inlined_graph
    objects = [node for node in graph.findAllNodes("prim::CreateObject")
               if str(node.outputsAt(0).type()).endswith("autocast_mode.autocast")]
    if "Unsafe to autocast" in str(error):
        nodes = graph.findAllNodes("aten::binary_cross_entropy") + [
            node for node in program.graph.findAllNodes("prim::CallFunction")
            if "binary_cross_entropy" in str(node.inputsAt(0).type())]
    else:
        nodes = [node for node in objects if _is_refused(node)] or (objects if len(objects) == 1 else [])
    lines = [line_in_text(node.sourceRange()) for node in nodes]
    return next((line for line in lines if line is not None), None)


def _is_refused(made: Any) -> bool:
    users: list[Any] = [use.user for use in made.outputsAt(0).uses()]
    return any(
        (user.kind() == "prim::SetAttr" and user.s("name") in _MUST_BE_CONSTANT
         and user.inputsAt(1).node().kind() != "prim::Constant")
        or (user.kind() == "prim::Enter" and user.outputsAt(0).uses())
        for user in users)
