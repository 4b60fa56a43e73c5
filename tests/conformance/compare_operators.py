"""Compares the output of every_operator.py from one run with that of another."""

import dataclasses

ABSENT = "nothing was written"


@dataclasses.dataclass(frozen=True)
class Difference:
    key: str
    operator: str
    mode: str
    variant: str
    way: str
    stock: str
    other: str

    def __str__(self):
        return (f"{self.key} {self.operator}, {self.mode}, {self.variant}, {self.way}:\n"
                f"    stock:    {self.stock}\n    enforced: {self.other}")


def differences(stock, other, way):
    """Returns the differences between two files' contents. An entry that only one of them has differs too."""
    assert (stock["torch"], stock["short"]) == (other["torch"], other["short"]), "not the same run"
    found = []
    for key, operators in other["keys"].items():
        ours = {place: text for place, text in places(stock["keys"][key])}
        theirs = {place: text for place, text in places(operators)}
        for place in [*ours, *(theirs.keys() - ours.keys())]:
            pair = ours.get(place, ABSENT), theirs.get(place, ABSENT)
            if pair[0] != pair[1]:
                found.append(Difference(key, *place, way, *pair))
    return found


def places(operators):
    for operator, modes in operators.items():
        for mode, variants in modes.items():
            for variant, text in variants.items():
                yield (operator, mode, variant), text


def unmoved(operators):
    """Returns the operators none of whose calls shows whether autocast is there: they would prove nothing."""
    def moves(modes):
        pairs = [("dispatcher", "outside"), ("make_fx", "make_fx outside")]
        return any(modes[mode][variant] != modes[without][variant]
                   for mode, without in pairs if mode in modes for variant in modes[without])

    return [operator for operator, modes in operators.items() if not moves(modes)]


def calls_of(operators):
    return sum(1 for _ in places(operators))
