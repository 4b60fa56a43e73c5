"""Finds which of several units at one line a mode has: the one whose value goes where the mode's value goes.

Where a mode drops some of several operators that stand at the same line with the same callers, order and places leave
it open which of them are left. What a paired unit was given tells: its inputs were made by units that are a pair, too.
Only such ties are mended; no pair is made or undone, and the order is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from castscope.modes.scoring import score
from castscope.modes.units import Unit

# At most this many units without a partner are looked at on each side of a pair.
_REACH = 64


def mended(left: Sequence[Unit], right: Sequence[Unit], matched: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same pairs, in order, some of them moved to another unit that fits as well."""
    pairs = _Pairs(left, right, matched)
    if len(matched) < min(len(left), len(right)) or len(left) != len(right):
        for _, j in reversed(matched):  # from the end, so that a chain of values is followed back
            pairs.move_makers(j)
        for j in sorted(pairs.lefts):
            pairs.move_to_makers(j)
    return sorted((i, j) for j, i in pairs.lefts.items())


class _Pairs:
    def __init__(self, left: Sequence[Unit], right: Sequence[Unit], matched: list[tuple[int, int]]):
        self.left, self.right = left, right
        self.rights: dict[int, int] = dict(matched)
        self.lefts: dict[int, int] = {j: i for i, j in matched}

    def move_makers(self, j: int) -> None:
        """The makers of the inputs of a pair's two units become a pair, if they may."""
        if j not in self.lefts:
            return
        ours, theirs = self.left[self.lefts[j]].makers, self.right[j].makers
        if len(ours) != len(theirs):
            return
        for p, q in sorted(zip(ours, theirs), reverse=True):  # the later first: it may block the earlier one
            if p < 0 or q < 0 or self.rights.get(p) == q:
                continue
            if q in self.lefts and p not in self.rights:
                self._try(self.lefts[q], q, p, q)
            elif p in self.rights and q not in self.lefts:
                self._try(p, self.rights[p], p, q)

    def move_to_makers(self, j: int) -> None:
        """A unit whose value no pair uses is placed by its own inputs."""
        i = self.lefts[j]
        if self._agree(i, j):
            return
        for p in self._alone_beside(i, self.rights, len(self.left)):
            if self._agree(p, j) and self._try(i, j, p, j):
                return
        for q in self._alone_beside(j, self.lefts, len(self.right)):
            if self._agree(i, q) and self._try(i, j, i, q):
                return

    def _agree(self, i: int, j: int) -> bool:
        ours, theirs = self.left[i].makers, self.right[j].makers
        return len(ours) == len(theirs) and all(
            p == q if p < 0 or q < 0 else self.rights.get(p) == q for p, q in zip(ours, theirs))

    def _try(self, i: int, j: int, p: int, q: int) -> bool:
        """Moves the pair (i, j) to (p, q), if that fits as well and passes no other pair."""
        old, new = (self.left[i], self.right[j]), (self.left[p], self.right[q])
        if new[0].operator != new[1].operator or score(*new) < score(*old):
            return False
        if any(at in self.rights for at in _between(i, p)) or any(at in self.lefts for at in _between(j, q)):
            return False
        del self.rights[i], self.lefts[j]
        self.rights[p], self.lefts[q] = q, p
        return True

    @staticmethod
    def _alone_beside(at: int, paired: dict[int, int], end: int) -> Iterator[int]:
        for step in (1, -1):
            for other in range(at + step, at + step * _REACH, step):
                if not 0 <= other < end or other in paired:
                    break
                yield other


def _between(one: int, other: int) -> range:
    return range(min(one, other) + 1, max(one, other))
