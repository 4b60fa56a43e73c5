"""The operators of a TorchScript graph: where they stand, and whether its autocast pass casts their arguments.

A dispatch mode may see only a part of one of them: `einsum` is `bmm`, `conv_transpose2d` is `convolution`. The pass
knows the operators of the graph, not their parts.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch

from castscope.modes.recorder import is_composite
from castscope.modes.stacks import traced_place
from castscope.modes.units import Line, operator_name

_PASS_CASTS = ("aten::_autocast_to_reduced_precision", "aten::_autocast_to_full_precision")
_BANNED = "aten::binary_cross_entropy"  # the pass raises


class GraphNodes:
    """The nodes of a scripted program, by their places; empty if it has no graph."""

    def __init__(self, program: Any):
        graph = getattr(program, "inlined_graph", None)
        self.enters_autocast = graph is not None and any(
            str(node.outputsAt(0).type()).endswith("autocast_mode.autocast")
            for node in graph.findAllNodes("prim::CreateObject"))
        self._schemas: dict[tuple[str, int], list[str]] = {}
        for node in operators(graph) if graph is not None else ():
            known = self._schemas.setdefault(traced_place(str(node.sourceRange())), [])
            if node.schema() not in known:
                known.append(node.schema())

    def schema_at(self, frames: tuple[Line, ...], func: Any) -> str:
        """The node that the interpreter is at, while it runs this operator; empty where it may be one of several."""
        known = self._schemas.get((frames[0].file, frames[0].line), []) if frames else []
        name = operator_name(func._schema.name)
        itself = [schema for schema in known if operator_name(name_of(schema)) == name]
        fitting = itself[:1] or [schema for schema in known if is_made_of_others(schema)]
        return fitting[0] if len(fitting) == 1 else ""


def name_of(schema: str) -> str:
    """`aten::conv2d` of `aten::conv2d.padding(…)`."""
    return schema.split("(")[0].split(".")[0]


def operators(graph: Any) -> Iterator[Any]:
    for node in graph.nodes():
        for block in node.blocks():
            yield from operators(block)
        if not node.kind().startswith("prim::"):
            yield node


@functools.cache
def is_made_of_others(schema: str) -> bool:
    """Whether a dispatch mode sees other operators in its place: `linear` is `addmm`."""
    namespace, _, name = schema.split("(")[0].partition("::")
    packet, _, overload = name.partition(".")
    try:
        return is_composite(getattr(getattr(getattr(torch.ops, namespace), packet), overload or "default"))
    except (AttributeError, RuntimeError):  # TorchScript's own: aten::Int, aten::ScalarImplicit
        return False


def pass_is_on() -> bool:
    """torch._C._jit_set_autocast_mode gives back what was set before."""
    on = bool(torch._C._jit_set_autocast_mode(True))
    torch._C._jit_set_autocast_mode(on)
    return on


@functools.cache
def pass_casts(schema: str, known_dtype: torch.dtype | None = None) -> bool | None:
    """Whether the pass casts tensor arguments of this operator, if it knows their dtype, or not: the pass runs on a
    graph of that operator alone. None where such a graph cannot be made."""
    if name_of(schema) == _BANNED:
        return None
    on = torch._C._jit_set_autocast_mode(True)
    try:
        graph = _graph_of(torch._C.parse_schema(schema), known_dtype)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            torch._C._jit_pass_autocast(graph)  # type: ignore[attr-defined]
    except (AttributeError, RuntimeError):
        return None
    finally:
        torch._C._jit_set_autocast_mode(on)
    return any(node.kind() in _PASS_CASTS for node in graph.nodes())


def pass_promotes(schema: str) -> bool:
    """Whether it only casts because it does not know the dtypes: to the widest of them, which may be float32."""
    return pass_casts(schema) is True and pass_casts(schema, torch.bfloat16) is False


def _graph_of(schema: Any, known_dtype: torch.dtype | None) -> Any:
    """Arguments that may be None are None: an operator that is told its dtype is left alone."""
    graph = torch._C.Graph()
    given = [graph.addInput() for _ in schema.arguments]
    for value, argument in zip(given, schema.arguments):
        optional = isinstance(argument.type, torch._C.OptionalType)
        value.setType(torch._C.NoneType.get() if optional else argument.type)
        if known_dtype is not None and isinstance(argument.type, torch._C.TensorType):
            value.inferTypeFrom(torch.empty(1, dtype=known_dtype))
    graph.registerOutput(graph.insertNode(graph.create(schema.name, given, 1)).outputsAt(0))
    return graph
