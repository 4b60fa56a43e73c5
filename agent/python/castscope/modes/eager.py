"""The reference: the function as Python runs it."""

from __future__ import annotations

from typing import Any, Callable

import torch

from castscope.modes.arguments import Arguments
from castscope.modes.recorder import Recorder
from castscope.modes.recording import Options, Program, call
from castscope.modes.stacks import Stack, caller, python_stack


def prepare(function: Callable[..., Any], arguments: Arguments, options: Options, notes: list[str]) -> Program:
    def where(func: Any) -> tuple[Stack, str, str]:
        stack, module = python_stack(caller(), options.modules)
        return stack, module, ""

    def run(recorder: Recorder, given: Arguments) -> Any:
        with torch.compiler.set_stance("force_eager"), recorder:  # code that the user has compiled inside is eager here
            return call(function, given)
    return Program(run, Recorder(where))
