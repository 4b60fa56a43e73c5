"""Matches the operators of two modes: alignment of two sequences with gaps (Needleman and Wunsch 1970).

Counting occurrences fails where a mode drops, merges or repeats operators (TorchScript's elimination of common
expressions, dead code), and comparing lines fails where a mode moves them (an exported helper has its caller's line).
An alignment that keeps the order, needs the operators to match, and only prefers equal lines does neither.
"""

from __future__ import annotations

import bisect
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Callable, Optional

from castscope.modes.flow import mended
from castscope.modes.scoring import score
from castscope.modes.units import Unit

Pair = tuple[Optional[int], Optional[int]]
_Pair = tuple[int, int]
_Chain = tuple[int, int, int, Any]  # its weight, its last pair, the chain before that

# At most this many pairs of equal operators are weighed in one stretch (about two seconds); beyond, near the diagonal.
_MOST_PAIRS = 400_000


def align(left: Sequence[Unit], right: Sequence[Unit]) -> list[Pair]:
    """Pairs of positions in order; None where there is no partner on that side."""
    matched = mended(left, right, sorted(_Aligner(left, right).matches()))
    pairs: list[Pair] = []
    i = j = 0
    for at_left, at_right in [*matched, (len(left), len(right))]:
        pairs += [(k, None) for k in range(i, at_left)]
        pairs += [(None, k) for k in range(j, at_right)]
        pairs.append((at_left, at_right))
        i, j = at_left + 1, at_right + 1
    return pairs[:-1]


class _Aligner:
    def __init__(self, left: Sequence[Unit], right: Sequence[Unit]):
        self.left, self.right = left, right
        with_modules = any(unit.module for unit in left) and any(unit.module for unit in right)
        stacks = {unit.stack for side in (left, right) for unit in side}
        places = {stack: tuple((place.file, place.line) for place in stack) for stack in stacks}
        self.exact = [[(unit.operator, places[unit.stack], unit.module if with_modules else "") for unit in side]
                      for side in (left, right)]
        self.lines = [[(unit.operator, places[unit.stack][:1]) for unit in side] for side in (left, right)]
        self.scores: dict[Hashable, int] = {}

    def matches(self) -> Iterator[tuple[int, int]]:
        """Pairs off equal begins and ends, then operators that occur once on both sides; weighs everything between."""
        yield from self._between(0, len(self.left), 0, len(self.right), (self.exact, self.lines))

    def _between(self, a: int, b: int, c: int, d: int, keys: tuple[Any, ...]) -> Iterator[tuple[int, int]]:
        left, right = self.exact
        while a < b and c < d and left[a] == right[c]:
            yield a, c
            a, c = a + 1, c + 1
        while a < b and c < d and left[b - 1] == right[d - 1]:
            b, d = b - 1, d - 1
            yield b, d
        if a == b or c == d:
            return
        if not keys:
            yield from self._weigh(a, b, c, d)
            return
        for i, j in [*_anchors(keys[0][0], keys[0][1], a, b, c, d), (b, d)]:
            yield from self._between(a, i, c, j, keys[1:])
            if i < b:
                yield i, j
            a, c = i + 1, j + 1

    def _weigh(self, a: int, b: int, c: int, d: int) -> list[tuple[int, int]]:
        """The chain of pairs with the greatest sum of scores: the heaviest common subsequence. Only pairs of equal
        operators are looked at; `best` is a Fenwick tree of the heaviest chain that ends at or before a position."""
        best: list[_Chain | None] = [None] * (d - c + 1)
        heaviest: _Chain | None = None
        for i, positions in self._candidates(a, b, c, d):
            for j in reversed(positions):  # from the right: a unit must not follow itself
                before = _chain_until(best, j - c)
                weight = self._score(i, j) + (before[0] if before else 0)
                chain = (weight, i, j, before)
                _enter(best, j - c + 1, chain)
                if heaviest is None or weight > heaviest[0]:
                    heaviest = chain
        found = []
        while heaviest:
            found.append((heaviest[1], heaviest[2]))
            heaviest = heaviest[3]
        return found

    def _candidates(self, a: int, b: int, c: int, d: int) -> Iterator[tuple[int, list[int]]]:
        where: dict[str, list[int]] = {}
        for j in range(c, d):
            where.setdefault(self.right[j].operator, []).append(j)
        pairs = sum(len(where.get(self.left[i].operator, ())) for i in range(a, b))
        reach = d - c if pairs <= _MOST_PAIRS else max(64, (d - c) * _MOST_PAIRS // pairs // 2)
        for i in range(a, b):
            positions = where.get(self.left[i].operator, [])
            if reach < d - c:
                middle = c + (i - a) * (d - c) // (b - a)
                positions = positions[bisect.bisect_left(positions, middle - reach):
                                      bisect.bisect_right(positions, middle + reach)]
            yield i, positions

    def _score(self, i: int, j: int) -> int:
        key = self.exact[0][i], self.exact[1][j]
        if key not in self.scores:
            self.scores[key] = score(self.left[i], self.right[j])
        return self.scores[key]


def _chain_until(best: list[_Chain | None], position: int) -> _Chain | None:
    found = None
    while position > 0:
        chain = best[position]
        if chain and (found is None or chain[0] > found[0]):
            found = chain
        position -= position & -position
    return found


def _enter(best: list[_Chain | None], position: int, chain: _Chain) -> None:
    while position < len(best):
        there = best[position]
        if there is None or there[0] < chain[0]:
            best[position] = chain
        position += position & -position


def _anchors(left: Sequence[Hashable], right: Sequence[Hashable], a: int, b: int, c: int, d: int) -> list[_Pair]:
    """The longest rising chain of operators that occur once on both sides, as in patience diff (Bram Cohen)."""
    there = _only(right, c, d)
    common = [(i, there[key]) for key, i in _only(left, a, b).items() if key in there]
    return _rising(sorted(common), lambda pair: pair[1])


def _only(keys: Sequence[Hashable], start: int, end: int) -> dict[Hashable, int]:
    """Each key that occurs once, with its position."""
    found: dict[Hashable, int | None] = {}
    for position in range(start, end):
        found[keys[position]] = None if keys[position] in found else position
    return {key: position for key, position in found.items() if position is not None}


def _rising(pairs: list[_Pair], rank: Callable[[_Pair], int]) -> list[_Pair]:
    """Longest increasing subsequence by `rank`."""
    tops: list[int] = []
    ends: list[Any] = []
    for pair in pairs:
        at = bisect.bisect_left(tops, rank(pair))
        link: Any = (pair, ends[at - 1] if at else None)
        tops[at:at + 1] = [rank(pair)]
        ends[at:at + 1] = [link]
    found = []
    link = ends[-1] if ends else None
    while link:
        found.append(link[0])
        link = link[1]
    return found[::-1]
