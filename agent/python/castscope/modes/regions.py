"""The autocast regions that stand around a line in the source.

A trace keeps no region, and a dispatch mode is too deep to see whether autocast is on: the source tells.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import linecache
from collections.abc import Iterator

from castscope.modes.units import Line


@dataclasses.dataclass(frozen=True)
class Region:
    """`enabled` is None if it is not written as a constant."""
    file: str
    line: int
    enabled: bool | None
    decorates: bool = False

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def innermost(stack: tuple[Line, ...]) -> Region | None:
    """The region that decides: the innermost one around the line, else around the call of its function, and so on."""
    for place in stack:
        around = [found for found in _regions(place.file) if found[0] <= place.line <= found[1]]
        if around:
            return max(around, key=lambda found: found[0])[2]
    return None


@functools.cache
def _regions(file: str) -> tuple[tuple[int, int, Region], ...]:
    """First and last line of each body, with its region."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return ()
    return tuple(_found(tree, file))


def _found(tree: ast.AST, file: str) -> Iterator[tuple[int, int, Region]]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.With, ast.AsyncWith)):
            calls, last = [item.context_expr for item in node.items], node.body[-1].end_lineno
            first, decorates = node.body[0].lineno, False
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            calls, last, first = node.decorator_list, node.end_lineno, node.body[0].lineno
            decorates = True
        else:
            continue
        for call in calls:
            if isinstance(call, ast.Call) and _name(call.func) == "autocast":
                yield first, last or first, Region(file, call.lineno, _enabled(call), decorates)


def _name(expression: ast.expr) -> str:
    return expression.attr if isinstance(expression, ast.Attribute) else getattr(expression, "id", "")


def _enabled(call: ast.Call) -> bool | None:
    """autocast's `enabled` is the third argument; for torch.cuda.amp.autocast it is the first, which is a bool."""
    given = next((keyword.value for keyword in call.keywords if keyword.arg == "enabled"), None)
    if given is None and call.args and isinstance(getattr(call.args[0], "value", None), bool):
        given = call.args[0]
    if given is None and len(call.args) > 2:
        given = call.args[2]
    if given is None:
        return True
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, bool) else None
