"""A comparison for programs: `castscope-comparison/1`, described in docs/decisions/comparison.md."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from castscope.modes.units import Line, Unit

if TYPE_CHECKING:
    from castscope.modes.comparison import Comparison, Row
    from castscope.modes.errors import ModeError
    from castscope.modes.values import OutputError


def as_json(comparison: Comparison) -> dict[str, Any]:
    from castscope.modes.comparison import FORMAT
    return {
        "format": FORMAT,
        "name": comparison.name,
        "torch": comparison.torch,
        "autocast": dict(comparison.ambient),
        "same_precision": comparison.same_precision,
        "same_values": comparison.same_values,
        "modes": [_mode(comparison, mode) for mode in comparison.modes],
        "operators": [_row(row) for row in comparison.rows],
    }


def _mode(comparison: Comparison, mode: str) -> dict[str, Any]:
    error = comparison.errors.get(mode)
    found: dict[str, Any] = {"mode": mode, "error": _error(error) if error else None,
                             "notes": comparison.notes.get(mode, [])}
    if mode in comparison.compared:
        at = {id(row): number for number, row in enumerate(comparison.rows)}
        found.update({
            "same": comparison.agreeing(mode),
            "differences": [{"operator": at[id(row)], "reason": row.cells[mode].reason or None,
                             "followers": [at[id(follower)] for follower in comparison.followers(mode, row)]}
                            for row in comparison.differences(mode)],
            "not_comparable": [at[id(row)] for row in comparison.not_comparable(mode)],
            "outputs": [_output(output) for output in comparison.outputs.get(mode, [])],
        })
    return found


def _row(row: Row) -> dict[str, Any]:
    cells = {mode: {"verdict": cell.verdict, **(_computed(cell.unit) if cell.unit else {})}
             for mode, cell in row.cells.items()}
    if row.eager:
        cells = {"eager": {"verdict": "reference", **_computed(row.eager)}, **cells}
    return {"operator": row.unit.operator, "module": row.unit.module, "line": _line(row.unit.line),
            "stack": [_line(line) for line in row.unit.stack], "modes": cells}


def _computed(unit: Unit) -> dict[str, Any]:
    return {"overload": unit.overload, "inputs": list(unit.input_dtypes), "arrived": list(unit.arrived),
            "output": unit.output_dtype, "shapes": [list(shape) for shape in unit.shapes], "line": _line(unit.line)}


def _line(line: Line | None) -> dict[str, Any] | None:
    return {"file": line.file, "line": line.line, "function": line.function} if line else None


def _error(error: ModeError) -> dict[str, Any]:
    return {"summary": error.summary, "text": error.text, "line": _line(error.line), "code": error.code or None}


def _output(output: OutputError) -> dict[str, Any]:
    return {"name": output.name, "dtype": output.dtype, "eager_dtype": output.eager_dtype, "close": output.close,
            "max_abs": _finite(output.max_abs), "max_rel": _finite(output.max_rel), "not_finite": output.not_finite,
            "problem": output.problem or None}


def _finite(value: float | None) -> float | None:
    """JSON has no infinity."""
    return value if value is not None and math.isfinite(value) else None
