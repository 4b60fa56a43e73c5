"""Why a function cannot be had in a mode: the mode's own words, and the user's line that they are about."""

from __future__ import annotations

import dataclasses
import inspect
import linecache
import re
import traceback
import types
from collections.abc import Iterator
from typing import Any

from castscope.modes.stacks import is_users
from castscope.modes.units import Line


@dataclasses.dataclass(frozen=True)
class ModeError:
    """`text` is all that the mode said, `summary` its essence; `line` is the user's, with its `code`."""
    kind: str
    text: str
    summary: str
    line: Line | None
    code: str = ""


_PLACE = re.compile(r'File "([^"]+)", line (\d+)(?:, in (\S+))?')
_USERS_CODE = ("from user code:", "The following call raised this error:", "User code traceback:")
_OF_INTERPRETER = "Traceback of TorchScript"
_MOST = 240  # characters of a summary: three lines of a terminal


def mode_error(mode: str, error: BaseException, function: Any = None) -> ModeError:
    """`function` was to run in the mode: its definition is named if nothing closer is known. Code that knows the line
    of an error that names none has set it as `castscope_line`."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip() or type(error).__name__
    line = line_in_text(text) or getattr(error, "castscope_line", None)
    subject = ""
    if line is None and mode == "script":
        line, subject = _scripted(error)
    line = line or _line_in_traceback(error) or _definition(function)
    summary = _summary(text) or type(error).__name__
    if subject:
        summary = f"{subject}: {summary}"
    return ModeError(mode, f"{type(error).__name__}: {text}", summary, line,
                     linecache.getline(line.file, line.line).strip() if line else "")


def users_place(error: BaseException) -> str:
    """" (train.py:12)": where in the user's code it was raised; "" where that is not known."""
    line = _line_in_traceback(error)
    return f" ({line.file}:{line.line})" if line else ""


def line_in_text(text: str) -> Line | None:
    """TorchScript's compiler writes the place first and its callers after it; its interpreter, dynamo and export have a
    traceback of the user's code, outermost first."""
    for heading in _USERS_CODE:
        if heading in text:
            rows = _places(text[text.index(heading):])
            return rows[-1] if rows else None
    rows = _places(text)
    if not rows:
        return None
    return rows[-1] if _OF_INTERPRETER in text else rows[0]


def _places(text: str) -> list[Line]:
    return [Line(file, int(line), name) for file, line, name in _PLACE.findall(text) if is_users(file)]


def _line_in_traceback(error: BaseException | None) -> Line | None:
    """The innermost frame of the user's that the error, or its cause, passed through."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if is_users(frame.filename):
                return Line(frame.filename, frame.lineno or 0, frame.name)
        error = error.__cause__ or error.__context__
    return None


def _scripted(error: BaseException) -> tuple[Line | None, str]:
    """Some errors of torch.jit.script name no place. Its frames know what it was working on: an attribute of a module
    (torch/jit/_recursive.py, infer_type), or a function."""
    for frame in _frames(error):
        known = frame.f_locals
        if frame.f_code.co_name == "infer_type" and isinstance(known.get("name"), str):
            module = frame.f_back.f_locals.get("nn_module") if frame.f_back else None
            return (_attribute(type(module), known["name"]),
                    f"the attribute {known['name']!r} of {type(module).__name__}, "
                    f"which is of class {type(known.get('item')).__name__}")
        for name in ("fn", "obj", "py_class"):
            line = _definition(known.get(name))
            if line is not None:
                return line, ""
    return None, ""


def _frames(error: BaseException) -> Iterator[types.FrameType]:
    """Innermost first."""
    yield from reversed([frame for frame, _ in traceback.walk_tb(error.__traceback__)])


def _attribute(owner: type, name: str) -> Line | None:
    """The place where a class, or one of its base classes, declares or sets the attribute."""
    pattern = re.compile(rf"^\s+(self\.)?{re.escape(name)}\s*(:|=[^=])")
    for cls in owner.__mro__:
        try:
            source, first = inspect.getsourcelines(cls)
            file = inspect.getsourcefile(cls) or ""
        except (OSError, TypeError):
            continue
        for number, row in enumerate(source):
            if pattern.match(row) and is_users(file):
                return Line(file, first + number, cls.__name__)
    return None


def _definition(function: Any) -> Line | None:
    """The place of a function, a method, or a module's forward; for a decorator's wrapper, of the wrapped function."""
    forward = getattr(type(function), "forward", None)
    function = forward if forward is not None and not isinstance(function, type) else function
    if isinstance(function, types.MethodType):
        function = function.__func__
    if not isinstance(function, types.FunctionType):
        return None
    code = inspect.unwrap(function).__code__
    if not is_users(code.co_filename):
        return None
    number = code.co_firstlineno  # line of its first decorator, if it has one
    while linecache.getline(code.co_filename, number).lstrip().startswith("@"):
        number += 1
    return Line(code.co_filename, number, code.co_name)


def _summary(text: str) -> str:
    """The text up to the first excerpt of source, the hints or an empty line; for an error in TorchScript's
    interpreter, the error that was raised there, which stands behind its traceback."""
    if _OF_INTERPRETER in text:
        text = text[text.rindex("<--- HERE") + len("<--- HERE"):] if "<--- HERE" in text else text
        raised = re.search(r"^(\w+(?:Error|Exception): .+)", text, re.MULTILINE | re.DOTALL)
        text = raised[1] if raised else text
    text = re.sub(r"\b(tensor|Parameter containing:\s*tensor)\(\[[^()]*\)", "tensor(…)", text)  # drop its values
    head = re.split(r':?\s*\n\s*File "|\n\s*\n|\n  (?:Explanation|Hint)|\nTensor:|\. This could be because', text)[0]
    head = re.sub(r" at 0x[0-9a-f]+>", ">", " ".join(head.split())).rstrip(".")
    return head if len(head) <= _MOST else _without_middle(head)


def _without_middle(text: str) -> str:
    """PyTorch writes the operands first, and the reason last."""
    half = _MOST // 2
    return f"{text[:half].rsplit(' ', 1)[0]} … {text[-half:].split(' ', 1)[-1]}"
