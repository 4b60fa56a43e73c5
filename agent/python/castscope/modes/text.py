"""A comparison for people: what differs first and why, then the operators, then the values."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from castscope.modes.comparison import Comparison, Row
    from castscope.modes.units import Line
    from castscope.modes.values import OutputError

_SHORT = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "f8e4m3",
          "float8_e5m2": "f8e5m2"}
_MOST_ROWS = 60      # of the table: two screens
_MOST_CAUSES = 4     # of one mode; causes that are alike count once
_MOST_OUTPUTS = 6    # of one mode
_COLOURS = {"cause": "31", "follower": "33", "alone": "2", "good": "32", "bold": "1"}


class Text:
    def __init__(self, comparison: Comparison, colour: bool = False):
        self.of, self.colour = comparison, colour

    def whole(self) -> str:
        parts = [self._head(), self._verdicts(), *map(self._differences, self.of.compared), self._table(),
                 self._values(), self._notes()]
        return "\n\n".join("\n".join(part) for part in parts if part)

    def _head(self) -> list[str]:
        ambient = ", ".join(f"{device} {dtype}" for device, dtype in self.of.ambient.items())
        return [self._paint("bold", f"{self.of.name}: {', '.join(self.of.modes)}")
                + (f", called in autocast {ambient}" if ambient else ", called without autocast around it")]

    def _verdicts(self) -> list[str]:
        return [f"  {mode:8}{self._verdict(mode)}" for mode in self.of.modes
                if mode != "eager" or mode in self.of.errors]

    def _verdict(self, mode: str) -> str:
        if mode in self.of.errors:
            return self._refused(mode)
        if mode not in self.of.compared or "eager" in self.of.errors:
            return "not compared: eager failed"
        of = self.of
        causes, followers, alone = of.differences(mode), of.followers(mode), of.not_comparable(mode)
        wrong = [output for output in of.outputs.get(mode, ()) if not output.same_dtype]
        if causes:
            said = self._paint("cause", f"differs at {count(len(causes), 'operator')}")
            said += f", and {len(followers)} more follow" if followers else ""
        elif wrong:
            said = self._paint("cause",
                               f"gives {short_dtype(wrong[0].dtype)}, eager {short_dtype(wrong[0].eager_dtype)}")
        elif not of.observed:
            said = "not observed: no operator ran"
        else:
            agreeing = of.agreeing(mode)
            said = self._paint("good", f"same dtypes in {agreeing} of {count(agreeing + len(alone), 'operator')}")
        return said + (f"; {len(alone)} not comparable" if alone else "")

    def _refused(self, mode: str) -> str:
        error = self.of.errors[mode]
        said = f"not available: {error.summary}" if mode != "eager" else f"failed: {error.summary}"
        rows = [self._paint("cause", said)]
        if error.line is not None:
            rows.append(f"          {place(error.line)}" + (f"   {error.code}" if error.code else ""))
        return "\n".join(rows)

    def _differences(self, mode: str) -> list[str]:
        groups: dict[tuple[str, ...], list[Row]] = {}
        for row in self.of.differences(mode):
            cell = row.cells[mode]
            # What differs has a unit on both sides.
            key = (row.unit.operator, row.eager.computed,  # type: ignore[union-attr]
                   cell.unit.computed, cell.reason)  # type: ignore[union-attr]
            groups.setdefault(key, []).append(row)
        rows = [self._paint("bold", f"{mode} differs first")] if groups else []
        for group in list(groups.values())[:_MOST_CAUSES]:
            rows += self._cause(mode, group)
        if len(groups) > _MOST_CAUSES:
            rows.append(f"  and {count(len(groups) - _MOST_CAUSES, 'other kind')} of difference, in the table below")
        return rows

    def _cause(self, mode: str, group: list[Row]) -> list[str]:
        row, cell = group[0], group[0].cells[mode]
        rows = [f"  {row.unit.operator} at {where(row)}: "
                f"eager {short_dtypes(row.eager.computed)}, {mode} "  # type: ignore[union-attr]
                f"{self._paint('cause', short_dtypes(cell.unit.computed))}"]  # type: ignore[union-attr]
        if cell.reason:
            rows.append(f"    {cell.reason}")
        if len(group) > 1:
            rows.append(f"    and {count(len(group) - 1, 'other')} like it, the next at {where(group[1])}")
        followers = sum(len(self.of.followers(mode, one)) for one in group)
        if followers:
            rows.append(f"    {count(followers, 'operator')} after it {'differ' if followers > 1 else 'differs'} "
                        "only because of its output")
        return rows

    def _table(self) -> list[str]:
        """Folds rows in which everything is the same into one."""
        modes = self.of.compared
        cells: list[list[str] | None] = []
        rows: list[list[Row]] = []
        for row in self.of.rows if modes else ():
            same = all(cell.verdict == "same" for cell in row.cells.values())
            if same and cells and cells[-1] is None:
                rows[-1].append(row)
                continue
            eager = short_dtypes(row.eager.computed) if row.eager else "–"
            cells.append(None if same else [where(row, short=True), row.unit.operator, eager,
                                            *(_cell(row, mode) for mode in modes)])
            rows.append([row])
        if not any(cells):
            return []
        return self._lines(["line", "operator", "eager", *modes], cells, rows)

    def _lines(self, head: list[str], cells: list[list[str] | None], rows: list[list[Row]]) -> list[str]:
        widths = [max(len(line[at]) for line in [head, *filter(None, cells)]) for at in range(len(head))]
        found = [self._paint("bold", "  ".join(text.ljust(width) for text, width in zip(head, widths)).rstrip())]
        for line, (row, *more) in list(zip(cells, rows))[:_MOST_ROWS]:
            if line is None:
                found.append(self._paint("alone", f"… {count(1 + len(more), 'operator')}, the same in every mode"))
                continue
            kinds = ["", "", "", *(row.cells[mode].verdict if mode in row.cells else "alone" for mode in head[3:])]
            found.append("  ".join(self._paint(kind, text.ljust(width))
                                   for text, width, kind in zip(line, widths, kinds)).rstrip())
        if len(cells) > _MOST_ROWS:
            found.append(f"… {len(cells) - _MOST_ROWS} more rows: to_json() has all")
        found.append("= as eager   ! a difference begins   ~ follows from one   – has no such operator: not comparable")
        return found

    def _values(self) -> list[str]:
        """The first outputs of each mode; for the rest, which may be hundreds of gradients, how many are off."""
        rows = []
        for mode in self.of.compared:
            outputs = self.of.outputs.get(mode, [])
            rows += [f"  {mode:8}{value_text(output)}" for output in outputs[:_MOST_OUTPUTS]]
            rest = outputs[_MOST_OUTPUTS:]
            if rest:
                off = sum(not output.close for output in rest)
                rows.append(f"  {mode:8}and {count(len(rest), 'other')}, {off or 'none'} beyond the tolerance")
        return [self._paint("bold", "outputs"), *rows] if rows else []

    def _notes(self) -> list[str]:
        rows = [f"  {mode:8}{note}" for mode, notes in self.of.notes.items() for note in notes]
        return [self._paint("bold", "notes"), *rows] if rows else []

    def _paint(self, kind: str, text: str) -> str:
        code = _COLOURS.get(kind)
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code else text


def value_text(output: OutputError) -> str:
    if output.problem:
        said = output.problem
    elif output.max_abs is None or (output.max_abs == 0 and not output.not_finite):
        said = "equal"
    else:
        said = f"max error {output.max_abs:.3g}, relative {output.max_rel:.3g}"
        said += f", {output.not_finite} not finite in one alone" if output.not_finite else ""
    dtypes = "" if output.same_dtype else f" ({short_dtype(output.dtype)}, eager {short_dtype(output.eager_dtype)})"
    return f"{output.name}: {said}{dtypes}{'' if output.close else ': beyond the tolerance'}"


def _cell(row: Row, mode: str) -> str:
    cell = row.cells.get(mode)
    if cell is None or cell.unit is None:
        return "–"
    if cell.verdict == "same":
        return "="
    return short_dtypes(cell.unit.computed) + {"cause": " !", "follower": " ~"}.get(cell.verdict, "")


def place(line: Line, short: bool = False) -> str:
    """A path below the working directory as one would write it; in the table only the file's name."""
    if short:
        return f"{os.path.basename(line.file)}:{line.line}"
    near = os.path.relpath(line.file) if line.file.startswith(os.getcwd() + os.sep) else line.file
    return f"{near}:{line.line}"


def where(row: Row, short: bool = False) -> str:
    """Line and module; PyTorch's own modules have no line of the user's."""
    module, line = row.unit.module, row.unit.line
    if line is None:
        return module or "(no line)"
    return place(line, short) + (f" ({module})" if module and not short else "")


def short_dtypes(computed: str) -> str:
    for name, short in _SHORT.items():
        computed = computed.replace(name, short) if name != "float16" else computed
    return computed.replace("float16", "f16")


def short_dtype(dtype: str) -> str:
    return _SHORT.get(dtype, dtype)


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
