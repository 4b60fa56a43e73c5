"""Compares what a function computes in eager, script, trace, compile and export, operator by operator.

PyTorch has several ways to run a function, and autocast works in each by other means: in eager the dispatcher casts,
in TorchScript a pass over the graph with lists of its own, in torch.compile the casts are traced, in torch.export
those of a region around the program are lost. compare() runs all of them on the same inputs and says where they part.

    recorder.py    writes down each operator that runs, with its dtypes
    recording.py   runs a function in one mode; eager, scripted, traced, compiled, exported.py make the modes
    alignment.py   finds which operator of one mode is which of another, by scoring.py and flow.py
    differences.py where a mode parts from eager; reasons.py and regions.py why
    comparing.py   compare(); comparison.py its result, text.py and page.py for people, as_json.py for
                   programs, as_table.py for the run's report
    entries.py     castscope.entry; runner.py `python -m castscope.modes`
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from castscope.modes.arguments import Arguments
    from castscope.modes.comparing import compare
    from castscope.modes.comparison import Comparison
    from castscope.modes.entries import entry

_HOMES = {"Arguments": "arguments", "compare": "comparing", "Comparison": "comparison", "entry": "entries",
          "record": "recording", "align": "alignment", "MODES": "recording"}

__all__ = ["Arguments", "Comparison", "compare", "entry"]


def __getattr__(name: str) -> Any:
    """PyTorch comes in with the first name that needs it; `entry` needs none."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
