"""Tells castscope, where the job runs under it, in which dtypes arguments arrive where an annotation protects them: of
functions that run in float32 or name arguments that are never cast. A report shows by that whether `rois` stayed as
it was.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch

from castscope import find
from castscope.arguments import all_tensors
from castscope.signatures import Rule

# The text and the bits of `detail` are those of kArgumentArrived in agent/lanes/definition_records.h; the numbers of
# the dtypes are PyTorch's (c10/core/ScalarType.h).
_arrived = find("castscope_arrived", None, ctypes.c_char_p, ctypes.c_int)
_NUMBERS = {torch.float16: 5, torch.float32: 6, torch.float64: 7, torch.bfloat16: 15}
_KEPT, _HELD_OFF, _CAST_TO, _NOT_CAST = 256, 512, 10, 63


def tell(rule: Rule, wanted: dict[str, torch.dtype], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Tells of a call whose arguments are about to be cast to the dtype `wanted` on each device with autocast on."""
    if _arrived is None or not rule.tells or not _protects(rule):
        return
    for position, value in enumerate(args):
        _tell(rule, wanted, position, rule.kept.position(position), value)
    for name, value in kwargs.items():
        _tell(rule, wanted, name, rule.kept.keyword(name), value)


def _protects(rule: Rule) -> bool:
    kept = rule.kept
    return rule.kind == "float" or bool(kept.positions or kept.names) or kept.rest_from is not None or \
        kept.others_than is not None


def _tell(rule: Rule, wanted: dict[str, torch.dtype], key: Any, kept: bool, value: Any) -> None:
    for tensor in all_tensors(value):
        number, to = _NUMBERS.get(tensor.dtype), wanted.get(tensor.device.type)
        if number is None or to is None:
            continue
        would_be_cast = tensor.dtype is not to and tensor.dtype is not torch.float64
        detail = number
        if kept:
            detail |= _KEPT | (_HELD_OFF if would_be_cast else 0)
        detail |= (_NUMBERS[to] if would_be_cast and not kept else _NOT_CAST) << _CAST_TO
        text = "\t".join((rule.name, rule.argument(key)[0] or str(key), rule.kind))
        _arrived(text.encode("utf-8", "replace"), detail)  # type: ignore[misc]
