"""A comparison for the report of the run that it is made in: `castscope-comparison-table/3`, described in
docs/decisions/comparison.md. It leaves out shapes and stacks, which to_json() has: they would be its greater part."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import castscope

if TYPE_CHECKING:
    from castscope.modes.comparison import Comparison, Row
    from castscope.modes.units import Line

FORMAT = "castscope-comparison-table/3"
_MOST_ROWS = 2000        # in one comparison; those that agree everywhere are left out first
_MOST_COMPARISONS = 200  # in one process: a test suite may make thousands

_told = 0


def tell(comparison: Comparison) -> None:
    """Sends it, if the job runs under castscope."""
    global _told
    if not castscope.attached() or _told >= _MOST_COMPARISONS:
        return
    _told += 1
    castscope.compared(json.dumps(as_table(comparison), ensure_ascii=False, separators=(",", ":")))


def as_table(comparison: Comparison) -> dict[str, Any]:
    modes = [mode for mode in comparison.modes if mode != "eager"]
    rows = comparison.rows
    if len(rows) > _MOST_ROWS:
        rows = [row for row in rows if any(cell.verdict != "same" for cell in row.cells.values())][:_MOST_ROWS]
    return {"format": FORMAT, "compared_function": comparison.name, "same_precision": comparison.same_precision,
            "modes": [_mode(comparison, mode) for mode in modes],
            "operators": [_row(row, modes) for row in rows],
            "left_out_count": len(comparison.rows) - len(rows)}


def _mode(comparison: Comparison, mode: str) -> dict[str, Any]:
    error = comparison.errors.get(mode) or comparison.errors.get("eager")
    if error is not None:
        return {"mode": mode, "error_summary": error.summary, **_place(error.line)}
    outputs = comparison.outputs.get(mode, [])
    errors = [output.max_abs for output in outputs if output.max_abs is not None]
    return {"mode": mode, "same_count": comparison.agreeing(mode),
            "difference_count": len(comparison.differences(mode)),
            "follower_count": len(comparison.followers(mode)),
            "not_comparable_count": len(comparison.not_comparable(mode)),
            "same_values": all(output.close for output in outputs),
            "max_abs_error": max(errors) if errors and all(map(math.isfinite, errors)) else None}


def _row(row: Row, modes: list[str]) -> dict[str, Any]:
    by_mode = {"eager": {"verdict": "reference", "computed_in": row.eager.computed}} if row.eager else {}
    for mode in modes:
        cell = row.cells.get(mode)
        if cell is None:
            continue
        by_mode[mode] = {"verdict": cell.verdict}
        if cell.unit is not None:
            by_mode[mode]["computed_in"] = cell.unit.computed
        if cell.reason:
            by_mode[mode]["reason"] = cell.reason
    return {"shared_operator": row.unit.operator, "module": row.unit.module, **_place(row.unit.line),
            "by_mode": by_mode}


def _place(line: Line | None) -> dict[str, Any]:
    return {"file": line.file, "line": line.line, "function": line.function} if line else {}
