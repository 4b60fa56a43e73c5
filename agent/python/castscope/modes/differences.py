"""Where a mode departs from eager: the operators where a difference begins, and those that only follow from one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Optional

from castscope.modes.alignment import align
from castscope.modes.reasons import reason
from castscope.modes.units import Unit


@dataclasses.dataclass(frozen=True)
class Cell:
    """An operator in one mode, beside eager's.

    verdict  same       both computed in the same dtypes
             cause      they did not, though its inputs arrived in the same: here a difference begins
             follower   its inputs arrived in others, because an earlier operator of the mode is a cause
             alone      no partner: not comparable

    `cause` numbers, among the mode's operators, the one that the difference begins with: itself, or an earlier one.
    """
    unit: Unit | None
    verdict: str
    reason: str = ""
    cause: int | None = None

    @property
    def differs(self) -> bool:
        return self.verdict in ("cause", "follower")


Judged = tuple[Optional[int], Optional[int], Cell]


def judge(mode: str, eager: Sequence[Unit], other: Sequence[Unit], ambient: dict[str, str]) -> list[Judged]:
    """Pairs of positions in both, with the mode's cell."""
    found: list[Judged] = []
    roots: dict[int, int | None] = {}  # unit of the mode → the unit that its difference begins with
    for left, right in align(eager, other):
        if right is None:
            found.append((left, None, Cell(None, "alone")))
            continue
        origin = next((roots[maker] for maker in other[right].makers if roots.get(maker) is not None), None)
        if left is None:
            roots[right] = origin
            found.append((None, right, Cell(other[right], "alone")))
            continue
        cell = _cell(mode, eager[left], other[right], right, origin, ambient)
        roots[right] = cell.cause
        found.append((left, right, cell))
    return found


def _cell(mode: str, eager: Unit, other: Unit, at: int, origin: int | None, ambient: dict[str, str]) -> Cell:
    if eager.same_precision(other):
        return Cell(other, "same")
    if eager.same_arrivals(other):
        return Cell(other, "cause", reason(mode, eager, other, ambient), at)
    if origin is not None:
        return Cell(other, "follower", cause=origin)
    return Cell(other, "cause", "its inputs come in other dtypes, from operators that could not be compared or "
                                "from before a compiled graph", at)
