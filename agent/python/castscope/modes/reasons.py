"""Why an operator computes in another dtype in a mode, where what was seen tells it.

Each sentence rests on facts of the two recordings (the dtypes that the inputs arrived in, who cast them), on the
autocast state around compare(), and on the source. Where those leave it open there is no reason: none is guessed.
"""

from __future__ import annotations

from typing import Dict

from castscope.modes import regions
from castscope.modes.units import Unit

# castInputsToWidestType of torch/csrc/jit/passes/autocast.cpp: all inputs of these are cast to float32 if the type of
# one says that it is float32, or says nothing.
_PROMOTED = frozenset("add sub mul div stack cat addcdiv addcmul atan2 bilinear cross dot index_put tensordot".split())

_WIDTH = {"float8_e4m3fn": 1, "float8_e5m2": 1, "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}


def reason(mode: str, eager: Unit, other: Unit, ambient: Dict[str, str]) -> str:
    """In words; empty where it is not known."""
    if mode in ("script", "trace"):
        return _script_reason(mode, eager, other, ambient)
    if mode == "export":
        return _export_reason(eager, other, ambient)
    return ""


def _script_reason(mode: str, eager: Unit, other: Unit, ambient: Dict[str, str]) -> str:
    narrower = _narrower(other, eager)
    region = regions.innermost(eager.stack)
    if narrower and region is not None and region.enabled is False and other.input_dtypes != other.arrived:
        kept = "a trace does not keep it" if mode == "trace" else "the region around the script stays on inside of it"
        return f"autocast is off here, by {region}: {kept}"
    if other.caster != "script":
        cast = eager.input_dtypes != eager.arrived and eager.caster == ""
        if cast and other.input_dtypes == other.arrived and other.operator == eager.operator:
            return f"eager's autocast casts its inputs; TorchScript's autocast pass adds no cast to {other.operator}"
        return ""
    to = _names(other)
    if not narrower and other.operator in _PROMOTED:
        return (f"TorchScript's autocast pass promotes {other.operator} to {to} where it cannot rule out that an "
                "argument is float32")
    left = eager.input_dtypes == eager.arrived
    return (f"TorchScript's autocast pass has lists of its own: it casts {other.operator} to {to}; eager's autocast "
            + ("leaves it as it comes" if left else f"casts it to {_names(eager)}"))


def _export_reason(eager: Unit, other: Unit, ambient: Dict[str, str]) -> str:
    region = regions.innermost(eager.stack)
    eager_cast = eager.input_dtypes != eager.arrived or eager.output_dtype not in eager.arrived
    if ambient and region is None and eager_cast and other.input_dtypes == other.arrived:
        return "the autocast region around the call is no part of an exported program, which is run outside of it"
    return ""


def _narrower(left: Unit, right: Unit) -> bool:
    return _width(left) < _width(right)


def _width(unit: Unit) -> int:
    return min((_WIDTH.get(dtype, 0) for dtype in unit.input_dtypes), default=0)


def _names(unit: Unit) -> str:
    return ", ".join(dict.fromkeys(unit.input_dtypes))
