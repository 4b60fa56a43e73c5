"""The result of compare(): a row for each operator, a column for each mode; what differs first; how far outputs are."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from castscope.modes import differences
from castscope.modes.differences import Cell
from castscope.modes.errors import ModeError
from castscope.modes.units import Line, Unit
from castscope.modes.values import OutputError


@dataclasses.dataclass
class Row:
    """An operator: as eager computed it (None: eager does not have it), and a cell for each other mode that ran."""
    eager: Unit | None
    cells: dict[str, Cell]

    @property
    def unit(self) -> Unit:
        """Any unit of the row, to name the operator."""
        return self.eager or next(cell.unit for cell in self.cells.values() if cell.unit is not None)


@dataclasses.dataclass
class Comparison:
    """The result of compare(). `differences(mode)` are the rows where a difference begins, in order."""
    name: str
    modes: tuple[str, ...]
    ambient: dict[str, str]
    rows: list[Row]
    errors: dict[str, ModeError]
    outputs: dict[str, list[OutputError]]
    notes: dict[str, list[str]]
    torch: str = ""

    @property
    def compared(self) -> tuple[str, ...]:
        """The modes that ran, beside eager."""
        return tuple(mode for mode in self.modes if mode != "eager" and mode not in self.errors)

    def differences(self, mode: str) -> list[Row]:
        return [row for row in self.rows if mode in row.cells and row.cells[mode].verdict == "cause"]

    def followers(self, mode: str, of: Row | None = None) -> list[Row]:
        """The rows that differ because an earlier one does; with `of`, one of differences(mode): because of that
        one."""
        found = [row for row in self.rows if mode in row.cells and row.cells[mode].verdict == "follower"]
        if of is None:
            return found
        cause = of.cells[mode].cause
        return [row for row in found if row.cells[mode].cause == cause]

    def not_comparable(self, mode: str) -> list[Row]:
        """Operators that only eager or only the mode has. They do not count as agreement."""
        return [row for row in self.rows if mode in row.cells and row.cells[mode].verdict == "alone"]

    def agreeing(self, mode: str) -> int:
        return sum(mode in row.cells and row.cells[mode].verdict == "same" for row in self.rows)

    @property
    def observed(self) -> bool:
        """Whether any operator was seen, in eager or in another mode. If not, there was nothing to compare."""
        return bool(self.rows)

    @property
    def same_precision(self) -> bool:
        """Whether all modes ran, and each computed every operator that can be compared, and each output, in eager's
        dtypes. It says nothing about operators without a partner: see not_comparable(). False where nothing was
        observed."""
        return not self.errors and all(self._agrees(mode) for mode in self.compared)

    @property
    def same_values(self) -> bool:
        """Whether all outputs are within the tolerances."""
        return not self.errors and all(error.close for errors in self.outputs.values() for error in errors)

    def _agrees(self, mode: str) -> bool:
        dtypes = all(error.same_dtype for error in self.outputs.get(mode, ()))
        compared_nothing = self.agreeing(mode) == 0 and (bool(self.not_comparable(mode)) or not self.observed)
        return dtypes and not compared_nothing and not self.differences(mode)

    def assert_same_precision(self, modes: Iterable[str] | None = None, ignore: Iterable[str] = ()) -> None:
        """AssertionError with the first difference of each mode that computes in other dtypes than eager, or did not
        run. `modes`: only these. `ignore`: operators ("gelu") and lines ("model.py:12") that may differ, with
        whatever follows from them.
        """
        wanted = self.modes if modes is None else tuple(modes)
        unknown = sorted(set(wanted) - set(self.modes))
        if unknown:
            raise ValueError(f"not compared: {', '.join(unknown)} (compared were {', '.join(self.modes)})")
        ignored = frozenset(ignore)
        complaints = [text for mode in self.modes if mode in wanted or mode == "eager"
                      for text in self._complaint(mode, ignored)]
        if complaints:
            raise AssertionError(f"{self.name} does not compute in the same precision in every mode:\n  "
                                 + "\n  ".join(complaints))

    def _complaint(self, mode: str, ignored: frozenset[str]) -> list[str]:
        if mode in self.errors:
            error = self.errors[mode]
            return [f"{mode}: {error.summary}" + (f" ({error.line})" if error.line else "")]
        if mode == "eager":
            return []
        causes = [row for row in self.differences(mode) if not _is_ignored(row, ignored)]
        if causes:
            cell = causes[0].cells[mode]
            more = f"; {len(causes) - 1} more" if len(causes) > 1 else ""
            why = f"; {cell.reason}" if cell.reason else ""
            return [f"{mode}: {described(causes[0])} computes in {cell.unit.computed}, "  # type: ignore[union-attr]
                    f"in eager {causes[0].eager.computed}{why}{more}"]  # type: ignore[union-attr]
        if self.differences(mode):  # ignored: the outputs may follow from them
            return []
        wrong = [error for error in self.outputs.get(mode, ()) if not error.same_dtype]
        if wrong:
            return [f"{mode}: {wrong[0].name} is {wrong[0].dtype}, in eager {wrong[0].eager_dtype}"]
        return [] if self._agrees(mode) else [f"{mode}: no operator could be compared"]

    def to_json(self) -> dict[str, Any]:
        """The document that docs/compare.schema.json describes, with this comparison alone in it."""
        from castscope.modes.as_json import document
        return document([self])

    def text(self, colour: bool = False) -> str:
        from castscope.modes.text import Text
        return Text(self, colour).whole()

    def to_html(self) -> str:
        """A page of its own: the table of operators, one column for each mode."""
        from castscope.modes.page import page
        return page([self])

    def _repr_html_(self) -> str:
        """The page for a notebook."""
        from castscope.modes.page import fragment
        return fragment(self)

    def __repr__(self) -> str:
        return self.text()


def described(row: Row) -> str:
    """`gelu at /home/me/model.py:12`."""
    line = row.unit.line
    return f"{row.unit.operator} at {line}" if line else row.unit.operator


def _is_ignored(row: Row, ignored: frozenset[str]) -> bool:
    if row.unit.operator in ignored:
        return True
    return any(_is_place(row.unit.line, wanted) for wanted in ignored if ":" in wanted)


def _is_place(line: Line | None, wanted: str) -> bool:
    return line is not None and (str(line) == wanted or str(line).endswith("/" + wanted))


def rows_of(eager: Sequence[Unit], others: dict[str, Sequence[Unit]], ambient: dict[str, str]) -> list[Row]:
    """All modes beside eager. An operator that only a mode has stands where it ran, in a row of its own."""
    rows = [Row(unit, {}) for unit in eager]
    between: dict[int, list[Row]] = {}
    for mode, units in others.items():
        after = -1
        for left, _, cell in differences.judge(mode, eager, units, ambient):
            if left is None:
                between.setdefault(after, []).append(Row(None, {mode: cell}))
            else:
                rows[left].cells[mode] = cell
                after = left
    found = list(between.get(-1, ()))
    for at, row in enumerate(rows):
        found += [row, *between.get(at, ())]
    return found
