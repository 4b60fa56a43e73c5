"""The known pairs of two recordings, found without the alignment's means, and how a pairing is compared with them.

An operator is known by its name and the shapes of its inputs: where that occurs once in each of two recordings, the two
are the same operator; where the other recording does not have it at all, it has no partner there. What occurs more
often is not labelled, but for the operators that a case says are called again on the very same values (`alike`): of
those, in equal number, the first is the first and so on; else one is as good as another.

An operator that takes another number of tensors in the other recording (two `cat` made one) is not labelled.
"""

import collections
import dataclasses
import functools

import torch


def key(unit):
    return unit.operator, tuple(sorted(unit.shapes))


@dataclasses.dataclass
class Truth:
    """`partners`: for each labelled unit of the left and right, the right partners; none for a unit that has no
    partner. `pairs`: how many pairs a complete alignment has among them."""
    left: dict
    right: dict
    pairs: int
    unlabelled: list

    def __contains__(self, pair):
        return pair[1] in self.left.get(pair[0], ())

    def judges(self, pair):
        return pair[0] in self.left or pair[1] in self.right

    @property
    def alone(self):
        return sum(not partners for side in (self.left, self.right) for partners in side.values())


def truth(left, right, alike=()):
    truth = Truth({}, {}, 0, [])
    places = [collections.defaultdict(list), collections.defaultdict(list)]
    for at, units in zip(places, (left, right)):
        for number, unit in enumerate(units):
            at[key(unit)].append(number)
    kinds = [{name for name in at if name not in other} for at, other in (places, places[::-1])]
    for name in dict.fromkeys([*places[0], *places[1]]):
        here, there = places[0].get(name, []), places[1].get(name, [])
        if (not here or not there) and _of_other_number(name, kinds[0 if there else 1]):
            truth.unlabelled += [left[i] for i in here]
        elif not here or not there:
            truth.left.update((i, ()) for i in here)
            truth.right.update((j, ()) for j in there)
        elif len(here) == len(there) and (len(here) == 1 or name[0] in alike):
            truth.left.update((i, (j,)) for i, j in zip(here, there))
            truth.right.update((j, (i,)) for i, j in zip(here, there))
            truth.pairs += len(here)
        elif name[0] in alike:
            truth.left.update((i, tuple(there)) for i in here)
            truth.right.update((j, tuple(here)) for j in there)
            truth.pairs += min(len(here), len(there))
        else:
            truth.unlabelled += [left[i] for i in here]
    return truth


def _of_other_number(name, others):
    operator, shapes = name
    return any(other == operator and len(theirs) != len(shapes) for other, theirs in others)


@dataclasses.dataclass
class Score:
    right: int = 0
    wrong: int = 0
    missed: int = 0

    def __iadd__(self, other):
        for field in dataclasses.fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))
        return self

    @property
    def precision(self):
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self):
        return self.right / max(1, self.right + self.missed)


def both(pairs):
    return [(i, j) for i, j in pairs if i is not None and j is not None]


def held(pairs, truth):
    """A pair with a labelled unit in it is right or wrong; for all others nothing is known."""
    judged = [pair in truth for pair in pairs if truth.judges(pair)]
    return Score(sum(judged), len(judged) - sum(judged), truth.pairs - sum(judged))


def same_dtypes(left, right):
    """By the shapes of the inputs, whatever their order. `bfloat16 + float32` and `float32 + float32` are the same sum:
    the first promotes by itself."""
    def dtypes(unit):
        return sorted(zip(unit.shapes, unit.input_dtypes)), unit.output_dtype

    def promoted(unit):
        kinds = [getattr(torch, name) for name in unit.input_dtypes]
        return str(functools.reduce(torch.promote_types, kinds))[6:] if kinds else None
    return dtypes(left) == dtypes(right) or (
        promoted(left) == promoted(right) == left.output_dtype == right.output_dtype)


# A naive alternative to aligning: the k-th on one side is the k-th with an equal key on the other.
SIMPLER = {
    "line, occurrence": lambda unit: unit.line and (unit.line.file, unit.line.line),
    "operator, occurrence": lambda unit: unit.operator,
    "line, operator, occurrence": lambda unit: (unit.line and (unit.line.file, unit.line.line), unit.operator),
}


def by_occurrence(left, right, key_of):
    def numbered(units):
        seen = collections.Counter()
        for number, unit in enumerate(units):
            found = key_of(unit)
            yield (found, seen[found]), number
            seen[found] += 1
    there = dict(numbered(right))
    return [(number, there[found]) for found, number in numbered(left) if found in there]
