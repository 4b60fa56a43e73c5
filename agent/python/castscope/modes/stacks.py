"""Finds where in the user's code an operator stands, from each source that knows it.

Python frames know it in eager; TorchScript's interpreter in a script; a traced node has the text of the Python stack at
trace time; a node of an FX graph (compile, export) has a `stack_trace`. Frames of PyTorch, of Python's own library and
of this package are left out, and the stack ends where this package called the user's code.
"""

from __future__ import annotations

import functools
import os
import re
import sys
import sysconfig
from collections.abc import Iterable
from types import CodeType, FrameType
from typing import Any, Callable

import torch

from castscope.modes.units import Line

Stack = tuple[Line, ...]

_PYTHON = tuple({os.path.join(path, "") for path in (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))})
_HERE = os.path.join(os.path.dirname(__file__), "")
_NOT_USERS = (os.path.join(os.path.dirname(torch.__file__), ""), os.path.join(os.path.dirname(_HERE[:-1]), ""))
_OF_PYTORCH = ("sympy", "mpmath")  # used by its compiler for symbols
_PACKAGES = ("site-packages", "dist-packages")

_callers: list[CodeType] = []  # functions of this package that call the user's code: a stack ends there


def calls_the_user(function: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function of this package: its callers are not part of any stack."""
    _callers.append(function.__code__)
    return function


@functools.cache
def is_users(file: str) -> bool:
    """Libraries on top of PyTorch are the user's as well: their lines say which layer it is."""
    if not file or file.startswith(("<", "??")) or file.startswith(_NOT_USERS) or _is_inductors(file):
        return False
    if any(f"{os.sep}{name}{os.sep}" in file for name in _OF_PYTORCH):
        return False
    in_python = file.startswith(_PYTHON) and not any(f"{os.sep}{name}{os.sep}" in file for name in _PACKAGES)
    return not in_python


def _is_inductors(file: str) -> bool:
    """Whether Inductor generated the file, in its cache: a folder of two letters of the file's hash
    (torch/_inductor/codecache.py, get_path)."""
    folder, name = os.path.split(file)
    return re.fullmatch(r"c[a-z2-7]{50,51}\.py", name) is not None and os.path.basename(folder) == name[1:3]


def users(lines: Iterable[Line]) -> Stack:
    return tuple(line for line in lines if is_users(line.file))


class ModuleNames:
    """The path of each module in a model, by the object."""

    def __init__(self, root: Any):
        named = root.named_modules() if isinstance(root, torch.nn.Module) else ()
        self.names: dict[int, str] = {id(module): name for name, module in named}

    def of(self, frame: FrameType) -> str | None:
        """The path of the module that this frame calls."""
        return self.names.get(id(frame.f_locals.get("self")))


_CALLS_MODULE = torch.nn.Module._call_impl.__code__


def python_stack(frame: FrameType | None, modules: ModuleNames | None = None) -> tuple[Stack, str]:
    """The user's lines from this frame outwards, and the innermost module that is being called."""
    lines: list[Line] = []
    module: str | None = None
    while frame is not None and frame.f_code not in _callers:
        code = frame.f_code
        if is_users(code.co_filename):
            lines.append(Line(code.co_filename, frame.f_lineno or 0, code.co_name))
        elif module is None and modules is not None and code is _CALLS_MODULE:
            module = modules.of(frame)
        frame = frame.f_back
    return tuple(lines), module or ""


# Frames between Python code and a dispatch mode, or between the mode and the operators that it takes apart.
_AROUND_OPERATORS = (_HERE, *(_NOT_USERS[0] + name for name in (
    "_ops.py", "_compile.py", os.path.join("_dynamo", "eval_frame.py"), os.path.join("utils", "_python_dispatch.py"))))


def is_called_by_script(frame: FrameType | None) -> bool:
    """Whether Python code that TorchScript's interpreter called runs this frame's operator: a function, or
    a module, PyTorch's own too. The interpreter itself is called by us, or by a scripted module."""
    while frame is not None and frame.f_code not in _callers and frame.f_code.co_filename.startswith(_AROUND_OPERATORS):
        frame = frame.f_back
    if frame is None or frame.f_code in _callers:
        return False
    return not (frame.f_code is _CALLS_MODULE and isinstance(frame.f_locals.get("self"), torch.jit.ScriptModule))


def script_frames() -> tuple[Line, ...]:
    """The frames that TorchScript's interpreter is in, innermost first; `??` where a node has no place (a cast of its
    autocast pass, the call of a traced module). Python frames are not among them."""
    from torch._C._profiler import gather_traceback, symbolize_tracebacks
    frames = symbolize_tracebacks([gather_traceback(python=False, script=True, cpp=False)])[0]
    return tuple(Line(frame["filename"], frame["line"], frame["name"])  # type: ignore[arg-type]
                 for frame in frames)


_FX_ROW = re.compile(r'File "([^"]+)", line (\d+)(?:, in (\S+))?')
_TRACE_ROW = re.compile(r"^(.+)\((\d+)\): (.+)$", re.MULTILINE)


def fx_stack(text: str | None) -> Stack:
    """The user's frames from a node's `stack_trace`, which is like a traceback: outermost first."""
    rows = [Line(file, int(line), name or "") for file, line, name in _FX_ROW.findall(text or "")]
    return users(reversed(rows))


def fx_module(nn_module_stack: Any) -> str:
    """The last path in a node's `nn_module_stack`. Dynamo writes `L['self'].encoder.layer[0]`, export
    `encoder.layer.0`."""
    if not nn_module_stack:
        return ""
    path = list(nn_module_stack.values())[-1][0]
    path = re.sub(r"^L\['\w+'\]\.?", "", path)
    path = re.sub(r"\[['\"]?(\w+)['\"]?\]", r".\1", path)
    return re.sub(r"\b_modules\.|getattr\(|L__\w+?__", "", path).strip(".")


def traced_stack(text: str) -> Stack:
    """The rows of a traced node's source range, `file(line): function`, innermost first, down to the caller of
    trace."""
    rows = [Line(file, int(line), name) for file, line, name in _TRACE_ROW.findall(text)]
    end = next((at for at, row in enumerate(rows) if row.file.startswith(_HERE)), len(rows))
    return users(rows[:end])


def traced_place(text: str) -> tuple[str, int]:
    """The place that the interpreter gives for a node with this range: its innermost row, PyTorch's own or not."""
    row = _TRACE_ROW.search(text) or _FX_ROW.search(text)
    return (row.group(1), int(row.group(2))) if row else ("", 0)


def caller(depth: int = 1) -> FrameType:
    return sys._getframe(depth + 1)
