"""An interpreter of FX graphs that announces each node: a recorder below it learns the line and the module."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from castscope.modes.recorder import Position
from castscope.modes.stacks import fx_module, fx_stack


class Announcing(torch.fx.Interpreter):
    """Goes into the graphs of autocast and grad mode regions (export keeps those as higher-order operators)."""

    def __init__(self, graph: torch.fx.GraphModule, position: Position):
        super().__init__(graph)
        self.position = position

    def run_node(self, n: torch.fx.Node) -> Any:
        with self._at(n):
            return super().run_node(n)

    @contextlib.contextmanager
    def _at(self, node: torch.fx.Node) -> Iterator[None]:
        before = self.position.stack, self.position.module
        stack = fx_stack(node.meta.get("stack_trace"))
        self.position.stack = stack or before[0]
        self.position.module = fx_module(node.meta.get("nn_module_stack")) or before[1]
        try:
            yield
        finally:
            self.position.stack, self.position.module = before

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = getattr(target, "__name__", "")
        if isinstance(target, torch._ops.HigherOrderOperator):
            if name == "wrap_with_autocast":
                device, dtype, enabled, cache, graph, *rest = args
                with torch.autocast(device, dtype=dtype, enabled=enabled, cache_enabled=cache):
                    return self._inside(graph, rest)
            if name == "wrap_with_set_grad_enabled":
                with torch.set_grad_enabled(args[0]):
                    return self._inside(args[1], args[2:])
            if name in ("tag_activation_checkpoint", "wrap_activation_checkpoint", "wrap"):
                return self._inside(args[0], args[1:])
        if name == "_enter_inference_mode":  # as surroundings.py does elsewhere
            region = torch.no_grad() if args[0] else contextlib.nullcontext()
            region.__enter__()
            return region
        return super().call_function(target, args, kwargs)

    def _inside(self, graph: Any, args: Any) -> Any:
        if isinstance(graph, torch.fx.GraphModule):
            return Announcing(graph, self.position).run(*args)
        return graph(*args)
