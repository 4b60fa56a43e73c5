"""Why an operator computes in another dtype in a mode, as far as the recordings tell.

Each sentence rests on facts of the two recordings (the dtypes that the inputs arrived in, who cast them), on the
autocast state around compare(), and on the source. If those leave it open, no reason is given: nothing is guessed.
"""

from __future__ import annotations

from castscope.modes import regions
from castscope.modes.graph_nodes import name_of, pass_casts, pass_promotes
from castscope.modes.units import Unit

_WIDTH = {"float8_e4m3fn": 1, "float8_e5m2": 1, "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}


def reason(mode: str, eager: Unit, other: Unit, ambient: dict[str, str]) -> str:
    """In words; empty where it is not known."""
    if mode in ("script", "trace"):
        return _script_reason(mode, eager, other, ambient)
    if mode == "export":
        return _export_reason(eager, other, ambient)
    return ""


def _script_reason(mode: str, eager: Unit, other: Unit, ambient: dict[str, str]) -> str:
    region = regions.innermost(eager.stack)
    if other.beyond == "python":
        return _python_otherwise(mode, region)
    narrower = _narrower(other, eager)
    lost = region is not None and region.enabled is False and (mode == "trace" or bool(ambient))
    if narrower and lost and other.input_dtypes != other.arrived:
        kept = "a trace does not keep it" if mode == "trace" else "the region around the script stays on inside of it"
        return f"autocast is off here, by {region}: {kept}"
    if other.caster == "script":
        return _pass_casts_otherwise(narrower, eager, other)
    if eager.input_dtypes != eager.arrived and eager.caster == "" and other.input_dtypes == other.arrived:
        if mode == "trace" and not ambient and region is not None and region.enabled:
            return (f"the region, {region}, is not in the trace, and code that was scripted or traced before is "
                    "recorded without the casts that it makes there")
        return _pass_casts_nothing(region, other)
    return ""


def _python_otherwise(mode: str, region: regions.Region | None) -> str:
    """The same Python code with the same values: nothing but the autocast state around it differs. The code's own casts
    (`x.float()`) are among those of its inputs, so that these tell nothing."""
    if mode == "script" and region is not None and region.decorates:
        return _dropped(region)
    around = "a region that was traced" if mode == "trace" else "the region of a script"
    return f"it is called as Python here (code that is not scripted), which {around} does not reach"


def _dropped(region: regions.Region) -> str:
    return f"the region is a decorator, {region}, which torch.jit.script drops"


def _pass_casts_otherwise(narrower: bool, eager: Unit, other: Unit) -> str:
    to = _names(other)
    operator = _of_graph(other) if other.node else "what it is given"  # it may be one part of several here
    if not narrower and other.node and pass_promotes(other.node):
        return (f"TorchScript's autocast pass promotes {operator} to {to} where it cannot rule out that an "
                "argument is float32")
    left = eager.input_dtypes == eager.arrived
    return (f"TorchScript's autocast pass has lists of its own: it casts {operator} to {to}; eager's autocast "
            + ("leaves it as it comes" if left else f"casts it to {_names(eager)}"))


def _pass_casts_nothing(region: regions.Region | None, other: Unit) -> str:
    """Where eager's autocast casts, and the script computes with the dtypes that came. Nothing is said of an operator
    that the pass knows and still did not cast."""
    if other.beyond == "off":
        return "TorchScript's autocast pass is switched off (torch._C._jit_set_autocast_mode(False))"
    if other.beyond == "no region":
        return _dropped(region) if region is not None and region.decorates else ""
    if not other.node or pass_casts(other.node) is not False:
        return ""
    return f"eager's autocast casts its inputs; TorchScript's autocast pass adds no cast to {_of_graph(other)}"


def _of_graph(unit: Unit) -> str:
    return name_of(unit.node).split("::")[-1]


def _export_reason(eager: Unit, other: Unit, ambient: dict[str, str]) -> str:
    region = regions.innermost(eager.stack)
    eager_cast = eager.input_dtypes != eager.arrived or eager.output_dtype not in eager.arrived
    if ambient and region is None and eager_cast and other.input_dtypes == other.arrived:
        return "the autocast region around the call is not part of an exported program, which is run outside of it"
    return ""


def _narrower(left: Unit, right: Unit) -> bool:
    return _width(left) < _width(right)


def _width(unit: Unit) -> int:
    return min((_WIDTH.get(dtype, 0) for dtype in unit.input_dtypes), default=0)


def _names(unit: Unit) -> str:
    return ", ".join(dict.fromkeys(unit.input_dtypes))
