"""A script's offers for comparison: `@castscope.entry(inputs=...)`. Needs no PyTorch and does nothing by itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, Callable, TypeVar

Target = TypeVar("Target", bound=Callable[..., Any])


@dataclasses.dataclass(frozen=True)
class Entry:
    function: Callable[..., Any]
    inputs: Any
    modes: tuple[str, ...] | None
    name: str


registered: list[Entry] = []


def entry(inputs: Any, *, modes: Iterable[str] | None = None, name: str = "") -> Callable[[Target], Target]:
    """Offers a function or module to `python -m castscope.modes`, which compares it in all modes or in the given ones.

        @castscope.entry(inputs=lambda: (torch.randn(8, 16),))
        def step(x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return model(x)

        castscope.entry(inputs=make_batch)(model)    # a module, just as it is

    `inputs` is what castscope.compare takes; a function that makes it is called only when there is something to
    compare. Returns the function or module unchanged.
    """
    if isinstance(modes, str):
        modes = (modes,)

    def register(target: Target) -> Target:
        if not callable(target):
            raise TypeError(f"castscope.entry is for functions and modules, not {type(target).__name__}")
        registered.append(Entry(target, inputs, None if modes is None else tuple(modes),
                                name or getattr(target, "__name__", None) or type(target).__name__))
        return target
    return register
