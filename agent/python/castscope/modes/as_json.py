"""Comparisons for programs, as docs/compare.schema.json describes them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from castscope.modes.units import Line, Unit

if TYPE_CHECKING:
    from castscope.modes.comparison import Comparison, Row
    from castscope.modes.errors import ModeError
    from castscope.modes.values import OutputError


FORMAT, FORMAT_MINOR = 2, 0  # docs/decisions/names.md says when they grow


def document(comparisons: Iterable[Comparison]) -> dict[str, Any]:
    return {"document": "compare", "format": FORMAT, "format_minor": FORMAT_MINOR,
            "comparisons": [_comparison(comparison) for comparison in comparisons]}


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "compared_function": comparison.name,
        "torch_version": comparison.torch,
        "ambient_dtypes": dict(comparison.ambient),
        "operators_seen": comparison.observed,
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
            "same_count": comparison.agreeing(mode),
            "differences": [{"row": at[id(row)], "reason": row.cells[mode].reason or None,
                             "follower_rows": [at[id(follower)] for follower in comparison.followers(mode, row)]}
                            for row in comparison.differences(mode)],
            "not_comparable_rows": [at[id(row)] for row in comparison.not_comparable(mode)],
            "outputs": [_output(output) for output in comparison.outputs.get(mode, [])],
        })
    return found


def _row(row: Row) -> dict[str, Any]:
    cells = {mode: {"verdict": cell.verdict, **(_computed(cell.unit) if cell.unit else {})}
             for mode, cell in row.cells.items()}
    if row.eager:
        cells = {"eager": {"verdict": "reference", **_computed(row.eager)}, **cells}
    return {"shared_operator": row.unit.operator, "module": row.unit.module, "location": _location(row.unit.line),
            "frames": [_location(line) for line in row.unit.stack], "by_mode": cells}


def _computed(unit: Unit) -> dict[str, Any]:
    return {"overload": unit.overload, "input_dtypes": list(unit.input_dtypes), "made_in_dtypes": list(unit.arrived),
            "result_dtype": unit.output_dtype, "input_shapes": [list(shape) for shape in unit.shapes],
            "location": _location(unit.line)}


def _location(line: Line | None) -> dict[str, Any]:
    if line is None:
        return {"file": None, "line": None, "function": None}
    return {"file": line.file, "line": line.line or None, "function": line.function}


def _error(error: ModeError) -> dict[str, Any]:
    return {"error_summary": error.summary, "error_text": error.text, "location": _location(error.line),
            "error_line": error.code or None}


def _output(output: OutputError) -> dict[str, Any]:
    return {"output_name": output.name, "output_dtype": output.dtype, "eager_output_dtype": output.eager_dtype,
            "within_tolerance": output.close, "max_abs_error": _finite(output.max_abs),
            "max_rel_error": _finite(output.max_rel), "not_finite_differences": output.not_finite,
            "problem": output.problem or None}


def _finite(value: float | None) -> float | None:
    """JSON has no infinity."""
    return value if value is not None and math.isfinite(value) else None
