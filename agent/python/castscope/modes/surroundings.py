"""Keeps surroundings the same around a recording: inference mode, warnings, PyTorch's log."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from castscope.modes.stacks import is_users

_IN_ITS_PLACE = "run under torch.no_grad() in place of torch.inference_mode()"


@contextlib.contextmanager
def plain_inference(notes: list[str]) -> Iterator[None]:
    """Replaces inference mode, around the function or inside of it, by no_grad, which computes the same.

    In inference mode, operators that are made of others reach a dispatch mode whole, with autocast behind them: their
    parts would not be cast, which makes einsum fail (PyTorch 2.13).
    """
    real = torch.inference_mode.__enter__

    def enter(self: Any) -> None:
        if not self.mode:  # then dynamo does it
            real(self)
            return
        _add(notes)
        self._inference_mode_context = torch.no_grad()
        self._inference_mode_context.__enter__()

    torch.inference_mode.__enter__ = enter  # type: ignore[method-assign]
    try:
        if not torch.is_inference_mode_enabled():
            yield
            return
        _add(notes)
        with torch.inference_mode(False), torch.no_grad():
            yield
    finally:
        torch.inference_mode.__enter__ = real  # type: ignore[method-assign]


def _add(notes: list[str]) -> None:
    if _IN_ITS_PLACE not in notes:
        notes.append(_IN_ITS_PLACE)


@contextlib.contextmanager
def quiet(notes: list[str]) -> Iterator[None]:
    """The tracer's warnings are part of the result. Other warnings would come once for each mode; and the error has
    what the compilers log about it. A user who asks for logs (TORCH_LOGS) gets them."""
    with warnings.catch_warnings(record=True) as caught, _no_log():
        warnings.simplefilter("always")
        yield
    for warning in caught:
        tracers = issubclass(warning.category, torch.jit.TracerWarning)  # type: ignore[attr-defined]
        if tracers and is_users(warning.filename):
            text = f"{str(warning.message).split('. ')[0].strip()} ({warning.filename}:{warning.lineno})"
            if text not in notes:
                notes.append(text)


@contextlib.contextmanager
def _no_log() -> Iterator[None]:
    handlers = [] if "TORCH_LOGS" in os.environ else [
        handler for name, logger in list(logging.root.manager.loggerDict.items())
        if name.split(".")[0] == "torch" and name != "torch.__trace" and isinstance(logger, logging.Logger)
        for handler in logger.handlers if type(handler) is logging.StreamHandler]
    for handler in handlers:
        handler.addFilter(_nothing)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(_nothing)


def _nothing(record: logging.LogRecord) -> bool:
    return False
