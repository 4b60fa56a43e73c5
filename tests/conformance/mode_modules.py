"""Modules whose operators are told apart by the shapes they work on: what mode_alignment.py measures with.

Nearly every operator of a case works on sizes of its own: widths grow, rows are dropped (`x = x[1:]`, a view and so no
operator), sequences end one after the other. So the operator of one mode that is the operator of another is known from
name and shapes, without lines, order or module paths, which are what the alignment has.

The code is as people write it: what a mode refuses, it refuses here too, and that is part of the case.
"""

import dataclasses
import importlib
from typing import Any, Callable, Dict, List, Tuple

import torch

PARTS = ("plain", "losses", "lines", "blocks", "attention", "cells", "paths", "loops", "python", "changing")


@dataclasses.dataclass(frozen=True)
class Case:
    """`refused`: the modes that cannot have it; `ambient`: what was exported in a region cannot be run outside of it.
    `alike`: operators that are called more than once on the very same values, so that it does not matter which of them
    a merger leaves. `short`: it is measured in continuous integration.
    """
    name: str
    make: Callable[[], Any]
    inputs: Callable[[], tuple]
    refused: Tuple[str, ...] = ()
    alike: Tuple[str, ...] = ()
    short: bool = False

    def function(self) -> Any:
        """The same weights each time."""
        torch.manual_seed(len(self.name))
        return self.make()

    def arguments(self) -> tuple:
        torch.manual_seed(1 + len(self.name))
        return self.inputs()

    def runs_in(self, way: str) -> bool:
        """`ambient export` is refused by what cannot be exported, too."""
        return not set(way.split()) & set(self.refused)


_CASES: Dict[str, Case] = {}


def case(*sizes: Any, refused: str = "", alike: str = "", short: bool = False) -> Callable[[Any], Any]:
    """For a function or a class of modules. `sizes`: shapes of random inputs, or a function that makes all inputs."""
    def register(what: Any) -> Any:
        inputs = sizes[0] if callable(sizes[0]) else lambda: tuple(torch.randn(size) for size in sizes)
        make = what if isinstance(what, type) else lambda: what
        assert what.__name__ not in _CASES, what.__name__
        _CASES[what.__name__] = Case(what.__name__, make, inputs, tuple(refused.split()), tuple(alike.split()), short)
        return what
    return register


def cases() -> List[Case]:
    for part in PARTS:
        importlib.import_module(f"mode_modules_{part}")
    return list(_CASES.values())
