"""Scores how well two units fit together by their places."""

from __future__ import annotations

from castscope.modes.units import Unit

# A pair that only has its operator in common is better than a gap, but never better than one with the same line, or
# one that shares a frame or is in the same module. A gap costs nothing.
_OPERATOR, _FRAME, _LINE, _WHOLE_STACK, _MODULE = 1, 2, 5, 2, 1


def score(left: Unit, right: Unit) -> int:
    """How well two units of the same operator fit together."""
    found = _OPERATOR
    if left.stack and right.stack:
        if left.stack[0].line == right.stack[0].line and left.stack[0].file == right.stack[0].file:
            found += _LINE
            if _places(left) == _places(right):
                found += _WHOLE_STACK
        elif not _places(left).isdisjoint(_places(right)):
            found += _FRAME
    if left.module and left.module == right.module:
        found += _MODULE
    return found


def _places(unit: Unit) -> frozenset[tuple[str, int]]:
    return frozenset((place.file, place.line) for place in unit.stack)
